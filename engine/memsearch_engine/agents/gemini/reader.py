"""Gemini CLI's sessions: JSON lines of messages and of changes to the list of messages.

Checked with 0.61.0.

A turn begins with a ``user`` message of the person. Results of tools, a session's context, and the
client's messages to its model (about a loop, a summary) are ``user`` messages, too, and begin no
turn. ``displayContent``, if present, is the typed text without the additions of hooks and named
files. A message that is repeated under its id then contains its tools.

**A turn is named by the id of its user message**, which stays the same when the session is resumed.

``$set.messages`` replaces the whole list at a start, a resumption, a cancellation, an error, a
rewind and a compression. ``$rewindTo`` cuts the list before a message: the turns from there on are
replaced by the next one. Earlier messages in the file were sent all the same. So lines are read in
their order, and a list only shows that a turn was refused.

The file names no folder; ``.project_root`` beside ``chats`` does. In 2025 only a hash of the
folder's path did. A resumption in another minute leaves an empty file under the same session.
Sub-agents have files of their own in a folder with their parent's id, and are not sessions. Until
spring 2026 a session was one JSON document (``session-*.json``) with the same messages. When such a
session is resumed, the client copies it into JSON lines beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.jsonl import Offsets, Scanner, WithSubAgents
from memsearch_engine.agents.transcripts.locate import project_roots
from memsearch_engine.agents.transcripts.model import (
    Conversation,
    Session,
    ToolCall,
    Turn,
    attached,
    input_text,
    json_file,
    table_of,
    tables_of,
    text_of,
    value_of,
    well_formed,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import NOT_JSON, decoded, first_record
from memsearch_engine.agents.transcripts.tags import (
    count_unknown_tag,
    split_after_last,
    without_blocks,
)
from memsearch_engine.core import safe_files
from memsearch_engine.core.home import Home

_RETENTION_DAYS = 30  # default of its settings
_NEVER = 10_000
_UNITS = {"d": 1, "w": 7, "m": 30, "h": 1 / 24}
_KNOWN = frozenset(("user", "gemini", "info", "error", "warning"))
#: Blocks that the client puts into a prompt, as parts of their own.
_BLOCKS = "hook_context|system_note"
_ADDED = re.compile(r"(?:\n\n)?<hook_context>.*?</hook_context>", re.S)  # to a tool's answer
#: The beginning of a compressed session. Beside a prompt that is one command, also the answer to
#: that command.
_SUMMARY = "<state_snapshot>"
#: The beginnings of the client's own messages to its model.
_MACHINE = (
    "<session_context>",
    _SUMMARY,
    "System: Potential loop detected",
    "You have stopped calling tools without finishing",
    "You have exceeded the time limit. You have one final chance",
    "You have exceeded the maximum number of turns. You have one final chance",
)
_WRAPPED = re.compile(
    r"<untrusted_context>\n(?:Output: )?(.*?)(?:\nProcess Group PGID: "
    r"[^\n]*)?\n</untrusted_context>",
    re.S,
)
_EXIT = re.compile(r"^Exit Code: (\d+)$", re.M)
#: The client's text when the user ended a turn, or the client itself because of a loop.
_HALTED = ("Request cancelled", "A potential loop was detected")
_SUBAGENT = "subagent"
#: The tool that loads a skill. If the person typed the skill's name, the call is in the previous
#: message, and its turn is complete.
_SKILL = "activate_skill"
#: The name of a project's folder in 2025.
_HASH = re.compile(r"[0-9a-f]{64}")
_MAX_ROOT, _MAX_DOCUMENT = 8192, 256 << 20
_DOCUMENT = re.compile(r"session-\d{4}-\d\d-\d\dT\d\d-\d\d-[^/]+\.json")
#: Words that the person sent while the model worked, with the client's text around them.
_STEERED = re.compile(r"User steering update:\n<user_input>\n(.*?)\n</user_input>\n.*", re.S)
#: The beginning of the part of a prompt with the files that it names.
_FILES = "\n--- Content from referenced files"


class _Line(msgspec.Struct):
    """The fields that the reader needs, of any type because files are untrusted."""

    id: Any = None
    type: Any = None
    timestamp: Any = None
    content: Any = None
    displayContent: Any = None
    toolCalls: Any = None
    sessionId: Any = None
    kind: Any = None
    change: Any = msgspec.field(name="$set", default=None)
    cut: Any = msgspec.field(name="$rewindTo", default=None)


_decode = msgspec.json.Decoder(_Line).decode


class Reader(FileReader):
    """Reads the sessions of Gemini CLI."""

    agent = "gemini"
    compaction_mark = b"<state_snapshot>"
    own_names = _DOCUMENT

    def files(self, folder: Path, session: str = "") -> Iterator[Path]:
        """Yield the files of sessions, and older documents that were not copied into lines."""
        name = f"session-*-{session[:8]}.json" if session else "session-*.json"
        yield from folder.glob(f"*/chats/{name}l")
        for file in folder.glob(f"*/chats/{name}"):
            if not file.with_suffix(".jsonl").exists():
                yield file

    def session_of(self, path: Path) -> str:
        """Return the id of the session in a file."""
        return text_of(_header(path).sessionId) or path.stem

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Yield the sessions.

        Of several files of one session, the longest counts; the others are empty.
        """
        best: dict[tuple[str, str], Session] = {}
        for found in super().sessions(folder, failed):
            key = os.path.dirname(found.path), found.session
            if key not in best or best[key].size < found.size:
                best[key] = found
        yield from best.values()

    def locate(self, folder: Path, session: str) -> Session | None:
        """Return the session with that id below *folder*, or None."""
        near = (self.at(file) for file in self.files(folder, session))
        named = (one for one in near if one and one.session == session)
        return max(named, key=lambda one: one.size, default=None)

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """Return the named session in a file, or its only or newest one; None if there is none."""
        found = super().at(path, session)
        return found and msgspec.structs.replace(found, size=os.stat(path).st_size)

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        own = ("projectHash", "$set", "$rewindTo")
        return any(name in line for name in own) or line.get("type") == "gemini"

    def compaction_summary(self, line: dict[str, Any]) -> str | None:
        """Return the summary of a context compaction in a line: the first of the new messages."""
        for message in tables_of(table_of(line, "$set").get("messages")):
            for part in tables_of(message.get("content")):
                if (text := text_of(part.get("text"))).startswith(_SUMMARY):
                    return text
        return None

    def retention_days(self, sessions: Path) -> int:
        """Return the days after which sessions are deleted.

        Gemini also deletes a session that was resumed in another minute at its next start. So
        evidence is archived at capture.
        """
        settings = json_file(sessions.parent / "settings.json")
        retention = table_of(settings, "general", "sessionRetention")
        if retention.get("enabled") is False:
            return _NEVER
        age = re.fullmatch(r"(\d{1,4})([dwmh])", str(retention.get("maxAge", "")))
        return max(1, int(int(age[1]) * _UNITS[age[2]])) if age else _RETENTION_DAYS

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        """Open a session."""
        kind = _Older if where.path.endswith(".json") else GeminiConversation
        return kind(where, cache)


def _header(path: Path) -> _Line:
    is_document = path.suffix == ".json"
    raw = well_formed(safe_files.read(path, _MAX_DOCUMENT)) if is_document else first_record(path)
    return next(decoded([raw], _decode), _Line())


def _document(path: str | os.PathLike[str]) -> list[bytes]:
    """Return a session of an older version as lines: its header, then each message.

    Raises OSError.
    """
    data = table_of(value_of(safe_files.read(path, _MAX_DOCUMENT)))
    messages = tables_of(data.pop("messages", None))
    return [json.dumps(row).encode() for row in (data, *messages)]


class _Scanner(Scanner):
    def feed(self, offset: int, raw: bytes) -> tuple[str, int] | None:
        line = _decode(raw)
        if cut := text_of(line.cut):
            self.after[""] = cut
        if (found := self._turn(offset, line)) and "" in self.after:
            self.after[found[0]] = self.after.pop("")
        return found

    def _turn(self, offset: int, line: _Line) -> tuple[str, int] | None:
        if line.type is None:
            if text_of(line.sessionId):
                self.facts["session"] = text_of(line.sessionId)
                if line.kind == _SUBAGENT:
                    self.facts["parent"] = _SUBAGENT
            elif line.change is None and line.cut is None:
                self.count("(no type)")
            return None
        if not isinstance(line.type, str) or line.type not in _KNOWN:
            self.count(line.type)
            return None
        words = _words(line)
        count_unknown_tag(self.unknown, words)
        return (_name(line), offset) if words and not _has_results(line) else None


def _name(line: _Line) -> str:
    return text_of(line.id) or text_of(line.timestamp)


def _has_results(line: _Line) -> bool:
    """Return whether the message answers calls of tools, so that it belongs to the turn."""
    return any("functionResponse" in part for part in tables_of(line.content))


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [text_of(part.get("text")) for part in tables_of(content)]


def _words(line: _Line) -> str:
    """Return what the person typed, ``""`` if the message is not the person's."""
    if line.type != "user":
        return ""
    texts = [_STEERED.sub(r"\1", without_blocks(text, _BLOCKS)) for text in _texts(line.content)]
    own = [
        text for text in takewhile(lambda text: not text.startswith(_FILES), texts) if text.strip()
    ]
    if not own:
        return attached(line.content)
    if own[0].startswith(_MACHINE):
        return ""
    shown = [without_blocks(text, _BLOCKS) for text in _texts(line.displayContent)]
    return "\n".join(text for text in shown if text.strip()) or "\n".join(own)


def _parse(lines: Iterable[bytes], facts: dict[str, str]) -> list[Turn]:
    turns: list[Turn] = []
    tools: dict[str, ToolCall] = {}
    answered: set[str] = set()
    is_halted = False
    for line in decoded(lines, _decode):
        stamp = text_of(line.timestamp)
        if (words := _words(line)) and turns and _has_results(line):
            turns[-1].add_prompt(words)
        elif words:
            tools, answered, is_halted = {}, set(), False
            session = facts.get("session", "")
            turns.append(
                Turn(
                    Reader.agent,
                    session,
                    _name(line),
                    stamp,
                    stamp,
                    user=words,
                    status="interrupted",
                )
            )
            continue
        if not turns:
            continue
        turn = turns[-1]
        if line.type == "gemini":
            turn.ended = stamp or turn.ended
            _answer(turn, tools, answered, line)
        elif line.type == "info" and text_of(line.content).startswith(_HALTED):
            is_halted = True
            turn.status = "interrupted" if turn.status == "failed" else turn.status
        elif (
            turn.status == "interrupted"
            and not is_halted
            and not turn.assistant
            and _dropped(turn, line.change)
        ):
            turn.status = "failed"
    return turns


def _dropped(turn: Turn, change: Any) -> bool:
    """Whether the new list of messages has neither the turn nor a summary: it was refused."""
    messages = change.get("messages") if isinstance(change, dict) else None
    if not isinstance(messages, list):
        return False
    remaining = tables_of(messages)
    is_summed_up = any(
        text.startswith(_SUMMARY)
        for message in remaining
        for text in _texts(message.get("content"))
    )
    return not is_summed_up and all(message.get("id") != turn.turn for message in remaining)


def _answer(turn: Turn, tools: dict[str, ToolCall], seen: set[str], line: _Line) -> None:
    text = "\n".join(text for text in _texts(line.content) if text)
    if _name(line) not in seen and text.strip() and not text.startswith(_SUMMARY):
        turn.answer(text)
        seen.add(_name(line))
    for number, given in enumerate(line.toolCalls if isinstance(line.toolCalls, list) else []):
        if not isinstance(given, dict):
            continue
        name = text_of(given.get("id")) or f"{_name(line)}/{number}"
        if name not in tools:
            tools[name] = ToolCall(text_of(given.get("name")), input_text(given.get("args")))
            turn.call(tools[name])
            if tools[name].name != _SKILL:
                turn.status = "interrupted"  # until an answer follows
        _result(tools[name], given)


def _result(call: ToolCall, given: dict[str, Any]) -> None:
    """Record the output of a tool, without the text around it for the model."""
    answered = "\n".join(_responses(given.get("result")))
    if match := _WRAPPED.search(split_after_last(answered, "</untrusted_context>")[0]):
        answered = match[1]
    closed, rest = split_after_last(answered, "</hook_context>")
    answered = _ADDED.sub("", closed) + rest
    exit_code = _EXIT.search(answered)
    shown = given.get("resultDisplay")
    diff = text_of(table_of(shown).get("fileDiff"))
    call.output = diff or text_of(shown) or answered
    call.failed = given.get("status") not in ("success", None) or bool(
        exit_code and exit_code[1] != "0"
    )


def _responses(result: Any) -> Iterator[str]:
    for part in tables_of(result):
        if response := table_of(part, "functionResponse", "response"):
            yield text_of(response.get("output")) or text_of(response.get("error"))


class GeminiConversation(WithSubAgents):
    """A session file of Gemini CLI."""

    scanner, parser = _Scanner, _parse

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        super().__init__(where, cache)
        self._home = Home(cache.parent) if cache else None

    def _follows(self, after: str, parents: list[int]) -> int:
        """Return the position before the turn whose message a rewind took back."""
        return (self.ids.index(after) if after in self.ids else len(parents)) - 1

    def sub_agents(self) -> Iterable[Path]:
        """Return the files of the sub-agents of this session."""
        return (Path(self.where.path).parent / self.session).glob("*.jsonl")

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        found = super().turns(first, last)
        root = self._root() if found else ""
        for turn in found:
            turn.cwd = root
        return found

    def _root(self) -> str:
        """Return the session's folder.

        A folder above the file may be a link, which ``safe_files`` refuses.
        """
        chats = Path(self.where.path).parent
        real = Path(os.path.realpath(chats))
        for folder in (real.parent, real.parent.parent):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                named = safe_files.read(folder / ".project_root", _MAX_ROOT).decode("utf-8").strip()
                return named if os.path.isabs(named) and named.isprintable() else ""
        return _folder_of_hash(chats.parent, self._home)


def _folder_of_hash(folder: Path, home: Home | None) -> str:
    """Return the project's folder whose path has the hash that names *folder*.

    Versions of 2025 name a folder only so. The known paths are hashed: those of the client's own
    lists and those of known projects.
    """
    if not _HASH.fullmatch(folder.name):
        return ""
    base, known = Path(os.path.realpath(folder.parent.parent)), list[str]()
    for name in ("projects.json", "trustedFolders.json"):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            table = json.loads(safe_files.read(base / name, safe_files.MAX_SETTINGS))
            known += table_of({"": table}, "", "projects") or table_of({"": table}, "")
    known += project_roots(home) if home else []
    named = folder.name
    return next((path for path in known if sha256(os.fsencode(path)).hexdigest() == named), "")


class _Older(GeminiConversation):
    """A session in one JSON document. Its positions are those of its messages."""

    def _scan(self, cache: Path | None) -> Offsets:
        self._rows = _document(self.where.path)
        scan = _Scanner()
        begun = [turn for place, row in enumerate(self._rows) if (turn := scan.feed(place, row))]
        if not scan.facts:
            scan.unknown[NOT_JSON] = 1
        ids, starts = [name for name, _ in begun], [place for _, place in begun]
        return Offsets(0, 0, "", 0, ids, starts, scan.facts, scan.unknown, scan.aliases)

    def _lines(self, start: int, stop: int | None) -> Iterable[bytes]:
        return self._rows[start:stop]
