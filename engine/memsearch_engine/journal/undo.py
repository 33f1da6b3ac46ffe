"""Undoes and redoes changes of day files, and settles changes that a crash interrupted.

It finds the place of a change in the current file, which anyone may have changed since.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping

from memsearch_engine.core import safe_files
from memsearch_engine.core.errors import Conflict, NotFound, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.project_location import author_of
from memsearch_engine.journal import disk, render
from memsearch_engine.journal.files import DayFile, day_of, list_files, read_day
from memsearch_engine.journal.history import AGENTS, SYNC, Change, History, new_batch
from memsearch_engine.journal.model import Document, Entry
from memsearch_engine.journal.origin import Origin
from memsearch_engine.journal.outline import FileOutline
from memsearch_engine.journal.parse import parse

log = logging.getLogger("memsearch.journal")


class Undoable:
    """What the journal (``journal/write.py``) does with its own history.

    Attributes:
        is_agents: an agent makes the changes.
    """

    is_agents = False

    def __init__(self, home: Home) -> None:
        self.home = home
        self.history = History(home.history_db)
        self.origin = Origin(home)

    def close(self) -> None:
        """Close the databases."""
        self.history.close()
        self.origin.close()

    def undo(self, memory: str = "", entry_id: str = "", own: bool = False) -> list[Change]:
        """Undo the last change of a folder, of an entry, or of all.

        Args:
            own: leave changes that other processes have made since this one began.

        Returns:
            The undone changes, newest first.
        """
        self._settle_all()
        batch = self.history.last_done(memory, entry_id, own)
        for change in batch:
            with self._taking_back(change):
                self._apply(change, change.after, change.before, change.file_after, undone=True)
        return batch

    def redo(self, memory: str = "", entry_id: str = "", own: bool = False) -> list[Change]:
        """Do again what was last undone. The arguments are those of ``undo``."""
        self._settle_all()
        batch = self.history.last_undone(memory, entry_id, own)
        for change in batch:
            with self._taking_back():
                self._apply(change, change.before, change.after, change.file_before, undone=False)
        return batch

    def restore(self, seq: int) -> Change:
        """Restore an entry as it was before change *seq*. This new change can be undone."""
        old = self.history.get(seq)
        if old is None:
            raise NotFound(f"no change {seq} in the history", "`memsearch history` lists them")
        with disk.locked(self.home, old.path), self._taking_back():
            self.settle(old.path)
            data = read_day_file(old.path)
            document = parse(data, day_name(old.path))
            entry = document.find(old.entry_id)
            if entry is None:
                position = _place(document, data, old)
                if not old.before.strip():
                    raise NotFound(
                        f"change {seq} added this entry: there is no earlier text",
                        f"`memsearch history {old.entry_id}` lists its changes",
                    )
                before, after = b"", render.as_block(document, position, old.before)
            else:
                position, before = entry.start, data[entry.start : entry.end]
                after = old.before.rstrip() if old.before.strip() else b""
            new = data[:position] + after + data[position + len(before) :]
            if new == data:
                raise Conflict(
                    f"entry {old.entry_id} is already as it was before change {seq}",
                    f"`memsearch history {old.entry_id}` lists its changes",
                )
            record = new_change(
                "add" if not before else "edit" if after else "delete",
                old.memory,
                old.path,
                old.entry_id,
                old.title,
                position,
                before,
                after,
                data,
                new,
            )
            record.seq = self.write_change(
                record,
                lambda: write_file(old.path, data, new),
                entries_between(old.path, data, new),
                entries_between(old.path, new, data),
            )
        return record

    @contextlib.contextmanager
    def _taking_back(self, change: Change | None = None) -> Iterator[None]:
        """Let an agent end no decision of the owner.

        Args:
            change: it is undone. An agent's own change gives back the state before it, too.
        """
        self.origin.is_agents = self.is_agents and not (
            change is not None
            and all(
                one.batch.startswith(AGENTS)
                for one in self.history.of_entry(change.entry_id)
                if one.seq >= change.seq
            )
        )
        try:
            yield
        finally:
            self.origin.is_agents = False

    def vanished(
        self, memory: str, outlines: Mapping[DayFile, FileOutline] | None = None
    ) -> list[Change]:
        """Return notes that were added here and that another program has since overwritten.

        The program may be an editor with an old copy of the file, or ``git checkout``. The owner
        may have intended it, so the notes are offered, not restored.

        Args:
            outlines: those of indexed files, which are not parsed then.
        """
        memory = os.path.abspath(memory)
        added = self.history.added(memory)
        if not added:
            return []
        there: set[str] = set()
        for file in list_files(memory).files:
            outline = outlines.get(file) if outlines else None
            try:
                there.update(
                    outline.ids if outline else (entry.id for entry in read_day(file.path).entries)
                )
            except OSError:  # `doctor` reports the file, and any note may be in it
                return []
        return [change for change in added if change.entry_id not in there]

    def add_again(self, seq: int) -> None:
        """Bring back a note that vanished, at the end of its day. It can be undone."""
        old = self.history.get(seq)
        if old is None:
            raise NotFound(f"no change {seq} in the history", "`memsearch history` lists them")
        with disk.locked(self.home, old.path):
            data = read_day_file(old.path)
            document = parse(data, day_name(old.path))
            if document.find(old.entry_id) is not None:
                raise Conflict(f"entry {old.entry_id} is there again")
            block = render.as_block(document, len(data), old.after)
            self.origin.wrote(entry.raw for entry in parse(block, day_name(old.path)).entries)
            change = new_change(
                "add",
                old.memory,
                old.path,
                old.entry_id,
                old.title,
                len(data),
                b"",
                block,
                data,
                data + block,
            )
            self.write_change(
                change,
                lambda: disk.append(old.path, block),
                [],
                parse(block, day_name(old.path)).entries,
            )

    def _apply(
        self, change: Change, now: bytes, then: bytes, file_now: str, *, undone: bool
    ) -> None:
        """Replace *now* by *then* where it stands; a changed entry is a conflict."""
        path = change.path
        with disk.locked(self.home, path):
            self.settle(path)
            data = read_day_file(path)
            if digest(data, size=8) == file_now:
                start, stop = change.offset, change.offset + len(now)
            else:
                document = parse(data, day_name(path))
                entry = document.find(change.entry_id)
                if not now.strip():
                    if entry is not None:
                        raise Conflict(
                            f"entry {change.entry_id} is there again", current=entry.content
                        )
                    start = stop = _place(document, data, change)
                    then = render.as_block(document, start, then)
                else:
                    if entry is None:
                        raise Conflict(f"entry {change.entry_id} is no longer in {path}")
                    start = data.find(now, max(0, entry.start - len(now)), entry.stop + len(now))
                    if not (0 <= start <= entry.start and entry.end <= start + len(now.rstrip())):
                        if entry.raw != now.rstrip():
                            raise Conflict(
                                f"entry {change.entry_id} changed since, "
                                "so this can't be taken back by itself",
                                f"`memsearch history {change.entry_id}` "
                                "has its versions, `restore` picks one",
                                expected=now.decode("utf-8", "replace"),
                                current=entry.content,
                            )
                        start, now = entry.start, entry.raw
                    stop = start + len(now)
            new = data[:start] + then + data[stop:]
            n = self.history.begin_undo(change, undone, digest(data, size=8), digest(new, size=8))
            try:
                write_file(path, data, new)
            except Exception:
                self.history.drop_undo(n)
                raise
            if self.record_decision(
                path, entries_between(path, data, new), entries_between(path, new, data)
            ):
                self.history.confirm_undo(n)

    def write_change(
        self,
        change: Change,
        write: Callable[[], object],
        before: list[Entry],
        after: list[Entry],
        *,
        clears: bool = True,
    ) -> int:
        """Store the intent of a change, write the file, and confirm the change.

        Args:
            write: writes the file.
            before, after, clears: as in ``Origin.decided``.

        Returns:
            The number of the change in the history.
        """
        seq = self.history.record(change)
        try:
            write()
        except Exception:
            self.history.drop(seq)
            raise
        with contextlib.suppress(Unreachable, MemoryError):
            # the file is written; the next change of it settles the intent
            self.confirm(seq, change.path, before, after, clears=clears)
        return seq

    def confirm(
        self,
        seq: int,
        path: str,
        before: list[Entry],
        after: list[Entry],
        *,
        replaces: bool = True,
        clears: bool = True,
    ) -> None:
        """Record that a change was done, and what it decides.

        Args:
            replaces, clears: as in ``Origin.decided``.
        """
        if self.record_decision(path, before, after, replaces=replaces, clears=clears):
            self.history.confirm(seq)

    def record_decision(
        self,
        path: str,
        before: list[Entry],
        after: list[Entry],
        *,
        replaces: bool = True,
        clears: bool = True,
    ) -> bool:
        """Record what a completed change decides.

        Returns:
            False if it can't be recorded. The intent of the change then stays and is settled later.
        """
        try:
            self.origin.decided(day_of(path), before, after, replaces=replaces, clears=clears)
        except Unreachable as error:
            log.warning("%s", error)
            return False
        return True

    def _settle_all(self) -> None:
        """Decide about every undo that died half-way, before the next one is chosen."""
        for path in self.history.unsettled():
            with disk.locked(self.home, path):
                self.settle(path)

    def settle(self, path: str) -> None:
        """Settle the changes that a crash interrupted. The caller has the file's lock."""
        for change in self.history.intents(path):
            data = read_day_file(path)
            entry = parse(data, day_name(path)).find(change.entry_id)
            current = digest(data, size=8)
            if current == change.file_after:
                done = True
            elif current == change.file_before:
                done = False
            elif change.op == "delete":
                done = entry is None
            else:
                done = entry is not None and change.after.strip() in data
            if not done:
                self.history.drop(change.seq)
            elif change.batch.startswith(SYNC):  # what it decides says ``take``
                self.history.confirm(change.seq)
            else:
                before, after = (
                    parse(image, day_name(path)).entries for image in (change.before, change.after)
                )
                self.confirm(change.seq, path, before, after, clears=change.op != "mark")
        for undo in self.history.undo_intents(path):
            data = read_day_file(path)
            current = digest(data, size=8)
            wanted = undo.change.before if undo.undone else undo.change.after
            if current in (undo.file_before, undo.file_after):
                done = current == undo.file_after
            elif wanted.strip():
                done = wanted.strip() in data
            else:
                done = parse(data, day_name(path)).find(undo.change.entry_id) is None
            if not done:
                self.history.drop_undo(undo.n)
                continue
            images = (undo.change.after, undo.change.before)
            before, after = (
                parse(image, day_name(path)).entries
                for image in (images if undo.undone else images[::-1])
            )
            if self.record_decision(path, before, after):
                self.history.confirm_undo(undo.n)


def entries_between(path: str, data: bytes, other: bytes) -> list[Entry]:
    """The entries of a file that holds *data* which it does not have when it holds *other*."""
    name = day_name(path)
    there = {entry.hash for entry in parse(other, name).entries}
    return [entry for entry in parse(data, name).entries if entry.hash not in there]


def new_change(
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
    """Return a change that is to be recorded."""
    return Change(
        batch or new_batch(),
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


def note_neighbours(change: Change, document: Document, entry: Entry) -> None:
    """Store the ids of the entries before and after an entry in its change."""
    index = document.entries.index(entry)
    change.previous_id = document.entries[index - 1].id if index else ""
    change.next_id = document.entries[index + 1].id if index + 1 < len(document.entries) else ""


def _place(document: Document, data: bytes, change: Change) -> int:
    """Where a removed entry belongs in a file that has changed since."""
    if previous := document.find(change.previous_id):
        return previous.stop
    if following := document.find(change.next_id):
        return following.start
    is_between = any(change.offset in (entry.start, entry.stop) for entry in document.entries)
    return change.offset if is_between else len(data)


def write_file(path: str, data: bytes, new: bytes) -> None:
    """Write *new* into a file, which may have been removed. An empty shared file is deleted."""
    if not new and author_of(path):
        if read_day_file(path) != data:
            raise Conflict(f"{path} changed meanwhile")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    elif os.path.exists(path):
        disk.replace(path, data, new)
    else:
        disk.append(path, new)


def read_day_file(path: str) -> bytes:
    """Read a day file; ``b""`` if it does not exist.

    Raises:
        Unreachable: it can't be read.
    """
    try:
        return safe_files.read(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Unreachable(f"{path} can't be read: {error.strerror or error}") from error


def day_name(path: str) -> str:
    """Return the name of a day file without its ending."""
    return os.path.splitext(os.path.basename(path))[0]
