"""The vectors of a collection as one matrix: read from the database, or mapped from a file.

The file is a copy, because to read 100,000 vectors from the database takes 0.4 s and memory for
all of them. It names each vector by chunk and text, so a file that is out of date lacks some
vectors and has others too many, but has no wrong ones.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from memsearch_engine.index.vectors.database import COPIES, VectorDatabase
from memsearch_engine.index.vectors.ledger import LedgerColumns

#: Fewer rows are read from the database, which is as fast.
WORTH_A_FILE = 10_000
_HEAD, _FORMAT = struct.Struct("<8sQQQ"), b"vectors1"
_PAGE = 4096
_BETWEEN = "\n"
#: Shares of a file's rows: with more new rows it is not used, with more changes it is saved again.
_MOST_NEW, _MOST_CHANGED = 8, 32


def room_for(rows: int, dimension: int) -> np.ndarray:
    """Return a matrix with room for more rows. The system provides that memory when it is used."""
    return np.empty((_with_room(rows), dimension), np.float32)


def read(
    database: VectorDatabase, text_hashes: Sequence[str], dimension: int
) -> tuple[np.ndarray, list[int]]:
    """Read the vectors of texts. The caller holds the database's lock.

    The whole table is read in its own order if most of its vectors are wanted: to look up each one
    takes four times as long.

    Returns:
        (their matrix, with room for more rows; the places of the texts that have no vector).
    """
    places: dict[str, int] = {}
    copies = [p for p, name in enumerate(text_hashes) if places.setdefault(name, p) != p]
    buffer, left = room_for(len(text_hashes), dimension), places.copy()
    ((total,),) = database.query("SELECT count(*) FROM vectors")
    copied: Future[None] | None = None
    # the system takes long to provide the memory of a matrix, and needs no interpreter for it
    with ThreadPoolExecutor(1, "copy") as beside:
        for some in database.vectors(None if 2 * len(places) > total else list(places)):
            found = [(left.pop(name), blob) for name, blob in some if name in left]
            if found:
                to, blobs = zip(*found)
                vectors = np.frombuffer(b"".join(blobs), np.float32).reshape(-1, dimension)
                if copied:
                    copied.result()
                copied = beside.submit(buffer.__setitem__, list(to), vectors)
        if copied:
            copied.result()
    buffer[copies] = buffer[[places[text_hashes[place]] for place in copies]]
    lacking = [place for place, name in enumerate(text_hashes) if name in left] if left else []
    return buffer, lacking


class MatrixFile:
    """The file of a collection: the names of the rows, then the matrix.

    Attributes:
        is_due: whether the rows must be saved: there are many, and the file has too few of them.
    """

    def __init__(self, database: VectorDatabase, collection: str, dimension: int) -> None:
        self.path = database.path.with_name(f"{collection}{COPIES}")
        self._database, self._dimension = database, dimension
        self._removals = database.removals
        self.is_due = False

    def rows(self, columns: LedgerColumns) -> tuple[LedgerColumns, np.ndarray]:
        """Return the rows that have a vector, and their matrix, with room for more rows.

        The caller holds the database's lock.
        """
        self.is_due = len(columns.ids) >= WORTH_A_FILE
        if not self.is_due and self.path.exists():  # there were more rows
            self._database.remove_copies(self.path.stem)
        if self.is_due and (mapped := self._mapped()):
            names, buffer = mapped
            if names == _names(columns):
                self.is_due = False
                return columns, buffer
            if found := self._changed(columns, names, buffer):
                return found
        buffer, lacking = read(self._database, columns.text_hashes, self._dimension)
        if lacking:
            stays = sorted(set(range(len(columns.ids))).difference(lacking))
            return columns.chosen(stays), buffer[stays]
        return columns, buffer

    def _mapped(self) -> tuple[bytes, np.ndarray] | None:
        """Map the matrix. Writes to it stay in the memory of this process.

        Returns:
            (names of its rows, matrix); None if there is no complete file.
        """
        try:
            with self.path.open("rb") as file:
                form, count, dimension, length = _HEAD.unpack(file.read(_HEAD.size))
                size = os.fstat(file.fileno()).st_size
                expected = _start(length) + 4 * _with_room(count) * dimension
                if (form, dimension, size) != (_FORMAT, self._dimension, expected):
                    return None
                names = file.read(length)
                shape = (_with_room(count), dimension)
                mapped = np.memmap(file, np.float32, "c", _start(length), shape)
        except (OSError, ValueError, struct.error):
            return None
        return names, np.asarray(mapped)

    def _changed(
        self, columns: LedgerColumns, names: bytes, buffer: np.ndarray
    ) -> tuple[LedgerColumns, np.ndarray] | None:
        """Change the mapped rows to the wanted ones. Rows that are gone leave room for others.

        Returns:
            As ``rows``; None if too many are new, one has no vector, or the names are damaged.
        """
        there = names.decode(errors="replace").split(_BETWEEN)
        known, count = len(there) // 2, len(columns.ids)
        left = {name: row for row, name in enumerate(zip(columns.ids, columns.text_hashes))}
        order = [left.pop(name, -1) for name in zip(there[:known], there[known:])]  # by place
        new, gone = list(left.values()), order.count(-1)
        if len(new) > known // _MOST_NEW or _with_room(known) != len(buffer):
            return None
        vectors, lacking = read(
            self._database, [columns.text_hashes[row] for row in new], self._dimension
        )
        if lacking:
            return None
        order += [-1] * (count - len(order))
        free = [place for place, row in enumerate(order[:count]) if row < 0]
        last = [place for place in range(count, len(order)) if order[place] >= 0]
        buffer[free] = np.concatenate([buffer[last], vectors[: len(new)]])
        for place, row in zip(free, [*(order[place] for place in last), *new]):
            order[place] = row
        self.is_due = len(new) + gone > known // _MOST_CHANGED
        return columns.chosen(order[:count]), buffer

    def save(self, columns: LedgerColumns, matrix: np.ndarray) -> None:
        """Replace the file, unless copies were removed since ``rows``.

        It is complete before it gets its name.

        Raises:
            OSError: it cannot be written.
        """
        part, names = self.path.with_name(f"{self.path.name}.part"), _names(columns)
        start, count = _start(len(names)), len(columns.ids)
        part.unlink(missing_ok=True)
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(_HEAD.pack(_FORMAT, count, self._dimension, len(names)) + names)
                out.seek(start)
                out.write(np.ascontiguousarray(matrix).data)
                out.truncate(start + 4 * _with_room(count) * self._dimension)
                out.flush()
                os.fsync(out.fileno())
            with self._database.lock:
                if self._database.removals == self._removals:
                    part.replace(self.path)
                else:
                    part.unlink(missing_ok=True)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise


def _names(columns: LedgerColumns) -> bytes:
    """Return the names of rows as a file has them: the chunks, then the texts."""
    return _BETWEEN.join([*columns.ids, *columns.text_hashes]).encode()


def _start(names: int) -> int:
    """Return the position of the matrix in a file."""
    return -(-(_HEAD.size + names) // _PAGE) * _PAGE


def _with_room(rows: int) -> int:
    return rows + rows // 8 + 64
