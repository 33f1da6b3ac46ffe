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
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date

from memsearch_engine.core.errors import Conflict, NotFound, Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.journal import disk, render
from memsearch_engine.journal.files import DayFile, day_of, read_day
from memsearch_engine.journal.history import AGENTS, Change, new_batch
from memsearch_engine.journal.model import Anchor, Document, Entry
from memsearch_engine.journal.origin import CAPTURED
from memsearch_engine.journal.parse import parse, parse_end, turn_id
from memsearch_engine.journal.shared import WRITTEN
from memsearch_engine.journal.targets import Appended, Skipped, Target, find_target, target_of
from memsearch_engine.journal.text import CleanText, escape_block
from memsearch_engine.journal.turns import UNIQUE, KnownTurns, copy_of
from memsearch_engine.journal.undo import (
    Undoable,
    day_name,
    new_change,
    note_neighbours,
    read_day_file,
    write_file,
)

log = logging.getLogger("memsearch.journal")

_ATTEMPTS = 20
_Changing = Callable[[Document, Entry], bytes]


class Journal(Undoable):
    """All writes to day files of one home's projects."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._turns: dict[str, KnownTurns] = {}
        #: The file to which a turn was just appended, with its end and the session of that turn.
        self._appended: tuple[DayFile, Document, str] | None = None
        #: Files with turns that may not be on the disk yet; None to wait for each turn.
        self._unsynced: set[str] | None = None

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
        clean: CleanText | None = None,
    ) -> Appended:
        """Append a captured turn below its session heading, unless it is already there.

        Args:
            memory: the project's memory folder.
            day: ``YYYY-MM-DD``.
            time: ``HH:MM``, for the entry's heading.
            body: lines of text. Secrets and text that would forge an entry are removed.
            anchor: with agent, session and turn.
            aliases, times: other names of the turn, as in ``KnownTurns.has``.
            clean: what ``clean`` makes of *body*, if it is known already.
        """
        entry_id = turn_id(anchor.agent, anchor.session, anchor.turn)
        path, clean = self._day_path(memory, day), self.clean(body) if clean is None else clean
        if self.is_deleted(anchor, aliases):
            return Appended(entry_id, path, False, Skipped.DELETED)
        # the folder's lock first: two processes in two time zones would look into two files
        with disk.locked(self.home, os.path.join(memory, "turns")), disk.locked(self.home, path):
            # the scan after both locks: another process may have written the turn meanwhile
            if self.turns(memory).has(anchor, aliases, times, day=day):
                return Appended(entry_id, path, False, Skipped.THERE)
            document, session = self._end(path, day)
            is_same = session == anchor.session
            lines = [] if is_same else [f"## Session {time}", ""]
            lines += render.entry_lines(
                [f"### {time}", anchor.render(), *render.mark_lines(marks or {})], clean
            )
            block = render.joined(document, lines)
            entries = parse(block, day).entries
            self.origin.wrote((entry.raw for entry in entries), CAPTURED)
            self.origin.saw(body)
            self.origin.record_day(day_of(path), entries)
            first, later = f"# {day}\n\n".encode(), self._unsynced
            start = disk.append(path, block, first=first, sync=later is None)
            if later is not None:
                later.add(path)
            self.turns(memory).wrote(path, block)
            self._note_end(path, start, Document(block, [], document.newline), anchor.session)
        return Appended(entry_id, path, True)

    @contextlib.contextmanager
    def synced_at_end(self) -> Iterator[None]:
        """Wait for the disk once for all turns that are appended meanwhile.

        If the process is killed, no turn is lost. After a power cut, the caller must append the
        turns again.

        Raises:
            Unreachable: a file could not be written.
        """
        self._unsynced = files = set[str]()
        try:
            yield
        finally:
            self._unsynced = None
            with contextlib.ExitStack() as each:  # also those after one that fails
                for path in sorted(files):
                    each.callback(disk.synced, path)

    def _note_end(self, path: str, start: int, end: Document, session: str) -> None:
        """Store the end of a file to which a turn was appended at *start*, for the next turn."""
        self._appended = None
        if b"```" in end.data or b"~~~" in end.data:  # it may end code that began before
            return
        with contextlib.suppress(OSError):
            file = DayFile.at(path)
            if file.size == start + len(end.data):
                self._appended = (file, end, session)

    def _end(self, path: str, day: str) -> tuple[Document, str | None]:
        """The end of a day file, and the session whose heading a new entry there would be under."""
        with contextlib.suppress(OSError):
            last = self._appended  # another thread may append to a file of another folder meanwhile
            if last and last[0] == DayFile.at(path):
                return last[1:]
        document = parse_end(read_day_file(path), day)
        return document, render.last_session(document)

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
            self.write_change(
                change,
                lambda: disk.append(path, block, first=first),
                [],
                parse(block, day).entries,
            )
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
            start, stop, after = render.place_of(document, new, there, block)
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
            self.write_change(
                change, lambda: write_file(path, data, made), [there] if there else [], [new]
            )
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
                    now = {**entry.marks, **marks}
                    new = render.with_marks(document, entry, now) if marks else entry.raw
                    return render.with_body(document, entry, new, clean)

                try:
                    new = self.splice(
                        memory, "edit", [target_of(path, entry)], change, decides=False
                    )[0]
                except (Conflict, NotFound):
                    continue
                self.origin.wrote([new.raw], CAPTURED)
                done = Appended(new.id, path, True)
        self.origin.saw(body)
        return done

    def mark_turn(
        self, memory: str, anchor: Anchor, mark: str, value: str, *, in_copies: bool = False
    ) -> None:
        """Mark the entry of a turn that the person took back. It can be undone.

        An entry that somebody edited, or whose marks were changed, stays as it is.

        Args:
            in_copies: also mark an entry that was made in another session with the same turn.
        """
        name = turn_id(anchor.agent, anchor.session, anchor.turn)

        def change(document: Document, entry: Entry) -> bytes:
            return render.with_marks(document, entry, {**entry.marks, mark: value})

        for path in self.turns(memory).where(anchor):
            day = read_day(path)
            entry = day.find(name) or (copy_of(day, anchor) if in_copies else None)
            if entry is None or mark in entry.marks or not self.origin.came_by(entry.raw, CAPTURED):
                continue
            if any(
                done.op == "mark"
                and (done.state != "done" or not self.origin.came_by(done.after, CAPTURED))
                for done in self.history.of_entry(entry.id)
            ):
                continue
            try:
                new = self.splice(memory, "mark", [target_of(path, entry)], change, decides=False)[
                    0
                ]
            except (Conflict, NotFound):
                continue
            self.origin.wrote([new.raw], CAPTURED)
            return

    def unmark_turn(self, name: str, mark: str, value: str) -> None:
        """Remove a mark that ``mark_turn`` added, unless the entry was changed since."""
        line = f"<!-- {mark}:{value} -->".encode()
        last = next(iter(self.history.of_entry(name)), None)
        if last is None or (last.op, last.state) != ("mark", "done") or line in last.before:
            return
        if line not in last.after or not self.origin.came_by(last.after, CAPTURED):
            return
        old = last.before
        with contextlib.suppress(OSError, Conflict, NotFound):
            entry = read_day(last.path).find(name)
            if entry and entry.raw == last.after:
                target = target_of(last.path, entry)
                self.splice(last.memory, "mark", [target], lambda *_: old, decides=False)
                self.origin.wrote([old], CAPTURED)

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

    def edit(
        self,
        memory: str,
        target: Target,
        text: str,
        marks: dict[str, str] | None = None,
        *,
        undoable: bool = True,
    ) -> Entry:
        """Replace the body of an entry. Heading, anchors and marks stay, and secrets are removed.

        Args:
            marks: added to the entry's marks.

        Returns:
            The changed entry.
        """
        from memsearch_engine.secrets.scan import redact

        clean = redact(text, self.home)[0]

        def change(document: Document, entry: Entry) -> bytes:
            body = render.body_of(clean, entry)
            head = render.head_with_id(document, entry)
            if marks:
                marked = render.with_marks(document, entry, {**entry.marks, **marks})
                head = marked.removesuffix(entry.raw[entry.body_start - entry.start :])
            if not head.endswith(b"\n") and head and body:
                head += document.newline.encode()
            return head + render.as_bytes(document, body)

        return self.splice(memory, "edit", [target], change, undoable=undoable)[0]

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

        return self.splice(memory, "mark", targets, change)

    def upgrade(self, memory: str, target: Target, body: str | None) -> None:
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
            return new if clean is None else render.with_body(document, entry, new, clean)

        entry = self.splice(memory, "edit", [target], change, undoable=False, decides=False)[0]
        self.origin.wrote([entry.raw], CAPTURED)

    def put_back(self, memory: str, target: Target, text: bytes) -> Entry:
        """Restore the bytes of an entry from the history. It can be undone."""
        return self.splice(memory, "edit", [target], lambda document, entry: text.strip())[0]

    def delete(self, memory: str, targets: list[Target]) -> None:
        """Remove entries, each only if it is still what was seen; undone together."""
        self.splice(memory, "delete", targets, None)

    def splice(
        self,
        memory: str,
        op: str,
        targets: list[Target],
        change: _Changing | None,
        *,
        undoable: bool = True,
        batch: str = "",
        ours: bool = True,
        decides: bool = True,
    ) -> list[Entry]:
        """Replace the bytes of entries, all or none.

        Args:
            op: the kind of change in the history.
            change: returns the new bytes of an entry; None removes the entries.
            undoable: whether the history stores the change.
            batch: changes of one batch are one step of undo.
            ours: whether the edited text counts as written here; otherwise its origin stays.
            decides: whether the owner decided it, and not capture.

        Returns:
            The changed entries, the last one first.
        """
        self._refuse_longterm(targets)
        # all or none: every target is checked before the first is changed. The last one is changed
        # first, since equal notes of a day are identified by their order.
        places = [
            (t.path, find_target(parse(read_day_file(t.path), day_name(t.path)), t).start, t)
            for t in targets
        ]
        batch = batch or self._new_batch(targets)
        changed: list[Entry] = []
        for _, _, target in sorted(places, key=lambda place: place[:2], reverse=True):
            path = disk.real_file(target.path)
            with disk.locked(self.home, path):
                self.settle(path)
                for _ in range(_ATTEMPTS):
                    done = self._splice_one(
                        path, target, memory, op, change, batch, undoable, ours, decides
                    )
                    if done is not None:
                        break
                else:
                    raise Conflict(f"{path} changed while it was being edited")
            changed += done
        return changed

    def _new_batch(self, targets: list[Target]) -> str:
        """A name that shows whether an agent makes the change and may undo it."""
        may_undo = self.is_agents and not any(
            self.origin.contradicting(
                [find_target(parse(read_day_file(t.path), day_name(t.path)), t)],
                day_of(t.path),
            )
            for t in targets
        )
        return f"{AGENTS if may_undo else ''}{new_batch()}"

    def _refuse_longterm(self, targets: list[Target]) -> None:
        """Raise UsageError if a target is an entry of the long-term memory."""
        paths = [
            t.path for t in targets if t.path.startswith(f"{self.home.longterm_search}{os.sep}")
        ]
        if any(path.endswith(f"{os.sep}native.md") for path in paths):
            raise UsageError(
                "this is in an agent's own file, and no note",
                "`memsearch agents files import` makes one of it",
            )
        if paths:
            raise UsageError(
                "this is of the long-term memory, no note",
                "`memsearch forget WORDS` takes it out; MEMORY.md can be edited",
            )

    def _splice_one(
        self,
        path: str,
        target: Target,
        memory: str,
        op: str,
        change: _Changing | None,
        batch: str,
        undoable: bool,
        ours: bool,
        decides: bool,
    ) -> list[Entry] | None:
        """Replace the bytes of one entry as in ``splice``. The caller has the file's lock.

        Returns:
            The entry as it is now; [] if it was removed; None if another program changed the file
            meanwhile, and nothing was done.
        """
        data, name = read_day_file(path), day_name(path)
        document = parse(data, name)
        entry = find_target(document, target)
        if change is None:
            start, stop, after = entry.start, entry.stop, b""
        else:
            start, stop, after = entry.start, entry.end, change(document, entry)
        new = data[:start] + after + data[stop:]
        if new == data:
            return [entry]
        now = parse(new, name).find(entry.id) if change is not None else None
        is_written_here = op == "edit" and ours
        if now is not None and (is_written_here or self.origin.is_own(entry.raw, memory)):
            # a mark on another person's note does not change its origin; a note of the owner stays
            # the owner's
            was_written = self.origin.came_by(entry.raw, WRITTEN)
            self.origin.wrote([now.raw], WRITTEN if was_written else "written")
        cut = data[start:stop]
        record = new_change(
            op, memory, path, entry.id, entry.title, start, cut, after, data, new, batch
        )
        note_neighbours(record, document, entry)
        try:
            seq = self._write(record, data, new, undoable)
        except Conflict:
            return None
        equal = [
            other for other in document.entries if other is not entry and other.hash == entry.hash
        ]
        clears = decides and is_written_here
        is_recorded = self.record_decision(
            path, [entry], [*equal, *([now] if now else [])], replaces=decides, clears=clears
        )
        if is_recorded and undoable:
            self.history.confirm(seq)
        return [now or entry] if change is not None else []

    def _write(self, record: Change, data: bytes, new: bytes, undoable: bool) -> int:
        """Write a file after its change is recorded, and return the change's number."""
        seq = self.history.record(record) if undoable else 0
        try:
            write_file(record.path, data, new)
        except Exception:
            if undoable:
                self.history.drop(seq)
            raise
        return seq

    def clean(self, body: str) -> CleanText:
        """Return *body* without secrets, as lines that begin no entry, anchor or comment.

        Cleaning a cleaned text does not change it.
        """
        from memsearch_engine.secrets.scan import redact

        return CleanText(escape_block(redact(body, self.home)[0]))

    def _day_path(self, memory: str, day: str) -> str:
        return disk.real_file(os.path.join(memory, f"{date.fromisoformat(day).isoformat()}.md"))
