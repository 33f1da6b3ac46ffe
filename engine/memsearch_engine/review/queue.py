"""The review queue: lists what is pending review, carries out decisions, and undoes them.

This module reads the cases of all other modules and records how each decision is undone. The record
is a file of the home, so that a command can undo a decision made in the app.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.core.errors import Conflict, NotFound, UsageError
from memsearch_engine.core.ids import cited_id
from memsearch_engine.journal.disk import locked
from memsearch_engine.review import documents, notes
from memsearch_engine.review.item import Decision, Kind, Parts, ReviewItem, Step, undone
from memsearch_engine.search.scope import Scope, reading_once

#: Kind -> name of its group in commands, and its title.
GROUPS: dict[Kind, tuple[str, str]] = {
    "longterm": ("longterm", "proposals for the long-term memory"),
    "page": ("pages", "changes of PROJECT.md and USER.md"),
    "skill": ("skills", "drafted skills"),
    "conflict": ("conflicts", "notes changed in two places"),
    "held": ("quarantine", "quarantined notes"),
    "secret": ("secrets", "secrets"),
    "repair": ("repairs", "junk and repetitions"),
    "amends": ("supersession", "notes that are probably superseded"),
    "contradicts": ("values", "names with two values"),
    "stale": ("stale", "notes that name what is gone or moved"),
    "unread": ("unreadable", "files that cannot be read"),
}
_MAX_DONE = 50

Decider = Callable[[Parts, ReviewItem, bool, str | None], tuple[str, Step | None]]
_DECIDERS: dict[Kind, Decider] = {
    "longterm": documents.decide_proposed,
    "page": documents.decide_page,
    "skill": documents.decide_skill,
    "conflict": notes.decide_conflict,
    "held": notes.decide_quarantined,
    "secret": notes.decide_secret,
    "repair": notes.decide_repair,
    "amends": notes.decide_pair,
    "contradicts": notes.decide_pair,
    "stale": notes.decide_stale,
}
#: Kind -> function that lists its cases, in the order of the queue.
_SOURCES: dict[Kind, Callable[[Parts], list[ReviewItem]]] = {
    "longterm": documents.proposed,
    "page": documents.pages,
    "skill": documents.skills,
    "conflict": notes.conflicts,
    "held": notes.quarantined,
    "secret": notes.secrets,
    "repair": notes.repairs,
    "amends": notes.superseded,
    "contradicts": notes.contradictions,
    "stale": notes.stale,
}
_UNDOERS: dict[str, Callable[..., str]] = {
    "note": undone,
    "propose": documents.propose_again,
    "withhold-lines": documents.withhold_lines,
    "page": documents.reopen_page,
    "uninstall-skill": documents.uninstall_skill,
    "restore-skill": documents.restore_skill,
    "trust": notes.trust_again,
    "withhold-files": notes.withhold_files,
    "report-secret": notes.report_secret,
    "pair": notes.pair_again,
    "again": lambda memory, key: "it waits again",
}


class DecisionRecord(msgspec.Struct):
    """A decision that was carried out. ``step``: how it is undone; None if it cannot be."""

    at: float
    project: str
    kind: Kind
    title: str
    said: str
    step: Step | None


class _Record(msgspec.Struct):
    """The record file: decisions, skipped cases, and the last list, by project."""

    done: list[DecisionRecord] = []
    left: list[str] = []
    listed: dict[str, list[tuple[str, str]]] = {}


def _is_about(case: ReviewItem, name: str) -> bool:
    """Whether a case is about the entry whose id begins with *name*.

    A file of many quarantined notes has no such name: an answer would decide on all of them.
    """
    is_file = case.kind == "held" and len(case.notes) > 1
    return len(name) >= 4 and not is_file and any(note.startswith(name) for note in case.notes)


class ReviewQueue:
    """Everything that is pending review.

    >>> with Memory() as memory:
    ...     memory.review.cases()
    []
    """

    def __init__(self, scope: Scope, memory: Parts) -> None:
        self._scope, self._memory = scope, memory

    # -- listing

    def cases(self, *kinds: Kind, secrets: bool = False) -> list[ReviewItem]:
        """The cases of these kinds, or all cases.

        Args:
            secrets: also search for secrets, which reads all notes and archived conversations.

        Raises:
            Unreachable: a database is not readable.
        """
        return [case for _, found in self.groups(*kinds, secrets=secrets) for case in found]

    def groups(
        self, *kinds: Kind, secrets: bool = False
    ) -> Iterator[tuple[Kind, list[ReviewItem]]]:
        """Yield each kind with its cases as soon as they are read; the arguments as in ``cases``.

        Raises:
            Unreachable: a database is not readable.
        """
        left = set(self._read().left)
        context = reading_once()
        for kind, source in _SOURCES.items():
            if kind in kinds if kinds else secrets or kind != "secret":
                gc.disable()  # it would look through the outlines of all notes several times
                try:
                    found = context.run(source, self._memory)
                finally:
                    gc.enable()
                yield kind, [case for case in found if case.key not in left]

    def numbered(self, *, secrets: bool = False) -> list[ReviewItem]:
        """All cases. Their positions, from 1, are stored as numbers for ``named``."""
        found = self.cases(secrets=secrets)
        with self._changed() as record:
            record.listed[self._project] = [(case.key, case.seen) for case in found]
        return found

    def named(self, names: Iterable[str], cases: Sequence[ReviewItem]) -> list[ReviewItem]:
        """Find the cases with the given names: numbers of the last list, ids, groups, or entry ids.

        Raises:
            NotFound: there is no such case.
            Conflict: the case with that number has changed since.
        """
        listed = self._read().listed.get(self._project, [])
        by_key = {case.key: case for case in cases}
        found: dict[str, ReviewItem] = {}
        for name in map(cited_id, names):
            if name.isdecimal() and len(name) < 6:
                chosen = [self._numbered(int(name), listed, by_key)]
            else:
                chosen = [c for c in cases if c.id == name or GROUPS.get(c.kind, ("",))[0] == name]
                chosen = chosen or [case for case in cases if _is_about(case, name)]
            if not chosen:
                if any(note.startswith(name) for c in cases for note in c.notes if len(name) >= 4):
                    raise NotFound(
                        f"{name} waits with the other notes of its file",
                        f"`memsearch review` lists the file; `memsearch trust release {name}`"
                        " releases this note alone",
                    )
                groups = ", ".join(dict.fromkeys(GROUPS[c.kind][0] for c in cases)) or "none"
                raise NotFound(f"nothing waits under {name}", f"groups that wait: {groups}")
            found |= {case.key: case for case in chosen}
        return list(found.values())

    def _numbered(
        self, number: int, listed: Sequence[tuple[str, str]], by_key: dict[str, ReviewItem]
    ) -> ReviewItem:
        if not 1 <= number <= len(listed):
            raise NotFound(f"no number {number} in the last list", "`memsearch review` lists again")
        key, seen = listed[number - 1]
        case = by_key.get(key)
        if case is None:
            raise NotFound(f"number {number} does not wait any more", "`memsearch review`")
        if case.seen != seen:
            raise Conflict(f"number {number} has changed since it was listed", "look at it again")
        return case

    # -- deciding

    def decide(self, case: ReviewItem, accept: bool, text: str | None = None) -> Decision:
        """Carry out a decision.

        Args:
            accept: true for the answer *yes* of the case, false for *no*.
            text: accept it with this text instead.

        Raises:
            UsageError: the case has no such answer.
            Conflict: it has changed since it was read.
        """
        if case.kind not in _DECIDERS or not (case.yes if accept else case.no):
            raise UsageError(
                f"{case.title!r} cannot be {'accepted' if accept else 'rejected'}",
                f"`memsearch review open {case.id}` shows its answers",
            )
        message, step = _DECIDERS[case.kind](self._memory, case, accept, text)
        done = DecisionRecord(time.time(), self._project, case.kind, case.title, message, step)
        with self._changed() as record:
            record.done = [*record.done, done][-_MAX_DONE:]
            if step and step[0] == "again":
                record.left.append(case.key)
        return Decision(message, partial(self._take_back, done) if step else None)

    def undo(self) -> tuple[DecisionRecord, str]:
        """Undo the last decision of this project that can be undone.

        Returns:
            The decision, and a message.

        Raises:
            NotFound: there is none.
            Conflict: its subject has changed since.
        """
        done = [one for one in self._read().done if one.project == self._project and one.step]
        if not done:
            raise NotFound(
                "no decision to undo", "`memsearch undo` undoes the last change of notes"
            )
        return done[-1], self._take_back(done[-1])

    def _take_back(self, done: DecisionRecord) -> str:
        assert done.step is not None
        verb, *arguments = done.step
        message = _UNDOERS[verb](self._memory, *arguments)
        with self._changed() as record:
            record.done = [one for one in record.done if one != done]
            if verb == "again":
                record.left = [key for key in record.left if key != arguments[0]]
        return message

    # -- the record

    @property
    def _project(self) -> str:
        return "*" if self._scope.everything else self._scope.place.root

    @property
    def _file(self) -> Path:
        return self._scope.home.root / "review.json"

    def _read(self) -> _Record:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Record)
        except (OSError, msgspec.DecodeError):
            return _Record()

    @contextlib.contextmanager
    def _changed(self) -> Any:
        """The record. It is written when the block ends."""
        with locked(self._scope.home, str(self._file)):
            record = self._read()
            yield record
            self._scope.home.put(self._file, msgspec.json.encode(record))
