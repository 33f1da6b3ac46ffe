"""Follow a note to the notes that replace it, and find notes that contradict a text."""

from __future__ import annotations

import re

import msgspec

from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import Row
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.supersession.listing import (
    ENOUGH,
    Supersession,
    changes,
    row_of,
    supersession,
)
from memsearch_engine.search.supersession.notes import links_from, pairs
from memsearch_engine.search.supersession.overrides import NONE, Overrides

_STEPS = 3  # from a note to the one that replaces it, and so on
_MAX_REVISIONS = 60
_BEFORE_ALL = "0001-01-01"
_TAKEN = "Taken from: "  # of a note that was made from an agent's own memory
_WORD = re.compile(r"\w(?:[\w./:-]*\w)?")
#: What is not so any more: one or two words after "instead of" and the like, or after "from".
_WAS = re.compile(
    r"\b(?:(?:instead of|rather than|no longer|not any ?more|used to(?: be)?|formerly|previously"
    r"|before it was|replac\w+)\s+((?:[^\s,;:.()]+ ?){1,2})|from\s+([^\s,;:()]+))"
)


class Revision(msgspec.Struct):
    """A note of a revision chain.

    Attributes:
        replaces: ids of the entries that it supersedes, each with the probability.
    """

    row: Row
    replaces: dict[str, float] = {}


def chain(
    catalog: Catalog,
    index: VectorIndex,
    project: Project,
    hits: list[Hit],
    overrides: Overrides = NONE,
) -> list[Revision]:
    """The notes on the topic of the first hit, oldest first: what it supersedes among *hits*, what
    supersedes it, and so on.
    """
    found = {hit.id: Revision(hit.row, {}) for hit in hits}
    waiting = [hit.row for hit in hits]
    beside: dict[str, set[str]] = {}
    while waiting and len(found) < _MAX_REVISIONS:
        older = waiting.pop()
        for row, probability in newer_versions(catalog, index, project, older, overrides):
            if probability < ENOUGH:
                continue
            if row.entry_id not in found:
                found[row.entry_id] = Revision(row, {})
                waiting.append(row)
            found[row.entry_id].replaces[older.entry_id] = round(probability, 3)
            beside.setdefault(row.entry_id, set()).add(older.entry_id)
            beside.setdefault(older.entry_id, set()).add(row.entry_id)
    connected, reached = set(), [hit.id for hit in hits[:1]]
    while reached:
        name = reached.pop()
        connected.add(name)
        reached += beside.get(name, set()) - connected
    revisions = [found[name] for name in connected]
    return sorted(revisions, key=lambda revision: (revision.row.day, revision.row.time))


def newer_versions(
    catalog: Catalog, index: VectorIndex, project: Project, older: Row, overrides: Overrides
) -> list[tuple[Row, float]]:
    """Newer notes that may supersede a note, each with the probability: 1 or 0 where the owner said
    so.
    """
    rated = {link.newer: link.sure for link in links_from(catalog, index, project, [older])}
    for (name, newer), supersedes in overrides.items():
        if name == older.entry_id and (supersedes or newer in rated):
            rated[newer] = float(supersedes)
    rows = ((row_of(catalog, project.id, newer), value) for newer, value in rated.items())
    return [(row, value) for row, value in rows if row is not None]


def newest_version(
    catalog: Catalog, index: VectorIndex, project: Project, older: Row, overrides: Overrides
) -> Row | None:
    """The note that most probably supersedes a note; None where none is probable enough."""
    best = max(
        newer_versions(catalog, index, project, older, overrides),
        key=lambda found: (found[1], found[0].day, found[0].time, found[0].entry_id),
        default=None,
    )
    return best[0] if best and best[1] >= ENOUGH else None


def contradicting(
    catalog: Catalog, index: VectorIndex, project: Project, rows: list[Row]
) -> list[Supersession]:
    """For each text of *rows*, which are no notes and of no day, the newest note that contradicts
    it.

    A note without words of change perhaps says the same, since nothing shows that it came later:
    then a note that supersedes it counts.
    """
    found: dict[str, Supersession] = {}
    undated = [msgspec.structs.replace(row, day=_BEFORE_ALL) for row in rows]
    for pair in pairs(catalog, index, project, undated, ENOUGH):
        probability, known = pair.probability, found.get(pair.older.entry_id)
        last = _stored_newest(catalog, project, pair.newer)
        if (
            probability < ENOUGH
            or (last is pair.newer and not changes(last))
            or not contradicts(pair.older.text, last.text)
        ):
            continue
        if known is None or (last.day, last.time) > (known.newer.day, known.newer.time):
            found[pair.older.entry_id] = supersession(
                pair.older, last, round(probability, 3), pair.shared
            )
    return list(found.values())


def contradicts(text: str, note: str) -> bool:
    """Whether a text states what a note says is not so any more, or other numbers than the note.

    What follows "instead of", "no longer" or "from" is not so any more. A text that has what is so
    now agrees with the note, and so does one with the same words of change.
    """
    (now, was), (new, old) = _stated(text), _stated(note)
    if now & (old - new) - was:
        return True
    ours, theirs = ({word for word in words if word[0].isdigit()} for words in (now, new))
    return bool(ours and theirs) and not ours & theirs


def _stated(text: str) -> tuple[set[str], set[str]]:
    """(words of what is so, words of what is not so any more)."""
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(("#", "<!--")) and _TAKEN not in line
    ]
    body = "\n".join(lines).lower()
    was = {word for match in _WAS.finditer(body) for word in _WORD.findall(match[1] or match[2])}
    return set(_WORD.findall(_WAS.sub(" ", body))), {
        word for word in was if word[0].isdigit() or len(word) > 2
    }


def _stored_newest(catalog: Catalog, project: Project, note: Row) -> Row:
    """What supersedes a note, and that in turn, as far as it is stored; else the note itself."""
    for _ in range(_STEPS):
        links = catalog.links.of(project.id, older=note.entry_id)
        best = max(
            (link for link in links if link.sure >= ENOUGH),
            key=lambda link: (link.sure, link.newer),
            default=None,
        )
        newer = row_of(catalog, project.id, best.newer) if best else None
        if newer is None:
            break
        note = newer
    return note
