"""A round of sync: merge the remote and the local files, write the result here, push it.

The base of each merge is the commit that the local files are known to contain. It moves only with
the files, so a process can be killed anywhere. ``snapshot`` reads the versions of the files,
``file_merge`` merges them, and ``losses`` stops a round that would delete too much.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from memsearch_engine.core import network
from memsearch_engine.core.errors import Conflict, MemsearchError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings_schema import SyncSettings
from memsearch_engine.journal import disk, whole_file
from memsearch_engine.journal.files import MARKDOWN, day_of
from memsearch_engine.journal.merge import text_key
from memsearch_engine.journal.origin import key_of
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.write import Journal
from memsearch_engine.longterm import workspace
from memsearch_engine.secrets.scan import find
from memsearch_engine.sync.clone import Away, Clone, checked
from memsearch_engine.sync.conversations import Exchanged, exchange
from memsearch_engine.sync.file_merge import FileMerge
from memsearch_engine.sync.layout import BELOW_LONGTERM, FORMAT, LONGTERM, MARK, Mark, owner
from memsearch_engine.sync.losses import LossCheck
from memsearch_engine.sync.meeting import Refused, alone, check_format, chosen
from memsearch_engine.sync.seal import NoKey
from memsearch_engine.sync.snapshot import (
    RoundFile,
    Snapshot,
    entry_ids,
    entry_texts,
    large_files,
    read_local,
)
from memsearch_engine.sync.state import Offer, Round, SyncDatabase

_ATTEMPTS = 5


class SyncAnswer(msgspec.Struct, frozen=True):
    """The owner's answers.

    Attributes:
        accept_deletions: mass deletions are intended.
        bring_back: restore missing notes.
        rejoin: treat a rewritten remote as a new one.
    """

    accept_deletions: bool = False
    bring_back: bool = False
    rejoin: bool = False


def sync(
    home: Home,
    journal: Journal,
    where: SyncSettings,
    projects: list[Project],
    answer: SyncAnswer | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Round:
    """Do a round.

    Args:
        where: the remote, and whether it is encrypted.
        projects: one folder per identity.
        stop: called before each file is written; True ends the round with ``Away``.

    Raises:
        Refused: the remote was rewritten or is not ours, or a secret would be sent.
        NoKey: the remote is encrypted, and the key is missing.
        Away: the remote can't be reached.
        Unreachable: another process syncs, or a file can't be written.
    """
    network.check(checked(where.remote))
    with alone(home) as (clone, state):

        def rounds() -> Round:
            for _ in range(_ATTEMPTS):
                done = _Round(
                    home, journal, clone, state, where, projects, answer or SyncAnswer(), stop
                ).run()
                if done is not None:
                    clone.tidy()
                    return done
            raise Away("the remote changes faster than it can be merged", "it is tried again")

        try:
            try:
                done = rounds()
            except Exception as error:  # damage of the clone can show as any error
                if isinstance(error, (Refused, NoKey)) or not clone.is_damaged(error):
                    raise
                clone.remove()  # all its content is in the notes or on the remote
                done = rounds()
            state.note(done)
            return done
        except MemsearchError as error:
            state.note(Round(time.time(), error=str(error)))
            raise


class _Round:
    """One attempt at a round."""

    def __init__(
        self,
        home: Home,
        journal: Journal,
        clone: Clone,
        state: SyncDatabase,
        where: SyncSettings,
        projects: list[Project],
        answer: SyncAnswer,
        stop: Callable[[], bool],
    ) -> None:
        self._home, self._journal, self._clone, self._state = home, journal, clone, state
        self._where, self._answer, self._stop = where, answer, stop
        self._remote = checked(where.remote)
        self._projects = chosen(state, projects)
        self._received = self._sent = self._gone = 0

    def run(self) -> Round | None:
        """Do the round; None if the remote has changed meanwhile and another round is needed."""
        self._recover()
        self._head = head = self._fetch()
        self._files = Snapshot(
            self._home, self._clone, self._state, self._projects, head, self._large
        )
        history, answer = self._journal.history, self._answer
        self._merger = FileMerge(self._files, history, bring_back=answer.bring_back)
        self._losses = LossCheck(
            self._files,
            history,
            accept_deletions=answer.accept_deletions,
            bring_back=answer.bring_back,
        )
        found = list(self._files.files())
        files = self._losses.passed([file for file in found if self._merger.merge(file)])
        present = {
            name for file in files if file.memory for name in entry_ids(file.merged, file.name)
        }
        files = [file for file in files if self._write(file, present)]
        tree = self._new_tree(files)
        self._adopt(files, tree)
        exchanged = self._exchange(tree) if self._where.evidence else Exchanged()
        if self._where.evidence and tree:
            self._clone.put(tree, MARK, self._mark(), plainly=True)
        self._files.problems += exchanged.problems
        if not self._push(tree):
            return None
        self._state.record_turns(exchanged.turns)
        return Round(
            time.time(),
            self._received,
            self._sent,
            self._gone,
            sum(file.conflicts for file in files),
            exchanged.received + exchanged.sent,
            exchanged.left,
            self._files.problems,
        )

    def _exchange(self, tree: dict[str, str]) -> Exchanged:
        """Exchange conversations; a failure does not stop the notes."""
        try:
            return exchange(self._home, self._clone, self._state, tree, self._stop)
        except NoKey:
            raise
        except Unreachable as error:
            return Exchanged(problems=[f"conversations stay where they are: {error}"])

    # -- the remote

    def _fetch(self) -> str:
        head = self._clone.fetch(self._remote)
        if self._answer.rejoin:
            self._state.forget()
        known = self._state.get("seen")
        if known and not head:
            raise self._rewritten("the remote is empty, and was not")
        if known and not (self._clone.has(known) and self._clone.is_ancestor(known, head)):
            raise self._rewritten("the remote's history was rewritten")
        self._clone.seals = self._where.encrypt
        self._large = large_files(self._clone, head, self._projects)
        if head:
            check_format(self._clone, head, self._remote, encrypt=self._where.encrypt)
            self._state.put("seen", head)
        offer = self._state.offered()
        if (
            offer
            and head
            and self._clone.has(offer.commit)
            and self._clone.is_ancestor(offer.commit, head)
        ):
            # it has arrived, but the process ended before it could record that
            self._state.settled(offer.commit, offer.done, offer.pins)
        self._state.put("offer", "")
        return head

    def _rewritten(self, what: str) -> Refused:
        return Refused(
            what,
            "nothing was changed here. Look at it; "
            "`memsearch sync --rejoin` meets it as a new one: what either side has stays",
        )

    def _recover(self) -> None:
        """Find out which files an interrupted round had written."""
        for key, (_, seq) in self._state.taken().items():
            if seq and not whole_file.was_received(self._journal, seq):
                self._state.drop(key)

    def _push(self, tree: dict[str, str]) -> bool:
        """Push *tree*, if it differs, and record what the local files contain.

        Returns:
            False if the remote has changed since it was fetched.
        """
        here = {name: one.root for name, one in self._projects.items() if os.path.isdir(one.memory)}
        done = {  # projects whose files contain the merge, and their folders
            name: root
            for name, root in {LONGTERM: str(self._home.longterm), **here}.items()
            if name not in self._files.skipped_projects
        }
        pushed = self._head
        pins = {key: self._files.base_of(key) for key in self._files.skipped_files}
        if tree != self._files.tree:
            self._refuse_secrets(tree)
            parents = [self._head] if self._head else []
            pushed = self._clone.commit(tree, parents, f"notes, {self._sent} changed")
            self._state.settled(self._head, done, pins)
            self._state.offer(Offer(pushed, done, pins))
            if not self._clone.push(self._remote, pushed):
                return False
            self._state.put("seen", pushed)
        self._state.settled(pushed, done, pins)
        return True

    def _refuse_secrets(self, tree: dict[str, str]) -> None:
        """Raise Refused if outgoing text has a secret."""
        for key, sha in tree.items():
            if self._files.tree.get(key) != sha and key.lower().endswith(MARKDOWN):
                found = find(self._clone.blob(sha).decode("utf-8", "replace"), self._home)
                if found:
                    place = (self._files.place(key) or (key, ""))[0]
                    raise Refused(
                        f"a secret ({found[0].rule}) stands in {place}: nothing was sent",
                        "`memsearch secrets scrub` takes it out, "
                        "`memsearch secrets allow` says that it is none",
                    )

    # -- writing

    def _write(self, file: RoundFile, present: set[str]) -> bool:
        """Write the merge into the local file, with what was written there meanwhile.

        Args:
            present: ids of entries in all merged files; an entry that left one file and is in
                another was moved.

        Returns:
            Whether the file now contains the merge.
        """
        if self._stop():
            raise Away("stopped", "it goes on with the next round")
        try:
            for _ in range(_ATTEMPTS):
                before = file.ours or b""
                try:
                    if file.merged != before:
                        self._replace(file, present)
                    self._state.take(file.key, self._head, 0)
                    self._count(file, before)
                    return True
                except Conflict:
                    exists = os.path.exists(file.path)
                    file.ours = read_local(file.path, file.memory) if exists else None
                    if not self._merger.merge(file) or not self._losses.passed([file]):
                        return False
            self._files.skip_file(file.key, f"{file.path} changes faster than it can be merged")
        except (MemsearchError, OSError) as error:
            self._files.skip_file(file.key, f"{file.path} could not be written: {error}")
        return False

    def _replace(self, file: RoundFile, present: set[str]) -> None:
        if file.memory:
            whole_file.receive(
                self._journal,
                file.memory,
                file.path,
                file.ours or b"",
                file.merged,
                lambda seq: self._state.take(file.key, self._head, seq),
                present,
                self._files.lines(self._files.tree, owner(file.key), "arrived"),
            )
            return
        with disk.locked(self._home, str(self._home.longterm)):
            now = read_local(file.path, "") if os.path.exists(file.path) else b""
            if now != (file.ours or b""):
                raise Conflict(f"{file.path} changed while it was merged")
            if file.merged:
                name = file.key.removeprefix(BELOW_LONGTERM)
                workspace.write(
                    self._home, self._home.longterm, name, file.merged.decode("utf-8", "replace")
                )
            else:
                Path(file.path).unlink(missing_ok=True)

    def _count(self, file: RoundFile, before: bytes) -> None:
        was, now, there = (
            entry_texts(data, file.name) for data in (before, file.merged, file.theirs)
        )
        self._received += len(now - was)
        self._gone += len({name for name, _ in was} - {name for name, _ in now})
        self._sent += len(now - there) or int(file.merged != file.theirs)

    def _new_tree(self, files: list[RoundFile]) -> dict[str, str]:
        tree = dict(self._files.tree)
        for file in files:
            self._clone.put(tree, file.key, file.merged)
        for project, known in self._projects.items():
            tombstones = self._files.tombstones[project]
            for file in files:
                if owner(file.key) == project:
                    tombstones.put(file.removed)
            for file in files:
                if owner(file.key) == project:
                    tombstones.drop(entry_texts(file.merged, file.name))
            if any(key.startswith(f"projects/{project}/memory/") for key in tree):
                self._clone.put(tree, f"projects/{project}/tombstones", tombstones.lines().encode())
                if f"projects/{project}/project.json" not in tree:
                    self._clone.put(
                        tree,
                        f"projects/{project}/project.json",
                        msgspec.json.encode({"name": known.name}),
                    )
        if tree:
            self._clone.put(tree, MARK, self._mark(), plainly=True)
        return tree

    def _mark(self) -> bytes:
        return msgspec.json.encode(Mark(FORMAT, self._clone.seal.name if self._clone.seals else ""))

    def _adopt(self, files: list[RoundFile], tree: dict[str, str]) -> None:
        """Sync trust: the owner's notes on one machine are the owner's on all.

        Notes that came with a clone are quarantined here, too.
        """
        origin = self._journal.origin
        for project, known in self._projects.items():
            there = self._files.lines(self._files.tree, project, "arrived")
            was = self._files.lines(self._files.base_tree(project), project, "arrived")
            origin.adopt(was - there)  # what its owner has released meanwhile
            strange = there - origin.known_keys(there)
            for file in files:
                if not file.key.startswith(f"projects/{project}/memory/"):
                    continue
                ours, theirs, entries = (
                    parse(data or b"", file.name).entries
                    for data in (file.ours, file.theirs, file.merged)
                )
                own = {(e.id, text_key(e)) for e in ours if origin.is_own(e.raw, known.memory)}
                own |= {(e.id, text_key(e)) for e in theirs if key_of(e.raw) not in there}
                origin.wrote(e.raw for e in entries if (e.id, text_key(e)) in own)
                # the owner is asked on the other machines, too
                wrong = origin.contradicting(entries, day_of(file.path))
                strange |= {
                    key_of(e.raw)
                    for e in entries
                    if (e.id, text_key(e)) not in own or e.id in wrong
                }
            if any(name.startswith(f"projects/{project}/memory/") for name in tree):
                self._clone.put(
                    tree, f"projects/{project}/arrived", "\n".join(sorted(strange)).encode()
                )
