"""A consolidation's proposal for the documents of the long-term memory, and the owner's decisions.

A change is one bullet (or one skill's file) that is added, changed or removed within a section. It
names the sessions that support it. An accepted change is applied to the current file, even if the
lines around it have moved. A rejected change is remembered, so that it is not proposed again. A new
proposal replaces the older one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from memsearch_engine.core.errors import Conflict, NotFound
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.state import change_state, state_rows, using
from memsearch_engine.injection.injection_log import cited
from memsearch_engine.journal.disk import locked
from memsearch_engine.longterm import workspace
from memsearch_engine.longterm.changes import (
    Hunk,
    Proposed,
    Review,
    Verdict,
    applied,
    differences,
    section_spans,
)
from memsearch_engine.longterm.store import SessionMemories, plain_line
from memsearch_engine.longterm.workspace import InvalidArtifacts

SCHEMA = """
CREATE TABLE IF NOT EXISTS longterm_waiting (
  id INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
"""


class Proposal(Proposed):
    """A consolidation's proposal.

    Attributes:
        memories: ids of the session memories that were consolidated.
        model: the provider of the model.
        id: the number of the proposal; 0 until it is stored.
    """

    memories: list[str] = []
    model: str = ""
    tokens: int = 0
    id: int = 0


# -- making


def hunks_between(
    before: dict[str, str], after: dict[str, str], store: SessionMemories
) -> list[Hunk]:
    """The changes between two sets of files, without those that the owner rejected before."""
    found: list[Hunk] = []
    refused_additions, refused_removals = store.refused("+"), store.refused("-")
    for path in sorted({*before, *after}):
        for section, leads, old, new in _pieces(path, before.get(path, ""), after.get(path, "")):
            added = [line for line in new if plain_line(line) and line not in old]
            removed = [line for line in old if plain_line(line) and line not in new]
            if added and all(plain_line(line) in refused_additions for line in added):
                continue
            if (
                removed
                and not added
                and all(plain_line(line) in refused_removals for line in removed)
            ):
                continue
            ids = list(dict.fromkeys(cited("\n".join([*new, *old]))))
            found.append(Hunk(len(found) + 1, path, section, leads, old, new, ids))
    return found


def _pieces(
    path: str, before: str, after: str
) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    """Yield (section, leads, before, after) of each bullet that differs.

    A file without sections is one piece.
    """
    if path in (workspace.MEMORY, workspace.SUMMARY):
        yield from differences(_by_heading(before), _by_heading(after))
    elif before != after:
        yield "", [], before.splitlines(), after.splitlines()


def _by_heading(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    try:
        sections = workspace.sections(text)
    except InvalidArtifacts:  # the owner removed the sections: the file is replaced as a whole
        return {}
    for section in sections:
        found.setdefault(section.heading, []).extend(section.lines)
    return found


# -- storing


def propose(home: Home, proposal: Proposal) -> int:
    """Store a proposal. It replaces a pending one.

    Returns:
        The number of the proposal.
    """
    with using(home, SCHEMA) as db, transaction(db):
        db.execute("DELETE FROM longterm_waiting")
        return int(
            db.execute(
                "INSERT INTO longterm_waiting (body) VALUES (?)", (msgspec.json.encode(proposal),)
            ).lastrowid
            or 0
        )


def pending(home: Home) -> Proposal | None:
    """The pending proposal.

    A decided proposal is not stored here, because a copy here would survive the deletion of its
    text from the files.
    """
    for number, body in state_rows(home, SCHEMA, "SELECT id, body FROM longterm_waiting LIMIT 1"):
        return msgspec.structs.replace(msgspec.json.decode(body, type=Proposal), id=number)
    return None


def decisions(proposal: Proposal) -> list[list[Hunk]]:
    """The open changes, grouped: a change that occurs in both documents is decided once."""
    same: dict[tuple[str, ...], list[Hunk]] = {}
    for hunk in proposal.waiting:
        same.setdefault((hunk.section, *hunk.before, "", *hunk.after), []).append(hunk)
    return list(same.values())


def clear(home: Home) -> None:
    """Delete the pending proposal."""
    change_state(home, SCHEMA, "DELETE FROM longterm_waiting")


# -- deciding


class _FactsReview(Review[Proposal]):
    """The decisions on a consolidation's proposal."""

    listing = "memsearch longterm review"
    forbidden = re.compile(r"(?m)^#{1,2}\s|<!--|memsearch-memory")

    def __init__(self, home: Home) -> None:
        hint = "`memsearch longterm status` says when something was consolidated last"
        super().__init__(home, str(home.longterm), ("nothing waits for review", hint))

    def pending(self) -> Proposal | None:
        return pending(self.home)

    def check_seen(self, proposal: Proposal, seen: int | str) -> None:
        if isinstance(seen, int) and seen > proposal.id:
            raise NotFound(
                f"no proposal {seen}: {proposal.id} waits",
                "`memsearch longterm review` lists its changes",
            )
        super().check_seen(proposal, seen)

    def store(self, proposal: Proposal) -> None:
        with using(self.home, SCHEMA) as db:
            if proposal.waiting:
                values = (msgspec.json.encode(proposal), proposal.id)
                db.execute("UPDATE longterm_waiting SET body=? WHERE id=?", values)
            else:
                db.execute("DELETE FROM longterm_waiting WHERE id=?", (proposal.id,))

    def accept(self, hunks: list[Hunk]) -> None:
        take(self.home, hunks)
        SessionMemories(self.home).allow([line for hunk in hunks for line in hunk.after])

    def reject(self, hunks: list[Hunk]) -> None:
        memories = SessionMemories(self.home)
        for hunk in hunks:
            memories.refuse("+", [line for line in hunk.after if line not in hunk.before])
            memories.refuse("-", [line for line in hunk.before if line not in hunk.after])

    def accepted(self, hunks: list[Hunk]) -> None:
        _consolidated(self.home, hunks)


def decide(
    home: Home,
    verdict: Verdict,
    numbers: Iterable[int] = (),
    *,
    text: str | None = None,
    proposal_id: int = 0,
) -> list[Hunk]:
    """Accept or reject changes of the pending proposal; see ``Review.decide``."""
    return _FactsReview(home).decide(verdict, numbers, text=text, seen=proposal_id)


def reopen(home: Home, before: Proposal, numbers: Iterable[int]) -> bool:
    """Undo rejections: the changes are pending again, and a model may propose them again.

    Args:
        before: the proposal before the rejection.

    Returns:
        False if another proposal is pending by now. The changes are then not pending, but a model
        may propose them again.
    """
    wanted = set(numbers)
    with locked(home, str(home.longterm)):
        lines = [
            line
            for hunk in before.hunks
            if hunk.number in wanted
            for line in (*hunk.before, *hunk.after)
        ]
        SessionMemories(home).allow(lines)
        now = pending(home)
        if now is not None and now.id != before.id:
            return False
        for hunk in (now or before).hunks:
            if hunk.number in wanted:
                hunk.state = "open"
            elif now is None and hunk.state == "open":
                # or rejected: decided since then, because the proposal still exists otherwise
                hunk.state = "accepted"
        row = (before.id, msgspec.json.encode(now or before))
        change_state(
            home, SCHEMA, "INSERT OR REPLACE INTO longterm_waiting (id, body) VALUES (?,?)", row
        )
    return True


def _consolidated(home: Home, hunks: list[Hunk]) -> None:
    """Add accepted changes to the baseline, so that they are not new for the next consolidation.

    Other edits of the owner stay new.
    """
    baseline = workspace.Baseline(home)
    known = baseline.files()
    for hunk in hunks:
        with contextlib.suppress(Conflict):
            known[hunk.path] = apply(hunk, known.get(hunk.path, ""))
            if not known[hunk.path]:
                del known[hunk.path]
    baseline.commit(known)


def apply(hunk: Hunk, text: str) -> str:
    """Apply a hunk to *text*, the content of its file.

    Raises:
        Conflict: the lines to change are not there any more.
    """
    if not hunk.section:
        if text.splitlines() not in (hunk.before, hunk.after):
            raise Conflict(
                f"{hunk.path} changed since this was proposed",
                "reject it, or wait for the next consolidation",
            )
        return "\n".join(hunk.after) + "\n" if hunk.after else ""
    try:
        workspace.sections(text)
    except InvalidArtifacts as error:
        raise Conflict(
            f"{hunk.path} has no sections any more: {error}", "mend the file, or move it aside"
        ) from error
    if hunk.path == workspace.SUMMARY and (not text.strip() or text.startswith("## ")):
        text = f"{workspace.VERSION}\n\n{text}"
    spans = section_spans(applied(hunk, text).splitlines())
    return "\n".join(
        "\n".join([heading, *lines]).strip() + "\n"
        for heading, lines in spans
        if any(line.strip() for line in lines)
    )


def take(home: Home, hunks: list[Hunk]) -> None:
    """Write hunks into their files, all or none.

    The caller holds the workspace's lock. Raises Conflict.
    """
    texts: dict[str, str] = {}
    for hunk in hunks:
        texts[hunk.path] = apply(
            hunk, texts.get(hunk.path, workspace.read(home.longterm, hunk.path))
        )
    for path, text in texts.items():
        if text:
            workspace.write(home, home.longterm, path, text)
        else:
            Path(home.longterm, path).unlink(missing_ok=True)
