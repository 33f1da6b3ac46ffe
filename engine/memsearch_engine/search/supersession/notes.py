"""Score pairs of notes: the probability that the newer one supersedes the older one.

Two notes are on the same topic if they are similar and share words that hardly any other note
contains. A note that repeats the other one supersedes nothing, and neither does one of many notes
of the same kind (the tenth release note). Words of change ("instead of", "any more", "raised to")
indicate supersession. A logistic regression over these features gives the probability.
``python -m tests.evaluation.recall --chains`` fits it and prints its precision on every pair of
four sets of notes.

The probability does not depend on a query. No language model is used, and no note is changed.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from typing import NamedTuple

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.catalog.words import idf_of
from memsearch_engine.index.embed import speaks
from memsearch_engine.index.hubness import formula
from memsearch_engine.index.rows import Row, comparable
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.journal.model import DIGEST
from memsearch_engine.search.confidence import LogisticModel
from memsearch_engine.search.supersession import notes
from memsearch_engine.search.supersession.listing import STORED, changes
from memsearch_engine.search.supersession.replacements import RULES, replaces

#: ``alike``: similarity in standard deviations above other notes (``Background.z_score``).
#: ``repeats``: share of the newer note's words that occur in the older one, weighted by rarity.
#: ``rare``: number of rare words that occur in both notes.
#: ``crowd``: logarithm of the number of other notes that share as much.
#: ``change``: logarithm of the number of words of change in the newer note.
#: ``few``: from 1 for a project without notes to 0 for ``_MANY`` chunks. In a small project, every
#: word is rare and no similarity is exceptional.
MODEL = LogisticModel(
    ("alike", "repeats", "rare", "crowd", "change", "few"),
    -8.48,
    (1.93, -7.45, 0.68, -1.80, 1.38, 2.85),
)
_NEAREST = 25  # similar notes with which each note is compared
_RARE = 3  # a rare word occurs in at most this many notes
_MANY = 200  # chunks
_SHOWN = 6  # shared words in a link
#: Least probability if the newer note says that it replaces a value (``replacements``).
_STATED = 0.9
_AS_MUCH = 0.8  # share of a pair's common words from which another note counts for ``crowd``


class NotePair(NamedTuple):
    """Two similar notes.

    Attributes:
        older, newer: first chunks of the notes.
        features: the features of ``MODEL``.
        shared: the rarest terms that occur in both notes.
        is_stated: the newer note says that it replaces a value of the older one.
    """

    older: Row
    newer: Row
    features: tuple[float, ...]
    shared: list[str]
    is_stated: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """Ids of the older and the newer entry."""
        return self.older.entry_id, self.newer.entry_id

    @property
    def probability(self) -> float:
        """The probability that the newer note supersedes the older one, 0 to 1."""
        return probability(self.features, self.is_stated)


def probability(features: tuple[float, ...], is_stated: bool) -> float:
    """The probability of a pair with these features (``NotePair``), 0 to 1."""
    return max(MODEL.probability(features), _STATED if is_stated else 0.0)


def version(index: VectorIndex) -> str:
    """Name of the vectors, rules and weights; links of another version are outdated."""
    return f"{index.fingerprint}/{RULES}/{MODEL.bias}{MODEL.weights}/{formula()}"


def compare(catalog: Catalog, index: VectorIndex, project: Project, rows: list[Row]) -> list[Link]:
    """Compare notes with the notes most similar to them.

    Each pair is rated from both sides, and the lower probability counts. That a note is one of many
    similar notes may be visible from one side only.

    Args:
        rows: first chunks of the notes.

    Returns:
        The pairs that are probable enough to be stored.
    """
    found = {
        pair.names: pair
        for pair in pairs(catalog, index, project, rows, STORED)
        if pair.probability >= STORED
    }
    if not found:
        return []
    seen = {row.entry_id for row in rows}
    across = {
        note.entry_id: note
        for pair in found.values()
        for note in (pair.older, pair.newer)
        if note.entry_id not in seen
    }
    rated = {names: pair.probability for names, pair in found.items()}
    for pair in pairs(catalog, index, project, list(across.values())):
        if pair.names in rated:
            rated[pair.names] = min(rated[pair.names], pair.probability)
    return [
        Link(project.id, *names, round(rated[names], 3), pair.shared)
        for names, pair in found.items()
        if rated[names] >= STORED
    ]


def links_from(
    catalog: Catalog,
    index: VectorIndex,
    project: Project,
    rows: list[Row],
    *,
    in_both_directions: bool = False,
) -> list[Link]:
    """Find the notes that may supersede each note of *rows*.

    Notes that were not compared in the background yet are compared now. The answer therefore does
    not depend on the progress of the background comparison.

    Args:
        rows: first chunks of the notes.
        in_both_directions: find the notes that it may supersede, too.

    Returns:
        Links with a note of *rows* as the older one, or as either one.
    """
    current, names = version(index), {row.entry_id for row in rows}
    fresh = [row for row in rows if not catalog.links.is_compared(row, current)]
    known = [row.entry_id for row in rows if row not in fresh]
    links = [link for name in known for link in catalog.links.of(project.id, older=name)]
    if in_both_directions:
        links += [link for name in known for link in catalog.links.of(project.id, newer=name)]
    links += compare(catalog, index, project, fresh) if fresh else ()
    found: dict[tuple[str, str], Link] = {}
    for link in links:
        if link.older in names or (in_both_directions and link.newer in names):
            found.setdefault((link.older, link.newer), link)
    return list(found.values())


def pairs(
    catalog: Catalog, index: VectorIndex, project: Project, rows: list[Row], least: float = 0.0
) -> Iterator[NotePair]:
    """Pair each note of *rows* with the notes most similar to it.

    Notes of the same minute and notes with exactly the same words are not paired. Notes in a script
    that the model does not know are left out, because their vectors are all similar.

    Args:
        rows: first chunks of the notes.
        least: skip pairs that can't reach this probability, because counting the rare words of a
            note takes time.
    """
    rows = [row for row in rows if _is_comparable(index, row)]
    near = index.neighbours(project.collection, [row.chunk_id for row in rows], _NEAREST)
    known = catalog.by_chunk_id({name for names in near.values() for name, _ in names}, project.id)
    known = {name: row for name, row in known.items() if row.day and _is_comparable(index, row)}
    terms_of = catalog.terms({row.id for row in (*rows, *known.values())})
    has = {row: set(terms) for row, terms in terms_of.items()}
    idf = catalog.words.rarity(sorted(set().union(*(has.get(row.id, set()) for row in rows))))
    total = catalog.words.chunk_count()
    rare, few = idf_of(_RARE, total), 1 - min(1.0, total / _MANY)
    found: list[
        tuple[NotePair, float]
    ] = []  # pairs without ``repeats`` yet, and their common weight
    for row in rows:
        others = [
            (known[name], alike) for name, alike in near.get(row.chunk_id, ()) if name in known
        ]
        others = [(other, alike) for other, alike in others if other.entry_id != row.entry_id]
        shared = {
            other.id: has.get(row.id, set()) & has.get(other.id, set()) for other, _ in others
        }
        shares = {
            name: comparable(sum(idf[term] for term in terms)) for name, terms in shared.items()
        }
        for other, alike in others:
            older, newer = sorted((row, other), key=lambda note: (note.day, note.time))
            is_same_minute = (older.day, older.time) == (newer.day, newer.time)
            if is_same_minute or has.get(older.id) == has.get(newer.id):
                continue
            share = shares[other.id]
            words = sorted(shared[other.id], key=lambda term: (-idf[term], term))
            crowd = sum(value >= comparable(_AS_MUCH * share) for value in shares.values()) - 1
            count = float(sum(idf[term] >= rare for term in words))
            change = math.log1p(len(changes(newer)))
            features = (alike, 0.0, count, math.log1p(crowd), change, few)
            is_stated = replaces(newer.text, older.text)
            pair = NotePair(older, newer, features, words[:_SHOWN], is_stated)
            if pair.probability >= least:
                found.append((pair, share))
    unknown = set().union(*(has.get(pair.newer.id, set()) for pair, _ in found)) - idf.keys()
    idf |= catalog.words.rarity(sorted(unknown))
    for pair, share in found:
        repeats = share / (sum(idf[term] for term in has.get(pair.newer.id, ())) or 1.0)
        yield pair._replace(features=(pair.features[0], repeats, *pair.features[2:]))


def _is_comparable(index: VectorIndex, row: Row) -> bool:
    return speaks(index.embedder, row.embedded) and not row.heading.startswith(DIGEST)


log = logging.getLogger("memsearch.service")
_AT_ONCE = 32


class Comparer:
    """Compares the notes of changed projects with similar notes, in small steps while idle.

    It stores the links. It reads no files and makes no vectors. Only the index thread may call it.
    """

    def __init__(self) -> None:
        #: project id -> project, and catalog id of the last chunk that was checked
        self._waiting: dict[str, tuple[Project, int]] = {}

    def note(self, project: Project) -> None:
        """Report that the notes of a project may have changed.

        Notes without a vector are skipped until the next report.
        """
        self._waiting[project.id] = project, 0

    def is_due(self, index: VectorIndex | None) -> bool:
        """Whether there is anything to compare.

        Always False on a Milvus server, where each comparison would be a request. Notes are then
        compared during a search.
        """
        return bool(self._waiting) and index is not None and index.is_local

    def doing(self) -> str:
        """A sentence for people about the current work."""
        projects = [project.name for project, _ in list(self._waiting.values())]
        return f"comparing the notes of {', '.join(projects)} with each other"

    def step(self, catalog: Catalog, index: VectorIndex) -> None:
        """Compare some notes of one project.

        If this fails, the project is skipped until its notes change again.
        """
        project, after = next(iter(self._waiting.values()))
        version = notes.version(index)
        try:
            rows = catalog.links.not_compared(project.id, version, after, _AT_ONCE)
            if rows:
                vectors = index.vectors(project.collection, [row.chunk_id for row in rows])
                self._waiting[project.id] = project, rows[-1].id
                rows = [row for row in rows if row.chunk_id in vectors]
                catalog.links.put(rows, version, notes.compare(catalog, index, project, rows))
                return
            catalog.links.prune(project.id)
        except Exception:  # the notes are compared during a search instead
            log.exception("the notes of %s are not compared", project.slug)
        self._waiting.pop(project.id, None)
