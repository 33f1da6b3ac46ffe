"""Notes that wait for the owner's word, and where every note came from.

Source classes, from the surest to the least sure: ``user`` (his words), ``model`` (an agent's words), ``inside`` (what tools
printed on this machine), ``outside`` (web, MCP). A note is trusted as its least sure source is: what took in content from
outside, or reads like an order to agents, is marked and not told to sessions until it is released.
"""

from __future__ import annotations

import msgspec

from memsearch_engine.capture.suspicion import note_released, orders, released
from memsearch_engine.client import Memory
from memsearch_engine.errors import MemsearchError
from memsearch_engine.journal.model import RELEASED, UNTRUSTED, Entry
from memsearch_engine.journal.write import Target
from memsearch_engine.transcripts.model import Turn


class Held(msgspec.Struct, frozen=True):
    """A note that is not told to sessions. ``why``: outside or suspect; ``lines``: those that read like orders."""

    path: str
    day: str
    time: str
    entry_id: str
    hash: str
    agent: str
    title: str
    why: str
    lines: list[str]

    @property
    def target(self) -> Target:
        return Target(self.path, self.entry_id, self.hash)


def held(memory: Memory) -> list[Held]:
    """Everything that waits, newest day first."""
    found, known = [], released(memory.home)
    for file, entry in memory.every_entry():
        mark, lines = entry.marks.get("trust", ""), orders(entry.body, his_words=False)
        if (mark == RELEASED and entry.id in known) or not (mark in UNTRUSTED or lines):
            continue
        why = mark if mark in UNTRUSTED else "suspect"
        found.append(Held(file.path, file.day, entry.time, entry.id, entry.hash, entry.agent, entry.title, why, lines))
    return found


def release(memory: Memory, targets: list[Target]) -> list[Entry]:
    """Trust notes: sessions may be told. Undone like any mark. Raises Conflict, NotFound."""
    entries = [memory.journal.mark(memory.memory_of(t.path), t, "trust", RELEASED) for t in targets]
    note_released(memory.home, [entry.id for entry in entries])
    return entries


def hold(memory: Memory, targets: list[Target]) -> list[Entry]:
    """Don't tell notes to sessions (any more)."""
    return [memory.journal.mark(memory.memory_of(t.path), t, "trust", "suspect") for t in targets]


def sources(turn: Turn) -> list[str]:
    """The source classes of a turn, surest first; the last one is what a note of it is trusted as."""
    classes = [
        ("user", turn.user.strip()),
        ("model", turn.assistant.strip()),
        ("inside", any(t.output.strip() for t in turn.tools)),
    ]
    return [name for name, there in classes if there] + (["outside"] if turn.outside else [])


def sources_of(memory: Memory, entry: Entry) -> list[str]:
    """The source classes of a note, as far as its conversation can still be read; a hand-written one is the user's."""
    if entry.anchor is None:
        return ["user"]
    try:
        found = memory.conversation(entry, context=0)
        return sources(found.turns[max(found.index, 0)])
    except (MemsearchError, IndexError):
        return ["user", "model", *(["outside"] if entry.marks.get("trust") == "outside" else [])]
