"""The indexed files: their state, writing their entries, and the prompts of the entries' turns."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from memsearch_engine import __version__
from memsearch_engine.core.ids import digest
from memsearch_engine.index.catalog.database import CatalogPart
from memsearch_engine.index.catalog.schema import ROW_COLUMNS, ROW_TABLES
from memsearch_engine.index.rows import Failure, Row, Title, decode_marks
from memsearch_engine.journal.files import DayFile
from memsearch_engine.journal.model import Entry

if TYPE_CHECKING:
    from memsearch_engine.index.chunk import Chunk

MAX_TITLE = 300  # characters


class IndexedEntry(NamedTuple):
    """An entry in the form in which it is written to the catalog.

    Attributes:
        prompt: the prompt to embed before its first chunk; None if it was not looked up.
    """

    entry: Entry
    prompt: str | None
    chunks: list[Chunk]


class KnownFile(NamedTuple):
    """A file in its indexed version, with its content hash and state (``fresh`` or ``failed``).

    Attributes:
        has_outline: whether it has an outline of this version of the program.
    """

    file: DayFile
    hash: str
    state: str
    has_outline: bool


class IndexedFiles(CatalogPart):
    """The indexed files of all projects. ``index.scan`` writes them; any thread may read them."""

    # -- reading

    def is_scanned(self, project: str) -> bool:
        """Return whether all files of a project have been read at least once."""
        return bool(self._database.query("SELECT 1 FROM taken_in WHERE project=?", (project,)))

    def known(self, project: str) -> dict[str, KnownFile]:
        """Return the files of a project by path."""
        rows = self._database.query(
            "SELECT path, day, mtime_ns, size, coalesce(ctime_ns, 0), hash, state,"
            " CASE WHEN given IS NOT NULL THEN version END"
            " FROM files LEFT JOIN outlines ON file=id WHERE project=?",
            (project,),
        )
        return {
            path: KnownFile(DayFile(path, *values), hash_, state, version == __version__)
            for path, *values, hash_, state, version in rows
        }

    def roots(self, project: str) -> set[str]:
        """Return the folders in which the files of a project were found."""
        return set(
            self._database.column("SELECT DISTINCT root FROM files WHERE project=?", (project,))
        )

    def failures(self, project: str) -> list[Failure]:
        """Return the files of a project that could not be read."""
        rows = self._database.query(
            "SELECT path, reason FROM files WHERE project=? AND state='failed'", (project,)
        )
        return [Failure(path, reason) for path, reason in rows]

    def entry_counts(self, project: str) -> dict[str, tuple[int, int, int]]:
        """Return path -> (mtime_ns, size in bytes, number of entries), as indexed."""
        rows = self._database.query(
            # a subquery on the index is six times as fast as a join, and the app's start waits for
            # it
            "SELECT path, mtime_ns, size, (SELECT count(*) FROM entries WHERE file=files.id)"
            " FROM files WHERE project=? AND state<>'failed'",
            (project,),
        )
        return {path: (mtime_ns, size, count) for path, mtime_ns, size, count in rows}

    def titles(self, file: DayFile) -> list[Title] | None:
        """Return the entries of a file in order; None if this version is not indexed."""
        known = self._database.query(
            "SELECT id FROM files WHERE path=? AND mtime_ns=? AND size=? AND state<>'failed'",
            (file.path, file.mtime_ns, file.size),
        )
        if not known:
            return None
        rows = self._database.query(
            "SELECT e.entry_id, e.hash, time, agent, title, marks, coalesce(g.stale, ''),"
            " coalesce(g.unmerged, '') FROM entries e LEFT JOIN grounded g"
            " ON g.project=e.project AND g.entry_id=e.entry_id AND g.hash=e.hash"
            " WHERE file=? ORDER BY start_line",
            known[0],
        )
        return [
            Title(name, hash_, at, agent, title, decode_marks(marks), stale, unmerged)
            for name, hash_, at, agent, title, marks, stale, unmerged in rows
        ]

    def stamp(self, project: str) -> str:
        """Return a digest that changes with every write to a project's chunks."""
        rows = self._database.query(
            "SELECT path, hash, at FROM files WHERE project=? ORDER BY path", (project,)
        )
        # earlier versions do not change ``at`` when they add prompts
        ((unasked,),) = self._database.query(
            "SELECT count(*) FROM entries"
            " WHERE project=? AND asked IS NULL AND agent<>'' AND turn<>''",
            (project,),
        )
        files = (f"{path}\n{hash_}\n{at}" for path, hash_, at in rows)
        return digest(str(unasked), *files, size=16)

    # -- writing

    def set_scanned(self, project: str, is_scanned: bool = True) -> None:
        """Store that all files of a project were read, or that they must be read again."""
        change = (
            "INSERT OR IGNORE INTO taken_in (project) VALUES (?)"
            if is_scanned
            else "DELETE FROM taken_in WHERE project=?"
        )
        self._database.execute(change, (project,))

    def put(
        self,
        project: str,
        root: str,
        file: DayFile,
        content_hash: str,
        entries: list[IndexedEntry],
        kind: str = "",
    ) -> None:
        """Replace a file and its entries, in one transaction.

        Args:
            project: project id.
            root: the folder in which the file was found.
            content_hash: hash of the file's bytes.
            kind: kind of all entries; '' to use the kind of each entry.
        """
        with self._database.transaction() as db:
            self._delete(db, project, file.path)
            file_row = db.execute(
                "INSERT INTO files (project, root, path, day, mtime_ns, size, hash, state, at)"
                " VALUES (?,?,?,?,?,?,?,'fresh',?)",
                (
                    project,
                    root,
                    file.path,
                    file.day,
                    file.mtime_ns,
                    file.size,
                    content_hash,
                    time.time(),
                ),
            ).lastrowid
            chunks = [chunk.chunk_id for indexed in entries for chunk in indexed.chunks]
            self._database.note_written(project, chunks)
            for indexed in entries:
                _insert(db, file_row, project, file.day, indexed, kind)

    def touch(self, project: str, file: DayFile) -> None:
        """Store a new time stamp of a file with unchanged content."""
        with self._database.transaction() as db:
            db.execute(
                "UPDATE files SET mtime_ns=?, size=? WHERE project=? AND path=?",
                (file.mtime_ns, file.size, project, file.path),
            )
            db.execute(
                "UPDATE outlines SET ctime_ns=?"
                " WHERE file=(SELECT id FROM files WHERE project=? AND path=?)",
                (file.ctime_ns, project, file.path),
            )

    def remove(self, project: str, path: str) -> None:
        """Delete a file and its entries."""
        with self._database.transaction() as db:
            self._delete(db, project, path)

    def fail(self, project: str, root: str, path: str, reason: str) -> None:
        """Store why a file can't be read. The entries of its last version can still be found."""
        self._database.execute(
            "INSERT INTO files"
            " (project, root, path, day, mtime_ns, size, hash, state, reason, at)"
            " VALUES (?,?,?,'',0,0,'','failed',?,?) ON CONFLICT (project, path)"
            " DO UPDATE SET state='failed', reason=excluded.reason",
            (project, root, path, reason, time.time()),
        )

    def _delete(self, db: sqlite3.Connection, project: str, path: str) -> None:
        rows = db.execute(
            "SELECT c.id, c.chunk_id FROM chunks c JOIN entries e ON e.id=c.entry"
            " JOIN files f ON f.id=e.file WHERE f.project=? AND f.path=?",
            (project, path),
        ).fetchall()
        self._database.note_written(project, (chunk_id for _, chunk_id in rows))
        db.executemany("DELETE FROM words WHERE rowid=?", [(row,) for row, _ in rows])
        db.execute("DELETE FROM files WHERE project=? AND path=?", (project, path))


def _insert(
    db: sqlite3.Connection,
    file_row: int | None,
    project: str,
    day: str,
    indexed: IndexedEntry,
    kind: str,
) -> None:
    # not at the top: readers, such as the starting app, do not need the stemmer
    from memsearch_engine.index import analyze
    from memsearch_engine.index.chunk import with_asked

    entry = indexed.entry
    values = {
        "file": file_row,
        "entry_id": entry.id,
        "hash": entry.hash,
        "project": project,
        "day": day,
        "time": entry.time,
        "agent": entry.agent,
        "session": entry.session,
        "turn": entry.turn,
        "kind": kind or entry.kind,
        "heading": entry.heading,
        "level": entry.level,
        "title": entry.title[:MAX_TITLE],
        "start_line": entry.start_line,
        "end_line": entry.end_line,
        "anchors": msgspec.json.encode(entry.anchors),
        "marks": msgspec.json.encode(entry.marks),
        "asked": indexed.prompt,
    }
    entry_row = db.execute(
        f"INSERT INTO entries ({', '.join(values)}) VALUES ({', '.join(f':{k}' for k in values)})",
        values,
    ).lastrowid
    for chunk in indexed.chunks:
        chunk_row = db.execute(
            "INSERT INTO chunks"
            " (entry, chunk_id, part, text_hash, start_line, end_line, text, embedded)"
            " VALUES (?,?,?,?,?,?,?,?)",
            (
                entry_row,
                chunk.chunk_id,
                chunk.part,
                chunk.text_hash,
                chunk.start_line,
                chunk.end_line,
                chunk.text,
                chunk.embedded,
            ),
        ).lastrowid
        text = chunk.embedded
        if chunk.part == 0:
            text = with_asked(indexed.prompt or "", text)
        db.execute(
            "INSERT INTO words (rowid, terms, written) VALUES (?,?,?)",
            (chunk_row, " ".join(analyze.terms(text)), analyze.words(text)),
        )


class TurnPrompts(CatalogPart):
    """The column ``entries.asked``: NULL if no prompt was looked up, '' if there is none."""

    def known(self, project: str, entry_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return entry id -> (content hash, prompt) for entries with a prompt lookup."""
        rows = self._database.query_in(
            # the unary plus as in ``Catalog.by_chunk_id``
            "SELECT entry_id, hash, asked FROM entries WHERE +project=? AND asked IS NOT NULL"
            " AND entry_id IN ({})",
            entry_ids,
            [project],
        )
        return {entry_id: (hash_, prompt) for entry_id, hash_, prompt in rows}

    def missing(self, project: str, limit: int) -> list[Row]:
        """Return first chunks of entries without a prompt lookup, newest first."""
        rows = self._database.query(
            f"SELECT {ROW_COLUMNS} FROM {ROW_TABLES} WHERE e.project=? AND e.asked IS NULL"
            " AND e.agent<>'' AND e.turn<>'' AND c.part=0"
            " ORDER BY e.day DESC, e.time DESC LIMIT ?",
            (project, limit),
        )
        return [Row.of(row) for row in rows]

    def chunks_with_prompt(self, project: str, limit: int) -> list[int]:
        """Return the catalog ids of first chunks that have a prompt."""
        return self._database.column(
            "SELECT c.id FROM entries e JOIN chunks c ON c.entry=e.id"
            " WHERE e.project=? AND e.asked<>'' AND c.part=0 LIMIT ?",
            (project, limit),
        )

    def entry_texts(self, chunk_rows: Iterable[int]) -> dict[int, str]:
        """Return catalog id of a chunk -> embedded text of its whole entry, without the prompt."""
        sql = (
            "SELECT embedded FROM chunks"
            " WHERE entry=(SELECT entry FROM chunks WHERE id=?) ORDER BY part"
        )
        return {chunk: "\n".join(self._database.column(sql, (chunk,))) for chunk in chunk_rows}

    def put(self, prompts: Mapping[int, str | None]) -> None:
        """Store prompts by catalog id of the first chunk. Missing chunks are skipped."""
        from memsearch_engine.index import analyze
        from memsearch_engine.index.chunk import text_hash, with_asked

        with self._database.transaction() as db:
            for chunk, prompt in prompts.items():
                row = db.execute(
                    "SELECT c.entry, c.embedded, c.chunk_id, c.text_hash, e.project, e.file"
                    " FROM chunks c JOIN entries e ON e.id=c.entry WHERE c.id=?",
                    (chunk,),
                ).fetchone()
                if row is None:
                    continue
                entry, embedded, chunk_id, before, project, file = row
                db.execute("UPDATE entries SET asked=? WHERE id=?", (prompt, entry))
                text = with_asked(prompt or "", embedded)
                if (now := text_hash(text)) == before:
                    continue
                self._database.note_written(project, [chunk_id])
                db.execute("UPDATE files SET at=? WHERE id=?", (time.time(), file))
                db.execute("UPDATE chunks SET text_hash=? WHERE id=?", (now, chunk))
                db.execute(
                    "UPDATE words SET terms=?, written=? WHERE rowid=?",
                    (" ".join(analyze.terms(text)), analyze.words(text), chunk),
                )
