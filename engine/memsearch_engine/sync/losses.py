"""Stops a round from deleting more than the owner is known to have deleted.

A missing file or entry is not taken for a deletion. If a project would lose much, it is skipped and
the owner is asked.
"""

from __future__ import annotations

import contextlib

from memsearch_engine.core import safe_files
from memsearch_engine.journal import render
from memsearch_engine.journal.history import History
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.longterm import workspace
from memsearch_engine.sync.layout import BELOW_LONGTERM, LONGTERM, owner
from memsearch_engine.sync.snapshot import RoundFile, Snapshot, contains, entry_ids

#: Losses without a known deletion pass unasked if they are fewer than the first number and not all,
#: or up to the second number and half of a project.
_LEAST, _FEW = 3, 10


class LossCheck:
    """Checks the merged files of one round.

    Args:
        history: the changes on this machine.
        accept_deletions: the owner wants all deletions.
        bring_back: missing notes are restored.
    """

    def __init__(
        self, files: Snapshot, history: History, *, accept_deletions: bool, bring_back: bool
    ) -> None:
        self._files, self._history = files, history
        self._accept_deletions, self._bring_back = accept_deletions, bring_back
        self._local: dict[str, dict[str, bytes]] = {}  # project -> content of its local files

    def passed(self, files: list[RoundFile]) -> list[RoundFile]:
        """Skip projects that would lose much, and return the files of the others."""
        if self._accept_deletions:
            return files
        for project in dict.fromkeys(owner(file.key) for file in files):
            of_project = [file for file in files if owner(file.key) == project]
            lost = [self._lost(file, of_project) for file in of_project]
            here, there = sum(pair[0] for pair in lost), sum(pair[1] for pair in lost)
            is_longterm = project == LONGTERM
            known = "the long-term memory" if is_longterm else self._files.projects[project].name
            what = "facts and lines" if is_longterm else "notes"
            if self._is_much(project, here) and not self._bring_back:
                self._files.skip_project(
                    project,
                    f"{here} {what} of {known} are gone here, and were not deleted with memsearch: "
                    "`memsearch sync --bring-back` fetches them, "
                    "`--accept-deletions` deletes them everywhere",
                )
            elif self._is_much(project, there, is_meant=all(pair[2] for pair in lost)):
                self._files.skip_project(
                    project,
                    f"another machine has deleted {there} {what} of {known}: "
                    "`memsearch sync --accept-deletions` deletes them here, too",
                )
        return [file for file in files if owner(file.key) not in self._files.skipped_projects]

    def _lost(self, file: RoundFile, others: list[RoundFile]) -> tuple[int, int, bool]:
        """Count the entries that a file would lose.

        Returns:
            The number of entries that are missing here without a known deletion, the number that
            would be deleted here, and whether all of the latter have tombstones.
        """
        if not file.memory:
            return _lost_lines(file)
        base, there = parse(file.base, file.name).entries, entry_ids(file.theirs, file.name)
        ours, merged = entry_ids(file.ours or b"", file.name), entry_ids(file.merged, file.name)
        here = [
            entry
            for entry in base
            if entry.id in there - ours
            and not self._history.was_deleted_here(entry.id)
            and not self._is_in_other_file(file, entry)
        ]
        going = [
            entry
            for entry in base
            if entry.id in ours - merged
            and not any(contains(other.merged, entry) for other in others if other is not file)
        ]
        deleted = {name for name, _ in self._files.tombstones[owner(file.key)].pairs}
        is_meant = all(entry.id in deleted for entry in going)
        known = {entry.id for entry in base}
        return _not_replaced(here, ours - known), _not_replaced(going, merged - ours), is_meant

    def _is_in_other_file(self, file: RoundFile, entry: Entry) -> bool:
        """Whether another local file of the project has the entry."""
        project = owner(file.key)
        if project not in self._local:
            self._local[project] = {}
            for key, path in self._files.local.items():
                if owner(key) == project:
                    with contextlib.suppress(OSError):
                        self._local[project][key] = safe_files.read(path)
        return any(
            contains(data, entry) for key, data in self._local[project].items() if key != file.key
        )

    def _is_much(self, project: str, lost: int, *, is_meant: bool = False) -> bool:
        """Whether a loss is large. *is_meant*: each entry has a tombstone."""
        if not lost:
            return False
        blobs = [
            (key, self._files.clone.blob(sha))
            for key, sha in self._files.base_tree(project).items()
            if owner(key) == project and self._files.place(key)
        ]
        total = sum(
            len(_statements(key, blob)) if project == LONGTERM else len(parse(blob).entries)
            for key, blob in blobs
        )
        return lost > _FEW or (lost >= total and not is_meant) or _LEAST <= lost > total / 2


def _lost_lines(file: RoundFile) -> tuple[int, int, bool]:
    """As ``_lost``, for a long-term document."""
    base, ours, merged = (
        _statements(file.key, data) for data in (file.base, file.ours or b"", file.merged)
    )
    here, going = base - ours, (base & ours) - merged
    return (
        max(0, len(here) - len(ours - base)) * (file.ours is None),
        max(0, len(going) - len(merged - ours)),
        True,
    )


def _not_replaced(gone: list[Entry], new: set[str]) -> int:
    """Return the number of deleted entries. A manual edit replaces an entry without an id."""
    by_words = sum(render.needs_id(entry) for entry in gone)
    return len(gone) - by_words + max(0, by_words - len(new))


def _statements(key: str, data: bytes) -> set[bytes]:
    """Statements of a long-term document, as its owner would count: a fact, or a line."""
    if key.startswith(f"{BELOW_LONGTERM}{workspace.NOTES}/"):
        return {key.encode()} if data.strip() else set()
    return {line for line in data.splitlines() if line.strip() and not line.startswith(b"#")}
