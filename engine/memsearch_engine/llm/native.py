"""The command lines of agents, asked so that nothing of it stays: no session, no hooks, no servers, no instructions of the user's,
and no tools but (for ``edit``) those for files of one folder.

The question goes by standard input. A program that does not end in time is ended with all that it started.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memsearch_engine import network
from memsearch_engine.home import user_home
from memsearch_engine.llm import codex_home
from memsearch_engine.llm.reply import ModelError, Reply
from memsearch_engine.llm.tokens import estimate
from memsearch_engine.ours import marked

#: Agents that can answer one question without a trace and without tools, and the small model that each is asked with ('': see
#: ``codex_home``). OpenCode's ``run`` offers the model a shell and files, and keeps the session.
SMALL = {"claude-code": "haiku", "codex": ""}
#: Those that can work on files of one folder and nothing else.
EDITORS = ("claude-code", "codex")
_MOST_ANSWER = 4 * 1024 * 1024
_LOOK_S = 0.5


def ask(agent: str, model: str, system: str, question: str, timeout_s: float) -> Reply:
    """One question. Raises ModelError."""
    if agent not in SMALL:
        raise ModelError(f"{agent or 'this agent'} has no command line that answers without a trace", again=False)
    model = model or SMALL[agent]
    if agent == "claude-code":
        argv = ["-p", "--safe-mode", "--strict-mcp-config", "--tools", "", "--no-session-persistence", "--no-chrome",
                "--effort", "low", "--output-format", "json", "--system-prompt", system]  # fmt: skip
    else:
        argv = ["exec", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--json"]
    with tempfile.TemporaryDirectory(prefix="memsearch-") as empty:
        return _run(agent, argv, model, system, question, Path(empty), timeout_s, lambda: False, edits=False)


def edit(
    agent: str, model: str, system: str, task: str, folder: Path, timeout_s: float, cancelled: Callable[[], bool]
) -> Reply:
    """Let an agent work on the files of *folder* alone, without network. Raises ModelError.

    Args:
        cancelled: asked twice a second; once it says so, the agent is ended.
    """
    if agent not in EDITORS:
        raise ModelError(f"{agent} can't be kept to one folder", again=False)
    if agent == "claude-code":
        # --restricted: whatever the user's settings allow, the file tools stay in the folder
        argv = ["-p", "--safe-mode", "--restricted", "--strict-mcp-config", "--tools", "Read,Write,Edit,Glob,Grep",
                "--permission-mode", "acceptEdits", "--no-session-persistence", "--no-chrome", "--output-format", "json",
                "--system-prompt", system]  # fmt: skip
    else:
        argv = ["exec", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "-s", "workspace-write", "--json",
                "-c", "sandbox_workspace_write.exclude_slash_tmp=true", "-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true"]  # fmt: skip
    return _run(agent, argv, model, system, task, folder, timeout_s, cancelled, edits=True)


def _run(
    agent: str, argv: list[str], model: str, system: str, question: str, folder: Path, timeout_s: float,
    cancelled: Callable[[], bool], *, edits: bool,
) -> Reply:  # fmt: skip
    program = shutil.which({"claude-code": "claude"}.get(agent, agent))
    if not program:
        raise ModelError(f"the command line of {agent} is not on the PATH", again=False)
    program = os.path.abspath(program)
    network.check(os.path.basename(program))
    # hooks of ours do nothing in it; and it is no session inside the session that it is about
    environment = {
        name: value for name, value in os.environ.items() if name not in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
    }
    environment |= {"MEMSEARCH_DISABLE": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    with (
        tempfile.TemporaryDirectory(prefix="memsearch-", ignore_cleanup_errors=True) as private,
        tempfile.TemporaryFile() as asked,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as complaints,
    ):
        if agent == "codex":
            model, more = codex_home.furnish(Path(private), program, model, "" if edits else system, edits=edits)
            environment |= more
            stdin = marked(f"{system}\n\n{question}" if edits else question)
            argv = [*argv, "-"]
        else:
            environment["TMPDIR"] = private
            stdin = marked(question)
            argv = [*argv, *(("--model", model) if model else ()), "--settings", _claude_login(Path(private))]
        asked.write(stdin.encode())
        asked.seek(0)
        try:
            process = subprocess.Popen(
                [program, *argv], stdin=asked, stdout=out, stderr=complaints, cwd=folder, env=environment,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ModelError(f"{agent} can't be started: {error}", again=False) from error
        try:
            _await(process, agent, timeout_s, cancelled)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # whatever it started, too
            process.wait()
        out.seek(0)
        complaints.seek(0)
        said = out.read(_MOST_ANSWER).decode("utf-8", "replace")
        words = complaints.read(_MOST_ANSWER).decode("utf-8", "replace").strip() or said.strip()
    if process.returncode and agent == "codex":
        _said_by_lines(said)  # has the reason, where it could say one
    if process.returncode:
        raise ModelError(f"{agent} ended with {process.returncode}: {words[-200:]}", again=True, billed=True)
    text, given, made = (_claude_said if agent == "claude-code" else _said_by_lines)(said)
    if not text.strip():
        raise ModelError(f"{agent} gave an empty answer", again=True)
    return Reply(text, given or estimate(system + question), made or estimate(text), given > 0)


def _claude_login(private: Path) -> str:
    """A settings file with nothing but how the user's own settings log Claude in: what keeps it to a folder passes over the rest."""
    base = Path(os.environ.get("CLAUDE_CONFIG_DIR") or user_home() / ".claude")
    kept: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        theirs = json.loads((base / "settings.json").read_bytes())
        kept = {name: theirs[name] for name in ("apiKeyHelper", "env") if isinstance(theirs, dict) and name in theirs}
    file = private / "settings.json"
    file.write_text(json.dumps(kept), encoding="utf-8")
    return str(file)


def _await(process: subprocess.Popen, agent: str, timeout_s: float, cancelled: Callable[[], bool]) -> None:
    end = time.monotonic() + timeout_s
    while True:
        try:
            process.wait(_LOOK_S)
            return
        except subprocess.TimeoutExpired:
            if cancelled():
                raise ModelError(f"{agent} was ended: it is no longer wanted", again=True, billed=True) from None
            if time.monotonic() > end:
                raise ModelError(f"{agent} did not answer within {timeout_s:.0f} s", again=True, billed=True) from None


def _claude_said(out: str) -> tuple[str, int, int]:
    """``claude --output-format json``: one object, or a list whose last element is the result."""
    try:
        value = json.loads(out)
    except ValueError as error:
        raise ModelError(f"claude sent an answer of an unknown shape: {out[:100]}", again=True) from error
    result = value[-1] if isinstance(value, list) and value else value
    if not isinstance(result, dict):
        return "", 0, 0
    if result.get("is_error"):
        raise ModelError(f"claude: {str(result.get('result'))[:200]}", again=True, billed=True)
    usage = result.get("usage") or {}
    given = sum(
        int(usage.get(name) or 0) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    return str(result.get("result") or ""), given, int(usage.get("output_tokens") or 0)


def _said_by_lines(out: str) -> tuple[str, int, int]:
    """The event lines of ``codex exec --json``."""
    texts, given, made, failed = [], 0, 0, ""
    for line in out.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        if event.get("type") in ("turn.failed", "error"):
            reason = event.get("error")
            reason = reason.get("message") if isinstance(reason, dict) else reason
            failed = str(reason or event.get("message") or "it gave no reason")
            continue
        item, usage = (value if isinstance(value := event.get(name), dict) else {} for name in ("item", "usage"))
        if item.get("type") == "agent_message":
            texts.append(str(item.get("text") or ""))
        given += int(usage.get("input_tokens") or 0)
        made += int(usage.get("output_tokens") or 0)
    if failed and not texts:
        raise ModelError(f"codex: {failed[:200]}", again=True, billed=True)
    return "\n".join(texts), given, made
