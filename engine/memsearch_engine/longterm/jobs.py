"""Leased jobs in ``state.db``: no work is done twice, and no work is lost.

A process claims a job in one immediate transaction and proves the claim by a token. It prolongs the
lease while it works. After the lease has expired, another process may take the job over, which
costs the job one of its tries. A process without a valid lease cannot finish a job.

States: ``running``, ``done``, ``error``. A job that was never claimed has no row.

Kinds: ``extract`` has a job for each session. Its key is the agent and the session, and its
watermark is the session's modification time. ``consolidate`` has one job. ``project_review``,
``user_profile`` and ``memory_to_skill`` have a job for each project. The watermark is the last
change of its notes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Literal, TypeVar

import msgspec

from memsearch_engine.core.errors import Conflict, MemsearchError, SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.state import change_state, state_rows, using

T = TypeVar("T")
Kind = Literal["extract", "consolidate", "project_review", "user_profile", "memory_to_skill"]
#: The outcome of a job that had nothing to do. No pause follows it.
NOTHING_TO_DO = "nothing to do"
LEASE_S = 600.0
BEAT_S = 60.0
RETRY_S = 3600.0
TRIES = 3
#: Tolerated clock difference in seconds. A larger one means that the clock was set back.
_SLACK_S = 60.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS longterm_jobs (
  kind TEXT NOT NULL, key TEXT NOT NULL,\
 state TEXT NOT NULL, token TEXT NOT NULL, owner TEXT NOT NULL,
  started REAL NOT NULL, finished REAL NOT NULL, lease_until REAL NOT NULL,\
 retry_at REAL NOT NULL, tries_left INTEGER NOT NULL,
  stolen INTEGER NOT NULL, error TEXT NOT NULL, outcome TEXT NOT NULL,\
 watermark REAL NOT NULL, done_watermark REAL NOT NULL,
  PRIMARY KEY (kind, key)) WITHOUT ROWID;
"""


class Refusal(StrEnum):
    """Why a job was not claimed."""

    UP_TO_DATE = "up to date"
    RUNNING = "running"
    FULL = "as many as allowed are running"
    BACKOFF = "failed, waits before it is tried again"
    EXHAUSTED = "failed too often; what is new in it tries it again"
    COOLDOWN = "done a short while ago"


class Claim(msgspec.Struct, frozen=True):
    """A claimed job. ``token`` proves the claim."""

    kind: Kind
    key: str
    token: str
    watermark: float


class Job(msgspec.Struct, frozen=True):
    """A job in the database. Times in seconds since 1970."""

    kind: str
    key: str
    state: str
    owner: str
    started: float
    finished: float
    lease_until: float
    retry_at: float
    tries_left: int
    stolen: int
    error: str
    outcome: str
    watermark: float
    done_watermark: float

    def is_running(self, now: float) -> bool:
        """Whether a process has a valid lease at *now*, in seconds since 1970."""
        return self.state == "running" and self.lease_until > now


_COLUMNS = ", ".join(Job.__struct_fields__)


class Jobs:
    """The jobs of one home. *clock* returns seconds since 1970."""

    def __init__(self, home: Home, clock: Callable[[], float] = time.time) -> None:
        self.home, self.clock = home, clock

    # -- claiming

    def claim(
        self,
        kind: Kind,
        key: str,
        watermark: float,
        *,
        cap: int = 1,
        cooldown_s: float = 0.0,
        force: bool = False,
    ) -> Claim | Refusal:
        """Claim a job.

        Args:
            cap: how many jobs of this kind may run at once, over all processes.
            cooldown_s: the pause in seconds after a success that did work, whatever the watermark.
            force: the user asked: ignore pauses and used up tries.

        Returns:
            The claim, or why the job was not claimed.
        """
        with using(self.home, SCHEMA) as db, transaction(db):
            # read inside the transaction: after a long wait for it, other processes' times must
            # not seem to be in the future
            now = self.clock()
            job = self._get(db, kind, key)
            refusal = self._refusal(job, watermark, now, cooldown_s, force)
            if refusal:
                return refusal
            live = db.execute(
                "SELECT count(*) FROM longterm_jobs WHERE kind=? AND key<>? AND state='running' "
                "AND lease_until>?",
                (kind, key, now),
            ).fetchone()[0]
            if live >= cap:
                return Refusal.FULL
            stolen = job is not None and job.state == "running"
            is_new = job is None or watermark > job.watermark or force
            tries = (TRIES if job is None or is_new else job.tries_left) - stolen
            thefts = (job.stolen if job else 0) + stolen
            if stolen and tries <= 0 and not force:
                db.execute(
                    "UPDATE longterm_jobs SET state='error', error=?, finished=?, "
                    "tries_left=0, token='' WHERE kind=? AND key=?",
                    (f"its process ended {thefts} times", now, kind, key),
                )
                return Refusal.EXHAUSTED
            claim = Claim(kind, key, uuid.uuid4().hex, watermark)
            self._start(db, claim, now, tries, thefts, job.done_watermark if job else -1.0)
        return claim

    @staticmethod
    def _start(
        db: sqlite3.Connection, claim: Claim, now: float, tries: int, thefts: int, done: float
    ) -> None:
        # by this name, other processes can check that this one still runs
        owner = f"{os.getpid()}@{socket.gethostname()}"
        kind, key, token, watermark = claim.kind, claim.key, claim.token, claim.watermark
        db.execute(
            "INSERT OR REPLACE INTO longterm_jobs (kind, key, state, token, owner, started, "
            "finished, lease_until, retry_at, "
            "tries_left, stolen, error, outcome, watermark, done_watermark) "
            "VALUES (?,?,'running',?,?,?,0,?,0,?,?,'','',?,?)",
            (kind, key, token, owner, now, now + LEASE_S, tries, thefts, watermark, done),
        )

    @staticmethod
    def _refusal(
        job: Job | None, watermark: float, now: float, cooldown_s: float, force: bool
    ) -> Refusal | None:
        if job is None:
            return None
        if (
            job.state == "running"
            and now < job.lease_until <= now + LEASE_S + _SLACK_S
            and not _is_gone(job.owner)
        ):
            return Refusal.RUNNING
        if force:
            return None
        paused = (
            job.state == "done"
            and job.outcome != NOTHING_TO_DO
            and now - cooldown_s < job.finished <= now + _SLACK_S
        )
        if paused and cooldown_s:
            return Refusal.COOLDOWN
        if job.kind != "consolidate" and job.done_watermark >= watermark:
            return Refusal.UP_TO_DATE
        # other kinds get new input all the time
        is_new = watermark > job.watermark and job.kind == "extract"
        if job.state == "error" and not is_new:
            if job.kind != "consolidate" and job.tries_left <= 0 and watermark <= job.watermark:
                return Refusal.EXHAUSTED  # consolidation is needed while there is new input
            # a later time means that the clock was set back
            if now < job.retry_at <= now + RETRY_S + _SLACK_S:
                return Refusal.BACKOFF
        return None

    # -- while it runs

    def heartbeat(self, claim: Claim) -> bool:
        """Prolong the lease. Returns False if the claim was lost."""
        now = self.clock()
        return bool(
            change_state(
                self.home,
                SCHEMA,
                "UPDATE longterm_jobs SET lease_until=? WHERE kind=? AND key=? AND "
                "state='running' AND token=? AND lease_until>?",
                (now + LEASE_S, claim.kind, claim.key, claim.token, now),
            )
        )

    @contextlib.contextmanager
    def kept_alive(self, claim: Claim) -> Iterator[threading.Event]:
        """Prolong the lease while the block runs. The event is set if the claim was lost."""
        lost, over = threading.Event(), threading.Event()

        def beat() -> None:
            """Prolong the lease at intervals until the block ends or the claim is lost."""
            until = time.monotonic() + LEASE_S
            while not over.wait(BEAT_S):
                try:
                    is_valid = self.heartbeat(claim)
                except MemsearchError:  # the database is busy; the lease is valid for a while
                    if time.monotonic() < until - BEAT_S:
                        continue
                    is_valid = False
                if not is_valid:
                    lost.set()
                    return
                until = time.monotonic() + LEASE_S

        thread = threading.Thread(target=beat, name="lease", daemon=True)
        thread.start()
        try:
            yield lost
        finally:
            over.set()
            thread.join()

    # -- the end

    def succeed(
        self,
        claim: Claim,
        outcome: str = "",
        work: Callable[[sqlite3.Connection], None] | None = None,
        schema: str = "",
    ) -> bool:
        """Finish a job, with *work* in the same transaction.

        Returns:
            False if the claim was lost; nothing was written then.
        """
        now = self.clock()
        with using(self.home, SCHEMA + schema) as db, transaction(db):
            done = db.execute(
                "UPDATE longterm_jobs SET state='done', finished=?, lease_until=0, retry_at=0, "
                "tries_left=?, token='', error='', "
                "outcome=?, done_watermark=max(done_watermark, watermark) "
                "WHERE kind=? AND key=? AND state='running' AND token=? AND lease_until>?",
                (now, TRIES, outcome, claim.kind, claim.key, claim.token, now),
            )
            if done.rowcount != 1:
                return False
            if work:
                work(db)
            return True

    def fail(self, claim: Claim, error: str, *, again: bool = True) -> bool:
        """End a job with an error.

        Args:
            again: false if another try cannot succeed.
        """
        now = self.clock()
        return bool(
            change_state(
                self.home,
                SCHEMA,
                "UPDATE longterm_jobs SET state='error', finished=?, lease_until=0, retry_at=?, "
                "error=?, outcome='failed', "
                "token='', tries_left=CASE WHEN ? THEN max(tries_left-1, 0) ELSE 0 END "
                "WHERE kind=? AND key=? AND state='running' AND token=?",
                (now, now + RETRY_S, error[:500], again, claim.kind, claim.key, claim.token),
            )
        )

    def release(self, claim: Claim, reason: str) -> None:
        """Release a job that was not worked on (a cap was reached). It costs no try."""
        change_state(
            self.home,
            SCHEMA,
            "UPDATE longterm_jobs SET state='error', lease_until=0, retry_at=0, token='', "
            "error=? "
            "WHERE kind=? AND key=? AND token=?",
            (reason[:500], claim.kind, claim.key, claim.token),
        )

    def attempt(
        self,
        claim: Claim,
        work: Callable[[Callable[[], bool]], T],
        failed: Callable[[str], T],
    ) -> T:
        """Do the work of a job, and end the job if the work raises an error.

        The job then waits for other settings or for its next try. After an interrupt it can be
        claimed at once.

        Args:
            work: ends the job itself (``finish``). Its argument is a function that says whether
                another process took the job over.
            failed: returns the result for an error message if the work raised an error.

        Raises:
            SettingsError: the settings name no usable model.
        """
        try:
            with self.kept_alive(claim) as lost:
                return work(lost.is_set)
        except SettingsError as error:
            self.fail(claim, str(error), again=False)
            raise
        except (MemsearchError, OSError) as error:
            self.fail(claim, str(error))
            return failed(str(error))
        except BaseException:
            self.release(claim, "interrupted")
            raise

    def finish(
        self,
        claim: Claim,
        outcome: str,
        work: Callable[[sqlite3.Connection], None] | None = None,
        schema: str = "",
    ) -> None:
        """Finish a job like ``succeed``.

        Raises:
            ModelError: another process took the job over.
        """
        if not self.succeed(claim, outcome, work, schema):
            raise ModelError("another process took the job over", again=True)

    # -- reading

    def get(self, kind: Kind, key: str) -> Job | None:
        """The job of this kind and key; None if it was never claimed."""
        with using(self.home, SCHEMA) as db:
            return self._get(db, kind, key)

    def all(self, kind: Kind) -> dict[str, Job]:
        """All jobs of a kind, by key."""
        rows = state_rows(
            self.home, SCHEMA, f"SELECT {_COLUMNS} FROM longterm_jobs WHERE kind=?", (kind,)
        )
        return {row[1]: Job(*row) for row in rows}

    @staticmethod
    def _get(db: sqlite3.Connection, kind: str, key: str) -> Job | None:
        row = db.execute(
            f"SELECT {_COLUMNS} FROM longterm_jobs WHERE kind=? AND key=?", (kind, key)
        ).fetchone()
        return Job(*row) if row else None


def _is_gone(owner: str) -> bool:
    """Whether the process that claimed a job has ended here, so that its lease does not count."""
    pid, _, host = owner.partition("@")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@contextlib.contextmanager
def learning(home: Home, *, alone: bool = False) -> Iterator[None]:
    """A lock that processes hold while they read sessions or consolidate.

    The system releases it when the process ends.

    Args:
        alone: take the lock exclusively, so that nobody writes results from memory afterwards.

    Raises:
        Conflict: the lock is not available.
    """
    who = "sessions are being learned from" if alone else "a secret is being scrubbed"
    refused = Conflict(f"{who} in another process", "wait for it, then run the same command again")
    with home.locked("learning.lock", refused, shared=not alone):
        yield
