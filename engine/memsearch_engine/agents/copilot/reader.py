"""Copilot CLI's sessions: a folder each, with ``events.jsonl`` (checked with 1.0.102).

A turn begins with a ``user.message`` of the person, or with a command that the person ran with
``!`` (``tool.user_requested``). Notifications and reports of sub-agents name their source. Lines
are appended when a session is resumed or compacted. A rewind writes the file again without the
turns that were taken back. What is sent while the agent works belongs to the turn around it:
messages (``steering``) and commands. Lines of sub-agents stand between the others, each with the
name of its agent. Context from hooks is in lines of their own, in the text for the model
(``transformedContent``, which is not read) and after the results of tools.

**A turn is named by its message's id**, or by the id of the command's call. It stays the same after
a resumption, a rewind and a fork. An interrupted turn ends with ``abort``, a refused one with
``session.error``. A killed process leaves neither.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.jsonl import JsonlConversation, Scanner
from memsearch_engine.agents.transcripts.model import (
    ToolCall,
    Turn,
    brings_outside,
    fail_last,
    input_text,
    table_of,
    tables_of,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import decoded, first_record
from memsearch_engine.agents.transcripts.tags import count_unknown_tag, split_after_last

_FILE = "events.jsonl"
#: The kinds of events: the part before the first dot.
_KNOWN = frozenset(
    (
        "session user assistant tool hook skill subagent system model abort permission "
        "external_tool elicitation command commands exit_plan_mode mcp user_input sampling "
        "pending_messages auto_mode_switch capabilities"
    ).split()
)
#: After these events the agent no longer works.
_ENDS = ("assistant.turn_end", "abort", "session.error", "session.resume", "session.shutdown")
#: Text that the client adds after a command's output, and that we add after a tool's result.
_SHELL = re.compile(r"\n?<shellId: \d+ completed with exit code -?\d+>\s*\Z")
_ADDED = re.compile(r"<memsearch-memory .*?</memsearch-memory>\s*", re.S)
_GUIDANCE = re.compile(
    r'\n\nTool "[^"\n]*" (?:succeeded|failed)\. Additional guidance from [^\n]*:\s*\Z'
)


class _Line(msgspec.Struct):
    """The fields that the reader needs, of any type because files are untrusted."""

    type: Any = None
    timestamp: Any = None
    agentId: Any = None
    data: Any = None

    def get(self, name: str) -> Any:
        return self.data.get(name) if isinstance(self.data, dict) else None


_decode = msgspec.json.Decoder(_Line).decode


def _header(path: Path) -> _Line:
    return next(decoded([first_record(path)], _decode), _Line())


class _Work:
    """Decides whether the person's words begin a turn, or belong to one that the agent works on."""

    def __init__(self) -> None:
        self._is_on = False

    def begins(self, line: _Line) -> bool:
        """Take the next line. Return whether it begins a turn."""
        begins = _is_own(line) and line.get("delivery") != "steering"
        if line.type == "tool.user_requested":
            return begins and not self._is_on
        if line.agentId is None:
            is_on = begins or line.type == "assistant.turn_start"
            self._is_on = is_on or (self._is_on and line.type not in _ENDS)
        return begins


class _Scanner(Scanner):
    def __init__(self) -> None:
        super().__init__()
        self._work = _Work()

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        kind = text_of(line.type)
        if kind.partition(".")[0] not in _KNOWN:
            self.count(line.type)
        if kind == "session.start":
            context = table_of(line.get("context"))
            self.facts.update(
                session=text_of(line.get("sessionId")),
                version=text_of(line.get("copilotVersion")),
                cwd=text_of(context.get("cwd")),
                branch=text_of(context.get("branch")),
            )
        if not self._work.begins(line):
            return None
        count_unknown_tag(self.unknown, _words(line))
        return _name(line), offset


def _is_own(line: _Line) -> bool:
    """Return whether the person sent it."""
    return (
        line.type in ("user.message", "tool.user_requested")
        and line.agentId is None
        and not line.get("source")
        and bool(_words(line).strip())
    )


def _words(line: _Line) -> str:
    """Return what the person typed, or the names of the attachments if there are no words."""
    if line.type == "tool.user_requested":
        return f"!{command}" if (command := input_text(line.get("arguments"))) else ""
    if (text := text_of(line.get("content"))).strip():
        return text
    attached = tables_of(line.get("attachments"))
    return " ".join(text_of(one.get("displayName")) or "[attachment]" for one in attached)


def _name(line: _Line) -> str:
    names = (line.get("messageId"), line.get("toolCallId"), line.timestamp, "unnamed")
    return next(filter(None, map(text_of, names)))


def _parse(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    tools: dict[str, ToolCall] = {}
    refusal, work = "", _Work()
    for line in decoded(lines, _decode):
        stamp = text_of(line.timestamp)
        if work.begins(line):
            fail_last(turns, refusal)
            refusal, tools = "", {}
            turns.append(
                Turn(
                    Reader.agent,
                    facts.get("session", ""),
                    _name(line),
                    stamp,
                    stamp,
                    facts.get("cwd", ""),
                    _words(line),
                    status="interrupted",
                    branch=facts.get("branch", ""),
                )
            )
            _run(turns[-1], tools, line)
        elif not turns:
            continue
        elif line.type == "tool.execution_start":  # also of a sub-agent
            turns[-1].outside = turns[-1].outside or _brings_outside(line)
        elif line.agentId is not None:
            continue
        elif _is_own(line):
            turns[-1].add_prompt(_words(line))
            _run(turns[-1], tools, line)
        elif line.type == "assistant.message":
            turns[-1].ended = stamp or turns[-1].ended
            _answer(turns[-1], tools, line)
            refusal = ""
        elif line.type == "tool.execution_complete":
            turns[-1].ended = stamp or turns[-1].ended
            _result(tools, line)
            if turns[-1].turn == line.get("toolCallId"):
                turns[-1].status = "done"
        elif line.type == "session.error":
            refusal = text_of(line.get("message")) or "refused"
        elif line.type == "abort":
            turns[-1].status = "interrupted"
    fail_last(turns, refusal)
    return turns


def _brings_outside(line: _Line) -> bool:
    """Return whether a tool takes in content from outside.

    Tools of servers have arbitrary names.
    """
    server = text_of(line.get("mcpServerName"))
    if server:
        return server != "memsearch"
    return brings_outside(text_of(line.get("toolName")), input_text(line.get("arguments")))


def _answer(turn: Turn, tools: dict[str, ToolCall], line: _Line) -> None:
    turn.answer(text_of(line.get("content")))
    for request in tables_of(line.get("toolRequests")):
        call = turn.use(request.get("name"), request.get("arguments"))
        tools[text_of(request.get("toolCallId"))] = call


def _run(turn: Turn, tools: dict[str, ToolCall], line: _Line) -> None:
    """Add the command if the person ran one."""
    if line.type == "tool.user_requested":
        call = ToolCall(text_of(line.get("toolName")), input_text(line.get("arguments")))
        turn.call(call)
        tools[text_of(line.get("toolCallId"))] = call


def _result(tools: dict[str, ToolCall], line: _Line) -> None:
    call = tools.get(text_of(line.get("toolCallId")))
    if call is None:
        return
    result, error, shell = line.get("result"), line.get("error"), line.get("shellExecution")
    if isinstance(result, dict):
        answered = text_of(result.get("detailedContent")) or text_of(result.get("content"))
        closed, rest = split_after_last(answered, "</memsearch-memory>")
        answered = _ADDED.sub("", closed) + (rest.lstrip() if closed else rest)
        call.output = _SHELL.sub("", _GUIDANCE.sub("", answered))
    elif isinstance(error, dict):
        call.output = text_of(error.get("message"))
    call.failed = line.get("success") is False or (
        isinstance(shell, dict) and shell.get("exitCode") not in (0, None)
    )


class CopilotConversation(JsonlConversation):
    """A session of Copilot CLI."""

    scanner, parser = _Scanner, _parse


class Reader(FileReader):
    """Reads the sessions of Copilot CLI."""

    agent = "copilot"
    compaction_mark = b'"type":"session.compaction_complete"'
    patterns = ("{}/" + _FILE, "{}.jsonl")  # in 2025 a session was a file
    older = ("history-session-state/*.json",)
    conversation = CopilotConversation

    def order(self, file: Path) -> tuple[str, str]:
        """Return the sort key of a session's file."""
        with contextlib.suppress(OSError):
            return text_of(_header(file).get("startTime")), str(file)
        return "", str(file)

    def session_of(self, path: Path) -> str:
        """Return the id of the session in a file."""
        name = text_of(_header(path).get("sessionId"))
        return name or (path.parent.name if path.name == _FILE else path.stem)

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        is_event = "." in text_of(line.get("type")) and isinstance(line.get("data"), dict)
        return is_event and "parentId" in line

    def compaction_summary(self, line: dict[str, Any]) -> str | None:
        """Return the summary of a context compaction in a line, or None."""
        data = table_of(line.get("data"))
        text = data.get("summaryContent")
        is_done = line.get("type") == "session.compaction_complete" and data.get("success") is True
        return text if is_done and isinstance(text, str) else None
