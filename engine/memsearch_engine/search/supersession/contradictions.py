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
from itertools import chain, groupby, pairwise

import msgspec

from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import LONGTERM_KINDS, Row
from memsearch_engine.journal.model import CONFLICT_OF, DIGEST
from memsearch_engine.search.supersession.listing import ENOUGH, Overrides, changes_in

SENTENCE = re.compile(r"\n|(?<=[.;!?])\s+")
SKIPPED = re.compile(r"^\s*[-*+]?\s*(?:User asked|Errors met|Files changed|Commands|Taken from): ")
_NAME = r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*"
_ASSIGNED = re.compile(rf"`({_NAME})(?:\s*=(?!=)\s*|:\s+)([^`\n]{{1,60}})`")
_VALUE = (
    r"""`[^`\n]{1,40}`|"[^"\n]{1,40}"|"""
    r"-?\d[\d_,.]*\s?(?:ms|s|sec(?:onds?)?|min(?:utes?)?|h(?:ours?)?|d(?:ays?)?|"
    r"kb|mb|gb|kib|mib|gib|%)?\b|true|false|on|off|enabled|disabled"
)
#: What may follow a value. It excludes "is on the private subnet", "is off by one" and "is 3 times
#: the pool".
_ENDS = (
    r"(?=\s*(?:$|[.;,:)(!?–—]|(?:in|for|everywhere|here|"
    r"now|again|since|because|so|and|but|by\s+default)\b))"
)
_IS_VALUE = (
    r"\s+(?:is|are|stays(?:\s+at)?|equals|defaults\s+to|(?:is\s+)?set\s+to|(?:is|stands)\s+at|=)\s+"
    rf"(?:now\s+|always\s+|by\s+default\s+)?({_VALUE})(?!\w){_ENDS}"
)
_STATED = re.compile(rf"(?:`({_NAME})`|(?<![\w/.`-])([A-Za-z]\w*_\w+)){_IS_VALUE}", re.IGNORECASE)
#: One of these occurs in each text of which ``_STATED`` matches a sentence. They begin with a
#: character, so they are searched ten times as fast.
_MAY_STATE = (
    re.compile(rf"`{_NAME}`{_IS_VALUE}", re.IGNORECASE | re.MULTILINE),
    re.compile(rf"_\w+{_IS_VALUE}", re.IGNORECASE | re.MULTILINE),
)
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
_SECONDS = {
    "ms": 0.001,
    "s": 1,
    "sec": 1,
    "second": 1,
    "seconds": 1,
    "min": 60,
    "minute": 60,
    "minutes": 60,
    "h": 3600,
    "hour": 3600,
    "hours": 3600,
    "d": 86400,
    "day": 86400,
    "days": 86400,
}
_BYTES = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1024, "mib": 1024**2, "gib": 1024**3}
_SWITCH = {
    "true": "on",
    "on": "on",
    "enabled": "on",
    "false": "off",
    "off": "off",
    "disabled": "off",
}
_NUMBER = re.compile(r"(-?\d[\d_,]*(?:\.\d+)?)\s?([a-z%]*)")
_COMPARED = re.compile(r"-?[\d.e+-]+( \S+)?")  # a number in the form that ``normalized`` returns
_PLAIN = re.compile(r"[\w./:@+-]{1,40}")


class Assigned(msgspec.Struct, frozen=True):
    """A value that a sentence gives to a name: normalised, and as written."""

    sentence: str
    name: str
    value: str
    written: str


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
    given = {
        chunk: some
        for chunk, text in catalog.likely_to_state(project)
        if _may_state(text) and (some := assigned_in(text))
    }
    values: dict[str, set[str]] = defaultdict(set)
    for one in chain(*given.values()):
        values[one.name].add(one.value)
    several_values = {name for name, some in values.items() if len(some) > 1}
    compared = {
        chunk: few
        for chunk, some in given.items()
        if (few := [one for one in some if one.name in several_values])
    }
    for row in catalog.rows(sorted(compared)):
        if (
            row.kind in LONGTERM_KINDS.values()
            or row.heading.startswith(DIGEST)
            or not _SAYS_NO_MORE.isdisjoint(row.marks)
        ):
            continue
        for stated in stated_in(row, compared[row.id]):
            by_name[stated.name].append(stated)
    superseded = {
        (link.older, link.newer) for link in catalog.links.of(project) if link.sure >= ENOUGH
    }
    for name, several in by_name.items():
        several.sort(key=lambda stated: (stated.row.day, stated.row.time))
        for places in {stated.places for stated in several}:
            for older, newer in pairwise(stated for stated in several if stated.places == places):
                names = older.row.entry_id, newer.row.entry_id
                if (
                    older.value != newer.value
                    and _are_alike(older.value, newer.value)
                    and names[0] != names[1]
                    and names not in superseded
                ):
                    yield Contradiction(name, older, newer)


def _may_state(text: str) -> bool:
    return bool("`" in text and _ASSIGNED.search(text)) or _has_stated(text)


def _has_stated(text: str) -> bool:
    quoted, bare = _MAY_STATE
    return bool(("`" in text and quoted.search(text)) or ("_" in text and bare.search(text)))


def assigned_in(text: str) -> list[Assigned]:
    """The values that the sentences of a note give to identifiers."""
    found = []
    lines = filter(_may_state, text.split("\n"))
    for sentence in chain.from_iterable(map(SENTENCE.split, lines)):
        stated = _STATED.findall(sentence) if _has_stated(sentence) else ()
        given = [(quoted or bare, value) for quoted, bare, value in stated]
        for name, written in [*_ASSIGNED.findall(sentence), *given]:
            if (value := normalized(written)) and is_identifier(name):
                found.append(Assigned(sentence, name, value, written))
    return found


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


def is_identifier(name: str) -> bool:
    """Whether a word is an identifier: it contains an underscore, a dot or an inner capital."""
    return "_" in name.strip("_") or "." in name or bool(re.search(r"[a-z0-9][A-Z]", name))


def _are_alike(one: str, other: str) -> bool:
    """Whether two values can be compared: two numbers must have the same unit."""
    units = [match[1] or "" for match in map(_COMPARED.fullmatch, (one, other)) if match]
    return len(units) < 2 or units[0] == units[1]


def normalized(written: str) -> str:
    """Normalise a value: times in seconds, sizes in bytes, switches as "on" or "off".

    Returns:
        Empty for text that is not a single value.
    """
    text = written.strip("`\"' ,;").rstrip(".")
    if (switch := _SWITCH.get(text.lower())) is not None:
        return switch
    if match := _NUMBER.fullmatch(text.lower()):
        # a comma before three digits separates thousands; otherwise it is a decimal sign
        digits = re.sub(r",(?=\d{3}(?!\d))", "", match[1].replace("_", ""))
        if digits.count(",") > 1 or ("," in digits and "." in digits):
            return ""
        number, unit = float(digits.replace(",", ".")), match[2]
        if unit in _SECONDS:
            return f"{number * _SECONDS[unit]:g} s"
        if unit in _BYTES:
            return f"{number * _BYTES[unit]:g} B"
        return f"{number:g} {unit}".strip()
    return text if _PLAIN.fullmatch(text) else ""
