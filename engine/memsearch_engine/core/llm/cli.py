"""The provider ``cli``: asks a model through an agent's command line program.

A call leaves no trace. It has no session, hooks, servers or instructions of the user. It has no
tools either, except the file tools for one folder in ``edit``. The ``cli`` module of an agent's
package says how its program is called. This module runs the program, waits for it, and ends it
together with everything that it started.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, ClassVar

import msgspec

from memsearch_engine.core import agent_registry
from memsearch_engine.core.llm.reply import ModelError, Reply, estimate

#: The value in settings that means the command line of the session's own agent.
PROVIDER = "native"
_MAX_ANSWER = 4 * 1024 * 1024
_LOOK_S = 0.5


class CliCall(msgspec.Struct):
    """How a program is called.

    Attributes:
        stdin: the question.
        without: names of environment variables that the program must not see.
    """

    argv: list[str]
    stdin: str
    environment: dict[str, str]
    without: tuple[str, ...] = ()


class AgentCli(ABC):
    """An agent's command line as a plain model.

    The ``cli`` module of an agent's package has a subclass ``Cli``. The program must answer one
    question without a trace and without tools.

    Attributes:
        edits_files: the program can be limited to the files of one folder.
    """

    edits_files: ClassVar[bool] = False

    @abstractmethod
    def call(
        self, private: Path, program: str, model: str, system: str, text: str, *, edits: bool
    ) -> CliCall:
        """Return how to ask the program.

        Args:
            private: an empty folder that is deleted after the answer.
            model: the model; ``""`` for a small one, or for the user's own if *edits* is true.
            edits: the program may change files in its working folder, and nothing else.
        """

    @abstractmethod
    def parse_output(self, out: str) -> tuple[str, int, int]:
        """Return (text, input tokens, output tokens) from the program's output.

        Raises:
            ModelError: the output is not an answer.
        """

    def complained(self, out: str) -> None:
        """Raise ModelError if the output of a failed program gives a reason.

        Most programs print it on standard error.
        """
        return


def events(out: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a program's output, one per line."""
    for line in out.splitlines():
        with contextlib.suppress(ValueError):
            if isinstance(event := json.loads(line), dict):
                yield event


def last_message(agent: str, out: str) -> dict[str, Any]:
    """Return the object in a program's output, or the last one of a list.

    Raises:
        ModelError: the output is not JSON.
    """
    try:
        value = json.loads(out)
    except ValueError as error:
        raise ModelError(
            f"{agent} sent an answer of an unknown shape: {out[:100]}", again=True
        ) from error
    result = value[-1] if isinstance(value, list) and value else value
    return result if isinstance(result, dict) else {}


def tokens(usage: object, *names: str) -> int:
    """Return the sum of the whole numbers under *names* in a program's count of tokens."""
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    return sum(count for count in counts if isinstance(count, int))


def can_ask(agent: str) -> bool:
    """Return whether an agent's command line can be asked."""
    return agent_registry.part(agent, "cli") is not None


def agents() -> list[str]:
    """Return the agents with a command line that can be asked."""
    return [name for name in agent_registry.names() if can_ask(name)]


def ask(agent: str, model: str, system: str, question: str, timeout_s: float) -> Reply:
    """Ask one question. Raises ModelError.

    Args:
        timeout_s: seconds.
    """
    with tempfile.TemporaryDirectory(prefix="memsearch-") as empty:
        return _run(
            agent, model, system, question, Path(empty), timeout_s, lambda: False, edits=False
        )


def edit(
    agent: str,
    model: str,
    system: str,
    task: str,
    folder: Path,
    timeout_s: float,
    cancelled: Callable[[], bool],
) -> Reply:
    """Let an agent change the files of *folder*, and nothing else, without network.

    Args:
        timeout_s: seconds.
        cancelled: called twice a second; the agent is ended when it returns True.

    Raises:
        ModelError: the agent failed.
    """
    return _run(agent, model, system, task, folder, timeout_s, cancelled, edits=True)


def _run(
    agent: str,
    model: str,
    system: str,
    text: str,
    folder: Path,
    timeout_s: float,
    cancelled: Callable[[], bool],
    *,
    edits: bool,
) -> Reply:
    asks, program = _command_line(agent, edits=edits)
    with (
        tempfile.TemporaryDirectory(prefix="memsearch-", ignore_cleanup_errors=True) as private,
        tempfile.TemporaryFile() as asked,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as complaints,
    ):
        call = asks.call(Path(private), program, model, system, text, edits=edits)
        asked.write(call.stdin.encode())
        asked.seek(0)
        try:
            process = subprocess.Popen(
                [program, *call.argv],
                stdin=asked,
                stdout=out,
                stderr=complaints,
                cwd=folder,
                env=_environment(call, private),
                start_new_session=True,
            )
        except OSError as error:
            raise ModelError(f"{agent} can't be started: {error}", again=False) from error
        try:
            _await(process, agent, timeout_s, cancelled)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # with everything that it started
            process.wait()
        printed = _whole(out)
        words = _whole(complaints).strip() or printed.strip()
    if process.returncode:
        asks.complained(printed)
        raise ModelError(
            f"{agent} ended with {process.returncode}: {words[-200:]}", again=True, billed=True
        )
    answer, given, made = asks.parse_output(printed)
    if not answer.strip():
        raise ModelError(f"{agent} gave an empty answer", again=True)
    return Reply(answer, given or estimate(system + text), made or estimate(answer), given > 0)


def _whole(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MAX_ANSWER).decode("utf-8", "replace")


def _command_line(agent: str, *, edits: bool) -> tuple[AgentCli, str]:
    """Return the command line of an agent, and the absolute path of its program.

    Raises:
        ModelError: it cannot be asked, or not for what is wanted.
        Offline: nothing may leave this machine.
    """
    # imported here: otherwise every command that writes a note would pay for TLS
    from memsearch_engine.core import network

    part = agent_registry.part(agent, "cli")
    if part is None:
        raise ModelError(
            f"{agent or 'this agent'} has no command line that answers without a trace", again=False
        )
    program = shutil.which(agent_registry.agent(agent).program)
    if not program:
        raise ModelError(f"the command line of {agent} is not on the PATH", again=False)
    asks: AgentCli = part.Cli()
    if edits and not asks.edits_files:
        raise ModelError(f"{agent} can't be kept to one folder", again=False)
    network.check(os.path.basename(program))
    return asks, os.path.abspath(program)


def _environment(call: CliCall, private: str) -> dict[str, str]:
    """Return the environment of a call. It switches our own hooks off."""
    kept = {name: value for name, value in os.environ.items() if name not in call.without}
    return {**kept, "MEMSEARCH_DISABLE": "1", "TMPDIR": private, **call.environment}


def _await(
    process: subprocess.Popen[bytes], agent: str, timeout_s: float, cancelled: Callable[[], bool]
) -> None:
    end = time.monotonic() + timeout_s
    while True:
        try:
            process.wait(_LOOK_S)
            return
        except subprocess.TimeoutExpired:
            if cancelled():
                raise ModelError(
                    f"{agent} was ended: it is no longer wanted", again=True, billed=True
                ) from None
            if time.monotonic() > end:
                raise ModelError(
                    f"{agent} did not answer within {timeout_s:.0f} s", again=True, billed=True
                ) from None
