"""Commands that memsearch's own plugins call."""

from __future__ import annotations

import sys

import click
from memsearch_engine import Memory, agent_names

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json

_MAX = 1 << 20


@click.command(
    epilog=(
        "\b\nExample:\n"
        "  memsearch summarize --plugin codex < turn.txt     by the model of"
        " plugins.codex.summarize.provider"
    )
)
@click.option(
    "--plugin",
    required=True,
    metavar="AGENT",
    help=f"{', '.join(agent_names())}: whose settings name the model.",
)
@click.option("--agent-name", default="", help="What the prompt calls it.")
@as_json
def summarize(plugin: str, agent_name: str) -> None:
    """Write notes of the turn on stdin, by the model that is set for an agent, and print them.

    memsearch's own plugins call it where `plugins.AGENT.summarize.provider` names a model. Nothing
    is stored.
    """
    text = sys.stdin.buffer.read(_MAX).decode("utf-8", "replace")
    if not text.strip():
        return
    notes = Memory().capture.summarised(plugin.replace("_", "-"), text, agent_name)
    output.emit({"notes": notes})
    output.echo(output.safe(notes))
