"""The program that an agent's hook starts: ``PYTHON -P -E -S …/hook_entry.py hook AGENT EVENT``.

It is called by its path, so it needs no PATH and no start-up files of the environment (``-S``). It
imports nothing from the current folder (``-P``) and ignores Python's variables (``-E``). It only
imports the package, because Python caches compiled modules but not compiled scripts.
"""

import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/")[0].rpartition("/")[0])
    from memsearch_engine.capture.hook import main

    sys.exit(main(*sys.argv[2:4]))
