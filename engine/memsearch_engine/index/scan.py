"""Scan files and update the catalog, by content hash.

Words can be searched as soon as ``scan`` has read a file; vectors follow in the background. A file
is removed from the catalog only if its folder was listed completely. An unreadable folder is
reported and does not count as deleted. One unreadable file does not stop the scan of the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from memsearch_engine.agents.transcripts.model import TurnName
from memsearch_engine.core import safe_files
from memsearch_engine.core.ids import digest
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog, IndexedEntry, KnownFile
from memsearch_engine.index.chunk import asked_before, chunks_of, text_of
from memsearch_engine.index.rows import LONGTERM_KINDS
from memsearch_engine.index.values import values_in
from memsearch_engine.journal.files import DayFile, FolderListing, list_files
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.outline import outline_of
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import list_shared

_IGNORE_FILES = (".gitignore", ".ignore", ".memsearchignore")
#: Called with the number of files read in a root, and the number of all its files.
Progress = Callable[[int, int], None]
#: Returns the prompts of turns, without secrets; unknown turns are left out.
Prompts = Callable[[list[TurnName]], dict[TurnName, str]]


class Scan(msgspec.Struct):
    """The result of a scan. ``failed`` contains (path, reason)."""

    files: int = 0
    changed: int = 0
    removed: int = 0
    failed: list[tuple[str, str]] = []


class _Context(NamedTuple):
    """The parameters of one scan that apply to every file."""

    catalog: Catalog
    project: str
    settings: Settings
    force: bool
    prompts: Prompts | None


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
    """Update the catalog to the files on disk under *roots*.

    Args:
        catalog: writable.
        project: project id.
        roots: folders or files.
        memory: the root that is the project's memory folder.
        shared: the root with the team's shared notes. Ignore files of the repository do not apply
            to these two roots.
        longterm: the root in which a file's name determines the kind of its entries.
        force: also read files with an unchanged time stamp again.
        progress: called with the number of files read in a root, and of all its files.
        prompts: looks up the prompts to embed before notes; None to embed none.
    """
    result = Scan(failed=[])
    context = _Context(catalog, project, settings, force, prompts)
    known = catalog.files.known(project)
    present: set[str] = set()
    is_listed: dict[str, bool] = {}  # root -> whether files missing in it were deleted
    unreadable: set[str] = set()
    for root in dict.fromkeys(os.path.abspath(root) for root in roots):
        listing = list_shared(root) if root == shared else list_files(root)
        own = root in (memory, shared, longterm)
        is_gone = not os.path.exists(root)
        unreadable.update(path for path, _ in listing.problems)
        result.failed += [
            (path, reason)
            for path, reason in listing.problems
            if not (own and is_gone and path == root)  # a project that has no memory yet
        ]
        is_listed[root] = listing.complete or (is_gone and _parent_lacks(root))
        files = [
            file for file in _included(listing, root, settings, own) if file.path not in present
        ]
        for number, file in enumerate(files, 1):
            present.add(file.path)
            result.files += 1
            kind = LONGTERM_KINDS.get(os.path.basename(file.path), "") if root == longterm else ""
            try:
                result.changed += _read(context, root, file, known.get(file.path), kind)
            except OSError as error:
                reason = error.strerror or str(error)
                catalog.files.fail(project, root, file.path, reason)
                result.failed.append((file.path, reason))
            if progress:
                progress(number, len(files))
    for path in known.keys() - present:
        if _is_gone(path, is_listed, unreadable):
            catalog.files.remove(project, path)
            result.removed += 1
    return result


def _is_gone(path: str, is_listed: dict[str, bool], unreadable: set[str]) -> bool:
    """Return whether a known file was deleted: all roots that may contain it were listed.

    A root skips the files of a nested root (the memory folder in `index .`).
    """
    holders = [
        listed
        for root, listed in is_listed.items()
        if path == root or path.startswith(root.rstrip(os.sep) + os.sep)
    ]
    if not holders or not all(holders):
        return False
    # a broken link, or a file deleted between listing and stat, counts as unreadable
    return path not in unreadable or not os.path.exists(path)


def _parent_lacks(root: str) -> bool:
    """Return whether a missing root was deleted: its parent can be read and does not contain it.

    Otherwise its disk may not be mounted.
    """
    try:
        return os.path.basename(root) not in os.listdir(os.path.dirname(root))
    except OSError:
        return False


def _read(context: _Context, root: str, file: DayFile, known: KnownFile | None, kind: str) -> bool:
    """Read a file unless its version is known, and return whether its content was new.

    Raises:
        OSError: the file can't be read.
    """
    is_fresh = known is not None and known.state == "fresh"
    is_done = is_fresh and known is not None and known.has_outline
    if known and is_done and not context.force and _stamp(known.file) == _stamp(file):
        return False
    with safe_files.folder_of(file.path) as (folder, name):
        fd = safe_files.open_in(folder, name)
    with open(fd, "rb") as opened:
        info = os.fstat(fd)
        data = opened.read()
    file = DayFile(file.path, file.day, info.st_mtime_ns, len(data), info.st_ctime_ns)
    max_chars = context.settings.chunking.max_chars
    content_hash = digest(data, str(max_chars), size=10)
    catalog, project = context.catalog, context.project
    is_same = is_fresh and known is not None and known.hash == content_hash
    if is_same:
        catalog.files.touch(project, file)
        if is_done:
            return False
    document = parse(data, Path(file.path).stem)
    if not is_same:
        prompts = _prompts(context, document.entries)
        indexed = [
            IndexedEntry(
                entry,
                prompts.get(entry.id),
                chunks_of(entry, max_chars, prompts.get(entry.id) or ""),
            )
            for entry in document.entries
        ]
        catalog.files.put(project, root, file, content_hash, indexed, kind)
    values = [value for e in document.entries for value in values_in(e.id, e.content)]
    catalog.outlines.put(project, file, outline_of(document), values)
    return not is_same


def _stamp(file: DayFile) -> tuple[int, int, int]:
    return file.mtime_ns, file.size, file.ctime_ns


def _prompts(context: _Context, entries: list[Entry]) -> dict[str, str]:
    """Return entry id -> prompt to embed before it; the stored prompt of an unchanged entry."""
    if context.prompts is None:
        return {}
    turns = [entry for entry in entries if entry.agent and entry.turn]
    before = context.catalog.prompts.known(context.project, [entry.id for entry in turns])
    found = {
        entry.id: before[entry.id][1]
        for entry in turns
        if before.get(entry.id, ("", ""))[0] == entry.hash
    }
    unknown = {
        (entry.agent, entry.session, entry.turn): entry for entry in turns if entry.id not in found
    }
    for name, prompt in context.prompts(list(unknown)).items():
        found[unknown[name].id] = asked_before(text_of(unknown[name]), prompt)
    return found


# -- excluded files


def _included(listing: FolderListing, root: str, settings: Settings, own: bool) -> list[DayFile]:
    """Return the files that neither the settings nor ignore files exclude."""
    patterns = list(settings.indexing.exclude)
    if own and not patterns:
        return listing.files
    import pathspec  # takes 40 ms, so only if something can be excluded

    excluded = pathspec.GitIgnoreSpec.from_lines(patterns) if patterns else None
    chosen = settings.indexing.ignore_files
    names: tuple[str, ...] = ()
    if not own and chosen and os.path.isdir(root):
        names = _IGNORE_FILES if chosen is True else tuple(chosen)
    rules: dict[str, list[Any]] = {}  # folder -> its ignore files
    return [
        file
        for file in listing.files
        if not (names and _is_ignored(file.path, root, names, rules))
        and not (excluded and excluded.match_file(os.path.relpath(file.path, root)))
    ]


def is_ignored_by_git(path: str, root: str) -> bool:
    """Return whether git ignores a file of the project at *root*.

    The ignore files of the folders above it decide. A file in an ignored folder can't be included
    again.
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
    """Return whether the last matching pattern ignores *path*; deeper ignore files come later."""
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
    """Return the patterns of a folder's ignore files."""
    import pathspec

    found = []
    for name in names:
        if os.path.basename(name) != name:
            continue
        try:
            data = safe_files.read(os.path.join(folder, name), safe_files.MAX_SETTINGS)
        except OSError:
            continue
        lines = data.decode("utf-8", "replace").splitlines()
        found.append(pathspec.GitIgnoreSpec.from_lines(lines))
    return found
