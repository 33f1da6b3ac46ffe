"""What users had asked in the turns behind notes: from the kept conversations
(``Archive.prompts``), else from the agents' own.

It is embedded and searched with a note (``index/chunk.py``), since people look for a matter in the
words in which they asked about it.
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
    """What users had asked, from the agents' own sessions, secrets taken out; '' where a turn is
    not to be had any more.

    Args:
        paths: turns, and where their anchors say that they lie.
        stop: asked before each session; what it keeps from being looked at is not in the answer.
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
                    turn.tools = []  # their outputs may be long, and nobody asked for them
                    found[name] = redacted(turn, home).user
        except (OSError, MemsearchError):
            continue
    return found
