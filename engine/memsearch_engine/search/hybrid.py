"""Meaning and words together.

Dense and BM25 lists are over-fetched and fused. ``rrf`` is reciprocal rank fusion (Cormack, Clarke,
Büttcher 2009; k = 60, equal weights). The default ``weighted`` uses scores: of every candidate,
also of those that only BM25 found, the cosine, less what it is near to anyway
(``index/hubness.py``), plus its words: half by BM25, as a share of the most that this query could
score, half by coverage, how much of what was asked it has at all, rare words counting more. It
can't be
led astray by a list that is sure of nothing: a BM25 hit on one common word adds next to nothing,
however high its rank.

With a second model beside the first (``search.models``), meaning is what both say of a candidate;
of a query in a script that the first one does not speak, nearly what the second says alone. Notes
in such a script are less near to a query in another one than notes in its
own are, to either model: there the second one's word weighs twice as much.
"""

from __future__ import annotations

import re
import time
from collections.abc import Set
from datetime import date
from typing import NamedTuple

import numpy as np

from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import speaks
from memsearch_engine.index.hubness import Near, Question, Typical
from memsearch_engine.index.rows import Row, comparable
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import confidence, later, lexical
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.linked import ENOUGH
from memsearch_engine.search.overrides import NOTHING, Said
from memsearch_engine.search.query import Query
from memsearch_engine.search.rank import NEWEST_AMONG, names_in, newest_first, order
from memsearch_engine.search.rarity import weights

Asked = tuple[VectorIndex, Question]  # a model's space, and the query as that model has it
Key = tuple[str, str]  # (project id, chunk id): two projects may hold the same words
MODES = ("hybrid", "dense", "bm25", "lexical")
FUSIONS = ("weighted", "rrf")
_RRF_K = 60
_WORTH_SAYING = 0.02
_OVERFETCH = 100
#: How much a full word match weighs beside a cosine of 1 (chosen on tests/evaluation, see
#: docs/guide.md): more where the query has something that is only ever written one way (an
#: identifier, a path, a ticket, an error's name), less where two models say what is meant.
_WORDS_WEIGHT, _WORDS_WEIGHT_BESIDE_TWO, _NAMES_WEIGHT = 0.5, 0.25, 1.0
_NAME = re.compile(r"\w[_./:@#-]\w|[a-z][A-Z]|\d{2}|[A-Z]{2}|`")
#: A model that knows only English says little about other scripts.
_FOREIGN_DENSE_WEIGHT = 0.05
#: How the first and a second model share in the meaning: where the first one speaks the query's
#: script, where it speaks the query's but not the note's, and where it does not speak the query's
#: (chosen on tests/evaluation: from 0.7 to 0.85 nothing changes but one question).
_SHARES, _FOREIGN_NOTE, _FOREIGN_QUERY = (0.6, 0.4), (0.6, 0.8), (_FOREIGN_DENSE_WEIGHT, 1.0)
#: So much of the notes a second model must know before it is asked.
_KNOWS = 0.98
#: A note that is full of a term scores this for it, times the term's idf: BM25's k1 + 1, shortened
#: for being long.
_MAX_OF_A_TERM = (1.2 + 1) * 0.6


class Meant(NamedTuple):
    """How near a chunk is in meaning, to each model that was asked."""

    first: Near | None = None
    second: Near | None = None

    def score(self, query_is_spoken: bool, note_is_spoken: bool) -> float:
        """
        Args:
            query_is_spoken, note_is_spoken: whether the first one speaks their scripts.
        """
        if self.second is None:
            return (
                self.first.score * (1.0 if query_is_spoken else _FOREIGN_DENSE_WEIGHT)
                if self.first
                else 0.0
            )
        first, second = (
            _FOREIGN_QUERY if not query_is_spoken else _SHARES if note_is_spoken else _FOREIGN_NOTE
        )
        return (
            first * (self.first.score if self.first else self.second.score)
            + second * self.second.score
        )


def search(
    catalog: Catalog,
    space: VectorIndex | None,
    projects: list[Project],
    query: Query,
    limit: int,
    mode: str = "hybrid",
    fusion: str = "weighted",
    said: Said = NOTHING,
    second: VectorIndex | None = None,
) -> Answer:
    """Answer *query* in *mode*. Without a space, or for a query without words, the answer is
    lexical and says so.

    Args:
        said: what the owner says of which note amends which; second: another model's space,
            beside the first one.
    """
    if mode not in MODES or fusion not in FUSIONS:
        raise UsageError(
            f"unknown mode {mode!r} or fusion {fusion!r}", f"modes: {', '.join(MODES)}"
        )
    start = time.perf_counter()
    if mode == "lexical" or space is None or query.is_empty:
        answer = lexical.search(catalog, projects, query, limit)
        if mode != "lexical" and not query.is_empty:
            answer.reason = "the index is not open yet"
    else:
        answer = _fused(catalog, space, projects, query, limit, mode, fusion, said, second)
    answer.took_ms = round((time.perf_counter() - start) * 1000, 2)
    return answer


def _fused(
    catalog: Catalog,
    space: VectorIndex,
    projects: list[Project],
    query: Query,
    limit: int,
    mode: str,
    fusion: str,
    said: Said,
    second: VectorIndex | None,
) -> Answer:
    today = query.as_of or date.today().isoformat()
    fetch = max(_OVERFETCH, limit * 4) * (10 if query.is_picky else 1)
    terms, corrected = lexical.correct(catalog, analyze.query_terms(query.text), query)
    asked = [(space, space.ask(query.text))] if mode in ("hybrid", "dense") else []
    total = sum(catalog.statistics.distinct_chunks(project.id) for project in projects)
    if (
        asked
        and second is not None
        and sum(second.held(p.collection) for p in projects) >= _KNOWS * total
    ):
        asked.append((second, second.ask(query.text)))
    near = [_nearest(one, projects, query, fetch) for one in asked]
    words: dict[Key, float] = {}
    for project in projects:
        if mode in ("hybrid", "bm25"):
            if space.ranks_words(project.collection):
                matched = space.bm25(project.collection, terms, fetch, query.filter)
            else:
                matched = lexical.ranked(catalog, project, terms, fetch, query.filter)
            words.update(((project.id, chunk_id), score) for chunk_id, score in matched)
    held = sum(space.held(project.collection) for project in projects)
    behind = any(space.is_behind(project.collection) for project in projects)
    if mode == "hybrid" and (
        held < total or behind
    ):  # meaning is still being made: words count for all notes meanwhile
        early = lexical.search(catalog, projects, query, fetch, check_files=False)
        if not held:
            early.reason = f"meaning is being made, for none of {total} chunks yet"
            early.hits = early.hits[:limit]
            return early
        early_words = {
            (hit.row.project, hit.row.chunk_id): hit.scores.get("lexical", 0.0)
            for hit in early.hits
        }
        words = early_words | words
    listed = {key for by_one in near for key in by_one}
    rows: dict[Key, Row] = {}
    for project in projects:
        ids = {chunk_id for owner, chunk_id in (*listed, *words) if owner == project.id}
        rows.update(
            ((project.id, chunk_id), row)
            for chunk_id, row in catalog.by_chunk_id(ids, project.id).items()
        )
    # what one list alone has is compared by the others, too
    compared: Set[Key] = rows.keys() if mode == "hybrid" and fusion == "weighted" else listed
    for one, by_one in zip(asked, near):
        by_one |= _cosines(one, projects, compared - by_one.keys())
    is_spoken = speaks(space.embedder, query.text)
    dense = {key: Meant(*(by_one.get(key) for by_one in near)) for key in set().union(*near)}
    foreign: set[Key] = set()
    if len(asked) > 1:
        foreign = {key for key, row in rows.items() if not speaks(space.embedder, row.embedded)}
    meant = {key: found.score(is_spoken, key not in foreign) for key, found in dense.items()}
    in_list = {key: score for key, score in meant.items() if key in listed}
    ranks = {name: _ranks(found) for name, found in (("dense", in_list), ("bm25", words)) if found}
    rows = {key: row for key, row in rows.items() if query.admits(row, today)}
    covered: dict[Key, float] = {}
    if mode == "dense":
        scores = meant
    elif mode == "bm25":
        scores = words
    elif fusion == "rrf":
        scores = _rrf(ranks)
    else:
        idf = weights(catalog, terms)
        covered = _coverage(catalog, rows, idf)
        # what has no vector yet may mean it as well as what was found: else a word that it alone
        # has would not bring it up
        unknown = (
            sum(in_list.values()) / len(in_list) if in_list and (held < total or behind) else 0.0
        )
        weight = _WORDS_WEIGHT_BESIDE_TWO if len(asked) > 1 else _WORDS_WEIGHT
        weight = _NAMES_WEIGHT if _NAME.search(query.text) else weight
        scores = _weighted(
            weight, meant, words, covered, sum(idf.values()) * _MAX_OF_A_TERM, unknown
        )
    found = [
        Hit(0, scores[key], row, _places(ranks, key), _parts(dense, words, key), [])
        for key, row in rows.items()
        if key in scores
    ]
    if not found and (held < total or behind or query.is_picky):
        # the conditions that only the catalog can check may have sorted out all that was fetched
        return lexical.search(catalog, projects, query, limit, check_files=False)
    reason = f"meaning is being made: {held} of {total} chunks so far" if held < total else ""
    reason = reason or ("the index has not taken in the newest changes yet" if behind else "")
    reason = "; ".join(part for part in (reason, query.remark) if part)
    hits = order(query, found, max(limit, later.AMONG), today)
    if covered:
        if (
            not query.is_prompt
        ):  # there the notes themselves are compared (``chains``), whatever is asked
            vectors = _vectors(space, projects, hits[:NEWEST_AMONG])
            newest_first(query, hits, vectors, terms, said, _amending(catalog, hits[:NEWEST_AMONG]))
            # of what is only ever written one way, what has it is meant, be it old or new
            for project in (
                [] if query.about_then or 2 * len(names_in(terms)) >= len(terms) else projects
            ):
                later.first(catalog, space, project, hits, said)
        understood = list(enumerate(asked))[0 if is_spoken else 1 :]
        _rate(
            hits, covered, understood, {project.id: project for project in projects}, dense, foreign
        )
    hits = hits[:limit]
    for hit in hits:  # only for what is shown: it reads the whole text
        hit.reasons = [*_reasons(hit, terms), *hit.reasons]
    return Answer(mode, hits, reason, corrected, lexical.absent(catalog, query, corrected))


def _nearest(asked: Asked, projects: list[Project], query: Query, fetch: int) -> dict[Key, Near]:
    space, question = asked
    return {
        (project.id, chunk_id): near
        for project in projects
        for chunk_id, near in space.nearest(project.collection, question, fetch, query.filter)
    }


def _cosines(asked: Asked, projects: list[Project], keys: Set[Key]) -> dict[Key, Near]:
    space, question = asked
    return {
        (project.id, chunk_id): near
        for project in projects
        for chunk_id, near in space.cosines(
            project.collection, question, [c for of, c in keys if of == project.id]
        ).items()
    }


def _rrf(ranks: dict[str, dict[Key, int]]) -> dict[Key, float]:
    return {
        key: sum(1 / (_RRF_K + places[key]) for places in ranks.values() if key in places)
        for key in {*ranks.get("dense", {}), *ranks.get("bm25", {})}
    }


def _coverage(catalog: Catalog, rows: dict[Key, Row], idf: dict[str, float]) -> dict[Key, float]:
    """How much of what was asked each row has, 0 to 1, rare words counting more."""
    most = sum(idf.values()) or 1.0
    has = catalog.terms(row.id for row in rows.values())
    return {
        key: sum(idf[term] for term in idf.keys() & has.get(row.id, set())) / most
        for key, row in rows.items()
    }


def _weighted(
    weight: float,
    meant: dict[Key, float],
    words: dict[Key, float],
    covered: dict[Key, float],
    most: float,
    unknown: float,
) -> dict[Key, float]:
    """Scores of all that is in *covered*. ``weight``: of the words; ``most``: the BM25 score of a
    note that is full of every term; ``unknown``: the meaning of one without a vector.
    """
    scores: dict[Key, float] = {}
    for key, coverage in covered.items():
        share = min(1.0, words.get(key, 0.0) / (most or 1.0))
        scores[key] = meant.get(key, unknown) + weight * (share + coverage) / 2
    return scores


def _vectors(space: VectorIndex, projects: list[Project], hits: list[Hit]) -> dict[Key, np.ndarray]:
    found: dict[Key, np.ndarray] = {}
    for project in projects:
        ids = [hit.row.chunk_id for hit in hits if hit.row.project == project.id]
        if ids:
            kept = space.vectors(project.collection, ids)
            found.update(((project.id, chunk_id), vector) for chunk_id, vector in kept.items())
    return found


def _amending(catalog: Catalog, hits: list[Hit]) -> dict[tuple[str, str], float]:
    """(older, newer) -> how likely one of *hits* amends another, as far as it was found when they
    were compared.
    """
    return {
        (link.older, link.newer): link.sure
        for hit in hits
        for link in catalog.links.of(hit.row.project, older=hit.id)
        if link.sure >= ENOUGH
    }


def _rate(
    hits: list[Hit],
    covered: dict[Key, float],
    asked: list[tuple[int, Asked]],
    projects: dict[str, Project],
    dense: dict[Key, Meant],
    foreign: Set[Key],
) -> None:
    """Say how sure each hit is. ``asked``: the models that speak the query's script, by their place
    in ``Meant``; ``foreign``: the notes of which the first one does not speak the script.
    """
    typical: dict[tuple[str, int], Typical] = {}
    for hit in hits:
        key = hit.row.project, hit.row.chunk_id
        hit.scores["coverage"] = round(covered[key], 4)
        lies: list[float] = []  # above the project's other notes, to each model
        by_second = key in foreign and len(asked) > 1 and dense.get(key, Meant()).second is not None
        for number, (of, question) in asked[1:] if by_second else asked:
            near = dense[key][number] if key in dense else None
            if near is None:
                continue
            name = hit.row.project, number
            if name not in typical:
                typical[name] = of.typical(projects[hit.row.project].collection, question)
            lies.append(typical[name].above(near.score))
        if lies:
            hit.scores["above"] = round(
                sum(share * one for share, one in zip(_SHARES, lies)) if len(lies) > 1 else lies[0],
                3,
            )
    confidence.rate(hits)


def _ranks(found: dict[Key, float]) -> dict[Key, int]:
    return {
        key: i for i, key in enumerate(sorted(found, key=lambda k: (-comparable(found[k]), k)), 1)
    }


def _places(ranks: dict[str, dict[Key, int]], key: Key) -> dict[str, int]:
    return {name: places[key] for name, places in ranks.items() if key in places}


def _parts(dense: dict[Key, Meant], words: dict[Key, float], key: Key) -> dict[str, float]:
    parts: dict[str, float] = {}
    meant = dense.get(key, Meant())
    if near := meant.first:
        parts |= {"dense": round(near.cosine, 4), "special": round(near.special, 4)}
    if near := meant.second:
        parts |= {"second": round(near.cosine, 4), "second_special": round(near.special, 4)}
    if key in words:
        parts["bm25"] = round(words[key], 4)
    return parts


def _reasons(hit: Hit, terms: list[str]) -> list[str]:
    reasons = lexical.words_in(hit.row, terms) if "bm25" in hit.ranks else []
    if "dense" in hit.scores:
        together = ", with what was asked then" if hit.row.asked else ""
        reasons.append(f"meaning {hit.scores['dense']:.2f}{together}")
        special = hit.scores["special"]
        if abs(special) >= _WORTH_SAYING:
            reasons.append(f"near to {'many' if special < 0 else 'few'} notes: {special:+.2f}")
    if "second" in hit.scores:
        reasons.append(
            f"to the second model {hit.scores['second'] + hit.scores['second_special']:.2f}"
        )
    return reasons
