"""What the service does: search, index, watch, answer for its state. No sockets here.

One thread does all index writing (``_worker``); searches run on their callers' threads. The catalog is open at once, the
model and Milvus are opened in the background, so that words can be searched a moment after the start.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import queue
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine import __version__
from memsearch_engine.capture import worker as inbox
from memsearch_engine.errors import MemsearchError, Unreachable, UsageError
from memsearch_engine.home import Home
from memsearch_engine.index import embed
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import Filter
from memsearch_engine.index.space import Space, complete_spaces
from memsearch_engine.index.sync import Scan, scan
from memsearch_engine.index.watch import Watcher
from memsearch_engine.journal.write import Journal
from memsearch_engine.projects import Place, Project, locate
from memsearch_engine.registry import Registry
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.query import parse
from memsearch_engine.settings import Embedding, Settings, load

log = logging.getLogger("memsearch.service")
_RECHECK_S = 30.0
_INBOX_S = 1.0
_EMBED_SLICE = 256
_RETIRE_S = 5.0

Progress = Callable[[dict[str, Any]], None]


class Call(msgspec.Struct):
    """What a handler knows of its request: where to report progress, and whether its client gave up."""

    progress: Progress
    cancelled: Callable[[], bool]
    deadline: float = 0.0

    def remaining(self) -> float:
        """Seconds until the client stops waiting."""
        return max(0.0, self.deadline - time.monotonic()) if self.deadline else 3600.0


class Job(msgspec.Struct):
    """Index work for one project. ``done`` is set when it has run; ``result`` or ``error`` then tells."""

    project: Project
    paths: list[str]
    force: bool = False
    call: Call | None = None
    done: threading.Event = msgspec.field(default_factory=threading.Event)
    result: dict[str, Any] | None = None
    error: Exception | None = None


#: In the queue: open the space anew.
_REOPEN = Job(Project("", "", "", "", ""), [])


class Engine:
    """The state of a running service."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.started = time.time()
        self.registry = Registry(home)
        self.problem = ""
        try:
            self.settings = load(home)
        except MemsearchError as error:
            self.settings, self.problem = Settings(), str(error)
        self.catalog, self.notice = Catalog.open_or_rebuild(home.cache_db)
        if self.notice:
            log.warning(self.notice)
        self.journal = Journal(home)
        self.waiting: list[tuple[str, str]] = []
        self.space: Space | None = None  # what serves
        self.next: Space | None = None  # what is built beside it after the model was changed
        self._retired: list[Space] = []
        self.ready = threading.Event()  # the space is open, or can't be
        self.stopping = threading.Event()
        self.progress: dict[str, Any] = {}
        self.version = 0  # grows with every change that a screen should show
        self._changed = threading.Condition()
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        self._known: dict[str, Project] = {}
        self._roots: dict[str, list[str]] = {}
        self._queued: set[str] = set()
        self._done_before: dict[str, tuple[float, dict[str, Any]]] = {}  # root -> when and what, in the background
        self._lock = threading.RLock()
        self._config_stamp = _stamp(home.config)
        self.watcher = Watcher(self._on_files, self.settings.watch.debounce_ms / 1000)
        self._threads = [
            threading.Thread(target=self._worker, name="index", daemon=True),
            threading.Thread(target=self._keeper, name="keeper", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    # -- life -----------------------------------------------------------------------------------------------

    def close(self) -> None:
        self.stopping.set()
        self._jobs.put(None)
        self._bump()
        self.watcher.stop()
        self._threads[0].join(10)
        for space in (self.space, self.next, *self._retired):
            if space is not None:
                space.close()
        self.catalog.close()
        self.registry.close()

    @property
    def busy(self) -> bool:
        return bool(self._queued) or bool(self.progress)

    def _keeper(self) -> None:
        """Reconcile now and then: watches can be lost, settings can change, new projects appear."""
        for project in self._registered():
            self.attach(project)
        checked = time.monotonic()
        while not self.stopping.wait(_INBOX_S):
            self.drain()
            self._check_disk()
            if time.monotonic() - checked < _RECHECK_S:
                continue
            checked = time.monotonic()
            stamp = _stamp(self.home.config)
            if stamp != self._config_stamp:
                self._config_stamp = stamp
                try:
                    self.settings = load(self.home)
                except MemsearchError as error:
                    log.warning("settings not reloaded: %s", error)

    def _check_disk(self) -> None:
        """Notice what was deleted under us: the caches may be at any moment, and git removes folders it brings back."""
        for project in list(self._known.values()):
            self._watch(project)
        if not self.catalog.is_current():
            log.warning("cache.db was deleted; it is built again")
            self.catalog.close()
            self.catalog, self.notice = Catalog.open_or_rebuild(self.home.cache_db)
            self._index_all()
        if self.space is not None and not self.space.is_current():
            self.reopen("the index folder was deleted")

    def reopen(self, why: str) -> None:
        """Close the space and open it again, on the index thread; searches compare words meanwhile."""
        with self._lock:
            broken, self.space = self.space, None
            if broken is None:
                return
        log.warning("the index is opened again: %s", why)
        self.problem = ""
        self.ready.clear()
        self._retired.append(broken)
        self._jobs.put(_REOPEN)
        self._index_all()

    def _index_all(self) -> None:
        for project in list(self._known.values()):
            self.enqueue(Job(project, []))

    def _registered(self) -> list[Project]:
        try:
            return self.registry.all()
        except MemsearchError as error:
            log.error("registry: %s", error)
            return []

    def attach(self, project: Project) -> None:
        """Know a project from now on: watch its files and index what changed while nobody looked."""
        with self._lock:
            if project.root in self._known:
                return
            self._known[project.root] = project
        self._watch(project)
        self.enqueue(Job(project, []))

    def _watch(self, project: Project) -> None:
        if self.watcher.add(project.root, project.memory):
            self.enqueue(Job(project, []))

    def _on_files(self, root: str) -> None:
        project = self._known.get(root)
        if project and not self.stopping.is_set():
            self.enqueue(Job(project, []))

    def drain(self) -> inbox.Outcome:
        """Work the inbox off, and index what came of it."""
        outcome = inbox.work(self.home, self.journal)
        for memory in outcome.memories:
            project = next((p for p in self._registered() if p.memory == memory), None)
            if project is None:
                root = os.path.dirname(os.path.dirname(memory))
                project = self.registry.at(locate(root, self.home))
            self.attach(project)
            self._watch(project)
            self.enqueue(Job(project, []))
        self.waiting = outcome.waiting
        if outcome.captured:
            self._bump()
        return outcome

    # -- index work -----------------------------------------------------------------------------------------

    def enqueue(self, job: Job) -> None:
        """Queue index work; background work for a project that waits already is not queued twice."""
        with self._lock:
            if job.call is None and not job.paths:
                if job.project.root in self._queued:
                    return
                self._queued.add(job.project.root)
        self._jobs.put(job)

    def _worker(self) -> None:
        self._open_space()
        self._warm()
        while not self.stopping.is_set():
            job = self._jobs.get()
            if job is None:
                return
            if job is _REOPEN:
                self._retire(remove=False)
                self._open_space()
                self._warm()
                continue
            with self._lock:
                if job.call is None and not job.paths:
                    if job.project.root not in self._queued:
                        continue  # a person's own index run came first and did it
                    self._queued.discard(job.project.root)
            try:
                job.result = self._index(job)
                if job.call is None:
                    self._done_before[job.project.root] = (time.monotonic(), job.result)
                self._settle_spaces()
            except Exception as error:  # a failed run must not stop the next one
                log.exception("index of %s failed", job.project.root)
                job.error = error
            finally:
                self.progress = {}
                if job.result and job.result["embedded"] >= _EMBED_SLICE:
                    give_back_memory()
                job.done.set()
                self._bump()

    def _open_space(self) -> None:
        """Open what the settings name. Where that has to be built first, the last complete space serves meanwhile."""
        start = time.monotonic()
        wanted = self.settings.embedding
        try:
            self.settings = load(self.home)
            wanted = self.settings.embedding
            name = embed.fingerprint_of(self.home, wanted)
            others = {key: value for key, value in complete_spaces(self.home).items() if key != name}
            first = Space(self.home, self.settings.milvus, embed.load(self.home, wanted))
            if first.complete or not others:
                self.space = first
            else:
                old, made_with = next(iter(others.items()))
                log.info("%s is built, %s serves meanwhile", name, old)
                self.next = first
                self.space = self._reopened(made_with)
            self.problem = ""
            log.info("space %s open after %.2f s", name, time.monotonic() - start)
        except MemsearchError as error:
            self.problem = f"{error}" + (f" ({error.hint})" if error.hint else "")
            log.error("no meaning: %s", self.problem)
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
            log.exception("the index can't be opened")
        finally:
            self.ready.set()
            self._bump()

    def _warm(self) -> None:
        """Let Milvus build its BM25 tables before the first search asks for them, and give back what loading took."""
        for project in _distinct(list(self._known.values())):
            if self.space is not None and self.space.held(project.collection):
                with contextlib.suppress(Exception):  # a damaged folder shows itself, and is mended, where it is used
                    self.space.bm25(project.collection, ["warm"], 1, Filter())
        give_back_memory()

    def _reopened(self, made_with: Embedding) -> Space | None:
        """An older complete space; None (words alone serve) where its model is gone."""
        made_with.api_key = self.settings.embedding.api_key
        try:
            return Space(self.home, self.settings.milvus, embed.load(self.home, made_with))
        except MemsearchError as error:
            log.warning("the old index can't serve: %s", error)
            return None

    def _settle_spaces(self) -> None:
        """When everything known has its vectors: note it, and let a finished new space take the old one's place."""
        target = self.next or self.space
        if target is None or not self._jobs.empty() or (target.complete and self.next is None):
            return
        projects = _distinct(list(self._known.values()))
        if any(target.missing(self.catalog, project.id) for project in projects):
            return
        target.set_complete(self.settings.embedding)
        if self.next is not None:
            old, self.space, self.next = self.space, self.next, None
            log.info("%s takes over", target.fingerprint)
            if old is not None:
                self._retired.append(old)
                threading.Timer(_RETIRE_S, self._retire).start()

    def _retire(self, *, remove: bool = True) -> None:
        """Close (and delete) spaces that were replaced, once the searches that began on them have ended."""
        while self._retired:
            old = self._retired.pop()
            old.close()
            if remove:
                shutil.rmtree(old.folder, ignore_errors=True)

    def _index(self, job: Job) -> dict[str, Any]:
        start = time.monotonic()
        project, call = job.project, job.call
        settings = load(self.home, Path(project.root) / ".memsearch.toml")
        roots = [project.memory, *self._extra_roots(project, job.paths)]
        self._report(call, project, "reading", 0, 0)
        found: Scan = scan(
            self.catalog,
            project.id,
            roots,
            settings,
            memory=project.memory,
            force=job.force,
            progress=lambda done, total: self._report(call, project, "reading", done, total),
        )
        if found.changed or found.removed:
            self._bump()
        embedded = deleted = 0
        reason = self.problem
        for space in (self.space, self.next):
            if space is not None:
                made, gone, why = self._embed_or_mend(space, project, call)
                embedded, deleted, reason = embedded + made, deleted + gone, reason or why
        counts = self.catalog.counts(project.id)
        return {
            "project": project.slug,
            "collection": project.collection,
            "files": found.files,
            "changed": found.changed,
            "removed": found.removed,
            "entries": counts["entries"],
            "chunks": counts["chunks"],
            "embedded": embedded,
            "deleted": deleted,
            "failed": [{"path": path, "reason": reason} for path, reason in found.failed],
            "meaning": not reason,
            "reason": reason,
            "warnings": settings.warnings,
            "seconds": round(time.monotonic() - start, 3),
        }

    def _embed_or_mend(self, space: Space, project: Project, call: Call | None) -> tuple[int, int, str]:
        """Embed; a damaged Milvus folder is built again from the kept vectors. Returns (made, removed, why not all)."""
        try:
            return *self._embed(space, project, call), ""
        except MemsearchError as error:  # the embedding service can't be reached: words are indexed all the same
            log.warning("no vectors for %s: %s", project.slug, error)
            return 0, 0, str(error)
        except Exception:
            log.exception("the index of %s is damaged and built again", project.slug)
            space.rebuild()
            return *self._embed(space, project, call), ""

    def _embed(self, space: Space, project: Project, call: Call | None) -> tuple[int, int]:
        """Make vectors newest first and store them in slices, so that meaning arrives as it is made."""
        missing = space.missing(self.catalog, project.id)
        total, done = len(missing), 0
        _, deleted = space.reconcile(self.catalog, project.id, project.collection)
        items = list(missing.items())

        def cancelled() -> bool:
            return self.stopping.is_set() or (call is not None and call.cancelled())

        for start in range(0, total, _EMBED_SLICE):

            def progress(made: int, _: int, before: int = start) -> None:
                self._report(call, project, "embedding", before + made, total)

            done += space.embed(dict(items[start : start + _EMBED_SLICE]), progress, cancelled)
            deleted += space.reconcile(self.catalog, project.id, project.collection)[1]
            self._bump()
            if cancelled():
                break
        return done, deleted

    def _extra_roots(self, project: Project, paths: list[str]) -> list[str]:
        """Folders beside the memory folder that the user asked to index; remembered by the catalog's own files."""
        known = self.catalog.query("SELECT DISTINCT root FROM files WHERE project=?", (project.id,))
        roots = {os.path.abspath(path) for path in paths} | {root for (root,) in known}
        return sorted(root for root in roots if root != project.memory)

    def _report(self, call: Call | None, project: Project, phase: str, done: int, total: int) -> None:
        self.progress = {"project": project.slug, "phase": phase, "done": done, "total": total}
        if call is not None:
            call.progress(self.progress)

    def _bump(self) -> None:
        with self._changed:
            self.version += 1
            self._changed.notify_all()

    # -- requests -------------------------------------------------------------------------------------------

    def project_at(self, place: dict[str, str]) -> Project:
        """The project at a place that the client found (its environment counts, not the service's)."""
        project = self.registry.at(msgspec.convert(place, Place))
        self.attach(project)
        return project

    def scope(self, place: dict[str, str], names: list[str]) -> list[Project]:
        """The projects that a search covers: the current one, those named, or all (``*``)."""
        if not names:
            return [self.project_at(place)]
        projects = self.registry.all()
        if "*" in names:
            return _distinct(projects)
        chosen = [p for p in projects if p.slug in names or p.name in names or p.id in names or p.collection in names]
        if not chosen:
            raise UsageError(
                f"no project named {', '.join(names)}",
                f"known: {', '.join(sorted({p.name for p in projects})) or 'none'}",
            )
        return _distinct(chosen)

    def search(
        self,
        call: Call,
        place: dict[str, str],
        query: str,
        limit: int = 10,
        mode: str = "hybrid",
        fusion: str = "",
        projects: list[str] | None = None,
    ) -> Answer:
        parsed = parse(query)
        scope = self.scope(place, [*(projects or []), *parsed.projects])
        if mode != "lexical" and not parsed.is_empty:
            self.ready.wait(call.remaining())
        fusion = fusion or self.settings.search.fusion
        try:
            answer = hybrid.search(self.catalog, self.space, scope, parsed, limit, mode, fusion)
        except MemsearchError:
            raise
        except Exception as error:  # whatever Milvus raises: words still answer
            log.exception("search fell back to words")
            self.reopen(f"{type(error).__name__}: {error}")
            answer = hybrid.search(self.catalog, None, scope, parsed, limit, "lexical", fusion)
            answer.reason = "the index failed and is opened again"
        if answer.mode == "lexical" and mode != "lexical" and self.problem:
            answer.reason = self.problem
        return answer

    def index(
        self,
        call: Call,
        place: dict[str, str],
        paths: list[str] | None = None,
        force: bool = False,
        all_projects: bool = False,
    ) -> list[dict[str, Any]]:
        for path in paths or []:
            if not os.path.exists(path):
                raise UsageError(f"{path} does not exist")
        projects = self.registry.all() if all_projects else [self.project_at(place)]
        results = []
        began = time.monotonic()
        for project in projects:
            job = Job(project, list(paths or []), force, call)
            with self._lock:
                self._queued.discard(project.root)  # what waits in the background is done by this run
            self.enqueue(job)
            while not job.done.wait(0.5):
                if call.cancelled():
                    raise Unreachable("cancelled")
            if job.error:
                raise job.error
            assert job.result is not None
            at, before = self._done_before.get(project.root, (0.0, None))
            if before and at >= began:  # a background run that was under way did part of what was asked
                for key in ("changed", "removed", "embedded", "deleted"):
                    job.result[key] += before[key]
            results.append(job.result)
        return results

    def reset(self, call: Call, place: dict[str, str], all_projects: bool = False) -> dict[str, Any]:
        """Forget the index of a project (its files are untouched) and build it again in the background."""
        projects = self.registry.all() if all_projects else [self.project_at(place)]
        for project in projects:
            for (path,) in self.catalog.query("SELECT path FROM files WHERE project=?", (project.id,)):
                self.catalog.drop_file(project.id, path)
            for space in (self.space, self.next):
                if space is not None:
                    space.forget(project.collection)
            self.enqueue(Job(project, []))
        self._bump()
        return {"projects": [project.slug for project in projects]}

    def health(self, call: Call, place: dict[str, str] | None = None, all_projects: bool = False) -> dict[str, Any]:
        """State of every part, with the command that mends what is broken."""
        projects = self.registry.all() if all_projects or not place else [self.project_at(place)]
        space = self.space
        rows: list[dict[str, Any]] = []
        unread: list[tuple[str, str]] = []
        for project in _distinct(projects):
            counts = self.catalog.counts(project.id)
            held = space.held(project.collection) if space else 0
            failed = self.catalog.query(
                "SELECT path, reason FROM files WHERE project=? AND state='failed'", (project.id,)
            )
            unread += failed
            rows.append(
                {
                    "project": project.slug,
                    "name": project.name,
                    "collection": project.collection,
                    "memory": project.memory,
                    **counts,
                    "vectors": held if held < counts["distinct"] else counts["chunks"],
                    "failed_files": [{"path": path, "reason": reason} for path, reason in failed],
                }
            )
        problems = [{"what": self.problem, "fix": "memsearch doctor"}] if self.problem else []
        memories = {os.path.realpath(project.memory) for project in projects}
        unwatched = [(root, why) for root, why in self.watcher.problems.items() if root in memories]
        problems += [{"what": f"not watched: {root}: {why}", "fix": ""} for root, why in unwatched]
        problems += [{"what": f"{path}: {reason}", "fix": "memsearch index"} for path, reason in unread]
        return {
            "fingerprint": space.fingerprint if space else "",
            "index": "ready" if space else ("broken" if self.problem else "opening"),
            "building": self.next.fingerprint if self.next else "",
            "notice": self.notice,
            "progress": self.progress,
            "projects": rows,
            "watching": [root for root in self.watcher.roots() if root in memories],
            "problems": problems,
            "disk": {"index": _size(self.home.index), "catalog": _size(self.home.cache_db)},
        }

    def status(self, call: Call) -> dict[str, Any]:
        import psutil

        return {
            "running": True,
            "pid": os.getpid(),
            "version": __version__,
            "uptime_s": round(time.time() - self.started, 1),
            "rss_mb": round(psutil.Process().memory_info().rss / 1e6, 1),
            "index": "ready" if self.space else ("broken" if self.problem else "opening"),
            "reason": self.problem,
            "progress": self.progress,
            "projects": len(self._known),
        }

    def wait(self, call: Call, version: int = 0) -> dict[str, Any]:
        """Block until something changed after *version* (screens live by this), or the client's deadline."""
        end = time.monotonic() + min(call.remaining(), 60)
        with self._changed:
            while self.version <= version and not self.stopping.is_set() and not call.cancelled():
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, 1.0))
            return {
                "version": self.version,
                "progress": self.progress,
                "index": "ready" if self.space else "opening",
            }

    def inbox(self, call: Call) -> dict[str, Any]:
        """Drain the inbox now and say what waits."""
        outcome = self.drain()
        return {
            "captured": outcome.captured,
            "skipped": outcome.skipped,
            "already": outcome.already,
            "waiting": [{"event": os.path.basename(path), "reason": reason} for path, reason in outcome.waiting],
        }


def give_back_memory() -> None:
    """Return freed memory to the system, where the C library can be told to (glibc keeps 50 to 100 MB otherwise)."""
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def _distinct(projects: list[Project]) -> list[Project]:
    return list({project.id: project for project in reversed(projects)}.values())[::-1]


def _stamp(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError:
        return 0, 0
    return info.st_mtime_ns, info.st_size


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else 0
