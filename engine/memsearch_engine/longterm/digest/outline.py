"""Creates a digest without a model, from lines of the notes in their own words.

Lines are grouped into decisions, changes, errors with their outcome, and open points. Nothing is
inferred. A line that fits no group is left out, and so is a statement that a newer note supersedes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from memsearch_engine.core.llm.tokens import estimate
from memsearch_engine.injection.notes import clipped, outcome_lines
from memsearch_engine.longterm.digest.picking import DigestNote

#: The kind of a line: the first pattern that matches. An open point may mention errors and changes,
#: and an error may mention changes.
_KINDS = {
    "Open": re.compile(
        r"\b(?:to ?do|fixme|not yet|still (?:open|missing|to|fails?)|left (?:open|"
        r"for|to)|remains?(?: to)?|next steps?|unfinished|pending|follow[- ]up"
        r"|waits? for|waiting for|open question|unclear|undecided|later:)\b|待办|未完成|下一步",
        re.I,
    ),
    "Decisions": re.compile(
        r"\b(?:decid\w+|decision|agreed|we (?:use|go with|stay with|keep|chose)|"
        r"chose|instead of|rather than|from now on|no longer|any ?more|never|always"
        r"|must(?: not)?|only (?:on|by|in|with|after)|policy|"
        r"rule|convention|superseding|reverted)\b|决定|改为|不再",
        re.I,
    ),
    "Errors": re.compile(
        r"\b(?:errors?|fail(?:s|ed|ure|ing)?|crash\w*|exceptions?|traceback|broke\w*|"
        r"bugs?|deadlock\w*|time[sd]? ?out|leak\w*|race|wrong|flaky|regression"
        r"|caused|because of|was due to)\b|错误|失败|崩溃|修复",
        re.I,
    ),
    "Changes": re.compile(
        r"\b(?:add(?:ed|s)?|chang(?:ed|es)|fix(?:ed|es)|mov(?:ed|es)|rais(?:ed|es)|"
        r"lower(?:ed|s)|remov(?:ed|es)|renam(?:ed|es)|upgrad\w+|updat\w+|replac\w+"
        r"|introduc\w+|split|merged|migrated|refactored|wrote|built|"
        r"enabled|disabled|set \S+ to|now)\b|新增|添加|更新|升级|替换",
        re.I,
    ),
}
ORDER = ("Decisions", "Changes", "Errors", "Open")
_HEAD_TOKENS = 4
_LONGEST = 240  # characters of a line
#: Files, commands and names: `app/core/errors.py` reports no error.
_NAMES = re.compile(r"`[^`]*`|\S*[\w-]/\S+|\b\w+\.\w{1,5}\b")
#: Lists in an extractive note that describe no outcome.
_META = re.compile(r"(?:User asked|Files changed|Commands|Errors met): ")


def outline(
    notes: list[DigestNote], tokens: int, rareness: Callable[[str], float] = lambda line: 0.0
) -> str:
    """Return a digest of *notes* (oldest first) as markdown; ``""`` if no line has a kind.

    Lines over the budget are removed from the largest kind: a few lines of each kind are more
    useful than all of one.

    Args:
        rareness: rates how rare the words of a line are among all notes. Lines that recur with
            other
            names and numbers are removed first, then those with the lowest rating, then the oldest.
    """
    found: dict[str, list[str]] = {kind: [] for kind in ORDER}
    seen: set[str] = set()
    for note in notes:
        for line in _lines(note):
            words = _NAMES.sub(" ", line)
            kind = next((name for name, pattern in _KINDS.items() if pattern.search(words)), "")
            if kind and line.casefold() not in seen:
                seen.add(line.casefold())
                found[kind].append(
                    f"- {f'{note.day}: ' if note.day else ''}{clipped(line, _LONGEST)} "
                    f"[mem:{note.id[:12]}]"
                )
    plain = {line: _plain(line) for lines in found.values() for line in lines}
    alike = Counter(plain.values())
    worth = {line: (-alike[words], rareness(words)) for line, words in plain.items()}
    worst = {
        kind: iter(sorted(lines, key=worth.__getitem__)) for kind, lines in found.items()
    }  # stable sort: equal lines are in the order of time, oldest first
    gone: set[str] = set()
    left = {kind: len(lines) for kind, lines in found.items()}
    size = {line: estimate(line) + 1 for line in plain}
    taken = sum(size.values()) + len(ORDER) * _HEAD_TOKENS
    while taken > tokens and any(left.values()):
        kind = max(left, key=left.__getitem__)
        line = next(worst[kind])
        gone.add(line)
        left[kind] -= 1
        taken -= size[line]
    return _drawn(
        {kind: [line for line in lines if line not in gone] for kind, lines in found.items()}
    )


def _plain(line: str) -> str:
    """A line without names and numbers, so that recurring chores become equal."""
    return " ".join(re.sub(r"\S*\d\S*|\b[A-Z]\w*[A-Z]\w*\b", " ", _NAMES.sub(" ", line)).split())


def _drawn(found: dict[str, list[str]]) -> str:
    return "\n\n".join("\n".join([f"**{kind}**", *lines]) for kind, lines in found.items() if lines)


def _lines(note: DigestNote) -> Iterator[str]:
    """Yield the lines of a note that describe an outcome.

    A line about an error includes the next line, which often says how the error ended.
    """
    if note.superseded:
        return
    lines = [line for line in outcome_lines(note.entry.body) if not _META.match(line)]
    taken = -1
    for place, line in enumerate(lines):
        if place == taken:
            continue
        words = _NAMES.sub(" ", line)
        if (
            _KINDS["Errors"].search(words)
            and place + 1 < len(lines)
            and not _KINDS["Open"].search(words)
        ):
            taken = place + 1
            yield f"{line} {lines[taken]}"
        else:
            yield line
