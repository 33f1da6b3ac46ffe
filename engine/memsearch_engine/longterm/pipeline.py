"""Runs both phases, reports their status, and clears the long-term memory."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from memsearch_engine.core.errors import Conflict, SettingsError
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.llm import cli, spend
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.state import change_state, using
from memsearch_engine.journal.disk import locked
from memsearch_engine.longterm import consolidate, extract, forgetting, review, workspace
from memsearch_engine.longterm.jobs import SCHEMA as JOBS
from memsearch_engine.longterm.jobs import Job, Jobs, Refusal, learning
from memsearch_engine.longterm.store import SCHEMA as STORE
from memsearch_engine.longterm.store import SessionMemories, pinned_ids

BACKED_UP = STORE + review.SCHEMA + forgetting.TRASH
_BACKED_UP_TABLES = ("longterm_memories", "longterm_refused", "longterm_waiting", "longterm_trash")
EVERY_S = 6 * 3600.0
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS longterm_considered (one INTEGER "
    "PRIMARY KEY CHECK (one=1), at REAL NOT NULL);"
)


class RunReport(msgspec.Struct):
    """The results of a run.

    ``forgotten``: ids that nobody used within the window. A phase that did not run is None.
    """

    forgotten: list[str]
    extracted: extract.ExtractionResult | None = None
    consolidated: consolidate.ConsolidationResult | None = None


def run(
    home: Home,
    settings: Settings,
    folders: AgentFolders,
    *,
    phase: int = 0,
    only: str = "",
    since: float = 0.0,
    background: bool = False,
    progress: extract.Progress | None = None,
    stop: Callable[[], bool] | None = None,
    clock: Callable[[], float] = time.time,
) -> RunReport:
    """Forget what is unused, read the sessions that are due, and consolidate.

    Args:
        phase: 1 or 2 for one of the phases; 0 for both.
        only: one session by id, whatever its age and idle time.
        since: sessions from this time on (seconds since 1970), however old.
        background: apply the settings' limit of sessions, and the pause after a consolidation.

    Raises:
        SettingsError: no model is configured.
        Unreachable: the workspace is not usable.
    """
    workspace.check_root(home.longterm)
    check_models(settings, phase)
    most = settings.longterm.sessions_per_run if background else 0
    with learning(home):
        pinned, memories = pinned_ids(home), SessionMemories(home, clock)
        report = RunReport(memories.forget_unused(settings.longterm.unused_days, pinned))
        if phase in (0, 1):
            report.extracted = extract.run(
                home,
                settings,
                folders,
                only=only,
                since=since,
                limit=most,
                progress=progress,
                stop=stop,
                clock=clock,
            )
        if phase in (0, 2):
            report.consolidated = _consolidated(
                home, settings, not background, pinned, progress, stop, clock
            )
    return report


def _consolidated(
    home: Home,
    settings: Settings,
    force: bool,
    pinned: set[str],
    progress: extract.Progress | None,
    stop: Callable[[], bool] | None,
    clock: Callable[[], float],
) -> consolidate.ConsolidationResult | None:
    """Consolidate; None if the run is stopped.

    The process that reads the last session consolidates, so that all sessions go into one change.
    """
    if any(job.is_running(clock()) for job in Jobs(home).all("extract").values()):
        why = "sessions are being read by another process"
        return consolidate.ConsolidationResult("skipped", why)
    if stop and stop():
        return None
    if progress:
        progress("consolidating", 0, 0)
    return consolidate.run(home, settings, force=force, pinned=pinned, stop=stop, clock=clock)


def check_models(settings: Settings, phase: int) -> None:
    """Raise SettingsError if a phase that would run has no model.

    Call it before any change, forgetting included.
    """
    for number, name in ((1, "extract"), (2, "consolidate")):
        if phase in (0, number) and not getattr(settings.longterm, name).provider:
            raise SettingsError(
                f"`longterm.{name}.provider` is not set: no model may be asked",
                f"memsearch config set longterm.{name}.provider NAME ({', '.join(cli.agents())}, "
                "or one under llm.providers)",
            )


def set_mode(home: Home, agent: str, session: str, mode: Literal["enabled", "disabled"]) -> None:
    """Set whether a session may be read.

    A session that was skipped because of outside content is read again. The next consolidation
    forgets a disabled session.
    """
    SessionMemories(home).set_mode(agent, session, mode)
    if mode == "enabled":
        values = (f"{agent}/{session}", extract.OUTSIDE)
        change_state(
            home,
            JOBS,
            "DELETE FROM longterm_jobs WHERE kind='extract' AND key=? AND outcome=?",
            values,
        )


def due(home: Home, settings: Settings, now: float = 0.0) -> bool:
    """Whether the background should run now.

    A true answer starts a pause of six hours for all processes.
    """
    if not (
        settings.longterm.enabled
        and settings.longterm.extract.provider
        and settings.longterm.consolidate.provider
    ):
        return False
    now = now or time.time()
    return bool(
        change_state(
            home,
            _SCHEMA,
            "INSERT INTO longterm_considered (one, at) VALUES (1, ?) ON CONFLICT(one) DO UPDATE "
            "SET at=excluded.at "
            "WHERE at <= ? OR at > excluded.at",  # or the clock was set back
            (now, now - EVERY_S),
        )
    )


class Due(msgspec.Struct):
    """A session, and why it is not read (``due`` if it will be)."""

    agent: str
    session: str
    reason: str
    memory: str
    modified: str


class Failed(msgspec.Struct):
    """A session that could not be read."""

    key: str
    error: str
    tries_left: int
    stolen: int


class PendingProposal(msgspec.Struct):
    """The pending proposal.

    Attributes:
        proposal: its number.
        hunks: its number of open changes.
    """

    proposal: int
    hunks: int


class LongTermStatus(msgspec.Struct):
    """The status of the pipeline.

    Attributes:
        reasons: reason why sessions are not read -> their number.
        consolidation: the last consolidation.
    """

    enabled: bool
    problems: list[str]
    sessions: list[Due]
    reasons: dict[str, int]
    failed: list[Failed]
    consolidation: Job | None
    review: PendingProposal | None
    memories: int
    today_tokens: int
    daily_tokens: int


def status(
    home: Home, settings: Settings, folders: AgentFolders, now: float = 0.0
) -> LongTermStatus:
    """Report what is enabled, done and pending, and why each session is or is not read."""
    now = now or time.time()
    limits, jobs = settings.longterm, Jobs(home)
    standings = extract.survey(home, settings, folders, now=now)
    waiting = review.pending(home)
    problems = []
    if not limits.enabled:
        problems.append(
            "off: nothing runs in the background (`memsearch config set longterm.enabled true`)"
        )
    problems.extend(
        f"no model may be asked: `longterm.{name}.provider` is not set"
        for name in ("extract", "consolidate")
        if not getattr(limits, name).provider
    )
    used = spend.today(home, extract.PURPOSE)
    if used >= limits.daily_tokens:
        problems.append(f"the day's {limits.daily_tokens:,} tokens are used up")
    return LongTermStatus(
        enabled=limits.enabled,
        problems=problems,
        sessions=[
            Due(
                s.where.agent,
                s.where.session,
                s.reason or "due",
                s.memory,
                time.strftime("%Y-%m-%d %H:%M", time.localtime(s.where.modified)),
            )
            for s in standings
        ],
        # without their numbers, to count equal ones
        reasons=dict(Counter(s.reason.partition(":")[0] or "due" for s in standings).most_common()),
        failed=[
            Failed(job.key, job.error, job.tries_left, job.stolen)
            for job in jobs.all("extract").values()
            if job.state == "error"
        ],
        consolidation=jobs.get("consolidate", "all"),
        review=PendingProposal(waiting.id, len(waiting.waiting)) if waiting else None,
        memories=len([m for m in SessionMemories(home).all() if not m.forgotten]),
        today_tokens=used,
        daily_tokens=limits.daily_tokens,
    )


def clear(home: Home) -> Path | None:
    """Remove the whole long-term memory: files, memories, proposals, jobs.

    Modes and uses stay. A backup is made first.

    Returns:
        The backup; None if there was nothing.

    Raises:
        Conflict: a consolidation is running.
        Unreachable: the workspace is a link.
    """
    workspace.check_root(home.longterm)
    jobs = Jobs(home)
    claim = jobs.claim("consolidate", "all", time.time(), force=True)
    if isinstance(claim, Refusal):
        raise Conflict(
            f"a consolidation is {claim}",
            "try again when it has ended (`memsearch longterm status`)",
        )
    try:
        with locked(home, str(home.longterm)):
            backup = _backup(home)
            if home.longterm.exists():
                shutil.rmtree(home.longterm)
            workspace.Baseline(home).clear()
        with using(home, BACKED_UP + JOBS) as db, transaction(db):
            for table in (*_BACKED_UP_TABLES, "longterm_jobs"):
                db.execute(f"DELETE FROM {table}")
    finally:
        jobs.release(claim, "cleared")
    return backup


def _backup(home: Home) -> Path | None:
    """Back up files, memories, proposals, refusals and the trash; return None if all are empty."""
    found = workspace.files(home.longterm)
    with using(home, BACKED_UP) as db:
        tables = {
            table: [list(row) for row in db.execute(f"SELECT * FROM {table}")]
            for table in _BACKED_UP_TABLES
        }
    if not found and not any(tables.values()):
        return None
    home.backups.mkdir(mode=0o700, exist_ok=True)
    made = (
        home.backups
        / f"longterm-{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 10**9:09d}.tar.gz"
    )
    with (
        open(made, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as out,
        tarfile.open(fileobj=out, mode="w:gz") as archive,
    ):
        for name, path in found.items():
            archive.add(path, f"longterm/{name}", recursive=False)
        data = msgspec.json.encode(tables)
        info = tarfile.TarInfo("tables.json")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return made
