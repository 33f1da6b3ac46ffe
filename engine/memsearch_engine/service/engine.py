"""Builds a running service without its socket: state, background tasks and request handlers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from memsearch_engine import __version__
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import Settings
from memsearch_engine.service.answers import (
    IndexStatus,
    ServiceStatus,
)
from memsearch_engine.service.capture_handlers import CaptureHandlers
from memsearch_engine.service.commands import RequestContext
from memsearch_engine.service.index_handlers import IndexHandlers
from memsearch_engine.service.indexing import Indexer
from memsearch_engine.service.injection_handlers import InjectionHandlers
from memsearch_engine.service.repository_checks import RepositoryChecker
from memsearch_engine.service.search_handlers import SearchHandlers
from memsearch_engine.service.service_state import ServiceState
from memsearch_engine.service.tasks import BackgroundTasks

_MAX_WAIT_S = 60.0
#: The remote methods. The parameters of a method are those of its handler, which is a method of the
#: engine or of one of its ``…_handlers``.
METHODS = tuple(
    (
        "search search_view expand_view transcript_view trace contradicted "
        "recall endings prepare carry_on around "
        "index verify reset forget_project attach health status wait "
        "coverage missed inbox standing longterm"
    ).split()
)


class Engine:
    """All parts of a service. Creating it starts the background tasks.

    Attributes:
        handlers: method name -> handler, which takes a ``RequestContext`` and the request's
            parameters.
    """

    def __init__(self, home: Home) -> None:
        self.state = ServiceState(home)
        self.tasks = BackgroundTasks(self.state)
        self.checker = RepositoryChecker(
            home, self.state.indexer, self.state.stopping, self.state.bump
        )
        search = SearchHandlers(self.state)
        index = IndexHandlers(self.state, search, self.checker)
        injection = InjectionHandlers(self.state, search)
        self._capture = CaptureHandlers(self.state, self.tasks)
        parts = (self, search, index, injection, self._capture)
        self.handlers: dict[str, Callable[..., Any]] = {
            name: next(getattr(part, name) for part in parts if hasattr(part, name))
            for name in METHODS
        }
        self.tasks.start()

    def close(self) -> None:
        """Stop the background tasks and close all files."""
        self.tasks.stop()
        self.checker.close()
        self.state.close()

    @property
    def indexer(self) -> Indexer:
        """The index of this home."""
        return self.state.indexer

    @property
    def settings(self) -> Settings:
        """The owner's settings."""
        return self.state.settings

    @property
    def kept_up_by(self) -> list[str]:
        """What postpones the exit, besides the client that asks; empty if only idle time counts."""
        others = self.state.activity.clients - 1
        return [
            *([f"{others} connected client{'s' if others > 1 else ''}"] if others > 0 else []),
            *(["a long-term run that was asked for"] if self.tasks.longterm.is_asked_for else []),
            *(["a last round of sync"] if self.tasks.sync.is_syncing else []),
        ]

    @property
    def own_work(self) -> list[str]:
        """The current background work. It does not postpone the exit."""
        doing = self.state.indexer.progress
        return [
            *(
                [f"{doing['phase']} {doing['project']}, {doing['done']} of {doing['total']}"]
                if doing
                else []
            ),
            *self.state.indexer.own_work,
            *(
                [f"comparing the notes of {self.checker.busy} with the repository"]
                if self.checker.busy
                else []
            ),
            *(
                ["a long-term run"]
                if self.tasks.longterm.is_running and not self.tasks.longterm.is_asked_for
                else []
            ),
        ]

    def status(self, call: RequestContext) -> ServiceStatus:
        """Return the status of the process."""
        import psutil

        return ServiceStatus(
            running=True,
            pid=os.getpid(),
            version=__version__,
            uptime_s=round(time.time() - self.state.started, 1),
            rss_mb=round(psutil.Process().memory_info().rss / 1e6, 1),
            index=self.state.indexer.state,
            reason=self.state.indexer.problem,
            alarms=self._capture.alarms(),
            progress=self.state.indexer.progress,
            projects=len(self.state.indexer.known),
            last_use=self.state.activity.last_use,
            idle_s=round(self.state.activity.idle_s, 1),
            idle_limit_s=self.state.settings.service.idle_minutes * 60,
            kept_up_by=self.kept_up_by,
            own_work=self.own_work,
        )

    def wait(self, call: RequestContext, version: int = 0) -> IndexStatus:
        """Block until a change after *version* or the client's deadline, and return the state.

        Screens use this to follow the service.
        """
        wait_s = min(call.remaining(), _MAX_WAIT_S)
        now = self.state.wait_for_change(version, wait_s, call.cancelled)
        return IndexStatus(now, self.indexer.progress, self.indexer.state)
