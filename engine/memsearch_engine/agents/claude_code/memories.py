"""What it keeps and reads by itself: its auto memory, and CLAUDE.md of user, project and folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.native_memories import Source, Where

#: Of the index of its auto memory, at a start.
_MAX_LINES, _MAX_BYTES = 200, 25_000
_INDEX = "MEMORY.md"


def sources(where: Where) -> Iterator[Source]:
    for home in {folder.parent: None for folder in where.sessions}:
        yield Source(home / "CLAUDE.md", "instructions of the user", "person", everywhere=True)
    for root in where.project:
        for name in ("CLAUDE.md", ".claude/CLAUDE.md"):
            yield Source(root / name, "instructions of the project", "person")
        yield Source(root / "CLAUDE.local.md", "instructions of one's own", "person")
        for rule in sorted(root.glob(".claude/rules/**/*.md")):
            yield Source(rule, "rule", "person")
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
        for folder in where.sessions:
            yield from _kept(folder / slug / "memory", "auto memory")
        for folder in sorted(root.glob(".claude/agent-memory*/*/")):
            yield from _kept(folder, f"memory of the sub-agent {folder.name}")
    for home in {folder.parent: None for folder in where.sessions}:
        for folder in sorted(home.glob("agent-memory/*/")):
            yield from _kept(folder, f"memory of the sub-agent {folder.name}", everywhere=True)


def _kept(folder: Path, title: str, everywhere: bool = False) -> Iterator[Source]:
    index = folder / _INDEX
    yield Source(index, title, "agent", everywhere, _MAX_LINES, _MAX_BYTES)
    for topic in sorted(folder.glob("**/*.md")):
        if topic != index:
            yield Source(topic, title, "agent", everywhere, named_in=index)
