"""Agent files of Copilot CLI (measured with 1.0.102).

They are the instructions of user and project, its own and other agents'.

What it remembers is stored by GitHub, not on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in dict.fromkeys(folder.parent for folder in where.sessions):
        yield Source(home / "copilot-instructions.md", "instructions of the user", everywhere=True)
        for path in sorted(home.glob("instructions/**/*.instructions.md")):
            yield Source(path, "rule of the user", everywhere=True)
    for root in where.project:
        for name in (".github/copilot-instructions.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"):
            yield Source(root / name, "instructions of the project")
        for rule in sorted(
            (
                *root.glob(".claude/rules/**/*.md"),
                *root.glob(".github/instructions/**/*.instructions.md"),
            )
        ):
            yield Source(rule, "rule of the project")
