"""Qwen's command line as a plain model without side effects (measured with 0.24.4).

It gets no hooks, servers, skills, instructions or tools of the user, and stores no session. Its own
files go into a folder that is deleted, except one line in its record of tokens.
"""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.core.llm.cli import AgentCli, CliCall, last_message, tokens
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.own_prompts import marked

#: All of its tools: if some are missing from the list, others are enabled.
_TOOLS = (
    "read_file",
    "write_file",
    "edit",
    "glob",
    "grep_search",
    "agent",
    "get_goal",
    "list_agents",
    "skill",
    "tool_call",
    "tool_search",
    "update_goal",
    "cron_create",
    "cron_delete",
    "cron_list",
    "enter_worktree",
    "exit_worktree",
    "loop_wakeup",
    "read_mcp_resource",
    "record_artifact",
    "report_findings",
    "send_message",
    "task_stop",
    "web_fetch",
    "web_search",
    "run_shell_command",
    "notebook_edit",
    "ask_user_question",
    "todo_write",
    "exit_plan_mode",
    "zoom_image",
)


class Cli(AgentCli):
    """The command line of Qwen Code."""

    def call(
        self, private: Path, program: str, model: str, system: str, text: str, *, edits: bool
    ) -> CliCall:
        """Return how to ask Qwen; see ``AgentCli.call``."""
        argv = [
            "--safe-mode",
            "--chat-recording=false",
            "--approval-mode",
            "plan",
            "--exclude-tools",
            ",".join(_TOOLS),
            "--system-prompt",
            system,
            *(("--model", model) if model else ()),
            "--output-format",
            "json",
        ]
        return CliCall(
            argv,
            marked(text),
            {"QWEN_RUNTIME_DIR": str(private), "QWEN_DISABLE_AUTO_TITLE": "1"},
            ("QWEN_CODE_SESSION_ID",),
        )

    def parse_output(self, out: str) -> tuple[str, int, int]:
        """Parse the output: a list of messages with the result as its last element."""
        result = last_message("qwen", out)
        if result.get("is_error"):
            failed = result.get("error")
            why = failed.get("message") if isinstance(failed, dict) else result.get("result")
            raise ModelError(f"qwen: {str(why)[:200]}", again=True, billed=True)
        given, made = (
            tokens(result.get("usage"), f"{kind}_tokens") for kind in ("input", "output")
        )
        return str(result.get("result") or ""), given, made
