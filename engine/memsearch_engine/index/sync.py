"""Keeping the catalog up with the files: what changed, what is gone, what can't be read.

Words are searchable as soon as ``scan`` has seen a file; vectors follow in the background. A file
is removed from the
catalog only when the folder that should hold it was listed completely and without error: an
unreadable folder is reported, never taken for deleted. One bad file never stops the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.model import TurnName
from memsearch_engine.core import safe_files
from memsearch_engine.core.ids import digest
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog, IndexedEntry
from memsearch_engine.index.chunk import asked_before, chunks_of, text_of
from memsearch_engine.index.rows import LONGTERM_KINDS
from memsearch_engine.journal.files import DayFile, Listing, list_files
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import list_shared

_IGNORE_FILES = (".gitignore", ".ignore", ".memsearchignore")
Progress = Callable[[int, int], None]
#: What users had asked in turns, as far as that is known: (agent, session, turn) -> prompt, without
#: secrets.
Prompts = Callable[[list[TurnName]], dict[TurnName, str]]


class Scan(msgspec.Struct):
    """What a scan found and did. ``failed`` holds (path, reason)."""

    files: int = 0
    changed: int = 0
    removed: int = 0
    failed: list[tuple[str, str]] = []


def scan(
    catalog: Catalog,
    project: str,
    roots: list[str],
    settings: Settings,
    *,
    memory: str = "",
    shared: str = "",
    longterm: str = "",
    force: bool = False,
    progress: Progress | None = None,
    prompts: Prompts | None = None,
) -> Scan:
    """Bring the catalog up to what is on disk under *roots*.

    Args:
        roots: folders or files; *memory* among them is the project's own memory folder,
            *shared* that of its team, to which ignore
            files of the repository don't apply; *longterm*, where files are called by what their
            entries are.
        force: read every file again, also those whose time stamp is as it was.
        prompts: what was asked is embedded before notes; None where nothing is.
    """
    result = Scan(failed=[])
    known = catalog.files.known(project)
    present: set[str] = set()
    listed: list[tuple[str, bool]] = []  # (root, whether what is not in it is gone)
    unreadable: set[str] = set()
    for root in dict.fromkeys(os.path.abspath(root) for root in roots):
        listing = list_shared(root) if root == shared else list_files(root)
        own = root in (memory, shared, longterm)
        keep = [
            file for file in _kept(listing, root, settings, own=own) if file.path not in present
        ]
        gone_root = not os.path.exists(root)
        for path, reason in listing.problems:
            unreadable.add(path)
            if path == root and gone_root and own:
                continue  # a project that has no memory yet
            result.failed.append((path, reason))
        listed.append((root, listing.complete or (gone_root and _parent_listed(root))))
        for number, file in enumerate(keep):
            present.add(file.path)
            result.files += 1
            try:
                kind = (
                    LONGTERM_KINDS.get(os.path.basename(file.path), "") if root == longterm else ""
                )
                if _refresh(
                    catalog,
                    project,
                    root,
                    file,
                    known.get(file.path),
                    settings,
                    force,
                    prompts,
                    kind,
                ):
                    result.changed += 1
            except OSError as error:
                reason = error.strerror or str(error)
                catalog.files.fail(project, root, file.path, reason)
                result.failed.append((file.path, reason))
            if progress:
                progress(number + 1, len(keep))
    for path in known:
        # one root passes over what another holds (`index .` and the memory folder in it): all that
        # could hold it must know
        holders = [
            knows
            for root, knows in listed
            if path == root or path.startswith(root.rstrip(os.sep) + os.sep)
        ]
        if path in present or not holders or not all(holders):
            continue
        if path not in unreadable or not os.path.exists(
            path
        ):  # a broken link, or vanished between listing and stat
            catalog.files.remove(project, path)
            result.removed += 1
    return result


def _parent_listed(root: str) -> bool:
    """A root that is gone was deleted if its parent can be read and does not have it (else: a disk
    is not mounted).
    """
    try:
        return os.path.basename(root) not in os.listdir(os.path.dirname(root))
    except OSError:
        return False


def _refresh(
    catalog: Catalog,
    project: str,
    root: str,
    file: DayFile,
    known: tuple[Any, ...] | None,
    settings: Settings,
    force: bool,
    prompts: Prompts | None,
    kind: str = "",
) -> bool:
    if known and not force:
        before, content_hash, state = known
        if state == "fresh" and (before.mtime_ns, before.size) == (file.mtime_ns, file.size):
            return False
    else:
        content_hash, state = (known[1], known[2]) if known else ("", "")
    with safe_files.folder_of(file.path) as (folder, name):
        fd = safe_files.open_in(folder, name)
    with open(fd, "rb") as opened:
        info = os.fstat(fd)
        data = opened.read()
    file = DayFile(file.path, file.day, info.st_mtime_ns, len(data))
    now = digest(data, str(settings.chunking.max_chars), size=10)
    if known and now == content_hash and state == "fresh":
        catalog.files.touch(project, file)
        return False
    document = parse(data, Path(file.path).stem)
    asked = _asked(catalog, project, document.entries, prompts) if prompts else {}
    entries = [
        IndexedEntry(
            entry,
            asked.get(entry.id),
            chunks_of(entry, settings.chunking.max_chars, asked.get(entry.id) or ""),
        )
        for entry in document.entries
    ]
    catalog.files.put(project, root, file, now, entries, kind)
    return True


def _asked(
    catalog: Catalog, project: str, entries: list[Entry], prompts: Prompts
) -> dict[str, str]:
    """entry id -> what is embedded before it, of those of which it is known: as before where the
    entry is as before.
    """
    turns = [entry for entry in entries if entry.agent and entry.turn]
    before = catalog.prompts.known(project, [entry.id for entry in turns])
    asked = {
        entry.id: before[entry.id][1]
        for entry in turns
        if before.get(entry.id, ("", ""))[0] == entry.hash
    }
    unknown = {
        (entry.agent, entry.session, entry.turn): entry for entry in turns if entry.id not in asked
    }
    found = prompts(list(unknown))
    return asked | {
        unknown[name].id: asked_before(text_of(unknown[name]), prompt)
        for name, prompt in found.items()
    }


def _kept(listing: Listing, root: str, settings: Settings, *, own: bool) -> list[DayFile]:
    """The files that are not excluded by the settings or by the ignore files of the folders they
    lie in.
    """
    patterns = list(settings.indexing.exclude)
    if own and not patterns:
        return listing.files
    import pathspec  # 40 ms, only where something can be excluded

    specs = [(root, pathspec.GitIgnoreSpec.from_lines(patterns))] if patterns else []
    chosen = settings.indexing.ignore_files
    ignored: dict[str, bool] = {}
    if not own and chosen and os.path.isdir(root):
        names = _IGNORE_FILES if chosen is True else tuple(chosen)
        rules: dict[str, list[Any]] = {}  # folder -> its ignore files
        for file in listing.files:
            ignored[file.path] = _is_ignored(file.path, root, names, rules)
    return [
        file
        for file in listing.files
        if not ignored.get(file.path)
        and not any(spec.match_file(os.path.relpath(file.path, base)) for base, spec in specs)
    ]


def is_ignored_by_git(path: str, root: str) -> bool:
    """Whether git passes over a file of the project at *root*, by the ignore files of the folders
    above it. What is in a folder that it passes over can't be taken in again.
    """
    parts = os.path.relpath(path, root).split(os.sep)
    specs: list[tuple[str, Any]] = []
    for count in range(len(parts)):
        holder, verdict = os.path.join(root, *parts[:count]), False
        specs += [(holder, spec) for spec in _ignore_specs(holder, (".gitignore",))]
        path, is_folder = os.path.join(holder, parts[count]), count < len(parts) - 1
        for base, spec in specs:
            found = spec.check_file(os.path.relpath(path, base) + os.sep * is_folder).include
            verdict = verdict if found is None else found
        if verdict:
            return True
    return False


def _is_ignored(path: str, root: str, names: tuple[str, ...], rules: dict[str, list[Any]]) -> bool:
    """As git decides it: the last pattern that matches wins, and deeper files come later, so that
    they can take files back in.
    """
    verdict = False
    folder = root
    for part in [None, *os.path.relpath(os.path.dirname(path), root).split(os.sep)]:
        folder = folder if part in (None, os.curdir) else os.path.join(folder, part)
        if folder not in rules:
            rules[folder] = _ignore_specs(folder, names)
        for spec in rules[folder]:
            found = spec.check_file(os.path.relpath(path, folder)).include
            verdict = verdict if found is None else found
    return verdict


def _ignore_specs(folder: str, names: tuple[str, ...]) -> list[Any]:
    import pathspec

    found = []
    for name in names:
        if os.path.basename(name) != name:
            continue
        try:
            lines = (
                safe_files.read(os.path.join(folder, name), safe_files.MAX_SETTINGS)
                .decode("utf-8", "replace")
                .splitlines()
            )
        except OSError:
            continue
        found.append(pathspec.GitIgnoreSpec.from_lines(lines))
    return found
