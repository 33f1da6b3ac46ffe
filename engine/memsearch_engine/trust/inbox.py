"""Notes that wait for the owner's word, and where every note came from.

Source classes, from the surest to the least sure: ``user`` (his words), ``model`` (an agent's words), ``inside`` (what tools
printed on this machine), ``outside`` (web, MCP). A note is trusted as its least sure source is: what took in content from
outside, or reads like an order to agents, is marked and not told to sessions until it is released.
"""

from __future__ import annotations

import os

import msgspec

from memsearch_engine.capture import authors
from memsearch_engine.capture.held import held_back
from memsearch_engine.errors import Conflict, MemsearchError, NotFound, UsageError
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.model import RELEASED, UNTRUSTED, Entry, Waits
from memsearch_engine.journal.origin import key_of
from memsearch_engine.journal.write import Target
from memsearch_engine.memory import Memory
from memsearch_engine.place import author_of
from memsearch_engine.projects import locate
from memsearch_engine.repository import authors_of
from memsearch_engine.transcripts.model import Turn


class Held(msgspec.Struct, frozen=True):
    """A note that is not told to sessions. ``lines``: those that read like orders."""

    path: str
    day: str
    time: str
    entry_id: str
    hash: str
    agent: str
    title: str
    why: Waits
    lines: list[str]

    @property
    def target(self) -> Target:
        return Target(self.path, self.entry_id, self.hash)

    @property
    def author(self) -> str:
        """Who shared it with the team; '' for the project's own notes."""
        return author_of(self.path)


def held(memory: Memory) -> list[Held]:
    """Everything that waits, newest day first."""
    found = []
    origin = memory.journal.origin
    for file in memory.files():
        try:
            entries = memory.read(file)
        except OSError:
            continue  # `doctor` names it
        for entry, why, lines in held_back(origin, memory.memory_of(file.path), entries, file.path):
            found.append(
                Held(file.path, file.day, entry.time, entry.id, entry.hash, entry.agent, entry.title, why, lines)
            )
    return found


def release(memory: Memory, targets: list[Target]) -> list[Entry]:
    """Trust notes: sessions may be told. Undone like any mark; of a shared note, which others read as it stands, by ``hold``. Raises
    Conflict, NotFound."""
    refuse_agents()
    entries = []
    for target in targets:
        entry = _as_it_is(target)
        if entry is None or entry.marks.get("trust") in UNTRUSTED:
            word = RELEASED if entry is None else None  # what this home says of a shared note is its own affair
            entry = memory.journal.mark(memory.memory_of(target.path), target, "trust", word)
        entries.append(entry)
    memory.journal.origin.wrote((entry.raw for entry in entries), "released")
    return entries


def refuse_agents() -> None:
    """Raises UsageError in an agent's shell: a model's word releases nothing."""
    if author := authors.here():
        raise UsageError(
            f"{author.agent} can't release notes: its user has to", "run the command in a terminal of your own"
        )


def _as_it_is(target: Target) -> Entry | None:
    """A shared note, which is not changed for one reader's sake; None for any other. Raises Conflict, NotFound."""
    if not author_of(target.path):
        return None
    entry = read_day(target.path).find(target.entry_id)
    if entry is None:
        raise NotFound(f"no entry {target.entry_id} in {target.path}", "`memsearch share` lists what is shared")
    if target.hash and entry.hash != target.hash:
        raise Conflict(f"entry {entry.id} changed since it was read", "look at it again", current=entry.content)
    return entry


def release_files(memory: Memory, paths: list[str]) -> int:
    """Trust what stands in these files now and merely arrived; what reads like an order still waits for a word of its own.
    The files are not changed: trust stands in this home. Returns how many notes."""
    refuse_agents()
    wanted = {os.path.realpath(path) for path in paths}
    keys = {(h.path, h.entry_id) for h in held(memory) if h.why is Waits.ARRIVED and os.path.realpath(h.path) in wanted}
    found = {path: [e for e in read_day(path).entries if (path, e.id) in keys] for path in {p for p, _ in keys}}
    memory.journal.origin.take_over(found)
    return sum(map(len, found.values()))


def release_author(memory: Memory, author: str) -> tuple[int, list[str]]:
    """Trust the files that nobody but *author* (an e-mail address) has ever committed, as they stand. An address in a commit is
    anybody's claim: what that author commits later waits again. Returns how many notes, and the files."""
    files = []
    for path in {h.path for h in held(memory) if h.why is Waits.ARRIVED}:
        place = locate(os.path.dirname(path), memory.home)
        if authors_of(place.common_dir, os.path.relpath(path, place.root), path) == {author.lower()}:
            files.append(path)
    return release_files(memory, files), sorted(files)


def release_folder(memory: Memory) -> int:
    """Trust all that stands in this project's memory folder now; what reads like an order still waits."""
    refuse_agents()
    return memory.journal.origin.trust(memory.project.memory)


def hold(memory: Memory, targets: list[Target]) -> list[Entry]:
    """Don't tell notes to sessions (any more). A shared note that was released waits again as it stands."""
    origin, entries = memory.journal.origin, []
    for target in targets:
        entry = _as_it_is(target)
        if entry is not None and origin.released([entry]):
            origin.take_back([entry.raw])
        else:
            entry = memory.journal.mark(memory.memory_of(target.path), target, "trust", Waits.SUSPECT)
        entries.append(entry)
    return entries


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
        return [
            "model" if entry.marks.get("by") else "user",
            *(["outside"] if entry.marks.get("trust") == Waits.OUTSIDE else []),
        ]
    try:
        found = memory.conversation(entry, context=0)
        return sources(found.turns[max(found.index, 0)])
    except (MemsearchError, IndexError):
        return ["user", "model", *(["outside"] if entry.marks.get("trust") == Waits.OUTSIDE else [])]
