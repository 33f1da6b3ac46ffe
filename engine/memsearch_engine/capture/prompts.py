"""Finds the prompts of turns behind notes, in the archive or in the agents' own sessions.

A prompt is embedded and searched together with its note (``index/chunk.py``), since people search
for a topic with the words of their prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memsearch_engine.agents.known_folders import known_folders
from memsearch_engine.agents.transcripts.locate import anchored
from memsearch_engine.agents.transcripts.model import TurnName
from memsearch_engine.capture.clean import redacted
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders, Home


def live(
    home: Home, paths: Mapping[TurnName, str], stop: Callable[[], bool]
) -> dict[TurnName, str]:
    """Read prompts from the agents' own sessions, without secrets.

    Args:
        paths: turn -> path of its session, according to its anchor.
        stop: asked before each session. After a stop, the remaining turns are missing in the
            result.

    Returns:
        Turn -> prompt; ``""`` if the turn no longer exists.
    """
    folders = AgentFolders.from_env(seen=known_folders(home))
    sessions: dict[tuple[str, str, str], list[TurnName]] = {}
    for name, path in paths.items():
        sessions.setdefault((*name[:2], path), []).append(name)
    found: dict[TurnName, str] = {}
    for (agent, session, path), names in sessions.items():
        if stop():
            break
        found.update(dict.fromkeys(names, ""))
        try:
            conversation = anchored(agent, session, path, folders, cache=home.offsets)
            for name in names:
                place = conversation.find(name[2])
                for turn in conversation.turns(place, place + 1) if place >= 0 else ():
                    turn.tools = []  # long outputs are not needed
                    found[name] = redacted(turn, home).user
        except (OSError, MemsearchError):
            continue
    return found
