"""Agent files of OpenCode (1.18.33): the user's AGENTS.md, and one file of the project."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where, first, first_of


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for path in first_of(
        where.config / "opencode" / "AGENTS.md", where.home / ".claude" / "CLAUDE.md"
    ):
        yield Source(path, "instructions of the user", everywhere=True)
    for root in where.project:
        for path in first(root, ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")):
            yield Source(path, "instructions of the project")
