"""What wants the owner's decision, gathered from the engine's rooms; and carrying his word out. No
widget here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import memsearch_engine as engine
import msgspec
from memsearch_engine import Hit, Memory, MemsearchError

from memsearch_tui import drafts
from memsearch_tui.counted import many

if TYPE_CHECKING:
    from memsearch_engine import Held, Row

_MAX_SHOWN = 40
_MAX_STALE = 20  # notes: a repository that was rewritten leaves thousands
Tone = str
Line = list[tuple[str, Tone]]


class Case(msgspec.Struct, frozen=True):
    """One thing to decide.

    Attributes:
        key: what it is known by while the list is read again.
        detail: lines that say what it is about, with their tones.
        yes, no: what the two answers do; '' where there is no such answer.
        asks: a question before *yes* is carried out, '' for none.
        text: what can be edited before it is accepted.
        notes: ids of the entries that it is about; sessions: that it comes from. They can be
            opened.
    """

    kind: Literal[
        "longterm",
        "held",
        "conflict",
        "repair",
        "amends",
        "contradicts",
        "stale",
        "page",
        "skill",
        "secret",
        "draft",
        "unread",
    ]
    key: str
    title: str
    detail: list[Line]
    yes: str = ""
    no: str = ""
    asks: str = ""
    text: str = ""
    subject: Any = None
    notes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether it is held back until it is decided, which the header counts; the others are
        suggestions.
        """
        return self.kind in ("longterm", "held", "conflict", "page")


class Decision(msgspec.Struct, frozen=True):
    """What was carried out. ``back``: takes it back and says so; None where nothing can."""

    said: str
    back: Callable[[], str] | None = None


#: kind -> the heading of its group, after the count
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


def cases(memory: Memory, secrets: bool = False) -> list[Case]:
    """Everything that wants a decision; *secrets*: looked for too, which takes seconds. Raises
    MemsearchError, OSError.
    """
    found = [
        *_proposed(memory),
        *_pages(memory),
        *_skills(memory),
        *_drafts(memory),
        *_contested(memory),
        *_held(memory),
        *_unread(memory),
    ]
    return (
        found
        + (_secrets(memory) if secrets else [])
        + _repairs(memory)
        + _amendments(memory)
        + _contradictions(memory)
        + _stale(memory)
    )


def decide(memory: Memory, case: Case, yes: bool, text: str | None = None) -> Decision:
    """Carry a decision out. Raises MemsearchError, OSError."""
    return _DECIDERS[case.kind](memory, case, yes, text)


# -- long-term memory


def _proposed(memory: Memory) -> list[Case]:
    learned = memory.longterm
    proposal = learned.pending()
    if proposal is None:
        return []
    known = {m.id: m for m in learned.all()}
    names = {
        name: f"{m.agent} {m.session[:13]} ({m.project_name or 'no project'})"
        for name, m in known.items()
    }
    found = []
    for hunks in learned.decisions(proposal):
        hunk = hunks[0]
        sign = "~" if hunk.before and hunk.after else "+" if hunk.after else "-"
        lines = hunk.after or hunk.before
        paths = " and ".join(h.path for h in hunks)
        detail: list[Line] = [[(paths, "strong"), (f"  {hunk.section.lstrip('# ')}", "dim")], []]
        detail += [[(f"- {line.removeprefix('- ')}", "bad")] for line in hunk.before]
        detail += [[(f"+ {line.removeprefix('- ')}", "good")] for line in hunk.after]
        detail.append([])
        detail += [[("from ", "dim"), (names.get(name, name), "agent")] for name in hunk.memories]
        if not hunk.memories:
            detail.append([("names no session that it comes from", "warn")])
        found.append(
            Case(
                "longterm",
                f"{proposal.id}/{hunk.number}",
                f"{sign} {lines[0].lstrip('-*# ')}",
                detail,
                "accept",
                "reject",
                text=hunk.after[0] if len(hunk.after) == 1 else "",
                subject=(proposal.id, [h.number for h in hunks]),
                sessions=tuple(known[name].session for name in hunk.memories if name in known),
            )
        )
    return found


def _decide_longterm(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    learned = memory.longterm
    proposal, numbers = case.subject
    before = learned.pending()
    for chosen in (
        [[number] for number in numbers] if text else [numbers]
    ):  # other words are given to one change at a time
        learned.decide("accepted" if yes else "rejected", chosen, text=text, proposal=proposal)
    if yes:
        return Decision("accepted: sessions are told · `forget` takes it out")

    def back() -> str:
        waits = before is not None and learned.reopen(before, numbers)
        return (
            "it waits again" if waits else "it may be proposed again; another proposal waits by now"
        )

    return Decision("rejected: it is not proposed again · u takes that back", back)


def _pages(memory: Memory) -> list[Case]:
    """Changes to PROJECT.md and USER.md that are proposed, and lines of them that nobody has
    accepted.
    """
    pages, found = memory.pages, []
    for page in ("project", "user"):
        try:
            state = pages.get(page)
        except MemsearchError as error:  # a link out of the project, say
            found.append(Case("unread", f"page/{page}", str(error), [[(str(error), "warn")]]))
            continue
        name = os.path.basename(state.path)
        for hunk in state.waiting:
            sign = "~" if hunk.before and hunk.after else "+" if hunk.after else "-"
            detail: list[Line] = [
                [(name, "strong"), (f"  {hunk.section.lstrip('# ')}", "dim")],
                [(state.reason, "dim")],
                [],
            ]
            detail += [[(f"- {line}", "bad")] for line in hunk.before]
            detail += [[(f"+ {line}", "good")] for line in hunk.after]
            detail += [[]] + (
                [[("from ", "dim"), (source, "agent")] for source in hunk.memories]
                or [[("names no session that it comes from", "warn")]]
            )
            lines = hunk.after or hunk.before
            sessions = tuple(source.partition("/")[2] for source in hunk.memories)
            found.append(
                Case(
                    "page",
                    f"page/{name}/{hunk.number}",
                    f"{sign} {name}: {lines[0].lstrip('-*# ')}",
                    detail,
                    "accept",
                    "reject",
                    text=hunk.after[0] if len(hunk.after) == 1 else "",
                    subject=(state.page, hunk.number, state.draft),
                    sessions=sessions,
                )
            )
        if shown := tuple(state.strange[:_MAX_SHOWN]):
            detail = [
                [(name, "strong")],
                [("you have not accepted these lines: sessions are not told them", "warn")],
                [],
            ]
            detail += [[(line, "text")] for _, line in shown]
            if len(state.strange) > len(shown):
                detail.append(
                    [
                        (
                            f"and {len(state.strange) - len(shown)} more, which are shown when these are decided",
                            "dim",
                        )
                    ]
                )
            title = f"{name}: {many(len(shown), 'line')} that you have not accepted"
            found.append(
                Case(
                    "page",
                    f"page/{name}/lines",
                    title,
                    detail,
                    "release",
                    subject=(state.page, 0, shown),
                )
            )
    return found


def _decide_page(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    pages = memory.pages
    page, number, seen = case.subject
    if not number:
        pages.release(page, seen)

        def unreleased() -> str:
            pages.release(page, seen, off=True)
            return "sessions are told them no more"

        return Decision(
            f"{many(len(seen), 'line')} released: sessions may be told · u takes it back",
            unreleased,
        )
    before = pages.draft(page)
    pages.decide(page, "accepted" if yes else "rejected", [number], text=text, draft=seen)
    version = pages.newest(page)

    def back() -> str:
        if yes:
            pages.undo(page, version)
        waits = before is not None and pages.reopen(before)
        return "it waits again" if waits else "taken back; other changes wait by now"

    return Decision(
        ("accepted: sessions are told" if yes else "rejected") + " · u takes it back", back
    )


def _skills(memory: Memory) -> list[Case]:
    """Skills that were drafted and are not installed as they stand."""
    skills, found = memory.skills, []
    for item in skills.all():
        if not item.is_pending:
            continue
        try:
            planned = skills.planned(item.name)
        except MemsearchError as error:
            found.append(
                Case(
                    "skill",
                    f"skill/{item.name}",
                    f"! {item.name}: {error}",
                    [[(str(error), "warn")]],
                    subject=(item.name, []),
                )
            )
            continue
        replaced = [
            (patch.path, patch.before) for patch in planned if isinstance(patch.before, bytes)
        ]
        detail: list[Line] = [
            [(item.name, "strong"), (f"  seen {item.seen} times", "dim")],
            [(item.description, "text")],
        ]
        detail += [[(item.reason, "dim")]] if item.reason else []
        detail += (
            [[("this home did not draft it: it came with a clone, or from another program", "bad")]]
            if item.is_strange
            else []
        )
        detail += [[(f"{len(item.gone)} of its notes are gone", "warn")]] if item.gone else []
        detail += (
            [[(f"{len(item.superseded)} of its notes are overtaken", "warn")]]
            if item.superseded
            else []
        )
        detail += [[], *([(line, "text")] for line in item.text.splitlines()), []]
        detail += [[(f"goes to {os.path.dirname(patch.path)}", "dim")] for patch in planned]
        for path, before in replaced:
            detail += [[], [(f"what stands there goes: {path}", "warn")]]
            detail += [
                [(f"- {line}", "bad")]
                for line in before.decode("utf-8", "replace").splitlines()[:_MAX_SHOWN]
            ]
        asks = (
            f"Install {item.name}, which this home did not draft? Type yes"
            if item.is_strange
            else ""
        )
        title = f"{'+' if item.state == 'new' else '~'} {item.name}: {item.description}"
        no = "" if item.of_consolidation or item.installed else "remove"
        found.append(
            Case(
                "skill",
                f"skill/{item.name}",
                title,
                detail,
                "install",
                no,
                asks,
                subject=(item.name, planned),
                notes=tuple(name for name in item.sources if name not in item.gone),
            )
        )
    return found


def _decide_skill(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    skills = memory.skills
    name, planned = case.subject

    def back() -> str:
        if yes:
            skills.take_back(name, planned)
            return "taken out again"
        skills.restore(name)
        return "the draft is back"

    if yes:
        paths = skills.install(name, planned)
        return Decision(f"installed: {', '.join(paths)} · u takes it out", back)
    skills.remove(name)
    return Decision("removed · u brings it back", back)


# -- notes


def _held(memory: Memory) -> list[Case]:
    found = []
    arrived: dict[str, list[Held]] = {}
    for note in memory.trust.held():
        if note.why is engine.Waits.ARRIVED:
            arrived.setdefault(note.path, []).append(note)
            continue
        if note.why is engine.Waits.CONTRADICTS:
            found.append(_contradicting(note))
            continue
        why = (
            "took in content from outside (web, MCP)"
            if note.why is engine.Waits.OUTSIDE
            else "reads like an order to agents"
        )
        detail: list[Line] = [
            [(note.title, "text")],
            [
                (
                    f"{note.day} {note.time}  {note.agent}{f'  shared by {note.author}' if note.author else ''}",
                    "dim",
                )
            ],
            [],
            [(why, "warn")],
        ]
        detail += [[("> ", "dim"), (line, "bad")] for line in note.lines]
        detail += [[], [("sessions are not told what it says until you release it", "dim")]]
        title = f"{note.day}  {note.title}"
        ids = (note.entry_id,)
        key = note.path + note.entry_id
        found.append(Case("held", key, title, detail, "release", "forget", subject=note, notes=ids))
    return found + [_arrived(path, notes) for path, notes in arrived.items()]


def _contradicting(note: Held) -> Case:
    """A note whose file contradicts a decision of the owner's."""
    detail: list[Line] = [
        [(note.title, "text")],
        [(f"{note.day} {note.time}  {note.agent}", "dim")],
        [],
        [(f"its file contradicts your decision: {note.decision}", "warn")],
        [],
        [
            (
                "a revert, a merge, a checkout or another program wrote the file; sessions are not given this text",
                "dim",
            )
        ],
        [
            (
                "accept: the file is right. reject: your decision holds, and the file is put right where it can be",
                "dim",
            )
        ],
    ]
    key = note.path + note.entry_id
    return Case(
        "held",
        key,
        f"{note.day}  {note.title}",
        detail,
        "accept",
        "reject",
        subject=note,
        notes=(note.entry_id,),
    )


def _arrived(path: str, notes: list[Held]) -> Case:
    """The notes of one file that this home did not write: decided together."""
    shared = f"shared by {notes[0].author}, but not committed: they came by another way than the project's review"
    detail: list[Line] = [
        [(path, "text")],
        [],
        [
            (
                shared
                if notes[0].author
                else "this machine did not write these: they came with a clone, a pull or a copy, or from another program",
                "warn",
            )
        ],
        [],
        *([(f"- {note.time or '     '} {note.title}", "text")] for note in notes[:_MAX_SHOWN]),
        [],
        [("sessions are not told what they say until you release them, as they stand now", "dim")],
    ]
    title = f"{notes[0].day or os.path.basename(path)}  {many(len(notes), 'note')} from elsewhere"
    ids = tuple(note.entry_id for note in notes[:_MAX_SHOWN])
    return Case("held", path, title, detail, "release", subject=path, notes=ids)


def _decide_held(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    waiting = memory.trust
    if isinstance(case.subject, str):
        return Decision(f"{many(waiting.release_files([case.subject]), 'note')} released")
    note: Held = case.subject
    if note.why is engine.Waits.CONTRADICTS:
        return _decide_contradicting(memory, note, yes)
    if yes:
        (entry,) = waiting.release([note.target])
        if not note.author:
            return Decision("released · u takes it back", partial(_undo, memory, note.entry_id))

        def held() -> str:
            waiting.hold([engine.Target(note.path, entry.id, entry.hash)])
            return "it waits again"

        return Decision("released: sessions may be told · u takes it back", held)
    memory.delete_each([note.target])
    return Decision("deleted · u brings it back", partial(_undo, memory, note.entry_id))


def _decide_contradicting(memory: Memory, note: Held, yes: bool) -> Decision:
    waiting = memory.trust
    if yes:
        (entry,) = waiting.accept([note.target])

        def refused() -> str:
            waiting.reject([engine.Target(note.path, entry.id, entry.hash)], leave=True)
            return "it is left out of sessions"

        return Decision("accepted as the file has it · u takes it back", refused)
    (done,) = waiting.reject([note.target])
    if done != "left out":
        return Decision(f"{done} · u takes it back", partial(_undo, memory, note.entry_id))

    def accepted() -> str:
        waiting.accept([note.target])
        return "accepted as the file has it"

    return Decision("left out of sessions · u accepts it", accepted)


def _undo(memory: Memory, name: str) -> str:
    """Take back the last change of an entry."""
    changes = memory.undo(name)
    return (
        f"undone: {changes[0].op} of “{changes[0].title[:40]}”"
        if changes
        else "nothing to take back"
    )


def _contested(memory: Memory) -> list[Case]:
    """Notes whose text was changed on two machines, or branches."""
    found = []
    for case in memory.conflicts.all():
        shown, other = case.entry, case.other
        first = shown.body.splitlines() if shown else []
        detail: list[Line] = [
            [
                (
                    "this note was changed in two places; sessions are told neither text until you decide",
                    "warn",
                )
            ],
            [],
            [("shown now", "strong")],
        ]
        detail += _against(first, other.body.splitlines(), "-", "bad")
        detail += [[], [("the other", "strong")]]
        detail += _against(other.body.splitlines(), first, "+", "good")
        title = f"{case.day}  {(shown or other).title}"
        ids = tuple(entry.id for entry in (shown, other) if entry)
        found.append(
            Case(
                "conflict",
                f"conflict/{case.path}/{case.id}",
                title,
                detail,
                "the one shown",
                "the other",
                text=shown.body if len(first) == 1 and shown else "",
                subject=case,
                notes=ids,
            )
        )
    return found


def _against(lines: list[str], others: list[str], sign: str, tone: Tone) -> list[Line]:
    """Lines of one text, with a sign before those that the other has not."""
    return [
        [
            (f"  {line.removeprefix('- ')}", "text")
            if line in others
            else (f"{sign} {line.removeprefix('- ')}", tone)
        ]
        for line in lines
    ]


def _decide_contested(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    memory.conflicts.decide(case.subject, "shown" if yes else "other", text)
    return Decision("decided · u takes it back", partial(_undo, memory, case.notes[0]))


def _repairs(memory: Memory) -> list[Case]:
    found = []
    for finding in memory.repair.findings():
        keep, *others = finding.notes
        detail: list[Line] = [[(finding.why, "warn"), (f": {finding.evidence}", "text")], []]
        for note in finding.notes:
            detail.append(
                [
                    (f"{note.day}  {note.entry_id[:8]}", "strong"),
                    ("  stays" if others and note is keep else "", "good"),
                ]
            )
            detail += [[(f"  {line}", "text")] for line in note.body.splitlines()[:12]]
            detail.append([])
        if others:
            detail.append([(f"{len(others)} go; the one that stays gets their anchors", "dim")])
        yes = {"vanished": "bring back", "merged": "take apart"}.get(
            finding.kind, "merge" if others else "delete"
        )
        key = finding.kind + "".join(note.entry_id for note in finding.notes)
        ids = tuple(note.entry_id for note in finding.notes)
        title = f"{finding.kind}  {keep.title}"
        found.append(Case("repair", key, title, detail, yes, "leave", subject=finding, notes=ids))
    return found


def _decide_repair(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    if not yes:
        return Decision("left as it is · u has it decided again", lambda: "it waits again")
    memory.repair.mend(case.subject)
    return Decision("mended · u takes it back", partial(_undo, memory, case.notes[0]))


def _amendments(memory: Memory) -> list[Case]:
    found = []
    for pair in memory.supersession.amendments():
        detail: list[Line] = [
            [(f"{pair.sure:.0%} sure that the newer one amends the older", "warn")],
            [(pair.why, "dim")],
        ]
        for what, row in (("newer", pair.newer), ("older", pair.older)):
            detail += [[], [(f"{what}  {row.day} {row.time}  {row.entry_id[:8]}", "strong")]]
            detail += [[(f"  {line}", "text")] for line in _said(row).splitlines()[:12]]
        detail += [
            [],
            [
                (
                    "what is amended comes after the newer word, and sessions are told the newer one",
                    "dim",
                )
            ],
        ]
        names = (pair.newer.entry_id, pair.older.entry_id)
        title = f"{pair.newer.day}  {pair.newer.title}"
        found.append(
            Case(
                "amends",
                "/".join(names),
                title,
                detail,
                "it amends",
                "it does not",
                subject=names,
                notes=names,
            )
        )
    return found


def _said(row: Row) -> str:
    """A note's own lines, without heading, anchors and marks."""
    return Hit(0, 0.0, row).text


def _decide_amends(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    newer, older = case.subject
    before = memory.supersession.amends(newer, older, yes)

    def back() -> str:
        memory.supersession.amends(newer, older, before)
        return "it waits again"

    return Decision(
        ("noted: it amends" if yes else "noted: it is about something else") + " · u takes it back",
        back,
    )


def _contradictions(memory: Memory) -> list[Case]:
    found = []
    for pair in memory.supersession.contradictions():
        detail: list[Line] = [
            [
                (pair.name, "strong"),
                (" has two values, and no note says that it was changed", "warn"),
            ]
        ]
        for what, stated in (("newer", pair.newer), ("older", pair.older)):
            row = stated.row
            detail += [
                [],
                [
                    (f"{what}  {row.day} {row.time}  {row.entry_id[:8]}  ", "strong"),
                    (stated.written, "match"),
                ],
            ]
            detail += [[(f"  {line}", "text")] for line in _said(row).splitlines()[:12]]
        detail += [
            [],
            [
                (
                    "the older one comes after the newer word then; both hold: it is not asked again",
                    "dim",
                )
            ],
        ]
        names = (pair.newer.row.entry_id, pair.older.row.entry_id)
        title = f"{pair.newer.row.day}  {pair.name}: {pair.older.written} or {pair.newer.written}?"
        key = f"contradicts/{pair.name}/{'/'.join(names)}"
        found.append(
            Case(
                "contradicts",
                key,
                title,
                detail,
                "the newer holds",
                "both hold",
                subject=names,
                notes=names,
            )
        )
    return found


def _stale(memory: Memory) -> list[Case]:
    """The newest notes of which something is gone from the repository, or elsewhere."""
    found = []
    for note in memory.staleness.stale(_MAX_STALE)[:_MAX_STALE]:
        if "superseded-by" in note.row.marks:
            continue
        row, has_gone = note.row, any(finding.state == "gone" for finding in note.standing.findings)
        detail: list[Line] = [
            [(f"{row.day} {row.time}  {row.agent or 'by hand'}  {row.entry_id[:8]}", "dim")],
            [],
        ]
        detail += [
            [("✗ " if finding.state == "gone" else "→ ", "warn"), (finding.words, "warn")]
            for finding in note.standing.stale
        ]
        detail += [[], *([(line, "text")] for line in _said(row).splitlines()[:_MAX_SHOWN]), []]
        what = (
            "comes later in searches then, and sessions are not told it"
            if has_gone
            else "its text is changed then"
        )
        detail.append(
            [(f"{what}; still true: it is not asked again for what went before today", "dim")]
        )
        yes = "overtaken" if has_gone else "put the new path in"
        title = f"{row.day}  {note.standing.words}"
        found.append(
            Case(
                "stale",
                f"stale/{row.entry_id}",
                title,
                detail,
                yes,
                "still true",
                subject=has_gone,
                notes=(row.entry_id,),
            )
        )
    return found


def _decide_stale(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    ground, (name,) = memory.staleness, case.notes
    verb = ground.holds if not yes else ground.superseded if case.subject else ground.moved
    verb(name)
    said = "still true" if not yes else "overtaken" if case.subject else "it has the new path"
    return Decision(f"{said} · u takes it back", partial(_undo, memory, name))


# -- secrets


def _secrets(memory: Memory) -> list[Case]:
    places: dict[tuple[str, str], list[str]] = {}
    for place in memory.secrets.found():
        line = f":{place.line}" if place.line else ""
        places.setdefault((place.rule, place.fingerprint), []).append(place.where + line)
    found = []
    for (rule, fingerprint), where in places.items():
        detail: list[Line] = [[(rule, "bad"), (f"  {fingerprint}", "dim")], []]
        detail += [[(path, "text")] for path in where[:40]]
        detail += [[], [("taking it out can't be undone; change the secret itself, too", "warn")]]
        question = f"Take the secret {fingerprint} out of everything, for good? Type yes"
        title = f"{rule}  {len(where)} times"
        found.append(
            Case(
                "secret",
                fingerprint,
                title,
                detail,
                "take out",
                "no secret",
                question,
                subject=(rule, fingerprint),
            )
        )
    return found


def _decide_secret(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    rule, fingerprint = case.subject
    ours = Memory(memory.place.root, home=memory.home, everything=True).secrets
    if not yes:
        ours.allow(fingerprint)

        def back() -> str:
            ours.allow(fingerprint, off=True)
            return "it is reported again"

        return Decision("allowed: it is not reported any more · u takes that back", back)
    report = ours.scrub(
        [found for found in ours.wanted(rule=rule) if found.fingerprint == fingerprint]
    )
    left = sum(place.count for place in report.left)
    others = (
        f"; found still in {many(len(report.others), 'file')} that memsearch does not own"
        if report.others
        else ""
    )
    return Decision(f"{left} left in {report.looked_at} places{others}")


# -- drafts and files


def _drafts(memory: Memory) -> list[Case]:
    return [
        Case(
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


def _decide_draft(memory: Memory, case: Case, yes: bool, text: str | None) -> Decision:
    drafts.drop(memory.home, case.subject.path, case.subject.entry_id)

    def back() -> str:
        drafts.keep(memory.home, case.subject)
        return "the draft is back"

    return Decision("dropped · u brings it back", back)


def _unread(memory: Memory) -> list[Case]:
    found = []
    for file in memory.days():
        if not os.access(file.path, os.R_OK):
            why: list[Line] = [
                [(file.path, "text")],
                [],
                [("its permissions keep it from being read: memsearch doctor", "warn")],
            ]
            found.append(Case("unread", file.path, os.path.basename(file.path), why))
    return found


_DECIDERS = {
    "longterm": _decide_longterm,
    "held": _decide_held,
    "conflict": _decide_contested,
    "repair": _decide_repair,
    "amends": _decide_amends,
    "contradicts": _decide_amends,
    "stale": _decide_stale,
    "page": _decide_page,
    "skill": _decide_skill,
    "secret": _decide_secret,
    "draft": _decide_draft,
    "unread": lambda memory, case, yes, text: Decision(""),
}


def undo(memory: Memory) -> str:
    """Take back the last change to a note. Raises MemsearchError."""
    changes = memory.undo(everywhere=memory.everything)
    return (
        f"undone: {changes[0].op} of {changes[0].title[:40]}" if changes else "nothing to take back"
    )
