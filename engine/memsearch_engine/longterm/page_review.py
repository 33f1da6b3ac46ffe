"""Decides on proposed changes of PROJECT.md and USER.md, and undoes accepted ones."""

from __future__ import annotations

import os
import re
import time

import msgspec

from memsearch_engine.core.errors import Conflict, NotFound, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.state import using
from memsearch_engine.journal.disk import append, locked, replace
from memsearch_engine.journal.text import plain
from memsearch_engine.longterm.changes import Hunk, Proposed, Review, find
from memsearch_engine.longterm.pages import (
    FILES,
    SCHEMA,
    Page,
    bytes_of,
    note_lines,
    path_of,
    section_spans,
    spots_of,
)

_VERSIONS = 20  # versions of a page that can be undone


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
    with using(home, SCHEMA) as db:
        rows = db.execute(
            "SELECT body FROM living_waiting WHERE project=? ORDER BY page", (project.id,)
        ).fetchall()
    return [msgspec.json.decode(body, type=PageProposal) for (body,) in rows]


class PageReview(Review[PageProposal]):
    """Decides on the proposal for one page. Each accepted change can be undone."""

    listing = "memsearch pages show"
    forbidden = re.compile(r"(?m)^\s{0,3}#|<!--|memsearch-memory")

    def __init__(self, home: Home, settings: Settings, project: Project, page: Page) -> None:
        super().__init__(home)
        self.project, self.page = project, page
        self.path = path_of(settings, project, page)
        self._key = (project.id, page)

    def nothing(self) -> NotFound:
        """The error to raise if no proposal is pending."""
        return NotFound(
            f"nothing waits for {FILES[self.page]}",
            "`memsearch pages review` looks whether there is anything to propose",
        )

    def locked_path(self) -> str:
        """The path of the page."""
        return self.path

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
        _put(self.path, before, after)

    def newest(self) -> int:
        """The number of the last accepted change; 0 where there is none."""
        query = (
            "SELECT coalesce(max(id), 0) FROM living_versions WHERE project=? AND page=? AND path=?"
        )
        with using(self.home, SCHEMA) as db:
            return int(db.execute(query, (*self._key, self.path)).fetchone()[0])

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
            with using(self.home, SCHEMA) as db:
                query = "SELECT before, after FROM living_versions WHERE id=?"
                before, after = db.execute(query, (last,)).fetchone()
            now = bytes_of(self.path)
            if now == after:
                _put(self.path, now, before)
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


def applied(hunk: Hunk, text: str) -> str:
    """Apply a change to a page. All other bytes stay the same.

    Raises:
        Conflict: the lines to change are not there any more.
    """
    ended = [line for line in re.split(r"(?<=\n)", text) if line]
    lines = [line.rstrip("\r\n") for line in ended]
    newline = "\r\n" if ended and ended[0].endswith("\r\n") else "\n"
    spans, place = [], 0
    for heading, under in section_spans(lines):
        begin = place + bool(heading)  # after its heading
        place = begin + len(under)
        spans += [(begin, place)] if heading == hunk.section else []
    come = [f"{line}{newline}" for line in hunk.after]
    if hunk.before:
        found = next((n for span in spans if (n := find(lines, hunk.before, *span)) >= 0), -1)
        if found < 0:
            if hunk.after and any(find(lines, hunk.after, *span) >= 0 for span in spans):
                return text
            raise Conflict(
                f"what it changes is not there any more: {hunk.before[0][:80]}",
                "reject it, or wait for the next review",
            )
        ended[found : found + len(hunk.before)] = come
    elif any(find(lines, hunk.after, *span) >= 0 for span in spans):
        return text
    else:
        if ended and not ended[-1].endswith("\n"):
            ended[-1] += newline
        if spans:
            begin, end = spans[0]
            while end > begin and not lines[end - 1].strip():
                end -= 1
            at = next(
                (
                    n + 1
                    for lead in hunk.leads
                    for b, e in spans
                    for n in range(b, e)
                    if lines[n] == lead
                ),
                end,
            )
            ended[at:at] = [*([newline] if at == begin and hunk.section else []), *come]
        else:
            gap = [newline] if lines and lines[-1].strip() else []
            ended += [*gap, f"{hunk.section}{newline}", newline, *come]
    return "".join(ended)


def _put(path: str, before: bytes | None, after: bytes | None) -> None:
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
