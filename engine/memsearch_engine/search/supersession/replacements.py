"""Whether a note says that it replaces the value that an older note gives to something named.

"Raised `CACHE_TTL` from 300 to 900" supersedes a note that says ``CACHE_TTL=300``. What has the
value is an identifier, or at least two words ("the webhook timeout"). Both notes must name it in
the sentence with the value, and must not limit it to different environments, files or parts.
"From 9 to 11" alone is a range: the sentence needs a verb of change. The verbs are English, German,
French, Spanish, Italian, Portuguese, Chinese and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from memsearch_engine.index import analyze
from memsearch_engine.index.values import SENTENCE, is_identifier, normalized
from memsearch_engine.search.supersession.contradictions import PLACE, SKIPPED

#: Version of the rules; raise it with every change of them, so that all notes are compared again.
RULES = "replacements 1"
_VERB = re.compile(
    r"\b(?:rais(?:ed?|es|ing)|lower(?:ed|s)?|chang(?:ed?|es|ing)|mov(?:ed?|es|ing)|switch\w*"
    r"|renam\w+|replac\w+|bump\w*|increas\w+|decreas\w+|reduc\w+|cut|extend\w*|shorten\w*"
    r"|shr[aiu]nk|gr[eo]wn?|scal(?:ed?|ing)|set|went|upgrad\w+|downgrad\w+|migrat\w+|revert\w*"
    r"|drop(?:ped|s)?|doubl\w+|halv\w+|tripl\w+|adjust\w*|updat\w+|tun(?:ed?|ing)|shift\w*"
    r"|swap\w*|tighten\w*|loosen\w*|up|down"
    r"|erhöh\w*|gesenkt|senk\w*|(?:ge)?änder\w*|umgestellt|gewechselt|wechsel\w*|(?:ver)?kürz\w*"
    r"|verläng\w*|umbenannt|ersetz\w*|angehoben|verschoben|reduzier\w*|umgezogen"
    r"|pass[eé]\w*|augment\w*|rédui\w*|remplac\w*|renomm\w*|(?:a)?baiss\w*|port[eé]e?"
    r"|sub(?:imos|ió|ido|ir|e)|baj\w+|cambi\w+|aument\w+|reemplaz\w+|renombr\w+|pas(?:ó|a|amos)"
    r"|ridott\w*|alzat\w*|sostitui\w*|mud(?:ou|amos|ado)|alter(?:ado|amos|ou))\b",
    re.IGNORECASE,
)
_WORD = r"[^\s,;()。，、]+"
_OLD, _NEW = rf"(?P<old>(?:{_WORD}\s+){{0,2}}?{_WORD})", rf"(?P<new>{_WORD}(?:\s+{_WORD}){{0,2}})"
_CODE = r"`?[\w.:/%+-]+`?"
_CJK_VALUE = r"`?[A-Za-z0-9][A-Za-z0-9_.:/%+-]*`?"
#: Forms of "from the old value to the new one" that need a verb of change.
_FROM_TO = re.compile(
    rf"\b(?:from|von|vom|de|du|da|desde)\s+{_OLD}\s+(?:to|up to|down to|auf|nach|zu|à|au|a|para|al)"
    rf"\s+{_NEW}|\bto\s+(?P<new2>{_WORD}(?:\s+{_WORD})?),?\s+from\s+(?P<old2>{_WORD})",
    re.IGNORECASE,
)
#: Forms that state a change by themselves, each with what a sentence with it contains.
_CHANGES = (
    (
        re.compile(r"[-=]>|→", re.IGNORECASE),
        re.compile(rf"(?P<old>{_CODE})\s*(?:->|=>|→)\s*(?P<new>{_CODE})"),
    ),
    (
        re.compile(r"instead|rather|statt|anstelle|lieu|lugar|(?:up|down) from", re.IGNORECASE),
        re.compile(
            rf"(?P<new>{_WORD}(?:\s+(?!instead|rather|statt)\w+)?),?"
            r"\s+(?:instead of|rather than|statt|anstelle von|au lieu de|en lugar de"
            r"|(?:up|down) from)"
            rf"\s+(?P<old>{_WORD}(?:\s+{_WORD})?)",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(r"replac", re.IGNORECASE),
        re.compile(
            rf"\breplac(?:ed?|es|ing)\s+(?:the\s+)?(?P<old>{_CODE})"
            rf"\s+(?:with|by)\s+(?P<new>{_CODE})",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(r"renam", re.IGNORECASE),
        re.compile(
            rf"\brenam(?:ed?|es|ing)\s+(?:{_WORD}\s+){{0,4}}?(?P<old>`?\w[\w.:/-]*`?)"
            r"\s+(?:to|as|into)"
            r"\s+(?P<new>`?[\w.:/-]+`?)",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(r"从|由", re.IGNORECASE),
        re.compile(
            rf"(?:从|由)\s*(?P<old>{_CJK_VALUE})\s*[^\s\d,，。]{{0,4}}?\s*(?:提高|提升|增加|增|降低|降"
            rf"|减少|减|调整|调|改|换|升|切换|迁移|更改|修改|变)[^\s\d]{{0,3}}\s*(?P<new>{_CJK_VALUE})"
        ),
    ),
    (
        re.compile(r"から", re.IGNORECASE),
        re.compile(
            rf"(?P<old>{_CJK_VALUE})\s*\w{{0,2}}から\s*(?P<new>{_CJK_VALUE})\s*\w{{0,2}}[にへ]"
            r"\s*(?:変更|増|減|引き上げ|引き下げ|移行|切り替え)"
        ),
    ),
)
#: A sentence that describes an attempt, a proposal, a measurement or a range.
_NOT_DONE = re.compile(
    r"\b(?:tr(?:y|ied|ies|ying)|maybe|perhaps|would|could|should|might|experiment\w*|benchmark\w*"
    r"|measur\w+|compar\w+|suggest\w*|propos\w*|consider\w*|accepts?|ranges?|e\.g\.|for example"
    r"|(?:not|never|nicht|pas|no)\s+(?:\w+\s+)?(?:rais|lower|chang|mov|switch|renam|replac|bump"
    r"|increas|reduc|erhöh|änder)\w*)\b|n't\s|[?？]",
    re.IGNORECASE,
)
_RENAMED = re.compile(r"\brenam|umbenannt|renomm|renombr", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:called|named|heißt|genannt|s'appelle|se llama)\s+`?([\w.:/-]*\w)", re.IGNORECASE
)
_NAME = re.compile(r"(?P<quote>`?)(?P<name>[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)", re.ASCII)
_FILE = re.compile(r"\.(?:\w?py|[jt]sx?|json|ya?ml|toml|md|sh|go|rs|java|rb|c|h|cpp|sql|html|css)$")
_JOINED = re.compile(r"`?\s*(?:,|and|und|et|y|e|&|/|和)\s*`?")
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.:/-])(?P<number>-?\d(?:[\d_.,:]*\d)?)(?:\s?(?P<unit>ms|s|sec(?:onds?)?"
    r"|min(?:utes?)?|h(?:ours?)?|d(?:ays?)?|[kmg]i?b|%|sekunden?|minuten|stunden?|tagen?))?"
    r"(?![A-Za-z0-9_-])",
    re.IGNORECASE,
)
_UNITS = {"sek": "s", "minuten": "min", "stu": "h", "tag": "days"}
_SCOPE = re.compile(
    r"\b(?:for|in|on|für|bei|im|pour|dans|en|para)\s+(?:(?:the|a|an|our|all|der|die|das|den|dem"
    r"|la|le|les|el|los)\s+)?`?([A-Za-zÀ-ÿ][\w./-]*\w)(?:\s+([a-zà-ÿ][\w-]*\w))?",
    re.IGNORECASE,
)
#: Words of ``PLACE`` that name the usual environment or are ordinary words.
_USUAL = frozenset({"prod", "production", "live", "default", "us", "test", "tests"})
#: Words of a name without an identifier: how many both sentences have, and of the newer one's.
_LEAST_WORDS, _LEAST_SHARE = 2, 0.6


_CACHED = 1024  # texts; each note is compared with several others


class _Value(NamedTuple):
    """A value in the forms in which it is compared.

    Attributes:
        text: the number without its unit, or the words in lower case.
        exact: the number in its base unit; empty without a unit.
    """

    text: str
    exact: str = ""

    def is_same(self, other: _Value) -> bool:
        """Whether both are equal; a number without a unit has any unit."""
        if self.exact and other.exact:
            return self.exact == other.exact
        return self.text == other.text


class _Change(NamedTuple):
    """A stated change of a value.

    Attributes:
        names: the identifier that has the value; several if they are joined by "and".
        words: terms of the words that name what has the value.
        is_rename: the values are names themselves.
    """

    old: _Value
    new: _Value
    names: frozenset[str]
    words: frozenset[str]
    is_rename: bool


class _Sentence(NamedTuple):
    text: str
    changes: tuple[_Change, ...]
    places: frozenset[str]
    scopes: frozenset[str]


def replaces(newer: str, older: str) -> bool:
    """Whether the text *newer* says that a value which *older* states was replaced."""
    changing = [one for one in _sentences(newer) if one.changes]
    stated = _sentences(older) if changing else ()
    return any(
        _is_replaced(older_one, change)
        for newer_one in changing
        for older_one in stated
        if _is_same_scope(newer_one, older_one)
        for change in newer_one.changes
    )


@lru_cache(_CACHED)
def _sentences(text: str) -> tuple[_Sentence, ...]:
    """The sentences of a text, without those that only try or propose something."""
    return tuple(
        _Sentence(
            sentence,
            tuple(_changes(sentence)),
            frozenset(word.lower() for word in PLACE.findall(sentence)) - _USUAL,
            frozenset(word.lower() for found in _SCOPE.findall(sentence) for word in found if word),
        )
        for sentence in SENTENCE.split(text)
        if not SKIPPED.match(sentence) and not _NOT_DONE.search(sentence)
    )


def _is_same_scope(one: _Sentence, other: _Sentence) -> bool:
    is_same = one.scopes <= other.scopes or other.scopes <= one.scopes
    return is_same and one.places == other.places


def _is_replaced(stated: _Sentence, change: _Change) -> bool:
    """Whether a sentence states the old value of a change, for what the change names."""
    for earlier in stated.changes:  # the new value of an earlier change is the valid one
        is_same = (
            bool(earlier.names & change.names)
            or _is_same_words(change, earlier.words)
            or (change.is_rename and earlier.is_rename)
        )
        if is_same and earlier.new.is_same(change.old):
            return True
    if stated.changes:
        return False
    if change.is_rename and not change.names:
        return any(_literal(name) == change.old.text for name in _NAMED.findall(stated.text))
    if change.names:
        parts = [_part(stated.text, name) for name in change.names]
    else:
        is_same = _is_same_words(change, _content(stated.text))
        parts = [stated.text] if is_same else []
    return any(_has(part, change.old) and not _has(part, change.new) for part in parts)


def _is_same_words(change: _Change, words: frozenset[str]) -> bool:
    shared = len(change.words & words)
    return (
        not change.names and shared >= _LEAST_WORDS and shared >= _LEAST_SHARE * len(change.words)
    )


def _part(sentence: str, name: str) -> str:
    """The part of a sentence that may have the value of an identifier, up to its first number.

    It is the text after the identifier up to the next one, or the text before it if that is empty.
    """
    found = [match for match in _NAME.finditer(sentence) if _is_name(match, sentence)]
    for number, match in enumerate(found):
        if match["name"].lower() == name:
            others = [one.start() for one in found[number + 1 :] if is_identifier(one["name"])]
            after = sentence[match.end() : min(others, default=len(sentence))]
            part = after if _content(after) else sentence[: match.start()]
            first = _NUMBER.search(part)
            return part[: first.end()] if first else part
    return ""


def _has(text: str, value: _Value) -> bool:
    """Whether a text contains a value."""
    if _NUMBER.fullmatch(value.text):
        return any(value.is_same(_number(match, "")) for match in _NUMBER.finditer(text))
    escaped = re.escape(value.text)
    return bool(re.search(rf"(?<![\w./-]){escaped}(?![\w/-])", text.lower()))


def _changes(sentence: str) -> Iterator[_Change]:
    found = [
        match
        for hint, pattern in _CHANGES
        if hint.search(sentence)
        for match in pattern.finditer(sentence)
    ]
    if _VERB.search(sentence):
        found += _FROM_TO.finditer(sentence)
    for match in found:
        parts = match.groupdict()
        was, now = (parts[key] or parts.get(f"{key}2") or "" for key in ("old", "new"))
        old, new = _value(was, now), _value(now, was, last="instead" in match[0].lower())
        is_word = len(old.text) > 1 and old.text not in analyze.STOP_WORDS
        if old == new or not (is_word or old.text.isdigit()):
            continue
        before, after = sentence[: match.start()], sentence[match.end() :]
        names = _names(before, last=True) or _names(after, last=False)
        words = _content(before)
        words = words if len(words) >= _LEAST_WORDS else _content(f"{before} {after}")
        is_rename = bool(_RENAMED.search(sentence))
        yield _Change(old, new, names - {old.text, new.text}, words, is_rename)


def _is_name(match: re.Match[str], text: str) -> bool:
    """Whether a word is an identifier, or code in quotes, but not a file."""
    beside = text[: match.start()][-1:] + text[match.end() :][:1]
    is_path = "/" in beside or bool(_FILE.search(match["name"]))
    return not is_path and (bool(match["quote"]) or is_identifier(match["name"]))


def _names(text: str, *, last: bool) -> frozenset[str]:
    """The last or first identifier of a text, and those joined to it by "and" or a comma."""
    found = [match for match in _NAME.finditer(text) if _is_name(match, text)]
    found = found[::-1] if last else found
    joined = found[:1]
    for match in found[1:]:
        one, other = sorted((joined[-1], match), key=lambda name: name.start())
        if not _JOINED.fullmatch(text[one.end() : other.start()]):
            break
        joined.append(match)
    return frozenset(match["name"].lower() for match in joined)


def _content(text: str) -> frozenset[str]:
    """Terms of a text without verbs of change and stop words."""
    return frozenset(analyze.query_terms(_VERB.sub(" ", text)))


def _value(written: str, other: str, *, last: bool = False) -> _Value:
    """Read a value.

    Args:
        other: the value beside it, which may have the unit of both ("from 30 to 10 minutes").
        last: of several words that are no number, take the last one instead of the first.
    """
    if number := _NUMBER.search(written):
        beside = _NUMBER.search(other)
        return _number(number, (beside["unit"] or "") if beside else "")
    words = written.split()
    return _Value(_literal(words[-1] if last else words[0]))


def _literal(word: str) -> str:
    return word.strip("`\"'*.:!?。").lower()


def _number(match: re.Match[str], unit: str) -> _Value:
    unit = (match["unit"] or unit).lower()
    unit = next((ours for theirs, ours in _UNITS.items() if unit.startswith(theirs)), unit)
    return _Value(match["number"], normalized(f"{match['number']} {unit}") if unit else "")
