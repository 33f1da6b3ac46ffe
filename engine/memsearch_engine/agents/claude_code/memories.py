"""Agent files of Claude Code (measured with 2.1.330).

It reads its auto memory, CLAUDE.md of user, project and folder, AGENTS.md if a project has none of
these, rules, and memories of sub-agents. The auto memory belongs to the root of the main
repository, also for sessions in a worktree or folder of it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.agents.agent_files import Cap, Source, Where
from memsearch_engine.core import safe_files

_INDEX = "MEMORY.md"
_CAP = Cap(lines=200, chars=25_000, stripped=True)
_CAP_OF_SUB_AGENTS = Cap(lines=200, chars=25_000)
_LONGEST = 200  # characters of a folder's name, before a hash
_OWN = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    homes = list(dict.fromkeys(folder.parent for folder in where.sessions))
    for home in homes:
        yield Source(home / "CLAUDE.md", "instructions of the user", everywhere=True)
        for rule in sorted(home.glob("rules/**/*.md")):
            yield Source(rule, "rule of the user", everywhere=True)
        for folder in sorted(home.glob("agent-memory/*/")):
            yield from _sources_in(
                folder,
                f"memory of the sub-agent {folder.name}",
                _CAP_OF_SUB_AGENTS,
                everywhere=True,
            )
    for root in where.project:
        names = (
            _OWN
            if any((root / name).is_file() for name in _OWN)
            else ("AGENTS.md", ".claude/AGENTS.md")
        )
        for name in names:
            yield Source(root / name, "instructions of the project")
        for rule in sorted(root.glob(".claude/rules/**/*.md")):
            yield Source(rule, "rule of the project")
        for folder in sorted(root.glob(".claude/agent-memory*/*/")):
            yield from _sources_in(
                folder, f"memory of the sub-agent {folder.name}", _CAP_OF_SUB_AGENTS
            )
        for folder in _folders(root, homes):
            yield from _sources_in(folder, "auto memory", _CAP)


def _folders(root: Path, homes: list[Path]) -> Iterator[Path]:
    """Yield the folders of the project's auto memory, from the user's settings or the root."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", unicodedata.normalize("NFC", str(root)))
    for home in homes:
        if moved := _moved(home / "settings.json"):
            yield moved
        elif len(slug) <= _LONGEST:
            yield home / "projects" / slug / "memory"
        else:
            yield from sorted(home.glob(f"projects/{slug[:_LONGEST]}-*/memory"))


def _moved(settings: Path) -> Path | None:
    """Return the folder in the user's own settings. A project's settings may come from a clone."""
    try:
        values = json.loads(safe_files.read(settings, safe_files.MAX_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return None
    named = values.get("autoMemoryDirectory") if isinstance(values, dict) else None
    path = Path(named).expanduser() if isinstance(named, str) and "\0" not in named else None
    return path if path is not None and path.is_absolute() else None


def _sources_in(folder: Path, title: str, cap: Cap, everywhere: bool = False) -> Iterator[Source]:
    index = folder / _INDEX
    yield Source(index, title, "agent", everywhere, cap)
    for topic in sorted(folder.glob("**/*.md")):
        if topic != index:
            yield Source(topic, title, "agent", everywhere, named_in=index)
