"""Agent files of Gemini CLI (0.61.0): GEMINI.md, and a project's private memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.agents.agent_files import Source, Where, memory_folder
from memsearch_engine.agents.transcripts.model import json_file, table_of, text_of
from memsearch_engine.core import safe_files

_SLUG = re.compile(r"[a-z0-9._-]{1,255}", re.IGNORECASE)


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in where.own:
        yield Source(home / "GEMINI.md", "instructions of the user", everywhere=True)
        for root in where.project:
            if slug := _slug(home / "projects.json", root):
                folder = home / "tmp" / slug / "memory"
                yield from memory_folder(folder, "auto memory", topics="*.md")
    for root in where.project:
        yield Source(root / "GEMINI.md", "instructions of the project")


def _slug(file: Path, root: Path) -> str:
    """Return the name of a project's folder, ``""`` if it has none."""
    projects = table_of(json_file(file, safe_files.MAX_SETTINGS), "projects")
    slug = text_of(projects.get(str(root)))
    return slug if _SLUG.fullmatch(slug) and slug.strip(".") else ""
