"""Secrets that a name announces: a name that means secret, a connector, a value.

The name is in any of the languages, in any style (``DB_PASSWORD``, ``keystorePass``, ``bindpw``),
with a number or a stage behind it. The connector is an assignment, an argument of an option, a
directive, a tag, or a nested value ("name: X, value: Y"). ``judge`` decides about the value: the
less the connector can mean, the more it accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from memsearch_engine.secrets import linear
from memsearch_engine.secrets.judge import (
    FAKE,
    is_assigned,
    is_certain,
    is_chosen,
    is_coded,
    is_mixed,
    is_phrase,
    is_reference,
    is_secret_of,
    is_strong,
    mixed,
    wordy,
)

Span = tuple[int, int, str]

NAMES = linear.compile(
    r"(?i)pass(?:word|wd|phrase|code|wort|ord)s?|kennwort|senha|"
    r"contrase(?:ñ|n)a|mot[ _]de[ _]passe|parola d'ordine|пароль|"
    r"secret[_ -]?id|secret[_ -]?key(?:[_-]?base)?|secret(?:access)?key|secret|"
    r"api[_ -]?key|app[_-]?key|access[_ -]?key(?:[_-]?secret)?|"
    r"(?:account|license|master|local|admin|auth|encryption|deploy|private)[._-]?key|"
    r"pre?-?shared[_-]?key|token|client-key-data|session[_-]?id|"
    r"credentials?|creds|密码|密碼|口令|密钥|密鑰|令牌|パスワード|비밀번호|"
    r"(?:licence|fernet|hmac|sign(?:ing)?|session|cookie|jwt|aes|"
    r"crypto?|cipher|server|shared|webhook|signature|stripe|sendgrid|"
    r"mailgun|twilio|openai|google|maps?|consumer|service(?:[_-]?role)?|"
    r"subscription|storage|recaptcha|security|product|serial)[ _-]?key|"
    r"wachtwoord|has[łl]o|l[öo]senord|adgangskode|kodeord|"
    r"[şs]ifre|parola|clave|heslo|salasana|jelsz[óo]|암호|비번"
)
#: Only without a letter beside them, or at the end of a compound ("bindpw", "keystorePass").
_SHORT_NAMES = linear.compile(r"(?i)pwd|psk|pass|pw|auth|pat|mdp|app_?id")
_COMPOUND = linear.anchored(
    r"(?:[a-z0-9]Pass|[a-z0-9]P[Ww][Dd]?|[a-z0-9]Psk|[a-z]{2,12}p(?:wd?|sk)|"
    r"(?:db|ftp|smtp|root|user|admin|auth|bind|mail|http|ldap|imap|wifi|ssh|sql|pg|vnc|sasl)pass)$"
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
    rf"(?:[bBrRuUfF]{{1,2}}(?=[\"']))?(?P<q>[{_QUOTE}]?)[ \t]?"
    rf"(?P<v>[^\s{_QUOTE},;,。，；、）)\]}}<>\\\x00\x1b|&]{{4,4000}})"
)
_WORDS = linear.anchored(r"phrase[:=] ((?:[a-z]{3,12}[ -]){2,7}[a-z]{3,12})[ \t]*(?:\n|$)")
_QUOTED = linear.anchored(
    r"[\"'\]]{0,2}[ \t]{0,3}(?P<sep>=>|<-|=|:|,|(?<= )to(?= ))[ \t]{0,12}"
    r"(?P<call>(?:Some|String(?:::from)?|Secret(?:Str|String)?|Hash::make|"
    r"b?crypt|\w{0,20}hash\w{0,12}|\w{0,20}encrypt\w{0,12})\()?[Nbr]?"
    r"(?P<q>[\"'])(?P<v>(?:(?!(?P=q))[^\n]){4,200})(?P=q)"
)
_PARTICLE = linear.anchored(r"[!-~]{4,200}(?=[\u3040-\u30ff]|[가-힣])")
_PSQL = linear.anchored(r"\s+:'\w+'")
_SPOKEN = linear.anchored(r"(?i)pass(?:word|phrase|wd)?|secret(?:[_-]?key)?|api[_-]?key|auth_key")
NAMES_IN_A_VALUE = 3
_KEY_LINE = linear.anchored(r"[ \t>+-]{0,16}(?:(?:export|env|set|-)[ \t]+)?[\"'*]{0,3}[\w.:/$@-]*$")
_COMPOUND_KEY = linear.anchored(r"[A-Za-z0-9][_.][A-Za-z0-9]|[a-z][A-Z]")
_END_OF_VALUE = linear.anchored(
    r"[ \t\r]*(?:$|\n|(?:#|//)[^\n]*)|[&;](?=[\w\s])|[ \t]+(?:[\w.-]+=|--?[a-z]|[\w.-]+:[ \t])|"
    r",[\w.-]+(?:=|,)|;?[\"'](?=$|[\s,;)\]}/>])"
)
_MOUNT = linear.anchored(r"[ \t]+(?://|\\\\|/)")
_SPACED = 7  # letters of a value after " = ", which may be a variable in code

# -- other connectors, each directly after the name
_OPTION = linear.anchored(
    r"(?:[ \t]*=[ \t]*|[ \t]+)(?:\"(?P<a>[^\"\n$<]{4,200})\"|'(?P<b>[^'\n$<]{4,200})'|"
    r"(?P<c>[^\s\"'`$<>|;,(){}\[\]\\/&*-][^\s\"'`|;<>\\]{3,200}))"
)
_AFTER_WORD = linear.anchored(r"[ \t]*(?:$|\n)|[ \t]+(?:-|/|>|\||&&|\S*[.:@/=]\S)")
_TAG = linear.anchored(
    r"[\"']?(?:\s[^<>\n]{0,80})?>\s{0,20}(?:<!\[CDATA\[|<value>|"
    r"[^<>\n]{0,30}</key>\s{0,20}<(?:string|data)>)?\s{0,20}"
    r"(?P<a>[^<>\n$%{\s][^<>\n]{3,400}?)\s{0,20}(?:\]\]>|</)"
)
_TAGGED = linear.anchored(r"(?:<(?:\w{1,20}:)?|<key>|\b(?:name|key)=[\"'])[\w .:-]{0,40}$")
_NESTED = linear.anchored(
    r"(?i)\\?[\"']?[ \t]{0,4}[,;{]?\s{1,60}(?:\{\s{0,40})?"
    r"(?:\\?[\"']?(?:type|sensitive|description|label|"
    r"ephemeral|nullable|sync|scope)\\?[\"']?\s{0,8}[:=][^\n]{0,100}\n\s{0,20}){0,3}"
    r"\\?[\"']?(?:value|default|defaultvalue|val)\\?[\"']?\s{0,8}[:=]\s{0,4}"
    r"(?:\\?\"(?P<a>[^\"\n$<\\]{4,300})\\?\"|'(?P<b>[^'\n$<]{4,300})'|"
    r"(?P<c>[^\s\"'`$<>{}\[\],;(]{4,300})[ \t]*(?:\n|$))",
)
_LATER = linear.anchored(
    r"(?i)[\"']?(?:[ \t][^\n|;<]{0,80}?)?(?:[ \t](?:--(?:value|body|secret-string|plaintext|data|"
    r"string)[= ]|-[vb][ \t])|<<<|[ ]for[ ][^\n=;]{1,60}=[ \t]{0,8}(?=['\"]))[ \t]{0,8}"
    r"(?:\"(?P<a>[^\"\n$<]{4,300})\"|'(?P<b>[^'\n$<]{4,300})'|(?P<c>[^\s\"'`$<>|;(]{4,300}))",
)
_DIRECTIVE = linear.anchored(
    r"[ \t]+(?:[07][ \t]+|ENC[ \t]+|(?:[\w.@-]{1,40}|\"\w{1,40}\")[ \t]+(?=[\"']))?"
    r"(?:\"(?P<a>[^\"\n$<]{4,200})\"|'(?P<b>[^'\n$<]{4,200})'|"
    r"(?P<c>[^\s\"'`$<>(){}=:-][^\s\"'`<>]{3,200}?))[;)]?[ \t]*(?:#[^\n]*)?(?:\r?\n|$)"
)
_FLAG = linear.anchored(r"[ \t]--?[a-z]")
_DIRECTIVE_LEAD = linear.anchored(r"(?i)[ \t]{0,20}(?:set[ \t]+)?[\w.:-]{0,40}")
_JOINTS = ("_", ".", ":", "/", "-")


def values(text: str) -> Iterator[Span]:
    """Find the values of every name in *text* that means a secret."""
    if "SealedSecret" in text:  # encrypted for its cluster, so it is no secret
        return
    refused_to, inside = 0, 0
    for name in sorted(_names(text), key=lambda name: name.start()):
        inside = inside + 1 if name.start() < refused_to else 0
        if inside > NAMES_IN_A_VALUE:
            continue  # "password=password=…": the value consists of names
        start, stop = name.span()
        before = _BEFORE.search(text, max(0, start - 40), start)
        key = (before[0] if before else "") + name[0]
        if tail := _TAIL.match(text, stop):
            stop = tail.end()
        found = False
        for span in _assigned(text, key, name, stop):
            if span[2]:
                found = True
                yield span
            else:
                refused_to = max(refused_to, span[1])
        if not found:
            yield from _elsewhere(text, key, start, stop)


def _names(text: str) -> Iterator[Any]:
    yield from NAMES.finditer(text)
    for name in _SHORT_NAMES.finditer(text):
        start, stop = name.span()
        if text[stop : stop + 1].isascii() and text[stop : stop + 1].isalpha():
            continue
        glued = start and text[start - 1].isascii() and text[start - 1].isalpha()
        if not glued or _COMPOUND.search(text, max(0, start - 12), stop):
            yield name


def _assigned(text: str, key: str, name: Any, stop: int) -> Iterator[Span]:
    """Yield the assigned value; with an empty rule where the value was refused."""
    if match := _VALUE.match(text, stop):
        called = text[match.end() : match.end() + 1] in ("(", "[")
        quoted, closed = bool(match["q"]), bool(match["close"])
        value = match["v"]
        end = match.start("v") + len(value)
        if particle := _PARTICLE.match(value):
            end, value = match.start("v") + particle.end(), particle[0]
        if _PSQL.match(text, stop):  # the name of a variable
            yield *match.span("v"), ""
        elif is_assigned(key, match["sep"], value, quoted=quoted, closed=closed, called=called) or (
            not called and _is_given(text, name.start(), key, match)
        ):
            yield match.start("v"), end, "assigned-secret"
        else:
            yield *match.span("v"), ""
    if (match := _QUOTED.match(text, stop)) and not (
        _SPOKEN.fullmatch(name[0]) is None or (len(name[0]) == 4 and match["sep"] == ",")
    ):
        value = match["v"]  # a quoted value may contain blanks
        plain = wordy(value) and not any(char in " !#%&*?+=~^" for char in value)
        if (len(value) >= 8 and mixed(value) and not plain and not is_reference(value)) or (
            (" " in value or match["sep"] == "to" or match["call"])
            and match["sep"] != ","
            and is_strong(key)
            and (is_certain(value) or (key.isupper() and is_phrase(value)))
        ):
            yield *match.span("v"), "assigned-secret"
    if (
        (match := _WORDS.match(text, stop - len("phrase")))
        and is_strong(key)
        and is_phrase(match[1])
    ):
        yield *match.span(1), "passphrase"


def _is_given(text: str, start: int, key: str, match: re.Match[str]) -> bool:
    """Whether a name and its value look like configuration: quoted, or at the line's end."""
    value, end, sep = match["v"], match.end("v"), match["sep"]
    quoted = bool(match["q"])
    strong = is_strong(key)
    if not strong and not is_secret_of(key, value, quoted=quoted):
        if "session" in key.lower():
            return False
        return quoted and is_coded(value) and text[end : end + 1] in _QUOTE and sep[0] != ","
    if not strong and not mixed(value) and FAKE.search(value):
        return False
    if quoted:
        return (
            text[end : end + 1] in _QUOTE
            and text[end : end + 1] != ""
            and not sep.startswith(",")
            and (is_certain(value, camel=True) or (strong and is_chosen(value)))
        )
    mount = sep == "=" and text[start - 1 : start] == "," and _MOUNT.match(text, end)
    if sep not in ("=", ":", "：", "=>") or match["type"]:
        return False
    if not _END_OF_VALUE.match(text, end) and not mount:
        return False
    if mixed(value) and sep == "=" and text[start - 1 : start] in "?&;":
        return is_chosen(value)
    line = text.rfind("\n", 0, start) + 1
    at_start = (sep != "=" and bool(_COMPOUND_KEY.search(key))) or bool(
        _KEY_LINE.match(text[max(line, start - 60) : start])
    )
    inline = sep == "=" and text[match.start("sep") + 1 : match.start("sep") + 2].strip() != ""
    if inline or (at_start and sep in (":", "=>")):
        return is_certain(value, camel=key.isupper()) or is_chosen(value)
    return at_start and (is_chosen(value) or (value.count("-") > 1 and is_certain(value)))


def _elsewhere(text: str, key: str, start: int, stop: int) -> Iterator[Span]:
    """Values after the other connectors.

    Args:
        key: the name with its prefix.
        start: where the name begins, without its prefix.
        stop: where the name ends.
    """
    strong = is_strong(key)
    if not strong and not is_secret_of(key, "x1x1x1x1", quoted=True):
        return
    first = text.rfind("\n", 0, start) + 1
    for pattern, rule in (
        (_TAG, "tagged-secret"),
        (_NESTED, "nested-secret"),
        (_LATER, "nested-secret"),
    ):
        if pattern is _LATER and key.endswith("_passwd"):  # the name of a command
            continue
        if pattern is _TAG and not _TAGGED.search(text, max(0, start - 80), start):
            continue
        if match := pattern.match(text, stop):
            value = match[group := match.lastgroup or "a"]
            if not is_certain(value, camel=group != "c") or (
                not strong and (FAKE.search(value) or not is_secret_of(key, value, quoted=True))
            ):
                continue
            yield *match.span(group), rule
            return
    if not strong:
        return
    if key.startswith("-"):
        if match := _OPTION.match(text, stop):
            value = match[group := match.lastgroup or "c"]
            alone = group != "c" or "=" in text[stop : match.start(group)]
            alone = alone or bool(_AFTER_WORD.match(text, match.end()))
            alone = alone or (is_chosen(value) and bool(_FLAG.search(text, first, start - 2)))
            if is_certain(value) if alone else is_mixed(value):
                yield *match.span(group), "command-password"
    elif match := _DIRECTIVE.match(text, stop):
        value = match[group := match.lastgroup or "c"]
        first_word = bool(_DIRECTIVE_LEAD.fullmatch(text, first, start))
        glued = start > first and not text[start - 1].isspace()
        compound = text[start - 1 : start] in _JOINTS or (first_word and glued)
        if compound and not first_word and group == "c":
            compound = is_chosen(value) and not key.isupper() and value[-1] != "."
        if (
            (compound or (group != "c" and (first_word or " " not in value))) and is_certain(value)
        ) or (first_word and is_mixed(value)):
            yield *match.span(group), "config-password"
