"""The entry point of the agents' hooks: a payload on stdin becomes a file in the event queue, and the
answer to the agent goes to stdout, within tens of milliseconds.

Standard library only. It always exits 0 with valid output, and reads stdin with a limit and a
deadline, since some clients never close it. An event holds ids, paths, the folder and times, never
text. What an agent is answered is ``injection.hook_answers``'.
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
_MAX_LATE_S = 60.0  # for which a process of its own waits for the end of a payload
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
#: Events after which turns may be finished. The others only answer.
FINISHING = {"Stop", "StopFailure", "SessionEnd", "PreCompact", "Interrupt"}
#: Events at which agents show what a hook printed, be it `{}`.
_SHOWN = {"PreCompact", "PostCompact"}
_MAX_LOG = 1_000_000  # bytes; the older half of the errors is hook.log.1
_MAX = 4096  # characters of an id or a path


def main(agent: str, event: str) -> int:
    """Take one event. Returns 0 whatever happens: an agent must never fail for its memory."""
    start = time.monotonic()
    output: dict[str, Any] = {}
    detached = False
    try:
        if not os.environ.get("MEMSEARCH_DISABLE") and agent in agent_registry.PACKAGES:
            chunks: list[bytes] = []
            payload = _read_payload(start + _DEADLINE_S, chunks)
            if payload is None and event in FINISHING and not _is_closed(chunks):
                detached = _detach(quiet=_is_quiet(agent, event))
                start = time.monotonic()  # the agent goes on; this process waits for the rest
                if detached:
                    payload = _read_payload(time.monotonic() + _MAX_LATE_S, chunks)
            # the turns of a sub-agent are its parent's
            if payload is not None and not payload.get("agent_id"):
                output = _answer(agent, event, payload, start)
            elif payload is None and event in (*FINISHING, "SessionStart"):
                missing = "the payload did not come; the transcripts are looked through instead"
                _log(agent, event, TimeoutError(missing))
                wire.start_service(paths.home_root())
    except Exception as error:  # noqa: BLE001 - last resort; the reason goes to the log, not to the agent
        _log(agent, event, error)
    if detached:
        os._exit(0)
    if sys.stdout is None:  # it was closed before we began
        return 0
    if not output and _is_quiet(agent, event):
        return 0
    try:
        sys.stdout.write(json.dumps(output) + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        # nobody reads it; the interpreter must not complain about that at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _is_quiet(agent: str, event: str) -> bool:
    """Whether an agent shows an empty answer to a person, and does without one."""
    return (
        event in _SHOWN
        and agent in agent_registry.PACKAGES
        and agent_registry.agent(agent).is_quiet
    )


def _is_closed(chunks: list[bytes]) -> bool:
    """Whether nothing more can come: the end was read (``b""`` is the last chunk)."""
    return bool(chunks) and chunks[-1] == b""


def _detach(*, quiet: bool) -> bool:
    """Go on in a process of its own, and return True there. The first process ends; it answers
    ``{}`` unless it has to be *quiet*.
    """
    if os.fork():
        try:
            sys.stdout.write("" if quiet else "{}\n")
            sys.stdout.flush()
        except (OSError, ValueError, AttributeError):  # nobody may be reading
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
        # where the path is null, the agent stores nothing of this session
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
    """The path of a session's file; '' where its id is no file name."""
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
    """Read JSON from stdin until it is whole, closed, too big or too late.

    Args:
        end: when it is too late (``time.monotonic``).
        chunks: what was read, so that reading can go on; ``b""`` at its end: stdin was closed.
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


def _queue_event(
    home: str, agent: str, event: str, payload: dict[str, Any], start: float, **more: object
) -> None:
    """Write an event into the queue: a file that appears whole.

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
    """The folder that a variable names, absolute; '' where it names none."""
    named = os.environ.get(variable, "")
    return os.path.abspath(os.path.expanduser(named)) if named else ""


def _default_home(known: agent_registry.Agent) -> str:
    """Where an agent's home lies unless it was moved."""
    return paths.spelled(os.path.join(paths.user_home(), known.home))


def _agent_home(known: agent_registry.Agent, payload: dict[str, Any]) -> str:
    """Where an agent's home was moved to, '' where it was not. For agents that keep sessions in any
    folder, the folder of the session's file.
    """
    moved = _named_folder(known.sessions_variable) or _named_folder(known.home_variable)
    file = payload.get("transcript_path")
    if known.sessions or not isinstance(file, str) or not os.path.isabs(file):
        return moved
    is_known = any(file.startswith(base + os.sep) for base in (moved, _default_home(known)) if base)
    return moved if is_known else os.path.dirname(file)


def _log(agent: str, event: str, error: Exception) -> None:
    """Append an error to ``logs/hook.log``, and start a new file above a megabyte."""
    try:
        folder = paths.logs(paths.home_root())
        log = os.path.join(folder, "hook.log")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        try:
            if os.stat(log).st_size > _MAX_LOG:
                os.replace(log, f"{log}.1")
        except FileNotFoundError:
            pass
        with open(log, "a", encoding="utf-8") as out:
            out.write(f"{time.time():.0f} {agent} {event} {type(error).__name__}: {error}\n")
    except OSError:
        pass
