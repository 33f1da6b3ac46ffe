"""Agent files of Kilo CLI (from its source): the user's and project's AGENTS.md, and rules."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where, first, first_of


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for path in first_of(where.config / "kilo" / "AGENTS.md", where.home / ".claude" / "CLAUDE.md"):
        yield Source(path, "instructions of the user", everywhere=True)
    for base, whose, everywhere in (
        (where.home, "user", True),
        *((root, "project", False) for root in where.project),
    ):
        for folder in (".kilo", ".kilocode"):
            for rule in sorted((base / folder / "rules").glob("*.md")):
                yield Source(rule, f"rule of the {whose}", everywhere=everywhere)
    for root in where.project:
        for path in first(root, ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")):
            yield Source(path, "instructions of the project")
