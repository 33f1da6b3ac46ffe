"""What the index thread is asked to do, and what a handler knows of its request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from memsearch_engine.core.projects import Project
from memsearch_engine.index.rows import IndexResult

Progress = Callable[[dict[str, Any]], None]


class Call(msgspec.Struct):
    """What a handler knows of its request.

    Attributes:
        progress: reports progress to the client.
        cancelled: whether the client gave up.
        deadline: when the client stops waiting (``time.monotonic``); 0: never.
    """

    progress: Progress
    cancelled: Callable[[], bool]
    deadline: float = 0.0

    def remaining(self) -> float:
        """Seconds until the client stops waiting."""
        return max(0.0, self.deadline - time.monotonic()) if self.deadline else 3600.0

    def is_late(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.cancelled() or 0 < self.deadline < time.monotonic()


class IndexJob(msgspec.Struct):
    """Index a project.

    Attributes:
        paths: folders to index besides the project's own.
        force: read files again that look as they were.
        call: the request that waits; None for work in the background.
        anew: drop what is indexed first. The files, and the vectors of their texts, stay.
        was_read: set when the files were read. done: set when the job has run; ``result`` or
            ``error`` is there then.
    """

    project: Project
    paths: list[str]
    force: bool = False
    call: Call | None = None
    anew: bool = False
    was_read: threading.Event = msgspec.field(default_factory=threading.Event)
    done: threading.Event = msgspec.field(default_factory=threading.Event)
    result: IndexResult | None = None
    error: Exception | None = None

    @property
    def is_routine(self) -> bool:
        """Whether it is background work that any other run of the project does, too."""
        return self.call is None and not self.paths and not self.anew


class DropProject(msgspec.Struct):
    """Drop what is indexed of a project. ``done``: set when it is gone."""

    project: Project
    done: threading.Event = msgspec.field(default_factory=threading.Event)


class OpenVectors(msgspec.Struct):
    """Open the vectors that the settings name, again."""


class UpdateSecondModel(msgspec.Struct):
    """Open or close the second model's vectors, as the settings want it."""


class Stop(msgspec.Struct):
    """End the index thread."""


Command = IndexJob | DropProject | OpenVectors | UpdateSecondModel | Stop


def distinct(projects: list[Project]) -> list[Project]:
    """One project for each identity, in the order of the first ones."""
    return list({project.id: project for project in reversed(projects)}.values())[::-1]
