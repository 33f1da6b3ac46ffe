"""Agent files of Cursor (from its documentation): rules and AGENTS.md of the project."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for root in where.project:
        for name in ("AGENTS.md", ".cursorrules"):
            yield Source(root / name, "instructions of the project")
        for rule in sorted(root.glob(".cursor/rules/**/*.mdc")):
            yield Source(rule, "rule of the project")
