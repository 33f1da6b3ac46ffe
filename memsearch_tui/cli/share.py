"""Notes for the project's team: share them, list them, and pack them for people without the
repository.
"""

from __future__ import annotations

import os
from datetime import date
from typing import Any

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, days_of
from memsearch_tui.counted import many

_SIGNS = {
    engine.ShareChange.NEW: "+",
    engine.ShareChange.CHANGED: "~",
    engine.ShareChange.SAME: "=",
    engine.ShareChange.REFUSED: "!",
}
_SINCE = {
    "changed": "your note has changed since: `memsearch share` it again",
    "superseded": "your note is superseded by now: share the newer one, `--withdraw` this",
    "gone": "your note is gone: `--withdraw` takes this back, too",
}
_LINES = 6
_SOME_REFUSED = 5


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch share                                    what is shared, by whom,"
        " and what is to be looked at again\n"
        "  memsearch share 3fa9c1d2                           a note, as it will be read"
        " by others; you commit it\n"
        "  memsearch share --filter 'is:pinned after:90d'     all notes that filters admit\n"
        "  memsearch share --pack staging.pack 3fa9c1d2       a file for people without"
        " this repository\n"
        "  memsearch share --withdraw 3fa9c1d2"
    )
)
@click.argument("names", nargs=-1, metavar="[ENTRY]...")
@click.option(
    "--filter",
    "-f",
    "query",
    metavar="FILTERS",
    help="All notes that these admit (`is:pinned after:90d agent:codex`).",
)
@click.option(
    "--as",
    "author",
    metavar="NAME",
    help="Under this name; else share.author, what git calls you, your login.",
)
@click.option(
    "--review",
    metavar="DAY",
    help="When they are to be looked at again (2026-12-01, 90d); in half a year by default.",
)
@click.option(
    "--pack",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Into a file instead; without notes: all that is shared.",
)
@click.option("--withdraw", is_flag=True, help="Take shared notes back.")
@click.option("--dry-run", is_flag=True, help="Show it and write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def share(
    names: tuple[str, ...],
    query: str | None,
    author: str | None,
    review: str | None,
    pack: str | None,
    withdraw: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Notes for the project's team, in `.memsearch/shared/`: copies without secrets and without
    paths of this machine.

    They are committed and reviewed like any other file of the project. Everyone who has the project
    finds them. Their agents get them under the author's name, also in CI and in sessions without a
    person. A note that reads like an instruction to agents waits in each reader's review.
    `memsearch undo` takes a share back.
    """
    memory, wanted = engine.Memory(), bool(names or query)
    sharing = memory.sharing
    if withdraw:
        if query or pack:
            raise engine.UsageError(
                "--withdraw takes back the notes that are named",
                "`memsearch share` lists what is shared",
            )
        return _withdraw(sharing, names, dry_run, yes)
    if not wanted and not pack:
        return _list(sharing)
    planned = None
    if wanted:
        planned = sharing.plan(
            names, query=query or "", author=author or "", review=_day(review), for_pack=bool(pack)
        )
        if not planned:
            raise engine.UsageError(
                f"no note is admitted by {query}", "`memsearch entries` lists them"
            )
    if pack:
        return _pack(memory, sharing, pack, planned, dry_run)
    assert planned is not None
    return _share(memory, sharing, planned, dry_run, yes)


def _share(
    memory: engine.Memory,
    sharing: engine.Sharing,
    planned: list[engine.PlannedShare],
    dry_run: bool,
    yes: bool,
) -> int:
    new = [
        one for one in planned if one.change in (engine.ShareChange.NEW, engine.ShareChange.CHANGED)
    ]
    refused = [one for one in planned if one.change is engine.ShareChange.REFUSED]
    _show(memory, planned)
    ignored = bool(new) and sharing.is_ignored(new[0].path)
    files: list[str] = []
    if new and not dry_run:
        output.confirm(
            f"Write {many(len(new), 'note')}, as {output.safe(new[0].author)}, into"
            " .memsearch/shared?",
            yes,
        )
        files = sharing.share(new)
    output.emit(
        {
            "notes": [_planned_json(one) for one in planned],
            "files": files,
            "ignored_by_git": ignored,
            "dry_run": dry_run,
        }
    )
    if files:
        there = (
            ""
            if os.path.abspath(os.getcwd()).startswith(memory.place.root)
            else f" in {output.safe(memory.place.root)}"
        )
        output.say(
            f"{many(len(new), 'note')} shared: commit .memsearch/shared{there} · `memsearch undo`"
            " takes it back"
        )
    elif not new:
        output.say("nothing to share")
    if ignored:
        output.say(
            "git ignores .memsearch/shared: in .gitignore, write `.memsearch/*` and"
            " `!.memsearch/shared/` in place of `.memsearch/`"
        )
    return _SOME_REFUSED if refused else 0


def _pack(
    memory: engine.Memory,
    sharing: engine.Sharing,
    path: str,
    planned: list[engine.PlannedShare] | None,
    dry_run: bool,
) -> int:
    refused = [one for one in planned or () if one.change is engine.ShareChange.REFUSED]
    if planned is not None:
        _show(memory, planned)
    if dry_run:
        output.emit({"notes": [_planned_json(one) for one in planned or ()], "dry_run": True})
        return _SOME_REFUSED if refused else 0
    made = sharing.pack(path, planned)
    output.emit(
        {"path": made.path, "notes": made.notes, "hash": made.hash, "dry_run": False},
        echo=f"{output.safe(made.path)}: {many(made.notes, 'note')}, hash {made.hash}",
        say=(
            f"whoever gets it: `memsearch agents import {output.safe(made.path)}`, and compares the"
            " hash with you"
        ),
    )
    return _SOME_REFUSED if refused else 0


def _withdraw(sharing: engine.Sharing, names: tuple[str, ...], dry_run: bool, yes: bool) -> int:
    if not names:
        raise engine.UsageError(
            "name the notes to take back", "`memsearch share` lists what is shared"
        )
    gone = sharing.named(names)
    output.echo_each(
        (
            f"- {output.safe(one.author)}  {one.day} {one.time}  {one.id[:8]} "
            f" {output.safe(one.title)[:80]}"
        )
        for one in gone
    )
    if not dry_run:
        output.confirm(f"Take {many(len(gone), 'shared note')} out of the work tree?", yes)
        sharing.withdraw([one.id for one in gone])
    output.emit(
        {
            "withdrawn": [{"entry_id": one.id, "path": one.path} for one in gone],
            "dry_run": dry_run,
        }
    )
    if not dry_run:
        output.say(
            f"{many(len(gone), 'note')} withdrawn: commit that · `memsearch undo` brings them back"
        )
    return 0


def _list(sharing: engine.Sharing) -> int:

    found = sharing.listed()
    if output.is_json():
        output.emit({"author": sharing.author(), "notes": found})
        return 0
    if not found:
        output.echo(
            "nothing is shared in this project; `memsearch share ENTRY…` shares notes with its team"
        )
        return 0
    for one in found:
        title = output.safe(one.title)[:90]
        output.echo(
            f"{one.day} {one.time or '     '}  {output.style(output.safe(one.author), 'strong')} "
            f" {one.entry_id[:8]}  {title}"
        )
        if states := _states(one):
            output.echo(output.style(f"    {' · '.join(states)}", "dim"))
    return 0


def _states(one: engine.SharedNote) -> list[str]:
    reason = engine.QuarantineReason
    waits = {
        reason.ARRIVED: "waits: it is not committed, or the repository is another user's",
        reason.CONTRADICTS: "waits: its file contradicts what you decided about it",
        reason.OUTSIDE: "waits: from outside",
        reason.SUSPECT: "waits: it reads like an instruction",
    }
    states = (
        waits[one.waits] if one.waits else "",
        "not committed yet" if one.is_mine and not one.is_committed else "",
        _SINCE[one.since] if one.since else "",
        f"to be looked at again since {one.review}" if one.is_due else "",
    )
    return [state for state in states if state]


def _show(memory: engine.Memory, planned: list[engine.PlannedShare]) -> None:
    for one in planned:
        where = os.path.relpath(one.path, memory.place.root) if one.path else one.day
        why = (
            f": {one.why}"
            if one.why
            else f": {one.change}"
            if one.change is engine.ShareChange.SAME
            else ""
        )
        output.echo(
            f"{_SIGNS[one.change]} {output.safe(where)} "
            f" {output.style(output.safe(one.title)[:70], 'strong')}{output.safe(why)}"
        )
        if one.change in (engine.ShareChange.NEW, engine.ShareChange.CHANGED):
            body = [
                line for line in one.lines if line.strip() and not line.startswith(("### ", "<!--"))
            ]
            output.echo_each(f"    {output.safe(line)}" for line in body[:_LINES])
            if len(body) > _LINES:
                output.echo(output.style(f"    … {many(len(body) - _LINES, 'more line')}", "dim"))
            if one.replaced:
                output.echo(
                    output.style(f"    {many(len(one.replaced), 'secret')} left out", "dim")
                )


def take(path: str, expected: str | None, dry_run: bool, yes: bool) -> int:
    """Import a pack: ``memsearch agents import FILE``."""
    memory = engine.Memory()
    sharing = memory.sharing
    received = sharing.open(path, expected)
    new = [
        one
        for one in received.notes
        if one.change in (engine.ShareChange.NEW, engine.ShareChange.CHANGED)
    ]
    output.echo(
        f"{output.safe(path)}: of {output.safe(received.project)}, made"
        f" {output.safe(received.made)}, hash {received.hash}"
    )
    _show(memory, received.notes)
    files: list[str] = []
    conflicts: list[str] = []
    if new and not dry_run:
        if not expected:
            output.say(
                "compare the hash with whoever made it: your agents get the notes under their"
                " authors' names"
            )
        output.confirm(f"Put {many(len(new), 'note')} into .memsearch/shared?", yes)
        files, conflicts = sharing.take(received)
    output.emit(
        {
            "hash": received.hash,
            "project": received.project,
            "notes": [_planned_json(one) for one in received.notes],
            "files": files,
            "conflicts": conflicts,
            "dry_run": dry_run,
        }
    )
    if files:
        output.say(f"{many(len(new), 'note')} taken in · `memsearch undo` takes it back")
        if conflicts:
            output.say(
                f"{many(len(conflicts), 'note')} had been changed here, too: `memsearch sync"
                " conflicts` decides"
            )
    elif not new:
        output.say("nothing new in it")
    return (
        _SOME_REFUSED
        if any(one.change is engine.ShareChange.REFUSED for one in received.notes)
        else 0
    )


def _planned_json(one: engine.PlannedShare) -> dict[str, Any]:
    return {
        "entry_id": one.entry_id,
        "title": one.title,
        "day": one.day,
        "author": one.author,
        "path": one.path,
        "change": one.change.name.lower(),
        "why": one.why,
        "text": "\n".join(one.lines),
        "replaced": list(one.replaced),
    }


def _day(text: str | None) -> str:
    """Return the future day that ``--review`` names: a date, or a number of days from now.

    Raises:
        UsageError: the text names no such day.
    """
    if not text:
        return ""
    today, named = date.today(), date.fromisoformat(days_of(text)[0])
    # for other options, 90d means the past 90 days
    ahead = today + (today - named) if text[-1:] in "dwmy" else named
    if ahead <= today:
        raise engine.UsageError(
            f"{text} is not ahead", "a note is looked at again on a day to come: 2026-12-01, 90d"
        )
    return ahead.isoformat()
