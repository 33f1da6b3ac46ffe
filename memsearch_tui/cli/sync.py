"""Merge notes that were written in several places: sync, git's merge driver, conflicts."""

from __future__ import annotations

from typing import Any, Literal

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, scope
from memsearch_tui.cli.review import print_cases
from memsearch_tui.counted import many


@click.group(
    invoke_without_command=True,
    epilog=(
        "\b\nExamples:\n"
        "  memsearch sync add git@git.example.org:me/memory.git   set the repository\n"
        "  memsearch sync                                         sync now; else every 10 minutes"
    ),
)
@click.option(
    "--accept-deletions",
    is_flag=True,
    help="Delete the many notes that are missing on one machine from all machines.",
)
@click.option(
    "--bring-back",
    is_flag=True,
    help="Fetch notes that were removed here without memsearch.",
)
@click.option(
    "--rejoin",
    is_flag=True,
    help="Join again after the remote's history was rewritten; the notes of both sides stay.",
)
@as_json
def sync(accept_deletions: bool, bring_back: bool, rejoin: bool) -> int:
    """Sync notes between your machines through a git repository.

    Without a command: fetch the notes of the other machines, merge them with the notes here, and
    send the result.
    """
    answer = engine.SyncAnswer(accept_deletions, bring_back, rejoin)
    output.say("syncing …")
    syncing = engine.Memory().sync
    return _say_round(syncing, syncing.round(answer))


@sync.command(
    "add",
    short_help="Set the git repository, and sync for the first time.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch sync add git@git.example.org:me/memory.git\n"
        "  memsearch sync add /media/stick/memory.git"
    ),
)
@click.argument("remote", metavar="REMOTE")
@click.option(
    "--encrypt",
    is_flag=True,
    help="Encrypt the notes in the repository (age; needs the `encryption` extra).",
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def add(remote: str, encrypt: bool, yes: bool) -> int:
    """Set the git repository, and sync for the first time. The repository must be empty, or hold
    notes that memsearch sent.

    Everyone who can read the repository can read your notes. With --encrypt, nobody can without
    `sync.key` of this machine's home, which your other machines need. If a secret is found in the
    notes, nothing is sent.
    """
    syncing = engine.Memory().sync
    output.say(f"looking at {output.safe(remote)} …")
    remote = syncing.check(remote, encrypt=encrypt)
    output.confirm(
        f"Notes of all projects, remembered facts and MEMORY.md go to {output.safe(remote)} from"
        " now on. Begin?",
        yes,
    )
    key = syncing.add(remote, encrypt=encrypt)
    if key:
        output.say(
            f"the key is {output.safe(str(key))}: copy it to your other machines, and back it up;"
            " without it nothing can be read"
        )
    output.say("syncing …")
    return _say_round(syncing, syncing.round())


@sync.command("remove", epilog="\b\nExample:\n  memsearch sync remove")
@as_json
def remove() -> None:
    """Stop the sync with the other machines. All notes stay, here and there."""
    syncing = engine.Memory().sync
    remote = syncing.state(elsewhere=False).remote
    if remote:
        syncing.remove()
    output.emit(
        {"removed": remote},
        say=f"{output.safe(remote)} is no longer used" if remote else "there is no remote",
    )


@sync.command(
    "rewrite",
    short_help="Start the remote's history anew.",
    epilog="\b\nExample:\n  memsearch sync rewrite",
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def rewrite(yes: bool) -> None:
    """Start the remote's history anew with its present content, after a secret was scrubbed.

    The other machines stop until you run `memsearch sync --rejoin` on each. A server may store the
    old history until it runs `git gc --prune=now`; copies that somebody else made are not changed.
    """
    syncing = engine.Memory().sync
    remote = syncing.state(elsewhere=False).remote
    output.confirm(
        f"Replace the history of {output.safe(remote or 'the remote')} by its present content?",
        yes,
    )
    syncing.rewrite()
    output.emit(
        {"rewritten": remote},
        say=(
            "done; on each of the other machines: `memsearch sync --rejoin`. On the server: `git gc"
            " --prune=now`"
        ),
    )


@sync.command(
    "status",
    short_help="Show the result of the last sync.",
    epilog="\b\nExample:\n  memsearch sync status",
)
@as_json
def status() -> int:
    """Show the repository, the result of the last sync, and what needs your decision. Exit code 5
    means that there is a problem.
    """
    state = engine.Memory().sync.state()
    output.emit(state)
    if not state.remote:
        output.echo("sync is off; `memsearch sync add REMOTE` sets a git repository of yours")
    else:
        output.echo(
            f"remote    {output.safe(state.remote)}"
            + (f", every {state.every_minutes:g} min" if state.every_minutes else ", when asked")
        )
        output.echo(f"last      {_ago(state.worked) if state.worked else 'never'}")
        if state.last:
            _say_details(state.last)
        _say_elsewhere(state)
    return 5 if state.last and (state.last.error or state.last.problems) else 0


@sync.command("attach", epilog="\b\nExample:\n  memsearch sync attach website ~/work/website")
@click.argument("name", metavar="PROJECT")
@click.argument("folder", type=click.Path(file_okay=False))
@as_json
def attach(name: str, folder: str) -> None:
    """Connect a project of another machine to a folder here. Clones of one git repository are
    connected without it.
    """
    found = engine.Memory().sync.attach(name, folder)
    output.emit({"project": found, "folder": folder}, say="`memsearch sync` fetches its notes")


def _say_round(syncing: engine.Sync, done: engine.SyncRound) -> int:

    output.emit(done)
    parts = [
        f"{done.received} received" if done.received else "",
        f"{done.gone} deleted elsewhere" if done.gone else "",
        f"{done.sent} sent" if done.sent else "",
        many(done.turns, "conversation") if done.turns else "",
    ]
    output.echo(", ".join(filter(None, parts)) or "nothing new")
    _say_details(done)
    _say_elsewhere(syncing.state())
    return 5 if done.problems else 0


def _say_elsewhere(state: engine.SyncState) -> None:
    """Print the projects of other machines that have no folder here, and how they get one."""
    output.echo_each(
        (
            f"elsewhere {output.safe(other.name)}, {many(other.files, 'file')}: no folder here;"
            f" `memsearch sync attach {other.id[:8]} FOLDER`, then `memsearch sync`"
        )
        for other in state.elsewhere
    )


def _say_details(done: engine.SyncRound) -> None:
    if done.turns_left:
        output.echo("the next syncs send more conversations")
    if done.conflicts:
        output.echo(
            f"! {many(done.conflicts, 'note')} changed in two places: `memsearch review` decides"
        )
    output.echo_each(
        f"! {output.safe(problem)}"
        for problem in (*done.problems, *([done.error] if done.error else []))
    )


def _ago(moment: float) -> str:
    import time

    minutes = (time.time() - moment) / 60
    return (
        "just now"
        if minutes < 1
        else (
            f"{minutes:.0f} min ago"
            if minutes < 90
            else f"{minutes / 60:.0f} h ago"
            if minutes < 2880
            else f"{minutes / 1440:.0f} days ago"
        )
    )


@sync.command(
    "conflicts",
    short_help="List notes changed in two places, or resolve one.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch sync conflicts                         both texts of each\n"
        "  memsearch sync conflicts 3fa9c1d2 --keep other    the other text stays\n"
        "  memsearch sync conflicts 3fa9c1d2 --text 'Port 6543, since May'   neither"
    ),
)
@click.argument("name", metavar="ENTRY", required=False)
@click.option(
    "--keep",
    type=click.Choice(["shown", "other", "both"]),
    help="Which text stays; both: each is a note.",
)
@click.option("--text", help="A text that replaces both.")
@scope
@as_json
def conflicts(
    name: str | None,
    keep: Literal["shown", "other", "both"] | None,
    text: str | None,
    everything: bool,
    project: str | None,
) -> int:
    """List notes whose text was changed in two places, or decide one: the group `conflicts` of
    `memsearch review`. Sessions get neither text until then.
    """
    memory = engine.Memory(everything=everything, project=project)
    if name is None and (keep or text):
        raise engine.UsageError("which one?", "`memsearch sync conflicts` lists them")
    cases = memory.review.cases("conflict")
    if name is not None:
        cases = memory.review.named([name], cases)
    if not (keep or text):
        found = [_as_json(case.subject) for case in cases]
        output.emit({"conflicts": found} if name is None else found[0])
        print_cases(cases)
        if cases:
            output.say(f"`memsearch sync conflicts {cases[0].notes[-1]} --keep both`: two notes")
        return 1 if cases else 0
    conflict: engine.TextConflict = cases[0].subject
    if keep == "both":  # an answer that the queue, with its two answers, does not have
        memory.conflicts.decide(conflict, keep, text)
    else:
        memory.review.decide(cases[0], keep != "other", text)
    output.emit(
        {"decided": conflict.id, "keep": "text" if text else keep},
        echo="decided - `memsearch undo` takes it back",
    )
    return 0


def _as_json(case: engine.TextConflict) -> dict[str, Any]:
    def side(entry: engine.Entry | None) -> dict[str, str] | None:
        return (
            None
            if entry is None
            else {"entry_id": entry.id, "hash": entry.hash, "time": entry.time, "text": entry.body}
        )

    return {
        "id": case.id,
        "source": case.path,
        "day": case.day,
        "shown": side(case.entry),
        "other": side(case.other),
    }


@sync.group("git-driver", short_help="Have git merge notes entry by entry.")
def git_driver() -> None:
    """Where `.memsearch/` is committed: have git merge notes entry by entry, not line by line."""


@git_driver.command(
    "install",
    short_help="Install the driver into this clone.",
    epilog="\b\nExample:\n  memsearch sync git-driver install --dry-run     show what would change",
)
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def driver_install(dry_run: bool, yes: bool) -> None:
    """Add the driver to this clone and its files to `.memsearch/.gitattributes`."""
    syncing = engine.Memory().sync
    planned = syncing.install_driver(dry_run=True)
    _say_patches(planned, "would change" if dry_run else "changes")
    if planned and not dry_run:
        output.confirm("Change these?", yes)
        planned = syncing.install_driver()
    output.emit({"changed": _patches(planned), "dry_run": dry_run})
    if not planned:
        output.say("it is installed already")
    elif not dry_run:
        output.say(
            "merge, rebase, cherry-pick and stash merge notes by entry now; commit"
            " .memsearch/.gitattributes"
        )


@git_driver.command(
    "uninstall",
    short_help="Remove the driver.",
    epilog="\b\nExample:\n  memsearch sync git-driver uninstall",
)
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@as_json
def driver_uninstall(dry_run: bool) -> None:
    """Restore both files. If they were changed since, remove only memsearch's lines."""
    done = engine.Memory().sync.uninstall_driver(dry_run=dry_run)
    output.emit({"changed": _patches(done), "dry_run": dry_run})
    if done:
        _say_patches(done, "would change" if dry_run else "changed")
    else:
        output.say("the driver is not installed")


@git_driver.command("status", epilog="\b\nExample:\n  memsearch sync git-driver status")
@as_json
def driver_status() -> int:
    """Show whether git merges this project's notes entry by entry."""
    state = engine.Memory().sync.driver()
    output.emit(
        {
            "runs": state.runs,
            "says": state.says,
            "command": state.command,
            "problem": state.problem,
        }
    )
    if state.runs and state.says:
        output.echo(f"git merges notes entry by entry: {output.safe(state.command)}")
    elif state.runs or state.says:
        missing = (
            ".memsearch/.gitattributes does not name it"
            if state.runs
            else "this clone's configuration names no driver"
        )
        output.echo(f"incomplete: {missing}; `memsearch sync git-driver install` repairs it")
    else:
        output.echo("git merges notes by lines; `memsearch sync git-driver install` changes that")
    if state.problem:
        output.echo(f"! {output.safe(state.problem)}")
    return 0


@sync.command("merge-files", hidden=True)
@click.argument("files", nargs=4, metavar="BASE OURS THEIRS PATH")
def merge_files(files: tuple[str, str, str, str]) -> int:
    """Merge a file of notes. Git calls this."""
    answer, both = engine.Memory().sync.merge_files(*files)
    name = output.safe(files[3])
    if answer:
        output.say(f"{name} can't be merged by entry: it contains both versions")
    elif both:
        output.say(
            f"{many(len(both), 'note')} of {name} changed on both sides: `memsearch sync conflicts`"
            " decides"
        )
    return answer


def _patches(found: list[Any]) -> list[dict[str, str]]:
    return [{"path": patch.path, "what": patch.why} for patch in found]


def _say_patches(found: list[Any], what: str) -> None:
    for patch in found:
        output.echo(f"{what} {output.safe(patch.path)}: {patch.why}")
        output.echo_each(
            output.style(f"  {output.safe(line)}", "dim")
            for line in output.diff(patch.before, patch.after, context=1)[2:]
        )
