"""Rows of pieces: text with a tone, wrapped to a width, with searched words marked.

A row is a list of *pieces*: ``(text, tone)``. A tone names a look; ``widgets/lines.py`` draws it.
No widget here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from rich.cells import cell_len

Piece = tuple[str, str]
Row = list[Piece]

#: In a row of a list: the rest goes to the second line.
LINE_BREAK: Piece = ("\n", "text")
#: Between two cells of a table.
COLUMN: Piece = ("│ ", "dim")
#: Before each line of code and of a quotation.
GUTTERS = ("▏ ", "│ ")
_CROSS = "┼"  # between two columns of the rule below a table's header
_LEAST_CELL = 6  # cells of a column; narrower tables are wrapped like text

#: Characters that join several into one, or widen one. Terminals disagree on the cells of the
#: result, which would shift the rest of the row. So the parts are drawn, because all terminals
#: agree on their widths.
_JOINING = re.compile(
    "[\ufe0e\ufe0f\u20e3]|\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
    "|(?<=[\u2190-\u2bff\U0001f000-\U0001faff\U0010ff00-\U0010ff08])\u200d"
    "|(?<=\\S)[\U0001f3fb-\U0001f3ff]"
)
_LIST_SIGN = re.compile(r" *(?:[•☐☑]|\d+\.) ")
#: Least letters of a searched word that also matches the beginning of a longer word.
_WHOLE_BELOW = 5
_FLAGS = {0x1F1E6 + letter: chr(ord("A") + letter) for letter in range(26)}

#: Joining character -> a private one that stands for it in the editor, and is drawn as a mark.
_PARTS = {ord(sign): 0x10FF00 + n for n, sign in enumerate("\ufe0e\ufe0f\u20e3\u200d🏻🏼🏽🏾🏿")}
_WHOLE = {part: sign for sign, part in _PARTS.items()}
_DRAWN = {**dict.fromkeys(_WHOLE, "‿"), **_FLAGS}


def drawable(text: str) -> str:
    """Return *text* with only characters that have the same width in every terminal.

    Emoji become their parts, flags become letters.
    """
    return text if text.isascii() else _JOINING.sub("", text).translate(_FLAGS)


def taken_apart(text: str) -> str:
    """Return *text* with the joining characters of emoji as characters of one cell."""
    return _JOINING.sub(lambda found: found[0].translate(_PARTS), text)


def together(text: str) -> str:
    """Return the text that was ``taken_apart``."""
    return text.translate(_WHOLE)


def drawn_apart(text: str) -> str:
    """Return a text that was ``taken_apart`` with marks and letters, each for one character."""
    return text.translate(_DRAWN)


def joined(row: Row) -> Row:
    """Return the row with neighbours of one tone joined, because each piece costs forty bytes of
    escape sequences.
    """
    pieces: Row = []
    for text, tone in row:
        if text and pieces and pieces[-1][1] == tone:
            pieces[-1] = pieces[-1][0] + text, tone
        elif text:
            pieces.append((text, tone))
    return pieces


def mark_words(text: str, tone: str, words: Sequence[str]) -> list[Piece]:
    """Cut *text* so that every occurrence of *words* is a ``match`` piece.

    A word matches at the beginning of a word of the text. With fewer than five letters it matches
    only a whole word: "set" does not match in "settings", "cache" matches in "caches".

    Args:
        words: casefolded; may contain blanks.
    """
    pattern = _pattern(tuple(words))
    pieces: list[Piece] = []
    position = 0
    for match in pattern.finditer(text) if pattern else ():
        pieces += [(text[position : match.start()], tone), (match[0], "match")]
        position = match.end()
    return [*pieces, (text[position:], tone)]


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    parts = []
    for word in sorted(filter(None, words), key=len, reverse=True):
        begin = r"(?<![^\W_])" if word[0].isascii() and word[0].isalnum() else ""
        is_short = len(word) < _WHOLE_BELOW and word[-1].isascii() and word[-1].isalnum()
        parts.append(begin + re.escape(word) + (r"(?![^\W_])" if is_short else ""))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def wrap(row: Row, width: int) -> list[Row]:
    """Return a row as rows of at most *width* cells, broken at blanks.

    Wide characters count two. While a terminal is resized, a pane may have no width.
    """
    width = max(1, width)
    if sum(cell_len(text) for text, _ in row) <= width:
        return [row]
    if (_is_rule(row) or COLUMN in row[1:]) and (table := _wrap_cells(row, width)):
        return table
    if (after := _repeated(row)) and (after[0].strip() or cell_len(after[0]) <= width // 2):
        first, *rest = wrap(row[1:], max(1, width - cell_len(row[0][0])))
        return [[row[0], *first], *([after, *line] for line in rest)]
    lines: list[Row] = [[]]
    room = width
    for text, tone in row:
        for word in _words(text):
            need = cell_len(word)
            if need > room and room < width:
                lines.append([])
                room = width
                word = word.lstrip(" ")
                need = cell_len(word)
            start = 0
            while need > room:
                # a word longer than a line, or text without blanks; by position, because it may
                # have megabytes
                cut = start + _fits(word[start : start + room + 1], room)
                lines[-1].append((word[start:cut], tone))
                lines.append([])
                need -= cell_len(word[start:cut])
                start, room = cut, width
            word = word[start:]
            if word:
                lines[-1].append((word, tone))
                room -= need
    return lines


def _repeated(row: Row) -> Piece | None:
    """Return the beginning of a row's other lines: the prefix of a quotation or of code, blanks
    below the sign of a list or below the first column (a piece that ends with two blanks).
    """
    before, tone = row[0] if row else ("", "")
    if before.strip() and not before.strip("▏│ "):
        return before, tone
    is_column = before.endswith("  ") and len(row) > 1
    return (" " * cell_len(before), tone) if is_column or _LIST_SIGN.fullmatch(before) else None


def unwrapped(lines: Sequence[Row]) -> Row:
    """Return wrapped lines as one row, with a blank between them."""
    row: Row = []
    for line in lines:
        row += [*([(" ", "text")] if row and not row[-1][0].endswith(" ") else []), *line]
    return row


def cut(row: Row, width: int) -> Row:
    """Return a row in at most *width* cells; a row that is cut ends with ``…``."""
    if sum(cell_len(text) for text, _ in row) <= width:
        return row
    found: Row = []
    room = width - 1
    for text, tone in row:
        need = cell_len(text)
        if need > room:
            fits = text[: _fits(text, room)] if room else ""
            return [*found, (fits.rstrip(), tone), ("…", "dim")]
        found.append((text, tone))
        room -= need
    return found


def _is_rule(row: Row) -> bool:
    """Return whether a row is the rule below a table's header."""
    return len(row) == 1 and _CROSS in row[0][0] and not row[0][0].strip(f"─{_CROSS}")


def _wrap_cells(row: Row, width: int) -> list[Row]:
    """Return a table's row with each cell wrapped in its own column; [] if there is no room.

    All rows of a table have the same widths before, so they get the same widths here.
    """
    if _is_rule(row):
        parts = row[0][0].split(_CROSS)
        fitted = _fit_columns([len(part) - (n > 0) for n, part in enumerate(parts)], width)
        rule = _CROSS.join("─" * (size + (n > 0)) for n, size in enumerate(fitted))
        return [[(rule or "─" * width, row[0][1])]]
    cells: list[Row] = [[]]
    for piece in row:
        if piece == COLUMN:
            cells.append([])
        else:
            cells[-1].append(piece)
    fitted = _fit_columns([sum(cell_len(text) for text, _ in cell) for cell in cells], width)
    if not fitted:
        return []
    columns = [wrap(_stripped(cell), size - 1) for cell, size in zip(cells, fitted)]
    lines: list[Row] = []
    for number in range(max(map(len, columns))):
        line: Row = []
        for column, size in zip(columns, fitted):
            part = column[number] if number < len(column) else []
            room = size - sum(cell_len(text) for text, _ in part)
            line += [*([COLUMN] if line else []), *part, (" " * room, "text")]
        lines.append(line)
    return lines


def _stripped(cell: Row) -> Row:
    """Return a cell without the padding behind its text."""
    cell = list(cell)
    while cell and not cell[-1][0].strip():
        cell.pop()
    return cell


def _fit_columns(sizes: list[int], width: int) -> list[int]:
    """Return the sizes of columns that fit into *width* cells with their separators; [] if none do.

    Only the widest columns become narrower, all to the same size.
    """
    room = width - len(COLUMN[0]) * (len(sizes) - 1)
    if room < sum(min(size, _LEAST_CELL) for size in sizes):
        return []
    cap = max(sizes)
    while sum(min(size, cap) for size in sizes) > room:
        cap -= 1
    return [min(size, cap) for size in sizes]


def _words(text: str) -> list[str]:
    """Return words with the blanks before them. CJK text may break anywhere."""
    words: list[str] = []
    start = 0
    for index in range(1, len(text)):
        wide = cell_len(text[index]) == 2 or cell_len(text[index - 1]) == 2
        if (text[index] == " " and text[index - 1] != " ") or wide:
            words.append(text[start:index])
            start = index
    words.append(text[start:])
    return words


def _fits(text: str, room: int) -> int:
    """Return how many characters of *text* fit into *room* cells, at least one."""
    used = 0
    for index, sign in enumerate(text):
        used += cell_len(sign)
        if used > room:
            return max(1, index)
    return len(text)


_LONGEST, _LARGEST = 1_000, 50_000  # lines, characters


def diff_rows(before: str, after: str) -> list[Row]:
    """Return the differences as rows: ``-`` for removed lines, ``+`` for added ones.

    Signs and colours both show the kind.

    Long texts are shown whole, without a comparison.
    """
    # no text has no line: an empty one would be shown as a lone sign
    old, new = (text.split("\n") if text else [] for text in (before, after))
    rows: list[Row] = []
    if not before or max(len(old), len(new)) > _LONGEST or max(len(before), len(after)) > _LARGEST:
        # the comparison takes quadratic time
        went = [[("- ", "bad"), (line, "bad")] for line in old]
        return [*went, *([("+ ", "good"), (line, "good")] for line in new)]
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += [[("  ", "dim"), (line, "text")] for line in old[a:b]]
        elif kind == "replace" and b - a == d - c:
            pairs = [_diff_words(was, now) for was, now in zip(old[a:b], new[c:d])]
            rows += [went for went, _ in pairs] + [came for _, came in pairs]
        else:
            rows += [[("- ", "bad"), (line, "bad")] for line in old[a:b]]
            rows += [[("+ ", "good"), (line, "good")] for line in new[c:d]]
    return rows


def _diff_words(was: str, now: str) -> tuple[Row, Row]:
    """Return two versions of a line, with their common words in the quiet tone."""
    old, new = _split(was), _split(now)
    went: Row = [("- ", "bad")]
    came: Row = [("+ ", "good")]
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        went.append(("".join(old[a:b]), "dim" if kind == "equal" else "bad"))
        came.append(("".join(new[c:d]), "text" if kind == "equal" else "good"))
    return went, came


def _split(line: str) -> list[str]:
    """Return words, each with the blank after it."""
    return (
        line.split(" ")
        if " " not in line
        else [f"{word} " for word in line.split(" ")[:-1]] + [line.split(" ")[-1]]
    )


def is_diff(text: str) -> bool:
    """Return whether *text* is a unified diff."""
    lines = text.split("\n", 40)[:40]
    return any(line.startswith("@@ -") for line in lines) or (
        any(line.startswith("--- ") for line in lines)
        and any(line.startswith("+++ ") for line in lines)
    )


def diff_tone(line: str) -> str:
    """Return the tone of a line of a unified diff."""
    if line.startswith(("+++", "---", "@@", "diff ", "index ")):
        return "accent"
    return "good" if line.startswith("+") else "bad" if line.startswith("-") else "dim"
