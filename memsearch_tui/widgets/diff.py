"""Two texts as rows that show what differs: lines that went, lines that came, and in changed lines
the words.
"""

from __future__ import annotations

from difflib import SequenceMatcher

from memsearch_tui.widgets.lines import Row

_LONGEST, _LARGEST = 1_000, 50_000  # lines, characters


def diff_rows(before: str, after: str) -> list[Row]:
    """``-`` what went, ``+`` what came; shape as well as colour says which. Of long texts all of
    both.
    """
    old, new = before.split("\n"), after.split("\n")
    rows: list[Row] = []
    if not before or max(len(old), len(new)) > _LONGEST or max(len(before), len(after)) > _LARGEST:
        # comparing takes the square of it
        went = [[("- ", "bad"), (line, "bad")] for line in old] if before else []
        return [*went, *([("+ ", "good"), (line, "good")] for line in new)]
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += [[("  ", "dim"), (line, "text")] for line in old[a:b]]
        elif kind == "replace" and b - a == d - c:
            pairs = [_words(was, now) for was, now in zip(old[a:b], new[c:d])]
            rows += [went for went, _ in pairs] + [came for _, came in pairs]
        else:
            rows += [[("- ", "bad"), (line, "bad")] for line in old[a:b]]
            rows += [[("+ ", "good"), (line, "good")] for line in new[c:d]]
    return rows


def _words(was: str, now: str) -> tuple[Row, Row]:
    """Two versions of a line, what they share in the quiet tone."""
    old, new = _split(was), _split(now)
    went: Row = [("- ", "bad")]
    came: Row = [("+ ", "good")]
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        went.append(("".join(old[a:b]), "dim" if kind == "equal" else "bad"))
        came.append(("".join(new[c:d]), "text" if kind == "equal" else "good"))
    return went, came


def _split(line: str) -> list[str]:
    """Words, each with the blank after it."""
    return (
        line.split(" ")
        if " " not in line
        else [f"{word} " for word in line.split(" ")[:-1]] + [line.split(" ")[-1]]
    )


def is_diff(text: str) -> bool:
    """Whether *text* is a unified diff, as tools print it."""
    lines = text.split("\n", 40)[:40]
    return any(line.startswith("@@ -") for line in lines) or (
        any(line.startswith("--- ") for line in lines)
        and any(line.startswith("+++ ") for line in lines)
    )


def diff_tone(line: str) -> str:
    """The tone of a line of a unified diff."""
    if line.startswith(("+++", "---", "@@", "diff ", "index ")):
        return "accent"
    return "good" if line.startswith("+") else "bad" if line.startswith("-") else "dim"
