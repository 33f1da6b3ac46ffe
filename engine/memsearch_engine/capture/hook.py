"""The entry point of the agents' hooks.

It reads a payload from stdin, writes an event into the queue, and prints the answer to the agent,
within tens of milliseconds. It uses only the standard library, always exits with 0, and always
prints valid output. It reads stdin with a limit and a deadline, since some clients never close it.
An event has ids, paths, the folder and times, but no text of the conversation. The answers are from
``injection.hook_answers``.
"""

from __future__ import annotations

import os
import select
import sys
import time

from memsearch_engine.core import agent_registry, paths, wire
from memsearch_engine.core import quick_json as json

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    from typing import Any

MAX_PAYLOAD = 64 * 1024 * 1024
_DEADLINE_S = 0.15
_MAX_LATE_S = 60.0  # seconds that a detached process waits for the rest of a payload
_RECORDED = (
    "session_id",
    "prompt_id",
    "turn_id",
    "transcript_path",
    "cwd",
    "hook_event_name",
    "source",
    "reason",
)
#: Events after which turns may be finished. Other events only get an answer.
FINISHING = {"Stop", "StopFailure", "SessionEnd", "PreCompact", "Interrupt"}
#: Events whose output agents show to the user, even `{}`.
_SHOWN = {"PreCompact", "PostCompact"}
_MAX_LOG = 1_000_000  # bytes; older errors are in hook.log.1
_MAX = 4096  # characters of an id or a path


def main(agent: str, event: str) -> int:
    """Process one event.

    Returns:
        Always 0: an error of the memory must not make the agent fail.
    """
    start = time.monotonic()
    output: dict[str, Any] = {}
    detached = False
    try:
        if not os.environ.get("MEMSEARCH_DISABLE") and agent in agent_registry.AGENTS:
            chunks: list[bytes] = []
            payload = _read_payload(start + _DEADLINE_S, chunks)
            if payload is None and event in FINISHING and not _is_closed(chunks):
                detached = _detach(quiet=_is_quiet(agent, event))
                start = time.monotonic()  # the agent continues; this process waits for the rest
                if detached:
                    payload = _read_payload(time.monotonic() + _MAX_LATE_S, chunks)
            # turns of a sub-agent belong to its parent
            if payload is not None and not payload.get("agent_id"):
                output = _answer(agent, event, payload, start)
            elif payload is None and event in (*FINISHING, "SessionStart"):
                missing = "the payload did not come; the transcripts are looked through instead"
                _log(agent, event, TimeoutError(missing))
                wire.start_service(paths.home_root())
    except Exception as error:  # last resort: the reason goes to the log, not to the agent
        _log(agent, event, error)
    if detached:
        os._exit(0)
    if sys.stdout is None:  # it was closed before the start
        return 0
    if not output and _is_quiet(agent, event):
        return 0
    try:
        sys.stdout.write(json.dumps(output) + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        # nobody reads the output; without this the interpreter reports an error when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _is_quiet(agent: str, event: str) -> bool:
    """Whether the agent shows an empty answer to the user, and does not need one."""
    return (
        event in _SHOWN and agent in agent_registry.AGENTS and agent_registry.agent(agent).is_quiet
    )


def _is_closed(chunks: list[bytes]) -> bool:
    """Whether the end of the input was read (``b""`` is then the last chunk)."""
    return bool(chunks) and chunks[-1] == b""


def _detach(*, quiet: bool) -> bool:
    """Continue in a new process, and return True in it. The first process ends.

    Args:
        quiet: the first process prints nothing; otherwise it answers ``{}``.
    """
    if os.fork():
        try:
            sys.stdout.write("" if quiet else "{}\n")
            sys.stdout.flush()
        except (OSError, ValueError, AttributeError):  # the reader may be gone
            pass
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (1, 2):
        os.dup2(null, fd)
    return True


def _answer(agent: str, event: str, payload: dict[str, Any], start: float) -> dict[str, Any]:
    """Queue an event that ends turns or begins a session, and return the answer to the agent."""
    home, known = paths.home_root(), agent_registry.agent(agent)
    if known.transcript and not payload.get("transcript_path"):
        payload = {**payload, "transcript_path": _transcript(known, payload)}
    if event in FINISHING:
        # the path is null if the agent does not store this session
        if payload.get("transcript_path", "") is not None:
            _queue_event(home, agent, event, payload, start)
            wire.start_service(home)
        return {}

    def session_began(payload: dict[str, Any], context: str) -> None:
        _queue_event(home, agent, "SessionStart", payload, start, context=context)
        wire.start_service(home)

    from memsearch_engine.injection.hook_answers import HookAnswers  # `Stop` needs none of it

    return HookAnswers(home, agent, payload, start, session_began).answer(event)


def _transcript(known: agent_registry.Agent, payload: dict[str, Any]) -> str:
    """Return the path of a session's file; ``""`` if its id is not a valid file name."""
    session = payload.get("session_id")
    if (
        not isinstance(session, str)
        or os.path.basename(session) != session
        or session in ("", ".", "..")
    ):
        return ""
    base = _named_folder(known.home_variable) or _default_home(known)
    return os.path.join(base, known.sessions, known.transcript.replace("{session}", session))


def _read_payload(end: float, chunks: list[bytes]) -> dict[str, Any] | None:
    """Read JSON from stdin until it is complete, closed, too large or too late.

    Args:
        end: the deadline (``time.monotonic``).
        chunks: receives what was read, so that reading can continue; ``b""`` marks the end.
    """
    fd = 0
    while sum(map(len, chunks)) <= MAX_PAYLOAD:
        ready, _, _ = select.select([fd], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            break
        chunk = os.read(fd, 1 << 20)
        chunks.append(chunk)
        if not chunk:
            break
        if chunk.rstrip().endswith(b"}") and not select.select([fd], [], [], 0)[0]:
            try:
                return wire.table(json.loads(b"".join(chunks)))
            except ValueError:
                continue
    try:
        return wire.table(json.loads(b"".join(chunks)))
    except ValueError:
        return None


def _folder_id(cwd: object) -> str:
    """Return device, inode and change time of a session's folder, to find it after a rename.

    The inode alone may belong to another folder: a new one can get that of a deleted one.
    """
    try:
        info = os.stat(str(cwd or ""))
    except (OSError, ValueError):
        return ""
    return f"{info.st_dev}:{info.st_ino}:{info.st_mtime_ns}"


def _queue_event(
    home: str, agent: str, event: str, payload: dict[str, Any], start: float, **more: object
) -> None:
    """Write an event into the queue. The file appears with its whole content.

    Args:
        start: when the hook started (``time.monotonic``).
        more: further fields.

    Raises:
        OSError: it can't be written, or the disk is full.
    """
    queue = os.path.join(home, "inbox")
    os.makedirs(queue, mode=0o700, exist_ok=True)
    now, known = time.time(), agent_registry.agent(agent)
    moved = _agent_home(known, payload)
    record: dict[str, object] = {
        key: value[:_MAX] for key in _RECORDED if isinstance(value := payload.get(key), str)
    }
    record.update(
        agent=agent,
        event=event,
        at=now,
        memsearch_dir=os.environ.get("MEMSEARCH_DIR", ""),
        agent_home=moved,
        folder=_folder_id(record.get("cwd")),
        **more,
    )
    record["hook_ms"] = round((time.monotonic() - start) * 1000, 2)
    name = f"{now:.6f}-{os.getpid()}.json"
    temporary = os.path.join(queue, f".{name}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        data = json.dumps(record).encode()
        if os.write(fd, data) < len(data):
            raise OSError(28, "No space left on device")
    except OSError:
        os.unlink(temporary)
        raise
    finally:
        os.close(fd)
    os.rename(temporary, os.path.join(queue, name))


def _named_folder(variable: str) -> str:
    """Return the absolute folder that a variable names; ``""`` if it is not set."""
    named = os.environ.get(variable, "")
    return os.path.abspath(os.path.expanduser(named)) if named else ""


def _default_home(known: agent_registry.Agent) -> str:
    """Return an agent's default home."""
    return paths.spelled(os.path.join(paths.user_home(), known.home))


def _agent_home(known: agent_registry.Agent, payload: dict[str, Any]) -> str:
    """Return an agent's home if it is not the default; ``""`` if it is.

    For agents that store sessions in any folder, it is the folder of the session's file.
    """
    moved = _named_folder(known.sessions_variable) or _named_folder(known.home_variable)
    file = payload.get("transcript_path")
    if known.sessions or not isinstance(file, str) or not os.path.isabs(file):
        return moved
    is_known = any(file.startswith(base + os.sep) for base in (moved, _default_home(known)) if base)
    return moved if is_known else os.path.dirname(file)


def _log(agent: str, event: str, error: Exception) -> None:
    """Append an error to ``logs/hook.log``. Above a megabyte, start a new file."""
    try:
        folder = paths.logs(paths.home_root())
        log = os.path.join(folder, "hook.log")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        try:
            if os.stat(log).st_size > _MAX_LOG:
                os.replace(log, f"{log}.1")
        except FileNotFoundError:
            pass
        with open(
            log, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)
        ) as out:
            out.write(f"{time.time():.0f} {agent} {event} {type(error).__name__}: {error}\n")
    except OSError:
        pass
