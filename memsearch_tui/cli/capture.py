"""Capture: the hook entry point and the inbox."""

from __future__ import annotations

import click
from memsearch_engine.client import Memory

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json


@click.command()
@click.argument("agent")
@click.argument("event")
def hook(agent: str, event: str) -> int:
    """Take one hook event of AGENT (claude-code) from stdin. Always exits 0."""
    from memsearch_engine.capture.hook import main

    return main(agent, event)


@click.command()
@as_json
def inbox(json_: bool) -> int:
    """Work off what hooks have left, then list what still waits."""
    state = Memory().call("inbox", dict, timeout_s=300)
    if json_:
        output.emit(state)
    else:
        click.echo(f"{state['captured']} captured, {state['already']} known already, {state['skipped']} trivial")
        for item in state["waiting"]:
            click.echo(f"waits  {item['event']}: {output.safe(item['reason'])}")
    return 5 if state["waiting"] else 0
