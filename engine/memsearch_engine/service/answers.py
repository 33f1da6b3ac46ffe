"""Types of the service's answers that no other room of the engine defines.

The client and the service use the same types.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Problem(msgspec.Struct):
    """A problem, and the command that fixes it (``""``: no command does)."""

    what: str
    fix: str


class Unread(msgspec.Struct):
    """A file that could not be indexed, and the reason."""

    path: str
    reason: str


class Indexed(msgspec.Struct):
    """Counts of a project's index.

    Attributes:
        distinct: chunks with different texts.
        failed: files that could not be read; ``failed_files`` lists them.
        vectors: chunks that have a vector.
    """

    project: str
    name: str
    collection: str
    memory: str
    files: int
    entries: int
    days: int
    chunks: int
    distinct: int
    failed: int
    vectors: int
    failed_files: list[Unread]


class SecondModel(msgspec.Struct):
    """The state of the second embedding model.

    Attributes:
        asked: whether searches use it.
        vectors: chunks that have a vector of this model.
        advice: why the owner should enable it; ``""`` for no advice.
        fix: the command that enables it.
    """

    name: str
    asked: bool
    vectors: int
    advice: str
    fix: str


class Disk(msgspec.Struct):
    """Bytes on disk."""

    index: int
    catalog: int


class Health(msgspec.Struct):
    """The state of every part of the service.

    Attributes:
        fingerprint: of the index that serves searches.
        index: ``ready``, ``opening``, ``broken``, …
        building: fingerprint of an index that is being built; ``""`` if there is none.
        progress: ``phase``, ``project``, ``done`` and ``total`` of the current work; empty when
            idle.
        store: one sentence on the Milvus server and its abilities; ``""`` without one.
    """

    fingerprint: str
    index: str
    building: str
    second: SecondModel
    notice: str
    progress: dict[str, Any]
    projects: list[Indexed]
    watching: list[str]
    problems: list[Problem]
    disk: Disk
    store: str = ""


class ServiceStatus(msgspec.Struct):
    """The state of the service process.

    Attributes:
        reason: why the index is not ready.
        alarms: one sentence for each agent from which turns have stopped arriving.
        last_use: the last request or event of a client; ``""`` if there was none since the start.
        idle_s: seconds since the last use.
        idle_limit_s: seconds without use after which the service exits.
        kept_up_by: what postpones the exit now.
        own_work: background work, which does not postpone the exit.
    """

    running: bool
    pid: int | None = None
    version: str = ""
    uptime_s: float = 0.0
    rss_mb: float = 0.0
    index: str = "closed"
    reason: str = ""
    alarms: list[str] = []
    progress: dict[str, Any] = {}
    projects: int = 0
    last_use: str = ""
    idle_s: float = 0.0
    idle_limit_s: float = 0.0
    kept_up_by: list[str] = []
    own_work: list[str] = []


class IndexStatus(msgspec.Struct):
    """The state of the index, for screens.

    Attributes:
        version: increases with every change.
    """

    version: int
    progress: dict[str, Any] = {}
    index: str = ""


class QueuedEvent(msgspec.Struct):
    """An event that waits in the queue, or that was set aside because it can't be read.

    Attributes:
        event: its file name.
    """

    event: str
    reason: str


class QueueReport(msgspec.Struct):
    """The result of processing the event queue.

    Attributes:
        captured, skipped, already: numbers of turns.
        waiting: events that stay in the queue.
        set_aside: events that can't be read.
    """

    captured: int
    skipped: int
    already: int
    waiting: list[QueuedEvent]
    set_aside: list[QueuedEvent]


class CaptureStatus(msgspec.Struct):
    """The state of capture and of the review queue.

    Attributes:
        capturing: agent -> when its capture began (seconds since 1970).
        alarms: one sentence for each agent from which turns have stopped arriving.
        waiting: number of decisions that are pending review.
    """

    capturing: dict[str, float]
    alarms: list[str]
    waiting: int


class Verified(msgspec.Struct):
    """The result of comparing a project's notes with its repository.

    Attributes:
        head: the commit that was checked out.
        at: when, in seconds since 1970.
        problem: why the notes could not be compared; ``""`` if they were.
    """

    project: str
    name: str
    head: str
    at: float
    problem: str
