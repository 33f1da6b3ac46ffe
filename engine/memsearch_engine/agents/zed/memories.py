"""Agent files of Zed (from its documentation): the first of these names at a project's top."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where, first

_NAMES = (
    ".rules",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
    "AGENT.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
)


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for root in where.project:
        for path in first(root, _NAMES):
            yield Source(path, "instructions of the project")
