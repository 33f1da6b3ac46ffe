"""Finds merged branches and the commits of a branch in git's references, reflog and objects.

A branch counts as merged if the main line has its last commit, a commit that says so, or (squashed
or rebased) every file as the branch left it. A branch that is gone without a trace is not judged.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import cached_property
from typing import Any

from dulwich.diff_tree import tree_changes
from dulwich.objects import Commit
from dulwich.refs import DiskRefsContainer

from memsearch_engine.core import safe_files
from memsearch_engine.staleness.past import Past, walk

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
            return ""  # in a history that was cut, nobody knows where it began
        return self._by_content(tip)

    def _by_content(self, tip: bytes) -> str:
        """Whether the main line has each file of a branch: it was squashed, picked or rebased."""
        if self.current != self.main:
            return ""  # the history that is kept is another line's
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
            # what the main line changed, too, may have the branch's change in it
            if differs and (
                after < 0 or any(v.first > after or (v.end or 0) > after for v in versions)
            ):
                unsure = True
            elif differs:
                return "unmerged"
        if unsure:
            return ""
        return "merged" if changed else "merged" if not own else ""

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
        if len(found) != 1:
            return None
        return found.pop() in self._reachable

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
        try:
            text = safe_files.read(os.path.join(self._folder, "logs", "HEAD"), _MAX_REFLOG).decode(
                "utf-8", "replace"
            )
        except OSError:
            return {}
        return {match[2]: match[1].encode() for match in _SWITCH.finditer(text)}


def _target(folder: str) -> str:
    """The remote's main branch, as a clone records it."""
    try:
        text = safe_files.read(
            os.path.join(folder, "refs", "remotes", "origin", "HEAD"), 8192
        ).decode("utf-8", "replace")
    except OSError:
        return ""
    return text.strip().removeprefix("ref: refs/remotes/origin/")
