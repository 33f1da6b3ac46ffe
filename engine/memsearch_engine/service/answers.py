"""What the service answers, where it is more than one of the engine's own structs: the same on both
ends of the socket.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Problem(msgspec.Struct):
    """Something that is wrong, and the command that mends it ('': none does)."""

    what: str
    fix: str


class Unread(msgspec.Struct):
    path: str
    reason: str


class Indexed(msgspec.Struct):
    """What is indexed of a project. ``vectors``: chunks that can be found by meaning."""

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
    """The model beside the first. ``advice``: what it would bring where it is not asked, and
    ``fix`` how to have it.
    """

    name: str
    asked: bool
    vectors: int
    advice: str
    fix: str


class Disk(msgspec.Struct):
    """Bytes."""

    index: int
    catalog: int


class Health(msgspec.Struct):
    """State of every part.

    Attributes:
        index: ``ready``, ``opening``, ``broken``, …; building: the fingerprint of an index that
            is being built beside.
        progress: ``phase``, ``project``, ``done`` and ``total`` of what is going on; empty at rest.
        store: what a Milvus server is and can do, in a sentence; '' on Milvus Lite.
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


class Status(msgspec.Struct):
    """The process.

    Attributes:
        alarms: agents whose turns don't arrive.
        last_use: the last request or event of somebody else ('': none since the start); idle_s:
            seconds since then.
        idle_limit_s: seconds without use after which it ends. kept_up_by: what postpones that now.
        own_work: what it does by itself, which postpones nothing.
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


class State(msgspec.Struct):
    """``version`` goes up with every change."""

    version: int
    progress: dict[str, Any] = {}
    index: str = ""


class Event(msgspec.Struct):
    """One that waits, or was set aside since it can't be read."""

    event: str
    reason: str


class Inbox(msgspec.Struct):
    """What came of the events that hooks have left."""

    captured: int
    skipped: int
    already: int
    waiting: list[Event]
    set_aside: list[Event]


class Standing(msgspec.Struct):
    """Who is captured and since when (seconds since 1970), whose turns don't arrive, how many
    decisions the owner owes.
    """

    capturing: dict[str, float]
    alarms: list[str]
    waiting: int


class Verified(msgspec.Struct):
    """A project whose notes were compared with its repository: with which commit (``head``), when
    (seconds since 1970), and why they could not be ('': they could).
    """

    project: str
    name: str
    head: str
    at: float
    problem: str
