"""Notes that wait for the owner's word, and where every note came from.

Source classes, from the surest to the least sure: ``user`` (his words), ``model`` (an agent's
words), ``inside`` (what tools printed on this machine), ``outside`` (web, MCP). A note is trusted
as its least sure source is: what took in content from outside, or reads like an order to agents, is
marked and not told to sessions until it is released.
"""

from __future__ import annotations

import os
from datetime import date

import msgspec

from memsearch_engine.agents.transcripts.model import Turn
from memsearch_engine.capture import authors
from memsearch_engine.capture.transcripts import Transcripts
from memsearch_engine.core.errors import Conflict, MemsearchError, NotFound, UsageError
from memsearch_engine.core.project_location import author_of
from memsearch_engine.core.projects import locate
from memsearch_engine.core.repository import authors_of
from memsearch_engine.journal.files import day_of, read_day
from memsearch_engine.journal.history import Change
from memsearch_engine.journal.model import RELEASED, UNTRUSTED, Entry, Waits
from memsearch_engine.journal.origin import Verdict
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.quarantine import held_back
from memsearch_engine.journal.write import Target
from memsearch_engine.search.scope import Scope


class Held(msgspec.Struct, frozen=True):
    """A note that is not injected into sessions.

    Attributes:
        lines: those that read like orders.
        decision: what the owner decided that its file contradicts.
        conversation: the file of the conversation that it cites, where it is on this machine.
    """

    path: str
    day: str
    time: str
    entry_id: str
    hash: str
    agent: str
    title: str
    why: Waits
    lines: list[str]
    decision: str = ""
    conversation: str = ""

    @property
    def target(self) -> Target:
        return Target(self.path, self.entry_id, self.hash)

    @property
    def author(self) -> str:
        """Who shared it with the team; '' for the project's own notes."""
        return author_of(self.path)


def _conversation_of(entry: Entry) -> str:
    """The file of the conversation that a note cites, where it is on this machine; '' else."""
    path = entry.anchor.path if entry.anchor else ""
    return path if path and os.path.exists(os.path.expanduser(path)) else ""


class Trust:
    """Notes that are quarantined, and the owner's decisions on them.

    >>> with Memory() as memory:
    ...     memory.trust.held()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def held(self) -> list[Held]:
        """Everything that waits, newest day first."""
        found = []
        origin = self._scope.journal.origin
        for file in self._scope.files():
            try:
                entries = self._scope.read(file)
            except OSError:
                continue  # `doctor` names it
            for entry, why, lines in held_back(
                origin, self._scope.memory_of(file.path), entries, file.path
            ):
                said = self._decision_of(entry, file.day) if why is Waits.CONTRADICTS else ""
                found.append(
                    Held(
                        file.path,
                        file.day,
                        entry.time,
                        entry.id,
                        entry.hash,
                        entry.agent,
                        entry.title,
                        why,
                        lines,
                        said,
                        _conversation_of(entry),
                    )
                )
        return found

    def waits(self, name: str) -> Waits | None:
        """Why a note waits for its owner's word; None where it does not.

        Raises NotFound, Unreachable.
        """
        section = self._scope.section(name)
        found = held_back(
            self._scope.journal.origin,
            self._scope.memory_of(section.path),
            [section.entry],
            section.path,
        )
        return found[0][1] if found else None

    def accept(self, targets: list[Target]) -> list[Entry]:
        """The file is right: what these notes say holds again, as it stands. The decision's own
        text stays accepted, too, so that a checkout of either asks no more. Raises Conflict,
        NotFound.
        """
        refuse_agents()
        entries = []
        for target in targets:
            entry = _standing(target)
            self._scope.journal.origin.answer(day_of(target.path), entry, True)
            entries.append(entry)
        return entries

    def reject(self, targets: list[Target], *, leave: bool = False) -> list[str]:
        """The owner's decision holds: these texts are injected nowhere, and not asked about again.
        The file is put right, undoable, where the history has the decision's text. Returns for each
        what was done. Raises Conflict, NotFound.

        Args:
            leave: leave the file as it is, as after the checkout of an older branch.
        """
        refuse_agents()
        done = []
        for target in targets:
            entry, day = _standing(target), day_of(target.path)
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
        """Trust notes: sessions may be told. Undone like any mark; of a shared note, which others
        read as it stands, by ``hold``. Raises Conflict, NotFound.
        """
        refuse_agents()
        entries, origin = [], self._scope.journal.origin
        for target in targets:
            entry, day = _as_it_is(target), day_of(target.path)
            is_wrong = bool(origin.contradicting([_standing(target)], day))
            if entry is None or entry.marks.get("trust") in UNTRUSTED:
                word = (
                    RELEASED if entry is None else None
                )  # what this home says of a shared note is its own affair
                entry = self._scope.journal.mark(
                    self._scope.memory_of(target.path), target, "trust", word
                )
            origin.answer(day, entry, True) if is_wrong else origin.prefer(day, entry)
            entries.append(entry)
        origin.wrote((entry.raw for entry in entries), "released")
        return entries

    def release_files(self, paths: list[str]) -> int:
        """Trust what stands in these files now and merely arrived; what reads like an order still
        waits for a word of its own. The files are not changed: trust stands in this home. Returns
        how many notes.
        """
        refuse_agents()
        wanted = {os.path.realpath(path) for path in paths}
        keys = {
            (h.path, h.entry_id)
            for h in self.held()
            if h.why is Waits.ARRIVED and os.path.realpath(h.path) in wanted
        }
        found = {
            path: [e for e in read_day(path).entries if (path, e.id) in keys]
            for path in {p for p, _ in keys}
        }
        self._scope.journal.origin.take_over(found)
        return sum(map(len, found.values()))

    def release_author(self, author: str) -> tuple[int, list[str]]:
        """Trust the files that nobody but *author* (an e-mail address) has ever committed, as they
        stand. An address in a commit is anybody's claim: what that author commits later waits
        again. Returns how many notes, and the files.
        """
        files = []
        for path in {h.path for h in self.held() if h.why is Waits.ARRIVED}:
            place = locate(os.path.dirname(path), self._scope.home)
            if authors_of(place.common_dir, os.path.relpath(path, place.root), path) == {
                author.lower()
            }:
                files.append(path)
        return self.release_files(files), sorted(files)

    def release_folder(self) -> int:
        """Trust all that stands in this project's memory folder now; what reads like an order still
        waits.
        """
        refuse_agents()
        return self._scope.journal.origin.trust(self._scope.project.memory)

    def hold(self, targets: list[Target]) -> list[Entry]:
        """Don't tell notes to sessions (any more). A shared note that was released waits again as
        it stands.
        """
        origin, entries = self._scope.journal.origin, []
        for target in targets:
            entry = _as_it_is(target)
            if entry is not None and origin.released([entry]):
                origin.take_back([entry.raw])
            else:
                entry = self._scope.journal.mark(
                    self._scope.memory_of(target.path), target, "trust", Waits.SUSPECT
                )
                origin.answer(day_of(target.path), entry, True)  # the mark is his decision now
            entries.append(entry)
        return entries

    def sources(self, entry: Entry) -> list[str]:
        """The source classes of a note, as far as its conversation can still be read; a
        hand-written one is the user's.
        """
        if entry.anchor is None:
            return [
                "model" if entry.marks.get("by") else "user",
                *(["outside"] if entry.marks.get("trust") == Waits.OUTSIDE else []),
            ]
        try:
            found = Transcripts(self._scope).conversation(entry, context=0)
            return sources(found.turns[max(found.index, 0)])
        except (MemsearchError, IndexError):
            return [
                "user",
                "model",
                *(["outside"] if entry.marks.get("trust") == Waits.OUTSIDE else []),
            ]

    def _decided(self, entry: Entry) -> tuple[Change | None, bytes]:
        """The owner's last change of a note, and the text that it left; None where the history has
        it no more.
        """
        for change in self._scope.journal.history.of_entry(entry.id):
            if change.state == "done":
                return change, change.after
            if change.state == "undone":
                return change, change.before
            if change.state == "pruned":
                break
        return None, b""

    def _decision_of(self, entry: Entry, day: str) -> str:
        """What the owner decided that this entry of a file contradicts, in a few words; '' where it
        contradicts nothing.
        """
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


def _standing(target: Target) -> Entry:
    """The entry as it was seen. Raises Conflict, NotFound."""
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


def refuse_agents() -> None:
    """Raises UsageError in an agent's shell: a model's word releases nothing."""
    if author := authors.here():
        raise UsageError(
            f"{author.agent} can't release notes: its user has to",
            "run the command in a terminal of your own",
        )


def _as_it_is(target: Target) -> Entry | None:
    """A shared note, which is not changed for one reader's sake; None for any other. Raises
    Conflict, NotFound.
    """
    if not author_of(target.path):
        return None
    return _standing(target)


def sources(turn: Turn) -> list[str]:
    """The source classes of a turn, surest first; the last one is what a note of it is trusted
    as.
    """
    classes = [
        ("user", turn.user.strip()),
        ("model", turn.assistant.strip()),
        ("inside", any(t.output.strip() for t in turn.tools)),
    ]
    return [name for name, there in classes if there] + (["outside"] if turn.outside else [])
