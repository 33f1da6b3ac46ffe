"""Finds secrets in text and replaces them.

Three sources are merged by position: the library betterleaks (if it has a wheel), tokens of a known
format (``vendor``), and values in a known place that ``judge`` accepts. A secret is replaced where
it was found. Longer secrets are also replaced wherever they recur.
"""

from __future__ import annotations

import bisect
import contextlib
import re
import resource
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import islice, pairwise

import msgspec

from memsearch_engine.core.home import Home
from memsearch_engine.secrets import bare, blocks, contexts, cued, linear, named, places, prose
from memsearch_engine.secrets.evidence import has_word, is_common
from memsearch_engine.secrets.fingerprint import fingerprint, unkeyed
from memsearch_engine.secrets.judge import (
    is_in_place,
    is_mixed,
    is_reference,
    is_token,
    is_written_secret,
    mixed,
    wordy,
)
from memsearch_engine.secrets.vendor import PLACES, PREFIXED, TOKENS, Rule, without_prefix

_REDACTED = re.compile(r"\[REDACTED:[a-z0-9-]+:[0-9a-f]{8}\]")
_GLUED = re.compile(
    r"(?i)[\[<]redacted(?::[a-z0-9-]{1,40}:[0-9a-f]{8})?[\]>]"
    r"([^\s\"'`,;)\]}<>@./:&?][^\s\"'`,;)\]}<>@]{5,200})"
)
_GO_RESERVES = 2 << 30  # bytes; 1.7 GB of address space were measured
# such a comment in a transcript has no authority
_ALLOW = re.compile(r"(?:gitleaks|betterleaks):allow")
_ALLOWED = "secrets-allowed"
_HALF = re.compile(
    "[\ud800-\udfff]"
)  # half a surrogate pair is not text, and patterns cannot match it
_REPEATED = 12  # minimum length of a secret that is replaced everywhere; shorter ones may be words

# -- URLs: the last @ before a host ends the password
_URL = re.compile(r"(?i)(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:?\\?/\\?/[^\s/:@\"'<>`]{0,80}:")
_MAY_BE_URL = linear.compile(r"/\\?/[^\s\"'<>`]{0,300}@")
_URL_PASSWORD = re.compile(r"[^\s\"'<>`|,，\\]{3,201}")
_HOST = re.compile(r"(?:[A-Za-z0-9_.-]{1,253}|\[[0-9a-fA-F:]{2,40}\])(?=[:/,?#\\\s\"'`)，]|$)")
_MAX_ATS = 8
_URL_TOKEN = re.compile(r"(?i)https?://([A-Za-z0-9_-]{20,200})(?::[^\s/@:\"'<>]{1,200})?@")
#: A port, or a word that describes a password.
_PORT = re.compile(r"\d{1,5}(?:[/?#]|$)|(?i:pass(?:word|wd)?|pwd?|secret)$")
_LETTERS = re.compile(r"[^\W\d_]{4,}")
_PIECE, _OVERLAP, _MAX_NAMES = 6000, 600, 60

Span = tuple[int, int, str]


class FoundSecret(msgspec.Struct, frozen=True):
    """A secret and the rule that found it.

    Attributes:
        start: its position in the text, in characters.
        fingerprint: its name in one home.
    """

    rule: str
    secret: str
    start: int
    fingerprint: str

    @classmethod
    def of(cls, home: Home, rule: str, secret: str, start: int = 0) -> FoundSecret:
        """The finding of *secret*, with its fingerprint in *home*."""
        return cls(rule, secret, start, fingerprint(home, secret))

    @property
    def placeholder(self) -> str:
        """The text that replaces the secret.

        Equal secrets have equal placeholders, so they stay recognizable but not readable.
        """
        return f"[REDACTED:{self.rule}:{self.fingerprint}]"


def find(text: str, home: Home) -> list[FoundSecret]:
    """Find every secret in *text* that the owner has not allowed, in the order of positions."""
    if not text:  # the first scan loads the rules
        return []
    text = _HALF.sub("\ufffd", text)
    found = [
        FoundSecret.of(home, rule, text[start:stop], start) for start, stop, rule in _merged(text)
    ]
    if found and (fine := allowed(home)):
        return [f for f in found if f.fingerprint not in fine and unkeyed(f.secret) not in fine]
    return found


def allowed(home: Home) -> frozenset[str]:
    """Return the fingerprints of permitted texts, from the owner's ``secrets-allowed``."""
    path = home.root / _ALLOWED
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        return frozenset()
    return _read_allowed(str(path), stamp)


@lru_cache(maxsize=4)
def _read_allowed(path: str, _stamp: int) -> frozenset[str]:
    with open(path, encoding="utf-8") as file:
        return frozenset(re.findall(r"(?m)^[0-9a-f]{8}\b", file.read()))


def allow(home: Home, fingerprint: str, *, off: bool = False) -> None:
    """Mark the finding with this fingerprint as no secret.

    Args:
        off: mark it as a secret again.

    Raises:
        ValueError: it is not a fingerprint.
    """
    if not re.fullmatch(r"[0-9a-f]{8}", fingerprint):
        raise ValueError(f"{fingerprint!r} is no fingerprint: eight hex digits")
    path = home.ensure().root / _ALLOWED
    lines = set(path.read_text(encoding="utf-8").split()) if path.exists() else set()
    lines = lines - {fingerprint} if off else lines | {fingerprint}
    Home.put(path, "".join(f"{line}\n" for line in sorted(lines)).encode("utf-8"))


def redact(text: str, home: Home) -> tuple[str, list[FoundSecret]]:
    """Replace every secret in *text*. Existing placeholders stay unchanged.

    Returns:
        The clean text, and the findings.
    """
    text = _HALF.sub("\ufffd", text)
    findings = find(text, home)
    if not findings:
        return text, findings
    parts, end = [], 0
    for finding in findings:
        parts += [text[end : finding.start], finding.placeholder]
        end = finding.start + len(finding.secret)
    return "".join([*parts, text[end:]]), findings


def _merged(text: str) -> list[Span]:
    """Spans without overlaps. Overlapping spans are joined under the first one's rule."""
    merged: list[Span] = []
    for start, stop, rule in sorted(_spans(text), key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first = merged[-1]
            merged[-1] = (first[0], max(stop, first[1]), first[2])
        else:
            merged.append((start, stop, rule))
    again: list[Span] = []
    for secret, rule in {
        text[start:stop]: rule
        for start, stop, rule in reversed(merged)
        if stop - start >= _REPEATED
    }.items():
        place = text.find(secret)
        while place >= 0:
            again.append((place, place + len(secret), rule))
            place = text.find(secret, place + len(secret))
    taken = sorted((*again, *merged), key=lambda span: (span[0], -span[1]))
    result: list[Span] = []
    for span in taken:
        if not result or span[0] >= result[-1][1]:
            result.append(span)
    return result


def _spans(text: str) -> Iterator[Span]:
    for match in _GLUED.finditer(
        text
    ):  # anybody can write a placeholder, so text attached to one is checked
        if is_written_secret(match[1]):
            yield *match.span(1), "assigned-secret"
    given = text
    text = _REDACTED.sub(
        lambda match: "\n" * len(match[0]), text
    )  # the same length, and nothing matches across it
    for start, stop, rule in _ours(text):
        # the word before a directive's placeholder is an argument, and no value at the line's end
        if rule != "config-password" or not given.startswith("[REDACTED:", stop + 1):
            yield start, stop, rule
    yield from blocks.packed(text, lambda inside: any(True for _ in _ours(inside)))
    joined, removed = blocks.unwrapped(text)
    if len(removed) > 1:
        yield from _across(joined, removed)
    for secret, rule_id in {secret: rule_id for rule_id, secret in _betterleaks(text)}.items():
        place = text.find(secret)
        while place >= 0:
            yield place, place + len(secret), re.sub(r"[^a-z0-9-]", "-", rule_id.lower())
            place = text.find(secret, place + len(secret)) if len(secret) >= _REPEATED else -1


def _ours(text: str) -> Iterator[Span]:
    lower = text.lower()
    if "private" in lower:
        yield from blocks.private_keys(text)
    yield from blocks.key_pieces(text)
    yield from _tokens(text)
    if "@" in text and _MAY_BE_URL.search(text):
        yield from _urls(text)
    for at in _finders()(text):
        yield from _FINDERS[at][0](text)


#: Functions that find secrets, and a pattern for a part of every text with one. Patterns of many
#: words are left out: together they take more memory than RE2 has.
_FINDERS: tuple[tuple[Callable[[str], Iterator[Span]], str], ...] = (
    (named.values, named.MAY_NAME),
    (prose.clauses, ""),
    (bare.values, ""),
    (cued.values, ""),
    (blocks.cookies, blocks.MAY_HOLD_COOKIES.pattern),
    (blocks.kubernetes, "(?-i:Secret)"),
    (blocks.sections, rf"(?:{blocks.GROUPS})[\"']?(?:\]|[ \t]*[:=])|Key[ \t]{{2,}}Value"),
    (blocks.printed, f"{blocks.ABOVE.pattern}|{blocks.PRINTS.pattern}"),
    (blocks.tables, blocks.MAY_HEAD.pattern),
    (blocks.wallets, ""),
    (
        blocks.phrases,
        rf"pass[ -]?(?:wor|phr)|kennwort|phrase|frase|фраз|-n[ \t:=]{{0,12}}[\"'`“„«]|"
        f"{blocks.ANNOUNCED.pattern}",
    ),
    (blocks.backup_codes, blocks.CODES.pattern),
)


@lru_cache(maxsize=1)
def _finders() -> Callable[[str], list[int]]:
    return linear.any_of(pattern for _, pattern in _FINDERS)


def _is_generated(value: str) -> bool:
    """Whether a value has digits and hardly any words."""
    words = "".join(run for run in _LETTERS.findall(value.lower()) if is_common(run))
    cased = value.lower() != value != value.upper()
    return sum(map(str.isdigit, value)) + cased > 1 and len(words) * 5 < len(value) * 2


def _tokens(text: str) -> Iterator[Span]:
    for at in _words()(text):
        rule, judge = _RULES[at]
        for start, stop in rule.spans(text):
            if judge(rule.name, text[start:stop]):
                yield start, stop, rule.name


#: Every rule with words, and a function that judges a match by the rule's name and the value.
_RULES: tuple[tuple[Rule, Callable[[str, str], bool]], ...] = (
    *((rule, is_token) for rule in (*TOKENS, *PLACES)),
    *((rule, is_in_place) for rule in (*places.LETTERS, *contexts.LETTERS)),
    *(
        (rule, lambda name, value: is_in_place(name, value) and not is_common(value))
        for rule in contexts.COMMANDS
    ),
    *((rule, lambda _, value: is_mixed(value)) for rule in places.MIXED),
    *(
        (rule, lambda _, value: mixed(value) and not (wordy(value) and has_word(value)))
        for rule in contexts.LINKS
    ),
    *((rule, lambda _, value: _is_generated(without_prefix(value))) for rule in PREFIXED),
    *((rule, lambda _, value: len(set(value)) > 5) for rule in (*places.SHAPES, *contexts.SHAPES)),
)


@lru_cache(maxsize=1)
def _words() -> Callable[[str], list[int]]:
    return linear.any_of(rule.words for rule, _ in _RULES)


def _across(joined: str, removed: list[tuple[int, int]]) -> Iterator[Span]:
    """Secrets that appear only after wrapped lines are joined. Each line's part becomes a span."""
    places = [place for place, _ in removed]
    for start, stop, rule in (*_tokens(joined), *named.values(joined)):
        first, last = bisect.bisect_right(places, start), bisect.bisect_left(places, stop)
        if first == last:
            continue
        edges = [start, *places[first:last], stop]
        for here, there in pairwise(edges):
            lost = removed[bisect.bisect_right(places, here) - 1][1]
            yield here + lost, there + lost, rule


def _urls(text: str) -> Iterator[Span]:
    end = 0
    for match in _URL.finditer(text):
        if match.start() < end:
            continue
        place = match.end()
        region = _URL_PASSWORD.match(text, place)
        stop = region.end() if region else place
        for _ in range(_MAX_ATS):
            at = text.find("@", place + 3, stop)
            if at < 0:
                break
            if _HOST.match(text, at + 1):
                value = text[match.end() : at]
                image = text.startswith("sha256:", at + 1)
                if not (
                    is_reference(value)
                    or value.startswith(("{", "%s"))
                    or _PORT.match(value)
                    or image
                ):
                    yield match.end(), at, "url-password"
                end = at
                break
            place = at - 2
    for match in _URL_TOKEN.finditer(text):
        if mixed(match[1]) and not wordy(match[1]):
            yield *match.span(1), "url-token"


def _pieces(text: str) -> Iterator[str]:
    """Split *text* at blanks into pieces that overlap slightly.

    The library's time grows with the square of the number of findings in one piece.
    """
    start = 0
    while len(text) - start > _PIECE:
        cut = max(text.rfind("\n", start, start + _PIECE), text.rfind(" ", start, start + _PIECE))
        stop = cut if cut > start + _PIECE // 2 else start + _PIECE
        yield text[start:stop]
        start = stop - _OVERLAP
    yield text[start:]


@cache
def _room_for_go() -> None:
    """Check that enough address space is free before betterleaks is loaded.

    Its Go runtime ends the process otherwise.

    Raises:
        MemoryError: there is too little. Text that was not scanned is not written.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    used = 0
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    if limit - used < _GO_RESERVES:
        raise MemoryError("the scan for secrets needs 2 GB of address space (ulimit -v)")


def _betterleaks(text: str) -> list[tuple[str, str]]:
    try:
        import betterleaks

        _room_for_go()
    except (ImportError, OSError):  # no wheel for this platform: only our own rules apply
        return []
    findings = []
    for piece in _pieces(_ALLOW.sub("", text)):
        if len(list(islice(named.NAMES.finditer(piece), _MAX_NAMES))) == _MAX_NAMES:
            # each name costs the library milliseconds, and our own rules cover assignments and
            # tokens
            continue
        with contextlib.suppress(betterleaks.BetterleaksError):
            findings += betterleaks.scan_string(piece)
    return [
        (f.rule_id, f.match.value)
        for f in findings
        if not f.rule_id.startswith("generic-") and len(f.match.value) >= 6
    ]
