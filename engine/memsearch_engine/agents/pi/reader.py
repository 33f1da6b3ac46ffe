"""pi's sessions: JSON lines that form a tree by ``parentId``.

Checked with 0.74.2, 0.87.1 and 1.5.2.

A turn begins with a ``message`` of role ``user``. Lines are only appended: a context
compaction adds its summary and leaves earlier lines in place. So lines are read in their order.
After a rewind the next line names an earlier line as its ``parentId``, and the turns of the
abandoned branch are replaced by the new one. A prompt that was
typed while tools ran is a ``user`` line, too. It comes before the answer, and its time is before
the last tool ended. It belongs to the turn around it. A command that the person ran
with ``!`` (``bashExecution``) is a turn; pi writes it after the turn during which it was typed. A
command with ``!!``, which the model must not see, messages of extensions (``custom_message``) and
of the client (``system``) are not part of a turn. A killed process leaves no record of its end.

**A turn is named by the id and the time of its user line** (by the id alone if it is a UUID),
because an id of 32 bits is unique only in its file. A fork makes another file and copies both.
Its first line has its own folder, which may be another one, and the file it was copied from.
OpenClaw's older sessions have pi's format and are recognized by their version.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.jsonl import JsonlConversation, LinkedScanner
from memsearch_engine.agents.transcripts.model import (
    ToolCall,
    Turn,
    attached,
    blocks_of,
    blocks_text,
    fail_last,
    set_result,
    tables_of,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import decoded, first_record
from memsearch_engine.agents.transcripts.tags import count_unknown_tag

_VERSIONS = (1, 2, 3)
_KNOWN = frozenset(
    (
        "session message model_change thinking_level_change custom custom_message compaction "
        "branch_summary label session_info context_edit usage"
    ).split()
)
_KNOWN_ROLES = frozenset(
    (
        "system user assistant toolResult bashExecution custom hookMessage branchSummary "
        "compactionSummary"
    ).split()
)
_FILE = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_(.+)\.jsonl")
_SHORT = 16  # characters of an id that others may share
#: Text that the client puts before a prompt: a skill that was named, or files that were passed to
#: the program.
_SKILL = re.compile(r'<skill name="([^"\n]*)" location="[^"\n]*">\n.*?\n</skill>(?:\n\n)?', re.S)
_NAMED = re.compile(r'<file name="([^"\n]*)">(?:\n.*?\n)?</file>\n?', re.S)
_ADDED = "<memsearch-memory "  # added to a tool's answer as a separate block


class _Line(msgspec.Struct):
    """The fields that the reader needs, of any type because files are untrusted."""

    type: Any = None
    id: Any = None
    parentId: Any = None
    timestamp: Any = None
    message: Any = None
    version: Any = None
    cwd: Any = None
    parentSession: Any = None

    @property
    def fields(self) -> dict[str, Any]:
        return self.message if self.type == "message" and isinstance(self.message, dict) else {}

    @property
    def role(self) -> str:
        return text_of(self.fields.get("role"))


_decode = msgspec.json.Decoder(_Line).decode


class _Waiting:
    """Decides whether a ``user`` line was typed into a running turn."""

    def __init__(self) -> None:
        self._since = ""  # time at which the last tool ended, if nothing followed it

    def takes(self, line: _Line) -> bool:
        message = line.fields
        role = line.role
        if role == "toolResult":
            self._since = text_of(line.timestamp)
        elif role == "user" and self._since:
            return _seconds(message.get("timestamp")) <= _seconds(self._since)
        elif role in ("user", "assistant"):
            self._since = ""
        return False


def _seconds(stamp: object) -> float:
    """Return seconds since 1970 of milliseconds or ISO 8601; infinity for anything else."""
    try:
        if isinstance(stamp, int | float):
            return stamp / 1000
        return datetime.fromisoformat(text_of(stamp)).timestamp()
    except (ValueError, OverflowError, OSError):
        return float("inf")


class _Scanner(LinkedScanner):
    def __init__(self) -> None:
        super().__init__()
        self._waiting = _Waiting()

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        own = text_of(line.id)
        # the first version has no ids, and its lines follow one another
        parent = text_of(line.parentId) if own and line.type != "session" else None
        if line.type == "branch_summary":
            self.rewind(own, parent)
            return None
        return self.linked(self._turn(offset, line), own, parent)

    def _turn(self, offset: int, line: _Line) -> tuple[str, int] | None:
        if line.type == "session":
            self.facts.update(session=text_of(line.id), cwd=text_of(line.cwd))
            if parent := text_of(line.parentSession):
                self.facts.update(
                    forked=text_of(line.timestamp), copied_from=_folder(parent, line.cwd)
                )
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


def _folder(file: str, default: object) -> str:
    """Return the project's folder of the session in a file, or *default* if the file is gone."""
    with contextlib.suppress(OSError, msgspec.DecodeError, ValueError):
        return text_of(_decode(first_record(file)).cwd) or text_of(default)
    return text_of(default)


def _name(line: _Line) -> str:
    own = text_of(line.id)
    if len(own) > _SHORT:
        return own
    return (
        "-".join(part for part in (own, re.sub(r"\D", "", text_of(line.timestamp))) if part)
        or "unnamed"
    )


def _words(line: _Line) -> str:
    """Return what the person typed, ``""`` if the line is not the person's."""
    if line.role == "bashExecution" and not line.fields.get("excludeFromContext"):
        return f"!{command}" if (command := text_of(line.fields.get("command"))) else ""
    if line.role != "user":
        return ""
    content = line.fields.get("content")
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
        fields, stamp = line.fields, text_of(line.timestamp)
        role, is_typed_ahead = line.role, waiting.takes(line)
        if words := _words(line):
            if turns and is_typed_ahead:
                turns[-1].add_prompt(words)
                continue
            fail_last(turns, refusal)
            refusal, tools = "", {}
            turns.append(
                Turn(
                    Reader.agent,
                    facts.get("session", ""),
                    _name(line),
                    stamp,
                    stamp,
                    facts.get("copied_from" if stamp < facts.get("forked", "") else "cwd", ""),
                    words,
                    status="interrupted",
                )
            )
            if role == "bashExecution":
                _ran(turns[-1], fields)
        elif turns and role == "assistant":
            turns[-1].ended = stamp or turns[-1].ended
            refusal = _answer(turns[-1], tools, fields)
        elif turns and role == "toolResult":
            turns[-1].ended = stamp or turns[-1].ended
            output = _output(fields.get("content"))
            set_result(tools, fields.get("toolCallId"), output, fields.get("isError") is True)
    fail_last(turns, refusal)
    return turns


def _ran(turn: Turn, fields: dict[str, Any]) -> None:
    """Add the command that a turn of the person's own consists of."""
    output, command = text_of(fields.get("output")), text_of(fields.get("command"))
    turn.call(ToolCall("bash", command, output, fields.get("exitCode") not in (0, None)))
    turn.status = "interrupted" if fields.get("cancelled") is True else "done"


def _answer(turn: Turn, tools: dict[str, ToolCall], reply: dict[str, Any]) -> str:
    """Add a message of the model to its turn.

    Return why the model refused, ``""`` if it did not.
    """
    has_text, content = False, reply.get("content")
    for block in blocks_of(content):
        if block.get("type") == "toolCall":
            tools[text_of(block.get("id"))] = turn.use(block.get("name"), block.get("arguments"))
            has_text = False
        elif block.get("type") == "text" and text_of(block.get("text")).strip():
            turn.say(text_of(block["text"]))
            has_text = True
    ended = reply.get("stopReason")
    turn.status = (
        "done" if has_text and ended not in ("toolUse", "aborted", "error") else "interrupted"
    )
    return text_of(reply.get("errorMessage")) or "refused" if ended == "error" else ""


def _output(content: object) -> str:
    """Return the output of a tool, without additions of our extension."""
    blocks = tables_of(content)
    own = [block for block in blocks if not text_of(block.get("text")).startswith(_ADDED)]
    return blocks_text(own) if blocks else text_of(content)


class PiConversation(JsonlConversation):
    """A session file of pi."""

    scanner, parser = _Scanner, _parse
    line_id = "id"


class Reader(FileReader):
    """Reads the sessions of pi."""

    agent = "pi"
    compaction_mark = b'"type":"compaction"'
    own_names = _FILE
    patterns = ("sessions/*/*_{}.jsonl", "*_{}.jsonl")
    parts = ""
    conversation = PiConversation

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        """Return the files that may hold a session, or all sessions if none is named."""
        named = ((file, _FILE.fullmatch(file.name)) for file in super().files(folder, session))
        return (file for file, match in named if match and session in ("", match[1]))

    def order(self, file: Path) -> str:
        """Return the file's name, which contains the time at which its session began.

        Of two sessions with the same id, the newer one is used.
        """
        return file.name

    def session_of(self, path: Path) -> str:
        """Return the id of the session in a file."""
        if named := _FILE.fullmatch(path.name):
            return named[1]
        return text_of(next(decoded([first_record(path)], _decode), _Line()).id) or path.stem

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        is_known = line.get("version", 1) in _VERSIONS
        return line.get("type") == "session" and is_known and "cwd" in line

    def compaction_summary(self, line: dict[str, Any]) -> str | None:
        """Return the summary of a context compaction in a line, or None."""
        text = line.get("summary") if line.get("type") == "compaction" else None
        return text if isinstance(text, str) else None
