"""What a turn costs with the plugin and without: the real Claude Code and Codex, headless, against
a model on loopback.

    MEMSEARCH_TEST_CLIENTS=/folder python benchmarks/turns.py            # about 3 minutes

Whole turns, run in turn (with, without, with, …), each in a session of its own; the model answers
at once, so what is left is the client and its hooks. The service runs in both cases.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from common import ROOT, Report, Run, arguments, in_turn, run

sys.path.insert(0, str(ROOT))
from tests.agents.conftest import Lab
from tests.mock_model import MockModel

PROMPT = 'Say it <<{"say": "Said."}>>'


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--times", type=int, default=8)
    options = parser.parse_args()
    report = Report(options)
    model = MockModel()
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, agent in (("claude", "claude-code"), ("codex", "codex")):
                labs = {}
                for kind in ("without", "with the plugin"):
                    root = Path(folder) / name / kind.split()[0]
                    root.mkdir(parents=True)
                    labs[kind] = Lab(root, model)
                    labs[kind].have(name)
                    labs[kind].ok("service", "start")
                labs["with the plugin"].ok("plugins", "install", agent)
                ways = {
                    f"{name} {kind}": lambda lab=lab, name=name: turn(lab, name)
                    for kind, lab in labs.items()
                }
                report.processes(
                    f"one turn of {agent}", in_turn(ways, options.times), [f"{name} without"]
                )
                for lab in labs.values():
                    lab.clean()
        finally:
            model.close()
    report.save()


def turn(lab: Lab, name: str) -> Run:
    argv = {
        "claude": [str(lab.bin / "claude"), "-p", "--", PROMPT],
        "codex": [str(lab.bin / "codex"), "exec", "--skip-git-repo-check", "--json", PROMPT],
    }[name]
    return run(argv, lab.env, lab.project)


if __name__ == "__main__":
    main()
