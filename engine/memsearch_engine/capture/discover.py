"""Lists the agents on this machine, their session folders, and how many turns are captured."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from memsearch_engine.agents.mcp_clients import CLIENTS
from memsearch_engine.capture.backfill import ImportSelection, plan
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import AgentFolders, Home

_VERSION = re.compile(r"\d+\.\d+[\w.-]*")
_ASK_S = 6.0


class FoundAgent(msgspec.Struct):
    """An agent on this machine, and the number of its turns for each outcome.

    Attributes:
        version: the version that its program reports.
        wrote: the version that wrote its newest session.
        folders: its existing session folders.
        can: the supported functions: ``sessions``, ``capture``, moments of injection (``start``,
            ``prompt``, ``action``, ``compaction``), ``native`` (its own model can write notes) and
            ``mcp``.
    """

    agent: str
    program: str
    version: str
    wrote: str
    folders: list[str]
    sessions: int
    subagent_sessions: int
    turns: int
    captured: int
    new: int
    trivial: int
    ours: int
    homeless: int
    deleted: int
    failed: int
    can: list[str]


def discover(
    home: Home,
    folders: AgentFolders,
    *,
    versions: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[FoundAgent]:
    """Return one row for each agent. Only sessions that changed since the last call are read.

    Args:
        versions: run each agent's program to read its version.
        progress: called with phase, done and total.
    """
    with contextlib.closing(CapturePipeline(home)) as pipeline:
        plan(
            home,
            pipeline,
            folders,
            ImportSelection(agent_registry.names()),
            progress,
            changed_only=True,
        )
        sessions = list(pipeline.ledger.sessions().values())
        counts = pipeline.ledger.counts()
    paths = {agent.name: shutil.which(agent.program) or "" for agent in agent_registry.everyone()}
    with ThreadPoolExecutor(len(paths)) as pool:
        asked = dict(zip(paths, pool.map(_version if versions else lambda _: "", paths.values())))
    rows = []
    for agent, path in paths.items():
        mine = [seen for seen in sessions if seen.agent == agent and os.path.exists(seen.path)]
        outcomes = dict.fromkeys(
            ("captured", "new", "trivial", "ours", "homeless", "deleted", "failed"), 0
        )
        for who, _, outcome, number in counts:
            if who == agent:
                outcomes[outcome] += number
        tells = agent_registry.agent(agent).tells
        newest = max(mine, key=lambda seen: seen.modified, default=None)
        rows.append(
            FoundAgent(
                agent=agent,
                program=path,
                version=asked[agent],
                wrote=newest.version if newest else "",
                folders=[str(place) for place in folders.here(agent)],
                sessions=sum(not seen.parent for seen in mine),
                subagent_sessions=sum(bool(seen.parent) for seen in mine),
                turns=sum(outcomes.values()),
                **outcomes,
                can=[
                    "sessions",
                    *(["capture"] if tells else []),
                    *tells,
                    *(["native"] if agent_registry.part(agent, "cli") else []),
                    *(["mcp"] if agent in CLIENTS else []),
                ],
            )
        )
    return rows


def _version(path: str) -> str:
    if not path:
        return ""
    try:
        done = subprocess.run(
            [os.path.abspath(path), "--version"],
            capture_output=True,
            text=True,
            timeout=_ASK_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    match = _VERSION.search(done.stdout[:2000])
    return match[0] if match else ""
