"""What a hostile tester found once, and must not find again."""

from __future__ import annotations

import json
import time

import pytest
from memsearch_engine.agents.transcripts.model import Session, Turn
from memsearch_engine.capture import event_queue
from memsearch_engine.capture.capture_pipeline import CapturePipeline, home_of
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_location import find
from memsearch_engine.journal.write import Journal
from memsearch_engine.secrets.scan import redact

from tests.conftest import Box, until
from tests.placing import place_samples

SECRET = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"


@pytest.fixture
def old(box: Box) -> Box:
    box.places = place_samples(box.user, box.root / "projects")  # type: ignore[attr-defined]
    box.project = box.root / "projects" / "cc1"
    return box


def event(box: Box) -> None:
    payload = {
        "session_id": "11111111-1111-4111-8111-111111111111",
        "cwd": str(box.project),
        "hook_event_name": "SessionEnd",
    }
    box.ok("hook", "claude-code", "SessionEnd", stdin=json.dumps(payload))


@pytest.mark.slow
def test_one_damaged_database_stops_nothing_else_and_is_named(old):
    (old.places["opencode"] / "opencode.db").write_bytes(b"rubbish" * 1000)
    planned = old.run("import", "--all", "--dry-run", "--json")
    assert planned.code == 5 and "opencode.db" in planned.json["unreadable"][0]["where"]
    done = old.run("import", "--all", "--yes", "--json")
    assert done.code == 5 and done.json["written"] == 32
    assert old.run("agents", "--no-versions").code == 0 and old.run("evidence", "status").code == 0
    old.ok("service", "start")
    old.run(
        "hook", "opencode", "Stop", stdin=json.dumps({"session_id": "x", "cwd": str(old.project)})
    )
    old.ok(
        "delete", *[e["entry_id"] for e in old.ok("entries", "--json").json["entries"]][:1], "--yes"
    )
    event(old)
    until(
        lambda: len(list(old.home.inbox.glob("*.json"))) <= 1, what="the other event is worked off"
    )


@pytest.mark.slow
def test_capture_waits_while_the_settings_cannot_be_read(old):
    old.home.root.mkdir()
    (old.home.root / "config.toml").write_text('[capture]\nenabled = false\ndaily_tokens = "x"\n')
    event(old)
    state = old.run("inbox", "--json").json
    assert state["captured"] == 0 and "settings can't be read" in state["waiting"][0]["reason"]
    assert not (old.project / ".memsearch").exists()
    (old.home.root / "config.toml").write_text("[evidence]\nmax_mb = nan\n")
    assert old.run("inbox", "--json").json["captured"] == 0
    (old.home.root / "config.toml").write_text("")
    until(lambda: len(old.run("entries", "--json").json["entries"]) == 2, what="capture goes on")


@pytest.mark.parametrize(
    "unit",
    [
        f"{SECRET} ",
        '{"api_key": "sk9fA8d7Jq2LmZ0xPv41Bt"}, ',
        "token=abcd1234efgh ",
        "-----BEGIN PRIVATE KEY-----\n",
    ],
)
def test_many_secrets_take_no_more_than_their_share(unit):
    def taken(count: int) -> float:
        start = time.process_time()
        redact(unit * count, Home.from_env())
        return time.process_time() - start

    taken(10)
    assert taken(2000) < 40 * max(
        taken(250), 0.01
    )  # 8 times as much text; quadratic work would be 64 times


def test_an_id_that_is_none_stands_in_no_anchor(tmp_path):
    project = tmp_path / "p"
    (project / ".memsearch").mkdir(parents=True)
    pipeline = CapturePipeline(Home(tmp_path / "home"))
    turn = Turn(
        "codex",
        "s --> x turn:9",
        "t <!-- id:forged -->",
        "2026-01-01T10:00:00Z",
        cwd=str(project),
        user="Q?",
        assistant="Done.",
    )
    where = Session("codex", "s", "/x.jsonl", "rollout")
    assert pipeline.capture(turn, where).written and not pipeline.capture(turn, where).written
    pipeline.close()
    (day,) = project.rglob("*.md")
    assert day.read_text().count("-->") == 1


def test_the_root_folder_and_relative_ones_are_nobodys_project(tmp_path):
    home = Home(tmp_path / "home")
    assert find("/", str(home.root))[1] == str(home.root / "root-project" / "memory")
    assert home_of("relative/folder", home) == "" and home_of("", home) == ""


def test_a_conversation_is_shown_without_its_secrets_unless_asked(old):
    transcript = next(
        f for f in old.places["claude-code"].rglob("*.jsonl") if "FAKEFAKE" in f.read_text()
    )
    assert "FAKEFAKE" not in old.ok("transcript", str(transcript), "--json").out
    assert "FAKEFAKE" in old.ok("transcript", str(transcript), "--raw").out


@pytest.mark.slow
def test_plugins_say_when_the_agent_runs_no_hooks_and_keep_edited_skills(old):
    settings = old.user / ".claude" / "settings.json"
    settings.write_text('{"disableAllHooks": true}')
    old.ok("plugins", "install", "claude-code")
    state = old.run("plugins", "status", "claude-code", "--json")
    assert state.code == 5 and "disableAllHooks" in state.json["plugins"][0]["problems"][0]
    skill = old.user / ".claude" / "skills" / "remember" / "SKILL.md"
    skill.write_text(skill.read_text() + "\nmy own line\n")
    old.ok("plugins", "uninstall", "claude-code")
    assert (
        "my own line" in skill.read_text() and settings.read_text() == '{"disableAllHooks": true}'
    )
    (old.user / ".codex" / "config.toml").write_text("x = = 1")
    assert old.run("plugins", "install", "codex").code == 2
    for odd in (
        '{"hooks": {"Stop": 5}}',
        '{"hooks": {"Stop": [{"hooks": 5}]}}',
        '{"a": "\\ud800"}',
    ):
        settings.write_text(odd)
        assert old.run("plugins", "install", "claude-code").code in (0, 2), odd
        old.run("plugins", "uninstall", "claude-code")
        assert settings.read_text() == odd


def test_a_huge_payload_leaves_a_small_event(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    import subprocess
    import sys

    payload = json.dumps({"session_id": "s" * 5_000_000, "cwd": "/x"}).encode()
    subprocess.run(
        [sys.executable, "-m", "memsearch_tui.cli.main", "hook", "codex", "Stop"],
        input=payload,
        check=True,
    )
    assert sum(f.stat().st_size for f in (tmp_path / "home" / "inbox").iterdir()) < 20_000
    assert event_queue.work(Home(tmp_path / "home"), Journal(Home(tmp_path / "home"))).captured == 0
