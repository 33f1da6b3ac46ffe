"""Text on its way to a terminal: no escapes, no control characters, no hidden order of letters.

Standard library only; regular expressions are compiled when a text needs them.
"""

from __future__ import annotations

#: Directional marks and overrides (UAX 9), line and paragraph separators, tag characters, the byte
#: order mark: none can be seen.
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
_TABLES: dict[bool, dict[int, str]] = {}
#: Escape sequences of terminals (ECMA-48), and C0 and C1 controls except tab and newline with the
#: bidirectional overrides that can disguise text (CVE-2021-42574).
_ANSI = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]"


def plain(text: str) -> str:
    """Return *text* in NFC, without terminal escapes, control characters and bidi overrides.

    Line ends become newlines.
    """
    if not text.isprintable():
        import re

        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = re.sub(_CONTROLS, "", re.sub(_ANSI, "", text))
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def shown(text: str) -> str:
    """Return *text* in a form that is safe for a terminal.

    Characters that move the cursor, set a title, write the clipboard or change the order of letters
    become visible marks. A tab becomes spaces. Other characters stay one character, and newlines
    stay.
    """
    return text if text.isprintable() else text.expandtabs(_TAB).translate(_table(False))


def shown_line(text: str) -> str:
    """Return the same as ``shown`` on one line. Positions in *text* stay valid."""
    return text if text.isprintable() else text.translate(_table(True))


def _table(in_line: bool) -> dict[int, str]:
    """Visible marks of the characters that a terminal acts on or hides; built when first needed."""
    if in_line not in _TABLES:
        hidden = (*range(0x80, 0xA0), *range(0xD800, 0xE000), *_UNSEEN)
        marks = {code: chr(0x2400 + code) for code in range(0x20) if code not in (9, 10)}
        marks |= {0x7F: "\u2421"} | dict.fromkeys(hidden, "\ufffd")
        _TABLES[in_line] = marks | {9: " ", 10: "\u240a"} if in_line else marks
    return _TABLES[in_line]
