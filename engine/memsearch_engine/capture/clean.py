"""Removes secrets, injected memory and the middle of long outputs from a turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec

from memsearch_engine.agents.transcripts.evidence import shortened
from memsearch_engine.agents.transcripts.model import Turn
from memsearch_engine.core.home import Home
from memsearch_engine.injection.injection_log import without_citations
from memsearch_engine.injection.session_start import without_injected
from memsearch_engine.secrets.scan import allowed, redact

_SHORT = 500  # characters


def redacted(turn: Turn, home: Home) -> Turn:
    """Return the turn without secrets, injected memory, citations, and middles of long outputs."""
    user, assistant = (without_citations(without_injected(t)) for t in (turn.user, turn.assistant))
    texts = user, assistant, without_injected(turn.in_reply_to)
    return _clean(turn, home, texts, shortened)


def without_secrets(turn: Turn, home: Home) -> Turn:
    """Return the whole turn for reading, without secrets and without text injected at a tool."""
    return _clean(turn, home, (turn.user, turn.assistant, turn.in_reply_to), str)


def _clean(
    turn: Turn, home: Home, texts: tuple[str, str, str], shorten: Callable[[str], str]
) -> Turn:
    user, assistant, asked = (redact(text, home)[0] for text in texts)
    clean = msgspec.structs.replace(turn, user=user, assistant=assistant, in_reply_to=asked)
    clean.tools = [
        msgspec.structs.replace(
            tool,
            name=_redacted(tool.name, home),
            input=_redacted(shorten(tool.input), home),
            output=_redacted(shorten(without_injected(tool.output)), home),
        )
        for tool in turn.tools
    ]
    return clean


def _redacted(text: str, home: Home) -> str:
    """Return a text of a tool without secrets."""
    return redact(text, home)[0] if len(text) > _SHORT else _short(text, home, allowed(home))


@lru_cache(maxsize=512)
def _short(text: str, home: Home, _allowed: frozenset[str]) -> str:
    """Return a short text without secrets. Names, commands and results of tools recur."""
    return redact(text, home)[0]
