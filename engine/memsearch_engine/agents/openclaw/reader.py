"""OpenClaw's sessions: one SQLite database per agent (2026.9.6).

Its events are JSON or, if large, zstd. Older versions have JSON lines.

Both contain the same events. A turn begins with a user message that a person or a program sent.
Heartbeats, which the gateway sends to itself, begin no turn, and their answers belong to no turn. A
message of another session begins no turn either; it is outside content of the turn around it.
Messages of other people that the gateway puts before a prompt are outside content of its turn.
Events form a tree by ``parentId``, and a ``leaf`` event names the event that the next one follows.
A rewind copies all events into a new session and adds a ``leaf`` event. The turns of the branch
that it left are replaced by the next turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.jsonl import (
    JsonlConversation,
    LinkedScanner,
    name_replaced,
    replaced_turns,
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
    input_text,
    set_result,
    table_of,
    tables_of,
    text_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.sqlite import (
    DatabaseOrFiles,
    reading,
    session_row,
    stamp,
    table,
)
from memsearch_engine.agents.transcripts.tags import count_unknown_tag

_DATABASE = "openclaw-agent.sqlite"
_KNOWN = frozenset(
    "session message model_change thinking_level_change custom custom_message reset "
    "compaction branch_summary label leaf session_info".split()
)
_MAX_BYTES = 64 * 1024 * 1024
#: The beginnings of prompts that the gateway sends to itself, in current and older versions.
_HEARTBEAT = re.compile(
    r"\[OpenClaw (?:heartbeat poll|exec completion|cron wake|session event)\]|"
    r"Read HEARTBEAT\.md if it exists|Follow the heartbeat monitor scratch context|"
    r"An async command (?:completion event was triggered|you ran earlier has)|"
    r"A scheduled (?:reminder has been|cron event was) triggered|"
    r"Run the following periodic tasks \(only those due|Pre-compaction memory flush\. |"
    r"A new session was started via /new or /reset\. "
)
#: What the gateway sends in place of a prompt when it tries another model.
_RETRY = "Continue where you left off. The previous model attempt failed or timed out."
#: The beginning of a message of another session.
_INTER_SESSION = "[Inter-session message]"
#: The beginning of messages of other people.
_OTHERS = "[Chat messages since your last reply - for context]"
#: What the gateway puts before a person's message: a weekday and a time, maybe after a channel
#: (``formatEnvelopeTimestamp`` in OpenClaw's own source), or one of its channels, attachments,
#: messages of other people, events, hints, blocks of metadata (with a mark since 2026.8.1), memory,
#: the name of a scheduled job.
_METADATA = re.compile(
    r"\A\s*(?:"
    # without the lookaheads, a bracket that does not end takes quadratic time
    r"\[(?=[^\]\n]*\])(?:[^\W\d][^\]\n]* )?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\dZ| \d\d:\d\d [A-Z][\w+:-]*)\]\s*|"
    r"\[cron:[^\]\n]+\]\s*|\[Retry after the previous model attempt failed or timed out\]\s*|"
    r"Note: The previous agent run was aborted by the user\. Resume carefully [^\n]*\s*|"
    r"\[(?=[^\]\n]*\])"
    # labels of older versions, which wrote no weekday; "LINE" is also a word of logs
    r"(?:WebChat|WhatsApp|Telegram|Signal|Slack|Discord|Google Chat|iMessage|(?:Microsoft )?Teams|"
    r"Matrix|Zalo(?: Personal)?|BlueBubbles|Feishu|Lark|Mattermost|Nextcloud Talk|Nostr|Tlon|"
    r"Twitch) (?:[^\]\n]*(?:-\d\d[ T]\d\d:\d\d|\bid:\d|[@#]\w|\+\d)[^\]\n]*|"
    # a name without a time, an id or an address: the person may also type such a bracket
    r"[^\W\d_a-z][\w.'-]*(?: [^\W\d_a-z][\w.'-]*){0,2})\]\s*|"
    r"\[media attached[: ][^\n]*\]\s*?(?:\n\s*|\Z)|"
    r"To send an image back, prefer the message tool [^\n]*\s*|\[message_id: [^\]\n]*\]\s*|"
    rf"{re.escape(_OTHERS)}.*?"
    r"\[Current message - respond to this\]\s*|"
    r"System(?: \(untrusted\))?: (?:\[[^\]\n]*\d:\d\d|Exec )[^\n]*\s*|"
    r"Delivery: (?:to send|Final assistant|No visible)[^\n]*\s*|"
    r"requester_profile is the verified [^\n]*\s*|"
    r"(?:Context|Untrusted context \(metadata[^\n)]*\)):\n"
    r"<active_memory_plugin>.*?</active_memory_plugin>\s*|"
    r"(?!Context: )[^\n]{1,80}(?:\(untrusted[^\n)]*\):|⟦openclaw:ctx⟧)\n```(?:json)?\n.*?\n```\s*|"
    r"(?!Context: )[^\n]{1,80}⟦openclaw:ctx⟧\n(?:[^\n]+\n)*+\s*)++",
    re.S,
)
#: The beginning of what the gateway puts after it.
_CONTEXT = re.compile(
    r"(?:\A|\n)[ \t]*"
    r"(?:(?:Context: ⟦openclaw:ctx⟧|Untrusted context \(metadata, do not[^\n]*\):)\n|"
    r"\[message_id: [^\]\n]*\]\s*\Z)"
)
#: The name of a session's file after the session was restarted.
_FILE = re.compile(r"(.+?)(?<!\.trajectory)\.jsonl(?:\.reset\.[^/]+)?")


class OpenClawConversation(Conversation):
    """A session in the database of an OpenClaw agent."""

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        super().__init__(where)
        scan = _Scanner()
        self._starts: list[int] = []
        places: dict[str, int] = {}  # event -> position of its turn
        with reading(where.path) as db:
            query = "SELECT parent_session_key, spawned_by FROM session_windows WHERE session_id=?"
            found = session_row(db, query, where)
            self.parent = text_of(found[1]) or text_of(found[0])
            for seq, event in self._events(db, 0, None):
                if begun := scan.event(seq, event):
                    self.ids.append(begun[0])
                    self._starts.append(begun[1])
                places[text_of(event.get("id"))] = len(self.ids) - 1
        places[""] = -1
        self._replaced = replaced_turns(
            self.ids, scan.after, lambda after, parents: places.get(after, len(parents) - 1)
        )
        self.facts, self.unknown = scan.facts, scan.unknown
        self.facts["session"] = where.session

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        first, stop, _ = slice(first, last).indices(len(self.ids))
        if first >= stop:
            return []
        end = self._starts[stop] if stop < len(self._starts) else None
        with reading(self.where.path) as db:
            events = (event for _, event in self._events(db, self._starts[first], end))
            found = _parse(events, self.facts)
        name_replaced(found, first, self.ids, self._replaced)
        return found

    def taken_back(self) -> list[int]:
        """Return the positions of turns that the person took back while no other turn follows."""
        return [place for place, newer in self._replaced.items() if newer == len(self.ids)]

    def _events(
        self, db: Any, start: int, stop: int | None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        rows = db.execute(
            "SELECT seq, event_json, event_zstd FROM transcript_events WHERE session_id=? AND "
            "seq>=? AND seq<? ORDER BY seq",
            (self.session, start, stop if stop is not None else 1 << 62),
        ).fetchall()
        for seq, text, packed in rows:
            yield seq, table(text if text is not None else _unpack(packed))


def _unpack(packed: object) -> bytes:
    import zstandard

    if not isinstance(packed, bytes):
        return b""
    try:
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=_MAX_BYTES)
    except zstandard.ZstdError:
        return b""


class _Scanner(LinkedScanner):
    def __init__(self) -> None:
        super().__init__()
        self._leaf: str | None = None  # the id of a ``leaf`` event that was the last one

    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        return self.event(offset, table_of(msgspec.json.decode(raw)))

    def event(self, place: int, event: dict[str, Any]) -> tuple[str, int] | None:
        kind, own = str(event.get("type")), text_of(event.get("id"))
        # an event without a parent follows the one before it
        parent, self._leaf = text_of(event.get("parentId")) or self._leaf, None
        if kind not in _KNOWN:
            self.count(kind)
        elif kind == "session":
            self.facts = {
                "session": own,
                "cwd": text_of(event.get("cwd")),
                "version": str(event.get("version", "")),
            }
        elif kind == "leaf":
            self._leaf = own
            self.rewind(own, text_of(event.get("appendParentId") or event.get("targetId")))
        elif kind == "message" and (prompt := _prompt(event)):
            count_unknown_tag(self.unknown, prompt)
            self.begin(own, own, parent)
            return own, place
        else:
            self.link(own, parent)
        return None


def _message(event: dict[str, Any]) -> dict[str, Any]:
    return table_of(event, "message") if event.get("type") == "message" else {}


def _prompt(event: dict[str, Any]) -> str:
    """Return the text of a request, ``""`` for every other event."""
    message = _message(event)
    origin = table_of(message, "provenance")
    if message.get("role") != "user" or origin.get("kind") == "internal_system":
        return ""
    text = _CONTEXT.split(_own_text(message), maxsplit=1)[0].rstrip()
    if _HEARTBEAT.match(text) or text.startswith(_RETRY) or _is_of_another_session(message):
        return ""
    media = "[attachment]" if "[media attached" in blocks_text(message.get("content")) else ""
    return text or attached(message.get("content")) or media


def _is_of_another_session(message: dict[str, Any]) -> bool:
    kind = table_of(message, "provenance").get("kind")
    return kind == "inter_session" or _own_text(message).startswith(_INTER_SESSION)


def _own_text(message: dict[str, Any]) -> str:
    return _METADATA.sub("", blocks_text(message.get("content")))


def _has_messages_of_others(message: dict[str, Any]) -> bool:
    before = _METADATA.match(blocks_text(message.get("content")))
    return before is not None and _OTHERS in before[0]


def _parse_lines(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    return _parse((table(raw) for raw in lines), facts)


def _parse(events: Iterable[dict[str, Any]], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    turn: Turn | None = None
    tools: dict[str, ToolCall] = {}
    for event in events:
        message, when = _message(event), text_of(event.get("timestamp"))
        role = message.get("role")
        if _inline_results(message, tools) and role == "user" and not _prompt(event):
            continue
        if role == "user" and _is_of_another_session(message):
            if turn is not None:
                turn.outside = True
        elif role == "user" and not _own_text(message).startswith(_RETRY):
            tools, turn = {}, None
            if prompt := _prompt(event):
                sent = stamp(message.get("timestamp")) or when
                turn = Turn(
                    agent=Reader.agent,
                    session=facts.get("session", ""),
                    turn=text_of(event.get("id")),
                    started=sent,
                    ended=when,
                    cwd=facts.get("cwd", ""),
                    user=prompt,
                    tools=[],
                    status="interrupted",
                    outside=_has_messages_of_others(message),
                )
                turns.append(turn)
        elif turn is not None and role == "assistant":
            turn.ended = when or turn.ended
            _answer(turn, tools, message)
            _inline_results(message, tools)  # of calls in the same message
        elif turn is not None and role == "toolResult":
            output = blocks_text(message.get("content"))
            set_result(tools, message.get("toolCallId"), output, message.get("isError"))
    return turns


def _inline_results(message: dict[str, Any], tools: dict[str, ToolCall]) -> bool:
    """Record tool results that another message contains. Return whether there were any."""
    blocks = tables_of(message.get("content"))
    found = [b for b in blocks if b.get("type") in ("toolResult", "tool_result")]
    for block in found:
        key = text_of(block.get("toolCallId")) or block.get("tool_use_id")
        set_result(tools, key, blocks_text(block.get("content")), block.get("isError"))
    return bool(found)


def _answer(turn: Turn, tools: dict[str, ToolCall], message: dict[str, Any]) -> None:
    content = message.get("content")
    for block in blocks_of(content):
        if block.get("type") == "text":
            turn.say(text_of(block.get("text")))
        elif block.get("type") == "toolCall":
            call = ToolCall(
                text_of(block.get("name")), input_text(block.get("arguments", block.get("input")))
            )
            tools[text_of(block.get("id"))] = call
            turn.call(call)
            turn.outside = turn.outside or call.name in SUB_AGENTS
    reason = message.get("stopReason")
    if reason == "error":
        turn.status = "failed"
        turn.say(text_of(message.get("errorMessage")))
    elif reason == "aborted":
        turn.status = "interrupted"
    elif reason != "toolUse" and blocks_text(content).strip():
        turn.status = "done"


class _LinesConversation(JsonlConversation):
    """A session in JSON lines."""

    scanner, parser = _Scanner, _parse_lines
    line_id = "id"


class _Lines(FileReader):
    """Reads sessions of older versions, in JSON lines."""

    agent = "openclaw"
    patterns = ("*/sessions/{}.jsonl*",)
    parts = "sessions.json"  # the list of sessions
    conversation = _LinesConversation

    def order(self, file: Path) -> Path:
        return file

    def session_of(self, path: Path) -> str:
        named = _FILE.fullmatch(path.name)
        return named[1] if named else path.stem

    def holds(self, name: str) -> bool | None:
        return None if _FILE.fullmatch(name) else False


class Reader(DatabaseOrFiles):
    """Reads the sessions of OpenClaw."""

    agent = "openclaw"
    own_names = re.compile(r".*\.sqlite", re.S)
    pattern = f"*/agent/{_DATABASE}"
    named = (
        "SELECT session_id FROM session_windows WHERE session_id=? OR ?=''"
        " ORDER BY updated_at DESC LIMIT 1"
    )
    listing = "SELECT session_id, updated_at FROM session_windows ORDER BY created_at"
    conversation = OpenClawConversation
    files = _Lines()

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        is_message = line.get("type") == "message" and "role" in table_of(line, "message")
        return line.get("type") == "session" or is_message
