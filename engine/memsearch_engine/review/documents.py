"""Proposals of models in the review queue: long-term memory, pages, and drafts of skills."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import msgspec

from memsearch_engine.agents.patches import Patch
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.longterm.changes import Hunk
from memsearch_engine.longterm.pages import Page, PageProposal
from memsearch_engine.longterm.review import Proposal
from memsearch_engine.review.item import MAX_LINES, Kind, Line, Parts, ReviewItem, Step, many


def _item_of(
    hunk: Hunk,
    kind: Kind,
    key: str,
    name: str,
    *reason: Line,
    title: str = "",
    sources: list[str],
    subject: Any,
    sessions: Iterable[str],
) -> ReviewItem:
    """The case of a proposed change.

    Args:
        name: the document, for people.
        title: the beginning of the case's title.
        sources: names of the sessions that support the change.
    """
    lines = hunk.after or hunk.before
    sign = "~" if hunk.before and hunk.after else "+" if hunk.after else "-"
    origin: list[Line] = [[("from ", "dim"), (source, "agent")] for source in sources]
    detail: list[Line] = [
        [(name, "strong"), (f"  {hunk.section.lstrip('# ')}", "dim")],
        *reason,
        [],
        *([(f"- {line.removeprefix('- ')}", "bad")] for line in hunk.before),
        *([(f"+ {line.removeprefix('- ')}", "good")] for line in hunk.after),
        [],
        *(origin or [[("names no session that it comes from", "warn")]]),
    ]
    return ReviewItem(
        kind,
        key,
        f"{sign} {title}{lines[0].lstrip('-*# ')}",
        detail,
        "accept",
        "reject",
        text=hunk.after[0] if len(hunk.after) == 1 else "",
        subject=subject,
        sessions=tuple(sessions),
    )


# -- long-term memory


def proposed(memory: Parts) -> list[ReviewItem]:
    """The proposed changes of the long-term memory."""
    learned = memory.longterm
    proposal = learned.pending()
    if proposal is None:
        return []
    known = {one.id: one for one in learned.all()}
    found = []
    for hunks in learned.decisions(proposal):
        names = []
        for name in hunks[0].memories:
            one = known.get(name)
            project = one.project_name or "no project" if one else ""
            names.append(f"{one.agent} {one.session[:13]} ({project})" if one else name)
        found.append(
            _item_of(
                hunks[0],
                "longterm",
                f"{proposal.id}/{hunks[0].number}",
                " and ".join(one.path for one in hunks),
                sources=names,
                subject=(proposal.id, [one.number for one in hunks]),
                sessions=(known[one].session for one in hunks[0].memories if one in known),
            )
        )
    return found


def decide_proposed(
    memory: Parts, case: ReviewItem, yes: bool, text: str | None
) -> tuple[str, Step | None]:
    """Accept or reject a change of the long-term memory.

    Returns a message and the step that undoes it.
    """
    learned = memory.longterm
    number, hunks = case.subject
    before = learned.pending()
    # another text replaces one change at a time
    for chosen in [[hunk] for hunk in hunks] if text else [hunks]:
        learned.decide("accepted" if yes else "rejected", chosen, text=text, proposal=number)
    if yes:
        return "accepted: sessions are given it; `memsearch forget` takes it out", None
    step = ["propose", msgspec.to_builtins(before), hunks] if before else None
    return "rejected: it is not proposed again", step


def propose_again(memory: Parts, before: dict[str, Any], numbers: list[int]) -> str:
    """Make rejected changes pending again. Returns a message."""
    proposal = msgspec.convert(before, Proposal)
    if memory.longterm.reopen(proposal, numbers):
        return "it waits again"
    return "it may be proposed again; another proposal waits by now"


# -- pages


def pages(memory: Parts) -> list[ReviewItem]:
    """The proposed changes of PROJECT.md and USER.md, and lines that nobody has accepted."""
    found = []
    for page in ("project", "user"):
        try:
            state = memory.pages.get(page)
        except MemsearchError as error:  # for example a link that leads out of the project
            found.append(ReviewItem("unread", f"page/{page}", str(error), [[(str(error), "warn")]]))
            continue
        name = os.path.basename(state.path)
        found += [
            _item_of(
                hunk,
                "page",
                f"page/{name}/{hunk.number}",
                name,
                [(state.reason, "dim")],
                title=f"{name}: ",
                sources=hunk.memories,
                subject=(state.page, hunk.number, state.draft),
                sessions=(source.partition("/")[2] for source in hunk.memories),
            )
            for hunk in state.waiting
        ]
        if shown := tuple(state.strange[:MAX_LINES]):
            found.append(_strange(name, state.page, shown, len(state.strange) - len(shown)))
    return found


def _strange(name: str, page: str, shown: tuple[Any, ...], more: int) -> ReviewItem:
    """A case for lines of a page that the owner has not accepted."""
    detail: list[Line] = [
        [(name, "strong")],
        [("you have not accepted these lines: no session is given them", "warn")],
        [],
        *([(line, "text")] for _, line in shown),
    ]
    if more:
        detail.append([(f"and {more} more, which are shown when these are decided", "dim")])
    title = f"{name}: {many(len(shown), 'line')} that you have not accepted"
    return ReviewItem(
        "page", f"page/{name}/lines", title, detail, "release", subject=(page, 0, shown)
    )


def decide_page(
    memory: Parts, case: ReviewItem, yes: bool, text: str | None
) -> tuple[str, Step | None]:
    """Decide on a change or on lines of a page. Returns a message and the step that undoes it."""
    page, number, seen = case.subject
    if not number:
        memory.pages.release(page, seen)
        message = f"{many(len(seen), 'line')} released: sessions are given them"
        return message, ["withhold-lines", page, [list(spot) for spot in seen]]
    before = memory.pages.draft(page)
    memory.pages.decide(page, "accepted" if yes else "rejected", [number], text=text, draft=seen)
    version = memory.pages.newest(page) if yes else 0
    message = "accepted: sessions are given it" if yes else "rejected"
    return message, ["page", page, version, msgspec.to_builtins(before)]


def withhold_lines(memory: Parts, page: Page, spots: list[list[str]]) -> str:
    """Withdraw the release of lines. Returns a message."""
    memory.pages.release(page, [(one, two) for one, two in spots], off=True)
    return "sessions are not given them any more"


def reopen_page(memory: Parts, page: Page, version: int, before: dict[str, Any] | None) -> str:
    """Undo a decision about a page. Returns a message.

    Args:
        version: the number of the change that the decision made; 0 for none.
        before: the proposal before the decision.
    """
    if version:
        memory.pages.undo(page, version)
    waits = before is not None and memory.pages.reopen(msgspec.convert(before, PageProposal))
    return "it waits again" if waits else "undone; other changes wait by now"


# -- skills


def skills(memory: Parts) -> list[ReviewItem]:
    """The drafted skills that are not installed in their current form."""
    found = []
    for item in memory.skills.all():
        if not item.is_pending:
            continue
        try:
            planned = memory.skills.planned(item.name)
        except MemsearchError as error:
            title, why = f"! {item.name}: {error}", [[(str(error), "warn")]]
            found.append(
                ReviewItem("skill", f"skill/{item.name}", title, why, subject=(item.name, []))
            )
            continue
        question = f"Install {item.name}, which this home did not draft? Type yes"
        found.append(
            ReviewItem(
                "skill",
                f"skill/{item.name}",
                f"{'+' if item.state == 'new' else '~'} {item.name}: {item.description}",
                _skill_lines(item, planned),
                "install",
                "" if item.of_consolidation or item.installed else "remove",
                question if item.is_strange else "",
                subject=(item.name, planned),
                notes=tuple(name for name in item.sources if name not in item.gone),
            )
        )
    return found


def _skill_lines(item: Any, planned: list[Patch]) -> list[Line]:
    detail: list[Line] = [
        [(item.name, "strong"), (f"  seen {item.seen} times", "dim")],
        [(item.description, "text")],
    ]
    detail += [[(item.reason, "dim")]] if item.reason else []
    if item.is_strange:
        strange = "this home did not draft it: it came with a clone, or from another program"
        detail.append([(strange, "bad")])
    detail += [[(f"{len(item.gone)} of its notes are gone", "warn")]] if item.gone else []
    if item.superseded:
        detail.append([(f"{len(item.superseded)} of its notes are superseded", "warn")])
    detail += [[], *([(line, "text")] for line in item.text.splitlines()), []]
    detail += [[(f"goes to {os.path.dirname(patch.path)}", "dim")] for patch in planned]
    for patch in planned:
        if isinstance(patch.before, bytes):
            lines = patch.before.decode("utf-8", "replace").splitlines()[:MAX_LINES]
            detail += [[], [(f"this text is replaced: {patch.path}", "warn")]]
            detail += [[(f"- {line}", "bad")] for line in lines]
    return detail


def decide_skill(
    memory: Parts, case: ReviewItem, yes: bool, _text: str | None
) -> tuple[str, Step | None]:
    """Install or remove a skill. Returns a message and the step that undoes it."""
    name, planned = case.subject
    if not yes:
        memory.skills.remove(name)
        return "removed", ["restore-skill", name]
    paths = memory.skills.install(name, planned)
    # stored as text, so that a scrub finds secrets in it
    files = [
        [
            patch.path,
            patch.before.decode("utf-8", "surrogateescape")
            if isinstance(patch.before, bytes)
            else None,
            (patch.after or b"").decode("utf-8", "surrogateescape"),
        ]
        for patch in planned
    ]
    return f"installed: {', '.join(paths)}", ["uninstall-skill", name, files]


def uninstall_skill(memory: Parts, name: str, files: list[tuple[str, str | None, str]]) -> str:
    """Undo an installation and restore the previous files. Returns a message."""
    planned = [
        Patch(
            path,
            None if before is None else before.encode("utf-8", "surrogateescape"),
            after.encode("utf-8", "surrogateescape"),
            "skill",
            own=True,
        )
        for path, before, after in files
    ]
    memory.skills.take_back(name, planned)
    return "removed again"


def restore_skill(memory: Parts, name: str) -> str:
    """Restore a removed draft. Returns a message."""
    memory.skills.restore(name)
    return "the draft is back"
