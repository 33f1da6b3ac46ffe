"""``memsearch agents``: the agents of this machine, their connection, and their subcommands."""

from __future__ import annotations

import click
import memsearch_engine as engine
from memsearch_engine import Memory, QuarantineReason, agents_live
from msgspec import to_builtins

from memsearch_tui.cli import output
from memsearch_tui.cli.commands import Command
from memsearch_tui.cli.lazy import LazyGroup
from memsearch_tui.cli.options import as_json
from memsearch_tui.cli.review import quarantined
from memsearch_tui.counted import many

COMMANDS = {
    "install": Command("plugins", "plugins_install", "Connect agents: add hooks and skills."),
    "uninstall": Command("plugins", "plugins_uninstall", "Disconnect agents; notes stay."),
    "status": Command(
        "plugins", "plugins_status", "Show which connections work, and what is wrong."
    ),
    "import": Command("history", "import_", "Import old sessions of agents as notes."),
    "coverage": Command("capture", "coverage", "Show which turns have a note, and which not."),
    "context": Command("capture", "context", "Show what a new session gets, and the log."),
    "files": Command("agent_files", "files", "Show what agents remember by themselves."),
    "evidence": Command("history", "evidence", "Archive the conversations behind notes."),
    "queue": Command("capture", "inbox", "Work off what hooks have left, list what waits."),
}
EXAMPLES = """\b
Examples:
  memsearch agents                          which agents are here and connected
  memsearch agents install claude-code      capture its turns from now on
  memsearch agents import --all --dry-run   what could be brought in of old sessions
  memsearch agents coverage --list failed   turns without a note, with the reason
  memsearch agents uninstall claude-code    take everything out again; notes stay"""


@click.group(cls=LazyGroup, table=COMMANDS, invoke_without_command=True, epilog=EXAMPLES)
@click.option(
    "--versions/--no-versions",
    default=True,
    help="Ask each program for its version (a second or two).",
)
@as_json
def agents(versions: bool) -> int:
    """Show which agents are on this machine and connected; connect, import, check them."""
    memory = Memory()
    with output.Progress() as progress:
        rows = memory.capture.agents(versions=versions, progress=progress.show)
    connected = connected_agents(memory)
    rows_json = [
        {**to_builtins(row), "connected": row.agent in connected, "problems": problems}
        for row in rows
        for problems in (connected.get(row.agent, []),)
    ]
    output.emit({"agents": rows_json})
    if output.is_json():
        return 0 if any(row.program or row.sessions for row in rows) else 1
    here = [row for row in rows if row.program or row.sessions or row.agent in connected]
    for number, row in enumerate(here):
        if number:
            output.echo()
        _print(row, connected)
    if waiting := not_written_here(memory):
        output.say(output.style(f"\n! {waiting}", "warn"))
    if absent := [row.agent for row in rows if row not in here]:
        output.say(
            f"\nnot on this machine: {', '.join(absent)}"
            if here
            else "no agent found on this machine"
        )
    return 0


def _print(row: engine.FoundAgent, connected: dict[str, list[str]]) -> None:
    """Print one agent: its version, its connection, its captured turns, and the next step."""
    version = row.version or (f"transcripts of {row.wrote}" if row.wrote else "program not on PATH")
    is_live = row.agent in agents_live()
    state = (
        output.style("connected", "good")
        if row.agent in connected
        else (
            output.style("not connected", "warn")
            if is_live
            else output.style("sessions can be imported", "dim")
        )
    )
    output.echo(f"{output.style(f'{row.agent:12s}', 'agent')}  {state}  {output.safe(version)}")
    for problem in connected.get(row.agent, []):
        output.echo(output.style(f"  ! {output.safe(problem)}", "bad"))
    for folder in row.folders:
        output.echo(output.style(f"  {output.safe(folder)}", "dim"))
    output.echo(
        f"  {many(row.sessions, 'session')}, {many(row.turns, 'turn')}:"
        f" {row.captured} with a note, {row.new} without, {row.trivial} trivial"
        + (f", {row.homeless} of folders that are gone" if row.homeless else "")
    )
    if is_live and row.agent not in connected and row.program:
        output.echo(output.style(f"  next: memsearch agents install {row.agent}", "dim"))
    if row.new:
        output.echo(output.style(f"  next: memsearch agents import {row.agent} --dry-run", "dim"))


def not_written_here(memory: Memory) -> str:
    """Return a remark about quarantined notes that came with a move from memsearch, a clone or a
    copy.

    Returns:
        The number of notes, the evidence and the commands; '' if there are no such notes.
    """
    waiting = quarantined(memory.review.cases("held"))
    arrived = [note for note in waiting if note.why is QuarantineReason.ARRIVED]
    if not arrived:
        return ""
    cited = sum(bool(note.conversation) for note in arrived)
    proof = f" ({cited} with a conversation that is on this machine)" if cited else ""
    return (
        f"no session gets {many(len(arrived), 'note')} that this program did not write{proof}:"
        " `memsearch review` lists what waits, `memsearch review accept quarantine` releases"
        " them"
    )


def connected_agents(memory: Memory) -> dict[str, list[str]]:
    """Return the connected agents, each with its problems."""
    plugins = memory.plugins
    found = {name: plugins.status(name) for name in agents_live()}
    return {name: state.problems for name, state in found.items() if state.installed}
