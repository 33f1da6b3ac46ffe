"""The two pages of a project: PROJECT.md (its state) and USER.md (how its developer likes to work).

They are files in the project's ``.memsearch``. A model proposes changes from the newest notes
(``page_drafts``) if the owner enabled that (the tasks ``project_review`` and ``user_profile``) or
asks for it. No change takes effect until the owner accepts it (``PageReview``), and no proposal
changes a line that the owner wrote. Only lines that the owner accepted or released are injected and
found by searches, because the file may have come with a clone.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from memsearch_engine.core import agent_registry, freshness, safe_files
from memsearch_engine.core.errors import Conflict, SettingsError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, Task
from memsearch_engine.core.state import state_rows, using
from memsearch_engine.journal.disk import append, locked, replace
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.text import plain
from memsearch_engine.longterm.changes import (
    Hunk,
    Proposed,
    Review,
    applied,
    lines_with_headings,
    section_spans,
)

Page = Literal["project", "user"]
TaskName = Literal["project_review", "user_profile", "memory_to_skill"]
Spot = tuple[str, str]  #: the headings above a line (``##`` and deeper), and the line
PAGES: tuple[Page, ...] = ("project", "user")
FILES: dict[Page, str] = {"project": "PROJECT.md", "user": "USER.md"}
TASKS: dict[Page, TaskName] = {
    "project": "project_review",
    "user": "user_profile",
}
_MAX_FILE = 256 * 1024
_VERSIONS = 20  # versions of a page that can be undone
_UNDER = "\x1f"  # separates headings
SCHEMA = """
CREATE TABLE IF NOT EXISTS living_waiting (
  project TEXT NOT NULL, page TEXT NOT NULL,\
 body BLOB NOT NULL, PRIMARY KEY (project, page)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS living_lines (
  project TEXT NOT NULL, page TEXT NOT NULL,\
 trail TEXT NOT NULL, line TEXT NOT NULL, how TEXT NOT NULL,
  PRIMARY KEY (project, page, trail, line)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS living_versions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL,\
 page TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL, before BLOB,
  after BLOB NOT NULL);
"""


class PageState(msgspec.Struct):
    """A page and its pending changes.

    Attributes:
        injected: the text that may be injected.
        strange: lines that nobody accepted or released.
        draft, reason: the id of the pending proposal, and the model's reason for it.
        enabled_by: the agent that enables proposals in its settings.
    """

    page: Page
    path: str
    text: str
    injected: str
    strange: list[Spot]
    waiting: list[Hunk]
    draft: str = ""
    reason: str = ""
    enabled_by: str = ""


# -- location and owner


def path_of(settings: Settings, project: Project, page: Page) -> str:
    """Return the page's file, in ``.memsearch`` or at the owner's path below the project.

    Raises:
        SettingsError: the path is not valid.
    """
    enabled = chosen(settings, page)
    output_file = enabled[1].output_file if enabled else ""
    if not output_file:
        return os.path.join(os.path.dirname(project.memory), FILES[page])
    path = os.path.normpath(os.path.join(project.root, output_file))
    if not path.startswith(project.root + os.sep) or not path.endswith(".md"):
        raise SettingsError(
            f"`{TASKS[page]}.output_file` {output_file!r} is no markdown file in the project"
        )
    return path


def chosen(settings: Settings, page: Page) -> tuple[str, Task] | None:
    """The agent and its settings table that enable a page; None if no table does."""
    return enabled_task(settings, TASKS[page])


def enabled_task(settings: Settings, name: TaskName) -> tuple[str, Any] | None:
    """The agent and its settings table that enable a task; None if no table does."""
    for agent in agent_registry.names():
        task = getattr(settings.plugins.get(agent), name, None)
        if task is not None and task.enabled:
            return agent, task
    return None


def read(settings: Settings, project: Project, page: Page) -> str:
    """The text of a page, with invalid UTF-8 replaced; '' without a file.

    Raises:
        Unreachable: the file is not readable.
    """
    return plain((bytes_of(path_of(settings, project, page)) or b"").decode("utf-8", "replace"))


def lines_of(home: Home, project: Project, page: Page) -> dict[Spot, str]:
    """Return the lines that may be injected, with their headings and origins.

    The origin is ``made`` (proposed by a model and accepted) or ``released`` (written by a person
    and released by the owner).
    """
    query = "SELECT trail, line, how FROM living_lines WHERE project=? AND page=?"
    return {
        (trail, line): how
        for trail, line, how in state_rows(home, SCHEMA, query, (project.id, page))
    }


def stamps(settings: Settings, project: Project) -> dict[str, list[int]]:
    """Return path -> stamp (see ``freshness``) of the pages' files."""
    found: dict[str, list[int]] = {}
    for page in PAGES:
        with contextlib.suppress(SettingsError):
            found |= freshness.stamps([path_of(settings, project, page)])
    return found


def accepted_text(home: Home, settings: Settings, project: Project, page: Page) -> str:
    """The text of a page that may be injected.

    It consists of the lines that the owner accepted or released in their place, under their
    headings. Secrets, and lines that read like an order to an agent, are removed.
    """
    known = lines_of(home, project, page)
    permitted: list[str] = []
    above: tuple[str, ...] = ()
    for trail, line in spots_of(read(settings, project, page)):
        if (trail, line) not in known or orders(line, his_words=False) or "memsearch:" in line:
            continue
        headings = tuple(trail.split(_UNDER)) if trail else ()
        permitted += headings[len(os.path.commonprefix([above, headings])) :]
        permitted.append(line)
        above = headings
    if not permitted or orders(" ".join(permitted), his_words=False):
        return ""
    from memsearch_engine.secrets.scan import redact

    return redact("\n".join(permitted), home)[0]


def strange(home: Home, settings: Settings, project: Project, page: Page) -> list[Spot]:
    """The lines of a page that nobody accepted or released. They are not injected."""
    known = lines_of(home, project, page)
    return [spot for spot in spots_of(read(settings, project, page)) if spot not in known]


def release(
    home: Home, project: Project, page: Page, spots: Iterable[Spot], *, off: bool = False
) -> None:
    """Allow the injection of lines in their place.

    Args:
        off: withdraw the permission instead.
    """
    with using(home, SCHEMA) as db, transaction(db):
        if off:
            rows = [(project.id, page, *spot) for spot in spots]
            db.executemany(
                "DELETE FROM living_lines WHERE project=? AND page=? AND trail=? AND line=?", rows
            )
        else:
            note_lines(db, project, page, spots, "released")
    freshness.changed(home)


def spots_of(text: str) -> list[Spot]:
    """All lines that are neither empty nor headings, with the headings above each."""
    found: list[Spot] = []
    trail: list[str] = []
    for line, is_heading in lines_with_headings(text.splitlines()):
        if is_heading:
            level = len(line) - len(line.lstrip("#"))
            trail = [
                *(above for above in trail if len(above) - len(above.lstrip("#")) < level),
                line.strip(),
            ]
        elif line.strip():
            found.append(
                (_UNDER.join(above for above in trail if not above.startswith("# ")), line)
            )
    return found


def note_lines(
    db: sqlite3.Connection, project: Project, page: Page, spots: Iterable[Spot], how: str
) -> None:
    """Record how lines of a page were permitted (``made`` or ``released``)."""
    rows = [(project.id, page, trail, line, how) for trail, line in spots if line.strip()]
    db.executemany(
        "INSERT OR REPLACE INTO living_lines (project, page, trail, line, how) VALUES (?,?,?,?,?)",
        rows,
    )


def sections(text: str) -> dict[str, list[str]]:
    """The lines under each heading ``## …``; under '' those before the first.

    Equal headings are joined.
    """
    found: dict[str, list[str]] = {"": []}
    for heading, lines in section_spans(text.splitlines()):
        found.setdefault(heading, []).extend(lines)
    return found


def bytes_of(path: str) -> bytes | None:
    """The bytes of a file; None if there is no file. Raises Unreachable."""
    try:
        return safe_files.read(path, _MAX_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreachable(
            f"{path} can't be read: {error.strerror or error}", "nothing was changed"
        ) from error


# -- proposals and decisions


class PageProposal(Proposed, kw_only=True):
    """A proposal for a page.

    Attributes:
        id: the name of the proposal.
        reason: the model's reason.
    """

    id: str
    page: Page
    reason: str


def pending(home: Home, project: Project) -> list[PageProposal]:
    """The pending proposals of a project."""
    rows = state_rows(
        home, SCHEMA, "SELECT body FROM living_waiting WHERE project=? ORDER BY page", (project.id,)
    )
    return [msgspec.json.decode(body, type=PageProposal) for (body,) in rows]


class PageReview(Review[PageProposal]):
    """Decides on the proposal for one page. Each accepted change can be undone."""

    listing = "memsearch pages show"
    forbidden = re.compile(r"(?m)^\s{0,3}#|<!--|memsearch-memory")

    def __init__(self, home: Home, settings: Settings, project: Project, page: Page) -> None:
        hint = "`memsearch pages review` looks whether there is anything to propose"
        path = path_of(settings, project, page)
        super().__init__(home, path, (f"nothing waits for {FILES[page]}", hint))
        self.project, self.page = project, page
        self._key = (project.id, page)

    def pending(self) -> PageProposal | None:
        """The pending proposal for the page."""
        found = pending(self.home, self.project)
        return next((draft for draft in found if draft.page == self.page), None)

    def store(self, proposal: PageProposal) -> None:
        """Store the decisions. A proposal without open changes is deleted."""
        with using(self.home, SCHEMA) as db, transaction(db):
            if proposal.waiting:
                db.execute(
                    "INSERT OR REPLACE INTO living_waiting (project, page, body) VALUES (?,?,?)",
                    (*self._key, msgspec.json.encode(proposal)),
                )
            else:
                db.execute("DELETE FROM living_waiting WHERE project=? AND page=?", self._key)

    def reopen(self, draft: PageProposal) -> bool:
        """Make rejected changes pending again.

        Returns False if other changes are pending by now.
        """
        now = self.pending()
        if now is not None and now.id != draft.id:
            return False
        self.store(draft)
        return True

    def accept(self, hunks: list[Hunk]) -> None:
        """Write changes into the page, all or none, and record them for ``undo``.

        Raises Conflict.
        """
        if not os.path.isdir(self.project.root):
            raise Unreachable(f"{self.project.root} is gone", "nothing was written")
        before = bytes_of(self.path)
        text = (before or b"").decode("utf-8", "surrogateescape")
        for hunk in hunks:
            text = applied(hunk, text)
        after = text.encode("utf-8", "surrogateescape")
        come = {line for hunk in hunks for line in hunk.after}
        spots = spots_of(plain(after.decode("utf-8", "replace")))
        # The record comes before the file: a record of a change that was not written does no harm.
        with using(self.home, SCHEMA) as db, transaction(db):
            made = (spot for spot in spots if spot[1] in come)
            note_lines(db, self.project, self.page, made, "made")
            db.execute(
                "INSERT INTO living_versions (project, page, path, at, before, after)"
                " VALUES (?,?,?,?,?,?)",
                (*self._key, self.path, time.time(), before, after),
            )
            db.execute(
                "DELETE FROM living_versions WHERE project=? AND page=? AND id NOT IN"
                " (SELECT id FROM living_versions WHERE project=? AND page=?"
                " ORDER BY id DESC LIMIT ?)",
                (*self._key, *self._key, _VERSIONS),
            )
        put(self.path, before, after)

    def newest(self) -> int:
        """The number of the last accepted change; 0 where there is none."""
        query = (
            "SELECT coalesce(max(id), 0) FROM living_versions WHERE project=? AND page=? AND path=?"
        )
        return int(state_rows(self.home, SCHEMA, query, (*self._key, self.path))[0][0])

    def undo(self, number: int = 0) -> str:
        """Undo the last accepted change. Its lines no longer count as accepted.

        Args:
            number: the change that was shown (``newest``); 0 for any.

        Returns:
            The page's file; '' if there is no change.

        Raises:
            Conflict: another change is the last one by now, or the page was changed since.
        """
        with locked(self.home, self.path):
            last = self.newest()
            if not last:
                return ""
            if number and number != last:
                raise Conflict("another change was accepted since", "undo that one first")
            query = "SELECT before, after FROM living_versions WHERE id=?"
            ((before, after),) = state_rows(self.home, SCHEMA, query, (last,))
            now = bytes_of(self.path)
            if now == after:
                put(self.path, now, before)
            elif now != before:  # if the file has its old text, the change was never written
                raise Conflict(f"{self.path} has changed since", "look at it; nothing was changed")
            was, made = (
                set(spots_of(plain((text or b"").decode("utf-8", "replace"))))
                for text in (before, after)
            )
            with using(self.home, SCHEMA) as db, transaction(db):
                db.executemany(
                    "DELETE FROM living_lines"
                    " WHERE project=? AND page=? AND trail=? AND line=? AND how='made'",
                    [(*self._key, *spot) for spot in made - was],
                )
                db.execute("DELETE FROM living_versions WHERE id=?", (last,))
        return self.path


def put(path: str, before: bytes | None, after: bytes | None) -> None:
    """Replace the file's content *before* by *after*; None means no file.

    Raises:
        Conflict: the file has another content.
        Unreachable: the file is not writable.
    """
    if before == after:
        return
    if after is None:
        if bytes_of(path) != before:
            raise Conflict(f"{path} has changed since", "look at it; nothing was changed")
        os.unlink(path)
    elif before is None:
        if bytes_of(path) is not None:
            raise Conflict(f"{path} has come to be meanwhile", "look at it; nothing was changed")
        append(path, after)
    else:
        replace(path, before, after)
