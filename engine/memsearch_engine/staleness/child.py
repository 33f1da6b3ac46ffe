"""Compares notes with a repository: ``python -m memsearch_engine.staleness.child``.

It reads a request (a line of JSON) from stdin and writes lines of JSON: its progress, at last its
answer. It ends with the process that asked, and runs at low priority.

Merged branches and the commits of a branch are found in git's references, reflog and objects. A
branch counts as merged if the main line has its last commit, a commit that says so, or (squashed or
rebased) every file as the branch left it. A branch that is gone without a trace is not judged.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import sys
import threading
import time
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from dulwich.diff_tree import tree_changes
from dulwich.index import read_index
from dulwich.object_store import DiskObjectStore
from dulwich.objects import S_ISGITLINK, Commit
from dulwich.refs import DiskRefsContainer

from memsearch_engine.core import repository, safe_files
from memsearch_engine.staleness.ask import StalenessAnswer, StalenessQuestion
from memsearch_engine.staleness.check import Checker, DatedReferences
from memsearch_engine.staleness.finding import CheckedNote, NoteStaleness, Reference
from memsearch_engine.staleness.past import Past, walk
from memsearch_engine.staleness.references import find

_MAX_INDEX = 256 * 1024 * 1024
#: Limits of CPU seconds and of memory in bytes: a malicious repository may need more.
_LIMITS = ((resource.RLIMIT_CPU, 1800), (resource.RLIMIT_DATA, 3 << 30))


def main() -> None:
    """Answer one request from stdin, with little priority and limited resources."""
    with contextlib.suppress(OSError):
        os.nice(19)
    for kind, most in _LIMITS:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
    asked = msgspec.json.decode(sys.stdin.buffer.readline(), type=StalenessQuestion)
    threading.Thread(target=_end_with_asker, daemon=True).start()
    _write(answer(asked, _report))


def _end_with_asker() -> None:
    os.read(0, 1)  # the process that asked keeps its end open while it waits
    os._exit(1)


def _report(what: str, done: int, total: int) -> None:
    _write([what, done, total])


def _write(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def answer(asked: StalenessQuestion, report: Any) -> StalenessAnswer:
    """Compare the notes of a question. ``problem``: why nothing was compared."""
    found: list[list[Reference]] = [
        find(note.text) if note.references is None else note.references for note in asked.notes
    ]
    if not repository.is_ours(asked.common_dir):
        return _nothing(asked, found, "the repository is another user's, or holds more than files")
    if other := repository.foreign_format(asked.common_dir):
        return _nothing(
            asked, found, f"its references or objects are kept as {other}, which can't be read here"
        )
    store: Any = DiskObjectStore(os.path.join(asked.common_dir, "objects"))
    past = Past(store, Path(asked.database))
    try:
        shallow = repository.shallow(asked.common_dir)
        branches = Branches(store, asked.common_dir, past, shallow)
        if not branches.head:
            return _nothing(asked, found, "it has no commit yet")
        past.read(
            branches.head,
            shallow,
            min((note.at for note in asked.notes), default=time.time()),
            report,
        )
        tracked, modules = _tracked(asked.common_dir)
        checker = Checker(
            past, asked.root, tracked, modules, report, branches.has_commit, branches.state
        )
        notes = [
            DatedReferences(note.at, references, note.confirmed)
            for note, references in zip(asked.notes, found)
        ]
        return StalenessAnswer(
            branches.head.decode(),
            [
                CheckedNote(
                    note.entry_id,
                    note.hash,
                    references,
                    NoteStaleness(findings, _unmerged(branches, note.branch)),
                )
                for note, references, findings in zip(asked.notes, found, checker.check(notes))
            ],
        )
    except Exception as error:  # a damaged or forged repository raises errors of many types
        what = str(error) or type(error).__name__
        return _nothing(asked, found, f"its repository can't be read ({what})")
    finally:
        past.close()
        store.close()


def _nothing(asked: StalenessQuestion, found: list[list[Reference]], why: str) -> StalenessAnswer:
    notes = [
        CheckedNote(n.entry_id, n.hash, references, NoteStaleness())
        for n, references in zip(asked.notes, found)
    ]
    return StalenessAnswer("", notes, why)


def _unmerged(branches: Branches, name: str) -> str:
    """The unmerged branch of a note, or ``""``; a session on that branch is not warned."""
    return name if name != branches.current and branches.merged(name) == "unmerged" else ""


def _tracked(common_dir: str) -> tuple[dict[str, tuple[float, int]], set[str]]:
    """(path -> (mtime, size) from git's index, paths of submodules)."""
    try:
        entries = list(
            read_index(io.BytesIO(safe_files.read(os.path.join(common_dir, "index"), _MAX_INDEX)))
        )
    except Exception:  # a forged index may raise any error
        return {}, set()
    files = {
        entry.name.decode("utf-8", "replace"): (_seconds(entry.mtime), entry.size)
        for entry in entries
    }
    return files, {
        entry.name.decode("utf-8", "replace") for entry in entries if S_ISGITLINK(entry.mode)
    }


def _seconds(stamp: Any) -> float:
    return float(stamp[0] + stamp[1] / 1e9) if isinstance(stamp, tuple) else float(stamp)


_MAIN = ("main", "master", "trunk", "default", "develop")
_SWITCH = re.compile(r"^(\S+) \S+ .*?\tcheckout: moving from (\S+) to (\S+)$", re.M)
_MERGES = re.compile(
    r"^Merge (?:remote-tracking )?branch '(?:origin/)?([^']+)'|"
    r"^Merge pull request #\d+ from [^/\s]+/(\S+)",
    re.M,
)
_MAX_REFLOG = 16 * 1024 * 1024
_MAX_PATHS = 2000


class Branches:
    """Branches of one repository. ``current``: the branch of HEAD, or ``""``."""

    def __init__(self, store: Any, folder: str, past: Past, shallow: set[bytes]) -> None:
        self._store, self._folder, self._past, self._cut = store, folder, past, shallow
        refs: Any = DiskRefsContainer(folder)
        self.head: bytes | None
        self._tips: dict[str, bytes] = {}
        self._all: set[bytes] = set()
        self._named: defaultdict[str, set[bytes]] = defaultdict(set)  # here and at remotes
        for name in refs.allkeys():
            try:
                tip = refs[name]
            except (KeyError, ValueError):  # a reference to nothing
                continue
            self._all.add(tip)
            place, _, rest = name.decode("utf-8", "replace").partition("/")[2].partition("/")
            self._named[rest.partition("/")[2] if place == "remotes" else rest].add(tip)
            if place == "heads":
                self._tips[rest] = tip
            elif place == "remotes" and "/" in rest:
                self._tips.setdefault(rest.partition("/")[2], tip)
        chain, self.head = refs.follow(b"HEAD")
        self.current = (
            chain[-1].decode("utf-8", "replace").removeprefix("refs/heads/")
            if len(chain) > 1
            else ""
        )
        default = _target(folder)
        self.main = next((n for n in (default, *_MAIN) if n in self._tips), self.current)
        self._judged: dict[str, str] = {}

    def state(self, name: str) -> str:
        """Return ``there``, ``gone`` (it existed once), or ``""`` if it was never known here."""
        if name in self._tips or name == self.current:
            return "there"
        return "gone" if name in self._last_tips else ""

    def merged(self, name: str) -> str:
        """``merged``, ``unmerged``, or ``""`` if unknown."""
        if name not in self._judged:
            self._judged[name] = self._judge(name)
        return self._judged[name]

    def _judge(self, name: str) -> str:
        if not name or name in (self.main, "HEAD") or not self.main:
            return "merged" if name and name == self.main else ""
        tip = self._tips.get(name) or self._last_tips.get(name)
        if name in self._merged_by_name or (tip is not None and tip in self._mainline):
            return "merged"
        if tip is None or tip not in self._store or self._cut:
            return ""  # a shallow history does not show where the branch began
        return self._by_content(tip)

    def _by_content(self, tip: bytes) -> str:
        """Whether the main line has each file of a branch: it was squashed, picked or rebased."""
        if self.current != self.main:
            return ""  # the stored history is that of another branch
        base = next(
            (
                commit
                for commit in walk(self._store, tip, self._cut, set())
                if commit in self._mainline
            ),
            None,
        )
        own = list(walk(self._store, tip, self._cut, self._mainline))
        if base is None:
            return "unmerged"
        changed, unsure = 0, False
        after = (
            self._past.commits.index(base.decode()) if base.decode() in self._past.commits else -1
        )
        for change in tree_changes(self._store, self._store[base].tree, self._store[tip].tree):
            changed += 1
            if changed > _MAX_PATHS:
                return ""
            side = change.new if change.new and change.new.path else None
            path = (side or change.old).path.decode("utf-8", "replace")  # type: ignore[union-attr]
            versions = self._past.files.get(path, [])
            if side is None or not side.sha:
                differs = self._past.is_present(path)
            else:
                differs = not any(
                    version.blob == bytes.fromhex(side.sha.decode()) for version in versions
                )
            # a file that the main line changed, too, may contain the branch's change
            if differs and (
                after < 0 or any(v.first > after or (v.end or 0) > after for v in versions)
            ):
                unsure = True
            elif differs:
                return "unmerged"
        return "merged" if not unsure and (changed or not own) else ""

    def has_commit(self, name: str) -> bool | None:
        """Whether a branch or tag has a commit (first digits); None if unknown or ambiguous."""
        try:
            found = {
                bytes(sha)
                for sha in self._store.iter_prefix(name.encode())
                if isinstance(self._store[sha], Commit)
            }
        except (KeyError, ValueError):
            return None
        return found.pop() in self._reachable if len(found) == 1 else None

    @cached_property
    def _mainline(self) -> set[bytes]:
        """Commits of the main line, here or at a remote."""
        found: set[bytes] = set()
        for tip in self._named[self.main] or {self.head or b""}:
            found.update(walk(self._store, tip, self._cut, found))
        return found

    @cached_property
    def _reachable(self) -> set[bytes]:
        found = set(self._mainline)
        for tip in self._all:
            found.update(walk(self._store, tip, self._cut, found))
        return found

    @cached_property
    def _merged_by_name(self) -> set[str]:
        """Branches that a commit of the main line says it merged."""
        names: set[str] = set()
        for commit in self._mainline:
            found = self._store[commit]
            if len(found.parents) > 1 and (
                match := _MERGES.search(found.message.decode("utf-8", "replace"))
            ):
                names.add(match[1] or match[2])
        return names

    @cached_property
    def _last_tips(self) -> dict[str, bytes]:
        """Last commits of branches when HEAD left them, as far as the reflog goes back."""
        log = safe_files.read_or_empty(os.path.join(self._folder, "logs", "HEAD"), _MAX_REFLOG)
        found = _SWITCH.finditer(log.decode("utf-8", "replace"))
        return {match[2]: match[1].encode() for match in found}


def _target(folder: str) -> str:
    """The remote's main branch, as a clone records it."""
    path = os.path.join(folder, "refs", "remotes", "origin", "HEAD")
    text = safe_files.read_or_empty(path, 8192).decode("utf-8", "replace")
    return text.strip().removeprefix("ref: refs/remotes/origin/")


if __name__ == "__main__":
    main()
