"""Search by words in the catalog, and in the files that the catalog does not have.

No model, service, network or write access is needed, so it works in an agent's read-only sandbox.
Files that have changed since they were indexed are read during the search. An answer is therefore
never older than the files on disk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from memsearch_engine.core.migrations import batches
from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.chunk import chunks_of
from memsearch_engine.index.rows import CatalogBroken, Filter, Row, comparable
from memsearch_engine.journal.files import DayFile, read_day_or_empty
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.shared import belongs, list_notes
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.rank import order
from memsearch_engine.search.request import LeftOut, SearchRequest
from memsearch_engine.search.spelling import absent, correct

_K1, _B = 1.2, 0.75  # BM25's usual parameters
_WRITTEN_WEIGHT = 0.25  # weight of words as written; their terms have weight 1
_MAX_WORDS = 8  # words listed in a reason
_OVERFETCH, _MAX_OVER = 8, 80
_FREQUENT = 0.25  # share of the chunks above which a term is frequent
_AT_ONCE = 1000  # rows in memory at once while all notes are read


def search(
    catalog: Catalog | None,
    projects: list[Project],
    request: SearchRequest,
    *,
    check_files: bool = True,
) -> Answer:
    """Answer a request by words.

    Args:
        catalog: None to read every file.
        check_files: compare the catalog with the files first. A process without the service needs
            this. The service watches the files, so it does not.
    """
    hits: list[Hit] = []
    corrected: dict[str, list[str]] = {}
    missing_words: list[str] = []
    skip: set[str] = set()
    changed: list[tuple[Project, DayFile]] = []
    left_out = LeftOut(request)
    damage = ""
    try:
        if catalog is None or check_files:
            changed, skip = changed_files(catalog, projects)
        if catalog is not None:
            hits, corrected = _from_catalog(catalog, projects, request, skip, left_out)
            missing_words = [] if changed else absent(catalog, request, corrected)
    except CatalogBroken as error:
        # damaged pages, or a concurrent write on a file system without shared memory
        catalog, damage = None, str(error)
        changed, _ = changed_files(None, projects)
    hits.extend(_from_files(catalog, changed, request, left_out))
    reasons = [
        f"the catalog is damaged ({damage}), files were read instead" if damage else "",
        request.remark,
        left_out.remark,
    ]
    reason = "; ".join(filter(None, reasons))
    hits = order(request, hits, request.limit)
    return Answer("lexical", hits, reason, corrected, missing_words, as_of=request.as_of)


def admitted(
    catalog: Catalog | None, projects: list[Project], request: SearchRequest
) -> Iterator[Row]:
    """Yield the first chunk of each note that matches a request's filters, phrases and exclusions.

    Its words are ignored.

    Raises:
        CatalogBroken: the catalog is damaged.
    """
    changed, skip = changed_files(catalog, projects)
    if catalog is not None:
        ids = catalog.words.entries([project.id for project in projects], request.filter)
        for some in batches(ids, _AT_ONCE):
            rows = catalog.rows(some)
            if request.checks_note_text:
                catalog.add_note_texts(rows)
            for row in rows:
                if row.path not in skip and request.admits(row):
                    yield row
    for project, file in changed:
        yield from (row for row in file_rows(project, file) if not row.part and request.admits(row))


def changed_files(
    catalog: Catalog | None, projects: list[Project]
) -> tuple[list[tuple[Project, DayFile]], set[str]]:
    """Compare the catalog with the files on disk.

    Returns:
        (project, file) of each new or changed file, and the paths to ignore in the catalog because
        the file was changed or deleted.
    """
    changed: list[tuple[Project, DayFile]] = []
    skip: set[str] = set()
    for project in projects:
        known = catalog.files.known(project.id) if catalog else {}
        listing = list_notes(project.memory)
        for file in listing.files:
            before = known.get(file.path)
            if not before or (before[0].mtime_ns, before[0].size) != (file.mtime_ns, file.size):
                changed.append((project, file))
                skip.add(file.path)
        if listing.complete:
            present = {file.path for file in listing.files}
            skip.update(
                path for path in known if path not in present and belongs(path, project.memory)
            )
    return changed, skip


def _from_catalog(
    catalog: Catalog,
    projects: list[Project],
    request: SearchRequest,
    skip: set[str],
    left_out: LeftOut,
) -> tuple[list[Hit], dict[str, list[str]]]:
    """Hits from the catalog, and the corrected words."""
    words, owners = catalog.words, [project.id for project in projects]
    size = max(min(request.limit * _OVERFETCH, _MAX_OVER), request.limit * 2)
    terms: list[str] = []
    corrected: dict[str, list[str]] = {}
    expression, is_latest = "", False
    if not request.is_empty:
        terms, corrected = correct(catalog, analyze.query_terms(request.text), request)
        expression = _expression(terms, request)
        # half of all notes match one letter: scoring each would take too long
        text = request.text.strip()
        if is_latest := request.last_is_partial and len(text) == 1 and text.isascii():
            terms = []
    hits: list[Hit] = []
    start = 0
    while True:  # filters may remove all of the first rows
        scores: dict[int, float]
        if is_latest:
            latest = words.latest(expression, owners, request.filter, size, start)
            scores = dict.fromkeys(latest, 0.0)
        elif expression:
            best = words.best(
                expression, owners, request.filter, size, start, written_weight=_WRITTEN_WEIGHT
            )
            scores = {row: score for row, _, score in best}
        else:
            scores = dict.fromkeys(words.newest(owners, request.filter, size, start), 0.0)
        rows = catalog.rows(scores)
        if request.checks_note_text:
            catalog.add_note_texts(rows)
        for row in rows:
            if row.path in skip or not left_out.admits(row):
                continue
            place = len(hits) + 1
            if terms:
                hits.append(_hit(row, scores[row.id], place, terms))
            else:
                how = "newest first" if request.is_empty else "indexed last"
                hits.append(Hit(0, 1.0 / place, row, {"lexical": place}, {}, [how]))
        start += size
        if len(hits) >= request.limit or len(scores) < size:
            return hits, corrected
        size *= 4


def ranked(
    catalog: Catalog, projects: list[Project], terms: list[str], limit: int, wanted: Filter
) -> list[tuple[tuple[str, str], float]]:
    """((project id, chunk id), BM25 score) of the best matches in the catalog, best first.

    FTS5 weights a term by log((N-n+0.5) / (n+0.5)) of N chunks, n with the term. This is 0 for a
    term in half of the chunks. For frequent terms, this function adds the difference to the weight
    of Lucene and Milvus, log(1 + (N-n+0.5) / (n+0.5)). For rare terms, both weights are equal.

    Args:
        terms: terms of the query (``analyze.query_terms``).
        limit: number of chunks.
        wanted: filters.
    """
    if not terms:
        return []
    total = catalog.words.chunk_count()
    parts = [(terms, 1.0)]
    for term, count in catalog.words.document_frequencies(terms).items():
        if count > _FREQUENT * total:
            weight = math.log((total + 1) / (count + 0.5))
            parts.append(([term], weight / _idf(count, total) - 1))
    owners = [project.id for project in projects]
    scores: dict[tuple[str, str], float] = {}
    for some, factor in parts:
        found = catalog.words.best(f"terms : ({_either(some)})", owners, wanted, limit)
        # two files may have the same words
        for key, score in {key: score for _, key, score in reversed(found)}.items():
            scores[key] = scores.get(key, 0.0) + factor * score
    best = sorted(scores.items(), key=lambda item: (-comparable(item[1]), item[0]))
    return best[:limit]


def _hit(row: Row, score: float, place: int, terms: list[str]) -> Hit:
    own, asked = set(analyze.terms(row.embedded)), set(analyze.terms(row.asked))
    coverage = sum(term in own or term in asked for term in terms) / max(1, len(terms))
    reasons = _reasons(own, asked, terms) or ["beginning of a word"]
    weighted = score * (0.6 + 0.4 * coverage)
    return Hit(0, weighted, row, {"lexical": place}, {"lexical": round(score, 3)}, reasons)


def words_in(row: Row, terms: list[str]) -> list[str]:
    """Sentences that list the *terms* found in a chunk's text and in its prompt."""
    return _reasons(set(analyze.terms(row.embedded)), set(analyze.terms(row.asked)), terms)


def _reasons(own: set[str], asked: set[str], terms: list[str]) -> list[str]:
    found = {"words": own, "words of what was asked": asked - own}
    words = {what: [term for term in terms if term in known] for what, known in found.items()}
    return [f"{what}: {', '.join(some[:_MAX_WORDS])}" for what, some in words.items() if some]


def _expression(terms: list[str], request: SearchRequest) -> str:
    """An FTS5 expression for the query. All words are quoted: none can act as FTS5 syntax."""
    parts = [f"terms : ({_either(terms)})"]
    written = analyze.words(request.text).split()
    last = written[-1] if written else ""
    if request.last_is_partial and last and (len(last) > 1 or len(written) == 1):
        parts.append(f'written : "{last}"*')
        if analyze.is_cjk(request.text[-1:] or " "):
            parts.append(f'terms : "{request.text[-1]}"*')
    return " OR ".join(f"({part})" for part in parts)


def _either(terms: list[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


class _Counted(NamedTuple):
    """A chunk of a file with the frequency of each term of the query.

    Attributes:
        length: number of terms in the chunk.
        begins: whether a word in it begins with the unfinished last word of the query.
    """

    row: Row
    counts: dict[str, int]
    length: int
    begins: bool


def _from_files(
    catalog: Catalog | None,
    files: list[tuple[Project, DayFile]],
    request: SearchRequest,
    left_out: LeftOut,
) -> list[Hit]:
    """Hits in files that are not indexed yet, by BM25 (Robertson and Zaragoza 2009)."""
    rows = [
        row for project, file in files for row in file_rows(project, file) if left_out.admits(row)
    ]
    terms = analyze.query_terms(request.text) if not request.is_empty else []
    if not terms:
        rows.sort(key=lambda row: (row.day, row.start_line), reverse=True)
        return [
            Hit(0, 1.0 / place, row, {"lexical": place}, {}, ["newest first"])
            for place, row in enumerate(rows, 1)
        ]
    prefix = (analyze.words(request.text).split() or [""])[-1] if request.last_is_partial else ""
    counted = [_counted(row, terms, prefix) for row in rows]
    frequency, total = _frequencies(catalog, terms, counted)
    average = sum(one.length for one in counted) / max(1, len(counted)) or 1.0
    hits = []
    for one in counted:
        norm = _K1 * (1 - _B + _B * one.length / average)
        score = sum(
            _idf(frequency[term], total) * count * (_K1 + 1) / (count + norm)
            for term, count in one.counts.items()
        )
        if score > 0 or one.begins:
            hits.append(_hit(one.row, score or 0.1, 0, terms))
    hits.sort(key=lambda hit: (-comparable(hit.score), hit.row.day, hit.row.chunk_id))
    for place, hit in enumerate(hits, 1):
        hit.ranks["lexical"] = place
    return hits


def _counted(row: Row, terms: list[str], prefix: str) -> _Counted:
    has = analyze.terms(row.embedded)
    counts = {term: has.count(term) for term in terms if term in has}
    begins = bool(prefix) and any(
        word.startswith(prefix) for word in analyze.words(row.embedded).split()
    )
    return _Counted(row, counts, len(has), begins)


def _frequencies(
    catalog: Catalog | None, terms: list[str], counted: list[_Counted]
) -> tuple[dict[str, int], int]:
    """Count the chunks that contain each term, and all chunks.

    The chunks of the catalog are included, so that scores from files and from the catalog can be
    compared.
    """
    local = {term: sum(term in one.counts for one in counted) for term in terms}
    if catalog is None:
        return local, len(counted)
    known = catalog.words.document_frequencies(terms)
    total = catalog.words.chunk_count() + len(counted)
    return {term: known.get(term, 0) + local[term] for term in terms}, total


def _idf(frequency: int, total: int) -> float:
    return max(math.log((total - frequency + 0.5) / (frequency + 0.5)), 1e-6)


def file_rows(project: Project, file: DayFile) -> list[Row]:
    """All chunks of one file, read from disk; [] if the file can't be read."""
    entries = read_day_or_empty(file.path).entries
    return [row for entry in entries for row in rows_of(project.id, entry, file.path, file.day)]


def rows_of(project: str, entry: Entry, path: str, day: str) -> list[Row]:
    """Make rows from an entry that was read from a file instead of the catalog.

    Args:
        project: id of the entry's project.
        path: the entry's file.
        day: day of the file; empty if it is not a day file.

    Returns:
        One row per chunk, with ``Row.id`` 0.
    """
    title = entry.title  # decodes the whole entry, so it is read once and not per chunk
    chunks = list(chunks_of(entry))
    text = "\n".join(chunk.embedded for chunk in chunks) if len(chunks) > 1 else ""
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
            note_text=text,
        )
        for chunk in chunks
    ]
