"""Cline CLI's sessions: a folder each, in it a manifest and one JSON document of messages that is
stored whole again (3.0.65 was seen).

A turn begins with a ``user`` message that holds text; results of tools are ``user`` messages, too.
The person's words stand in a tag that the client puts around them, named files in blocks of their
own. Compactions go into another file and leave the messages as they are. Sub-agents have documents
of their own in their parent's folder, and are no sessions.

**A turn is named by its message's id**, which a resumption and a fork keep. What the client says
itself of a failure is a message to be shown and not sent; an interruption leaves such a one, or
nothing.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from memsearch_engine.agents.cline import AGENT
from memsearch_engine.agents.transcripts.model import (
    SUB_AGENTS,
    Conversation,
    Session,
    ToolCall,
    Turn,
    WholeConversation,
    document,
    input_text,
    is_servers_tool,
    table_of,
    tables_of,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.sqlite import stamp
from memsearch_engine.core import safe_files

_ENDS = ".messages.json"
_MAX = 256 * 1024 * 1024
_MAX_MANIFEST = 1024 * 1024
_TYPED = re.compile(
    r"\s*(?:<mode_notice>.*?</mode_notice>\s*)?<user_input\b[^>]*>(.*)</user_input>\s*", re.S
)
_COMMAND = re.compile(r'\s*<user_command slash="([\w-]+)">(.*)</user_command>\s*', re.S)
_LEFT = "disconnected before request was resolved"  # what it says where its user ended it


class Reader(FileReader):
    agent = AGENT.name
    own_names = re.compile(".*" + re.escape(_ENDS), re.S)
    ends = ()
    patterns = ("{}/*" + _ENDS,)

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        """The documents of sessions; those of sub-agents have other names than their folder."""
        found = super().files(folder, session)
        return (file for file in found if file.name == f"{file.parent.name}{_ENDS}")

    def order(self, file: Path) -> Path:
        """The names of folders say when their sessions began."""
        return file

    def session_of(self, path: Path) -> str:
        return path.name.removesuffix(_ENDS)

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        return ClineConversation(where)


class ClineConversation(WholeConversation):
    def __init__(self, where: Session) -> None:
        super().__init__(where)
        found = _read(Path(where.path))
        origin = table_of(found, "origin")
        self.session = text_of(found.get("sessionId")) or where.session
        self.parent = text_of(origin.get("parentThreadId"))
        self.version = text_of(origin.get("version"))
        self._read_turns(found.get("messages"), _cwd(Path(where.path)))
        self.ids = [turn.turn for turn in self._turns]

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        found = super().turns(first, last)
        for turn in found:
            sent_off = any(call.name.lower() in SUB_AGENTS for call in turn.tools)
            turn.outside = turn.outside or (sent_off and self._they_took_in)
        return found

    @cached_property
    def _they_took_in(self) -> bool:
        """Whether any sub-agent took in content from outside; so it is said, too, where their
        documents can't be read.
        """
        turns: list[Turn] = []
        for file in Path(self.where.path).parent.glob(f"agent_*{_ENDS}"):
            try:
                turns += ClineConversation(
                    Session(self.agent, file.name, str(file), self.where.kind)
                ).turns()
            except OSError:
                return True
        return not turns or any(turn.outside for turn in turns)

    def _read_turns(self, messages: Any, cwd: str) -> None:
        turn: Turn | None = None
        tools: dict[str, ToolCall] = {}
        for number, message in enumerate(messages if isinstance(messages, list) else []):
            if not isinstance(message, dict):
                continue
            if message.get("role") == "user" and (words := _words(message)):
                name = text_of(message.get("id")) or f"{self.session}-{number}"
                turn, tools = self._begin(name, stamp(message.get("ts")), words, cwd), {}
            elif turn is not None:
                turn.ended = stamp(message.get("ts")) or turn.ended
                self._add(turn, tools, message)

    def _add(self, turn: Turn, tools: dict[str, ToolCall], message: dict[str, Any]) -> None:
        blocks = _blocks(message)
        if table_of(message, "metadata").get("displayOnly"):
            reason = "\n".join(text_of(block.get("text")) for block in blocks)
            if _LEFT not in reason:
                turn.status = "failed"
                turn.say(reason)
            return
        role = message.get("role")
        if role not in ("user", "assistant"):
            self._count(role)
            return
        texts = []
        for block in blocks:
            if block.get("type") == "text" and role == "assistant":
                texts.append(text_of(block.get("text")))
            elif block.get("type") == "tool_use":
                call = ToolCall(text_of(block.get("name")), _input(block.get("input")))
                tools[text_of(block.get("id"))] = call
                turn.call(call)
                turn.outside = turn.outside or ("__" in call.name and is_servers_tool(call.name))
            elif block.get("type") == "tool_result" and (
                done := tools.get(text_of(block.get("tool_use_id")))
            ):
                done.output, done.failed = _output(block)
        turn.say("\n".join(text for text in texts if text))
        is_answer = role == "assistant" and any(text.strip() for text in texts)
        turn.status = (
            "done" if is_answer and blocks[-1].get("type") != "tool_use" else "interrupted"
        )


def _read(path: Path) -> dict[str, Any]:
    """Raises OSError, also where it is no document."""
    try:
        return table_of(document(safe_files.read(path, _MAX)))
    except (ValueError, RecursionError) as error:
        raise OSError(errno.EINVAL, "not a whole document", str(path)) from error


def _cwd(path: Path) -> str:
    """The folder that a session was held in, from the manifest in its folder; '' where that can't
    be said.
    """
    try:
        found = document(safe_files.read(path.parent / f"{path.parent.name}.json", _MAX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return ""
    return text_of(table_of(found).get("cwd"))


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return tables_of(content)


def _words(message: dict[str, Any]) -> str:
    """What the person typed, in the first block of text alone: what was named comes in blocks
    behind it. '' where the message holds a tool's result.
    """
    blocks = _blocks(message)
    if any(block.get("type") == "tool_result" for block in blocks):
        return ""
    said = next((text_of(block.get("text")) for block in blocks if block.get("type") == "text"), "")
    typed = _TYPED.fullmatch(said)
    words = typed[1] if typed else said
    if command := _COMMAND.fullmatch(words):
        words = f"/{command[1]} {command[2]}"
    if words.strip():
        return words
    return "[image]" if any(block.get("type") == "image" for block in blocks) else ""


def _input(given: Any) -> str:
    commands = given.get("commands") if isinstance(given, dict) else None
    lines = [
        _command(command) for command in (commands if isinstance(commands, list) else [commands])
    ]
    return "\n".join(lines) if commands and all(lines) else input_text(given)


def _command(given: Any) -> str:
    """A command as it is typed; '' for anything else."""
    if isinstance(given, dict):
        words = given.get("args")
        return " ".join(
            [text_of(given.get("command")), *map(text_of, words if isinstance(words, list) else [])]
        ).strip()
    return text_of(given)


def _output(block: dict[str, Any]) -> tuple[str, bool]:
    """(what a tool gave, whether it failed): an entry for each of its commands or files."""
    content = block.get("content")
    if not isinstance(content, list):
        return text_of(content), block.get("is_error") is True
    entries = tables_of(content)
    texts = [
        text_of(e.get("result")) or text_of(e.get("text")) or text_of(e.get("error"))
        for e in entries
    ]
    failed = any(e.get("success") is False or e.get("error") for e in entries)
    return "\n".join(texts), failed or block.get("is_error") is True
