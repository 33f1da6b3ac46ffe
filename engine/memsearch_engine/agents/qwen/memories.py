"""Agent files of Qwen Code (0.24.4).

It reads QWEN.md and AGENTS.md of user and project, rules, and its memories of project, user and
team.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.agents.agent_files import Cap, Source, Where

_CAP = Cap(lines=200, chars=25_000)
_NAMES = ("QWEN.md", "AGENTS.md")


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    homes = list(dict.fromkeys(folder.parent for folder in where.sessions))
    for home in homes:
        for name in _NAMES:
            yield Source(home / name, "instructions of the user", everywhere=True)
        for rule in sorted(home.glob("rules/**/*.md")):
            yield Source(rule, "rule of the user", everywhere=True)
        yield from _sources_in(home / "memories", "memory of the user", everywhere=True)
    for root in where.project:
        for name in (*_NAMES, ".qwen/QWEN.local.md"):
            yield Source(root / name, "instructions of the project")
        for rule in sorted(root.glob(".qwen/rules/**/*.md")):
            yield Source(rule, "rule of the project")
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
        for home in homes:
            yield from _sources_in(home / "projects" / slug / "memory", "auto memory")
        yield from _sources_in(root / ".qwen" / "team-memory", "memory of the team")


def _sources_in(folder: Path, title: str, everywhere: bool = False) -> Iterator[Source]:
    index = folder / "MEMORY.md"
    yield Source(index, title, "agent", everywhere, _CAP)
    for topic in sorted(folder.glob("**/*.md")):
        if topic != index:
            yield Source(topic, title, "agent", everywhere, named_in=index)
