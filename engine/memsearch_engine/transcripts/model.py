"""The turn: what every reader gives."""

from __future__ import annotations

import msgspec


class ToolCall(msgspec.Struct):
    name: str
    input: str
    output: str = ""
    failed: bool = False


class Turn(msgspec.Struct):
    """One request of the user and all that followed.

    Attributes:
        turn: the agent's own id of the request (Claude Code: ``promptId``).
        started, ended: ISO 8601 with zone, as the agent wrote them.
        status: ``done``, ``interrupted`` (no answer came) or ``failed`` (the model or API refused).
        outside: a tool brought in content from outside the machine (web, MCP).
    """

    agent: str
    session: str
    turn: str
    started: str = ""
    ended: str = ""
    cwd: str = ""
    user: str = ""
    assistant: str = ""
    tools: list[ToolCall] = []
    status: str = "done"
    outside: bool = False


class Transcript(msgspec.Struct):
    """The turns of one session; ``unknown`` counts record kinds that the reader does not know."""

    turns: list[Turn]
    unknown: dict[str, int] = {}
