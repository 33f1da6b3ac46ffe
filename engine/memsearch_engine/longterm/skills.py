"""Drafts of skills in memsearch's layout.

The layout is ``.memsearch/skill-candidates/<name>/SKILL.md`` with a ``meta.json`` beside it.

A model drafts skills from recurring procedures (``skill_drafts``), or the owner writes one. Drafts
are not injected. The owner installs a draft into folders, and uninstalling restores these folders
byte for byte. A draft follows the Agent Skills specification
(https://agentskills.io/specification), and its reference library validates it. Skills that a
consolidation made and the owner accepted are drafts, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.safe_text import plain
from memsearch_engine.core.settings import Settings, SkillTask
from memsearch_engine.core.state import change_state, state_rows, using
from memsearch_engine.journal.disk import locked
from memsearch_engine.longterm import pages

TASK: Literal["memory_to_skill"] = "memory_to_skill"
FOLDER = "skill-candidates"
_MAX_FILE = 256 * 1024
_MOST, _MAX_SOURCES = 500, 200
SCHEMA = """
CREATE TABLE IF NOT EXISTS skills_trash (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, project TEXT NOT NULL,\
 name TEXT NOT NULL, skill TEXT NOT NULL, meta TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS skills_written (hash TEXT PRIMARY KEY,\
 how TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
"""


class _Meta(msgspec.Struct):
    """The fields of a ``meta.json``, as far as they have memsearch's types."""

    name: str = ""
    status: str = "candidate"
    description: str = ""
    occurrences: int | list[Any] | None = None
    sources: list[str] = []
    reason: str = ""
    created_at: str = ""
    updated_at: str = ""
    content_hash: str = ""
    installed_hash: str = ""
    installed_at: str = ""
    installed_paths: list[str] = []

    @property
    def seen(self) -> int:
        count = self.occurrences
        return (
            count
            if isinstance(count, int)
            else len(count)
            if count is not None
            else len(self.sources)
        )


class Candidate(msgspec.Struct):
    """A draft of a skill.

    Attributes:
        path: the path of its SKILL.md.
        seen: the number of notes that support it.
        sources: the ids of these notes.
        state: ``new``, ``installed``, ``update ready`` (the draft has changed since it was
            installed), ``edited`` (the installed copy has changed).
        installed: the folders into which this home has installed it.
        gone, superseded: its notes that do not exist any more, and those that a newer note
            supersedes.
        problems: the errors that the specification's validator found.
        is_strange: this home did not draft it: it came with a clone, or from memsearch.
    """

    name: str
    description: str
    path: str
    text: str
    seen: int
    sources: list[str]
    reason: str
    state: str
    installed: list[str]
    gone: list[str] = []
    superseded: list[str] = []
    problems: list[str] = []
    of_consolidation: bool = False
    is_strange: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether its text differs from the installed one."""
        return self.state in ("new", "update ready")


# -- listing


def store(project: Project) -> str:
    """The folder with the drafts of a project."""
    return os.path.join(os.path.dirname(project.memory), FOLDER)


def slug_of(name: str) -> str:
    """Convert a name to the specification's form: a-z, 0-9, single hyphens, 64 characters."""
    return (
        re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9]+", "-", name.lower())).strip("-")[:64].strip("-")
    )


def all_of(
    home: Home, project: Project, state_of: Callable[[str], str] | None = None
) -> list[Candidate]:
    """Every draft of a project, and the skills that consolidation made, by name.

    Args:
        state_of: note id -> ``gone``, ``overtaken`` or ''.
    """
    found: dict[str, Candidate] = {}
    ours = written(home)
    for folder, metas in (
        (home.longterm / "skills", home.root / "skills"),
        (Path(store(project)), None),
    ):
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(folder))[:_MOST]:
                candidate = _read(
                    folder / name,
                    metas / f"{name}.json" if metas else folder / name / "meta.json",
                    state_of,
                )
                if candidate is None:
                    continue
                candidate.of_consolidation = metas is not None
                candidate.is_strange = metas is None and hash_of(candidate.text) not in ours
                # a skill from outside must not replace another one
                if name not in found or not candidate.is_strange:
                    found[name] = candidate
    return [found[name] for name in sorted(found)]


def written(home: Home) -> dict[str, str]:
    """Hashes of texts that this home has written -> ``model`` or ``hand``."""
    return dict(state_rows(home, SCHEMA, "SELECT hash, how FROM skills_written"))


def _read(folder: Path, meta_file: Path, state_of: Callable[[str], str] | None) -> Candidate | None:
    name = folder.name
    if slug_of(name) != name:
        return None
    try:
        text = safe_files.read(folder / "SKILL.md", _MAX_FILE).decode("utf-8", "replace")
    except OSError:
        return None
    meta = _meta(meta_file)
    was = meta.installed_hash
    state = "new" if not was else "installed" if was == hash_of(text) else "update ready"
    standing = (
        {source: state_of(source) for source in meta.sources[:_MAX_SOURCES]} if state_of else {}
    )
    return Candidate(
        name,
        plain(meta.description or _described(text)),
        str(folder / "SKILL.md"),
        text,
        meta.seen,
        meta.sources,
        plain(meta.reason),
        state,
        [],
        [s for s, how in standing.items() if how == "gone"],
        [s for s, how in standing.items() if how == "overtaken"],
    )


def _meta(file: Path) -> _Meta:
    try:
        return msgspec.json.decode(safe_files.read(file, _MAX_FILE), type=_Meta)
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return _Meta()  # the file may have come with a clone, and contain anything


def _described(text: str) -> str:
    match = re.search(r"(?m)^description:\s*(.+)$", text[:4000])
    return match[1].strip().strip("\"'") if match else ""


def hash_of(text: str) -> str:
    """The hash of a text in memsearch's format, which is git's blob hash."""
    data = text.encode("utf-8", "surrogateescape")
    return (
        "gitblob:"
        + hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    )


# -- writing


def chosen(settings: Settings) -> tuple[str, SkillTask] | None:
    """Return the agent and settings table that enable the drafting of skills, or None."""
    return pages.enabled_task(settings, TASK)


def render(name: str, description: str, body: str, home: Home) -> str:
    """The text of a SKILL.md. The front matter is quoted because it comes from a model."""
    from memsearch_engine.secrets.scan import redact

    described = " ".join(redact(plain(description), home)[0].split())[:1000]
    return (
        f"---\nname: {name}\n"
        f"description: {json.dumps(described, ensure_ascii=False)}\n---\n\n{body}\n"
    )


def validated(name: str, text: str) -> list[str]:
    """The errors that the specification's reference library finds in a skill."""
    from skills_ref.validator import validate  # takes 100 ms, and few commands need it

    with tempfile.TemporaryDirectory(prefix="memsearch-") as folder:
        place = Path(folder, name)
        place.mkdir()
        (place / "SKILL.md").write_text(text, encoding="utf-8")
        return [str(problem) for problem in validate(place)]


def write(
    home: Home,
    project: Project,
    name: str,
    text: str,
    description: str,
    sources: Iterable[str],
    seen: int,
    reason: str,
    how: Literal["model", "hand"],
) -> str:
    """Write a draft, or a new text of one.

    Returns:
        The path of its SKILL.md.

    Raises:
        Unreachable, UsageError: a file cannot be read or written.
    """
    folder = os.path.join(store(project), name)
    with locked(home, folder):
        meta = _meta(Path(folder, "meta.json"))
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        meta.name, meta.created_at, meta.updated_at, meta.content_hash = (
            name,
            meta.created_at or now,
            now,
            hash_of(text),
        )
        meta.description = " ".join(plain(description).split())[:1000]
        meta.sources = sorted({*meta.sources, *sources})
        meta.occurrences = max(seen, meta.seen)
        meta.reason = " ".join(plain(reason).split())[:300] or meta.reason
        change_state(
            home,
            SCHEMA,
            "INSERT OR REPLACE INTO skills_written (hash, how, at) VALUES (?,?,?)",
            (hash_of(text), how, time.time()),
        )
        put(os.path.join(folder, "SKILL.md"), text)
        put(os.path.join(folder, "meta.json"), _encoded(meta))
    return os.path.join(folder, "SKILL.md")


def _encoded(meta: _Meta) -> str:
    return msgspec.json.format(msgspec.json.encode(meta), indent=2).decode() + "\n"


def put(path: str, text: str) -> None:
    """Write a file of a draft if its content differs. Raises Unreachable."""
    pages.put(path, pages.bytes_of(path), text.encode("utf-8", "replace"))


# -- installing


def note_installed(
    home: Home, candidate: Candidate, paths: list[str], text: str | None = None
) -> None:
    """Record where a draft was installed.

    Args:
        paths: the installed files; empty if it is not installed any more.
        text: the installed text; by default the current one.
    """
    file = (
        Path(home.root, "skills", f"{candidate.name}.json")
        if candidate.of_consolidation
        else Path(candidate.path).with_name("meta.json")
    )
    meta = _meta(file)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    meta.status, meta.installed_paths, meta.updated_at = (
        "installed" if paths else "candidate",
        paths,
        now,
    )
    meta.installed_hash = hash_of(candidate.text if text is None else text) if paths else ""
    meta.installed_at = now if paths else ""
    if candidate.of_consolidation:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(home, str(file)):
        put(str(file), _encoded(meta))


# -- removing


def keep(home: Home, project: Project, candidate: Candidate) -> int:
    """Store a draft for ``restore``. Returns its number."""
    meta = _encoded(_meta(Path(candidate.path).with_name("meta.json")))
    with using(home, SCHEMA) as db:
        values = (time.time(), project.id, candidate.name, candidate.text, meta)
        query = "INSERT INTO skills_trash (at, project, name, skill, meta) VALUES (?,?,?,?,?)"
        return int(db.execute(query, values).lastrowid or 0)
