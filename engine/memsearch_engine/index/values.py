"""Find the values that notes give to names: ``name = value``, or a name, a verb and a value.

The verb is "is", "set to" or "defaults to", for example. The name is an identifier.
"""

from __future__ import annotations

import re
from itertools import chain

import msgspec

SENTENCE = re.compile(r"\n|(?<=[.;!?])\s+")
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
#: The end of a word with an inner underscore. ``_\w+`` would try every pair of underscores of a
#: long word.
_TAIL = r"_(?:[^\W_]+_?|_)"
_STATED = re.compile(
    rf"(?:`({_NAME})`|(?<![\w/.`-])([A-Za-z]\w*{_TAIL})){_IS_VALUE}", re.IGNORECASE
)
#: One of these occurs in each text of which ``_STATED`` matches a sentence. They begin with a
#: character, so they are searched ten times as fast.
_MAY_STATE = (
    re.compile(rf"`{_NAME}`{_IS_VALUE}", re.IGNORECASE | re.MULTILINE),
    re.compile(rf"{_TAIL}{_IS_VALUE}", re.IGNORECASE | re.MULTILINE),
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
_PLAIN = re.compile(r"[\w./:@+-]{1,40}")


class Assigned(msgspec.Struct, frozen=True):
    """A value that a sentence gives to a name: normalised, and as written."""

    sentence: str
    name: str
    value: str
    written: str


class GivenValue(msgspec.Struct, frozen=True, array_like=True):
    """A name that an entry gives a value, and the value, normalised."""

    entry_id: str
    name: str
    value: str


def values_in(entry_id: str, text: str) -> list[GivenValue]:
    """Return the values that an entry with this text gives to names."""
    return [GivenValue(entry_id, one.name, one.value) for one in assigned_in(text)]


def _may_state(text: str) -> bool:
    return bool("`" in text and _ASSIGNED.search(text)) or _has_stated(text)


def _has_stated(text: str) -> bool:
    quoted, bare = _MAY_STATE
    return bool(("`" in text and quoted.search(text)) or ("_" in text and bare.search(text)))


def assigned_in(text: str) -> list[Assigned]:
    """The values that the sentences of a note give to identifiers."""
    found = []
    lines = filter(_may_state, text.split("\n")) if _may_state(text) else ()
    for sentence in chain.from_iterable(map(SENTENCE.split, lines)):
        stated = _STATED.findall(sentence) if _has_stated(sentence) else ()
        given = [(quoted or bare, value) for quoted, bare, value in stated]
        for name, written in [*_ASSIGNED.findall(sentence), *given]:
            if (value := normalized(written)) and is_identifier(name):
                found.append(Assigned(sentence, name, value, written))
    return found


def is_identifier(name: str) -> bool:
    """Whether a word is an identifier: it contains an underscore, a dot or an inner capital."""
    return "_" in name.strip("_") or "." in name or bool(re.search(r"[a-z0-9][A-Z]", name))


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
