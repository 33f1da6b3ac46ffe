"""Two texts as rows of differences: removed lines, added lines, and the changed words of changed
lines.
"""

from __future__ import annotations

from difflib import SequenceMatcher

from memsearch_tui.widgets.pieces import Row

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
            pairs = [_words(was, now) for was, now in zip(old[a:b], new[c:d])]
            rows += [went for went, _ in pairs] + [came for _, came in pairs]
        else:
            rows += [[("- ", "bad"), (line, "bad")] for line in old[a:b]]
            rows += [[("+ ", "good"), (line, "good")] for line in new[c:d]]
    return rows


def _words(was: str, now: str) -> tuple[Row, Row]:
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
