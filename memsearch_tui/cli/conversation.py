"""``memsearch transcript``: the conversation that a note was made from."""

from __future__ import annotations

import os
from typing import Any

import click
import memsearch_engine as engine
from memsearch_engine import Memory
from msgspec import to_builtins

from memsearch_tui.cli import output, results, terminal
from memsearch_tui.cli.options import as_json

EXAMPLES = """\b
Examples:
  memsearch transcript 3fa9c1d2 --context 1
  memsearch transcript session.jsonl --turn 373eb335 --json
  memsearch transcript opencode.db --session ses_e00250"""


@click.command(epilog=EXAMPLES)
@click.argument("target")
@click.option("--turn", "-t", default="", help="The turn to open (an id, or its beginning).")
@click.option("--session", default="", help="The session, where TARGET is a database of many.")
@click.option("--raw", is_flag=True, help="With the secrets in it (they are replaced otherwise).")
@click.option(
    "--context",
    "-c",
    "context",
    default=0,
    type=click.IntRange(0, 1000),
    help="So many turns before and after.",
)
@click.option(
    "--full", is_flag=True, help="Whole tool outputs and texts; else long ones lose their middle."
)
@click.option(
    "--json-output", "-j", "bare", is_flag=True, help="memsearch's bare list of messages."
)
@as_json
def transcript(
    target: str, turn: str, session: str, raw: bool, context: int, full: bool, bare: bool
) -> None:
    """Open the conversation that a note came from.

    TARGET is an entry, a transcript file or an agent's database. Where the agent has deleted the
    conversation, the archived copy is shown. Without --turn, a file is shown whole.
    """
    memory = Memory()
    if os.path.sep in target or os.path.exists(target):
        found = memory.transcripts.file(
            target, turn=turn, session=session, context=context, full=full, raw=raw
        )
    else:
        found = memory.transcript(target, turn=turn, context=context, full=full, raw=raw)
    if bare:
        terminal.print_json([message for item in found.turns for message in _messages(item)])
        return
    shown = {
        "path": found.path,
        "state": found.state,
        "first": found.first,
        "total": found.total,
        "left_out": found.left_out,
        "turns": to_builtins(found.turns),
    }
    results.print_transcript(shown, as_json=output.is_json())


def _messages(item: engine.Turn) -> list[dict[str, Any]]:
    """Return a turn as a list of messages in memsearch's format."""
    tools = [
        {"name": tool.name, "command": tool.input, "output": tool.output} for tool in item.tools
    ]
    return [
        {"role": "user", "uuid": item.turn, "text": item.user, "tools": []},
        {"role": "assistant", "uuid": item.turn, "text": item.assistant, "tools": tools},
    ]
