"""Merges the base, the local and the remote version of a file.

Tombstones, the history of this machine and the conflict marks decide about entries that a merge of
three versions alone would bring back.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable

from memsearch_engine.journal.history import History
from memsearch_engine.journal.merge import Unmergeable, merge, text_key, topological
from memsearch_engine.journal.model import CONFLICT_OF, Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.secrets.scan import redact
from memsearch_engine.sync.layout import Tombstones, owner
from memsearch_engine.sync.snapshot import RoundFile, Snapshot, contains, entry_ids, entry_texts

_BULLET = re.compile(r" {0,3}[-*+] ")
#: A section: its headings, outermost first, as one text; within it the pieces by wording, each with
#: the blank lines before it.
_Sections = dict[str, dict[str, str]]
_HEAD = "\x00"


class FileMerge:
    """Merges the files of one round.

    Args:
        history: the changes on this machine.
        bring_back: restore missing notes instead of deleting them elsewhere.
    """

    def __init__(self, files: Snapshot, history: History, *, bring_back: bool) -> None:
        self._files, self._history, self._bring_back = files, history, bring_back

    def merge(self, file: RoundFile) -> bool:
        """Set ``merged``, ``conflicts`` and ``removed`` of a file.

        Returns:
            False if it can't be merged; it is then skipped.
        """
        if not file.memory:
            known = b"" if self._bring_back and file.ours is None else file.base
            base, ours, theirs = (
                data.decode("utf-8", "surrogateescape")
                for data in (known, file.ours or b"", file.theirs)
            )
            file.merged = merge_lines(base, ours, theirs).encode("utf-8", "surrogateescape")
            return True
        if self._bring_back:
            base_, file.removed = _without_missing(file), {}
        else:
            base_, file.removed = file.base or self._base_by_history(file), self._removed(file)
        try:
            done = merge(
                base_,
                file.ours or b"",
                self._clean(file.theirs) if file.theirs != file.ours else file.theirs,
                file.name,
                newer=self._newer(file),
                dead=self._deleted_elsewhere(file) | self._replaced_copies(file, base_),
                clean=lambda text: redact(text, self._files.home)[0],
            )
        except Unmergeable:
            self._files.skip_file(
                file.key,
                f"{file.path} can't be merged: here and on the other machines it stays as it is",
            )
            return False
        file.merged, file.conflicts = done.data, len(done.conflicts)
        return True

    def _base_by_history(self, file: RoundFile) -> bytes:
        """Return the base for a machine without one.

        It has the entries of the remote that the owner has changed or deleted since, according to
        the history.
        """
        entries = parse(file.theirs, file.name).entries
        return _joined([entry for entry in entries if self._was_replaced(file, entry)])

    def _replaced_copies(self, file: RoundFile, base: bytes) -> set[tuple[str, str]]:
        """Return conflict copies of others that the owner has changed or deleted since."""
        known, ours = entry_ids(base, file.name), entry_texts(file.ours or b"", file.name)
        return {
            (entry.id, text_key(entry))
            for entry in parse(file.theirs, file.name).entries
            if CONFLICT_OF in entry.marks
            and entry.id not in known
            and (entry.id, text_key(entry)) not in ours
            and self._was_replaced(file, entry)
        }

    def _was_replaced(self, file: RoundFile, entry: Entry) -> bool:
        """Whether the owner has changed or deleted this text of an entry on this machine."""
        return any(
            text_key(old) == text_key(entry)
            for raw in self._history.replaced_here(entry.id)
            for old in parse(raw, file.name).entries[:1]
        )

    def _removed(self, file: RoundFile) -> dict[tuple[str, str], float]:
        """Return the value of ``RoundFile.removed``.

        It includes entries that were moved to another file; their tombstones are removed again
        after all files are merged.
        """
        ours = entry_texts(file.ours or b"", file.name)
        pairs = [
            (entry.id, text_key(entry))
            for entry in parse(file.base, file.name).entries
            if (entry.id, text_key(entry)) not in ours
        ]
        return {pair: self._history.changed(pair[0]) or _mtime(file.path) for pair in pairs}

    def _deleted_elsewhere(self, file: RoundFile) -> set[tuple[str, str]]:
        """Return entries that were deleted or replaced elsewhere. A copy must not bring them back.

        An entry that reappears here after this was seen is a new decision, and stays.
        """
        project = owner(file.key)
        seen = self._files.lines(self._files.base_tree(project), project, "tombstones")
        candidates = (
            self._files.tombstones[project].pairs
            - Tombstones(seen).pairs
            - entry_texts(file.theirs, file.name)
        )
        return {
            (entry.id, text_key(entry))
            for entry in parse(file.ours or b"", file.name).entries
            if (entry.id, text_key(entry)) in candidates
            and not self._history.is_revived(entry.id)
            and not self._is_on_remote(project, entry)
        }

    def _is_on_remote(self, project: str, entry: Entry) -> bool:
        """Whether any file of the project on the remote has the entry."""
        prefix = f"projects/{project}/memory/"
        return any(
            contains(self._files.clone.blob(sha), entry)
            for key, sha in self._files.tree.items()
            if key.startswith(prefix)
        )

    def _newer(self, file: RoundFile) -> Callable[[Entry, Entry], bool]:
        """Decides which of two texts is newer, by the time it replaced the common one."""
        ours = entry_texts(file.ours or b"", file.name)
        tombstones = self._files.tombstones[owner(file.key)]

        def when(entry: Entry) -> float:
            if (entry.id, text_key(entry)) in ours:
                return self._history.changed(entry.id) or _mtime(file.path)
            return tombstones.last(entry.id)

        return lambda one, other: when(one) > when(other)

    def _clean(self, data: bytes) -> bytes:
        """Remove secrets from incoming text."""
        text = data.decode("utf-8", "surrogateescape")
        clean, found = redact(text, self._files.home)
        return clean.encode("utf-8", "surrogateescape") if found else data


def _without_missing(file: RoundFile) -> bytes:
    """The base without the entries that are missing here, so that a merge brings them back."""
    ours = entry_ids(file.ours or b"", file.name)
    return _joined([entry for entry in parse(file.base, file.name).entries if entry.id in ours])


def _joined(entries: list[Entry]) -> bytes:
    return b"\n\n".join(entry.raw for entry in entries)


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()


# -- long-term documents


def merge_lines(base: str, ours: str, theirs: str) -> str:
    """Merge two long-term documents with the common ancestor *base*.

    They are merged by section and, in a section, by whole bullets and paragraphs. Additions of both
    sides stay under their heading. A deletion on one side wins. What both changed stays in both
    forms.
    """
    if ours in (theirs, base):
        return theirs
    if theirs == base:
        return ours
    versions = [_sections(text) for text in (base, ours, theirs)]
    names = dict.fromkeys(name for version in versions for name in version)
    merged = {name: _merged([version.get(name, {}) for version in versions]) for name in names}
    remaining = {name for name, pieces in merged.items() if pieces}
    for name in list(remaining):  # the headings above a remaining section
        parts = name.split("\n")
        remaining |= {
            "\n".join(parts[:n]) for n in range(1, len(parts)) if "\n".join(parts[:n]) in merged
        }
    orders = [[name for name in version if name in remaining] for version in versions]
    lines: list[str] = []
    for name in topological(orders, remaining, lambda name: ("", name)):
        pieces = merged[name]
        if name and _HEAD not in pieces:
            pieces = {
                _HEAD: next(version[name][_HEAD] for version in versions if name in version),
                **pieces,
            }
        lines += pieces.values()
    text = "\n".join(lines).strip("\n")
    return f"{text}\n" if text else ""


def _merged(versions: list[dict[str, str]]) -> dict[str, str]:
    """The pieces of one section, in an order that does not depend on the side."""
    was, one, other = (set(version) for version in versions)
    remaining = (was & one & other) | ((one | other) - was)
    texts = {key: piece for version in versions for key, piece in version.items()}
    order = topological(
        [[key for key in version if key in remaining] for version in versions],
        remaining,
        lambda key: ("" if key == _HEAD else "1", key),
    )
    return {key: texts[key] for key in order}


def _sections(text: str) -> _Sections:
    found: _Sections = {"": {}}
    trail: list[tuple[int, str]] = []
    seen: Counter[tuple[str, str]] = Counter()
    section, blank, open_ = "", "", ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line.strip():
            blank, open_ = f"{blank}\n", ""
            continue
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            while trail and trail[-1][0] >= level:
                trail.pop()
            trail.append((level, line.strip()))
            section, open_ = "\n".join(heading for _, heading in trail), ""
            found.setdefault(section, {}).setdefault(_HEAD, blank + line)
        elif open_ and not _BULLET.match(line):
            found[section][open_] += f"\n{line}"  # the rest of a bullet, or of a paragraph
        else:
            seen[section, line] += 1
            open_ = f"{line.strip()}\x01{seen[section, line]}"
            found[section][open_] = blank + line
        blank = ""
    return {
        name: {_named(key, piece): piece for key, piece in pieces.items()}
        for name, pieces in found.items()
    }


def _named(key: str, piece: str) -> str:
    """Pieces by content: a bullet with another second line is another bullet."""
    return key if key == _HEAD else f"{piece.strip()}\x01{key.rpartition(chr(1))[2]}"
