"""The long-term files: their names, layout, permitted content, and changes.

``longterm/`` contains the input of a consolidation (``raw_memories.md``, ``rollout_summaries/``,
``extensions/``) and its accepted output (``MEMORY.md``, ``memory_summary.md``, ``skills/``). The
consolidated state is stored as one parentless commit in a bare repository beside it. Without
history, deleted text is gone. Git itself is not run, so no hooks run.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.reply import estimate
from memsearch_engine.core.safe_text import plain
from memsearch_engine.injection.injection_log import cited
from memsearch_engine.journal.disk import locked
from memsearch_engine.longterm.store import SessionMemory

MEMORY, SUMMARY, RAW, DIFF = (
    "MEMORY.md",
    "memory_summary.md",
    "raw_memories.md",
    "workspace_diff.md",
)
SUMMARIES, NOTES, SKILLS, EXTENSIONS = (
    "rollout_summaries",
    "extensions/ad_hoc/notes",
    "skills",
    "extensions",
)
DOCUMENTS = (MEMORY, SUMMARY)
VERSION = "v1"
_FOLDERS = (SUMMARIES, EXTENSIONS, "extensions/ad_hoc", NOTES, SKILLS)
EVERYWHERE = ""
#: ``## Everywhere``, ``## Project orders-api (1a2b3c4d)``; the id is a prefix of the project's
#: identity.
_SECTION = re.compile(r"##\s+(?:(Everywhere)|Project\s+(.{1,120}?)\s*\(([0-9a-f]{8})\))\s*")
_SKILL = re.compile(
    r"skills/[a-z0-9][a-z0-9-]{0,63}/(?:SKILL\.md|"
    r"(?:scripts|templates|examples)/[A-Za-z0-9][A-Za-z0-9._-]{0,80})"
)
_BULLET = re.compile(r"\s{0,3}[-*+]\s")
_RESOURCE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d).*\.md")
_RESOURCE_DAYS = 7
_MAX_DIFF = 4 * 1024 * 1024
_MAX_FILE = 1024 * 1024
_SKILL_LINES = 500
_MAIN = b"refs/heads/main"
_NO_SECTION = "put it under a section, or move the file aside"


class InvalidArtifacts(MemsearchError):
    """The output of a consolidation is not valid."""


class ArtifactSection(msgspec.Struct):
    """A section of MEMORY.md or memory_summary.md.

    ``scope``: eight hex digits of a project, or EVERYWHERE.
    """

    scope: str
    heading: str
    lines: list[str]


def is_artifact(path: str) -> bool:
    """Whether consolidation may write a file. All other files of the folder are evidence."""
    return path in (MEMORY, SUMMARY) or _SKILL.fullmatch(path) is not None


# -- files


def check_root(folder: Path) -> None:
    """Check that the workspace is no link and contains no linked folder.

    Raises:
        Unreachable: it is, and writes would go elsewhere.
    """
    for part in (folder, *(folder / name for name in _FOLDERS)):
        if part.is_symlink() or (part.exists() and not part.is_dir()):
            raise Unreachable(
                f"{part} is not a folder of its own", "move it aside; links are not followed"
            )


def files(folder: Path) -> dict[str, Path]:
    """Regular files by their path inside *folder*.

    Hidden files, links and files behind links are skipped.
    """
    found: dict[str, Path] = {}
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not os.path.islink(os.path.join(base, name))
        )
        for name in sorted(names):
            path = Path(base, name)
            if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                found[path.relative_to(folder).as_posix()] = path
    return found


def remove_links(folder: Path) -> list[str]:
    """Delete symbolic links but not their targets. Returns their paths."""
    gone = []
    for base, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            path = Path(base, name)
            if path.is_symlink():
                path.unlink()
                gone.append(path.relative_to(folder).as_posix())
    return gone


def read(folder: Path, name: str) -> str:
    """The text of a file; '' if there is no file or it is a link."""
    path = folder / name
    if any(part.is_symlink() for part in [path, *path.parents[: name.count("/")]]):
        return ""
    try:
        return path.read_bytes()[:_MAX_FILE].decode("utf-8", "replace")
    except OSError:
        return ""


def write(home: Home, folder: Path, name: str, text: str) -> None:
    """Write a file of the workspace atomically.

    Secrets and terminal escapes are removed, links in the path are refused.
    """
    path = folder / name
    check_root(folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    for part in reversed(path.parents[: name.count("/")]):
        if part.is_symlink():
            raise Unreachable(f"{part} is a link", "links are not followed")
        part.mkdir(mode=0o700, exist_ok=True)
    Home.put(path, clean(home, text).encode("utf-8", "replace"), durable=True)


def clean(home: Home, text: str) -> str:
    """Clean text for the workspace: no secrets and no terminal escapes."""
    from memsearch_engine.secrets.scan import redact

    return redact(plain(text), home)[0]


def artifacts(home: Home, folder: Path) -> dict[str, str]:
    """The clean output of consolidation, by path."""
    return {name: clean(home, read(folder, name)) for name in files(folder) if is_artifact(name)}


# -- inputs


def write_inputs(
    home: Home,
    folder: Path,
    memories: list[SessionMemory],
    superseded: Mapping[str, list[str]] = MappingProxyType({}),
) -> None:
    """Write *memories* into the evidence files. Other content of these files is removed.

    Args:
        superseded: id of a memory -> lines about its notes that later sessions supersede.
    """
    check_root(folder)
    summaries = folder / SUMMARIES
    summaries.mkdir(mode=0o700, exist_ok=True)
    wanted = {f"{memory.stem}.md": _recap(memory) for memory in memories}
    for path in summaries.iterdir():
        if path.suffix == ".md" and path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        _write_changed(home, folder, f"{SUMMARIES}/{name}", text)
    _write_changed(home, folder, RAW, _raw(memories, superseded))


def _write_changed(home: Home, folder: Path, name: str, text: str) -> None:
    now = read(folder, name)
    if now != text and now != clean(home, text):
        write(home, folder, name, text)


def _recap(memory: SessionMemory) -> str:
    head = [
        f"memory: {memory.id}",
        f"agent: {memory.agent}",
        f"session: {memory.session}",
        f"updated_at: {_iso(memory.watermark)}",
        f"transcript: {memory.path}",
        f"cwd: {memory.cwd}",
    ]
    return "\n".join([*head, "", memory.summary.strip(), ""])


def _raw(memories: list[SessionMemory], superseded: Mapping[str, list[str]]) -> str:
    lines = ["# Raw memories", ""]
    if not memories:
        lines.append("No session has taught anything yet.")
    for memory in memories:
        project = f"{memory.project_name} ({memory.project[:8]})" if memory.project else "none"
        lines += [
            f"## [mem:{memory.id}]",
            f"updated_at: {_iso(memory.watermark)}",
            f"agent: {memory.agent}",
            f"project: {project}",
            f"rollout_summary_file: {SUMMARIES}/{memory.stem}.md",
            *superseded.get(memory.id, ()),
            "",
            memory.raw_memory.strip(),
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def prune_resources(folder: Path, now: float) -> None:
    """Delete extension resources with names that are dated more than a week ago."""
    check_root(folder)
    for extension in sorted((folder / EXTENSIONS).glob("*")):
        if extension.is_symlink() or not (extension / "instructions.md").is_file():
            continue
        resources = extension / "resources"
        for path in sorted(resources.glob("*.md")) if not resources.is_symlink() else ():
            match = _RESOURCE.fullmatch(path.name)
            if match and path.is_file() and not path.is_symlink():
                with contextlib.suppress(ValueError):
                    made = (
                        datetime.strptime(match[1], "%Y-%m-%dT%H-%M-%S")
                        .replace(tzinfo=UTC)
                        .timestamp()
                    )
                    if made <= now - _RESOURCE_DAYS * 86400:
                        path.unlink()


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# -- the consolidated state


class ArtifactChange(msgspec.Struct, frozen=True):
    """A changed file. ``kind``: A added, M changed, D deleted."""

    kind: str
    path: str
    before: str
    after: str


class Baseline:
    """The files after the last success, in a bare repository of our own."""

    def __init__(self, home: Home) -> None:
        self.home, self.path = home, home.longterm_baseline

    def diff(self, folder: Path) -> list[ArtifactChange]:
        """The differences of *folder* from the baseline, by path.

        Without a readable baseline every file is new. Writes nothing.
        """
        from dulwich.objects import Blob

        old, texts = self._tree()
        new = {
            name: read(folder, name).encode("utf-8", "replace")
            for name in files(folder)
            if name != DIFF
        }
        changes = []
        for name in sorted({*old, *new}):
            data = new.get(name)
            digest = Blob.from_string(data).id if data is not None else None
            if digest != old.get(name):
                kind = "D" if data is None else "M" if name in old else "A"
                before = texts(old[name]) if name in old else b""
                changes.append(
                    ArtifactChange(
                        kind,
                        name,
                        before.decode("utf-8", "replace"),
                        (data or b"").decode("utf-8", "replace"),
                    )
                )
        return changes

    def _tree(self) -> tuple[dict[str, Any], Callable[[Any], bytes]]:
        """Return path -> object name, and a reader of objects; empty without a baseline."""
        from dulwich.errors import NotGitRepository
        from dulwich.object_store import iter_tree_contents
        from dulwich.refs import Ref
        from dulwich.repo import Repo

        if not self.path.is_symlink() and self.path.is_dir():
            with contextlib.suppress(
                NotGitRepository, KeyError, OSError, ValueError, AssertionError
            ):
                repo = Repo(str(self.path))
                with contextlib.closing(repo):
                    store = repo.object_store
                    commit: Any = store[repo.refs[Ref(_MAIN)]]
                    found = {e.path.decode(): e.sha for e in iter_tree_contents(store, commit.tree)}
                    objects: dict[Any, Any] = {sha: store[sha] for sha in set(found.values())}
                    blobs = {sha: blob.data for sha, blob in objects.items()}
                return found, blobs.__getitem__
        return {}, (lambda _: b"")

    def files(self) -> dict[str, str]:
        """The consolidated texts, by path."""
        found, texts = self._tree()
        return {name: texts(sha).decode("utf-8", "replace") for name, sha in found.items()}

    def commit(self, texts: dict[str, str]) -> None:
        """Make *texts* (by path) the baseline. Older content is deleted, loose objects included."""
        from dulwich.objects import Blob
        from dulwich.refs import Ref
        from dulwich.repo import Repo

        made = self.path.with_name(f"{self.path.name}.new")
        with locked(self.home, str(self.path)):
            shutil.rmtree(made, ignore_errors=True)  # left by a process that was killed here
            made.mkdir(mode=0o700)
            with contextlib.closing(Repo.init_bare(str(made))) as repo:
                blobs = []
                for name, text in texts.items():
                    blob = Blob.from_string(text.encode("utf-8", "replace"))
                    repo.object_store.add_object(blob)
                    blobs.append((name.encode(), blob.id, 0o100644))
                found = committed(repo.object_store, blobs, [], "consolidated\n")
                repo.refs[Ref(_MAIN)] = found
                repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(_MAIN))
            self.clear()
            # if the process is killed before this, the next run treats everything as new
            os.rename(made, self.path)

    def clear(self) -> None:
        """Delete the baseline."""
        if self.path.is_symlink():
            self.path.unlink()
        elif self.path.exists():
            shutil.rmtree(self.path)


def committed(objects: Any, blobs: list[Any], parents: list[bytes], message: str) -> Any:
    """Add a commit to the objects of a bare repository of ours.

    Args:
        objects: the object store of dulwich.
        blobs: (path, name of the object, mode) of each file.

    Returns:
        The name of the commit, as bytes.
    """
    from dulwich.index import commit_tree
    from dulwich.objects import Commit

    commit: Any = Commit()
    commit.tree, commit.parents = commit_tree(objects, blobs), parents
    commit.author = commit.committer = b"memsearch <memsearch@localhost>"
    commit.author_time = commit.commit_time = int(time.time())
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding, commit.message = b"UTF-8", message.encode()
    objects.add_object(commit)
    return commit.id


def diff_text(changes: list[ArtifactChange]) -> str:
    """The changes as text for the consolidation: every path, then unified diffs up to 4 MiB."""
    lines = ["# What changed since the last consolidation", "", "## Status", ""]
    lines += [f"- {change.kind} {change.path}" for change in changes] or ["- none"]
    body = "".join(
        f"{line}\n"
        for change in changes
        for line in difflib.unified_diff(
            change.before.splitlines(),
            change.after.splitlines(),
            "/dev/null" if change.kind == "A" else f"a/{change.path}",
            "/dev/null" if change.kind == "D" else f"b/{change.path}",
            lineterm="",
        )
    )
    data = body.encode()
    if len(data) > _MAX_DIFF:
        body = data[:_MAX_DIFF].decode("utf-8", "ignore")
        body += (
            f"\n… cut: {len(data) - len(body.encode())} more bytes; "
            "the files themselves are whole\n"
        )
    return "\n".join([*lines, "", "## Diff", "", "````diff", body.rstrip("\n"), "````", ""])


# -- the output of consolidation


def sections(text: str, where: str = "") -> list[ArtifactSection]:
    """The sections of MEMORY.md or memory_summary.md.

    Args:
        where: the beginning of an error message.

    Raises:
        InvalidArtifacts: there is text outside of sections.
    """
    found: list[ArtifactSection] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            match = _SECTION.fullmatch(line.strip())
            if match is None:
                raise InvalidArtifacts(
                    f"{where}line {number}: {line.strip()[:80]!r} is neither Everywhere nor "
                    "Project NAME (ID)",
                    _NO_SECTION,
                )
            found.append(ArtifactSection(EVERYWHERE if match[1] else match[3], line.strip(), []))
        elif re.match(r"#\s", line) and found:
            raise InvalidArtifacts(
                f"{where}line {number}: a heading above the sections", _NO_SECTION
            )
        elif found:
            found[-1].lines.append(line)
        elif line.strip() and line.strip() != VERSION and not re.match(r"#\s", line):
            raise InvalidArtifacts(
                f"{where}line {number}: text outside of the sections: {line.strip()[:80]!r}",
                _NO_SECTION,
            )
    return found


def validate(folder: Path, known: dict[str, str], projects: set[str], max_tokens: int) -> None:
    """Check the output of a consolidation.

    Args:
        known: ids of memories that may be cited -> eight hex digits of their project, '' for none.
        projects: eight hex digits of each project that may have a section.
        max_tokens: the maximum size of memory_summary.md, which every session pays for.

    Raises:
        InvalidArtifacts: names the first error.
    """
    if links := remove_links(folder):
        raise InvalidArtifacts(f"it made a link: {links[0]}")
    for name, path in files(folder).items():
        if is_artifact(name) and path.stat().st_size > _MAX_FILE:
            raise InvalidArtifacts(f"{name} is larger than {_MAX_FILE // 1024} kB")
        if name.endswith("/SKILL.md") and len(read(folder, name).splitlines()) > _SKILL_LINES:
            raise InvalidArtifacts(f"{name} has more than {_SKILL_LINES} lines")
    memory, summary = read(folder, MEMORY), read(folder, SUMMARY)
    if not memory.strip():
        raise InvalidArtifacts(f"{MEMORY} is missing or empty")
    if summary.split("\n", 1)[0].rstrip() != VERSION:
        raise InvalidArtifacts(f"the first line of {SUMMARY} is not {VERSION}")
    for name, text in ((MEMORY, memory), (SUMMARY, summary)):
        found = sections(text, f"{name}, ")
        if unknown := {section.scope for section in found} - projects - {EVERYWHERE}:
            raise InvalidArtifacts(f"{name} has a section for an unknown project {min(unknown)}")
        if unknown := set(cited(text)) - set(known):
            raise InvalidArtifacts(f"{name} cites an unknown memory {min(unknown)}")
        for section in found:
            _check_scope(name, section, known)
        if "<!--" in text or "<memsearch-memory" in text or "</memsearch-memory" in text:
            raise InvalidArtifacts(f"{name} has a comment or a fence in it")
    for scope in {EVERYWHERE, *projects}:
        if (tokens := estimate(part_for(summary, scope))) > max_tokens:
            raise InvalidArtifacts(
                f"{SUMMARY} is too long: {tokens} tokens for one session, {max_tokens} are allowed"
            )


def _check_scope(name: str, section: ArtifactSection, known: dict[str, str]) -> None:
    """Raise InvalidArtifacts if a bullet in a project's section rests only on other projects."""
    for start, stop in blocks(section.lines):
        text = "\n".join(section.lines[start:stop])
        homes = {known[memory] for memory in cited(text)}
        if section.scope and homes and section.scope not in homes and "" not in homes:
            raise InvalidArtifacts(
                f"{name}: under {section.heading!r} stands what another project taught: "
                f"{text[:80]!r}"
            )


def blocks(lines: list[str]) -> list[tuple[int, int]]:
    """Return the (begin, end) of each bullet, heading and paragraph.

    A bullet includes its continuation lines. Blank lines belong to no block.
    """
    found: list[tuple[int, int]] = []
    open_ = False
    for number, line in enumerate(lines):
        if not line.strip():
            open_ = False
        elif open_ and not _BULLET.match(line) and not line.startswith("#"):
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
            open_ = not line.startswith("#")
    return found


def part_for(summary: str, scope: str) -> str:
    """Return the lines of memory_summary.md for a project and for all projects."""
    try:
        found = sections(summary)
    except InvalidArtifacts:
        return ""  # somebody removed the sections; `doctor` reports it
    parts = [
        s for s in found if s.scope in (EVERYWHERE, scope) and any(line.strip() for line in s.lines)
    ]
    return "\n".join("\n".join([section.heading, *section.lines]).strip() for section in parts)
