"""Which note is a newer word on the matter of an older one, whatever was asked.

Two notes are on one matter when they are alike and both have words that hardly any other note has.
One that repeats the other, or is one of many of its kind (the tenth version that was raised),
amends nothing; words of change ("instead of", "any more", "raised to") say that it does. A logistic
regression over these says how likely one amends the other; weights and precision over every pair of
four sets of notes: ``python -m tests.evaluation.recall --chains``. The service compares notes when
it has nothing else to do (``service/comparing.py``), and the catalog keeps what was found. The
owner's word outweighs it. No model is asked, and nothing is changed: notes only take another place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.embed import speaks
from memsearch_engine.index.hubness import formula
from memsearch_engine.index.rows import Row, comparable
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.journal.model import DIGEST
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.linked import ENOUGH, KEPT, Amendment, amendment, changes
from memsearch_engine.search.overrides import NOTHING, Said
from memsearch_engine.search.rarity import idf_of, weights

#: How near the newer one's vector is, in standard deviations above other notes'
#: (``Typical.above``); the share of the newer one's weight of words that the older one has; how
#: many rare words they share; how many other notes share as much (logarithm); how many words of
#: change the newer one has (logarithm); whether there are few notes, among which none lies far
#: above the others and any word is rare.
FEATURES = ("alike", "repeats", "rare", "crowd", "change", "few")
BIAS = -8.48
WEIGHTS = (1.93, -7.45, 0.68, -1.80, 1.38, 2.85)
#: So many hits are looked at for something newer, among so many of their nearest notes, as often as
#: one is found.
_AMONG, _NEAREST, _STEPS = 3, 25, 3
_MAX_WORDS = 60
_RARE = 3  # a word that so many notes have at most
_MANY = 200  # chunks
_SHOWN = 6  # words that two notes have in common
_BEFORE_ALL = "0001-01-01"
_TAKEN = "Taken from: "  # of a note that was made of a memory of an agent's
_WORD = re.compile(r"\w(?:[\w./:-]*\w)?")
_WAS = re.compile(
    r"\b(?:(?:instead of|rather than|no longer|not any ?more|used to(?: be)?|formerly|previously|before it was|replac\w+)\s+((?:[^\s,;:.()]+ ?){1,2})"
    r"|from\s+([^\s,;:()]+))"
)
_AS_MUCH = 0.8  # of what a pair shares, for another note to share as much


def newest(
    catalog: Catalog, space: VectorIndex, project: Project, hits: list[Hit], said: Said = NOTHING
) -> None:
    """Put what amends one of the first *hits* before it, in place, with its score and confidence.
    *said*: the owner's words on it.
    """
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


def matter(
    catalog: Catalog, space: VectorIndex, project: Project, hits: list[Hit], said: Said = NOTHING
) -> list[Word]:
    """The notes on the matter of the first of *hits*, oldest first: what it amends among them, what
    amends it, and so on.
    """
    words = {hit.id: Word(hit.row, {}) for hit in hits}
    waiting = [hit.row for hit in hits]
    beside: dict[str, set[str]] = {}
    while waiting and len(words) < _MAX_WORDS:
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


def _amends(
    catalog: Catalog, space: VectorIndex, project: Project, hit: Hit, said: Said
) -> Row | None:
    """The note that most likely amends a hit's; None where none is likely enough."""
    rated = candidates(catalog, space, project, hit.row, said)
    best = max(
        rated,
        key=lambda found: (found[1], found[0].day, found[0].time, found[0].entry_id),
        default=None,
    )
    return best[0] if best and best[1] >= ENOUGH else None


def candidates(
    catalog: Catalog, space: VectorIndex, project: Project, older: Row, said: Said
) -> list[tuple[Row, float]]:
    """Newer notes that may amend a note, each with how likely it does: 1 or 0 where the owner has
    said so.
    """
    if catalog.links.is_compared(older, judge(space)):
        sure = {
            link.newer: link.sure for link in catalog.links.of(project.id, older=older.entry_id)
        }
    else:  # the comparing has not come to it yet
        sure = {
            link.newer: link.sure
            for link in compare(catalog, space, project, [older])
            if link.older == older.entry_id
        }
    for (one, newer), amends in said.items():
        if one == older.entry_id and (amends or newer in sure):
            sure[newer] = float(amends)
    rows = (
        (next((row for row in catalog.by_entry(newer) if row.project == project.id), None), value)
        for newer, value in sure.items()
    )
    return [(row, value) for row, value in rows if row is not None]


def judge(space: VectorIndex) -> str:
    """By what notes are compared: what other vectors or other weights have said is found anew."""
    return f"{space.fingerprint}/{BIAS}{WEIGHTS}/{formula()}"


def likely(values: tuple[float, ...]) -> float:
    return 1 / (
        1 + math.exp(-(BIAS + sum(weight * value for weight, value in zip(WEIGHTS, values))))
    )


def compare(catalog: Catalog, space: VectorIndex, project: Project, rows: list[Row]) -> list[Link]:
    """What the notes of *rows* (first chunks) may amend, and what may amend them, among the notes
    nearest to each: as likely as it looks from the side from which it looks less so, since only
    from one of them it may be seen that a note is one of many.
    """
    found = {
        pair.names: pair
        for pair in pairs(catalog, space, project, rows, KEPT)
        if likely(pair.features) >= KEPT
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
    sure = {names: likely(pair.features) for names, pair in found.items()}
    for pair in pairs(catalog, space, project, list(across.values())):
        if pair.names in sure:
            sure[pair.names] = min(sure[pair.names], likely(pair.features))
    return [
        Link(project.id, *names, round(sure[names], 3), pair.shared)
        for names, pair in found.items()
        if sure[names] >= KEPT
    ]


def against(
    catalog: Catalog, space: VectorIndex, project: Project, rows: list[Row]
) -> list[Amendment]:
    """Notes that say otherwise than *rows*, which are no notes and of no day: for each the newest
    that is likely to.

    A note without words of change says perhaps the same, since nothing tells that it came later:
    then one that amends it does.
    """
    found: dict[str, Amendment] = {}
    for pair in pairs(
        catalog,
        space,
        project,
        [msgspec.structs.replace(row, day=_BEFORE_ALL) for row in rows],
        ENOUGH,
    ):
        sure, known = likely(pair.features), found.get(pair.older.entry_id)
        last, shared = _last_word(catalog, project, pair.newer), pair.shared
        if (
            sure < ENOUGH
            or (last is pair.newer and not changes(last))
            or not says_otherwise(pair.older.text, last.text)
        ):
            continue
        if known is None or (last.day, last.time) > (known.newer.day, known.newer.time):
            found[pair.older.entry_id] = amendment(pair.older, last, round(sure, 3), shared)
    return list(found.values())


def says_otherwise(text: str, note: str) -> bool:
    """Whether what a note says holds no more stands in a text, or other numbers than the note's do.

    What follows "instead of", "no longer", "from" is what was. A text that has what is now says the
    same, and so does one that has the same words of change.
    """
    (now, was), (new, old) = _stated(text), _stated(note)
    if now & (old - new) - was:
        return True
    numbers, told = ({word for word in words if word[0].isdigit()} for words in (now, new))
    return bool(numbers and told) and not numbers & told


def _stated(text: str) -> tuple[set[str], set[str]]:
    """(words that stand for what is, words that stand for what was)."""
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(("#", "<!--")) and _TAKEN not in line
    ]
    said = "\n".join(lines).lower()
    was = {word for match in _WAS.finditer(said) for word in _WORD.findall(match[1] or match[2])}
    return set(_WORD.findall(_WAS.sub(" ", said))), {
        word for word in was if word[0].isdigit() or len(word) > 2
    }


def _last_word(catalog: Catalog, project: Project, note: Row) -> Row:
    """What amends a note, and that in turn, as far as it was found by comparing; the note itself
    where nothing does.
    """
    for _ in range(_STEPS):
        links = [
            link
            for link in catalog.links.of(project.id, older=note.entry_id)
            if link.sure >= ENOUGH
        ]
        best = max(links, key=lambda link: (link.sure, link.newer), default=None)
        newer = (
            next((row for row in catalog.by_entry(best.newer) if row.project == project.id), None)
            if best
            else None
        )
        if newer is None:
            break
        note = newer
    return note


class Pair(NamedTuple):
    """Two notes that are near to each other, with their ``FEATURES`` and their rarest common words."""

    older: Row
    newer: Row
    features: tuple[float, ...]
    shared: list[str]

    @property
    def names(self) -> tuple[str, str]:
        """Ids of the older and the newer entry."""
        return self.older.entry_id, self.newer.entry_id


def pairs(
    catalog: Catalog, space: VectorIndex, project: Project, rows: list[Row], least: float = 0.0
) -> Iterator[Pair]:
    """Each note of *rows* with those nearest to it that are not of its minute and have not the very
    same words. Notes in a script that the
    model does not speak are left out: to it, they are all alike.

    Args:
        least: pairs that can't be as likely as this are left out: how rare all words of a note
            are takes time to find out.
    """
    rows = [
        row
        for row in rows
        if speaks(space.embedder, row.embedded) and not row.heading.startswith(DIGEST)
    ]
    near = space.neighbours(project.collection, [row.chunk_id for row in rows], _NEAREST)
    known = catalog.by_chunk_id({name for names in near.values() for name, _ in names}, project.id)
    known = {
        name: row
        for name, row in known.items()
        if row.day and speaks(space.embedder, row.embedded) and not row.heading.startswith(DIGEST)
    }
    has = catalog.terms({row.id for row in (*rows, *known.values())})
    idf = weights(catalog, sorted(set().union(*(has.get(row.id, set()) for row in rows))))
    total = catalog.words.chunk_count()
    rare, few = idf_of(_RARE, total), 1 - min(1.0, total / _MANY)
    found: list[
        tuple[Pair, float]
    ] = []  # without what the newer one repeats, of which all words count; and what they share
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
            if (older.day, older.time) == (newer.day, newer.time) or has.get(older.id) == has.get(
                newer.id
            ):
                continue
            share, words = (
                shares[other.id],
                sorted(shared[other.id], key=lambda term: (-idf[term], term)),
            )
            crowd = sum(value >= comparable(_AS_MUCH * share) for value in shares.values()) - 1
            count = sum(idf[term] >= rare for term in words)
            change = math.log1p(len(changes(newer)))
            pair = Pair(
                older,
                newer,
                (alike, 0.0, float(count), math.log1p(crowd), change, few),
                words[:_SHOWN],
            )
            if likely(pair.features) >= least:
                found.append((pair, share))
    idf |= weights(
        catalog,
        sorted(set().union(*(has.get(pair.newer.id, set()) for pair, _ in found)) - idf.keys()),
    )
    for pair, share in found:
        repeats = share / (sum(idf[term] for term in has.get(pair.newer.id, ())) or 1.0)
        yield pair._replace(features=(pair.features[0], repeats, *pair.features[2:]))
