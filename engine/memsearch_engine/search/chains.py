"""Which note is a newer word on the matter of an older one, whatever was asked.

Two notes are on one matter when they are alike, the newer one has much of what is special about the older one, and both have words
that hardly any other note has. A logistic regression over these three says how likely one amends the other; weights and precision:
``python -m tests.evaluation.recall --chains``. The owner's word outweighs it. No model is asked, and nothing is changed: notes only take
another place.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from memsearch_engine.amendments import NOTHING, Said
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.hubness import Question
from memsearch_engine.index.rows import Filter, Row
from memsearch_engine.index.space import Space
from memsearch_engine.projects import Project
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.rarity import idf_of, weights

FEATURES = ("alike", "kept", "rare")
BIAS = -12.37
WEIGHTS = (11.98, 19.51, 0.59)
ENOUGH = 0.6
#: So many hits are looked at for something newer, among so many of their nearest notes, as often as one is found.
_AMONG, _NEAREST, _STEPS = 3, 25, 3
_MOST_WORDS = 60
_RARE = 3  # a word that so many notes have at most


def newest(catalog: Catalog, space: Space, project: Project, hits: list[Hit], said: Said = NOTHING) -> None:
    """Put what amends one of the first *hits* before it, in place, with its score and confidence. *said*: the owner's words on it."""
    for hit in hits[:_AMONG]:
        older = hit
        for _ in range(_STEPS):
            newer = _amends(catalog, space, project, older, said)
            if newer is None or (known := _of(hits, newer)) in (older, hit):
                break
            found = known or Hit(0, older.score, newer, {}, {}, [])
            if known is None or hits.index(known) > hits.index(older):
                if known:
                    hits.remove(known)
                hits.insert(hits.index(older), found)
                found.score = older.score
            found.confidence = max(found.confidence or 0.0, older.confidence or 0.0)
            found.overtakes = [*found.overtakes, older.id]
            found.reasons.append(f"newer word on the matter of {older.row.day}")
            older = found
    for rank, hit in enumerate(hits, 1):
        hit.rank = rank


class Word(msgspec.Struct):
    """A note on a matter. ``replaces``: the entries that it amends, with how likely it does."""

    row: Row
    replaces: dict[str, float] = {}


def matter(catalog: Catalog, space: Space, project: Project, hits: list[Hit], said: Said = NOTHING) -> list[Word]:
    """The notes on the matter of the first of *hits*, oldest first: what it amends among them, what amends it, and so on."""
    words = {hit.id: Word(hit.row, {}) for hit in hits}
    waiting = [hit.row for hit in hits]
    beside: dict[str, set[str]] = {}
    while waiting and len(words) < _MOST_WORDS:
        older = waiting.pop()
        for row, sure in candidates(catalog, space, project, older, said):
            if sure < ENOUGH:
                continue
            if row.entry_id not in words:
                words[row.entry_id] = Word(row, {})
                waiting.append(row)
            words[row.entry_id].replaces[older.entry_id] = round(sure, 3)
            beside.setdefault(row.entry_id, set()).add(older.entry_id)
            beside.setdefault(older.entry_id, set()).add(row.entry_id)
    linked, reached = set(), [hit.id for hit in hits[:1]]
    while reached:
        name = reached.pop()
        linked.add(name)
        reached += beside.get(name, set()) - linked
    return sorted((words[name] for name in linked), key=lambda word: (word.row.day, word.row.time))


def _of(hits: list[Hit], row: Row) -> Hit | None:
    return next((hit for hit in hits if hit.id == row.entry_id), None)


def _amends(catalog: Catalog, space: Space, project: Project, hit: Hit, said: Said) -> Row | None:
    """The note that most likely amends a hit's; None where none is likely enough."""
    rated = candidates(catalog, space, project, hit.row, said)
    best = max(rated, key=lambda found: found[1], default=None)
    return best[0] if best and best[1] >= ENOUGH else None


def candidates(catalog: Catalog, space: Space, project: Project, older: Row, said: Said) -> list[tuple[Row, float]]:
    """Newer notes near to a note, each with how likely it amends it: 1 or 0 where the owner has said so."""
    found = {row.entry_id: (row, likely(values)) for row, values in compared(catalog, space, project, older)}
    for (one, newer), amends in said.items():
        if one == older.entry_id and (amends or newer in found):
            row = found[newer][0] if newer in found else next(iter(catalog.by_entry(newer)), None)
            if row is not None:
                found[newer] = row, float(amends)
    return list(found.values())


def likely(values: tuple[float, ...]) -> float:
    return 1 / (1 + math.exp(-(BIAS + sum(weight * value for weight, value in zip(WEIGHTS, values)))))


def compared(catalog: Catalog, space: Space, project: Project, older: Row) -> list[tuple[Row, tuple[float, ...]]]:
    """Newer notes near to a note, each with its ``FEATURES``: the cosine, the share of the older one's weight of words that the newer one
    has, and how many rare words they share."""
    vector = space.vectors(project.collection, [older.chunk_id]).get(older.chunk_id)
    if vector is None or not older.day:
        return []
    near = dict(space.nearest(project.collection, Question(np.asarray(vector)), _NEAREST, Filter()))
    rows = {
        chunk_id: row for chunk_id, row in catalog.by_chunk_id(near, project.id).items()
        if (row.day, row.time) > (older.day, older.time) and row.entry_id != older.entry_id
    }  # fmt: skip
    if not rows:
        return []
    has = catalog.terms([older.id, *(row.id for row in rows.values())])
    idf = weights(catalog, sorted(has.get(older.id, ())))
    total = catalog.query("SELECT count(*) FROM chunks")[0][0]
    rare = idf_of(_RARE, total)
    weight = sum(idf.values()) or 1.0
    found: list[tuple[Row, tuple[float, ...]]] = []
    for chunk_id, row in rows.items():
        shared = [idf[term] for term in idf.keys() & has.get(row.id, set())]
        kept = sum(shared) / weight
        found.append((row, (near[chunk_id].cosine, kept, float(sum(value >= rare for value in shared)))))
    return found
