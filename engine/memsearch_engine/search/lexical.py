"""Search by words: from the catalog, and from the files themselves where they are newer or there is
no catalog.

It needs no model, no service and no network, and it reads only: this is what answers inside an
agent's read-only sandbox. Files that changed since they were indexed are read here and now, so an
answer is never behind the disk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from memsearch_engine.core import safe_files
from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.chunk import chunks_of
from memsearch_engine.index.rows import HIDDEN_KINDS, CatalogBroken, Filter, Row, comparable
from memsearch_engine.journal.files import DayFile
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse as parse_day
from memsearch_engine.journal.shared import belongs, list_notes
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.query import Query
from memsearch_engine.search.rank import order

_K1, _B = 1.2, 0.75
_WRITTEN_WEIGHT = 0.25
_MAX_WORDS = 8
_OVERFETCH, _MAX_OVER = 8, 80
_AT_ONCE = 1000  # rows that are in memory together where all notes are looked at
_NEAR = 12  # words that are looked at for one that some note has
_MAX_EDITS = {4: 1, 5: 1, 6: 1, 7: 2}


def search(
    catalog: Catalog | None,
    projects: list[Project],
    query: Query,
    limit: int,
    *,
    check_files: bool = True,
) -> Answer:
    """Lexical answer for the given projects.

    Args:
        catalog: as a reader; None scans every file.
        check_files: compare the catalog with the files first (a client without the service
            must; the service, which
            watches them, need not).
    """
    today = query.as_of or date.today().isoformat()
    found: list[Hit] = []
    corrected: dict[str, list[str]] = {}
    lacking: list[str] = []
    skip: set[str] = set()
    stale: list[tuple[Project, DayFile]] = []
    reason = query.remark
    try:
        if catalog is not None:
            catalog.files.known("")
    except CatalogBroken as error:
        catalog, reason = None, f"the catalog is damaged ({error}), files were read instead"
    if catalog is None or check_files:
        stale, skip = changed_files(catalog, projects)
    if catalog is not None:
        try:
            found, corrected = _from_catalog(catalog, projects, query, limit, skip, today)
            lacking = [] if stale else absent(catalog, query, corrected)
        except (
            CatalogBroken
        ) as error:  # damaged pages, or torn by a writer on a mount that can't share
            catalog, reason = None, f"the catalog is damaged ({error}), files were read instead"
            stale = [
                (project, file) for project in projects for file in list_notes(project.memory).files
            ]
    found.extend(_from_files(catalog, stale, query, today))
    return Answer("lexical", order(query, found, limit, today), reason, corrected, lacking)


def admitted(catalog: Catalog | None, projects: list[Project], query: Query) -> Iterator[Row]:
    """The first part of every note that a query's filters admit, whatever its words. Raises
    CatalogBroken.
    """
    today = query.as_of or date.today().isoformat()
    stale, skip = changed_files(catalog, projects)
    if catalog is not None:
        ids = catalog.words.entries([project.id for project in projects], query.filter)
        for start in range(0, len(ids), _AT_ONCE):
            for row in catalog.rows(ids[start : start + _AT_ONCE]):
                if row.path not in skip and query.admits(row, today):
                    yield row
    for project, file in stale:
        yield from (
            row for row in file_rows(project, file) if row.part == 0 and query.admits(row, today)
        )


def changed_files(
    catalog: Catalog | None, projects: list[Project]
) -> tuple[list[tuple[Project, DayFile]], set[str]]:
    """The files that the catalog does not have as they stand, and the paths of which nothing that
    it has counts.
    """
    stale: list[tuple[Project, DayFile]] = []
    skip: set[str] = set()
    for project in projects:
        known = catalog.files.known(project.id) if catalog else {}
        listing = list_notes(project.memory)
        for file in listing.files:
            before = known.get(file.path)
            if not before or (before[0].mtime_ns, before[0].size) != (file.mtime_ns, file.size):
                stale.append((project, file))
                skip.add(file.path)
        if listing.complete:
            present = {file.path for file in listing.files}
            skip.update(
                path for path in known if path not in present and belongs(path, project.memory)
            )
    return stale, skip


def _from_catalog(
    catalog: Catalog, projects: list[Project], query: Query, limit: int, skip: set[str], today: str
) -> tuple[list[Hit], dict[str, list[str]]]:
    ids = [project.id for project in projects]
    want = max(min(limit * _OVERFETCH, _MAX_OVER), limit * 2)
    terms: list[str] = []
    corrected: dict[str, list[str]] = {}
    expression, is_latest = "", False
    if not query.is_empty:
        terms, corrected = correct(catalog, analyze.query_terms(query.text), query)
        expression = _expression(terms, query)
        if is_latest := _is_one_letter(query):  # half of all notes have it: no score for each
            terms = []
    hits: list[Hit] = []
    start = 0
    while True:  # a picky query may sort out all of the first rows
        scores: dict[int, float]
        if is_latest:
            latest = catalog.words.latest(expression, ids, query.filter, want, start)
            scores = dict.fromkeys(latest, 0.0)
        elif expression:
            best = catalog.words.best(
                expression, ids, query.filter, want, start, written_weight=_WRITTEN_WEIGHT
            )
            scores = {row: score for row, _, score in best}
        else:
            scores = dict.fromkeys(catalog.words.newest(ids, query.filter, want, start), 0.0)
        for row in catalog.rows(scores):
            if row.path in skip or not query.admits(row, today):
                continue
            place = len(hits) + 1
            if terms:
                hits.append(_hit(row, scores[row.id], place, terms))
            else:
                how = "newest first" if query.is_empty else "indexed last"
                hits.append(Hit(0, 1.0 / place, row, {"lexical": place}, {}, [how]))
        start += want
        if len(hits) >= limit or len(scores) < want:
            return hits, corrected
        want *= 4


def ranked(
    catalog: Catalog, project: Project, terms: list[str], limit: int, wanted: Filter
) -> list[tuple[str, float]]:
    """(chunk id, BM25 score) by the catalog alone, best first: the hits that a Milvus collection
    has.

    Scores are near to Milvus', not the same: FTS5 counts words over all projects, and one that half
    of the notes have weighs nothing here.
    """
    if not terms:
        return []
    found = catalog.words.best(f"terms : ({_either(terms)})", [project.id], wanted, limit)
    best: dict[str, float] = {}
    for _, chunk_id, score in found:  # two files may have the same chunk
        best.setdefault(chunk_id, score)
    return list(best.items())


def _hit(row: Row, score: float, place: int, terms: list[str]) -> Hit:
    own, asked = set(analyze.terms(row.embedded)), set(analyze.terms(row.asked))
    coverage = sum(term in own or term in asked for term in terms) / max(1, len(terms))
    reasons = _named(own, asked, terms) or ["beginning of a word"]
    return Hit(
        0,
        score * (0.6 + 0.4 * coverage),
        row,
        {"lexical": place},
        {"lexical": round(score, 3)},
        reasons,
    )


def words_in(row: Row, terms: list[str]) -> list[str]:
    """Which of *terms* a chunk has: in its text, and in what its user had asked."""
    return _named(set(analyze.terms(row.embedded)), set(analyze.terms(row.asked)), terms)


def _named(own: set[str], asked: set[str], terms: list[str]) -> list[str]:
    reasons = []
    if found := [term for term in terms if term in own]:
        reasons.append(f"words: {', '.join(found[:_MAX_WORDS])}")
    if found := [term for term in terms if term in asked - own]:
        reasons.append(f"words of what was asked: {', '.join(found[:_MAX_WORDS])}")
    return reasons


def _expression(terms: list[str], query: Query) -> str:
    """An FTS5 expression. Every term is quoted; nothing that was typed is read as syntax."""
    parts = [f"terms : ({_either(terms)})"]
    written = analyze.words(query.text).split()
    last = written[-1] if written else ""
    if query.last_is_partial and last and (len(last) > 1 or len(written) == 1):
        parts.append(f'written : "{last}"*')
        if analyze.is_cjk(query.text[-1:] or " "):
            parts.append(f'terms : "{query.text[-1]}"*')
    return " OR ".join(f"({part})" for part in parts)


def _either(terms: list[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


def _is_one_letter(query: Query) -> bool:
    text = query.text.strip()
    return query.last_is_partial and len(text) == 1 and text.isascii()


def correct(
    catalog: Catalog, terms: list[str], query: Query
) -> tuple[list[str], dict[str, list[str]]]:
    """Replace words that no note has by near ones that some note has (typing errors).

    Returns the terms to search for and {word: [replacements]}. A half-typed last word is left
    alone.
    """
    hidden = bool(set(query.filter.kinds) & HIDDEN_KINDS) or not catalog.words.has_hidden()
    unknown = [term for term in terms if not catalog.words.has(term, hidden=hidden)]
    last = analyze.words(query.text).split()[-1:] if query.last_is_partial else []
    filters = set(
        analyze.query_terms(" ".join(query.misread))
    )  # what was meant as a filter is no mistyped word
    unknown = [
        term
        for term in unknown
        if len(term) >= 4
        and term.isascii()
        and term not in filters
        and not _begins(catalog, last, term, hidden)
    ]
    if not unknown:
        return terms, {}
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    words = catalog.words.by_length()
    corrected: dict[str, list[str]] = {}
    for term in unknown:
        edits = _MAX_EDITS.get(len(term), 2)
        alike = [
            word
            for size in range(len(term) - edits, len(term) + edits + 1)
            for word in words.get(size, ())
        ]
        near = extract(
            term, alike, scorer=OSA.distance, score_cutoff=edits, limit=3 if hidden else _NEAR
        )
        near = [
            found
            for found in near
            if hidden or (found[0] != term and catalog.words.has(found[0], hidden=hidden))
        ][:3]
        if near:
            best = near[0][1]
            corrected[term] = [word for word, distance, _ in near if distance == best]
    fixed = [near for term in terms for near in corrected.get(term, [term])]
    told = {
        _written(query, term): [_word_of(catalog, stem) for stem in stems]
        for term, stems in corrected.items()
    }
    return list(dict.fromkeys(fixed)), {word: near for word, near in told.items() if near != [word]}


def absent(catalog: Catalog, query: Query, corrected: dict[str, list[str]]) -> list[str]:
    """Words of *query* that no note has, nor any near one; the last may be the beginning of one."""
    words = [word for word in analyze.words(query.text).split() if word not in corrected]
    hidden = bool(set(query.filter.kinds) & HIDDEN_KINDS) or not catalog.words.has_hidden()
    made = {
        word: (word, *analyze.terms(word)) for word in words
    }  # as written, too: `maxRetries` is more than its stem
    unknown = [
        word
        for word, forms in made.items()
        if forms[1:] and not any(catalog.words.has(form, hidden=hidden) for form in forms)
    ]
    if (
        query.last_is_partial
        and unknown
        and unknown[-1] == words[-1]
        and catalog.words.has_beginning(words[-1], hidden=hidden)
    ):
        unknown.pop()
    return unknown


def _written(query: Query, term: str) -> str:
    """The word of the query that *term* was made from."""
    words = analyze.words(query.text).split()
    return next((word for word in words if analyze.stem(word) == term), term)


def _word_of(catalog: Catalog, stem: str) -> str:
    """A written word for a stem: what a person can read."""
    words = catalog.words.written(stem[: max(3, len(stem) - 2)])
    return next((word for word in words if analyze.stem(word) == stem), stem)


def _begins(catalog: Catalog, last: list[str], term: str, hidden: bool) -> bool:
    """Whether *term* comes from the half-typed last word and some written word begins like it."""
    if not last or not (analyze.stem(last[0]) == term or term.endswith(f"_{last[0]}")):
        return False
    return catalog.words.has_beginning(last[0], hidden=hidden)


def _from_files(
    catalog: Catalog | None, files: list[tuple[Project, DayFile]], query: Query, today: str
) -> list[Hit]:
    """BM25 (Robertson and Zaragoza 2009) over files that no index knows yet."""
    terms = analyze.query_terms(query.text) if not query.is_empty else []
    prefix = (analyze.words(query.text).split() or [""])[-1] if query.last_is_partial else ""
    scored: list[tuple[Row, dict[str, int], int, bool]] = []
    for project, file in files:
        for row in file_rows(project, file):
            if not query.admits(row, today):
                continue
            if not terms:
                scored.append((row, {}, 0, False))
                continue
            all_terms = analyze.terms(row.embedded)
            counts = {term: all_terms.count(term) for term in terms if term in all_terms}
            begins = bool(prefix) and any(
                w.startswith(prefix) for w in analyze.words(row.embedded).split()
            )
            scored.append((row, counts, len(all_terms), begins))
    if not terms:
        scored.sort(key=lambda item: (item[0].day, item[0].start_line), reverse=True)
        return [
            Hit(0, 1.0 / (i + 1), row, {"lexical": i + 1}, {}, ["newest first"])
            for i, (row, *_) in enumerate(scored)
        ]
    frequency, total = _frequencies(catalog, terms, scored)
    average = sum(length for _, _, length, _ in scored) / max(1, len(scored)) or 1.0
    hits = []
    for row, counts, length, begins in scored:
        score = sum(
            _idf(frequency[term], total)
            * n
            * (_K1 + 1)
            / (n + _K1 * (1 - _B + _B * length / average))
            for term, n in counts.items()
        )
        if score > 0 or begins:
            hits.append(_hit(row, score or 0.1, 0, terms))
    hits.sort(key=lambda hit: (-comparable(hit.score), hit.row.day, hit.row.chunk_id))
    for place, hit in enumerate(hits, 1):
        hit.ranks["lexical"] = place
    return hits


def _frequencies(
    catalog: Catalog | None, terms: list[str], scored: list[Any]
) -> tuple[dict[str, int], int]:
    """In how many chunks each term is, and how many there are: as the catalog knows, so that scores
    compare.
    """
    local = {term: sum(term in counts for _, counts, _, _ in scored) for term in terms}
    if catalog is None:
        return local, len(scored)
    known = catalog.words.document_frequencies(terms)
    total = catalog.words.chunk_count()
    return {term: known.get(term, 0) + local[term] for term in terms}, total + len(scored)


def _idf(frequency: int, total: int) -> float:
    return max(math.log((total - frequency + 0.5) / (frequency + 0.5)), 1e-6)


def file_rows(project: Project, file: DayFile) -> list[Row]:
    """All chunks of one file, straight from its bytes. An unreadable file has none."""
    try:
        data = safe_files.read(file.path)
    except OSError:
        return []
    entries = parse_day(data, Path(file.path).stem).entries
    return [row for entry in entries for row in rows_of(project.id, entry, file.path, file.day)]


def rows_of(project: str, entry: Entry, path: str, day: str) -> list[Row]:
    """The chunks of an entry that is not, or not so, in the catalog. *project*: its id."""
    title = entry.title  # decodes the whole entry: once, not per chunk
    return [
        Row(
            id=0,
            chunk_id=chunk.chunk_id,
            text=chunk.text,
            embedded=chunk.embedded,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            part=chunk.part,
            entry_id=entry.id,
            hash=entry.hash,
            project=project,
            day=day,
            time=entry.time,
            agent=entry.agent,
            session=entry.session,
            turn=entry.turn,
            kind=entry.kind,
            heading=entry.heading,
            level=entry.level,
            title=title,
            anchors=entry.anchors,
            marks=entry.marks,
            path=path,
        )
        for chunk in chunks_of(entry)
    ]
