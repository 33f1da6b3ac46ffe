"""Codex' rollouts: JSON lines of ``{timestamp, type, payload}``, plain or zstd.

Checked with 0.116 to 0.169.

Since 0.149.1 texts are in ``event_msg/item_completed``; before, in ``event_msg/user_message`` and
``agent_message``. Both generations repeat them as ``response_item``. There, texts of the harness
have the role ``user``, too, so these records are read for tools only, and for two orders of the
person that stand nowhere else: a command that was run with ``!``, and the goal of the tasks that
``/goal`` starts. A command that is run while the agent works belongs to the turn.

A turn begins with ``task_started`` and counts as soon as it contains a message. Rollouts of 2025
have no such event: each message of the user begins a turn, and an answer after the last tool ends
it. Until summer 2025 lines were flat, without times or names. Their turns are named by their
position.

A fork by a version without turn ids repeats the turns of its parent under the parent's names.
``thread_rolled_back`` takes back the last ``num_turns`` turns, which stay in the file
(``ThreadRolledBackEvent`` in Codex' own source).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.codex.words import order, request, words
from memsearch_engine.agents.transcripts.jsonl import (
    JsonlConversation,
    Scanner,
    turns_back,
    turns_of_sub_agent,
)
from memsearch_engine.agents.transcripts.model import (
    SUB_AGENTS,
    Session,
    ToolCall,
    Turn,
    attached,
    blocks_text,
    input_text,
    table_of,
    tables_of,
    text_of,
    value_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import first_record
from memsearch_engine.agents.transcripts.tags import count_unknown_tag

_TYPES = frozenset(
    "session_meta turn_context world_state response_item event_msg compacted "
    "token_usage_record inter_agent_communication inter_agent_communication_metadata".split()
)
_ROLLOUT = re.compile(
    r"rollout-.*?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl(?:\.zst)?$"
)
_PREAMBLE = re.compile(
    r"\A(?:Command: .*\n)?(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?(?:.*\n){0,4}?Output:\n"
)
#: The output of a tool call that the person refused. Codex records no failure with it.
_REJECTED = re.compile(r"\s*(?:exec command|patch) rejected by user\s*")
_EXIT = re.compile(r"^Process exited with code (\d+)$|^Exit code: (\d+)$", re.M)
#: The beginnings of the harness' own texts in flat rollouts.
_HARNESS = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<user_shell_command>",
)
#: Orders that stand only in the text for the model: a command that the person ran with ``!``, and
#: a goal that the person set with ``/goal`` (of 0.128 and of later versions).
_ORDERS = (
    b"<user_shell_command>",
    b"<goal_context>",
    b'<codex_internal_context source=\\"goal\\">',
)
_FLAT = frozenset(
    "message reasoning function_call function_call_output local_shell_call "
    "local_shell_call_output custom_tool_call custom_tool_call_output web_search_call".split()
)
_CWD = re.compile(r"<cwd>([^<\n]+)</cwd>|^Current working directory: ([^\n]+)$", re.M)
_MAX_FORKS = 8
_FOLDERS = ("sessions", "archived_sessions")
_SUMMARY_KINDS = ("text", "input_text", "output_text", "summary_text")
_THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CALLS = (
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "mcp_tool_call",
)
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


class _Line(msgspec.Struct):
    type: Any = None
    timestamp: Any = None
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Kind(msgspec.Struct):
    type: Any = None
    turn_id: Any = None
    num_turns: Any = None
    item: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(_Line).decode
_kind = msgspec.json.Decoder(_Kind).decode


def _is_child(file: Path, session: str) -> bool:
    try:
        meta = msgspec.json.decode(first_record(file)).get("payload")
    except (OSError, msgspec.DecodeError, AttributeError):
        return False
    return isinstance(meta, dict) and session in (
        meta.get("parent_thread_id"),
        _parent(meta.get("source")),
    )


class _Scanner(Scanner):
    def __init__(self) -> None:
        super().__init__()
        self._begun = -1  # offset at which the open task began
        self._task = ""
        self._prompts = 0
        self._has_message = False  # whether the task contains a message

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        found = self._turn(offset, raw)
        if found and "" in self.after:
            self.after[found[0]] = self.after.pop("")
        return found

    def _turn(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        flat = line.type is None or (isinstance(line.type, str) and line.type in _FLAT)
        if flat and not isinstance(line.payload, msgspec.Raw):
            return self._flat(offset, line, msgspec.json.decode(raw))
        if not isinstance(line.type, str) or line.type not in _TYPES:
            self.count(line.type)
            return None
        if not isinstance(line.payload, msgspec.Raw):
            return None
        if line.type == "session_meta" and "session" not in self.facts:
            self._meta(msgspec.json.decode(line.payload))
        if line.type == "response_item" and any(mark in raw for mark in _ORDERS):
            is_order = any(order(msgspec.json.decode(line.payload)))
            return self._message(offset, line, "") if is_order else None
        if line.type != "event_msg":
            return None
        kind = _kind(line.payload)
        if kind.type == "task_started":
            self._begun, self._task, self._has_message = offset, text_of(kind.turn_id), False
            return None
        if kind.type == "thread_rolled_back" and isinstance(kind.num_turns, int):
            self.after[""] = str(int(self.after.get("", 0)) + max(kind.num_turns, 0))
        if not _is_user(kind):
            return None
        if not self._has_message:
            count_unknown_tag(self.unknown, request(words(msgspec.json.decode(line.payload))))
        return self._message(offset, line, text_of(kind.turn_id))

    def _message(self, offset: int, line: _Line, turn: str) -> tuple[str, int] | None:
        """Return the turn that the person's words begin; None if they belong to the open turn."""
        stamp = text_of(line.timestamp)
        if self._begun < 0:  # a version without tasks: every message begins a turn
            return _named(turn, self.facts, stamp), offset
        if self._has_message:
            return None
        self._has_message = True
        return _named(self._task or turn, self.facts, stamp), self._begun

    def _flat(self, offset: int, line: _Line, record: Any) -> tuple[str, int] | None:
        if line.type is None:
            if text_of(record.get("id")) and "session" not in self.facts:
                self._meta(record)
                self.facts.update(flat="", started=text_of(line.timestamp))
            elif "record_type" not in record:
                self.count(None)
        elif line.type == "message" and record.get("role") == "user":
            text = blocks_text(record.get("content"), ("input_text", "text"))
            if text.startswith(_HARNESS):
                if not self.facts.get("cwd") and (match := _CWD.search(text)):
                    self.facts["cwd"] = (match[1] or match[2]).strip()
                return None
            count_unknown_tag(self.unknown, request(text))
            self._prompts += 1
            return f"{self.facts.get('session', '')}:{self._prompts}", offset
        return None

    def _meta(self, payload: Any) -> None:
        if not isinstance(payload, dict):
            return
        source = payload.get("source")
        parent = text_of(payload.get("parent_thread_id"))
        if payload.get("thread_source") == "subagent" or (
            isinstance(source, dict) and "subagent" in source
        ):
            parent = parent or _parent(source) or "unknown"
            self.facts["parent"] = parent
        if payload.get("ephemeral") is True:
            self.facts["ephemeral"] = "yes"
        self.facts.update(
            session=text_of(payload.get("id")) or text_of(payload.get("session_id")),
            forked=text_of(payload.get("forked_from_id")),
            version=text_of(payload.get("cli_version")),
            cwd=text_of(payload.get("cwd")),
            branch=text_of(table_of(payload, "git").get("branch")),
        )


def _named(turn: str, facts: dict[str, str], stamp: str) -> str:
    """Return a turn's own id, or its position in time if its version gave no ids."""
    return turn or f"{facts.get('session', '')}:{stamp}"


def _parent(source: Any) -> str:
    while isinstance(source, dict) and source:
        parent = source.get("parent_thread_id")
        if isinstance(parent, str):
            return parent
        source = next(iter(source.values()))
    return ""


def _is_user(kind: _Kind) -> bool:
    return kind.type == "user_message" or (
        kind.type == "item_completed"
        and isinstance(kind.item, msgspec.Raw)
        and _kind(kind.item).type == "UserMessage"
    )


class _Reading:
    """One turn while its lines are read."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.items = False  # newer generation: messages of the older one would repeat its texts
        self.tools: dict[str, ToolCall] = {}
        self.shown: dict[str, tuple[str, bool]] = {}  # outputs as the person saw them, by call id
        self.ended = ""
        self.in_task = False
        self.asked = False  # also true for an image alone
        self.goal = ""  # what the task works for if the person sends no words


def _parse(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    now = _Reading(_new("", facts))
    tasks = False
    for raw in lines:
        try:
            line = _decode(raw)
            is_flat = line.type in _FLAT and not isinstance(line.payload, msgspec.Raw)
            payload = msgspec.json.decode(
                line.payload if isinstance(line.payload, msgspec.Raw) else raw
            )
        except (msgspec.DecodeError, RecursionError):
            continue
        if not isinstance(payload, dict):
            continue
        if is_flat:
            now = _flat(now, payload, turns, facts)
            continue
        kind, stamp = text_of(payload.get("type")), text_of(line.timestamp)
        if line.type == "event_msg" and kind == "task_started":
            _close(now, turns)
            tasks = True
            now = _Reading(_new(text_of(payload.get("turn_id")), facts, stamp))
            now.in_task = True
            continue
        if line.type == "turn_context":
            now.turn.cwd = text_of(payload.get("cwd")) or now.turn.cwd
        elif line.type == "event_msg":
            if not tasks and kind == "user_message" and now.asked:
                _close(now, turns)
                now = _Reading(_new("", facts, stamp))
            _event(now, kind, payload, stamp)
        elif line.type == "response_item":
            _item(now, kind, payload)
            ran, goal = order(payload)
            if ran and not tasks and now.asked:
                _close(now, turns)
                now = _Reading(_new("", facts, stamp))
            if ran:
                _ask(now, f"!{ran.input}", stamp)
                now.turn.call(ran)
                now.ended = now.ended if now.in_task else "done"
            now.goal = now.goal or goal
        now.turn.ended = stamp or now.turn.ended
    _close(now, turns)
    for turn in turns:
        turn.turn = _named(turn.turn, facts, turn.started)
    return turns


def _flat(
    now: _Reading, record: dict[str, Any], turns: list[Turn], facts: dict[str, str]
) -> _Reading:
    """Read a line of a flat rollout. Return the current turn."""
    text = blocks_text(record.get("content"), ("input_text", "output_text", "text"))
    if record.get("type") != "message":
        _item(now, text_of(record.get("type")), record)
    elif record.get("role") == "assistant":
        now.turn.say(text)
    elif record.get("role") == "user" and not text.startswith(_HARNESS):
        _close(now, turns)
        now = _Reading(_new("", facts, facts.get("started", "")))
        _ask(now, text or attached(record.get("content")), "")
    return now


def _new(turn: str, facts: dict[str, str], stamp: str = "") -> Turn:
    return Turn(
        agent=Reader.agent,
        session=facts.get("session", ""),
        turn=turn,
        started=stamp,
        ended=stamp,
        cwd=facts.get("cwd", ""),
        branch=facts.get("branch", ""),
        tools=[],
        status="interrupted",
    )


def _event(now: _Reading, kind: str, payload: dict[str, Any], stamp: str) -> None:
    turn = now.turn
    if kind == "item_completed":
        item = payload.get("item")
        if isinstance(item, dict):
            _completed(now, item, stamp)
    elif kind == "user_message" and not now.items:
        _ask(now, words(payload), stamp)
    elif kind == "agent_message" and not now.items:
        turn.say(text_of(payload.get("message")))
    elif kind == "task_complete":
        error = payload.get("error")
        is_failed = now.ended == "failed" and not payload.get("last_agent_message")
        now.ended = "failed" if error or is_failed else "done"
        if error:
            turn.say(text_of(error.get("message")) if isinstance(error, dict) else text_of(error))
        elif not turn.assistant:
            turn.say(text_of(payload.get("last_agent_message")))
    elif kind == "turn_aborted":
        now.ended = "interrupted"
    elif kind in ("error", "stream_error") and not turn.assistant:
        now.ended = "failed"
        turn.say(text_of(payload.get("message")))
    elif kind.startswith(("mcp_tool_call", "web_search")):
        turn.outside = True


def _completed(now: _Reading, item: dict[str, Any], stamp: str) -> None:
    kind = item.get("type")
    if kind == "UserMessage":
        if not now.items:  # a version that writes both repeats the older event's text
            now.items, now.turn.user, now.turn.assistant = True, "", ""
            now.turn.spoken.clear()
        _ask(now, words(item), stamp)
    elif kind == "AgentMessage":
        now.items = True
        now.turn.say(blocks_text(item.get("content"), ("text", "Text")))
    elif kind == "CommandExecution":
        code, output = item.get("exit_code"), text_of(item.get("aggregated_output"))
        if code not in (-1, None) and _REJECTED.fullmatch(output):
            output = f"Exit code: {code}\n{output}"  # it was run
        now.shown[text_of(item.get("id"))] = (output, code not in (0, None))
    elif isinstance(kind, str) and kind in ("McpToolCall", "WebSearch"):
        now.turn.outside = True


def _ask(now: _Reading, text: str, stamp: str) -> None:
    turn, text = now.turn, request(text)
    if not now.asked:
        now.asked, turn.started = True, stamp or turn.started
    if text != turn.user:
        turn.add_prompt(text)


def _item(now: _Reading, kind: str, payload: dict[str, Any]) -> None:
    call_id = text_of(payload.get("call_id")) or text_of(payload.get("id"))
    if kind in _CALLS:
        now.tools[call_id] = call = ToolCall(
            text_of(payload.get("name")) or kind.removesuffix("_call"), _arguments(payload)
        )
        now.turn.call(call)
        now.turn.outside = now.turn.outside or kind.startswith(("web_search", "mcp"))
    elif kind in _OUTPUTS and call_id in now.tools:
        call = now.tools[call_id]
        call.output, call.failed = _output(payload.get("output"))


def _arguments(payload: dict[str, Any]) -> str:
    value = payload.get("arguments", payload.get("input", payload.get("action")))
    decoded = value_of(value)
    return input_text(decoded if isinstance(decoded, dict) or not isinstance(value, str) else value)


def _output(value: Any) -> tuple[str, bool]:
    """Return (output of a tool, whether it failed), without the lines that Codex puts before it."""
    failed = False
    if isinstance(value, dict):
        failed = value.get("success") is False
        value = value.get("content", value.get("output"))
    text = blocks_text(value, ("text", "input_text", "output_text"))
    # an older format: JSON inside the string
    if text.startswith('{"output"') and (inner := table_of(value_of(text))):
        code = table_of(inner, "metadata").get("exit_code")
        return text_of(inner.get("output")), code not in (0, None)
    if _REJECTED.fullmatch(text):
        failed = True
    elif exited := _EXIT.search(text[:400]):
        failed = (exited[1] or exited[2]) != "0"
    output = _PREAMBLE.sub("", text, count=1)
    is_printed = failed and output != text and _REJECTED.fullmatch(output)
    return text if is_printed else output, failed


def _close(now: _Reading, turns: list[Turn]) -> None:
    turn = now.turn
    if not now.asked and not now.goal:
        return  # a task of the harness: a compaction or a review
    turn.user = turn.user if now.asked else now.goal
    for call_id, (output, failed) in now.shown.items():
        if call_id in now.tools:
            now.tools[call_id].output, now.tools[call_id].failed = output, failed
    # Versions without tasks mark no end: the turn ends with an answer after the last tool.
    answered = not now.in_task and bool(turn.spoken) and turn.spoken[-1][0] == len(turn.tools)
    turn.status = now.ended or ("done" if answered else "interrupted")
    turns.append(turn)


class _Rollout(JsonlConversation):
    scanner, parser = _Scanner, _parse


class CodexConversation(_Rollout):
    """A rollout of Codex."""

    def __init__(self, where: Session, cache: Path | None = None, forks: int = 0) -> None:
        super().__init__(where, cache)
        self._copied: list[Turn] = []
        forked = self._offsets.facts.get("forked", "")
        if (
            forked
            and forks < _MAX_FORKS
            and self.ids
            and all(name.startswith(f"{self.session}:") for name in self.ids)
        ):
            self._copied = self._parents(forked, cache, forks)
        own = self.ids
        self.ids = [*(turn.turn for turn in self._copied), *own[len(self._copied) :]]
        self.aliases = {**self.aliases, **dict(zip(own, self.ids[: len(self._copied)]))}

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        found = super().turns(first, last)
        first, stop, _ = slice(first, last).indices(len(self.ids))
        for place, turn in zip(range(first, stop), found):
            if place < len(self._copied):
                turn.aliases.append(turn.turn)
                turn.cwd, turn.branch = self._copied[place].cwd, self._copied[place].branch
            if place < len(self._copied) or "flat" in self._offsets.facts:
                turn.turn = self.ids[place]
        for turn in found:
            sent_off = [call for call in turn.tools if call.name in SUB_AGENTS]
            turn.outside = turn.outside or any(
                theirs.outside
                for file in self._sub_agents(sent_off)
                for theirs in turns_of_sub_agent(_Rollout, self.where, file)
            )
        return found

    def _sub_agents(self, calls: list[ToolCall]) -> set[Path]:
        """Return the rollouts of the sub-agents that *calls* started.

        They are found by the threads in the results of the calls, else by their parent.
        """
        threads = {thread for call in calls for thread in _THREAD.findall(call.output)}
        if calls and not threads:
            beside = Path(self.where.path).parent.glob("rollout-*.jsonl*")
            return {file for file in beside if _is_child(file, self.session)}
        return {file for thread in threads for file in self._rollouts(thread)}

    def _follows(self, after: str, parents: list[int]) -> int:
        return turns_back(after, parents)

    def _parents(self, forked: str, cache: Path | None, forks: int) -> list[Turn]:
        """Return the parent's turns that the first turns here repeat."""
        file = next(iter(self._rollouts(forked)), None)
        if file is None:
            return []
        try:
            parent = CodexConversation(
                Session(self.agent, forked, str(file), Reader.kind), cache, forks + 1
            )
            pairs = list(zip(parent.turns(), super().turns()))
        except OSError:
            return []
        same = takewhile(
            lambda pair: (pair[0].user, pair[0].assistant) == (pair[1].user, pair[1].assistant),
            pairs,
        )
        return [theirs for theirs, _ in same]

    def _rollouts(self, thread: str) -> Iterable[Path]:
        """Yield the rollouts of a thread: beside this one, of other days, and archived ones."""
        path = Path(self.where.path)
        # no characters that are special in a glob pattern
        name = re.sub(r"[^0-9A-Za-z-]", "", thread) or "none"
        yield from path.parent.glob(f"rollout-*-{name}.jsonl*")
        for base in path.parents[:4]:
            if base.name in _FOLDERS:
                yield from Reader().files(base.with_name(_FOLDERS[0]), name)


class Reader(FileReader):
    """Reads the sessions of Codex."""

    agent = "codex"
    compaction_mark = b'"type":"compacted"'
    kind = "rollout"
    conversation = CodexConversation
    own_names = re.compile(r".*\.jsonl\.zst|rollout-.*\.jsonl", re.S)
    parts = ""

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        """Yield the rollouts below ``sessions`` and ``archived_sessions``.

        Their names end with the thread's id.
        """
        name = f"rollout-*-{session}" if session else "rollout-*"
        yield from folder.glob(f"*/*/*/{name}.jsonl*")
        yield from (folder.parent / _FOLDERS[1]).glob(f"{name}.jsonl*")

    def _folders(self, folder: Path) -> list[Path]:
        # the first versions wrote documents (.json) without a project's folder here
        return [*([folder] if folder.is_dir() else []), *super()._folders(folder)]

    def session_of(self, path: Path) -> str:
        """Return the id of the session in a file."""
        match = _ROLLOUT.match(path.name)
        return match[1] if match else path.name.partition(".")[0]

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        kinds = ("session_meta", "event_msg", "response_item", "turn_context", "compacted")
        return "payload" in line and line.get("type") in kinds

    def compaction_summary(self, line: dict[str, Any]) -> str | None:
        """Return the summary of a context compaction in a line, or None."""
        payload = line.get("payload")
        if line.get("type") != "compacted" or not isinstance(payload, dict):
            return None
        items = tables_of(payload.get("replacement_history"))
        texts = (blocks_text(item.get("content"), _SUMMARY_KINDS) for item in items)
        return text_of(payload.get("message")) or "\n".join(filter(None, texts))
