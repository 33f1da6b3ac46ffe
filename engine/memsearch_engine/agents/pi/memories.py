"""Agent files of pi (1.5.2), in its own folder and in the project, with system prompts."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where, first

_NAMES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
_SYSTEM = ("SYSTEM.md", "APPEND_SYSTEM.md")


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in dict.fromkeys(where.sessions):
        for path in (*first(home, _NAMES), *(home / name for name in _SYSTEM)):
            yield Source(path, "instructions of the user", everywhere=True)
    for root in where.project:
        for path in (*first(root, _NAMES), *(root / ".pi" / name for name in _SYSTEM)):
            yield Source(path, "instructions of the project")
