"""Decides when the notes of a project are compared with its repository.

This happens after HEAD has moved or notes were added, when the service is idle, one project at a
time. Another process does the comparison (``staleness``). The results are stored in the catalog.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

import msgspec

from memsearch_engine.core import freshness
from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.core.repository import current_branch, head_of
from memsearch_engine.index.catalog import Catalog, RepositoryCheck
from memsearch_engine.journal.model import safe_branch
from memsearch_engine.service.indexing import Indexer
from memsearch_engine.staleness import ask

log = logging.getLogger("memsearch.service")
_TICK_S, _FIRST_S = 5.0, 10.0
#: Seconds between two comparisons of a project: after HEAD has moved, and after only notes were
#: added.
_MOVED_S, _NOTED_S = 20.0, 300.0
_MOST_DOUBLED = 6  # a failed comparison is repeated after 10 minutes, 20, … up to five hours
#: Files that git writes when HEAD moves (a commit, a checkout, a fetch).
_MOVES = ("HEAD", "logs/HEAD", "packed-refs", "FETCH_HEAD", "ORIG_HEAD")

Progress = Callable[[str, int, int], None]


class _LastComparison(msgspec.Struct):
    """The last comparison of a project.

    Attributes:
        at: when (monotonic, in seconds).
        stamps: the stamps of git's files at that time.
        failures: number of failures in a row.
    """

    at: float
    stamps: dict[str, list[int]]
    failures: int = 0

    @property
    def pause_s(self) -> float:
        """Seconds until the next comparison if git's files do not change."""
        return float(_NOTED_S * 2 ** min(self.failures, _MOST_DOUBLED))


class RepositoryChecker:
    """A thread that does comparisons when they are due. Other threads may call ``check``."""

    def __init__(
        self, home: Home, indexer: Indexer, stopping: threading.Event, changed: Callable[[], None]
    ) -> None:
        self._home, self._indexer, self._stopping, self._changed = home, indexer, stopping, changed
        self._seen: dict[str, _LastComparison] = {}
        self._one = threading.Lock()
        self.busy = ""  # the project that is compared now
        self._thread = threading.Thread(target=self._work, name="ground", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for the thread. The event ``stopping`` ends it."""
        self._thread.join(_TICK_S)

    def _work(self) -> None:
        self._stopping.wait(_FIRST_S)
        while not self._stopping.wait(_TICK_S):
            try:
                project = self._due()
                if project is not None:
                    self.check(project)
            except MemsearchError as error:
                log.warning("notes are not compared with the repository: %s", error)
            except Exception:
                log.exception("notes are not compared with the repository")

    def _due(self) -> Project | None:
        """Return a project to compare; None if there is none, or others wait for the index.

        Of many projects, each call looks at some.
        """
        if (
            not self._indexer.settings.indexing.references
            or self._indexer.busy
            or not self._indexer.ready.is_set()
        ):
            return None
        now = time.monotonic()
        for project in self._indexer.next_to_check("repository"):
            seen = self._seen.get(project.root)
            if seen is not None and now - seen.at < _MOVED_S:
                continue
            common_dir = self._common_dir(project)
            if not common_dir or self._indexer.is_behind([project]):
                continue
            if seen is None and self._is_compared(project, common_dir):
                self._seen[project.root] = _LastComparison(now, _stamps(common_dir))
            elif seen is None or seen.stamps != _stamps(common_dir):
                return project
            elif now - seen.at > seen.pause_s:
                if seen.failures or self._has_new(project):
                    return project
                seen.at = now
        return None

    def _common_dir(self, project: Project) -> str:
        return locate(project.root, self._home).common_dir if os.path.isdir(project.root) else ""

    def _is_compared(self, project: Project, common_dir: str) -> bool:
        """Whether an earlier service has compared the current notes with the current HEAD."""
        compared = self._indexer.catalog.staleness.last_check(project.id)
        return (
            compared is not None
            and compared.head == head_of(common_dir)
            and not self._has_new(project)
        )

    def _has_new(self, project: Project) -> bool:
        return self._indexer.catalog.staleness.has_unchecked(project.id)

    def check(
        self,
        project: Project,
        progress: Progress = lambda what, done, total: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> RepositoryCheck:
        """Compare the notes of a project with its repository now.

        Args:
            progress: called with phase, done and total.
            cancelled: returns whether to stop.

        Raises:
            Unreachable: there is no repository, the process failed, or the comparison was
                cancelled.
        """
        common_dir = self._common_dir(project)
        if not common_dir:
            raise Unreachable(
                f"{project.root} has no git repository - `git init` begins one",
                "notes are compared with what git has stored",
            )
        with self._one:
            self.busy = project.name
            try:
                return self._check(project, common_dir, progress, cancelled)
            finally:
                self.busy = ""

    def _check(
        self, project: Project, common_dir: str, progress: Progress, cancelled: Callable[[], bool]
    ) -> RepositoryCheck:
        catalog, stamps = self._indexer.catalog, _stamps(common_dir)
        notes = notes_of(catalog, project)
        failures = seen.failures + 1 if (seen := self._seen.get(project.root)) else 1
        self._seen[project.root] = _LastComparison(time.monotonic(), stamps, failures)
        answer = ask.check(
            project.root,
            common_dir,
            self._home.staleness_cache(project.id),
            notes,
            progress=progress,
            stop=lambda: self._stopping.is_set() or cancelled(),
        )
        if answer is None:
            raise Unreachable("cancelled")
        compared = RepositoryCheck(answer.head, time.time(), answer.problem)
        if answer.problem:  # what is known of the notes stays, until it can be looked again
            catalog.staleness.put_problem(project.id, compared)
        else:
            catalog.staleness.put(project.id, compared, answer.notes)
        self._seen[project.root] = _LastComparison(
            time.monotonic(), stamps, failures if answer.problem else 0
        )
        log.info(
            "%d notes of %s compared with %s",
            len(notes),
            project.slug,
            answer.head[:10] or answer.problem,
        )
        self._changed()
        return compared


def notes_of(catalog: Catalog, project: Project) -> list[ask.NoteToCheck]:
    """Return all notes of a project's journal as the comparison needs them.

    A note that was compared before has its references, another one has its text.
    """
    known = catalog.staleness.references(project.id)
    found = []
    for note in catalog.dated_notes(project.id):
        names = known.get((note.entry_id, note.hash))
        text = catalog.entry_text(note.id) if names is None else ""
        branch = safe_branch(note.marks.get("branch", ""))
        found.append(
            ask.NoteToCheck(
                note.entry_id,
                note.hash,
                ask.moment(note.day, note.time, note.marks),
                branch,
                names,
                text,
                "verified" in note.marks,
            )
        )
    return found


def _stamps(common_dir: str) -> dict[str, list[int]]:
    """Return stamps of git's files that change when HEAD moves, and of the current branch."""
    branch = f"refs/heads/{current_branch(os.path.dirname(common_dir))}"
    return freshness.stamps(os.path.join(common_dir, name) for name in (*_MOVES, branch))
