"""A vector space: one fingerprint's embedder, its vectors (SQLite) and its Milvus store.

Vectors are keyed by the text that was embedded, so a moved line, a renamed day or a rebuilt Milvus
folder embeds nothing. ``stored`` is our own ledger of what Milvus holds: a difference between it
and the catalog is the work to do, so a kill at any point costs a repeated, idempotent write.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from memsearch_engine.core.home import Home, private
from memsearch_engine.core.migrations import Database, transaction, write_ahead
from memsearch_engine.core.settings import Embedding, Milvus
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import Embedder, ordinary
from memsearch_engine.index.hubness import (
    DIGITS,
    SAMPLE,
    Near,
    Question,
    Sample,
    Typical,
    best,
    rounded,
    sampled,
)
from memsearch_engine.index.rows import HIDDEN_KINDS, Filter, comparable
from memsearch_engine.index.store import Nowhere, Store, StoreBusy, StoreRow, open_store

_LAYOUT = 1
# how words are spelled in the store (``analyze.terms``): with others it is filled again from the
# vectors
_TERMS = 2
#: ``vectors`` has rowids: without them its rows would lie in the key's own tree, most of each in
#: overflow pages, and reading 100,000 of them takes 3.8 s instead of 0.8.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (text_hash TEXT PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS stored (
  collection TEXT NOT NULL, chunk_id TEXT NOT NULL, scalars TEXT NOT NULL, text_hash TEXT NOT NULL DEFAULT '', special REAL,
  PRIMARY KEY (collection, chunk_id)) WITHOUT ROWID;
"""
Progress = Callable[[int, int], None]
_BATCH = 32
_SCALARS, _BETWEEN = (
    4,
    "\x1f",
)  # day, agent, session, kind; where vectors of a script have much in common, that follows
#: A server orders by cosine alone: of so many times the hits that are wanted, the best are taken.
_SERVER_OVERFETCH = 4
_PRUNE_S = 86_400.0
_SAMPLE_OF = "SELECT scalars FROM stored WHERE collection='' AND chunk_id='sample ' || ?"
_WORTH_KEEPING = 2_000  # rows: fewer are compared in the time that writing them takes
_KEPT_UNUSED, _WORTH_PRUNING = 2_000, 500
_COMPLETE = "complete.json"


def complete_spaces(home: Home) -> dict[str, Embedding]:
    """fingerprint -> settings of the spaces on disk that once held everything, newest first."""
    found: list[tuple[float, str, Embedding]] = []
    for file in home.index.glob(f"*/{_COMPLETE}"):
        try:
            made_with = msgspec.json.decode(file.read_bytes(), type=Embedding)
        except (OSError, msgspec.DecodeError):
            continue
        found.append((file.stat().st_mtime, file.parent.name, made_with))
    return {
        name: made_with
        for _, name, made_with in sorted(found, key=lambda item: item[0], reverse=True)
    }


class Resident:
    """A project's vectors in memory: a matrix, the scalar fields to sort rows out by, and how
    special each vector is.
    """

    def __init__(
        self,
        rows: list[tuple[str, str, bytes]],
        dimension: int,
        ordinary: dict[str, np.ndarray] | None = None,
        kept: tuple[str, list[float | None]] = ("", []),
    ) -> None:
        """
        Args:
            rows: (chunk id, scalars joined by 0x1f, float32 bytes).
            ordinary: of ``Sample``; scalars then end with the script.
            kept: how special each row was found to be, as far as it was, and by the sample of
                which name.
        """
        self._ordinary = ordinary
        self._kept_by, self._kept = (
            kept[0],
            np.array(kept[1], np.float32),
        )  # not a number where it is not known
        self.ids = np.array([row[0] for row in rows], dtype=object)
        self._places: dict[str, int] | None = None
        self._special: np.ndarray | None = None
        self._sample: Sample | None = None
        parts = [row[1].split(_BETWEEN) for row in rows]
        self.scalars = [tuple(part[:_SCALARS]) for part in parts]
        self._apart: np.ndarray | None = None
        self._scripts = [part[_SCALARS] if len(part) > _SCALARS else "" for part in parts]
        self.matrix = np.frombuffer(b"".join(row[2] for row in rows), np.float32).reshape(
            len(rows), dimension
        )
        if ordinary:
            self.matrix = self.sample.framed(self.matrix, self._scripts)

    def changed(self, rows: list[tuple[str, str, bytes]], without: set[str]) -> Resident | None:
        """A copy with *rows* added and the chunks in *without* left out first; None where all have
        to be read anew. Searches under way keep the old one.
        """
        new = Resident(rows, self.matrix.shape[1])
        if self._ordinary:
            if not self._keeps_sample(
                [*(i for i in self.ids if i not in without), *new.ids], without
            ):
                return None  # what all have in common has changed
            new.matrix = self.sample.framed(new.matrix, new._scripts)
            new._ordinary = self._ordinary
        keep = np.array([chunk_id not in without for chunk_id in self.ids], dtype=bool)
        new.ids = np.concatenate([self.ids[keep], new.ids])
        new.scalars = [scalars for scalars, kept in zip(self.scalars, keep) if kept] + new.scalars
        new._scripts = [script for script, kept in zip(self._scripts, keep) if kept] + new._scripts
        new.matrix = np.concatenate([self.matrix[keep], new.matrix])
        if self._sample and self._keeps_sample(new.ids, without):
            new._sample = self._sample
            if self._special is not None:
                kept = int(keep.sum())
                added = new._sample.special(new.ids[kept:], new.matrix[kept:])
                new._special = np.concatenate([self._special[keep], added])
        return new

    def _keeps_sample(self, ids: Iterable[str], without: set[str]) -> bool:
        same = self._sample
        return same is not None and without.isdisjoint(same.ids) and sampled(ids) == same.ids

    def _place(self, chunk_ids: Iterable[str]) -> list[int]:
        if self._places is None:
            self._places = {chunk_id: place for place, chunk_id in enumerate(self.ids)}
        return [self._places[chunk_id] for chunk_id in chunk_ids if chunk_id in self._places]

    @property
    def sample(self) -> Sample:
        if self._sample is None:
            ids = sampled(self.ids)
            places = self._place(ids)
            scripts = [self._scripts[place] for place in places]
            self._sample = Sample(ids, self.matrix[places], scripts, self._ordinary)
        return self._sample

    @property
    def special(self) -> np.ndarray:
        """What each row's cosine is corrected by, for its hubness: float32 of shape (rows,), made
        when it is first asked for.
        """
        if self._special is None:
            special, new = self._kept.copy(), self._unkept
            if len(new) == len(self.ids):
                special = self.sample.special(self.ids, self.matrix)
            elif len(new):
                special[new] = self.sample.special(self.ids[new], self.matrix[new])
            self._special = special
        return self._special

    @property
    def _unkept(self) -> np.ndarray:
        """The places of the rows of which is not kept how special they are, or another sample said
        so.
        """
        if len(self._kept) != len(self.ids) or self._kept_by != self.sample.name:
            return np.arange(len(self.ids))
        return np.flatnonzero(np.isnan(self._kept))

    @property
    def to_keep(self) -> list[tuple[float, str]]:
        """(how special, chunk id) of the rows of which that is not kept."""
        new = self._unkept
        return list(zip(self.special[new].tolist(), self.ids[new].tolist()))

    def are_kept(self) -> None:
        """How special they all are is kept now."""
        self._kept_by, self._kept = self.sample.name, self.special

    @property
    def apart(self) -> np.ndarray:
        """Which rows only they find who ask for their kind: bool of shape (rows,)."""
        if self._apart is None:
            self._apart = np.array(
                [scalars[-1] in HIDDEN_KINDS for scalars in self.scalars], dtype=bool
            )
        return self._apart

    def vectors(self, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        return {str(self.ids[place]): self.matrix[place] for place in self._place(chunk_ids)}

    def cosines(self, question: Question, chunk_ids: Iterable[str]) -> dict[str, Near]:
        places = self._place(chunk_ids)
        cosines, special = (
            rounded(self.matrix[places] @ self._asked(question)),
            rounded(self.special[places]),
        )
        return {
            str(self.ids[i]): Near(float(c), float(s)) for i, c, s in zip(places, cosines, special)
        }

    def _asked(self, question: Question) -> np.ndarray:
        return self.sample.asked(question) if self._ordinary else question.vector

    def nearest(self, question: Question, limit: int, where: Filter) -> list[tuple[str, Near]]:
        if not len(self.ids) or limit <= 0:
            return []
        cosines, special = rounded(self.matrix @ self._asked(question)), rounded(self.special)
        scores = cosines + special
        if where != Filter():
            allowed = np.array([where.admits(*scalars) for scalars in self.scalars], dtype=bool)
            scores = np.where(allowed, scores, -np.inf)
        elif self.apart.any():
            scores = np.where(self.apart, -np.inf, scores)
        found = best(scores, self.ids, limit)
        return [(str(self.ids[i]), Near(float(cosines[i]), float(special[i]))) for i in found]

    def neighbours(self, chunk_ids: list[str], limit: int) -> dict[str, list[tuple[str, float]]]:
        """Chunk -> (chunk id, how near, see ``Typical.above``) of those nearest to it; the chunks
        that are not here are left out.
        """
        places = self._place(chunk_ids)
        cosines = self.matrix[places] @ self.matrix.T
        scores = cosines + self.special
        found = {}
        for row, place in enumerate(places):
            typical = self.sample.typical(Question(self.matrix[place]))
            found[str(self.ids[place])] = [
                (str(self.ids[i]), typical.above(round(float(scores[row, i]), DIGITS)))
                for i in best(scores[row], self.ids, limit + 1)
                if i != place
            ]
        return found


class Space:
    """One open space. All writes come from one thread; searches may come from any."""

    def __init__(
        self,
        home: Home,
        milvus: Milvus,
        embedder: Embedder,
        *,
        beside: bool = False,
        later: bool = False,
    ) -> None:
        """
        Args:
            beside: it serves beside another one, which has the store: here are vectors alone.
            later: opening Milvus Lite (0.4 s) is left to ``open_store``, which has to be called
                before anything is written: vectors are
                compared in memory all the same, and words by the catalog.
        """
        self._beside = beside
        self.embedder = embedder
        self._ordinary = ordinary(embedder)  # None: vectors are compared as they are
        self.fingerprint = embedder.fingerprint
        self.folder = home.index / self.fingerprint
        home.index.mkdir(exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self._lock = threading.RLock()
        self._db = self._open_vectors()
        self._inode = (self.folder / "vectors.db").stat().st_ino
        self._home, self._milvus = home, milvus
        self._resident: dict[str, Resident] = {}
        self._samples: dict[str, Sample] = {}
        self._behind: set[str] = (
            set()
        )  # collections that don't hold what the notes say, whatever their number of rows
        self._compared: set[str] = set()  # with the ledger, since this was opened
        self.store: Store = Nowhere()
        try:
            self._forget_other_lengths()
            self._check_ledger()
        except sqlite3.DatabaseError:  # damaged pages behind a sound header
            self._db.close()
            _remove(self.folder / "vectors.db")
            self._db = self._open_vectors()
            self._inode = (self.folder / "vectors.db").stat().st_ino
            self._check_ledger()
        if not later or milvus.uri:
            self.open_store()

    def _open_vectors(self) -> sqlite3.Connection:
        path = self.folder / "vectors.db"
        try:
            return _connect(path)
        except sqlite3.OperationalError:  # a full disk, a lock: nothing is damaged
            raise
        except sqlite3.DatabaseError:
            _remove(path)
            return _connect(path)

    def _check_ledger(self) -> None:
        """What it says of another store, or of one that is gone, is not so."""
        is_lite = not self._beside and not self._milvus.uri
        target = "beside" if self._beside else f"{self._milvus.uri or 'lite'} {_TERMS}"
        with self._lock:
            row = self._db.execute(
                "SELECT scalars FROM stored WHERE collection='' AND chunk_id='target'"
            ).fetchone()
            if row and row[0] != target:
                self._db.execute("DELETE FROM stored")
            self._db.execute(
                "INSERT OR REPLACE INTO stored (collection, chunk_id, scalars) VALUES ('', 'target', ?)",
                (target,),
            )
            if is_lite and not (self.folder / "milvus.db").exists():
                self._forget_stored()

    def _forget_stored(self) -> None:
        """The store is empty: all is to be written again."""
        with self._lock:
            self._db.execute("DELETE FROM stored WHERE collection<>''")
            self._resident.clear()
            self._samples.clear()

    def open_store(self) -> None:
        """Open Milvus, if it is not; a Lite folder that is damaged is thrown away and filled again
        from the vectors. Raises Unreachable.
        """
        if self._beside or not isinstance(self.store, Nowhere):
            return
        milvus, folder = self._milvus, self.folder / "milvus.db"
        socket = self._home.milvus_socket(self.fingerprint)
        try:
            self.store = open_store(folder, socket, milvus.uri, milvus.token, self._name)
        except StoreBusy:
            raise
        except Exception:
            if milvus.uri or not folder.exists():
                raise
            _remove(folder)
            self._forget_stored()
            self.store = open_store(folder, socket)

    def _forget_other_lengths(self) -> None:
        """A model can change under its name: vectors of another length than it makes now are of no
        use, nor what was stored of them.
        """
        with self._lock:
            row = self._db.execute(
                "SELECT scalars FROM stored WHERE collection='' AND chunk_id='dimension'"
            ).fetchone()
            now = str(self.embedder.dimension)
            if row and row[0] == now:
                return
            gone = self._db.execute(
                "DELETE FROM vectors WHERE length(vector)<>?", (4 * self.embedder.dimension,)
            ).rowcount
            if gone:
                self._db.execute("DELETE FROM stored WHERE collection<>''")
                (self.folder / _COMPLETE).unlink(missing_ok=True)
            self._db.execute(
                "INSERT OR REPLACE INTO stored (collection, chunk_id, scalars) VALUES ('', 'dimension', ?)",
                (now,),
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """What is written in it stands whole or not at all; with the lock."""
        with self._lock, transaction(self._db):
            yield

    def close(self) -> None:
        self.store.close()
        self._db.close()

    def is_damage(self, error: Exception) -> bool:
        """Whether an error says that what we keep is damaged. What a server says, or a full disk,
        says nothing of the kind.
        """
        if isinstance(error, sqlite3.DatabaseError):
            return not isinstance(
                error, sqlite3.OperationalError | sqlite3.ProgrammingError
            )  # a lock, a full disk; closed meanwhile
        return not self.store.is_shared and not isinstance(error, MemoryError | OSError)

    def rebuild(self) -> None:
        """Throw Milvus' data away and fill it again from the vectors (those too, if they are
        damaged).
        """
        with self._lock:
            self.store.close()
            try:
                sound = self._db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            except sqlite3.DatabaseError:
                sound = False
            if not sound:
                self._db.close()
                _remove(self.folder / "vectors.db")
                self._db = _connect(self.folder / "vectors.db")
                self._inode = (self.folder / "vectors.db").stat().st_ino
            self._forget_stored()
            if not self._milvus.uri:
                _remove(self.folder / "milvus.db")
            self._check_ledger()
            self.store = Nowhere()
            self.open_store()

    @property
    def _name(self) -> str:
        """What it is called on a server."""
        from memsearch_engine.index.server import name_of

        return name_of(self._home, self.fingerprint) if self._milvus.uri else ""

    @property
    def is_local(self) -> bool:
        return not self.store.is_shared

    def leave_alone(self) -> list[str]:
        """Take what this home has on a server beside this space off it: what models have left that
        are no more, and versions that had a collection for each project. Returns the names.
        """
        from memsearch_engine.index.server import Server

        if not isinstance(self.store, Server):
            return []
        return self.store.drop_others(self._home, {self._name})

    def _ensure(self, collection: str) -> None:
        """Open the collection; what the ledger says of one that had to be made is not so."""
        if self.store.ensure(collection, self.embedder.dimension):
            with self._lock:
                self._db.execute("DELETE FROM stored WHERE collection=?", (collection,))
                self._resident.pop(collection, None)
                self._samples.pop(collection, None)
            self._behind.add(collection)

    def _compare(self, collection: str) -> None:
        """Once, on a server: it may have lost what it held, and hold what a ledger knew that is
        gone.
        """
        if not self.store.is_shared or collection in self._compared:
            return
        self._ensure(collection)
        with self._lock:
            held = {
                row[0]
                for row in self._db.execute(
                    "SELECT chunk_id FROM stored WHERE collection=?", (collection,)
                )
            }
        if self.store.count(collection) != len(held):
            there = self.store.ids(collection)
            self.store.delete(collection, there - held)
            with self._lock:
                lost = [(collection, chunk_id) for chunk_id in held - there]
                self._db.executemany("DELETE FROM stored WHERE collection=? AND chunk_id=?", lost)
        self._compared.add(collection)

    # -- state

    @property
    def complete(self) -> bool:
        """Whether it once held everything: then it can serve while another one is built."""
        return (self.folder / _COMPLETE).is_file()

    def set_complete(self, made_with: Embedding) -> None:
        """Note that all is in, and what it takes to open this space again (never a key)."""
        kept = msgspec.structs.replace(made_with, api_key="")
        Home.put(self.folder / _COMPLETE, msgspec.json.encode(kept))

    def is_current(self) -> bool:
        """Whether the files that are open are still the ones on disk."""
        try:
            return (self.folder / "vectors.db").stat().st_ino == self._inode
        except OSError:
            return False

    def known(self, text_hashes: Iterable[str]) -> set[str]:
        """Which of these texts have a vector."""
        wanted = list(dict.fromkeys(text_hashes))
        found: set[str] = set()
        for start in range(0, len(wanted), 500):
            batch = wanted[start : start + 500]
            marks = ",".join("?" * len(batch))
            with self._lock:
                rows = self._db.execute(
                    f"SELECT text_hash FROM vectors WHERE text_hash IN ({marks})", batch
                ).fetchall()
            found.update(row[0] for row in rows)
        return found

    def missing(self, catalog: Catalog, project: str) -> dict[str, str]:
        """text hash -> text of the project's chunks without a vector, newest day first."""
        keys = catalog.chunk_keys(project)[::-1]
        known = self.known(key.text_hash for key in keys)
        wanted = {key.text_hash: key.row for key in keys if key.text_hash not in known}
        texts = catalog.texts(wanted.values())
        return {hash_: texts[chunk] for hash_, chunk in wanted.items() if chunk in texts}

    def is_pruning_due(self) -> bool:
        """Once a day, over all services of a home: a stamp in the folder says when it was done
        last.
        """
        stamp = self.folder / "pruned"
        try:
            due = time.time() - stamp.stat().st_mtime > _PRUNE_S
        except FileNotFoundError:
            due = False
            stamp.touch()
        if due:
            stamp.touch()
        return due

    def prune(self, catalog: Catalog) -> int:
        """Forget vectors of texts that no note has any more, but for the newest ones: an undo, a
        branch or a move brings texts back. Returns how many went. Only where the catalog holds
        every project.
        """
        with self._lock:
            rows = self._db.execute(
                "SELECT rowid, text_hash FROM vectors ORDER BY rowid DESC"
            ).fetchall()
        used = catalog.text_hashes()
        unused = [rowid for rowid, text_hash in rows if text_hash not in used][_KEPT_UNUSED:]
        if len(unused) < _WORTH_PRUNING:
            return 0
        with self._transaction():
            self._db.executemany(
                "DELETE FROM vectors WHERE rowid=?", [(rowid,) for rowid in unused]
            )
        with self._lock:
            self._db.execute("VACUUM")
        return len(unused)

    # -- work

    def embed(
        self,
        texts: dict[str, str],
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> int:
        """Make and keep the vectors of *texts* (text hash -> text). Returns how many were made."""
        items = sorted(texts.items(), key=lambda item: len(item[1]))
        done = 0
        size = getattr(
            self.embedder, "batch", _BATCH
        )  # what a service takes at once; a local model is asked often enough to stop
        for start in range(0, len(items), size):
            batch = items[start : start + size]
            vectors = self.embedder.passages([text for _, text in batch], cancelled)
            with self._transaction():
                self._db.executemany(
                    "INSERT OR REPLACE INTO vectors (text_hash, vector) VALUES (?,?)",
                    [(hash_, vector.tobytes()) for (hash_, _), vector in zip(batch, vectors)],
                )
            done += len(vectors)
            if progress:
                progress(done, len(items))
            if cancelled():
                break
        return done

    def reconcile(self, catalog: Catalog, project: str, collection: str) -> tuple[int, int]:
        """Make Milvus hold what the catalog holds and has a vector for. Returns (written, deleted)
        rows.
        """
        self._behind.add(collection)
        self._compare(collection)
        wanted: dict[str, tuple[Any, ...]] = {}
        for key in catalog.chunk_keys(project):
            wanted.setdefault(key.chunk_id, key[1:])
        with self._lock:
            known = self._db.execute(
                "SELECT chunk_id, scalars, text_hash FROM stored WHERE collection=?", (collection,)
            )
            held = {chunk_id: (scalars, text_hash) for chunk_id, scalars, text_hash in known}
        scalars = {
            chunk_id: _BETWEEN.join(row[1 : 1 + _SCALARS]) for chunk_id, row in wanted.items()
        }
        if self._ordinary:
            scalars = self._with_scripts(catalog, scalars, wanted, held)
        # one whose text got a prompt is served by its old vector until it has the new one
        new = [
            chunk_id
            for chunk_id in wanted
            if held.get(chunk_id) != (scalars[chunk_id], wanted[chunk_id][0])
        ]
        vectors = self._vectors(wanted[chunk_id][0] for chunk_id in new)
        new = [chunk_id for chunk_id in new if wanted[chunk_id][0] in vectors]
        if (
            not self.store.is_shared and new and not held
        ):  # rows of a ledger that was lost would stay for good
            self.store.drop(collection)
        gone = [chunk_id for chunk_id in held if chunk_id not in wanted]
        if (
            new or gone or self.ranks_words(collection)
        ):  # else it is not opened: loading 100,000 rows takes Lite 2 s
            self._ensure(collection)
        if gone:
            self.store.delete(collection, gone)
        for start in range(0, len(new), 500):
            batch = new[start : start + 500]
            texts = {} if self._beside else catalog.texts(wanted[chunk_id][5] for chunk_id in batch)
            rows = [
                StoreRow(
                    chunk_id,
                    vectors[wanted[chunk_id][0]],
                    " ".join(analyze.terms(texts[wanted[chunk_id][5]])),
                    *wanted[chunk_id][1:5],
                )
                for chunk_id in batch
                if wanted[chunk_id][5] in texts
            ]
            self.store.upsert(collection, rows)
        if new or gone:
            self.store.flush(collection)
            with self._transaction():
                self._db.executemany(
                    "DELETE FROM stored WHERE collection=? AND chunk_id=?",
                    [(collection, c) for c in gone],
                )
                self._db.executemany(
                    "INSERT OR REPLACE INTO stored (collection, chunk_id, scalars, text_hash) VALUES (?,?,?,?)",
                    [(collection, c, scalars[c], wanted[c][0]) for c in new],
                )
            with self._lock:
                self._samples.pop(collection, None)
                if held_rows := self._resident.get(collection):
                    added = [(c, scalars[c], vectors[wanted[c][0]].tobytes()) for c in new]
                    if changed := held_rows.changed(added, {*gone, *new}):
                        self._resident[collection] = changed
                    else:
                        del self._resident[collection]
        self._behind.discard(collection)
        return len(new), len(gone)

    @staticmethod
    def _with_scripts(
        catalog: Catalog,
        scalars: dict[str, str],
        wanted: dict[str, tuple[Any, ...]],
        held: dict[str, tuple[str, str]],
    ) -> dict[str, str]:
        """*scalars* with each chunk's script behind them: as the ledger has it, where the text is
        as it was.
        """
        known = {
            chunk_id: parts[_SCALARS]
            for chunk_id, (kept, text_hash) in held.items()
            if len(parts := kept.split(_BETWEEN)) > _SCALARS
            and wanted.get(chunk_id, ("",))[0] == text_hash
        }
        texts = catalog.texts(row[5] for chunk_id, row in wanted.items() if chunk_id not in known)
        return {
            chunk_id: _BETWEEN.join(
                [
                    scalars[chunk_id],
                    known[chunk_id] if chunk_id in known else analyze.script(texts.get(row[5], "")),
                ]
            )
            for chunk_id, row in wanted.items()
        }

    def is_behind(self, collection: str) -> bool:
        """Whether notes were changed that the store does not hold as they are now, and holds as
        they were.
        """
        return collection in self._behind

    def _vectors(self, text_hashes: Iterable[str]) -> dict[str, np.ndarray]:
        wanted = list(dict.fromkeys(text_hashes))
        found: dict[str, np.ndarray] = {}
        for start in range(0, len(wanted), 500):
            batch = wanted[start : start + 500]
            marks = ",".join("?" * len(batch))
            with self._lock:
                rows = self._db.execute(
                    f"SELECT text_hash, vector FROM vectors WHERE text_hash IN ({marks})", batch
                )
                found.update((hash_, np.frombuffer(blob, np.float32)) for hash_, blob in rows)
        return found

    def forget(self, collection: str) -> None:
        """Drop a project's collection; its vectors stay, so that building it again embeds nothing."""
        self.store.drop(collection)
        self._behind.add(collection)
        with self._lock:
            self._db.execute("DELETE FROM stored WHERE collection=?", (collection,))
            self._db.execute(
                "DELETE FROM stored WHERE collection='' AND chunk_id='sample ' || ?", (collection,)
            )
            self._resident.pop(collection, None)
            self._samples.pop(collection, None)

    def held(self, collection: str) -> int:
        with self._lock:
            if (resident := self._resident.get(collection)) is not None:
                return len(resident.ids)
            found = self._db.execute(
                "SELECT count(*) FROM stored WHERE collection=?", (collection,)
            ).fetchone()
            return int(found[0])

    # -- search

    def ask(self, text: str) -> Question:
        """What a query's text is to this space."""
        return Question(self.embedder.query(text), analyze.script(text))

    def nearest(
        self, collection: str, question: Question, limit: int, where: Filter
    ) -> list[tuple[str, Near]]:
        """(chunk id, how near), best first.

        Beside Milvus Lite the vectors are held here: Lite computes every norm anew and tests every
        row for deletion in Python, which costs ten to twenty times a matrix product. A server
        searches for itself.
        """
        if not self.store.compares_vectors:
            return self._resident_of(collection).nearest(question, limit, where)
        self._ensure(collection)
        found = self.store.dense(collection, question.vector, limit * _SERVER_OVERFETCH, where)
        near = {chunk_id: Near(comparable(cosine, DIGITS), 0.0) for chunk_id, cosine in found}
        near |= self.cosines(collection, question, near)
        return sorted(near.items(), key=lambda item: (-comparable(item[1].score), item[0]))[:limit]

    def _sample_of(self, collection: str) -> Sample:
        if not self.store.compares_vectors:
            return self._resident_of(collection).sample
        sample = self._samples.get(collection)
        if sample is None:
            with self._lock:
                lowest = self._db.execute(
                    "SELECT chunk_id FROM stored WHERE collection=? ORDER BY chunk_id LIMIT ?",
                    (collection, SAMPLE),
                ).fetchall()
            compared = self._stored(collection, [row[0] for row in lowest])
            matrix = np.array([vector for vector, _ in compared.values()], np.float32)
            scripts = [script for _, script in compared.values()]
            matrix = matrix.reshape(len(compared), self.embedder.dimension)
            sample = self._samples[collection] = Sample(
                list(compared), matrix, scripts, self._ordinary
            )
        return sample

    def _kept(self, collection: str, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        """The vectors of chunks that the store holds, as they are compared."""
        found = self._stored(collection, chunk_ids)
        if not self._ordinary or not found:
            return {chunk_id: vector for chunk_id, (vector, _) in found.items()}
        matrix = np.array([vector for vector, _ in found.values()])
        framed = self._sample_of(collection).framed(
            matrix, [script for _, script in found.values()]
        )
        return dict(zip(found, framed))

    def _stored(
        self, collection: str, chunk_ids: Iterable[str]
    ) -> dict[str, tuple[np.ndarray, str]]:
        """The same from our own table, each with its script where that matters."""
        wanted = list(chunk_ids)
        found: dict[str, tuple[np.ndarray, str]] = {}
        for start in range(0, len(wanted), 500):
            batch = wanted[start : start + 500]
            with self._lock:
                rows = self._db.execute(
                    "SELECT s.chunk_id, v.vector, s.scalars FROM stored s JOIN vectors v ON v.text_hash = s.text_hash"
                    f" WHERE s.collection=? AND s.chunk_id IN ({','.join('?' * len(batch))})",
                    [collection, *batch],
                ).fetchall()
            for chunk_id, blob, scalars in rows:
                script = scalars.split(_BETWEEN)[_SCALARS:]
                found[chunk_id] = np.frombuffer(blob, np.float32), script[0] if script else ""
        return found

    def _resident_of(self, collection: str) -> Resident:
        with self._lock:
            held = self._resident.get(collection)
            if held is None:
                found = self._db.execute(
                    "SELECT s.chunk_id, s.scalars, v.vector, s.special FROM stored s"
                    " JOIN vectors v ON v.text_hash = s.text_hash WHERE s.collection=?",
                    (collection,),
                ).fetchall()
                rows, special = [row[:3] for row in found], [row[3] for row in found]
                by = self._db.execute(_SAMPLE_OF, (collection,)).fetchone()
                kept = (by[0] if by else "", special)
                held = self._resident[collection] = Resident(
                    rows, self.embedder.dimension, self._ordinary, kept
                )
            return held

    def _keep_special(self, collection: str) -> None:
        """Keep how special a project's rows are where that took long to find: it is what a start
        with many rows waits for. On the thread that writes.
        """
        resident = self._resident_of(collection)
        new = resident.to_keep
        if len(new) < _WORTH_KEEPING:
            return
        with self._transaction():
            self._db.executemany(
                "UPDATE stored SET special=? WHERE collection=? AND chunk_id=?",
                [(special, collection, chunk_id) for special, chunk_id in new],
            )
            self._db.execute(
                "INSERT OR REPLACE INTO stored (collection, chunk_id, scalars) VALUES ('', 'sample ' || ?, ?)",
                (collection, resident.sample.name),
            )
        resident.are_kept()

    def cosines(
        self, collection: str, question: Question, chunk_ids: Iterable[str]
    ) -> dict[str, Near]:
        """How near chunks are, from the kept vectors."""
        if not self.store.compares_vectors:
            return self._resident_of(collection).cosines(question, chunk_ids)
        vectors = self._kept(collection, chunk_ids)
        if not vectors:
            return {}
        sample = self._sample_of(collection)
        matrix = np.array(list(vectors.values()))
        special, cosines = (
            rounded(sample.special(vectors, matrix)),
            rounded(matrix @ sample.asked(question)),
        )
        return {name: Near(float(c), float(s)) for name, c, s in zip(vectors, cosines, special)}

    def vectors(self, collection: str, chunk_ids: Iterable[str]) -> dict[str, np.ndarray]:
        """Of chunks that the store holds."""
        if not self.store.compares_vectors:
            return self._resident_of(collection).vectors(chunk_ids)
        return self._kept(collection, chunk_ids)

    def neighbours(
        self, collection: str, chunk_ids: list[str], limit: int
    ) -> dict[str, list[tuple[str, float]]]:
        """Chunk -> (chunk id, how near) of those nearest to it; chunks that the store does not hold
        are left out. How near is in standard deviations above the collection's other notes: the
        cosines of two models can't be compared.
        """
        if not self.store.compares_vectors:
            return self._resident_of(collection).neighbours(chunk_ids, limit)
        found = {}
        for chunk_id, vector in self._kept(collection, chunk_ids).items():
            question = Question(vector)
            typical, near = (
                self.typical(collection, question),
                self.nearest(collection, question, limit + 1, Filter()),
            )
            found[chunk_id] = [
                (name, typical.above(lies.score)) for name, lies in near if name != chunk_id
            ]
        return found

    def typical(self, collection: str, question: Question) -> Typical:
        """How near a project's notes are to it in general."""
        return self._sample_of(collection).typical(question)

    def usual(self, collection: str) -> Typical:
        """How near any two notes of a project are."""
        return self._sample_of(collection).usual

    def ranks_words(self, collection: str) -> bool:
        """Whether ``bm25`` is the way to compare words here; else the catalog's own tables are
        (``lexical.ranked``).
        """
        return self.store.compares_words(self.held(collection))

    def warm(self, collection: str) -> None:
        """Load what the first search of a project would wait for."""
        if not self.store.compares_vectors:
            self._keep_special(collection)
        if self.ranks_words(collection):
            self.bm25(collection, ["warm"], 1, Filter())

    def bm25(
        self, collection: str, terms: list[str], limit: int, where: Filter
    ) -> list[tuple[str, float]]:
        self._ensure(collection)
        found = self.store.bm25(collection, terms, limit, where)
        return [(chunk_id, comparable(score, DIGITS)) for chunk_id, score in found]


def _remove(path: Path) -> None:
    """Delete a folder, or a database file with its journals."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    private(path)
    db = sqlite3.connect(
        path, timeout=20, isolation_level=None, check_same_thread=False, factory=Database
    )
    write_ahead(db)
    db.execute("PRAGMA synchronous=NORMAL")
    made = db.execute("SELECT count(*) FROM sqlite_master WHERE name='vectors'").fetchone()[0]
    if (
        made and db.execute("PRAGMA user_version").fetchone()[0] == 0
    ):  # without rowids; vectors can be dear, so they move
        db.executescript(
            "BEGIN; ALTER TABLE vectors RENAME TO old;"
            f"{_SCHEMA} INSERT INTO vectors (text_hash, vector) SELECT text_hash, vector FROM old; DROP TABLE old; PRAGMA user_version={_LAYOUT}; COMMIT;"
        )
    db.executescript(f"{_SCHEMA} PRAGMA user_version={_LAYOUT};")
    if not db.execute(
        "SELECT count(*) FROM pragma_table_info('stored') WHERE name='special'"
    ).fetchone()[0]:
        db.execute(
            "ALTER TABLE stored ADD COLUMN special REAL"
        )  # a version before this one may come back and not know it
    return db
