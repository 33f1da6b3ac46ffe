"""Installing into the agents' own configuration: merged, shown, idempotent, and exactly taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Box

PLUGINS = Path(__file__).parents[2] / "plugins"
AGENTS = ("claude-code", "codex", "opencode", "openclaw")
SETTINGS = b"""{
\t"permissions": {"allow": ["Bash(ls)"]},
\t"hooks": {
\t\t"Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}]
\t},
\t"model": "opus"
}"""
CODEX_HOOKS = b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/usr/bin/true", "timeout": 9}]}]}}\n'


@pytest.fixture
def agents(box: Box) -> Box:
    """A user who has all four agents and configuration of their own in each."""
    for path, data in {
        ".claude/settings.json": SETTINGS,
        ".claude/skills/mine/SKILL.md": b"---\nname: mine\n---\n",
        ".codex/hooks.json": CODEX_HOOKS,
        ".codex/config.toml": b'model = "gpt-5"  # mine\n',
        ".config/opencode/opencode.json": b'{"plugin": ["other"]}',
        ".openclaw/openclaw.json": b'{"agents": {"defaults": {}}, "plugins": {"allow": ["x"]}}\n',
    }.items():
        file = box.user / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return box


def everything(box: Box) -> dict[str, bytes]:
    return {str(f.relative_to(box.user)): f.read_bytes() for f in sorted(box.user.rglob("*")) if f.is_file()}


def test_installing_and_taking_out_leaves_every_byte_as_it_was(agents):
    before = everything(agents)
    shown = agents.ok("plugins", "install", *AGENTS, "--dry-run", "--json").json["changed"]
    assert everything(agents) == before and all(shown[agent] for agent in AGENTS)
    agents.ok("plugins", "install", *AGENTS)
    after = everything(agents)
    assert {str(agents.user / path) for path in after if after[path] != before.get(path)} == {
        change["path"] for changes in shown.values() for change in changes
    }
    hooks = json.loads(after[".claude/settings.json"])["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "notify-send done" and len(hooks["Stop"]) == 2
    assert after[".claude/settings.json"].startswith(b'{\n\t"permissions"')  # the user's own indentation
    again = agents.ok("plugins", "install", *AGENTS, "--json").json["changed"]
    assert not any(again.values()) and everything(agents) == after
    agents.ok("plugins", "uninstall", *AGENTS)
    assert everything(agents) == before
    assert agents.ok("plugins", "uninstall", "codex", "--json").json["changed"] == {"codex": []}


def test_what_the_user_changed_meanwhile_stays(agents):
    agents.ok("plugins", "install", "claude-code", "openclaw")
    settings = agents.user / ".claude" / "settings.json"
    table = json.loads(settings.read_text())
    table["theme"] = "light"
    table["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    settings.write_text(json.dumps(table, indent=4))
    claw = agents.user / ".openclaw" / "openclaw.json"
    claw.write_text(claw.read_text().replace("{}", '{"workspace": "/w"}', 1))
    agents.ok("plugins", "uninstall", "claude-code", "openclaw")
    left = json.loads(settings.read_text())
    assert left["theme"] == "light" and "memsearch" not in settings.read_text() and list(left["hooks"]) == ["Stop"]
    assert [g["hooks"][0]["command"] for g in left["hooks"]["Stop"]] == ["notify-send done", "later"]
    assert (
        json.loads(claw.read_text())["agents"]["defaults"] == {"workspace": "/w"}
        and "memsearch" not in claw.read_text()
    )
    assert not (agents.user / ".claude" / "skills" / "remember").exists()
    assert (agents.user / ".claude" / "skills" / "mine" / "SKILL.md").exists()


def test_a_file_that_cannot_be_changed_safely_is_left_alone(agents):
    settings = agents.user / ".claude" / "settings.json"
    settings.write_text("{ // a comment\n}")
    failed = agents.run("plugins", "install", "claude-code")
    assert failed.code == 2 and "settings.json" in failed.err and settings.read_text() == "{ // a comment\n}"
    assert not (agents.user / ".claude" / "skills" / "remember").exists()
    assert agents.run("plugins", "install", "nobody").code == 2


def test_memsearchs_own_plugin_is_not_doubled_but_replaced_on_request(agents):
    settings = agents.user / ".claude" / "settings.json"
    settings.write_text('{"enabledPlugins": {"memsearch@memsearch-plugins": true, "other@x": true}}')
    refused = agents.run("plugins", "install", "claude-code")
    assert refused.code == 4 and "--replace" in refused.err and "hooks" not in settings.read_text()
    agents.ok("plugins", "install", "claude-code", "--replace")
    assert json.loads(settings.read_text())["enabledPlugins"] == {"memsearch@memsearch-plugins": False, "other@x": True}
    codex = agents.user / ".codex" / "hooks.json"
    old = {"type": "command", "command": "/home/u/memsearch/plugins/codex/hooks/stop.sh"}
    codex.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [old]}]}}))
    assert agents.run("plugins", "install", "codex").code == 4
    agents.ok("plugins", "install", "codex", "--replace")
    assert "stop.sh" not in codex.read_text()
    (agents.user / ".config" / "opencode" / "opencode.json").write_text('{"plugin": ["@zilliz/memsearch-opencode"]}')
    assert agents.run("plugins", "install", "opencode").code == 4
    agents.ok("plugins", "uninstall", "claude-code", "codex")
    assert json.loads(settings.read_text())["enabledPlugins"]["memsearch@memsearch-plugins"] is True
    assert "stop.sh" in codex.read_text()


def test_status_names_what_is_wrong(agents):
    agents.ok("plugins", "install", "claude-code")
    state = agents.ok("plugins", "status", "claude-code", "--json").json["plugins"][0]
    assert state["installed"] and state["problems"] == []
    (agents.user / ".claude" / "skills" / "forget" / "SKILL.md").unlink()
    broken = agents.run("plugins", "status", "claude-code", "--json")
    assert broken.code == 5 and "forget" in broken.json["plugins"][0]["problems"][0]


def test_without_a_terminal_notes_stay_extractive_and_a_choice_is_kept(agents):
    agents.ok("plugins", "install", "claude-code")
    assert agents.ok("config", "get", "capture.summarize.provider").out.strip() == "extractive"
    agents.ok("plugins", "install", "codex", "--summaries", "native", "--no-trust")
    assert agents.ok("config", "get", "capture.summarize.provider").out.strip() == "native"


def test_links_are_followed_and_modes_kept(agents):
    real = agents.root / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_bytes(SETTINGS)
    real.chmod(0o600)
    link = agents.user / ".claude" / "settings.json"
    link.unlink()
    link.symlink_to(real)
    agents.ok("plugins", "install", "claude-code")
    assert link.is_symlink() and b"memsearch" in real.read_bytes() and real.stat().st_mode & 0o777 == 0o600
    agents.ok("plugins", "uninstall", "claude-code")
    assert link.is_symlink() and real.read_bytes() == SETTINGS


def test_skills_are_the_same_for_all_agents():
    for skill in ("memory-recall", "memory-config", "remember", "forget"):
        texts = {
            (PLUGINS / agent / "skills" / skill / "SKILL.md").read_text().partition("---\n\n")[2] for agent in AGENTS
        }
        assert len(texts) == 1 and len(texts.pop()) > 100


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_the_hooks_call_our_command_and_nothing_else(agent):
    hooks = json.loads((PLUGINS / agent / "hooks" / "hooks.json").read_text())["hooks"]
    commands = [hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]]
    assert commands == [f"memsearch hook {agent} {event}" for event in hooks]
    if agent == "codex":  # longer ones are cut by Codex, with a warning at every start
        assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == hooks["Interrupt"][0]["hooks"][0]["timeout"] == 3
