"""Working the inbox off: find the turn, remove secrets, take notes, append. Run by one process at a time.

Idempotent on (agent, session, turn): every finished turn of the session that is not in the journal yet is taken, so a
hook that was killed is made up for by the next one. An event leaves the inbox only after its entries are on disk.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from memsearch_engine.capture.extract import extract, is_trivial
from memsearch_engine.errors import MemsearchError
from memsearch_engine.home import AgentFolders, Home
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.write import Journal
from memsearch_engine.projects import locate
from memsearch_engine.secrets.scan import redact
from memsearch_engine.transcripts import claude_code
from memsearch_engine.transcripts.locate import transcript_path
from memsearch_engine.transcripts.model import Turn

#: A turn whose answer is not in the transcript yet is waited for: Claude Code's file may lag its Stop hook.
_SETTLE_S = 3.0
_GIVE_UP_S = 24 * 3600


class Outcome(msgspec.Struct):
    """What became of the inbox. ``waiting``: events that are kept for later, with the reason."""

    captured: int = 0
    skipped: int = 0
    already: int = 0
    waiting: list[tuple[str, str]] = []
    memories: list[str] = []


class Event(msgspec.Struct):
    path: str
    agent: str
    event: str
    session: str
    turn: str
    transcript: str
    cwd: str
    at: float
    memsearch_dir: str = ""


def events(home: Home) -> Iterator[Event]:
    """Events in the order they came. What can't be read as one is moved aside as ``*.bad``."""
    try:
        names = sorted(name for name in os.listdir(home.inbox) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        return
    for name in names:
        path = home.inbox / name
        try:
            record = json.loads(path.read_bytes())
            yield Event(
                str(path),
                record["agent"],
                record["event"],
                record.get("session_id", ""),
                record.get("prompt_id") or record.get("turn_id") or "",
                record.get("transcript_path", ""),
                record.get("cwd", ""),
                float(record["at"]),
                record.get("memsearch_dir", ""),
            )
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError):
            path.replace(path.with_suffix(".bad"))


def work(home: Home, journal: Journal | None = None, *, enabled: bool = True) -> Outcome:
    """Take every event that can be taken now. Where another process is at it, nothing is done.

    Args:
        enabled: with capture switched off, events are dropped and nothing is read or written.
    """
    journal = journal or Journal(home)
    outcome = Outcome(waiting=[], memories=[])
    if not home.inbox.is_dir():
        return outcome
    lock = os.open(home.inbox, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if enabled:
            _work(home, journal, outcome)
        else:
            for event in events(home):
                Path(event.path).unlink(missing_ok=True)
                outcome.skipped += 1
    except BlockingIOError:
        pass
    finally:
        os.close(lock)
    return outcome


def _work(home: Home, journal: Journal, outcome: Outcome) -> None:
    folders = AgentFolders.from_env()
    for event in events(home):
        try:
            done, reason = _take(event, journal, outcome, folders)
        except (OSError, MemsearchError) as error:
            done, reason = False, str(error)
        if done:
            Path(event.path).unlink(missing_ok=True)
        else:
            outcome.waiting.append((event.path, reason))


def _take(event: Event, journal: Journal, outcome: Outcome, folders: AgentFolders) -> tuple[bool, str]:
    age = time.time() - event.at
    if event.agent != claude_code.AGENT:
        return age > _GIVE_UP_S, f"{event.agent} is not captured yet"
    path = transcript_path(event.agent, event.session, event.transcript, folders)
    if path is None:
        return age > _GIVE_UP_S, "the transcript is not there"
    turns = claude_code.read(path).turns
    waited_for = next((turn for turn in turns if turn.turn == event.turn), None)
    if event.event == "Stop" and age < _SETTLE_S and (waited_for is None or waited_for.status == "interrupted"):
        return False, "the answer is not in the transcript yet"
    last_is_open = event.event not in ("Stop", "StopFailure", "SessionEnd")
    for turn in turns[: -1 if last_is_open and turns else None]:
        if is_trivial(turn):
            outcome.skipped += 1
            continue
        if turn is turns[-1] and turn.status == "interrupted" and event.event == "Stop" and turn.turn != event.turn:
            continue  # the next turn has begun and will have its own event
        _append(event, turn, str(path), journal, outcome)
    return True, ""


def _append(event: Event, turn: Turn, path: str, journal: Journal, outcome: Outcome) -> None:
    cwd = turn.cwd or event.cwd
    memory = os.path.join(event.memsearch_dir, "memory") if event.memsearch_dir else locate(cwd, journal.home).memory
    when = local_time(turn.started) or datetime.fromtimestamp(event.at).astimezone()
    body, _ = redact(extract(_redacted(turn)))
    marks = {"trust": "outside"} if turn.outside else {}
    anchor = Anchor(turn.session or event.session, turn.turn, turn.agent, "transcript", path)
    result = journal.append_turn(memory, when.date().isoformat(), when.strftime("%H:%M"), body, anchor, marks)
    if result.written:
        outcome.captured += 1
        if memory not in outcome.memories:
            outcome.memories.append(memory)
    else:
        outcome.already += 1


def _redacted(turn: Turn) -> Turn:
    """The turn with secrets replaced before anything is cut: half a secret would not be recognised."""
    clean = msgspec.structs.replace(turn, user=redact(turn.user)[0], assistant=redact(turn.assistant)[0])
    clean.tools = [
        msgspec.structs.replace(tool, input=redact(tool.input)[0], output=redact(tool.output[:20_000])[0])
        for tool in turn.tools
    ]
    return clean


def local_time(stamp: str) -> datetime | None:
    """An ISO time stamp in this machine's zone: the day under which a person looks for it."""
    try:
        return datetime.fromisoformat(stamp.replace("Z", "+00:00")).astimezone()
    except ValueError:
        return None
