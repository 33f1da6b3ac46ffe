"""Making model and transcript text safe to stand in a day file.

Text that was not typed by the owner must not be able to forge a heading, an anchor, a mark or a
comment, or leave a code fence open over the entries that follow.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NewType

#: Text of an entry from which secrets were taken, and which can begin no other entry: what the
#: journal writes, and nothing else. ``Journal.clean`` makes it of any text, ``render.body_of`` of
#: what its owner typed.
CleanText = NewType("CleanText", str)
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=\s|$)", re.M)
_SETEXT = re.compile(r"^( {0,3})(=+|-{2,})[ \t]*$", re.M)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.M)
#: C0 and C1 controls except tab and newline, and the bidirectional overrides that can disguise text
#: (CVE-2021-42574).
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]")
#: Directional marks and overrides (UAX 9), line and paragraph separators, halves of surrogate
#: pairs, tag characters, the mark of byte order: none has a look of its own.
_UNSEEN = (
    0x61C,
    0x200E,
    0x200F,
    0x2028,
    0x2029,
    0xFEFF,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xE0000, 0xE0080),
)
_TAB = 4
_SHOWN = (
    {code: chr(0x2400 + code) for code in range(0x20) if code not in (9, 10)}
    | {0x7F: "\u2421"}
    | dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000), *_UNSEEN), "\ufffd")
)
_SHOWN_IN_LINE = _SHOWN | {9: " ", 10: "\u240a"}
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def plain(text: str) -> str:
    """*text* without terminal escapes, control characters and bidirectional overrides, NFC, ``\\n``
    line ends.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", _CONTROLS.sub("", _ANSI.sub("", text)))


def shown(text: str) -> str:
    """*text* as it may reach a terminal: what would move a cursor, set a title, write a clipboard
    or turn the order of letters is a visible mark, a tab is blanks. One character stays one
    character, but for tabs; newlines stay.
    """
    return text if text.isprintable() else text.expandtabs(_TAB).translate(_SHOWN)


def shown_line(text: str) -> str:
    """The same on one line; every character stays one character, so that places in *text* stay what
    they are.
    """
    return text if text.isprintable() else text.translate(_SHOWN_IN_LINE)


def escape_block(text: str) -> str:
    """*text* as body lines of an entry: no heading, no comment, no front matter line, fences
    balanced.
    """
    text = plain(text).replace("<!--", "<\u200b!--").replace("-->", "--\u200b>")
    text = _HEADING.sub(lambda m: f"{m[1]}\\{m[2]}", text)
    text = _SETEXT.sub(lambda m: f"{m[1]}\\{m[2]}", text)
    return balance_fences(text.strip("\n"))


def escape_line(text: str) -> str:
    """*text* as one line inside a list item."""
    return escape_block(" ".join(plain(text).split()))


def balance_fences(text: str) -> str:
    """Close a fence that *text* leaves open."""
    open_fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if not match:
            continue
        fence = match[1]
        if not open_fence:
            if fence[0] == "~" or "`" not in line[match.end() :]:
                open_fence = fence
        elif (
            fence[0] == open_fence[0]
            and len(fence) >= len(open_fence)
            and not line[match.end() :].strip()
        ):
            open_fence = ""
    return f"{text}\n{open_fence}" if open_fence else text
