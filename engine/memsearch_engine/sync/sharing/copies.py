"""Shared copies of the owner's notes: planning, writing, listing and removing them.

A copy has the note's words without secrets and without paths of this machine. Of its conversation
it has only the names. It is written into the project's work tree, and the owner commits it like any
other change; git is never run. The home of the author knows its copies and injects the original
note instead.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec

from memsearch_engine.core import repository
from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.project_location import author_of, shared_beside
from memsearch_engine.core.safe_text import plain, shown_line
from memsearch_engine.journal import render, shared
from memsearch_engine.journal.files import DayFile, day_of, read_day_or_empty
from memsearch_engine.journal.merge import text_key
from memsearch_engine.journal.model import CONFLICT, CONFLICT_OF, Anchor, Entry, QuarantineReason
from memsearch_engine.journal.origin import find_quarantined
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import COPY_OF, REVIEW, SHARED, WRITTEN
from memsearch_engine.journal.text import CleanText
from memsearch_engine.search.request import is_expired
from memsearch_engine.search.scope import Scope
from memsearch_engine.secrets.scan import redact

#: Marks of a note that also apply to its copy.
_COPIED = ("confidence", "expires", "branch", "verified")
REVIEW_DAYS = 180
_NAME = re.compile(r"[\w.:=-]{1,200}")  # the name of a session or a turn


class ShareChange(StrEnum):
    """What sharing a note, or importing it from a pack, changes.

    ``SAME``: the same copy exists already. ``REFUSED``: nothing is written.
    """

    NEW = "new"
    CHANGED = "changed"
    SAME = "as it is"
    REFUSED = "refused"


class Planned(msgspec.Struct, frozen=True):
    """A planned copy of a note.

    Attributes:
        entry_id, title, day: of the note.
        author: the name under which it is shared.
        path: the file for the copy.
        why: why it is refused.
        lines: the copy's lines in the file.
        replaced: placeholders of removed secrets.
    """

    entry_id: str
    title: str
    day: str
    author: str
    path: str
    change: ShareChange
    why: str = ""
    lines: list[str] = []
    replaced: tuple[str, ...] = ()


class SharedNote(msgspec.Struct, frozen=True):
    """A shared note.

    Attributes:
        copy_of: the original note, on its author's machine.
        shared, review: ISO days; '' if not given.
        is_mine: this home wrote it.
        is_committed: the project's last commit contains its current text.
        is_due: its day of review has come.
        waits: why it is not injected; None if it may be.
        since: what has happened to the original note, if this home shared it: ``changed``,
            ``superseded``, ``gone``; '' for nothing.
    """

    path: str
    day: str
    time: str
    author: str
    entry_id: str
    hash: str
    copy_of: str
    title: str
    shared: str
    review: str
    is_mine: bool
    is_committed: bool
    is_due: bool
    waits: QuarantineReason | None
    since: str


class Copy(NamedTuple):
    """The parts of a shared copy, before they are written."""

    heading: str
    anchors: list[Anchor]
    marks: dict[str, str]
    body: CleanText


def folder(scope: Scope) -> str:
    """Return the folder of this project's shared notes.

    Raises:
        UsageError: nobody could commit them with the project.
    """
    found, place = shared_beside(scope.place.memory), scope.place
    why = ""
    if not found or os.path.dirname(os.path.dirname(found)) != place.root:
        why = f"the notes lie in {place.memory}, outside the project"
    elif place.root == place.common_dir:
        why = (
            f"the worktrees of {place.root} have one memory beside that repository, in none of them"
        )
    elif os.path.realpath(os.path.dirname(found)) != os.path.dirname(found) or os.path.islink(
        found
    ):
        why = f"{found} is a link"
    if why:
        raise UsageError(why, "a pack can be made: `memsearch share --pack FILE ENTRY…`")
    return found


def plan(
    scope: Scope,
    notes: Iterable[tuple[str, Entry]],
    by: str,
    *,
    review: str = "",
    for_pack: bool = False,
    today: date | None = None,
) -> list[Planned]:
    """Plan the copies of *notes* (path and entry), in the order of time. Writes nothing.

    Args:
        by: the author, from ``author``.
        review: the day (ISO) on which they are to be reviewed; in half a year by default.
        for_pack: they go into a file of the owner, which needs no folder of the project.
    """
    if not for_pack:
        folder(scope)
    now = today or date.today()
    marks = {
        SHARED: now.isoformat(),
        REVIEW: review or (now + timedelta(days=REVIEW_DAYS)).isoformat(),
    }
    found = []
    files = () if for_pack else shared_files(scope)
    there = [(file.path, entry) for file, entries in files for entry in entries]
    mine = scope.journal.origin.those((entry.raw for _, entry in there), WRITTEN)
    places = {entry.id: path for path, entry in there if entry.raw in mine}
    for path, entry in notes:
        day = day_of(path) or now.isoformat()
        # a note without a day has that of its first sharing
        to = places.get(shared.shared_id(entry.id)) or shared.path_for(scope.place.memory, by, day)
        why = _refused(scope, path, entry)
        if not why and not for_pack and (other := author_of(to)) != by:
            why = f"it is shared as {other}: `memsearch share --withdraw {entry.id[:8]}` first"
        if why:
            found.append(Planned(entry.id, entry.title, day, by, to, ShareChange.REFUSED, why))
            continue
        copy, replaced = _copied(scope, entry, marks)
        lines = lines_of(copy)
        (new,) = parse("\n".join(lines).encode()).entries
        change, to = (ShareChange.NEW, "") if for_pack else (_change(new, to, review), to)
        found.append(Planned(entry.id, new.title, day, by, to, change, "", lines, replaced))
    return sorted(found, key=lambda one: (one.day, one.lines[:1]))


def put(scope: Scope, planned: Planned, how: str, batch: str) -> None:
    """Write one copy. *how* records how it came here."""
    base = folder(scope)
    if author_of(planned.path) and os.path.dirname(os.path.dirname(planned.path)) == base:
        if any(map(os.path.islink, (os.path.dirname(planned.path), planned.path))):
            raise UsageError(
                f"{planned.path} is a link", "shared notes are files of the project's own"
            )
        (entry,) = parse("\n".join(planned.lines).encode()).entries
        head = (
            entry.raw[: entry.body_start - entry.start]
            .decode("utf-8", "replace")
            .rstrip()
            .split("\n")
        )
        body = cleaned(scope, entry.body, entry)
        scope.journal.put(scope.place.memory, planned.path, head, body, how, batch)


def cleaned(scope: Scope, text: str, entry: Entry) -> CleanText:
    """Return the body of a copy without secrets.

    Text that could begin another entry is escaped. Code keeps its comments.
    """
    clean = redact(plain(text), scope.home)[0]
    try:
        return render.body_of(clean, entry)
    except UsageError:
        return scope.journal.clean(clean)


def lines_of(copy: Copy) -> list[str]:
    """The lines of a copy in a file. Its content cannot begin another entry."""
    anchors = [
        Anchor(anchor.session, anchor.turn, anchor.agent).render()
        for anchor in copy.anchors
        # an anchor that is more than the name of a conversation is left out
        if _NAME.fullmatch(anchor.session) and _NAME.fullmatch(anchor.turn or "-")
    ]
    marks = render.mark_lines({name: shown_line(value) for name, value in copy.marks.items()})
    return render.entry_lines(
        [f"### {shown_line(copy.heading).strip() or 'Note'}", *anchors, *marks], copy.body
    )[:-1]


def listed(scope: Scope) -> list[SharedNote]:
    """All shared notes of these projects, newest day first."""
    origin, today = scope.journal.origin, date.today()
    found = []
    read = list(shared_files(scope))
    mine = origin.those((entry.raw for _, entries in read for entry in entries), WRITTEN)
    wanted = {
        entry.marks.get(COPY_OF, "")
        for _, entries in read
        for entry in entries
        if entry.raw in mine
    }
    notes = own_notes(scope, wanted - {""})
    for file, entries in read:
        by, folder_of = author_of(file.path), scope.memory_of(file.path)
        waiting = {
            entry.id: why
            for entry, why, _ in find_quarantined(origin, folder_of, entries, file.path)
        }
        committed = shared.committed(file.path, folder_of)
        for entry in entries:
            marks = entry.marks
            found.append(
                SharedNote(
                    file.path,
                    file.day,
                    entry.time,
                    by,
                    entry.id,
                    entry.hash,
                    marks.get(COPY_OF, ""),
                    entry.title,
                    marks.get(SHARED, ""),
                    marks.get(REVIEW, ""),
                    entry.raw in mine,
                    shared.with_lf(entry.raw) in committed,
                    shared.is_due(marks, today),
                    waiting.get(entry.id),
                    _since(scope, entry, notes.get(marks.get(COPY_OF, "")))
                    if entry.raw in mine
                    else "",
                )
            )
    return found


def shared_files(scope: Scope) -> Iterator[tuple[DayFile, list[Entry]]]:
    """Yield the shared files with their entries. Unreadable files are skipped (see `doctor`)."""
    for file in scope.files():
        if author_of(file.path):
            with contextlib.suppress(OSError):
                yield file, scope.read(file)


def own_notes(scope: Scope, names: set[str]) -> dict[str, Entry]:
    """The notes with these ids that are here and are not shared copies."""
    found: dict[str, Entry] = {}
    for file in scope.files() if names else ():
        if names <= found.keys():
            break
        if not author_of(file.path):
            with contextlib.suppress(OSError):
                found.update((entry.id, entry) for entry in scope.read(file) if entry.id in names)
    return found


def _refused(scope: Scope, path: str, entry: Entry) -> str:
    """Why a note cannot be shared; '' if it can."""
    if author_of(path):
        return "it is shared already"
    if not scope.project_of(path):
        return "it is no note of this project"
    if CONFLICT in entry.marks or CONFLICT_OF in entry.marks:
        return "it has two texts: `memsearch sync conflicts` decides"
    if find_quarantined(scope.journal.origin, scope.memory_of(path), [entry], path):
        return "it waits for your decision: `memsearch trust` lists why"
    if newer := entry.marks.get("superseded-by"):
        return f"it is superseded by {newer}: share that one"
    if is_expired(entry.marks, date.today().isoformat()):
        return f"it expired on {entry.marks['expires']}"
    if not entry.body.strip():
        return "it says nothing"
    return ""


def _copied(scope: Scope, entry: Entry, marks: dict[str, str]) -> tuple[Copy, tuple[str, ...]]:
    roots = [scope.place.root, *repository.worktrees(scope.place.common_dir)]
    clean, heading = (
        redact(without_private(text, roots), scope.home) for text in (entry.body, entry.heading)
    )
    copied_marks = {name: entry.marks[name] for name in _COPIED if name in entry.marks}
    own = {"id": shared.shared_id(entry.id), COPY_OF: entry.id}
    anchors = [anchor for anchor in entry.anchors if not redact(anchor.render(), scope.home)[1]]
    copy = Copy(heading[0], anchors, own | marks | copied_marks, cleaned(scope, clean[0], entry))
    return copy, tuple(one.placeholder for one in clean[1])


def without_private(text: str, roots: list[str]) -> str:
    """Shorten private paths in *text*.

    Paths of the project become relative to its root. Other paths in the home folder lose the
    folder's name. Paths inside JSON, URLs and Claude Code's folder names are found, too. In doubt,
    a path is shortened.
    """
    home = os.path.expanduser("~").rstrip(os.sep)
    places = [(root.rstrip(os.sep), ".", "") for root in roots] + [(home, "~", "~/")]
    for place, itself, below in sorted(
        filter(lambda one: one[0], places), key=lambda one: -len(one[0])
    ):
        text = re.sub(rf"{re.escape(place)}/(?=[^\s\"'`,;:)\]}}>])", below, text)
        text = re.sub(rf"{re.escape(place)}/?(?![\w-]|\.\w)", itself, text)
        for written in (
            place.replace("/", "\\/"),
            place.replace("/", "%2F"),
            re.sub(r"[^A-Za-z0-9]", "-", place),
        ):
            text = re.sub(rf"(?i){re.escape(written)}(?![A-Za-z0-9])", itself, text)
    return text


def _change(new: Entry, path: str, review: str) -> ShareChange:
    """What the copy *new* changes in the file *path*. Another day of review is a change."""
    existing = read_day_or_empty(path).find(new.id)
    if existing is None:
        return ShareChange.NEW
    same_marks = all(existing.marks.get(name) == new.marks.get(name) for name in _COPIED)
    same_review = not review or existing.marks.get(REVIEW) == review
    is_same = text_key(existing) == text_key(new) and same_marks and same_review
    return ShareChange.SAME if is_same else ShareChange.CHANGED


def _since(scope: Scope, entry: Entry, note: Entry | None) -> str:
    """What has happened to the original *note* of a copy."""
    if note is None:
        return "gone" if entry.marks.get(COPY_OF) else ""
    if "superseded-by" in note.marks or is_expired(note.marks, date.today().isoformat()):
        return "superseded"
    (new,) = parse("\n".join(lines_of(_copied(scope, note, {})[0])).encode()).entries
    return "changed" if text_key(new) != text_key(entry) else ""
