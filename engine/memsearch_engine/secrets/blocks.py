"""Secrets of several words or lines: keys, tables, wallets' word lists, files in base64.

All patterns work line by line or over bounded stretches, so the time is linear in the text. Each
finder yields (start, stop, rule) and is independent of the others.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import takewhile

from memsearch_engine.secrets import linear
from memsearch_engine.secrets.judge import (
    SYMBOLS,
    is_certain,
    is_chosen,
    is_mixed,
    is_reference,
    is_written_secret,
    mixed,
    wordy,
)

Span = tuple[int, int, str]

# -- private keys: the header, then only lines that look like key data, so that prose after a
# truncated key is not replaced
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(
    r"(?:\r?\n|\\+n|[ \t>+|\d\"'(-]){0,24}?-----END [A-Z0-9 ]{0,30}KEY(?: BLOCK)?-----"
)
_KEY_LINE = re.compile(
    r"(?:\\r|\\\\r)?(?:\r?\n|\\+n)?[ \t>+\-|0-9\"'(]{0,16}(?:(?:Proc-Type|"
    r"DEK-Info|Version|Comment|Hash): ?[^\n\\]{1,80}|"
    r"[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{1,80}={1,2}|"
    r"=[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{1,16}(?=\s*$)|)"
    r"(?:\\+n)?[\"',)]{0,3}(?=\r?\n|\\|-----|$|[ ,\"'])",
    re.M,
)
_SHORT_KEY = re.compile(r"[A-Za-z0-9+/=\s]{4,200}-----END [A-Z0-9 ]{0,30}KEY-----")
_PUTTY_KEY = re.compile(r"Private-Lines: \d+\r?\n((?:[A-Za-z0-9+/=]{1,80}\r?\n?)+)")
_ENDING = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY")
_LEAD = r"(?:.{0,200}[\"'`])?[ \t>+|-]{0,8}(?:\d{1,6}[ \t:|]{1,4})?"
_BODY_LINE = re.compile(_LEAD + r"([A-Za-z0-9+/]{64,76}={0,2})[ \t]*[\"'`,)\]}]{0,4}\r?")
_LAST_LINE = re.compile(_LEAD + r"([A-Za-z0-9+/]{1,76}={0,2})[ \t]*[\"'`,)\]}]{0,4}\r?")
_LINE_END = re.compile(r"\n|\\n|\Z")
_WIDE = linear.compile(r"[A-Za-z0-9+/]{64}")
_MIN_KEY = 24
_MIDDLE_LINES, _MIDDLE_WIDTH = 4, 64  # the width of PEM lines; mail wraps at 76


def private_keys(text: str) -> Iterator[Span]:
    """Private keys from their header on.

    Keys without a header are found by their end, and the middle of a key by its lines.
    """
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
            count = len(re.sub(r"[^A-Za-z0-9+/=]", "", line[0]))
            body += count if count >= _MIN_KEY else 0
            place = line.end()
        if body >= _MIN_KEY:
            yield begin.start(), place, "pem-private-key"
    for match in _PUTTY_KEY.finditer(text):
        yield *match.span(1), "pem-private-key"


def key_pieces(text: str) -> Iterator[Span]:
    """Find runs of lines with the width of PEM, before a private key's end or without its marks."""
    if not _WIDE.search(text):
        return
    run: list[tuple[int, int]] = []
    public = armored = False  # below a header of something that is not secret
    place = 0
    for end in _LINE_END.finditer(text):
        start, line, place = place, text[place : end.start()], end.end()
        if "-----BEGIN" in line:
            public = armored = "PRIVATE KEY" not in line
        elif "-----END" in line:
            armored = False
        elif "base64" in line.lower() or "data:" in line:
            public = True  # an attachment or a picture
        elif not line.strip() and run:
            public = armored
        whole = _BODY_LINE.fullmatch(line)
        if whole:
            run.append((start + whole.start(1), start + whole.end(1)))
            continue
        yield from _piece(text, run, line, start, public)
        run = []
    yield from _piece(text, run, "", len(text), public)


def _piece(
    text: str, run: list[tuple[int, int]], after: str, start: int, public: bool
) -> Iterator[Span]:
    if not run or public:
        return
    last = _LAST_LINE.fullmatch(after)
    following = (
        text[start : start + len(after) + 80]
        if last is None
        else text[start + len(after) + 1 :][:80]
    )
    ended = len(run) >= 2 and _ENDING.search(following.split("\n", 1)[0])
    wide = sum(stop - first == _MIDDLE_WIDTH for first, stop in run)
    if ended or (wide >= _MIDDLE_LINES and _random("".join(text[a:b] for a, b in run[:4]))):
        for first, stop in run:
            yield first, stop, "pem-private-key"
        if last:
            yield start + last.start(1), start + last.end(1), "pem-private-key"


def _random(packed: str) -> bool:
    """Whether base64 decodes to random-looking bytes: no text, no picture."""
    try:
        data = base64.b64decode(packed[: len(packed) // 4 * 4])
    except (binascii.Error, ValueError):
        return False
    printable = sum(32 <= byte < 127 or byte in (9, 10, 13) for byte in data)
    return printable < len(data) * 0.6 and not data.startswith(
        (b"\x89PNG", b"\xff\xd8", b"GIF8", b"PK", b"\x1f\x8b")
    )


# -- Kubernetes' Secret: everything under data
_SECRET_KIND = re.compile(r"(?m)^[ \t]*\"?kind\"?:[ \t]*\"?Secret\"?[ \t]*,?$")
_SECRET_DATA = re.compile(
    r"(?m)^([ \t]*)\"?(?:data|stringData)\"?:(?:[ \t]*\{)?[ \t]*\n((?:\1[ \t]+\S.*(?:\n|$))+)"
)
_SECRET_VALUE = re.compile(r"(?m)^[ \t]+\"?[\w.-]+\"?:[ \t]*\"?([^\s\"{}$<]{4,})\"?")


def kubernetes(text: str) -> Iterator[Span]:
    """Values under ``data`` and ``stringData`` of a Kubernetes Secret."""
    if "Secret" in text and _SECRET_KIND.search(text):
        for data in _SECRET_DATA.finditer(text):
            for value in _SECRET_VALUE.finditer(data[2]):
                yield data.start(2) + value.start(1), data.start(2) + value.end(1), "k8s-secret"


# -- sections whose entries are secrets: [admins] of an INI file, "passwords:" of YAML
GROUPS = "admins|users|passwords|passwd|secrets|credentials?|tokens|api_?keys|logins|accounts"
_SECTION = linear.compile(
    rf"(?im)^(?P<indent>[ \t]*)(?:\[[\"']?(?:[\w .-]{{1,40}}[. _-])?(?P<ini>{GROUPS})[\"']?\]|"
    rf"[\"']?(?:[\w.-]{{1,40}}[._-])?(?:{GROUPS})[\"']?[ \t]*[:=](?:[ \t]*\{{)?|"
    r"(?P<cells>Key[ \t]{2,}Value[ \t]*\n-+[ \t]+-+))[ \t]*(?:[#;].*)?\n"
)
_ENTRY = re.compile(
    r"([ \t]*)[\"']?[\w.@/-]+[\"']?[ \t]*[:=][ \t]*[\"']?([^\s\"']{6,200})[\"']?,?[ "
    r"\t]*(?:[#;].*)?(?:\n|$)"
)
#: A row of what Vault prints.
_ROW_OF_TWO = re.compile(r"([ \t]*)[\w.@/-]+[ \t]{2,}([^\s\"']{1,200})[ \t]*(?:\n|$)")


def sections(text: str) -> Iterator[Span]:
    """Values of the entries directly below a heading such as ``[admins]`` or ``passwords:``."""
    for heading in _SECTION.finditer(text):
        place, cells = heading.end(), heading["cells"]
        if cells and not ABOVE.search(text[max(0, place - 200) : place]):
            continue
        while entry := (_ROW_OF_TWO if cells else _ENTRY).match(text, place):
            if not (heading["ini"] or cells) and len(entry[1]) <= len(heading["indent"]):
                break
            if is_mixed(entry[2]) or (cells and _PRINTED.fullmatch(entry[2]) and mixed(entry[2])):
                yield *entry.span(2), "config-password"
            place = entry.end()


# -- the only word of a line, below a line that names it or a command that prints it
_ALONE = linear.compile(
    r"(?im)^[ \t>|*-]{0,8}(?:(?:=>|Out\[\d+\]:|\$\d+ =(?: 0x[0-9a-f]+)?|(?:(?:new|generated|its|"
    r"your|"
    r"temporary|initial|the) )?(?:value|password|secret|token|key):)[ \t]{1,4})?"
    r"[\"'`]?([^\s\"'`<>|,]{8,200})[\"'`]?[ \t\r]*$"
)
ABOVE = linear.compile(
    r"(?i)passw|pwd|passphrase|secret|token|credential|cookie|login|"
    r"\b(?:auth|creds|pass|user)[\w-]{0,12}\.(?:txt|conf|cfg|list)\b|(?:api|access|auth|master|"
    r"private|"
    r"activation|license|recovery|encryption|signing|shared)[ _-]?(?:key|code)s?|"
    r"\b(?:pass show|op (?:read|item)|secret-tool|get-parameter|versions access)\b"
)
PRINTS = linear.compile(
    r"(?i)(?:passw(?:or)?ds?|secrets?|tokens?|api_?key|_key|authkeys?|credentials?|cookie|"
    r"secret_key_base)\b|(?:master|private|secret|access)\.?-?key|rand -(?:hex|base64)|pwgen|"
    r"urandom|genkey|genpsk|token_hex|token_urlsafe|uuidgen"
)
_SUM = re.compile(r"(?i)-----|sha\d*sum|md5|digest|commit|git log|checksum|fingerprint")
_MARKED = re.compile(rf"[\d{SYMBOLS}]")
_PRINTED = re.compile(r"[A-Za-z0-9+/_.-]{16,200}={0,2}")


def printed(text: str) -> Iterator[Span]:
    """Words alone in a line, below a line that names a secret."""
    for match in _ALONE.finditer(text) if ABOVE.search(text) or PRINTS.search(text) else ():
        value = match[1]
        if not _MARKED.search(value):
            continue
        above = text[max(0, match.start() - 400) : match.start()].rstrip("\n").split("\n")[-2:]
        known = _PRINTED.fullmatch(value) and mixed(value) and PRINTS.search(above[-1])
        if (known or (is_mixed(value) and ABOVE.search("\n".join(above)))) and not (
            _SUM.search(above[-1]) or is_reference(value)
        ):
            yield *match.span(1), "prompt-password"


# -- cookies: in headers and in the jar of a program
_COOKIES = re.compile(
    r"(?i)(?:\bcookies?\b[\"']?(?:\s?[:=]|\s)|\s(?:-b|--cookie)[ =]|"
    r"document\.cookie|_session=)[^\n]{0,4000}"
)
_COOKIE = re.compile(r"([\w.%-]{1,80})[\"']?(?:=|[\"']:\s?[\"'])([^;\s\"',]{16,4000})")
MAY_HOLD_COOKIES = linear.compile(r"(?i)cookie|\s-b[ =]|_session=")
_COOKIE_NAME = re.compile(
    r"(?i)sess|sid$|auth|token|log(?:ged|in)|remember|identity|jwt|cookies$|ticket|secure"
)


def cookies(text: str) -> Iterator[Span]:
    """Values of session cookies."""
    for line in _COOKIES.finditer(text) if MAY_HOLD_COOKIES.search(text) else ():
        for match in _COOKIE.finditer(text, *line.span()):
            if (
                (_COOKIE_NAME.search(match[1]) or (len(match[2]) >= 32 and not wordy(match[2])))
                and mixed(match[2])
                and not is_reference(match[2])
                and not _CODE.search(match[2])
            ):
                yield *match.span(2), "cookie"


_CODE = re.compile(r"[({]|_id$|\.\w+\(")


# -- tables: columns with a heading for secrets
_HEADING = re.compile(
    r"(?i)^[*`\"' ]*(?:[\w ]{0,20}[ _-])?(?:pass(?:word|wort|phrase|code)?s?|"
    r"passwd|pwd|kennwort|secret(?:[ _-]?key)?|api[ _-]?key|token|contraseña|clave|"
    r"mot de passe|senha|пароль|密码|密碼|口令|パスワード|비밀번호)(?: ?\([^)]*\))?[*`\"' ]*$"
)
#: A part of every text with such a heading or row.
MAY_HEAD = linear.compile(
    r"(?im)(?:pass(?:word|wort|phrase|code)?s?|passwd|pwd|kennwort|"
    r"secret(?:[ _-]?key)?|api[ _-]?key|token|contraseña|clave|mot de passe|senha|"
    r"passwort|_pw|пароль|密码|密碼|口令|パスワード|"
    r"비밀번호)(?: ?\([^)]*\))?[*`\"' ]{0,8}[ \t\r]*(?:$|[|│┃║\t,;]|  )"
)
_RULE_LINE = re.compile(r"[\s|+:=\-─━┄│┃├┤┼┬┴┌┐└┘║╠╣╬═]+$")
_SEPARATORS = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        ("|", r"\|+"),
        ("│", "│"),
        ("┃", "┃"),
        ("║", "║"),
        ("\t", r"\t"),
        ("  ", r"[ ]{2,}"),
        (",", ","),
        (";", ";"),
    )
)
_NO_TABLE = re.compile(r"(?!)")
_MAX_WIDTH = 400
_USER_HEADING = re.compile(
    r"(?i)^[*`\"' ]*(?:user(?:[ _-]?name)?|login|account|e-?mail|"
    r"benutzer(?:name)?|utilisateur|usuario|utente|gebruiker|użytkownik|användare|"
    r"kullanıcı|usuário|пользователь|логин|用户名?|账号|ユーザー名?|아이디|사용자)[*`\"' ]*$"
)
_NAMED_ROW = re.compile(
    r"[ \t]*\|[ \t]*[*`\"']{0,3}[\w .-]{0,40}(?i:passw(?:or[dt])|passwd|passphrase|"
    r"_pass|_pw|kennwort|secret|token|api[_ -]?key|密码|パスワード|비밀번호|пароль)"
    r"[*`\"']{0,3}[ \t]*\|[ \t]*[*`\"']{0,3}([^\s|`*\"']{6,100})[*`\"']{0,3}[ \t]*\|"
)


def tables(text: str) -> Iterator[Span]:
    """Find cells below a heading for secrets.

    The table may be markdown, drawn, or separated by tabs, blanks or commas.
    """
    if not MAY_HEAD.search(text):
        return
    columns: set[int] = set()  # columns of the current table; empty outside of a table
    splitter, width, users = _NO_TABLE, 0, False
    place = 0
    for line in text.split("\n"):
        if len(line) > _MAX_WIDTH or not line.strip():
            columns = set()
        elif columns and not _RULE_LINE.match(line):
            edges = [
                0,
                *(edge for match in splitter.finditer(line) for edge in match.span()),
                len(line),
            ]
            if len(edges) // 2 != width:
                columns = set()
            for index in columns:
                value = line[edges[2 * index] : edges[2 * index + 1]].strip(" \t\r*`\"'")
                if is_written_secret(value) or (
                    users and (is_chosen(value) or is_certain(value) > value.isalpha())
                ):
                    start = place + line.index(value, edges[2 * index])
                    yield start, start + len(value), "table-secret"
        if (
            len(line) <= _MAX_WIDTH
            and line.count("|") >= 2
            and (cell := _NAMED_ROW.match(line))
            and is_mixed(cell[1])
        ):
            yield place + cell.start(1), place + cell.end(1), "table-secret"
        if not columns and len(line) <= _MAX_WIDTH:
            splitter = next((pattern for sign, pattern in _SEPARATORS if sign in line), _NO_TABLE)
            cells = splitter.split(line)
            width = len(cells)
            if sum(bool(cell.strip()) for cell in cells) > 1:
                columns = {
                    index for index, cell in enumerate(cells) if _HEADING.match(cell.strip())
                }
                users = any(_USER_HEADING.match(cell.strip()) for cell in cells)
        place += len(line) + 1


# -- wallets: seed phrases and exported keys
_LENGTHS = (24, 21, 18, 15, 12)
_MAX_WORDS = 120
_PHRASE = "x" * _LENGTHS[-1]  # one for each word of the list
_WIF = re.compile(
    r"(?<![1-9A-HJ-NP-Za-km-z])[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51}(?![1-9A-HJ-NP-Za-km-z])"
)
_MAY_BE_WIF = linear.compile(r"[5KLc9][1-9A-HJ-NP-Za-km-z]{50}")
#: At least twelve words with the length of such words in a row.
_ROW = linear.compile("(?:[A-Za-z]{3,8}[\\s\u00a0\u3000\\d.,):(\"'|*`-]{1,12}){11,}[A-Za-z]{3,8}")
_WORD = re.compile("[A-Za-z]+")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def wallets(text: str) -> Iterator[Span]:
    """Seed phrases and keys with valid checksums (BIP39, base58check)."""
    for match in _WIF.finditer(text) if _MAY_BE_WIF.search(text) else ():
        if _is_wif(match[0]):
            yield *match.span(), "wallet-key"
    for row in _ROW.finditer(text):
        words = _WORD.findall(row[0].lower())
        if _wordlist().keys().isdisjoint(words[_LENGTHS[-1] - 1 :: _LENGTHS[-1]]):
            continue  # a phrase has one of every twelve words
        if _PHRASE not in "".join("x" if word in _wordlist() else " " for word in words):
            continue
        run: list[tuple[str, int, int]] = []
        for word in _WORD.finditer(text, *row.span()):
            if _is_seed_word(word[0]):
                run.append((word[0], *word.span()))
                continue
            yield from _phrases(run)
            run = []
        yield from _phrases(run)


def _phrases(run: list[tuple[str, int, int]]) -> Iterator[Span]:
    """Find phrases in a run of words, the longest first.

    The words before a phrase ("seed phrase:") are also in the list.
    """
    run = run[:_MAX_WORDS]
    taken: set[int] = set()
    for length in _LENGTHS:
        for place in range(len(run) - length + 1):
            places = range(place, place + length)
            if taken.isdisjoint(places) and _is_phrase([run[at][0] for at in places]):
                taken.update(places)
                yield run[place][1], run[place + length - 1][2], "seed-phrase"


@lru_cache(maxsize=1)
def _wordlist() -> dict[str, int]:
    try:
        from mnemonic import Mnemonic
    except ImportError:
        return {}
    return {word: index for index, word in enumerate(Mnemonic("english").wordlist)}


def _is_seed_word(word: str) -> bool:
    return 3 <= len(word) <= 8 and word.lower() in _wordlist()


def _is_phrase(words: list[str]) -> bool:
    """Whether words have a valid BIP39 checksum.

    A word has eleven bits, and the last bits are the checksum. Twelve times the same word is an
    example, not a phrase.
    """
    if len(set(words)) < len(words) // 3:
        return False
    bits = "".join(f"{_wordlist()[word.lower()]:011b}" for word in words)
    size = len(bits) * 32 // 33
    entropy = int(bits[:size], 2).to_bytes(size // 8, "big")
    check = f"{hashlib.sha256(entropy).digest()[0]:08b}"
    return bits[size:] == check[: len(bits) - size]


def _is_wif(text: str) -> bool:
    number = 0
    for char in text:
        number = number * 58 + _BASE58.index(char)
    data = number.to_bytes(38, "big").lstrip(b"\0")
    return (
        len(data) in (37, 38)
        and hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]
    )


# -- phrases after a name, whatever their word list
ANNOUNCED = linear.compile(
    r"(?i)(?:seed|recovery|mnemonic|backup|secret recovery|wallet|from)[ _-]?(?:phrase|"
    r"words|seed)|mnemonic|\bseed\b|seedphrase|助记词|ニーモニック|니모닉|シード|시드|wallet|metamask|"
    r"мнемоник[а-я]{0,3}|сид-?фраз[а-я]{1,2}|phrase de récupération|"
    r"frase (?:semilla|de recuperación|semente)|wiederherstellungsphrase"
)
_ANNOUNCED_WORDS = re.compile(
    r"(?<![\w-])(?:[a-z]{3,8}(?:[ \t\n]{1,4}|[ \t\n,|]{0,6}\d{1,2}[.):]?[ \t]{1,3})){11,23}"
    r"[a-z]{3,8}(?![\w-])"
)
_GRAMMAR = frozenset(
    "the and you your are for with that this not was were have has but can from they will been "
    "its our all any when then than them into "
    "should must which where what before after never always write store keep der die das und ist "
    "nicht les des une est pour pas que los las "
    "una por con per del".split()
)


_PASSPHRASE = linear.compile(
    r"(?i)(?:(?P<named>pass[ -]?phrase|passwort-?satz|phrase secrète|phrase de passe|"
    r"frase de contraseña|(?:парольн|кодов)[а-яё]{1,20} фраз[а-яё]{1,20})[^\n\"'`“„«]{0,40}|"
    r"(?:pass(?:word|wort)|kennwort|-N|--passphrase)[ \t]{0,2}[:=]?[ \t]{0,3})"
    r"[\"']?[ \t]{0,2}[:=]?[ \t]{0,3}[\"'`“„«][ \t]?([^\n\"'`”“»]{12,160}?)[ \t]?[\"'`”“»]"
)


def phrases(text: str) -> Iterator[Span]:
    """Find seed phrases after their name, and quoted passphrases.

    A seed phrase has at least twelve plain words. A word of grammar ends it.
    """
    for match in _PASSPHRASE.finditer(text):
        if is_passphrase(match[2], named=bool(match["named"])):
            yield *match.span(2), "passphrase"
    for name in ANNOUNCED.finditer(text):
        for match in _ANNOUNCED_WORDS.finditer(text, name.end(), name.end() + 400):
            found = _WORD.finditer(text, *match.span())
            words = list(takewhile(lambda word: word[0] not in _GRAMMAR, found))
            different = len({word[0] for word in words})
            if len(words) in _LENGTHS and different > len(words) // 2:
                yield match.start(), words[-1].end(), "seed-phrase"


# -- one-time codes
CODES = linear.compile(
    r"(?i)(?:backup|recovery|rescue|scratch|one[- ]time|2fa|mfa|emergency|"
    r"wiederherstellungs|ersatz|notfall)[ _-]?codes?|codes? de (?:secours|récupération)|"
    r"códigos? de (?:recuperación|respaldo|recuperação|backup)|"
    r"codici? di (?:recupero|backup)|kody? zapasow[a-z]{1,2}|резервн[а-я]{2,3} код[а-я]{0,2}|"
    r"备用代码|恢复代码|备份码|バックアップコード|リカバリーコード|백업 ?코드|복구 ?코드"
)
_CODE_LEAD = re.compile(r"[^\n0-9:=：]{0,40}[:=：]?[\s\"'`\[(*-]{0,8}")
_ONE_CODE = re.compile(
    r"(?:\d{1,2}[.)][ \t]+)?(\d{4}[ -]\d{4}|\d{6,10}|"
    r"[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,3}|[A-Za-z0-9]{8,12})(?![\w-])"
)
_CODE_GAP = re.compile(r"[\s,;|\"'`\])(*•/-]{1,12}")
_MAX_CODES = 24


def backup_codes(text: str) -> Iterator[Span]:
    """At least two codes in a row, directly after their name."""
    for name in CODES.finditer(text):
        lead = _CODE_LEAD.match(text, name.end())
        place = lead.end() if lead else name.end()
        found: list[tuple[int, int]] = []
        while len(found) < _MAX_CODES and (code := _ONE_CODE.match(text, place)):
            if not any(char.isdigit() for char in code[1]):
                break
            found.append(code.span(1))
            gap = _CODE_GAP.match(text, code.end())
            if gap is None:
                break
            place = gap.end()
        if len(found) > 1:
            yield from ((start, stop, "backup-code") for start, stop in found)


# -- files in base64
_PACKED = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/]{24,}={0,2}(?:\r?\n[A-Za-z0-9+/]{16,}={0,2}){0,200}"
)
_MAY_BE_PACKED = linear.compile(r"[A-Za-z0-9+/]{24}")
_TEXTUAL = re.compile(r"[\x09\x0a\x0d\x20-\x7e]+")


def packed(text: str, has_secret: Callable[[str], bool]) -> Iterator[Span]:
    """Base64 of a text (such as a .env file) in which *has_secret* finds a secret."""
    for match in _PACKED.finditer(text) if _MAY_BE_PACKED.search(text) else ():
        raw = re.sub(r"\s", "", match[0])
        try:
            head = base64.b64decode(raw[:64]).decode("ascii")
            if not _TEXTUAL.fullmatch(head) or not re.search(r"[=: \n]", head):
                continue
            inside = base64.b64decode(raw[: len(raw) // 4 * 4]).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            continue
        if has_secret(inside):
            place = match.start()
            for line in match[0].split("\n"):
                yield place, place + len(line.rstrip("\r")), "packed-secret"
                place += len(line) + 1


# -- tokens that a terminal or a mail program wrapped
_WRAP = re.compile(r"(?<=[A-Za-z0-9_+/=-]{12})[ \t]?\\?\r?\n[ \t>|]{0,8}(?=[A-Za-z0-9_+/=-]{4})")
_MAY_BE_WRAPPED = linear.compile(
    r"[A-Za-z0-9_+/=-]{12}[ \t]?\\?\r?\n[ \t>|]{0,8}[A-Za-z0-9_+/=-]{4}"
)
_REST = re.compile(r"[A-Za-z0-9_+/=.-]{4,400}(?=[\"'`]|[,)\]}]{0,3}[ \t]*(?:\r?\n|$))")
_NEW_NAME = re.compile(r"[A-Za-z_][\w.-]*=[^=]")


def _goes_on(text: str, place: int) -> bool:
    """Whether a line continues a wrapped token: only token characters, no words, and no name."""
    rest = _REST.match(text, place)
    return (
        rest is not None and not _NEW_NAME.match(rest[0]) and mixed(rest[0]) and not wordy(rest[0])
    )


def unwrapped(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Join lines at which a token seems to be wrapped.

    Returns:
        The text, and (position in the result, number of characters removed before it) for each
        join.
    """
    parts, removed, end, lost = [], [(0, 0)], 0, 0
    for match in _WRAP.finditer(text) if _MAY_BE_WRAPPED.search(text) else ():
        if not _goes_on(text, match.end()):
            continue
        parts.append(text[end : match.start()])
        lost += match.end() - match.start()
        removed.append((match.end() - lost, lost))
        end = match.end()
    return "".join([*parts, text[end:]]), removed


def is_passphrase(value: str, *, named: bool) -> bool:
    """Whether quoted words are a passphrase: at least four, and no sentence.

    Args:
        named: the word "passphrase" precedes it. After "password", sentences are more common than
            phrases.
    """
    words = re.split(r"[ -]+", value.strip())
    plain = all(re.fullmatch(r"[^\W\d_]{1,12}[0-9!]{0,3}", word) for word in words)
    return (
        len(words) >= 4
        and plain
        and not any(w.lower() in (_SENTENCE if named else _FUNCTION) for w in words)
    )


_SENTENCE = frozenset(
    "is are be must not no please enter see your you required optional empty invalid wrong too "
    "short long least characters "
    "street page wiki should cannot does muss nicht "
    "darf doit pas debe field value generated stored".split()
)
_FUNCTION = _SENTENCE | frozenset(
    "a an the and or of to for from in on at by with we they it this that will can may has have "
    "had do did if when as than then "
    "same use used using name der die das ist und oder mit "
    "von le la les est et ou un une des el los es y de en para".split()
)
