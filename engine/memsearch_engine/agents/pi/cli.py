"""pi's command line as a plain model without side effects (measured with 0.87.1 and 1.5.2).

It gets no tools, extensions, servers, skills or instructions of the user, and stores no session.
"""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.agents.transcripts.model import table_of, tables_of
from memsearch_engine.core.llm.cli import AgentCli, CliCall, events, tokens
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.own_prompts import marked

#: Its servers are an extension, too.
_NOTHING = (
    "--no-session",
    "--no-tools",
    "--no-extensions",
    "--no-skills",
    "--no-prompt-templates",
    "--no-themes",
    "--no-context-files",
)


class Cli(AgentCli):
    """The command line of pi."""

    def call(
        self, private: Path, program: str, model: str, system: str, text: str, *, edits: bool
    ) -> CliCall:
        """Return how to ask pi; see ``AgentCli.call``."""
        argv = [
            "--mode",
            "json",
            *_NOTHING,
            "--system-prompt",
            system,
            *(("--model", model) if model else ()),
        ]
        return CliCall(
            argv, marked(text), {}, ("PI_CODING_AGENT", "PI_SESSION_ID", "PI_SESSION_FILE")
        )

    def parse_output(self, out: str) -> tuple[str, int, int]:
        """Parse the output: one JSON event per line. Some events contain the model's messages."""
        ended = [event for event in events(out) if event.get("type") == "message_end"]
        found = [table_of(event, "message") for event in ended]
        messages = [message for message in found if message.get("role") == "assistant"]
        if not messages:
            raise ModelError(f"pi sent an answer of an unknown shape: {out[:100]}", again=True)
        last = messages[-1]
        if last.get("stopReason") == "error":
            raise ModelError(f"pi: {str(last.get('errorMessage'))[:200]}", again=True)
        blocks = tables_of(last.get("content"))
        text = "\n".join(
            str(block.get("text") or "") for block in blocks if block.get("type") == "text"
        )
        used = [message.get("usage") for message in messages]
        given = sum(tokens(usage, "input", "cacheRead", "cacheWrite") for usage in used)
        return text, given, sum(tokens(usage, "output") for usage in used)
