"""Unusual words and phrases near a cue, such as "password", "sudo" or "recovery code".

A careful reader sees two things: words that speak of access, in any language, and near them a word
that is no word of the sentence. Every such word is a candidate. ``evidence`` decides by its shape,
by the cues before, after and above it with their distance, and by its neighbours.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from math import log2
from operator import add
from typing import Any, NamedTuple

from memsearch_engine.secrets import linear
from memsearch_engine.secrets.evidence import (
    PossibleSecret,
    Span,
    common_words,
    has_word,
    is_common,
    labels,
    secrets_among,
)
from memsearch_engine.secrets.judge import IDENTIFIER, is_grammar, is_ordinary, is_sealed
from memsearch_engine.secrets.prose import FULL_NAMES, OTHER_NAMES

#: What a cue speaks of, and its words. The first three also announce plain words and phrases.
_STRONG = {
    "phrase": r"pass[ -]?phrase|passwort-?satz|wachtwoordzin|phrase (?:secrète|de passe)|"
    r"frase (?:de contraseña|segreta|secreta|semilla)|"
    r"(?:парольн|кодов|секретн)[а-яё]{1,4} фраз[а-яё]{1,4}|lösenfras|パスフレーズ",
    "password": rf"{FULL_NAMES}|{OTHER_NAMES}|\b(?:pw|pwd|mdp|psk|ww|psw|pswd)\b|"
    r"pas+w[a-z]{0,3}[dt]\b|\bmk (?:l[aà]|wifi|c[uủ]a|m[oớ]i)|[ ,;(]mk ?[:=] |"
    r"\bla contra\b|[sš]ifr[aeu]\b|zapork[aeu]|salasõna|парол|رمز|باسورد|sandi\b|nywila|"
    r"parol[aəe]?\b",
    "wifi": r"wi-?fi|\bwlan|wlan\b|\bssid|ssid\b|hotspot|와이파이",
}
_WEAK = {
    "pass": r"\bpass\b|passkey",
    "code": r"\b(?:pin|puk|otp|totp|2fa|mfa|keypad|keycode|pincode|digicode|bitlocker|"
    r"safe|door|gate|alarm)(?:\b|_)|(?:access|recovery|backup|unlock|entry|pairing|activation"
    r"|invite|voucher|rescue|"
    r"emergency|security|auth|share)[ -]?codes?|code (?:d['’eu]|for|to)|c[óo]digo de|codici? di|"
    r"kod[ueyi]? |zugangscode|zugriffscode|wiederherstellungs|код[а-я]{0,2} |tresor|kluis|coffre|"
    r"caja fuerte|cassaforte|sejf|сейф|combination|kombinat|combinación|combinazione|combinaison|"
    r"קוד|كود|门禁|验证码|提取码|恢复码|激活码|コード|코드",
    "wallet": r"\bseed|mnemonic|wallet|metamask|助记词|сид-",
    "token": r"token|jeton|bearer|cookie|session ?id|sessid|jwt|токен|トークン|토큰|令牌|"
    r"webhook|x-api|authorization|signature",
    "secret": r"secret|segret|geheim|sekret|gizli|секрет|秘密|시크릿|hmac|pepper|\bsalt\b",
    "key": r"api\b|\bkeys?\b|_key|[a-z](?-i:Key)|schlüssel|sleutel|nyckel|nøkkel|nøgle|\bclé|"
    r"\bclef|chiave|chave|llave|klucz|klíč|kulcs|anahtar|avai(?:n|me)|khóa|ключ|キー|키|密钥|密鑰|"
    r"licen[cs]e key|credential|creds|\bpriv\b|keystore|identifiants|credenzial|credencial|"
    r"zugangs|zugriff",
    "spelled": r"caps[ -]?lock|(?:all|in) one word|no (?:capitals|spaces|caps)\b|capital [a-z]\b|"
    r"spaces (?:matter|count)|(?:old|new|other) one\b|changed it\b|feststelltaste|"
    r"zusammengeschrieben|großgeschrieben|tout attaché|todo junto|tutto attaccato|aan elkaar|"
    r"слитно|с большой буквы|mayúscula|majuscule|maiuscol",
    "crypt": r"crypt|unlock|entschlüssel|unzip|\bzip|\b7z|\brar\b|\bgpg|\bluks|keepass|vault|"
    r"chiffr|cifrad|szyfr|зашифр|расшифр|\barchive\b",
    "login": r"log-?in|log(?:ged|ging)? in|sign(?:ed|s)?[ -]?in|anmeld|einlogg|logga in|zaloguj|"
    r"inlogg|connecte|connexion|accedi|accès|acceso|acesso|entrar|logir|\b(?:root|sudo|admin"
    r"|superuser|"
    r"ssh|sftp|ftp|rdp|vnc|smtp|imap|idrac|ipmi|bmc|su|PDO|ldap|bind|account|portal|router|vpn)\b|"
    r"mysqli|connect(?:ion)?\(|superadmin|cpanel|\b(?:smtp|imap|ldap)_|логин|зайди|вход|登录|登入"
    r"|ログイン|로그인|账号|帳號|계정|giriş|přihl|auth\b|tài khoản",
}
_MAY_BE_CUE = linear.compile("(?i)" + "|".join((_STRONG | _WEAK).values()))
_CUE = linear.anchored(
    "(?i)" + "|".join(f"(?P<{name}>{words})" for name, words in (_STRONG | _WEAK).items())
)
#: A part of every unusual word; without a strong cue only they are candidates.
_ODD = re.compile(
    r"[0-9][A-Za-z]|[A-Za-z][0-9]|[A-Za-z0-9][!#$%&*+=?@^~]|[0-9]{4}|[0-9][0-9]-[0-9]|_[0-9]"
    r"|[0-9a-f]{5}-|[a-z]{2}[._-](?:[A-Za-z]{2,20}[._-][A-Za-z0-9]|[0-9]{2})|[a-z][A-Z]{2}"
    r"|[\u0080-\uffff][0-9]|\\x[0-9a-f]"
)
_CONTEXT = re.compile(
    r"(?i)(?P<id>\b(?:commit|sha-?\d*|hash|digest|checksum|md5|uuid|id|ids|version|branch|build|"
    r"release|tag|ticket|issue|pr|pod|image|node|container|revision|fingerprint|etag|trace|span|"
    r"request|job|run|order|invoice|deployment|nonce|public|publishable|serial|model|index"
    r"|(?:session|conversation|resume)(?=[ :=\"'(`]{1,3}[0-9a-f]{8}-))\b|"
    r"_id\b|keyid\b|提交|コミット|커밋|коммит)|"
    r"(?P<who>\b(?:user(?:name)?|account|login|benutzer\w*|nutzer|utente|usuario|utilisateur|"
    r"gebruiker|kullanıcı|użytkownik|användare|e-?mail|identifiant)\b|логин|юзер|账号|用户|"
    r"ユーザー名?|아이디|계정)|"
    r"(?P<where>\b(?:host|server|url|domain|file|path|folder|bucket|region|cluster|project|profile|"
    r"database|db|table|field|column|variable|env|function|method|class|package|module|"
    r"library|tests?|ssid|network)\b)|"
    r"(?P<sample>\b(?:example|placeholder|dummy|fake|e\.g\.|such as|like|format|pattern|regex)\b)|"
    r"(?P<old>\b(?:expired|revoked|rotated|invalid|wrong|old|incorrect|missing|failed|error)\b)"
)
_LETTERS = r"A-Za-zÀ-ÖØ-öø-ɏͰ-ϿЀ-ӿ\u0590-\u06ffḀ-ỿ"
_TOKEN = re.compile(rf"[!#-&*+./0-9:=?@\\^_~{_LETTERS}-]{{4,400}}")
_UNUSUAL = re.compile(
    rf"(?=.*[0-9])(?=.*[{_LETTERS}])|[{_LETTERS}0-9][!#$%&*+=?@^~].|\w{{3}}[!#$%&*+?@^~]$|"
    rf"[{_LETTERS}]{{2}}[._-][{_LETTERS}]{{2,20}}[._-]\w\w|\\x"
)
_PLAIN = re.compile("[A-Za-z]?[a-z]{5,40}")
_GIVEN = re.compile(
    r"(?i)(?:\b(?:is|was|are|with|w/|as|ist|war|lautet|mit|est|avec|es|con|è|é|com|met|med|är|er|"
    r"to|on|je|jest|z|answer(?:ed)?|say|use|type|enter|try|nimm|usa|word)|['’]s|[:=→])[ ]"
    r"[\"'`“„«]?$"
)
_GIVEN_WORD = re.compile(
    r"(?i)(?:\b(?:is|was|with|ist|mit|est|con|answer(?:ed)?|word)|[a-z]['’]s|[a-z][:=→])[ ]"
    r"[\"'`“„«]?[a-z]{6}"
)
_SCRAMBLED = re.compile(
    "(?=[A-Za-z]{10,40}$).{0,38}(?:[a-z][A-Z]{1,20}[a-z]{0,20}[A-Z]|[A-Z]{2}[a-z]{1,20}[A-Z]).*"
)
_PARAMETER = re.compile(r"(?<=[?&])[\w.-]{1,20}=(?=[^&\s]{4})")
_NUMBER = re.compile(r"[#*]?\d{4,24}[#*]?|\d{2,4}(?:-\d{2,4}){1,3}|[0-9a-f]{5}-[0-9a-f]{5}")
#: Addresses, options, paths, quantities, variables and files.
_NOTHING = re.compile(
    r"://|^--?[a-z]|^[./~]|^\\(?!x)|^\d+(?:[.:/,-]\d+)*[a-zA-Z%]{0,3}$|^[\w.+-]+@[\w-]+\.[\w.]+$|"
    r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=?$|^\w+=$|^\d{4}-\d\d-\d\dT|arn:|\.(?:com|org|net|io|dev"
    r"|py|js|ts|json|ya?ml|md|txt|"
    r"toml|go|rs|java|php|html|css|sh|conf|cfg|log|lock|pem|crt|example|local|internal)$|"
    r"^[a-z_]+=(?:True|False|None|\d+|[a-z_.]+)$|^&\w+$|^\w+@\$|^[a-z_]+(?:\.[a-z_]+)+$|"
    r"\.(?:tgz|gz|dll|so|a|h|c|cpp|cc|tcl|rb|pc|lua|sql|tsx|vue|svg|png|pdf|csv|xml|exe|bat|kt)"
    r"(?::\d+){0,2}$|\.(?:pub|ppk|jks|kdbx|gpg|asc|p12|pfx|p8|der|csr|cer|sig|ovpn)$|"
    r"^(?i:rfc-?\d+|bzip2|x509|x25519|x448|x11|pkcs-?\d+|secp\d+[rk]\d|u?int\d+|win(?:32|64)|"
    r"base64url|oauth\d|iso-?\d+|amd64|arm64|x86_64)$|"
    r"^id_(?:rsa|dsa|ecdsa|ed25519)\w*$|@@?(?:Base|[A-Z]+_[\d.]+)$|"
    r"(?i:(?:^|[-_])(?:aes|chacha|sha|des|hmac|ecdhe?|rsa|ed|curve|nistp|poly|umac|camellia|blake)"
    r"\d{1,5}(?:$|[-_@]))|^(?:CVE-\d{4}-\d{4,7}|GHSA(?:-[a-z0-9]{4}){3})$|^\w+\+0x[0-9a-f]+$|"
    r"^-?D?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=(?i:true|false|on|off|yes|no|\d{1,2})$|"
    r"^[a-z]{1,20}\d*(?:_+[a-z]{1,20}\d*){2,}$|"
    r"^[\w.-]+/[\w./-]+@v\d[\w.]*$|^[a-z][a-z-]*-\d+(?:\.[\dx]+)+$|^[\w.-]+==[\d.]+$"
)
_TAIL = re.compile(r"[\w.@-]{1,40}[:=/]+(?=[^/:=]{5,200}$)")
#: What is printed before the digest of something, and which value a public key is.
_DIGEST = re.compile(
    r"(?i)(?:\bsha-?\d{1,3}|\bh1|md5|blake\w{0,3}|integrity|fingerprint|etag|"
    r"ssh-\w{2,8}|key ?identifier|certificate[\w-]{0,20}|"
    r"public_?-?key|\bray)[\"' ]{0,2}[:=-][\"' ]{0,2}(?=\S{12})"
)
_PREVIOUS = re.compile(r"([^\W\d_]{1,14}|[^\w\s])[ \t]*[^\w\s]?[\"'`“„«‘「『(\[]?$")
_NEXT = re.compile(r"[\"'`”»’」』)\]]?([^\w\s]?)[ \t]*([^\W\d_]{0,14})")
_WORD = re.compile(r"[^\W\d_]{3,}")
_BLANK = re.compile(r"\s")
_RUN = re.compile(r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]")
_CODE = re.compile(r"[;{}]\s*$|\w\(|\)\s*[:.]|^\s*[\w.]+ = |^\s*[#*/]")
_BEFORE, _AFTER, _ABOVE, _MOST, _STRANGE = 110, 130, 2, 4, 3
_NEAR = (4, 13, 31, 71)  # characters
#: Cues whose secret may look like a commit.
_NAMES = frozenset(f"{name}<" for name in (*_STRONG, "token", "secret", "key", "wallet"))
#: Cues that announce a plain word.
_ANNOUNCE = ("phrase<", "password<", "wifi<", "secret<", "crypt<")
_NUMBERED = frozenset(("code<", "code>", "wifi<"))  # cues whose secret may be a number
_NOTE = re.compile("(mem:|superseded-by:)?[0-9a-f]{4,64}")
_OF_TURN = re.compile("(?:turn:)?[0-9a-f]{8}-[0-9a-f-]{27}")
_HASH = re.compile("(?:0x)?[0-9A-Fa-f]{7,64}|[0-9a-f]{8}-[0-9a-f-]{27}")
_FOR = re.compile(r" (?:for|of|from|für|pour|para|de|per) [^.,;:\n]{1,50}[:=] ?[\"'`]?$")
_CLOSING = ('"', "'", "`", "”", "»")
_COMMIT = re.compile("(?=.*[a-f])(?:[0-9a-f]{7,12}|[0-9a-f]{40}|[0-9a-f]{64})")
_SENTENCE = re.compile(r"[.!?]\s")
_ISSUE = re.compile(r"(?:[a-z][\w.-]*(?:/[\w.-]+)?)?#\d{1,6}")
_QUOTES = "\"'`“”„«»‘’「」『』"
_HASHES = (7, 8, 32, 40, 64)


class Cue(NamedTuple):
    """A cue, and what it speaks of."""

    start: int
    stop: int
    name: str


class _WindowContext:
    """What the words in a part of a text are about. It is searched at its first use."""

    def __init__(self, *part: Any) -> None:
        self._part = part

    @cached_property
    def _cues(self) -> list[Cue]:
        text, begin, end = self._part
        return [
            Cue(*one.span(), one.lastgroup or "") for one in _CONTEXT.finditer(text, begin, end)
        ]

    def around(self, start: int, stop: int, line: tuple[int, int]) -> Iterator[str]:
        """Yield what the words directly around a value are about."""
        first = bisect_left(self._cues, (max(line[0], start - 40),))
        for begin, end, name in islice(self._cues, first, None):
            if begin >= stop + 30:
                return
            if end <= start:
                yield f"{name}<{min(_bucket(start - end), 2)}"
            elif stop <= begin < line[1]:
                yield f"{name}>"


def values(text: str) -> Iterator[Span]:
    """Find unusual words and phrases near a cue that are secrets."""
    yield from secrets_among(candidates(text), text)


def candidates(text: str) -> Iterator[PossibleSecret]:
    """Yield the unusual words and the phrases near each cue."""
    cues = []
    for cue in _MAY_BE_CUE.finditer(text):
        start, stop = cue.span()
        name = _name(text[max(start - 1, 0) : stop + 1], min(start, 1))
        cues.append(Cue(start, stop, name))
    yield from _phrases(text, cues)
    yield from _pairs_of(text, cues)
    for begin, end, strong in _windows(text, cues):
        if not (strong or _ODD.search(text, begin, end) or _GIVEN_WORD.search(text, begin, end)):
            continue
        words = [word for token in _TOKEN.finditer(text, begin, end) for word in _words(token)]
        if not words:
            continue
        context = _WindowContext(text, begin, end)
        for start, value in words:
            yield from _judged(text, start, value, cues, context, len(words))


@lru_cache(maxsize=4096)
def _name(part: str, start: int) -> str:
    """Return what the cue at the end of a part of a text speaks of. Cues recur."""
    match = _CUE.match(part, start)
    return (match.lastgroup if match else None) or "key"


def _windows(text: str, cues: list[Cue]) -> Iterator[tuple[int, int, bool]]:
    """Join the surroundings of cues: the line before each, and the lines below.

    The last item tells whether one of the cues is strong.
    """
    begin, end, strong = -1, -1, False
    for cue in cues:
        least, most = cue.start - _BEFORE, min(len(text), cue.stop + _AFTER)
        first = max(text.rfind("\n", max(least, 0), cue.start) + 1, max(least, 0))
        if first and not text[first - 1].isspace():
            earliest = max(first - _AFTER, 0)
            first = text.rfind(" ", earliest, first) + 1 or earliest
        blank_after = _BLANK.search(text, most, most + _LONGEST)
        last = blank_after.start() if blank_after else min(len(text), most + _LONGEST)
        if begin >= 0 and first > end:
            yield begin, end, strong
            begin, strong = -1, False
        begin = first if begin < 0 else begin
        end, strong = max(end, last), strong or cue.name in _STRONG
    if begin >= 0:
        yield begin, end, strong


def _words(token: re.Match[str]) -> Iterator[tuple[int, str]]:
    """Yield a word, and what follows a name, a user or a program in it."""
    text, place = token.string, token.start()
    value, found = _unusual_parts(
        token[0],
        text[place - 1 : place] in ("[", "{"),
        text[token.end() : token.end() + 1] in _CLOSING,
    )
    if found and not (
        _is_citation(text, place, value)
        or is_sealed(text, place)
        or _DIGEST.search(text, max(0, place - 16), place + 40)
    ):
        yield from ((place + at, part) for at, part in found)


@lru_cache(maxsize=4096)
def _unusual_parts(
    token: str, is_changed: bool, is_closed: bool
) -> tuple[str, tuple[tuple[int, str], ...]]:
    """Return the word in a token, and its unusual parts with their places. Most tokens recur.

    Args:
        is_changed: a bracket precedes it, as before a changed word of a diff.
        is_closed: a quote follows it.
    """
    value = token.rstrip(".:*…\\").lstrip("*:=")
    if is_changed:
        value = value.strip("-+")
    if not is_closed and not any(map(str.isdigit, value)):
        value = value.rstrip("?")
    start = token.find(value)
    tail = None if value.isalnum() else _TAIL.match(value)
    cuts = (0, tail.end()) if tail else (0,)
    parts = [(cut, value[cut:]) for cut in cuts]
    if "&" in value and "=" in value:
        ends = (one.end() for one in _PARAMETER.finditer(value))
        parts += [(end, value[end:].partition("&")[0]) for end in ends]
    return value, tuple((start + cut, part) for cut, part in parts if _is_unusual(part))


def _is_citation(text: str, place: int, value: str) -> bool:
    """Whether a word is the id of a note, as in ``[mem:ID, ID]``, or one in a note's anchor."""
    anchor = text.rfind("\n<!-- session:", max(0, place - _LONGEST), place) + 1
    if anchor and _OF_TURN.fullmatch(value) and text.find("\n", anchor, place) < 0:
        return True
    if not (match := _NOTE.fullmatch(value)):
        return False
    opening = max(text.rfind("[", max(0, place - _LONGEST), place), 0)
    listed = text.startswith("[mem:", opening) and text.find("]", opening, place) < 0
    return bool(match[1]) or listed or text.endswith("entry ", 0, place)


_SHORTEST, _LONGEST = 4, 300


def _is_unusual(value: str) -> bool:
    """Whether a word has a mark, is a number, or has letters unlike those of any language."""
    if value.isalpha():
        plain = _PLAIN.fullmatch(value) and (surprise(value) > _STRANGE or not is_common(value))
        return bool(plain) or bool(_SCRAMBLED.fullmatch(value) and not has_word(value))
    if not _SHORTEST < len(value) <= _LONGEST or IDENTIFIER.match(value):
        return bool(_NUMBER.fullmatch(value))
    return bool(_NUMBER.fullmatch(value) or (_UNUSUAL.search(value) and not _NOTHING.search(value)))


def _judged(
    text: str, start: int, value: str, cues: list[Cue], context: _WindowContext, count: int
) -> Iterator[PossibleSecret]:
    """Yield a word with its evidence, if it is a candidate at all."""
    stop = start + len(value)
    plain = bool(_PLAIN.fullmatch(value))
    given = plain and _GIVEN.search(text, max(0, start - 16), start)
    if plain and not given and surprise(value) <= _STRANGE:
        return
    first = text.rfind("\n", max(0, start - 400), start) + 1 or max(0, start - 400)
    last = text.find("\n", stop, stop + 400)
    line = (first, last if last >= 0 else min(len(text), stop + 400))
    seen = _cues_of(text, start, stop, cues, line)
    near = 99 if not given else 30
    if not seen or (plain and all(seen.get(cue, 99) >= near for cue in _ANNOUNCE)):
        return
    if _NUMBER.fullmatch(value) and not _NUMBERED & seen.keys():
        return
    alone = not (text[first:start] + text[stop : line[1]]).strip(_QUOTES + " \t")
    if _is_reference(text, start, stop, seen, alone):
        return
    beside = list(context.around(start, stop, line))
    if (
        _HASH.fullmatch(value)
        and {"id<0", "id<1", "id<2", "id>"}.intersection(beside)
        and not ("secret<" in seen and _FOR.search(text, max(first, start - 64), start))
    ):
        return
    nearest = min(
        seen, key=lambda cue: seen[cue] + 15 * (">" in cue) + 75 * ("^" in cue), default="none"
    )
    around = [
        f"{nearest}{_bucket(seen.get(nearest, 0))}",
        *(f"{cue}{_bucket(gap)}" for cue, gap in seen.items()),
        *_neighbours(text, start, stop, line),
        *beside,
        *details(value),
        f"of {min(count, _MOST)}",
    ]
    link = "given" if given else "plain" if plain else "cued"
    yield PossibleSecret(start, stop, "likely-secret", nearest[:-1], link, around)


def _is_reference(text: str, start: int, stop: int, seen: dict[str, int], alone: bool) -> bool:
    """Whether a value is an issue in brackets, or a commit in a line without a name before it."""
    if _ISSUE.fullmatch(text, start, stop):
        return text[start - 1 : start] == "(" and text[stop : stop + 1] in (")", ",")
    if alone or not _COMMIT.fullmatch(text, start, stop):
        return False
    gaps = [gap for cue, gap in seen.items() if cue in _NAMES or (cue, gap) == ("login<", 1)]
    return not gaps or bool(_SENTENCE.search(text, start - min(gaps), start))


def _usual(text: str, start: int, stop: int, line: tuple[int, int]) -> int:
    """Return how many of the words around a value are common, in quarters."""
    first, last = line
    around = f"{text[max(first, start - 120) : start]} {text[stop : min(last, stop + 120)]}"
    words = _WORD.findall(around)
    known = sum(len(word) == 3 or word.lower() in common_words() for word in words)
    return known * _MOST // max(len(words), 1)


def _bucket(distance: int) -> int:
    return bisect_right(_NEAR, distance)


def _cues_of(
    text: str, start: int, stop: int, cues: list[Cue], line: tuple[int, int]
) -> dict[str, int]:
    """Return the distance of the nearest cue of each kind before "<", after ">" and above "^"."""
    seen: dict[str, int] = {}
    at = bisect_right(cues, (start,))
    for cue in reversed(cues[max(0, at - 12) : at]):
        if cue.stop > start:
            continue
        if cue.start >= line[0]:
            seen.setdefault(f"{cue.name}<", start - cue.stop)
        elif text.count("\n", cue.stop, start) <= _ABOVE:
            seen.setdefault(f"{cue.name}^", 0)
    for cue in cues[at : at + 8]:
        if stop <= cue.start < line[1]:
            seen.setdefault(f"{cue.name}>", cue.start - stop)
    return seen


def _neighbours(text: str, start: int, stop: int, line: tuple[int, int]) -> Iterator[str]:
    """Yield labels of the words and characters beside a value, and of its line."""
    first, last = line
    before, after = text[start - 1 : start], text[stop : stop + 1]
    previous = _PREVIOUS.search(text, max(first, start - 24), start)
    yield f"prev {previous[1].lower()}" if previous else "first"
    if following := _NEXT.match(text, stop, last):
        yield from (f"then {word.lower()}" for word in following.groups() if word)
    if not text[stop:last].strip(" .,;:!?)\"'`”»」』"):
        yield "last"
    for char, side in ((before, "pre"), (after, "post")):
        if char and not char.isspace():
            yield f"{side} {'letter' if char.isalnum() or not char.isascii() else char}"
    if before and after and before in _QUOTES and after in _QUOTES:
        yield "quoted"
    yield f"usual {_usual(text, start, stop, line)}"
    words = _WORD.findall(text[first:start] + " " + text[stop:last])
    code = _CODE.search(text[first:last])
    yield "code" if code else "alone" if not words else "prose" if len(words) > 5 else "short"


@lru_cache(maxsize=4096)
def details(value: str) -> tuple[str, ...]:
    """Return labels of the characters and the words of a value."""
    runs = [
        run.lower() for run in re.findall(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}|[^\W\d_a-zA-Z]{3,}", value)
    ]
    known = sum(run in common_words() for run in runs)
    digits, plain = any(map(str.isdigit, value)), value.isalnum()
    cased = value.lower() != value != value.upper()
    kinds = "".join(
        "A" if run[0].isupper() else "a" if run[0].isalpha() else "9" if run[0].isdigit() else run
        for run in _RUN.findall(value)
    )
    words = "no" if not runs else "all" if known == len(runs) else "some" if known else "odd"
    number = re.search(r"\d+[!#%&*?$@]*$", value)
    symbols = len(re.findall(r"[!#$%&*+?@^~=]", value))
    hexadecimal = re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value)
    return (
        f"skeleton {kinds if len(kinds) <= 10 else 'long'}",
        f"kinds {cased + digits + (not plain)}",
        f"words {words} {min(len(runs), _MOST)}",
        f"surprise {surprise(max(runs, key=len)) if runs else 'none'}",
        f"ends {min(len(number[0]), 5) if number else 0}",
        f"symbols {min(symbols, 3)}",
        *((f"hex {len(value) if len(value) in _HASHES else 'other'}",) if hexadecimal else ()),
        *labels(
            inside=re.search(r"[a-zA-Z]\d+[a-zA-Z]", value), symbol_last=value[-1] in "!#%&*?$@+"
        ),
    )


@lru_cache(maxsize=1)
def _pairs() -> dict[str, float]:
    """Return the bits of information of each pair of letters in common words."""
    letters = f"^{'$^'.join(common_words())}$"
    count = Counter(map(add, letters, letters[1:]))
    del count["$^"]
    total = count.total()
    return {pair: -log2(number / total) for pair, number in count.items()}


@lru_cache(maxsize=4096)
def surprise(word: str) -> int:
    """Return how unlike words the letters of a word are, from 0 to 7."""
    bits = [_pairs().get(a + b, 16.0) for a, b in pairwise(f"^{word.lower()}$")]
    return max(0, min(7, int(sum(bits) / len(bits) - 6.0)))


# -- a user and a password, both of letters
_PAIR = re.compile(
    r"(?<![\w@./:-])[\"'`(]?(?P<user>[\w.+-]{2,40}(?P<mail>@[\w-]{1,40}(?:\.[\w-]{1,20}){0,3})?)"
    r"[\"'`]?(?P<joint>[ ]?[/:|,][ ]?|[ ](?:and|und|et|y|e|en|i|och|og|with|mit|->)[ ]|[ ])"
    r"[\"'`]?(?P<value>[A-Za-z][a-z]{4,39})(?![\w@./:-]\w|[(\[=])"
)
_USERS = re.compile(r"(?i)admin\w*|root|user\w*|guest|postgres|elastic|test\w*|demo|pi|ubuntu|sa")
_MOST_PAIRS = 6


def _user(name: str) -> str:
    if _USERS.fullmatch(name):
        return "known"
    return "common" if is_common(name) else "other"


def _pairs_of(text: str, cues: list[Cue]) -> Iterator[PossibleSecret]:
    """Yield the second of two words near a cue of a login, if it is no common word."""
    end = 0
    for cue in cues:
        if cue.name not in _STRONG and cue.name != "login":
            continue
        first = max(text.rfind("\n", 0, cue.start) + 1, cue.start - 60, end)
        last = text.find("\n", cue.stop, cue.stop + 90)
        line = (first, last if last >= 0 else min(len(text), cue.stop + 90))
        for pair in islice(_PAIR.finditer(text, *line), _MOST_PAIRS):
            start, end = pair.span("value")
            user = "mail" if pair["mail"] else _user(pair["user"])
            joint = pair["joint"].strip()
            if is_common(pair["value"]) or (user in ("other", "common") and not joint):
                continue
            around = [
                joint,
                f"user {user}",
                f"user {user} {joint}",
                f"gap {_bucket(abs(start - cue.stop))} {start > cue.stop}",
                *_neighbours(text, start, end, line),
                *details(pair["value"]),
            ]
            yield PossibleSecret(start, end, "user-password", cue.name, "pair", around)


# -- phrases
_LEADS = re.compile(
    r"(?i)[ ](?:is|was|are|ist|war|lautet|est|c['’]est|es|era|è|é|er|är|on|to|jest|je|brzmi|luidt|"
    r"vale|this|these|type|enter|use|(?:just )?give it|with|as|come|como|comme|als|mit|avec|"
    r"con|med|w/|answer|это|такой|такая)(?= )|[:=→：—–]|->"
)
_FILLER = re.compile(
    r"[ ]{0,2}(?:(?:now|still|just|simply|literally|currently|jetzt|noch|einfach|gewoon|nu|"
    r"maintenant|simplement|toujours|ahora|simplemente|ora|adesso|semplicemente|agora|teraz|"
    r"теперь|просто|the|words?|(?:three|four|five|six|seven) words[,:]?)[ ]){0,2}"
    r"[\"'`“„«‘「『»]?[ ]?"
)
_PART = r"[^\W\d_]+(?:['’][^\W\d_]+)?"
_PHRASE = re.compile(rf"{_PART}(?:[ -](?:{_PART}|\d{{1,4}})){{1,8}}")
_AND = re.compile(
    r"[ ](?:and|but|so|then|please|und|aber|bitte|et|mais|y|pero|e|ma|en|maar|og|och|i|ale|и|но|a|"
    r"to|for|für|pour|para|per|voor|when|if|on|at)(?= )"
)
_AS = re.compile(r"(?i)\b(?:as|als|come|como|comme|jako|som)(?: (?:the|das|de|het|la|el|il|a))? $")
_CASED = re.compile(r"[A-Za-zÀ-ÖØ-öø-ɏͰ-ϿЀ-ӿḀ-ỿ]")
_WITH = frozenset(("with", "w/", "mit", "avec", "con", "med", "answer", "type", "enter"))
_END = re.compile("[.,:;!?)\n]")
_REACH, _SHORTEST_PHRASE = 70, 8


def _phrases(text: str, cues: list[Cue]) -> Iterator[PossibleSecret]:
    """Yield the words after a name of a password, up to a mark or a conjunction."""
    wifi = -_REACH
    for cue in cues:
        opens = cue.name == "crypt"
        wifi = cue.stop if cue.name == "wifi" else wifi
        is_near = cue.start - wifi < _REACH and "\n" not in text[wifi : cue.start]
        if cue.name not in _STRONG and not opens and not (cue.name == "key" and is_near):
            continue
        stop = text.find("\n", cue.stop, cue.stop + _REACH)
        stop = min(len(text), cue.stop + _REACH) if stop < 0 else stop
        direct = cue.name == "phrase" or _AS.search(text, max(0, cue.start - 16), cue.start)
        leads = [
            (one.end(), one[0].strip().lower()) for one in _LEADS.finditer(text, cue.stop, stop)
        ]
        for place, lead in [(cue.stop, "direct")] * bool(direct) + leads[:5]:
            if opens and (lead not in _WITH or _END.search(text, cue.stop, place)):
                continue
            filler = _FILLER.match(text, place)
            begin = filler.end() if filler else place
            words = _PHRASE.match(text, begin)
            if not words or not _CASED.match(words[0]) or (begin == place and lead == "direct"):
                continue
            yield from _ends(text, words, cue, lead, place)


def _ends(
    text: str, words: re.Match[str], cue: Cue, lead: str, place: int
) -> Iterator[PossibleSecret]:
    """Yield a phrase, and its parts before the first conjunctions."""
    start = words.start()
    quoted = bool(set(text[place:start]) & set(_QUOTES))
    ends = (
        [] if quoted else [one.start() for one in _AND.finditer(text, start + 5, words.end())][:2]
    )
    for stop in (words.end(), *ends):
        parts = re.split("[ -]", text[start:stop].lower())
        if len(parts) < 2 or stop - start < _SHORTEST_PHRASE:
            continue
        mark = text[stop : stop + 1]
        around = [
            f"{lead} {quoted}",
            f"gap {_bucket(place - cue.stop)}",
            f"count {len(parts)}",
            f"mark {'line' if mark in ('', chr(10)) else mark}",
            f"grammar {min(sum(map(is_grammar, parts)), 3)}",
            f"odd {min(sum(len(one) > 3 and one not in common_words() for one in parts), 3)}",
            f"brief {min(sum(len(one) < 4 for one in parts), 3)}",
            f"ordinary {min(sum(map(is_ordinary, parts)), 2)}",
            *labels(quoted=quoted, lower=text[start:stop].islower(), hyphens="-" in words[0]),
        ]
        yield PossibleSecret(start, stop, "passphrase", cue.name, "phrase", around)
