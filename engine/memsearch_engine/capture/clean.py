"""Removes secrets, injected memory and the middle of long outputs from a turn."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from memsearch_engine.agents.transcripts.evidence import shortened
from memsearch_engine.agents.transcripts.model import Turn
from memsearch_engine.core.home import Home
from memsearch_engine.injection.injection_log import without_citations
from memsearch_engine.injection.session_start import without_injected
from memsearch_engine.secrets.scan import redact


def redacted(turn: Turn, home: Home) -> Turn:
    """Return the turn without secrets, injected memory, citations, and middles of long outputs."""
    user, assistant = (
        redact(without_citations(without_injected(text)), home)[0]
        for text in (turn.user, turn.assistant)
    )
    asked = redact(without_injected(turn.in_reply_to), home)[0] if turn.in_reply_to else ""
    clean = msgspec.structs.replace(turn, user=user, assistant=assistant, in_reply_to=asked)
    clean.tools = [
        msgspec.structs.replace(
            tool,
            name=_name(tool.name, home),
            input=redact(shortened(tool.input), home)[0],
            output=redact(shortened(without_injected(tool.output)), home)[0],
        )
        for tool in turn.tools
    ]
    return clean


def without_secrets(turn: Turn, home: Home) -> Turn:
    """Return the whole turn for reading, without secrets and without text injected at a tool."""
    user, assistant, asked = (
        redact(text, home)[0] for text in (turn.user, turn.assistant, turn.in_reply_to)
    )
    clean = msgspec.structs.replace(turn, user=user, assistant=assistant, in_reply_to=asked)
    clean.tools = [
        msgspec.structs.replace(
            tool,
            name=_name(tool.name, home),
            input=redact(tool.input, home)[0],
            output=redact(without_injected(tool.output), home)[0],
        )
        for tool in turn.tools
    ]
    return clean


@lru_cache(maxsize=256)
def _name(tool: str, home: Home) -> str:
    """The name of a tool without secrets. A few names recur in nearly all calls."""
    return redact(tool, home)[0]
