"""What memsearch's own plugins ask of a command that is not theirs."""

from __future__ import annotations

import os
import sys

import click
import memsearch_engine as engine
from memsearch_engine import Memory, agent_names, dialect

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json
from memsearch_tui.counted import many

_MAX = 1 << 20


@click.command(
    epilog="\b\nExample:\n  memsearch summarize --plugin codex < turn.txt     by the model of plugins.codex.summarize.provider"
)
@click.option(
    "--plugin",
    required=True,
    metavar="AGENT",
    help=f"{', '.join(agent_names())}: whose settings name the model.",
)
@click.option("--agent-name", default="", help="What the prompt calls it.")
@as_json
def summarize(plugin: str, agent_name: str, json_: bool) -> None:
    """Write notes of the turn on stdin, by the model that is set for an agent, and print them.

    memsearch's own plugins call it where `plugins.AGENT.summarize.provider` names a model. Nothing is kept.
    """
    text = sys.stdin.buffer.read(_MAX).decode("utf-8", "replace")
    if not text.strip():
        return
    notes = engine.Capture(Memory()).summarised(plugin.replace("_", "-"), text, agent_name)
    output.emit({"notes": notes}) if json_ else output.echo(output.safe(notes))


@click.group()
def skills() -> None:
    """Skills that memsearch has drafted from memory: which there are, and which are not installed as they stand."""


@skills.command("status", epilog="\b\nExample:\n  memsearch skills status")
@click.option("--hint", is_flag=True, help="One line for a session's start, or nothing.")
@click.option("--json-output", "-j", "bare", is_flag=True, help="memsearch's object.")
@as_json
def skills_status(hint: bool, bare: bool, json_: bool) -> None:
    """Say which drafts wait to be installed."""
    root = os.path.dirname(Memory().place.memory)
    found = dialect.skill_candidates(root)
    new = [item.name for item in found if item.pending and item.is_new]
    updated = [item.name for item in found if item.pending and not item.is_new]
    if bare or json_:
        output.emit(
            {
                "root": os.path.join(root, "skill-candidates"),
                "candidate_count": len(found),
                "pending_count": len(new) + len(updated),
                "new_count": len(new),
                "updated_count": len(updated),
                "pending_names": sorted(new + updated),
            }  # fmt: skip
        )
        return
    if not new and not updated:
        if not hint:
            output.echo("No candidate skill versions pending install.")
        return
    output.echo(
        f"SKILLS: {many(len(new) + len(updated), 'candidate skill version')} pending install - run the memory-to-skill skill to "
        "review and install."
    )
    if not hint:
        parts = [f"{word}: {', '.join(names)}" for word, names in (("New", new), ("updated", updated)) if names]
        output.echo(output.safe("; ".join(parts) + "."))


@skills.command("list", epilog="\b\nExample:\n  memsearch skills list --json")
@click.option("--json-output", "-j", "bare", is_flag=True, help="As --json.")
@as_json
def skills_list(bare: bool, json_: bool) -> None:
    """List the drafts."""
    import msgspec

    found = dialect.skill_candidates(os.path.dirname(Memory().place.memory))
    if bare or json_:
        output.emit({"skills": msgspec.to_builtins(found)})
        return
    for item in found:
        state = "install ready" if item.pending else "installed"
        output.echo(output.safe(f"- {item.name} [candidate, seen {item.seen}x, {state}] - {item.description}"))
    if not found:
        output.echo("No skills in the store yet.")
