"""Entries and turns as rows of pieces: light markdown for reading, nothing hidden, nothing executed."""

from __future__ import annotations

import re

from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.text import plain
from memsearch_engine.transcripts.model import Turn

from memsearch_tui.widgets.lines import Row

_INLINE = re.compile(r"(`[^`]+`)|(\*\*[^*]+\*\*)|(https?://\S+)")
_BULLET = re.compile(r"^(\s*)([-*+]|\d+\.)\s+")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_TOOL_LINES = 3
_SEEN = 12  # cells that are left for a found word and what follows

#: mark -> (what is shown, tone); ``{}`` is the mark's value
BADGES = {"pin": ("pinned", "accent"), "superseded-by": ("superseded", "dim"), "expires": ("expires {}", "dim"), "trust": ("{}", "warn"),
          "confidence": ("{} confidence", "dim"), "summary": ("pending", "dim")}  # fmt: skip


#: the same in front of a row, where there is no room for words; `?` explains them
SIGNS = {"pin": ("◆", "accent"), "superseded-by": ("×", "dim"), "expires": ("◷", "dim"), "trust": ("!", "warn"),
         "confidence": ("?", "dim"), "summary": ("…", "dim")}  # fmt: skip
TAGS = {"claude-code": "cl", "codex": "cx", "opencode": "oc", "openclaw": "ow"}


def agent_tag(agent: str) -> str:
    """Two letters for an agent, the same everywhere; they name its tone, too. ``me``: written by hand."""
    return TAGS.get(agent, "me")


def signs(marks: dict[str, str]) -> Row:
    found: Row = [sign for name, sign in SIGNS.items() if name in marks]
    return [*found, (" ", "dim")] if found else []


def snippet(title: str, text: str, words: list[str], room: int) -> str:
    """The line of *text* that has most of *words*, cut so that the first of them is seen in *room* cells; the title where it says as
    much."""

    def count(line: str) -> int:
        folded = line.casefold()
        return sum(word in folded for word in words)

    lines = [_BULLET.sub("", line).strip() for line in text.split("\n") if not line.lstrip().startswith("#")]
    best = max(lines, key=count, default="")
    if count(best) <= count(title):
        best = title
    first = min((place for word in words if (place := best.casefold().find(word)) >= 0), default=0)
    start = min(first - room // 3, len(best) - room + 1)
    return best if first < room - _SEEN or start <= 0 else "…" + best[start:]


def badges(marks: dict[str, str]) -> Row:
    row: Row = []
    for name, (text, tone) in BADGES.items():
        if name in marks:
            row.append((f" [{text.format(marks[name])}]", tone))
    return row


def markdown(text: str) -> list[Row]:
    """Markdown source with its structure shown by tone; every sign stays readable and copyable."""
    rows: list[Row] = []
    fence = ""
    for line in plain(text).split("\n"):
        match = _FENCE.match(line)
        if fence or match:
            rows.append([(line.expandtabs(4), "code")])
            if match and not fence:
                fence = match[1][:3]
            elif match and match[1].startswith(fence):
                fence = ""
        elif line.lstrip().startswith("#"):
            rows.append([(line, "strong")])
        elif line.lstrip().startswith("<!--"):
            rows.append([(line, "dim")])
        elif bullet := _BULLET.match(line):
            rows.append(
                [
                    (bullet[1] + ("• " if bullet[2] in "-*+" else f"{bullet[2]} "), "accent"),
                    *inline(line[bullet.end() :]),
                ]
            )
        else:
            rows.append(inline(line.expandtabs(4)))
    return rows


def inline(text: str) -> Row:
    row: Row = []
    position = 0
    for match in _INLINE.finditer(text):
        row.append((text[position : match.start()], "text"))
        row.append((match[0], "code" if match[1] else "strong" if match[2] else "accent"))
        position = match.end()
    return [*row, (text[position:], "text")]


def entry_rows(entry: Entry, day: str, path: str, evidence: str) -> list[Row]:
    """L2: the whole section with what is known of it."""
    head: Row = [
        (f"{day} {entry.time or 'note'}  ", "strong"),
        (entry.agent or "written by hand", "agent"),
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
    rows += [[], *markdown(entry.body), [], [(f"{path}:{entry.start_line}", "dim")], [(f"entry {entry.id}", "dim")]]
    return rows


def turn_rows(turn: Turn, number: int, total: int, *, unfolded: bool) -> list[Row]:
    """L3: one turn: what was asked, the tools (folded), what was answered."""
    state = {"done": "good", "interrupted": "warn", "failed": "bad"}.get(turn.status, "dim")
    rows: list[Row] = [
        [
            (f"turn {number} of {total}  ", "strong"),
            (turn.status, state),
            (f"  {turn.started[:19].replace('T', ' ')}", "dim"),
        ],
        [(plain(turn.cwd), "dim")],
        [],
        [("you", "accent")],
        *markdown(turn.user),
        [],
    ]
    for tool in turn.tools:
        rows.append([("▸ " if not unfolded else "▾ ", "dim"), (plain(tool.name), "strong"), ("  ", "dim"),
                     *([("failed ", "bad")] if tool.failed else []), (plain(tool.input).split("\n")[0][:300], "code")])  # fmt: skip
        output = plain(tool.output).split("\n")
        shown = output if unfolded else output[:_TOOL_LINES]
        rows += [[("  " + line.expandtabs(4)[:2000], "dim")] for line in shown if line or unfolded]
        if len(output) > len(shown):
            rows.append([(f"  … {len(output) - len(shown)} more lines (o unfolds)", "dim")])
    if turn.tools:
        rows.append([])
    return [
        *rows,
        [(turn.agent, "agent")],
        *(markdown(turn.assistant) if turn.assistant else [[("(no answer)", "dim")]]),
    ]
