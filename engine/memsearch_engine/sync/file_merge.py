"""Merges the base, the local and the remote version of a file.

Tombstones, the history of this machine and the conflict marks decide about entries that a merge of
three versions alone would bring back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from memsearch_engine.journal.history import History
from memsearch_engine.journal.merge import Unmergeable, merge, text_key
from memsearch_engine.journal.model import CONFLICT_OF, Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.secrets.scan import redact
from memsearch_engine.sync.layout import Tombstones, owner
from memsearch_engine.sync.lines import merge_lines
from memsearch_engine.sync.snapshot import RoundFile, Snapshot, contains, entry_ids, entry_texts


class FileMerge:
    """Merges the files of one round.

    Args:
        history: the changes on this machine.
        bring_back: restore missing notes instead of deleting them elsewhere.
    """

    def __init__(self, files: Snapshot, history: History, *, bring_back: bool) -> None:
        self._files, self._history, self._bring_back = files, history, bring_back

    def merge(self, file: RoundFile) -> bool:
        """Set ``merged``, ``conflicts`` and ``removed`` of a file.

        Returns:
            False if it can't be merged; it is then skipped.
        """
        if not file.memory:
            known = b"" if self._bring_back and file.ours is None else file.base
            base, ours, theirs = (
                data.decode("utf-8", "surrogateescape")
                for data in (known, file.ours or b"", file.theirs)
            )
            file.merged = merge_lines(base, ours, theirs).encode("utf-8", "surrogateescape")
            return True
        if self._bring_back:
            base_, file.removed = _without_missing(file), {}
        else:
            base_, file.removed = file.base or self._base_by_history(file), self._removed(file)
        try:
            done = merge(
                base_,
                file.ours or b"",
                self._clean(file.theirs) if file.theirs != file.ours else file.theirs,
                file.name,
                newer=self._newer(file),
                dead=self._deleted_elsewhere(file) | self._replaced_copies(file, base_),
                clean=lambda text: redact(text, self._files.home)[0],
            )
        except Unmergeable:
            self._files.skip_file(
                file.key,
                f"{file.path} can't be merged: here and on the other machines it stays as it is",
            )
            return False
        file.merged, file.conflicts = done.data, len(done.conflicts)
        return True

    def _base_by_history(self, file: RoundFile) -> bytes:
        """Return the base for a machine without one.

        It has the entries of the remote that the owner has changed or deleted since, according to
        the history.
        """
        entries = parse(file.theirs, file.name).entries
        return _joined([entry for entry in entries if self._was_replaced(file, entry)])

    def _replaced_copies(self, file: RoundFile, base: bytes) -> set[tuple[str, str]]:
        """Return conflict copies of others that the owner has changed or deleted since."""
        known, ours = entry_ids(base, file.name), entry_texts(file.ours or b"", file.name)
        return {
            (entry.id, text_key(entry))
            for entry in parse(file.theirs, file.name).entries
            if CONFLICT_OF in entry.marks
            and entry.id not in known
            and (entry.id, text_key(entry)) not in ours
            and self._was_replaced(file, entry)
        }

    def _was_replaced(self, file: RoundFile, entry: Entry) -> bool:
        """Whether the owner has changed or deleted this text of an entry on this machine."""
        return any(
            text_key(old) == text_key(entry)
            for raw in self._history.replaced_here(entry.id)
            for old in parse(raw, file.name).entries[:1]
        )

    def _removed(self, file: RoundFile) -> dict[tuple[str, str], float]:
        """Return the value of ``RoundFile.removed``.

        It includes entries that were moved to another file; their tombstones are removed again
        after all files are merged.
        """
        ours = entry_texts(file.ours or b"", file.name)
        pairs = [
            (entry.id, text_key(entry))
            for entry in parse(file.base, file.name).entries
            if (entry.id, text_key(entry)) not in ours
        ]
        return {pair: self._history.changed(pair[0]) or _mtime(file.path) for pair in pairs}

    def _deleted_elsewhere(self, file: RoundFile) -> set[tuple[str, str]]:
        """Return entries that were deleted or replaced elsewhere. A copy must not bring them back.

        An entry that reappears here after this was seen is a new decision, and stays.
        """
        project = owner(file.key)
        seen = self._files.lines(self._files.base_tree(project), project, "tombstones")
        candidates = (
            self._files.tombstones[project].pairs
            - Tombstones(seen).pairs
            - entry_texts(file.theirs, file.name)
        )
        return {
            (entry.id, text_key(entry))
            for entry in parse(file.ours or b"", file.name).entries
            if (entry.id, text_key(entry)) in candidates
            and not self._history.is_revived(entry.id)
            and not self._is_on_remote(project, entry)
        }

    def _is_on_remote(self, project: str, entry: Entry) -> bool:
        """Whether any file of the project on the remote has the entry."""
        prefix = f"projects/{project}/memory/"
        return any(
            contains(self._files.clone.blob(sha), entry)
            for key, sha in self._files.tree.items()
            if key.startswith(prefix)
        )

    def _newer(self, file: RoundFile) -> Callable[[Entry, Entry], bool]:
        """Decides which of two texts is newer, by the time it replaced the common one."""
        ours = entry_texts(file.ours or b"", file.name)
        tombstones = self._files.tombstones[owner(file.key)]

        def when(entry: Entry) -> float:
            if (entry.id, text_key(entry)) in ours:
                return self._history.changed(entry.id) or _mtime(file.path)
            return tombstones.last(entry.id)

        return lambda one, other: when(one) > when(other)

    def _clean(self, data: bytes) -> bytes:
        """Remove secrets from incoming text."""
        text = data.decode("utf-8", "surrogateescape")
        clean, found = redact(text, self._files.home)
        return clean.encode("utf-8", "surrogateescape") if found else data


def _without_missing(file: RoundFile) -> bytes:
    """The base without the entries that are missing here, so that a merge brings them back."""
    ours = entry_ids(file.ours or b"", file.name)
    return _joined([entry for entry in parse(file.base, file.name).entries if entry.id in ours])


def _joined(entries: list[Entry]) -> bytes:
    return b"\n\n".join(entry.raw for entry in entries)


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()
