"""Kimi Code's sessions: a folder each, with a file of events for every agent.

Checked with 2.1.0, protocol 1.5. The person's agent is ``main``.

A turn begins with a ``turn.prompt`` of the person; timers, sub-agents and goals have prompts, too.
The same words come again as a message and as ``agent.*`` events, which are copies and out of order.
A prompt that is typed while the agent works is a message in its turn. Lines are appended; files of
older protocols are written again when they are opened. ``context.undo`` takes back the last
``count`` turns, which stay in the file.

**A turn is named by its prompt's id**, which stays the same in a resumed session and in a fork. The
events name no folder; ``state.json`` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.jsonl import Scanner, WithSubAgents, turns_back
from memsearch_engine.agents.transcripts.model import (
    Session,
    ToolCall,
    Turn,
    blocks_text,
    input_text,
    json_file,
    set_result,
    table_of,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import decoded
from memsearch_engine.agents.transcripts.sqlite import stamp

_FILE, _MAIN = "wire.jsonl", "main"
_MAX_STATE = 1024 * 1024
#: The kinds of events: the part before the first dot.
_KNOWN = frozenset(
    "metadata turn context agent human runtime profile llm usage token_counting permission "
    "plugin mcp interaction prompt subagent full_compaction forked notify goal cron hook "
    "background_task task skill tools session interrupt".split()
)


class _Line(msgspec.Struct):
    """The fields that the reader needs, of any type because files are untrusted."""

    type: Any = None
    time: Any = None
    promptId: Any = None
    input: Any = None
    origin: Any = None
    message: Any = None
    event: Any = None
    reason: Any = None
    error: Any = None
    count: Any = None


_decode = msgspec.json.Decoder(_Line).decode


class _Scanner(Scanner):
    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        if text_of(line.type).partition(".")[0] not in _KNOWN:
            self.count(line.type)
        if line.type == "context.undo" and isinstance(line.count, int):
            self.after[""] = str(int(self.after.get("", 0)) + max(line.count, 0))
        if line.type != "turn.prompt" or not _words(line):
            return None
        if "" in self.after:
            self.after[_name(line)] = self.after.pop("")
        return _name(line), offset


def _name(line: _Line) -> str:
    return text_of(line.promptId) or stamp(line.time) or "unnamed"


def _words(line: _Line) -> str:
    """Return what the person typed to begin a turn, ``""`` if somebody else began it."""
    origin = table_of(line.origin)
    if origin.get("kind") == "skill_activation" and origin.get("trigger") == "user-slash":
        return (
            f"/skill:{text_of(origin.get('skillName'))} {text_of(origin.get('skillArgs'))}".strip()
        )
    # recorded in a sub-agent's own file
    is_task = origin.get("kind") == "system_trigger" and origin.get("name") == "subagent"
    if origin.get("kind") != "user" and not is_task:
        return ""
    text = blocks_text(line.input)
    return text if text.strip() else "[image]" if line.input else ""


def _typed_ahead(line: _Line) -> str:
    message = table_of(line.message) if line.type == "context.append_message" else {}
    origin = table_of(message, "origin")
    is_own = origin.get("kind") == "user" and origin.get("inTurn") is True
    return blocks_text(message.get("content")) if is_own else ""


def _parse(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    tools: dict[str, ToolCall] = {}
    is_own = False
    for line in decoded(lines, _decode):
        if line.type == "turn.prompt":
            words, at, tools = _words(line), stamp(line.time), {}
            is_own = bool(words)
            if is_own:
                turns.append(
                    Turn(
                        Reader.agent,
                        facts.get("session", ""),
                        _name(line),
                        at,
                        at,
                        user=words,
                        status="interrupted",
                    )
                )
        elif not turns or not is_own:
            continue
        elif typed := _typed_ahead(line):
            turns[-1].add_prompt(typed)
        elif line.type == "context.append_loop_event" and isinstance(line.event, dict):
            turns[-1].ended = stamp(line.time) or turns[-1].ended
            _step(turns[-1], tools, line.event)
        elif line.type == "turn.ended":
            _end(turns[-1], line)
    return turns


def _step(turn: Turn, tools: dict[str, ToolCall], event: dict[str, Any]) -> None:
    kind, part = event.get("type"), event.get("part")
    if kind == "content.part" and isinstance(part, dict) and part.get("type") == "text":
        turn.say(text_of(part.get("text")))
    elif kind == "tool.call":
        call = ToolCall(text_of(event.get("name")), input_text(event.get("args")))
        tools[text_of(event.get("toolCallId"))] = call
        turn.call(call)
    elif kind == "tool.result":
        result = table_of(event, "result")
        output, failed = blocks_text(result.get("output")), result.get("isError") is True
        set_result(tools, event.get("toolCallId"), output, failed)


def _end(turn: Turn, line: _Line) -> None:
    turn.ended = stamp(line.time) or turn.ended
    if line.reason == "completed":
        turn.status = "done"
    elif line.reason == "failed":
        turn.status = "failed"
        turn.say(text_of(line.error.get("message")) if isinstance(line.error, dict) else "refused")


class KimiConversation(WithSubAgents):
    """A session of Kimi Code."""

    scanner, parser = _Scanner, _parse

    def _follows(self, after: str, parents: list[int]) -> int:
        return turns_back(after, parents)

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        super().__init__(where, cache)
        folder = Path(where.path).parent
        self.parent = (
            self.session if Path(where.path).name == _FILE and folder.name != _MAIN else ""
        )

    def sub_agents(self) -> Iterable[Path]:
        """Return the files of the sub-agents of this session."""
        agents = Path(self.where.path).parent.parent
        return (
            [file for file in agents.glob(f"*/{_FILE}") if file.parent.name != _MAIN]
            if agents.name == "agents"
            else []
        )

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        found = super().turns(first, last)
        cwd = text_of(_state(Path(self.where.path)).get("cwd")) if found else ""
        for turn in found:
            turn.cwd, turn.session = cwd, self.session
        return found


def _state(file: Path) -> dict[str, Any]:
    """Return the client's record of a session, by its file of events; ``{}`` if unreadable."""
    return json_file(file.parent.parent.parent / "state.json", _MAX_STATE)


class Reader(FileReader):
    """Reads the sessions of Kimi Code."""

    agent = "kimi"
    own_names = re.compile(re.escape(_FILE))
    conversation = KimiConversation
    patterns = (f"*/{{}}/agents/{_MAIN}/{_FILE}",)

    def order(self, file: Path) -> tuple[bool, str]:
        """Return the sort key of a session's file."""
        state = _state(file)
        return "forkedFrom" in state, str(state.get("createdAt"))

    def session_of(self, path: Path) -> str:
        """Return the id of the session in a file."""
        return path.parents[2].name if path.name == _FILE and len(path.parents) > 2 else path.stem

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        return line.get("type") == "metadata" and "protocol_version" in line
