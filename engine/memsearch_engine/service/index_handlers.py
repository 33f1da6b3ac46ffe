"""Handlers of requests about the index: building it, checking notes, and its health."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from memsearch_engine.core.errors import Unreachable, UsageError
from memsearch_engine.core.installation import install_command
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.core.projects import Project
from memsearch_engine.index import models
from memsearch_engine.index.analyze import is_english
from memsearch_engine.index.catalog import RepositoryCheck
from memsearch_engine.index.rows import IndexResult
from memsearch_engine.service.answers import (
    Disk,
    Health,
    Indexed,
    Problem,
    SecondModel,
    Unread,
    Verified,
)
from memsearch_engine.service.commands import IndexJob, RequestContext, distinct
from memsearch_engine.service.repository_checks import RepositoryChecker
from memsearch_engine.service.search_handlers import SearchHandlers
from memsearch_engine.service.service_state import ServiceState

log = logging.getLogger("memsearch.service")
#: A second model is recommended if more than this share of the notes or queries is not English.
#: The share of queries counts only after ``_ENOUGH_QUERIES`` queries.
_WORTH_A_SECOND, _ENOUGH_QUERIES = 0.1, 20


class IndexHandlers:
    """Requests about the index."""

    def __init__(
        self, state: ServiceState, search: SearchHandlers, checker: RepositoryChecker
    ) -> None:
        self._state, self._search, self._checker = state, search, checker

    def index(
        self,
        call: RequestContext,
        place: dict[str, str],
        paths: list[str] | None = None,
        force: bool = False,
        all_projects: bool = False,
    ) -> list[IndexResult]:
        """Index projects now.

        Args:
            paths: further files and folders to index with the project.
            force: also read files that seem unchanged.

        Raises:
            UsageError: a path does not exist.
        """
        for path in paths or []:
            if not os.path.exists(path):
                raise UsageError(f"{path} does not exist", "name a markdown file or a folder")
        projects = self._state.projects_of(place, all_projects, register=True)
        results = [
            self._state.indexer.run(project, list(paths or []), force, call) for project in projects
        ]
        for project, result in zip(projects, results):
            result.not_english = self._not_english(project)
            # CI indexes a fresh clone and starts its agent right after
            self._state.prepare_context(project.memory, project.id, if_stale=True)
        return results

    def verify(
        self, call: RequestContext, place: dict[str, str], all_projects: bool = False
    ) -> list[Verified]:
        """Compare the notes of projects with their repositories now."""
        found = []
        for project in distinct(self._state.projects_of(place, all_projects)):
            self._state.indexer.read(project, call)  # include the latest notes

            def report(what: str, done: int, total: int, name: str = project.name) -> None:
                call.progress({"phase": what, "done": done, "total": total, "project": name})

            try:
                compared = self._checker.check(project, report, call.cancelled)
            except Unreachable as error:
                compared = RepositoryCheck("", time.time(), str(error))
            found.append(
                Verified(project.id, project.name, compared.head, compared.at, compared.problem)
            )
        return found

    def reset(
        self, call: RequestContext, place: dict[str, str], all_projects: bool = False
    ) -> list[str]:
        """Drop the index of projects and rebuild it in the background. Files are not changed.

        Returns:
            The projects' names.
        """
        projects = self._state.projects_of(place, all_projects)
        for project in projects:
            self._state.indexer.enqueue(IndexJob(project, [], anew=True))
        self._state.bump()
        return [project.name for project in projects]

    def forget_project(self, call: RequestContext, root: str) -> bool:
        """Unregister a project and drop its index. Its files are not changed.

        Args:
            root: the project's folder.

        Returns:
            Whether the project was registered.
        """
        found = next(
            (project for project in self._state.registry.all() if project.root == root), None
        )
        if found is not None:
            self._state.registry.forget(root)
            self._state.indexer.detach(found)
            self._state.bump()
        return found is not None

    def attach(self, call: RequestContext, memories: list[str]) -> None:
        """Register, watch and index memory folders in the background.

        Args:
            memories: folders in which notes were written.
        """
        self._state.index_memories([memory for memory in memories if has_notes(memory)])
        self._state.bump()

    def health(
        self, call: RequestContext, place: dict[str, str] | None = None, all_projects: bool = False
    ) -> Health:
        """Return the state of every part, and a fix for each problem."""
        projects = self._state.projects_of(place, all_projects)
        indexer, space = self._state.indexer, self._state.indexer.spaces.serving
        rows: list[Indexed] = []
        unread: list[tuple[str, str]] = []
        for project in distinct(projects):
            counts = indexer.catalog.statistics.counts(project.id)
            stored = space.chunk_count(project.collection) if space else 0
            failed = indexer.catalog.files.failures(project.id)
            unread += [(failure.path, failure.reason) for failure in failed]
            rows.append(
                Indexed(
                    project.slug,
                    project.name,
                    project.collection,
                    project.memory,
                    **counts,
                    vectors=stored if stored < counts["distinct"] else counts["chunks"],
                    failed_files=[Unread(failure.path, failure.reason) for failure in failed],
                )
            )
        problems = [Problem(indexer.problem, indexer.fix)] if indexer.problem else []
        given_up = dict.fromkeys(
            indexer.given_up[p.root] for p in projects if p.root in indexer.given_up
        )
        problems += [
            Problem(f"no meaning: {reason}", "memsearch index")
            for reason in given_up
            if reason != indexer.problem
        ]
        memories = {os.path.realpath(project.memory): project.memory for project in projects}
        unwatched = [
            (memories[root], why)
            for root, why in indexer.watcher.problems.items()
            if root in memories
        ]
        problems += [Problem(f"not watched: {root}: {why}", "") for root, why in unwatched]
        problems += [Problem(f"{path}: {reason}", "memsearch index") for path, reason in unread]
        return Health(
            fingerprint=space.fingerprint if space else "",
            store=space.server.abilities.words() if space and space.server else "",
            index=indexer.state,
            building=indexer.spaces.next.fingerprint if indexer.spaces.next else "",
            second=self._second_model(projects),
            notice=indexer.notice,
            progress=indexer.progress,
            projects=rows,
            watching=[memories[root] for root in indexer.watcher.roots() if root in memories],
            problems=problems,
            disk=Disk(_size(self._state.home.index), _size(self._state.home.cache_db)),
        )

    def _not_english(self, project: Project) -> float:
        """Return the share of a project's newest notes that are not English.

        It is 0 if the embedding model is not the default one, which is English only.
        """
        if not models.is_carried_english(self._state.settings.embedding):
            return 0.0
        texts = self._state.indexer.catalog.latest_texts(project.id, 300)
        return round(sum(not is_english(text) for text in texts) / len(texts), 3) if texts else 0.0

    def _second_model(self, projects: list[Project]) -> SecondModel:
        """Return the state of the second model, with advice if it is not in use."""
        indexer = self._state.indexer
        if indexer.spaces.second is not None:
            stored = sum(
                indexer.spaces.second.chunk_count(project.collection)
                for project in distinct(projects)
            )
            return SecondModel(models.SECOND, asked=True, vectors=stored, advice="", fix="")
        notes = max((self._not_english(project) for project in projects), default=0.0)
        queries = self._search.asked_in_english
        asked = queries.count(False) / len(queries) if len(queries) >= _ENOUGH_QUERIES else 0.0
        advice = indexer.spaces.second_failed
        fix = f"memsearch models pull {models.SECOND}"
        if (
            not advice
            and max(notes, asked) > _WORTH_A_SECOND
            and self._state.settings.search.models != "one"
        ):
            what = (
                f"{notes:.0%} of the notes are"
                if notes >= asked
                else f"{asked:.0%} of what was searched lately is"
            )
            advice = (
                f"{what} not English, which the installed model hardly knows: "
                f"{models.SECOND} beside it finds {models.SECOND_BRINGS}, "
                "for 150 MB of memory"
            )
            if not models.convertible(self._state.home, models.SECOND):
                fix = f"{install_command('multilingual')}, then {fix}"
        return SecondModel(
            models.SECOND, asked=False, vectors=0, advice=advice, fix=fix if advice else ""
        )


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return (
        sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        if path.is_dir()
        else 0
    )
