"""Changing day files: append a turn, edit, delete and mark an entry, undo and redo.

Every change names the entry and the hash of what its maker saw. Under the file's lock the file is read again, the
entry found wherever it now stands, the hash compared, and only that entry's own bytes replaced.
"""

from __future__ import annotations

import logging
import os
import re
import uuid
from collections.abc import Callable, Iterable
from datetime import date
from enum import StrEnum

import msgspec

from memsearch_engine import inside
from memsearch_engine.errors import Conflict, NotFound, Unreachable, UsageError
from memsearch_engine.home import Home
from memsearch_engine.ids import digest
from memsearch_engine.journal import disk
from memsearch_engine.journal.files import list_files, read_day
from memsearch_engine.journal.history import Change, History
from memsearch_engine.journal.model import Anchor, Document, Entry, clean_comment
from memsearch_engine.journal.origin import CAPTURED, Origin
from memsearch_engine.journal.parse import FLAG_MARKS, heading_count, parse, parse_end, parse_mark, turn_id
from memsearch_engine.journal.text import balance_fences, escape_block
from memsearch_engine.journal.turns import UNIQUE, KnownTurns

log = logging.getLogger("memsearch.journal")

_SESSION_HEADING = re.compile(r"Session\b", re.I)
_ATTEMPTS = 20


class Skipped(StrEnum):
    """Why a turn was not written."""

    DELETED = "deleted by the owner"
    THERE = "already there"


class Appended(msgspec.Struct, frozen=True):
    """``skipped``: why nothing was written."""

    entry_id: str
    path: str
    written: bool
    skipped: Skipped | None = None


class Target(msgspec.Struct, frozen=True):
    """An entry as somebody saw it. An empty ``hash`` skips the comparison (the caller just read it)."""

    path: str
    entry_id: str
    hash: str = ""


class Journal:
    """All writes to day files of one home's projects."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.history = History(home.history_db)
        self.origin = Origin(home)
        self._turns: dict[str, KnownTurns] = {}

    # -- adding ---------------------------------------------------------------------------------------------

    def append_turn(
        self,
        memory: str,
        day: str,
        time: str,
        body: str,
        anchor: Anchor,
        marks: dict[str, str] | None = None,
        *,
        aliases: Iterable[str] = (),
        times: Iterable[str] = (),
    ) -> Appended:
        """Append a captured turn under the right session heading; a turn that is there already is left alone.

        Args:
            memory: the project's memory folder.
            day: ISO date; time: ``HH:MM``. The heading under which the entry stands.
            body: lines of text; secrets in it and what would forge an entry do not reach the file, whoever calls.
            anchor: with agent, session and turn.
            aliases, times: by what else the turn may be known, as ``KnownTurns.has`` has them.
        """
        entry_id = turn_id(anchor.agent, anchor.session, anchor.turn)
        path, harmless = self._day_path(memory, day), self._harmless(body)
        if self.is_deleted(anchor, aliases):
            return Appended(entry_id, path, False, Skipped.DELETED)
        # the folder's lock before the file's: two processes in two time zones would look into two files
        with disk.locked(self.home, os.path.join(memory, "turns")), disk.locked(self.home, path):
            if self.turns(memory).has(anchor, aliases, times):
                return Appended(entry_id, path, False, Skipped.THERE)
            document = parse_end(_read(path), day)
            lines = [] if _last_session(document) == anchor.session else [f"## Session {time}", ""]
            lines += [f"### {time}", anchor.render(), *_render_marks(marks or {}), harmless, ""]
            block = _joined(document, lines)
            self.origin.wrote((entry.raw for entry in parse(block, day).entries), CAPTURED)
            self.origin.saw(body)
            disk.append(path, block, first=f"# {day}\n\n".encode())
        return Appended(entry_id, path, True)

    def add_note(self, memory: str, day: str, time: str, body: str, *, heading: str = "") -> Appended:
        """Append a hand-written note; undoable. It gets an ``id`` comment, so that it keeps its name for good.

        Args:
            heading: our own words: the note stands under them alone, not among the day's others.
        """
        path, harmless = self._day_path(memory, day), self._harmless(body)
        entry_id = uuid.uuid4().hex[:12]
        with disk.locked(self.home, path):
            data = _read(path)
            document = parse_end(data, day)
            block = _joined(document, ["## Notes", ""] if not heading and not _in_notes(document) else [])
            head = f"## {heading}" if heading else f"### {time}"
            block += _lines(document, [head, f"<!-- id:{entry_id} -->", harmless, ""])
            first = f"# {day}\n\n".encode()
            self.origin.wrote(entry.raw for entry in parse(block, day).entries)
            change = self._change(
                "add", memory, path, entry_id, _first_line(harmless), len(data or first), b"", block, data,
                (data or first) + block,
            )  # fmt: skip
            seq = self.history.record(change)
            try:
                disk.append(path, block, first=first)
            except Exception:
                self.history.drop(seq)
                raise
            self.history.confirm(seq)
        return Appended(entry_id, path, True)

    def refresh_turn(
        self, memory: str, anchor: Anchor, aliases: Iterable[str], body: str, marks: dict[str, str]
    ) -> Appended | None:
        """Take over what a turn has become (a late result, a continuation) where its entry stands as capture wrote it. Undoable.
        None where nothing came of it: it was edited meanwhile, is not there, or this was taken over before.

        Args:
            marks: added to those of the entry: what came late may have come from outside.
        """
        if self.origin.has_seen(body):
            return None
        done, harmless = None, self._harmless(body)
        names = {turn_id(anchor.agent, anchor.session, name) for name in (anchor.turn, *aliases)}
        for path in self.turns(memory).where(anchor, aliases):
            for entry in read_day(path).entries:
                if done or entry.id not in names or entry.body == body or not self.origin.is_captured(entry.raw):
                    continue

                def change(document: Document, entry: Entry) -> bytes:
                    old = entry.raw[entry.body_start - entry.start :]
                    new = _with_marks(document, entry, {**entry.marks, **marks}) if marks else entry.raw
                    return new[: len(new) - len(old)] + harmless.replace("\n", document.newline).encode("utf-8")

                try:
                    new = self._splice(memory, "edit", [target_of(path, entry)], change)[0]
                except (Conflict, NotFound):
                    continue
                self.origin.wrote([new.raw], CAPTURED)
                done = Appended(new.id, path, True)
        self.origin.saw(body)
        return done

    def turns(self, memory: str) -> KnownTurns:
        """The turns that a memory folder holds."""
        return self._turns.setdefault(memory, KnownTurns(memory))

    def is_deleted(self, anchor: Anchor, aliases: Iterable[str] = ()) -> bool:
        """Whether the owner deleted this turn, under any of its names. Where the history can't be read, capture goes on: a note too many is mended with
        a key, one that is not written is lost."""
        try:
            return any(
                self.history.is_deleted(turn_id(anchor.agent, anchor.session, name))
                or (len(name) >= UNIQUE and self.history.deleted_turn(name))
                for name in (anchor.turn, *aliases)
            )
        except Unreachable as error:
            log.warning("%s", error)
            return False

    # -- changing -------------------------------------------------------------------------------------------

    def edit(self, memory: str, target: Target, text: str, *, undoable: bool = True) -> Entry:
        """Replace the body of an entry; heading, anchors and marks stay, secrets do not get in. Returns the entry as it now is."""
        from memsearch_engine.secrets.scan import redact

        clean = redact(text, self.home)[0]

        def change(document: Document, entry: Entry) -> bytes:
            body = _body_of(clean, entry)
            head = _head_with_id(document, entry)
            if not head.endswith(b"\n") and head and body:
                head += document.newline.encode()
            return head + body.replace("\n", document.newline).encode("utf-8")

        return self._splice(memory, "edit", [target], change, undoable=undoable)[0]

    def mark(self, memory: str, target: Target, name: str, value: str | None) -> Entry:
        """Set a mark (``value`` None removes it; a flag's value is ignored)."""
        return self.mark_each(memory, [target], name, value)[0]

    def mark_each(self, memory: str, targets: list[Target], name: str, value: str | None) -> list[Entry]:
        """The same for several entries: all or none, one step of undo."""

        def change(document: Document, entry: Entry) -> bytes:
            marks = dict(entry.marks)
            marks.pop(name, None)
            if value is not None:
                marks[name] = value
            return _with_marks(document, entry, marks)

        return self._splice(memory, "mark", targets, change)

    def upgrade(self, memory: str, target: Target, body: str | None) -> Entry:
        """Settle a pending summary: *body* takes the place of the extractive one (None: that one stays), and the mark goes.
        No step of the owner's undo: it is capture's second half. Raises Conflict where somebody edited meanwhile."""
        harmless = None if body is None else self._harmless(body)

        def change(document: Document, entry: Entry) -> bytes:
            marks = {name: value for name, value in entry.marks.items() if name != "summary"}
            new = _with_marks(document, entry, marks)
            if harmless is None:
                return new
            old = entry.raw[entry.body_start - entry.start :]
            return new[: len(new) - len(old)] + harmless.replace("\n", document.newline).encode("utf-8")

        entry = self._splice(memory, "edit", [target], change, undoable=False)[0]
        self.origin.wrote([entry.raw], CAPTURED)
        return entry

    def merge(self, memory: str, keep: Target, gone: list[Target]) -> Entry:
        """Make one entry of several that say the same: *keep*'s text with the anchors of all; the others go. One step of undo."""
        batch = uuid.uuid4().hex
        before = parse(_read(keep.path), _stem(keep.path))
        seen = self._seen(before, keep)
        position, kept_at = before.entries.index(seen), seen.start
        others = [self._seen(parse(_read(t.path), _stem(t.path)), t) for t in gone]
        anchors = [anchor for other in others for anchor in other.anchors]

        def change(document: Document, entry: Entry) -> bytes:
            new = [a for a in dict.fromkeys(anchors) if a not in entry.anchors]
            head = _head_with_id(document, entry)
            if head and not head.endswith(b"\n"):
                head += document.newline.encode()
            lines = "".join(f"{anchor.render()}{document.newline}" for anchor in new).encode()
            return (
                head.rstrip(b"\r\n")
                + document.newline.encode() * bool(head.strip())
                + lines
                + entry.raw[entry.body_start - entry.start :]
            )

        self._splice(memory, "delete", gone, None, batch=batch)
        now = parse(
            _read(keep.path), _stem(keep.path)
        )  # the order of equal notes has changed: it is known by its place
        index = sum(t.path == keep.path and other.start < kept_at for t, other in zip(gone, others))
        entry = now.entries[position - index]
        (kept,) = self._splice(
            memory, "edit", [Target(keep.path, entry.id, keep.hash)], change, batch=batch, ours=False
        )
        return kept

    def delete(self, memory: str, targets: list[Target]) -> None:
        """Remove entries, each only if it is still what was seen; undone together."""
        self._splice(memory, "delete", targets, None)

    def _splice(
        self,
        memory: str,
        op: str,
        targets: list[Target],
        change: Callable[[Document, Entry], bytes] | None,
        *,
        undoable: bool = True,
        batch: str = "",
        ours: bool = True,
    ) -> list[Entry]:
        """
        Args:
            ours: whether an edit makes the words this home's; else they stay whose they were.
        """
        batch = batch or uuid.uuid4().hex
        changed: list[Entry] = []
        if any(target.path.startswith(f"{self.home.longterm_search}{os.sep}") for target in targets):
            raise UsageError(
                "this is of the long-term memory, no note",
                "`memsearch forget WORDS` takes it out; MEMORY.md can be edited",
            )
        # all or nothing: look at every one before the first is touched; and from the last one back, since equal notes of a day are
        # told apart by their order
        places = [(t.path, self._seen(parse(_read(t.path), _stem(t.path)), t).start, t) for t in targets]
        for _, _, target in sorted(places, key=lambda place: place[:2], reverse=True):
            path = disk.real_file(target.path)
            with disk.locked(self.home, path):
                self.settle(path)
                for attempt in range(_ATTEMPTS):
                    data = _read(path)
                    name = _stem(path)
                    document = parse(data, name)
                    entry = self._seen(document, target)
                    if change is None:
                        start, stop, after = entry.start, entry.stop, b""
                    else:
                        start, stop, after = entry.start, entry.end, change(document, entry)
                    before = data[start:stop]
                    new = data[:start] + after + data[stop:]
                    if new == data:
                        changed.append(entry)
                        break
                    now = parse(new, name).find(entry.id) if change is not None else None
                    if now is not None and ((op == "edit" and ours) or self.origin.is_own(entry.raw, memory)):
                        self.origin.wrote([now.raw])  # a mark on somebody's note does not make it ours
                    record = self._change(
                        op, memory, path, entry.id, entry.title, start, before, after, data, new, batch
                    )
                    self._neighbours(record, document, entry)
                    seq = self.history.record(record) if undoable else 0
                    try:
                        disk.replace(path, data, new)
                    except Conflict:
                        if undoable:
                            self.history.drop(seq)
                        if attempt == _ATTEMPTS - 1:
                            raise
                        continue
                    except BaseException:
                        if undoable:
                            self.history.drop(seq)
                        raise
                    if undoable:
                        self.history.confirm(seq)
                    if change is not None:
                        changed.append(now or entry)
                    break
        return changed

    def _seen(self, document: Document, target: Target) -> Entry:
        entry = document.find(target.entry_id)
        if entry is None:
            raise NotFound(
                f"no entry {target.entry_id} in {target.path}",
                "`memsearch entries` lists what is there; it may have moved",
            )
        if target.hash and entry.hash != target.hash:
            raise Conflict(
                f"entry {entry.id} changed since it was read (hash {target.hash} expected, {entry.hash} found)",
                "read it again and decide which text to keep",
                current=entry.content,
            )
        return entry

    # -- undo, redo -----------------------------------------------------------------------------------------

    def undo(self, memory: str = "", entry_id: str = "") -> list[Change]:
        """Take back the last change (of a folder, of an entry, or of all). Returns what was undone, newest first."""
        self._settle_all()
        batch = self.history.last_done(memory, entry_id)
        for change in batch:
            self._apply(change, change.after, change.before, change.file_after, undone=True)
        return batch

    def redo(self, memory: str = "", entry_id: str = "") -> list[Change]:
        """Do again what was last undone."""
        self._settle_all()
        batch = self.history.last_undone(memory, entry_id)
        for change in batch:
            self._apply(change, change.before, change.after, change.file_before, undone=False)
        return batch

    def restore(self, seq: int) -> Change:
        """Bring an entry back to how it stood before change *seq*, as a new change that can itself be undone."""
        old = self.history.get(seq)
        if old is None:
            raise NotFound(f"no change {seq} in the history", "`memsearch history` lists them")
        with disk.locked(self.home, old.path):
            self.settle(old.path)
            data = _read(old.path)
            document = parse(data, _stem(old.path))
            entry = document.find(old.entry_id)
            if entry is None:
                position = self._place(document, data, old)
                if not old.before.strip():
                    raise NotFound(f"change {seq} added this entry: nothing stood before it")
                before, after = b"", _apart(document, position, old.before)
            else:
                position, before = entry.start, data[entry.start : entry.end]
                after = old.before.rstrip() if old.before.strip() else b""
            new = data[:position] + after + data[position + len(before) :]
            if new == data:
                raise Conflict(f"entry {old.entry_id} already stands as it did before change {seq}")
            record = self._change(
                "edit" if before else "add", old.memory, old.path, old.entry_id, old.title, position, before, after,
                data, new,
            )  # fmt: skip
            seq_new = self.history.record(record)
            try:
                _write(old.path, data, new)
            except Exception:
                self.history.drop(seq_new)
                raise
            self.history.confirm(seq_new)
            record.seq = seq_new
        return record

    def vanished(self, memory: str) -> list[Change]:
        """Notes that were added here and that another program has since written over: an editor with an old copy of the file, a
        ``git checkout``. The owner may have meant it, so they are offered, not brought back."""
        memory = os.path.abspath(memory)
        there = {entry.id for file in list_files(memory).files for entry in read_day(file.path).entries}
        return [change for change in self.history.added(memory) if change.entry_id not in there]

    def add_again(self, seq: int) -> str:
        """Bring back a note that vanished, at the end of its day; undoable. Returns its id."""
        old = self.history.get(seq)
        if old is None:
            raise NotFound(f"no change {seq} in the history", "`memsearch history` lists them")
        with disk.locked(self.home, old.path):
            data = _read(old.path)
            document = parse(data, _stem(old.path))
            if document.find(old.entry_id) is not None:
                raise Conflict(f"entry {old.entry_id} is there again")
            block = _apart(document, len(data), old.after)
            self.origin.wrote(entry.raw for entry in parse(block, _stem(old.path)).entries)
            change = self._change(
                "add", old.memory, old.path, old.entry_id, old.title, len(data), b"", block, data, data + block
            )
            new = self.history.record(change)
            try:
                disk.append(old.path, block)
            except Exception:
                self.history.drop(new)
                raise
            self.history.confirm(new)
        return old.entry_id

    def _apply(self, change: Change, now: bytes, then: bytes, file_now: str, *, undone: bool) -> None:
        """Replace *now* by *then* where it stands; a changed entry is a conflict."""
        path = change.path
        with disk.locked(self.home, path):
            self.settle(path)
            data = _read(path)
            if digest(data, size=8) == file_now:
                start, stop = change.offset, change.offset + len(now)
            else:
                document = parse(data, _stem(path))
                entry = document.find(change.entry_id)
                if not now.strip():
                    if entry is not None:
                        raise Conflict(f"entry {change.entry_id} is there again", current=entry.content)
                    start = stop = self._place(document, data, change)
                    then = _apart(document, start, then)
                else:
                    if entry is None:
                        raise Conflict(f"entry {change.entry_id} is no longer in {path}")
                    start = data.find(now, max(0, entry.start - len(now)), entry.stop + len(now))
                    if not (0 <= start <= entry.start and entry.end <= start + len(now.rstrip())):
                        if entry.raw != now.rstrip():
                            raise Conflict(
                                f"entry {change.entry_id} changed since, so this can't be taken back by itself",
                                f"`memsearch history {change.entry_id}` has its versions, `restore` picks one",
                                expected=now.decode("utf-8", "replace"),
                                current=entry.content,
                            )
                        start, now = entry.start, entry.raw
                    stop = start + len(now)
            new = data[:start] + then + data[stop:]
            n = self.history.begin_undo(change, undone, digest(data, size=8), digest(new, size=8))
            try:
                _write(path, data, new)
            except Exception:
                self.history.drop_undo(n)
                raise
            self.history.confirm_undo(n)

    def _settle_all(self) -> None:
        """Decide about every undo that died half-way, before the next one is chosen."""
        for path in self.history.unsettled():
            with disk.locked(self.home, path):
                self.settle(path)

    def settle(self, path: str) -> None:
        """Decide what became of changes that were under way when a process died. The caller holds the lock."""
        for change in self.history.intents(path):
            data = _read(path)
            entry = parse(data, _stem(path)).find(change.entry_id)
            current = digest(data, size=8)
            if current == change.file_after:
                done = True
            elif current == change.file_before:
                done = False
            elif change.op == "delete":
                done = entry is None
            else:
                done = entry is not None and change.after.strip() in data
            self.history.confirm(change.seq) if done else self.history.drop(change.seq)
        for undo in self.history.undo_intents(path):
            data = _read(path)
            current = digest(data, size=8)
            wanted = undo.change.before if undo.undone else undo.change.after
            if current in (undo.file_before, undo.file_after):
                done = current == undo.file_after
            elif wanted.strip():
                done = wanted.strip() in data
            else:
                done = parse(data, _stem(path)).find(undo.change.entry_id) is None
            self.history.confirm_undo(undo.n) if done else self.history.drop_undo(undo.n)

    # -- helpers --------------------------------------------------------------------------------------------

    def _harmless(self, body: str) -> str:
        """*body* without secrets, as lines that begin no entry, anchor or comment. What was made so before stays as it is."""
        from memsearch_engine.secrets.scan import redact

        return escape_block(redact(body, self.home)[0])

    def _day_path(self, memory: str, day: str) -> str:
        return disk.real_file(os.path.join(memory, f"{date.fromisoformat(day).isoformat()}.md"))

    def _change(
        self,
        op: str,
        memory: str,
        path: str,
        entry_id: str,
        title: str,
        offset: int,
        before: bytes,
        after: bytes,
        data: bytes,
        new: bytes,
        batch: str = "",
    ) -> Change:
        return Change(
            batch or uuid.uuid4().hex,
            op,
            os.path.abspath(memory),
            path,
            entry_id,
            title[:200],
            offset,
            before,
            after,
            digest(data, size=8),
            digest(new, size=8),
        )

    @staticmethod
    def _neighbours(change: Change, document: Document, entry: Entry) -> None:
        index = document.entries.index(entry)
        change.previous_id = document.entries[index - 1].id if index else ""
        change.next_id = document.entries[index + 1].id if index + 1 < len(document.entries) else ""

    @staticmethod
    def _place(document: Document, data: bytes, change: Change) -> int:
        """Where a removed entry belongs in a file that has changed since."""
        if previous := document.find(change.previous_id):
            return previous.stop
        if following := document.find(change.next_id):
            return following.start
        return min(change.offset, len(data)) if data[: change.offset].endswith(b"\n") else len(data)


def _write(path: str, data: bytes, new: bytes) -> None:
    """Make a file hold *new*, which may have been removed since."""
    if os.path.exists(path):
        disk.replace(path, data, new)
    else:
        disk.append(path, new)


def _apart(document: Document, position: int, text: bytes) -> bytes:
    """*text* as it may be put in at *position*: on lines of its own, a blank one before and after it."""
    newline = document.newline.encode()
    before, after = document.data[:position], document.data[position:]
    body = text.strip(b"\r\n")
    lead = b"" if not before or before.endswith(newline * 2) else newline if before.endswith(b"\n") else newline * 2
    tail = b"" if after.startswith(newline * 2) else newline if not after or after.startswith(newline) else newline * 2
    return lead + body + tail


def target_of(path: str, entry: Entry) -> Target:
    return Target(path, entry.id, entry.hash)


def _read(path: str) -> bytes:
    try:
        return inside.read(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Unreachable(f"{path} can't be read: {error.strerror or error}") from error


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _last_session(document: Document) -> str | None:
    """The session whose heading a new entry at the end of the file would stand under."""
    if not document.entries:
        return None
    last = document.entries[-1]
    under_session = any(_SESSION_HEADING.match(heading) for heading in last.trail)
    nothing_after = document.data.rfind(b"\n## ", last.end) < 0 and document.data.rfind(b"\n# ", last.end) < 0
    return last.session if last.level == 3 and under_session and nothing_after else None


def _in_notes(document: Document) -> bool:
    return bool(document.entries) and document.entries[-1].level == 3 and document.entries[-1].trail[-1:] == ["Notes"]


def _lines(document: Document, lines: Iterable[str]) -> bytes:
    text = "\n".join(lines) + "\n"
    return text.replace("\n", document.newline).encode("utf-8")


def _joined(document: Document, lines: list[str]) -> bytes:
    """*lines* as a block that begins on a line of its own after one blank line."""
    newline = document.newline.encode()
    tail = document.data[-4:]
    if not document.data or tail.endswith(newline * 2):
        lead = b""
    elif tail.endswith(newline):
        lead = newline
    else:
        lead = newline * 2
    return lead + (_lines(document, lines[:-1] if lines and lines[-1] == "" else lines) if lines else b"")


def _render_marks(marks: dict[str, str]) -> list[str]:
    return [
        f"<!-- {name} -->" if name in FLAG_MARKS else f"<!-- {name}:{clean_comment(value)} -->"
        for name, value in marks.items()
    ]


def _needs_id(entry: Entry) -> bool:
    """An entry that is known by its content only must be given its id before that content changes."""
    if "id" in entry.marks:
        return False
    anchor = entry.anchor
    return not (anchor and anchor.turn and turn_id(anchor.agent, anchor.session, anchor.turn) == entry.id)


def _head_with_id(document: Document, entry: Entry) -> bytes:
    head = entry.raw[: entry.body_start - entry.start]
    if not _needs_id(entry):
        return head
    newline = document.newline.encode()
    comment = f"<!-- id:{entry.id} -->".encode() + newline
    if not head.strip():
        return comment
    stripped = head.rstrip()
    return stripped + newline + comment + head[len(stripped) :].removeprefix(newline)


def _with_marks(document: Document, entry: Entry, marks: dict[str, str]) -> bytes:
    """The entry's bytes with its mark lines replaced; heading, anchors and body as they are."""
    if _needs_id(entry):
        marks = {"id": entry.id, **marks}
    newline = document.newline.encode()
    head = entry.raw[: entry.body_start - entry.start]
    kept = [line for line in head.splitlines(keepends=True) if not _is_mark_line(line)]
    while kept and not kept[-1].strip():
        kept.pop()
    if kept and not kept[-1].endswith(b"\n"):
        kept[-1] += newline
    lines = b"".join(line.encode() + newline for line in _render_marks(marks))
    body = entry.raw[entry.body_start - entry.start :]
    result = b"".join(kept) + lines + body
    return result if body else result.rstrip(b"\r\n")


def _is_mark_line(line: bytes) -> bool:
    text = line.decode("utf-8", "replace").strip()
    return text.startswith("<!--") and text.endswith("-->") and parse_mark(text[4:-3].strip()) is not None


def _body_of(text: str, entry: Entry) -> str:
    """The body in *text*, which may repeat the entry's own heading and comments (as `entries --json` shows them)."""
    text = text.replace("\r\n", "\n").strip("\n")
    head = entry.raw[: entry.body_start - entry.start].decode("utf-8", "replace").replace("\r\n", "\n").strip()
    if head and text.startswith(head):
        text = text[len(head) :].strip("\n")
    elif entry.level and text.split("\n", 1)[0].strip() == head.split("\n", 1)[0].strip():
        text = text.partition("\n")[2].strip("\n")
    if not text.strip():
        raise UsageError("an entry can't be empty", "use `memsearch delete` to remove it")
    text = balance_fences(text)
    data = b"### probe\n" + text.encode("utf-8", "replace")
    probe = parse(data)
    if heading_count(data) != 1 or probe.entries[0].anchors or probe.entries[0].marks:
        raise UsageError(
            "the new text has a heading or an anchor that would start another entry",
            "use #### or deeper headings inside an entry",
        )
    if text.rfind("<!--") > text.rfind("-->"):
        raise UsageError("the new text opens a comment that it doesn't close", "add `-->`")
    return text


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].lstrip("-* ")
