"""What others have shared, injected into agents and where they ask: always as another person's
word.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Box
from tests.injection.corpus import case, furnish, injected, prepared
from tests.mcp.test_mcp import conversation
from tests.sharing.conftest import git

RETURNS = case("data", "data-05")


def commit_as_shared(box: Box, day: str) -> Path:
    """Have a day's notes be what a colleague has shared, and the project's own no more."""
    own, shared = (
        box.memory / f"{day}.md",
        box.project / ".memsearch" / "shared" / "mara" / f"{day}.md",
    )
    shared.parent.mkdir(parents=True, exist_ok=True)
    own.rename(shared)
    git(box.project, "add", ".memsearch/shared")
    git(box.project, "commit", "-qm", "shared")
    return shared


@pytest.mark.slow
def test_at_a_prompt_and_before_an_action_the_author_is_named(box: Box):
    git(box.project, "init", "-q", "-b", "main")
    git(box.project, "commit", "-q", "--allow-empty", "-m", "first")
    box.home.ensure().config.write_text("[recall]\nwait_ms = 3000\n")
    box.write(
        "2026-02-13",
        "# 2026-02-13\n\n### 09:00\n- `app/catalog/cache.py` must keep at most 500 entries; "
        "more of them run into the pod's limit\n",
    )
    furnish(box, RETURNS)
    for day in ("2026-02-12", "2026-02-13"):
        commit_as_shared(box, day)
    box.index()
    box.ready()
    prepared(box)
    seen = box.ok("context", "--prompt", RETURNS["prompt"], "--json").json
    assert "\n- 2026-02-12 [shared: mara]: Returns are netted" in seen["text"], seen
    payload = {
        "session_id": "new",
        "cwd": str(box.project),
        "tool_name": "Edit",
        "hook_event_name": "PreToolUse",
        "tool_input": {
            "file_path": str(box.project / "app/catalog/cache.py"),
            "old_string": "x",
            "new_string": "y",
        },
    }
    said = injected(box.ok("hook", "claude-code", "PreToolUse", stdin=json.dumps(payload)))
    assert "2026-02-13 [shared: mara]: `app/catalog/cache.py` must keep" in said, said
    # what is no longer committed as it is now is no longer injected
    file = box.project / ".memsearch/shared/mara/2026-02-12.md"
    file.write_text(file.read_text().replace("Returns are netted", "Returns are doubled"))
    box.index()
    assert "mara" not in box.ok("context", "--prompt", RETURNS["prompt"], "--json").json["text"]


@pytest.mark.slow
def test_an_agent_that_asks_sees_the_author(box: Box):
    git(box.project, "init", "-q", "-b", "main")
    box.fill()
    commit_as_shared(box, "2026-02-09")
    box.index()

    async def said(client) -> None:
        found = await client.call_tool("recall", {"query": "how long does the redis cache live"})
        first = found.structured_content["notes"][0]
        assert first["author"] == "mara" and "shared: mara" in found.content[0].text
        opened = await client.call_tool("open", {"id": first["id"][:12]})
        assert "shared: mara" in opened.structured_content["memory"]

    conversation(box, said)
