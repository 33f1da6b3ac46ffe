"""Commands to the index thread, and the request context that a handler receives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from memsearch_engine.core.projects import Project
from memsearch_engine.index.rows import IndexResult

Progress = Callable[[dict[str, Any]], None]


class RequestContext(msgspec.Struct):
    """The context of a request, which each handler receives.

    Attributes:
        progress: reports progress to the client.
        cancelled: returns whether the client has cancelled the request.
        deadline: when the client stops waiting (``time.monotonic``); 0 for never.
    """

    progress: Progress
    cancelled: Callable[[], bool]
    deadline: float = 0.0

    def remaining(self) -> float:
        """Return the seconds until the client stops waiting; 3600 if it has no deadline."""
        return max(0.0, self.deadline - time.monotonic()) if self.deadline else 3600.0

    def is_late(self) -> bool:
        """Whether the client no longer waits for the answer."""
        return self.cancelled() or 0 < self.deadline < time.monotonic()


class IndexJob(msgspec.Struct):
    """Index a project.

    Attributes:
        paths: further folders to index.
        force: also read files that seem unchanged.
        call: the request that waits for the job; None for background work.
        anew: drop the project's index first. Files and stored vectors stay.
        was_read: set when the files have been read.
        done: set when the job has run; ``result`` or ``error`` is then set.
    """

    project: Project
    paths: list[str]
    force: bool = False
    call: RequestContext | None = None
    anew: bool = False
    was_read: threading.Event = msgspec.field(default_factory=threading.Event)
    done: threading.Event = msgspec.field(default_factory=threading.Event)
    result: IndexResult | None = None
    error: Exception | None = None

    @property
    def is_routine(self) -> bool:
        """Whether this is background work that any other run of the project includes."""
        return self.call is None and not self.paths and not self.anew


class DropProject(msgspec.Struct):
    """Drop a project's index.

    Attributes:
        done: set when the index is dropped.
    """

    project: Project
    done: threading.Event = msgspec.field(default_factory=threading.Event)


class OpenVectors(msgspec.Struct):
    """Open the vector index that the settings name, again."""


class UpdateSecondModel(msgspec.Struct):
    """Open or close the second model's vector index, according to the settings."""


class Stop(msgspec.Struct):
    """End the index thread."""


Command = IndexJob | DropProject | OpenVectors | UpdateSecondModel | Stop


def distinct(projects: list[Project]) -> list[Project]:
    """Return one project for each project id, in the original order."""
    return list({project.id: project for project in reversed(projects)}.values())[::-1]
