"""The event queue: files that hooks write into the folder ``inbox/``, and their processing.

For each event, the finished turns of its session become entries. One process does this at a time.
It is idempotent on (agent, session, turn): it captures every finished turn that is not in the
journal, so that the next hook completes the work of a killed one. An event is deleted after its
entries are on disk.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from memsearch_engine.agents.transcripts.locate import find_session, known_folders, open_session
from memsearch_engine.agents.transcripts.model import Session, Turn
from memsearch_engine.capture import summaries
from memsearch_engine.capture.capture_pipeline import CapturePipeline, home_of
from memsearch_engine.core import agent_registry, safe_files
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import AgentFolders, Home, lock
from memsearch_engine.core.project_location import has_notes
from memsearch_engine.core.settings import Settings
from memsearch_engine.injection import injection_log
from memsearch_engine.journal.write import Journal

log = logging.getLogger("memsearch.service")
MAX_EVENT = 1024 * 1024
#: Seconds to wait for an answer that is not yet in the transcript. Claude Code may write it after
#: its Stop hook.
_SETTLE_S = 3.0
_GIVE_UP_S = 24 * 3600
#: A plugin that was loaded without our installer reports first the end of a turn. That turn began
#: at most this many seconds before.
_BEGAN_BEFORE_S = 3600.0
_MAX_SIBLINGS = 10_000  # folders that are compared to find a renamed one
_NEWEST = 50  # events that are searched for the start of a session that has just sent a prompt


class QueueOutcome(msgspec.Struct):
    """The result of processing the queue.

    Attributes:
        captured, skipped, already: numbers of turns.
        waiting: (path, reason) of events that stay in the queue.
        memories: memory folders that were written.
        opened: memory folders in which sessions have begun.
    """

    captured: int = 0
    skipped: int = 0
    already: int = 0
    waiting: list[tuple[str, str]] = []
    memories: list[str] = []
    opened: list[str] = []


class HookEvent(msgspec.Struct):
    """An event of a hook.

    Attributes:
        path: its file.
        at: seconds since 1970.
        memsearch_dir: the value of ``MEMSEARCH_DIR`` in the session.
        agent_home: the agent's home if it is not the default.
        context: the context that was injected at the start.
        source: how the session began (``startup``, ``resume``, ``compact``, …).
        folder: *cwd* as ``DEVICE:INODE:MTIME``, the last in nanoseconds.
    """

    path: str
    agent: str
    event: str
    session: str
    turn: str
    transcript: str
    cwd: str
    at: float
    memsearch_dir: str = ""
    agent_home: str = ""
    context: str = ""
    source: str = ""
    folder: str = ""


def events(home: Home, newest: int = 0) -> Iterator[HookEvent]:
    """Yield the events in order of arrival. An invalid file is renamed to ``*.bad``.

    Args:
        newest: yield only this many of the newest events; 0 for all.
    """
    try:
        names = sorted(
            name
            for name in os.listdir(home.inbox)
            if name.endswith(".json") and not name.startswith(".")
        )
    except OSError:
        return
    for name in names[-newest:]:
        path = home.inbox / name
        try:
            record = json.loads(safe_files.read(path, MAX_EVENT))
            yield _checked(
                HookEvent(
                    str(path),
                    record["agent"],
                    record["event"],
                    record.get("session_id", ""),
                    record.get("prompt_id") or record.get("turn_id") or "",
                    record.get("transcript_path", ""),
                    record.get("cwd", ""),
                    float(record["at"]),
                    record.get("memsearch_dir", ""),
                    record.get("agent_home", ""),
                    record.get("context") or "",
                    record.get("source") or "",
                    record.get("folder") or "",
                )
            )
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            set_aside(path, f"it is no event: {error}")


def note_starts(home: Home, agent: str, session: str) -> None:
    """Record what was injected at a session's start if its event is still in the queue.

    The first prompt may follow at once and must not get the same notes again.
    """
    for event in events(home, newest=_NEWEST):
        if (event.agent, event.session) == (agent, session) and event.event == "SessionStart":
            _note_start(home, event)


def _note_start(home: Home, event: HookEvent) -> None:
    if event.source in ("compact", "clear"):
        injection_log.record_start(
            home, event.at, event.agent, event.session, injection_log.COMPACTED, event.cwd, ""
        )
    if event.context:
        injection_log.record_start(
            home, event.at, event.agent, event.session, event.event, event.cwd, event.context
        )


def _checked(event: HookEvent) -> HookEvent:
    """Return *event*.

    Raises:
        ValueError: a text is not valid in a file name (half a surrogate pair, a zero byte).
    """
    for value in (
        event.agent,
        event.session,
        event.turn,
        event.transcript,
        event.cwd,
        event.memsearch_dir,
        event.agent_home,
    ):
        if "\0" in value:
            raise ValueError("a zero byte in a path")
        value.encode(
            "utf-8",
            "strict" if any(0xD800 <= ord(char) < 0xDC80 for char in value) else "surrogateescape",
        )
    return event


def set_aside(path: Path, reason: str) -> None:
    """Set an event aside that can't be processed. The reason is written into a file beside it."""
    with contextlib.suppress(OSError):
        path.with_suffix(".why").write_text(
            reason.encode("utf-8", "replace").decode()[:500], encoding="utf-8"
        )
        path.replace(path.with_suffix(".bad"))


def bad(home: Home) -> list[tuple[str, str]]:
    """Return (name, reason) of the events that were set aside."""
    found = []
    for path in sorted(home.inbox.glob("*.bad")):
        try:
            found.append((path.name, path.with_suffix(".why").read_text(encoding="utf-8")))
        except OSError:
            found.append((path.name, "it could not be read"))
    return found


def work(
    home: Home, journal: Journal | None = None, settings: Settings | None = None
) -> QueueOutcome:
    """Process every event that can be processed now, unless another process does it.

    Args:
        settings: if ``capture.enabled`` is off, events are deleted and nothing is read or written.
    """
    journal = journal or Journal(home)
    outcome = QueueOutcome(waiting=[], memories=[], opened=[])
    if not home.inbox.is_dir():
        return outcome
    lock_fd = lock(home.inbox)
    if lock_fd is None:
        return outcome  # another process is working
    try:
        if settings is None or settings.capture.enabled:
            _work(CapturePipeline(home, journal, settings), outcome)
        else:
            for event in events(home):
                if (
                    event.event == "SessionStart"
                ):  # the injection is recorded although capture is off
                    _note_start(home, event)
                Path(event.path).unlink(missing_ok=True)
                outcome.skipped += 1
    finally:
        os.close(lock_fd)
    return outcome


def retry(home: Home) -> int:
    """Put events that were set aside back into the queue, and return how many."""
    count = 0
    for path in home.inbox.glob("*.bad"):
        path.with_suffix(".why").unlink(missing_ok=True)
        path.rename(path.with_suffix(".json"))
        count += 1
    return count


def drop(home: Home, names: list[str]) -> int:
    """Delete waiting events. Their turns stay in the transcripts, where an import finds them.

    Args:
        names: file names of the events; an empty list means all.

    Returns:
        The number of deleted events.
    """
    count = 0
    for path in home.inbox.glob("*.*"):
        if path.suffix in (".json", ".bad") and (not names or path.name in names):
            path.unlink(missing_ok=True)
            path.with_suffix(".why").unlink(missing_ok=True)
            count += 1
    return count


def drop_of(home: Home, agent: str) -> None:
    """Delete the waiting events of an agent that was uninstalled."""
    if names := [os.path.basename(e.path) for e in events(home) if e.agent == agent]:
        drop(home, names)


def _work(pipeline: CapturePipeline, outcome: QueueOutcome) -> None:
    try:
        for event in events(pipeline.home):
            try:
                done, reason = _take(event, pipeline, outcome)
            except (OSError, MemsearchError) as error:
                done, reason = False, str(error)
                if (
                    time.time() - event.at > _GIVE_UP_S
                ):  # its turns are recorded as failed, and tried again later
                    set_aside(Path(event.path), reason)
            except Exception as error:  # one event must not stop the others
                log.exception("event %s", os.path.basename(event.path))
                set_aside(Path(event.path), f"{type(error).__name__}: {error}")
                outcome.waiting.append((event.path, f"set aside: {type(error).__name__}: {error}"))
                continue
            if done:
                Path(event.path).unlink(missing_ok=True)
            else:
                outcome.waiting.append((event.path, reason))
    finally:
        pipeline.close()


def _named(memsearch_dir: str) -> str:
    """Return the memory folder for a value of ``MEMSEARCH_DIR``. A link there is intended."""
    return os.path.join(os.path.realpath(os.path.expanduser(memsearch_dir)), "memory")


def _renamed(event: HookEvent) -> tuple[str, str] | None:
    """Return the old and new path of a folder that was renamed since the hook ran.

    It is the session's folder or one above it. The session's folder has the same inode and change
    time as before.
    """
    if not event.folder or not os.path.isabs(event.cwd) or os.path.isdir(event.cwd):
        return None
    gone, above = event.cwd, os.path.dirname(event.cwd)
    while not os.path.isdir(above):
        gone, above = above, os.path.dirname(above)
    below = event.cwd[len(gone) :]
    with contextlib.suppress(OSError), os.scandir(above) as siblings:
        for sibling in itertools.islice(siblings, _MAX_SIBLINGS):
            with contextlib.suppress(OSError):
                info = os.lstat(sibling.path + below)
                if f"{info.st_dev}:{info.st_ino}:{info.st_mtime_ns}" == event.folder:
                    return gone, sibling.path
    return None


def _has_plugin(agent: str, pipeline: CapturePipeline, since: float) -> bool:
    """Whether an uninstalled agent now has our plugin from a marketplace.

    If it has, its turns are captured from *since* on.
    """
    part = agent_registry.part(agent, "installer")
    try:
        found = part is not None and bool(part.Installer().plugin())
    except MemsearchError:
        return False
    if found:
        pipeline.ledger.capturing(agent, since)
    return found


def _take(event: HookEvent, pipeline: CapturePipeline, outcome: QueueOutcome) -> tuple[bool, str]:
    age = time.time() - event.at
    if event.agent not in agent_registry.names():
        return True, ""
    if event.agent_home:  # the environment of the service is not that of the agent
        pipeline.ledger.remember_folder(event.agent, event.agent_home)
    since = max(0.0, event.at - _BEGAN_BEFORE_S)
    is_ending = event.event != "SessionStart"
    if (
        is_ending
        and not pipeline.ledger.is_capturing(event.agent, since)
        and not _has_plugin(event.agent, pipeline, since)
    ):
        return True, ""  # a session that was open at the uninstallation still has our plugin
    if not is_ending:
        _open(event, pipeline.home, outcome)
        return True, ""
    if summaries.is_off(pipeline.settings, event.agent):
        return True, ""
    folders = AgentFolders.from_env(seen=known_folders(pipeline.home))
    where = find_session(event.agent, event.session, event.transcript, folders)
    if where is None:
        return age > _GIVE_UP_S, "the transcript is not there"
    conversation = open_session(where, pipeline.home.offsets)
    if conversation.parent or conversation.is_ephemeral:
        return True, ""
    settled = age >= _SETTLE_S or event.event not in ("Stop", "StopFailure")
    known = pipeline.outcomes(conversation)
    wanted = conversation.aliases.get(event.turn, event.turn)
    for place, name in enumerate(conversation.ids):
        last = place == len(conversation.ids) - 1
        if (
            known.get(name) in ("captured", "trivial", "ours", "deleted")
            and name != wanted
            and not last
        ):
            continue
        found = pipeline.turn_at(conversation, place)
        if not found:  # the file was shortened meanwhile
            continue
        turn = found[0]
        if turn.status == "interrupted" and last:
            if not settled:
                return False, "the answer is not in the transcript yet"
            if event.event == "PreCompact" or turn.turn != wanted != "":
                continue  # the turn is not finished and will have its own event
        _capture(event, turn, where, pipeline, outcome)
    if wanted and wanted not in conversation.ids and not settled:
        return False, "the turn is not in the transcript yet"
    return True, ""


def _open(event: HookEvent, home: Home, outcome: QueueOutcome) -> None:
    """Note the start of a session, and which notes it opened."""
    _note_start(home, event)
    memory = _named(event.memsearch_dir) if event.memsearch_dir else home_of(event.cwd, home)
    if has_notes(memory) and memory not in outcome.opened:
        outcome.opened.append(memory)


def _capture(
    event: HookEvent, turn: Turn, where: Session, pipeline: CapturePipeline, outcome: QueueOutcome
) -> None:
    """Capture a turn into the folder that its event names, and count it."""
    memory, cwd = _named(event.memsearch_dir) if event.memsearch_dir else "", turn.cwd or event.cwd
    renamed = _renamed(event)
    if renamed and f"{cwd}{os.sep}".startswith(renamed[0] + os.sep):
        memory = memory or home_of(renamed[1] + cwd[len(renamed[0]) :], pipeline.home)
    try:
        captured = pipeline.capture(turn, where, memory=memory, cwd=event.cwd, at=event.at)
    except (OSError, MemsearchError) as error:
        pipeline.note_failed(turn, str(error))
        raise
    if captured.written:
        outcome.captured += 1
        if captured.memory not in outcome.memories:
            outcome.memories.append(captured.memory)
    elif captured.outcome == "captured":
        outcome.already += 1
    else:
        outcome.skipped += 1
