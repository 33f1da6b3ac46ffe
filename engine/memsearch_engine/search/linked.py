"""Which note amends which, for whoever shows notes: what was found when they were compared
(``chains``), and what the owner said of it.

Plain reading of the catalog: no vector and no model is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog, Link
from memsearch_engine.index.rows import Row
from memsearch_engine.search.overrides import Said

#: How likely it has to be that one note amends another, to act on it; what is less likely than the
#: second is not kept.
ENOUGH, KEPT = 0.6, 0.3
#: Between these the owner is asked, of the newest pairs first.
_ASKED, _CLEAR = 0.4, 0.9
_TOKEN = re.compile(r"[\w./-]*\w")
_SHOWN = 4  # words of each kind
_CHANGE = re.compile(
    r"\b(?:no longer|any ?more|instead of|rather than|changed?|rais\w+|lower(?:ed|s)?|reduc\w+|increas\w+|revert\w*|replac\w+|used to"
    r"|go(?:es)? back|went back|drop(?:ped|s)?|retired?|amend\w*|supersed\w*|revisit\w*|rework\w*|soften\w*|loosen\w*|tighten\w*"
    r"|w(?:as|ere) \d\S*|turned out|now|(?:is|are) gone|removed|moved|upgraded|migrated|left|closed|switch\w*|new rule|from \S+ to \S+)\b",
    re.IGNORECASE,
)


class Amendment(msgspec.Struct, frozen=True):
    """A note (``newer``) that is the later word on the matter of another one.

    Attributes:
        sure: how likely it is, 0 to 1, as their words tell; 1 or 0 where the owner has said so.
        said: the owner's word, None where he said nothing.
        waits: the newer one waits for the owner's word, or is not to be told: nothing heeds it.
        shared: words that both have and hardly any other note has; changes: the newer one's
            words of change.
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
        """Whether what is shown, told and written heeds it."""
        return self.sure >= ENOUGH and not self.waits

    @property
    def why(self) -> str:
        """In words, for people."""
        if self.said is not None:
            return "as you said"
        subject = f"same subject: {', '.join(self.shared)}" if self.shared else "alike in meaning"
        return f"{subject}; says “{'”, “'.join(self.changes)}”" if self.changes else subject


def of_note(catalog: Catalog, said: Said, project: str, name: str) -> list[Amendment]:
    """What a note amends and what amends it, the surest first.

    Args:
        project: id of the note's project; name: of the entry.
    """
    found = {
        (link.older, link.newer): link
        for link in catalog.links.of(project, older=name) + catalog.links.of(project, newer=name)
    }
    for names in said:
        if name in names and names not in found:
            found[names] = Link(project, *names, 0.0, [])
    amendments = filter(None, (_of(catalog, said, link) for link in found.values()))
    return sorted(
        amendments,
        key=lambda amendment: (-amendment.sure, amendment.older.entry_id, amendment.newer.entry_id),
    )


def undecided(catalog: Catalog, said: Said, projects: Iterable[str], limit: int) -> list[Amendment]:
    """Of what was found, what is likely and not clear, and on what the owner has said nothing: the
    newest first.
    """
    found = [
        amendment
        for project in projects
        for link in catalog.links.of(project)
        if _ASKED <= link.sure <= _CLEAR and (link.older, link.newer) not in said
        if (amendment := _of(catalog, said, link)) is not None
        and "superseded-by" not in amendment.older.marks
    ]
    return sorted(found, key=lambda pair: (pair.newer.day, pair.newer.time), reverse=True)[:limit]


def _of(catalog: Catalog, said: Said, link: Link) -> Amendment | None:
    """With its notes; None where one of them is not there any more."""
    older, newer = (
        next((row for row in catalog.by_entry(name) if row.project == link.project), None)
        for name in (link.older, link.newer)
    )
    if older is None or newer is None:
        return None
    word = said.get((link.older, link.newer))
    if word is None and not (catalog.links.is_compared(older) and catalog.links.is_compared(newer)):
        return None  # one of them has changed since
    return amendment(older, newer, link.sure if word is None else float(word), link.shared, word)


def amendment(
    older: Row, newer: Row, sure: float, shared: list[str], said: bool | None = None
) -> Amendment:
    """With what tells it. *shared*: the terms that both have."""
    words = list(_as_written(newer, set(shared)))
    return Amendment(older, newer, sure, said, words[:_SHOWN], changes(newer)[:_SHOWN])


def _as_written(note: Row, terms: set[str]) -> Iterator[str]:
    """The words of a note that are behind *terms* (``analyze.terms``), each once."""
    for token in dict.fromkeys(_TOKEN.findall(note.embedded)):
        if terms.intersection(own := set(analyze.terms(token))):
            terms = terms - own
            yield token


def changes(note: Row) -> list[str]:
    """The words of change that a note's first chunk has, and what its user asked, each once."""
    return changes_in(f"{note.asked} {note.embedded}")


def changes_in(text: str) -> list[str]:
    """The words of change in a text, each once."""
    return list(dict.fromkeys(found.lower() for found in _CHANGE.findall(text)))
