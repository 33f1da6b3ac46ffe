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
import os
import re
from collections.abc import Iterator
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
    document,
    input_text,
    is_servers_tool,
    text_of,
)
from memsearch_engine.agents.transcripts.sqlite import stamp
from memsearch_engine.core import safe_files

KIND = "transcript"
_ENDS = ".messages.json"
_MAX = 256 * 1024 * 1024
_MAX_MANIFEST = 1024 * 1024
_TYPED = re.compile(
    r"\s*(?:<mode_notice>.*?</mode_notice>\s*)?<user_input\b[^>]*>(.*)</user_input>\s*", re.S
)
_COMMAND = re.compile(r'\s*<user_command slash="([\w-]+)">(.*)</user_command>\s*', re.S)
_LEFT = "disconnected before request was resolved"  # what it says where its user ended it


def sessions(folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
    """Every session below *folder* (``sessions``)."""
    for file in sorted(
        folder.glob(f"*/*{_ENDS}")
    ):  # by when they began, which their names say: a fork comes after its parent
        if file.name != f"{file.parent.name}{_ENDS}":  # a sub-agent's
            continue
        try:
            info = file.stat()
        except OSError:
            continue
        yield Session(AGENT.name, file.parent.name, str(file), KIND, info.st_mtime, info.st_size)


def locate(folder: Path, session: str) -> Session | None:
    if os.path.basename(session) != session or session in ("", ".", ".."):
        return None
    file = folder / session / f"{session}{_ENDS}"
    return at(file, session) if file.is_file() else None


def at(path: str | os.PathLike[str], session: str = "") -> Session | None:
    """The session in a document, None where it can't be one."""
    path = Path(path)
    if not path.name.endswith(_ENDS):
        return None
    return Session(AGENT.name, session or path.name.removesuffix(_ENDS), str(path), KIND)


def holds(name: str) -> bool | None:
    return name.endswith(_ENDS)


def wrote(line: dict[str, Any]) -> bool:
    return False


def open_session(where: Session, cache: Path | None = None) -> Conversation:
    return ClineConversation(where)


class ClineConversation(Conversation):
    agent = AGENT.name

    def __init__(self, where: Session) -> None:
        super().__init__(where)
        found = _read(Path(where.path))
        given = found.get("origin")
        origin = given if isinstance(given, dict) else {}
        self.session = text_of(found.get("sessionId")) or where.session
        self.parent = text_of(origin.get("parentThreadId"))
        self.version = text_of(origin.get("version"))
        self._turns = list(self._read_turns(found.get("messages"), _cwd(Path(where.path))))
        self.ids = [turn.turn for turn in self._turns]

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        found = self._turns[first:last]
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
                turns += ClineConversation(Session(self.agent, file.name, str(file), KIND)).turns()
            except OSError:
                return True
        return not turns or any(turn.outside for turn in turns)

    def _read_turns(self, messages: Any, cwd: str) -> Iterator[Turn]:
        turn: Turn | None = None
        tools: dict[str, ToolCall] = {}
        for number, message in enumerate(messages if isinstance(messages, list) else []):
            if not isinstance(message, dict):
                continue
            if message.get("role") == "user" and (words := _words(message)):
                if turn is not None:
                    yield turn
                at, tools = stamp(message.get("ts")), {}
                name = text_of(message.get("id")) or f"{self.session}-{number}"
                turn = Turn(
                    self.agent,
                    self.session,
                    name,
                    at,
                    at,
                    cwd,
                    words,
                    tools=[],
                    status="interrupted",
                )
            elif turn is not None:
                turn.ended = stamp(message.get("ts")) or turn.ended
                self._add(turn, tools, message)
        if turn is not None:
            yield turn

    def _add(self, turn: Turn, tools: dict[str, ToolCall], message: dict[str, Any]) -> None:
        blocks = _blocks(message)
        told = message.get("metadata")
        if isinstance(told, dict) and told.get("displayOnly"):
            reason = "\n".join(text_of(block.get("text")) for block in blocks)
            if _LEFT not in reason:
                turn.status = "failed"
                turn.say(reason)
            return
        role = message.get("role")
        if role not in ("user", "assistant"):
            self.unknown[str(role)[:40]] = self.unknown.get(str(role)[:40], 0) + 1
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
        found = document(safe_files.read(path, _MAX))
    except (ValueError, RecursionError) as error:
        raise OSError(errno.EINVAL, "not a whole document", str(path)) from error
    return found if isinstance(found, dict) else {}


def _cwd(path: Path) -> str:
    """The folder that a session was held in, from the manifest in its folder; '' where that can't
    be said.
    """
    try:
        found = document(safe_files.read(path.parent / f"{path.parent.name}.json", _MAX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return ""
    return text_of(found.get("cwd")) if isinstance(found, dict) else ""


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


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
    entries = [entry for entry in content if isinstance(entry, dict)]
    texts = [
        text_of(e.get("result")) or text_of(e.get("text")) or text_of(e.get("error"))
        for e in entries
    ]
    failed = any(e.get("success") is False or e.get("error") for e in entries)
    return "\n".join(texts), failed or block.get("is_error") is True
