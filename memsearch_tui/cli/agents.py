"""``memsearch agents``: the agents of this machine, their connection, and the files in which they
store memories and instructions.
"""

from __future__ import annotations

import click
import memsearch_engine as engine
from msgspec import to_builtins

from memsearch_tui.cli import output
from memsearch_tui.cli.commands import Command
from memsearch_tui.cli.group import LazyGroup
from memsearch_tui.cli.options import as_json, memory_at, scope
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
    "files": Command("agents", "files", "Show what agents remember by themselves."),
    "evidence": Command("history", "evidence", "Archive the conversations behind notes."),
    "queue": Command("capture", "inbox", "Process the events of hooks, list those that wait."),
}
EXAMPLES = """\b
Examples:
  memsearch agents                          which agents are here and connected
  memsearch agents install claude-code      capture its turns from now on
  memsearch agents import --all --dry-run   what an import would add
  memsearch agents coverage --list failed   turns without a note, with the reason
  memsearch agents uninstall claude-code    remove hooks and skills; notes stay"""


@click.group(cls=LazyGroup, table=COMMANDS, invoke_without_command=True, epilog=EXAMPLES)
@click.option(
    "--versions/--no-versions",
    default=True,
    help="Ask each program for its version (a second or two).",
)
@as_json
def agents(versions: bool) -> int:
    """Show which agents are on this machine and connected; connect, import, check them."""
    memory = engine.Memory()
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
    is_live = row.agent in engine.agents_live()
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
    output.echo_each(
        output.style(f"  ! {output.safe(problem)}", "bad")
        for problem in connected.get(row.agent, [])
    )
    output.echo_each(output.style(f"  {output.safe(folder)}", "dim") for folder in row.folders)
    output.echo(
        f"  {many(row.sessions, 'session')}, {many(row.turns, 'turn')}:"
        f" {row.captured} with a note, {row.new} without, {row.trivial} trivial"
        + (f", {row.homeless} of folders that are gone" if row.homeless else "")
    )
    if is_live and row.agent not in connected and row.program:
        output.echo(output.style(f"  next: memsearch agents install {row.agent}", "dim"))
    if row.new:
        output.echo(output.style(f"  next: memsearch agents import {row.agent} --dry-run", "dim"))


def not_written_here(memory: engine.Memory) -> str:
    """Return a remark about quarantined notes that came with a move from memsearch, a clone or a
    copy.

    Returns:
        The number of notes, the evidence and the commands; '' if there are no such notes.
    """
    waiting = memory.trust.quarantined()
    arrived = [note for note in waiting if note.why is engine.QuarantineReason.ARRIVED]
    if not arrived:
        return ""
    cited = sum(bool(note.conversation) for note in arrived)
    proof = f" ({cited} with a conversation that is on this machine)" if cited else ""
    return (
        f"no session gets {many(len(arrived), 'note')} that this program did not write{proof}:"
        " `memsearch review` lists what waits, `memsearch review accept quarantine` releases"
        " them"
    )


def connected_agents(memory: engine.Memory) -> dict[str, list[str]]:
    """Return the connected agents, each with its problems."""
    plugins = memory.plugins
    found = {name: plugins.status(name) for name in engine.agents_live()}
    return {name: state.problems for name, state in found.items() if state.installed}


@click.group(invoke_without_command=True)
@click.pass_context
def files(ctx: click.Context) -> None:
    """Files that agents remember by themselves: automatic memories, CLAUDE.md, AGENTS.md and
    others.

    memsearch only reads them. `memsearch search 'kind:native WORDS'` finds what is in them.
    """
    if ctx.invoked_subcommand is None:
        ctx.exit(ctx.invoke(list_, agent=None, project=None, everything=False))


@files.command(
    "list",
    short_help="List the files and who reads them.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch agents files list                        this project's, and those"
        " of all projects\n"
        "  memsearch agents files list --agent codex\n"
        "  memsearch agents files list --all --json           of all projects, with every section"
    ),
)
@click.option(
    "--agent", type=click.Choice(engine.agent_names()), help="Only what this agent reads."
)
@scope
@as_json
def list_(agent: str | None, project: str | None, everything: bool) -> int:
    """Which files there are, who reads them, and what is wrong with them: parts that are not read
    at a start, files that no index names, sections that your notes contradict.
    """
    here = memory_at(project, everything)
    root = "" if everything else here.place.root
    memories = here.agent_files.all(agent=agent or "", compare=True)
    output.emit({"memories": memories})
    for memory in memories:
        output.echo(output.style(output.safe(engine.agent_file_path(memory.path, root)), "strong"))
        facts = [
            engine.agent_file_titles(memory),
            output.safe(memory.title),
            "everywhere" if memory.scope == "everywhere" else "",
            f"by {'the agent' if memory.author == 'agent' else 'you'}",
            many(len(memory.sections), "section"),
            f"changed {memory.modified[:10]}" if memory.modified else "",
        ]
        output.echo(f"    {output.style(' · '.join(fact for fact in facts if fact), 'dim')}")
        output.echo_each(f"    ! {problem}" for problem in _problems(memory))
    if not memories:
        output.say("no agent has a memory of its own here")
        return 0 if output.is_json() else 1
    output.say(
        "`memsearch agents files show PATH` shows one; `memsearch agents files import ID` takes a"
        " section of it into your notes"
    )
    return 0


def _problems(memory: engine.AgentFile) -> list[str]:
    found = [memory.problem] if memory.problem else []
    if memory.orphaned:
        found.append("nothing that is loaded links to it, so its agent does not come to read it")
    if memory.unread:
        who = ", ".join(
            sorted({engine.agent_named(a).title for s in memory.sections for a in s.unread_by})
        )
        first = next(section.line for section in memory.sections if section.unread_by)
        found.append(
            f"{many(memory.unread, 'section')} from line {first} on: not loaded by {who} when a"
            " session starts, or not whole"
        )
    found.extend(
        f"line {section.line} may be outdated: see your note"
        f" {section.contradicted_by} ({output.safe(section.contradicted_why)})"
        for section in memory.sections
        if section.contradicted_by
    )
    return found


@files.command(
    short_help="Show a file or one section.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch agents files show CLAUDE.md              its sections, each with its id\n"
        "  memsearch agents files show 3fa9c1d2               one section, whole"
    ),
)
@click.argument("name")
@scope
@as_json
def show(name: str, project: str | None, everything: bool) -> int:
    """Show a file (by its path, or the end of one) or one section (by its id). Secrets in it are
    not shown.
    """
    memory, sections = memory_at(project, everything).agent_files.get(name)
    memory.sections = sections
    output.emit(memory, echo=output.style(output.safe(memory.path), "strong"))
    output.echo(
        output.style(f"{engine.agent_file_titles(memory)} · {output.safe(memory.title)}", "dim")
    )
    output.say_each(f"! {problem}" for problem in (_problems(memory) if len(sections) != 1 else ()))
    for section in sections:
        output.echo("")
        output.echo(output.style(_head(section), "dim"))
        output.echo(output.safe(section.text))
    return 0


def _head(section: engine.AgentFileSection) -> str:
    facts = [
        section.id,
        f"line {section.line}",
        output.safe(" › ".join(section.trail)),
        "not read at a start" if section.unread_by else "",
        f"in your notes as {section.note}" if section.note else "",
    ]
    return "  ".join(fact for fact in facts if fact)


@files.command(
    "import",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch agents files import 3fa9c1d2 77b0\n"
        "  memsearch agents files import MEMORY.md --dry-run  every section that your"
        " notes don't have yet"
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="ID|PATH...")
@click.option("--dry-run", "-n", is_flag=True, help="Show what would be taken; write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def import_(names: tuple[str, ...], dry_run: bool, yes: bool) -> int:
    """Take sections into today's notes, each with where it is from. What was taken before is left
    out; `memsearch undo ID` takes a note back.
    """
    files_ = memory_at().agent_files
    chosen = {
        s.id: (memory, s)
        for name in names
        for memory, sections in [files_.get(name)]
        for s in sections
    }
    new = [(memory, section) for memory, section in chosen.values() if not section.note]
    output.echo_each(output.beside(f"{section.id}  ", section.text) for _, section in new)
    if old := len(chosen) - len(new):
        output.remark(f"{many(old, 'section')} of these your notes have already")
    if not new or dry_run:
        output.emit({"would_take": [section for _, section in new]} if dry_run else {"taken": []})
        if new:
            output.say(f"{many(len(new), 'section')} would be taken")
        return 0 if new else 1
    output.confirm(f"Take {many(len(new), 'section')} into your notes?", yes)
    notes = []
    for memory, section in new:
        try:
            notes.append(files_.take(memory, section))
        except engine.UsageError as error:  # the section is only a secret
            output.remark(f"! {section.id}: {error}")
    output.emit(
        {"taken": [{"id": note.id, "path": note.path, "text": note.text} for note in notes]},
        say=f"{many(len(notes), 'note')} written to {notes[0].path if notes else 'nothing'}: "
        + " ".join(note.id for note in notes),
    )
    return 0 if len(notes) == len(new) else 5
