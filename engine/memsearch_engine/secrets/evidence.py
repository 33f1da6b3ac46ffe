"""Decides by evidence whether a value near a name that means secret is a secret.

The evidence is a set of features: what the name denotes, what connects name and value, what the
value looks like, and what surrounds it. Each feature has a weight (``weights.json``). The sum of
the weights is the log odds that the value is a secret. ``tests/secrets/fit.py`` fits the weights
by logistic regression to recorded secrets and innocent lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from memsearch_engine.secrets.judge import (
    FAKE,
    IN_CODE,
    NAME_OF_CODE,
    NO_SECRET,
    ODD_CASE,
    SYMBOLS,
    is_certain,
    is_chosen,
    is_reference,
    mixed,
    shape,
    wordy,
)

Span = tuple[int, int, str]
#: The smallest log odds of a secret. A hidden ordinary word makes a note useless, so words need
#: more, as do values without a connector to their name.
THRESHOLD, WORD_THRESHOLD = -1.0, -0.4
_NO_VALUE = re.compile(
    r"(?i)(?:public[_-]?key(?:token)?|url|uri|_file|path|name|policy|rotation|header|count|type|"
    r"(?:^|[^t])_id|_ids|endpoint|ttl|arn)$"
)
#: What a name denotes; the first pattern that matches decides.
_KINDS = (
    ("about", _NO_VALUE),
    (
        "password",
        re.compile(
            r"(?i)pass|pwd|psk|pre-?shared|密|口令|pw$|senha|contrase|mot|kenn|пароль|비밀|"
            r"parola|パス|"
            r"wachtwoord|has[łl]|l[öo]senord|adgangskode|kodeord|[şs]ifre|mdp$|clave$|hesl|"
            r"salasana|jelsz|лозинк|khẩu|sandi|"
            r"암호|비번"
        ),
    ),
    (
        "secret of",
        re.compile(
            r"(?i)(?:client|app|api|shared|webhook|hub|session|jwt|signing|cookie|hmac|auth|"
            r"consumer)"
            r"[_.-]?secret$|api[_.-]?key$|(?:^|_)SECRET(?:_KEY)?$|^x-[\w-]{0,40}(?:token|secret|"
            r"key)$"
        ),
    ),
    ("variable", re.compile(r"(?:^|_)(?:TOKEN|[A-Z]+_KEY)$")),
    ("pin", re.compile(r"(?i)(?:pin|otp)$")),
    ("session", re.compile(r"(?i)session")),
    ("secret", re.compile(r"(?i)secret|credential")),
    ("token", re.compile(r"(?i)token|令牌")),
    ("key", re.compile(r"(?i)key|密钥")),
    ("other", re.compile("")),
)
#: Features of a value that count anew with each link.
_LINKED = frozenset(
    ("certain", "chosen", "numbered", "symbol", "plain form", "name of code", "in code", "known")
)
_LETTERS = re.compile(r"[^\W\d_]{4,}")
#: Words with a number, as people choose them; code hardly numbers its names so high.
_NUMBERED = re.compile(r"[a-z]{3,}(?:_[a-z]{3,})+_?\d{2,4}")
#: Links of ``cued``, each with weights of its own.
_TAGGED = frozenset(("cued", "plain", "given", "pair", "phrase"))
_STRICT = frozenset(
    (
        "word",
        "cued",
        "plain",
        "given",
        "pair",
        "phrase",
        "bare",
        "bare cased",
        "bare long",
        "bare words",
    )
)
_EDGES = (5, 6, 8, 12, 16, 24, 40)


def kind(key: str) -> str:
    """Return what a name with its prefix denotes, such as "password" or "token"."""
    return next(label for label, pattern in _KINDS if pattern.search(key))


class PossibleSecret(NamedTuple):
    """A value near a name, with its evidence.

    Attributes:
        start, stop: its position in the text.
        rule: the name of the finding, if it is a secret.
        name: what the name denotes.
        link: what connects name and value.
        around: labels of what surrounds them.
    """

    start: int
    stop: int
    rule: str
    name: str
    link: str
    around: list[str]


def labels(**holds: object) -> list[str]:
    """Return the names of the arguments that are true."""
    return [label for label, value in holds.items() if value]


def secrets_among(candidates: Iterable[PossibleSecret], text: str) -> Iterator[Span]:
    """Yield the candidates with evidence above the threshold."""
    weights = _weights()
    for one in candidates:
        value = text[one.start : one.stop]
        plain = value.isalpha() or one.link in _STRICT
        least = WORD_THRESHOLD if plain else THRESHOLD
        if not is_reference(value) and least < sum(
            weights.get(feature, 0.0) for feature in features(one, value)
        ):
            yield one.start, one.stop, one.rule


def features(candidate: PossibleSecret, value: str) -> Iterator[str]:
    """Yield the features of a candidate with this value."""
    _, _, _, name, link, around = candidate
    form, length, own = _of_value(value)
    if link in _TAGGED:
        every = (form, length, *own, *around)
        yield link
        yield from (f"{link}|{one}" for one in every)
        yield from (f"{link}|{name}|{one}" for one in every)
        yield from (f"{link}|{around[0]}|{one}" for one in every)
        return
    yield from ("all", f"name:{name}", f"link:{link}", f"form:{form}", f"length:{length}")
    yield from (f"{name}|{form}", f"{link}|{form}", f"{name}|{link}", f"{link}|{length}")
    yield from (*own, *around)
    yield from (f"{link}|{one}" for one in (*around, *_LINKED.intersection(own)))
    yield from (f"line|{one}" for one in around if "line" in around)
    if link == "word":
        yield "+".join((link, *around))
    if "shout" in around:
        yield f"shout|{form}"


@lru_cache(maxsize=4096)
def _of_value(value: str) -> tuple[str, str, list[str]]:
    """Return the form, the length and the labels of a value. The words of a text recur."""
    form = shape(value)
    length = next((f"<{edge}" for edge in _EDGES if len(value) < edge), "long")
    own = [
        label
        for label, holds in (
            ("certain", is_certain(value, camel=True)),
            ("chosen", is_chosen(value)),
            ("symbol", any(char in SYMBOLS for char in value)),
            ("fake", bool(FAKE.search(value))),
            ("few", len(set(value)) < 5),
            ("slash", "/" in value),
            ("bracket", "(" in value or "[" in value),
            ("unlike words", not wordy(value, 4.0)),
            ("plain form", bool(NO_SECRET.match(value))),
            ("name of code", bool(NAME_OF_CODE.fullmatch(value))),
            ("in code", bool(IN_CODE.search(value))),
            ("not ascii", not value.isascii()),
            ("known", value.lower() in common_words()),
            ("no words", mixed(value) and len(value) >= _EDGES[2] and not has_word(value)),
            ("numbered", bool(_NUMBERED.fullmatch(value))),
            ("odd case", bool(ODD_CASE.search(value))),
        )
        if holds
    ]
    return form, length, own


def _read(name: str) -> str:
    return (files("memsearch_engine.secrets") / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _weights() -> dict[str, float]:
    weights: dict[str, float] = json.loads(_read("weights.json"))
    return weights


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Return common words. ``tests/secrets/words.py`` makes their list and names its sources."""
    return frozenset(_read("words.txt").split())


def has_word(value: str) -> bool:
    """Whether letters in a row in *value* are a common word."""
    return any(run in common_words() for run in _LETTERS.findall(value.lower()))


def is_common(value: str) -> bool:
    """Whether *value* is a common word, or a form of one."""
    word = value.lower().rstrip(".,;:!?")
    return any(word.removesuffix(end) in common_words() for end in ("", "s", "d", "ed"))
