"""Possibly outdated notes in the review queue: superseded, contradicted, or stale ones."""

from __future__ import annotations

from memsearch_engine.index.rows import Row
from memsearch_engine.review.item import MAX_LINES, Line, Parts, ReviewItem, Step
from memsearch_engine.search.hits import Hit

_MAX_STALE = 20  # maximum notes: a rewritten repository can make thousands stale
_BODY_LINES = 12


def _body(row: Row, limit: int = _BODY_LINES) -> list[Line]:
    """A note's own lines, without heading, anchors and marks."""
    return [[(f"  {line}", "text")] for line in Hit(0, 0.0, row).text.splitlines()[:limit]]


def superseded(memory: Parts) -> list[ReviewItem]:
    """Pairs of notes in which the newer one probably supersedes the older one."""
    found = []
    for pair in memory.supersession.pairs():
        sure = f"{pair.sure:.0%} sure that the newer one supersedes the older one"
        detail: list[Line] = [[(sure, "warn")], [(pair.why, "dim")]]
        for what, row in (("newer", pair.newer), ("older", pair.older)):
            head = f"{what}  {row.day} {row.time}  {row.entry_id[:8]}"
            detail += [[], [(head, "strong")], *_body(row)]
        effect = "a superseded note is found after the newer one, and sessions are given the newer"
        names = (pair.newer.entry_id, pair.older.entry_id)
        found.append(
            ReviewItem(
                "amends",
                "/".join(names),
                f"{pair.older.day}  {pair.older.title}",
                [*detail, [], [(effect, "dim")]],
                "it supersedes",
                "it does not",
                subject=pair,
                notes=names,
            )
        )
    return found


def contradictions(memory: Parts) -> list[ReviewItem]:
    """Names with two values in different notes, if no note mentions a change."""
    found = []
    for pair in memory.supersession.contradictions():
        why = " has two values, and no note says that it was changed"
        detail: list[Line] = [[(pair.name, "strong"), (why, "warn")]]
        for what, stated in (("newer", pair.newer), ("older", pair.older)):
            row = stated.row
            head = f"{what}  {row.day} {row.time}  {row.entry_id[:8]}  "
            detail += [[], [(head, "strong"), (stated.written, "match")], *_body(row)]
        effect = "the newer one: the older note counts as superseded. both: it is not asked again"
        names = (pair.newer.row.entry_id, pair.older.row.entry_id)
        values = f"{pair.older.written} or {pair.newer.written}?"
        found.append(
            ReviewItem(
                "contradicts",
                f"contradicts/{pair.name}/{'/'.join(names)}",
                f"{pair.newer.row.day}  {pair.name}: {values}",
                [*detail, [], [(effect, "dim")]],
                "the newer holds",
                "both hold",
                subject=pair,
                notes=names,
            )
        )
    return found


def decide_pair(
    memory: Parts, case: ReviewItem, yes: bool, _text: str | None
) -> tuple[str, Step | None]:
    """Decide on a pair of notes. Returns a message and the step that undoes it."""
    newer, older = case.notes
    before = memory.supersession.override(newer, older, yes)
    message = "noted: it supersedes" if yes else "noted: it is about something else"
    return message, ["pair", newer, older, before]


def pair_again(memory: Parts, newer: str, older: str, before: bool | None) -> str:
    """Undo a decision about a pair of notes. Returns a message."""
    memory.supersession.override(newer, older, before)
    return "it waits again"


def stale(memory: Parts) -> list[ReviewItem]:
    """The newest notes with references that are gone from the repository or have moved."""
    found = []
    for note in memory.staleness.stale(_MAX_STALE)[:_MAX_STALE]:
        row = note.row
        if "superseded-by" in row.marks:
            continue
        has_gone = any(finding.state == "gone" for finding in note.standing.findings)
        head = f"{row.day} {row.time}  {row.agent or 'by hand'}  {row.entry_id[:8]}"
        detail: list[Line] = [[(head, "dim")], []]
        for finding in note.standing.stale:
            sign = "✗ " if finding.state == "gone" else "→ "
            detail.append([(sign, "warn"), (finding.words, "warn")])
        effect = "it is found later then, and no session is given it" if has_gone else "its text is"
        effect += "" if has_gone else " changed then"
        effect += "; still true: it is not asked again for what changed before today"
        found.append(
            ReviewItem(
                "stale",
                f"stale/{row.entry_id}",
                f"{row.day}  {note.standing.words}",
                [*detail, [], *_body(row, MAX_LINES), [], [(effect, "dim")]],
                "not true any more" if has_gone else "put the new path in",
                "still true",
                subject=has_gone,
                notes=(row.entry_id,),
            )
        )
    return found


def decide_stale(
    memory: Parts, case: ReviewItem, yes: bool, _text: str | None
) -> tuple[str, Step | None]:
    """Decide on a stale note. Returns a message and the step that undoes it."""
    staleness, (name,) = memory.staleness, case.notes
    verb = (
        staleness.confirm if not yes else staleness.superseded if case.subject else staleness.moved
    )
    verb(name)
    message = (
        "still true" if not yes else "not true any more" if case.subject else "it has the new path"
    )
    return message, ["note", name]
