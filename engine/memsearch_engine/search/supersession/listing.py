"""List which note supersedes which, for whoever shows notes: what was found when they were compared
(``supersession.notes``), and what the owner said about it.

It only reads the catalog: no vector and no model is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.rows import Row
from memsearch_engine.search.supersession.overrides import Overrides

#: From ``ENOUGH`` on a pair is acted on; a pair below ``STORED`` is not stored.
ENOUGH, STORED = 0.6, 0.3
#: The owner is asked about pairs between these, the newest first.
_ASKED, _CLEAR = 0.4, 0.9
_TOKEN = re.compile(r"[\w./-]*\w")
_SHOWN = 4  # words of each kind
_CHANGE = re.compile(
    r"\b(?:no longer|any ?more|instead of|rather than|changed?|rais\w+|lower(?:ed|s)?|reduc\w+"
    r"|increas\w+|revert\w*|replac\w+|used to|go(?:es)? back|went back|drop(?:ped|s)?|retired?"
    r"|amend\w*|supersed\w*|revisit\w*|rework\w*|soften\w*|loosen\w*|tighten\w*"
    r"|w(?:as|ere) \d\S*|turned out|now|(?:is|are) gone|removed|moved|upgraded|migrated|left"
    r"|closed|switch\w*|new rule|from \S+ to \S+)\b",
    re.IGNORECASE,
)


class Supersession(msgspec.Struct, frozen=True):
    """A note (``newer``) that supersedes another one on the same topic.

    Attributes:
        sure: the probability, 0 to 1, as the words of the notes say; 1 or 0 where the owner said.
        said: what the owner said; None for nothing.
        waits: the newer note is quarantined or demoted, so that the pair has no effect.
        shared: words that both notes have and hardly any other note has.
        changes: words of change in the newer note.
    """

    older: Row
    newer: Row
    sure: float
    said: bool | None
    shared: list[str]
    changes: list[str]
    waits: bool = False

    @property
    def holds(self) -> bool:
        """Whether search, injection and documents act on it."""
        return self.sure >= ENOUGH and not self.waits

    @property
    def why(self) -> str:
        """The reason, for people."""
        if self.said is not None:
            return "as you said"
        subject = f"same subject: {', '.join(self.shared)}" if self.shared else "alike in meaning"
        return f"{subject}; says “{'”, “'.join(self.changes)}”" if self.changes else subject


def of_note(
    catalog: Catalog, overrides: Overrides, project: str, entry_id: str
) -> list[Supersession]:
    """What a note supersedes and what supersedes it, the most probable first.

    Args:
        project: id of the note's project.
    """
    links = catalog.links.of(project, older=entry_id) + catalog.links.of(project, newer=entry_id)
    found = {(link.older, link.newer): link for link in links}
    for names in overrides:
        if entry_id in names and names not in found:
            found[names] = Link(project, *names, 0.0, [])
    pairs = filter(None, (_of_link(catalog, overrides, link) for link in found.values()))
    return sorted(pairs, key=lambda pair: (-pair.sure, pair.older.entry_id, pair.newer.entry_id))


def undecided(
    catalog: Catalog, overrides: Overrides, projects: Iterable[str], limit: int
) -> list[Supersession]:
    """Pairs that are probable but not clear, and on which the owner said nothing: the newest first.

    Args:
        projects: ids.
    """
    found = [
        pair
        for project in projects
        for link in catalog.links.of(project)
        if _ASKED <= link.sure <= _CLEAR and (link.older, link.newer) not in overrides
        if (pair := _of_link(catalog, overrides, link)) is not None
        and "superseded-by" not in pair.older.marks
    ]
    return sorted(found, key=lambda pair: (pair.newer.day, pair.newer.time), reverse=True)[:limit]


def _of_link(catalog: Catalog, overrides: Overrides, link: Link) -> Supersession | None:
    """A stored link with its notes; None where one of them is gone or has changed since."""
    older, newer = (row_of(catalog, link.project, name) for name in (link.older, link.newer))
    if older is None or newer is None:
        return None
    said = overrides.get((link.older, link.newer))
    if said is None and not (catalog.links.is_compared(older) and catalog.links.is_compared(newer)):
        return None
    sure = link.sure if said is None else float(said)
    return supersession(older, newer, sure, link.shared, said)


def row_of(catalog: Catalog, project: str, entry_id: str) -> Row | None:
    """The first chunk of an entry of a project; None where there is none."""
    return next((row for row in catalog.by_entry(entry_id) if row.project == project), None)


def supersession(
    older: Row, newer: Row, sure: float, shared: list[str], said: bool | None = None
) -> Supersession:
    """A pair with the words that explain it.

    Args:
        shared: terms that both notes have.
    """
    words = list(_as_written(newer, set(shared)))
    return Supersession(older, newer, sure, said, words[:_SHOWN], changes(newer)[:_SHOWN])


def _as_written(note: Row, terms: set[str]) -> Iterator[str]:
    """The words of a note that *terms* (``analyze.terms``) were made from, each once."""
    for token in dict.fromkeys(_TOKEN.findall(note.embedded)):
        if terms.intersection(own := set(analyze.terms(token))):
            terms = terms - own
            yield token


def changes(note: Row) -> list[str]:
    """The words of change in a note's first chunk and in the question that its user asked."""
    return changes_in(f"{note.asked} {note.embedded}")


def changes_in(text: str) -> list[str]:
    """The words of change in a text, each once."""
    return list(dict.fromkeys(found.lower() for found in _CHANGE.findall(text)))
