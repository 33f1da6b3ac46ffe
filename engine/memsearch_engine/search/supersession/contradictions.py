"""Find notes that contradict each other: they give different values to the same setting.

Notes that mention a change of the setting are not contradictions. Only assignments count:
``name = value``, or an identifier followed by "is", "set to" or "defaults to" and a number, a
switch or a piece of code. Different values for staging and for production are no contradiction. A
value that was only tried does not count.

This module reads only the catalog. It opens no vectors and no model.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

import msgspec

from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import LONGTERM_KINDS, Row
from memsearch_engine.index.values import Assigned, assigned_in, values_in
from memsearch_engine.journal.model import CONFLICT_OF, DIGEST
from memsearch_engine.search.supersession.listing import ENOUGH, Overrides, changes_in

SKIPPED = re.compile(r"^\s*[-*+]?\s*(?:User asked|Errors met|Files changed|Commands|Taken from): ")
#: Environments and services to which a value may be limited.
PLACE = re.compile(
    r"\b(staging|stage|prod(?:uction)?|live|dev(?:elopment)?|local(?:ly|host)?|"
    r"test(?:s|ing)?|ci|canary|preview|sandbox|default|docker|linux|macos|windows"
    r"|eu|us|[a-z0-9-]+-(?:service|worker|api|db|cluster|job))\b",
    re.IGNORECASE,
)
#: Words of a sentence that describes an attempt, a proposal or an earlier state.
_TRIED = re.compile(
    r"\b(?:tr(?:y|ied|ies)|maybe|perhaps|would|could|should|might|experiment\w*|temporar\w+|for "
    r"now|benchmark\w*|measured|compared|suggest\w*|propos\w*"
    r"|e\.g\.|for example|instead|if|unless|when|was|were|had been|until)\b|\?",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"-?[\d.e+-]+( \S+)?")  # a number in the form that ``normalized`` returns


class Stated(msgspec.Struct, frozen=True):
    """A setting with the value that a note gives it.

    Attributes:
        value: normalised for the comparison.
        written: as written in the note.
        places: environments or services to which it is limited, such as ``staging``.
        row: the chunk of the note.
    """

    name: str
    value: str
    written: str
    places: frozenset[str]
    row: Row


class Contradiction(msgspec.Struct, frozen=True):
    """Two notes that give different values to the setting ``name``."""

    name: str
    older: Stated
    newer: Stated


def undecided(
    catalog: Catalog, overrides: Overrides, projects: Iterable[str], limit: int
) -> list[Contradiction]:
    """Contradictions without a decision of the owner, the newest first.

    Two notes of which one supersedes the other are not a contradiction.

    Args:
        projects: project ids.
        limit: number of contradictions.
    """
    found = [
        pair
        for project in projects
        for pair in _in_project(catalog, project)
        if (pair.older.row.entry_id, pair.newer.row.entry_id) not in overrides
    ]
    return sorted(found, key=lambda pair: (pair.newer.row.day, pair.newer.row.time), reverse=True)[
        :limit
    ]


_SAYS_NO_MORE = frozenset({"superseded-by", CONFLICT_OF})


def _in_project(catalog: Catalog, project: str) -> Iterator[Contradiction]:
    by_name: dict[str, list[Stated]] = defaultdict(list)
    given = catalog.outlines.values(project)
    for entry_id, text in catalog.outlines.missing(project):
        given += values_in(entry_id, text)
    values: dict[str, set[str]] = defaultdict(set)
    for one in given:
        values[one.name].add(one.value)
    several_values = {name for name, some in values.items() if len(some) > 1}
    compared = {one.entry_id for one in given if one.name in several_values}
    for row in catalog.dated(project, compared):
        if (
            row.kind in LONGTERM_KINDS.values()
            or row.heading.startswith(DIGEST)
            or not _SAYS_NO_MORE.isdisjoint(row.marks)
        ):
            continue
        several = (one for one in assigned_in(row.text) if one.name in several_values)
        for stated in stated_in(row, several):
            by_name[stated.name].append(stated)
    superseded = {
        (link.older, link.newer) for link in catalog.links.of(project) if link.sure >= ENOUGH
    }
    for name, found in by_name.items():
        found.sort(key=lambda stated: (stated.row.day, stated.row.time))
        for places in {stated.places for stated in found}:
            for older, newer in pairwise(stated for stated in found if stated.places == places):
                names = older.row.entry_id, newer.row.entry_id
                if (
                    older.value != newer.value
                    and _are_alike(older.value, newer.value)
                    and names[0] != names[1]
                    and names not in superseded
                ):
                    yield Contradiction(name, older, newer)


def stated_in(row: Row, given: Iterable[Assigned]) -> list[Stated]:
    """The settings in a note, each once, without names to which the note gives two values.

    Args:
        given: ``assigned_in`` the text of the row.
    """
    found: dict[str, Stated] = {}
    twice: set[str] = set()
    for sentence, several in groupby(given, key=lambda one: one.sentence):
        if SKIPPED.match(sentence) or _TRIED.search(sentence):
            continue
        for one in several:
            is_other = one.name in found and found[one.name].value != one.value
            if changes_in(sentence) or is_other:  # the sentence may mention an earlier value
                twice.add(one.name)
            else:
                places = frozenset(word.lower() for word in PLACE.findall(sentence))
                written = one.written.strip('`" ')
                found[one.name] = Stated(one.name, one.value, written, places, row)
    return [stated for name, stated in found.items() if name not in twice]


def _are_alike(one: str, other: str) -> bool:
    """Whether two values can be compared: two numbers must have the same unit."""
    units = [match[1] or "" for match in map(_COMPARED.fullmatch, (one, other)) if match]
    return len(units) < 2 or units[0] == units[1]
