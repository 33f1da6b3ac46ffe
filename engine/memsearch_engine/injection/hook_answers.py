"""Builds a hook's answer: at a session start, at a prompt, around an action, after a compaction.

It uses only the standard library, because an agent waits for it. The prepared context is read from
a file. For the rest, the running service is called, within the time that the owner allows.
"""

from __future__ import annotations

import os
import time

from memsearch_engine.core import agent_registry, paths, wire
from memsearch_engine.core import quick_json as json

TYPE_CHECKING = False  # importing `typing` takes 2 ms
if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable
    from io import BufferedReader
    from typing import Any

#: The fence of injected text, without its angle brackets: some agents write these in other
#: characters.
_FENCE = b"memsearch-memory id="
#: Events around an action of the agent's.
ACTING = {"PreToolUse", "PostToolUse", "PostToolUseFailure"}
#: Keys of a tool's input that say what it does; the rest can be a whole file.
_INPUT_KEYS = (
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
_OUTPUT_KEYS = ("stdout", "stderr", "llmContent", "text_result_for_llm")
_MIN_PROMPT = 10
_PREPARE_S = 1.0  # seconds that a session start waits for a new context
#: Bytes that show the kind of a line: its first ones, and those right before the fence.
_LINE_HEAD, _LINE_NEAR = 8192, 64
_LOOK_S = 0.5
_LOOKED_THROUGH = 64 * 1024 * 1024  # bytes of a transcript, from its end
_MAX_CONFIG = 1 << 20  # bytes
_MAX = 4096  # characters of an id or a path
_MAX_PROMPT = 20_000  # characters of a prompt, and of an error
_MAX_INPUT = 200_000  # characters of a tool's input


class HookAnswers:
    """The answers to one event of one session.

    Args:
        home: ``MEMSEARCH_HOME``.
        payload: what the agent sent.
        start: when the hook started (``time.monotonic``); waiting times count from it.
        session_began: called at a session start with the payload and the id of the injected
            context (``""`` for none).
    """

    def __init__(
        self,
        home: str,
        agent: str,
        payload: dict[str, Any],
        start: float,
        session_began: Callable[[dict[str, Any], str], None],
    ) -> None:
        self._home, self._agent = home, agent
        self._payload, self._start = payload, start
        self._session_began = session_began
        self._known = agent_registry.agent(agent)
        self._place: dict[str, str] = {}
        self._paused = ""  # why the service prepares no context

    def answer(self, event: str) -> dict[str, Any]:
        """The answer to an event, in the form that the agent reads; {} for nothing."""
        output = self._answer(event)
        injected, known = output.get("hookSpecificOutput"), self._known
        if injected:
            injected["additionalContext"] = text_for(known, str(injected["additionalContext"]))
        if injected and known.answers_flat:
            del output["hookSpecificOutput"]
            return {**output, "additionalContext": injected["additionalContext"]}
        return output

    def _answer(self, event: str) -> dict[str, Any]:
        if event == "UserPromptSubmit":
            return self._at_prompt(self._ready()) if self._prompt() else {}
        if event == "BeforeAgent":
            return self._before_agent()
        if event in ACTING:
            return self._around_action(event)
        return self._at_session_start() if event == "SessionStart" else {}

    def _prompt(self) -> str:
        """Return the prompt; ``""`` if it is too short."""
        prompt = self._payload.get("prompt")
        is_enough = isinstance(prompt, str) and len(prompt.strip()) >= _MIN_PROMPT
        return str(prompt) if is_enough else ""

    def _at_session_start(self) -> dict[str, Any]:
        ready = {} if self._has_context(self._payload) else self._current()
        texts = self._start_texts(self._payload, ready)
        output = _injected("SessionStart", "\n\n".join(texts)) if texts else {}
        if problem := self._problem(ready):
            output["systemMessage"] = f"[memsearch] {problem}"
        return output

    def _start_texts(self, payload: dict[str, Any], context: dict[str, Any]) -> list[str]:
        """Return the texts to inject into a session that begins or continues.

        Args:
            context: the prepared context; {} if the session already has it.
        """
        texts = wire.table(context.get("texts")) or {}
        text = texts.get(str(agent_registry.context_lines(self._agent)))
        own = (wire.table(context.get("own")) or {}).get(str(payload.get("session_id")))
        if isinstance(text, str) and own:
            text = without_lines(text, own)
        self._session_began(payload, str(context.get("id") or "") if text else "")
        found = [text] if isinstance(text, str) and text else []
        # if the agent does not store what is injected at a start, a compacted session lacks it
        # each time it is resumed
        source, known = payload.get("source"), self._known
        is_compacted = source == "compact" or (
            source == "resume"
            and not known.injected_in
            and _has_marks(payload.get("transcript_path"), known.compacted)
        )
        if is_compacted and (text := self._after_compaction(payload, context)):
            found.append(text)
        return found

    def _before_agent(self) -> dict[str, Any]:
        """Return the answer at a prompt, for agents that have no other event.

        It includes the context of a session start at the first prompt of a session, and at the
        first prompt after a compaction.
        """
        payload, ready = self._payload, self._ready()
        texts: list[str] = []
        # if an agent's sessions can branch, its plugin knows both values for the current branch
        has_context, is_compacted = payload.get("told"), payload.get("compacted")
        if not isinstance(has_context, bool):
            has_context = not ready.get("texts") or self._has_context(
                {**payload, "source": "resume"}
            )
        if ready.get("texts") and not has_context:
            if not isinstance(is_compacted, bool):
                is_compacted = _has_marks(payload.get("transcript_path"), self._known.compacted)
            source = "compact" if is_compacted else "startup"
            texts = self._start_texts({**payload, "source": source}, self._current())
        output = self._at_prompt(ready) if self._prompt() else {}
        if text := (output.get("hookSpecificOutput") or {}).get("additionalContext"):
            texts.append(text)
        if self._is_first_prompt() and (problem := self._problem(self._current())):
            output["systemMessage"] = f"[memsearch] {problem}"
        return {**output, **_injected("BeforeAgent", "\n\n".join(texts))} if texts else output

    def _is_first_prompt(self) -> bool:
        """Whether this is a session's first prompt. The newest session is recorded in the home."""
        session = str(self._payload.get("session_id") or "")[:_MAX]
        path = os.path.join(self._home, "run", "prompted")
        try:
            with open(path, encoding="utf-8") as file:
                if file.read(_MAX) == session:
                    return False
        except (OSError, ValueError):  # no session was recorded
            pass
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(session)
        except OSError:  # a sandbox that only reads
            pass
        return True

    def _at_prompt(self, ready: dict[str, Any]) -> dict[str, Any]:
        """Return the notes that the service finds in time, and a line for the person."""
        wait_s = self._wait_s(ready, "wait_ms")
        if not wait_s:
            return {}
        found = self._ask("recall", {"prompt": self._prompt()[:_MAX_PROMPT]}, wait_s)
        if found is None:
            wire.start_service(self._home)
        return _found("UserPromptSubmit", found or {}, ready)

    def _around_action(self, event: str) -> dict[str, Any]:
        """Return what is known about an action before it runs, or about its error."""
        ready, payload = self._ready(), self._payload
        wait_s = self._wait_s(ready, "act_ms")
        if not wait_s:
            return {}
        given = payload.get("tool_input")
        if isinstance(given, dict):
            given = {key: given[key] for key in _INPUT_KEYS if key in given}
        if len(json.dumps(given)) > _MAX_INPUT:
            return {}
        cwd = payload.get("cwd")
        params = {
            "tool": str(payload.get("tool_name") or "")[:_MAX],
            "given": given,
            "cwd": cwd if isinstance(cwd, str) else "",
        }
        if event != "PreToolUse":
            output = _tool_output(payload)
            if not output:
                return {}
            params["output"] = output[-_MAX_PROMPT:]
        found = self._ask("around", params, wait_s) or {}
        # the agent's own name of the event: some agents inject only after an action
        named = payload.get("hook_event_name")
        return _found(named if isinstance(named, str) else event, found, ready)

    def _after_compaction(self, payload: dict[str, Any], ready: dict[str, Any]) -> str:
        """Return the additional text for a session after a compaction.

        It is ``""`` if the service does not answer in time.
        """
        wait_s = self._wait_s(ready, "carry_ms")
        if not wait_s:
            return ""
        params = {"transcript": str(payload.get("transcript_path") or "")[:_MAX]}
        text = (self._ask("carry_on", params, wait_s) or {}).get("text")
        return text if isinstance(text, str) else ""

    def _wait_s(self, ready: dict[str, Any], key: str) -> float:
        """Return the seconds that the agent may wait; 0 if the service must not be called."""
        wait_ms = ready.get(key)
        is_on = isinstance(wait_ms, int) and wait_ms > 0 and self._payload.get("session_id")
        return wait_ms / 1000 if is_on and isinstance(wait_ms, int) else 0.0

    def _ask(self, method: str, params: dict[str, Any], wait_s: float) -> dict[str, Any] | None:
        """Return the service's answer; {} if it is too late; None if no service listens."""
        session = str(self._payload.get("session_id") or "")[:_MAX]
        params |= {"agent": self._agent, "session": session, "place": self._project()}
        try:
            answer = wire.call(self._home, method, params, self._start + wait_s)
        except wire.NotRunning:
            return None
        except (OSError, ValueError):  # too late, or no service of ours
            return {}
        return wire.table(answer) or {}

    def _project(self) -> dict[str, str]:
        """Return the location of the session's project."""
        if not self._place:
            cwd = self._payload.get("cwd")
            self._place = wire.place_of(self._home, cwd if isinstance(cwd, str) else "")
        return self._place

    def _ready(self) -> dict[str, Any]:
        """Return the prepared context of the project; {} if there is none."""
        try:
            with open(paths.context(self._home, self._project()["memory"]), "rb") as file:
                return wire.table(json.loads(file.read(1 << 20))) or {}
        except (OSError, ValueError):
            return {}

    def _current(self) -> dict[str, Any]:
        """Return an up-to-date prepared context.

        If it is out of date, the service prepares it again. If that fails, its texts are removed.
        """
        from memsearch_engine.core import freshness

        ready = self._ready()
        if not ready or freshness.is_fresh(ready):
            return ready
        reason = (self._ask("prepare", {}, _PREPARE_S) or {}).get("reason")
        self._paused = reason if isinstance(reason, str) and reason != "prepared" else ""
        made = self._ready()
        return made if freshness.is_fresh(made) else {**made, "texts": {}}

    def _problem(self, ready: dict[str, Any]) -> str:
        """Return in one line what is wrong with the settings; ``""`` for nothing.

        The file is read only if it has changed since the context was prepared.
        """
        from memsearch_engine.core import freshness

        config = os.path.join(self._home, "config.toml")
        if freshness.stamp(config) == (wire.table(ready.get("stamps")) or {}).get(config, []):
            problem = ready.get("problem")
        elif why := _unreadable(config):
            problem = f"{config} can't be read, so nothing is captured or injected: {why}"
        else:
            problem = self._paused and f"nothing is captured or injected: {self._paused}"
        return " ".join(problem.split())[:300] if isinstance(problem, str) else ""

    def _has_context(self, payload: dict[str, Any]) -> bool:
        """Whether a continued session still has the context that was injected at its start.

        Without this check, each resumption would add another copy. A fork has its parent's copy.
        A resumed session has one if its transcript contains the fence after the last compaction,
        in a line in which the agent stores hook answers.
        """
        source = payload.get("source")
        if source != "resume":
            return bool(source == "fork")
        known, end = self._known, time.monotonic() + _LOOK_S
        try:
            with _mapped(payload.get("transcript_path")) as data:
                oldest = max(0, len(data) - _LOOKED_THROUGH)
                marks = (*known.compacted, *known.replaced)
                oldest = max([oldest, *(data.rfind(mark, oldest) for mark in marks)])
                at = data.rfind(_FENCE, oldest)
                while at >= 0 and time.monotonic() < end:
                    line = data.rfind(b"\n", oldest, at) + 1 or oldest
                    head = data[line : min(at, line + _LINE_HEAD)]
                    head += data[max(line, at - _LINE_NEAR) : at]
                    if any(mark in head for mark in known.injected_in):
                        return True
                    at = data.rfind(_FENCE, oldest, line)  # each line once
        except (OSError, ValueError):  # not there, or empty
            pass
        return False


def _injected(event: str, text: str) -> dict[str, Any]:
    """Return a hook answer that injects *text*."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _found(event: str, found: dict[str, Any], ready: dict[str, Any]) -> dict[str, Any]:
    """Return a hook answer with the text that the service found, and its line for the person."""
    text, line = found.get("text"), found.get("line")
    answer = _injected(event, text) if isinstance(text, str) and text else {}
    if answer and isinstance(line, str) and line and ready.get("hint"):
        answer["systemMessage"] = line
    return answer


def text_for(agent: agent_registry.Agent, text: str) -> str:
    """Return injected *text* as *agent* gets it: it names its tools, in a fence it leaves whole."""
    if agent.tools:
        named = f"the tools {', '.join(agent.tools)}, or"
        text = text.replace("the memory-recall skill, or", named)
    if not agent.escapes:
        return text
    fences = ("<memsearch-memory ", "</memsearch-memory>")  # in square brackets for such agents
    rows = text.split("\n")
    return "\n".join(f"[{row[1:-1]}]" if row.startswith(fences) else row for row in rows)


def _tool_output(payload: dict[str, Any]) -> str:
    """Return the output of a tool, or its error."""
    output = payload.get("error") or payload.get("tool_response") or payload.get("tool_result")
    if isinstance(output, dict):
        values = (output.get(key) for key in _OUTPUT_KEYS)
        output = "\n".join(value for value in values if isinstance(value, str))
    return output if isinstance(output, str) else ""


def _has_marks(path: object, marks: tuple[bytes, ...]) -> bool:
    """Whether a transcript contains one of *marks*."""
    try:
        with _mapped(path) as data:
            return any(data.rfind(mark, max(0, len(data) - _LOOKED_THROUGH)) >= 0 for mark in marks)
    except (OSError, ValueError):
        return False


def _mapped(path: object) -> mmap.mmap:
    """Map a transcript into memory.

    Raises:
        OSError, ValueError: it is not a regular file, or it is empty.
    """
    import mmap

    if not isinstance(path, str) or not path:
        raise ValueError("no path")
    with _opened(path) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _opened(path: str) -> BufferedReader:
    """Open a file to read. Raises OSError, and ValueError if it is no regular file."""
    import stat

    # a pipe would block
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ValueError("not a regular file")


def _unreadable(config: str) -> str:
    """Return why the settings file can't be parsed; ``""`` if it can be, or if there is none."""
    import tomllib  # 5 ms

    if not os.path.lexists(config):
        return ""
    try:
        with _opened(config) as file:
            tomllib.loads(file.read(_MAX_CONFIG).decode("utf-8"))
    except (OSError, ValueError) as error:
        return (error.strerror if isinstance(error, OSError) else "") or str(error)
    return ""


def without_lines(text: str, lines: object) -> str:
    """Return a prepared context without these lines, and without days that are then empty.

    It is ``""`` if no note is left.
    """
    gone = set(lines) if isinstance(lines, list) else set()
    rows = [row for row in text.split("\n") if row not in gone]
    after = [*rows[1:], ""]
    rows = [
        row
        for row, below in zip(rows, after)
        if len(row) != 10 or row[4] + row[7] != "--" or below.startswith("- ")
    ]
    return "\n".join(rows) if any(row.startswith("- ") for row in rows) else ""
