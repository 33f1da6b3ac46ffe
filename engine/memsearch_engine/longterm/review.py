"""What a consolidation proposes, piece by piece, and the owner's word on each piece.

A hunk is one bullet (or one skill's file) added, changed or removed within a section; it names the
sessions that it rests on. Accepting one writes it into the file as that stands now, wherever its
neighbours have gone; rejecting one is remembered, so that it is not proposed again. The newest
proposal takes the place of an older one.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from memsearch_engine.core.errors import Conflict, NotFound, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.state import using
from memsearch_engine.injection.usage import cited
from memsearch_engine.journal.disk import locked
from memsearch_engine.longterm import workspace
from memsearch_engine.longterm.store import SessionMemories, plain_line
from memsearch_engine.longterm.workspace import ArtifactSection, InvalidArtifacts

Verdict = Literal["accepted", "rejected"]
_LEADS = 5
SCHEMA = """
CREATE TABLE IF NOT EXISTS longterm_waiting (
  id INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
"""


class Hunk(msgspec.Struct):
    """One piece of a proposal.

    Attributes:
        section: the heading that it stands under; '' for a file without sections.
        leads: lines before it, the nearest first: where an addition belongs.
        before, after: its lines; an empty one is an addition or a removal.
        memories: ids of the session memories that it names.
        state: open, accepted, rejected.
    """

    number: int
    path: str
    section: str
    leads: list[str]
    before: list[str]
    after: list[str]
    memories: list[str]
    state: str = "open"


class Proposal(msgspec.Struct):
    """``at``: seconds since 1970. ``memories``: what was weighed. ``id``: its number."""

    at: float
    hunks: list[Hunk]
    memories: list[str] = []
    model: str = ""
    tokens: int = 0
    id: int = 0

    @property
    def waiting(self) -> list[Hunk]:
        return [hunk for hunk in self.hunks if hunk.state == "open"]


# -- making


def hunks_between(
    before: dict[str, str], after: dict[str, str], store: SessionMemories
) -> list[Hunk]:
    """What leads from one set of files to another, without what the owner refused before."""
    found: list[Hunk] = []
    unwanted, kept = store.refused("+"), store.refused("-")
    for path in sorted({*before, *after}):
        for section, leads, old, new in _pieces(path, before.get(path, ""), after.get(path, "")):
            added = [line for line in new if plain_line(line) and line not in old]
            removed = [line for line in old if plain_line(line) and line not in new]
            if added and all(plain_line(line) in unwanted for line in added):
                continue
            if removed and not added and all(plain_line(line) in kept for line in removed):
                continue
            ids = list(dict.fromkeys(cited("\n".join([*new, *old]))))
            found.append(Hunk(len(found) + 1, path, section, leads, old, new, ids))
    return found


def _pieces(
    path: str, before: str, after: str
) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    """(section, leads, before, after) of each bullet that differs; a file without sections is one
    piece.
    """
    if path not in (workspace.MEMORY, workspace.SUMMARY):
        if before != after:
            yield "", [], before.splitlines(), after.splitlines()
        return
    old, new = _by_heading(before), _by_heading(after)
    for heading in [*old, *(name for name in new if name not in old)]:
        was, now = units(old.get(heading, [])), units(new.get(heading, []))
        matcher = difflib.SequenceMatcher(None, was, now, autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag == "equal":
                continue
            pairs = max(j - i, m - k)
            for step in range(pairs):
                # what only moved within its section is no change
                gone = list(was[i + step]) if i + step < j and was[i + step] not in now else []
                come = list(now[k + step]) if k + step < m and now[k + step] not in was else []
                if not gone and not come:
                    continue
                lines = [line for unit in now[: k + step] for line in unit]
                yield (
                    heading,
                    [line for line in reversed(lines) if line.strip()][:_LEADS],
                    gone,
                    come,
                )


def _by_heading(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    try:
        sections = workspace.sections(text)
    except InvalidArtifacts:  # the owner made something else of it: then it is replaced as a whole
        return {}
    for section in sections:
        found.setdefault(section.heading, []).extend(section.lines)
    return found


def units(lines: list[str]) -> list[tuple[str, ...]]:
    """Bullets with the lines that belong to them, the first one under a heading with it; other
    blocks as they stand.
    """
    found: list[tuple[int, int]] = []
    for start, stop in workspace.blocks(lines):
        if found and found[-1][1] == start and lines[start - 1].startswith("#"):
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return [tuple(lines[start:stop]) for start, stop in found]


# -- keeping


def propose(home: Home, proposal: Proposal) -> int:
    """Keep a proposal; it takes the place of one that still waited. Returns its number."""
    with using(home, SCHEMA) as db, transaction(db):
        db.execute("DELETE FROM longterm_waiting")
        return int(
            db.execute(
                "INSERT INTO longterm_waiting (body) VALUES (?)", (msgspec.json.encode(proposal),)
            ).lastrowid
            or 0
        )


def pending(home: Home) -> Proposal | None:
    """The proposal that waits for a decision. One that was decided is in the files; here it would
    outlive its deletion.
    """
    with using(home, SCHEMA) as db:
        row = db.execute("SELECT id, body FROM longterm_waiting").fetchone()
    if row is None:
        return None
    proposal = msgspec.json.decode(row[1], type=Proposal)
    proposal.id = row[0]
    return proposal


def decisions(proposal: Proposal) -> list[list[Hunk]]:
    """What waits, each change with its like in the other document: what stands in both is decided
    once.
    """
    same: dict[tuple[str, ...], list[Hunk]] = {}
    for hunk in proposal.waiting:
        same.setdefault((hunk.section, *hunk.before, "", *hunk.after), []).append(hunk)
    return list(same.values())


def clear(home: Home) -> None:
    with using(home, SCHEMA) as db:
        db.execute("DELETE FROM longterm_waiting")


# -- deciding


def decide(
    home: Home,
    verdict: Verdict,
    numbers: Iterable[int] = (),
    *,
    text: str | None = None,
    proposal_id: int = 0,
) -> list[Hunk]:
    """Accept or reject hunks of the pending proposal.

    Args:
        numbers: which; none for all that are open.
        text: accept one hunk with these words instead of the proposed ones.
        proposal_id: the proposal that was seen; another one by now is a Conflict. 0 skips the
            comparison.

    Returns:
        The hunks that were decided now.

    Raises:
        NotFound: nothing waits, or not that number. Conflict. UsageError: the text can't stand
            there.
    """
    with locked(home, str(home.longterm)):
        proposal = pending(home)
        if proposal is None:
            raise NotFound(
                "nothing waits for review",
                "`memsearch longterm status` says when something was consolidated last",
            )
        if proposal_id > proposal.id:
            raise NotFound(
                f"no proposal {proposal_id}: {proposal.id} waits",
                "`memsearch longterm review` lists its changes",
            )
        if proposal_id and proposal.id != proposal_id:
            raise Conflict(
                f"proposal {proposal_id} was replaced by {proposal.id}", "look at the new one"
            )
        wanted = set(numbers)
        chosen = [hunk for hunk in proposal.waiting if not wanted or hunk.number in wanted]
        if missing := wanted - {hunk.number for hunk in chosen}:
            raise NotFound(
                f"no open change {min(missing)}", "`memsearch longterm review` lists them"
            )
        if text is not None:
            _check_text(chosen, text)
        if text is not None:
            chosen[0].after = workspace.clean(home, text.strip("\n")).splitlines()
        store = SessionMemories(home)
        if verdict == "accepted":
            take(home, chosen)  # all or, where one is a conflict, none
            store.allow([line for hunk in chosen for line in hunk.after])
        for hunk in chosen:
            if verdict == "rejected":
                store.refuse("+", [line for line in hunk.after if line not in hunk.before])
                store.refuse("-", [line for line in hunk.before if line not in hunk.after])
            hunk.state = verdict
        with using(home, SCHEMA) as db:
            if proposal.waiting:
                values = (msgspec.json.encode(proposal), proposal.id)
                db.execute("UPDATE longterm_waiting SET body=? WHERE id=?", values)
            else:
                db.execute("DELETE FROM longterm_waiting WHERE id=?", (proposal.id,))
        if verdict == "accepted":
            _consolidated(home, chosen)
    return chosen


def reopen(home: Home, before: Proposal, numbers: Iterable[int]) -> bool:
    """Take rejections back: the changes wait again, and may be proposed again.

    Args:
        before: the proposal as it stood before they were rejected.

    Returns:
        False where another proposal waits by now: then they may be proposed again, and no more.
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
                hunk.state = (
                    "accepted"  # or rejected: decided since, else the proposal would still be there
                )
        with using(home, SCHEMA) as db:
            row = (before.id, msgspec.json.encode(now or before))
            db.execute("INSERT OR REPLACE INTO longterm_waiting (id, body) VALUES (?,?)", row)
    return True


def _consolidated(home: Home, hunks: list[Hunk]) -> None:
    """What the owner took over is no news to the next consolidation; what he wrote beside it still
    is.
    """
    baseline = workspace.Baseline(home)
    known = baseline.files()
    for hunk in hunks:
        with contextlib.suppress(Conflict):
            known[hunk.path] = apply(hunk, known.get(hunk.path, ""))
            if not known[hunk.path]:
                del known[hunk.path]
    baseline.commit(known)


def _check_text(chosen: list[Hunk], text: str) -> None:
    if len(chosen) != 1:
        raise UsageError("name the one change that gets this text")
    if not text.strip():
        raise UsageError("the text is empty", "reject the change instead")
    if re.search(r"(?m)^#{1,2}\s|<!--|memsearch-memory", text):
        raise UsageError("the text has a section's heading or a comment in it")


def apply(hunk: Hunk, text: str) -> str:
    """*text* of the hunk's file with the hunk in it. Raises Conflict where what it changes is no
    longer there.
    """
    if not hunk.section:
        if text.splitlines() not in (hunk.before, hunk.after):
            raise Conflict(
                f"{hunk.path} changed since this was proposed",
                "reject it, or wait for the next consolidation",
            )
        return "\n".join(hunk.after) + "\n" if hunk.after else ""
    head, sections = _split(hunk.path, text)
    section = next((s for s in sections if s.heading == hunk.section), None)
    if section is None:
        if hunk.before:
            raise Conflict(f"the section {hunk.section!r} is gone from {hunk.path}")
        section = ArtifactSection("", hunk.section, [""])
        sections.append(section)
    lines = section.lines
    if hunk.before:
        place = _find(lines, hunk.before)
        if place < 0:
            if hunk.after and _find(lines, hunk.after) >= 0:
                return text  # it is there already
            raise Conflict(
                f"what it changes is no longer in {hunk.path}: {hunk.before[0][:80]}",
                "reject it, or edit the file",
            )
        lines[place : place + len(hunk.before)] = hunk.after
    elif _find(lines, hunk.after) < 0:
        place = next((lines.index(lead) + 1 for lead in hunk.leads if lead in lines), -1)
        if place < 0:
            place = len(lines)
            while place and not lines[place - 1].strip():
                place -= 1
        lines[place:place] = hunk.after
    body = [
        head,
        *(
            "\n".join([s.heading, *s.lines]).rstrip() + "\n"
            for s in sections
            if any(line.strip() for line in s.lines)
        ),
    ]
    return "\n".join(part for part in body if part)


def _split(path: str, text: str) -> tuple[str, list[ArtifactSection]]:
    try:
        sections = workspace.sections(text)
    except InvalidArtifacts as error:
        raise Conflict(
            f"{path} has no sections any more: {error}", "mend the file, or move it aside"
        ) from error
    head = text.partition("\n## ")[0] if not text.startswith("## ") else ""
    head = head if sections or not text.startswith("## ") else ""
    if path == workspace.SUMMARY and not head.strip():
        head = workspace.VERSION
    return head.rstrip() + "\n" if head.strip() else "", sections


def _find(lines: list[str], wanted: list[str]) -> int:
    return next(
        (i for i in range(len(lines) - len(wanted) + 1) if lines[i : i + len(wanted)] == wanted), -1
    )


def take(home: Home, hunks: list[Hunk]) -> None:
    """Write hunks into their files, all or none. The caller holds the workspace's lock. Raises
    Conflict.
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
    for hunk in hunks:
        hunk.state = "accepted"
