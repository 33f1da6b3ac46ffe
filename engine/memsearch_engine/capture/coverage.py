"""Compares the turns in transcripts with those in the journal, and captures what hooks missed.

Only turns since the start of an agent's capture count. ``import`` captures older ones on request.
"""

from __future__ import annotations

import time

import msgspec

from memsearch_engine.agents.transcripts.locate import all_sessions, open_session
from memsearch_engine.agents.transcripts.model import Conversation
from memsearch_engine.capture import summaries
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders

#: Seconds without a change after which the last turn of a session counts as finished, whatever its
#: last line is.
_QUIET_S = 120.0
#: If turns older than this (in seconds) are not captured, capture has stopped.
_ALARM_S = 900.0
_DONE = ("captured", "trivial", "ours", "deleted", "homeless")
#: Outcomes in the ledger -> attributes of ``DayCoverage``; all others are ``waiting``.
_COUNTED_AS = {name: name for name in ("captured", "trivial", "ours", "failed")}
_COUNTED_AS |= {"deleted": "captured", "homeless": "orphaned"}


class TurnCounts(msgspec.Struct):
    """Counts of turns. ``seen`` is the sum of the outcomes.

    Attributes:
        trivial: turns with nothing to remember.
        ours: prompts of memsearch itself that a client stored as a session.
        orphaned: turns whose folder no longer exists; ``import --orphans`` imports them.
        percent: the share of the seen turns that are in memory or were skipped on purpose (trivial,
            ours).
    """

    seen: int = 0
    captured: int = 0
    trivial: int = 0
    ours: int = 0
    waiting: int = 0
    failed: int = 0
    orphaned: int = 0
    percent: int = 100


class DayCoverage(TurnCounts, kw_only=True):
    """The turns of one agent on one day. ``covered``: the turns that ``percent`` counts."""

    agent: str
    day: str
    covered: int = 0


class Coverage(TurnCounts, kw_only=True):
    """Turns in transcripts compared with turns in memory.

    Attributes:
        agents: agent -> when its capture began, in seconds since 1970.
        days: the same counts for each agent and day.
        alarms: one sentence for each agent from which turns have stopped arriving.
    """

    agents: dict[str, float]
    days: list[DayCoverage]
    alarms: list[str]


def reconcile(
    pipeline: CapturePipeline,
    folders: AgentFolders,
    *,
    agents: tuple[str, ...] = (),
    take: bool = True,
) -> list[str]:
    """Read the changed sessions, and capture finished turns for which no hook ran.

    Hooks can be missing after a crash, with an older client, or if the user does not trust them.

    Args:
        take: capture the turns; otherwise only count them.

    Returns:
        The memory folders that were written.
    """
    since = pipeline.ledger.captured_since()
    written: list[str] = []
    for agent in agents or tuple(since):
        if (
            agent not in since
            or agent not in agent_registry.names()
            or summaries.is_off(pipeline.settings, agent)
        ):
            continue
        for where in pipeline.ledger.changed(all_sessions(agent, folders)):
            if where.modified < since[agent]:
                continue
            try:
                conversation = open_session(where, pipeline.home.offsets)
                whole = _reconcile(pipeline, conversation, since[agent], take, written)
            except (OSError, MemsearchError):
                continue
            if whole:  # sessions with open turns are read again
                pipeline.ledger.note_session(conversation)
    return written


def _reconcile(
    pipeline: CapturePipeline,
    conversation: Conversation,
    since: float,
    take: bool,
    written: list[str],
) -> bool:
    """Capture the finished turns of a session.

    Returns:
        Whether the session is complete and need not be read again.
    """
    where = conversation.where
    if conversation.parent or conversation.is_ephemeral:
        return True
    known = pipeline.outcomes(conversation)
    quiet = time.time() - where.modified > _QUIET_S
    whole = True
    for place, name in enumerate(conversation.ids):
        if known.get(name) in _DONE:
            continue
        for turn in pipeline.turn_at(conversation, place):
            if pipeline.started(turn) < since:
                continue
            open_still = (
                place == len(conversation.ids) - 1 and turn.status == "interrupted" and not quiet
            )
            if open_still or not take:
                whole = False
                pipeline.note_new(turn)
                continue
            try:
                captured = pipeline.capture(turn, where)
            except (
                OSError,
                MemsearchError,
            ) as error:  # for example a full disk: it is tried again, and reported
                pipeline.note_failed(turn, str(error))
                whole = False
                continue
            if captured.written and captured.memory not in written:
                written.append(captured.memory)
    if take:
        pipeline.mark_taken_back(conversation)
    return whole


def shares(pipeline: CapturePipeline, since_day: str = "") -> list[DayCoverage]:
    """Return the coverage by agent and day, newest day first, since each agent's capture began."""
    found: dict[tuple[str, str], DayCoverage] = {}
    since = pipeline.ledger.captured_since()
    for agent, day, outcome, count in pipeline.ledger.counts_since(since, since_day):
        share = found.setdefault((agent, day), DayCoverage(agent=agent, day=day))
        share.seen += count
        name = _COUNTED_AS.get(outcome, "waiting")
        setattr(share, name, getattr(share, name) + count)
    for share in found.values():
        share.covered = share.captured + share.trivial + share.ours
        share.percent = int(100 * share.covered / share.seen) if share.seen else 100
    return list(found.values())


def alarms(pipeline: CapturePipeline) -> list[str]:
    """Return one sentence for each agent from which turns have stopped arriving."""
    found = []
    now = time.time()
    for agent, since in pipeline.ledger.captured_since().items():
        late = pipeline.ledger.late(agent, since, now - _ALARM_S)
        if late:
            found.append(
                f"{agent}: {late} turns are not in memory: "
                f"capture has stopped (`memsearch agents status {agent}`)"
            )
    return found


def report(pipeline: CapturePipeline, since_day: str = "") -> Coverage:
    """Return the coverage by agent and day, with totals and alarms."""
    rows = shares(pipeline, since_day)
    seen = sum(row.seen for row in rows)
    return Coverage(
        agents=pipeline.ledger.captured_since(),
        percent=int(100 * sum(row.covered for row in rows) / seen) if seen else 100,
        seen=seen,
        captured=sum(row.captured for row in rows),
        trivial=sum(row.trivial for row in rows),
        ours=sum(row.ours for row in rows),
        waiting=sum(row.waiting for row in rows),
        failed=sum(row.failed for row in rows),
        orphaned=sum(row.orphaned for row in rows),
        days=rows,
        alarms=alarms(pipeline),
    )
