"""pi's sessions: JSON lines, a tree by ``parentId`` (formats of 0.74.2, 0.87.1 and 1.5.2 were
seen).

A turn begins with a ``message`` of role ``user``. Lines are only ever added: a rewind goes on from
an earlier line, a compaction adds its summary, and both leave what was said where it is, so lines
are read in their order, and a branch that was left counts like any other. What was typed while
tools ran is a ``user`` line, too, which comes before the answer and says that it was typed before
the last tool had ended; it belongs to the turn it stands in. What extensions say
(``custom_message``), what the client says (``system``) and commands that the person ran
(``bashExecution``) are no part of a turn. A process that is killed leaves no word of it.

**A turn is named by the id of its user line and the time in it** (by a UUID alone, which some lines
have): an id of 32 bits is unique in its file only. Both are copied when a session is forked, which
makes another file. OpenClaw's older sessions, which are pi's, are told apart by their version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.pi import AGENT
from memsearch_engine.agents.transcripts.jsonl import JsonlConversation, Scanner
from memsearch_engine.agents.transcripts.model import (
    Conversation,
    Session,
    ToolCall,
    Turn,
    attached,
    blocks_text,
    count_unknown_tag,
    input_text,
    tables_of,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import decoded, first_record

_VERSIONS = (1, 2, 3)
_KNOWN = frozenset(
    "session message model_change thinking_level_change custom custom_message compaction branch_summary label session_info context_edit usage".split()
)
_KNOWN_ROLES = frozenset(
    "system user assistant toolResult bashExecution custom hookMessage branchSummary compactionSummary".split()
)
_FILE = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_(.+)\.jsonl")
_SHORT = 16  # characters of an id that others may have, too
#: What the client puts before the words of a prompt: a skill whose name was typed, files that were
#: named to the program.
_SKILL = re.compile(r'<skill name="([^"\n]*)" location="[^"\n]*">\n.*?\n</skill>(?:\n\n)?', re.S)
_NAMED = re.compile(r'<file name="([^"\n]*)">(?:\n.*?\n)?</file>\n?', re.S)
_ADDED = "<memsearch-memory "  # to a tool's answer, a block of its own


class _Line(msgspec.Struct):
    """The fields that matter; of any type, since a file is not ours to trust."""

    type: Any = None
    id: Any = None
    timestamp: Any = None
    message: Any = None
    version: Any = None
    cwd: Any = None

    @property
    def said(self) -> dict[str, Any]:
        return self.message if self.type == "message" and isinstance(self.message, dict) else {}

    @property
    def role(self) -> str:
        return text_of(self.said.get("role"))


_decode = msgspec.json.Decoder(_Line).decode


class Reader(FileReader):
    agent = AGENT.name
    own_names = _FILE
    patterns = ("sessions/*/*_{}.jsonl", "*_{}.jsonl")

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        named = ((file, _FILE.fullmatch(file.name)) for file in super().files(folder, session))
        return (file for file, match in named if match and session in ("", match[1]))

    def order(self, file: Path) -> str:
        """The name of a file says when its session began; of two that are called the same, the newer
        one is meant.
        """
        return file.name

    def session_of(self, path: Path) -> str:
        if named := _FILE.fullmatch(path.name):
            return named[1]
        return text_of(next(decoded([first_record(path)], _decode), _Line()).id) or path.stem

    def wrote(self, line: dict[str, Any]) -> bool:
        is_known = line.get("version", 1) in _VERSIONS
        return line.get("type") == "session" and is_known and "cwd" in line

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        return JsonlConversation(where, _Scanner, _parse, cache)


class _Waiting:
    """Whether the words of a ``user`` line were typed into a turn that goes on."""

    def __init__(self) -> None:
        self._since = ""  # when the last tool had ended, while nothing else was said

    def takes(self, line: _Line) -> bool:
        said = line.said
        role = line.role
        if role == "toolResult":
            self._since = text_of(line.timestamp)
        elif role == "user" and self._since:
            return _seconds(said.get("timestamp")) <= _seconds(self._since)
        elif role in ("user", "assistant"):
            self._since = ""
        return False


def _seconds(stamp: object) -> float:
    """Seconds since 1970, of milliseconds or of ISO 8601; infinite for anything else, as is later
    than all.
    """
    try:
        if isinstance(stamp, int | float):
            return stamp / 1000
        return datetime.fromisoformat(text_of(stamp)).timestamp()
    except (ValueError, OverflowError, OSError):
        return float("inf")


class _Scanner(Scanner):
    def __init__(self) -> None:
        super().__init__()
        self._waiting = _Waiting()

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        if line.type == "session":
            self.facts.update(session=text_of(line.id), cwd=text_of(line.cwd))
        role = line.role
        if (
            not isinstance(line.type, str)
            or line.type not in _KNOWN
            or (role and role not in _KNOWN_ROLES)
        ):
            self.count(f"message/{role}" if role else line.type)
            return None
        if self._waiting.takes(line) or not (words := _words(line)):
            return None
        count_unknown_tag(self.unknown, words)
        name = _name(line)
        if own := text_of(line.id):
            self.aliases[own] = name
        return name, offset


def _name(line: _Line) -> str:
    own = text_of(line.id)
    if len(own) > _SHORT:
        return own
    return (
        "-".join(part for part in (own, re.sub(r"\D", "", text_of(line.timestamp))) if part)
        or "unnamed"
    )


def _words(line: _Line) -> str:
    """What the person typed; '' where the line is none of his."""
    if line.role != "user":
        return ""
    content = line.said.get("content")
    text = blocks_text(content)
    if skill := _SKILL.match(text):
        return f"/skill:{skill[1]} {text[skill.end() :]}".strip()
    names = []
    while named := _NAMED.match(text):
        names.append(f"@{named[1]}")
        text = text[named.end() :]
    if text.strip() or names:
        return text if text.strip() else " ".join(names)
    return attached(content)


def _parse(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    tools: dict[str, ToolCall] = {}
    refusal = ""
    waiting = _Waiting()
    for line in decoded(lines, _decode):
        said, stamp = line.said, text_of(line.timestamp)
        role, is_typed_ahead = line.role, waiting.takes(line)
        if words := _words(line):
            if turns and is_typed_ahead:
                turns[-1].user = f"{turns[-1].user}\n\n{words}"
                continue
            _refused(turns, refusal)
            refusal, tools = "", {}
            turns.append(
                Turn(
                    AGENT.name,
                    facts.get("session", ""),
                    _name(line),
                    stamp,
                    stamp,
                    facts.get("cwd", ""),
                    words,
                    status="interrupted",
                )
            )
        elif turns and role == "assistant":
            turns[-1].ended = stamp or turns[-1].ended
            refusal = _answer(turns[-1], tools, said)
        elif turns and role == "toolResult":
            turns[-1].ended = stamp or turns[-1].ended
            call = tools.get(text_of(said.get("toolCallId")))
            if call is not None:
                call.output, call.failed = _output(said.get("content")), said.get("isError") is True
    _refused(turns, refusal)
    return turns


def _answer(turn: Turn, tools: dict[str, ToolCall], said: dict[str, Any]) -> str:
    """Take a message of the model's into its turn. Returns why the model refused, '' where it did
    not.
    """
    is_said, content = False, said.get("content")
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "toolCall":
            call = ToolCall(text_of(block.get("name")), input_text(block.get("arguments")))
            tools[text_of(block.get("id"))] = call
            turn.call(call)
            is_said = False
        elif block.get("type") == "text" and text_of(block.get("text")).strip():
            turn.say(text_of(block["text"]))
            is_said = True
    ended = said.get("stopReason")
    turn.status = (
        "done" if is_said and ended not in ("toolUse", "aborted", "error") else "interrupted"
    )
    return text_of(said.get("errorMessage")) or "refused" if ended == "error" else ""


def _refused(turns: list[Turn], refusal: str) -> None:
    """Say how the last turn ended, where its model refused."""
    if turns:
        turns[-1].fail(refusal)


def _output(content: object) -> str:
    """What a tool gave, without what extensions of ours added."""
    blocks = tables_of(content)
    own = [block for block in blocks if not text_of(block.get("text")).startswith(_ADDED)]
    return blocks_text(own) if blocks else text_of(content)
