"""Opens a note: its section, what supersedes it, what it supersedes, and its conversation.

The service does this for its clients. ``Memory`` does it in its own process if no service answers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.locate import Excerpt, anchored, known_folders, window
from memsearch_engine.capture.clean import without_secrets
from memsearch_engine.capture.transcripts import by_hand
from memsearch_engine.core import agent_registry, safe_files
from memsearch_engine.core.errors import NotFound, Unreachable
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import CatalogBroken
from memsearch_engine.injection import injection_log
from memsearch_engine.injection.notes import mark_withheld
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.note import Note
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm.store import note_read
from memsearch_engine.search import sections
from memsearch_engine.search.scope import Scope
from memsearch_engine.search.sections import Section
from memsearch_engine.search.supersession import listing
from memsearch_engine.search.supersession.listing import Overrides, Supersession, read_overrides
from memsearch_engine.search.views import DISPLAY, note_view
from memsearch_engine.staleness.finding import NoteStaleness

_MAX_LINKS = 20


def find_section(
    catalog: Catalog | None,
    projects: list[Project],
    others: Callable[[], list[Project]] | None,
    name: str,
) -> Section:
    """Find the entry with a name, first in *projects*, then in *others*.

    Args:
        others: returns further projects; None if there are none.
        name: an entry id or chunk hash, or its beginning.

    Raises:
        NotFound: there is no such entry.
        UsageError: the name is too short, or several entries match.
    """
    try:
        return sections.find(catalog, projects, name)
    except NotFound:
        if others is None:
            raise
        return sections.find(catalog, others(), name)


def note_opened(home: Home, entry_id: str, agent: str, session: str) -> None:
    """Record that the content of an entry was read. Its session is then remembered longer."""
    note_read(home, agent, session)
    injection_log.mark_opened(home, entry_id)


def open_section(scope: Scope, name: str, *, lines: int | None, whole: bool) -> dict[str, Any]:
    """Return ``section_view`` for an entry or chunk id in a caller's scope, and record a use."""
    found = scope.section(name)
    note_opened(scope.home, found.entry.id, found.entry.agent, found.entry.session)
    return section_view(
        scope.catalog,
        scope.journal.origin,
        lambda: read_overrides(scope.home),
        found.project or scope.project,
        found,
        lines=lines,
        whole=whole,
    )


def section_view(
    catalog: Catalog | None,
    origin: Origin,
    overrides: Callable[[], Overrides],
    project: Project,
    found: Section,
    *,
    lines: int | None = None,
    whole: bool = True,
) -> dict[str, Any]:
    """Return a section with the keys of ``expand --json``, and ``DISPLAY`` for renderers.

    Args:
        project: the project of the section, if the section does not name one.
        lines: lines of the file to add before and after it.
        whole: return the whole section instead of only the requested chunk.

    Raises:
        OSError: *lines* are requested and the file does not exist.
    """
    entry, project = found.entry, found.project or project
    links = _links(catalog, origin, overrides, project, entry.id)
    newer = [pair for pair in links if pair.older.entry_id == entry.id]
    standing = _standing(catalog, project, found)
    view = {
        **note_view(Note.of(entry, found.path)),
        "chunk_hash": found.own_chunk,
        "heading": entry.heading,
        "overtaken_by": [pair.newer.entry_id for pair in newer],
        "amends": [pair.older.entry_id for pair in links if pair not in newer],
        "stale": [finding.words for finding in standing.stale] if standing else [],
        "unmerged": standing.unmerged if standing else "",
    }
    if lines is not None or not whole:
        view |= _lines_around(found, lines or 0, whole)
    anchor = entry.anchor
    display = {
        "anchor": {"kind": anchor.kind, "path": anchor.path} if anchor else None,
        "supersession": [
            {
                "is_newer": pair in newer,
                "entry_id": other.entry_id,
                "day": other.day,
                "title": other.title,
                "why": pair.why,
            }
            for pair in links
            for other in (pair.newer if pair in newer else pair.older,)
        ],
    }
    return {**view, DISPLAY: display}


def transcript_view(
    home: Home, root: str, found: Section, *, turn: str, context: int, full: bool, raw: bool
) -> dict[str, Any]:
    """Return the conversation behind a section with the keys of ``transcript --json``.

    Args:
        root: the root of the client's project, where agents may store sessions.
        turn: another turn of the session.
        context: turns to add before and after it.
        full: do not shorten texts.
        raw: do not remove secrets.

    Returns:
        The view. Its key ``environment`` contains the values of this process for the variables
        that locate the agent's sessions. A client with other values must search by itself.

    Raises:
        NotFound: a person wrote the entry, or its conversation no longer exists.
    """
    entry = found.entry
    if entry.anchor is None:
        raise by_hand(entry)
    known = agent_registry.agent(entry.agent)
    names = ("HOME", "XDG_CONFIG_HOME", known.home_variable, known.sessions_variable)
    excerpt = _conversation(home, root, entry.anchor, turn or entry.turn, context)
    note_read(home, entry.agent, entry.session)
    if not raw:
        excerpt.turns = [without_secrets(one, home) for one in excerpt.turns]
    if not full:
        excerpt.shorten()
    return {
        "path": excerpt.path,
        "state": excerpt.state,
        "first": excerpt.first,
        "total": excerpt.total,
        "left_out": excerpt.left_out,
        "turns": excerpt.turns,
        "environment": {name: os.environ.get(name, "") for name in names if name},
    }


def _conversation(home: Home, root: str, anchor: Anchor, turn: str, context: int) -> Excerpt:
    """Read turns of a session from its agent's files, or else from the archive.

    Raises:
        NotFound: neither has the turn.
    """
    folders = AgentFolders.from_env(seen=known_folders(home, root))
    try:
        live = anchored(anchor.agent, anchor.session, anchor.path, folders, cache=home.offsets)
        return window(live, turn, context)
    except NotFound:
        archived = Archive(home).get(anchor.agent, anchor.session, turn)
        if archived is None:
            raise
        return Excerpt(str(home.evidence), [archived], 0, 0, 1, "archived")


def _links(
    catalog: Catalog | None,
    origin: Origin,
    overrides: Callable[[], Overrides],
    project: Project,
    entry_id: str,
) -> list[Supersession]:
    """Return the supersessions of a note in both directions; none if the catalog is damaged."""
    if catalog is None:
        return []
    with contextlib.suppress(Unreachable):
        found = listing.of_note(catalog, overrides(), project.id, entry_id)[:_MAX_LINKS]
        return [pair for pair in mark_withheld(found, project.memory, origin) if pair.is_effective]
    return []


def _standing(catalog: Catalog | None, project: Project, found: Section) -> NoteStaleness | None:
    """Return the result of comparing the note with its repository; None without a comparison."""
    with contextlib.suppress(CatalogBroken):
        if catalog is not None:
            return catalog.staleness.standing(project.id, found.entry.id, found.entry.hash)
    return None


def _lines_around(found: Section, lines: int, whole: bool) -> dict[str, Any]:
    """Return a section or the requested chunk, with *lines* lines of the file around it."""
    first, last = (found.entry.start_line, found.entry.end_line) if whole else found.own_lines
    text = safe_files.read(found.path).decode("utf-8", "replace").splitlines()
    first, last = max(1, first - lines), min(len(text), last + lines)
    return {"start_line": first, "end_line": last, "content": "\n".join(text[first - 1 : last])}
