"""The catalog: files, entries, chunks and full text in ``cache.db`` (SQLite, FTS5).

It answers lists, counts, lexical search and health without Milvus or a model. One process writes it
(the service); any process may read it. It is a cache: a file of another layout or a damaged one is
set aside and built again.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memsearch_engine.core.migrations import Database, transaction, write_ahead
from memsearch_engine.index.rows import (
    APART,
    LONGTERM_KINDS,
    CatalogBroken,
    Row,
    Title,
    decode_marks,
    decoder,
)
from memsearch_engine.journal.files import DayFile, original_of
from memsearch_engine.journal.model import Entry
from memsearch_engine.staleness.finding import Checked, Reference, Standing

if TYPE_CHECKING:
    from memsearch_engine.index.chunk import Chunk

LAYOUT = 4
_decode_standing = decoder(Standing)
_decode_names = decoder(list[Reference])
_decode_shared = decoder(list[str])

_SCHEMA = """
CREATE TABLE files (
  id INTEGER PRIMARY KEY, project TEXT NOT NULL, root TEXT NOT NULL, path TEXT NOT NULL, day TEXT NOT NULL,
  mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, hash TEXT NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', at REAL NOT NULL,
  UNIQUE (project, path));
CREATE INDEX files_project ON files(project, day);
CREATE TABLE entries (
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
  entry_id TEXT NOT NULL, hash TEXT NOT NULL, project TEXT NOT NULL, day TEXT NOT NULL, time TEXT NOT NULL,
  agent TEXT NOT NULL, session TEXT NOT NULL, turn TEXT NOT NULL, kind TEXT NOT NULL, heading TEXT NOT NULL,
  level INTEGER NOT NULL, title TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  anchors BLOB NOT NULL, marks BLOB NOT NULL, asked TEXT);
CREATE INDEX entries_file ON entries(file);
CREATE INDEX entries_id ON entries(entry_id);
CREATE INDEX entries_day ON entries(project, day, time);
CREATE INDEX entries_not_asked ON entries(project, day, time) WHERE asked IS NULL AND agent<>'' AND turn<>'';
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entries(id) ON DELETE CASCADE,
  chunk_id TEXT NOT NULL, part INTEGER NOT NULL, text_hash TEXT NOT NULL, start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL, text TEXT NOT NULL, embedded TEXT NOT NULL);
CREATE INDEX chunks_entry ON chunks(entry, chunk_id);
CREATE INDEX chunks_id ON chunks(chunk_id);
CREATE INDEX chunks_text ON chunks(text_hash);
CREATE VIRTUAL TABLE words USING fts5(terms, written, tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, col);
"""

#: ``entries.asked``: what is embedded before the first chunk; NULL: not looked for. A catalog from
#: before it gets it when it is opened to be written; programs from before it write and read such a
#: catalog as well.
_ADDED = """
BEGIN;
ALTER TABLE entries ADD COLUMN asked TEXT;
CREATE INDEX entries_not_asked ON entries(project, day, time) WHERE asked IS NULL AND agent<>'' AND turn<>'';
COMMIT;
"""

#: Which notes were compared with those near to them, by which model's vectors, and which was found
#: to amend which (``search.chains``). Made where it is missing: programs from before it don't mind.
_LINKS = """
CREATE TABLE IF NOT EXISTS compared (
  project TEXT NOT NULL, entry_id TEXT NOT NULL, hash TEXT NOT NULL, space TEXT NOT NULL,
  PRIMARY KEY (project, entry_id, hash, space)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS links (
  project TEXT NOT NULL, older TEXT NOT NULL, newer TEXT NOT NULL, sure REAL NOT NULL, shared BLOB NOT NULL,
  PRIMARY KEY (project, older, newer)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_newer ON links(project, newer);
"""

#: What notes name of their project's repository, and how that stands (``ground``).
_GROUND = """
CREATE TABLE IF NOT EXISTS grounded (
  project TEXT NOT NULL, entry_id TEXT NOT NULL, hash TEXT NOT NULL, names BLOB NOT NULL, standing BLOB NOT NULL, stale TEXT NOT NULL,
  words TEXT NOT NULL, unmerged TEXT NOT NULL, PRIMARY KEY (project, entry_id, hash)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS grounded_stale ON grounded(project, stale) WHERE stale<>'' OR unmerged<>'';
CREATE TABLE IF NOT EXISTS ground (project TEXT PRIMARY KEY, head TEXT NOT NULL, at REAL NOT NULL, problem TEXT NOT NULL) WITHOUT ROWID;
"""

#: What a hit is made of: one row per chunk, joined with its entry and file.
HIT_COLUMNS = """c.id, c.chunk_id, c.text, c.embedded, c.start_line, c.end_line, c.part, e.entry_id, e.hash, e.project,
 e.day, e.time, e.agent, e.session, e.turn, e.kind, e.heading, e.level, e.title, e.anchors, e.marks, f.path,
 CASE WHEN c.part=0 THEN coalesce(e.asked, '') ELSE '' END, coalesce(g.stale, ''), coalesce(g.words, ''),
 coalesce(g.unmerged, '')"""
#: The projects whose files were read to the end at least once; before that, the files themselves
#: are searched.
_TAKEN_IN = """
BEGIN;
CREATE TABLE taken_in (project TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO taken_in (project) SELECT DISTINCT project FROM files;
COMMIT;
"""

#: What is in the journal, and no part of the long-term memory.
_NOTES = f"kind NOT IN ({', '.join(repr(kind) for kind in LONGTERM_KINDS.values())})"
HIT_FROM = """chunks c JOIN entries e ON e.id = c.entry JOIN files f ON f.id = e.file
 LEFT JOIN grounded g ON g.project = e.project AND g.entry_id = e.entry_id AND g.hash = e.hash"""


class Link(msgspec.Struct, frozen=True):
    """One note amends another, as their words tell. ``sure``: how likely, 0 to 1; ``shared``: their
    rarest common words.
    """

    project: str
    older: str
    newer: str
    sure: float
    shared: list[str]


class Compared(msgspec.Struct, frozen=True):
    """With which commit notes were compared, when (seconds since 1970), and why they could not be
    ('': they could).
    """

    head: str
    at: float
    problem: str


class Stale(msgspec.Struct, frozen=True):
    """A note of which something is gone or elsewhere; its first chunk, and how what it names
    stands.
    """

    row: Row
    standing: Standing


class Dated(msgspec.Struct, frozen=True):
    """A note by its catalog id, with when it was made."""

    id: int
    entry_id: str
    hash: str
    day: str
    time: str
    marks: dict[str, str] = {}


class Catalog:
    """An open catalog.

    Args:
        path: the database; created when *writable*.
        writable: only the service writes.
    """

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        self.writable = writable
        self._local = threading.local()
        self._write_lock = threading.RLock()
        self._writes = 0
        self._looking: sqlite3.Connection | None = None
        self._look_lock = threading.Lock()
        self._sizes: dict[str, tuple[int, int]] = {}
        self._words: dict[int, list[str]] = {}
        self._apart = -1, False  # of which version, and whether
        self._words_of: tuple[int, float, float] | None = None
        self._connections: list[sqlite3.Connection] = []
        with self._refusing_damage():
            self._check(self._db())
            self._inode = path.stat().st_ino

    @classmethod
    def open_or_rebuild(cls, path: Path) -> tuple[Catalog, str]:
        """A writable catalog; one that can't be used is set aside. Returns it with a sentence on
        what was done.
        """
        try:
            return cls(path, writable=True), ""
        except CatalogBroken as error:
            files = [
                file
                for suffix in ("", "-wal", "-shm")
                if (file := Path(f"{path}{suffix}")).exists()
            ]
            if (
                error.is_ours
            ):  # of another version: a cache, and a copy of all notes that nobody would remove
                for file in files:
                    file.unlink()
                return cls(
                    path, writable=True
                ), f"the catalog is built again for this version ({error})"
            aside = path.with_name(f"{path.name}.broken-{int(time.time())}")
            for file in files:
                os.replace(file, f"{aside}{file.name.removeprefix(path.name)}")
            return cls(
                path, writable=True
            ), f"the catalog was unusable ({error}); set aside as {aside.name}, rebuilt"

    @classmethod
    def open_readonly(cls, path: Path) -> Catalog | None:
        """The catalog as a reader, or None where there is none that can be read here."""
        if not path.exists():
            return None
        try:
            return cls(path)
        except CatalogBroken:
            return None

    def is_current(self) -> bool:
        """Whether the file that is open is still the one on disk."""
        try:
            return self.path.stat().st_ino == self._inode
        except OSError:
            return False

    def _db(self) -> sqlite3.Connection:
        db = getattr(self._local, "db", None)
        if db is None:
            db = self._connect()
            self._local.db = db
            self._connections.append(db)
        return db

    def _connect(self) -> sqlite3.Connection:
        if self.writable:
            db = sqlite3.connect(
                self.path,
                timeout=20,
                isolation_level=None,
                check_same_thread=False,
                factory=Database,
            )
            write_ahead(db)
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA foreign_keys=ON")
            return db
        uri = f"{self.path.as_uri()}?mode=ro"
        try:
            db = sqlite3.connect(
                uri,
                uri=True,
                timeout=5,
                isolation_level=None,
                check_same_thread=False,
                factory=Database,
            )
            db.execute(
                "PRAGMA cache_size=-500"
            )  # each thread of an app has its own, and the system keeps the file's pages as well
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # a read-only mount: WAL needs a writable -shm. Files newer than the catalog are read
            # from disk anyway.
            db = sqlite3.connect(
                f"{uri}&immutable=1",
                uri=True,
                timeout=5,
                isolation_level=None,
                check_same_thread=False,
                factory=Database,
            )
        return db

    def _check(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables == 0 and self.writable:
            db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version={LAYOUT}; COMMIT;")
        elif version != LAYOUT:
            ours = db.execute(
                "SELECT count(*) FROM sqlite_master WHERE name IN ('files', 'entries', 'chunks', 'words')"
            )
            raise CatalogBroken(
                f"layout {version}, this version uses {LAYOUT}", is_ours=ours.fetchone()[0] == 4
            )
        elif not db.execute(
            "SELECT count(*) FROM pragma_table_info('entries') WHERE name='asked'"
        ).fetchone()[0]:
            if not self.writable:
                raise CatalogBroken("it is of an earlier version", is_ours=True)
            db.executescript(_ADDED)
        if self.writable:
            db.executescript(_LINKS + _GROUND)
            if not db.execute(
                "SELECT count(*) FROM sqlite_master WHERE name='taken_in'"
            ).fetchone()[0]:
                db.executescript(_TAKEN_IN)
        elif (
            db.execute(
                "SELECT count(*) FROM sqlite_master WHERE name IN ('links', 'ground')"
            ).fetchone()[0]
            < 2
        ):
            raise CatalogBroken("it is of an earlier version", is_ours=True)
        if self.writable and tables:
            problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise CatalogBroken(problem)

    @contextmanager
    def _refusing_damage(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            self.close()
            raise CatalogBroken(str(error)) from error
        except CatalogBroken:
            self.close()
            raise

    def close(self) -> None:
        for db in self._connections:
            db.close()
        self._connections.clear()
        self._looking = None
        self._local = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._write_lock:
            db = self._db()
            with transaction(db):
                yield db
            self._writes += 1

    def query(self, sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._db().execute(sql, tuple(values)).fetchall()
        except sqlite3.DatabaseError as error:
            raise CatalogBroken(str(error)) from error

    # -- files

    def is_taken_in(self, project: str) -> bool:
        """Whether all files of a project were read at least once, by this process or one before it."""
        return bool(self.query("SELECT 1 FROM taken_in WHERE project=?", (project,)))

    def taken_in(self, project: str, *, is_so: bool = True) -> None:
        """Note that all files of a project were read; or, with *is_so* false, that they are to be
        read again.
        """
        with self.transaction() as db:
            change = (
                "INSERT OR IGNORE INTO taken_in (project) VALUES (?)"
                if is_so
                else "DELETE FROM taken_in WHERE project=?"
            )
            db.execute(change, (project,))

    def files(self, project: str) -> dict[str, tuple[DayFile, str, str]]:
        """path -> (file as it was indexed, content hash, state)."""
        rows = self.query(
            "SELECT path, day, mtime_ns, size, hash, state FROM files WHERE project=?", (project,)
        )
        return {
            path: (DayFile(path, day, mtime, size), hash_, state)
            for path, day, mtime, size, hash_, state in rows
        }

    def put_file(
        self,
        project: str,
        root: str,
        file: DayFile,
        content_hash: str,
        entries: list[tuple[Entry, str | None, list[Chunk]]],
        kind: str = "",
    ) -> None:
        """Replace all that is known of one file, in one transaction.

        Args:
            entries: each with what is embedded before it (None: not looked for) and its chunks.
                kind: of all of them, instead of each
                one's own.
        """
        from memsearch_engine.index import (
            analyze,
        )  # readers do without it, and an app that starts reads
        from memsearch_engine.index.chunk import with_asked

        with self.transaction() as db:
            self._drop(db, project, file.path)
            cursor = db.execute(
                "INSERT INTO files (project, root, path, day, mtime_ns, size, hash, state, at) VALUES (?,?,?,?,?,?,?,?,?)",
                (
                    project,
                    root,
                    file.path,
                    file.day,
                    file.mtime_ns,
                    file.size,
                    content_hash,
                    "fresh",
                    time.time(),
                ),
            )
            for entry, asked, chunks in entries:
                row = db.execute(
                    "INSERT INTO entries (file, entry_id, hash, project, day, time, agent, session, turn, kind, heading,"
                    " level, title, start_line, end_line, anchors, marks, asked) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                    (
                        cursor.lastrowid,
                        entry.id,
                        entry.hash,
                        project,
                        file.day,
                        entry.time,
                        entry.agent,
                        entry.session,
                        entry.turn,
                        kind or entry.kind,
                        entry.heading,
                        entry.level,
                        entry.title[:300],
                        entry.start_line,
                        entry.end_line,
                        msgspec.json.encode(entry.anchors),
                        msgspec.json.encode(entry.marks),
                        asked,
                    ),
                )
                for chunk in chunks:
                    added = db.execute(
                        "INSERT INTO chunks (entry, chunk_id, part, text_hash, start_line, end_line, text, embedded)"
                        " VALUES (?,?,?,?,?,?,?,?)",
                        (
                            row.lastrowid,
                            chunk.chunk_id,
                            chunk.part,
                            chunk.text_hash,
                            chunk.start_line,
                            chunk.end_line,
                            chunk.text,
                            chunk.embedded,
                        ),
                    )
                    searched = (
                        with_asked(asked or "", chunk.embedded)
                        if chunk.part == 0
                        else chunk.embedded
                    )
                    db.execute(
                        "INSERT INTO words (rowid, terms, written) VALUES (?,?,?)",
                        (
                            added.lastrowid,
                            " ".join(analyze.terms(searched)),
                            analyze.words(searched),
                        ),
                    )

    def asked(self, project: str, entry_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """entry id -> (hash, what is embedded before it), of those of which it is known."""
        ids = list(entry_ids)
        found: dict[str, tuple[str, str]] = {}
        for start in range(0, len(ids), 500):
            batch = ids[start : start + 500]
            rows = self.query(
                "SELECT entry_id, hash, asked FROM entries WHERE project=? AND asked IS NOT NULL"
                f" AND entry_id IN ({','.join('?' * len(batch))})",
                [project, *batch],
            )
            found.update((entry_id, (hash_, asked)) for entry_id, hash_, asked in rows)
        return found

    def not_asked(self, project: str, limit: int) -> list[Row]:
        """First chunks of entries whose turn's prompt was not looked for, newest first."""
        rows = self.query(
            f"SELECT {HIT_COLUMNS} FROM {HIT_FROM} WHERE e.project=? AND e.asked IS NULL AND e.agent<>'' AND e.turn<>'' AND c.part=0"
            " ORDER BY e.day DESC, e.time DESC LIMIT ?",
            (project, limit),
        )
        return [Row.of(row) for row in rows]

    def with_asked(self, project: str, limit: int) -> list[int]:
        """First chunks before which something is embedded."""
        rows = self.query(
            "SELECT c.id FROM entries e JOIN chunks c ON c.entry=e.id WHERE e.project=? AND e.asked<>'' AND c.part=0 LIMIT ?",
            (project, limit),
        )
        return [row[0] for row in rows]

    def whole_texts(self, chunk_rows: Iterable[int]) -> dict[int, str]:
        """Catalog id of a chunk -> all that is embedded of its entry, before anything is asked
        (``chunk.text_of``).
        """
        return {
            chunk: "\n".join(
                text
                for (text,) in self.query(
                    "SELECT embedded FROM chunks WHERE entry=(SELECT entry FROM chunks WHERE id=?) ORDER BY part",
                    (chunk,),
                )
            )
            for chunk in chunk_rows
        }

    def set_asked(self, asked: Mapping[int, str | None]) -> None:
        """Note what is embedded before first chunks (catalog id -> that, '' for nothing, None: not
        looked for), as long as they are there.
        """
        from memsearch_engine.index import analyze
        from memsearch_engine.index.chunk import text_hash, with_asked

        with self.transaction() as db:
            for chunk, text in asked.items():
                row = db.execute(
                    "SELECT entry, embedded FROM chunks WHERE id=?", (chunk,)
                ).fetchone()
                if row is None:
                    continue
                db.execute("UPDATE entries SET asked=? WHERE id=?", (text, row[0]))
                searched = with_asked(text or "", row[1])
                db.execute("UPDATE chunks SET text_hash=? WHERE id=?", (text_hash(searched), chunk))
                words = (" ".join(analyze.terms(searched)), analyze.words(searched), chunk)
                db.execute("UPDATE words SET terms=?, written=? WHERE rowid=?", words)

    # -- what amends what

    def not_compared(self, project: str, space: str, after: int, limit: int) -> list[Row]:
        """First chunks of dated entries that were not compared as they are now, in the order of
        their catalog ids, from after *after*.
        """
        rows = self.query(
            f"SELECT {HIT_COLUMNS} FROM {HIT_FROM} WHERE c.id IN (SELECT c.id FROM chunks c JOIN entries e ON e.id=c.entry"
            " WHERE e.project=? AND c.part=0 AND e.day<>'' AND c.id>? AND NOT EXISTS (SELECT 1 FROM compared k"
            " WHERE k.project=e.project AND k.entry_id=e.entry_id AND k.hash=e.hash AND k.space=?) ORDER BY c.id LIMIT ?)"
            " ORDER BY c.id",
            (project, after, space, limit),
        )
        return [Row.of(row) for row in rows]

    def is_compared(self, row: Row, space: str) -> bool:
        values = (row.project, row.entry_id, row.hash, space)
        return bool(
            self.query(
                "SELECT 1 FROM compared WHERE project=? AND entry_id=? AND hash=? AND space=?",
                values,
            )
        )

    def was_compared(self, row: Row) -> bool:
        """The same by any model's vectors."""
        values = (row.project, row.entry_id, row.hash)
        return bool(
            self.query("SELECT 1 FROM compared WHERE project=? AND entry_id=? AND hash=?", values)
        )

    def put_links(self, rows: Iterable[Row], space: str, links: Iterable[Link]) -> None:
        """Note that *rows* were compared as they are, and all that was found of them; what was
        known of them before goes.
        """
        with self.transaction() as db:
            for row in rows:
                db.execute(
                    "DELETE FROM links WHERE project=? AND (older=? OR newer=?)",
                    (row.project, *[row.entry_id] * 2),
                )
                # not of what has the same id in another file of the project: each would be compared
                # anew for the other
                db.execute(
                    "DELETE FROM compared WHERE project=? AND entry_id=?"
                    " AND hash NOT IN (SELECT hash FROM entries WHERE project=? AND entry_id=?)",
                    (row.project, row.entry_id, row.project, row.entry_id),
                )
                db.execute(
                    "INSERT OR REPLACE INTO compared (project, entry_id, hash, space) VALUES (?,?,?,?)",
                    (row.project, row.entry_id, row.hash, space),
                )
            db.executemany(
                "INSERT OR REPLACE INTO links (project, older, newer, sure, shared) VALUES (?,?,?,?,?)",
                [
                    (k.project, k.older, k.newer, k.sure, msgspec.json.encode(k.shared))
                    for k in links
                ],
            )

    def links(self, project: str, *, older: str = "", newer: str = "") -> list[Link]:
        """What was found to amend what in a project, the surest first: of all notes, or of one as
        the older or as the newer one.
        """
        where, value = (
            ("AND older=?", older)
            if older
            else ("AND newer=?", newer)
            if newer
            else ("AND ''=?", "")
        )
        rows = self.query(
            f"SELECT older, newer, sure, shared FROM links WHERE project=? {where} ORDER BY sure DESC",
            (project, value),
        )
        return [
            Link(project, one, two, sure, _decode_shared(shared)) for one, two, sure, shared in rows
        ]

    def forget_links(self, project: str) -> None:
        """Forget what was found of entries that are not there any more."""
        gone = [
            name
            for (name,) in self.query(
                "SELECT DISTINCT entry_id FROM compared WHERE project=? AND entry_id NOT IN (SELECT entry_id FROM entries WHERE project=?)",
                (project, project),
            )
        ]
        if gone:
            with self.transaction() as db:
                for name in gone:
                    db.execute(
                        "DELETE FROM compared WHERE project=? AND entry_id=?", (project, name)
                    )
                    db.execute(
                        "DELETE FROM links WHERE project=? AND (older=? OR newer=?)",
                        (project, name, name),
                    )

    # -- how what they name stands

    def grounded(self, project: str) -> dict[tuple[str, str], list[Reference]]:
        """(entry id, hash) -> what it names, of the notes of a project that were looked at as they
        are.
        """
        rows = self.query("SELECT entry_id, hash, names FROM grounded WHERE project=?", (project,))
        return {(name, hash_): _decode_names(names) for name, hash_, names in rows}

    def has_ungrounded(self, project: str) -> bool:
        """Whether a project has a note that was not looked at as it is."""
        query = (
            f"SELECT 1 FROM entries e WHERE project=? AND day<>'' AND {_NOTES} AND NOT EXISTS"
            " (SELECT 1 FROM grounded g WHERE g.project=e.project AND g.entry_id=e.entry_id AND g.hash=e.hash) LIMIT 1"
        )
        return bool(self.query(query, (project,)))

    def ground(self, project: str) -> Compared | None:
        """With what, and when, the notes of a project were compared last; None where they never
        were.
        """
        rows = self.query("SELECT head, at, problem FROM ground WHERE project=?", (project,))
        return Compared(*rows[0]) if rows else None

    def put_ground(self, project: str, compared: Compared, notes: Iterable[Checked]) -> None:
        """Note how all notes of a project stand; what was known of any of them goes."""
        with self.transaction() as db:
            db.execute("DELETE FROM grounded WHERE project=?", (project,))
            db.executemany(
                "INSERT OR REPLACE INTO grounded (project, entry_id, hash, names, standing, stale, words, unmerged) VALUES (?,?,?,?,?,?,?,?)",
                [
                    (
                        project,
                        note.entry_id,
                        note.hash,
                        msgspec.json.encode(note.references),
                        msgspec.json.encode(note.standing),
                        note.standing.state,
                        note.standing.words,
                        note.standing.unmerged,
                    )
                    for note in notes
                ],
            )
            db.execute(
                "INSERT OR REPLACE INTO ground (project, head, at, problem) VALUES (?,?,?,?)",
                (project, compared.head, compared.at, compared.problem),
            )

    def put_problem(self, project: str, compared: Compared) -> None:
        """Note why the notes of a project could not be compared; what is known of them stays."""
        with self.transaction() as db:
            db.execute(
                "INSERT INTO ground (project, head, at, problem) VALUES (?,?,?,?)"
                " ON CONFLICT (project) DO UPDATE SET at=excluded.at, problem=excluded.problem, head=''",
                (project, "", compared.at, compared.problem),
            )

    def forget_ground(self, project: str) -> None:
        """Forget what the notes of a project name, and how that stood."""
        with self.transaction() as db:
            db.execute("DELETE FROM grounded WHERE project=?", (project,))
            db.execute("DELETE FROM ground WHERE project=?", (project,))

    def standing(self, project: str, entry_id: str, hash_: str) -> Standing | None:
        """How what a note names stands; None where that was not looked for, or the note has changed
        since.
        """
        rows = self.query(
            "SELECT standing FROM grounded WHERE project=? AND entry_id=? AND hash=?",
            (project, entry_id, hash_),
        )
        return _decode_standing(rows[0][0]) if rows else None

    def stale(self, project: str, limit: int = -1) -> list[Stale]:
        """The notes of a project of which something is gone or elsewhere, newest first."""
        rows = self.query(
            f"SELECT {HIT_COLUMNS}, g.standing FROM {HIT_FROM} WHERE e.project=? AND g.stale<>'' AND c.part=0"
            " ORDER BY e.day DESC, e.time DESC LIMIT ?",
            (project, limit),
        )
        return [Stale(Row.of(row[:-1]), _decode_standing(row[-1])) for row in rows]

    def outdated(self, project: str) -> dict[tuple[str, str], str]:
        """(entry id, hash) -> what to say beside a note: what of that which it names is gone or
        elsewhere, and the branch that was not merged.
        """
        query = "SELECT entry_id, hash, words, unmerged FROM grounded WHERE project=? AND (stale<>'' OR unmerged<>'')"
        found = {}
        for name, hash_, words, unmerged in self.query(query, (project,)):
            remarks = [f"since then: {words}"] if words else []
            remarks += [f"unmerged: {unmerged}"] if unmerged else []
            found[name, hash_] = "; ".join(remarks)
        return found

    def likely_to_state(self, project: str) -> list[Row]:
        """Dated chunks of a project that may give a name a value: with an underscore, a dot or code
        in them, and a sign or a word for it.
        """
        rows = self.query(
            f"SELECT {HIT_COLUMNS} FROM {HIT_FROM} WHERE e.project=? AND e.day<>''"
            " AND (c.text LIKE '%=%' OR c.text LIKE '%` is %' OR c.text LIKE '%` stays%' OR c.text LIKE '% set to %' OR c.text LIKE '%defaults to %'"
            " OR c.text LIKE '%\\_% is %' ESCAPE '\\' OR c.text LIKE '%: %`%')",
            (project,),
        )
        return [Row.of(row) for row in rows]

    def dated(self, project: str) -> list[Dated]:
        """Every note of the journal of a project with its time and marks."""
        rows = self.query(
            f"SELECT id, entry_id, hash, day, time, marks FROM entries WHERE project=? AND day<>'' AND {_NOTES}",
            (project,),
        )
        return [
            Dated(row, name, hash_, day, at, decode_marks(marks))
            for row, name, hash_, day, at, marks in rows
        ]

    def text_of(self, entry: int) -> str:
        """All that an entry (its catalog id) says, as it is written."""
        return "\n".join(
            text
            for (text,) in self.query(
                "SELECT text FROM chunks WHERE entry=? ORDER BY part", (entry,)
            )
        )

    def touch_file(self, project: str, file: DayFile) -> None:
        """The content is the same, only its time stamp moved."""
        with self.transaction() as db:
            db.execute(
                "UPDATE files SET mtime_ns=?, size=? WHERE project=? AND path=?",
                (file.mtime_ns, file.size, project, file.path),
            )

    def drop_file(self, project: str, path: str) -> None:
        with self.transaction() as db:
            self._drop(db, project, path)

    def fail_file(self, project: str, root: str, path: str, reason: str) -> None:
        """Note that a file could not be read; what was known of it stays findable."""
        with self.transaction() as db:
            known = db.execute(
                "SELECT 1 FROM files WHERE project=? AND path=?", (project, path)
            ).fetchone()
            if known:
                db.execute(
                    "UPDATE files SET state='failed', reason=? WHERE project=? AND path=?",
                    (reason, project, path),
                )
            else:
                db.execute(
                    "INSERT INTO files (project, root, path, day, mtime_ns, size, hash, state, reason, at)"
                    " VALUES (?,?,?,'',0,0,'','failed',?,?)",
                    (project, root, path, reason, time.time()),
                )

    @staticmethod
    def _drop(db: sqlite3.Connection, project: str, path: str) -> None:
        rows = db.execute(
            "SELECT c.id FROM chunks c JOIN entries e ON e.id=c.entry JOIN files f ON f.id=e.file"
            " WHERE f.project=? AND f.path=?",
            (project, path),
        ).fetchall()
        db.executemany("DELETE FROM words WHERE rowid=?", rows)
        db.execute("DELETE FROM files WHERE project=? AND path=?", (project, path))

    # -- reading

    def rows(self, chunk_rows: Iterable[int]) -> list[Row]:
        """Chunks by their catalog ids, in the order given."""
        ids = list(chunk_rows)
        found: dict[int, Row] = {}
        for start in range(0, len(ids), 500):
            batch = ids[start : start + 500]
            marks = ",".join("?" * len(batch))
            for row in self.query(
                f"SELECT {HIT_COLUMNS} FROM {HIT_FROM} WHERE c.id IN ({marks})", batch
            ):
                found[row[0]] = Row.of(row)
        return [found[i] for i in ids if i in found]

    def by_chunk_id(self, chunk_ids: Iterable[str], project: str = "") -> dict[str, Row]:
        ids = list(chunk_ids)
        found: dict[str, Row] = {}
        where = (
            "AND +e.project=?" if project else ""
        )  # the sign: a project's entries are many, these chunks are few
        for start in range(0, len(ids), 500):
            batch = ids[start : start + 500]
            marks = ",".join("?" * len(batch))
            values = [*batch, project] if project else batch
            sql = f"SELECT {HIT_COLUMNS} FROM {HIT_FROM} WHERE c.chunk_id IN ({marks}) {where}"
            for row in self.query(sql, values):
                if row[1] not in found or original_of(
                    found[row[1]].path
                ):  # a copy of a file has the same chunks
                    found[row[1]] = Row.of(row)
        return found

    def texts(self, chunk_rows: Iterable[int]) -> dict[int, str]:
        """What is embedded of chunks, by their catalog ids."""
        from memsearch_engine.index.chunk import with_asked

        ids = list(chunk_rows)
        found: dict[int, str] = {}
        for start in range(0, len(ids), 500):
            batch = ids[start : start + 500]
            marks = ",".join("?" * len(batch))
            rows = self.query(
                "SELECT c.id, c.embedded, CASE WHEN c.part=0 THEN coalesce(e.asked, '') ELSE '' END"
                f" FROM chunks c JOIN entries e ON e.id=c.entry WHERE c.id IN ({marks})",
                batch,
            )
            found.update((chunk, with_asked(asked, embedded)) for chunk, embedded, asked in rows)
        return found

    def terms(self, chunk_rows: Iterable[int]) -> dict[int, set[str]]:
        """The terms of chunks (``analyze.terms``), by their catalog ids."""
        ids = list(chunk_rows)
        found: dict[int, set[str]] = {}
        for start in range(0, len(ids), 500):
            batch = ids[start : start + 500]
            rows = self.query(
                f"SELECT rowid, terms FROM words WHERE rowid IN ({','.join('?' * len(batch))})",
                batch,
            )
            found.update((rowid, set(terms.split())) for rowid, terms in rows)
        return found

    def by_entry(self, entry_id: str) -> list[Row]:
        rows = self.query(
            f"SELECT {HIT_COLUMNS} FROM {HIT_FROM} WHERE e.entry_id=? ORDER BY f.path, c.part",
            (entry_id,),
        )
        return [Row.of(row) for row in rows]

    def of_session(self, project: str, agent: str, session: str, limit: int) -> list[Row]:
        """The first chunk of each note of a session, newest first."""
        rows = self.query(
            f"SELECT {HIT_COLUMNS} FROM {HIT_FROM} WHERE e.project=? AND e.session=? AND e.agent=? AND c.part=0"
            " AND f.root NOT LIKE '%/.memsearch/shared' "
            "ORDER BY e.day DESC, e.time DESC, c.start_line DESC LIMIT ?",
            (project, session, agent, limit),
        )
        return [Row.of(row) for row in rows]

    def talk(self, row: Row) -> list[tuple[str, int]]:
        """(entry id, its first chunk's catalog id) of each note of a row's session in the same
        file, as time went.
        """
        return [
            (name, chunk)
            for name, chunk in self.query(
                "SELECT e.entry_id, c.id FROM entries e JOIN files f ON f.id = e.file JOIN chunks c ON c.entry = e.id AND c.part=0"
                " WHERE e.project=? AND e.day=? AND e.agent=? AND e.session=? AND f.path=? ORDER BY e.time, c.start_line",
                (row.project, row.day, row.agent, row.session, row.path),
            )
        ]

    def around(self, row: Row, beside: int) -> list[Row]:
        """The first chunk of a row's note and of so many before and after it in its ``talk``."""
        talk = self.talk(row)
        place = next((place for place, (name, _) in enumerate(talk) if name == row.entry_id), 0)
        return self.rows([chunk for _, chunk in talk[max(0, place - beside) : place + beside + 1]])

    def days(self, project: str = "") -> list[tuple[str, int]]:
        """(day, number of entries), newest first."""
        where = "AND project=?" if project else ""
        values = (project,) if project else ()
        return self.query(
            f"SELECT day, count(*) FROM entries WHERE day<>'' {where} GROUP BY day ORDER BY day DESC",
            values,
        )

    def file_counts(self, project: str) -> dict[str, tuple[int, int, int]]:
        """path -> (mtime_ns, size in bytes, number of entries) of each file as it was indexed."""
        rows = self.query(
            # counted within the index of each file: six times as fast as a join, and an app that
            # starts waits for it
            "SELECT path, mtime_ns, size, (SELECT count(*) FROM entries WHERE file=files.id) FROM files"
            " WHERE project=? AND state<>'failed'",
            (project,),
        )
        return {path: (mtime_ns, size, count) for path, mtime_ns, size, count in rows}

    def titles(self, file: DayFile) -> list[Title] | None:
        """The entries of a file in its order; None where the file is not indexed as it stands."""
        known = self.query(
            "SELECT id FROM files WHERE path=? AND mtime_ns=? AND size=? AND state<>'failed'",
            (file.path, file.mtime_ns, file.size),
        )
        if not known:
            return None
        rows = self.query(
            "SELECT e.entry_id, e.hash, time, agent, title, marks, coalesce(g.stale, ''), coalesce(g.unmerged, '') FROM entries e"
            " LEFT JOIN grounded g ON g.project=e.project AND g.entry_id=e.entry_id AND g.hash=e.hash"
            " WHERE file=? ORDER BY start_line",
            known[0],
        )
        return [
            Title(name, of, at, by, title, decode_marks(marks), stale, unmerged)
            for name, of, at, by, title, marks, stale, unmerged in rows
        ]

    def agents(self, projects: Iterable[str]) -> list[tuple[str, int, str]]:
        """(agent, number of entries, day and time of the newest), the one with most first; '' is
        who wrote by hand.
        """
        found: dict[str, tuple[int, str]] = {}
        for project in projects:
            rows = self.query(
                f"SELECT agent, count(*), max(day || ' ' || time) FROM entries WHERE project=? AND {_NOTES} GROUP BY agent",
                (project,),
            )
            for agent, count, last in rows:
                before, newest = found.get(agent, (0, ""))
                found[agent] = before + count, max(last, newest)
        return sorted(((agent, *rest) for agent, rest in found.items()), key=lambda row: -row[1])

    def marked(self, projects: Iterable[str], mark: str, limit: int) -> list[Row]:
        """The newest entries that carry *mark*."""
        rows: list[Row] = []
        for project in projects:
            found = self.query(
                f"SELECT {HIT_COLUMNS} FROM {HIT_FROM} WHERE e.project=? AND c.part=0 AND instr(e.marks, ?) "
                "ORDER BY e.day DESC, e.time DESC LIMIT ?",
                (project, f'"{mark}":', limit),
            )
            rows += [Row.of(row) for row in found]
        return sorted(rows, key=lambda row: (row.day, row.time), reverse=True)[:limit]

    def size(self, project: str) -> int:
        """How many distinct chunks a project has; counted anew only after the database changed."""
        version = self._version()
        cached = self._sizes.get(project)
        if cached is None or cached[0] != version:
            found = self.query(
                "SELECT count(DISTINCT c.chunk_id) FROM entries e JOIN chunks c ON c.entry = e.id WHERE e.project=?",
                (project,),
            )
            cached = self._sizes[project] = (version, found[0][0])
        return cached[1]

    def _version(self) -> int:
        """Another number after every change. The one writer counts; a reader asks SQLite, always by
        one connection, since ``data_version`` of two can't be compared.
        """
        if self.writable:
            return self._writes
        try:
            with self._look_lock:
                if self._looking is None:
                    self._looking = self._connect()
                    self._connections.append(self._looking)
                return int(self._looking.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.DatabaseError as error:  # the file was deleted, say
            raise CatalogBroken(str(error)) from error

    def words(self) -> dict[int, list[str]]:
        """All words of all notes, by length.

        Listing them reads the whole word index (0.3 s at 100,000 chunks), so after a change the
        list of before serves on until twenty times as long has passed as the listing took.
        """
        now, version = time.monotonic(), self._version()
        if self._words_of is not None:
            of, at, took = self._words_of
            if of == version or now - at < 20 * took:
                return self._words
        words: dict[int, list[str]] = {}
        for (word,) in self.query("SELECT term FROM vocabulary WHERE col='terms'"):
            words.setdefault(len(word), []).append(word)
        self._words, self._words_of = words, (version, time.monotonic(), time.monotonic() - now)
        return words

    def has_apart(self) -> bool:
        """Whether anything is in it that only they find who ask for it: its words are no notes'
        words.
        """
        version = self._version()
        if self._apart[0] != version:
            marks = ",".join("?" * len(APART))
            found = self.query(
                f"SELECT 1 FROM entries WHERE kind IN ({marks}) LIMIT 1", APART
            )  # 7 ms at 30,000 notes
            self._apart = version, bool(found)
        return self._apart[1]

    def counts(self, project: str = "") -> dict[str, int]:
        where, values = ("WHERE project=?", (project,)) if project else ("", ())
        files = self.query(f"SELECT count(*), sum(state='failed') FROM files {where}", values)[0]
        entries = self.query(
            f"SELECT count(*), count(DISTINCT day) FROM entries {where or 'WHERE 1'} AND {_NOTES}",
            values,
        )[0]
        chunks = self.query(
            f"SELECT count(*), count(DISTINCT c.chunk_id) FROM chunks c JOIN entries e ON e.id=c.entry {where.replace('project', 'e.project')}",
            values,
        )[0]
        return {
            "files": files[0],
            "failed": files[1] or 0,
            "entries": entries[0],
            "days": entries[1],
            "chunks": chunks[0],
            "distinct": chunks[1],
        }
