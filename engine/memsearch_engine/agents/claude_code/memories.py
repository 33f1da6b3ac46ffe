"""Agent files of Claude Code (measured with 2.1.330).

It reads its auto memory, CLAUDE.md of user, project and folder, AGENTS.md if a project has none of
these, rules, and memories of sub-agents. The auto memory belongs to the root of the main
repository, also for sessions in a worktree or folder of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from memsearch_engine.agents.agent_files import Cap, FileKind, Source, Where, listed, memory_folder
from memsearch_engine.agents.transcripts.model import json_file, text_of
from memsearch_engine.core import safe_files

_CAP = Cap(lines=200, chars=25_000, stripped=True)
_CAP_OF_SUB_AGENTS = Cap(lines=200, chars=25_000)
_LONGEST = 200  # characters of a folder's name, before a hash
_OWN = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
_RULES = FileKind("rule of the project", ("project/.claude/rules/**/*.md",))
_USER = listed(
    FileKind("instructions of the user", ("own/CLAUDE.md",)),
    FileKind("rule of the user", ("own/rules/**/*.md",)),
)
_PROJECT, _OTHERS = (
    listed(FileKind("instructions of the project", names), _RULES)
    for names in (
        tuple(f"project/{name}" for name in _OWN),
        ("project/AGENTS.md", "project/.claude/AGENTS.md"),
    )
)


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in where.own:
        yield from _USER(where._replace(own=[home]))
        yield from _of_sub_agents(home.glob("agent-memory/*/"), everywhere=True)
    for root in where.project:
        yield from (_PROJECT if any((root / name).is_file() for name in _OWN) else _OTHERS)(where)
        yield from _of_sub_agents(root.glob(".claude/agent-memory*/*/"))
        for folder in _folders(root, where.own):
            yield from memory_folder(folder, "auto memory", _CAP)


def _of_sub_agents(folders: Iterable[Path], *, everywhere: bool = False) -> Iterator[Source]:
    for folder in sorted(folders):
        title = f"memory of the sub-agent {folder.name}"
        yield from memory_folder(folder, title, _CAP_OF_SUB_AGENTS, everywhere=everywhere)


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
    named = text_of(json_file(settings, safe_files.MAX_SETTINGS).get("autoMemoryDirectory"))
    path = Path("" if "\0" in named else named).expanduser()
    return path if path.is_absolute() else None
