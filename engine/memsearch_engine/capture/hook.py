"""The hooks' entry point: a payload on stdin -> one small file in the inbox, within tens of milliseconds.

Standard library only; always exits 0 with valid output; reads stdin with a bound and a deadline, since some clients never
close it. What is kept: ids, paths, the folder and times. Never text.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

MAX_PAYLOAD = 64 * 1024 * 1024
_DEADLINE_S = 0.15
_KEEP = (
    "session_id",
    "prompt_id",
    "turn_id",
    "transcript_path",
    "cwd",
    "hook_event_name",
    "source",
    "reason",
    "agent_id",
)
_CAPTURED = {"Stop", "StopFailure", "SessionEnd", "PreCompact", "Interrupt"}
AGENTS = ("claude-code", "codex", "opencode", "openclaw")


def main(agent: str, event: str) -> int:
    """Take one event. Returns 0 whatever happens: an agent must never fail for its memory."""
    start = time.monotonic()
    output: dict = {}
    try:
        if not os.environ.get("MEMSEARCH_DISABLE") and agent in AGENTS:
            payload = _payload(start)
            if payload is not None and event in _CAPTURED and not payload.get("agent_id"):
                _put(agent, event, payload, start)
    except Exception as error:  # noqa: BLE001 - last resort; the reason goes to the log, not to the agent
        _log(agent, event, error)
    try:
        sys.stdout.write(json.dumps(output) + "\n")
        sys.stdout.flush()
    except OSError:
        pass
    return 0


def _payload(start: float) -> dict | None:
    """JSON from stdin, read until it is whole, closed, too big or too late."""
    fd = 0
    chunks: list[bytes] = []
    size = 0
    while size <= MAX_PAYLOAD:
        left = _DEADLINE_S - (time.monotonic() - start)
        ready, _, _ = select.select([fd], [], [], max(0.0, left))
        if not ready:
            break
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
        if chunk.rstrip().endswith(b"}"):
            try:
                return _table(json.loads(b"".join(chunks)))
            except ValueError:
                continue
    try:
        return _table(json.loads(b"".join(chunks)))
    except ValueError:
        return None


def _table(value: object) -> dict | None:
    return value if isinstance(value, dict) else None


def _put(agent: str, event: str, payload: dict, start: float) -> None:
    from memsearch_engine.home import AGENT_HOMES, Home

    home = Home.from_env()
    inbox = str(home.inbox)
    os.makedirs(inbox, mode=0o700, exist_ok=True)
    now = time.time()
    record: dict[str, object] = {key: value for key in _KEEP if isinstance(value := payload.get(key), str)}
    record.update(
        agent=agent, event=event, at=now, memsearch_dir=os.environ.get("MEMSEARCH_DIR", ""),
        agent_home=os.environ.get(AGENT_HOMES[agent][0], ""),
        hook_ms=round((time.monotonic() - start) * 1000, 2),
    )  # fmt: skip
    name = f"{now:.6f}-{os.getpid()}.json"
    temporary = os.path.join(inbox, f".{name}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, json.dumps(record).encode())
    finally:
        os.close(fd)
    os.rename(temporary, os.path.join(inbox, name))


def _log(agent: str, event: str, error: Exception) -> None:
    try:
        from memsearch_engine.home import Home

        log = Home.from_env().log.parent
        os.makedirs(log, mode=0o700, exist_ok=True)
        with open(log / "hook.log", "a", encoding="utf-8") as out:
            out.write(f"{time.time():.0f} {agent} {event} {type(error).__name__}: {error}\n")
    except OSError:
        pass
