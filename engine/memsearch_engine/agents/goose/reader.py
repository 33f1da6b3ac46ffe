"""Goose's sessions: ``sessions.db`` (tested with 1.52.0 and 1.37.0).

Before 1.10 each session was a file of JSON lines (from its source); the files stay when the
database takes them over.

A message's content is a list of blocks; results of tools are user messages without words. By their
metadata, the client's messages to its model are not visible to the user: summaries, context, and
the copy of a prompt after a context compaction, which writes all rows again. A message that was
sent during a turn belongs to that turn. A failure leaves nothing; an interrupted step leaves
nothing of that step.

**A turn is named by its message's id**, which stays the same after a context compaction and in a
fork. Lines without ids are named by their second. In the database, where they get an id, the second
is an alias. Sessions that the user asked not to store are on disk all the same; they are not
listed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from memsearch_engine.agents.transcripts.model import (
    Session,
    Turn,
    WholeConversation,
    any_read_outside,
    brings_outside,
    table_of,
    tables_of,
    text_of,
    value_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import NOT_JSON, lines
from memsearch_engine.agents.transcripts.sqlite import (
    DatabaseOrFiles,
    DatabaseReader,
    column,
    moment,
    reading,
    session_row,
    stamp,
)

_DATABASE = "sessions.db"
_HIDDEN = "hidden"
_MILLISECONDS = 10_000_000_000
_FAR = 1e15
_KNOWN = frozenset(
    "text image thinking redactedThinking toolRequest toolResponse toolConfirmationRequest "
    "actionRequired frontendToolRequest systemNotification reasoning conversationCompacted "
    "contextLengthExceeded summarizationRequested".split()
)
#: Built-in extensions: their tools take in nothing from outside, unless they fetch.
_OWN = frozenset(
    "developer apps extensionmanager todo chatrecall computercontroller memory "
    "autovisualiser code_execution platform recipe subagent dynamic_task analyze skills "
    "summon tutorial final_output".split()
)
_SUB_AGENTS = ("delegate", "subagent__execute_task", "dynamic_task__create_task")
_SHELLS = ("developer__shell",)
_REMOTE = re.compile(r"https?://(?!localhost\b|127\.|\[::1\])")
_SHELL_OWNERSTORY = re.compile(r"<shell_history>\n.*?</shell_history>\n\n", re.S)
_SENT_OFF = re.compile(r"Subagent ID: [^\n]*\n\n")
_COMMANDS = ("/compact", "/summarize")
_REFUSED = "Ran into this error: "  # of versions that stored it
_LEFT = re.compile(r"The (?:existing call to \S+ was|tool calling loop was) interrupted\. ")


class _Message(NamedTuple):
    name: str
    role: str
    blocks: list[dict[str, Any]]
    at: float  # seconds since 1970
    metadata: dict[str, Any]


def _typed(blocks: list[dict[str, Any]]) -> str:
    """Return what the person typed: the first text.

    Attached files follow it; earlier shell output precedes it.
    """
    opening = next(
        (text_of(block.get("text")) for block in blocks if block.get("type") == "text"), ""
    )
    words = (
        _SENT_OFF.sub("", _SHELL_OWNERSTORY.sub("", opening, count=1), count=1) if opening else ""
    )
    if words.strip():
        return words
    return "[image]" if any(block.get("type") == "image" for block in blocks) else ""


def _extensions(data: Any) -> set[str]:
    """Return the names of a session's built-in extensions."""
    listed = tables_of(table_of(data, "enabled_extensions.v0").get("extensions"))
    return {
        text_of(one.get("name")) for one in listed if one.get("type") in ("platform", "builtin")
    }


def _seconds(given: Any) -> float:
    """Return seconds since 1970 of a number or of a text in the database; 0 if it is not a time."""
    if isinstance(given, int | float) and abs(given) < _FAR:
        return given / 1000 if given > _MILLISECONDS else float(given)
    return moment(given)


class GooseConversation(WholeConversation):
    """A session of Goose."""

    def _load(self) -> None:
        self._children: list[str] = []
        self._seconds: Counter[str] = Counter()
        self._cwd = ""
        self._own = _OWN
        for message in self._of_database() if self.where.kind == "db" else self._of_lines():
            self._take(message)
        self._turns = [turn for turn in self._turns if turn.user.strip() not in _COMMANDS]
        names = {turn.turn for turn in self._turns}
        self.aliases = {
            other: name for other, name in self.aliases.items() if name in names and other != name
        }
        for turn in self._turns:
            turn.aliases = [other for other, name in self.aliases.items() if name == turn.turn]
            sent_off = any(call.name in _SUB_AGENTS for call in turn.tools)
            turn.outside = turn.outside or (sent_off and self._children_read_outside)

    def _of_database(self) -> list[_Message]:
        with reading(self.where.path) as db:
            session = ", ".join(
                column(db, "sessions", name, "''")
                for name in ("session_type", "parent_session_id", "extension_data")
            )
            query = f"SELECT working_dir, {session} FROM sessions WHERE id=?"
            cwd, kind, parent, extensions = session_row(db, query, self.where)
            self._cwd = text_of(cwd)
            self.parent = text_of(parent) or (
                "(the session that sent it off)" if kind == "sub_agent" else ""
            )
            self._own = _OWN | _extensions(value_of(extensions))
            name, metadata = (
                column(db, "messages", one, "''") for one in ("message_id", "metadata_json")
            )
            rows = db.execute(
                f"SELECT {name}, role, content_json, created_timestamp, {metadata} FROM messages "
                "WHERE session_id=?"
                " ORDER BY created_timestamp, id",
                (self.session,),
            )
            return [
                _Message(
                    text_of(name),
                    text_of(role),
                    tables_of(value_of(content)),
                    _seconds(at),
                    table_of(value_of(metadata)),
                )
                for name, role, content, at, metadata in rows
            ]

    def _of_lines(self) -> Iterator[_Message]:
        for _, raw in lines(self.where.path, skipped=self.unknown):
            line = table_of(value_of(raw))
            if not line:
                self._count(NOT_JSON)
            elif "role" in line:
                yield _Message(
                    text_of(line.get("id")),
                    text_of(line["role"]),
                    tables_of(line.get("content")),
                    _seconds(line.get("created")),
                    {},
                )
            else:
                self._cwd = text_of(line.get("working_dir")) or self._cwd

    def _take(self, message: _Message) -> None:
        if message.metadata.get("userVisible") is False:
            return
        kinds = {text_of(block.get("type")) for block in message.blocks}
        for kind in kinds - _KNOWN:
            self._count(kind)
        is_result = "toolResponse" in kinds
        if message.role == "user" and not is_result:
            self._ask(message, _typed(message.blocks))
        elif self._turns and message.role in ("user", "assistant"):
            turn = self._turns[-1]
            turn.ended = stamp(message.at * 1000) or turn.ended
            for block in message.blocks:
                self._add(turn, block, message.role)
        elif message.role not in ("user", "assistant", "system"):
            self._count(message.role)

    def _ask(self, message: _Message, words: str) -> None:
        if not words.strip():
            return
        if message.metadata.get("steer") and self._turns:
            self._turns[-1].add_prompt(words)
            return
        second = str(int(message.at))
        self._seconds[second] += 1
        by_time = second if self._seconds[second] == 1 else f"{second}-{self._seconds[second]}"
        name, at = message.name or by_time, stamp(message.at * 1000)
        self.aliases[by_time] = name
        self._begin(name, at, words, self._cwd)

    def _add(self, turn: Turn, block: dict[str, Any], role: str) -> None:
        kind = block.get("type")
        if kind == "text" and role == "assistant":
            words = text_of(block.get("text"))
            turn.answer(words)
            if words.startswith(_REFUSED):
                turn.status = "failed"
            elif _LEFT.match(words):
                turn.status = "interrupted"
        elif kind == "toolRequest":
            self._call(turn, block)
        elif kind == "toolResponse" and (done := self._tools.get(text_of(block.get("id")))):
            done.output, done.failed = self._result(table_of(block.get("toolResult")))

    def _call(self, turn: Turn, block: dict[str, Any]) -> None:
        asked = table_of(table_of(block.get("toolCall")).get("value"))
        name, given = text_of(asked.get("name")), asked.get("arguments")
        call = self._use(block.get("id"), name, given)
        extension = text_of(table_of(block.get("_meta")).get("goose_extension")) or (
            name.split("__")[0] if "__" in name else ""
        )
        source = table_of(given).get("source")
        if (
            (extension and extension not in self._own and extension != "memsearch")
            or name.endswith("web_scrape")
            or (name == "read_image" and _REMOTE.match(text_of(source)))
        ):
            turn.outside = True
        elif name in _SHELLS:  # a shell, by its own name
            turn.outside = turn.outside or brings_outside("shell", call.input)

    def _result(self, result: dict[str, Any]) -> tuple[str, bool]:
        """Return (output of a tool as the model got it, whether it failed)."""
        value = result.get("value")
        items = tables_of(value.get("content") if isinstance(value, dict) else value)
        texts = [
            text_of(item.get("text"))
            for item in items
            if item.get("type") == "text"
            and table_of(item.get("annotations")).get("audience") in (None, [], ["assistant"])
        ]
        meta = table_of(value.get("_meta")) if isinstance(value, dict) else {}
        self._children += [child for child in [text_of(meta.get("subagent_session_id"))] if child]
        failed = result.get("status") == "error" or (
            isinstance(value, dict) and value.get("isError") is True
        )
        return "\n".join(texts) or text_of(result.get("error")), failed

    @cached_property
    def _children_read_outside(self) -> bool:
        """Whether a sub-agent, or one that it started, read content from outside.

        Also true if none of them can be read. Old files do not name the sub-agents' sessions.
        """
        if self.where.kind != "db":
            return True
        read = []

        def visit(name: str) -> tuple[bool, list[str]]:
            try:
                child = _SubAgentSession(Session(self.agent, name, self.where.path, "db"))
            except OSError:
                return False, []  # it was deleted
            read.append(name)
            return any(turn.outside for turn in child._turns), child._sent_off()

        return any_read_outside(self.session, self._sent_off(), visit) or not read

    def _sent_off(self) -> list[str]:
        """Return the sessions of the sub-agents."""
        with reading(self.where.path) as db:
            parent = column(db, "sessions", "parent_session_id")
            rows = db.execute(f"SELECT id FROM sessions WHERE {parent}=?", (self.session,))
            return [*self._children, *(text_of(name) for (name,) in rows)]


class _SubAgentSession(GooseConversation):
    """A sub-agent's session, without its own sub-agents."""

    _children_read_outside = False


class _Lines(FileReader):
    """Reads sessions of versions before 1.10, in JSON lines."""

    agent = "goose"
    patterns = ("{}.jsonl",)
    conversation = GooseConversation


class Reader(DatabaseOrFiles):
    """Reads the sessions of Goose."""

    agent = "goose"
    own_names = re.compile(re.escape(_DATABASE))
    pattern = _DATABASE
    conversation = GooseConversation
    named = "SELECT id FROM sessions WHERE id=? OR ?='' ORDER BY updated_at DESC LIMIT 1"
    files = _Lines()

    def listed(self, db: Any) -> Iterator[tuple[Any, float, int]]:
        """Yield (id, last change in seconds since 1970, size in bytes or 0) of each session."""
        kind = column(db, "sessions", "session_type", "''")
        rows = db.execute(f"SELECT id, updated_at, {kind} FROM sessions ORDER BY created_at, id")
        for name, updated, kind in rows:
            if kind != _HIDDEN:
                yield name, _seconds(updated), 0

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Yield the sessions of the database, and the files that it did not take over."""
        before = len(failed)
        yield from DatabaseReader.sessions(self, folder, failed)
        if len(failed) > before:
            return  # else sessions in the database would appear twice
        for old in self.files.sessions(folder, failed):
            if not DatabaseReader.locate(self, folder, old.session):
                yield old

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        is_message = (
            "role" in line
            and isinstance(line.get("created"), int)
            and isinstance(line.get("content"), list)
        )
        return is_message or ("working_dir" in line and "message_count" in line)
