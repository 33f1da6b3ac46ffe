"""Zed's threads: ``threads.db`` (from its source of 2026; not tested with the program).

A thread is one row that is always written as a whole, with a JSON document that is usually
compressed with zstd. Other agents that run in Zed store their own sessions.

A message is an object named after its author; the model's message contains its tools and their
results. Messages have no times: all turns have the time of their thread. Failures are not stored.
Tools of servers have bare names, so every tool that is not Zed's own counts as a server's.

**A turn is named by its message's id.** In documents of Zed's first agent it is named by its
position (``#1``), because saving such a thread again gives its messages other ids. There the
position is an alias, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from memsearch_engine.agents.transcripts.model import (
    Session,
    ToolCall,
    Turn,
    WholeConversation,
    any_read_outside,
    document,
    input_text,
    table_of,
    tables_of,
    text_of,
    value_of,
)
from memsearch_engine.agents.transcripts.sqlite import (
    DatabaseReader,
    column,
    moment,
    reading,
    session_row,
    stamp,
)

NAME = "threads.db"
_MAX = 256 * 1024 * 1024
_TOOLS = frozenset(
    "apply_code_action code_actions control_debug_session copy_path create_directory "
    "create_file create_thread delete_path diagnostics edit_file streaming_edit_file "
    "write_file save_file restore_file_from_disk find_path find_references "
    "get_code_actions get_debug_session_state go_to_definition grep list_agents_and_models "
    "list_debug_sessions list_directory move_path now open read_file rename rename_symbol "
    "skill spawn_agent subagent terminal thinking update_plan update_title bash batch_tool "
    "code_symbols contents path_search regex_search symbol_info lua_interpreter".split()
)
_SUB_AGENTS = ("spawn_agent", "subagent")
_SHELLS = ("terminal", "bash")
_FAILED = " failed with exit code "
_COLUMNS = (
    "data_type",
    "data",
    "updated_at",
    "parent_id",
    "folder_paths",
    "folder_paths_order",
    "created_at",
)


def _document(kind: object, data: object, path: str) -> dict[str, Any]:
    """Return a thread's document.

    Raises:
        OSError: it cannot be read, or is too large.
    """
    import zstandard

    raw = (
        data.encode("utf-8", "replace")
        if isinstance(data, str)
        else data
        if isinstance(data, bytes)
        else b""
    )
    try:
        if kind == "zstd":  # frames without their size
            with zstandard.ZstdDecompressor().stream_reader(raw) as stream:
                raw = stream.read(_MAX + 1)
        if len(raw) > _MAX:
            raise OSError(27, "a thread that is too large", path)
        return table_of(document(raw))
    except (zstandard.ZstdError, ValueError, RecursionError, MemoryError) as error:
        raise OSError(22, "not a whole thread", path) from error


def _folder(paths: str, order: str, thread: dict[str, Any]) -> str:
    """Return the folder where a thread was started: the root that was opened first.

    Roots are stored by name, with their order beside them.
    """
    roots = [path for path in paths.split("\n") if path]
    places = [
        int(place) if re.fullmatch("[0-9]{1,6}", place) else len(roots)
        for place in order.split(",")
    ]
    if roots:
        return roots[places.index(min(places))] if len(places) == len(roots) else roots[0]
    worktrees = tables_of(
        table_of(thread.get("initial_project_snapshot")).get("worktree_snapshots")
    )
    return text_of(worktrees[0].get("worktree_path")) if worktrees else ""


def _piece(piece: dict[str, Any]) -> str:
    """Return a piece of a prompt as displayed; a mention as its name."""
    if "Text" in piece:
        return text_of(piece["Text"])
    uri = table_of(table_of(piece.get("Mention")).get("uri"))
    for reference in uri.values():
        named = table_of(reference)
        path = text_of(named.get("abs_path")) or text_of(named.get("path"))
        name = os.path.basename(path.rstrip("/")) or text_of(named.get("name"))
        return f"@{name or text_of(named.get('url')) or 'mention'}"
    return ""


def _given(value: Any) -> Any:
    """Return a tool's input. Newer versions add its kind."""
    return (
        value["value"] if isinstance(value, dict) and value.keys() == {"type", "value"} else value
    )


def _shown(content: Any) -> str:
    """Return a tool's output, in the format of any version."""
    if isinstance(content, list):
        return "\n".join(text for text in map(_shown, content) if text)
    if isinstance(content, dict):
        return next(
            (
                text
                for key, value in content.items()
                if key.lower() == "text" and (text := text_of(value))
            ),
            "",
        )
    return text_of(content)


class ZedConversation(WholeConversation):
    """A thread of Zed."""

    def _load(self) -> None:
        with reading(self.where.path) as db:
            columns = ", ".join(column(db, "threads", name) for name in _COLUMNS)
            row = session_row(db, f"SELECT {columns} FROM threads WHERE id=?", self.where)
        kind, data, updated, parent, folders, order, created = row
        thread = _document(kind, data, self.where.path)
        self.parent = text_of(parent) or text_of(
            table_of(thread.get("subagent_context")).get("parent_thread_id")
        )
        self.version = text_of(thread.get("version"))
        self._at = stamp(1000 * (moment(created) or moment(updated))) if created or updated else ""
        self._cwd = _folder(text_of(folders), text_of(order), thread)
        # turn -> threads of the sub-agents that it started
        self._children: dict[str, list[str]] = {}
        messages = thread.get("messages")
        for place, message in enumerate(messages if isinstance(messages, list) else []):
            if isinstance(message, dict) and "role" in message:
                self._old(message, place)
            else:
                self._new(message, place)
        for place, turn in enumerate(self._turns, 1):
            turn.aliases = [f"#{place}"] if turn.turn != f"#{place}" else []
        self.aliases = {name: turn.turn for turn in self._turns for name in turn.aliases}

    def _sub_agents_read_outside(self, turn: Turn) -> bool:
        children = self._children.get(turn.turn, [])
        return not children or any_read_outside(self.session, children, self._visit)

    def _visit(self, name: str) -> tuple[bool, list[str]]:
        child = ZedConversation(Session(self.agent, name, self.where.path, self.where.kind))
        is_outside = any(turn.outside for turn in child._turns)
        return is_outside, [one for names in child._children.values() for one in names]

    def _call(self, name: str, given: Any, output: str, failed: bool) -> None:
        turn, words = self._turns[-1], input_text(given)
        # `terminal` is a shell: this name makes its fetches known
        turn.call(
            ToolCall(
                "shell" if name in _SHELLS else name,
                words,
                output,
                failed or _FAILED in output[:500],
            )
        )
        turn.tools[-1].name = name
        turn.outside = turn.outside or name not in _TOOLS
        turn.status = "interrupted"  # until an answer follows

    # -- since 0.3.0

    def _new(self, message: Any, place: int) -> None:
        if message == "Resume":
            return
        kind = next(iter(message), "") if isinstance(message, dict) else str(message)
        fields = table_of(message.get(kind)) if isinstance(message, dict) else {}
        if kind == "User":
            pieces = tables_of(fields.get("content"))
            words = "".join(map(_piece, pieces))
            words = words or "[image]" * any("Image" in piece for piece in pieces)
            if words:
                name = text_of(fields.get("id")) or f"{self.session}-{place}"
                self._begin(name, self._at, words, self._cwd).outside = any(
                    "Fetch" in table_of(table_of(p.get("Mention")).get("uri")) for p in pieces
                )
        elif kind == "Agent":
            if self._turns:
                self._answer(fields)
        elif kind != "Compaction":
            self._count(kind)

    def _answer(self, answer: dict[str, Any]) -> None:
        turn, results = self._turns[-1], table_of(answer.get("tool_results"))
        for piece in tables_of(answer.get("content")):
            if words := text_of(piece.get("Text")):
                turn.answer(words)
            elif used := table_of(piece.get("ToolUse")):
                result = table_of(results.get(text_of(used.get("id"))))
                self._call(
                    text_of(used.get("name")),
                    _given(used.get("input")),
                    _shown(result.get("content")),
                    result.get("is_error") is True,
                )
                self._note_child(turn, used, result)

    def _note_child(self, turn: Turn, used: dict[str, Any], result: dict[str, Any]) -> None:
        if used.get("name") not in _SUB_AGENTS:
            return
        output = value_of(_shown(result.get("content")))
        child = text_of(table_of(output).get("session_id")) or text_of(
            table_of(_given(used.get("input"))).get("session_id")
        )
        if child:
            self._children.setdefault(turn.turn, []).append(child)

    # -- before 0.3.0

    def _old(self, message: dict[str, Any], place: int) -> None:
        role = message.get("role")
        segments = message.get("segments")
        parts = (
            tables_of(segments)
            if isinstance(segments, list)
            else [{"type": "text", "text": message.get("text")}]
        )
        words = "".join(text_of(part.get("text")) for part in parts if part.get("type") == "text")
        results = {
            text_of(one.get("tool_use_id")): one for one in tables_of(message.get("tool_results"))
        }
        if message.get("is_hidden") is True or role == "system":
            return
        if role == "user" and results:  # of 0.1.0, which has results in a message of their own
            for call, result in zip(
                self._turns[-1].tools[-len(results) :] if self._turns else [], results.values()
            ):
                call.output, call.failed = (
                    _shown(result.get("content")),
                    result.get("is_error") is True,
                )
        elif role == "user":
            if words.strip():
                self._begin(f"#{len(self._turns) + 1}", self._at, words, self._cwd)
        elif role == "assistant":
            if not self._turns:
                return
            self._turns[-1].answer(words)
            for used in tables_of(message.get("tool_uses")):
                result = results.get(text_of(used.get("id")), {})
                self._call(
                    text_of(used.get("name")),
                    used.get("input"),
                    _shown(result.get("content")),
                    result.get("is_error") is True,
                )
        else:
            self._count(role)


class Reader(DatabaseReader):
    """Reads the threads of Zed."""

    agent = "zed"
    own_names = re.compile(re.escape(NAME))
    pattern = NAME
    conversation = ZedConversation
    named = "SELECT id FROM threads WHERE id=? OR ?='' ORDER BY updated_at DESC LIMIT 1"

    def listed(self, db: Any) -> Iterator[tuple[Any, float, int]]:
        """Yield (id, last change in seconds since 1970, size in bytes or 0) of each session."""
        order = column(db, "threads", "created_at", "updated_at")
        rows = db.execute(f"SELECT id, updated_at, length(data) FROM threads ORDER BY {order}")
        for name, updated, size in rows:
            yield name, moment(updated), size or 0
