"""Follow a note to the notes that supersede it, and find notes that contradict a text."""

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
    NONE,
    Overrides,
    Supersession,
    changes,
    row_of,
    supersession,
)
from memsearch_engine.search.supersession.notes import links_from, pairs

_STEPS = 3  # from a note to its newer version, followed in turn
_MAX_REVISIONS = 60
_BEFORE_ALL = "0001-01-01"
_TAKEN = "Taken from: "  # first words of the source line in a note made from an agent file
_WORD = re.compile(r"\w(?:[\w./:-]*\w)?")
#: A value that is no longer valid: one or two words after "instead of" and the like, or "from".
_WAS = re.compile(
    r"\b(?:(?:instead of|rather than|no longer|not any ?more|used to(?: be)?|formerly|previously"
    r"|before it was|replac\w+)\s+((?:[^\s,;:.()]+ ?){1,2})|from\s+([^\s,;:()]+))"
)


class Revision(msgspec.Struct):
    """A note of a revision chain.

    Attributes:
        row: the note's first chunk.
        replaces: id of each entry that it supersedes -> probability.
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
    """The revision chain of the first hit, oldest note first.

    The chain has all notes that are connected with the first hit by supersession, to newer and to
    older notes. The other hits may connect notes that are not similar enough to be compared.
    """
    rows = {hit.id: hit.row for hit in hits}
    replaced: dict[str, dict[str, float]] = {}  # newer id -> older id -> probability
    beside: dict[str, set[str]] = {}
    waiting = [hit.row for hit in hits]
    while waiting and len(rows) < _MAX_REVISIONS:
        rated = _rated(catalog, index, project, waiting.pop(), overrides, in_both_directions=True)
        for (older, newer), probability in rated.items():
            if probability < ENOUGH:
                continue
            for name in (older, newer):
                if name not in rows and (row := row_of(catalog, project.id, name)) is not None:
                    rows[name] = row
                    waiting.append(row)
            if older in rows and newer in rows:
                replaced.setdefault(newer, {})[older] = round(probability, 3)
                beside.setdefault(older, set()).add(newer)
                beside.setdefault(newer, set()).add(older)
    connected, reached = set(), [hit.id for hit in hits[:1]]
    while reached:
        name = reached.pop()
        connected.add(name)
        reached += beside.get(name, set()) - connected
    revisions = [Revision(rows[name], replaced.get(name, {})) for name in connected]
    return sorted(revisions, key=lambda revision: (revision.row.day, revision.row.time))


def _rated(
    catalog: Catalog,
    index: VectorIndex,
    project: Project,
    row: Row,
    overrides: Overrides,
    *,
    in_both_directions: bool,
) -> dict[tuple[str, str], float]:
    """(older id, newer id) -> probability, for the pairs with a note; 1 or 0 by the owner.

    Args:
        in_both_directions: pairs with the note as the newer one, too.
    """
    links = links_from(catalog, index, project, [row], in_both_directions=in_both_directions)
    rated = {(link.older, link.newer): link.sure for link in links}
    for names, supersedes in overrides.items():
        is_about = row.entry_id in (names if in_both_directions else names[:1])
        if is_about and (supersedes or names in rated):
            rated[names] = float(supersedes)
    return rated


def newest_version(
    catalog: Catalog, index: VectorIndex, project: Project, older: Row, overrides: Overrides
) -> Row | None:
    """The note that most probably supersedes a note; None if none is probable enough."""
    rated = _rated(catalog, index, project, older, overrides, in_both_directions=False)
    probable = ((newer, sure) for (_, newer), sure in rated.items() if sure >= ENOUGH)
    rows = ((row_of(catalog, project.id, newer), sure) for newer, sure in probable)
    return max(
        ((row, sure) for row, sure in rows if row is not None),
        key=lambda found: (found[1], found[0].day, found[0].time, found[0].entry_id),
        default=(None, 0.0),
    )[0]


def contradicting(
    catalog: Catalog, index: VectorIndex, project: Project, rows: list[Row]
) -> list[Supersession]:
    """Find the newest note that contradicts each text of *rows*.

    The texts have no day, so every note counts as newer. A note without words of change may simply
    agree with the text. It counts only if a stored newer version of it contradicts the text.

    Args:
        rows: texts that are not notes, such as lines of an agent file.
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
    """Whether a text states a value that a note calls outdated, or different numbers.

    A value after "instead of", "no longer" or "from" is outdated. A text that also contains the new
    value agrees with the note, and so does a text that calls the same value outdated.

    Args:
        text: the text to check.
        note: text of the newer note.
    """
    (now, was), (new, old) = _stated(text), _stated(note)
    if now & (old - new) - was:
        return True
    ours, theirs = ({word for word in words if word[0].isdigit()} for words in (now, new))
    return bool(ours and theirs) and not ours & theirs


def _stated(text: str) -> tuple[set[str], set[str]]:
    """(words that are stated as valid, words that are stated as outdated)."""
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
    """The newest version of a note by the stored links; the note itself if there is none."""
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
