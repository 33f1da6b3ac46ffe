"""A round of sync: what the remote has and what stands here are put together, written here, and offered to the remote.

The base of each merge is the commit that this machine's files are known to hold. It moves only when they do, so that a process
that is killed anywhere is as if it had not been, and nothing that is missing here by accident is taken for deleted: where more is
gone than its owner is known to have deleted, the project is left alone and the owner is asked.
"""

from __future__ import annotations

import calendar
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from memsearch_engine import inside, network
from memsearch_engine.errors import Conflict, MemsearchError, Unreachable
from memsearch_engine.home import Home
from memsearch_engine.journal import disk
from memsearch_engine.journal.files import MARKDOWN, list_files
from memsearch_engine.journal.merge import Unmergeable, merge, text_key
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.origin import key_of
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.text import shown_line
from memsearch_engine.journal.write import Journal
from memsearch_engine.longterm import workspace
from memsearch_engine.projects import Project
from memsearch_engine.secrets.scan import find, redact
from memsearch_engine.settings import Sync
from memsearch_engine.sync.clone import Away, Clone, checked, name_of
from memsearch_engine.sync.lines import merge_lines
from memsearch_engine.sync.seal import NoKey
from memsearch_engine.sync.state import Round, State, opened

FORMAT = 1
_MARK = "memsearch.json"
_ATTEMPTS = 5
_LONGTERM = "longterm/"
_NOTE = re.compile(r"projects/([0-9a-f]{32})/memory/(.+)")
#: Losses that nobody is known to have wanted: up to so many notes, or this share of a project's, pass without a question.
_FEW, _SHARE = 10, 0.2


class Refused(Unreachable):
    """The remote is not what it was, or not ours: nothing was changed here or there."""


class Answer(msgspec.Struct, frozen=True):
    """What the owner says to what needs his word: deletions on a large scale are meant; what is gone here comes back; a remote
    whose history was rewritten is met as a new one."""

    accept_deletions: bool = False
    bring_back: bool = False
    rejoin: bool = False


class _File(msgspec.Struct):
    """One file on its way through a round. ``path`` is the file here, ``memory`` its folder; '' for the long-term memory's."""

    key: str
    path: str
    memory: str
    base: bytes
    ours: bytes | None
    theirs: bytes
    merged: bytes = b""
    conflicts: int = 0

    @property
    def name(self) -> str:
        return os.path.splitext(os.path.basename(self.path))[0]


class Elsewhere(msgspec.Struct, frozen=True):
    """A project that the remote has and this machine has no folder for. ``files``: of notes."""

    id: str
    name: str
    files: int


class SyncState(msgspec.Struct, frozen=True):
    """Where this machine stands.

    Attributes:
        remote: where it meets the others, '' where it meets none. last: the last round. worked: when one went well (seconds since
            1970, 0: never). elsewhere: projects of other machines that have no folder here.
    """

    remote: str
    every_minutes: float
    last: Round | None
    worked: float
    elsewhere: list[Elsewhere]


def look(home: Home, remote: str, *, encrypt: bool = False) -> None:
    """Whether the machines can meet there. Raises Away, Refused, NoKey."""
    clone = Clone(home)
    try:
        head = clone.fetch(remote)
        if head:
            check_format(clone, head, remote, encrypt=encrypt)
    finally:
        clone.close()


class _Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What tells a memory from any other repository. ``sealed``: the public half of the key that all else is encrypted for."""

    format: int = 0
    sealed: str = ""


def check_format(clone: Clone, head: str, remote: str, *, encrypt: bool = False) -> None:
    """Raises Refused where a commit is of something else than memories, of a newer program, or can be read though it must not; NoKey."""
    mark = clone.tree(head).get(_MARK, "")
    try:
        value = msgspec.json.decode(clone.blob(mark), type=_Mark) if mark else _Mark()
    except msgspec.DecodeError:
        value = _Mark()
    if not value.format:
        raise Refused(f"{remote} holds something else than memories", "name an empty repository")
    if value.format > FORMAT:
        raise Refused("a newer memsearch has written there", "update this one")
    if value.sealed and clone.seal.recipient != value.sealed:
        raise NoKey("what lies there is encrypted for another key", "copy sync.key of another machine here")
    if encrypt and not value.sealed:
        raise Refused(
            f"{remote} is not encrypted", "begin with an empty repository: what was sent once can be read for good"
        )
    clone.seals = bool(value.sealed)


def participants(projects: list[Project]) -> list[Project]:
    """Those that take part in a round, of every path where a project lives (the newest first): one folder for each identity, and none
    for what is not on this machine any more."""
    there = [project for project in projects if os.path.isdir(project.root)]
    return list({project.id: project for project in reversed(there)}.values())[::-1]


def elsewhere(home: Home, projects: list[Project]) -> list[Elsewhere]:
    """What the remote had at the last round that has no folder here."""
    clone = Clone(home)
    try:
        with opened(home) as state:
            tree = clone.tree(state.get("seen")) if clone.is_there else {}
            here = {project.id for project in projects} | set(state.places().values())
        found: dict[str, int] = {}
        for key in tree:
            if (match := _NOTE.fullmatch(key)) and match[1] not in here:
                found[match[1]] = found.get(match[1], 0) + 1
        names = {name: _about(clone.blob(tree.get(f"projects/{name}/project.json", ""))) for name in found}
        return [Elsewhere(name, names[name] or name[:8], count) for name, count in sorted(found.items())]
    finally:
        clone.close()


def _about(data: bytes) -> str:
    """What a project is called, by whoever wrote it there: a word to show, nothing else."""
    try:
        return shown_line(msgspec.json.decode(data, type=dict[str, str]).get("name", ""))[:80]
    except msgspec.DecodeError:
        return ""


def sync(
    home: Home, journal: Journal, where: Sync, projects: list[Project], answer: Answer | None = None, stop: Callable[[], bool] = lambda: False
) -> Round:  # fmt: skip
    """A whole round.

    Args:
        where: the remote, and whether it is encrypted.
        projects: those that take part, one folder for each identity.

    Raises:
        Refused: see there. NoKey: it is encrypted, and the key is not here. Away: the remote can't be reached. Unreachable: another process is at it, or a file can't be written.
    """
    remote = checked(where.remote)
    network.check(remote)
    with _alone(home) as (clone, state):
        try:
            for _ in range(_ATTEMPTS):
                done = _Round(
                    home, journal, clone, state, remote, where.encrypt, projects, answer or Answer(), stop
                ).run()
                if done is not None:
                    clone.tidy()
                    state.note(done)
                    return done
            raise Away("the remote changes faster than it can be merged", "it is tried again")
        except MemsearchError as error:
            state.note(Round(time.time(), error=str(error)))
            raise


def rewrite(home: Home, where: Sync) -> None:
    """Put one commit of what stands there now in the place of the remote's history, after a round; our own clone begins anew, too. The
    other machines refuse that until their owner says ``rejoin``.

    Raises:
        Refused: somebody has written there meanwhile. Away, Unreachable: as ``sync``.
    """
    remote = checked(where.remote)
    with _alone(home) as (clone, state):
        head = state.get("seen")
        commit = clone.commit(clone.tree(head), [], "notes, without what was before")
        if not clone.replace(remote, commit, head):
            raise Refused("another machine has written there meanwhile", "`memsearch sync`, then once more")
        state.put("seen", commit)
        state.settled(commit, {}, state.get("held").split())
        clone.remove()
        clone.fetch(remote)
        clone.set_main(commit)


@contextlib.contextmanager
def _alone(home: Home) -> Iterator[tuple[Clone, State]]:
    """Our clone and what is known of it, for one process at a time. Raises Unreachable."""
    import filelock  # 50 ms

    home.ensure()
    clone = Clone(home)
    try:
        with filelock.FileLock(home.locks / "sync.lock", timeout=0, mode=0o600), opened(home) as state:
            yield clone, state
    except filelock.Timeout as error:
        raise Unreachable("a sync is under way", "`memsearch sync status` shows it") from error
    finally:
        clone.close()


class _Round:
    def __init__(
        self, home: Home, journal: Journal, clone: Clone, state: State, remote: str, encrypt: bool, projects: list[Project], answer: Answer,
        stop: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.home, self.journal, self.clone, self.state, self.remote = home, journal, clone, state, remote
        self.encrypt, self.answer, self.stop = encrypt, answer, stop
        places = state.places()
        self.projects = {places.get(project.root, project.id): project for project in projects}
        self.problems: list[str] = []
        self.skipped: set[str] = set()
        self.received = self.sent = self.gone = 0

    def run(self) -> Round | None:
        """The round, or None where the remote has moved on meanwhile: then another one."""
        self._recover()
        self.head = self._fetch()
        self.tree = self.clone.tree(self.head)
        self.base = self._base()
        self.base_tree = self.clone.tree(self.base)
        self.taken = {key: commit for key, (commit, _) in self.state.taken().items()}
        self.held = set(self.state.get("held").split())
        files = list(self._files())
        self.tombstones = {project: self._lines(project, "tombstones") for project in self.projects}
        self.present = {pair for file in files for pair in _texts(file.ours or b"", file.name)}
        files = self._unless_too_much_goes([file for file in files if self._merge(file)])
        for file in files:
            if self.stop():
                raise Away("stopped", "it goes on with the next round")
            self._write(file)
        tree = self._new_tree(files)
        self._adopt(files, tree)
        pushed, pins = self.head, self._pins()
        if tree != self.tree:
            self._refuse_secrets(tree)
            pushed = self.clone.commit(tree, [self.head] if self.head else [], f"notes, {self.sent} changed")
            self.state.settled(self.head, pins, self.projects)
            if not self.clone.push(self.remote, pushed):
                return None
            self.state.put("seen", pushed)
        self.state.settled(pushed, pins, self.projects)
        conflicts = sum(file.conflicts for file in files)
        return Round(time.time(), self.received, self.sent, self.gone, conflicts, self.problems)

    # -- the remote ------------------------------------------------------------------------------------------

    def _fetch(self) -> str:
        if self.answer.rejoin:
            self.state.forget()
        head = self.clone.fetch(self.remote)
        known = self.state.get("seen")
        if known and not head:
            raise self._rewritten("the remote is empty, and was not")
        if known and not (self.clone.has(known) and self.clone.is_ancestor(known, head)):
            raise self._rewritten("the remote's history was rewritten")
        self.clone.seals = self.encrypt
        if head:
            check_format(self.clone, head, self.remote, encrypt=self.encrypt)
            self.state.put("seen", head)
        return head

    def _rewritten(self, what: str) -> Refused:
        return Refused(
            what,
            "nothing was changed here. Look at it; `memsearch sync --rejoin` meets it as a new one: what either side has stays",
        )

    def _base(self) -> str:
        """The newest commit that this machine's files hold: what was pushed last, even if nobody could say so any more."""
        main, base = self.clone.ref(), self.state.get("base")
        if self.answer.rejoin or not self.head:
            return ""
        if main and self.clone.has(main) and self.clone.is_ancestor(main, self.head):
            return main if not base or self.clone.is_ancestor(base, main) else base
        return base

    def _recover(self) -> None:
        """Find out what became of files that a round was about to write when its process died."""
        for key, (_, seq) in self.state.taken().items():
            if seq and not self.journal.was_taken(seq):
                self.state.drop(key)

    def _pins(self) -> dict[str, str]:
        """What each file that is left alone this time holds: its base stays what it was."""
        prefixes = tuple(self.skipped)
        keys = [key for key in {*self.tree, *self.base_tree, *self.taken} if prefixes and key.startswith(prefixes)]
        return {key: self._base_of(key) for key in keys}

    # -- what there is ---------------------------------------------------------------------------------------

    def _files(self) -> Iterator[_File]:
        """Every file that stands here, or stood, or stands there, and is not the same in all three places."""
        here: dict[str, tuple[str, str]] = {}
        for project in self.projects.values():
            here.update(self._of_project(project))
        for name, file in workspace.files(self.home.longterm).items():
            if _travels(name):
                here[_LONGTERM + name] = str(file), ""
        for key in sorted({*here, *self.tree, *self.base_tree}):
            place = here.get(key) or self._place(key)
            if place is None:
                continue
            path, memory = place
            try:
                ours = _read(path, memory) if key in here else None
            except OSError as error:
                self.problems.append(f"{path}: {error.strerror}")
                self.skipped.add(key)
                continue
            base, theirs = self._blob_of(key), self.tree.get(key, "")
            names = self.clone.name_of(base), self.clone.name_of(theirs), name_of(ours) if ours is not None else ""
            if len(set(names)) > 1:
                yield _File(key, path, memory, self.clone.blob(base), ours, self.clone.blob(theirs))

    def _base_of(self, key: str) -> str:
        """The commit that a file here holds; '' where its project had no folder here until now: nothing of it is gone then."""
        project = key.split("/")[1] if key.startswith("projects/") else ""
        return self.taken.get(key, self.base if not project or project in self.held else "")

    def _blob_of(self, key: str) -> str:
        """What the base has of a file."""
        commit = self._base_of(key)
        return (self.base_tree if commit == self.base else self.clone.tree(commit)).get(key, "")

    def _of_project(self, project: Project) -> dict[str, tuple[str, str]]:
        name = self._name(project)
        if not os.path.isdir(project.memory):
            if any(key.startswith(f"projects/{name}/") for key in self.base_tree) and name in self.held:
                self._skip(name, f"{project.memory} is not there: its notes stay as they are on the other machines")
            return {}
        listing = list_files(project.memory)
        if not listing.complete:
            self._skip(name, f"{project.memory} can't be read wholly: {listing.problems[0][1]}")
            return {}
        return {
            f"projects/{name}/memory/{os.path.relpath(file.path, project.memory)}": (file.path, project.memory)
            for file in listing.files
        }

    def _name(self, project: Project) -> str:
        return next(name for name, known in self.projects.items() if known.root == project.root)

    def _skip(self, name: str, why: str) -> None:
        self.problems.append(why)
        self.skipped.add(f"projects/{name}/")

    def _place(self, key: str) -> tuple[str, str] | None:
        """Where a file of the remote belongs here; None where its project has no folder here, or the name is not one."""
        if any(key.startswith(prefix) for prefix in self.skipped):
            return None
        if key.startswith(_LONGTERM):
            name = key.removeprefix(_LONGTERM)
            return (str(self.home.longterm / name), "") if _travels(name) else None
        match = _NOTE.fullmatch(key)
        project = self.projects.get(match[1]) if match else None
        if match is None or project is None or not _is_note(match[2]):
            return None
        if match[1] in self.held and not os.path.isdir(project.memory):
            return None  # it was there
        return os.path.join(project.memory, match[2]), project.memory

    # -- putting together ------------------------------------------------------------------------------------

    def _merge(self, file: _File) -> bool:
        """Whether it could be merged."""
        if not file.memory:
            texts = [(data or b"").decode("utf-8", "replace") for data in (file.base, file.ours, file.theirs)]
            file.merged = merge_lines(*texts).encode()
            return True
        name, project = file.name, file.key.split("/")[1]
        base = b"" if self.answer.bring_back and self._is_gone(file) else file.base
        theirs = self._clean(file.theirs) if file.theirs != file.ours else file.theirs
        dead = self._dead(project, file, name)
        newer = self._newer(project, file, name, base)
        try:
            done = merge(base, file.ours or b"", theirs, name, newer=newer, dead=dead, clean=self._redacted)
            file.merged, file.conflicts = done.data, len(done.conflicts)
        except Unmergeable:
            self.problems.append(f"{file.path} can't be merged: here and on the other machines it stays as it is")
            self.skipped.add(file.key)
            return False
        now = _texts(file.merged, name)
        stones = self.tombstones[project]
        stones -= {line for line in stones if tuple(line.split(" ")[:2]) in now}
        if not parse(file.merged, name).entries and (file.ours is None or not file.theirs):
            file.merged = b""  # a day without notes, which one side has removed
        return True

    def _is_gone(self, file: _File) -> bool:
        return bool(file.base) and len(_ids(file.ours or b"", file.name)) < len(_ids(file.base, file.name))

    def _clean(self, data: bytes) -> bytes:
        """What comes is cleaned of secrets before it is written, like everything."""
        text = data.decode("utf-8", "surrogateescape")
        clean, found = redact(text, self.home)
        return clean.encode("utf-8", "surrogateescape") if found else data

    def _redacted(self, text: str) -> str:
        return redact(text, self.home)[0]

    def _lines(self, project: str, name: str) -> set[str]:
        """A list that travels beside a project's notes, as the remote has it and as this machine has changed it since the base."""
        key = f"projects/{project}/{name}"
        return set(self.clone.blob(self.tree.get(key, "")).decode("utf-8", "replace").split("\n")) - {""}

    def _dead(self, project: str, file: _File, name: str) -> set[tuple[str, str]]:
        """What was deleted, or replaced, somewhere: it must not come back from a copy. What this machine's owner has brought back
        himself lives again."""
        stones = self.tombstones[project]
        lives = _texts(file.theirs, name)
        known = {
            pair: line for line in stones if len(parts := line.split(" ")) == 3 and (pair := (parts[0], parts[1])) not in lives
        }  # fmt: skip
        for entry in parse(file.ours or b"", name).entries:
            line = known.get((entry.id, text_key(entry)))
            if line and self.journal.history.is_revived(entry.id, _seconds(line.split(" ")[2])):
                known.pop((entry.id, text_key(entry)))
                stones.discard(line)
        for pair in _texts(file.base, name) - self.present if not self.answer.bring_back else ():
            stones.add(f"{pair[0]} {pair[1]} {_stamp(self.journal.history.changed(pair[0]) or _mtime(file.path))}")
        return set(known)

    def _newer(self, project: str, file: _File, name: str, base: bytes) -> Callable[[Entry, Entry], bool]:
        """By when each text took the place of what both had."""
        replaced: dict[str, list[str]] = {}
        there = self._lines(project, "tombstones")
        for line in there:
            replaced.setdefault(line.split(" ")[0], []).append(line.split(" ")[-1])
        ours = {(entry.id, text_key(entry)) for entry in parse(file.ours or b"", name).entries}

        def when(entry: Entry) -> str:
            if (entry.id, text_key(entry)) in ours:
                return _stamp(self.journal.history.changed(entry.id) or _mtime(file.path))
            return max(replaced.get(entry.id, [""]))

        return lambda one, other: when(one) > when(other)

    # -- what may not be lost --------------------------------------------------------------------------------

    def _unless_too_much_goes(self, files: list[_File]) -> list[_File]:
        """Leave projects out of which more would go, here or there, than anybody is known to have deleted."""
        if self.answer.accept_deletions:
            return files
        left: list[_File] = []
        for project in dict.fromkeys(file.key.rsplit("/memory/")[0] for file in files):
            of_project = [file for file in files if file.key.rsplit("/memory/")[0] == project]
            here = there = total = 0
            for file in of_project if project.startswith("projects/") else ():
                was, ours, merged = (_ids(data or b"", file.name) for data in (file.base, file.ours, file.merged))
                total += len(was)
                lost = (was - ours) & _ids(file.theirs, file.name) if not self.answer.bring_back else set()
                here += sum(not self.journal.history.is_deleted(name) for name in lost)
                there += len((ours & was) - merged)
            name = project.removeprefix("projects/")
            known = self.projects[name].name if name in self.projects else "the long-term memory"
            if here > max(_FEW, total * _SHARE):
                self._skip(name, f"{here} notes of {known} are gone here, and were not deleted with memsearch: "
                           "`memsearch sync --bring-back` fetches them, `--accept-deletions` deletes them everywhere")  # fmt: skip
            elif there > max(_FEW, total * _SHARE):
                self._skip(name, f"another machine has deleted {there} notes of {known}: "
                           "`memsearch sync --accept-deletions` deletes them here, too")  # fmt: skip
            else:
                left += of_project
        return left

    def _refuse_secrets(self, tree: dict[str, str]) -> None:
        """Raises Refused where a secret is in what would go."""
        for key, sha in tree.items():
            if self.tree.get(key) != sha and key.endswith(MARKDOWN):
                found = find(self.clone.blob(sha).decode("utf-8", "replace"), self.home)
                if found:
                    place = (self._place(key) or (key, ""))[0]
                    raise Refused(
                        f"a secret ({found[0].rule}) stands in {place}: nothing was sent",
                        "`memsearch secrets scrub` takes it out, `memsearch secrets allow` says that it is none",
                    )

    # -- writing ---------------------------------------------------------------------------------------------

    def _write(self, file: _File) -> None:
        """Make the file here what was merged. What was written here meanwhile is merged, too."""
        for attempt in range(_ATTEMPTS):
            if file.merged == (file.ours or b""):
                self.state.take(file.key, self.head, 0)
                break
            before = _texts(file.ours or b"", file.name)
            try:
                if file.memory:
                    self.journal.take(
                        file.memory,
                        file.path,
                        file.ours or b"",
                        file.merged,
                        lambda seq: self.state.take(file.key, self.head, seq),
                    )
                else:
                    self._write_longterm(file)
                self.state.take(file.key, self.head, 0)
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                file.ours = _read(file.path, file.memory) if os.path.exists(file.path) else None
                self._merge(file)
                continue
            after = _texts(file.merged, file.name)
            self.received += len(after - before)
            self.gone += len({name for name, _ in before} - {name for name, _ in after})
            break
        self.sent += len(_texts(file.merged, file.name) - _texts(file.theirs, file.name)) or int(
            file.merged != file.theirs
        )

    def _write_longterm(self, file: _File) -> None:
        name = file.key.removeprefix(_LONGTERM)
        with disk.locked(self.home, str(self.home.longterm)):
            now = workspace.read(self.home.longterm, name).encode()
            if now != (file.ours or b""):
                raise Conflict(f"{file.path} changed while it was merged")
            if file.merged:
                workspace.write(self.home, self.home.longterm, name, file.merged.decode())
            else:
                Path(file.path).unlink(missing_ok=True)

    def _mark(self) -> bytes:
        return msgspec.json.encode(_Mark(FORMAT, self.clone.seal.recipient if self.clone.seals else ""))

    def _new_tree(self, files: list[_File]) -> dict[str, str]:
        tree = dict(self.tree)
        for file in files:
            self.clone.put(tree, file.key, file.merged)
        for project, known in self.projects.items():
            if any(key.startswith(f"projects/{project}/memory/") for key in tree):
                self.clone.put(
                    tree, f"projects/{project}/tombstones", "\n".join(sorted(self.tombstones[project])).encode()
                )
                about = msgspec.json.encode({"name": known.name}).decode()
                if f"projects/{project}/project.json" not in tree:
                    self.clone.put(tree, f"projects/{project}/project.json", about.encode())
        if tree:
            self.clone.put(tree, _MARK, self._mark(), plainly=True)
        return tree

    def _adopt(self, files: list[_File], tree: dict[str, str]) -> None:
        """Whose the notes are travels with them: what is the owner's on one of his machines is so on all; what came there with a
        clone waits for his word here, too."""
        origin = self.journal.origin
        for project, known in self.projects.items():
            there = self._lines(project, "arrived")
            was = set(
                self.clone.blob(self._blob_of(f"projects/{project}/arrived")).decode("utf-8", "replace").split("\n")
            )
            origin.adopt(was - there)  # what its owner has released meanwhile
            strange = there - origin.known_keys(there)
            for file in files:
                if not file.key.startswith(f"projects/{project}/memory/"):
                    continue
                ours, theirs, entries = (
                    parse(data or b"", file.name).entries for data in (file.ours, file.theirs, file.merged)
                )
                own = {(e.id, text_key(e)) for e in ours if origin.is_own(e.raw, known.memory)}
                own |= {(e.id, text_key(e)) for e in theirs if key_of(e.raw) not in there}
                origin.wrote(e.raw for e in entries if (e.id, text_key(e)) in own)
                strange |= {key_of(e.raw) for e in entries if (e.id, text_key(e)) not in own}
            if any(name.startswith(f"projects/{project}/memory/") for name in tree):
                self.clone.put(tree, f"projects/{project}/arrived", "\n".join(sorted(strange)).encode())


def _travels(name: str) -> bool:
    """Whether a file of the long-term memory is synced: what it says and what was remembered, not what it is made of."""
    return name in (workspace.MEMORY, workspace.SUMMARY) or (name.startswith(f"{workspace.NOTES}/") and _is_note(name))


def _is_note(name: str) -> bool:
    """Whether a path that somebody else has written is one of a note, below its folder."""
    parts = name.split("/")
    return name.endswith(MARKDOWN) and all(
        0 < len(part) < 200 and part.isprintable() and part[0] != "." for part in parts
    )


def _read(path: str, memory: str) -> bytes:
    """Raises OSError."""
    return inside.read(path) if memory else Path(path).read_bytes()


def _ids(data: bytes, name: str) -> set[str]:
    return {entry.id for entry in parse(data, name).entries if entry.level}


def _texts(data: bytes, name: str) -> set[tuple[str, str]]:
    return {(entry.id, text_key(entry)) for entry in parse(data, name).entries}


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _seconds(stamp: str) -> float:
    try:
        return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return 0.0
