"""Installation into the agents' configuration: merged, shown, idempotent, exactly reversible."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from memsearch_engine import __version__
from memsearch_engine.agents import installing, patches
from memsearch_engine.capture import plugins
from memsearch_engine.capture.hook import FINISHING
from memsearch_engine.core import agent_registry
from memsearch_engine.injection.hook_answers import ACTING

from tests.conftest import Box

PLUGINS = Path(__file__).parents[2] / "plugins"
AGENTS = agent_registry.live()
SETTINGS = b"""{
\t"permissions": {"allow": ["Bash(ls)"]},
\t"hooks": {
\t\t"Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}]
\t},
\t"model": "opus"
}"""
CODEX_HOOKS = (
    b'{"hooks": {"Stop": [{"hooks": [{"type": '
    b'"command", "command": "/usr/bin/true", "timeout": 9}]}]}}\n'
)


@pytest.fixture
def agents(box: Box) -> Box:
    """A user who has all agents and configuration of their own in each."""
    for path, data in {
        ".claude/settings.json": SETTINGS,
        ".claude/skills/mine/SKILL.md": b"---\nname: mine\n---\n",
        ".codex/hooks.json": CODEX_HOOKS,
        ".codex/config.toml": b'model = "gpt-5"  # mine\n',
        ".config/opencode/opencode.json": b'{"plugin": ["other"]}',
        ".qwen/settings.json": SETTINGS,
        ".gemini/settings.json": (
            b'{\n  // mine\n  "hooks": {"AfterAgent": [{"hooks": '
            b'[{"type": "command", "command": "true"}]}]},\n}\n'
        ),
        ".copilot/settings.json": b'{"theirs": 1}',
        ".pi/agent/settings.json": b'{"defaultModel": "mine"}',
        ".openclaw/openclaw.json": b'{"agents": {"defaults": {}}, "plugins": {"allow": ["x"]}}\n',
    }.items():
        file = box.user / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return box


def everything(box: Box) -> dict[str, bytes]:
    return {
        str(f.relative_to(box.user)): f.read_bytes()
        for f in sorted(box.user.rglob("*"))
        if f.is_file()
    }


@pytest.mark.slow
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
    assert after[".claude/settings.json"].startswith(
        b'{\n\t"permissions"'
    )  # the user's own indentation
    again = agents.ok("plugins", "install", *AGENTS, "--json").json["changed"]
    assert not any(again.values()) and everything(agents) == after
    agents.ok("plugins", "uninstall", *AGENTS)
    assert everything(agents) == before
    assert agents.ok("plugins", "uninstall", "codex", "--json").json["changed"] == {"codex": []}


def test_all_of_it_is_taken_out_at_once(agents):
    before = everything(agents)
    agents.ok("agents", "install", "claude-code", "codex", "--json")
    agents.ok("agents", "install", "mcp", "--for", "cursor")
    shown = agents.ok("agents", "uninstall", "--all", "--dry-run", "--json").json["changed"]
    assert set(shown) == {"claude-code", "codex", "cursor"} and everything(agents) != before
    done = agents.ok("agents", "uninstall", "--all")
    assert "codex is no longer captured" in done.err and "cursor is captured" not in done.err
    assert everything(agents) == before
    assert "installed in no agent" in agents.ok("agents", "uninstall", "--all").err
    assert agents.run("agents", "uninstall").code == 2


@pytest.mark.slow
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
    assert (
        left["theme"] == "light"
        and "memsearch" not in settings.read_text()
        and list(left["hooks"]) == ["Stop"]
    )
    assert [g["hooks"][0]["command"] for g in left["hooks"]["Stop"]] == [
        "notify-send done",
        "later",
    ]
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
    assert (
        failed.code == 2
        and "settings.json" in failed.err
        and settings.read_text() == "{ // a comment\n}"
    )
    assert not (agents.user / ".claude" / "skills" / "remember").exists()
    assert agents.run("plugins", "install", "nobody").code == 2


@pytest.mark.slow
def test_memsearchs_own_plugin_is_not_doubled_but_replaced_on_request(agents):
    settings = agents.user / ".claude" / "settings.json"
    settings.write_text(
        '{"enabledPlugins": {"memsearch@memsearch-plugins": true, "other@x": true}}'
    )
    refused = agents.run("plugins", "install", "claude-code")
    assert refused.code == 4 and "--replace" in refused.err and "hooks" not in settings.read_text()
    agents.ok("plugins", "install", "claude-code", "--replace")
    assert json.loads(settings.read_text())["enabledPlugins"] == {
        "memsearch@memsearch-plugins": False,
        "other@x": True,
    }
    codex = agents.user / ".codex" / "hooks.json"
    old = {"type": "command", "command": "/home/u/memsearch/plugins/codex/hooks/stop.sh"}
    codex.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [old]}]}}))
    assert agents.run("plugins", "install", "codex").code == 4
    agents.ok("plugins", "install", "codex", "--replace")
    assert "stop.sh" not in codex.read_text()
    (agents.user / ".config" / "opencode" / "opencode.json").write_text(
        '{"plugin": ["@zilliz/memsearch-opencode"]}'
    )
    assert agents.run("plugins", "install", "opencode").code == 4
    agents.ok("plugins", "uninstall", "claude-code", "codex")
    assert json.loads(settings.read_text())["enabledPlugins"]["memsearch@memsearch-plugins"] is True
    assert "stop.sh" in codex.read_text()


@pytest.mark.slow
def test_status_names_what_is_wrong(agents):
    agents.ok("plugins", "install", "claude-code")
    state = agents.ok("plugins", "status", "claude-code", "--json").json["plugins"][0]
    assert state["installed"] and state["problems"] == []
    skill = agents.user / ".claude" / "skills" / "forget" / "SKILL.md"
    # an earlier version wrote another text
    patches.apply(
        agents.home,
        "claude-code",
        [patches.Patch(str(skill), skill.read_bytes(), b"earlier", "skill")],
    )
    (older,) = agents.run("plugins", "status", "claude-code", "--json").json["plugins"]
    (problem,) = older["problems"]
    assert f"{skill} is of an earlier installation: " in problem and "updates it" in problem
    skill.unlink()
    broken = agents.run("plugins", "status", "claude-code", "--json")
    assert broken.code == 5 and "forget" in broken.json["plugins"][0]["problems"][0]


def test_status_says_how_hooks_of_a_marketplace_find_memsearch(agents, tmp_path, monkeypatch):
    (agents.user / ".claude" / "settings.json").write_text(
        '{"enabledPlugins": {"memsearch@memsearch-tui": true}}'
    )
    monkeypatch.setattr(plugins, "_MINIMAL_PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(agents.user))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    found = plugins._status(agents.home, "claude-code")
    assert found.plugin and "ln -s" in found.notes[-1]
    (tmp_path / "memsearch").write_text("#!/bin/sh\n")
    (tmp_path / "memsearch").chmod(0o755)
    assert not any("ln -s" in note for note in plugins._status(agents.home, "claude-code").notes)


@pytest.mark.slow
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
    assert (
        link.is_symlink()
        and b"memsearch" in real.read_bytes()
        and real.stat().st_mode & 0o777 == 0o600
    )
    agents.ok("plugins", "uninstall", "claude-code")
    assert link.is_symlink() and real.read_bytes() == SETTINGS


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_the_hooks_call_our_command_and_nothing_else(agent):
    hooks = json.loads((PLUGINS / agent / "hooks" / "hooks.json").read_text())["hooks"]
    commands = [
        hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]
    ]
    assert commands == [f"memsearch hook {agent} {event}" for event in hooks]
    if agent == "codex":  # longer ones are cut by Codex, with a warning at every start
        assert (
            hooks["SessionEnd"][0]["hooks"][0]["timeout"]
            == hooks["Interrupt"][0]["hooks"][0]["timeout"]
            == 3
        )


@pytest.mark.parametrize(
    ("agent", "own"),
    [
        ("qwen", {"PostToolUse": "PreToolUse"}),
        ("gemini", {"AfterAgent": "Stop", "AfterTool": "PostToolUse"}),
    ],
)
def test_hooks_that_another_agent_calls_otherwise_are_events_that_the_command_knows(agent, own):
    hooks = json.loads((PLUGINS / agent / "hooks" / "hooks.json").read_text())["hooks"]
    for event, groups in hooks.items():
        said = [hook["command"] for group in groups for hook in group["hooks"]]
        assert said[-1] == f"memsearch hook {agent} {own.get(event, event)}"
        assert {line.rpartition(" ")[2] for line in said} <= {
            "BeforeAgent",
            "SessionStart",
            "UserPromptSubmit",
            *ACTING,
            *FINISHING,
        }
        # below 1000 a newer Qwen Code reads seconds, an older one milliseconds; Gemini CLI always
        # milliseconds
        assert all(hook["timeout"] >= 1000 for group in groups for hook in group["hooks"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "variable"), [("pi", "PI_CODING_AGENT_DIR"), ("copilot", "COPILOT_HOME")]
)
def test_a_home_that_is_named_relatively_is_one_place_from_everywhere(box, agent, variable):
    (box.user / "tilde").mkdir()
    for named, place in (
        ("moved here", box.project / "moved here"),
        ("~/tilde", box.user / "tilde"),
    ):
        box.env[variable] = named
        box.ok("plugins", "install", agent)
        assert list(place.rglob("memsearch.*")), named
        box.env[variable] = str(place)
        box.ok("plugins", "uninstall", agent)
        assert not list(place.rglob("memsearch.*")), named


def test_a_program_whose_path_a_shell_would_read_is_quoted_for_it(monkeypatch):
    for path in (
        "/opt/a b/memsearch",
        '/opt/a"b/memsearch',
        "/opt/$HOME/memsearch",
        "/opt/`id`/memsearch",
    ):
        monkeypatch.setattr(installing, "command", lambda path=path: path)
        assert shlex.split(installing.quoted()) == [path] == shlex.split(installing.quoted(path))
        done = subprocess.run(
            ["sh", "-c", f"printf %s {installing.quoted()}"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == path


def test_copilots_hooks_are_a_file_of_ours_and_none_can_refuse_a_tool(agents):
    agents.ok("plugins", "install", "copilot")
    table = json.loads((agents.user / ".copilot" / "hooks" / "memsearch.json").read_text())
    said = {
        event: [hook["command"] for group in groups for hook in group["hooks"]]
        for event, groups in table["hooks"].items()
    }
    assert table["version"] == 1 and "PreToolUse" not in said
    for event, lines in said.items():
        assert all(
            f" hook copilot {own}" in line
            for line, own in zip(
                lines,
                {
                    "UserPromptSubmit": ["BeforeAgent"],
                    "PostToolUse": ["PreToolUse", "PostToolUse"],
                    "ErrorOccurred": ["StopFailure"],
                }.get(event, [event]),
                strict=True,
            )
        ), lines
    assert not installing.missing(shlex.split(said["Stop"][0])[:-3])


COMMENTED = """// mine
{
  // who works
  agents: { defaults: { workspace: '/x', }, },
  plugins: {
    entries: {}, // none yet
    allow: ["x",],
  },
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_our_lines_go_from_an_edited_file_that_begins_with_a_comment(agents, newline):
    claw = agents.user / ".openclaw" / "openclaw.json"
    text = newline.join(["{", "  // mine", '  "model": "m",', "}", ""])
    claw.write_bytes(text.encode())
    agents.ok("plugins", "install", "openclaw")
    claw.write_bytes(claw.read_bytes().replace(b'"m"', b'"n"'))
    agents.ok("plugins", "uninstall", "openclaw")
    assert claw.read_bytes() == text.replace('"m"', '"n"').encode()


def test_comments_in_settings_that_may_have_them_stay(agents):
    claw = agents.user / ".openclaw" / "openclaw.json"
    claw.write_text(COMMENTED)
    agents.ok("plugins", "install", "openclaw")
    now = claw.read_text()
    assert all(
        part in now
        for part in (
            "// mine",
            "// who works",
            "workspace: '/x',",
            "// none yet",
            "allowPromptInjection",
        )
    )
    assert agents.ok("plugins", "install", "openclaw", "--json").json["changed"] == {"openclaw": []}
    claw.write_text(now + "// later\n")
    agents.ok("plugins", "uninstall", "openclaw")
    left = claw.read_text()
    assert (
        "memsearch" not in left
        and "// later" in left
        and "// who works" in left
        and "workspace: '/x'," in left
    )
    claw.write_text(COMMENTED)
    agents.ok("plugins", "install", "openclaw")
    agents.ok("plugins", "uninstall", "openclaw")
    assert claw.read_text() == COMMENTED
    claw.write_text("{ plugins: {},, }")
    broken = agents.run("plugins", "install", "openclaw")
    assert (
        broken.code == 2
        and "openclaw.json" in broken.err
        and claw.read_text() == "{ plugins: {},, }"
    )


def test_what_a_link_of_the_peer_points_to_is_not_ours_to_write(agents):
    clone = agents.root / "clone"
    (clone / "skills" / "memory-recall").mkdir(parents=True)
    (clone / "memsearch.ts").write_text("// the peer's plugin\n")
    (clone / "skills" / "memory-recall" / "SKILL.md").write_text("the peer's skill\n")
    base = agents.user / ".config" / "opencode"
    for name, target in {
        "plugins/memsearch.ts": "memsearch.ts",
        "skills/memory-recall": "skills/memory-recall",
    }.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).symlink_to(clone / target)
    refused = agents.run("plugins", "install", "opencode")
    assert refused.code == 4 and "memsearch.ts" in refused.err
    agents.ok("plugins", "install", "opencode", "--replace")
    assert b"plugins install opencode" in (base / "plugins" / "memsearch.ts").read_bytes()
    assert not (base / "skills" / "memory-recall").is_symlink()
    assert (clone / "memsearch.ts").read_text() == "// the peer's plugin\n"
    assert (clone / "skills" / "memory-recall" / "SKILL.md").read_text() == "the peer's skill\n"
    assert agents.ok("plugins", "install", "opencode", "--json").json["changed"] == {"opencode": []}
    agents.ok("plugins", "uninstall", "opencode")
    assert (base / "plugins" / "memsearch.ts").readlink() == clone / "memsearch.ts"
    assert (base / "skills" / "memory-recall").readlink() == clone / "skills" / "memory-recall"


def test_an_install_that_fails_leaves_nothing_and_does_not_count(agents):
    shutil.rmtree(agents.user / ".claude" / "skills")
    (agents.user / ".claude" / "skills").symlink_to(
        "/proc/nothing/here"
    )  # where nobody can make a folder
    before = everything(agents)
    failed = agents.run("plugins", "install", "claude-code")
    assert failed.code == 3 and "put back" in failed.err and "can't be written" in failed.err
    assert {
        path: data for path, data in everything(agents).items() if not path.startswith(".memsearch")
    } == before
    state = agents.ok("plugins", "status", "claude-code", "--json").json["plugins"][0]
    assert state["installed"] is False


def test_read_only_settings_are_their_owners_word(agents):
    settings = agents.user / ".claude" / "settings.json"
    settings.chmod(0o444)
    refused = agents.run("plugins", "install", "claude-code")
    assert refused.code == 4 and "read-only" in refused.err and "chmod u+w" in refused.err
    assert (
        settings.read_bytes() == SETTINGS
        and not (agents.user / ".claude" / "skills" / "remember").exists()
    )
    settings.chmod(0o644)
    agents.ok("plugins", "install", "claude-code")
    settings.chmod(0o444)
    assert agents.run("plugins", "uninstall", "claude-code").code == 4


#: A Codex that says of the hooks in hooks.json what the real app server says, and leaves its
#: arguments behind.
_CODEX = """#!/usr/bin/env python3
import json, os, sys, tomllib
base = os.environ["CODEX_HOME"]
open(os.path.join(base, "asked"), "a").write(" ".join(sys.argv[1:]) + "\\n")
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "hooks/list":
        hooks = json.load(open(os.path.join(base, "hooks.json")))["hooks"]
        trusted = tomllib.load(open(os.path.join(base, \
"config.toml"), "rb")).get("hooks", {}).get("state", {})
        rows = []
        for event, groups in hooks.items():
            for group in groups:
                for hook in group["hooks"]:
                    key = f"{base}/hooks.json:{event}:{len(rows)}"
                    known = trusted.get(key, {}).get("trusted_hash") == "sha256:1"
                    rows.append({"key": key, "command": \
hook["command"], "eventName": event, "currentHash": "sha256:1",
                                 "trustStatus": "trusted" if known else "untrusted"})
        print(json.dumps({"id": message["id"], "result": {"data": [{"hooks": rows}]}}), flush=True)
    elif "id" in message:
        print(json.dumps({"id": message["id"], "result": {}}), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        "",
        "hooks = { state = {} }\n",
        "hooks = {}\n",
        "[hooks]\nstate = {}  # none\n",
        '[hooks.state."x"]\ntrusted_hash = "y"\n',
    ],
)
def test_hooks_are_trusted_in_every_shape_of_codex_own_table(agents, config):
    program = agents.root / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(_CODEX)
    program.chmod(0o755)
    agents.env["PATH"] = f"{program.parent}:{agents.env['PATH']}"
    agents.env["CODEX_HOME"] = str(agents.user / ".codex")
    file = agents.user / ".codex" / "config.toml"
    file.write_text('model = "gpt-5"  # mine\n' + config)
    before = file.read_bytes()
    agents.ok("plugins", "install", "codex")
    assert b'model = "gpt-5"  # mine\n' in file.read_bytes() and b"sha256:1" in file.read_bytes()
    assert agents.ok("plugins", "status", "codex", "--json").json["plugins"][0]["problems"] == []
    agents.ok("plugins", "uninstall", "codex")
    assert file.read_bytes() == before


def test_plugins_say_the_version_of_the_product():
    manifests = [*PLUGINS.glob("*/.*-plugin/plugin.json"), *PLUGINS.glob("*/package.json")]
    assert len(manifests) == 4
    assert {json.loads(file.read_text())["version"] for file in manifests} == {__version__}


@pytest.mark.slow
@pytest.mark.parametrize(
    "permissions", ["null", "[]", '"all"', '{"allow": "all"}', '{"allow": null}']
)
def test_permissions_of_an_odd_shape_are_named_and_left(agents, permissions):
    settings = agents.user / ".claude" / "settings.json"
    settings.write_text(f'{{"permissions": {permissions}}}')
    refused = agents.run("plugins", "install", "claude-code", "--allow")
    assert refused.code == 2 and "permissions.allow" in refused.err, refused
    assert settings.read_text() == f'{{"permissions": {permissions}}}'
    agents.ok("plugins", "install", "claude-code")  # without the rules, nothing of it matters
    assert agents.run("plugins", "status", "claude-code", "--json").json["plugins"][0]["installed"]


@pytest.mark.slow
def test_rules_are_added_once_kept_and_taken_back(agents):
    settings = agents.user / ".claude" / "settings.json"
    agents.ok("plugins", "install", "claude-code", "--allow")
    allowed = json.loads(settings.read_text())["permissions"]["allow"]
    assert allowed[0] == "Bash(ls)" and len(allowed) == 8 and "Skill(memory-recall)" in allowed
    assert agents.ok("plugins", "install", "claude-code", "--allow", "--json").json["changed"] == {
        "claude-code": []
    }
    table = json.loads(settings.read_text())
    table["theme"] = "light"
    settings.write_text(json.dumps(table))
    agents.ok("plugins", "uninstall", "claude-code")
    assert json.loads(settings.read_text())["permissions"] == {"allow": ["Bash(ls)"]}
    assert "--allow: only Claude Code" in agents.ok("plugins", "install", "opencode", "--allow").err


def test_settings_that_can_not_be_read_hide_no_other_agent(agents):
    agents.ok("plugins", "install", "opencode")
    (agents.user / ".claude" / "settings.json").write_text('{"hooks": 3')
    shown = agents.run("plugins", "status", "--json")
    rows = {row["agent"]: row for row in shown.json["plugins"]}
    assert shown.code == 5 and "settings.json" in rows["claude-code"]["problems"][0]
    assert rows["opencode"]["installed"] and rows["opencode"]["problems"] == []


def test_what_the_user_changed_between_two_installs_stays(agents):
    settings = agents.user / ".claude" / "settings.json"
    agents.ok("plugins", "install", "claude-code")
    table = json.loads(settings.read_text())
    table["permissions"]["deny"] = ["Read(.env)"]
    settings.write_text(json.dumps(table))
    agents.ok("plugins", "install", "claude-code", "--allow")
    agents.ok("plugins", "uninstall", "claude-code")
    left = json.loads(settings.read_text())
    assert left["permissions"] == {"allow": ["Bash(ls)"], "deny": ["Read(.env)"]}
    assert (
        "memsearch" not in settings.read_text() and left["hooks"] == json.loads(SETTINGS)["hooks"]
    )


def test_a_rule_that_the_user_had_is_his(agents):
    settings = agents.user / ".claude" / "settings.json"
    settings.write_text('{"permissions": {"allow": ["Skill(memory-recall)"]}}')
    agents.ok("plugins", "install", "claude-code", "--allow")
    settings.write_text(settings.read_text().replace("{", '{"theme": "light",', 1))
    agents.ok("plugins", "uninstall", "claude-code")
    assert json.loads(settings.read_text()) == {
        "theme": "light",
        "permissions": {"allow": ["Skill(memory-recall)"]},
    }


@pytest.mark.slow
def test_an_uninstall_that_is_refused_changes_nothing_and_a_second_one_takes_nothing_else(agents):
    folder = agents.user / ".openclaw" / "extensions" / "memsearch"
    folder.mkdir(parents=True)
    (folder / "index.js").write_text("// MINE")
    (folder / "package.json").write_text('{"name": "memsearch-openclaw-plugin-of-mine"}')
    before = everything(agents)
    agents.ok("plugins", "install", "openclaw")
    installed = everything(agents)
    config = agents.user / ".openclaw" / "openclaw.json"
    config.chmod(0o444)
    refused = agents.run("plugins", "uninstall", "openclaw")
    assert refused.code == 4 and "read-only" in refused.err and everything(agents) == installed
    config.chmod(0o644)
    (folder / "index.js").write_text("// MINE")  # as a run that was interrupted had put it back
    agents.ok("plugins", "uninstall", "openclaw")
    assert everything(agents) == before


def test_files_in_the_place_of_a_link_keep_the_link_away_and_nothing_else(agents):
    skills = agents.user / ".claude" / "skills"
    other = agents.root / "other"
    other.mkdir()
    (skills / "forget").symlink_to(other)
    agents.ok("plugins", "install", "claude-code")
    (skills / "forget" / "EXTRA.md").write_text("mine")
    agents.ok("plugins", "uninstall", "claude-code")
    assert (skills / "forget" / "EXTRA.md").read_text() == "mine" and not (
        skills / "forget" / "SKILL.md"
    ).exists()
    assert (agents.user / ".claude" / "settings.json").read_bytes() == SETTINGS


@pytest.mark.parametrize(
    "text",
    [
        '{"plugins": []}',
        '{"plugins": null}',
        '{"plugins": {"entries": null}}',
        '{"plugins": {"entries": {"memsearch": true}}}',
        "{// c\n plugins: {entries: {x: 1, x: 2, memsearch: {}, y: 3}}}",
        '{"a": 1e400}',
    ],
)
def test_settings_of_an_odd_shape_are_named_and_left(agents, text):
    config = agents.user / ".openclaw" / "openclaw.json"
    config.write_text(text)
    refused = agents.run("plugins", "install", "openclaw")
    assert refused.code == 2 and "Traceback" not in refused.err and config.read_text() == text, (
        refused
    )


def test_an_edited_file_in_the_place_of_a_link_stays(agents):
    file = agents.user / ".config" / "opencode" / "plugins" / "memsearch.ts"
    file.parent.mkdir(parents=True)
    other = agents.root / "other.ts"
    other.write_text("// the peer's")
    file.symlink_to(other)
    agents.ok("plugins", "install", "opencode", "--replace")
    edited = file.read_text() + "// and mine\n"
    file.write_text(edited)
    agents.ok("plugins", "uninstall", "opencode")
    assert not file.is_symlink() and file.read_text() == edited


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["qwen", "gemini"])
@pytest.mark.parametrize(
    ("first", "last"), [("hooks", "hooks"), ("hooks", "mcp"), ("mcp", "hooks"), ("mcp", "mcp")]
)
def test_hooks_and_a_server_in_one_file_go_in_any_order(box, agent, first, last):
    file = box.user / f".{agent}" / "settings.json"
    how = {"hooks": [agent], "mcp": ["mcp", "--for", agent]}
    others = {"hooks": "mcp", "mcp": "hooks"}
    for text in (
        None,
        '{"theirs": {"kept": true}}\n',
        '{\n  // mine\n  "theirs": {"kept": true},\n}\n',
    ):
        if text is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for what in (first, others[first]):
            box.ok("plugins", "install", *how[what])
        assert "BeforeAgent" in file.read_text() or "UserPromptSubmit" in file.read_text()
        assert "mcpServers" in file.read_text()
        for what in (last, others[last]):
            box.ok("plugins", "uninstall", *how[what])
        if text is None:
            assert not file.exists() or file.read_text().strip() == "{}"
        elif first == others[last]:
            assert file.read_text() == text  # taken out as it was put in: to the byte
        else:
            assert ("// mine" in file.read_text()) == ("// mine" in text)
            assert (
                "memsearch" not in file.read_text()
                and "mcpServers" not in file.read_text()
                and "hooks" not in file.read_text()
            )
        file.unlink(missing_ok=True)


def _hook_lines(box: Box, agent: str) -> list[list[str]]:
    """How the installed hooks of *agent* are started, by its own installer in the environment of
    *box*.
    """
    program = (
        "import json; from memsearch_engine.capture import plugins; "
        f"print(json.dumps(plugins.installer({agent!r}).starts()))"
    )
    done = subprocess.run(
        [installing.sys.executable, "-c", program], env=box.env, capture_output=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_hook_starts_without_a_path_and_takes_no_module_of_the_project(agents, agent):
    agents.ok("plugins", "install", agent, "--no-trust")
    starts = _hook_lines(agents, agent)
    assert starts and all(
        os.path.isabs(part) for argv in starts for part in argv if not part.startswith("-")
    )
    (argv,) = [argv for argv in starts if len(argv) > 1]
    for name in ("json", "select", "os", "time"):
        (agents.project / f"{name}.py").write_text(
            "raise SystemExit('a module of the project was imported')"
        )
    bare = {
        "HOME": str(agents.user),
        "MEMSEARCH_HOME": str(agents.home.root),
        "MEMSEARCH_NO_SERVICE": "1",
    }
    odd = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(agents.project), "PYTHONHOME": "/nonexistent"}
    done = subprocess.run(
        [*argv, "hook", agent, "Stop"],
        input=b"{}",
        env=bare | odd,
        cwd=agents.project,
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_hooks_of_an_older_version_or_a_removed_one_are_named_mended_and_taken_out(agents, agent):
    before = everything(agents)
    agents.ok("plugins", "install", agent, "--no-trust")
    made = [path for path, data in everything(agents).items() if data != before.get(path)]
    now = [argv for argv in _hook_lines(agents, agent) if len(argv) > 1][0]
    for old in (
        "memsearch",
        "/gone/bin/memsearch",
    ):  # by its name, and by a path, as an older version wrote them
        for path in (agents.user / name for name in made if not name.startswith(".memsearch")):
            text = path.read_text()
            text = text.replace(json.dumps(now), json.dumps(old)).replace(" ".join(now), old)
            path.write_text(text.replace(json.dumps([installing.command()]), json.dumps(old)))
        (state,) = agents.run("plugins", "status", agent, "--json").json["plugins"]
        named = [text for text in state["problems"] if "can't be started" in text]
        assert named and f"`memsearch agents install {agent}` mends it" in named[0]
        if agent == "pi":  # one is enough: it says of all what `plugins status` says
            (check,) = [
                c for c in agents.run("doctor", "--json").json["checks"] if c["what"] == "plugins"
            ]
            assert not check["ok"] and named[0] in check["detail"]
        agents.ok("plugins", "install", agent, "--no-trust")
        (state,) = agents.run("plugins", "status", agent, "--json").json["plugins"]
        assert not [text for text in state["problems"] if "trust" not in text]
    agents.ok("plugins", "uninstall", agent)
    left = {
        path: data for path, data in everything(agents).items() if not path.startswith(".memsearch")
    }
    assert left.keys() == before.keys() and not [
        path for path in left if b"hook " + agent.encode() in left[path]
    ]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "openclaw", "qwen", "gemini"])
def test_a_pipe_and_a_deep_table_in_the_place_of_settings_are_named(agents, agent):
    names = {"codex": "hooks.json", "openclaw": "openclaw.json"}
    file = agents.user / f".{agent.removesuffix('-code')}" / names.get(agent, "settings.json")
    file.write_text('{"a":' * 2000 + "1" + "}" * 2000)
    shown = agents.run("plugins", "status", agent)
    refused = agents.run("plugins", "install", agent)
    assert (
        refused.code == 2
        and file.name in refused.err
        and "Traceback" not in refused.err + shown.err
    )
    file.unlink()
    os.mkfifo(file)
    refused = agents.run("plugins", "install", agent)
    assert refused.code == 3 and "not a regular file" in refused.err
    (state,) = agents.run("plugins", "status", agent, "--json").json[
        "plugins"
    ]  # where ours is not, few are looked at
    assert not state["installed"] and all(
        "not a regular file" in text for text in state["problems"]
    )


def test_tables_that_were_made_for_ours_go_with_it(agents):
    config = agents.user / ".openclaw" / "openclaw.json"
    config.write_text('{"agents": {}}')
    agents.ok("plugins", "install", "openclaw")
    config.write_text(config.read_text().replace("{}", '{"mine": 1}', 1))
    agents.ok("plugins", "uninstall", "openclaw")
    assert json.loads(config.read_text()) == {"agents": {"mine": 1}}
