"""Values that look like a secret by themselves, wherever they are.

A chosen password ("meadow#7223Saffron") mixes letters, digits and symbols as no other word does. A
generated one has letters of both cases and digits without any word in it. ``evidence`` decides by
what is around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memsearch_engine.secrets import linear
from memsearch_engine.secrets.evidence import (
    PossibleSecret,
    Span,
    has_word,
    labels,
    secrets_among,
)
from memsearch_engine.secrets.judge import IDENTIFIER, is_encoded_text, is_sealed, wordy

_CHARACTER = r"[A-Za-z0-9!#$%&*+/?@^_~.-]"
#: Long words, words with a symbol inside, and two words with a number.
_TOKEN = linear.compile(
    rf"{_CHARACTER}{{20,200}}={{0,2}}|{_CHARACTER}{{0,60}}[A-Za-z0-9][!#$%&*^~@]"
    rf"{_CHARACTER}{{0,140}}={{0,2}}|"
    rf"{_CHARACTER}{{0,60}}[-_.][A-Za-z]{{3,40}}[0-9]{{2,4}}{_CHARACTER}{{0,60}}"
)
_DIGIT = re.compile("[0-9]")
_SYMBOL = re.compile(r"[A-Za-z0-9][!#$%&*^~@]")
_CODE = re.compile(
    r"^[A-Z]\w+#[a-z_]+|^[a-z][\w.-]*@[a-z][\w-]*$|@[\^~]?\d+(?:\.|$)|^[a-z]+\*\d"
    r"|[a-z0-9]\$[a-z]+$|@@?(?:Base|[A-Z]+_[\d.]+)$|\*\*|%[a-z]|%\d|[aA]-[zZ]|0-9|\.[A-Za-z]"
    r"|[^!]=|=[^!=]|^&|&\w+=|^%|^\$"
)
#: Characters beside a piece of packed data.
_INSIDE = re.compile(r"[])};].?|.?[{\-]|[^>]?<")
_SHORTEST, _GENERATED = 8, 20  # characters
_WORDS = re.compile(r"[A-Z][a-z]{2,}[-_.][a-z]{3,}\d{2,4}|[a-z]{3,}[-_.][A-Z][a-z]{2,}\d{2,4}")
_PASSWORD = re.compile(r"[A-Za-z0-9!#$%&*^~@+?=._-]{8,40}")
_USER = re.compile(
    r"(?i)\b(?:admin|root|user|log-?in|log in|sign in|account|sudo|ssh|s?ftp|smtp|auth|db|vpn|"
    r"wi-?fi|wlan|router|anmeld|benutzer|connecte|utilisateur|entra|acced|usuario|utente|zaloguj|"
    r"logga|inlogg|master|creds)|логин|зайди|登录|用户|ログイン|접속"
)
_KEY = re.compile(r"(?i)pass|pwd|\bpw\b|secret|token|key|cred|auth|unlock")
_ID = re.compile(
    r"(?i)(?:\bid|_id|ids|uid|\bh1|\bray|sha\d*|hash|commit|integrity|digest|etag|rev(?:ision)?"
    r"|build|trace|version|base64|checksum|fingerprint|nonce|signature|public\w*|blob|tree"
    r"|resolved|pods?|volume|request|job|run|container|order|ticket|deployment|image|file"
    r"|document|video|[?&]list)\b.{0,12}$"
)
_COMMAND = re.compile(r"(?:^|\n)[ \t]*(?:[$#>%] |\w[\w./-]*(?: [\w./-]+)* --?\w)|\| ")


def values(text: str) -> Iterator[Span]:
    """Find values that are secrets by their look."""
    yield from secrets_among(candidates(text), text)


def candidates(text: str) -> Iterator[PossibleSecret]:
    """Yield every word that looks chosen or generated."""
    for token in _TOKEN.finditer(text):
        start, stop = token.span()
        value = token[0].rstrip(".,?*_~").lstrip("*_~")
        start += token[0].find(value)
        stop = start + len(value)
        link = _link(value)
        if not link:
            continue
        first = max(text.rfind("\n", 0, start) + 1, start - 80)
        if text[start - 1 : start] == "[" and text.startswith("](", stop):
            continue  # the text of a link
        if _INSIDE.fullmatch(text[start - 1 : start] + text[stop : stop + 1]):
            continue
        if (
            is_sealed(text, start)
            or IDENTIFIER.match(value)
            or (link == "bare long" and (_ID.search(text[first:start]) or is_encoded_text(value)))
        ):
            continue
        lead, before, after = text[first:start], text[start - 1 : start], text[stop : stop + 1]
        around = labels(
            quoted=before and before in "\"'`“„«" and after and after in "\"'`”“»",
            user=_USER.search(lead),
            secret=_KEY.search(lead),
            command=_COMMAND.search(lead),
            equals=before == "=",
            colon=before == ":",
            path=before in ("/", "-", "_"),
            at=after == "@",
            goes_on=after in ("(", "[", "/", ":", "{", "<"),
        )
        yield PossibleSecret(start, stop, "likely-secret", "bare", link, around)


def _link(value: str) -> str:
    if len(value) < _SHORTEST or not (_DIGIT.search(value) and any(map(str.islower, value))):
        return ""
    cased = any(map(str.isupper, value))
    if _SYMBOL.search(value) and _PASSWORD.fullmatch(value) and not _CODE.search(value):
        return "bare cased" if cased else "bare"
    if _WORDS.fullmatch(value):
        return "bare words"
    generated = (
        cased
        and len(value) >= _GENERATED
        and sum(map(str.isdigit, value)) > 1
        and not wordy(value, 2.4)
        and "&" not in value
        and not has_word(value)
    )
    return "bare long" if generated else ""
