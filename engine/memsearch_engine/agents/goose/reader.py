"""Goose's sessions: ``sessions.db`` (1.52.0 and 1.37.0 were driven), before 1.10 a file of JSON
lines each (by its source), which stay where they are when the database takes them over.

A message's content is blocks; results of tools are messages of the user without words. What the
client says to its model is not visible to the user, by the message's metadata: summaries, context,
the copy of a prompt after a compaction, which writes all rows anew. What was steered in while a
turn ran belongs to that turn. A failure leaves nothing; an interrupted step nothing of that step.

**A turn is named by its message's id**, which a compaction keeps and a fork copies; lines without
ids by their second, which is another name of it in the database, too, where it gets an id. Sessions
that their user wanted to be kept nowhere are on disk all the same: they are not listed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memsearch_engine.agents.goose import AGENT
from memsearch_engine.agents.transcripts.jsonl import lines
from memsearch_engine.agents.transcripts.model import (
    Conversation,
    Session,
    ToolCall,
    Turn,
    document,
    input_text,
    text_of,
)
from memsearch_engine.agents.transcripts.sqlite import reading, stamp

_DATABASE = "sessions.db"
_ID = re.compile(r"[^/\0]{1,200}")
_HIDDEN = "hidden"
_MILLISECONDS = 10_000_000_000
_FAR = 1e15
_MAX_CHILDREN = 200
_KNOWN = frozenset(
    "text image thinking redactedThinking toolRequest toolResponse toolConfirmationRequest actionRequired frontendToolRequest"
    " systemNotification reasoning conversationCompacted contextLengthExceeded summarizationRequested".split()
)
#: Extensions that are its own: their tools bring in nothing, unless they fetch.
_OWN = frozenset(
    "developer apps extensionmanager todo chatrecall computercontroller memory autovisualiser code_execution platform recipe subagent"
    " dynamic_task analyze skills summon tutorial final_output".split()
)
_SUB_AGENTS = ("delegate", "subagent__execute_task", "dynamic_task__create_task")
_SHELLS = ("developer__shell",)
_SHELL_OWNERSTORY = re.compile(r"<shell_history>\n.*?</shell_history>\n\n", re.S)
_SENT_OFF = re.compile(r"Subagent ID: [^\n]*\n\n")
_COMMANDS = ("/compact", "/summarize")
_REFUSED = "Ran into this error: "  # of versions that kept it
_LEFT = re.compile(r"The (?:existing call to \S+ was|tool calling loop was) interrupted\. ")


class _Message(NamedTuple):
    name: str
    role: str
    blocks: list[dict[str, Any]]
    at: float  # seconds since 1970
    told: dict[str, Any]


def sessions(folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
    """Every session of the database in *folder*, and the files that it did not take over."""
    file = folder / _DATABASE
    known: set[str] = set()
    if file.is_file():
        try:
            with reading(str(file)) as db:
                kind = _column(db, "sessions", "session_type", "''")
                rows = db.execute(
                    f"SELECT id, updated_at, {kind} FROM sessions ORDER BY created_at, id"
                ).fetchall()
        except OSError as error:
            failed.append((str(file), error.strerror or str(error)))
            return  # else what it has would come up twice
        known = {text_of(name) for name, _, _ in rows}
        for name, updated, kind in rows:
            if kind != _HIDDEN:
                yield Session(AGENT.name, text_of(name), str(file), "db", _seconds(updated))
    for old in sorted(folder.glob("*.jsonl")):
        if old.stem in known:
            continue
        try:
            info = old.stat()
        except OSError:
            continue
        yield Session(AGENT.name, old.stem, str(old), "transcript", info.st_mtime, info.st_size)


def locate(folder: Path, session: str) -> Session | None:
    if not _ID.fullmatch(session):
        return None
    file, old = folder / _DATABASE, folder / f"{session}.jsonl"
    found = at(file, session) if file.is_file() else None
    return found or (at(old, session) if old.is_file() else None)


def at(path: str | os.PathLike[str], session: str = "") -> Session | None:
    """The named session of a database, else its newest one; the one in a file of lines."""
    path = Path(path)
    if path.name == _DATABASE:
        with reading(str(path)) as db:
            query = "SELECT id FROM sessions WHERE id=? OR ?='' ORDER BY updated_at DESC LIMIT 1"
            row = db.execute(query, (session, session)).fetchone()
        return Session(AGENT.name, text_of(row[0]), str(path), "db") if row else None
    return (
        Session(AGENT.name, session or path.stem, str(path), "transcript")
        if path.suffix == ".jsonl"
        else None
    )


def holds(name: str) -> bool | None:
    """None: lines of JSON may be anybody's."""
    return True if name == _DATABASE else None if name.endswith(".jsonl") else False


def wrote(line: dict[str, Any]) -> bool:
    is_message = (
        "role" in line
        and isinstance(line.get("created"), int)
        and isinstance(line.get("content"), list)
    )
    return is_message or ("working_dir" in line and "message_count" in line)


def open_session(where: Session, cache: Path | None = None) -> Conversation:
    return GooseConversation(where)


class GooseConversation(Conversation):
    agent = AGENT.name

    def __init__(self, where: Session, *, alone: bool = False) -> None:
        """
        Args:
            alone: its sub-agents are not looked at.
        """
        super().__init__(where)
        self._turns: list[Turn] = []
        self._tools: dict[str, ToolCall] = {}
        self._children: list[str] = []
        self._seconds: Counter[str] = Counter()
        self._cwd = ""
        self._own = _OWN
        if where.kind == "db":
            with reading(where.path) as db:
                for message in self._of_database(db):
                    self._take(message)
                sent_off = [
                    t for t in self._turns if any(call.name in _SUB_AGENTS for call in t.tools)
                ]
                took_in = bool(sent_off) and not alone and self._they_took_in(db)
                for turn in sent_off:
                    turn.outside = turn.outside or took_in
        else:
            for message in self._of_lines():
                self._take(message)
            for turn in self._turns:  # nothing tells which sessions these were
                turn.outside = turn.outside or any(call.name in _SUB_AGENTS for call in turn.tools)
        self._turns = [turn for turn in self._turns if turn.user.strip() not in _COMMANDS]
        self.ids = [turn.turn for turn in self._turns]
        self.aliases = {
            other: name
            for other, name in self.aliases.items()
            if name in self.ids and other != name
        }
        for turn in self._turns:
            turn.aliases = [other for other, name in self.aliases.items() if name == turn.turn]

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        return self._turns[first:last]

    def _of_database(self, db: Any) -> list[_Message]:
        kind, parent = (
            _column(db, "sessions", "session_type", "''"),
            _column(db, "sessions", "parent_session_id", "''"),
        )
        name, told = (
            _column(db, "messages", "message_id", "''"),
            _column(db, "messages", "metadata_json", "''"),
        )
        extensions = _column(db, "sessions", "extension_data", "''")
        row = db.execute(
            f"SELECT working_dir, {kind}, {parent}, {extensions} FROM sessions WHERE id=?",
            (self.session,),
        ).fetchone()
        if row is None:
            raise FileNotFoundError(2, f"no session {self.session}", self.where.path)
        self._cwd = text_of(row[0])
        self.parent = text_of(row[2]) or (
            "(the session that sent it off)" if row[1] == "sub_agent" else ""
        )
        self._own = _OWN | _extensions(_value(row[3]))
        rows = db.execute(
            f"SELECT {name}, role, content_json, created_timestamp, {told} FROM messages WHERE session_id=?"
            " ORDER BY created_timestamp, id",
            (self.session,),
        )
        return [
            _Message(
                text_of(name),
                text_of(role),
                _blocks(_value(content)),
                _seconds(at),
                _table(_value(told)),
            )
            for name, role, content, at, told in rows
        ]

    def _of_lines(self) -> Iterator[_Message]:
        for _, raw in lines(self.where.path, skipped=self.unknown):
            line = _table(_value(raw))
            if not line:
                self.unknown["(not JSON)"] = self.unknown.get("(not JSON)", 0) + 1
            elif "role" in line:
                yield _Message(
                    text_of(line.get("id")),
                    text_of(line["role"]),
                    _blocks(line.get("content")),
                    _seconds(line.get("created")),
                    {},
                )
            else:
                self._cwd = text_of(line.get("working_dir")) or self._cwd

    def _take(self, message: _Message) -> None:
        if message.told.get("userVisible") is False:
            return
        kinds = {text_of(block.get("type")) for block in message.blocks}
        for kind in kinds - _KNOWN:
            self.unknown[kind[:40]] = self.unknown.get(kind[:40], 0) + 1
        is_result = "toolResponse" in kinds
        if message.role == "user" and not is_result:
            self._ask(message, _typed(message.blocks))
        elif self._turns and message.role in ("user", "assistant"):
            turn = self._turns[-1]
            turn.ended = stamp(message.at * 1000) or turn.ended
            for block in message.blocks:
                self._add(turn, block, message.role)
        elif message.role not in ("user", "assistant", "system"):
            self.unknown[message.role[:40]] = self.unknown.get(message.role[:40], 0) + 1

    def _ask(self, message: _Message, words: str) -> None:
        if not words.strip():
            return
        if message.told.get("steer") and self._turns:
            self._turns[-1].user += f"\n\n{words}"
            return
        second = str(int(message.at))
        self._seconds[second] += 1
        by_time = second if self._seconds[second] == 1 else f"{second}-{self._seconds[second]}"
        name, at = message.name or by_time, stamp(message.at * 1000)
        self.aliases[by_time] = name
        self._turns.append(
            Turn(
                self.agent,
                self.session,
                name,
                at,
                at,
                self._cwd,
                words,
                tools=[],
                status="interrupted",
            )
        )

    def _add(self, turn: Turn, block: dict[str, Any], role: str) -> None:
        kind = block.get("type")
        if kind == "text" and role == "assistant":
            words = text_of(block.get("text"))
            turn.say(words)
            turn.status = "done" if words.strip() else turn.status
            if words.startswith(_REFUSED):
                turn.status = "failed"
            elif _LEFT.match(words):
                turn.status = "interrupted"
        elif kind == "toolRequest":
            self._call(turn, block)
        elif kind == "toolResponse" and (done := self._tools.get(text_of(block.get("id")))):
            done.output, done.failed = self._result(_table(block.get("toolResult")))

    def _call(self, turn: Turn, block: dict[str, Any]) -> None:
        asked = _table(_table(block.get("toolCall")).get("value"))
        name, given = text_of(asked.get("name")), asked.get("arguments")
        call = ToolCall(name, input_text(given))
        self._tools[text_of(block.get("id"))] = call
        turn.call(call)
        turn.status = "interrupted"  # until words follow
        extension = text_of(_table(block.get("_meta")).get("goose_extension")) or (
            name.split("__")[0] if "__" in name else ""
        )
        source = _table(given).get("source")
        if (
            extension
            and extension not in self._own
            and extension != "memsearch"
            or name.endswith("web_scrape")
            or (name == "read_image" and _is_far(text_of(source)))
        ):
            turn.outside = True
        elif name in _SHELLS:  # by its own name, a shell
            alone = Turn("", "", "", tools=[])
            alone.call(ToolCall("shell", call.input))
            turn.outside = turn.outside or alone.outside

    def _result(self, result: dict[str, Any]) -> tuple[str, bool]:
        """(what a tool gave its model, whether it failed)."""
        value = result.get("value")
        items = _blocks(value.get("content") if isinstance(value, dict) else value)
        texts = [
            text_of(item.get("text"))
            for item in items
            if item.get("type") == "text"
            and _table(item.get("annotations")).get("audience") in (None, [], ["assistant"])
        ]
        meta = _table(value.get("_meta")) if isinstance(value, dict) else {}
        self._children += [child for child in [text_of(meta.get("subagent_session_id"))] if child]
        failed = result.get("status") == "error" or (
            isinstance(value, dict) and value.get("isError") is True
        )
        return "\n".join(texts) or text_of(result.get("error")), failed

    def _they_took_in(self, db: Any) -> bool:
        """Whether a sub-agent, or any that it sent off itself, took in content from outside; so it
        is said, too, where none can be read.
        """
        parent = _column(db, "sessions", "parent_session_id", "NULL")
        seen, waiting, read = {self.session}, list(self._children), 0
        waiting += [
            text_of(name)
            for (name,) in db.execute(f"SELECT id FROM sessions WHERE {parent}=?", (self.session,))
        ]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            try:
                child = GooseConversation(
                    Session(self.agent, name, self.where.path, "db"), alone=True
                )
            except OSError:
                continue  # it was deleted
            read += 1
            if len(seen) > _MAX_CHILDREN or any(turn.outside for turn in child._turns):
                return True
            waiting += child._children
            waiting += [
                text_of(name)
                for (name,) in db.execute(f"SELECT id FROM sessions WHERE {parent}=?", (name,))
            ]
        return not read


def _typed(blocks: list[dict[str, Any]]) -> str:
    """What the person typed: the first text. Files that were attached come behind it, what the
    shell did before stands in front.
    """
    said = next((text_of(block.get("text")) for block in blocks if block.get("type") == "text"), "")
    words = _SENT_OFF.sub("", _SHELL_OWNERSTORY.sub("", said, count=1), count=1) if said else ""
    if words.strip():
        return words
    return "[image]" if any(block.get("type") == "image" for block in blocks) else ""


def _is_far(source: str) -> bool:
    return bool(re.match(r"https?://(?!localhost\b|127\.|\[::1\])", source))


def _extensions(data: Any) -> set[str]:
    """Names of those that a session had which are the client's own."""
    listed = _table(_table(data).get("enabled_extensions.v0")).get("extensions")
    return {
        text_of(one.get("name"))
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and one.get("type") in ("platform", "builtin")
    }


def _column(db: Any, table: str, name: str, otherwise: str) -> str:
    """A column that came with a version, or what to read where it is not there."""
    return (
        name if name in {row[1] for row in db.execute(f"PRAGMA table_info({table})")} else otherwise
    )


def _value(given: Any) -> Any:
    if not isinstance(given, str | bytes):
        return given
    try:
        return document(given.encode("utf-8", "replace") if isinstance(given, str) else given)
    except (ValueError, RecursionError):
        return None


def _table(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _blocks(given: Any) -> list[dict[str, Any]]:
    return [block for block in given if isinstance(block, dict)] if isinstance(given, list) else []


def _seconds(given: Any) -> float:
    """Seconds since 1970 of a number, or of a text as the database has it; 0 where it says none."""
    if isinstance(given, int | float) and abs(given) < _FAR:
        return given / 1000 if given > _MILLISECONDS else float(given)
    if isinstance(given, str):
        try:
            when = datetime.fromisoformat(given)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0
    return 0.0
