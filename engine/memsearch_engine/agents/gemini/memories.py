"""Agent files of Gemini CLI (0.61.0): GEMINI.md, and a project's private memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.agents.agent_files import Source, Where, memory_folder
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
    try:
        registry = json.loads(safe_files.read(file, safe_files.MAX_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return ""
    projects = registry.get("projects") if isinstance(registry, dict) else None
    slug = projects.get(str(root)) if isinstance(projects, dict) else None
    return slug if isinstance(slug, str) and _SLUG.fullmatch(slug) and slug.strip(".") else ""
