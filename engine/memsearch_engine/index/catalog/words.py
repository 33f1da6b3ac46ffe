"""Full text search over chunks (FTS5): the vocabulary, word frequencies and the best matches."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

from memsearch_engine.core.migrations import placeholders
from memsearch_engine.index.catalog.database import CatalogDatabase, CatalogPart
from memsearch_engine.index.catalog.schema import CHUNKS_OF_FILES, IS_HIDDEN, ROW_TABLES
from memsearch_engine.index.rows import HIDDEN_KINDS, Filter

#: Sorts after every character of a word: the end of the range of words with a common beginning.
_LAST = "\U0010ffff"
#: The list of all words is reused for this many times the duration of making the list.
_LIST_TIMES = 20
_FREQUENCIES = 50_000  # terms
_OF_PROJECTS = f"AND +rowid IN (SELECT c.id {CHUNKS_OF_FILES} WHERE f.project IN ({{}}))"


class WordIndex(CatalogPart):
    """The FTS5 table with two columns.

    ``terms`` has the terms of a chunk (``analyze.terms``), ``written`` its words as written.
    """

    def __init__(self, database: CatalogDatabase) -> None:
        super().__init__(database)
        self._hidden = -1, False  # of which version, whether there is any
        self._counts = -1, 0  # of which version, the number of chunks
        self._frequencies: tuple[int, dict[str, int]] = -1, {}  # of which version, by term
        self._by_length: dict[int, list[str]] = {}
        self._listed: tuple[int, float, float] | None = None  # version, when, seconds it took

    def optimize(self) -> None:
        """Merge all segments of the word index into one: a search reads each of them.

        Source: SQLite, fts5.html, "The 'optimize' Command".
        """
        self._database.execute("INSERT INTO words (words) VALUES ('optimize')")

    # -- the vocabulary

    def chunk_count(self) -> int:
        """Return the number of chunks of all projects."""
        version = self._database.version()
        if self._counts[0] != version:
            self._counts = version, int(self._database.query("SELECT count(*) FROM chunks")[0][0])
        return self._counts[1]

    def document_frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return term -> number of chunks that contain it, without terms that no chunk contains.

        SQLite reads all occurrences of a term to count them, so the numbers are kept until the next
        change.
        """
        version, known = self._frequencies
        if version != self._database.version() or len(known) > _FREQUENCIES:
            version, known = self._frequencies = self._database.version(), {}
        terms = sorted(set(terms))
        if unknown := [term for term in terms if term not in known]:
            rows = self._database.query_in(
                "SELECT term, doc FROM vocabulary WHERE col='terms' AND term IN ({})", unknown
            )
            known |= dict.fromkeys(unknown, 0) | dict(rows)
        return {term: known[term] for term in terms if known[term]}

    def by_length(self) -> dict[int, list[str]]:
        """Return length in characters -> all terms of that length, of all notes.

        Making the list reads the whole word index (0.3 s at 100,000 chunks). After a change, the
        earlier list is reused for twenty times the duration of making it.
        """
        now, version = time.monotonic(), self._database.version()
        if self._listed is not None:
            of, at, took = self._listed
            if of == version or now - at < _LIST_TIMES * took:
                return self._by_length
        words: dict[int, list[str]] = {}
        for word in self._database.column("SELECT term FROM vocabulary WHERE col='terms'"):
            words.setdefault(len(word), []).append(word)
        self._by_length = words
        self._listed = version, time.monotonic(), time.monotonic() - now
        return words

    def written(self, prefix: str, limit: int = 200) -> list[str]:
        """Return written words with this beginning, the most frequent first."""
        return self._database.column(
            "SELECT term FROM vocabulary WHERE col='written' AND term >= ? AND term < ?"
            " ORDER BY cnt DESC LIMIT ?",
            (prefix, prefix + _LAST, limit),
        )

    def has(self, term: str, *, hidden: bool = True) -> bool:
        """Return whether some chunk contains a term.

        Args:
            hidden: whether chunks of hidden kinds count, too.
        """
        sql = "SELECT 1 FROM vocabulary WHERE term=? LIMIT 1"
        return bool(self._database.query(sql, (term,))) and (
            hidden or self._is_visible(f'"{term}"')
        )

    def has_beginning(self, prefix: str, *, hidden: bool = True) -> bool:
        """Return whether some word of a chunk begins with *prefix*.

        Args:
            hidden: whether chunks of hidden kinds count, too.
        """
        sql = "SELECT 1 FROM vocabulary WHERE term >= ? AND term < ? LIMIT 1"
        return bool(self._database.query(sql, (prefix, prefix + _LAST))) and (
            hidden or self._is_visible(f'"{prefix}"*')
        )

    def has_hidden(self) -> bool:
        """Return whether there are chunks of kinds that are hidden by default."""
        version = self._database.version()
        if self._hidden[0] != version:
            sql = f"SELECT 1 FROM entries WHERE {IS_HIDDEN} LIMIT 1"
            self._hidden = version, bool(self._database.query(sql))
        return self._hidden[1]

    def _is_visible(self, expression: str) -> bool:
        """Return whether an FTS5 expression matches a chunk that is not hidden."""
        sql = (
            "SELECT 1 FROM words w CROSS JOIN chunks c ON c.id=w.rowid"
            " CROSS JOIN entries e ON e.id=c.entry WHERE words MATCH ?"
            f" AND e.kind NOT IN ({placeholders(len(HIDDEN_KINDS))}) LIMIT 1"
        )
        return bool(self._database.query(sql, [expression, *HIDDEN_KINDS]))

    # -- matches

    def best(
        self,
        expression: str,
        projects: list[str],
        where: Filter,
        limit: int,
        offset: int = 0,
        *,
        written_weight: float = 0.0,
    ) -> list[tuple[int, tuple[str, str], float]]:
        """Return (catalog id, (project id, chunk id), BM25 score) of the best matches, best first.

        Args:
            expression: FTS5 expression, in which the caller has quoted every word.
            projects: project ids.
            where: filters.
            limit: number of matches.
            offset: number of better matches to skip.
            written_weight: weight of the column ``written``; the weight of ``terms`` is 1.

        Returns:
            Scores above 0, higher is better.
        """
        score = f"bm25(words, 1.0, {float(written_weight)})"
        found = self._matches(expression, projects, where, limit, offset, score, "score")
        return [(row, (project, chunk_id), -score) for row, project, chunk_id, score in found]

    def latest(
        self, expression: str, projects: list[str], where: Filter, limit: int, offset: int = 0
    ) -> list[int]:
        """Return the catalog ids of the matches that were indexed last, without their scores."""
        found = self._matches(expression, projects, where, limit, offset, "0", "rowid DESC")
        return [row for row, *_ in found]

    def _matches(
        self,
        expression: str,
        projects: list[str],
        where: Filter,
        limit: int,
        offset: int,
        score: str,
        order_by: str,
    ) -> list[tuple[Any, ...]]:
        """Score the matches, then read only the rows of the requested page."""
        condition, values = _condition(projects, where)
        is_small = self._database.is_small(projects)  # then only their matches are scored
        of_projects = _OF_PROJECTS.format(placeholders(len(projects))) if is_small else ""
        return self._database.query(
            "SELECT c.id, e.project, c.chunk_id, w.score FROM"
            f" (SELECT rowid AS id, {score} AS score FROM words"
            f" WHERE words MATCH ? {of_projects} ORDER BY {order_by} LIMIT -1) w"
            " CROSS JOIN chunks c ON c.id = w.id CROSS JOIN entries e ON e.id = c.entry"
            f" WHERE {condition} LIMIT ? OFFSET ?",
            [expression, *(projects if is_small else ()), *values, limit, offset],
        )

    # -- without words

    def newest(
        self, projects: list[str], where: Filter, limit: int = -1, offset: int = 0
    ) -> list[int]:
        """Return the catalog ids of all chunks that a filter admits, the newest day first."""
        condition, values = _condition(projects, where)
        return self._database.column(
            f"SELECT c.id FROM {ROW_TABLES} WHERE {condition}"
            " ORDER BY e.day DESC, e.start_line DESC LIMIT ? OFFSET ?",
            [*values, limit, offset],
        )

    def entries(self, projects: list[str], where: Filter) -> list[int]:
        """Return the catalog ids of the first chunks of all entries that a filter admits."""
        condition, values = _condition(projects, where)
        return self._database.column(
            f"SELECT c.id FROM {ROW_TABLES} WHERE {condition} AND c.part = 0", values
        )

    def rarity(self, terms: list[str]) -> dict[str, float]:
        """Return the inverse document frequency of each term, by the formula of Lucene and Milvus.

        A term that occurs in no note gets the value of a term that occurs in one.
        """
        if not terms:
            return {}
        known, total = self.document_frequencies(terms), self.chunk_count()
        return {term: idf_of(known.get(term, 1), total) for term in terms}


def _condition(projects: list[str], where: Filter) -> tuple[str, list[Any]]:
    """Return a filter as an SQL condition on entries (``e``) with its values."""
    parts = [f"e.project IN ({placeholders(len(projects))})"]
    values: list[Any] = [*projects]
    for column, names in (("e.agent", where.agents), ("e.kind", where.kinds)):
        if names:
            parts.append(f"{column} IN ({placeholders(len(names))})")
            values.extend(names)
    if not where.kinds:
        parts.append(f"e.kind NOT IN ({placeholders(len(HIDDEN_KINDS))})")
        values.extend(HIDDEN_KINDS)
    if where.sessions:
        begins = " OR ".join("substr(e.session, 1, length(?)) = ?" for _ in where.sessions)
        parts.append(f"({begins})")
        values.extend(session for name in where.sessions for session in (name, name))
    if where.first_day:
        parts.append("e.day >= ?")
        values.append(where.first_day)
    if where.last_day:
        parts.append("e.day <= ? AND e.day <> ''")
        values.append(where.last_day)
    if where.as_of:
        parts.append("e.day <= ?")
        values.append(where.as_of)
    return " AND ".join(parts), values


def idf_of(notes: int, total: int) -> float:
    """The inverse document frequency of a term that occurs in *notes* of *total* chunks."""
    return math.log(1 + (total - notes + 0.5) / (notes + 0.5))
