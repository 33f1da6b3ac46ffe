"""Sessions of OpenCode and its descendants: SQLite with messages and their parts as JSON.

Checked with OpenCode 1.18.

A turn is a user message and the assistant messages that name it as their parent, one per step of
the model. A context compaction is a user message too; its part shows it. A user message of the
client or a plugin alone ("Continue if you have next steps" after a compaction, "Summarize the task
tool output above" after a command's sub-agent) continues the turn before it. A command that the
person ran with ``!`` is a turn. The session of a sub-agent names its parent.

**A turn is named by the id of the user message in the session where it was first sent.** A fork
copies messages under new ids but with their old times, which lie before the fork began. The copy
gets the name of the message with the same time in the original session.

``/undo`` writes a message's id into the column ``revert`` of its session. The next prompt deletes
the messages from there on, and ``/redo`` empties the column.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memsearch_engine.agents.transcripts.model import (
    SUB_AGENTS,
    Conversation,
    Session,
    ToolCall,
    Turn,
    attached,
    count,
    input_text,
    is_servers_tool,
    table_of,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import OLDER
from memsearch_engine.agents.transcripts.sqlite import (
    DatabaseReader,
    column,
    reading,
    session_row,
    stamp,
    table,
)
from memsearch_engine.core.migrations import rows_in

_KNOWN = frozenset(
    (
        "text reasoning tool step-start step-finish compaction patch snapshot file agent subtask "
        "retry"
    ).split()
)


#: The text of the user message before a command that the person ran with ``!``.
_SHELL = "The following tool was executed by the user"
#: Built-in tools, and tools of our plugin, that have a name like a server's tool.
_OWN_TOOLS = frozenset(
    (
        "apply_patch plan_enter plan_exit todo_read todo_write background_process memory_search "
        "memory_get memory_transcript"
    ).split()
)


class MessageConversation(Conversation):
    """A session of such a database."""

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        super().__init__(where)
        with reading(where.path) as db:
            revert = column(db, "session", "revert")
            query = f"SELECT parent_id, directory, version, {revert} FROM session WHERE id=?"
            row = session_row(db, query, where)
            rows = db.execute(
                "SELECT m.id, m.data, EXISTS (SELECT 1 FROM part p WHERE p.message_id = m.id AND "
                "(p.data LIKE '%\"compaction\"%' OR p.data LIKE '%\"synthetic\"%' "
                "OR p.data LIKE '%\"ignored\"%')) FROM message m "
                "WHERE m.session_id=? ORDER BY m.time_created, m.id",
                (where.session,),
            ).fetchall()
            messages = [(text_of(name), table(data), maybe) for name, data, maybe in rows]
            origins = _origins(db, where.session)
            parts = {name: _parts(db, name) for name, data, maybe in messages if maybe}
        self.parent, self._directory, self.version = (
            text_of(row[0]),
            text_of(row[1]),
            text_of(row[2]),
        )
        #: turn -> its messages, the user's message first
        self._turns: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        owner: dict[str, str] = {}  # message of the user -> its turn
        last = ""
        for name, data, _ in messages:
            own = parts.get(name, [])
            if data.get("role") != "user" or any(_kind(part) == "compaction" for part in own):
                if turn := owner.get(text_of(data.get("parentID"))):
                    self._turns[turn].append((name, data))
                continue
            if not last or not _is_of_client(own):
                last = origins.get(name, name)
                self._turns[last] = [(name, data)]
            owner[name] = owner[origins.get(name, name)] = last
        self.aliases = {name: turn for name, turn in owner.items() if name != turn}
        self.ids = list(self._turns)
        order = [name for name, _, _ in messages]
        undone = text_of(table(row[3]).get("messageID"))
        left = set(order[: order.index(undone)] if undone in order else order)
        self._kept = sum(own[0][0] in left for own in self._turns.values())

    def taken_back(self) -> list[int]:
        """Return the positions of turns that the person took back while no other turn follows."""
        return list(range(self._kept, len(self.ids)))

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        found = []
        with reading(self.where.path) as db:
            for wanted in self.ids[first:last]:
                asked, data = self._turns[wanted][0]
                turn = self._new(wanted, data)
                turn.taken_back = wanted in self.ids[self._kept :]
                turn.aliases = [asked] if asked != wanted else []
                parts = {name: _parts(db, name) for name, _ in self._turns[wanted]}
                for name, data in self._turns[wanted]:
                    self._add(turn, name == asked, data, parts[name])
                if any(map(_is_shell, parts[asked])):
                    turn.user = f"!{turn.tools[0].input if turn.tools else ''}"
                if not turn.outside and any(call.name in SUB_AGENTS for call in turn.tools):
                    turn.outside = self._sub_agents_read_outside(db)
                found.append(turn)
        return found

    def _new(self, name: str, data: dict[str, Any]) -> Turn:
        when = stamp(_at(data, "created"))
        return Turn(
            self.agent,
            self.session,
            name,
            when,
            when,
            self._directory,
            tools=[],
            status="interrupted",
        )

    def _add(
        self, turn: Turn, asked: bool, data: dict[str, Any], parts: list[dict[str, Any]]
    ) -> None:
        for part in parts:
            kind = _kind(part)
            if kind not in _KNOWN:
                count(self.unknown, kind)
            elif asked and not _is_not_typed(part):
                turn.user = "\n".join(text for text in (turn.user, _typed(part)) if text)
            elif asked and _is_shell(part):
                turn.status = "done"
            elif kind == "text" and not asked:
                turn.say(text_of(part.get("text")))
            elif kind == "tool":
                self._tool(turn, part)
        if asked:
            turn.user = turn.user or attached(parts)
        if asked:
            return
        turn.cwd = text_of(table_of(data, "path").get("cwd")) or turn.cwd
        turn.ended = stamp(_at(data, "completed")) or turn.ended
        error = data.get("error")
        if isinstance(error, dict):
            aborted = "Aborted" in text_of(error.get("name"))
            turn.status = "interrupted" if aborted else "failed"
            detail = error.get("data")
            if not aborted:
                turn.say(
                    text_of(detail.get("message"))
                    if isinstance(detail, dict)
                    else text_of(error.get("name"))
                )
        elif data.get("finish") not in (None, "tool-calls"):
            turn.status = "done"

    def _sub_agents_read_outside(self, db: Any) -> bool:
        """Return whether any session that this one started read content from outside."""
        query = (
            "SELECT p.data FROM part p JOIN message m ON m.id=p.message_id JOIN session s ON "
            "s.id=m.session_id WHERE s.parent_id=? AND p.data LIKE '%\"tool\"%'"
        )
        child = self._new("", {})
        for (data,) in db.execute(query, (self.session,)):
            if _kind(part := table(data)) == "tool":
                self._tool(child, part)
        return child.outside

    @staticmethod
    def _tool(turn: Turn, part: dict[str, Any]) -> None:
        state = table_of(part, "state")
        name = text_of(part.get("tool"))
        output = text_of(state.get("output")) or text_of(state.get("error"))
        # A failed command is a completed call, too.
        code = table_of(state, "metadata").get("exit")
        failed = state.get("status") == "error" or code not in (None, 0)
        turn.call(ToolCall(name, input_text(state.get("input")), output, failed))
        turn.outside = turn.outside or is_servers_tool(name, _OWN_TOOLS)


def _origins(db: Any, session: str) -> dict[str, str]:
    """Return copied user messages -> their originals, if the originals still exist."""
    rows = db.execute(
        "SELECT m.id, m.time_created FROM message m JOIN session s ON s.id=m.session_id "
        "WHERE m.session_id=? AND m.time_created < s.time_created",
        (session,),
    ).fetchall()
    times: dict[int, list[str]] = {}
    for name, time in rows:
        times.setdefault(time, []).append(name)
    found: dict[str, str] = {}
    later = (
        "SELECT m.id, m.time_created FROM message m JOIN session s ON s.id=m.session_id "
        "WHERE m.session_id<>? AND m.time_created >= s.time_created "
        "AND m.time_created IN ({}) ORDER BY m.id"
    )
    for name, time in rows_in(db.execute, later, times, [session]):
        found.update(dict.fromkeys(times[time], name))
    return found


def _parts(db: Any, message: str) -> list[dict[str, Any]]:
    return [
        table(data)
        for (data,) in db.execute(
            "SELECT data FROM part WHERE message_id=? ORDER BY id", (message,)
        )
    ]


def _is_of_client(parts: list[dict[str, Any]]) -> bool:
    """Return whether no person wrote a user message, and no command follows it."""
    return bool(parts) and all(_is_not_typed(part) and not _is_shell(part) for part in parts)


def _is_not_typed(part: dict[str, Any]) -> bool:
    """Return whether the client (``synthetic``) or a plugin (``ignored``) wrote a part."""
    return bool(part.get("synthetic") or part.get("ignored"))


def _is_shell(part: dict[str, Any]) -> bool:
    return bool(part.get("synthetic")) and part.get("text") == _SHELL


def _typed(part: dict[str, Any]) -> str:
    """Return what the person typed, or the prompt of the command that the person called.

    Kilo marks the text that it inserts for a command.
    """
    if _kind(part) == "subtask":
        return text_of(part.get("prompt"))
    injected = table_of(part, "metadata", "kilo", "injected")
    return text_of(injected.get("title")) or text_of(part.get("text"))


def _kind(part: dict[str, Any]) -> str:
    return str(part.get("type"))


def _at(data: dict[str, Any], name: str) -> object:
    return table_of(data, "time").get(name)


class MessageReader(DatabaseReader):
    """Reads the sessions of an agent that uses OpenCode's tables."""

    conversation = MessageConversation
    named = (
        "SELECT id FROM session WHERE id=? OR (?='' AND parent_id IS NULL)"
        " ORDER BY time_updated DESC LIMIT 1"
    )
    listing = "SELECT id, time_updated FROM session ORDER BY time_created"

    def may_open(self, name: str) -> bool:
        """Whether a file of that name can be one of the agent's databases."""
        return name.endswith(".db")

    def unknown_files(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Yield (path, reason) of sessions that only other versions of the client have.

        They are JSON files that it did not take over into its database, and tables of version 2.
        """
        known = {session.session for session in self.sessions(folder, [])}
        for file in sorted(folder.glob("storage/session/*/*.json")):
            if file.stem not in known:
                yield str(file), OLDER
        for file in self._databases(folder):
            newer: set[str] = set()
            with contextlib.suppress(OSError), reading(str(file)) as db:
                rows = db.execute("SELECT id FROM session_v2 WHERE parent_id IS NULL")
                newer = {text_of(name) for (name,) in rows} - known
            if newer:
                yield str(file), f"{len(newer)} sessions of a newer version"
