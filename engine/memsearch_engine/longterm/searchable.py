"""Writes the long-term memory as files that the index reads, so that searches find it.

Each project has a folder in the home with the statements for it and for all projects. They are
accepted bullets of MEMORY.md, remembered facts, summaries of the consolidated sessions, and the
accepted lines of PROJECT.md and USER.md. The files are derived from the workspace. The journal
refuses to edit them, and they contain nothing that was forgotten.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from memsearch_engine.agents.agent_files import Found, as_entries, read
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, load
from memsearch_engine.injection.injection_log import without_citations
from memsearch_engine.journal.files import read_day, read_day_or_empty
from memsearch_engine.journal.origin import Origin
from memsearch_engine.journal.text import escape_block
from memsearch_engine.longterm import fact_history, pages, workspace
from memsearch_engine.longterm.fact_history import Statement, StatementFile
from memsearch_engine.longterm.facts import facts
from memsearch_engine.longterm.store import SessionMemories

#: The files with statements that the owner accepted or wrote.
_OWNERS = ("memory.md", "facts.md", "project.md", "user.md")


def folder(home: Home, project: str) -> Path:
    """The folder with the searchable files of a project. *project*: its identity."""
    return home.longterm_search / project[:8]


def write(
    home: Home,
    project: str,
    origin: Origin,
    place: Project | None = None,
    settings: Settings | None = None,
    *,
    forget: bool = False,
) -> Path:
    """Rewrite the searchable files of a project from the workspace.

    Args:
        project: the project's identity.
        place, settings: locate PROJECT.md and USER.md. Without them, the files made from these
            pages do not change.
        forget: also delete the history of removed statements.

    Returns:
        The folder of the files.

    Raises:
        OSError, MemsearchError: a file cannot be read or written.
    """
    target = folder(home, project)
    learned, now = _changed(home.longterm / workspace.MEMORY), time.time()
    files = {
        "memory.md": StatementFile(list(_bullets(home, project, learned)), learned),
        "facts.md": StatementFile(list(_facts(home, project)), now),
        "sessions.md": StatementFile(list(_recaps(home, project)), now),
    }
    if place and settings:
        for page in pages.PAGES:
            changed = _changed(Path(pages.path_of(settings, place, page)))
            files[f"{page}.md"] = StatementFile(
                list(_page(home, settings, place, page, changed)), changed
            )
    days = (settings or load(home)).history.max_days
    fact_history.record(
        home, project[:8], files, lambda page: _texts(target / page), max_days=days, forget=forget
    )
    for name, file in files.items():
        text = "\n".join(entry.text for entry in file.entries)
        path = target / name
        if put(path, text) and name in _OWNERS and text:
            entries = read_day(path).entries
            origin.record_day("", entries)
            origin.wrote(entry.raw for entry in entries)
    return target


def rewrite(home: Home, *, forget: bool = False) -> None:
    """Rewrite the existing searchable files of all projects.

    Args:
        forget: something was forgotten; otherwise something was restored.
    """
    if home.longterm_search.is_dir():
        with contextlib.closing(Origin(home)) as origin:
            for found in sorted(home.longterm_search.iterdir()):
                write(home, found.name, origin, forget=forget)


def _texts(path: Path) -> dict[str, str]:
    """The texts of a searchable file, by id."""
    entries = read_day_or_empty(path).entries
    return {entry.id: entry.raw.decode("utf-8", "replace") for entry in entries}


def _changed(path: Path) -> float:
    """The modification time of a file, in seconds since 1970."""
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()


def _bullets(home: Home, project: str, since: float) -> Iterator[Statement]:
    try:
        sections = workspace.sections(workspace.read(home.longterm, workspace.MEMORY))
    except workspace.InvalidArtifacts:
        return  # a person removed the file's structure; `doctor` reports it
    for section in sections:
        if section.scope in (workspace.EVERYWHERE, project[:8]):
            heading = "everywhere" if section.scope == workspace.EVERYWHERE else "this project"
            for start, stop in workspace.blocks(section.lines):
                text = "\n".join(section.lines[start:stop])
                if not text.startswith("#"):
                    yield _entry("memory", f"Long-term memory, {heading}", text, since)


def _facts(home: Home, project: str) -> Iterator[Statement]:
    for fact in facts(home):
        if fact.scope in ("", project[:8]):
            yield _entry("fact", "Remembered", f"- {fact.text}", fact.at)


def _page(
    home: Home, settings: Settings, place: Project, page: pages.Page, since: float
) -> Iterator[Statement]:
    for heading, lines in pages.sections(pages.accepted_text(home, settings, place, page)).items():
        if text := "\n".join(line for line in lines if not line.startswith("# ")).strip():
            yield _entry(
                page, f"{pages.FILES[page]}, {heading.lstrip('# ')}".rstrip(", "), text, since
            )


def _recaps(home: Home, project: str) -> Iterator[Statement]:
    for memory in SessionMemories(home).all():
        if (
            memory.selected
            and not memory.forgotten
            and memory.project[:8] == project[:8]
            and memory.summary.strip()
        ):
            heading = f"Recap of a {memory.agent} session, {memory.slug or 'without a name'}"
            yield _entry("summary", heading, memory.summary, memory.made)


def _entry(kind: str, heading: str, text: str, since: float) -> Statement:
    text = without_citations(text).strip()
    name = digest("longterm", kind, text, size=6)
    return Statement(
        name, since, f"### {' '.join(heading.split())}\n<!-- id:{name} -->\n{escape_block(text)}\n"
    )


def put(path: Path, text: str) -> bool:
    """Write *text* to a derived file; delete the file for ''.

    Returns whether the content changed.
    """
    try:
        if path.read_text(encoding="utf-8") == text:
            return False
    except OSError:
        if not text:
            return False
    if not text:
        path.unlink()
        return True
    path.parent.parent.mkdir(mode=0o700, exist_ok=True)
    Home.put(path, text.encode("utf-8", "replace"))
    return True


def write_agent_files(home: Home, project: str, root: str, found: Found) -> bool:
    """Update a project's searchable copy of the agents' own memory files.

    Args:
        project: the project's identity.
        root: the project's folder.
        found: the memory files; empty to remove the copy.

    Returns:
        Whether the copy changed.

    Raises:
        OSError: the copy is not writable.
    """
    return put(folder(home, project) / "native.md", "\n".join(as_entries(read(found, home), root)))
