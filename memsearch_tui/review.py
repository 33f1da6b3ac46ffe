"""The review queue in the app: the engine's cases, and unsaved edits, which only the app has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from memsearch_engine import Change, Conflict, Decision, Memory, ReviewItem

from memsearch_tui import drafts
from memsearch_tui.counted import many, quoted

#: kind -> heading of its group, which follows the count
TITLES = {
    "longterm": "proposed for long-term memory",
    "held": "quarantined, pending review",
    "conflict": "changed in two places",
    "repair": "could be repaired",
    "amends": "possibly superseded",
    "contradicts": "contradicting values",
    "stale": "possibly outdated",
    "page": "proposed for pages",
    "skill": "proposed skills",
    "secret": "secrets",
    "draft": "unsaved edits",
    "unread": "can't be read",
}
_PLURAL = ("contradicting values", "proposed skills", "secrets", "unsaved edits")


def titled(kind: str, count: int) -> str:
    """Return the heading of a group: its count and its words."""
    title = TITLES[kind]
    return f"{count} {title.removesuffix('s') if count == 1 and title in _PLURAL else title}"


def cases(memory: Memory, secrets: bool = False) -> list[ReviewItem]:
    """Return all cases that wait for a decision; as ``groups``."""
    return [case for _, found in groups(memory, secrets) for case in found]


def groups(memory: Memory, secrets: bool = False) -> Iterator[tuple[str, list[ReviewItem]]]:
    """Yield each kind with its cases as soon as they are read.

    Args:
        secrets: also look for secrets, which takes seconds.

    Raises:
        MemsearchError: a store cannot be read.
        OSError: a file cannot be read.
    """
    yield "draft", _drafts(memory)
    yield from memory.review.groups(secrets=secrets)
    yield "unread", _unread(memory)


def decide(memory: Memory, case: ReviewItem, yes: bool, text: str | None = None) -> Decision:
    """Carry out a decision.

    Args:
        yes: accept the case, or reject it.
        text: replaces the proposed text.

    Raises:
        MemsearchError: the decision cannot be carried out.
        OSError: a file cannot be written.
    """
    if case.kind != "draft":
        return memory.review.decide(case, yes, text)
    if drafts.load(memory.home, case.subject.path, case.subject.entry_id) != case.subject:
        raise Conflict(f"{quoted(case.title)} changed meanwhile", "look at it again")
    drafts.drop(memory.home, case.subject.path, case.subject.entry_id)

    def back() -> str:
        drafts.save(memory.home, case.subject)
        return "the draft is back"

    return Decision("dropped", back)


def _drafts(memory: Memory) -> list[ReviewItem]:
    return [
        ReviewItem(
            "draft",
            draft.path + draft.entry_id,
            draft.title,
            [
                [(draft.path, "dim")],
                [],
                *([(line, "text")] for line in draft.text.splitlines()),
                [],
                [("e on the entry goes on with it", "dim")],
            ],
            no="drop",
            subject=draft,
            notes=() if draft.new_day else (draft.entry_id,),
        )
        for draft in drafts.every(memory.home)
    ]


def _unread(memory: Memory) -> list[ReviewItem]:
    """Return a case for each file of notes that this user may not read."""
    why = "its permissions forbid reading it: memsearch doctor"
    return [
        ReviewItem(
            "unread",
            file.path,
            os.path.basename(file.path),
            [[(file.path, "text")], [], [(why, "warn")]],
        )
        for file in memory.days()
        if not os.access(file.path, os.R_OK)
    ]


def undo(memory: Memory) -> str:
    """Undo the last change of a note and return a message, also if there is nothing to undo.

    Raises:
        MemsearchError: the change cannot be undone.
    """
    changes = memory.undo(everywhere=memory.everything, own=True)
    return f"undone: {of_changes(changes)}" if changes else "nothing to undo"


def of_changes(changes: Sequence[Change]) -> str:
    """Return what a step changed: ``delete of “…”``."""
    count = len(changes)
    what = quoted(changes[0].title) if count == 1 else many(count, "note")
    return f"{changes[0].op} of {what}"
