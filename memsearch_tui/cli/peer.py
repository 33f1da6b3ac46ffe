"""What memsearch's own plugins ask of a command that is not theirs."""

from __future__ import annotations

import sys

import click
from memsearch_engine.client import Memory

from memsearch_tui.cli import output

_MOST = 1 << 20


@click.command(
    epilog="\b\nExample:\n  memsearch summarize --plugin codex < turn.txt     by the model of plugins.codex.summarize.provider"
)
@click.option(
    "--plugin",
    required=True,
    metavar="AGENT",
    help="claude-code, codex, opencode, openclaw: whose settings name the model.",
)
@click.option("--agent-name", default="", help="What the prompt calls it.")
def summarize(plugin: str, agent_name: str) -> None:
    """Write notes of the turn on stdin, by the model that is set for an agent, and print them.

    memsearch's own plugins call it where `plugins.AGENT.summarize.provider` names a model. Nothing is kept.
    """
    from memsearch_engine.capture.summaries import bullets_of
    from memsearch_engine.settings import load

    text = sys.stdin.buffer.read(_MOST).decode("utf-8", "replace")
    if not text.strip():
        return
    memory = Memory()
    settings = load(memory.home, memory.place.settings_file)
    output.echo(output.safe(bullets_of(memory.home, settings, plugin.replace("_", "-"), text, agent_name)))
