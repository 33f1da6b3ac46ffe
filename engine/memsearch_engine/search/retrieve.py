"""Retrieve candidates for a request: by meaning from one or two vector indexes, and by words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import speaks
from memsearch_engine.index.hubness import Background, DenseScore, QueryVector, together
from memsearch_engine.index.rows import Row, comparable
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import lexical
from memsearch_engine.search.request import LeftOut, SearchRequest
from memsearch_engine.search.spelling import correct
from memsearch_engine.search.supersession.listing import NONE, Overrides

Score = TypeVar("Score")
Key = tuple[str, str]  # (project id, chunk id): two projects may contain the same text
_OVERFETCH = 100
#: The second model is used if it has embedded at least this share of the chunks.
_MIN_COVERAGE = 0.98


class Sources(NamedTuple):
    """The stores and settings that a search reads.

    Attributes:
        vectors: index of the first model; None while it is not open.
        projects: the projects to search.
        second: index of a second model, if there is one.
        overrides: the owner's decisions on which note supersedes which.
    """

    catalog: Catalog
    vectors: VectorIndex | None
    projects: list[Project]
    second: VectorIndex | None = None
    overrides: Overrides = NONE


class IndexCompleteness(NamedTuple):
    """How complete the vector index is.

    Attributes:
        embedded: number of chunks with a vector.
        total: number of all chunks.
        is_behind: whether recent changes of notes are missing in the index.
    """

    embedded: int
    total: int
    is_behind: bool

    @property
    def is_incomplete(self) -> bool:
        """Whether vectors or recent changes are missing."""
        return self.embedded < self.total or self.is_behind

    @property
    def remark(self) -> str:
        """A sentence for the person; empty for a complete index."""
        if self.embedded < self.total:
            return f"meaning is being made: {self.embedded} of {self.total} chunks so far"
        return "the index has not taken in the newest changes yet" if self.is_behind else ""

    @classmethod
    def of(cls, sources: Sources) -> IndexCompleteness:
        """The state of the first model's index for the searched projects."""
        catalog, projects = sources.catalog, sources.projects
        assert sources.vectors is not None
        collections = [project.collection for project in projects]
        return cls(
            sum(sources.vectors.chunk_count(name) for name in collections),
            sum(catalog.statistics.distinct_chunks(project.id) for project in projects),
            any(sources.vectors.is_behind(name) for name in collections),
        )


class DenseScores(NamedTuple):
    """The similarity of a chunk to the query by each model; None if it was not compared."""

    first: DenseScore | None = None
    second: DenseScore | None = None


@dataclass
class ModelResult:
    """The query embedded by one model, with the scores of the chunks compared with it.

    Attributes:
        index: the model's vector index.
        query: the embedded query.
        backgrounds: project id -> mean and deviation of the query's similarity to its notes.
        background: the same for the notes of all searched projects together.
        found: key -> score of each compared chunk.
    """

    index: VectorIndex
    query: QueryVector
    backgrounds: dict[str, Background]
    background: Background
    found: dict[Key, DenseScore] = field(default_factory=dict)


@dataclass
class Candidates:
    """The candidates retrieved for a request, with the scores of each.

    Attributes:
        state: how complete the index was.
        models: the results of each model.
        rows: key -> chunk, for all candidates that the request admits.
        listed: keys among the nearest chunks of a model.
        words: key -> BM25 score.
        terms: the terms that were searched for.
        corrected: mistyped word -> the words searched for instead.
        speaks_query: whether the first model knows the script of the query.
        foreign: keys of chunks in a script that the first model does not know; empty if only one
            model was used.
        left_out: counts the notes with an excluded word.
    """

    state: IndexCompleteness
    models: list[ModelResult]
    rows: dict[Key, Row]
    listed: set[Key]
    words: dict[Key, float]
    terms: list[str]
    corrected: dict[str, list[str]]
    speaks_query: bool
    foreign: set[Key]
    left_out: LeftOut

    @cached_property
    def dense(self) -> dict[Key, DenseScores]:
        """Key -> scores of every chunk that was compared by meaning."""
        keys = {key for model in self.models for key in model.found}
        return {key: DenseScores(*(model.found.get(key) for model in self.models)) for key in keys}


def retrieve(sources: Sources, request: SearchRequest, state: IndexCompleteness) -> Candidates:
    """Retrieve the candidates, several times more than the hits that are requested.

    Args:
        sources: ``vectors`` must be open.
    """
    count = max(_OVERFETCH, request.limit * 4) * (10 if request.filters_after_fetch else 1)
    # model and SQLite compute without the interpreter lock: both lists are made at the same time
    with ThreadPoolExecutor(1, "meaning") as beside:
        by_meaning = beside.submit(_by_meaning, sources, request, state, count)
        terms, corrected = correct(sources.catalog, analyze.query_terms(request.text), request)
        words = _by_words(sources, request, state, terms, count) if request.mode != "dense" else {}
        models = by_meaning.result()
    listed = {key for model in models for key in model.found}
    rows = _rows(sources, listed | words.keys())
    if request.checks_note_text:
        sources.catalog.add_note_texts(rows.values())
    # every candidate gets a score of every model, also if only one list contains it
    compares_all = request.mode == "hybrid" and request.fusion == "weighted"
    compared: Set[Key] = rows.keys() if compares_all else listed
    for model in models:
        model.found |= _compared(model, sources.projects, compared - model.found.keys())
    assert sources.vectors is not None
    embedder, left_out = sources.vectors.embedder, LeftOut(request)
    foreign: set[Key] = set()
    if len(models) > 1:
        foreign = {key for key, row in rows.items() if not speaks(embedder, row.embedded)}
    return Candidates(
        state=state,
        models=models,
        rows={key: row for key, row in rows.items() if left_out.admits(row)},
        listed=listed,
        words=words,
        terms=terms,
        corrected=corrected,
        speaks_query=speaks(embedder, request.text),
        foreign=foreign,
        left_out=left_out,
    )


def _by_meaning(
    sources: Sources, request: SearchRequest, state: IndexCompleteness, count: int
) -> list[ModelResult]:
    """The result of each model, with the chunks nearest to the query; none for mode ``bm25``."""
    models = list(_models(sources, request, state)) if request.mode != "bm25" else []
    for model in models:
        found = [
            ((project.id, chunk_id), near)
            for project in sources.projects
            for chunk_id, near in model.index.nearest(
                project.collection, model.query, count, request.filter
            )
        ]
        model.found = dict(_best(found, count, lambda near: near.cosine + near.hubness_correction))
    return models


def _models(
    sources: Sources, request: SearchRequest, state: IndexCompleteness
) -> Iterator[ModelResult]:
    """The models to use, each with the embedded query."""
    assert sources.vectors is not None
    yield _asked(sources.vectors, sources.projects, request.text)
    if (second := sources.second) is not None:
        known = sum(second.chunk_count(project.collection) for project in sources.projects)
        if known >= _MIN_COVERAGE * state.total:
            yield _asked(second, sources.projects, request.text)


def _asked(index: VectorIndex, projects: list[Project], text: str) -> ModelResult:
    query = index.ask(text)
    backgrounds = {p.id: index.sample(p.collection).background(query) for p in projects}
    sized = ((backgrounds[p.id], index.chunk_count(p.collection)) for p in projects)
    return ModelResult(index, query, backgrounds, together(sized))


def _compared(model: ModelResult, projects: list[Project], keys: Set[Key]) -> dict[Key, DenseScore]:
    """Scores of the chunks with these keys."""
    chunk_ids = _by_project(keys)
    return {
        (project.id, chunk_id): near
        for project in projects
        if project.id in chunk_ids
        for chunk_id, near in model.index.cosines(
            project.collection, model.query, chunk_ids[project.id]
        ).items()
    }


def _by_words(
    sources: Sources, request: SearchRequest, state: IndexCompleteness, terms: list[str], count: int
) -> dict[Key, float]:
    """BM25 scores of the best chunks of all projects together."""
    index, catalog = sources.vectors, sources.catalog
    assert index is not None
    found: dict[Key, float] = {}
    if request.mode == "hybrid" and state.is_incomplete:
        # chunks without a vector can be found only by their words in the catalog
        early = lexical.search(
            catalog, sources.projects, request.with_(limit=count), check_files=False
        )
        found = {
            (hit.row.project, hit.row.chunk_id): hit.scores.get("lexical", 0.0)
            for hit in early.hits
        }
    matched: list[tuple[Key, float]] = []
    if index.ranks_words:
        for project in sources.projects:
            some = index.bm25(project.collection, terms, count, request.filter)
            matched += (((project.id, chunk_id), score) for chunk_id, score in some)
    else:
        matched = lexical.ranked(catalog, sources.projects, terms, count, request.filter)
    return found | dict(_best(matched, count, float))


def _best(
    found: list[tuple[Key, Score]], count: int, value: Callable[[Score], float]
) -> list[tuple[Key, Score]]:
    """The *count* best of the chunks that several projects found."""
    return sorted(found, key=lambda item: (-comparable(value(item[1])), item[0]))[:count]


def _rows(sources: Sources, keys: Set[Key]) -> dict[Key, Row]:
    rows: dict[Key, Row] = {}
    for project, chunk_ids in _by_project(keys).items():
        known = sources.catalog.by_chunk_id(chunk_ids, project)
        rows.update(((project, chunk_id), row) for chunk_id, row in known.items())
    return rows


def _by_project(keys: Set[Key]) -> dict[str, list[str]]:
    """Project id -> the chunk ids of its keys."""
    found: dict[str, list[str]] = {}
    for project, chunk_id in keys:
        found.setdefault(project, []).append(chunk_id)
    return found
