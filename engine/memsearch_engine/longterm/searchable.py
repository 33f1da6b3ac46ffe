"""The long-term memory as files that the index reads: what was paid for can be found, opened and told.

For each project there is a folder in the home with what holds there and everywhere: accepted bullets of MEMORY.md, remembered facts, recaps
of the sessions that were weighed, and what of PROJECT.md and USER.md may be told. They are made of the workspace and follow it; nobody edits them (the journal refuses it), and what was
forgotten is not in them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.home import Home
from memsearch_engine.ids import digest
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.origin import Origin
from memsearch_engine.journal.text import escape_block
from memsearch_engine.longterm import living, workspace
from memsearch_engine.longterm.facts import facts
from memsearch_engine.longterm.store import Store
from memsearch_engine.projects import Project
from memsearch_engine.settings import Settings
from memsearch_engine.usage import without_citations

#: Of those, what was accepted or written by the owner.
_OWNERS = ("memory.md", "facts.md", "project.md", "user.md")


def folder(home: Home, project: str) -> Path:
    """Where what a project may know lies. *project*: its identity."""
    return home.longterm_search / project[:8]


def write(
    home: Home, project: str, origin: Origin, place: Project | None = None, settings: Settings | None = None
) -> Path:
    """Bring a project's files up to what the workspace says now. Returns their folder. Raises OSError, MemsearchError.

    Args:
        place, settings: where its PROJECT.md and USER.md lie; without these, what is searched of them stays.
    """
    target = folder(home, project)
    texts = [
        ("memory.md", _bullets(home, project)),
        ("facts.md", _facts(home, project)),
        ("sessions.md", _recaps(home, project)),
    ]
    texts += [(f"{page}.md", _page(home, settings, place, page)) for page in living.PAGES] if place and settings else []
    for name, entries in texts:
        text = "\n".join(entries)
        path = target / name
        if put(path, text) and name in _OWNERS and text:
            origin.wrote(entry.raw for entry in read_day(path).entries)
    return target


def rewrite(home: Home) -> None:
    """The same for all projects that have such files: at once, where something is to be forgotten."""
    if home.longterm_search.is_dir():
        origin = Origin(home)
        try:
            for found in sorted(home.longterm_search.iterdir()):
                write(home, found.name, origin)
        finally:
            origin.close()


def _bullets(home: Home, project: str) -> Iterator[str]:
    try:
        sections = workspace.sections(workspace.read(home.longterm, workspace.MEMORY))
    except workspace.InvalidArtifacts:
        return  # somebody edited it into something else; `doctor` says so
    for section in sections:
        if section.scope in (workspace.EVERYWHERE, project[:8]):
            heading = "everywhere" if section.scope == workspace.EVERYWHERE else "this project"
            for start, stop in workspace.blocks(section.lines):
                text = "\n".join(section.lines[start:stop])
                if not text.startswith("#"):
                    yield _entry("memory", f"Long-term memory, {heading}", text)


def _facts(home: Home, project: str) -> Iterator[str]:
    for fact in facts(home):
        if fact.scope in ("", project[:8]):
            yield _entry("fact", "Remembered", f"- {fact.text}")


def _page(home: Home, settings: Settings, place: Project, page: living.Page) -> Iterator[str]:
    for heading, lines in living.sections(living.told(home, settings, place, page)).items():
        if text := "\n".join(line for line in lines if not line.startswith("# ")).strip():
            yield _entry(page, f"{living.FILES[page]}, {heading.lstrip('# ')}".rstrip(", "), text)


def _recaps(home: Home, project: str) -> Iterator[str]:
    for memory in Store(home).all():
        if memory.selected and not memory.forgotten and memory.project[:8] == project[:8] and memory.summary.strip():
            yield _entry(
                "summary", f"Recap of a {memory.agent} session, {memory.slug or 'without a name'}", memory.summary
            )


def _entry(kind: str, heading: str, text: str) -> str:
    text = without_citations(text).strip()
    return (
        f"### {' '.join(heading.split())}\n<!-- id:{digest('longterm', kind, text, size=6)} -->\n{escape_block(text)}\n"
    )


def put(path: Path, text: str) -> bool:
    """Make a file that is derived say *text*, none for ''. Returns whether it said something else."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return False
    except OSError:
        if not text:
            return False
    if not text:
        path.unlink()
        return True
    for part in (path.parent.parent, path.parent):
        part.mkdir(mode=0o700, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with open(fd, "w", encoding="utf-8", errors="replace") as out:
            out.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return True
