"""Claude Code's sessions: JSON lines, one per content block (checked with 2.1.197 to 2.1.330).

A turn begins with a user line that a person or a program typed. Such a line has a ``promptSource``
other than ``system``, or plain text in files that are older than this field. A line that calls a
command or a skill of the user also begins a turn: it starts with ``<command-message>``, while a
local command (/cost, /model) starts with ``<command-name>``. An image without words and
``!command`` (``<bash-input>``) begin turns, too.

Tool results, compaction summaries, local commands, hook context, notifications and messages of
teammates are user lines that no person typed. They belong to the turn around them. A prompt that is
typed while Claude works is an attachment of the running turn (``queued_command``), or a prompt of
its own. Two prompts that waited together are answered together.

A message of a channel (a chat, a webhook) begins a turn after an answer and in a new session. It is
outside content, because anyone may have sent it. While Claude works, it belongs to the turn.

**A turn is named by the uuid of its user line.** A fork (``--fork-session``) copies the line and
gives all copied lines one new ``promptId``, which is also that of its own first turn. The
``promptId`` is an alias of the last prompt line with it. The Stop hook and older notes use it.
Sub-agents have files of their own (``agent-*``) and are not sessions. Up to 2.0.2x their lines
(``isSidechain``) are in the session's file, often before its first line.

A rewind leaves its turns in the file. The next prompt names a line of an earlier turn as its
``parentUuid``, or no line if the first prompt of the session was edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.jsonl import (
    JsonlConversation,
    LinkedLine,
    LinkedScanner,
    turns_of_sub_agent,
)
from memsearch_engine.agents.transcripts.model import (
    SUB_AGENTS,
    Conversation,
    Session,
    ToolCall,
    Turn,
    attached,
    blocks_of,
    blocks_text,
    json_file,
    set_result,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import decoded
from memsearch_engine.agents.transcripts.tags import (
    count_unknown_tag,
    split_after_last,
    without_blocks,
)

_SUB_AGENT_FILE = "agent-"
_RETENTION_DAYS = 30  # default of its settings
#: Types of lines that no other agent writes.
_LINES = frozenset(
    "user assistant system summary attachment queue-operation file-history-snapshot".split()
)
_KNOWN = frozenset(
    "user assistant system attachment queue-operation last-prompt atis-latch mode progress tag "
    "cost-state tools-used api-request-shape api-request-blob api-request summary relocated "
    "file-history-snapshot file-history-delta attribution-snapshot content-replacement ai-title "
    "custom-title agent-name agent-color agent-setting permission-mode memory-mode pr-link "
    "isolation-latch frame-link bridge-session worktree-state continued-in ended-by-model "
    "fork-context-ref observer-ref".split()
)
#: The beginnings of user lines that the client or another session wrote.
_MACHINE = re.compile(
    r"\s*(?:<(?:command-name|local-command|bash-stdout|bash-stderr|task-notification|"
    r"system-reminder|channel source=)|<(?:teammate|cross-session|agent)-message\b|"
    r"(?:Another Claude|A peer) session sent a message\b|The coordinator sent a message\b|"
    r"\[SYSTEM NOTIFICATION - NOT USER INPUT\]|\[Request interrupted by user|"
    r"(?:\d+ background agents were|Background agent \"[^\n]*\" was) stopped by the user[:.])"
)
#: Origins of user lines that no person sent.
_NOT_A_PERSON = ("task_notification", "task-notification", "peer", "coordinator")
#: Blocks that the client and IDEs put before or after the person's words, in the same line.
_ADDED = "system-reminder|ide_[a-z_]{1,40}"
#: What the person typed after ``!``, and, in versions of 2025, after ``#``.
_TYPED = re.compile(r"\s*<(bash|user-memory)-input>(.*)</\1-input>\s*\Z", re.S)
_SIGNS = {"bash": "!", "user-memory": "#"}
_SHELL_OUTPUT = re.compile(r"<bash-(?:stdout|stderr)>(.*?)</bash-(?:stdout|stderr)>", re.S)
_SYNTHETIC = "<synthetic>"
#: A message from a server: a chat, a webhook.
_CHANNEL = re.compile(r'<channel source="([^">]*)"([^>]*)>(.*?)(?:</channel>|\Z)', re.S)
_SENDER = re.compile(r' user="([^">]+)"')
#: The beginnings of the lines of a local command.
_LOCAL_COMMAND = re.compile(r"\s*<(?:command-name|local-command-caveat)>")
_COMMAND = re.compile(r"\s*<command-message>")
_COMMAND_NAME = re.compile(r"<command-name>\s*(/?[^<\s]{1,200})\s*</command-name>")
_COMMAND_WORDS = re.compile(r"<command-args>(.*)</command-args>", re.S)
_RESULT = re.compile(r"<result>(.*)</result>", re.S)
_CALL_ID = re.compile(r"<tool-use-id>\s*([\w-]{4,80})\s*</tool-use-id>")
_SUB_AGENT = re.compile(r"\bagentId: ?([A-Za-z0-9_-]{4,64})\b")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_INTERRUPTED = "[Request interrupted by user"
#: Tool calls that the model's own server executed: web searches, fetches, MCP.
_SERVER_SIDE = (
    "server_tool_use",
    "mcp_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "mcp_tool_result",
)


class _Line(LinkedLine):
    """The fields that the reader needs. Other fields are skipped."""

    promptId: Any = None
    promptSource: Any = None
    turnOrigin: Any = None
    origin: Any = None
    turnPosition: Any = None
    attachment: Any = None
    isMeta: Any = None
    isCompactSummary: Any = None
    isApiErrorMessage: Any = None
    toolUseResult: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    message: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    def fields(self) -> dict[str, Any]:
        message = (
            msgspec.json.decode(self.message) if isinstance(self.message, msgspec.Raw) else None
        )
        return message if isinstance(message, dict) else {}

    def content(self) -> Any:
        return self.fields().get("content")


_decode = msgspec.json.Decoder(_Line).decode


class _Scanner(LinkedScanner):
    def __init__(self) -> None:
        super().__init__()
        self._first, self._position = "", None
        self._is_linked = False  # whether the line before names the line that it follows
        self._last: _Line | None = None  # the last prompt, or the last line of its answer

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        parent = None if line.isSidechain else text_of(line.parentUuid) or None
        name, found = _turn_id(line), self._turn(offset, line)
        if found:
            self.facts.setdefault("root", name)
        if (
            parent is None
            and self._is_linked
            and self.facts.get("root", name) != name
            # a local command may stand between the rewind and the next prompt
            and (found or _is_local_command(line))
        ):
            parent = ""
        if line.uuid and not line.isSidechain:
            self._is_linked = parent is not None
        return self.linked(found, text_of(line.uuid), parent)

    def _turn(self, offset: int, line: _Line) -> tuple[str, int] | None:
        if not isinstance(line.type, str) or line.type not in _KNOWN:
            self.count(line.type)
            return None
        if line.isSidechain:
            self._aside(line)
        if line.type == "assistant":
            self._position = None  # answered: a prompt that still waits becomes another turn
        if _aside(line, self.facts):
            return None
        if line.type == "assistant" and self._last:
            self._last = line
        if line.type != "user" or (prompt := _prompt(line, self._last)) is None:
            return None
        self._last = line
        count_unknown_tag(self.unknown, prompt)
        self.facts.update(session=text_of(line.sessionId), version=text_of(line.version))
        name = _turn_id(line)
        joined = (
            line.promptSource == "queued"
            and line.turnPosition is not None
            and line.turnPosition == self._position
        )
        if not joined:
            self._first, self._position = name, line.turnPosition
        for alias in {text_of(line.promptId), text_of(line.uuid)} - {"", self._first}:
            self.aliases[alias] = self._first
        return None if joined else (name, offset)

    def _aside(self, line: _Line) -> None:
        self.facts.setdefault("sidechain", "1")


class _OfSubAgent(_Scanner):
    """Scans the file of a sub-agent, where all lines belong to a sidechain."""

    def _aside(self, line: _Line) -> None:
        self.facts.setdefault("parent", text_of(line.sessionId) or "unknown")


def _aside(line: _Line, facts: dict[str, str]) -> bool:
    """Return whether the line belongs to a sub-agent, in a file that is not the sub-agent's own."""
    return bool(line.isSidechain) and "parent" not in facts


def _is_local_command(line: _Line) -> bool:
    is_own = line.type == "user" and not line.isSidechain
    return is_own and bool(_LOCAL_COMMAND.match(blocks_text(line.content())))


def _turn_id(line: _Line) -> str:
    return text_of(line.uuid) or text_of(line.promptId) or text_of(line.timestamp)


def _turn(line: _Line, prompt: str) -> Turn:
    """Return the turn that a prompt begins."""
    stamp = text_of(line.timestamp)
    return Turn(
        agent=Reader.agent,
        session=text_of(line.sessionId),
        turn=_turn_id(line),
        started=stamp,
        ended=stamp,
        cwd=text_of(line.cwd),
        user=prompt,
        tools=[],
        branch=text_of(line.gitBranch),
        status="interrupted",
        outside=_channel_message(blocks_text(line.content())) is not None,
        aliases=_aliases(line),
    )


def _parse(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    tools: dict[str, ToolCall] = {}
    position = None  # of the last prompt, until it is answered
    ran: ToolCall | None = None  # the command that the person ran, until its output came
    last: _Line | None = None
    seen: dict[str, object] = {}  # the ids of the turn's lines -> their types
    for line in decoded(lines, _decode):
        is_again = bool(turns) and _is_again(line, turns[-1], seen)
        if turns and line.type == "attachment" and not is_again:
            _typed_ahead(turns[-1], tools, line.attachment)
        if _aside(line, facts) or line.type not in ("user", "assistant"):
            seen |= {} if is_again else {text_of(line.uuid): line.type}
            continue
        if line.type == "assistant":
            position, last = None, last and line
        if line.type == "user" and (prompt := _prompt(line, last)) is not None:
            last = line
            is_queued = line.promptSource == "queued" and position is not None
            if turns and is_queued and line.turnPosition == position:
                turns[-1].add_prompt(prompt)
                turns[-1].aliases = [*turns[-1].aliases, *_aliases(line)]
                continue
            tools, position, ran = {}, line.turnPosition, _ran(line)
            seen = {text_of(line.uuid): line.type}
            turns.append(_turn(line, prompt))
            if ran is not None:
                turns[-1].call(ran)
            continue
        if not turns or is_again:
            continue
        turn = turns[-1]
        seen[text_of(line.uuid)] = line.type
        turn.ended = text_of(line.timestamp) or turn.ended
        content = line.content()
        if line.type == "user":
            text = blocks_text(content)
            if not line.isMeta and text_of(line.uuid) and text.strip():
                turn.aliases = [*turn.aliases, text_of(line.uuid)]
            if ran is not None and (output := _SHELL_OUTPUT.findall(text)):
                ran.output, ran, turn.status = "\n".join(filter(None, output)), None, "done"
            elif line.turnOrigin == "task_notification":
                _reported(tools, text)
            else:
                turn.outside = turn.outside or _channel_message(text) is not None
                _results(turn, tools, content)
        else:
            _answer(turn, tools, line)
    return turns


def _is_again(line: _Line, turn: Turn, seen: dict[str, object]) -> bool:
    """Return whether the client has written a line of the turn, or of one before it, again."""
    own, parent = text_of(line.uuid), text_of(line.parentUuid)
    is_older = bool(parent) and parent not in seen and text_of(line.timestamp) < turn.started
    return bool(own) and (seen.get(own) == line.type or is_older)


def _is_open(last: _Line | None) -> bool:
    """Return whether the turn has no answer yet, or waits for a tool. *last*: its last line."""
    content = last.content() if last and last.type == "assistant" else None
    return last is not None and (last.type == "user" or _has_block(content, "tool_use"))


def _has_block(content: Any, kind: str) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == kind for block in content
    )


def _prompt(line: _Line, last: _Line | None) -> str | None:
    """Return the text of a real request, None for every other user line.

    Args:
        last: the prompt before or the last line of its answer; None at the start.
    """
    has_result = line.toolUseResult is not msgspec.UNSET
    found = None if has_result else _channel_message(blocks_text(line.content()))
    if found and not _is_open(last):
        source, attributes, words = found.groups()
        sender = _SENDER.search(attributes)
        return f"Message on {source}{f' from {sender[1]}' if sender else ''}: {words.strip()}"
    if line.isMeta or line.isCompactSummary or has_result:
        return None
    origin = line.origin.get("kind") if isinstance(line.origin, dict) else line.turnOrigin
    if line.promptSource == "system" or origin in _NOT_A_PERSON:
        return None
    content = line.content()
    if _has_block(content, "tool_result"):
        return None
    text = blocks_text(content)
    if (
        text.strip()
        and not (text := without_blocks(text, _ADDED)).strip()
        and not attached(content)
    ):
        return None
    if _COMMAND.match(text):
        return _called(text)
    if typed := _TYPED.match(text):
        return f"{_SIGNS[typed[1]]}{typed[2].strip()}"
    if _MACHINE.match(text):
        return None
    return text if text.strip() else attached(content) or None


def _ran(line: _Line) -> ToolCall | None:
    """Return the command that the person ran with ``!``."""
    typed = _TYPED.match(blocks_text(line.content()))
    return ToolCall("Bash", typed[2].strip()) if typed and typed[1] == "bash" else None


def _called(text: str) -> str | None:
    """Return the command or skill that the user called, with the typed arguments."""
    name = _COMMAND_NAME.search(text)
    words = _COMMAND_WORDS.search(split_after_last(text, "</command-args>")[0])
    if name is None:
        return None
    return f"/{name[1].lstrip('/')} {words[1] if words else ''}".strip()


def _aliases(line: _Line) -> list[str]:
    return [
        name
        for name in (text_of(line.promptId), text_of(line.uuid))
        if name and name != _turn_id(line)
    ]


def _typed_ahead(turn: Turn, tools: dict[str, ToolCall], attachment: Any) -> None:
    """Add a queued message: the user's words, or the report of a sub-agent."""
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return
    prompt = attachment.get("prompt")
    words = (
        (blocks_text(prompt) or attached(prompt)) if isinstance(prompt, list) else text_of(prompt)
    )
    if attachment.get("commandMode") == "task-notification":
        _reported(tools, words)
        return
    turn.outside = turn.outside or _channel_message(words) is not None
    if words.strip() and not _MACHINE.match(words):
        turn.add_prompt(words)


def _channel_message(text: str) -> re.Match[str] | None:
    return _CHANNEL.match(without_blocks(text, _ADDED).lstrip())


def _reported(tools: dict[str, ToolCall], text: str) -> None:
    """Replace "launched" by the result of a sub-agent that has ended."""
    call = _CALL_ID.search(text)
    result = _RESULT.search(split_after_last(text, "</result>")[0])
    if call and result and call[1] in tools:
        sent_off = tools[call[1]]
        agent = _SUB_AGENT.search(sent_off.output)
        sent_off.output = f"{agent[0]}\n{result[1].strip()}" if agent else result[1].strip()


def _answer(turn: Turn, tools: dict[str, ToolCall], line: _Line) -> None:
    if line.isApiErrorMessage:
        turn.status = "failed"
        turn.say(blocks_text(line.content()))
        return
    # else the client wrote it: "No response requested."
    is_by_model = line.fields().get("model") != _SYNTHETIC
    for block in blocks_of(line.content()) if is_by_model else ():
        if block.get("type") == "text":
            turn.answer(text_of(block.get("text")))
        elif block.get("type") == "tool_use":
            tools[text_of(block.get("id"))] = turn.use(block.get("name"), block.get("input"))
        elif block.get("type") in _SERVER_SIDE:
            turn.outside = True


def _results(turn: Turn, tools: dict[str, ToolCall], content: Any) -> None:
    if isinstance(content, str) and content.startswith(_INTERRUPTED):
        turn.status = "interrupted"
        return
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result":
            output = blocks_text(block.get("content"))
            set_result(tools, block.get("tool_use_id"), output, block.get("is_error"))
        elif text_of(block.get("text")).startswith(_INTERRUPTED):
            turn.status = "interrupted"


class ClaudeConversation(JsonlConversation):
    """A session file of Claude Code."""

    scanner, parser = _Scanner, _parse

    @property
    def has_sidechain(self) -> bool:
        """Whether the file has lines of sub-agents."""
        return "sidechain" in self._offsets.facts

    def find(self, turn: str) -> int:
        """Also find a turn by the id of any of its lines, as memsearch's anchors name the last."""
        place = super().find(turn)
        if place < 0 and _UUID.fullmatch(turn) and (found := self.place_of_line(turn)) is not None:
            return found
        return place

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        found = super().turns(first, last)
        for turn in found:
            # The copies in a fork share one promptId with the fork's own first turn, which the
            # promptId names.
            turn.aliases = [
                name
                for name in turn.aliases
                if self._offsets.aliases.get(name, turn.turn) == turn.turn
            ]
            turn.outside = turn.outside or any(
                call.name.lower() in SUB_AGENTS and self._read_outside(call) for call in turn.tools
            )
        return found

    def _read_outside(self, call: ToolCall) -> bool:
        """Return whether a sub-agent read content from outside, or its file cannot be found."""
        name = _SUB_AGENT.search(call.output)
        if not name:
            return bool(call.output)
        file = Path(self.where.path.removesuffix(".jsonl"), "subagents", f"agent-{name[1]}.jsonl")
        turns = turns_of_sub_agent(_SubAgentConversation, self.where, file)
        return any(turn.outside for turn in turns)


class _SubAgentConversation(ClaudeConversation):
    scanner = _OfSubAgent


class Reader(FileReader):
    """Reads the sessions of Claude Code."""

    agent = "claude-code"
    compaction_mark = b'"isCompactSummary":true'
    patterns = ("*/{}.jsonl",)
    parts = _SUB_AGENT_FILE

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        """Yield the files of sessions, without those of sub-agents."""
        found = super().files(folder, session)
        return (file for file in found if not file.name.startswith(_SUB_AGENT_FILE))

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        return line.get("type") in _LINES or "sessionId" in line

    def compaction_summary(self, line: dict[str, Any]) -> str | None:
        """Return the summary of a context compaction in a line, or None."""
        message = line.get("message")
        if line.get("isCompactSummary") is not True or not isinstance(message, dict):
            return None
        return blocks_text(message.get("content"))

    def retention_days(self, sessions: Path) -> int:
        """Return the days after which transcripts are deleted."""
        days = json_file(sessions.parent / "settings.json").get("cleanupPeriodDays")
        return int(days) if isinstance(days, int | float) else _RETENTION_DAYS

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        """Open a session."""
        if Path(where.path).name.startswith(_SUB_AGENT_FILE):
            return _SubAgentConversation(where, cache)
        found = ClaudeConversation(where, cache)
        # a sub-agent's file under another name
        is_of_sub_agent = not found.ids and found.has_sidechain
        return _SubAgentConversation(where) if is_of_sub_agent else found
