"""Notes in the review queue.

They are quarantined, in conflict, junk or repetitions, have secrets, or are possibly outdated:
superseded, contradicted or stale.
"""

from __future__ import annotations

import os
from itertools import islice

from memsearch_engine.index.rows import Row
from memsearch_engine.journal.model import QuarantineReason
from memsearch_engine.journal.origin import FILES_ONE_BY_ONE
from memsearch_engine.journal.targets import Target
from memsearch_engine.review.item import MAX_LINES, Line, Parts, ReviewItem, Step, Tone, many
from memsearch_engine.review.trust import QuarantinedNote, WaitingFile
from memsearch_engine.search.hits import Hit

_BODY_LINES = 12

# -- quarantine


def quarantined(memory: Parts) -> list[ReviewItem]:
    """The quarantined notes.

    Notes that were not written here form one case for their file; where a folder has many such
    files, one for the folder.
    """
    found = []
    folders: dict[str, list[WaitingFile]] = {}
    for one in memory.trust.waiting():
        for note in one.parsed or ():
            if note.why is QuarantineReason.CONTRADICTS:
                found.append(_contradicting(note))
            elif note.why is not QuarantineReason.ARRIVED:
                found.append(_untrusted(note))
        if one.arrived:
            folders.setdefault(os.path.dirname(one.file.path), []).append(one)
    for folder, files in folders.items():
        if len(files) > FILES_ONE_BY_ONE:
            each = (note for one in files for note in _notes_of(memory, one))
            if first := list(islice(each, MAX_LINES)):
                found.append(_arrived_folder(folder, files, first))
        else:  # a file may be gone or changed meanwhile
            found += [_arrived(one, notes) for one in files if (notes := _notes_of(memory, one))]
    return found


def _notes_of(memory: Parts, waiting: WaitingFile) -> list[QuarantinedNote]:
    """The notes of a file that this home did not write."""
    return [n for n in memory.trust.notes(waiting) if n.why is QuarantineReason.ARRIVED]


def _untrusted(note: QuarantinedNote) -> ReviewItem:
    """A case for a note with outside content, or one that reads like an order."""
    outside = "read content from outside (web, MCP)"
    why = outside if note.why is QuarantineReason.OUTSIDE else "reads like an order to agents"
    whose = f"  shared by {note.author}" if note.author else ""
    detail: list[Line] = [
        [(note.title, "text")],
        [(f"{note.day} {note.time}  {note.agent}{whose}", "dim")],
        [],
        [(why, "warn")],
        *([("> ", "dim"), (line, "bad")] for line in note.lines),
        [],
        [("no session is given it until you release it", "dim")],
    ]
    return ReviewItem(
        "held",
        note.path + note.entry_id,
        f"{note.day}  {note.title}",
        detail,
        "release",
        "delete",
        subject=note,
        notes=(note.entry_id,),
        single=True,
    )


def _contradicting(note: QuarantinedNote) -> ReviewItem:
    """A case for a note that contradicts a decision of the owner in its file."""
    cause = (
        "a revert, a merge, a checkout or another program wrote the file; no session is given it"
    )
    answers = "accept: the file is right. reject: your decision is right, and the file is corrected"
    detail: list[Line] = [
        [(note.title, "text")],
        [(f"{note.day} {note.time}  {note.agent}", "dim")],
        [],
        [(f"its file contradicts your decision: {note.decision}", "warn")],
        [],
        [(cause, "dim")],
        [(answers, "dim")],
    ]
    return ReviewItem(
        "held",
        note.path + note.entry_id,
        f"{note.day}  {note.title}",
        detail,
        "accept",
        "reject",
        subject=note,
        notes=(note.entry_id,),
    )


def _arrived(waiting: WaitingFile, notes: list[QuarantinedNote]) -> ReviewItem:
    """A case for the notes of one file that this home did not write."""
    path = waiting.file.path
    cited = sum(bool(note.conversation) for note in notes)
    proof = f"{cited} of {many(len(notes), 'note')} cite a conversation that is on this machine"
    detail: list[Line] = [
        [(path, "text")],
        [],
        [(_why_arrived(notes[0].author), "warn")],
        *([[(proof, "good")]] if cited else []),
        [],
        *(
            [
                (f"- {note.time or '     '} ", "text"),
                (f"{note.entry_id[:8]} ", "dim"),
                (note.title, "text"),
            ]
            for note in notes[:MAX_LINES]
        ),
        [],
        [("no session is given them until you release them, as they are now", "dim")],
    ]
    return ReviewItem(
        "held",
        path,
        f"{notes[0].day or os.path.basename(path)}  {many(len(notes), 'note')} from elsewhere",
        detail,
        "release",
        subject={path: waiting.arrived},
        notes=tuple(note.entry_id for note in notes[:MAX_LINES]),
    )


def _arrived_folder(
    folder: str, files: list[WaitingFile], notes: list[QuarantinedNote]
) -> ReviewItem:
    """A case for all files of a folder that this home did not write, as after a clone.

    Args:
        notes: the first ones, which it names.
    """
    days = sorted(one.file.day for one in files if one.file.day)
    total = sum(len(one.arrived) for one in files)
    count = f"{many(total, 'note')} in {many(len(files), 'file')}"
    detail: list[Line] = [
        [(folder, "text")],
        [(f"{count}, {days[0]} to {days[-1]}" if days else count, "dim")],
        [],
        [(_why_arrived(notes[0].author), "warn")],
        [],
        *([(f"- {note.day} {note.time} {note.title}", "text")] for note in notes),
        *([[("…", "dim")]] if total > MAX_LINES else []),
        [],
        [("no session is given them until you release them, as they are now", "dim")],
        [("a note that reads like an order stays quarantined", "dim")],
    ]
    return ReviewItem(
        "held",
        folder,
        f"{many(total, 'note')} came with this copy of the project",
        detail,
        "release",
        subject={one.file.path: one.arrived for one in files},
        notes=tuple(note.entry_id for note in notes),
    )


def _why_arrived(author: str) -> str:
    if author:
        return f"shared by {author}, but not committed: they did not pass the project's review"
    return (
        "this machine did not write these: they came with a clone, a pull or a copy, or from"
        " another program"
    )


def decide_quarantined(
    memory: Parts, case: ReviewItem, yes: bool, _text: str | None
) -> tuple[str, Step | None]:
    """Release or refuse quarantined notes. Returns a message and the step that undoes it."""
    if isinstance(case.subject, dict):  # path -> id -> hash of the notes that arrived
        released = memory.trust.release_files(list(case.subject))
        return f"{many(released, 'note')} released", ["withhold-files", case.subject]
    note: QuarantinedNote = case.subject
    if note.why is QuarantineReason.CONTRADICTS:
        if yes:
            (entry,) = memory.trust.accept([note.target])
            return "accepted as the file has it", [
                "trust",
                "reject",
                note.path,
                entry.id,
                entry.hash,
            ]
        (done,) = memory.trust.reject([note.target])
        if done != "left out":
            return done, ["note", note.entry_id]
        step = ["trust", "accept", note.path, note.entry_id, note.hash]
        return "left out of sessions", step
    if not yes:
        memory.delete_each([note.target])
        return "deleted", ["note", note.entry_id]
    (entry,) = memory.trust.release([note.target])
    message = "released: sessions are given it"
    if note.author:  # a shared note is not changed for one reader
        return message, ["trust", "hold", note.path, entry.id, entry.hash]
    return message, ["note", note.entry_id]


def withhold_files(memory: Parts, hashes: dict[str, dict[str, str]]) -> str:
    """Quarantine the released notes of files again. Returns a message."""
    return f"{many(memory.trust.withhold_files(hashes), 'note')} quarantined again"


def trust_again(memory: Parts, verb: str, path: str, name: str, hash_: str) -> str:
    """Undo a decision about a quarantined note by the opposite decision. Returns a message."""
    targets = [Target(path, name, hash_)]
    if verb == "hold":
        memory.trust.quarantine(targets)
        return "it waits again"
    if verb == "reject":
        memory.trust.reject(targets, leave=True)
        return "it is left out of sessions"
    memory.trust.accept(targets)
    return "accepted as the file has it"


# -- conflicts


def conflicts(memory: Parts) -> list[ReviewItem]:
    """Notes with texts from two machines or branches."""
    found = []
    for conflict in memory.conflicts.all():
        shown, other = conflict.entry, conflict.other
        first = shown.body.splitlines() if shown else []
        why = (
            "this note was changed in two places; no session is given either text until you decide"
        )
        detail: list[Line] = [[(why, "warn")], [], [("shown now", "strong")]]
        detail += _against(first, other.body.splitlines(), "-", "bad")
        detail += [[], [("the other", "strong")]]
        detail += _against(other.body.splitlines(), first, "+", "good")
        found.append(
            ReviewItem(
                "conflict",
                f"conflict/{conflict.path}/{conflict.id}",
                f"{conflict.day}  {(shown or other).title}",
                detail,
                "the one shown",
                "the other",
                text=shown.body if len(first) == 1 and shown else "",
                subject=conflict,
                notes=tuple(entry.id for entry in (shown, other) if entry),
            )
        )
    return found


def _against(lines: list[str], others: list[str], sign: str, tone: Tone) -> list[Line]:
    """The lines of one text. Lines that the other texts do not have get a sign."""
    return [
        [
            (f"  {line.removeprefix('- ')}", "text")
            if line in others
            else (f"{sign} {line.removeprefix('- ')}", tone)
        ]
        for line in lines
    ]


def decide_conflict(
    memory: Parts, case: ReviewItem, yes: bool, text: str | None
) -> tuple[str, Step | None]:
    """Resolve a conflict. Returns a message and the step that undoes it."""
    memory.conflicts.decide(case.subject, "shown" if yes else "other", text)
    return "decided", ["note", case.notes[0]]


# -- junk and repetitions


def repairs(memory: Parts) -> list[ReviewItem]:
    """Junk, repetitions, and damage from a merge by lines."""
    found = []
    for finding in memory.repair.findings():
        first, *others = finding.notes
        detail: list[Line] = [[(finding.why, "warn"), (f": {finding.evidence}", "text")], []]
        for note in finding.notes:
            stays = "  stays" if others and note is first else ""
            detail.append([(f"{note.day}  {note.entry_id[:8]}", "strong"), (stays, "good")])
            lines = note.body.splitlines()[:_BODY_LINES]
            detail += [*([(f"  {line}", "text")] for line in lines), []]
        if others:
            detail.append([(f"{len(others)} go; the one that stays gets their anchors", "dim")])
        usual = "merge" if others else "delete"
        found.append(
            ReviewItem(
                "repair",
                finding.kind + "".join(note.entry_id for note in finding.notes),
                f"{finding.kind}  {first.title}",
                detail,
                {"vanished": "bring back", "merged": "take apart"}.get(finding.kind, usual),
                "leave",
                subject=finding,
                notes=tuple(note.entry_id for note in finding.notes),
            )
        )
    return found


def decide_repair(
    memory: Parts, case: ReviewItem, yes: bool, _text: str | None
) -> tuple[str, Step | None]:
    """Carry out a repair or dismiss it. Returns a message and the step that undoes it."""
    if not yes:
        return "left as it is", ["again", case.key]
    memory.repair.mend(case.subject)
    # the note that stays may be unchanged; a deleted one identifies the whole change
    return "repaired", ["note", case.notes[-1]]


# -- secrets


def secrets(memory: Parts) -> list[ReviewItem]:
    """Secrets in notes and archived conversations. Reading everything takes seconds."""
    places: dict[tuple[str, str], list[str]] = {}
    for place in memory.secrets.found():
        line = f":{place.line}" if place.line else ""
        places.setdefault((place.rule, place.fingerprint), []).append(place.where + line)
    found = []
    for (rule, fingerprint), where in places.items():
        detail: list[Line] = [
            [(rule, "bad"), (f"  {fingerprint}", "dim")],
            [],
            *([(path, "text")] for path in where[:MAX_LINES]),
            [],
            [("removing it cannot be undone; change the secret itself too", "warn")],
        ]
        found.append(
            ReviewItem(
                "secret",
                fingerprint,
                f"{rule}  {len(where)} times",
                detail,
                "take out",
                "no secret",
                f"Take the secret {fingerprint} out of everything, for good? Type yes",
                subject=(rule, fingerprint),
            )
        )
    return found


def decide_secret(
    memory: Parts, case: ReviewItem, yes: bool, _text: str | None
) -> tuple[str, Step | None]:
    """Scrub or allow a secret. Returns a message and the step that undoes it."""
    rule, fingerprint = case.subject
    ours = memory.secrets.everywhere()
    if not yes:
        ours.allow(fingerprint)
        return "allowed: it is not reported any more", ["report-secret", fingerprint]
    report = ours.scrub([one for one in ours.wanted(rule=rule) if one.fingerprint == fingerprint])
    left = sum(place.count for place in report.left)
    others = many(len(report.others), "file")
    message = f"{left} left in {report.looked_at} places"
    more = f"; also found in {others} that memsearch does not own" if report.others else ""
    return message + more, None


def report_secret(memory: Parts, fingerprint: str) -> str:
    """Report an allowed secret again. Returns a message."""
    memory.secrets.allow(fingerprint, off=True)
    return "it is reported again"


# -- possibly outdated

_MAX_STALE = 20  # maximum notes: a rewritten repository can make thousands stale


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
                f"{pair.older.day} → {pair.newer.day}  {pair.older.title}",
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
