"""The catalog: the indexed files, entries and chunks in ``cache.db`` (SQLite with full text).

It answers lists, counts, word searches and health checks without Milvus and without a model. The
service writes it, and any process may read it. It is a cache: a damaged file or one of another
layout is replaced and filled again from the day files. Only this package uses its tables.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from memsearch_engine.agents.transcripts.model import TurnName
from memsearch_engine.core.migrations import placeholders
from memsearch_engine.index.catalog.database import CatalogDatabase
from memsearch_engine.index.catalog.files import IndexedEntry, IndexedFiles, KnownFile, TurnPrompts
from memsearch_engine.index.catalog.links import (
    Link,
    RepositoryCheck,
    RevisionLinks,
    Stale,
    StalenessTable,
)
from memsearch_engine.index.catalog.outlines import FileOutlines
from memsearch_engine.index.catalog.schema import (
    CHUNKS_OF_FILES,
    IS_NOTE,
    LAYOUT,
    ROW_COLUMNS,
    ROW_TABLES,
)
from memsearch_engine.index.catalog.statistics import CatalogStatistics
from memsearch_engine.index.catalog.words import WordIndex
from memsearch_engine.index.rows import CatalogBroken, Row, decode_marks
from memsearch_engine.journal.files import original_of
from memsearch_engine.journal.parse import turn_id

__all__ = [
    "LAYOUT",
    "Catalog",
    "ChunkKey",
    "DatedNote",
    "IndexedEntry",
    "KnownFile",
    "Link",
    "RepositoryCheck",
    "Stale",
]


class DatedNote(msgspec.Struct, frozen=True):
    """A note's catalog id with its day, time and marks."""

    id: int
    entry_id: str
    hash: str
    day: str
    time: str
    marks: dict[str, str] = {}


class ChunkKey(NamedTuple):
    """The values of a chunk that the vector index needs.

    Attributes:
        row: its catalog id.
        text_hash: hash of the embedded text.
        day, agent, session, kind: values for the filters of a search.
    """

    chunk_id: str
    text_hash: str
    day: str
    agent: str
    session: str
    kind: str
    row: int


class Catalog:
    """An open catalog, with methods for chunks and entries, and parts for everything else.

    Args:
        path: the database; created when *writable*.
        writable: only the service writes.

    Attributes:
        files: the indexed files.
        outlines: what Review needs of these files.
        words: full text search.
        prompts: the prompts that are embedded before notes.
        links: which note supersedes which.
        staleness: references to the repository.
        statistics: counts.

    Raises:
        CatalogBroken: the file can't be used. Every method can raise it.
    """

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.database = CatalogDatabase(path, writable=writable)
        self.files = IndexedFiles(self.database)
        self.outlines = FileOutlines(self.database)
        self.words = WordIndex(self.database)
        self.prompts = TurnPrompts(self.database)
        self.links = RevisionLinks(self.database)
        self.staleness = StalenessTable(self.database)
        self.statistics = CatalogStatistics(self.database)
        self._query = self.database.query

    @classmethod
    def open_or_rebuild(cls, path: Path) -> tuple[Catalog, str]:
        """Open a writable catalog, and replace the file if it can't be used.

        Returns:
            The catalog, and a sentence about the replaced file ('' if none was replaced).
        """
        try:
            return cls(path, writable=True), ""
        except CatalogBroken as error:
            return cls.rebuild(path, error)

    @classmethod
    def rebuild(cls, path: Path, error: CatalogBroken) -> tuple[Catalog, str]:
        """Replace the file, which can't be used; returns as ``open_or_rebuild``."""
        parts = [Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm")]
        parts = [part for part in parts if part.exists()]
        if error.is_ours:
            # a file of another version is deleted: it is a copy of all notes
            for part in parts:
                part.unlink()
            done = f"the catalog is built again for this version ({error})"
        else:
            aside = path.with_name(f"{path.name}.broken-{int(time.time())}")
            for part in parts:
                os.replace(part, f"{aside}{part.name.removeprefix(path.name)}")
            done = f"the catalog was unusable ({error}); set aside as {aside.name}, rebuilt"
        return cls(path, writable=True), done

    @classmethod
    def open_readonly(cls, path: Path) -> Catalog | None:
        """Open a catalog as a reader; None if there is none that can be read."""
        try:
            return cls(path) if path.exists() else None
        except CatalogBroken:
            return None

    def damage(self) -> CatalogBroken | None:
        """Return the damage that SQLite finds in the pages of the file. It reads all of them."""
        try:
            ((problem,),) = self._query("PRAGMA quick_check(1)")
        except CatalogBroken as error:
            # its subclasses are no damage: a lock, or a closed connection
            return error if type(error.__cause__) is sqlite3.DatabaseError else None
        return None if problem == "ok" else CatalogBroken(problem)

    def is_current(self) -> bool:
        """Return whether the open file is still the one on disk."""
        return self.database.is_current()

    def close(self) -> None:
        """Close the connections of all threads."""
        self.database.close()

    # -- chunks

    def rows(self, chunk_rows: Iterable[int]) -> list[Row]:
        """Return chunks by their catalog ids, in the given order; missing ones are left out."""
        ids = list(chunk_rows)
        sql = f"SELECT {ROW_COLUMNS} FROM {ROW_TABLES} WHERE c.id IN ({{}})"
        found = {row[0]: Row.of(row) for row in self.database.query_in(sql, ids)}
        return [found[i] for i in ids if i in found]

    def add_note_texts(self, rows: Iterable[Row]) -> None:
        """Set ``Row.note_text`` of each chunk whose note has several."""
        by_id = {row.id: row for row in rows}
        found = self.database.query_in(
            "SELECT c.id, (SELECT group_concat(o.embedded, char(10)) FROM chunks o"
            " WHERE o.entry=c.entry) FROM chunks c WHERE c.id IN ({})"
            " AND EXISTS (SELECT 1 FROM chunks o WHERE o.entry=c.entry AND o.id<>c.id)",
            by_id,
        )
        for chunk_row, text in found:
            by_id[chunk_row].note_text = text

    def by_chunk_id(self, chunk_ids: Iterable[str], project: str = "") -> dict[str, Row]:
        """Return chunks by chunk id.

        If several files contain a chunk, the original is preferred to copies of the file.

        Args:
            project: id of the only project to search; '' for all.
        """
        # the unary plus prevents the use of the index on project: a project has many entries
        where = "+e.project=? AND" if project else ""
        sql = f"SELECT {ROW_COLUMNS} FROM {ROW_TABLES} WHERE {where} c.chunk_id IN ({{}})"
        found: dict[str, Row] = {}
        for row in self.database.query_in(sql, chunk_ids, [project] if project else []):
            if row[1] not in found or original_of(found[row[1]].path):
                found[row[1]] = Row.of(row)
        return found

    def by_entry(self, entry_id: str) -> list[Row]:
        """Return all chunks of an entry, in every file that has it."""
        return self._rows("e.entry_id=? ORDER BY f.path, c.part", entry_id)

    def texts(self, chunk_rows: Iterable[int]) -> dict[int, str]:
        """Return catalog id -> embedded text of chunks, with the prompt before a first chunk."""
        from memsearch_engine.index.chunk import with_asked

        rows = self.database.query_in(
            "SELECT c.id, c.embedded, CASE WHEN c.part=0 THEN coalesce(e.asked, '') ELSE '' END"
            " FROM chunks c JOIN entries e ON e.id=c.entry WHERE c.id IN ({})",
            chunk_rows,
        )
        return {row: with_asked(prompt, embedded) for row, embedded, prompt in rows}

    def terms(self, chunk_rows: Iterable[int]) -> dict[int, list[str]]:
        """Return catalog id -> terms (``analyze.terms``) of chunks, with repeats."""
        rows = self.database.query_in(
            "SELECT rowid, terms FROM words WHERE rowid IN ({})", chunk_rows
        )
        return {row: terms.split() for row, terms in rows}

    def chunk_keys(self, project: str, chunk_ids: set[str] | None = None) -> list[ChunkKey]:
        """Return the keys of a project's chunks, all or some, oldest day first."""
        sql = (
            "SELECT c.chunk_id, c.text_hash, e.day, e.agent, e.session, e.kind, c.id FROM chunks c"
            " JOIN entries e ON e.id=c.entry WHERE "
        )
        if chunk_ids is None:
            rows = self._query(f"{sql} e.project=? ORDER BY e.day", (project,))
            return [ChunkKey(*row) for row in rows]
        # the unary plus as in ``by_chunk_id``
        some = self.database.query_in(
            f"{sql} +e.project=? AND c.chunk_id IN ({{}})", chunk_ids, [project]
        )
        return sorted((ChunkKey(*row) for row in some), key=lambda key: (key.day, key.row))

    def text_hashes(self) -> set[str]:
        """Return the hashes of all embedded texts of all projects."""
        return set(self.database.column("SELECT DISTINCT text_hash FROM chunks"))

    def latest_texts(self, project: str, limit: int) -> list[str]:
        """Return the embedded texts that were indexed last, without prompts."""
        if self.database.is_small([project]):
            sql = (
                f"SELECT embedded FROM chunks WHERE id IN (SELECT c.id {CHUNKS_OF_FILES}"
                " WHERE f.project=? ORDER BY c.id DESC LIMIT ?) ORDER BY id DESC"
            )
        else:  # a cross join begins with the newest chunk, and soon has enough of them
            sql = (
                "SELECT c.embedded FROM chunks c CROSS JOIN entries e ON e.id=c.entry"
                " WHERE e.project=? ORDER BY c.id DESC LIMIT ?"
            )
        return self.database.column(sql, (project, limit))

    # -- entries

    def dated_notes(self, project: str) -> list[DatedNote]:
        """Return every note of a project's journal with its day, time and marks."""
        rows = self._query(
            "SELECT id, entry_id, hash, day, time, marks FROM entries"
            f" WHERE project=? AND day<>'' AND {IS_NOTE}",
            (project,),
        )
        return [
            DatedNote(row, entry_id, hash_, day, at, decode_marks(marks))
            for row, entry_id, hash_, day, at, marks in rows
        ]

    def entry_text(self, entry: int) -> str:
        """Return the whole text of an entry by its catalog id."""
        sql = "SELECT text FROM chunks WHERE entry=? ORDER BY part"
        return "\n".join(self.database.column(sql, (entry,)))

    def first_chunks_of_kind(self, project: str, kind: str) -> list[Row]:
        """Return the first chunk of each entry of one kind."""
        return self._rows(
            "e.project=? AND e.kind=? AND c.part=0 ORDER BY e.entry_id, f.path", project, kind
        )

    def find_entries(self, prefix: str, projects: list[str], limit: int) -> list[tuple[str, str]]:
        """Return (file, entry id) of entries with an id or chunk id that begins with *prefix*."""
        # with "+", SQLite does not read all entries of the projects to find a few
        owned = f"+e.project IN ({placeholders(len(projects))})"
        values = (prefix, prefix + "\U0010ffff", *projects)
        return self._query(
            "SELECT f.path, e.entry_id FROM entries e JOIN files f ON f.id=e.file"
            f" WHERE e.entry_id >= ? AND e.entry_id < ? AND {owned}"
            " UNION SELECT f.path, e.entry_id FROM chunks c JOIN entries e ON e.id=c.entry"
            " JOIN files f ON f.id=e.file"
            f" WHERE c.chunk_id >= ? AND c.chunk_id < ? AND {owned} LIMIT ?",
            (*values, *values, limit),
        )

    def entries_of_chunk(self, prefix: str, kind: str) -> set[str]:
        """Return the ids of entries of one kind with a chunk id that begins with *prefix*."""
        return set(
            self.database.column(
                "SELECT DISTINCT e.entry_id FROM chunks c JOIN entries e ON e.id=c.entry"
                " WHERE e.kind=? AND c.chunk_id >= ? AND c.chunk_id < ?",
                (kind, prefix, prefix + "\U0010ffff"),
            )
        )

    def notes_like(self, projects: list[str], pattern: str) -> list[tuple[str, str]]:
        """Return (text of a chunk, entry id) of notes that match an SQL LIKE *pattern*."""
        rows = self._query(
            "SELECT c.text, e.entry_id FROM chunks c JOIN entries e ON e.id=c.entry"
            f" WHERE e.project IN ({placeholders(len(projects))}) AND e.kind='note'"
            " AND c.text LIKE ?",
            [*projects, pattern],
        )
        return [(text, entry_id) for text, entry_id in rows]

    def notes_of(self, turns: Iterable[TurnName]) -> dict[TurnName, tuple[str, str]]:
        """Return (project, entry id) of the notes about turns, by turn."""
        names = {turn_id(*turn): turn for turn in turns}
        rows = self.database.query_in(
            "SELECT entry_id, project FROM entries WHERE entry_id IN ({})", names
        )
        return {names[entry_id]: (project, entry_id) for entry_id, project in rows}

    def marked(self, projects: Iterable[str], mark: str, limit: int) -> list[Row]:
        """Return the first chunks of the newest entries with a mark, newest first."""
        rows: list[Row] = []
        for project in projects:
            rows += self._rows(
                "e.project=? AND c.part=0 AND instr(e.marks, ?)"
                " ORDER BY e.day DESC, e.time DESC LIMIT ?",
                project,
                f'"{mark}":',
                limit,
            )
        return sorted(rows, key=lambda row: (row.day, row.time), reverse=True)[:limit]

    def marked_sessions(self, mark: str) -> set[tuple[str, str]]:
        """Return (agent, session) of all sessions that have a note with this mark."""
        return set(
            self._query(
                "SELECT DISTINCT agent, session FROM entries WHERE session<>'' AND instr(marks, ?)",
                (f'"{mark}":',),
            )
        )

    def dated(self, project: str, entries: Iterable[str]) -> list[Row]:
        """Return the chunks of those entries of a project that have a day."""
        rows = self.database.query_in(
            # by the ids: the index of the projects is of no use
            f"SELECT {ROW_COLUMNS} FROM {ROW_TABLES}"
            " WHERE +e.project=? AND e.day<>'' AND e.entry_id IN ({})",
            entries,
            [project],
        )
        return sorted(map(Row.of, rows), key=lambda row: row.id)

    # -- conversations

    def of_session(self, project: str, agent: str, session: str, limit: int) -> list[Row]:
        """Return the first chunk of each own note of a session, newest first."""
        return self._rows(
            "e.project=? AND e.session=? AND e.agent=? AND c.part=0"
            " AND f.root NOT LIKE '%/.memsearch/shared'"
            " ORDER BY e.day DESC, e.time DESC, c.start_line DESC LIMIT ?",
            project,
            session,
            agent,
            limit,
        )

    def conversation(self, row: Row) -> list[tuple[str, int]]:
        """Return the notes of a row's session in the same file, oldest first.

        Returns:
            (entry id, catalog id of its first chunk).
        """
        return self._query(
            "SELECT e.entry_id, c.id FROM entries e JOIN files f ON f.id = e.file"
            " JOIN chunks c ON c.entry = e.id AND c.part=0"
            " WHERE e.project=? AND e.day=? AND e.agent=? AND e.session=? AND f.path=?"
            " ORDER BY e.time, c.start_line",
            (row.project, row.day, row.agent, row.session, row.path),
        )

    def around(self, row: Row, beside: int) -> list[Row]:
        """Return the first chunks of a row's note and of *beside* notes before and after it."""
        notes = self.conversation(row)
        place = next((place for place, (name, _) in enumerate(notes) if name == row.entry_id), 0)
        return self.rows(chunk for _, chunk in notes[max(0, place - beside) : place + beside + 1])

    def _rows(self, condition: str, *values: str | int) -> list[Row]:
        found = self._query(f"SELECT {ROW_COLUMNS} FROM {ROW_TABLES} WHERE {condition}", values)
        return [Row.of(row) for row in found]
