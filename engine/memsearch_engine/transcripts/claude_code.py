"""Claude Code's sessions: JSONL, one line per content block (2.1.197 to 2.1.330 were seen).

A turn begins with a user line that a person or a program typed: it has a ``promptSource`` other than ``system`` (or,
in files older than that field, plain text). Tool results, compaction summaries, local commands, hook context and
notifications are user lines too, and belong to the turn they stand in. A fork copies lines with their ``promptId``, so a
copied turn is the same turn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from memsearch_engine.transcripts.model import ToolCall, Transcript, Turn

AGENT = "claude-code"
_KNOWN = frozenset(
    [
        "user",
        "assistant",
        "system",
        "attachment",
        "queue-operation",
        "last-prompt",
        "atis-latch",
        "mode",
        "cost-state",
        "tools-used",
        "api-request-shape",
        "api-request-blob",
        "api-request",
        "summary",
        "file-history-snapshot",
        "custom-title",
        "agent-name",
    ]
)
_MACHINE = re.compile(
    r"\s*<(?:command-name|command-message|local-command|bash-input|bash-stdout|bash-stderr|task-notification|system-reminder)"
)
_INTERRUPTED = "[Request interrupted by user"
_OUTSIDE_TOOLS = ("WebFetch", "WebSearch", "mcp__")
_MAX_LINE = 64 * 1024 * 1024


def read(path: str | os.PathLike[str]) -> Transcript:
    """All turns of a session file. A half-written last line is left for the next reading. Raises OSError."""
    transcript = Transcript([], {})
    turn: Turn | None = None
    tools: dict[str, ToolCall] = {}
    for line in _lines(path, transcript.unknown):
        kind = line.get("type")
        if kind not in _KNOWN:
            name = str(kind)[:40]
            transcript.unknown[name] = transcript.unknown.get(name, 0) + 1
        if line.get("isSidechain") or kind not in ("user", "assistant"):
            continue
        message = line.get("message")
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        stamp = _text(line.get("timestamp"))
        if kind == "user" and (prompt := _prompt(line, content)) is not None:
            turn = Turn(
                agent=AGENT,
                session=_text(line.get("sessionId")),
                turn=_text(line.get("promptId")) or _text(line.get("uuid")),
                started=stamp,
                ended=stamp,
                cwd=_text(line.get("cwd")),
                user=prompt,
                tools=[],
                status="interrupted",
            )
            tools = {}
            transcript.turns.append(turn)
        elif turn is None:
            continue
        elif kind == "user":
            turn.ended = stamp or turn.ended
            _results(turn, tools, content)
        elif line.get("isApiErrorMessage"):
            turn.status, turn.ended = "failed", stamp or turn.ended
            turn.assistant = _join(turn.assistant, _blocks_text(content))
        else:
            turn.ended = stamp or turn.ended
            _answer(turn, tools, content)
    return transcript


def _lines(path: str | os.PathLike[str], unknown: dict[str, int]) -> Iterator[dict[str, Any]]:
    decode = msgspec.json.Decoder().decode
    with open(path, "rb") as file:
        while raw := file.readline(_MAX_LINE):
            if not raw.endswith(b"\n") and not raw.rstrip().endswith(b"}"):
                return  # the agent is writing this line
            try:
                line = decode(raw)
            except (msgspec.DecodeError, RecursionError):
                unknown["(not JSON)"] = unknown.get("(not JSON)", 0) + 1
                continue
            if isinstance(line, dict):
                yield line


def _prompt(line: dict[str, Any], content: Any) -> str | None:
    """The text of a real request, or None for every other user line."""
    if line.get("isMeta") or line.get("isCompactSummary") or "toolUseResult" in line:
        return None
    if line.get("promptSource") == "system" or line.get("turnOrigin") == "task_notification":
        return None
    if isinstance(content, list):
        if any(isinstance(block, dict) and block.get("type") == "tool_result" for block in content):
            return None
        text = _blocks_text(content)
    else:
        text = _text(content)
    if not text.strip() or _MACHINE.match(text) or text.startswith(_INTERRUPTED):
        return None
    return text


def _answer(turn: Turn, tools: dict[str, ToolCall], content: Any) -> None:
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text" and _text(block.get("text")).strip():
            turn.assistant = _join(turn.assistant, _text(block.get("text")))
            turn.status = "done"
        elif block.get("type") == "tool_use":
            call = ToolCall(_text(block.get("name")), _input(block.get("input")))
            tools[_text(block.get("id"))] = call
            turn.tools.append(call)
            turn.outside = turn.outside or call.name.startswith(_OUTSIDE_TOOLS)


def _results(turn: Turn, tools: dict[str, ToolCall], content: Any) -> None:
    if isinstance(content, str) and content.startswith(_INTERRUPTED):
        turn.status = "interrupted"
        return
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result":
            call = tools.get(_text(block.get("tool_use_id")))
            if call is not None:
                result = block.get("content")
                call.output = _blocks_text(result) if isinstance(result, list) else _text(result)
                call.failed = bool(block.get("is_error"))
        elif _text(block.get("text")).startswith(_INTERRUPTED):
            turn.status = "interrupted"


def _input(value: Any) -> str:
    """A tool's input as text: the command of a shell, else its JSON."""
    if isinstance(value, dict) and isinstance(value.get("command"), str):
        return value["command"]
    return msgspec.json.encode(value).decode("utf-8", "replace") if value is not None else ""


def _blocks_text(content: Any) -> str:
    if not isinstance(content, list):
        return _text(content)
    texts = [_text(block.get("text")) for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if text)


def _join(before: str, more: str) -> str:
    return f"{before}\n\n{more}" if before else more


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
