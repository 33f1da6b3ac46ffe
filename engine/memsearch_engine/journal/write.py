"""Changes day files: appends a turn, and edits, deletes and marks entries.

``journal/undo.py`` undoes changes. Every change names the entry and the hash of the text that its
author read. Under the file's lock, the file is read again, the entry is found at its current place,
the hash is compared, and only the entry's own bytes are replaced.
"""

from __future__ import annotations

import contextlib
import logging
import os
import uuid
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from datetime import date
from enum import StrEnum

import msgspec

from memsearch_engine.core.errors import Conflict, NotFound, Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.journal import disk, render
from memsearch_engine.journal.files import day_of, read_day
from memsearch_engine.journal.history import SYNC
from memsearch_engine.journal.merge import text_key
from memsearch_engine.journal.model import CONFLICT, CONFLICT_OF, Anchor, Document, Entry
from memsearch_engine.journal.origin import CAPTURED, key_of
from memsearch_engine.journal.parse import parse, parse_end, turn_id
from memsearch_engine.journal.shared import WRITTEN
from memsearch_engine.journal.text import CleanText, escape_block
from memsearch_engine.journal.turns import UNIQUE, KnownTurns, names_of
from memsearch_engine.journal.undo import (
    Undoable,
    day_name,
    entries_between,
    new_change,
    note_neighbours,
    read_day_file,
    write_file,
)

log = logging.getLogger("memsearch.journal")

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
    """An entry as it was read. An empty ``hash`` skips the comparison, after a recent read."""

    path: str
    entry_id: str
    hash: str = ""


def _copy_of(day: Document, anchor: Anchor) -> Entry | None:
    """Return the entry of a turn that was made in another session; None if there is none."""
    for entry in day.entries:
        if entry.anchor and not names_of(anchor).isdisjoint(names_of(entry.anchor)):
            return entry
    return None


class Journal(Undoable):
    """All writes to day files of one home's projects."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._turns: dict[str, KnownTurns] = {}

    # -- adding

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
        """Append a captured turn below its session heading, unless it is already there.

        Args:
            memory: the project's memory folder.
            day: ``YYYY-MM-DD``.
            time: ``HH:MM``, for the entry's heading.
            body: lines of text. Secrets and text that would forge an entry are removed.
            anchor: with agent, session and turn.
            aliases, times: other names of the turn, as in ``KnownTurns.has``.
        """
        entry_id = turn_id(anchor.agent, anchor.session, anchor.turn)
        path, clean = self._day_path(memory, day), self.clean(body)
        if self.is_deleted(anchor, aliases):
            return Appended(entry_id, path, False, Skipped.DELETED)
        # the folder's lock before the file's: two processes in two time zones would look into two
        # files
        with disk.locked(self.home, os.path.join(memory, "turns")), disk.locked(self.home, path):
            if self.turns(memory).has(anchor, aliases, times):
                return Appended(entry_id, path, False, Skipped.THERE)
            document = parse_end(read_day_file(path), day)
            lines = (
                []
                if render.last_session(document) == anchor.session
                else [f"## Session {time}", ""]
            )
            lines += render.entry_lines(
                [f"### {time}", anchor.render(), *render.mark_lines(marks or {})], clean
            )
            block = render.joined(document, lines)
            self.origin.wrote((entry.raw for entry in parse(block, day).entries), CAPTURED)
            self.origin.saw(body)
            self.origin.record_day(day_of(path), parse(block, day).entries)
            disk.append(path, block, first=f"# {day}\n\n".encode())
        return Appended(entry_id, path, True)

    def add_note(
        self,
        memory: str,
        day: str,
        time: str,
        body: str,
        *,
        heading: str = "",
        marks: dict[str, str] | None = None,
    ) -> Appended:
        """Append a note by a person. It can be undone, and gets an ``id`` comment as a stable name.

        Args:
            heading: a heading for this note alone, without the other notes of the day.
        """
        path, clean = self._day_path(memory, day), self.clean(body)
        entry_id = uuid.uuid4().hex[:12]
        with disk.locked(self.home, path):
            data = read_day_file(path)
            document = parse_end(data, day)
            block = render.joined(
                document, ["## Notes", ""] if not heading and not render.in_notes(document) else []
            )
            head = f"## {heading}" if heading else f"### {time}"
            block += render.as_lines(
                document,
                render.entry_lines(
                    [head, f"<!-- id:{entry_id} -->", *render.mark_lines(marks or {})], clean
                ),
            )
            first = f"# {day}\n\n".encode()
            self.origin.wrote(entry.raw for entry in parse(block, day).entries)
            change = new_change(
                "add",
                memory,
                path,
                entry_id,
                render.first_line(clean),
                len(data or first),
                b"",
                block,
                data,
                (data or first) + block,
            )
            seq = self.history.record(change)
            try:
                disk.append(path, block, first=first)
            except Exception:
                self.history.drop(seq)
                raise
            with contextlib.suppress(
                Unreachable, MemoryError
            ):  # it is written; the next change settles the intent
                self._confirm(seq, path, [], parse(block, day).entries)
        return Appended(entry_id, path, True)

    def put(
        self,
        memory: str,
        path: str,
        head: Sequence[str],
        body: CleanText,
        how: str,
        batch: str = "",
    ) -> Entry:
        """Write an entry with its own id into a file of entries. It can be undone.

        It replaces the entry with that id, or is added by its time.

        Args:
            head: its heading (level 3), anchors and marks.
            how: its origin (``Origin``).

        Raises:
            UsageError: something in the file would include the entry, or be included in it.
        """
        path, name = disk.real_file(path), day_name(path)
        with disk.locked(self.home, path):
            self.settle(path)
            data = read_day_file(path)
            document = parse(data, name)
            block = render.as_lines(document, render.entry_lines(head, body)).rstrip()
            (new,) = parse(block, name).entries
            there = document.find(new.id)
            if there is not None:
                start, stop, after = there.start, there.end, block
            else:
                start = next(
                    (other.start for other in document.entries if other.time > new.time), len(data)
                )
                stop, after = start, render.as_block(document, start, block) if data else block
                after += document.newline.encode() * (
                    start == len(data) and not after.endswith(b"\n")
                )
            made = data[:start] + after + data[stop:]
            others = [entry.raw for entry in document.entries if entry.id != new.id]
            if sorted([*others, block]) != sorted(entry.raw for entry in parse(made, name).entries):
                raise UsageError(
                    f"{path} has a block of code or a comment that does not end",
                    "end it, then try again",
                )
            self.origin.wrote([block], how)
            op = "edit" if there else "add"
            change = new_change(
                op,
                memory,
                path,
                new.id,
                new.title,
                start,
                data[start:stop],
                after,
                data,
                made,
                batch,
            )
            note_neighbours(change, parse(made, name), parse(made, name).find(new.id) or new)
            seq = self.history.record(change)
            try:
                write_file(path, data, made)
            except BaseException:
                self.history.drop(seq)
                raise
            self._confirm(seq, path, [there] if there else [], [new])
        return new

    def refresh_turn(
        self, memory: str, anchor: Anchor, aliases: Iterable[str], body: str, marks: dict[str, str]
    ) -> Appended | None:
        """Update a turn's entry after a late result or a continuation. It can be undone.

        Args:
            marks: added to the entry's marks, as the new content may be from outside.

        Returns:
            None if nothing was changed: the entry was edited, does not exist, or is up to date.
        """
        if self.origin.has_seen(body):
            return None
        done, clean = None, self.clean(body)
        names = {turn_id(anchor.agent, anchor.session, name) for name in (anchor.turn, *aliases)}
        for path in self.turns(memory).where(anchor, aliases):
            for entry in read_day(path).entries:
                if (
                    done
                    or entry.id not in names
                    or entry.body == body
                    or not self.origin.came_by(entry.raw, CAPTURED)
                ):
                    continue

                def change(document: Document, entry: Entry) -> bytes:
                    old = entry.raw[entry.body_start - entry.start :]
                    new = (
                        render.with_marks(document, entry, {**entry.marks, **marks})
                        if marks
                        else entry.raw
                    )
                    return new[: len(new) - len(old)] + render.as_bytes(document, clean)

                try:
                    new = self._splice(
                        memory, "edit", [target_of(path, entry)], change, decides=False
                    )[0]
                except (Conflict, NotFound):
                    continue
                self.origin.wrote([new.raw], CAPTURED)
                done = Appended(new.id, path, True)
        self.origin.saw(body)
        return done

    def supersede_turn(
        self, memory: str, anchor: Anchor, newer: str, *, in_copies: bool = False
    ) -> bool:
        """Mark the entry of a turn as superseded after its prompt was sent again. It can be undone.

        Args:
            newer: the id of the superseding entry.
            in_copies: also mark an entry that was made in another session with the same turn.

        Returns:
            False if somebody edited the entry or changed its marks. It then stays unchanged.
        """
        name = turn_id(anchor.agent, anchor.session, anchor.turn)

        def change(document: Document, entry: Entry) -> bytes:
            return render.with_marks(document, entry, {**entry.marks, "superseded-by": newer})

        for path in self.turns(memory).where(anchor):
            day = read_day(path)
            entry = day.find(name) or (_copy_of(day, anchor) if in_copies else None)
            if (
                entry is None
                or "superseded-by" in entry.marks
                or not self.origin.came_by(entry.raw, CAPTURED)
            ):
                continue
            if any(done.op == "mark" for done in self.history.of_entry(entry.id)):
                continue
            try:
                new = self._splice(memory, "mark", [target_of(path, entry)], change, decides=False)[
                    0
                ]
            except (Conflict, NotFound):
                continue
            self.origin.wrote([new.raw], CAPTURED)
            return True
        return False

    def turns(self, memory: str) -> KnownTurns:
        """The turns that a memory folder holds."""
        return self._turns.setdefault(memory, KnownTurns(memory))

    def is_deleted(self, anchor: Anchor, aliases: Iterable[str] = ()) -> bool:
        """Whether the owner deleted this turn, under any of its names.

        If the history can't be read, the result is False: a superfluous note is easy to delete, but
        a missing one is lost.
        """
        try:
            return any(
                self.history.is_deleted(turn_id(anchor.agent, anchor.session, name))
                or (len(name) >= UNIQUE and self.history.deleted_turn(name))
                for name in (anchor.turn, *aliases)
            )
        except Unreachable as error:
            log.warning("%s", error)
            return False

    # -- changing

    def edit(self, memory: str, target: Target, text: str, *, undoable: bool = True) -> Entry:
        """Replace the body of an entry. Heading, anchors and marks stay, and secrets are removed.

        Returns:
            The changed entry.
        """
        from memsearch_engine.secrets.scan import redact

        clean = redact(text, self.home)[0]

        def change(document: Document, entry: Entry) -> bytes:
            body = render.body_of(clean, entry)
            head = render.head_with_id(document, entry)
            if not head.endswith(b"\n") and head and body:
                head += document.newline.encode()
            return head + render.as_bytes(document, body)

        return self._splice(memory, "edit", [target], change, undoable=undoable)[0]

    def mark(self, memory: str, target: Target, name: str, value: str | None) -> Entry:
        """Set a mark (``value`` None removes it; a flag's value is ignored)."""
        return self.mark_each(memory, [target], name, value)[0]

    def mark_each(
        self, memory: str, targets: list[Target], name: str, value: str | None
    ) -> list[Entry]:
        """The same for several entries: all or none, one step of undo."""

        def change(document: Document, entry: Entry) -> bytes:
            marks = dict(entry.marks)
            marks.pop(name, None)
            if value is not None:
                marks[name] = value
            return render.with_marks(document, entry, marks)

        return self._splice(memory, "mark", targets, change)

    def upgrade(self, memory: str, target: Target, body: str | None) -> Entry:
        """Settle a pending summary, and remove its mark. Undo treats it as part of the capture.

        Args:
            body: the summary that replaces the extractive one; None leaves the extractive one.

        Raises:
            Conflict: somebody has edited the entry.
        """
        clean = None if body is None else self.clean(body)

        def change(document: Document, entry: Entry) -> bytes:
            marks = {name: value for name, value in entry.marks.items() if name != "summary"}
            new = render.with_marks(document, entry, marks)
            if clean is None:
                return new
            old = entry.raw[entry.body_start - entry.start :]
            return new[: len(new) - len(old)] + render.as_bytes(document, clean)

        entry = self._splice(memory, "edit", [target], change, undoable=False, decides=False)[0]
        self.origin.wrote([entry.raw], CAPTURED)
        return entry

    def merge(self, memory: str, keep: Target, gone: list[Target]) -> Entry:
        """Merge entries with the same content into one, as one step of undo.

        The result has the text of *keep* and the anchors of all.
        """
        batch = uuid.uuid4().hex
        before = parse(read_day_file(keep.path), day_name(keep.path))
        seen = self._seen(before, keep)
        position, kept_at = before.entries.index(seen), seen.start
        others = [self._seen(parse(read_day_file(t.path), day_name(t.path)), t) for t in gone]
        anchors = [anchor for other in others for anchor in other.anchors]

        def change(document: Document, entry: Entry) -> bytes:
            new = [a for a in dict.fromkeys(anchors) if a not in entry.anchors]
            head = render.head_with_id(document, entry)
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
            read_day_file(keep.path), day_name(keep.path)
        )  # the order of equal notes has changed: it is known by its place
        index = sum(t.path == keep.path and other.start < kept_at for t, other in zip(gone, others))
        entry = now.entries[position - index]
        (kept,) = self._splice(
            memory,
            "edit",
            [Target(keep.path, entry.id, keep.hash)],
            change,
            batch=batch,
            ours=False,
        )
        return kept

    def decide(self, memory: str, shown: Target, other: Target, body: str | None) -> None:
        """Settle a conflict between two texts of a note, as one step of undo.

        The other text is deleted.

        Args:
            body: the text to use; None for the shown one.
        """
        from memsearch_engine.secrets.scan import redact

        clean = None if body is None else redact(body, self.home)[0]

        def change(document: Document, entry: Entry) -> bytes:
            marks = dict(entry.marks)
            if sum(found.marks.get(CONFLICT_OF) == entry.id for found in document.entries) < 2:
                marks.pop(CONFLICT, None)
            new = render.with_marks(document, entry, marks)
            if clean is None:
                return new
            old = entry.raw[entry.body_start - entry.start :]
            return new[: len(new) - len(old)] + render.as_bytes(
                document, render.body_of(clean, entry)
            )

        batch = uuid.uuid4().hex
        self._splice(memory, "edit", [shown], change, batch=batch)
        self._splice(memory, "delete", [other], None, batch=batch)

    def part(self, memory: str, other: Target, shown: Target | None) -> None:
        """Make a note of each version of a conflict. One undo reverts it."""

        def change(document: Document, entry: Entry) -> bytes:
            last = sum(found.marks.get(CONFLICT_OF) == entry.id for found in document.entries) < 2
            gone = {CONFLICT_OF, *([CONFLICT] if last else [])}
            marks = {name: value for name, value in entry.marks.items() if name not in gone}
            return render.with_marks(document, entry, marks)

        batch = uuid.uuid4().hex
        for target in [shown, other] if shown else [other]:
            self._splice(memory, "mark", [target], change, batch=batch)

    def take(
        self,
        memory: str,
        path: str,
        read: bytes,
        data: bytes,
        begins: Callable[[int], None],
        moved: Container[str] = (),
        strange: Collection[str] = (),
    ) -> None:
        """Replace a file by *data* from another machine of the owner; b"" removes it.

        It is not a step of undo, but removed texts can be restored and deletions are recorded.

        Args:
            read: the content of the file when it was merged; b"" for no file.
            begins: called with the number of the change before the file is changed. ``was_taken``
                then returns whether it was completed.
            moved: ids of entries that are in another file now. They do not count as deleted.
            strange: keys (``key_of``) of texts that the other machine does not vouch for. They are
                not decisions of its owner.

        Raises:
            Conflict: the file has changed since.
        """
        path = disk.real_file(path)
        name, batch = day_name(path), f"{SYNC}{uuid.uuid4().hex}"
        with disk.locked(self.home, path):
            self.settle(path)
            if read_day_file(path) != read:
                raise Conflict(f"{path} changed while it was merged")
            before, after = parse(read, name), parse(data, name)
            old, new = (
                {entry.id: entry for entry in document.entries} for document in (before, after)
            )
            title = f"{name}: {len(new.keys() - old)} new, {len(old.keys() - new)} gone"
            records = [new_change("sync", memory, path, "", title, 0, b"", b"", read, data, batch)]
            for entry in before.entries:
                now = new.get(entry.id)
                if (now is None and entry.id in moved) or (
                    now is not None and now.raw == entry.raw
                ):
                    continue
                op, raw = ("edit", now.raw) if now else ("delete", b"")
                was = entry.raw if now else read[entry.start : entry.stop]
                record = new_change(
                    op,
                    memory,
                    path,
                    entry.id,
                    entry.title,
                    entry.start,
                    was,
                    raw,
                    read,
                    data,
                    batch,
                )
                note_neighbours(record, before, entry)
                records.append(record)
            for entry in after.entries:
                if entry.id not in old and self.history.is_deleted(
                    entry.id
                ):  # it is back, and no deletion any more
                    records.append(
                        new_change(
                            "add",
                            memory,
                            path,
                            entry.id,
                            entry.title,
                            entry.start,
                            b"",
                            entry.raw,
                            read,
                            data,
                            batch,
                        )
                    )
            seqs = [self.history.record(record) for record in records]
            begins(seqs[0])
            try:
                if data:
                    write_file(path, read, data)
                else:
                    os.unlink(path)
            finally:
                self.settle(path)  # by what the file holds now, however this ended
            self.origin.decided(day_of(path), before.entries, after.entries, strange=strange)

    def was_taken(self, seq: int) -> bool:
        """Whether a change that ``take`` began has become of what it was to."""
        change = self.history.get(seq)
        if change is not None and change.state == "intent":
            with disk.locked(self.home, change.path):
                self.settle(change.path)
            change = self.history.get(seq)
        return change is not None and change.state == "done"

    def replace(
        self, memory: str, path: str, read: bytes, data: bytes, title: str, *, batch: str = ""
    ) -> None:
        """Replace a file by *data* if it still has the content *read* (b"" for no file).

        It can be undone until the file changes again.

        Args:
            batch: changes of one batch are one step of undo.

        Raises:
            Conflict: the file has other content.
        """
        path = disk.real_file(path)
        with disk.locked(self.home, path):
            self.settle(path)
            start = len(os.path.commonprefix([read, data]))
            tail = len(os.path.commonprefix([read[start:][::-1], data[start:][::-1]]))
            before, after = read[start : len(read) - tail], data[start : len(data) - tail]
            known = {
                entry.raw
                for entry in parse(read, day_name(path)).entries
                if self.origin.is_own(entry.raw, memory)
            }
            texts = {
                (entry.id, text_key(entry))
                for entry in parse(read, day_name(path)).entries
                if entry.raw in known
            }
            entries = parse(data, day_name(path)).entries
            self.origin.adopt(
                key_of(entry.raw) for entry in entries if (entry.id, text_key(entry)) in texts
            )
            entry_id = entries[0].id if entries else ""
            seq = self.history.record(
                new_change(
                    "edit", memory, path, entry_id, title, start, before, after, read, data, batch
                )
            )
            try:
                if read_day_file(path) != read:
                    raise Conflict(f"{path} changed meanwhile")
                write_file(path, read, data)
            except BaseException:
                self.history.drop(seq)
                raise
            self._confirm(
                seq,
                path,
                entries_between(path, read, data),
                entries_between(path, data, read),
                clears=False,
            )

    def put_back(self, memory: str, target: Target, text: bytes) -> Entry:
        """Restore the bytes of an entry from the history. It can be undone."""
        return self._splice(memory, "edit", [target], lambda document, entry: text.strip())[0]

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
        decides: bool = True,
    ) -> list[Entry]:
        """Replace the bytes of entries, all or none.

        Args:
            ours: whether the edited text counts as written here; otherwise its origin stays.
            decides: whether the owner decided it, and not capture.
        """
        batch = batch or uuid.uuid4().hex
        changed: list[Entry] = []
        if any(
            target.path.startswith(f"{self.home.longterm_search}{os.sep}") for target in targets
        ):
            if any(target.path.endswith(f"{os.sep}native.md") for target in targets):
                raise UsageError(
                    "this is in an agent's own file, and no note",
                    "`memsearch agents files import` makes one of it",
                )
            raise UsageError(
                "this is of the long-term memory, no note",
                "`memsearch forget WORDS` takes it out; MEMORY.md can be edited",
            )
        # all or nothing: look at every one before the first is touched; and from the last one back,
        # since equal notes of a day are told apart by their order
        places = [
            (t.path, self._seen(parse(read_day_file(t.path), day_name(t.path)), t).start, t)
            for t in targets
        ]
        for _, _, target in sorted(places, key=lambda place: place[:2], reverse=True):
            path = disk.real_file(target.path)
            with disk.locked(self.home, path):
                self.settle(path)
                for attempt in range(_ATTEMPTS):
                    data = read_day_file(path)
                    name = day_name(path)
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
                    if now is not None and (
                        (op == "edit" and ours) or self.origin.is_own(entry.raw, memory)
                    ):
                        # a mark on somebody's note does not make it ours; one's own copy stays
                        # that, whatever is done to it
                        self.origin.wrote(
                            [now.raw],
                            WRITTEN if self.origin.came_by(entry.raw, WRITTEN) else "written",
                        )
                    record = new_change(
                        op,
                        memory,
                        path,
                        entry.id,
                        entry.title,
                        start,
                        before,
                        after,
                        data,
                        new,
                        batch,
                    )
                    note_neighbours(record, document, entry)
                    seq = self.history.record(record) if undoable else 0
                    try:
                        write_file(path, data, new)
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
                    others = [
                        other
                        for other in document.entries
                        if other is not entry and other.hash == entry.hash
                    ]
                    after_ = [*others, *([now] if now else [])]
                    clears = decides and ours and op == "edit"
                    if (
                        self._decide(path, [entry], after_, replaces=decides, clears=clears)
                        and undoable
                    ):
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
                f"entry {entry.id} changed since it was read "
                f"(hash {target.hash} expected, {entry.hash} found)",
                "read it again and decide which text to keep",
                current=entry.content,
            )
        return entry

    # -- helpers

    def clean(self, body: str) -> CleanText:
        """Return *body* without secrets, as lines that begin no entry, anchor or comment.

        Cleaning a cleaned text does not change it.
        """
        from memsearch_engine.secrets.scan import redact

        return CleanText(escape_block(redact(body, self.home)[0]))

    def _day_path(self, memory: str, day: str) -> str:
        return disk.real_file(os.path.join(memory, f"{date.fromisoformat(day).isoformat()}.md"))


def target_of(path: str, entry: Entry) -> Target:
    """Return the target for an entry as it is now."""
    return Target(path, entry.id, entry.hash)
