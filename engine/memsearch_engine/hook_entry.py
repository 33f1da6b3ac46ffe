"""The program that an agent's hook starts: ``PYTHON -P -E -S …/hook_entry.py hook AGENT EVENT``.

It is called by its path, so it needs neither a PATH nor the environment's own start-up files
(``-S``), and takes no module from the folder or the variables of the agent's user (``-P -E``). It
only imports the package: an imported module is compiled once, a script at every start.
"""

import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/")[0].rpartition("/")[0])
    from memsearch_engine.capture.hook import main

    sys.exit(main(*sys.argv[2:4]))
