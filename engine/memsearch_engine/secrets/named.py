"""Secrets that a name announces: a name that means secret, a connector, a value.

The name is in any of the languages, in any style (``DB_PASSWORD``, ``keystorePass``, ``bindpw``),
with a number or a stage behind it. The connector is an assignment, an argument of an option, a
directive, a tag, or a nested value ("name: X, value: Y"). ``evidence`` decides about the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from memsearch_engine.secrets import linear
from memsearch_engine.secrets.evidence import PossibleSecret, Span, kind, labels, secrets_among
from memsearch_engine.secrets.judge import is_scrambled, uncased

NAMES = linear.compile(
    r"(?i)pass(?:word|wd|phrase|code|wort|ord)s?|kennwort|senha|"
    r"contrase(?:ñ|n)a|mot[ _]de[ _]passe|parola d'ordine|пароль|"
    r"secret[_ -]?id|secret[_ -]?key(?:[_-]?base)?|secret(?:access)?key|secret|"
    r"api[_ -]?key(?:_private)?|app(?:lication)?[_-]?keys?|(?:des|routing|setup)[_-]?key|"
    r"(?:auth|hash|password|secure|session|nonce|cookie|token)"
    r"[_-]?salt|pepper|access[_ -]?key(?:[_-]?secret)?|"
    r"(?:account|license|master|local|admin|auth|encryption|deploy|private)[._-]?key|"
    r"pre?-?shared[_-]?key|token|client-key-data|session[_-]?id|"
    r"credentials?|creds|密码|密碼|口令|密钥|密鑰|令牌|パスワード|비밀번호|"
    r"(?:licence|fernet|hmac|sign(?:ing)?|session|cookie|jwt|aes|"
    r"crypto?|cipher|server|shared|webhook|signature|stripe|sendgrid|"
    r"mailgun|twilio|openai|google|maps?|consumer|service(?:[_-]?role)?|"
    r"subscription|storage|recaptcha|security|product|serial)[ _-]?key|"
    r"wachtwoord(?:en)?|has[łl](?:[oau]|em|le)|l[öo]senord(?:et)?|adgangskoden?|kodeord(?:et)?|"
    r"[şs]ifre(?:si(?:ni)?)?|parola(?:sı)?|clave|hesl(?:[oau]|em)|salasana[an]?|jelsz[óo]|"
    r"лозинк[ау]|mật khẩu|kata sandi|암호|비번"
)
#: Only without a letter beside them, or at the end of a compound ("bindpw", "keystorePass").
_SHORT_NAMES = linear.compile(
    r"(?i)pwd|psk|pass|pw|auth|pat|mdp|app_?id|\b(?:pin|otp)\b|(?-i:[A-Z0-9]_KEY|[a-z]Key|"
    r"[A-Z]-KEY|[a-z]-[Kk]ey)"
)
#: In every text with a name.
MAY_NAME = rf"{NAMES.pattern}|(?:{_SHORT_NAMES.pattern})(?:[^A-Za-z]|$)"
_COMPOUND = linear.anchored(
    r"(?:[a-z0-9]Key|[A-Z0-9]_KEY|[A-Za-z0-9]Pass|[a-z0-9]P[Ww][Dd]?|[a-z0-9]Psk|"
    r"[a-z]{2,12}p(?:wd?|sk)|[A-Z]{2,12}P(?:WD?|SK)|[a-z]PAT|"
    r"(?i:(?:db|ftp|smtp|root|user|admin|auth|bind|mail|http|ldap|imap|wifi|ssh|sql|pg|vnc|sasl|"
    r"smb|snmp|proxy|cert|"
    r"p12|pfx|jks|key|store|svc|repo|mq|redis|mongo|pop|sip|rtsp|cam|bmc|ipmi|sudo|vault|zip|"
    r"backup|web|app|api|vpn|"
    r"ppp|rpc)pass))$"
)
_BEFORE = linear.anchored(r"[\w.$:@/-]{0,40}$")
_TAIL = linear.anchored(
    r"(?i)(?:[_-]?\d{1,2}|[_.-]?(?:prod(?:uction)?|stag(?:e|ing)|dev|test|old|new|main|primary|"
    r"secondary|value|current|live|local|root|admin|base64)(?:_\d{1,2})?)(?![\w-])"
)
_QUOTE = "\"'`“”‘’«»"
_VALUE = linear.anchored(
    r"(?P<close>\\{0,3}[\"'`\]*)]{0,6})[ \t]{0,20}(?P<type>:[ \t]?&?[A-Za-z]{2,12}[ \t]?(?==))?"
    r"(?P<sep>:=|=>|<-|=|:|：|,[ \t]?(?=[\"'])|是|为：|为|は|"
    r"\|(?=[ ]))[ \t]{0,20}(?:\x1b\[[0-9;]*m)?\\{0,3}\*{0,2}[ \t]?"
    rf"(?:[bBrRuUfFLNc@$]{{1,2}}(?=[\"']))?(?P<q>[{_QUOTE}]?)[ \t]?"
    rf"(?P<v>[^\s{_QUOTE},;,。，；、）)\]}}<>\\\x00\x1b|&]{{1,4000}})"
)
_QUOTED = linear.anchored(
    r"[\"'\]]{0,2}[ \t]{0,3}(?P<sep>[=-]>|<-|=|:|,|(?<= )to(?= ))[ \t]{0,12}"
    r"(?P<call>(?:Some|String(?:::from)?|Secret(?:Str|String)?|Hash::make|"
    r"b?crypt|\w{0,20}hash\w{0,12}|\w{0,20}encrypt\w{0,12})\()?[Nbr]?"
    r"(?P<q>[\"'])(?P<v>(?:(?!(?P=q))[^\n]){4,200})(?P=q)"
)
_PARTICLE = linear.anchored(r"[!-~]{4,200}(?=[\u3040-\u30ff]|[가-힣])")
#: All of a word up to a blank or a quote: a generated password has brackets, too.
_WHOLE = linear.anchored(r"[^\s\"'`“”]{8,64}(?<![,;.)])")
_PSQL = linear.anchored(r"\s+:'\w+'")
_SPOKEN = linear.anchored(r"(?i)pass(?:word|phrase|wd)?|secret(?:[_-]?key)?|api[_-]?key|auth_key")
NAMES_IN_A_VALUE, SHORTEST, CUT = 3, 4, 8
_KEY_LINE = linear.anchored(r"[ \t>+-]{0,16}(?:(?:export|env|set|-)[ \t]+)?[\"'*]{0,3}[\w.:/$@-]*$")
_COMPOUND_KEY = linear.anchored(r"[A-Za-z0-9][_.][A-Za-z0-9]|[a-z][A-Z]")
_END_OF_VALUE = linear.anchored(
    r"[ \t\r]*(?:$|\n|(?:#|//)[^\n]*)|[&;](?=[\w\s])|[ \t]+(?:[\w.-]+=|--?[a-z]|[\w.-]+:[ \t])|"
    r",[\w.-]+(?:=|,)|;?[\"'](?=$|[\s,;)\]}/>])"
)
_MOUNT = linear.anchored(r"[ \t]+(?://|\\\\|/)")

# -- other connectors, each directly after the name
_OPTION = linear.anchored(
    r"(?:[ \t]*=[ \t]*|[ \t]+)(?:\"(?P<a>[^\"\n$<]{4,200})\"|'(?P<b>[^'\n$<][^'\n<]{3,200})'|"
    r"(?P<c>[^\s\"'`$<>|;,(){}\[\]\\/&*-][^\s\"'`|;<>\\]{3,200}))"
)
_AFTER_WORD = linear.anchored(r"[ \t]*(?:$|\n)|[ \t]+(?:-|/|>|\||&&|\S*[.:@/=]\S)")
_TAG = linear.anchored(
    r"[\"']?(?:\s[^<>\n]{0,80})?>\s{0,20}(?:<!\[CDATA\[|<value>|"
    r"[^<>\n]{0,30}</key>\s{0,20}<(?:string|data)>)?\s{0,20}"
    r"(?P<a>[^<>\n$%{\s][^<>\n]{3,400}?)\s{0,20}(?:\]\]>|</)"
)
_WORDS = linear.anchored(
    r"(?i)(?<=phrase)(?: (?:for|of|to) [^\n:=]{1,40})?(?:[:=]| is| was) "
    r"(?P<a>(?-i:(?:[a-z]{3,12}[ -]){2,7}[a-z]{3,12}))"
    r"[ \t]*(?:\n|$)"
)
_TAGGED = linear.anchored(r"(?:<(?:\w{1,20}:)?|<key>|\b(?:name|key)=[\"'])[\w .:-]{0,40}$")
_NESTED = linear.anchored(
    r"(?i)\\?[\"']?[ \t]{0,4}(?:[,;{]\s{0,60}|\s{1,60})(?:\{\s{0,40})?"
    r"(?:\\?[\"']?(?:type|sensitive|description|label|"
    r"ephemeral|nullable|sync|scope)\\?[\"']?\s{0,8}[:=][^\n]{0,100}\n\s{0,20}){0,3}"
    r"\\?[\"']?(?:value|default|defaultvalue|val)\\?[\"']?\s{0,8}[:=]\s{0,4}"
    r"(?:\\?\"(?P<a>[^\"\n$<\\]{4,300})\\?\"|'(?P<b>[^'\n$<][^'\n<]{3,300})'|"
    r"(?P<c>[^\s\"'`$<>{}\[\],;(]{4,300})[ \t]*(?:\n|$))",
)
_LATER = linear.anchored(
    r"(?i)[\"']?(?:[ \t][^\n|;<]{0,80}?)?(?:[ \t](?:--(?:value|body|secret-string|plaintext|data|"
    r"string)[= ]|(?:-[vb]|/d)[ \t])|<<<|[ ]for[ ][^\n=;]{1,60}=[ \t]{0,8}(?=['\"]))[ \t]{0,8}"
    r"(?:\"(?P<a>[^\"\n$<]{4,300})\"|'(?P<b>[^'\n$<][^'\n<]{3,300})'|(?P<c>[^\s\"'`$<>|"
    r";(]{4,300}))",
)
_DIRECTIVE = linear.anchored(
    r"[ \t]+(?:[07][ \t]+|ENC[ \t]+|(?:[\w.@][\w.@-]{0,39}|\"\w{1,40}\")[ \t]+(?=[\"']))?"
    r"(?:\"(?P<a>[^\"\n$<]{4,200})\"|'(?P<b>[^'\n$<][^'\n<]{3,200})'|"
    r"(?P<c>[^\s\"'`$<>(){}=:*&-][^\s\"'`<>]{3,200}?))[;)]?[ \t]*(?:#[^\n]*)?(?:\r?\n|$)"
)
_FLAG = linear.anchored(r"[ \t]--?[a-z]")
_DIRECTIVE_LEAD = linear.anchored(r"(?i)[ \t]{0,20}(?:set[ \t]+)?[\w.:-]{0,40}")
_JOINED = linear.anchored(r"\w+[.-]\w+(?:[.-]\w+)*$")
#: Words of a name ("send_message" of SEND_MESSAGE_TOKEN).
_JOINED_WORDS = linear.anchored(r"[A-Za-z]+(?:[_-][A-Za-z]+)+")
_JOINTS = ("_", ".", ":", "/", "-")


_END_OF_LINE = linear.anchored(r"[ \t\r]*(?:$|\n)")
_SHOUT = linear.anchored(r"[^a-z]*[A-Z]{3}[^a-z]*")


def values(text: str) -> Iterator[Span]:
    """Find the values of every name in *text* that means a secret."""
    yield from secrets_among(candidates(text), text)


def candidates(text: str) -> Iterator[PossibleSecret]:
    """Yield every value that follows a name that means a secret."""
    if "SealedSecret" in text:  # encrypted for its cluster, so it is no secret
        return
    value_end, inside = 0, 0
    for name in sorted(_names(text), key=lambda name: name.start()):
        inside = inside + 1 if name.start() < value_end else 0
        if inside > NAMES_IN_A_VALUE:
            continue  # "password=password=…": the value consists of names
        start, stop = name.span()
        before = _BEFORE.search(text, max(0, start - 40), start)
        key = (before[0] if before else "") + name[0]
        if tail := _TAIL.match(text, stop):
            stop = tail.end()
        linked = list(_linked(text, key, name, stop))
        around = _around(text, key, name) if linked else []
        seen: set[tuple[int, int]] = set()
        for span, rule, link, more in linked:
            if rule == "assigned-secret":
                value_end = max(value_end, span[1])
            repeats = _JOINED_WORDS.fullmatch(value := text[slice(*span)]) and (
                value.upper().replace("-", "_") in key.upper().replace("-", "_")
            )
            if span not in seen and span[1] - span[0] >= SHORTEST and not repeats:
                seen.add(span)
                yield PossibleSecret(*span, rule, kind(key), link, around + more)


def _names(text: str) -> Iterator[Any]:
    yield from NAMES.finditer(text)
    for name in _SHORT_NAMES.finditer(text):
        start, stop = name.span()
        if text[stop : stop + 1].isascii() and text[stop : stop + 1].isalpha():
            continue
        glued = start and text[start - 1].isascii() and text[start - 1].isalpha()
        if (
            not glued
            or text[stop - 3 : stop].lower() == "key"
            or _COMPOUND.search(text, max(0, start - 12), stop)
        ):
            yield name


_ENGLISH = linear.anchored(
    "(?i)pass|pwd|pw|secret|token|.*key|cred|auth|psk|pat|pin|otp|session|app"
)


def _is_foreign(name: str) -> bool:
    """Whether a name is of another language than English, so that it is hardly one of code."""
    return not _ENGLISH.match(name)


def _around(text: str, key: str, name: Any) -> list[str]:
    """Labels of a name and of its place."""
    start = name.start()
    first = text.rfind("\n", 0, start) + 1
    return labels(
        shout=_SHOUT.fullmatch(key),
        compound=_COMPOUND_KEY.search(key),
        header=key[:2] in ("X-", "x-"),
        line=first > start - 60 and _KEY_LINE.match(text[first:start]),
        colons=key.count(":") > 2,
        query=start and text[start - 1] in "?&;",
        foreign=_is_foreign(name[0]),
        **{"pass": name[0].lower() == "pass"},
    )


_Linked = tuple[tuple[int, int], str, str, list[str]]  # span, rule, link, labels around


def _linked(text: str, key: str, name: Any, stop: int) -> Iterator[_Linked]:
    """Yield the value after each connector that matches at the end of a name.

    Args:
        key: the name with its prefix.
        stop: where the name ends.
    """
    start = name.start()
    first = text.rfind("\n", 0, start) + 1
    if (match := _VALUE.match(text, stop)) and not _PSQL.match(text, stop):
        yield _assigned(text, match, start)
    if _SPOKEN.fullmatch(name[0]) and (match := _QUOTED.match(text, stop)):
        link = {",": "text ,", "to": "text to"}.get(match["sep"], "text =")
        yield match.span("v"), "assigned-secret", link, labels(call=match["call"])
    for link, pattern, rule in _ELSEWHERE:
        if (
            (link != "later" or not key.endswith("_passwd"))  # the name of a command
            and (link != "tag" or _TAGGED.search(text, max(0, start - 80), start))
            and (match := pattern.match(text, stop))
        ):
            group = match.lastgroup or "a"
            yield match.span(group), rule, link + ("" if group == "c" else " quoted"), []
    if key.startswith("-"):
        if match := _OPTION.match(text, stop):
            group = match.lastgroup or "c"
            equals = " =" if "=" in text[stop : match.start(group)] else ""
            more = labels(
                end=_AFTER_WORD.match(text, match.end()), flags=_FLAG.search(text, first, start - 2)
            )
            link = "option" + (" quoted" if group != "c" else equals)
            yield match.span(group), "command-password", link, more
    elif match := _DIRECTIVE.match(text, stop):
        group = match.lastgroup or "c"
        first_word = _DIRECTIVE_LEAD.fullmatch(text, first, start)
        glued = start > first and not text[start - 1].isspace()
        joint = text[start - 1 : start] in _JOINTS
        wanted = not uncased(match[group])
        if wanted and (
            group != "c" or joint or first_word or _is_foreign(name[0]) or _JOINED.match(match["c"])
        ):
            more = labels(
                first=first_word, glued=glued, joint=joint, dot=match[group].endswith(".")
            )
            link = "directive" + ("" if group == "c" else " quoted")
            yield match.span(group), "config-password", link, more


def _assigned(text: str, match: re.Match[str], start: int) -> _Linked:
    """The value of an assignment.

    Args:
        start: where the name begins.
    """
    sep, begin, end = match["sep"], *match.span("v")
    if particle := _PARTICLE.match(match["v"]):
        end = begin + particle.end()
    whole = _WHOLE.match(text, begin)
    if whole and end - begin < CUT < len(whole[0]) and is_scrambled(whole[0]):
        end = whole.end()
    after = match.end("sep")
    link = sep if sep in _SEPARATORS else "=>" if sep in (":=", "=>", "<-") else "is"
    if sep in "=:" and not text[after : after + 1].strip():
        link += " "
    quoted = bool(match["q"])
    closing = text[end : end + 1]
    more = labels(
        closed=match["close"],
        called=closing in ("(", "["),
        typed=match["type"],
        end=(closing and closing in _QUOTE) if quoted else _END_OF_VALUE.match(text, end),
        last=not quoted and _END_OF_LINE.match(text, end),
        mount=sep == "=" and text[start - 1 : start] == "," and _MOUNT.match(text, end),
    )
    return (begin, end), "assigned-secret", link + ("quoted" if quoted else ""), more


_SEPARATORS = frozenset("=:,|")
_ELSEWHERE = (
    ("tag", _TAG, "tagged-secret"),
    ("nested", _NESTED, "nested-secret"),
    ("later", _LATER, "nested-secret"),
    ("words", _WORDS, "passphrase"),
)
