"""A native call answers one question and can do nothing else: the model tries every tool that there
is, offered or not.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from memsearch_engine.core.own_prompts import MARK

from tests.agents.conftest import Lab
from tests.mock_model import Reply

pytestmark = [pytest.mark.agents]
_ASK = """
import sys
from memsearch_engine.core.llm import cli
print(cli.ask(sys.argv[1], "", "Write bullets.", "A turn.", 100).text)
"""
_EDIT = """
import sys
from pathlib import Path
from memsearch_engine.core.llm import cli
cli.edit("claude-code", "", "Edit files.", "Do it.", Path(sys.argv[1]), 100, lambda: False)
"""
_NOTES = "- User asked about limits\n- Agent set them to five"
#: Tools of the clients, by name and with what would leave a mark outside: whether they are offered
#: or not.
_TRIES = {
    "claude": [
        ("Bash", {"command": "echo x > {mark}", "description": "d"}),
        ("Read", {"file_path": "{secret}"}),
        ("Write", {"file_path": "{mark}", "content": "x"}),
        ("WebFetch", {"url": "{url}/fetched", "prompt": "p"}),
        (
            "Task",
            {"description": "d", "prompt": "echo x > {mark}", "subagent_type": "general-purpose"},
        ),
        ("mcp__evil__touch", {}),
        ("Skill", {"skill": "memory-recall"}),
    ],
    "qwen": [
        (
            "run_shell_command",
            {
                "command": "cat {secret}; echo x > {mark}",
                "description": "d",
                "is_background": False,
            },
        ),
        ("read_file", {"file_path": "{secret}"}),
        ("write_file", {"file_path": "{mark}", "content": "x"}),
        ("web_fetch", {"url": "{url}/fetched", "prompt": "p"}),
        ("mcp__evil__touch", {}),
        ("skill", {"skill": "memory-recall"}),
        (
            "agent",
            {"description": "d", "prompt": "echo x > {mark}", "subagent_type": "general-purpose"},
        ),
        ("tool_search", {"query": "shell"}),
        ("tool_call", {"name": "run_shell_command", "arguments": {"command": "echo x > {mark}"}}),
    ],
    "pi": [
        ("bash", {"command": "cat {secret}; echo x > {mark}"}),
        ("read", {"path": "{secret}"}),
        ("write", {"path": "{mark}", "content": "x"}),
        ("mcp__evil__touch", {}),
        ("codemode", {"code": "x"}),
        ("evil_tool", {}),
    ],
    "opencode": [
        ("bash", {"command": "cat {secret}; echo x > {mark}", "description": "d"}),
        ("read", {"filePath": "{secret}"}),
        ("write", {"filePath": "{mark}", "content": "x"}),
        ("edit", {"filePath": "{mark}", "oldString": "", "newString": "x"}),
        ("webfetch", {"url": "{url}/fetched", "format": "text"}),
        ("task", {"description": "d", "prompt": "echo x > {mark}", "subagent_type": "general"}),
        ("glob", {"pattern": "*"}),
        ("grep", {"pattern": "secret"}),
        ("list", {"path": "{secret}"}),
        ("skill", {"name": "memory-recall"}),
        ("evil_touch", {}),
        ("memory_search", {"query": "x"}),
        ("todowrite", {"todos": []}),
        ("invalid", {"tool": "bash", "error": "x"}),
    ],
    "openclaw": [
        ("exec", {"command": "cat {secret}; echo x > {mark}"}),
        ("process", {"action": "list"}),
        ("read", {"path": "{secret}"}),
        ("write", {"path": "{mark}", "content": "x"}),
        ("edit", {"path": "{mark}", "oldText": "", "newText": "x"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: {mark}\n+x\n*** End Patch"}),
        ("web_fetch", {"url": "{url}/fetched"}),
        ("sessions_spawn", {"task": "echo x > {mark}"}),
        ("sessions_send", {"message": "x"}),
        ("message", {"action": "send", "to": "x", "message": "x"}),
        ("automations", {"action": "list"}),
        ("gateway", {"action": "update.run"}),
        ("session_status", {}),
        ("browser", {"action": "open", "url": "{url}/fetched"}),
        ("tool_search", {"query": "exec"}),
        ("tool_call", {"id": "exec", "args": {"command": "echo x > {mark}"}}),
        ("tool_search_code", {"code": "await openclaw.tools.call('exec', {{}})"}),
        ("code", {"code": "await tools.exec({{command: 'echo x > {mark}'}})"}),
        ("memory_get", {"path": "{secret}"}),
        ("view_image", {"path": "{secret}"}),
        ("pdf", {"path": "{secret}"}),
        ("evil__touch", {}),
        ("evil_tool", {}),
        ("memsearch_search", {"query": "x"}),
    ],
    "codex": [
        ("exec_command", {"cmd": "cat {secret}; echo x > {mark}"}),
        ("shell", {"command": ["sh", "-c", "echo x > {mark}"]}),
        ("shell_command", {"command": "echo x > {mark}"}),
        ("unified_exec", {"input": ["sh", "-c", "echo x > {mark}"]}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: {mark}\n+x\n*** End Patch"}),
        ("view_image", {"path": "{secret}"}),
        ("spawn_agent", {"message": "echo x > {mark}"}),
        ("mcp__evil__touch", {}),
        ("read_mcp_resource", {"server": "evil", "uri": "x"}),
        ("exec", {"code": "await tools.exec_command({{cmd: 'echo x > {mark}'}})"}),
        ("web_search", {"query": "x"}),
    ],
}


def _filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        return value.format(**words)
    if isinstance(value, list):
        return [_filled(item, words) for item in value]
    if isinstance(value, bool):
        return value
    return {key: _filled(item, words) for key, item in value.items()}


def _script(path: Path, line: str) -> str:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize("client", ["claude", "codex", "qwen", "pi", "opencode", "openclaw"])
def test_a_model_that_tries_every_tool_gets_none(lab: Lab, client: str):
    lab.have(client)
    marks = lab.root / "marks"
    marks.mkdir()
    secret = lab.root / "secret.txt"
    secret.write_text("the-secret-of-the-user")
    words = {"mark": str(marks / "tool"), "secret": str(secret), "url": lab.model.url}
    server = _script(lab.bin / "evil-server", f"touch {marks}/server")
    injected = _script(lab.bin / "started", f"touch {marks}/started")
    tries: list[Reply] = []
    seen: list[dict[str, Any]] = []

    def reply(request: dict[str, Any]) -> Reply:
        if MARK not in json.dumps(request):
            return None
        seen.append(request)
        return tries.pop(0) if tries else _NOTES

    lab.model.replies = reply
    if client == "claude":
        folder = lab.user / ".claude"
        hook = {"hooks": [{"type": "command", "command": injected}]}
        table = {
            "permissions": {"allow": ["Bash", "Read", "Write", "WebFetch", "mcp__evil__touch"]},
            "hooks": {
                key: [hook] for key in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop")
            },
        }
        (folder / "settings.json").write_text(json.dumps(table))
        (lab.user / ".claude.json").write_text(
            json.dumps({"mcpServers": {"evil": {"command": server, "args": []}}})
        )
        (folder / "CLAUDE.md").write_text("the-instructions-of-the-user")
    elif client == "qwen":
        folder = lab.user / ".qwen"
        hook = {"hooks": [{"type": "command", "command": injected}]}
        table = json.loads((folder / "settings.json").read_text())
        table["hooks"] = {
            key: [hook]
            for key in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
        }
        table |= {
            "mcpServers": {"evil": {"command": server, "args": []}},
            "tools": {"approvalMode": "yolo"},
        }
        (folder / "settings.json").write_text(json.dumps(table))
        (folder / "QWEN.md").write_text("the-instructions-of-the-user")
    elif client == "pi":
        folder = lab.user / ".pi" / "agent"
        entry = {"command": server, "args": [], "exposure": "direct"}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"evil": entry}}))
        (folder / "AGENTS.md").write_text("the-instructions-of-the-user")
        (folder / "extensions").mkdir()
        touch = f'import {{ execSync }} from "node:child_process"\nexecSync("{injected}")\n'
        (folder / "extensions" / "evil.ts").write_text(
            f"{touch}export default function (pi: any) {{}}\n"
        )
    elif client == "opencode":
        folder = lab.user / ".config" / "opencode"
        table = json.loads((folder / "opencode.json").read_text())
        table |= {
            "mcp": {"evil": {"type": "local", "command": [server], "enabled": True}},
            "permission": {"*": "allow"},
            "tools": {"*": True},
        }
        (folder / "opencode.json").write_text(json.dumps(table))
        (folder / "AGENTS.md").write_text("the-instructions-of-the-user")
        for plugins in (folder / "plugins", lab.user / ".opencode" / "plugins"):
            plugins.mkdir(parents=True)
            run = f'import {{ execSync }} from "node:child_process"\nexecSync("{injected}")\n'
            (plugins / "evil.js").write_text(f"{run}export const Evil = async () => ({{}})\n")
    elif client == "openclaw":
        folder = lab.user / ".openclaw"
        plugin = folder / "extensions" / "evil"
        plugin.mkdir(parents=True)
        (plugin / "package.json").write_text(
            json.dumps({"name": "evil", "type": "module", "openclaw": {"extensions": ["./x.js"]}})
        )
        manifest = {"id": "evil", "configSchema": {"type": "object", "properties": {}}}
        (plugin / "openclaw.plugin.json").write_text(json.dumps(manifest))
        run = f'import {{ execSync }} from "node:child_process"\nexecSync("{injected}")\n'
        (plugin / "x.js").write_text(f'{run}export default {{ id: "evil", register() {{}} }}\n')
        table = json.loads((folder / "openclaw.json").read_text())
        table |= {
            "tools": {"profile": "full", "exec": {"security": "full", "ask": "off"}},
            "mcp": {"servers": {"evil": {"command": server, "args": []}}},
            "plugins": {"entries": {"evil": {"enabled": True}}, "load": {"paths": [str(plugin)]}},
        }
        (folder / "openclaw.json").write_text(json.dumps(table))
        for workspace in (folder / "workspace", lab.project):
            workspace.mkdir(exist_ok=True)
            (workspace / "AGENTS.md").write_text("the-instructions-of-the-user")
    else:
        folder = lab.user / ".codex"
        config = folder / "config.toml"
        config.write_text(
            f'notify = ["{injected}"]\nmodel_reasoning_effort = "high"\n'
            f'{config.read_text()}\n[mcp_servers.evil]\ncommand = "{server}"\n'
        )
        (folder / "AGENTS.md").write_text("the-instructions-of-the-user")
    tries += [(name, _filled(given, words)) for name, given in _TRIES[client]]
    before = {str(path) for path in folder.rglob("*")}
    done = lab.client(sys.executable, "-c", _ASK, "claude-code" if client == "claude" else client)
    assert done.out.strip() == _NOTES, done
    assert not tries, "the model was not asked again after a tool that it has not"
    assert list(marks.iterdir()) == []
    said = json.dumps(seen)
    assert "the-secret-of-the-user" not in said and "the-instructions-of-the-user" not in said
    offered = {
        tool.get("name") or tool.get("type")
        for request in seen
        for tool in request.get("tools") or []
    }
    offered |= {
        t.get("name")
        for r in seen
        for i in r.get("input") or []
        if isinstance(i, dict)
        for t in i.get("tools") or []
    }
    assert offered <= {"request_user_input"}
    # nothing of it stays: no session, no history; and the client's own state is what it was
    left = {str(path) for path in folder.rglob("*")} - before
    counted = str(
        lab.user / ".qwen" / "usage_record.jsonl"
    )  # Qwen Code's own account of tokens, which no option leaves out
    if counted in left:
        assert (
            "A turn." not in Path(counted).read_text() and "limits" not in Path(counted).read_text()
        )
        left.remove(counted)
    if client == "openclaw":  # its own state, which has nothing of the question or the answer
        for path in [path for path in left if Path(path).is_file()]:
            data = Path(path).read_bytes()
            assert b"A turn." not in data and b"set them to five" not in data, path
        left = {path for path in left if not path.startswith(f"{folder}/state/")}
    assert not [path for path in left if path.endswith((".jsonl", ".zst", ".sqlite"))]
    assert lab.leftovers() == []


def test_claude_keeps_to_its_folder_whatever_its_user_allows_it_elsewhere(lab: Lab):
    lab.have("claude")
    secret, outside, folder = lab.root / "secret.txt", lab.root / "outside.txt", lab.root / "work"
    secret.write_text("the-secret-of-the-user")
    folder.mkdir()
    table = {
        "permissions": {"allow": ["Read", "Write", "Edit"]},
        "env": {"ANTHROPIC_API_KEY": "sk-of-the-settings"},
    }
    (lab.user / ".claude" / "settings.json").write_text(json.dumps(table))
    del lab.env["ANTHROPIC_API_KEY"]
    tries: list[Reply] = [
        ("Read", {"file_path": str(secret)}),
        ("Write", {"file_path": str(outside), "content": "x"}),
        ("Write", {"file_path": str(folder / "inside.txt"), "content": "in"}),
    ]
    lab.model.replies = lambda request: tries.pop(0) if tries else "Done."
    done = lab.client(sys.executable, "-c", _EDIT, str(folder))
    assert done.code == 0 and not tries, done
    assert (folder / "inside.txt").read_text() == "in" and not outside.exists()
    assert "the-secret-of-the-user" not in lab.model.said()
    assert {request["headers"].get("x-api-key") for request in lab.model.requests} == {
        "sk-of-the-settings"
    }
