"""The long-term pipeline by the agents' own command lines: kept to one folder, without a trace,
injected into the next session.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from memsearch_engine.longterm.store import id_of

from tests.agents.conftest import Lab
from tests.mock_model import Reply

pytestmark = pytest.mark.agents
_BULLET = "The shop uses pnpm, never npm"


def _result(request: dict[str, Any]) -> str:
    """What the last tool gave."""
    return json.dumps((request.get("messages") or request.get("input"))[-1])


class Worker:
    """Plays the model: a lesson from a session, then two files written with the tools that the
    client has.
    """

    def __init__(self, lab: Lab, agent: str) -> None:
        self.lab, self.agent, self.steps = lab, agent, 0
        self.outside = lab.root / "outside.md"
        self.results: list[str] = []
        self.over = False

    def __call__(self, request: dict[str, Any]) -> Reply:
        text = json.dumps(request, ensure_ascii=False)
        if "finished session of a coding agent" in text:
            lesson = {
                "raw_memory": f"- (project) {_BULLET}",
                "rollout_summary": "About pnpm.",
                "rollout_slug": "pnpm",
            }
            return json.dumps(lesson)
        if "long-term memory of a developer" not in text:
            return None
        folder = self.lab.home.longterm_staging
        (name,) = {
            line.split("mem:")[1][:8]
            for line in (folder / "raw_memories.md").read_text().splitlines()
            if line.startswith("## [mem:")
        }
        body = f"## Everywhere\n- {_BULLET} [mem:{name}]\n"
        files = {"MEMORY.md": body, "memory_summary.md": f"v1\n\n{body}"}
        self.results.append(_result(request))
        plan: list[Reply] = []
        if self.agent == "claude-code":
            for path, content in files.items():
                plan += [
                    ("Read", {"file_path": str(folder / path)}),
                    ("Write", {"file_path": str(folder / path), "content": content}),
                ]
            plan.append(("Write", {"file_path": str(self.outside), "content": "out"}))
        else:
            for path, content in files.items():
                plan.append(("exec_command", {"cmd": f"cat > {path} <<'END'\n{content}END"}))
            plan.append(
                (
                    "exec_command",
                    {
                        "cmd": (
                            f"echo out > {self.outside}; "
                            f"echo out > /tmp/memsearch-outside-{os.getpid()}"
                        )
                    },
                )
            )
        self.steps += 1
        self.over = self.steps > len(plan)
        return plan[self.steps - 1] if self.steps <= len(plan) else "The memory is up to date."


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_both_phases_by_the_agent_itself(lab: Lab, agent: str) -> None:
    lab.have("claude", "codex")
    lab.ok("plugins", "install", "claude-code")
    assert lab.claude("We use pnpm, never npm").code == 0
    (session,) = {path.stem for path in (lab.user / ".claude" / "projects").rglob("*.jsonl")}
    before = sorted(str(p) for p in (lab.user / ".claude" / "projects").rglob("*")) + sorted(
        str(p) for p in (lab.user / ".codex" / "sessions").rglob("*")
    )
    worker = Worker(lab, agent)
    lab.model.replies = worker
    lab.ok(
        "config", "set", "longterm.extract.provider", "native" if agent == "claude-code" else agent
    )
    lab.ok("config", "set", "longterm.consolidate.provider", agent)
    done = lab.run("longterm", "run", "--wait", "--session", session, "--json")
    assert done.code == 0 and done.json["consolidated"]["state"] == "review", (done, worker.results)
    assert worker.over, worker.results  # it did try to write elsewhere
    shown = lab.ok("longterm", "review").out
    assert _BULLET in shown and f"claude-code {session[:13]}" in shown
    lab.ok("longterm", "review", "accept", "--all")
    injected = lab.ok("context", "claude-code").out
    assert f"{_BULLET} [mem:{id_of('claude-code', session)}]" in injected
    assert (
        lab.run("longterm", "run", "--wait", "--json").json["consolidated"]["state"] == "unchanged"
    )
    assert not worker.outside.exists() and not os.path.exists(
        f"/tmp/memsearch-outside-{os.getpid()}"
    ), worker.results
    after = sorted(str(p) for p in (lab.user / ".claude" / "projects").rglob("*")) + sorted(
        str(p) for p in (lab.user / ".codex" / "sessions").rglob("*")
    )
    assert after == before  # nothing of it is a session of the agent's
    spent = lab.ok("spend", "--json").json["days"]
    assert {row["purpose"] for row in spent} == {"longterm"}
