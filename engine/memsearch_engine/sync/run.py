"""A round of sync: merge the remote and the local files, write the result here, push it.

The base of each merge is the commit that the local files are known to contain. It moves only with
the files, so a process can be killed anywhere. Missing files are not taken
for deletions: if more is gone than the owner is known to have deleted, the project is skipped and
the owner is asked.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from memsearch_engine.core import network, safe_files
from memsearch_engine.core.errors import Conflict, MemsearchError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.safe_text import shown_line
from memsearch_engine.core.settings_schema import SyncSettings
from memsearch_engine.journal import disk, render
from memsearch_engine.journal.files import MARKDOWN, day_of, list_files
from memsearch_engine.journal.merge import Unmergeable, merge, text_key
from memsearch_engine.journal.model import CONFLICT_OF, Entry
from memsearch_engine.journal.origin import key_of
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.write import Journal
from memsearch_engine.longterm import workspace
from memsearch_engine.secrets.scan import find, redact
from memsearch_engine.sync.clone import Away, Clone, checked, name_of
from memsearch_engine.sync.kept import Exchanged, exchange
from memsearch_engine.sync.layout import (
    BELOW_LONGTERM,
    FORMAT,
    LONGTERM,
    MARK,
    NOTE,
    Mark,
    Stones,
    is_note,
    owner,
    travels,
)
from memsearch_engine.sync.lines import merge_lines
from memsearch_engine.sync.meeting import Refused, alone, check_format, chosen
from memsearch_engine.sync.seal import NoKey
from memsearch_engine.sync.state import Offer, Round, SyncDatabase

_ATTEMPTS = 5
#: Bytes of the largest file that is merged: one of 5 MB takes half a minute of CPU.
_MAX_FILE = 16 * 1024 * 1024
#: Losses that nobody is known to have wanted pass without a question: fewer than the first and not
#: all, or up to the second and half of a project.
_LEAST, _FEW = 3, 10


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


class _RoundFile(msgspec.Struct):
    """A file in a round.

    Attributes:
        path: the local file.
        memory: its memory folder; ``""`` for long-term files.
    """

    key: str
    path: str
    memory: str
    base: bytes
    ours: bytes | None
    theirs: bytes
    merged: bytes = b""
    conflicts: int = 0
    fallen: dict[tuple[str, str], float] = {}

    @property
    def name(self) -> str:
        return os.path.splitext(os.path.basename(self.path))[0]


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
        where: the remote, and whether it is encrypted. projects: one folder per identity.

    Raises:
        Refused: see there. NoKey: encrypted without the key. Away: the remote cannot be
            reached. Unreachable: another process syncs, or a file cannot be written.
    """
    remote = checked(where.remote)
    network.check(remote)
    with alone(home) as (clone, state):

        def rounds() -> Round:
            for _ in range(_ATTEMPTS):
                done = _Round(
                    home,
                    journal,
                    clone,
                    state,
                    remote,
                    where,
                    projects,
                    answer or SyncAnswer(),
                    stop,
                ).run()
                if done is not None:
                    clone.tidy()
                    return done
            raise Away("the remote changes faster than it can be merged", "it is tried again")

        try:
            try:
                done = rounds()
            except (
                Exception
            ) as error:  # what is missing or unreadable in the clone shows as any error
                if isinstance(error, (Refused, NoKey)) or not clone.is_damaged(error):
                    raise
                clone.remove()  # it holds nothing that is not in the notes or on the remote
                done = rounds()
            state.note(done)
            return done
        except MemsearchError as error:
            state.note(Round(time.time(), error=str(error)))
            raise


class _Round:
    def __init__(
        self,
        home: Home,
        journal: Journal,
        clone: Clone,
        state: SyncDatabase,
        remote: str,
        where: SyncSettings,
        projects: list[Project],
        answer: SyncAnswer,
        stop: Callable[[], bool],
    ) -> None:
        self.home, self.journal, self.clone, self.state, self.remote = (
            home,
            journal,
            clone,
            state,
            remote,
        )
        self.encrypt, self.evidence, self.answer, self.stop = (
            where.encrypt,
            where.evidence,
            answer,
            stop,
        )
        self.projects = chosen(state, projects)
        self.problems: list[str] = []
        self.skipped: set[str] = set()  # projects
        self.left: set[str] = set()  # single files
        self.read: dict[
            str, dict[str, bytes]
        ] = {}  # project -> its files here, where they were looked through
        self.received = self.sent = self.gone = 0

    def run(self) -> Round | None:
        """Do the round; None if the remote moved on meanwhile and another round is needed."""
        self._recover()
        self.head = self._fetch()
        self.tree = self.clone.tree(self.head)
        self.applied = self.state.applied_commits()
        self.taken = {key: commit for key, (commit, _) in self.state.taken().items()}
        self.here = self._here()
        files = list(self._files())
        self.stones = {
            project: Stones(self._lines(self.tree, project, "tombstones"))
            for project in self.projects
        }
        files = self._unless_too_much_goes([file for file in files if self._merge(file)])
        standing = {name for file in files if file.memory for name in _ids(file.merged, file.name)}
        files = [file for file in files if self._write(file, standing)]
        tree = self._new_tree(files)
        self._adopt(files, tree)
        exchanged = self._exchange(tree) if self.evidence else Exchanged()
        if self.evidence and tree:
            self.clone.put(tree, MARK, self._mark(), plainly=True)
        self.problems += exchanged.problems
        done, pins, pushed = self._done(), {key: self._base_of(key) for key in self.left}, self.head
        if tree != self.tree:
            self._refuse_secrets(tree)
            pushed = self.clone.commit(
                tree, [self.head] if self.head else [], f"notes, {self.sent} changed"
            )
            self.state.settled(self.head, done, pins)
            self.state.offer(Offer(pushed, done, pins))
            if not self.clone.push(self.remote, pushed):
                return None
            self.state.put("seen", pushed)
        self.state.settled(pushed, done, pins)
        self.state.record_turns(exchanged.turns)
        conflicts = sum(file.conflicts for file in files)
        turns = exchanged.received + exchanged.sent
        return Round(
            time.time(),
            self.received,
            self.sent,
            self.gone,
            conflicts,
            turns,
            exchanged.left,
            self.problems,
        )

    def _exchange(self, tree: dict[str, str]) -> Exchanged:
        """Exchange conversations; a failure does not stop the notes."""
        try:
            return exchange(self.home, self.clone, self.state, tree, self.stop)
        except NoKey:
            raise
        except Unreachable as error:
            return Exchanged(problems=[f"conversations stay where they are: {error}"])

    # -- the remote

    def _fetch(self) -> str:
        head = self.clone.fetch(self.remote)
        if self.answer.rejoin:
            self.state.forget()
        known = self.state.get("seen")
        if known and not head:
            raise self._rewritten("the remote is empty, and was not")
        if known and not (self.clone.has(known) and self.clone.is_ancestor(known, head)):
            raise self._rewritten("the remote's history was rewritten")
        self.clone.seals = self.encrypt
        self._leave_large(head)
        if head:
            check_format(self.clone, head, self.remote, encrypt=self.encrypt)
            self.state.put("seen", head)
        offer = self.state.offered()
        if (
            offer
            and head
            and self.clone.has(offer.commit)
            and self.clone.is_ancestor(offer.commit, head)
        ):
            self.state.settled(
                offer.commit, offer.done, offer.pins
            )  # it has arrived, and nobody lived to see it
        self.state.put("offer", "")
        return head

    def _rewritten(self, what: str) -> Refused:
        return Refused(
            what,
            "nothing was changed here. Look at it; "
            "`memsearch sync --rejoin` meets it as a new one: what either side has stays",
        )

    def _recover(self) -> None:
        """Find out which files an interrupted round had written."""
        for key, (_, seq) in self.state.taken().items():
            if seq and not self.journal.was_taken(seq):
                self.state.drop(key)

    def _done(self) -> dict[str, str]:
        """Projects whose files contain the merge, and their folders."""
        done = {LONGTERM: str(self.home.longterm)} | {
            name: project.root
            for name, project in self.projects.items()
            if os.path.isdir(project.memory)
        }
        return {name: root for name, root in done.items() if name not in self.skipped}

    # -- what there is

    def _base(self, project: str) -> str:
        """The commit that a project's files contain; ``""`` if the folder contains none yet."""
        root, commit = self.applied.get(project, ("", ""))
        folder = str(self.home.longterm) if project == LONGTERM else self.projects[project].root
        return commit if root == folder and self.clone.has(commit) else ""

    def _base_of(self, key: str) -> str:
        """The same of one file."""
        return self.taken.get(key, self._base(owner(key)))

    def _blob_of(self, key: str) -> str:
        """What the base has of a file."""
        return self.clone.tree(self._base_of(key)).get(key, "")

    def _here(self) -> dict[str, str]:
        """Local files by their repository path. An unreadable file is left alone on both sides."""
        here: dict[str, str] = {}
        for name, project in self.projects.items():
            here.update(self._of_project(name, project))
        for file_name, file in workspace.files(self.home.longterm).items():
            if travels(file_name):
                here[BELOW_LONGTERM + file_name] = str(file)
        if not self.home.longterm.is_dir() and any(
            owner(key) == LONGTERM for key in self.clone.tree(self._base(LONGTERM))
        ):
            self._skip(
                LONGTERM,
                f"{self.home.longterm} is not there: "
                "what it held stays as it is on the other machines",
            )
        return here

    def _of_project(self, name: str, project: Project) -> dict[str, str]:
        if not os.path.isdir(project.memory):
            if name in self.applied:
                self._skip(
                    name,
                    f"{project.memory} is not there: "
                    "its notes stay as they are on the other machines",
                )
            return {}
        listing = list_files(project.memory)
        if not listing.complete:
            self._skip(name, f"{project.memory} can't be read wholly: {listing.problems[0][1]}")
            return {}

        def key(path: str) -> str:
            return f"projects/{name}/memory/{os.path.relpath(path, project.memory)}"

        for path, why in listing.problems:  # what can't be read is not gone
            self._leave(key(path), f"{shown_line(path)}: {why}")
        for file in listing.files:
            if file.size > _MAX_FILE and key(file.path) not in self.left:
                self._leave(key(file.path), f"{shown_line(file.path)}: {_too_large(file.size)}")
        return {key(file.path): file.path for file in listing.files}

    def _skip(self, project: str, why: str) -> None:
        self.problems.append(why)
        self.skipped.add(project)

    def _leave(self, key: str, why: str) -> None:
        self.problems.append(why)
        self.left.add(key)

    def _leave_large(self, head: str) -> None:
        """Leave files of the remote alone that would take minutes to merge.

        Raises:
            Refused: a file of the repository's own is so large. memsearch does not write such.
        """
        for key, size in self.clone.larger(head, _MAX_FILE).items():
            if NOTE.fullmatch(key) or key.startswith(BELOW_LONGTERM):
                self._leave(key, f"{shown_line(key)} in the remote: {_too_large(size)}")
            elif key == MARK or owner(key) in self.projects:
                raise Refused(
                    f"{shown_line(key)} in the remote: {_too_large(size)}",
                    "nothing was changed here. memsearch writes no such file; look at the remote",
                )

    def _files(self) -> Iterator[_RoundFile]:
        """Files that exist here, existed, or exist there, and differ in the three places."""
        takes_part = [name for name in (LONGTERM, *self.projects) if name not in self.skipped]
        keys = {*self.here, *self.tree, *self.taken}
        for name in takes_part:
            keys |= {key for key in self.clone.tree(self._base(name)) if owner(key) == name}
        for key in sorted(keys):
            if (
                owner(key) not in takes_part
                or key in self.left
                or (place := self._place(key)) is None
            ):
                continue
            path, memory = place
            try:
                ours = _read(path, memory) if key in self.here else None
            except OSError as error:
                self._leave(key, f"{path}: {error.strerror or error}")
                continue
            base, theirs = self._blob_of(key), self.tree.get(key, "")
            names = (
                self.clone.name_of(base),
                self.clone.name_of(theirs),
                name_of(ours) if ours is not None else "",
            )
            if len(set(names)) > 1:
                yield _RoundFile(
                    key, path, memory, self.clone.blob(base), ours, self.clone.blob(theirs)
                )

    def _place(self, key: str) -> tuple[str, str] | None:
        """Return the local place of a repository file; None if it has none here."""
        if key.startswith(BELOW_LONGTERM):
            name = key.removeprefix(BELOW_LONGTERM)
            return (str(self.home.longterm / name), "") if travels(name) else None
        match = NOTE.fullmatch(key)
        project = self.projects.get(match[1]) if match else None
        if match is None or project is None or not is_note(match[2]):
            return None
        return os.path.join(project.memory, match[2]), project.memory

    # -- putting together

    def _merge(self, file: _RoundFile) -> bool:
        """Whether it could be merged."""
        if not file.memory:
            known = b"" if self.answer.bring_back and file.ours is None else file.base
            base, ours, theirs = (
                data.decode("utf-8", "surrogateescape")
                for data in (known, file.ours or b"", file.theirs)
            )
            file.merged = merge_lines(base, ours, theirs).encode("utf-8", "surrogateescape")
            return True
        project, name = owner(file.key), file.name
        base_ = (
            self._shrunk(file) if self.answer.bring_back else file.base or self._remembered(file)
        )
        theirs_ = self._clean(file.theirs) if file.theirs != file.ours else file.theirs
        file.fallen = {} if self.answer.bring_back else self._fallen(file)
        dead = self._dead(project, file) | self._replaced(file, base_)
        try:
            done = merge(
                base_,
                file.ours or b"",
                theirs_,
                name,
                newer=self._newer(project, file),
                dead=dead,
                clean=self._redacted,
            )
        except Unmergeable:
            self._leave(
                file.key,
                f"{file.path} can't be merged: here and on the other machines it stays as it is",
            )
            return False
        file.merged, file.conflicts = done.data, len(done.conflicts)
        return True

    def _shrunk(self, file: _RoundFile) -> bytes:
        """The base without what is missing here, so that it comes back."""
        ours = _ids(file.ours or b"", file.name)
        return _joined([entry for entry in parse(file.base, file.name).entries if entry.id in ours])

    def _remembered(self, file: _RoundFile) -> bytes:
        """Return the base for a machine without one.

        It has the entries of the remote that the owner has changed or deleted since, according to
        the history.
        """
        found = []
        for entry in parse(file.theirs, file.name).entries:
            was = self.journal.history.replaced_here(entry.id)
            if any(
                text_key(old) == text_key(entry)
                for raw in was
                for old in parse(raw, file.name).entries[:1]
            ):
                found.append(entry)
        return _joined(found)

    def _replaced(self, file: _RoundFile, base: bytes) -> set[tuple[str, str]]:
        """Return conflict copies of others that the owner has changed or deleted since."""
        known, ours = _ids(base, file.name), _texts(file.ours or b"", file.name)
        found = set()
        for entry in parse(file.theirs, file.name).entries:
            pair = entry.id, text_key(entry)
            if CONFLICT_OF not in entry.marks or entry.id in known or pair in ours:
                continue
            was = self.journal.history.replaced_here(entry.id)
            if any(
                text_key(old) == pair[1] for raw in was for old in parse(raw, file.name).entries[:1]
            ):
                found.add(pair)
        return found

    def _fallen(self, file: _RoundFile) -> dict[tuple[str, str], float]:
        """Return the entries that were deleted or replaced here since the base, with times.

        The tombstones of moved entries are removed again (``_new_tree``).
        """
        ours = _texts(file.ours or b"", file.name)
        entries = [
            entry
            for entry in parse(file.base, file.name).entries
            if (entry.id, text_key(entry)) not in ours
        ]
        return {
            (entry.id, text_key(entry)): self.journal.history.changed(entry.id) or _mtime(file.path)
            for entry in entries
        }

    def _stands_elsewhere(self, file: _RoundFile, entry: Entry) -> bool:
        """Whether another file of the project here has the entry."""
        project = owner(file.key)
        if project not in self.read:
            self.read[project] = {}
            for key, path in self.here.items():
                if owner(key) == project:
                    with contextlib.suppress(OSError):
                        self.read[project][key] = safe_files.read(path)
        return any(
            _holds(data, entry) for key, data in self.read[project].items() if key != file.key
        )

    def _dead(self, project: str, file: _RoundFile) -> set[tuple[str, str]]:
        """Return entries that were deleted or replaced elsewhere. A copy must not bring them back.

        An entry that reappears here after this was seen is a new decision, and stays.
        """
        stones, seen = (
            self.stones[project],
            self._lines(self.clone.tree(self._base(project)), project, "tombstones"),
        )
        candidates = stones.pairs - Stones(seen).pairs - _texts(file.theirs, file.name)
        found = set()
        for entry in parse(file.ours or b"", file.name).entries:
            pair = entry.id, text_key(entry)
            if (
                pair in candidates
                and not self.journal.history.is_revived(entry.id)
                and not self._lives_there(project, entry)
            ):
                found.add(pair)
        return found

    def _lives_there(self, project: str, entry: Entry) -> bool:
        """Whether any file of the project on the remote has the entry."""
        prefix = f"projects/{project}/memory/"
        return any(
            _holds(self.clone.blob(sha), entry)
            for key, sha in self.tree.items()
            if key.startswith(prefix)
        )

    def _newer(self, project: str, file: _RoundFile) -> Callable[[Entry, Entry], bool]:
        """Decides which of two texts is newer, by the time it replaced the common one."""
        ours = _texts(file.ours or b"", file.name)

        def when(entry: Entry) -> float:
            if (entry.id, text_key(entry)) in ours:
                return self.journal.history.changed(entry.id) or _mtime(file.path)
            return self.stones[project].last(entry.id)

        return lambda one, other: when(one) > when(other)

    def _clean(self, data: bytes) -> bytes:
        """Remove secrets from incoming text."""
        text = data.decode("utf-8", "surrogateescape")
        clean, found = redact(text, self.home)
        return clean.encode("utf-8", "surrogateescape") if found else data

    def _redacted(self, text: str) -> str:
        return redact(text, self.home)[0]

    def _lines(self, tree: dict[str, str], project: str, name: str) -> set[str]:
        """Lines of a list that is synced beside a project's notes."""
        key = f"projects/{project}/{name}"
        return set(self.clone.blob(tree.get(key, "")).decode("utf-8", "replace").split("\n")) - {""}

    # -- what may not be lost

    def _unless_too_much_goes(self, files: list[_RoundFile]) -> list[_RoundFile]:
        """Skip projects that would lose more notes than are known to have been deleted."""
        if self.answer.accept_deletions:
            return files
        for project in dict.fromkeys(owner(file.key) for file in files):
            of_project = [file for file in files if owner(file.key) == project]
            lost = [self._lost(file, of_project) for file in of_project]
            here, there = sum(pair[0] for pair in lost), sum(pair[1] for pair in lost)
            known = "the long-term memory" if project == LONGTERM else self.projects[project].name
            what = "facts and lines" if project == LONGTERM else "notes"
            if self._is_much(project, here) and not self.answer.bring_back:
                self._skip(
                    project,
                    f"{here} {what} of {known} are gone here, and were not deleted with memsearch: "
                    "`memsearch sync --bring-back` fetches them, "
                    "`--accept-deletions` deletes them everywhere",
                )
            elif self._is_much(project, there, is_meant=all(pair[2] for pair in lost)):
                self._skip(
                    project,
                    f"another machine has deleted {there} {what} of {known}: "
                    "`memsearch sync --accept-deletions` deletes them here, too",
                )
        return [file for file in files if owner(file.key) not in self.skipped]

    def _lost(self, file: _RoundFile, others: list[_RoundFile]) -> tuple[int, int, bool]:
        """Return counts of lost entries.

        Returns: The number of entries that are missing here without a known deletion, the number
            that would be deleted here, and whether all of the latter have tombstones.
        """
        if not file.memory:
            said, ours_, merged_ = (
                _thoughts(file.key, data) for data in (file.base, file.ours or b"", file.merged)
            )
            here_, going_ = said - ours_, (said & ours_) - merged_
            return (
                max(0, len(here_) - len(ours_ - said)) * (file.ours is None),
                max(0, len(going_) - len(merged_ - ours_)),
                True,
            )
        was, there = parse(file.base, file.name).entries, _ids(file.theirs, file.name)
        ours, merged, known = (
            _ids(file.ours or b"", file.name),
            _ids(file.merged, file.name),
            {entry.id for entry in was},
        )
        here = [
            entry
            for entry in was
            if entry.id in there - ours
            and not self.journal.history.was_deleted_here(entry.id)
            and not self._stands_elsewhere(file, entry)
        ]
        going = [
            entry
            for entry in was
            if entry.id in ours - merged
            and not any(_holds(other.merged, entry) for other in others if other is not file)
        ]
        stones = {name for name, _ in self.stones[owner(file.key)].pairs}
        is_meant = all(entry.id in stones for entry in going)
        return _not_replaced(here, ours - known), _not_replaced(going, merged - ours), is_meant

    def _is_much(self, project: str, lost: int, *, is_meant: bool = False) -> bool:
        """Whether a loss is large. *is_meant*: each entry has a tombstone."""
        if not lost:
            return False
        base = self.clone.tree(self._base(project))
        blobs = [
            (key, self.clone.blob(sha))
            for key, sha in base.items()
            if owner(key) == project and self._place(key)
        ]
        total = sum(
            len(_thoughts(key, blob)) if project == LONGTERM else len(parse(blob).entries)
            for key, blob in blobs
        )
        return lost > _FEW or (lost >= total and not is_meant) or _LEAST <= lost > total / 2

    def _refuse_secrets(self, tree: dict[str, str]) -> None:
        """Raise Refused if outgoing text has a secret."""
        for key, sha in tree.items():
            if self.tree.get(key) != sha and key.lower().endswith(MARKDOWN):
                found = find(self.clone.blob(sha).decode("utf-8", "replace"), self.home)
                if found:
                    place = (self._place(key) or (key, ""))[0]
                    raise Refused(
                        f"a secret ({found[0].rule}) stands in {place}: nothing was sent",
                        "`memsearch secrets scrub` takes it out, "
                        "`memsearch secrets allow` says that it is none",
                    )

    # -- writing

    def _write(self, file: _RoundFile, standing: set[str]) -> bool:
        """Write the merge into the local file, with what was written there meanwhile.

        Args:
            standing: ids of entries in all merged files; an entry that left one file and is in
                another was moved.

        Returns:
            Whether the file now contains the merge.
        """
        if self.stop():
            raise Away("stopped", "it goes on with the next round")
        try:
            for _ in range(_ATTEMPTS):
                before = file.ours or b""
                try:
                    if file.merged != before:
                        self._replace(file, standing)
                    self.state.take(file.key, self.head, 0)
                    self._count(file, before)
                    return True
                except Conflict:
                    file.ours = _read(file.path, file.memory) if os.path.exists(file.path) else None
                    if not self._merge(file) or not self._unless_too_much_goes([file]):
                        return False
            self._leave(file.key, f"{file.path} changes faster than it can be merged")
        except (MemsearchError, OSError) as error:
            self._leave(file.key, f"{file.path} could not be written: {error}")
        return False

    def _replace(self, file: _RoundFile, standing: set[str]) -> None:
        if file.memory:
            self.journal.take(
                file.memory,
                file.path,
                file.ours or b"",
                file.merged,
                lambda seq: self.state.take(file.key, self.head, seq),
                standing,
                self._lines(self.tree, owner(file.key), "arrived"),
            )
            return
        with disk.locked(self.home, str(self.home.longterm)):
            now = _read(file.path, "") if os.path.exists(file.path) else b""
            if now != (file.ours or b""):
                raise Conflict(f"{file.path} changed while it was merged")
            if file.merged:
                name = file.key.removeprefix(BELOW_LONGTERM)
                workspace.write(
                    self.home, self.home.longterm, name, file.merged.decode("utf-8", "replace")
                )
            else:
                Path(file.path).unlink(missing_ok=True)

    def _count(self, file: _RoundFile, before: bytes) -> None:
        was, now, there = (_texts(data, file.name) for data in (before, file.merged, file.theirs))
        self.received += len(now - was)
        self.gone += len({name for name, _ in was} - {name for name, _ in now})
        self.sent += len(now - there) or int(file.merged != file.theirs)

    def _new_tree(self, files: list[_RoundFile]) -> dict[str, str]:
        tree = dict(self.tree)
        for file in files:
            self.clone.put(tree, file.key, file.merged)
        for project, known in self.projects.items():
            stones = self.stones[project]
            for file in files:
                if owner(file.key) == project:
                    stones.put(file.fallen)
            for file in files:
                if owner(file.key) == project:
                    stones.drop(_texts(file.merged, file.name))
            if any(key.startswith(f"projects/{project}/memory/") for key in tree):
                self.clone.put(tree, f"projects/{project}/tombstones", stones.lines().encode())
                if f"projects/{project}/project.json" not in tree:
                    self.clone.put(
                        tree,
                        f"projects/{project}/project.json",
                        msgspec.json.encode({"name": known.name}),
                    )
        if tree:
            self.clone.put(tree, MARK, self._mark(), plainly=True)
        return tree

    def _mark(self) -> bytes:
        return msgspec.json.encode(Mark(FORMAT, self.clone.seal.name if self.clone.seals else ""))

    def _adopt(self, files: list[_RoundFile], tree: dict[str, str]) -> None:
        """Sync trust: the owner's notes on one machine are the owner's on all.

        Notes that came with a clone are quarantined here, too.
        """
        origin = self.journal.origin
        for project, known in self.projects.items():
            there = self._lines(self.tree, project, "arrived")
            was = self._lines(self.clone.tree(self._base(project)), project, "arrived")
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
                wrong = origin.contradicting(
                    entries, day_of(file.path)
                )  # the other machines' owner is asked, too
                strange |= {
                    key_of(e.raw)
                    for e in entries
                    if (e.id, text_key(e)) not in own or e.id in wrong
                }
            if any(name.startswith(f"projects/{project}/memory/") for name in tree):
                self.clone.put(
                    tree, f"projects/{project}/arrived", "\n".join(sorted(strange)).encode()
                )


def _too_large(size: int) -> str:
    return (
        f"{size >> 20} MB, and sync takes files of up to {_MAX_FILE >> 20} MB; "
        "it stays as it is on both sides. Split it into several files"
    )


def _read(path: str, memory: str) -> bytes:
    """Raises OSError."""
    return safe_files.read(path) if memory else Path(path).read_bytes()


def _ids(data: bytes, name: str) -> set[str]:
    return {entry.id for entry in parse(data, name).entries if entry.level}


def _texts(data: bytes, name: str) -> set[tuple[str, str]]:
    return {(entry.id, text_key(entry)) for entry in parse(data, name).entries}


def _not_replaced(gone: list[Entry], new: set[str]) -> int:
    """Return the number of deleted entries. A manual edit replaces an entry without an id."""
    by_words = sum(render.needs_id(entry) for entry in gone)
    return len(gone) - by_words + max(0, by_words - len(new))


def _thoughts(key: str, data: bytes) -> set[bytes]:
    """Statements of a long-term document, as its owner would count: a fact, or a line."""
    if key.startswith(f"{BELOW_LONGTERM}{workspace.NOTES}/"):
        return {key.encode()} if data.strip() else set()
    return {line for line in data.splitlines() if line.strip() and not line.startswith(b"#")}


def _holds(data: bytes, entry: Entry) -> bool:
    """Whether a file has an entry with these bytes."""
    return entry.raw in data and (
        entry.raw + b"\n" in data or entry.raw + b"\r\n" in data or data.endswith(entry.raw)
    )


def _joined(entries: list[Entry]) -> bytes:
    return b"\n\n".join(entry.raw for entry in entries)


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()
