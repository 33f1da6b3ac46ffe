"""Replaces a whole file of notes, after sync or a repair.

A single entry is changed by ``Journal`` in ``write.py``.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Collection, Container

from memsearch_engine.core.errors import Conflict
from memsearch_engine.journal import disk
from memsearch_engine.journal.files import day_of
from memsearch_engine.journal.history import SYNC, Change, History
from memsearch_engine.journal.merge import text_key
from memsearch_engine.journal.model import Document
from memsearch_engine.journal.origin import key_of
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.undo import (
    Undoable,
    day_name,
    entries_between,
    new_change,
    note_neighbours,
    read_day_file,
    write_file,
)


def receive(
    journal: Undoable,
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
        memory: the memory folder of the file.
        read: the content of the file when it was merged; b"" for no file.
        begins: called with the number of the change before the file is changed. ``was_received``
            then returns whether it was completed.
        moved: ids of entries that are in another file now. They do not count as deleted.
        strange: keys (``key_of``) of texts that the other machine does not vouch for. They are
            not decisions of its owner.

    Raises:
        Conflict: the file has changed since.
    """
    path = disk.real_file(path)
    name = day_name(path)
    with disk.locked(journal.home, path):
        journal.settle(path)
        if read_day_file(path) != read:
            raise Conflict(f"{path} changed while it was merged")
        before, after = parse(read, name), parse(data, name)
        records = _received(journal.history, memory, path, before, after, moved)
        seqs = [journal.history.record(record) for record in records]
        begins(seqs[0])
        try:
            if data:
                write_file(path, read, data)
            else:
                os.unlink(path)
        finally:
            journal.settle(path)  # the content of the file decides, whatever the error was
        journal.origin.decided(day_of(path), before.entries, after.entries, strange=strange)


def _received(
    history: History,
    memory: str,
    path: str,
    before: Document,
    after: Document,
    moved: Container[str],
) -> list[Change]:
    """Return the changes of ``receive``: one of the file, then one of each entry."""
    read, data, batch = before.data, after.data, f"{SYNC}{uuid.uuid4().hex}"
    old, new = ({entry.id: entry for entry in document.entries} for document in (before, after))
    title = f"{day_name(path)}: {len(new.keys() - old)} new, {len(old.keys() - new)} gone"
    records = [new_change("sync", memory, path, "", title, 0, b"", b"", read, data, batch)]
    for entry in before.entries:
        now = new.get(entry.id)
        if (now is None and entry.id in moved) or (now is not None and now.raw == entry.raw):
            continue
        op, raw = ("edit", now.raw) if now else ("delete", b"")
        was = entry.raw if now else read[entry.start : entry.stop]
        record = new_change(
            op, memory, path, entry.id, entry.title, entry.start, was, raw, read, data, batch
        )
        note_neighbours(record, before, entry)
        records.append(record)
    # its deletion is reverted
    records.extend(
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
        for entry in after.entries
        if entry.id not in old and history.is_deleted(entry.id)
    )
    return records


def was_received(journal: Undoable, seq: int) -> bool:
    """Whether a change that ``receive`` began was completed."""
    change = journal.history.get(seq)
    if change is not None and change.state == "intent":
        with disk.locked(journal.home, change.path):
            journal.settle(change.path)
        change = journal.history.get(seq)
    return change is not None and change.state == "done"


def replace(
    journal: Undoable,
    memory: str,
    path: str,
    read: bytes,
    data: bytes,
    title: str,
    *,
    batch: str = "",
) -> None:
    """Replace a file by *data* if it still has the content *read* (b"" for no file).

    It can be undone until the file changes again.

    Args:
        memory: the memory folder of the file.
        title: the name of the change in the history.
        batch: changes of one batch are one step of undo.

    Raises:
        Conflict: the file has other content.
    """
    path = disk.real_file(path)
    name, origin = day_name(path), journal.origin
    with disk.locked(journal.home, path):
        journal.settle(path)
        start = len(os.path.commonprefix([read, data]))
        tail = len(os.path.commonprefix([read[start:][::-1], data[start:][::-1]]))
        before, after = read[start : len(read) - tail], data[start : len(data) - tail]
        own = [entry for entry in parse(read, name).entries if origin.is_own(entry.raw, memory)]
        texts = {(entry.id, text_key(entry)) for entry in own}
        entries = parse(data, name).entries
        origin.adopt(key_of(entry.raw) for entry in entries if (entry.id, text_key(entry)) in texts)
        entry_id = entries[0].id if entries else ""
        change = new_change(
            "edit", memory, path, entry_id, title, start, before, after, read, data, batch
        )

        def write() -> None:
            if read_day_file(path) != read:
                raise Conflict(f"{path} changed meanwhile")
            write_file(path, read, data)

        journal.write_change(
            change,
            write,
            entries_between(path, read, data),
            entries_between(path, data, read),
            clears=False,
        )
