"""Finding secrets in text and replacing them.

Three sources, joined by place: a library made for it (betterleaks, where it has a wheel), tokens known by their look
(``vendor``), and values known by where they stand, which are judged (``judge``). What is found is replaced where it stands;
longer ones also wherever else they are repeated.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

import msgspec

from memsearch_engine.home import Home
from memsearch_engine.ids import digest
from memsearch_engine.secrets.judge import is_assigned, is_reference, is_token, mixed, wordy
from memsearch_engine.secrets.vendor import PLACES, TOKENS

_REDACTED = re.compile(r"\[REDACTED:[a-z0-9-]+:[0-9a-f]{8}\]")
_ALLOW = re.compile(r"(?:gitleaks|betterleaks):allow")  # a comment in a transcript is nobody's word
_ALLOWED = "secrets-allowed"
_REPEATED = 12  # a secret of this length is replaced wherever it stands; shorter ones may be words

# -- names and what is assigned to them. No newline is crossed.
_NAMES = re.compile(
    r"(?i)pass(?:word|wd|phrase|code)s?|passwort|kennwort|senha|contrase(?:ñ|n)a|mot[ _]de[ _]passe|parola d'ordine|пароль|"
    r"secret[_ -]?key(?:[_-]?base)?|secret(?:access)?key|secret|api[_ -]?key|app[_-]?key|access[_ -]?key(?:[_-]?secret)?|"
    r"(?:account|license|master|admin|auth|encryption|deploy|private)[_-]?key|pre?-?shared[_-]?key|token|client-key-data|sessionid|"
    r"credentials?|creds|密码|密碼|口令|密钥|密鑰|令牌|パスワード|비밀번호|(?<![a-z])(?:pwd|psk|pass|pw|auth|pat)(?![a-z])|_auth(?![a-z])"
)
_BEFORE = re.compile(r"[\w.$:@/-]{0,40}$")
_QUOTE = "\"'`“”‘’«»"
_VALUE = re.compile(
    r"(?P<close>\\{0,3}[\"'`\]*)]{0,6})[ \t]{0,20}(?P<type>:[ \t]?&?[A-Za-z]{2,12}[ \t]?(?==))?"
    r"(?P<sep>:=|=>|=|:|：|,[ \t]?(?=[\"'])|是|为：|为|は|\|(?=[ ]))[ \t]{0,20}(?:\x1b\[[0-9;]*m)?\\{0,3}\*{0,2}[ \t]?"
    rf"(?P<q>[{_QUOTE}]?)[ \t]?(?P<v>[^\s{_QUOTE},;，。；、）)\]}}<>\\\x00\x1b|&]{{4,4000}})"
)
_QUOTED = re.compile(r"[\"'\]]{0,2}[ \t]{0,3}(?:=|:|,|=>)[ \t]{0,12}(?P<q>[\"'])(?P<v>[^\"'\n]{8,200})(?P=q)")
_SPOKEN = re.compile(r"(?i)pass(?:word|phrase|wd)|secret|api[_-]?key|auth_key")
# -- URLs: the last @ that a host follows ends the password
_URL = re.compile(
    r"(?i)(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\\?/\\?/[^\s/:@\"'<>`]{0,80}:([^\s\"'<>`|,，\\]{3,200}?)"
    r"@(?=(?:[A-Za-z0-9_.-]{1,253}|\[[0-9a-f:]{2,40}\])(?:[:/,?#\\\s\"'`)，]|$))"
)
_URL_TOKEN = re.compile(r"(?i)https?://([A-Za-z0-9_-]{20,200})@")
_PORT = re.compile(r"\d{1,5}(?:[/?#]|$)")
# -- private keys: the header, then only lines that look like a key's, so that a key that is cut leaves the prose alone
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"(?:\r?\n|\\+n|[ \t>+|\d\"'(-]){0,24}?-----END [A-Z0-9 ]{0,30}KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(
    r"(?:\\r|\\\\r)?(?:\r?\n|\\+n)?[ \t>+\-|0-9\"'(]{0,16}(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[^\n\\]{1,80}|"
    r"[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{1,80}={1,2}|=[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{1,16}(?=\s*$)|)"
    r"(?:\\+n)?[\"',)]{0,3}(?=\r?\n|\\|-----|$|[ ,\"'])",
    re.M,
)
_SHORT_KEY = re.compile(r"[A-Za-z0-9+/=\s]{4,200}-----END [A-Z0-9 ]{0,30}KEY-----")
_KEY_TAIL = re.compile(
    r"((?:^[ \t>+|]{0,8}[A-Za-z0-9+/]{56,76}={0,2}\r?\n){2,400}[ \t>+|]{0,8}[A-Za-z0-9+/=]{1,76}\r?\n)"
    r"(?=[ \t>+|]{0,8}-----END [A-Z0-9 ]{0,30}PRIVATE KEY)",
    re.M,
)
_PUTTY_KEY = re.compile(r"Private-Lines: \d+\r?\n((?:[A-Za-z0-9+/=]{1,80}\r?\n?)+)")
_LEAST_KEY = 24
_NAMES_IN_A_VALUE = 20
_PIECE, _OVERLAP, _MOST_NAMES = 6000, 600, 60
# -- Kubernetes' Secret: everything under data
_SECRET_KIND = re.compile(r"(?m)^[ \t]*\"?kind\"?:[ \t]*\"?Secret\"?[ \t]*,?$")
_SECRET_DATA = re.compile(r"(?m)^([ \t]*)\"?(?:data|stringData)\"?:[ \t]*\{?[ \t]*\n((?:\1[ \t]+\S.*(?:\n|$))+)")
_SECRET_VALUE = re.compile(r"(?m)^[ \t]+\"?[\w.-]+\"?:[ \t]*\"?([^\s\"{}$<]{4,})\"?")

Span = tuple[int, int, str]


class Finding(msgspec.Struct, frozen=True):
    """A secret and the rule that found it. ``start``: where it stands."""

    rule: str
    secret: str
    start: int = 0

    @property
    def fingerprint(self) -> str:
        return digest("secret", self.secret, size=4)

    @property
    def placeholder(self) -> str:
        """Equal secrets have equal placeholders: they stay linkable without being readable."""
        return f"[REDACTED:{self.rule}:{self.fingerprint}]"


def find(text: str) -> list[Finding]:
    """Every secret in *text*, in the order they stand; what the owner has allowed is none."""
    found = [Finding(rule, text[start:stop], start) for start, stop, rule in _merged(text)]
    return [finding for finding in found if finding.fingerprint not in fine] if found and (fine := allowed()) else found


def allowed() -> frozenset[str]:
    """Fingerprints of what the owner says is no secret, from ``MEMSEARCH_HOME/secrets-allowed``; one a line."""
    path = Home.from_env().root / _ALLOWED
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        return frozenset()
    return _read_allowed(str(path), stamp)


@lru_cache(maxsize=4)
def _read_allowed(path: str, stamp: int) -> frozenset[str]:
    with open(path, encoding="utf-8") as file:
        return frozenset(re.findall(r"(?m)^[0-9a-f]{8}\b", file.read()))


def allow(home: Home, fingerprint: str, *, off: bool = False) -> None:
    """Say that what has this fingerprint is no secret (or is one after all). Raises ValueError for what is none."""
    if not re.fullmatch(r"[0-9a-f]{8}", fingerprint):
        raise ValueError(f"{fingerprint!r} is no fingerprint: eight hex digits")
    path = home.ensure().root / _ALLOWED
    lines = set(path.read_text(encoding="utf-8").split()) if path.exists() else set()
    lines = lines - {fingerprint} if off else lines | {fingerprint}
    temporary = path.with_suffix(".tmp")
    temporary.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")
    os.replace(temporary, path)


def redact(text: str) -> tuple[str, list[Finding]]:
    """*text* with every secret replaced, and what was found. What was replaced before stays as it is."""
    findings = find(text)
    if not findings:
        return text, findings
    parts, end = [], 0
    for finding in findings:
        parts += [text[end : finding.start], finding.placeholder]
        end = finding.start + len(finding.secret)
    return "".join([*parts, text[end:]]), findings


def _merged(text: str) -> list[Span]:
    """Spans without overlaps; where rules overlap, the first one's name stands for the whole."""
    merged: list[Span] = []
    for start, stop, rule in sorted(_spans(text), key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first = merged[-1]
            merged[-1] = (first[0], max(stop, first[1]), first[2])
        else:
            merged.append((start, stop, rule))
    again: list[Span] = []
    for secret, rule in {text[start:stop]: rule for start, stop, rule in merged if stop - start >= _REPEATED}.items():
        place = text.find(secret)
        while place >= 0:
            again.append((place, place + len(secret), rule))
            place = text.find(secret, place + len(secret))
    taken = sorted({*merged, *again}, key=lambda span: (span[0], -span[1]))
    result: list[Span] = []
    for span in taken:
        if not result or span[0] >= result[-1][1]:
            result.append(span)
    return result


def _spans(text: str) -> Iterator[Span]:
    text = _REDACTED.sub(lambda match: "\n" * len(match[0]), text)  # the same length, and nothing is joined across it
    lower = text.lower()
    if "private" in lower:
        yield from _private_keys(text)
    for rules in (TOKENS, PLACES):
        for rule in rules:
            if any(word in lower for word in rule.words):
                for match in rule.pattern.finditer(text):
                    if is_token(rule.name, match[1]):
                        yield *match.span(1), rule.name
    if "@" in text:
        yield from _urls(text)
    yield from _assignments(text)
    if _SECRET_KIND.search(text):
        for data in _SECRET_DATA.finditer(text):
            for value in _SECRET_VALUE.finditer(data[2]):
                yield data.start(2) + value.start(1), data.start(2) + value.end(1), "k8s-secret"
    for secret, rule_id in {secret: rule_id for rule_id, secret in _betterleaks(text)}.items():
        place = text.find(secret)
        while place >= 0:
            yield place, place + len(secret), re.sub(r"[^a-z0-9-]", "-", rule_id.lower())
            place = text.find(secret, place + len(secret)) if len(secret) >= _REPEATED else -1


def _private_keys(text: str) -> Iterator[Span]:
    for begin in _BEGIN.finditer(text):
        if short := _SHORT_KEY.match(text, begin.end()):
            yield begin.start(), short.end(), "pem-private-key"
            continue
        place, body = begin.end(), 0
        while place < len(text):
            if end := _END.match(text, place):
                place = end.end()
                break
            line = None if text.startswith("-----BEGIN", place) else _KEY_LINE.match(text, place)
            if line is None or line.end() == place:
                break
            signs = len(re.sub(r"[^A-Za-z0-9+/=]", "", line[0]))
            body += signs if signs >= _LEAST_KEY else 0
            place = line.end()
        if body >= _LEAST_KEY:
            yield begin.start(), place, "pem-private-key"
    for pattern in (_KEY_TAIL, _PUTTY_KEY):
        for match in pattern.finditer(text):
            yield *match.span(1), "pem-private-key"


def _urls(text: str) -> Iterator[Span]:
    for match in _URL.finditer(text):
        value = match[1]
        image = text.startswith("sha256:", match.end())
        if not (is_reference(value) or value.startswith(("{", "%s")) or _PORT.match(value) or image):
            yield *match.span(1), "url-password"
    for match in _URL_TOKEN.finditer(text):
        if mixed(match[1]) and not wordy(match[1]):
            yield *match.span(1), "url-token"


def _assignments(text: str) -> Iterator[Span]:
    if "SealedSecret" in text:  # encrypted for its cluster: no secret any more
        return
    refused_to, inside = 0, 0
    for name in _NAMES.finditer(text):
        inside = inside + 1 if name.start() < refused_to else 0
        if inside > _NAMES_IN_A_VALUE:
            continue  # "password=password=…": a value that is made of names
        before = _BEFORE.search(text, max(0, name.start() - 40), name.start())
        key = (before[0] if before else "") + name[0]
        if match := _VALUE.match(text, name.end()):
            called = text[match.end() : match.end() + 1] in ("(", "[")
            quoted, closed = bool(match["q"]), bool(match["close"])
            if is_assigned(key, match["sep"], match["v"], quoted=quoted, closed=closed, called=called):
                yield *match.span("v"), "assigned-secret"
            else:
                refused_to = max(refused_to, match.end())
        if _SPOKEN.fullmatch(name[0]) and (match := _QUOTED.match(text, name.end())):
            value = match["v"]  # in quotes, blanks may stand in it
            shell = key.isupper() and key.endswith("PASSWORD") and " " in value and any(s.isdigit() for s in value)
            plain = wordy(value) and not any(sign in " !#%&*?+=~^" for sign in value)
            if not is_reference(value) and (shell or (mixed(value) and not plain)):
                yield *match.span("v"), "assigned-secret"


def _pieces(text: str) -> Iterator[str]:
    """*text* in pieces that end at a blank and overlap a little: the library's time grows with the square of what it finds
    in one."""
    start = 0
    while len(text) - start > _PIECE:
        cut = max(text.rfind("\n", start, start + _PIECE), text.rfind(" ", start, start + _PIECE))
        stop = cut if cut > start + _PIECE // 2 else start + _PIECE
        yield text[start:stop]
        start = stop - _OVERLAP
    yield text[start:]


def _betterleaks(text: str) -> list[tuple[str, str]]:
    try:
        import betterleaks
    except (ImportError, OSError):  # no wheel for this platform: our own rules stand alone
        return []
    findings = []
    for piece in _pieces(_ALLOW.sub("", text)):
        if len(list(islice(_NAMES.finditer(piece), _MOST_NAMES))) == _MOST_NAMES:
            continue  # each costs the library milliseconds, and our own rules know assignments and tokens
        with contextlib.suppress(betterleaks.BetterleaksError):
            findings += betterleaks.scan_string(piece)
    return [
        (f.rule_id, f.match.value) for f in findings if not f.rule_id.startswith("generic-") and len(f.match.value) >= 6
    ]
