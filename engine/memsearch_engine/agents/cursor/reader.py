"""Cursor's sessions.

From public readers of the versions of 2025 and 2026; not tested with the program.

The editor stores them in one database, ``state.vscdb``. A ``composerData`` record names its
messages (*bubbles*) in order; other messages were taken back. **A turn is named by the bubble of
its request.** A tool's call and its result are one bubble. Older versions store the messages inside
the record, and their tools beside them.

The command line, and the editor, too, append JSON lines below ``projects``. These have no ids,
results or models, and times only in the person's text. **There a turn is named by its line and its
words.** A session in the database is read only from there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from memsearch_engine.agents.cursor.folders import (
    CHATS,
    DATABASE,
    SESSION_ID,
    databases,
    folder_of_composer,
    folder_of_transcript,
)
from memsearch_engine.agents.transcripts.model import (
    SUB_AGENTS,
    Session,
    ToolCall,
    Turn,
    WholeConversation,
    any_read_outside,
    blocks_of,
    blocks_text,
    input_text,
    table_of,
    tables_of,
    text_of,
    value_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import NOT_JSON, records, regular
from memsearch_engine.agents.transcripts.sqlite import (
    DatabaseOrFiles,
    number,
    reading,
    stamp,
    utc,
)
from memsearch_engine.agents.transcripts.tags import split_after_last

_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"
_PERSON, _AGENT = 1, 2
_QUERY = re.compile(r"<user_query>\s*(.*)\s*</user_query>", re.S)
_AROUND = (
    "user_info",
    "system_reminder",
    "rules",
    "git_status",
    "agent_transcripts",
    "agent_skills",
    "open_and_recently_viewed_files",
    "attached_files",
    "image_files",
    "manually_attached_skills",
    "mcp_file_system",
    "additional_data",
    "timestamp",
)
#: Tools that take in content from outside, by numbers that stay the same when names change: search,
#: tools and resources of servers, pages.
_OUTSIDE_NUMBERS = (18, 19, 44, 45, 49, 57)
_TIME = re.compile(r"<timestamp>(.*?)</timestamp>\s*", re.S)
_STATED_TIME = re.compile(r"\w+, (\w+ \d+, \d{4}, \d+:\d+ [AP]M) \(UTC(?:([+-]\d+)(?::(\d+))?)?\)")
_OWN = "<system_notification>"  # the client's own message to its model
_TAKEN_OUT = "[REDACTED]"  # thinking
_OURS = ("recall", "open", "timeline", "note", "remember", "forget", "correct")
_MAX_CHILDREN = 200


def _head(db: Any, session: str) -> dict[str, Any]:
    """Return the database's record of a session; ``{}`` if it has none."""
    query = "SELECT value FROM cursorDiskKV WHERE key=?"
    row = db.execute(query, (_COMPOSER + session,)).fetchone()
    return table_of(value_of(row[0])) if row else {}


def _is_person(db: Any, session: str, bubble: dict[str, Any]) -> bool:
    """Return whether a request can be read."""
    if bubble.get("type", _PERSON) != _PERSON:
        return False
    if "text" in bubble:
        return True
    name = f"{_BUBBLE}{session}:{text_of(bubble.get('bubbleId'))}"
    return (
        db.execute(
            "SELECT 1 FROM cursorDiskKV WHERE key=? AND value IS NOT NULL", (name,)
        ).fetchone()
        is not None
    )


def _typed(raw: str) -> str:
    """Return what the person typed: the text in its tag, without the client's text around it.

    The client's text may quote such a tag itself.
    """
    bare = _without(raw, last=True)
    # the tag was in the client's text on both sides
    if "<user_query>" in raw and "<user_query>" not in bare:
        bare = _without(raw, last=False)
    asked = _QUERY.search(split_after_last(bare, "</user_query>")[0])
    return (asked[1] if asked else bare).strip()


def _without(raw: str, *, last: bool) -> str:
    """Return the text without the client's tags and their contents.

    Args:
        last: a content extends to the *last* end tag, because attachments may contain one;
            otherwise to the next.
    """
    for tag in _AROUND:
        start = raw.find(f"<{tag}")
        while start >= 0:
            end = raw.rfind(f"</{tag}>", start) if last else raw.find(f"</{tag}>", start)
            if end < 0:
                break
            raw = raw[:start] + raw[end + len(tag) + 3 :]
            start = raw.find(f"<{tag}", start)
    return raw


def _listed(head: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a session's messages in their order. Older versions have whole messages there."""
    return tables_of(head.get("fullConversationHeadersOnly") or head.get("conversation"))


def _tools_beside(head: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the tools of an older version's messages, by bubble."""
    found: dict[str, dict[str, Any]] = {}
    for part in tables_of(head.get("capabilities")):
        tools = table_of(value_of(table_of(part, "data").get("bubbleDataMap")))
        found |= {key: tool for key, tool in tools.items() if isinstance(tool, dict)}
    return found


def _result(tool: dict[str, Any]) -> str:
    given = value_of(tool.get("result"))
    if isinstance(given, dict) and isinstance(given.get("output"), str):
        return str(given["output"])
    if tool.get("result"):
        return text_of(tool["result"]) or input_text(tool["result"])
    error = value_of(tool.get("error"))
    return (
        text_of(error.get("clientVisibleErrorMessage"))
        if isinstance(error, dict)
        else text_of(tool.get("error"))
    )


def _child(tool: dict[str, Any]) -> str:
    """Return the session of the sub-agent that a tool started, ``""`` if unknown."""
    child = text_of(table_of(tool, "additionalData").get("subagentComposerId"))
    return child or text_of(table_of(value_of(tool.get("result"))).get("agentId"))


def _is_ours(name: str, given: Any) -> bool:
    """Return whether a call of a server's tool is one of ours."""
    if name.lower() not in ("callmcptool", "call_mcp_tool") or not isinstance(given, dict):
        return False
    return (
        text_of(given.get("server")).removeprefix("user-") == "memsearch"
        and given.get("toolName") in _OURS
    )


def _range(db: Any, prefix: str) -> list[tuple[str, Any]]:
    """Return the rows with a key prefix, through the key's index: the table may have gigabytes."""
    last = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    rows = db.execute(
        "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ?", (prefix, last)
    )
    return [(key, value) for key, value in rows if isinstance(key, str)]


def _when(given: Any) -> str:
    """Return a time of Cursor (milliseconds or ISO 8601); ``""`` if there is none."""
    return utc(given) if isinstance(given, str) else stamp(given) if given else ""


def _began(bubble: dict[str, Any]) -> str:
    """Return the time of the request before an answer, in older versions."""
    at = table_of(bubble, "timingInfo").get("clientStartTime")
    return _when(at) if number(at) > 946_684_800_000 else ""  # smaller numbers are durations


def _time_in_words(words: str) -> str:
    """Return the time in words: ``Wednesday, Nov 25, 2026, 12:40 PM (UTC+1)``, or ISO 8601."""
    if match := _STATED_TIME.fullmatch(words.strip()):
        hours, minutes = int(match[2] or 0), int(match[3] or 0)
        offset = timedelta(hours=hours, minutes=-minutes if hours < 0 else minutes)
        try:
            at = datetime.strptime(match[1], "%b %d, %Y, %I:%M %p").replace(tzinfo=UTC) - offset
        except (ValueError, OverflowError):
            return ""
        return stamp(at.timestamp() * 1000)
    return _when(words.strip())


class _Whole(WholeConversation):
    def _call(
        self, name: str, given: Any, output: str = "", failed: bool = False, number: Any = None
    ) -> None:
        turn, call = self._turns[-1], ToolCall(name, input_text(given), output, failed)
        before = turn.outside
        turn.call(call)
        turn.outside = turn.outside or number in _OUTSIDE_NUMBERS
        if _is_ours(name, given):
            turn.outside = before


class Composer(_Whole):
    """A session of the editor's database."""

    def _load(self) -> None:
        where = self.where
        with reading(where.path) as db:
            head = _head(db, where.session)
            if not head:
                raise FileNotFoundError(2, f"no session {where.session}", where.path)
            prefix = f"{_BUBBLE}{where.session}:"
            rows = {
                key.removeprefix(prefix): table_of(value_of(value))
                for key, value in _range(db, prefix)
            }
        self.parent = text_of(table_of(head, "subagentInfo").get("parentComposerId"))
        if not self.parent and where.session.startswith("task-"):
            self.parent = "(the session that sent it off)"
        self.version = str(head.get("_v", ""))
        user = Path(where.path).parent.parent
        self._read(head, rows, folder_of_composer(user, where.session, head, rows))
        self._turns = [turn for turn in self._turns if turn.user or turn.assistant or turn.tools]
        if (
            self._turns
            and head.get("status") in ("aborted", "cancelled")
            and self._turns[-1].status == "done"
        ):
            self._turns[-1].status = "interrupted"

    def _read(self, head: dict[str, Any], rows: dict[str, dict[str, Any]], cwd: str) -> None:
        beside = _tools_beside(head)
        listed = [{**one, **rows.get(text_of(one.get("bubbleId")), {})} for one in _listed(head)]
        for place, bubble in enumerate(listed):
            name, kind = (
                text_of(bubble.get("bubbleId")) or f"{self.session}-{place}",
                bubble.get("type"),
            )
            if kind == _PERSON and _OWN in text_of(bubble.get("text")):
                continue
            if kind == _PERSON:
                began = _when(bubble.get("createdAt")) or next(
                    map(_began, listed[place + 1 : place + 2]), ""
                )
                began = began or (_when(head.get("createdAt")) if not self._turns else "")
                self._begin(
                    name, began, text_of(bubble.get("text")) or text_of(bubble.get("rawText")), cwd
                )
                self.aliases |= {
                    other: name for other in [text_of(bubble.get("serverBubbleId"))] if other
                }
            elif kind != _AGENT:
                self._count(kind)
            elif self._turns:
                self._add(bubble, table_of(bubble, "toolFormerData") or beside.get(name, {}))

    def _add(self, bubble: dict[str, Any], tool: dict[str, Any]) -> None:
        turn = self._turns[-1]
        turn.ended = _when(bubble.get("createdAt")) or turn.ended
        turn.answer(text_of(bubble.get("text")))
        if called := text_of(tool.get("name")) or (
            "tool" if tool.get("tool") in _OUTSIDE_NUMBERS else ""
        ):
            given = value_of(tool.get("rawArgs")) or value_of(tool.get("params"))
            state = tool.get("status")
            self._call(called, given, _result(tool), state == "error", tool.get("tool"))
            turn.status = "done" if state in ("completed", "error") else "interrupted"
            if called.lower() in SUB_AGENTS and not turn.outside:
                turn.outside = self._read_outside(_child(tool))
        error = bubble.get("errorDetails")
        if (isinstance(error, dict) and error) or (isinstance(error, str) and error):
            parts = (
                [error]
                if isinstance(error, str)
                else [text_of(error.get("title")), text_of(error.get("message"))]
            )
            turn.fail(": ".join(part for part in parts if part) or "refused")

    def _read_outside(self, child: str) -> bool:
        """Whether a sub-agent read outside content, or its session can't be read."""
        return any_read_outside(self.session, [child], self._visit)

    def _visit(self, child: str) -> tuple[bool, list[str]]:
        turns = _Alone(Session(self.agent, child, self.where.path, "db")).turns() if child else []
        is_outside = not turns or any(turn.outside for turn in turns)
        return is_outside, [name for turn in turns for name in turn.aliases]


class _Alone(Composer):
    """A sub-agent's session. The ``aliases`` of its turns name the sub-agents that it started."""

    def _read_outside(self, child: str) -> bool:
        self._turns[-1].aliases.append(child)
        return False


class Transcript(_Whole):
    """A session in JSON lines."""

    def _load(self) -> None:
        where = self.where
        file = Path(where.path)
        base = next(
            (folder for folder in file.parents if folder.name == "agent-transcripts"), file.parent
        )
        self.parent = file.parent.parent.name if file.parent.name == "subagents" else ""
        self._folder = base
        cwd = folder_of_transcript(base, self.parent or where.session)
        with regular(where.path) as lines:
            for place, _, raw in records(lines, skipped=self.unknown):
                line = value_of(raw)
                if line is None:
                    self._count(NOT_JSON)
                elif isinstance(line, dict):
                    self._take(place, line, cwd)

    def _sub_agents_read_outside(self, turn: Turn) -> bool:
        return self._children_read_outside

    @cached_property
    def _children_read_outside(self) -> bool:
        """Whether any sub-agent read outside content, or their sessions can't be read."""
        if not SESSION_ID.fullmatch(self.session):
            return True
        files = list((self._folder / self.session / "subagents").glob("*.jsonl"))[:_MAX_CHILDREN]
        try:
            turns = [
                t
                for f in files
                for t in Transcript(Session(self.agent, f.stem, str(f), "transcript"))._turns
            ]
        except OSError:
            return True
        return not turns or any(turn.outside for turn in turns)

    def _take(self, place: int, line: dict[str, Any], cwd: str) -> None:
        role, kind = line.get("role"), line.get("type")
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else line.get("content")
        if role == "user":
            self._ask(place, blocks_text(content), cwd)
        elif role == "assistant":
            if self._turns:
                self._answer(content)
        elif kind in ("turn_ended", "error"):
            if self._turns:
                self._end(line)
        else:
            self._count(kind or role)

    def _ask(self, place: int, raw: str, cwd: str) -> None:
        words = _typed(raw)
        if words and _OWN not in raw:
            name = f"{place}-{hashlib.sha256(raw.encode('utf-8', 'replace')).hexdigest()[:8]}"
            stated = _TIME.search(split_after_last(raw, "</timestamp>")[0])
            self._begin(name, _time_in_words(stated[1]) if stated else "", words, cwd)

    def _answer(self, content: Any) -> None:
        turn = self._turns[-1]
        for block in blocks_of(content):
            if block.get("type") == "text":
                turn.answer(text_of(block.get("text")).strip().removesuffix(_TAKEN_OUT).strip())
            elif block.get("type") == "tool_use":
                self._call(text_of(block.get("name")), block.get("input"))

    def _end(self, line: dict[str, Any]) -> None:
        turn, error = self._turns[-1], text_of(line.get("error"))
        if line.get("status") == "success":
            turn.status = "done"
        elif line.get("status") == "aborted" or "aborted" in error.lower():
            turn.status = "interrupted"
        else:
            turn.fail(error or "refused")


class _Lines(FileReader):
    """Reads sessions in JSON lines below ``projects``."""

    agent = "cursor"
    patterns = ("*/agent-transcripts/**/{}.jsonl",)
    older = ("projects/*/agent-transcripts/**/*.txt",)
    conversation = Transcript

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Yield the sessions. If a session lies under two projects, the longer file counts.

        The editor writes such files, too. Sessions in its database are read from the database, and
        sessions that were deleted there are left out.
        """
        has_editor = any(file.is_file() for file in databases())
        best: dict[str, Session] = {}
        for found in super().sessions(folder, failed):
            file = Path(found.path)
            name = file.parent.parent.name if file.parent.name == "subagents" else file.stem
            is_editors = has_editor and not (
                SESSION_ID.fullmatch(name) and any(folder.parent.glob(f"{CHATS}/*/{name}"))
            )
            before = best.get(found.session)
            if not is_editors and (before is None or found.size > before.size):
                best[found.session] = found
        yield from best.values()

    def locate(self, folder: Path, session: str) -> Session | None:
        found = max(self.files(folder, session), key=lambda file: file.stat().st_size, default=None)
        return self.at(found, session) if found else None


class Reader(DatabaseOrFiles):
    """Reads the sessions of Cursor."""

    agent = "cursor"
    own_names = re.compile(re.escape(DATABASE))
    pattern = DATABASE
    conversation = Composer
    files = _Lines()

    def listed(self, db: Any) -> Iterator[tuple[Any, float, int]]:
        """Yield (id, last change in seconds since 1970, size in bytes or 0) of each session."""
        rows = _range(db, _COMPOSER)
        heads = [(key.removeprefix(_COMPOSER), table_of(value_of(raw)), raw) for key, raw in rows]
        for name, head, raw in sorted(heads, key=lambda row: number(row[1].get("createdAt"))):
            if any(_is_person(db, name, one) for one in _listed(head)):
                changed = number(head.get("lastUpdatedAt")) or number(head.get("createdAt"))
                yield name, changed / 1000, len(raw or "")

    def find(self, db: Any, session: str) -> str:
        """Return the id of the named session or, for ``""``, of the newest; ``""`` if missing."""
        if session:
            return session if _head(db, session) else ""
        return max(self.listed(db), key=lambda row: row[1], default=("",))[0]

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        is_message = line.get("role") in ("user", "assistant") and isinstance(
            line.get("message"), dict
        )
        return is_message or (line.get("type") == "turn_ended" and "status" in line)
