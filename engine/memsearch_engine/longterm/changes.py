"""Changes that a model proposes for a document, and the owner's decision on each change.

The documents of the long-term memory (``review``) and the pages of a project (``pages``) use
it. They differ in where a proposal is stored, in how an accepted change is written, and in what is
remembered of a rejected one.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar, Generic, Literal, TypeVar

import msgspec

from memsearch_engine.capture import authors
from memsearch_engine.core.errors import Conflict, NotFound, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.journal.disk import locked
from memsearch_engine.journal.text import FENCE
from memsearch_engine.longterm import workspace

Verdict = Literal["accepted", "rejected"]
_LEADS = 5


class Hunk(msgspec.Struct):
    """One change of a proposal: a bullet that is added, changed or removed.

    Attributes:
        section: the heading above it; '' for a file without sections.
        leads: the lines before it, nearest first. They locate an addition.
        before, after: its lines before and after the change. An empty list means an addition or a
            removal.
        memories: ids of the session memories or sessions that support it.
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


class Proposed(msgspec.Struct):
    """A proposal with its changes. ``at``: its creation time in seconds since 1970."""

    at: float
    hunks: list[Hunk]

    @property
    def waiting(self) -> list[Hunk]:
        """The changes that are still open."""
        return [hunk for hunk in self.hunks if hunk.state == "open"]


P = TypeVar("P", bound=Proposed)


class Review(ABC, Generic[P]):
    """Decides on the pending proposal of one document.

    Args:
        path: the path that is locked while changes are decided.
        nothing: the message and the hint of the error that no proposal is pending.

    Attributes:
        listing: the command that lists the changes.
        forbidden: a pattern that the owner's own text for a change must not match.
    """

    listing: ClassVar[str]
    forbidden: ClassVar[re.Pattern[str]]

    def __init__(self, home: Home, path: str, nothing: tuple[str, str]) -> None:
        self.home, self.path, self._nothing = home, path, nothing

    @abstractmethod
    def pending(self) -> P | None:
        """The proposal that is pending review."""

    @abstractmethod
    def store(self, proposal: P) -> None:
        """Store the decisions. A proposal without open changes is deleted."""

    @abstractmethod
    def accept(self, hunks: list[Hunk]) -> None:
        """Write changes into the document, all or none. Raises Conflict."""

    def check_seen(self, proposal: P, seen: int | str) -> None:
        """Raise Conflict if the pending proposal is not the one that was shown."""
        if getattr(proposal, "id", None) != seen:
            raise Conflict("the proposal was replaced by another one", "look at the new one")

    def reject(self, hunks: list[Hunk]) -> None:
        """Remember that the owner does not want these changes."""

    def accepted(self, hunks: list[Hunk]) -> None:
        """Called after accepted changes were written and stored."""

    def decide(
        self,
        verdict: Verdict,
        numbers: Iterable[int] = (),
        *,
        text: str | None = None,
        seen: int | str = 0,
    ) -> list[Hunk]:
        """Accept or reject changes.

        Args:
            numbers: the changes; empty for all open ones.
            text: accept one change with this text instead of the proposed one.
            seen: the id of the proposal that was shown.

        Returns:
            The changes that were decided by this call.

        Raises:
            NotFound: no proposal is pending, or no change has that number.
            Conflict: another proposal is pending by now, or the document changed there.
            UsageError: the text is not allowed in the document, or an agent accepts.
        """
        if verdict == "accepted":
            authors.refuse("accept changes")
        with locked(self.home, self.path):
            proposal = self.pending()
            if proposal is None:
                raise NotFound(*self._nothing)
            if seen:
                self.check_seen(proposal, seen)
            wanted = set(numbers)
            hunks = [hunk for hunk in proposal.waiting if not wanted or hunk.number in wanted]
            if missing := wanted - {hunk.number for hunk in hunks}:
                raise NotFound(f"no open change {min(missing)}", f"`{self.listing}` lists them")
            if text is not None:
                hunks[0].after = self._own_words(hunks, text)
            if verdict == "accepted":
                self.accept(hunks)
            else:
                self.reject(hunks)
            for hunk in hunks:
                hunk.state = verdict
            self.store(proposal)
            if verdict == "accepted":
                self.accepted(hunks)
        return hunks

    def _own_words(self, hunks: list[Hunk], text: str) -> list[str]:
        if len(hunks) != 1:
            raise UsageError(
                "name the one change that gets this text", f"`{self.listing}` lists them"
            )
        if not text.strip():
            raise UsageError("the text is empty", "reject the change instead")
        if self.forbidden.search(text):
            raise UsageError(
                "the text has a section's heading or a comment in it", "leave that out"
            )
        return workspace.clean(self.home, text.strip("\n")).splitlines()


def differences(
    before: dict[str, list[str]], after: dict[str, list[str]]
) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    """Yield (section, leads, before, after) of each bullet that differs between two versions.

    A bullet that only moved within its section is skipped.

    Args:
        before, after: heading of a section -> its lines.
    """
    for heading in dict.fromkeys([*before, *after]):
        was, now = units(before.get(heading, [])), units(after.get(heading, []))
        matcher = difflib.SequenceMatcher(None, was, now, autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            for step in range(max(j - i, m - k) if tag != "equal" else 0):
                gone = list(was[i + step]) if i + step < j and was[i + step] not in now else []
                come = list(now[k + step]) if k + step < m and now[k + step] not in was else []
                if gone or come:
                    lead = [line for unit in now[: k + step] for line in unit if line.strip()]
                    yield heading, lead[::-1][:_LEADS], gone, come


def units(lines: list[str]) -> list[tuple[str, ...]]:
    """Split lines into bullets with their continuation lines, and other blocks.

    The first bullet under a heading includes the heading.
    """
    found: list[tuple[int, int]] = []
    for start, stop in workspace.blocks(lines):
        if found and found[-1][1] == start and lines[start - 1].startswith("#"):
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return [tuple(lines[start:stop]) for start, stop in found]


def applied(hunk: Hunk, text: str) -> str:
    """Apply a change to the text of a document with sections. All other bytes stay the same.

    Raises:
        Conflict: the lines to change are not there any more.
    """
    ended = [line for line in re.split(r"(?<=\n)", text) if line]
    lines = [line.rstrip("\r\n") for line in ended]
    newline = "\r\n" if ended and ended[0].endswith("\r\n") else "\n"
    spans, place = [], 0
    for heading, under in section_spans(lines):
        begin = place + bool(heading)  # after its heading
        place = begin + len(under)
        spans += [(begin, place)] if heading == hunk.section else []

    def find(wanted: list[str]) -> int:
        """The index of *wanted* in the section; -1 if it is not there."""
        size = len(wanted)
        places = (n for begin, end in spans for n in range(begin, end + 1 - size))
        return next((n for n in places if lines[n : n + size] == wanted), -1)

    if hunk.after and find(hunk.after) >= 0 and (not hunk.before or find(hunk.before) < 0):
        return text  # already applied
    come = [f"{line}{newline}" for line in hunk.after]
    if hunk.before:
        found = find(hunk.before)
        if found < 0:
            raise Conflict(
                f"what it changes is not there any more: {hunk.before[0][:80]}",
                "reject it, or wait for the next review",
            )
        ended[found : found + len(hunk.before)] = come
        return "".join(ended)
    if ended and not ended[-1].endswith("\n"):
        ended[-1] += newline
    if spans:
        begin, end = spans[0]
        while end > begin and not lines[end - 1].strip():
            end -= 1
        leads = (
            n + 1 for lead in hunk.leads for b, e in spans for n in range(b, e) if lines[n] == lead
        )
        at = next(leads, end)
        ended[at:at] = [*([newline] if at == begin and hunk.section else []), *come]
    else:
        gap = [newline] if lines and lines[-1].strip() else []
        ended += [*gap, f"{hunk.section}{newline}", newline, *come]
    return "".join(ended)


def lines_with_headings(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is a heading.

    A code block has no headings. A fence is closed by another one of at least the same length
    (CommonMark).
    """
    fence = ""
    for line in lines:
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(mark[1][0]):
            fence = ""
        yield line, not fence and not mark and bool(re.match(r"#{1,6}\s", line))


def section_spans(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (heading, lines under it) of each section ``## …``, in the order of the text."""
    heading, begin = "", 0
    for number, (line, is_heading) in enumerate(lines_with_headings(lines)):
        if is_heading and line.startswith("## "):
            yield heading, lines[begin:number]
            heading, begin = line.strip(), number + 1
    yield heading, lines[begin:]
