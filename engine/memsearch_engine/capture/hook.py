"""The hooks' entry point: a payload on stdin -> one small file in the inbox, and for a new session
its prebuilt context on stdout, within tens of milliseconds.

Standard library only; always exits 0 with valid output; reads stdin with a bound and a deadline,
since some clients never close it. What is kept: ids, paths, the folder and times. Never text. The
service is started where none runs, detached, and not waited for.
"""

from __future__ import annotations

import os
import select
import sys
import time

from memsearch_engine import __version__
from memsearch_engine.core import agent_registry, paths
from memsearch_engine.core import quick_json as json

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    import _socket
    import mmap
    from typing import Any

MAX_PAYLOAD = 64 * 1024 * 1024
_DEADLINE_S = 0.15
_PATIENCE_S = 60.0  # of the process that goes on where an agent is slow to say what ended
_KEEP = (
    "session_id",
    "prompt_id",
    "turn_id",
    "transcript_path",
    "cwd",
    "hook_event_name",
    "source",
    "reason",
)
# of what we say: some agents write its angle brackets in other characters
_FENCE = b"memsearch-memory id="
#: Events around an action of the agent's.
_ACTING = {"PreToolUse", "PostToolUse", "PostToolUseFailure"}
#: Of a tool's input what says what it does; the rest can be a whole file.
_TOLD = (
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "command",
    "cmd",
    "input",
    "patch",
    "patchText",
)
#: Events after which turns may be finished. The others only answer.
_FINISHING = {"Stop", "StopFailure", "SessionEnd", "PreCompact", "Interrupt"}
#: Events at which agents show what a hook printed, be it `{}`.
_SHOWN = {"PreCompact", "PostCompact"}
_MIN_PROMPT = 10
_PREPARE_S = 0.4  # that a start waits for a context that is made anew
#: Bytes of a line in which it says what it is: its first, or those right before what we said.
_LINE_HEAD, _LINE_NEAR = 8192, 64
_LOOK_S = 0.5
_LOOKED_THROUGH = 64 * 1024 * 1024  # bytes of a transcript, from its end
_MAX_LOG = 1_000_000  # bytes; the older half of what went wrong is hook.log.1
_MAX = 4096  # characters of an id or a path
_MAX_PROMPT = 20_000  # characters of a prompt in which something is looked for
_MAX_GIVEN = 200_000  # characters of a tool's input
_MAX_ANSWER = 1 << 20
#: Marks of a session, whichever agent's it is: a service that outlives it must not carry them, nor
#: that agent's own.
_SESSION_MARKS = ("PLUGIN_", "AI_AGENT", "MEMSEARCH_DIR")


def main(agent: str, event: str) -> int:
    """Take one event. Returns 0 whatever happens: an agent must never fail for its memory."""
    start = time.monotonic()
    output: dict[str, Any] = {}
    detached = False
    try:
        if not os.environ.get("MEMSEARCH_DISABLE") and agent in agent_registry.PACKAGES:
            chunks: list[bytes] = []
            payload = _payload(start + _DEADLINE_S, chunks)
            if payload is None and event in _FINISHING and not _ended(chunks):
                detached = _detach(quiet=_is_quiet(agent, event))
                start = (
                    time.monotonic()
                )  # the agent goes on; a process of its own waits for what comes late
                if detached:
                    payload = _payload(time.monotonic() + _PATIENCE_S, chunks)
            if payload is not None and not payload.get(
                "agent_id"
            ):  # a sub-agent's turns are its parent's
                output = _take(agent, event, payload, start)
            elif payload is None and event in (*_FINISHING, "SessionStart"):
                _log(
                    agent,
                    event,
                    TimeoutError(
                        "the payload did not come; the transcripts are looked through instead"
                    ),
                )
                _start_service(paths.home_root())
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


def _ended(chunks: list[bytes]) -> bool:
    """Whether nothing more can come: the end was read (``b""`` is the last chunk)."""
    return bool(chunks) and chunks[-1] == b""


def _detach(*, quiet: bool) -> bool:
    """Go on in a process of its own. True in that process; the first one ends, having said ``{}``
    unless it is to be *quiet*.
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


def _take(agent: str, event: str, payload: dict[str, Any], start: float) -> dict[str, Any]:
    home, known = paths.home_root(), agent_registry.agent(agent)
    if known.transcript and not payload.get("transcript_path"):
        payload = {**payload, "transcript_path": _transcript(known, payload)}
    output = _answered(home, agent, event, payload, start)
    if known.tools and (told := output.get("hookSpecificOutput")):
        named = f"the tools {', '.join(known.tools)}, or"
        told["additionalContext"] = str(told["additionalContext"]).replace(
            "the memory-recall skill, or", named
        )
    if known.escapes and (told := output.get("hookSpecificOutput")):
        rows = str(told["additionalContext"]).split("\n")
        is_fence = ("<memsearch-memory ", "</memsearch-memory>")
        told["additionalContext"] = "\n".join(
            f"[{r[1:-1]}]" if r.startswith(is_fence) else r for r in rows
        )
    said = output.pop("hookSpecificOutput", None) if known.answers_flat else None
    return {**output, "additionalContext": said["additionalContext"]} if said else output


def _transcript(known: agent_registry.Agent, payload: dict[str, Any]) -> str:
    """Where a session's file lies; '' where that can't be said."""
    session = payload.get("session_id")
    if (
        not isinstance(session, str)
        or os.path.basename(session) != session
        or session in ("", ".", "..")
    ):
        return ""
    base = _named_folder(known.home_variable) or _usual_home(known)
    return os.path.join(base, known.sessions, known.transcript.replace("{session}", session))


def _answered(
    home: str, agent: str, event: str, payload: dict[str, Any], start: float
) -> dict[str, Any]:
    if event == "UserPromptSubmit":
        prompt = payload.get("prompt")
        if not isinstance(prompt, str) or len(prompt.strip()) < _MIN_PROMPT:
            return {}
        place = _place(home, payload)
        return _at_prompt(home, agent, payload, prompt, place, _ready(home, place), start)
    if event == "BeforeAgent":
        return _before_agent(home, agent, payload, start)
    if event in _ACTING:
        return _around(home, agent, event, payload, start)
    if event == "SessionStart":
        place = _place(home, payload)
        ready = {} if _was_told(agent, payload) else _current(home, agent, payload, place, start)
        texts = _at_start(home, agent, payload, place, ready, start)
        output = _said("SessionStart", "\n\n".join(texts)) if texts else {}
        return output | (
            {"systemMessage": f"[memsearch] {problem}"}
            if (problem := _problem(home, ready))
            else {}
        )
    if (
        event in _FINISHING and payload.get("transcript_path", "") is not None
    ):  # null: the agent keeps nothing of this session
        _put(home, agent, event, payload, start)
        _start_service(home)
    return {}


def _said(event: str, text: str) -> dict[str, Any]:
    """The answer that agents which have hooks understand."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _at_start(
    home: str,
    agent: str,
    payload: dict[str, Any],
    place: dict[str, Any],
    context: dict[str, Any],
    start: float,
) -> list[str]:
    """What a session is told that begins, or goes on. *context*: what is ready for it, {} where it
    was told that.
    """
    texts = context.get("texts")
    text = texts.get(str(agent_registry.context_lines(agent))) if isinstance(texts, dict) else None
    if isinstance(text, str) and (
        own := (_table(context.get("own")) or {}).get(str(payload.get("session_id")))
    ):
        text = _without(text, own)
    _put(home, agent, "SessionStart", payload, start, context=context.get("id") if text else "")
    _start_service(home)
    told = [text] if isinstance(text, str) and text else []
    known = agent_registry.agent(agent)
    # where nothing that is said at a start is kept, a session that was compacted lacks it again
    # whenever it goes on
    is_compacted = payload.get("source") == "compact" or (
        payload.get("source") == "resume"
        and not known.told_in
        and _is_in(payload.get("transcript_path"), known.compacted)
    )
    if is_compacted and (carried := _carried(home, agent, payload, place, context, start)):
        told.append(carried)
    return told


def _before_agent(home: str, agent: str, payload: dict[str, Any], start: float) -> dict[str, Any]:
    """What a session is told at a prompt, where that is the only place for it: at its first prompt,
    and at the first one after a compaction, which nothing else tells of, also what is told at a
    start.
    """
    texts: list[str] = []
    place = _place(home, payload)
    ready = _ready(home, place)
    # the plugin of an agent whose sessions branch knows both of the branch that it is on
    was_told, is_compacted = payload.get("told"), payload.get("compacted")
    if ready.get("texts") and not (
        was_told
        if isinstance(was_told, bool)
        else _was_told(agent, {**payload, "source": "resume"})
    ):
        if not isinstance(is_compacted, bool):
            is_compacted = _is_in(
                payload.get("transcript_path"), agent_registry.agent(agent).compacted
            )
        source = "compact" if is_compacted else "startup"
        current = _current(home, agent, payload, place, start)
        texts = _at_start(home, agent, {**payload, "source": source}, place, current, start)
    prompt = payload.get("prompt")
    output: dict[str, Any] = {}
    if isinstance(prompt, str) and len(prompt.strip()) >= _MIN_PROMPT:
        output = _at_prompt(home, agent, payload, prompt, place, ready, start)
        if told := (output.get("hookSpecificOutput") or {}).get("additionalContext"):
            texts.append(told)
    return {**output, **_said("BeforeAgent", "\n\n".join(texts))} if texts else output


def _is_in(path: object, marks: tuple[bytes, ...]) -> bool:
    """Whether a transcript has one of *marks*."""
    try:
        with _mapped(path) as data:
            return any(data.rfind(mark, max(0, len(data) - _LOOKED_THROUGH)) >= 0 for mark in marks)
    except (OSError, ValueError):
        return False


def _mapped(path: object) -> mmap.mmap:
    """A transcript in memory. Raises OSError, ValueError where it is no file, or empty."""
    import mmap
    import stat

    if not isinstance(path, str) or not path:
        raise ValueError("no path")
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would keep us
    with open(fd, "rb"):
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("no file")
        return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)


def _at_prompt(
    home: str,
    agent: str,
    payload: dict[str, Any],
    prompt: str,
    place: dict[str, Any],
    ready: dict[str, Any],
    start: float,
) -> dict[str, Any]:
    """What the service says within the time that the owner allows for it, or nothing; a line for
    the person where it does.
    """
    output: dict[str, Any] = {}
    wait_ms = ready.get("wait_ms")
    if not isinstance(wait_ms, int) or wait_ms <= 0 or not payload.get("session_id"):
        return output
    told = _ask(
        home,
        agent,
        "recall",
        payload,
        place,
        {"prompt": prompt[:_MAX_PROMPT]},
        start + wait_ms / 1000,
    )
    if told is None:
        _start_service(home)
    elif isinstance(text := told.get("text"), str) and text:
        output |= _said("UserPromptSubmit", text)
        if ready.get("hint") and isinstance(line := told.get("line"), str) and line:
            output["systemMessage"] = line
    return output


def _around(
    home: str, agent: str, event: str, payload: dict[str, Any], start: float
) -> dict[str, Any]:
    """What is known about an action that is about to be done, or about the error that it ended
    with.
    """
    place = _place(home, payload)
    ready = _ready(home, place)
    wait_ms = ready.get("act_ms")
    if not isinstance(wait_ms, int) or wait_ms <= 0 or not payload.get("session_id"):
        return {}
    given = payload.get("tool_input")
    if isinstance(given, dict):
        given = {key: given[key] for key in _TOLD if key in given}
    if len(json.dumps(given)) > _MAX_GIVEN:
        return {}
    cwd = payload.get("cwd")
    params = {
        "tool": str(payload.get("tool_name") or "")[:_MAX],
        "given": given,
        "cwd": cwd if isinstance(cwd, str) else "",
    }
    if event != "PreToolUse":
        output = payload.get("error") or payload.get("tool_response") or payload.get("tool_result")
        if isinstance(output, dict):
            said = (
                output.get(key) for key in ("stdout", "stderr", "llmContent", "text_result_for_llm")
            )
            output = "\n".join(value for value in said if isinstance(value, str))
        if not isinstance(output, str) or not output:
            return {}
        params["output"] = output[-_MAX_PROMPT:]
    told = _ask(home, agent, "around", payload, place, params, start + wait_ms / 1000) or {}
    text, line = told.get("text"), told.get("line")
    if not isinstance(text, str) or not text:
        return {}
    named = payload.get(
        "hook_event_name"
    )  # as the agent calls it, which may tell only after what ours tells before
    name = named if isinstance(named, str) else event
    answer = _said(name, text)
    return (
        answer | {"systemMessage": line}
        if isinstance(line, str) and line and ready.get("hint")
        else answer
    )


def _carried(
    home: str,
    agent: str,
    payload: dict[str, Any],
    place: dict[str, Any],
    ready: dict[str, Any],
    start: float,
) -> str:
    """What a session that goes on after a compaction is told beside what any new one is; '' where
    that is not said in time.
    """
    wait_ms = ready.get("carry_ms")
    if not isinstance(wait_ms, int) or wait_ms <= 0 or not payload.get("session_id"):
        return ""
    params = {"transcript": str(payload.get("transcript_path") or "")[:_MAX]}
    told = _ask(home, agent, "carry_on", payload, place, params, start + wait_ms / 1000) or {}
    text = told.get("text")
    return text if isinstance(text, str) else ""


def _ask(
    home: str,
    agent: str,
    method: str,
    payload: dict[str, Any],
    place: dict[str, Any],
    params: dict[str, Any],
    end: float,
) -> dict[str, Any] | None:
    """The service's answer, {} where it comes after *end* (monotonic); None where no service
    listens.
    """
    import _socket

    from memsearch_engine.core.local_socket import same_user

    params |= {
        "agent": agent,
        "session": str(payload.get("session_id") or "")[:_MAX],
        "place": place,
    }
    peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        try:
            paths.check_socket_folder(home)
            peer.settimeout(max(0.001, end - time.monotonic()))
            peer.connect(paths.socket(home))
        except OSError:
            return None
        if not same_user(peer):
            return {}
        params["deadline_s"] = max(0.001, end - time.monotonic())
        # an older service finishes when it hears of a newer client; the next event then starts the
        # new one
        calls = [("hello", {"version": __version__}), (method, params)]
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": n, "method": m, "params": p})
            for n, (m, p) in enumerate(calls)
        ]
        try:
            peer.sendall(("\n".join(lines) + "\n").encode())
            return _answer(peer, 1, end)
        except (OSError, ValueError):  # too late, or no service of ours
            return {}
    finally:
        peer.close()


def _answer(peer: _socket.socket, number: int, end: float) -> dict[str, Any]:
    """The result of a call, {} for an error; answers come in any order. Raises OSError, ValueError."""
    said = b""
    while len(said) < _MAX_ANSWER:
        peer.settimeout(max(0.001, end - time.monotonic()))
        chunk = peer.recv(1 << 16)
        if not chunk:
            break
        said += chunk
        *whole, said = said.split(b"\n")
        for line in whole:
            answer = _table(json.loads(line)) or {}
            if answer.get("id") == number:
                return _table(answer.get("result")) or {}
    return {}


def _was_told(agent: str, payload: dict[str, Any]) -> bool:
    """Whether a session that goes on still has what it was given: each resumption would add another
    copy.

    A fork brings its parent's along. A resumed session has it where its transcript names it after
    the last compaction, in a line in which its agent keeps what hooks say.
    """
    source = payload.get("source")
    if source != "resume":
        return source == "fork"
    known, end = agent_registry.agent(agent), time.monotonic() + _LOOK_S
    try:
        with _mapped(payload.get("transcript_path")) as data:
            oldest = max(0, len(data) - _LOOKED_THROUGH)
            oldest = max(
                [
                    oldest,
                    *(data.rfind(mark, oldest) for mark in (*known.compacted, *known.replaced)),
                ]
            )
            at = data.rfind(_FENCE, oldest)
            while at >= 0 and time.monotonic() < end:
                line = data.rfind(b"\n", oldest, at) + 1 or oldest
                head = (
                    data[line : min(at, line + _LINE_HEAD)] + data[max(line, at - _LINE_NEAR) : at]
                )
                if any(mark in head for mark in known.told_in):
                    return True
                at = data.rfind(_FENCE, oldest, line)  # a line once, however often it says so
    except (OSError, ValueError):  # not there, or empty
        pass
    return False


def _payload(end: float, chunks: list[bytes]) -> dict[str, Any] | None:
    """JSON from stdin, read until it is whole, closed, too big or too late (*end*, monotonic).
    *chunks* holds what was read, so that reading can go on; ``b""`` at its end says that stdin was
    closed.
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
                return _table(json.loads(b"".join(chunks)))
            except ValueError:
                continue
    try:
        return _table(json.loads(b"".join(chunks)))
    except ValueError:
        return None


def _table(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _place(home: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Where the session's project lies, as the service is told it."""
    from memsearch_engine.core.project_location import find

    cwd = payload.get("cwd")
    found = find(cwd if isinstance(cwd, str) and cwd else os.getcwd(), home)
    return dict(zip(("root", "memory", "common_dir"), found))


def _ready(home: str, place: dict[str, Any]) -> dict[str, Any]:
    """The context that the engine keeps ready for a project; {} where there is none."""
    try:
        with open(paths.context(home, place["memory"]), "rb") as file:
            return _table(json.loads(file.read(1 << 20))) or {}
    except (OSError, ValueError):
        return {}


def _current(
    home: str, agent: str, payload: dict[str, Any], place: dict[str, Any], start: float
) -> dict[str, Any]:
    """The prepared context where it is up to date, else what the service makes of it at once, else
    one that says nothing.
    """
    from memsearch_engine.core import freshness

    ready = _ready(home, place)
    if not ready or freshness.holds(ready):
        return ready
    _ask(home, agent, "prepare", payload, place, {}, start + _PREPARE_S)
    made = _ready(home, place)
    return made if freshness.holds(made) else {**made, "texts": {}}


def _problem(home: str, ready: dict[str, Any]) -> str:
    """What keeps memory from working as its owner has set it, in one line; '' for nothing. The
    settings are read only where they have changed since the context was prepared.
    """
    from memsearch_engine.core import freshness

    config = os.path.join(home, "config.toml")
    if freshness.stamp(config) == (_table(ready.get("stamps")) or {}).get(config, []):
        problem = ready.get("problem")
    else:
        import tomllib  # 5 ms

        problem = ""
        try:
            with open(config, "rb") as file:
                tomllib.load(file)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            problem = f"{config} can't be read, so nothing is captured or injected: {why}"
    return " ".join(problem.split())[:300] if isinstance(problem, str) else ""


def _without(text: str, lines: object) -> str:
    """A prepared context without these lines, and without the days of which nothing is left; ''
    where that is all.
    """
    gone = set(lines) if isinstance(lines, list) else set()
    rows = [row for row in text.split("\n") if row not in gone]
    after = [*rows[1:], ""]
    rows = [row for row, below in zip(rows, after) if not _is_day(row) or below.startswith("- ")]
    return "\n".join(rows) if any(row.startswith("- ") for row in rows) else ""


def _is_day(row: str) -> bool:
    return len(row) == 10 and row[4] + row[7] == "--"


def _put(
    home: str, agent: str, event: str, payload: dict[str, Any], start: float, **more: object
) -> None:
    inbox = os.path.join(home, "inbox")
    os.makedirs(inbox, mode=0o700, exist_ok=True)
    now, known = time.time(), agent_registry.agent(agent)
    moved = _moved(known, payload)
    record: dict[str, object] = {
        key: value[:_MAX] for key in _KEEP if isinstance(value := payload.get(key), str)
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
    temporary = os.path.join(inbox, f".{name}.tmp")
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
    os.rename(temporary, os.path.join(inbox, name))


def _named_folder(variable: str) -> str:
    """The folder that a variable names, absolute; '' where it names none."""
    named = os.environ.get(variable, "")
    return os.path.abspath(os.path.expanduser(named)) if named else ""


def _usual_home(known: agent_registry.Agent) -> str:
    return paths.spelled(os.path.join(paths.user_home(), known.home))


def _moved(known: agent_registry.Agent, payload: dict[str, Any]) -> str:
    """Where an agent's home was moved, '' where it was not. One that may be told any folder for its
    sessions says which by their file.
    """
    moved = _named_folder(known.sessions_variable) or _named_folder(known.home_variable)
    file = payload.get("transcript_path")
    if known.sessions or not isinstance(file, str) or not os.path.isabs(file):
        return moved
    is_known = any(file.startswith(base + os.sep) for base in (moved, _usual_home(known)) if base)
    return moved if is_known else os.path.dirname(file)


def _start_service(home: str) -> None:
    """Start the service where none runs: its lock is free. Detached, nothing of ours stays open in
    it.
    """
    if os.environ.get("MEMSEARCH_NO_SERVICE") or not paths.is_free(paths.service_lock(home)):
        return
    marks = (
        *_SESSION_MARKS,
        *(mark for agent in agent_registry.everyone() for mark in agent.session_marks),
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(marks)}
    if (
        sys.flags.ignore_environment
    ):  # nor does what we start take modules from the variables of an agent's user
        environment = {
            name: value for name, value in environment.items() if not name.startswith("PYTHON")
        }
    environment["MEMSEARCH_HOME"] = home
    null = os.open(os.devnull, os.O_RDWR)
    os.posix_spawn(
        sys.executable,
        # -P: the current folder may be a stranger's repository
        [sys.executable, "-P", "-m", "memsearch_engine.service.server"],
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)],
        setsid=True,
    )


def _log(agent: str, event: str, error: Exception) -> None:
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
