"""Agent files of Goose (from its source): hints, AGENTS.md, and its memory extension."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    yield Source(
        where.config / "goose" / ".goosehints", "instructions of the user", everywhere=True
    )
    for file in sorted((where.config / "goose" / "memory").glob("*.txt")):
        yield Source(file, "memory of the user", "agent", everywhere=True)
    for root in where.project:
        for name in (".goosehints", "AGENTS.md"):
            yield Source(root / name, "instructions of the project")
        for file in sorted((root / ".goose" / "memory").glob("*.txt")):
            yield Source(file, "memory of the project", "agent")
