"""Agent files of Cline (from its documentation): rules and AGENTS.md."""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Source, Where


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for folder in (where.home / "Documents" / "Cline" / "Rules", where.home / ".cline" / "rules"):
        for rule in sorted(folder.glob("*.md")):
            yield Source(rule, "rule of the user", everywhere=True)
    yield Source(where.home / ".agents" / "AGENTS.md", "instructions of the user", everywhere=True)
    for root in where.project:
        for name in ("AGENTS.md", ".clinerules", ".cursorrules", ".windsurfrules"):
            yield Source(root / name, "instructions of the project")
        for rule in sorted((*root.glob(".clinerules/*.md"), *root.glob(".cline/rules/*.md"))):
            yield Source(rule, "rule of the project")
