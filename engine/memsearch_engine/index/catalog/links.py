"""Store which note supersedes which (revision links), and which references of notes are stale."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memsearch_engine.index.catalog.database import CatalogPart
from memsearch_engine.index.catalog.schema import IS_NOTE, ROW_COLUMNS, ROW_TABLES
from memsearch_engine.index.rows import Row, decoder
from memsearch_engine.staleness.finding import CheckedNote, NoteStaleness, Reference

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


class RevisionLinks(CatalogPart):
    """The links between notes, and the notes that were compared to find them.

    The parameter ``space`` names the vectors and the scorer of a comparison.
    """

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


_decode_standing = decoder(NoteStaleness)
_decode_references = decoder(list[Reference])


class RepositoryCheck(msgspec.Struct, frozen=True):
    """One comparison of a project's notes with its repository.

    Attributes:
        head: the commit with which the notes were compared.
        at: time of the comparison, in seconds since 1970.
        problem: why the comparison failed; '' if it succeeded.
    """

    head: str
    at: float
    problem: str


class Stale(msgspec.Struct, frozen=True):
    """A note with a stale reference: its first chunk, and the state of its references."""

    row: Row
    standing: NoteStaleness


class StalenessTable(CatalogPart):
    """The results of the last repository check, by entry id and content hash of the notes."""

    def references(self, project: str) -> dict[tuple[str, str], list[Reference]]:
        """Return (entry id, hash) -> references, for the notes that were checked."""
        rows = self._database.query(
            "SELECT entry_id, hash, names FROM grounded WHERE project=?", (project,)
        )
        return {(name, hash_): _decode_references(names) for name, hash_, names in rows}

    def has_unchecked(self, project: str) -> bool:
        """Return whether the current text of some note was not checked yet."""
        found = self._database.query(
            f"SELECT 1 FROM entries e WHERE project=? AND day<>'' AND {IS_NOTE} AND NOT EXISTS"
            " (SELECT 1 FROM grounded g WHERE g.project=e.project AND g.entry_id=e.entry_id"
            " AND g.hash=e.hash) LIMIT 1",
            (project,),
        )
        return bool(found)

    def last_check(self, project: str) -> RepositoryCheck | None:
        """Return the last comparison with the repository; None before the first one."""
        rows = self._database.query(
            "SELECT head, at, problem FROM ground WHERE project=?", (project,)
        )
        return RepositoryCheck(*rows[0]) if rows else None

    def put(self, project: str, check: RepositoryCheck, notes: Iterable[CheckedNote]) -> None:
        """Replace the results of all notes of a project."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM grounded WHERE project=?", (project,))
            db.executemany(
                "INSERT OR REPLACE INTO grounded"
                " (project, entry_id, hash, names, standing, stale, words, unmerged)"
                " VALUES (?,?,?,?,?,?,?,?)",
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
                (project, check.head, check.at, check.problem),
            )

    def put_problem(self, project: str, check: RepositoryCheck) -> None:
        """Store why a check failed. Earlier results are not changed."""
        self._database.execute(
            "INSERT INTO ground (project, head, at, problem) VALUES (?,'',?,?)"
            " ON CONFLICT (project) DO UPDATE"
            " SET at=excluded.at, problem=excluded.problem, head=''",
            (project, check.at, check.problem),
        )

    def forget(self, project: str) -> None:
        """Delete all results of a project."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM grounded WHERE project=?", (project,))
            db.execute("DELETE FROM ground WHERE project=?", (project,))

    def standing(self, project: str, entry_id: str, hash_: str) -> NoteStaleness | None:
        """Return the state of a note's references; None if this text was not checked."""
        rows = self._database.query(
            "SELECT standing FROM grounded WHERE project=? AND entry_id=? AND hash=?",
            (project, entry_id, hash_),
        )
        return _decode_standing(rows[0][0]) if rows else None

    def stale(self, project: str, limit: int = -1) -> list[Stale]:
        """Return the notes with a reference that is gone or moved, newest first."""
        # with "+", SQLite begins with the few stale notes, not with all entries of the project
        rows = self._database.query(
            f"SELECT {ROW_COLUMNS}, g.standing FROM {ROW_TABLES} WHERE e.entry_id IN"
            " (SELECT entry_id FROM grounded WHERE project=? AND stale<>'')"
            " AND +e.project=? AND g.stale<>'' AND c.part=0"
            " ORDER BY e.day DESC, e.time DESC, e.id DESC LIMIT ?",
            (project, project, limit),
        )
        return [Stale(Row.of(row[:-1]), _decode_standing(row[-1])) for row in rows]

    def remarks(self, project: str) -> dict[tuple[str, str], str]:
        """Return (entry id, hash) -> remark to print beside a note that is stale or unmerged."""
        rows = self._database.query(
            "SELECT entry_id, hash, words, unmerged FROM grounded"
            " WHERE project=? AND (stale<>'' OR unmerged<>'')",
            (project,),
        )
        return {
            (name, hash_): "; ".join(
                f"{what}: {value}"
                for what, value in (("since then", words), ("unmerged", unmerged))
                if value
            )
            for name, hash_, words, unmerged in rows
        }
