"""Claude's command line as a plain model without side effects (measured with 2.1.330)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from memsearch_engine.agents.transcripts.model import json_file
from memsearch_engine.core.home import user_home
from memsearch_engine.core.llm.cli import AgentCli, CliCall, last_message, tokens
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.own_prompts import marked

_SMALL = "haiku"
_ALONE = [
    "-p",
    "--safe-mode",
    "--strict-mcp-config",
    "--no-session-persistence",
    "--no-chrome",
    "--output-format",
    "json",
]
_NO_TOOLS = ["--tools", "", "--effort", "low"]
#: --restricted: the file tools stay in the folder, whatever the user's settings allow
_FILES = [
    "--restricted",
    "--tools",
    "Read,Write,Edit,Glob,Grep",
    "--permission-mode",
    "acceptEdits",
]


class Cli(AgentCli):
    """The command line of Claude Code."""

    edits_files = True

    def call(
        self, private: Path, program: str, model: str, system: str, text: str, *, edits: bool
    ) -> CliCall:
        """Return how to ask Claude; see ``AgentCli.call``."""
        model = model or ("" if edits else _SMALL)
        argv = [
            *_ALONE,
            *(_FILES if edits else _NO_TOOLS),
            "--system-prompt",
            system,
            *(("--model", model) if model else ()),
            "--settings",
            _login(private),
        ]
        # Without these variables Claude does not treat the call as part of a running session.
        return CliCall(
            argv,
            marked(text),
            {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
            ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
        )

    def parse_output(self, out: str) -> tuple[str, int, int]:
        """Parse the output: one object, or a list with the result as its last element."""
        result = last_message("claude", out)
        if result.get("is_error"):
            raise ModelError(f"claude: {str(result.get('result'))[:200]}", again=True, billed=True)
        usage = result.get("usage")
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        given, made = tokens(usage, *names), tokens(usage, "output_tokens")
        return str(result.get("result") or ""), given, made


def _login(private: Path) -> str:
    """Write a settings file with nothing but the login of the user's own settings.

    ``--restricted`` ignores the user's other settings.
    """
    base = Path(os.environ.get("CLAUDE_CONFIG_DIR") or user_home() / ".claude")
    theirs = json_file(base / "settings.json")
    values = {name: theirs[name] for name in ("apiKeyHelper", "env") if name in theirs}
    file = private / "settings.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    return str(file)
