"""Agent files of Kimi Code (from its source): AGENTS.md of user and project."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in dict.fromkeys(folder.parent for folder in where.sessions):
        yield Source(home / "AGENTS.md", "instructions of the user", everywhere=True)
    yield Source(where.home / ".agents" / "AGENTS.md", "instructions of the user", everywhere=True)
    for root in where.project:
        for name in (".kimi-code/AGENTS.md", "AGENTS.md"):
            yield Source(root / name, "instructions of the project")
