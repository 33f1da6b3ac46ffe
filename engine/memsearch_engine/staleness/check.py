"""Compares names in notes with the repository's history and work tree.

A name is stale only if two things are true. The history has it at the time of the note, or soon
after, because a turn's work is committed later. Neither the last commit nor the work tree has it. A
name that exists is fresh, whatever it was.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Any, NamedTuple

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.staleness.finding import Reference, ReferenceState, State
from memsearch_engine.staleness.past import Past, Presence, names_in, words_in

_SOON_S = 14 * 86400.0
_MAX_MOVES = 20
_MAX_VERSIONS = 40  # of files that had a symbol, in which its definition is looked for
_MAX_LOOSE, _MAX_FILE = 20_000, 512 * 1024
_PLAIN = re.compile(r"[\w@+./-]{1,200}")
#: Folders of a work tree with files that nobody in the project wrote.
_MADE = frozenset(
    ".git .hg .memsearch node_modules .venv venv __pycache__ .tox .nox "
    ".mypy_cache .ruff_cache .pytest_cache target dist build .next .gradle "
    ".idea .vscode .cache vendor Pods".split()
)
_BUILT = ("build", "dist", "target", "vendor", "gen", "generated")
_MANIFESTS = frozenset(
    "Cargo.toml Cargo.lock package.json package-lock.json yarn.lock "
    "pnpm-lock.yaml go.mod go.sum pyproject.toml poetry.lock uv.lock Pipfile "
    "requirements.txt setup.cfg Gemfile Gemfile.lock composer.json "
    "composer.lock pom.xml build.gradle build.gradle.kts mix.exs pubspec.yaml".split()
)
_TARGET = re.compile(rb"^([^\t#:=\n ][^#:=\n]{0,2000}?)::?(?!=)", re.M)
_INCLUDES = re.compile(rb"^(?:-?include|sinclude|import|mod)\b", re.M)
_RECIPE = re.compile(rb"^@?([\w-]{1,100})(?![\w-])[^:\n]{0,2000}:(?!=)", re.M)
_MAX_LINE = 2000  # characters in which a definition is looked for
_MAKEFILES, _JUSTFILES = (
    ("Makefile", "makefile", "GNUmakefile", "*.mk"),
    ("justfile", "Justfile", ".justfile", "*.just"),
)


class DatedReferences(NamedTuple):
    """The references of a note.

    Attributes:
        at: when it was written or confirmed, in seconds since 1970.
        confirmed: whether the owner confirmed it.
    """

    at: float
    references: list[Reference]
    confirmed: bool = False


class Checker:
    """Compares the notes of one project, for one run.

    Args:
        root: the folder of the work tree.
        tracked: path -> (mtime, size) from git's index.
        modules: paths of submodules.
        report: called with a step, and the numbers of finished and of all units.
        is_known: whether a branch has a commit, by its first digits; None if that is unknown.
        branch: the state of a branch (``Branches.state``).
    """

    def __init__(
        self,
        past: Past,
        root: str,
        tracked: dict[str, tuple[float, int]],
        modules: set[str],
        report: Callable[[str, int, int], None],
        is_known: Callable[[str], bool | None],
        branch: Callable[[str], str],
    ) -> None:
        self.past, self.root, self._tracked, self._report = (
            past,
            os.path.realpath(root),
            tracked,
            report,
        )
        self._is_known, self._branch, self._modules = is_known, branch, modules
        self._having: dict[str, set[bytes]] = {}
        self._lives: dict[bytes, list[Presence]] = {}
        self._folders: set[str] | None = None

    def check(self, notes: list[DatedReferences]) -> list[list[ReferenceState]]:
        """The findings for each note, one per reference."""
        symbols = {
            r.name for note in notes for r in note.references if r.kind in ("symbol", "setting")
        }
        if symbols:
            self._having = self.past.having(symbols, _counts, self._report)
            for path, versions in self.past.files.items():
                if _counts(path):
                    for version in versions:
                        self._lives.setdefault(version.blob, []).append(version)
        found = []
        for done, note in enumerate(notes):
            if done % 500 == 0:
                self._report("notes", done, len(notes))
            found.append([self._one(reference, note) for reference in note.references])
        return found

    def _one(self, reference: Reference, note: DatedReferences) -> ReferenceState:
        # it is unknown when a commit or a branch vanished
        if note.confirmed and reference.kind in ("commit", "branch"):
            return _fresh(reference)
        return {
            "file": self._file,
            "symbol": self._symbol,
            "setting": self._symbol,
            "command": self._command,
            "commit": self._commit,
            "branch": self._named_branch,
        }[reference.kind](reference, note.at)

    # -- files

    def _file(self, reference: Reference, at: float) -> ReferenceState:
        name = self._within(reference.name)
        if not name:
            return _unknown(reference)
        if name.endswith("/"):
            return self._folder(reference, name.rstrip("/"), at)
        # the file of that path, and files whose path ends so
        named = self.past.by_name.get(os.path.basename(name), ())
        files = [path for path in named if path == name or path.endswith(f"/{name}")]
        now = [path for path in files if self._is_there(path)]
        then = self._then(files, at)
        if name in now or len(now) == 1 == len(files):
            path = name if name in now else now[0]
            return self._changed(reference, path, self._around(path, at))
        known = {version.path for version in then}
        if now and (name not in known or known & set(now)):
            return ReferenceState(reference.kind, reference.name, "fresh")
        if not then:
            return (
                ReferenceState(reference.kind, reference.name, "fresh")
                if self._on_disk(name)
                else _unknown(reference)
            )
        if len(then) > 1 and any(found.moved for found in then):
            return _unknown(reference)  # which of them was meant?
        found = self._went(reference, max(then, key=lambda found: found.end or 0))
        return found if not now or found.state == "moved" else _unknown(reference)

    def _within(self, path: str) -> str:
        """The path relative to the root; ``""`` if it is outside."""
        if not path.startswith("/"):
            return path
        return path.removeprefix(f"{self.root}/") if path.startswith(f"{self.root}/") else ""

    def _around(self, path: str, at: float) -> Presence | None:
        """Content of a file at a time, or the first one soon after. None if it did not exist."""
        return next(self._existed(self.past.files.get(path, ()), at), None)

    def _existed(self, versions: Iterable[Presence], at: float) -> Iterator[Presence]:
        """The *versions* that existed at a time or appeared soon after."""
        first, last = self.past.number_at(at), self.past.number_at(at + _SOON_S)
        return (
            version
            for version in versions
            if (version.end is None or version.end > first) and version.first <= last
        )

    def _then(self, files: Iterable[str], at: float) -> list[Presence]:
        """The *files* that existed at a time, else those that appeared soon after."""
        found = [version for path in files if (version := self._around(path, at))]
        return [version for version in found if version.first <= self.past.number_at(at)] or found

    def _last_of(self, version: Presence) -> Presence:
        """The last content of a file."""
        for later in self.past.files[version.path]:
            if later.first == version.end:
                version = later
        return version

    def _is_there(self, path: str) -> bool:
        return self.past.is_present(path) or self._on_disk(path)

    def _on_disk(self, path: str) -> bool:
        """Whether the work tree has the file, tracked or not. A link counts as itself."""
        return os.path.lexists(os.path.join(self.root, path))

    def _changed(self, reference: Reference, path: str, then: Presence | None) -> ReferenceState:
        versions = self.past.files[path]
        if then is None or versions[-1].end is not None or then.blob == versions[-1].blob:
            return ReferenceState(reference.kind, reference.name, "fresh", path)
        commits = sum(version.first > then.first for version in versions)
        share = self.past.share_gone(then.blob, versions[-1].blob)
        return ReferenceState(
            reference.kind, reference.name, "changed", path, commits=commits, share=round(share, 3)
        )

    def _went(self, reference: Reference, then: Presence) -> ReferenceState:
        """Where a missing file moved, step by step, or the commit that removed it."""
        last = self._last_of(then)
        moved = last
        for _ in range(_MAX_MOVES):
            if not moved.moved or moved.end is None:
                break
            if self._is_there(moved.moved):
                return self._at(reference, "moved", then.path, last.end or 0, moved.moved)
            onward = [v for v in self.past.files.get(moved.moved, ()) if v.first >= moved.end]
            if not onward:
                return _unknown(reference)
            moved = self._last_of(onward[0])
        if (
            moved.end is None
            or moved.moved
            or last.blob in self.past.present
            or not self._can_tell(then.path)
        ):
            return _unknown(reference)
        return self._at(reference, "gone", then.path, moved.end)

    def _can_tell(self, path: str) -> bool:
        """Whether a missing file is really absent: not in a submodule and not a build product."""
        return os.path.basename(path) not in self._built and not any(
            path.startswith(f"{m}/") for m in self._modules
        )

    @cached_property
    def _built(self) -> set[str]:
        """Names of files in build folders."""
        found: set[str] = set()
        for folder in _BUILT:
            for _, folders, files in os.walk(os.path.join(self.root, folder)):
                folders[:] = [name for name in folders if name not in _MADE]
                found.update(files)
                if len(found) > _MAX_LOOSE:
                    return found
        return found

    def _at(
        self, reference: Reference, state: Any, path: str, n: int, to: str = ""
    ) -> ReferenceState:
        """Return the state of a name that changed with commit *n*.

        A path that could be a sentence is not repeated, because agents may read it.
        """
        if to and not _PLAIN.fullmatch(to):
            return _unknown(reference)
        path = path if _PLAIN.fullmatch(path) else ""
        return ReferenceState(
            reference.kind,
            reference.name,
            state,
            path,
            to,
            self.past.commits[n][:10],
            self.past.day(n),
        )

    def _folder(self, reference: Reference, name: str, at: float) -> ReferenceState:
        inside_it = [path for path in self._below(name) if path]
        if any(map(self._is_there, inside_it)) or self._on_disk(name):
            return ReferenceState(reference.kind, reference.name, "fresh", f"{name}/")
        then = self._then(inside_it, at)
        if not then:
            return _unknown(reference)
        went = [self._went(reference, found) for found in then]
        if any(found.state == "unknown" for found in went):
            return _unknown(reference)
        if not any(found.state == "moved" for found in went):
            return msgspec.structs.replace(max(went, key=lambda found: found.day), path=f"{name}/")
        folders = Counter(
            found.to[: len(found.to) - len(found.path) + len(name)]
            for found in went
            if found.state == "moved" and found.to.endswith(found.path[len(name) :])
        )
        for to, count in folders.most_common(1):
            if 2 * count > len(went):
                first = min(
                    (found for found in went if found.to.startswith(to + "/")),
                    key=lambda found: found.day,
                )
                return msgspec.structs.replace(first, path=f"{name}/", to=f"{to}/")
        return _unknown(reference)  # its files moved to several folders

    def _below(self, name: str) -> list[str]:
        prefix = name + "/"
        if self._folders is None:
            self._folders = {
                path[:place]
                for path in self.past.files
                for place, sign in enumerate(path)
                if sign == "/"
            }
        return (
            [path for path in self.past.files if path.startswith(prefix)]
            if name in self._folders
            else []
        )

    # -- symbols

    def _symbol(self, reference: Reference, at: float) -> ReferenceState:
        name = reference.name
        having = self._having.get(name, set())
        lives = [version for blob in having for version in self._lives.get(blob, ())]
        if any(version.end is None for version in lives):
            return ReferenceState(reference.kind, name, "fresh")
        if not any(self._existed(lives, at)):
            return _unknown(reference)
        latest = max(lives, key=lambda version: version.end or 0)
        if self._loose is not None and name in self._loose:
            return _fresh(reference)
        newest = sorted(
            having, key=lambda blob: -max(version.end or 0 for version in self._lives[blob])
        )[:_MAX_VERSIONS]
        is_defined = any(
            _defines(self.past.content(blob), name)
            for blob in newest
            # names in a manifest do not count
            if any(os.path.basename(v.path) not in _MANIFESTS for v in self._lives[blob])
        )
        if self._loose is None or not is_defined or self._may_stand(name, lives):
            return _unknown(reference)  # for example, of a library that is not used any more
        return self._at(reference, "gone", latest.path, latest.end or 0)

    def _may_stand(self, name: str, lives: list[Presence]) -> bool:
        """Whether one of the files that had a name still has it or cannot be examined."""
        for path in {version.path for version in lives}:
            if not self._can_tell(path):
                return True
            newest = self.past.files[path][-1]
            if newest.end is None and self.past.is_opaque(newest.blob):
                return True
            try:
                if name.encode() in safe_files.read(
                    os.path.join(self.root, path), _MAX_FILE
                ).replace(b"\0", b""):
                    return True
            except FileNotFoundError:
                continue
            except OSError:
                return True
        return False

    @cached_property
    def _loose(self) -> set[str] | None:
        """Return the identifiers in files that differ from git's index; None for too many."""
        found: set[str] = set()
        looked = 0
        for path in self._files_on_disk():
            relative = os.path.relpath(path, self.root)
            try:
                info = os.lstat(path)
                known = self._tracked.get(relative)
                if (
                    known is not None
                    and known[1] == info.st_size
                    and abs(known[0] - info.st_mtime) < 1e-3
                ):
                    continue
                looked += 1
                if looked > _MAX_LOOSE:
                    return None
                text = safe_files.read(path, _MAX_FILE)
                if names_in(text).size:
                    found.update(word.decode() for word in words_in(text))
            except OSError:  # too large, no regular file, or gone meanwhile
                continue
        return found

    def _files_on_disk(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if name not in _MADE]
            yield from (os.path.join(folder, name) for name in files)

    # -- commands

    def _command(self, reference: Reference, at: float) -> ReferenceState:
        words = reference.name.split()
        program = words[0]
        if script := _script(words):
            found = self._file(Reference("file", script), at)
            return _as_command(found, reference)
        if program in ("python", "python3") and "-m" in words[:-1]:
            return self._module(reference, words[words.index("-m") + 1], at)
        target = next(
            (w for w in words[2 if "run" in words[:2] else 1 :] if not w.startswith("-")), ""
        )
        if not target or "/" in target or program not in _DEFINERS:
            return _unknown(reference)
        names, defines = _DEFINERS[program]
        now = self._defined_now(defines, names)
        if any(found is None or any(fnmatchcase(target, one) for one in found) for found in now):
            return (
                _fresh(reference)
                if any(found and target in found for found in now)
                else _unknown(reference)
            )
        versions = [
            version
            for path in self._called(names)
            for version in self.past.files[path]
            if target in (self._defined(defines, version.blob) or ())
        ]
        if any(version.end is None for version in versions):
            return _fresh(reference)
        if not any(self._existed(versions, at)):
            return _unknown(reference)
        latest = max(versions, key=lambda version: version.end or 0)
        return self._at(reference, "gone", latest.path, latest.end or 0)

    def _module(self, reference: Reference, module: str, at: float) -> ReferenceState:
        base = module.replace(".", "/")
        for path in (
            f"{base}.py",
            f"{base}/__main__.py",
            f"src/{base}.py",
            f"src/{base}/__main__.py",
        ):
            if self._is_there(path):
                return _fresh(reference)
            if self._around(path, at):
                found = self._file(Reference("file", path), at)
                return _as_command(found, reference)
        return _unknown(reference)

    @cache  # noqa: B019 - it lives as long as one run
    def _defined(self, defines: Callable[[bytes], set[str] | None], blob: bytes) -> set[str] | None:
        return defines(self.past.content(blob))

    @cache  # noqa: B019
    def _called(self, names: tuple[str, ...]) -> list[str]:
        # `*.mk` matches any such ending
        return [
            path
            for path in self.past.files
            if any(fnmatchcase(os.path.basename(path), name) for name in names)
        ]

    @cache  # noqa: B019
    def _defined_now(
        self, defines: Callable[[bytes], set[str] | None], names: tuple[str, ...]
    ) -> list[set[str] | None]:
        """Definitions in files of these names, on disk and in the last commit."""
        found = []
        for path in dict.fromkeys(
            [*self._called(names), *(name for name in names if name[0] != "*")]
        ):
            with contextlib.suppress(OSError):
                found.append(defines(safe_files.read(os.path.join(self.root, path), _MAX_FILE)))
            if self.past.is_present(path):
                found.append(defines(self.past.content(self.past.files[path][-1].blob)))
        return found

    # -- commits and branches

    def _commit(self, reference: Reference, at: float) -> ReferenceState:
        known = self._is_known(reference.name)
        return (
            _unknown(reference)
            if known is None
            else _fresh(reference)
            if known
            else ReferenceState("commit", reference.name, "gone")
        )

    def _named_branch(self, reference: Reference, at: float) -> ReferenceState:
        states: dict[str, State] = {"there": "fresh", "gone": "gone"}
        state = states.get(self._branch(reference.name), "unknown")
        return ReferenceState("branch", reference.name, state)


def _defines(text: bytes, name: str) -> bool:
    """Whether a text defines a name: function, class, constant, or configuration key."""
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    patterns = (
        (
            r"\b(?:def|class|function\*?|func|fn|fun|const|let|var|val|type|"
            r"interface|enum|struct|trait|module|object|record|static|define|"
            rf"sub|proc|rpc|message|service|table|view)\b[^\n(={{]{{0,60}}{word}"
        ),
        (
            r"^[ \t]*(?:export[ \t]+)?(?:[\w$]+\.)*"
            rf"""["']?{word}["']?[ \t]*(?:\??:(?!:)|[:?+]?=(?!=))"""
        ),
        rf"\bfunc[ \t]*\([^()\n]*\)[ \t]*{word}",
        rf"^[ \t]*(?:[\w$<>\[\],?*&]+[ \t]+){{0,4}}{word}[ \t]*\([^;\n]*\)[^;\n]*\{{[ \t]*$",
    )
    # only short lines: a repository may contain lines that make a pattern slow
    lines = [
        line
        for line in text.decode("utf-8", "replace").split("\n")
        if name in line and len(line) <= _MAX_LINE
    ]
    found = "\n".join(lines)
    return any(re.search(pattern, found, re.MULTILINE) for pattern in patterns)


def _unknown(reference: Reference) -> ReferenceState:
    return ReferenceState(reference.kind, reference.name, "unknown")


def _fresh(reference: Reference) -> ReferenceState:
    return ReferenceState(reference.kind, reference.name, "fresh")


def _as_command(found: ReferenceState, reference: Reference) -> ReferenceState:
    """The finding for a command whose file has this finding: a changed script still runs."""
    if found.state == "changed":
        return _fresh(reference)
    return msgspec.structs.replace(found, kind="command", name=reference.name)


def _counts(path: str) -> bool:
    """Whether a file counts as evidence. Committed notes do not, as they contain all old names."""
    return not path.startswith(".memsearch/") and "/.memsearch/" not in path


def _script(words: list[str]) -> str:
    """The script that a command runs, or ``""``."""
    if words[0].startswith("./"):
        return words[0].removeprefix("./")
    ends = _RUNS.get(words[0])
    return next(
        (w.partition("::")[0].removeprefix("./") for w in words[1:] if ends and _ends(w, ends)), ""
    )


def _ends(word: str, ends: tuple[str, ...]) -> bool:
    return "/" in word and word.partition("::")[0].endswith(ends)


def _make_targets(text: bytes) -> set[str] | None:
    """Return the targets of a makefile, ``*`` for a pattern; None if there may be others."""
    names = {
        name.decode("utf-8", "replace") for line in _TARGET.findall(text) for name in line.split()
    }
    if _INCLUDES.search(text) or any(name.startswith("$") and "/" not in name for name in names):
        return None
    return {re.sub(r"[\[\]?*]", "", name).replace("%", "*") for name in names}


def _recipes(text: bytes) -> set[str] | None:
    return None if _INCLUDES.search(text) else {name.decode() for name in _RECIPE.findall(text)}


def _scripts(text: bytes) -> set[str] | None:
    try:
        manifest = msgspec.json.decode(text.removeprefix(b"\xef\xbb\xbf"))
    except msgspec.DecodeError:
        return None
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    return set(scripts) if isinstance(scripts, dict) else set()


#: Programs that run a file -> the endings of such files.
_RUNS = {
    **dict.fromkeys(("bash", "sh", "zsh"), (".sh",)),
    **dict.fromkeys(("python", "python3", "pytest", "uv", "poetry"), (".py",)),
    **dict.fromkeys(("node", "deno", "bun"), (".js", ".mjs", ".cjs", ".ts")),
    "ruby": (".rb",),
}
_Definer = tuple[tuple[str, ...], Callable[[bytes], set[str] | None]]
_DEFINERS: dict[str, _Definer] = {
    "make": (_MAKEFILES, _make_targets),
    "just": (_JUSTFILES, _recipes),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), (("package.json",), _scripts)),
}
