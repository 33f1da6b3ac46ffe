"""Quarantined notes, and the source classes of every note.

Source classes, from the most to the least trusted: ``user`` (the user's words), ``model`` (an
agent's words), ``inside`` (tool output of this machine), ``outside`` (web, MCP). The least trusted
source of a note counts. A note with outside content, or one that reads like an order to agents, is
marked and not injected until it is released.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import lru_cache

import msgspec

from memsearch_engine.agents.transcripts.model import Turn
from memsearch_engine.capture import authors
from memsearch_engine.capture.transcripts import Transcripts
from memsearch_engine.core.errors import Conflict, MemsearchError, NotFound
from memsearch_engine.core.project_location import author_of
from memsearch_engine.core.projects import locate
from memsearch_engine.core.repository import authors_of
from memsearch_engine.index.catalog.outlines import ListedNote
from memsearch_engine.index.rows import CatalogBroken
from memsearch_engine.journal.files import DayFile, day_of, read_day
from memsearch_engine.journal.history import Change
from memsearch_engine.journal.model import RELEASED, UNTRUSTED, Entry, QuarantineReason
from memsearch_engine.journal.origin import Verdict, find_quarantined
from memsearch_engine.journal.outline import FileOutline, arrived_in
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.targets import Target
from memsearch_engine.search.scope import Scope


class QuarantinedNote(msgspec.Struct, frozen=True, gc=False):
    """A quarantined note.

    Attributes:
        lines: lines that read like orders.
        decision: the owner's decision that the file contradicts.
        conversation: the file of the conversation that it cites, if it is on this machine.
    """

    path: str
    day: str
    time: str
    entry_id: str
    hash: str
    agent: str
    title: str
    why: QuarantineReason
    lines: list[str]
    decision: str = ""
    conversation: str = ""

    @property
    def target(self) -> Target:
        """The path, id and hash of the note, for a change."""
        return Target(self.path, self.entry_id, self.hash)

    @property
    def author(self) -> str:
        """The team member who shared it; '' for the project's own notes."""
        return author_of(self.path)


def _conversation_of(path: str) -> str:
    """The file of the conversation that a note cites, if it is on this machine; else ''."""
    is_there = path and "\0" not in path and os.path.exists(os.path.expanduser(path))
    return path if is_there else ""


class WaitingFile(msgspec.Struct, frozen=True):
    """The quarantined notes of a file.

    Attributes:
        arrived: id and hash of the notes that this home did not write and that only wait for that.
        parsed: all quarantined notes; None if the file was not parsed, because it has only those.
    """

    file: DayFile
    arrived: dict[str, str]
    parsed: list[QuarantinedNote] | None


class Trust:
    """Quarantined notes, and the owner's decisions on them.

    >>> with Memory() as memory:
    ...     memory.trust.quarantined()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def quarantined(self) -> list[QuarantinedNote]:
        """All quarantined notes, newest day first."""
        conversation_of = lru_cache(maxsize=None)(_conversation_of)
        return [note for one in self.waiting() for note in self.notes(one, conversation_of)]

    def count(self) -> int:
        """The number of quarantined notes."""
        return sum(len(one.arrived if one.parsed is None else one.parsed) for one in self.waiting())

    def waiting(self) -> Iterator[WaitingFile]:
        """Yield the files with quarantined notes, newest day first. Most are not read."""
        files = self._scope.files()
        arrived = self._arrived(files)
        for file in files:
            parsed = None if file in arrived else self._parsed(file)
            names = {
                note.entry_id: note.hash
                for note in parsed or ()
                if note.why is QuarantineReason.ARRIVED
            }
            if parsed or arrived.get(file):
                yield WaitingFile(file, arrived.get(file, names), parsed)

    def notes(
        self, waiting: WaitingFile, conversation_of: Callable[[str], str] = _conversation_of
    ) -> list[QuarantinedNote]:
        """The quarantined notes of a file."""
        if waiting.parsed is not None:
            return waiting.parsed
        file, listed = waiting.file, self._listed(waiting.file)
        if not waiting.arrived.keys() <= listed.keys():
            return self._parsed(file)
        return [
            QuarantinedNote(
                file.path,
                file.day,
                listed[name].time,
                name,
                hash_,
                listed[name].agent,
                listed[name].title,
                QuarantineReason.ARRIVED,
                [],
                conversation=conversation_of(listed[name].path),
            )
            for name, hash_ in waiting.arrived.items()
        ]

    def _parsed(self, file: DayFile) -> list[QuarantinedNote]:
        """The quarantined notes of a file that must be parsed."""
        try:
            entries = self._scope.read(file)
        except OSError:
            return []  # `doctor` reports the unreadable file
        return [
            QuarantinedNote(
                file.path,
                file.day,
                entry.time,
                entry.id,
                entry.hash,
                entry.agent,
                entry.title,
                why,
                lines,
                self._decision_of(entry, file.day) if why is QuarantineReason.CONTRADICTS else "",
                _conversation_of(entry.anchor.path if entry.anchor else ""),
            )
            for entry, why, lines in find_quarantined(
                self._scope.journal.origin, self._scope.memory_of(file.path), entries, file.path
            )
        ]

    def _arrived(self, files: Iterable[DayFile]) -> dict[DayFile, dict[str, str]]:
        """Return id and hash of the quarantined notes of the files that need not be parsed."""
        outlines = self._scope.outlines()
        by_memory: dict[str, dict[DayFile, FileOutline]] = {}
        for file in files:
            if outline := outlines.get(file):
                by_memory.setdefault(self._scope.memory_of(file.path), {})[file] = outline
        found: dict[DayFile, dict[str, str]] = {}
        for memory, outlined in by_memory.items():
            found |= arrived_in(self._scope.journal.origin, memory, outlined)
        return found

    def _listed(self, file: DayFile) -> dict[str, ListedNote]:
        """Return what the catalog lists of the notes of a file; {} if it cannot be read."""
        with contextlib.suppress(CatalogBroken):
            if self._scope.catalog:
                return self._scope.catalog.outlines.notes(file)
        return {}

    def waits(self, name: str) -> QuarantineReason | None:
        """Why a note is quarantined; None if it is not.

        Raises:
            NotFound: there is no such note.
            Unreachable: a file is not readable.
        """
        section = self._scope.section(name)
        found = find_quarantined(
            self._scope.journal.origin,
            self._scope.memory_of(section.path),
            [section.entry],
            section.path,
        )
        return found[0][1] if found else None

    def accept(self, targets: list[Target]) -> list[Entry]:
        """Accept the current texts of notes that contradict a decision.

        The decision's own text stays accepted, so that a checkout of either needs no new decision.

        Raises:
            Conflict: a note has changed since it was read.
            NotFound: a note does not exist any more.
        """
        authors.refuse("release notes")
        entries = []
        for target in targets:
            entry = _unchanged_entry(target)
            self._scope.journal.origin.answer(day_of(target.path), entry, True)
            entries.append(entry)
        return entries

    def reject(self, targets: list[Target], *, leave: bool = False) -> list[str]:
        """Confirm the owner's decisions: the current texts are not injected and not listed again.

        If the history contains the decision's text, it is written to the file, which can be undone.

        Args:
            leave: leave the file unchanged, for example after the checkout of an older branch.

        Returns:
            A message for each note.

        Raises:
            Conflict: a note has changed since it was read.
            NotFound: a note does not exist any more.
        """
        authors.refuse("release notes")
        done = []
        for target in targets:
            entry, day = _unchanged_entry(target), day_of(target.path)
            origin, folder = self._scope.journal.origin, self._scope.memory_of(target.path)
            moved = origin.contradicting([entry], day).get(entry.id) is Verdict.MOVED
            change, text = self._decided(entry)
            here = change is not None and os.path.realpath(change.path) == os.path.realpath(
                target.path
            )
            if leave or moved or not here:
                done.append("left out")
            elif text.strip():
                self._scope.journal.put_back(folder, target, text)
                done.append("put back")
            else:
                self._scope.journal.delete(folder, [target])
                done.append("deleted")
            origin.answer(day, entry, False)
        return done

    def release(self, targets: list[Target]) -> list[Entry]:
        """Release notes for injection.

        This is undone like any mark. The release of a shared note does not change its
        file; ``quarantine`` undoes it.

        Raises:
            Conflict: a note has changed since it was read.
            NotFound: a note does not exist any more.
        """
        authors.refuse("release notes")
        entries, origin = [], self._scope.journal.origin
        for target in targets:
            entry, day = _shared_entry(target), day_of(target.path)
            is_wrong = bool(origin.contradicting([_unchanged_entry(target)], day))
            if entry is None or entry.marks.get("trust") in UNTRUSTED:
                # trust in a shared note is stored in this home
                word = RELEASED if entry is None else None
                entry = self._scope.journal.mark(
                    self._scope.memory_of(target.path), target, "trust", word
                )
            origin.answer(day, entry, True) if is_wrong else origin.prefer(day, entry)
            entries.append(entry)
        origin.wrote((entry.raw for entry in entries), "released")
        return entries

    def release_files(self, paths: list[str]) -> int:
        """Release the current notes of files that came from elsewhere.

        Notes that read like an order stay quarantined. The trust is stored in this home, and the
        files do not change.

        Returns:
            The number of released notes.
        """
        authors.refuse("release notes")
        wanted = {os.path.realpath(path) for path in paths}
        found = {
            one.file.path: [e for e in read_day(one.file.path).entries if e.id in one.arrived]
            for one in self.waiting()
            if one.arrived and os.path.realpath(one.file.path) in wanted
        }
        self._scope.journal.origin.take_over(found)
        return sum(map(len, found.values()))

    def withhold_files(self, hashes: dict[str, dict[str, str]]) -> int:
        """Undo ``release_files`` for notes that have not changed since.

        Args:
            hashes: path of a file -> id and hash of each note.

        Returns:
            The number of notes that are quarantined again.
        """
        found = [
            entry.raw
            for path, known in hashes.items()
            if os.path.exists(path)
            for entry in read_day(path).entries
            if known.get(entry.id) == entry.hash
        ]
        self._scope.journal.origin.take_back(found)
        return len(found)

    def release_author(self, author: str) -> tuple[int, list[str]]:
        """Release the current content of the files that only *author* has committed.

        Later commits are quarantined again, because anybody can use an address in a commit.

        Args:
            author: an e-mail address.

        Returns:
            The number of released notes, and the files.
        """
        files = []
        for path in [one.file.path for one in self.waiting() if one.arrived]:
            place = locate(os.path.dirname(path), self._scope.home)
            if authors_of(place.common_dir, os.path.relpath(path, place.root), path) == {
                author.lower()
            }:
                files.append(path)
        return self.release_files(files), sorted(files)

    def release_folder(self) -> int:
        """Release the current notes of this project's memory folder.

        Notes that read like an order stay quarantined. Returns their number.
        """
        authors.refuse("release notes")
        return self._scope.journal.origin.trust(self._scope.project.memory)

    def quarantine(self, targets: list[Target]) -> list[Entry]:
        """Quarantine notes.

        A shared note that was released is quarantined again without a change of its file.
        """
        origin, entries = self._scope.journal.origin, []
        for target in targets:
            entry = _shared_entry(target)
            if entry is not None and origin.released([entry]):
                origin.take_back([entry.raw])
            else:
                entry = self._scope.journal.mark(
                    self._scope.memory_of(target.path), target, "trust", QuarantineReason.SUSPECT
                )
                # the mark is now the owner's decision
                origin.answer(day_of(target.path), entry, True)
            entries.append(entry)
        return entries

    def sources(self, entry: Entry) -> list[str]:
        """The source classes of a note, if its conversation is still readable.

        A hand-written note is the user's.
        """
        if entry.anchor is None:
            return [
                "model" if entry.marks.get("by") else "user",
                *(["outside"] if entry.marks.get("trust") == QuarantineReason.OUTSIDE else []),
            ]
        try:
            found = Transcripts(self._scope).conversation(entry, context=0)
            return sources(found.turns[max(found.index, 0)])
        except (MemsearchError, IndexError):
            return [
                "user",
                "model",
                *(["outside"] if entry.marks.get("trust") == QuarantineReason.OUTSIDE else []),
            ]

    def _decided(self, entry: Entry) -> tuple[Change | None, bytes]:
        """Return the owner's last change of a note, and its text; None without a change."""
        for change in self._scope.journal.history.of_entry(entry.id):
            if change.state == "done":
                return change, change.after
            if change.state == "undone":
                return change, change.before
            if change.state == "pruned":
                break
        return None, b""

    def _decision_of(self, entry: Entry, day: str) -> str:
        """Describe the owner's decision that an entry contradicts; ``""`` if there is none."""
        verdict = self._scope.journal.origin.contradicting([entry], day).get(entry.id)
        if verdict is None:
            return ""
        if verdict is Verdict.MOVED:
            return "this text belongs to another day"
        change, text = self._decided(entry)
        if change is None:
            return "you replaced this text"
        when = date.fromtimestamp(change.at).isoformat()
        if not text.strip():
            return f"you deleted it on {when}"
        now = next(iter(parse(text).entries), None)
        marks = (
            [f"{name} {now.marks[name]}".strip() for name in now.marks if name not in entry.marks]
            if now
            else []
        )
        return (
            f"you marked it on {when}: {', '.join(marks)}" if marks else f"you changed it on {when}"
        )


def _unchanged_entry(target: Target) -> Entry:
    """The current entry, if it is unchanged since it was read. Raises Conflict, NotFound."""
    entry = read_day(target.path).find(target.entry_id)
    if entry is None:
        raise NotFound(
            f"no entry {target.entry_id} in {target.path}",
            "`memsearch trust review` lists what waits",
        )
    if target.hash and entry.hash != target.hash:
        raise Conflict(
            f"entry {entry.id} changed since it was read", "look at it again", current=entry.content
        )
    return entry


def _shared_entry(target: Target) -> Entry | None:
    """Return the current entry of a shared note, which readers do not change; otherwise None.

    Raises:
        Conflict: the note has changed.
        NotFound: there is no such note.
    """
    if not author_of(target.path):
        return None
    return _unchanged_entry(target)


def sources(turn: Turn) -> list[str]:
    """The source classes of a turn, most trusted first.

    The last one determines the trust in its note.
    """
    classes = [
        ("user", turn.user.strip()),
        ("model", turn.assistant.strip()),
        ("inside", any(t.output.strip() for t in turn.tools)),
    ]
    return [name for name, there in classes if there] + (["outside"] if turn.outside else [])
