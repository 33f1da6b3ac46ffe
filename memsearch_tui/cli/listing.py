"""Plain lists: one day, all days, entries."""

from __future__ import annotations

import os
from typing import Any

import click
from memsearch_engine import Memory, note_view

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, day_of, days_of, scope


@click.command(epilog="\b\nExamples:\n  memsearch show yesterday\n  memsearch show 2026-02-09")
@click.argument("day", default="today")
@scope
@as_json
def show(day: str, project: str | None, everything: bool) -> int:
    """Print a day (2026-02-09, today, yesterday, 7d) as it is in its file."""
    day = day_of(day)
    memory = Memory(everything=everything, project=project)
    files = [file for file in memory.days() if file.day == day]
    entries = [note_view(note) for note in memory.entries(day)]
    output.emit({"day": day, "files": [file.path for file in files], "entries": entries})
    for file in files:
        output.echo(output.safe(memory.files.source(file.path)), nl=False)
    if not files:
        output.say(f"no memories on {day} - `memsearch days` lists the days that have some")
    return 0 if files else 1


@click.command(epilog="\b\nExamples:\n  memsearch days\n  memsearch days --all --json")
@click.option("--limit", "-n", default=30, type=click.IntRange(1), show_default=True)
@scope
@as_json
def days(limit: int, project: str | None, everything: bool) -> int:
    """List the days that have notes, newest first."""
    memory = Memory(everything=everything, project=project)
    files = memory.days()[:limit]
    output.say_shortfall(memory)
    rows: list[dict[str, Any]] = [
        {"day": file.day, "entries": len(memory.files.read(file)), "source": file.path}
        for file in files
    ]
    copies = memory.files.copies()
    output.emit({"days": rows, "copies": [{"source": path, "of": of} for path, of in copies]})
    for row in rows:
        output.echo(
            f"{row['day']}  {row['entries']:4d}  {output.style(output.safe(row['source']), 'dim')}"
        )
    for path, of in copies:
        output.say(f"a copy of {os.path.basename(of)}, searched only: {output.safe(path)}")
    if not rows:
        output.say(
            f'no notes in {memory.place.memory} yet - `memsearch add "…"` writes the first,'
            " `memsearch demo` shows a year"
        )
    return 0 if rows else 1


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch entries -n 20\n"
        "  memsearch entries --day 2026-02-09 --json\n"
        "  memsearch entries --as-of 2026-03-01   as they were then"
    )
)
@click.option("--day", help="Only this day (2026-02-09, today, 3d).")
@click.option("--agent", help="Only this agent's.")
@click.option(
    "--as-of",
    help="As they were at the end of a day: what was edited or deleted since is put back.",
)
@click.option("--limit", "-n", default=50, type=click.IntRange(1), show_default=True)
@scope
@as_json
def entries(
    day: str | None,
    agent: str | None,
    as_of: str | None,
    limit: int,
    project: str | None,
    everything: bool,
) -> int:
    """List entries, newest day first, read from the files themselves."""
    first, last = days_of(day or "")
    _, then = days_of(as_of or "")
    memory = Memory(everything=everything, project=project)
    rows = memory.entries(first, last=last, agent=agent or "", limit=limit, as_of=then)
    output.say_shortfall(memory)
    output.emit({"entries": [note_view(note) for note in rows]})
    for note in rows:
        head = f"{note.id}  {note.day} {note.time or '     '}  {note.agent or 'note':11s}"
        head += f"  by {output.safe(note.author)}" if note.author else ""
        title = output.beside(f"{head}  ", note.title).removeprefix(head)
        output.echo(f"{output.style(head, 'dim')}{title}")
    if not rows:
        output.say("no entries here - `memsearch days --all` looks in all projects")
    return 0 if rows else 1
