"""Kimi Code's sessions: a folder each, in it a file of events for every agent; the person's is
``main`` (2.1.0, protocol 1.5 was seen).

A turn begins with a ``turn.prompt`` that is the person's own; timers, sub-agents and goals have
prompts, too. The same words come again as a message and as ``agent.*`` events, which are copies and
out of order. What was typed while the agent worked is a message in its turn. Lines are added (files
of older protocols are written anew when they are opened); what was taken back with ``/undo`` was
said all the same.

**A turn is named by its prompt's id**, which a resumption and a fork keep. The events name no
folder; that stands in ``state.json``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.kimi import AGENT
from memsearch_engine.agents.transcripts.jsonl import WithSubAgents
from memsearch_engine.agents.transcripts.model import (
    Conversation,
    Session,
    ToolCall,
    Turn,
    blocks_text,
    document,
    input_text,
    text_of,
)
from memsearch_engine.agents.transcripts.sqlite import stamp
from memsearch_engine.core import safe_files

KIND = "transcript"
_FILE, _MAIN = "wire.jsonl", "main"
_MAX_STATE = 1024 * 1024
#: The kinds of events, by what stands before the first dot.
_KNOWN = frozenset(
    "metadata turn context agent human runtime profile llm usage token_counting permission plugin mcp interaction prompt subagent "
    "full_compaction forked notify goal cron hook background_task task skill tools session interrupt".split()
)


class _Line(msgspec.Struct):
    """The fields that matter; of any type, since a file is not ours to trust."""

    type: Any = None
    time: Any = None
    promptId: Any = None
    input: Any = None
    origin: Any = None
    message: Any = None
    event: Any = None
    reason: Any = None
    error: Any = None
    protocol_version: Any = None


_decode = msgspec.json.Decoder(_Line).decode


def sessions(folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
    """Every session below *folder* (``sessions``)."""
    files = {file: _state(file) for file in folder.glob(f"*/session_*/agents/{_MAIN}/{_FILE}")}
    for file in sorted(
        files, key=lambda file: ("forkedFrom" in files[file], str(files[file].get("createdAt")))
    ):  # parents before forks
        try:
            info = file.stat()
        except OSError:
            continue
        yield Session(
            AGENT.name, file.parents[2].name, str(file), KIND, info.st_mtime, info.st_size
        )


def locate(folder: Path, session: str) -> Session | None:
    if os.path.basename(session) != session or not session.startswith("session_"):
        return None
    found = (
        sorted(folder.glob(f"*/{session}/agents/{_MAIN}/{_FILE}"))
        if session.replace("_", "").replace("-", "").isalnum()
        else []
    )
    return at(found[0], session) if found else None


def at(path: str | os.PathLike[str], session: str = "") -> Session | None:
    """The session in a file, None where it can't be one."""
    path = Path(path)
    if path.suffix != ".jsonl":
        return None
    return Session(AGENT.name, session or _session(path), str(path), KIND)


def _session(path: Path) -> str:
    return path.parents[2].name if path.name == _FILE and len(path.parents) > 2 else path.stem


def holds(name: str) -> bool | None:
    return True if name == _FILE else None if name.endswith(".jsonl") else False


def wrote(line: dict[str, Any]) -> bool:
    return line.get("type") == "metadata" and "protocol_version" in line


def open_session(where: Session, cache: Path | None = None) -> Conversation:
    return KimiConversation(where, cache)


class _Scanner:
    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.unknown: dict[str, int] = {}
        self.aliases: dict[str, str] = {}
        self.after: dict[str, str] = {}

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        if text_of(line.type).partition(".")[0] not in _KNOWN:
            self.unknown[str(line.type)[:40]] = self.unknown.get(str(line.type)[:40], 0) + 1
        return (_name(line), offset) if line.type == "turn.prompt" and _words(line) else None


def _name(line: _Line) -> str:
    return text_of(line.promptId) or stamp(line.time) or "unnamed"


def _words(line: _Line) -> str:
    """What the person typed to begin a turn; '' where somebody else did."""
    origin = line.origin if isinstance(line.origin, dict) else {}
    if origin.get("kind") == "skill_activation" and origin.get("trigger") == "user-slash":
        return (
            f"/skill:{text_of(origin.get('skillName'))} {text_of(origin.get('skillArgs'))}".strip()
        )
    is_task = (
        origin.get("kind") == "system_trigger" and origin.get("name") == "subagent"
    )  # stands in a sub-agent's own file
    if origin.get("kind") != "user" and not is_task:
        return ""
    text = blocks_text(line.input)
    return text if text.strip() else "[image]" if line.input else ""


def _typed_ahead(line: _Line) -> str:
    message = (
        line.message
        if line.type == "context.append_message" and isinstance(line.message, dict)
        else {}
    )
    origin = message.get("origin")
    is_own = (
        isinstance(origin, dict) and origin.get("kind") == "user" and origin.get("inTurn") is True
    )
    return blocks_text(message.get("content")) if is_own else ""


def _parse(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    tools: dict[str, ToolCall] = {}
    is_own = False
    for raw in lines:
        try:
            line = _decode(raw)
        except (msgspec.DecodeError, RecursionError):
            continue
        if line.type == "turn.prompt":
            words, at, tools = _words(line), stamp(line.time), {}
            is_own = bool(words)
            if is_own:
                turns.append(
                    Turn(
                        AGENT.name,
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
            turns[-1].user = f"{turns[-1].user}\n\n{typed}"
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
    elif kind == "tool.result" and (done := tools.get(text_of(event.get("toolCallId")))):
        result = event.get("result")
        if isinstance(result, dict):
            done.output, done.failed = (
                blocks_text(result.get("output")),
                result.get("isError") is True,
            )


def _end(turn: Turn, line: _Line) -> None:
    turn.ended = stamp(line.time) or turn.ended
    if line.reason == "completed":
        turn.status = "done"
    elif line.reason == "failed":
        turn.status = "failed"
        turn.say(text_of(line.error.get("message")) if isinstance(line.error, dict) else "refused")


class KimiConversation(WithSubAgents):
    agent, scanner, parser = AGENT.name, _Scanner, _parse

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        super().__init__(where, cache)
        folder = Path(where.path).parent
        self.parent = (
            self.session if Path(where.path).name == _FILE and folder.name != _MAIN else ""
        )

    def sub_agents(self) -> Iterable[Path]:
        agents = Path(self.where.path).parent.parent
        return (
            [file for file in agents.glob(f"*/{_FILE}") if file.parent.name != _MAIN]
            if agents.name == "agents"
            else []
        )

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        found = super().turns(first, last)
        cwd = self._cwd() if found else ""
        for turn in found:
            turn.cwd, turn.session = cwd, self.session
        return found

    def _cwd(self) -> str:
        """The folder that the session was held in."""
        return text_of(_state(Path(self.where.path)).get("cwd"))


def _state(file: Path) -> dict[str, Any]:
    """What the client keeps of a session, by the file of its events; {} where that can't be read."""
    try:
        state = document(safe_files.read(file.parents[2] / "state.json", _MAX_STATE))
    except (OSError, ValueError, RecursionError, IndexError):
        return {}
    return state if isinstance(state, dict) else {}
