"""Store stale references: what notes name in their repository, and whether it still exists."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memsearch_engine.index.catalog.database import CatalogDatabase
from memsearch_engine.index.catalog.schema import IS_NOTE, ROW_COLUMNS, ROW_TABLES
from memsearch_engine.index.rows import Row, decoder
from memsearch_engine.staleness.finding import CheckedNote, NoteStaleness, Reference

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


class StalenessTable:
    """The results of the last repository check, by entry id and content hash of the notes."""

    def __init__(self, database: CatalogDatabase) -> None:
        self._database = database

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
        with self._database.transaction() as db:
            db.execute(
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
        rows = self._database.query(
            f"SELECT {ROW_COLUMNS}, g.standing FROM {ROW_TABLES}"
            " WHERE e.project=? AND g.stale<>'' AND c.part=0"
            " ORDER BY e.day DESC, e.time DESC LIMIT ?",
            (project, limit),
        )
        return [Stale(Row.of(row[:-1]), _decode_standing(row[-1])) for row in rows]

    def remarks(self, project: str) -> dict[tuple[str, str], str]:
        """Return (entry id, hash) -> remark to print beside a note that is stale or unmerged."""
        rows = self._database.query(
            "SELECT entry_id, hash, words, unmerged FROM grounded"
            " WHERE project=? AND (stale<>'' OR unmerged<>'')",
            (project,),
        )
        found = {}
        for name, hash_, words, unmerged in rows:
            parts = [f"since then: {words}"] if words else []
            parts += [f"unmerged: {unmerged}"] if unmerged else []
            found[name, hash_] = "; ".join(parts)
        return found
