"""Agent files of Crush (from its source): all of these that a project has."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where

_NAMES = (
    ".github/copilot-instructions.md",
    ".cursorrules",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "CRUSH.md",
    "CRUSH.local.md",
    "AGENTS.md",
)


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    yield Source(where.config / "crush" / "CRUSH.md", "instructions of the user", everywhere=True)
    for root in where.project:
        for path in (*(root / name for name in _NAMES), *sorted(root.glob(".cursor/rules/*.mdc"))):
            yield Source(path, "instructions of the project")
