"""Mistral Vibe's sessions, in two layouts (checked with 3.0.2 and 2.16.1).

Since 3.0 a session is a folder below ``unified``. ``CURRENT`` names a generation, the generation's
manifest names the chunks that hold the entries in order, and a journal holds later changes. Entries
with the source ``turn_start`` begin turns; the client's messages to its model have another source.
A branch has its parent's prompts as messages of the client, so they are not turns there. **A turn
is named by its entry's id.** Only the end of the last turn is recorded: earlier turns without an
answer count as interrupted. A sub-agent's folder has no ``meta.json``.

Before 3.0 a session was ``messages.jsonl``, without times; a resumption copied all lines into
another folder. **A turn is named by its message's id**, which stays the same in the copy.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memsearch_engine.agents.transcripts.model import (
    Session,
    Turn,
    WholeConversation,
    any_read_outside,
    blocks_text,
    brings_outside,
    input_text,
    is_servers_tool,
    json_file,
    set_result,
    table_of,
    tables_of,
    text_of,
    value_of,
)
from memsearch_engine.agents.transcripts.readers import FileReader
from memsearch_engine.agents.transcripts.records import records
from memsearch_engine.agents.transcripts.sqlite import stamp
from memsearch_engine.core import safe_files

_CURRENT, _MESSAGES, _META = "CURRENT", "messages.jsonl", "meta.json"
_MAX = 256 * 1024 * 1024
_GENERATION = re.compile(r"\d{1,20}")
_CHUNK = re.compile(r"[0-9a-f]{64}")
_JOURNAL = re.compile(r"\d{1,20}\.jsonl")
_CHILD = re.compile(r"child-[0-9a-f]{1,64}")
_KNOWN = frozenset("message effect checkpoint reasoning callback notice".split())
_SKILL = "<skill_content"
#: Tools of the old layout that have a name like a server's tool.
_OWN_TOOLS = frozenset(
    "read_file write_file search_replace web_search "
    "web_fetch ask_user_question exit_plan_mode".split()
)
_ERROR, _CANCELLED = "<tool_error>", "<user_cancellation>"


def _old_read_outside(folder: Path) -> bool:
    """Like ``_read_outside``, for the old layout, with sub-agents in a folder of their session."""
    files = list(folder.glob(f"agents/*/{_MESSAGES}"))
    try:
        lines = [line for file in files for line in _lines(safe_files.read(file, _MAX))]
    except OSError:
        return True
    calls = (call for line in lines for call in tables_of(line.get("tool_calls")))
    made = [table_of(call, "function") for call in calls]
    return not files or any(
        brings_outside(text_of(f.get("name")), _arguments(f.get("arguments"))) for f in made
    )


def _arguments(given: Any) -> str:
    decoded = value_of(text_of(given))
    return text_of(given) if decoded is None else input_text(decoded)


def _read_outside(sessions: Path, child: str) -> bool:
    """Return whether a sub-agent, or one that it started, read content from outside.

    Also true if its session cannot be read.
    """

    def visit(name: str) -> tuple[bool, list[str]]:
        entries, _ = _history(sessions / name) if _CHILD.fullmatch(name) else ([], {})
        details = [table_of(one, "detail") for one in entries if one.get("type") == "effect"]
        is_outside = not entries or any(
            brings_outside(_tool(detail), input_text(detail.get("input")))
            for detail in details
            if detail.get("kind") == "tool"
        )
        children = [one for one in details if one.get("kind") == "subagent"]
        return is_outside, [text_of(one.get("childSessionId")) for one in children]

    return any_read_outside("(this session)", [child], visit)


def _tool(detail: dict[str, Any]) -> str:
    return text_of(detail.get("toolName")).removeprefix("file_system.")


def _typed(entry: dict[str, Any]) -> str:
    """Return what the person typed, without the text of a skill that the person named."""
    blocks = tables_of(entry.get("content"))
    own = [block for block in blocks if not text_of(block.get("text")).startswith(_SKILL)]
    text = blocks_text(own)
    return (
        text
        if text.strip()
        else "[image]"
        if any(block.get("type") == "image" for block in own)
        else ""
    )


def _history(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return (entries in order, how the last turn ended) of a session's folder.

    Names in its files are checked before they are opened.
    """
    generation = text_of(json_file(folder / _CURRENT, _MAX).get("generation"))
    if not _GENERATION.fullmatch(generation):
        return [], {}
    manifest = json_file(folder / "generations" / generation / "manifest.json", _MAX)
    state = table_of(
        json_file(folder / "generations" / generation / "projection-state.json", _MAX), "snapshot"
    )
    entries: list[dict[str, Any]] = []
    chunks = table_of(manifest, "projection_state").get("chunks")
    for chunk in chunks if isinstance(chunks, list) else []:
        if _CHUNK.fullmatch(text_of(chunk)):
            data = safe_files.read_or_empty(folder / "chunks" / f"{chunk}.json", _MAX)
            entries += tables_of(value_of(data))
    entries += tables_of(table_of(state, "history").get("entries"))
    ended = table_of(state, "latestTurn")
    journal = os.path.basename(text_of(table_of(manifest, "recovery_journal_segment").get("path")))
    since = manifest.get(
        "snapshot_sequence", json_file(folder / _CURRENT, _MAX).get("snapshot_sequence")
    )
    if _JOURNAL.fullmatch(journal):
        ended = _replay(_journal(folder / "journal" / journal, since), entries, ended)
    return entries, ended


def _journal(file: Path, since: Any) -> Iterator[dict[str, Any]]:
    """Yield the changes of the history after a snapshot."""
    for line in _lines(safe_files.read_or_empty(file, _MAX)):
        sequence = line.get("sequence")
        if line.get("type") != "projection_delta":
            continue
        if isinstance(since, int) and isinstance(sequence, int) and sequence <= since:
            continue
        yield from tables_of(table_of(line, "payload").get("delta"))


def _replay(
    changes: Iterable[dict[str, Any]], entries: list[dict[str, Any]], ended: dict[str, Any]
) -> dict[str, Any]:
    """Apply changes to *entries*. Return how the last turn ended."""
    for change in changes:
        op, entry, name = change.get("op"), change.get("entry"), change.get("id")
        if op == "append_entry" and isinstance(entry, dict):
            entries.append(entry)
        elif op == "replace_entry" and isinstance(entry, dict):
            entries[:] = [entry if old.get("id") == name else old for old in entries]
        elif op == "remove_entry":
            entries[:] = [old for old in entries if old.get("id") != name]
        elif op == "set_envelope":
            ended = table_of(table_of(change, "state"), "latestTurn")
        elif op == "set_history_entries" and isinstance(change.get("entries"), list):
            entries[:] = tables_of(change["entries"])
    return ended


def _lines(data: bytes, skipped: dict[str, int] | None = None) -> Iterator[dict[str, Any]]:
    for _, _, raw in records(io.BytesIO(data), skipped=skipped):
        if line := table_of(value_of(raw)):
            yield line


class VibeConversation(WholeConversation):
    """A session in either layout."""

    def _load(self) -> None:
        file = Path(self.where.path)
        safe_files.read(file, _MAX)  # raises if it is not a file
        meta = json_file(file.parent / _META, _MAX)
        self.session = text_of(meta.get("session_id")) or self.session
        self.parent = "" if meta else "(a sub-agent's)"
        self._cwd = text_of(table_of(meta, "environment").get("working_directory"))
        if file.name == _CURRENT:
            self._of_entries(file.parent)
        else:
            self._of_lines(file, text_of(meta.get("start_time")))

    # -- since 3.0

    def _of_entries(self, folder: Path) -> None:
        entries, ended = _history(folder)
        turns = self._turns
        for entry in entries:
            kind, source = text_of(entry.get("type")), entry.get("source")
            if kind not in _KNOWN:
                self._count(kind)
            at = stamp(entry.get("createdAt"))
            words = _typed(entry) if kind == "message" and entry.get("role") == "user" else ""
            if words and source == "turn_start":
                self._begin(text_of(entry.get("id")) or at or "unnamed", at, words, self._cwd)
            elif not turns:
                continue
            elif words and source == "turn_steer":
                turns[-1].add_prompt(words)
            elif (
                kind == "message" and entry.get("role") == "assistant" and entry.get("inputEntryId")
            ):
                turns[-1].ended = stamp(entry.get("updatedAt")) or at
                turns[-1].answer(blocks_text(entry.get("content")))
            elif kind == "effect":
                self._effect(turns[-1], entry, folder)
        if turns and ended.get("status") == "failed":
            error = ended.get("error")
            turns[-1].say(text_of(error.get("message")) if isinstance(error, dict) else "refused")
            turns[-1].status = "failed"
        elif turns and ended.get("status") == "interrupted":
            turns[-1].status = "interrupted"

    def _effect(self, turn: Turn, entry: dict[str, Any], folder: Path) -> None:
        detail, state = table_of(entry, "detail"), table_of(entry, "state")
        kind = detail.get("kind")
        if kind not in ("tool", "subagent"):  # `shell`: the person's own command
            return
        call = turn.use(_tool(detail) or "subagent", detail.get("input"))
        result = table_of(state, "output")
        shown = table_of(result, "structured_content")
        streams = [text for stream in ("stdout", "stderr") if (text := text_of(shown.get(stream)))]
        error = table_of(state, "error")
        call.output = (
            "\n".join(streams)
            or text_of(shown.get("content"))
            or blocks_text(result.get("content"))
            or text_of(state.get("outputText"))
            or text_of(error.get("message"))
        )
        call.failed = state.get("status") in ("failed", "cancelled") or shown.get(
            "returncode"
        ) not in (None, 0)
        if kind == "subagent":
            turn.outside = turn.outside or _read_outside(
                folder.parent, text_of(detail.get("childSessionId"))
            )

    # -- before 3.0

    def _of_lines(self, file: Path, began: str) -> None:
        turns = self._turns
        for line in _lines(safe_files.read(file, _MAX), self.unknown):
            role, content = line.get("role"), text_of(line.get("content"))
            if role == "user" and content.strip() and line.get("injected") is not True:
                name = text_of(line.get("message_id")) or f"{self.session}-{len(turns)}"
                self._begin(name, began, content, self._cwd)
            elif not turns:
                continue
            elif role == "assistant":
                turns[-1].answer(content)
                for made in tables_of(line.get("tool_calls")):
                    function = table_of(made, "function")
                    given = _arguments(function.get("arguments"))
                    call = self._use(made.get("id"), function.get("name"), given)
                    is_outside = is_servers_tool(call.name, _OWN_TOOLS) or (
                        call.name == "task" and _old_read_outside(file.parent)
                    )
                    turns[-1].outside = turns[-1].outside or is_outside
            elif role == "tool":
                failed = content.startswith((_ERROR, _CANCELLED))
                set_result(self._tools, line.get("tool_call_id"), content, failed)
            elif role not in ("user", "tool", "system"):
                self._count(role)


class Reader(FileReader):
    """Reads the sessions of Mistral Vibe."""

    agent = "vibe"
    own_names = re.compile(_CURRENT)
    older = ("session/session_*.json",)
    conversation = VibeConversation

    def files(self, folder: Path, session: str = "") -> Iterable[Path]:
        """Return the files that may hold a session, sorted by name.

        Names of the old layout contain the time at which the session began, and a resumption copied
        all earlier lines. So a session comes before its copies.
        """
        old = f"session_*_{session[:8]}" if session else "session_*"
        return (
            *sorted(folder.glob(f"{old}/{_MESSAGES}")),
            *sorted(folder.glob(f"unified/{session or '*'}/{_CURRENT}")),
        )

    def session_of(self, path: Path) -> str:
        """Return the id of the session in a file."""
        return text_of(json_file(path.parent / _META, _MAX).get("session_id")) or path.parent.name

    def measured(self, file: Path) -> tuple[float, int]:
        """Return (time of the last change, size) of all files of the session.

        Changes since the last generation are only in the journal.

        Raises:
            OSError: there is no ``meta.json``, as in a sub-agent's folder.
        """
        near = (file, *file.parent.glob("journal/*.jsonl"), file.parent / _META)
        infos = [one.stat() for one in near]
        return max(info.st_mtime for info in infos), sum(info.st_size for info in infos)

    def locate(self, folder: Path, session: str) -> Session | None:
        """Return the session with that id below *folder*, or None."""
        if not re.fullmatch(r"[0-9A-Za-z-]{8,64}", session):
            return None
        near = map(self.at, reversed([*self.files(folder, session)]))
        return next((found for found in near if found and found.session == session), None)

    def wrote(self, line: dict[str, Any]) -> bool:
        """Whether the agent wrote a JSON line."""
        return "message_id" in line and "role" in line
