"""Entries and turns as rows of pieces: markdown is drawn for reading, nothing is executed.

Copied markdown is the original text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import memsearch_engine as engine
from memsearch_engine import agent_named, agent_names, plain, shared_author
from rich.cells import cell_len

from memsearch_tui.widgets.pieces import COLUMN, Piece, Row, diff_tone, is_diff

#: Code, bold, an image or a link, a bare address, struck-through text, emphasis.
_INLINE = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|\*\*(?P<bold>[^*]+)\*\*"
    r"|(?P<image>!)?\[(?P<label>[^\[\]\n]*)\]\((?P<target>[^()\s]*(?:\([^()\s]*\))?[^()\s]*)\)"
    r"|(?P<url>https?://[^\s<>]*[^\s<>.,;:!?)\]'\"])"
    r"|~~(?P<strike>[^~]+)~~"
    r"|(?<![\w*])[*](?P<emphasis>[^*\s](?:[^*]*[^*\s])?)[*](?![\w*])"
)
_QUOTE = re.compile(r"^ {0,3}((?:> ?)+)")
_BULLET = re.compile(r"^(\s*)([-*+]|\d+\.)\s+(?:\[([ xX])\]\s+)?")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_LONGEST_TABLE = 500  # rows
_TOOL_LINES = 3
_LONGEST = 2000  # characters of a line of a tool's output
_FINDINGS = 4  # shown stale references of a note
_NEIGHBOUR = 60  # characters of the title of a superseded or superseding note
_SEEN = 12  # least cells for a found word and the text after it

#: mark -> (shown text, tone); ``{}`` is the mark's value
BADGES = {
    "pin": ("pinned", "accent"),
    "superseded-by": ("superseded", "dim"),
    "expires": ("expires {}", "dim"),
    "trust": ("{}", "warn"),
    "confidence": ("{} confidence", "dim"),
    "summary": ("pending", "dim"),
    "conflict": ("changed in two places", "warn"),
    "conflict-of": ("another text of {}", "warn"),
    "contradicts": ("contradicts your decision", "warn"),
    "review": ("to be looked at again {}", "dim"),
}


#: mark or computed fact -> its sign in a row, where words have no room, the tone, and the meaning
#: that `?` shows; names with a blank are no marks
SIGNS = {
    "has conversation": ("▸", "dim", "its conversation can be opened"),
    "by meaning": ("~", "dim", "found by meaning alone"),
    "is current": ("◀", "good", "the newest of several versions"),
    "pin": ("◆", "accent", "pinned"),
    "superseded-by": ("×", "dim", "superseded"),
    "expires": ("◷", "dim", "expires"),
    "trust": ("!", "warn", "quarantined, or with content from outside"),
    "confidence": ("?", "dim", "low confidence"),
    "summary": ("…", "dim", "its summary is pending"),
    "gone": ("✗", "warn", "names what is gone from the repository"),
    "moved": ("→", "warn", "names what has moved there"),
    "conflict": ("≠", "warn", "changed in two places, or against your decision"),
    "conflict-of": ("≠", "warn", "changed in two places, or against your decision"),
    "contradicts": ("≠", "warn", "changed in two places, or against your decision"),
    "unmerged": ("⎇", "dim", "its branch was not merged"),
}


def agent_tag(agent: str) -> str:
    """Return two letters for an agent, which also name its tone; ``me`` for notes written by
    hand.
    """
    return agent_named(agent).tag if agent in agent_names() else "me"


def agent_short(agent: str) -> str:
    """Return the first word of an agent's name, in the width of a column of such names."""
    return f"{agent.partition('-')[0] if agent in agent_names() else 'by hand':8s}"


def sign(name: str, after: str = " ") -> Piece:
    """Return the sign of a mark or fact with the text after it."""
    drawn, tone, _ = SIGNS[name]
    return drawn + after, tone


def signs(marks: dict[str, str]) -> Row:
    """Return the signs of a row for these marks."""
    found: Row = [sign(name, "") for name in SIGNS if name in marks]
    return [*found, (" ", "dim")] if found else []


def legend(rows: Iterable[Row]) -> Row:
    """Return the signs in *rows* with their meanings, as one row."""
    drawn = {(text.split() or [""])[0] + tone for row in rows for text, tone in row}
    found: Row = []
    for sign_, tone, meaning in dict.fromkeys(SIGNS.values()):
        if sign_ + tone in drawn:
            found += [("   " * bool(found), "text"), (f"{sign_} ", tone), (meaning, "text")]
    return found


def snippet(title: str, text: str, words: list[str], room: int) -> str:
    """Return the line of a hit that has most of *words*, cut to *room* cells around them.

    A long word counts more than a short one: ``cache_token`` is rarer than ``cache``.

    Args:
        title: used if no line of *text* has more words.
        words: casefolded.
    """

    def count(line: str) -> int:
        folded = line.casefold()
        return sum(len(word) for word in words if word in folded)

    lines = [
        _BULLET.sub("", line).strip()
        for line in text.split("\n")
        if not line.lstrip().startswith("#")
    ]
    best = max(lines, key=count, default="")
    if count(best) <= count(title):
        best = title
    if cell_len(best) <= room:
        return best
    folded = best.casefold()
    places = sorted(place for word in words if (place := folded.find(word)) >= 0)
    if not places or places[-1] < room - _SEEN:
        return best
    # begin before the word from which on most words are visible
    _, first = max((sum(p <= q < p + room - _SEEN for q in places), -p) for p in places)
    start = max(0, -first - room // 4)
    while 0 < start < -first and best[start - 1] != " ":
        start += 1
    return "…" + best[start:] if start else best


def other_lines(text: str, shown: str) -> str:
    """Return the lines of *text* other than *shown*, as one line without headings and bullets."""
    lines = (
        _BULLET.sub("", line).strip()
        for line in plain(text).split("\n")
        if not line.lstrip().startswith(("#", "<!--"))
    )
    return " · ".join(line for line in lines if line and line != shown)


def badges(marks: dict[str, str]) -> Row:
    """Return the marks as words with their tones."""
    row: Row = []
    for name, (text, tone) in BADGES.items():
        if name in marks:
            row.append((f" [{text.format(marks[name])}]", tone))
    return row


def markdown(text: str) -> list[Row]:
    """Return markdown drawn for reading: code as blocks, diffs in colours, tables in columns, bold
    as bold.
    """
    lines = plain(text).split("\n")
    rows: list[Row] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        if match := _FENCE.match(line):
            sign = match[1]
            closes = (n for n in range(place + 1, len(lines)) if _closes(lines[n], sign))
            end = next(closes, len(lines))
            rows += _fenced(line.strip().lstrip("`~").strip(), lines[place + 1 : end])
            place = end + 1
        elif "|" in line and place + 1 < len(lines) and _is_rule(lines[place + 1]):
            length, table = _table(lines[place : place + _LONGEST_TABLE])
            rows += table or [_line(line)]
            place += length
        else:
            rows.append(_line(line))
            place += 1
    return rows


def code_blocks(text: str) -> list[str]:
    """Return the text of each fenced block."""
    lines = plain(text).split("\n")
    blocks: list[str] = []
    place = 0
    while place < len(lines):
        if match := _FENCE.match(lines[place]):
            sign, begin = match[1], place + 1
            place = next(
                (n for n in range(begin, len(lines)) if _closes(lines[n], sign)), len(lines)
            )
            blocks.append("\n".join(lines[begin:place]))
        place += 1
    return blocks


def links(text: str) -> list[str]:
    """Return the addresses of links and images, and bare addresses."""
    found = (match.groupdict() for match in _INLINE.finditer(plain(text)))
    return [address for one in found if (address := one["url"] or one["target"])]


def spans_of_code(text: str) -> list[str]:
    """Return the code within lines, without its backticks."""
    found = (match["code"] for match in _INLINE.finditer(plain(text)))
    return [code.strip("`") for code in found if code and "\n" not in code]


def _line(line: str) -> Row:
    if line.lstrip().startswith("#"):
        return [(line, "strong")]
    if line.lstrip().startswith("<!--"):
        return [(line, "dim")]
    if quote := _QUOTE.match(line):
        depth = quote[1].count(">")
        return [("│ " * depth, "dim"), *_line(line[quote.end() :])]
    if bullet := _BULLET.match(line):
        sign = "• " if bullet[2] in "-*+" else f"{bullet[2]} "
        if bullet[3]:  # a task
            sign = "☐ " if bullet[3] == " " else "☑ "
        return [(bullet[1] + sign, "accent"), *inline(line[bullet.end() :])]
    return inline(line.expandtabs(4))


def _fenced(language: str, lines: list[str]) -> list[Row]:
    is_patch = language == "diff" or is_diff("\n".join(lines))
    rows: list[Row] = [[("▏ ", "dim"), (language, "dim")]] if language else []
    for line in lines:
        tone = diff_tone(line) if is_patch else "code"
        rows.append([("▏ ", "dim"), (line.expandtabs(4), tone)])
    return rows


def _closes(line: str, sign: str) -> bool:
    """Return whether a line closes the fence that *sign* opened: at least as many of the same
    characters, and no other text.
    """
    line = line.strip()
    return len(line) >= len(sign) and not line.strip(sign[0])


def _is_rule(line: str) -> bool:
    """Return whether a line separates a table's header from its rows."""
    return "-" in line and len(line) < _LONGEST and not line.strip(" |:-\t")


def _table(lines: list[str]) -> tuple[int, list[Row]]:
    """Draw a table in columns as wide as their longest cell.

    A table that would hide a cell is shown as written.

    Returns:
        The number of *lines* that the table has, and its rows; (1, nothing) if it is no table.
    """
    from markdown_it import MarkdownIt  # 90 ms, and few notes have a table

    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    if not tokens or tokens[0].type != "table_open" or tokens[0].map is None:
        return 1, []
    length = tokens[0].map[1]
    table: list[list[str]] = []
    for token in tokens[: next(n for n, token in enumerate(tokens) if token.type == "table_close")]:
        if token.type == "tr_open":
            table.append([])
        elif token.type == "inline" and table:
            table[-1].append(token.content)
    written = (
        "".join(lines[0] + "".join(lines[2:length])).replace("|", "").replace("\\", "").split()
    )
    if "".join(written) != "".join("".join(cells) for cells in table).replace("|", "").replace(
        "\\", ""
    ).replace(" ", "").replace("\t", ""):
        return length, [_line(line) for line in lines[:length]]
    widths = [
        max(cell_len(_shown(row[n])) for row in table if n < len(row)) for n in range(len(table[0]))
    ]
    rows: list[Row] = []
    for number, cells in enumerate(table):
        row: Row = []
        for cell, width in zip(cells, widths):
            row += [COLUMN] if row else []
            row += [(cell, "strong")] if number == 0 else inline(cell)
            row.append((" " * (width - cell_len(_shown(cell)) + 1), "text"))
        rows.append(row if len(cells) > 1 else row[:-1])
        if number == 0:
            rows.append(
                [("┼".join("─" * (width + 1 + (n > 0)) for n, width in enumerate(widths)), "dim")]
            )
    return length, rows


def _shown(text: str) -> str:
    """Return *text* as ``inline`` draws it."""
    return "".join(piece for piece, _ in inline(text))


def inline(text: str) -> Row:
    """Return one line of markdown as pieces. Characters that are no markup are unchanged."""
    row: Row = []
    position = 0
    for match in _INLINE.finditer(text):
        row.append((text[position : match.start()], "text"))
        row += _span(match)
        position = match.end()
    return [*row, (text[position:], "text")]


def _span(match: re.Match[str]) -> Row:
    found = match.groupdict()
    if found["code"]:
        return [(found["code"], "code")]
    if found["url"]:
        return [(found["url"], "link")]
    if found["target"] is not None:
        return _link(found["label"], found["target"], is_image=bool(found["image"]))
    tone = next(name for name in ("bold", "strike", "emphasis") if found[name])
    return [(found[tone], {"bold": "strong"}.get(tone, tone))]


def _link(label: str, target: str, *, is_image: bool) -> Row:
    """Return a link as its text; the address follows if the text does not contain it."""
    row: Row = [("image: ", "dim")] if is_image else []
    row.append((label or target, "link"))
    return row + ([(f" ({target})", "dim")] if label and label != target else [])


def entry_rows(
    entry: engine.Entry,
    day: str,
    path: str,
    evidence: str,
    amendments: Sequence[engine.Supersession] = (),
    standing: engine.NoteStaleness | None = None,
) -> list[Row]:
    """Return the rows of a whole note (L2), with the facts about it.

    Args:
        day: the note's ISO day.
        path: its file.
        evidence: the state of its conversation (``NoteReader.evidence``).
        amendments: the supersessions that it is part of.
        standing: its staleness, if it was compared.
    """
    head: Row = [
        (f"{day} {entry.time or 'note'}  ", "strong"),
        (entry.agent or "written by hand", agent_tag(entry.agent)),
        *([(f"  shared by {by}", "strong")] if (by := shared_author(path)) else []),
        *badges(entry.marks),
    ]
    rows = [head]
    if entry.anchors:
        tone = {"live": "good", "archived": "accent"}.get(evidence, "warn")
        rows.append(
            [
                ("conversation ", "dim"),
                (evidence or "none", tone),
                (f"  session {entry.session[:13]}", "dim"),
            ]
        )
    for found in amendments:
        is_older = found.older.entry_id == entry.id
        other, what = (found.newer, "superseded by ") if is_older else (found.older, "supersedes ")
        row: Row = [
            (what, "warn" if is_older else "good"),
            (f"{other.day} {_cut(other.title)}", "text"),
        ]
        rows.append(row)
    rows += _standing_rows(standing) if standing else []
    rows += [
        [],
        *markdown(entry.body),
        [],
        [(f"{path}:{entry.start_line}", "dim")],
        [(f"entry {entry.id}", "dim")],
    ]
    return rows


def _cut(title: str) -> str:
    return title if len(title) <= _NEIGHBOUR else f"{title[: _NEIGHBOUR - 1].rstrip()}…"


def _standing_rows(standing: engine.NoteStaleness) -> list[Row]:
    """Return the stale references of a note, the most important first."""
    changed = [finding for finding in standing.findings if finding.state == "changed"]
    rows: list[Row] = [
        [sign(found.state), (found.words, "warn")] for found in standing.stale[:_FINDINGS]
    ]
    rows += [[("~ ", "dim"), (found.words, "dim")] for found in changed[: _FINDINGS - len(rows)]]
    if standing.unmerged:
        rows.append([sign("unmerged"), (f"its branch {standing.unmerged} was not merged", "warn")])
    return rows


def turn_rows(turn: engine.Turn, number: int, total: int, *, unfolded: bool) -> list[Row]:
    """Return the rows of a turn (L3): the prompt, then tools (folded) and answers in order of time.

    Args:
        number: the turn's number, of *total*.
        unfolded: show all output of tools.
    """
    state = {"done": "good", "interrupted": "warn", "failed": "bad"}.get(turn.status, "dim")
    rows: list[Row] = [
        [
            (f"turn {number} of {total}  ", "strong"),
            (turn.status, state),
            (f"  {turn.started[:19].replace('T', ' ')}", "dim"),
        ],
        [(plain(turn.cwd), "dim")],
        [],
        [("you", "strong")],
        *markdown(turn.user),
    ]
    agent: Row = [(turn.agent, agent_tag(turn.agent))]
    was_tool = False
    for step in turn.steps():
        if isinstance(step, str):
            rows += [[], agent, *markdown(step)]
            was_tool = False
        else:
            rows += ([] if was_tool else [[]]) + _tool_rows(step, unfolded)
            was_tool = True
    return rows if turn.assistant else [*rows, [], agent, [("(no answer)", "dim")]]


def _tool_rows(tool: engine.ToolCall, unfolded: bool) -> list[Row]:
    given = plain(tool.input).split("\n")
    rows: list[Row] = [
        [
            ("▸ " if not unfolded else "▾ ", "dim"),
            (plain(tool.name), "strong"),
            ("  ", "dim"),
            *([("failed ", "bad")] if tool.failed else []),
            (given[0][:300], "code"),
        ]
    ]
    if unfolded:
        rows += [[("    " + line.expandtabs(4)[:_LONGEST], "code")] for line in given[1:]]
    output = plain(tool.output).split("\n")
    is_patch = is_diff(tool.output)
    shown = output if unfolded else output[:_TOOL_LINES]
    for line in shown:
        if line or unfolded:
            rows.append(
                [("  " + line.expandtabs(4)[:_LONGEST], diff_tone(line) if is_patch else "dim")]
            )
    if len(output) > len(shown):
        rows.append([(f"  … {len(output) - len(shown)} more lines (o unfolds)", "dim")])
    return rows


def turn_markdown(turn: engine.Turn) -> str:
    """Return a turn as markdown: the prompt, tools with input and output in fences, the answer."""
    parts = [f"## You · {turn.started[:19].replace('T', ' ')}", plain(turn.user)]
    for step in turn.steps():
        if isinstance(step, str):
            parts += [f"## {turn.agent}", plain(step)]
        else:
            text = plain(f"{step.input}\n\n{step.output}".strip())
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
            failed = " (failed)" if step.failed else ""
            parts.append(f"{plain(step.name)}{failed}\n\n{fence}\n{text}\n{fence}")
    return "\n\n".join(parts)
