"""Cline CLI's sessions (checked with 3.0.65).

A session is a folder with a manifest and one JSON document of messages, which is always written as
a whole.

A turn begins with a ``user`` message that has text; results of tools are ``user`` messages, too.
The client puts a tag around the person's words, and named files into blocks of their own. Context
compactions go into another file and leave the messages unchanged. Sub-agents have documents in
their parent's folder and are not sessions.

**A turn is named by its message's id**, which stays the same in a resumed session and in a fork.
The client reports a failure in a message that is displayed but not sent. An interruption leaves
such a message, or nothing.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from memsearch_engine.agents.transcripts.model import (
    Session,
    Turn,
    WholeConversation,
    attached,
    document,
    input_text,
    is_servers_tool,
    json_file,
    set_result,
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
_LEFT = "disconnected before request was resolved"  # the client's text after the user ended it


def _read(path: Path) -> dict[str, Any]:
    """Return the document. Raises OSError if it cannot be read or is not valid."""
    try:
        return table_of(document(safe_files.read(path, _MAX)))
    except (ValueError, RecursionError) as error:
        raise OSError(errno.EINVAL, "not a whole document", str(path)) from error


def _cwd(path: Path) -> str:
    """Return the session's folder from its manifest, ``""`` if unknown."""
    manifest = path.parent / f"{path.parent.name}.json"
    return text_of(json_file(manifest, _MAX_MANIFEST).get("cwd"))


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else tables_of(content)


def _words(message: dict[str, Any]) -> str:
    """Return what the person typed, which is the first block of text; ``""`` for a tool's result.

    Named files follow in blocks of their own.
    """
    blocks = _blocks(message)
    if any(block.get("type") == "tool_result" for block in blocks):
        return ""
    opening = next(
        (text_of(block.get("text")) for block in blocks if block.get("type") == "text"), ""
    )
    typed = _TYPED.fullmatch(opening)
    words = typed[1] if typed else opening
    if command := _COMMAND.fullmatch(words):
        words = f"/{command[1]} {command[2]}"
    return words if words.strip() else attached(blocks)


def _input(given: Any) -> str:
    commands = given.get("commands") if isinstance(given, dict) else None
    lines = [
        _command(command) for command in (commands if isinstance(commands, list) else [commands])
    ]
    return "\n".join(lines) if commands and all(lines) else input_text(given)


def _command(given: Any) -> str:
    """Return a command as typed, ``""`` for anything else."""
    if isinstance(given, dict):
        words = given.get("args")
        return " ".join(
            [text_of(given.get("command")), *map(text_of, words if isinstance(words, list) else [])]
        ).strip()
    return text_of(given)


def _output(block: dict[str, Any]) -> tuple[str, bool]:
    """Return (output of a tool, whether it failed), for all its commands or files."""
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


class ClineConversation(WholeConversation):
    """A document of messages."""

    def _load(self) -> None:
        path = Path(self.where.path)
        found = _read(path)
        origin = table_of(found, "origin")
        self.session = text_of(found.get("sessionId")) or self.session
        self.parent = text_of(origin.get("parentThreadId"))
        self.version = text_of(origin.get("version"))
        self._read_turns(found.get("messages"), _cwd(path))

    def _sub_agents_read_outside(self, turn: Turn) -> bool:
        return self._children_read_outside

    @cached_property
    def _children_read_outside(self) -> bool:
        """Whether any sub-agent read outside content, or their documents can't be read."""
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
        for number, message in enumerate(messages if isinstance(messages, list) else []):
            if not isinstance(message, dict):
                continue
            at = stamp(message.get("ts"))
            if message.get("role") == "user" and (words := _words(message)):
                name = text_of(message.get("id")) or f"{self.session}-{number}"
                self._begin(name, at, words, cwd)
            elif self._turns:
                self._turns[-1].ended = at or self._turns[-1].ended
                self._add(self._turns[-1], message)

    def _add(self, turn: Turn, message: dict[str, Any]) -> None:
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
                call = self._use(block.get("id"), block.get("name"), _input(block.get("input")))
                turn.outside = turn.outside or ("__" in call.name and is_servers_tool(call.name))
            elif block.get("type") == "tool_result":
                set_result(self._tools, block.get("tool_use_id"), *_output(block))
        turn.say("\n".join(text for text in texts if text))
        is_answer = role == "assistant" and any(text.strip() for text in texts)
        turn.status = (
            "done" if is_answer and blocks[-1].get("type") != "tool_use" else "interrupted"
        )


class Reader(FileReader):
    """Reads the sessions of Cline."""

    agent = "cline"
    own_names = re.compile(".*" + re.escape(_ENDS), re.S)
    ends = ()
    conversation = ClineConversation
    patterns = ("{}/*" + _ENDS,)

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        """Yield the documents of sessions.

        Those of sub-agents have another name than their folder.
        """
        found = super().files(folder, session)
        return (file for file in found if file.name == f"{file.parent.name}{_ENDS}")

    def session_of(self, path: Path) -> str:
        """Return the id of the session in a file."""
        return path.name.removesuffix(_ENDS)
