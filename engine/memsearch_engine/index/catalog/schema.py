"""The tables of ``cache.db``, their upgrades, and the columns of a ``Row``."""

from __future__ import annotations

import sqlite3

from memsearch_engine.core.migrations import placeholders
from memsearch_engine.index.rows import HIDDEN_KINDS, LONGTERM_KINDS, CatalogBroken

#: ``PRAGMA user_version`` of the current layout. A catalog with another number is built again.
LAYOUT = 4

_TABLES = """
CREATE TABLE files (
  id INTEGER PRIMARY KEY, project TEXT NOT NULL, root TEXT NOT NULL, path TEXT NOT NULL,
  day TEXT NOT NULL, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, hash TEXT NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', at REAL NOT NULL,
  UNIQUE (project, path));
CREATE INDEX files_project ON files(project, day);
CREATE TABLE entries (
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
  entry_id TEXT NOT NULL, hash TEXT NOT NULL, project TEXT NOT NULL, day TEXT NOT NULL,
  time TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, turn TEXT NOT NULL,
  kind TEXT NOT NULL, heading TEXT NOT NULL, level INTEGER NOT NULL, title TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, anchors BLOB NOT NULL,
  marks BLOB NOT NULL, asked TEXT);
CREATE INDEX entries_file ON entries(file);
CREATE INDEX entries_id ON entries(entry_id);
CREATE INDEX entries_day ON entries(project, day, time);
CREATE INDEX entries_not_asked ON entries(project, day, time)
  WHERE asked IS NULL AND agent<>'' AND turn<>'';
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entries(id) ON DELETE CASCADE,
  chunk_id TEXT NOT NULL, part INTEGER NOT NULL, text_hash TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL,
  embedded TEXT NOT NULL);
CREATE INDEX chunks_entry ON chunks(entry, chunk_id);
CREATE INDEX chunks_id ON chunks(chunk_id);
CREATE INDEX chunks_text ON chunks(text_hash);
CREATE VIRTUAL TABLE words USING fts5(
  terms, written, tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, col);
"""

#: ``entries.asked`` is the prompt that is embedded before the first chunk; NULL if it was not
#: looked up yet. Earlier versions of the program can use a catalog with this column.
_ADD_PROMPTS = """
BEGIN;
ALTER TABLE entries ADD COLUMN asked TEXT;
CREATE INDEX entries_not_asked ON entries(project, day, time)
  WHERE asked IS NULL AND agent<>'' AND turn<>'';
COMMIT;
"""

#: ``compared``: the notes that were compared with similar notes, and with which model's vectors.
#: ``links``: which note supersedes which. Earlier versions of the program ignore both tables.
_LINKS = """
CREATE TABLE IF NOT EXISTS compared (
  project TEXT NOT NULL, entry_id TEXT NOT NULL, hash TEXT NOT NULL, space TEXT NOT NULL,
  PRIMARY KEY (project, entry_id, hash, space)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS links (
  project TEXT NOT NULL, older TEXT NOT NULL, newer TEXT NOT NULL, sure REAL NOT NULL,
  shared BLOB NOT NULL, PRIMARY KEY (project, older, newer)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_newer ON links(project, newer);
"""

#: ``grounded``: the references of a note to its project's repository, and their state.
#: ``ground``: the last comparison of a project's notes with its repository.
_STALENESS = """
CREATE TABLE IF NOT EXISTS grounded (
  project TEXT NOT NULL, entry_id TEXT NOT NULL, hash TEXT NOT NULL, names BLOB NOT NULL,
  standing BLOB NOT NULL, stale TEXT NOT NULL, words TEXT NOT NULL, unmerged TEXT NOT NULL,
  PRIMARY KEY (project, entry_id, hash)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS grounded_stale ON grounded(project, stale)
  WHERE stale<>'' OR unmerged<>'';
CREATE TABLE IF NOT EXISTS ground (
  project TEXT PRIMARY KEY, head TEXT NOT NULL, at REAL NOT NULL,
  problem TEXT NOT NULL) WITHOUT ROWID;
"""

#: ``outlines``: what Review needs of a file (``journal.outline``), and the values that its notes
#: give to names (``index.values``). What a row lacks is filled in by the next scan.
_OUTLINES = """
BEGIN;
DROP TABLE IF EXISTS outlines;
CREATE TABLE outlines (
  file INTEGER PRIMARY KEY REFERENCES files(id) ON DELETE CASCADE,
  version TEXT NOT NULL, ctime_ns INTEGER NOT NULL, data BLOB NOT NULL);
COMMIT;
"""

#: The projects with a completed scan. Until then the files themselves are searched.
_SCANNED = """
BEGIN;
CREATE TABLE taken_in (project TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO taken_in (project) SELECT DISTINCT project FROM files;
COMMIT;
"""

#: Earlier versions made one term of a sentence in Thai, Lao, Burmese or Khmer. The next scan reads
#: the files with such text again. The table says that this was done.
_PAIRS = """
BEGIN;
CREATE TABLE pairs (file INTEGER PRIMARY KEY);
INSERT INTO pairs (file) SELECT DISTINCT e.file FROM chunks c JOIN entries e ON e.id=c.entry
  WHERE c.embedded GLOB '*[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]*';
DELETE FROM taken_in WHERE project IN (SELECT project FROM files WHERE id IN pairs);
DELETE FROM words WHERE rowid IN
  (SELECT c.id FROM chunks c JOIN entries e ON e.id=c.entry WHERE e.file IN pairs);
DELETE FROM files WHERE id IN pairs;
DELETE FROM pairs;
COMMIT;
"""

#: A condition on ``kind``: entries of the kinds that searches hide by default.
IS_HIDDEN = f"kind IN ({', '.join(repr(kind) for kind in sorted(HIDDEN_KINDS))})"

#: Finds out whether there is such an entry. Most homes have none, so all entries would be read.
_HIDDEN = f"CREATE INDEX IF NOT EXISTS entries_hidden ON entries(id) WHERE {IS_HIDDEN};"

#: The columns of a ``Row``, in the order of its fields: a chunk with its entry and its file.
ROW_COLUMNS = """c.id, c.chunk_id, c.text, c.embedded, c.start_line, c.end_line, c.part,
 e.entry_id, e.hash, e.project, e.day, e.time, e.agent, e.session, e.turn, e.kind, e.heading,
 e.level, e.title, e.anchors, e.marks, f.path,
 CASE WHEN c.part=0 THEN coalesce(e.asked, '') ELSE '' END, coalesce(g.stale, ''),
 coalesce(g.words, ''), coalesce(g.unmerged, '')"""

#: The joined tables that ``ROW_COLUMNS`` reads: ``c`` chunks, ``e`` entries, ``f`` files.
ROW_TABLES = """chunks c JOIN entries e ON e.id = c.entry JOIN files f ON f.id = e.file
 LEFT JOIN grounded g ON g.project = e.project AND g.entry_id = e.entry_id AND g.hash = e.hash"""

#: The joined tables of the chunks of files, which indexes alone answer.
CHUNKS_OF_FILES = (
    "FROM files f CROSS JOIN entries e ON e.file=f.id CROSS JOIN chunks c ON c.entry=e.id"
)

#: A condition on ``kind``: entries of the journal, without the long-term memory and agent files.
IS_NOTE = f"kind NOT IN ({', '.join(repr(kind) for kind in LONGTERM_KINDS.values())})"


def prepare(db: sqlite3.Connection, *, writable: bool) -> None:
    """Create the tables of an empty database, upgrade an earlier one, and check its layout.

    Args:
        writable: a reader upgrades nothing.

    Raises:
        CatalogBroken: the file has another layout, or is not a catalog.
    """
    version = _number(db, "PRAGMA user_version")
    is_new = not _number(db, "SELECT count(*) FROM sqlite_master")
    if is_new and writable:
        db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={LAYOUT}; COMMIT;")
    elif version != LAYOUT:
        is_ours = _count_tables(db, "files", "entries", "chunks", "words") == 4
        raise CatalogBroken(f"layout {version}, this version uses {LAYOUT}", is_ours=is_ours)
    if writable:
        _upgrade(db)
    elif (
        not _has_column(db, "entries", "asked")
        or not _has_column(db, "outlines", "ctime_ns")
        or not _has_column(db, "outlines", "given")
        or _count_tables(db, "links", "ground") < 2
    ):
        raise CatalogBroken("it is of an earlier version", is_ours=True)


def _upgrade(db: sqlite3.Connection) -> None:
    if not _has_column(db, "entries", "asked"):
        db.executescript(_ADD_PROMPTS)
    db.executescript(_LINKS + _STALENESS + _HIDDEN)
    if not _has_column(db, "outlines", "ctime_ns"):
        db.executescript(_OUTLINES)
    if not _has_column(db, "outlines", "given"):
        db.execute("ALTER TABLE outlines ADD COLUMN given TEXT")
    if not _count_tables(db, "taken_in"):
        db.executescript(_SCANNED)
    if not _count_tables(db, "pairs"):
        db.executescript(_PAIRS)


def _has_column(db: sqlite3.Connection, table: str, column: str) -> bool:
    query = f"SELECT count(*) FROM pragma_table_info('{table}') WHERE name='{column}'"
    return bool(_number(db, query))


def _count_tables(db: sqlite3.Connection, *names: str) -> int:
    query = f"SELECT count(*) FROM sqlite_master WHERE name IN ({placeholders(len(names))})"
    return int(db.execute(query, names).fetchone()[0])


def _number(db: sqlite3.Connection, query: str) -> int:
    return int(db.execute(query).fetchone()[0])
