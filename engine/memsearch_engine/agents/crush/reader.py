"""Crush's sessions: ``crush.db`` in the project's ``.crush``.

From migrations and queries in its source of August 2026; not tested with the program.

A message's parts are typed JSON. A tool's result is a message of its own. A prompt that was typed
during a turn and follows a tool belongs to that turn, and so does the client's own message after a
summary. Sub-agents are sessions with a parent, named by the call that started them.

**A turn is named by the message of its request.** Times are whole seconds. The session's folder is
the one that contains ``.crush``. If the database was cloned with the project, all its turns are
from outside.
"""

from __future__ import annotations

import os
import re
from typing import Any

from memsearch_engine.agents.transcripts.model import (
    Turn,
    WholeConversation,
    any_read_outside,
    set_result,
    tables_of,
    text_of,
    value_of,
)
from memsearch_engine.agents.transcripts.sqlite import (
    DatabaseReader,
    column,
    number,
    reading,
    session_row,
    stamp,
)
from memsearch_engine.core.repository import came_along

NAME = "crush.db"
#: Built-in tools that take in content from outside, or start another agent that may.
_OUTSIDE = ("agentic_fetch", "sourcegraph", "download")
_SUB_AGENTS = ("agent", "agentic_fetch")
_GOES_ON = (
    "The previous session was interrupted because it got too long, the initial user request was: `"
)
_KNOWN = frozenset(
    "text reasoning image_url binary tool_call tool_result finish shell_command".split()
)
_SOON_S = 600


def _children_read_outside(db: Any, session: str) -> bool:
    """Return whether a sub-agent, or one that it started, read content from outside.

    Also true if no sub-agent's session can be read.
    """

    def visit(child: str) -> tuple[bool, list[str]]:
        turn = Turn("", "", "", tools=[])
        for (parts,) in db.execute(
            "SELECT parts FROM messages WHERE session_id=? AND role='assistant'", (child,)
        ):
            for kind, data in _parts(parts):
                if kind == "tool_call":
                    turn.use(data.get("name"), _value(data.get("input")))
        is_outside = turn.outside or any(call.name in _OUTSIDE for call in turn.tools)
        return is_outside, _sub_agents(db, child)

    children = _sub_agents(db, session)
    return not children or any_read_outside(session, children, visit)


def _sub_agents(db: Any, session: str) -> list[str]:
    """Return the sessions of a session's sub-agents. The session that makes titles is none."""
    rows = db.execute("SELECT id FROM sessions WHERE parent_session_id=?", (session,))
    return [name for (name,) in rows if isinstance(name, str) and not name.startswith("title-")]


def _parts(given: object) -> list[tuple[str, dict[str, Any]]]:
    """Return (kind, data) of each part of a message."""
    return [
        (text_of(part.get("type")), data)
        for part in tables_of(_value(given))
        if isinstance(data := part.get("data"), dict)
    ]


def _value(given: object) -> Any:
    """Return the value of a JSON text, or the text itself if it is not JSON."""
    found = value_of(given)
    return given if found is None else found


class CrushConversation(WholeConversation):
    """A session in the database of Crush."""

    #: The model has called tools and has not answered their results yet.
    _uses_tools = False
    _after_tool = False
    _last_at = 0.0

    def _load(self) -> None:
        with reading(self.where.path) as db:
            row = session_row(db, "SELECT parent_session_id FROM sessions WHERE id=?", self.where)
            self.parent = text_of(row[0])
            summary = column(db, "messages", "is_summary_message", "0")
            rows = db.execute(
                f"SELECT id, role, parts, created_at, finished_at, {summary} FROM messages "
                "WHERE session_id=? ORDER BY created_at, rowid",
                (self.session,),
            ).fetchall()
            for name, role, parts, created, finished, is_summary in rows:
                if not is_summary:
                    self._take(text_of(name), role, _parts(parts), created, finished)
            along = came_along(self.where.path)
            for turn in self._turns:
                turn.outside = turn.outside or along
                if any(call.name in _SUB_AGENTS for call in turn.tools) and not turn.outside:
                    turn.outside = _children_read_outside(db, self.session)

    def _take(
        self,
        name: str,
        role: object,
        parts: list[tuple[str, dict[str, Any]]],
        created: Any,
        finished: Any,
    ) -> None:
        for kind, _ in parts:
            if kind not in _KNOWN:
                self._count(kind)
        at, before = stamp(number(created) * 1000), self._last_at
        self._last_at = number(created)
        if role == "user":
            words = "\n".join(
                text
                for kind, data in parts
                if kind == "text" and (text := text_of(data.get("text")))
            )
            is_seen = any(kind in ("binary", "image_url") for kind, _ in parts)
            # killed with a tool's result: nobody types ahead for so long
            if self._last_at - before > _SOON_S:
                self._after_tool = False
            self._ask(name, at, words if words.strip() else "[image]" if is_seen else "")
        elif self._turns and role == "assistant":
            self._turns[-1].ended = stamp(number(finished) * 1000) or at
            self._answer(parts)
        elif self._turns and role == "tool":
            for kind, data in parts:
                key = text_of(data.get("tool_call_id"))
                if kind == "tool_result" and key in self._tools:
                    output, failed = text_of(data.get("content")), data.get("is_error") is True
                    set_result(self._tools, key, output, failed)
                    self._after_tool = self._uses_tools
        elif role not in ("user", "assistant", "tool", "system"):
            self._count(role)

    def _ask(self, name: str, at: str, words: str) -> None:
        if not words or (self._turns and words.startswith(_GOES_ON)):
            return
        if self._turns and self._after_tool:
            self._turns[-1].add_prompt(words)
            return
        folder = os.path.dirname(os.path.dirname(os.path.abspath(self.where.path)))
        name = name or f"{self.session}-{len(self._turns)}"
        self._begin(name, at, words, folder)
        self._uses_tools, self._after_tool = False, False

    def _answer(self, parts: list[tuple[str, dict[str, Any]]]) -> None:
        turn = self._turns[-1]
        turn.status = "interrupted"  # until the end is known
        self._uses_tools, self._after_tool = (
            any(d.get("reason") == "tool_use" for k, d in parts if k == "finish"),
            False,
        )
        for kind, data in parts:
            if kind == "text":
                turn.say(text_of(data.get("text")))
            elif kind == "tool_call":
                call = self._use(data.get("id"), data.get("name"), _value(data.get("input")))
                turn.outside = turn.outside or call.name in _OUTSIDE
            elif kind == "finish":
                self._end(turn, data)

    @staticmethod
    def _end(turn: Turn, data: dict[str, Any]) -> None:
        reason = data.get("reason")
        if reason in ("end_turn", "max_tokens"):
            turn.status = "done"
        elif reason == "error":
            parts = [
                text
                for text in (text_of(data.get("message")), text_of(data.get("details")))
                if text
            ]
            turn.fail(": ".join(parts) or "refused")
        elif reason == "content_filter":
            turn.status = "failed"


class Reader(DatabaseReader):
    """Reads the sessions of Crush."""

    agent = "crush"
    own_names = re.compile(re.escape(NAME))
    pattern = NAME
    conversation = CrushConversation
    named = (
        "SELECT id FROM sessions WHERE id=? OR (?='' AND parent_session_id IS NULL)"
        " ORDER BY updated_at DESC LIMIT 1"
    )

    listing = (
        "SELECT s.id, s.updated_at FROM sessions s WHERE EXISTS"
        " (SELECT 1 FROM messages m WHERE m.session_id=s.id AND m.role='user')"
        " ORDER BY s.created_at, s.rowid"
    )
    per_second = 1
