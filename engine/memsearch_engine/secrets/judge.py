"""Is a value that stands where secrets stand one? Names of things, references and placeholders are not.

The rules that need this know a place ("what follows ``password=``") and not a look. What they find is kept out where it
reads like code or prose: a reference (``$VAR``, ``env:NAME``, ``vault:…``), a placeholder (``your-key``, ``****``), a call or an
attribute, or words of a language (their runs of letters are long; those of random values are not).
"""

from __future__ import annotations

import base64
import binascii
import re

_REFERENCE = re.compile(
    r"(?i)^\$|\$\{|\{\{|^<|^%|^\(|^\[|^\{|^@|\*{3}|x{6}|•|…|\.{3}|your[-_]|^op://|^vault:|^arn:|^ENC\[|^/|^\./|^~|://|^env:|^file:|"
    r"^null$|^none$|^true$|^false$|^[\[<(]?redacted[\])>]?$|^0x[0-9a-f]{1,8}$|^HTTP/\d|^--|^~?\^?\d+\.\d+\.\d|^scram-sha|^sha(?:256|384|512)|::|^:"
)
_RUNS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WORD_LENGTH = 3.2  # letters per run: random base64 has about 1.6, identifiers and prose more than 4
_STRONG = re.compile(r"(?i)pass|pwd|psk|密|口令|pw$|senha|contrase|mot|kenn|пароль|비밀|parola|パス")
_NO_VALUE = re.compile(r"(?i)(?:url|uri|_file|path|name|policy|rotation|header|count|type|_id|_ids|endpoint|ttl|arn)$")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+!?$")
_PLACEHOLDER = re.compile(r"__\w+__$|@@\w+@@$|(?:PASSWORD|PASSWD|PASS|PWD|SECRET|TOKEN|KEY)$")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_FEW_CHARACTERS = 5  # a token of fewer different characters is an example


def is_reference(value: str) -> bool:
    """Whether *value* names a secret, or stands for one, instead of being it."""
    return bool(_REFERENCE.search(value) or _PLACEHOLDER.match(value))


def wordy(value: str, length: float = _WORD_LENGTH) -> bool:
    """Whether *value* reads like words or an identifier: its runs of letters have at least *length* in the mean."""
    digits = sum(char.isdigit() for char in value)
    if digits * 10 > len(value) * 3:
        return False
    runs = _RUNS.findall(value)
    return not runs or sum(map(len, runs)) / (len(runs) + digits / 3) >= length


def mixed(value: str) -> bool:
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


_SAID_NO = re.compile(
    r"^(?:[vV]?\d+(?:[.:/-]\d+)+\S*|\d{1,9}(?:\.\d+)?%?|[\w.+-]+@[\w.-]+\.\w+|(?:[\w-]+\.)+[a-z]{2,6}(?::\d+)?|\d+/\w+|"
    r"[a-z]+(?:[-_/.][a-z0-9]+)*|[A-Z]+(?:_[A-Z0-9]+)+|\d+[a-z]{1,6}|[0-9a-f]{7,64}|[A-Za-z][a-z]{2,}(?:\d?[A-Z][a-z]{2,})+\d{0,2}|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|"
    r"[A-Z]{2,6}-?\d{1,6}|[a-z]{1,20}\d{0,2}|![a-z_]+|[A-Z][a-z]+\d?)$"
)
_METHOD = re.compile(
    r"(?i)(?:argon2\w*|[bs]crypt\w*|pbkdf2\w*|sha-?\d+|md5\w*|base\d\d|utf-?\d+|1password|bitwarden|(?:ctrl|alt|shift|cmd|meta)\+.*|oauth\d?\S*)$"
)
_SYMBOLS = "!#%&*?+=~^@$§"


def is_said(value: str) -> bool:
    """Whether a word that prose or a table gives as a secret is one: it mixes letters with digits or symbols and is no name, number,
    date, version, address or path."""
    if (
        not 6 <= len(value) <= 200
        or any(char.isspace() for char in value)
        or is_reference(value)
        or _SAID_NO.match(value)
        or _METHOD.match(value)
    ):
        return False
    if re.search(r"://|[()\[\]{}=|\\<>]|\.\.|^[/.#-]|[:…]$|[^\x21-\x7e]", value):
        return False
    letters = any(char.isalpha() for char in value)
    symbols = any(char in _SYMBOLS for char in value.rstrip("!?.…"))
    digits = any(char.isdigit() for char in value)
    if not letters or not (digits or symbols):
        return False
    return symbols or not wordy(value, 5.0) or (digits and len(value) >= 8 and "." not in value and "/" not in value)


def is_token(rule: str, value: str) -> bool:
    """Whether what a vendor's or a place's rule found is a secret."""
    if rule == "cli-argument":
        return not value.startswith(("$", "<", "%"))
    if is_reference(value):
        return False
    if rule == "basic-auth":
        try:
            return b":" in base64.b64decode(value + "=" * (-len(value) % 4))
        except (binascii.Error, ValueError):
            return False
    if rule == "otp-seed":
        return len(set(value)) >= _FEW_CHARACTERS and (any(char.isdigit() for char in value) or len(value) >= 16)
    if rule == "terraform-default":
        return mixed(value) or any(char in _SYMBOLS for char in value)
    if rule in ("said", "auth-header") and (not mixed(value) or _METHOD.match(value)):
        return False
    if rule in ("hf-token", "github-token", "slack-token"):
        return len(set(value[8:])) >= _FEW_CHARACTERS
    if rule in ("bearer", "openai-key", "auth-header", "query-token", "cookie"):
        return not wordy(value) and len(set(value[8:])) >= _FEW_CHARACTERS
    if rule in ("said", "cli-password") and (wordy(value) or "/" in value):
        return any(char in "!#%&*?+=~^" for char in value)
    return True


def is_assigned(key: str, separator: str, value: str, *, quoted: bool, closed: bool, called: bool) -> bool:
    """Whether what is assigned to a secret's name is one.

    Args:
        key: the name, with what leads to it (``POSTGRES_PASSWORD``, ``settings.api_key``).
        closed: brackets or quotes stand between name and separator (``environ["X"] =``).
        called: an opening bracket follows the value: it is code.
    """
    if key.lower().endswith("sessionid") and _UUID.fullmatch(value):
        return False
    if is_reference(value) or _NO_VALUE.search(key) or (separator == ":" and key.count(":") > 2):
        return False
    if (("(" in value) or called) and not quoted:
        return False
    strong = bool(_STRONG.search(key))
    shell = separator == "=" and not closed and re.search(r"[A-Z]{3}", key) and not re.search(r"[a-z]", key)
    if shell and not quoted:  # NAME=value: nothing else can stand there
        if strong:
            return len(value) >= 6
        return len(value) >= 6 and mixed(value) and not (wordy(value) and len(value) < 24)
    if not quoted and _ATTRIBUTE.match(value) and wordy(value):
        return False
    if not mixed(value) or (separator == "|" and len(value) < 10):
        return False
    if re.fullmatch(r"0x[0-9a-fA-F]{40}", value):
        return False
    named = re.fullmatch(r"[\w.-]+", value) and wordy(value, 4.0 if strong else _WORD_LENGTH)
    if named and not (quoted and strong and "_" not in value):
        return False
    return len(value) >= (6 if strong else 16)
