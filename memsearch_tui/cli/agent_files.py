"""``memsearch agents files``: the files in which agents store memories and instructions."""

from __future__ import annotations

import click
import memsearch_engine as engine
from memsearch_engine import (
    AgentFile,
    AgentFileSection,
    UsageError,
    agent_file_path,
    agent_file_titles,
    agent_names,
)

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, memory_at, scope
from memsearch_tui.counted import many


@click.group(invoke_without_command=True)
@click.pass_context
def files(ctx: click.Context) -> None:
    """Files that agents remember by themselves: automatic memories, CLAUDE.md, AGENTS.md and
    others.

    They are only read. `memsearch search 'kind:native WORDS'` finds what is in them.
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
@click.option("--agent", type=click.Choice(agent_names()), help="Only what this agent reads.")
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
        output.echo(output.style(output.safe(agent_file_path(memory.path, root)), "strong"))
        facts = [
            agent_file_titles(memory),
            output.safe(memory.title),
            "everywhere" if memory.scope == "everywhere" else "",
        ]
        facts += [
            f"by {'the agent' if memory.author == 'agent' else 'you'}",
            many(len(memory.sections), "section"),
        ]
        facts += [f"changed {memory.modified[:10]}" if memory.modified else ""]
        output.echo(f"    {output.style(' · '.join(fact for fact in facts if fact), 'dim')}")
        for problem in _problems(memory):
            output.echo(f"    ! {problem}")
    if not memories:
        output.say("no agent has a memory of its own here")
        return 0 if output.is_json() else 1
    output.say(
        "`memsearch agents files show PATH` shows one; `memsearch agents files import ID` takes a"
        " section of it into your notes"
    )
    return 0


def _problems(memory: AgentFile) -> list[str]:
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
    for section in memory.sections:
        if section.contradicted_by:
            found.append(
                f"line {section.line} may be outdated: see your note"
                f" {section.contradicted_by} ({output.safe(section.contradicted_why)})"
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
    output.emit(memory)
    output.echo(output.style(output.safe(memory.path), "strong"))
    output.echo(output.style(f"{agent_file_titles(memory)} · {output.safe(memory.title)}", "dim"))
    for problem in _problems(memory) if len(sections) != 1 else ():
        output.say(f"! {problem}")
    for section in sections:
        output.echo("")
        output.echo(output.style(_head(section), "dim"))
        output.echo(output.safe(section.text))
    return 0


def _head(section: AgentFileSection) -> str:
    facts = [section.id, f"line {section.line}", output.safe(" › ".join(section.trail))]
    facts += ["not read at a start"] if section.unread_by else []
    facts += [f"in your notes as {section.note}"] if section.note else []
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
    for _, section in new:
        output.echo(output.beside(f"{section.id}  ", section.text))
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
        except UsageError as error:  # the section is only a secret
            output.remark(f"! {section.id}: {error}")
    output.emit(
        {"taken": [{"id": note.id, "path": note.path, "text": note.text} for note in notes]}
    )
    output.say(
        f"{many(len(notes), 'note')} written to {notes[0].path if notes else 'nothing'}: "
        + " ".join(note.id for note in notes)
    )
    return 0 if len(notes) == len(new) else 5
