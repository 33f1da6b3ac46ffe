"""Qwen Code's sessions: JSON lines, one per message, which form a tree by ``parentUuid``.

Checked with 0.15.10 and 0.24.4.

A turn begins with a ``user`` line of the person: it has no ``subtype``, and since 0.24 the
``provenance`` ``real_user``. Reports of sub-agents, timers and goals are ``user`` lines with a
``subtype`` and belong to the turn around them, and so do prompts that were typed while tools ran.
The person's words are the first part of the line. Additions of hooks and the files that the prompt
names are further parts.

**A turn is named by the uuid of its user line.** A resumed session continues in the same file. A
fork copies the line with its uuid. A rewind leaves the line in place, and its record names the line
after which the next prompt continues. The ``prompt_id`` that hooks get is in a turn's measurements
(``ui_telemetry``); it is an alias of the last turn with it. Sub-agents have files of their own
beside ``chats`` and are not sessions. A process that ends in the middle leaves the answer so far,
without its token counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path, PureWindowsPath
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.jsonl import LinkedLine, LinkedScanner, WithSubAgents
from memsearch_engine.agents.transcripts.model import (
    ToolCall,
    Turn,
    attached,
    fail_last,
    table_of,
    tables_of,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import decoded
from memsearch_engine.agents.transcripts.tags import count_unknown_tag, without_blocks

_KNOWN = frozenset("user assistant tool_result system".split())
_KNOWN_SYSTEM = frozenset(
    "ui_telemetry attribution_snapshot file_history_snapshot slash_command at_command "
    "chat_compression rewind custom_title session_model session_approval_mode "
    "session_source parent_session agent_bootstrap agent_launch_prompt goal_state "
    "goal_turn_end branch_checkpoint turn_result realtime_message session_notes "
    "omni_recall background_task_completed".split()
)
_KNOWN_PREFIXES = ("session_artifact_", "managed_session_")
_TYPED_AHEAD = "mid_turn_user_message"
#: Blocks that the client puts before and after a prompt.
_BLOCKS = "system-reminder|qwen:[a-z-]{1,40}"
#: The beginnings of a prompt's parts with the files that it names.
_FILES = "\n--- Content from referenced files"
#: The beginning of a skill's instructions. Without a terminal, the client sends them in place of
#: the typed call and records no call (``buildSkillLlmContent`` of version 0.24.4).
_SKILL = "Base directory for this skill: "
_SKILL_PATHS = "Important: ALWAYS resolve absolute paths from this base directory"
_ANSWERED, _REFUSED = "api_response", "api_error"


class _Line(LinkedLine):
    """The fields that the reader needs."""

    subtype: Any = None
    provenance: Any = None
    systemPayload: Any = None
    toolCallResult: Any = None
    usageMetadata: Any = None
    message: Any = None

    @property
    def parts(self) -> list[dict[str, Any]]:
        found = self.message.get("parts") if isinstance(self.message, dict) else None
        return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []

    @property
    def measured(self) -> dict[str, Any]:
        """The measurements of a request or a tool; ``{}`` for other lines."""
        payload = self.systemPayload if self.subtype == "ui_telemetry" else None
        event = payload.get("uiEvent") if isinstance(payload, dict) else None
        return event if isinstance(event, dict) else {}


_decode = msgspec.json.Decoder(_Line).decode


class _Scanner(LinkedScanner):
    def __init__(self) -> None:
        super().__init__()
        self._now = ""
        self._called: int | None = None  # offset of the command, if its text comes next

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        own, parent = text_of(line.uuid), text_of(line.parentUuid)
        if found := self._turn(offset, line):
            self.begin(found[0], own, parent or None)
        elif line.subtype == "rewind":  # only this leads to another branch
            self.rewind(own, parent)
        else:
            self.link(own, parent if parent in self._roots else None)
        return found

    def _turn(self, offset: int, line: _Line) -> tuple[str, int] | None:
        if name := _unknown(line):
            self.count(name)
            return None
        if line.isSidechain and not self.facts:
            self.facts["parent"] = text_of(line.sessionId)
        if self._now and (alias := text_of(line.measured.get("prompt_id"))):
            self.aliases[alias] = self._now
        if line.subtype == "slash_command":
            command = _command(line)
            self._called = self._called if command is None else offset if command else None
        if not _begins(line):
            return None
        count_unknown_tag(self.unknown, _words(line))
        self.facts.update(session=text_of(line.sessionId), version=text_of(line.version))
        self._now = _name(line)
        begin, self._called = offset if self._called is None else self._called, None
        return self._now, begin


def _unknown(line: _Line) -> str:
    """Return the kind of a line that this reader does not know, ``""`` for others."""
    if not isinstance(line.type, str) or line.type not in _KNOWN:
        return str(line.type)[:40]
    kind = text_of(line.subtype)
    if line.type == "system" and kind not in _KNOWN_SYSTEM and not kind.startswith(_KNOWN_PREFIXES):
        return f"system/{kind[:40]}"
    return ""


def _begins(line: _Line) -> bool:
    """Return whether the person's words begin a turn here."""
    return (
        line.type == "user"
        and not line.subtype
        and line.provenance in (None, "real_user")
        and bool(_words(line).strip())
    )


def _words(line: _Line) -> str:
    payload = line.systemPayload if isinstance(line.systemPayload, dict) else {}
    if payload.get("hookContext") and text_of(payload.get("displayText")):
        return text_of(payload["displayText"])
    parts = (without_blocks(text_of(part.get("text")), _BLOCKS) for part in line.parts)
    texts = [text for text in parts if text]
    if line.provenance is None:  # older versions put a hook's context into a part without a mark
        return texts[0] if texts else attached(line.parts)
    words = "\n".join(takewhile(lambda text: not text.startswith(_FILES), texts))
    return _skill_call(words) or words or attached(line.parts)


def _skill_call(text: str) -> str:
    """Return the typed call of the skill whose instructions *text* is; ``""`` for other texts."""
    folder, _, rest = text.removeprefix(_SKILL).partition("\n")
    if not text.startswith(_SKILL) or not rest.startswith(_SKILL_PATHS):
        return ""
    arguments = rest.rpartition("<skill-args>")[2].rpartition("</skill-args>")[0]
    return f"/{PureWindowsPath(folder.strip()).name} {arguments.strip()}".rstrip()


def _name(line: _Line) -> str:
    return text_of(line.uuid) or text_of(line.timestamp)


def _parse(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    tools: dict[str, ToolCall] = {}
    typed, refusal, is_answered = "", "", False
    for line in decoded(lines, _decode):
        kind = text_of(line.measured.get("event.name")).rpartition(".")[2]
        is_answered = is_answered or kind == _ANSWERED
        if line.subtype == "slash_command":
            command = _command(line)
            typed = typed if command is None else command
        if _begins(line):
            fail_last(turns, refusal)
            refusal, tools, stamp = "", {}, text_of(line.timestamp)
            turns.append(
                Turn(
                    Reader.agent,
                    facts.get("session") or text_of(line.sessionId),
                    _name(line),
                    stamp,
                    stamp,
                    text_of(line.cwd),
                    typed or _words(line),
                    status="interrupted",
                    branch=text_of(line.gitBranch),
                )
            )
            typed, is_answered = "", False
            continue
        if not turns:
            continue
        turn = turns[-1]
        if line.type != "system":
            turn.ended = text_of(line.timestamp) or turn.ended
        if line.type == "assistant":
            _answer(turn, tools, line, is_whole=is_answered or line.usageMetadata is not None)
            is_answered = False
        elif line.type == "tool_result":
            _result(tools, line)
        elif line.subtype == _TYPED_AHEAD and (words := _words(line)).strip():
            turn.add_prompt(words)
        elif kind == _REFUSED:
            refusal = text_of(line.measured.get("error_message"))
        if turn.status == "done":  # it was tried again and answered
            refusal = ""
    fail_last(turns, refusal)
    return turns


def _command(line: _Line) -> str | None:
    """Return the typed call of a command or skill with a text for the model.

    The text is in the next ``user`` line.

    Returns:
        ``""`` for other commands, None for a line that reports how a command ended.
    """
    payload = line.systemPayload if isinstance(line.systemPayload, dict) else {}
    if payload.get("phase") != "invocation":
        return None
    return text_of(payload.get("rawCommand")) if payload.get("sentToModel") is True else ""


def _answer(turn: Turn, tools: dict[str, ToolCall], line: _Line, *, is_whole: bool) -> None:
    for part in line.parts:
        call = part.get("functionCall")
        if isinstance(call, dict):
            tools[text_of(call.get("id"))] = turn.use(call.get("name"), call.get("args"))
        elif text_of(part.get("text")).strip() and not part.get("thought"):
            turn.say(text_of(part["text"]))
            turn.status = "done" if is_whole else "interrupted"


def _result(tools: dict[str, ToolCall], line: _Line) -> None:
    result = line.toolCallResult if isinstance(line.toolCallResult, dict) else {}
    shown = result.get("resultDisplay")
    for part in line.parts:
        answer = part.get("functionResponse")
        call = tools.get(text_of(answer.get("id"))) if isinstance(answer, dict) else None
        if call is None or not isinstance(answer, dict):
            continue
        response = answer["response"] if isinstance(answer.get("response"), dict) else {}
        call.output = (
            text_of(response.get("output"))
            or text_of(response.get("error"))
            or text_of(result.get("error"))
        )
        call.failed = text_of(result.get("status")) not in ("", "success") or bool(
            response.get("error")
        )
        if isinstance(shown, dict):
            # the output itself, without the text around it for the model and without a hook's
            # additions
            own = (text_of(shown.get(name)) for name in ("fileDiff", "output", "text"))
            call.output = next((text for text in own if text), call.output)
            call.failed = call.failed or shown.get("exitCode") not in (0, None)
        elif text_of(shown):
            call.output = text_of(shown)


class QwenConversation(WithSubAgents):
    """A session file of Qwen Code."""

    scanner, parser = _Scanner, _parse

    def sub_agents(self) -> Iterable[Path]:
        """Return the files of the sub-agents of this session."""
        return (Path(self.where.path).parent.parent / "subagents" / self.session).glob(
            "agent-*.jsonl"
        )


class Reader(FileReader):
    """Reads the sessions of Qwen Code."""

    agent = "qwen"
    compaction_mark = b'"subtype":"chat_compression"'
    patterns = ("*/chats/{}.jsonl", "*/chats/archive/{}.jsonl")
    older = ("tmp/*/chats/*.json",)
    conversation = QwenConversation

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        message = line.get("message")
        return "parentUuid" in line and (
            "systemPayload" in line or (isinstance(message, dict) and "parts" in message)
        )

    def compaction_summary(self, line: dict[str, Any]) -> str | None:
        """Return the summary of a context compaction in a line, or None."""
        history = table_of(line.get("systemPayload")).get("compressedHistory")
        if line.get("subtype") != "chat_compression" or not isinstance(history, list):
            return None
        parts = (part for one in tables_of(history) for part in tables_of(one.get("parts")))
        return "\n".join(text for part in parts if isinstance(text := part.get("text"), str))
