"""The public interface for notes with stale references to their project's repository."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from memsearch_engine.core.errors import MemsearchError, NotFound, Unreachable, UsageError
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.index.catalog import RepositoryCheck, Stale
from memsearch_engine.index.rows import CatalogBroken
from memsearch_engine.journal.model import Entry, safe_branch
from memsearch_engine.journal.note import Note
from memsearch_engine.search.scope import Scope
from memsearch_engine.service.answers import Verified
from memsearch_engine.service.note_editor import NoteEditor
from memsearch_engine.staleness import ask, references
from memsearch_engine.staleness.finding import NoteStaleness, ReferenceState

if TYPE_CHECKING:
    from memsearch_engine.search.sections import Section

_LONG_S = 24 * 3600.0


class StalenessReport(msgspec.Struct):
    """The result of a check: the projects with their commits, and stale notes, newest first."""

    projects: list[Verified]
    stale: list[Stale]


class Staleness:
    """Checks whether files, symbols, settings, commands, commits and branches in notes still exist.

    >>> with Memory() as memory:
    ...     memory.staleness.stale()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._notes = scope, NoteEditor(scope)

    def verify(self, progress: Callable[[dict[str, Any]], None] | None = None) -> StalenessReport:
        """Compare the notes of the project (or of all) with its repository now.

        The service does so whenever the repository changes.

        Args:
            progress: called at intervals with ``phase``, ``done`` and ``total``.
        """
        scope = self._scope
        try:
            projects = scope.call(
                "verify",
                list[Verified],
                timeout_s=_LONG_S,
                progress=progress,
                place=scope.place_param,
                all_projects=scope.everything,
            )
        except Unreachable:
            return self._here(progress)
        return StalenessReport(projects, self.stale())

    def stale(self, limit: int = -1) -> list[Stale]:
        """The stale notes of the last check, newest first.

        Args:
            limit: the maximum for each project; -1 for all.
        """
        catalog = self._scope.catalog
        if catalog is None:
            return []
        found = [
            stale
            for name in {p.id for p in self._scope.projects}
            for stale in catalog.staleness.stale(name, limit)
        ]
        return sorted(found, key=lambda stale: (stale.row.day, stale.row.time), reverse=True)

    def standing(self, name: str) -> NoteStaleness | None:
        """Return the result of a note's last check; None if it was not checked in this version.

        Raises:
            NotFound: there is no such note.
        """
        return self.of(self._scope.section(name))

    def of(self, section: Section) -> NoteStaleness | None:
        """The result of ``standing`` for the note of a section, without reading it again."""
        return self._of(section.project or self._scope.project, section.entry)

    def of_entry(self, entry: Entry, path: str) -> NoteStaleness | None:
        """``standing`` of an entry in a file."""
        return self._of(self._scope.project_of(path) or self._scope.project, entry)

    def _of(self, project: Project, entry: Entry) -> NoteStaleness | None:
        catalog = self._scope.catalog
        with contextlib.suppress(CatalogBroken):  # the note is readable without the catalog
            if catalog:
                return catalog.staleness.standing(project.id, entry.id, entry.hash)
        return None

    def compared(self) -> RepositoryCheck | None:
        """The commit and time of the last check of this project; None if there was none."""
        with contextlib.suppress(CatalogBroken):
            return (
                self._scope.catalog.staleness.last_check(self._scope.project.id)
                if self._scope.catalog
                else None
            )
        return None

    # -- the owner's decisions

    def confirm(self, name: str) -> Note:
        """Mark a note as verified: references that are stale by now do not count any more.

        This can be undone.
        """
        return self._notes.mark(name, "verified", datetime.now().strftime("%Y-%m-%dT%H:%M:%S"))

    def superseded(self, name: str) -> Note:
        """Mark a stale note as superseded: searches rank it lower, and it is not injected.

        This can be undone.

        Raises:
            UsageError: the note has no stale reference. Use ``Memory.mark`` if another note
                supersedes it.
        """
        commit = self._stale_of(name)[0].commit
        section = self._scope.section(name)
        (entry,) = self._notes.mark_each(
            [section.target], "superseded-by", f"commit-{commit}" if commit else "repository"
        )
        return Note.of(entry, section.path)

    def moved(self, name: str) -> Note:
        """Replace the paths of moved files in a note. This can be undone.

        Raises:
            UsageError: the note names no moved file, or its text has none of the old names.
        """
        moved = [f for f in self._stale_of(name) if f.state == "moved" and f.kind == "file"]
        section = self._scope.section(name)
        text = section.entry.body
        for finding in sorted(moved, key=lambda finding: -len(finding.name)):
            text = references.replaced(text, finding.name, _as_named(finding))
        if text == section.entry.body:
            raise UsageError(
                f"{section.entry.id} names no file that has moved",
                f"memsearch verify {section.entry.id}",
            )
        return self._notes.edit(
            section.entry.id, text, if_match=section.entry.hash, path=section.path
        )

    def _stale_of(self, name: str) -> list[ReferenceState]:
        standing = self.standing(name)
        if standing is None or not standing.stale:
            raise UsageError(
                f"nothing that {name} names is gone or elsewhere", "`memsearch verify` looks anew"
            )
        return standing.stale

    # -- without the service

    def _here(self, progress: Callable[[dict[str, Any]], None] | None) -> StalenessReport:
        """Run the check in this process, from the files.

        Only the known history of the repositories is stored.
        """
        checked = StalenessReport([], [])
        for project in {p.id: p for p in self._scope.projects}.values():
            head, problem = "", ""
            try:
                head, stale, problem = self._compare(project, progress)
                checked.stale += stale
            except (MemsearchError, OSError) as error:
                problem = str(error)
            checked.projects.append(Verified(project.id, project.name, head, time.time(), problem))
        checked.stale.sort(key=lambda stale: (stale.row.day, stale.row.time), reverse=True)
        return checked

    def _compare(
        self, project: Project, progress: Callable[[dict[str, Any]], None] | None
    ) -> tuple[str, list[Stale], str]:
        from memsearch_engine.journal.files import list_days
        from memsearch_engine.search.lexical import file_rows

        common_dir = locate(project.root, self._scope.home).common_dir
        if not common_dir:
            raise NotFound(f"{project.root} has no git repository - `git init` begins one")
        rows = {
            (row.entry_id, row.hash): row
            for file in list_days(project.memory)
            for row in file_rows(project, file)
            if row.part == 0
        }
        notes = [
            ask.NoteToCheck(
                row.entry_id,
                row.hash,
                ask.moment(row.day, row.time, row.marks),
                safe_branch(row.marks.get("branch", "")),
                None,
                row.text,
                "verified" in row.marks,
            )
            for row in rows.values()
        ]
        answer = ask.check(
            project.root,
            common_dir,
            self._scope.home.staleness_cache(project.id),
            notes,
            progress=lambda what, done, total: (
                progress({"phase": what, "done": done, "total": total}) if progress else None
            ),
        )
        assert answer is not None  # nothing stops it
        found = [
            Stale(rows[(note.entry_id, note.hash)], note.standing)
            for note in answer.notes
            if note.standing.state
        ]
        return answer.head, found, answer.problem


def _as_named(finding: ReferenceState) -> str:
    """The new path, as short as the old one was written if that is unambiguous.

    The same name in another folder is written in full.
    """
    folders = finding.name.rstrip("/").count("/")
    short = "/".join(finding.to.split("/")[-folders - 1 :])
    is_short = (
        finding.name != finding.path and short != finding.name and not finding.to.endswith("/")
    )
    return short if is_short else finding.to
