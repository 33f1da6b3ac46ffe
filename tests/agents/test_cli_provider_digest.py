"""A digest, a project's page and a skill by the agents' own command lines: the notes go in, a cited
digest comes back, and no session of the agent's is left.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.agents.conftest import Lab

pytestmark = pytest.mark.agents


@pytest.mark.parametrize(("agent", "program"), [("claude-code", "claude"), ("codex", "codex")])
def test_an_agent_writes_the_digest(lab: Lab, agent: str, program: str) -> None:
    lab.have(program)

    def replies(request):
        text = json.dumps(request, ensure_ascii=False)
        if "digests of a developer" not in text:
            return None
        (name,) = set(re.findall(r"\[mem:([0-9a-f]{12})\] \d{4}", text))
        return f"- Staging runs Postgres 17 [mem:{name}]\n- Made up [mem:000000000000]"

    lab.model.replies = replies
    lab.ok("add", "Decided: staging runs Postgres 17")
    note = lab.ok("entries", "--json").json["entries"][0]["entry_id"]
    done = lab.ok("compact", "--llm-provider", agent, "--json").json
    assert done["text"] == f"- Staging runs Postgres 17 [mem:{note}]\n- Made up"
    assert done["sources"] == [note] and done["unsourced"] == 1
    spent = lab.ok("spend", "--json").json
    assert {row["purpose"] for row in spent["days"]} == {"compact"} and spent["days"][0][
        "calls"
    ] == 1
    assert not list((lab.user / ".claude" / "projects").rglob("*.jsonl")) and not list(
        (lab.user / ".codex" / "sessions").rglob("*.jsonl")
    )
    assert "Memory Compact" in lab.ok("show", "today").out


@pytest.mark.parametrize(("agent", "program"), [("claude-code", "claude"), ("codex", "codex")])
def test_an_agent_proposes_what_a_projects_page_says(lab: Lab, agent: str, program: str) -> None:
    lab.have(program)

    def replies(request):
        text = json.dumps(request, ensure_ascii=False)
        if "You keep PROJECT.md" not in text:
            return None
        (name,) = set(re.findall(r"\[mem:([0-9a-f]{12})\] \d{4}", text))
        content = (
            f"## Decisions\n\n- Staging runs Postgres 17 [mem:{name}]\n"
            "- Made up [mem:000000000000]\n"
        )
        return json.dumps({"action": "replace", "reason": "new", "content": content})

    lab.model.replies = replies
    lab.ok("add", "Decided: staging runs Postgres 17")
    asked = lab.ok("project", "review", "--provider", agent, "--json").json
    assert asked["state"] == "review" and [
        change["after"][0][:27] for change in asked["changes"]
    ] == ["- Staging runs Postgres 17 "]
    lab.ok("project", "accept")
    assert (
        (lab.project / ".memsearch" / "PROJECT.md")
        .read_text()
        .startswith("## Decisions\n\n- Staging runs Postgres 17 [mem:")
    )
    assert "Staging runs Postgres 17" in lab.ok("context").out
    assert {row["purpose"] for row in lab.ok("spend", "--json").json["days"]} == {"documents"}
    assert not list((lab.user / ".claude" / "projects").rglob("*.jsonl")) and not list(
        (lab.user / ".codex" / "sessions").rglob("*.jsonl")
    )


@pytest.mark.parametrize(("agent", "program"), [("claude-code", "claude"), ("codex", "codex")])
def test_an_agent_drafts_a_skill(lab: Lab, agent: str, program: str) -> None:
    lab.have(program)

    def replies(request):
        text = json.dumps(request, ensure_ascii=False)
        if "procedures that a developer" not in text:
            return None
        names = sorted(set(re.findall(r"\[mem:([0-9a-f]{12})\] \d{4}", text)))
        skill = {
            "name": "make-a-release",
            "description": "Makes a release",
            "body": "Write the notes, then tag.",
            "notes": names,
            "reason": "thrice",
        }
        return json.dumps({"skills": [skill]})

    lab.model.replies = replies
    for day in ("2026-11-01", "2026-11-02", "2026-11-03"):
        lab.ok("add", "--day", day, f"Made the release of {day}: notes, then a tag")
    drafted = lab.ok("skills", "distill", "--provider", agent, "--json").json
    assert drafted["names"] == ["make-a-release"], drafted
    lab.ok("skills", "install", "make-a-release", "--path", ".claude/skills", "--yes")
    assert (
        "Write the notes"
        in (lab.project / ".claude" / "skills" / "make-a-release" / "SKILL.md").read_text()
    )
    lab.ok("skills", "uninstall", "make-a-release")
    assert not (lab.project / ".claude" / "skills").exists()
