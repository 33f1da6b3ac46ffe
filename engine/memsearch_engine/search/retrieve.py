"""Retrieve the candidates of a request: by meaning from one or two vector indexes, and by words."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import speaks
from memsearch_engine.index.hubness import Background, DenseScore, QueryVector, together
from memsearch_engine.index.rows import Row
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import lexical
from memsearch_engine.search.request import LeftOut, SearchRequest
from memsearch_engine.search.spelling import correct
from memsearch_engine.search.supersession.overrides import NONE, Overrides

Key = tuple[str, str]  # (project id, chunk id): two projects may have the same words
_OVERFETCH = 100
#: A second model is asked where it has embedded at least this share of the chunks.
_KNOWS = 0.98


class Sources(NamedTuple):
    """What a search reads.

    Attributes:
        vectors: index of the first model; None while it is not open.
        second: vectors of a second model.
        overrides: what the owner said about which note supersedes which.
    """

    catalog: Catalog
    vectors: VectorIndex | None
    projects: list[Project]
    second: VectorIndex | None = None
    overrides: Overrides = NONE

    def project(self, project_id: str) -> Project:
        return next(project for project in self.projects if project.id == project_id)


class IndexState(NamedTuple):
    """How far the vector index has come.

    Attributes:
        embedded, total: chunks with a vector, and all of them.
        is_behind: whether vectors exist that the index has not taken in.
    """

    embedded: int
    total: int
    is_behind: bool

    @property
    def is_incomplete(self) -> bool:
        return self.embedded < self.total or self.is_behind

    @property
    def remark(self) -> str:
        """A sentence for the person; empty for a complete index."""
        if self.embedded < self.total:
            return f"meaning is being made: {self.embedded} of {self.total} chunks so far"
        return "the index has not taken in the newest changes yet" if self.is_behind else ""

    @classmethod
    def of(cls, sources: Sources) -> IndexState:
        catalog, projects = sources.catalog, sources.projects
        assert sources.vectors is not None
        collections = [project.collection for project in projects]
        return cls(
            sum(sources.vectors.held(name) for name in collections),
            sum(catalog.statistics.distinct_chunks(project.id) for project in projects),
            any(sources.vectors.is_behind(name) for name in collections),
        )


class DenseScores(NamedTuple):
    """How similar a chunk is to the query, by each model that was asked."""

    first: DenseScore | None = None
    second: DenseScore | None = None


@dataclass
class ModelResult:
    """The query as one model embeds it, and the chunks that were compared with it.

    Attributes:
        background: how similar the notes of all searched projects are to the query in general.
    """

    index: VectorIndex
    query: QueryVector
    background: Background
    found: dict[Key, DenseScore] = field(default_factory=dict)


@dataclass
class Candidates:
    """What was retrieved for a request.

    Attributes:
        rows: the chunks that the request admits.
        listed: keys that one of the dense lists has.
        words: BM25 score by key.
        terms: the terms that were searched for; corrected: replacements of mistyped words.
        speaks_query: whether the first model knows the script of the query.
        foreign: chunks in a script that the first model does not know; only where two were asked.
    """

    state: IndexState
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
        """The scores of every chunk that was compared by meaning."""
        keys = {key for model in self.models for key in model.found}
        return {key: DenseScores(*(model.found.get(key) for model in self.models)) for key in keys}


def retrieve(sources: Sources, request: SearchRequest, state: IndexState) -> Candidates:
    """Retrieve more candidates than hits are wanted, with the scores of each."""
    count = max(_OVERFETCH, request.limit * 4) * (10 if request.filters_after_fetch else 1)
    terms, corrected = correct(sources.catalog, analyze.query_terms(request.text), request)
    models = list(_models(sources, request, state)) if request.mode != "bm25" else []
    for model in models:
        model.found = _nearest(model, sources.projects, request, count)
    words = _by_words(sources, request, state, terms, count) if request.mode != "dense" else {}
    listed = {key for model in models for key in model.found}
    rows = _rows(sources, listed | words.keys())
    # a chunk that one list alone has is compared by the other models, too
    compared: Set[Key] = rows.keys() if _compares_all(request) else listed
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


def _compares_all(request: SearchRequest) -> bool:
    return request.mode == "hybrid" and request.fusion == "weighted"


def _models(sources: Sources, request: SearchRequest, state: IndexState) -> Iterator[ModelResult]:
    """The models to ask, each with the embedded query."""
    assert sources.vectors is not None
    yield _asked(sources.vectors, sources.projects, request.text)
    if (second := sources.second) is not None:
        known = sum(second.held(project.collection) for project in sources.projects)
        if known >= _KNOWS * state.total:
            yield _asked(second, sources.projects, request.text)


def _asked(index: VectorIndex, projects: list[Project], text: str) -> ModelResult:
    query = index.ask(text)
    sized = [(index.background(p.collection, query), index.held(p.collection)) for p in projects]
    return ModelResult(index, query, together(sized))


def _nearest(
    model: ModelResult, projects: list[Project], request: SearchRequest, count: int
) -> dict[Key, DenseScore]:
    """The chunks of each project that are nearest to the query."""
    return {
        (project.id, chunk_id): near
        for project in projects
        for chunk_id, near in model.index.nearest(
            project.collection, model.query, count, request.filter
        )
    }


def _compared(model: ModelResult, projects: list[Project], keys: Set[Key]) -> dict[Key, DenseScore]:
    """How near given chunks are to the query."""
    return {
        (project.id, chunk_id): near
        for project in projects
        for chunk_id, near in model.index.cosines(
            project.collection, model.query, [chunk for owner, chunk in keys if owner == project.id]
        ).items()
    }


def _by_words(
    sources: Sources, request: SearchRequest, state: IndexState, terms: list[str], count: int
) -> dict[Key, float]:
    """BM25 scores of the best chunks of each project."""
    index, catalog = sources.vectors, sources.catalog
    assert index is not None
    found: dict[Key, float] = {}
    if request.mode == "hybrid" and state.is_incomplete:
        # chunks without a vector are found by their words in the catalog
        early = lexical.search(
            catalog, sources.projects, request.with_(limit=count), check_files=False
        )
        found = {
            (hit.row.project, hit.row.chunk_id): hit.scores.get("lexical", 0.0)
            for hit in early.hits
        }
    for project in sources.projects:
        if index.ranks_words(project.collection):
            matched = index.bm25(project.collection, terms, count, request.filter)
        else:
            matched = lexical.ranked(catalog, project, terms, count, request.filter)
        found.update(((project.id, chunk_id), score) for chunk_id, score in matched)
    return found


def _rows(sources: Sources, keys: Set[Key]) -> dict[Key, Row]:
    rows: dict[Key, Row] = {}
    for project in sources.projects:
        ids = {chunk_id for owner, chunk_id in keys if owner == project.id}
        known = sources.catalog.by_chunk_id(ids, project.id)
        rows.update(((project.id, chunk_id), row) for chunk_id, row in known.items())
    return rows
