"""What it reads by itself (by its documentation): the first of these at a project's top."""

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
    for root in where.project:
        for path in first(root, _NAMES):
            yield Source(path, "instructions of the project")
