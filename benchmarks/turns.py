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
TWO_TOOLS = 'Run it twice <<{"run": "ls", "times": 2, "say": "Done."}>>'


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
                for what, prompt in (("one turn", PROMPT), ("a turn with two tools", TWO_TOOLS)):
                    ways = {
                        f"{name} {kind}": lambda lab=lab, name=name, prompt=prompt: turn(
                            lab, name, prompt
                        )
                        for kind, lab in labs.items()
                    }
                    report.processes(
                        f"{what} of {agent}", in_turn(ways, options.times), [f"{name} without"]
                    )
                for lab in labs.values():
                    lab.clean()
        finally:
            model.close()
    report.save()


def turn(lab: Lab, name: str, prompt: str) -> Run:
    argv = {
        "claude": [str(lab.bin / "claude"), "-p", "--allowedTools", "Bash", "--", prompt],
        "codex": [str(lab.bin / "codex"), "exec", "--skip-git-repo-check", "--json", prompt],
    }[name]
    return run(argv, lab.env, lab.project)


if __name__ == "__main__":
    main()
