"""Store revision links: which note supersedes which, by their words and vectors."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memsearch_engine.index.catalog.database import CatalogDatabase
from memsearch_engine.index.catalog.schema import ROW_COLUMNS, ROW_TABLES
from memsearch_engine.index.rows import Row, decoder

_decode_words = decoder(list[str])


class Link(msgspec.Struct, frozen=True):
    """A pair of notes of which the newer one probably supersedes the older one.

    Attributes:
        project: project id.
        older, newer: entry ids.
        sure: the probability, 0 to 1.
        shared: the rarest words that occur in both notes.
    """

    project: str
    older: str
    newer: str
    sure: float
    shared: list[str]


class RevisionLinks:
    """The links between notes, and the notes that were compared to find them.

    The parameter ``space`` names the vectors and the scorer of a comparison.
    """

    def __init__(self, database: CatalogDatabase) -> None:
        self._database = database

    def not_compared(self, project: str, space: str, after: int, limit: int) -> list[Row]:
        """Return first chunks of dated entries that were not compared with their current text.

        Args:
            project: project id.
            space: the comparison.
            after: only chunks with a larger catalog id.
            limit: number of chunks.

        Returns:
            Chunks in the order of their catalog ids.
        """
        rows = self._database.query(
            f"SELECT {ROW_COLUMNS} FROM {ROW_TABLES} WHERE c.id IN ("
            "SELECT c.id FROM chunks c JOIN entries e ON e.id=c.entry"
            " WHERE e.project=? AND c.part=0 AND e.day<>'' AND c.id>? AND NOT EXISTS ("
            "SELECT 1 FROM compared k WHERE k.project=e.project AND k.entry_id=e.entry_id"
            " AND k.hash=e.hash AND k.space=?) ORDER BY c.id LIMIT ?) ORDER BY c.id",
            (project, after, space, limit),
        )
        return [Row.of(row) for row in rows]

    def is_compared(self, row: Row, space: str = "") -> bool:
        """Return whether a note was compared with its current text.

        Args:
            row: the note's first chunk.
            space: the comparison; '' for any.
        """
        found = self._database.query(
            "SELECT 1 FROM compared WHERE project=? AND entry_id=? AND hash=? AND ? IN ('', space)",
            (row.project, row.entry_id, row.hash, space),
        )
        return bool(found)

    def put(self, rows: Iterable[Row], space: str, links: Iterable[Link]) -> None:
        """Store that *rows* were compared, and replace their earlier links with *links*."""
        with self._database.transaction() as db:
            for row in rows:
                db.execute(
                    "DELETE FROM links WHERE project=? AND (older=? OR newer=?)",
                    (row.project, row.entry_id, row.entry_id),
                )
                # another file of the project may have the same id with another text: without the
                # condition the two would be compared again in turn
                db.execute(
                    "DELETE FROM compared WHERE project=? AND entry_id=? AND hash NOT IN"
                    " (SELECT hash FROM entries WHERE project=? AND entry_id=?)",
                    (row.project, row.entry_id, row.project, row.entry_id),
                )
                db.execute(
                    "INSERT OR REPLACE INTO compared (project, entry_id, hash, space)"
                    " VALUES (?,?,?,?)",
                    (row.project, row.entry_id, row.hash, space),
                )
            db.executemany(
                "INSERT OR REPLACE INTO links (project, older, newer, sure, shared)"
                " VALUES (?,?,?,?,?)",
                [
                    (k.project, k.older, k.newer, k.sure, msgspec.json.encode(k.shared))
                    for k in links
                ],
            )

    def of(self, project: str, *, older: str = "", newer: str = "") -> list[Link]:
        """Return the links of a project, the most probable first.

        Args:
            older, newer: only the links of this entry id as the older or the newer note.
        """
        column, value = ("newer", newer) if newer and not older else ("older", older)
        where = f"AND {column}=?" if value else "AND ''=?"
        rows = self._database.query(
            f"SELECT older, newer, sure, shared FROM links WHERE project=? {where}"
            " ORDER BY sure DESC",
            (project, value),
        )
        return [
            Link(project, old, new, sure, _decode_words(words)) for old, new, sure, words in rows
        ]

    def prune(self, project: str) -> None:
        """Delete the links of deleted entries."""
        gone = self._database.query(
            "SELECT DISTINCT entry_id FROM compared WHERE project=?"
            " AND entry_id NOT IN (SELECT entry_id FROM entries WHERE project=?)",
            (project, project),
        )
        if not gone:
            return
        with self._database.transaction() as db:
            for (name,) in gone:
                db.execute("DELETE FROM compared WHERE project=? AND entry_id=?", (project, name))
                db.execute(
                    "DELETE FROM links WHERE project=? AND (older=? OR newer=?)",
                    (project, name, name),
                )
