"""An agent that was uninstalled is not captured, whatever its open sessions still send."""

from __future__ import annotations

import json

import pytest
from memsearch_engine.capture import event_queue, plugins
from memsearch_engine.capture.ledger import CaptureLedger
from memsearch_engine.core import agent_registry

from tests.conftest import Box


def put(box: Box, agent: str, at: float) -> None:
    event = {"agent": agent, "event": "Stop", "session_id": "s", "cwd": str(box.project), "at": at}
    box.home.inbox.mkdir(parents=True, exist_ok=True)
    (box.home.inbox / f"{at:.6f}-1.json").write_text(json.dumps(event))


@pytest.fixture
def ledger(box: Box, monkeypatch):
    monkeypatch.setenv("HOME", str(box.user))
    for agent in agent_registry.everyone():
        for variable in (agent.home_variable, agent.sessions_variable):
            if variable:
                monkeypatch.delenv(variable, raising=False)
    box.home.ensure()
    made = CaptureLedger(box.home)
    yield made
    made.close()


@pytest.mark.parametrize("agent", agent_registry.live())
def test_capture_ends_with_uninstall_and_begins_again_with_install(box, ledger, agent):
    ledger.capturing(agent, 1.0)
    put(box, agent, 2e9)
    put(box, "cursor", 2e9 + 1)  # another's
    plugins.uninstall(box.home, agent)
    assert [path.name for path in box.home.inbox.glob("*.json")] == [
        f"{2e9 + 1:.6f}-1.json"
    ]  # what waited is dropped
    put(box, agent, 2e9 + 2)  # an open session still has the plug-in
    event_queue.work(box.home)
    assert agent not in ledger.captured_since() and not list(box.home.inbox.glob(f"{2e9 + 2:.6f}*"))
    plugins.install(box.home, agent, trust=False)
    assert ledger.captured_since()[agent] > 1.0


def test_a_plugin_that_came_by_a_marketplace_is_captured_after_an_uninstall(box, ledger):
    plugins.uninstall(box.home, "claude-code")
    folder = box.user / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{"enabledPlugins": {"memsearch@memsearch-tui": true}}')
    put(box, "claude-code", 2e9)
    event_queue.work(box.home)
    assert "claude-code" in ledger.captured_since()
