"""Store the prompts of turns, which are embedded before the first chunk of the turn's note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memsearch_engine.index.catalog.database import CatalogDatabase
from memsearch_engine.index.catalog.schema import ROW_COLUMNS, ROW_TABLES
from memsearch_engine.index.rows import Row


class TurnPrompts:
    """The column ``entries.asked``: NULL if no prompt was looked up, '' if there is none."""

    def __init__(self, database: CatalogDatabase) -> None:
        self._database = database

    def known(self, project: str, entry_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return entry id -> (content hash, prompt) for entries with a prompt lookup."""
        rows = self._database.query_in(
            "SELECT entry_id, hash, asked FROM entries WHERE project=? AND asked IS NOT NULL"
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
        rows = self._database.query(
            "SELECT c.id FROM entries e JOIN chunks c ON c.entry=e.id"
            " WHERE e.project=? AND e.asked<>'' AND c.part=0 LIMIT ?",
            (project, limit),
        )
        return [row for (row,) in rows]

    def entry_texts(self, chunk_rows: Iterable[int]) -> dict[int, str]:
        """Return catalog id of a chunk -> embedded text of its whole entry, without the prompt."""
        sql = (
            "SELECT embedded FROM chunks"
            " WHERE entry=(SELECT entry FROM chunks WHERE id=?) ORDER BY part"
        )
        return {
            chunk: "\n".join(text for (text,) in self._database.query(sql, (chunk,)))
            for chunk in chunk_rows
        }

    def put(self, prompts: Mapping[int, str | None]) -> None:
        """Store prompts by catalog id of the first chunk. Missing chunks are skipped."""
        from memsearch_engine.index import analyze
        from memsearch_engine.index.chunk import text_hash, with_asked

        with self._database.transaction() as db:
            for chunk, prompt in prompts.items():
                row = db.execute(
                    "SELECT entry, embedded FROM chunks WHERE id=?", (chunk,)
                ).fetchone()
                if row is None:
                    continue
                entry, embedded = row
                text = with_asked(prompt or "", embedded)
                db.execute("UPDATE entries SET asked=? WHERE id=?", (prompt, entry))
                db.execute("UPDATE chunks SET text_hash=? WHERE id=?", (text_hash(text), chunk))
                db.execute(
                    "UPDATE words SET terms=?, written=? WHERE rowid=?",
                    (" ".join(analyze.terms(text)), analyze.words(text), chunk),
                )
