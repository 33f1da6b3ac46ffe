"""Codex' command line as a plain model without side effects (measured with 0.169)."""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.agents.codex import cli_home
from memsearch_engine.core.llm.cli import AgentCli, CliCall, events
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.own_prompts import marked

_ALONE = ["exec", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--json"]
_FILES = [
    "-s",
    "workspace-write",
    "-c",
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "-c",
    "sandbox_workspace_write.exclude_tmpdir_env_var=true",
]


class Cli(AgentCli):
    """The command line of Codex."""

    edits_files = True

    def call(
        self, private: Path, program: str, model: str, system: str, text: str, *, edits: bool
    ) -> CliCall:
        """Return how to ask Codex; see ``AgentCli.call``."""
        environment = cli_home.prepare(
            private, program, model, "" if edits else system, edits=edits
        )
        argv = [*_ALONE, *(_FILES if edits else ()), "-"]
        return CliCall(argv, marked(f"{system}\n\n{text}" if edits else text), environment)

    def parse_output(self, out: str) -> tuple[str, int, int]:
        """Parse the output: one JSON event per line."""
        texts, given, made, failed = [], 0, 0, ""
        for event in events(out):
            if event.get("type") in ("turn.failed", "error"):
                reason = event.get("error")
                reason = reason.get("message") if isinstance(reason, dict) else reason
                failed = str(reason or event.get("message") or "it gave no reason")
                continue
            item, usage = (
                value if isinstance(value := event.get(name), dict) else {}
                for name in ("item", "usage")
            )
            if item.get("type") == "agent_message":
                texts.append(str(item.get("text") or ""))
            given += int(usage.get("input_tokens") or 0)
            made += int(usage.get("output_tokens") or 0)
        if failed and not texts:
            raise ModelError(f"codex: {failed[:200]}", again=True, billed=True)
        return "\n".join(texts), given, made

    def complained(self, out: str) -> None:
        """Raise ModelError if the output contains an error event."""
        self.parse_output(out)
