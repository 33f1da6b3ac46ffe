"""Mistral Vibe's sessions, in two layouts (3.0.2, and 2.16.1 before it).

Since 3.0 a session is a folder below ``unified``: ``CURRENT`` names a generation, its manifest the
chunks that hold the entries in order, and a journal what came since. Entries with the source
``turn_start`` begin turns; what the client says to its model has another. A branch has its parent's
words as the client's, so they are nobody's turns there. **A turn is named by its entry's id.** How
a turn ended is known of the last
one alone: earlier ones without an answer count as interrupted. A sub-agent's folder has no
``meta.json``.

Before, a session was ``messages.jsonl``, without times; a resumption copied all lines into another
folder. **A turn is named by its message's id**, which the copy keeps.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memsearch_engine.agents.transcripts.jsonl import records
from memsearch_engine.agents.transcripts.model import (
    Conversation,
    Session,
    ToolCall,
    Turn,
    blocks_text,
    brings_outside,
    document,
    input_text,
    is_servers_tool,
    text_of,
)
from memsearch_engine.agents.transcripts.sqlite import stamp
from memsearch_engine.agents.vibe import AGENT
from memsearch_engine.core import safe_files

KIND = "transcript"
_CURRENT, _MESSAGES, _META = "CURRENT", "messages.jsonl", "meta.json"
_MAX = 256 * 1024 * 1024
_GENERATION = re.compile(r"\d{1,20}")
_CHUNK = re.compile(r"[0-9a-f]{64}")
_JOURNAL = re.compile(r"\d{1,20}\.jsonl")
_CHILD = re.compile(r"child-[0-9a-f]{1,64}")
_KNOWN = frozenset("message effect checkpoint reasoning callback notice".split())
_SKILL = "<skill_content"
_MAX_CHILDREN = 200
#: Tools of the old layout with a name like a server's.
_OWN_TOOLS = frozenset(
    "read_file write_file search_replace web_search web_fetch ask_user_question exit_plan_mode".split()
)
_ERROR, _CANCELLED = "<tool_error>", "<user_cancellation>"


def sessions(folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
    """Every session below *folder* (``logs/session``)."""
    # by name: those of the old layout say when they began, and a resumption copied what was there
    # already
    for file in (
        *sorted(folder.glob(f"session_*/{_MESSAGES}")),
        *sorted(folder.glob(f"unified/*/{_CURRENT}")),
    ):
        try:
            # what came since the last generation is in the journal alone
            infos = [
                one.stat()
                for one in (file, *file.parent.glob("journal/*.jsonl"), file.parent / _META)
            ]
        except OSError:  # without `meta.json`: a sub-agent's
            continue
        newest, size = max(info.st_mtime for info in infos), sum(info.st_size for info in infos)
        yield Session(AGENT.name, _session(file), str(file), KIND, newest, size)


def locate(folder: Path, session: str) -> Session | None:
    if not re.fullmatch(r"[0-9A-Za-z-]{8,64}", session):
        return None
    near = (
        *folder.glob(f"unified/{session}/{_CURRENT}"),
        *folder.glob(f"session_*_{session[:8]}/{_MESSAGES}"),
    )
    return next((found for file in near if (found := at(file)) and found.session == session), None)


def at(path: str | os.PathLike[str], session: str = "") -> Session | None:
    """The session that a file belongs to, None where it can't be one."""
    path = Path(path)
    return (
        Session(AGENT.name, session or _session(path), str(path), KIND)
        if holds(path.name) is not False
        else None
    )


def _session(path: Path) -> str:
    return text_of(_table(path.parent / _META).get("session_id")) or path.parent.name


def holds(name: str) -> bool | None:
    """None: lines of JSON may be anybody's."""
    return True if name == _CURRENT else None if name.endswith(".jsonl") else False


def wrote(line: dict[str, Any]) -> bool:
    return "message_id" in line and "role" in line


def open_session(where: Session, cache: Path | None = None) -> Conversation:
    return VibeConversation(where)


class VibeConversation(Conversation):
    agent = AGENT.name

    def __init__(self, where: Session) -> None:
        super().__init__(where)
        file = Path(where.path)
        safe_files.read(file, _MAX)  # raises where it is no file
        meta = _table(file.parent / _META)
        self.session = text_of(meta.get("session_id")) or where.session
        self.parent = "" if meta else "(a sub-agent's)"
        environment = meta.get("environment")
        self._cwd = (
            text_of(environment.get("working_directory")) if isinstance(environment, dict) else ""
        )
        is_old = file.name != _CURRENT
        self._turns = list(
            self._of_lines(file, text_of(meta.get("start_time")))
            if is_old
            else self._of_entries(file.parent)
        )
        self.ids = [turn.turn for turn in self._turns]

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        return self._turns[first:last]

    def _new(self, name: str, at: str, words: str) -> Turn:
        return Turn(
            self.agent, self.session, name, at, at, self._cwd, words, tools=[], status="interrupted"
        )

    # -- since 3.0

    def _of_entries(self, folder: Path) -> list[Turn]:
        entries, ended = _history(folder)
        turns: list[Turn] = []
        for entry in entries:
            kind, source = text_of(entry.get("type")), entry.get("source")
            if kind not in _KNOWN:
                self.unknown[kind[:40]] = self.unknown.get(kind[:40], 0) + 1
            at = stamp(entry.get("createdAt"))
            words = _typed(entry) if kind == "message" and entry.get("role") == "user" else ""
            if words and source == "turn_start":
                turns.append(self._new(text_of(entry.get("id")) or at or "unnamed", at, words))
            elif not turns:
                continue
            elif words and source == "turn_steer":
                turns[-1].user = f"{turns[-1].user}\n\n{words}"
            elif (
                kind == "message" and entry.get("role") == "assistant" and entry.get("inputEntryId")
            ):
                turns[-1].ended = stamp(entry.get("updatedAt")) or at
                text = blocks_text(entry.get("content"))
                turns[-1].say(text)
                turns[-1].status = "done" if text.strip() else turns[-1].status
            elif kind == "effect":
                self._effect(turns[-1], entry, folder)
        if turns and ended.get("status") == "failed":
            error = ended.get("error")
            turns[-1].status = "failed"
            turns[-1].say(text_of(error.get("message")) if isinstance(error, dict) else "refused")
        elif turns and ended.get("status") == "interrupted":
            turns[-1].status = "interrupted"
        return turns

    def _effect(self, turn: Turn, entry: dict[str, Any], folder: Path) -> None:
        detail, state = _dict(entry, "detail"), _dict(entry, "state")
        kind = detail.get("kind")
        if kind not in ("tool", "subagent"):  # `shell`: the person's own command
            return
        call = ToolCall(_tool(detail) or "subagent", input_text(detail.get("input")))
        turn.call(call)
        turn.status = "interrupted"  # until words follow
        told = _dict(state, "output")
        shown = _dict(told, "structured_content")
        streams = [text for stream in ("stdout", "stderr") if (text := text_of(shown.get(stream)))]
        error = _dict(state, "error")
        call.output = (
            "\n".join(streams)
            or text_of(shown.get("content"))
            or blocks_text(told.get("content"))
            or text_of(state.get("outputText"))
            or text_of(error.get("message"))
        )
        call.failed = state.get("status") in ("failed", "cancelled") or shown.get(
            "returncode"
        ) not in (None, 0)
        if kind == "subagent":
            turn.outside = turn.outside or _took_in(
                folder.parent, text_of(detail.get("childSessionId"))
            )

    # -- before

    def _of_lines(self, file: Path, began: str) -> list[Turn]:
        turns: list[Turn] = []
        tools: dict[str, ToolCall] = {}
        for line in _lines(safe_files.read(file, _MAX), self.unknown):
            role, content = line.get("role"), text_of(line.get("content"))
            if role == "user" and content.strip() and line.get("injected") is not True:
                turns.append(
                    self._new(
                        text_of(line.get("message_id")) or f"{self.session}-{len(turns)}",
                        began,
                        content,
                    )
                )
                tools = {}
            elif not turns:
                continue
            elif role == "assistant":
                turns[-1].say(content)
                turns[-1].status = "done" if content.strip() else turns[-1].status
                calls = line.get("tool_calls")
                for made in calls if isinstance(calls, list) else []:
                    function = _dict(made, "function") if isinstance(made, dict) else {}
                    call = ToolCall(
                        text_of(function.get("name")), _arguments(function.get("arguments"))
                    )
                    tools[text_of(made.get("id")) if isinstance(made, dict) else ""] = call
                    turns[-1].call(call)
                    is_outside = is_servers_tool(call.name, _OWN_TOOLS) or (
                        call.name == "task" and _old_took_in(file.parent)
                    )
                    turns[-1].outside = turns[-1].outside or is_outside
                    turns[-1].status = "interrupted"
            elif role == "tool" and (done := tools.get(text_of(line.get("tool_call_id")))):
                done.output, done.failed = content, content.startswith((_ERROR, _CANCELLED))
            elif role not in ("user", "tool", "system"):
                self.unknown[str(role)[:40]] = self.unknown.get(str(role)[:40], 0) + 1
        return turns


def _old_took_in(folder: Path) -> bool:
    """The same of the old layout, whose sub-agents lie in a folder of their session's."""
    files = list(folder.glob(f"agents/*/{_MESSAGES}"))
    try:
        lines = [line for file in files for line in _lines(safe_files.read(file, _MAX))]
    except OSError:
        return True
    calls = (
        call
        for line in lines
        if isinstance(line.get("tool_calls"), list)
        for call in line["tool_calls"]
    )
    made = [_dict(call, "function") for call in calls if isinstance(call, dict)]
    return not files or any(
        brings_outside(text_of(f.get("name")), _arguments(f.get("arguments"))) for f in made
    )


def _arguments(given: Any) -> str:
    try:
        return input_text(document(text_of(given).encode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return text_of(given)


def _took_in(sessions: Path, child: str) -> bool:
    """Whether a sub-agent, or any that it sent off itself, took in content from outside; so it is
    said, too, where that can't be read.
    """
    seen: set[str] = set()
    waiting = [child]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        entries, _ = (
            _history(sessions / name)
            if _CHILD.fullmatch(name) and len(seen) < _MAX_CHILDREN
            else ([], {})
        )
        if not entries:
            return True
        for detail in (
            _dict(entry, "detail") for entry in entries if entry.get("type") == "effect"
        ):
            if detail.get("kind") == "subagent":
                waiting.append(text_of(detail.get("childSessionId")))
            elif detail.get("kind") == "tool" and brings_outside(
                _tool(detail), input_text(detail.get("input"))
            ):
                return True
    return False


def _tool(detail: dict[str, Any]) -> str:
    return text_of(detail.get("toolName")).removeprefix("file_system.")


def _typed(entry: dict[str, Any]) -> str:
    """What the person typed, without the text of a skill whose name that was."""
    content = entry.get("content")
    blocks = content if isinstance(content, list) else []
    own = [
        block
        for block in blocks
        if isinstance(block, dict) and not text_of(block.get("text")).startswith(_SKILL)
    ]
    text = blocks_text(own)
    return (
        text
        if text.strip()
        else "[image]"
        if any(block.get("type") == "image" for block in own)
        else ""
    )


def _history(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """(entries in order, how the last turn ended) of a session's folder. Names in its files are
    checked before they are opened.
    """
    generation = text_of(_table(folder / _CURRENT).get("generation"))
    if not _GENERATION.fullmatch(generation):
        return [], {}
    manifest = _table(folder / "generations" / generation / "manifest.json")
    state = _dict(_table(folder / "generations" / generation / "projection-state.json"), "snapshot")
    entries: list[dict[str, Any]] = []
    chunks = _dict(manifest, "projection_state").get("chunks")
    for chunk in chunks if isinstance(chunks, list) else []:
        if _CHUNK.fullmatch(text_of(chunk)):
            found = _value(folder / "chunks" / f"{chunk}.json")
            entries += (
                [entry for entry in found if isinstance(entry, dict)]
                if isinstance(found, list)
                else []
            )
    rest = _dict(state, "history").get("entries")
    entries += (
        [entry for entry in rest if isinstance(entry, dict)] if isinstance(rest, list) else []
    )
    ended = _dict(state, "latestTurn")
    journal = os.path.basename(text_of(_dict(manifest, "recovery_journal_segment").get("path")))
    since = manifest.get("snapshot_sequence", _table(folder / _CURRENT).get("snapshot_sequence"))
    if _JOURNAL.fullmatch(journal):
        ended = _replay(_journal(folder / "journal" / journal, since), entries, ended)
    return entries, ended


def _journal(file: Path, since: Any) -> Iterator[dict[str, Any]]:
    """Changes of the history that came after a snapshot."""
    try:
        data = safe_files.read(file, _MAX)
    except OSError:
        return
    for line in _lines(data):
        sequence = line.get("sequence")
        if line.get("type") != "projection_delta":
            continue
        if isinstance(since, int) and isinstance(sequence, int) and sequence <= since:
            continue
        delta = _dict(line, "payload").get("delta")
        yield from (
            change
            for change in (delta if isinstance(delta, list) else [])
            if isinstance(change, dict)
        )


def _replay(
    changes: Iterable[dict[str, Any]], entries: list[dict[str, Any]], ended: dict[str, Any]
) -> dict[str, Any]:
    """Apply changes to *entries*; how the last turn ended by then."""
    for change in changes:
        op, entry, name = change.get("op"), change.get("entry"), change.get("id")
        if op == "append_entry" and isinstance(entry, dict):
            entries.append(entry)
        elif op == "replace_entry" and isinstance(entry, dict):
            entries[:] = [entry if old.get("id") == name else old for old in entries]
        elif op == "remove_entry":
            entries[:] = [old for old in entries if old.get("id") != name]
        elif op == "set_envelope":
            ended = _dict(_dict(change, "state"), "latestTurn")
        elif op == "set_history_entries" and isinstance(change.get("entries"), list):
            entries[:] = [one for one in change["entries"] if isinstance(one, dict)]
    return ended


def _dict(table: dict[str, Any], name: str) -> dict[str, Any]:
    value = table.get(name)
    return value if isinstance(value, dict) else {}


def _lines(data: bytes, skipped: dict[str, int] | None = None) -> Iterator[dict[str, Any]]:
    for _, _, raw in records(io.BytesIO(data), skipped=skipped):
        try:
            line = document(raw)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            yield line


def _value(file: Path) -> Any:
    """What a file of JSON holds; None where it can't be read."""
    try:
        return document(safe_files.read(file, _MAX))
    except (OSError, ValueError, RecursionError):
        return None


def _table(file: Path) -> dict[str, Any]:
    value = _value(file)
    return value if isinstance(value, dict) else {}
