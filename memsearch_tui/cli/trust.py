"""Trust: secrets in notes, quarantined notes, junk and repetitions."""

from __future__ import annotations

import copy
import os
import sys
from typing import Any, Literal

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, scope
from memsearch_tui.cli.review import print_cases
from memsearch_tui.counted import many


@click.group()
def secrets() -> None:
    """Find secrets in notes and archived conversations, and remove them everywhere."""


@secrets.command(
    "scan",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch secrets scan              this project's notes, and all archived"
        " conversations\n"
        "  memsearch secrets scan --all --json"
    ),
)
@click.option("--all", "-a", "everything", is_flag=True, help="The notes of all projects.")
@as_json
def secrets_scan(everything: bool) -> int:
    """Look for secrets in notes and archived conversations. Prints where they are, never what they
    are.

    Exit code 1 when something was found.
    """
    memory = engine.Memory(everything=everything)
    with output.Progress() as progress:
        found = memory.secrets.found(progress.show)
    output.emit({"findings": found})
    for finding in found:
        place = f"{finding.where}:{finding.line}" if finding.line else finding.where
        output.echo(
            f"{finding.rule:20s} {finding.fingerprint}  {output.safe(place)}"
            + (f"  entry {finding.entry_id}" if finding.entry_id else "")
        )
    output.say_shortfall(memory)
    output.say(
        f"{len(found)} found - `memsearch secrets scrub` removes them everywhere; "
        "`memsearch secrets allow FINGERPRINT` marks one as no secret"
        if found
        else "no secret found"
    )
    return 1 if found else 0


@secrets.command(
    "scrub",
    short_help="Remove a secret everywhere.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch secrets scrub --dry-run              where the secrets are\n"
        "  memsearch secrets scrub --text 'hunter2-prod' --yes\n"
        "  memsearch secrets scrub --rule github-token\n"
        "  memsearch secrets scrub --entry 3fa9c1d2"
    ),
)
@click.option(
    "--text",
    help="This text itself ('-' reads it from stdin, so that your shell does not remember it).",
)
@click.option("--rule", default="", help="What one rule of `secrets scan` finds.")
@click.option("--entry", default="", help="What is found in one entry.")
@click.option("--dry-run", "-n", is_flag=True, help="Only show where it is.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def secrets_scrub(text: str | None, rule: str, entry: str, dry_run: bool, yes: bool) -> int:
    """Remove a secret from notes, index, catalog, undo history, archived conversations, long-term
    memory, drafts and logs of all projects, then read everything again and print what is left. This
    can't be undone.

    The agents' own conversations and your settings are not changed: they are listed. Change the
    secret itself, too.
    """
    ours = engine.Memory(everything=True).secrets
    if text == "-":
        text = sys.stdin.read().strip("\n")
    if text == "":
        raise engine.UsageError("no text was given", "`--text -` reads it from stdin")
    wanted = ours.wanted(text=text or "", rule=rule, entry=entry)
    if not wanted:
        output.emit(
            {"changed": [], "left": [], "others": [], "looked_at": 0}, say="no secret found"
        )
        return 1
    with output.Progress() as progress:
        seen = ours.survey(wanted, progress.show)
        progress.close()
        _say_places(seen.left, seen.others)
        if dry_run or not seen.left:
            output.emit(
                seen,
                say=(
                    f"{many(len(wanted), 'secret')} in {len(seen.left)} places of ours,"
                    f" {seen.looked_at} looked at"
                ),
            )
            return 0 if seen.left else 1
        output.confirm(
            f"Replace {many(len(wanted), 'secret')} in these {many(len(seen.left), 'file')}, for"
            " good?",
            yes,
        )
        report = ours.scrub(wanted, progress.show)
    output.emit(report)
    left = sum(place.count for place in report.left)
    output.echo(f"{left} left in {report.looked_at} places ({len(report.changed)} were cleaned)")
    _say_places(report.left, [])
    if report.others:
        output.say(
            f"found still in {many(len(report.others), 'file')} that memsearch does not own;"
            " the index is built again by the next command"
        )
    if not output.is_json():
        _say_remote()
    return 5 if report.left else 0


def _say_remote() -> None:
    """Print what a scrub on this machine means for the sync remote."""
    syncing = engine.Memory().sync
    if not (remote := syncing.state(elsewhere=False).remote):
        return
    try:
        syncing.round()
        remark = (
            f"{remote} no longer has it in its present content; the other machines remove it at"
            " their next sync"
        )
    except engine.MemsearchError as error:
        remark = (
            f"{remote} still has it: {error}. The next `memsearch sync` removes it from the"
            " present content"
        )
    output.say(
        f"{output.safe(remark)}. Its history still has it: `memsearch sync rewrite` starts a new"
        " one"
    )


def _say_places(ours: list[Any], others: list[Any]) -> None:
    for place in [*ours, *others]:
        mine = "" if place in ours else "  (not ours: left as it is)"
        output.echo(f"{place.kind:12s} {place.count:5d}x  {output.safe(place.path)}{mine}")


@secrets.command(
    "allow",
    short_help="Mark a finding as no secret.",
    epilog=(
        "\b\nExample:\n"
        "  memsearch secrets allow 1a2b3c4d      from `secrets scan`, or from"
        " [REDACTED:rule:1a2b3c4d]"
    ),
)
@click.argument("fingerprints", nargs=-1, required=True)
@click.option("--off", is_flag=True, help="Report it as a secret again.")
@as_json
def secrets_allow(fingerprints: tuple[str, ...], off: bool) -> None:
    """Mark a finding as no secret: it is not reported and not replaced any more."""
    ours = engine.Memory().secrets
    for fingerprint in fingerprints:
        ours.allow(fingerprint, off=off)
    fine = sorted(ours.allowed())
    output.emit({"allowed": fine}, echo=f"{len(fine)} allowed")


@click.group()
def trust() -> None:
    """Quarantined notes: they contain content from outside, read like instructions or were not
    written on this machine. Sessions do not get them until you release them. `memsearch review`
    lists them with all that waits.
    """


@trust.command(
    "review",
    short_help="List quarantined notes with the reasons.",
    epilog="\b\nExample:\n  memsearch trust review",
)
@scope
@as_json
def trust_review(everything: bool, project: str | None) -> int:
    """List quarantined notes with the reasons: the group `quarantine` of `memsearch review`."""
    memory = engine.Memory(everything=everything, project=project)
    cases = memory.review.cases("held")
    if output.is_json():
        # of each day, those that came from elsewhere last
        arrived = engine.QuarantineReason.ARRIVED
        notes = memory.trust.quarantined()
        notes.sort(key=lambda note: (note.day, note.why is not arrived), reverse=True)
        output.emit({"held": notes})
    print_cases(cases, room=output.width())
    if cases:
        output.say("`memsearch trust release ENTRY` releases one note of a file")
    return 0 if cases else 1


_ENTRIES = click.argument("names", nargs=-1, metavar="ENTRY...")
_WRONG = click.option(
    "--file", "files", multiple=True, metavar="PATH", help="All in this file that contradict one."
)


@trust.command(
    "accept",
    short_help="Accept a file that contradicts a decision.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch trust accept 3fa9c1d2\n"
        "  memsearch trust accept --file .memsearch/memory/2026-02-09.md"
    ),
)
@_ENTRIES
@_WRONG
@as_json
def trust_accept(names: tuple[str, ...], files: tuple[str, ...]) -> None:
    """Accept the file where it contradicts a decision of yours (a note that you deleted is back, a
    mark is gone, an older text is back, a text moved to another day). It is not asked about again.
    `trust reject` takes it back.
    """
    memory = engine.Memory()
    done = memory.trust.accept(_contradicting(memory, names, files))
    output.emit(
        {"entries": [{"entry_id": entry.id, "marks": entry.marks} for entry in done]},
        echo=f"{many(len(done), 'note')} accepted as the file has them",
    )


@trust.command(
    "reject",
    short_help="Insist on a decision that a file contradicts.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch trust reject 3fa9c1d2\n"
        "  memsearch trust reject --leave --file .memsearch/memory/2026-02-09.md"
    ),
)
@_ENTRIES
@_WRONG
@click.option(
    "--leave",
    is_flag=True,
    help="Don't change the file: the checkout of an older branch was wanted.",
)
@as_json
def trust_reject(names: tuple[str, ...], files: tuple[str, ...], leave: bool) -> None:
    """Insist on your decision where a file contradicts it: the file is corrected (`memsearch
    undo` takes that back), or the text is left out of every session. It is not asked about again.
    `trust accept` takes it back.
    """
    memory = engine.Memory()
    targets = _contradicting(memory, names, files)
    done = memory.trust.reject(targets, leave=leave)
    output.emit(
        {"entries": [{"entry_id": t.entry_id, "done": word} for t, word in zip(targets, done)]}
    )
    counts = {word: done.count(word) for word in dict.fromkeys(done)}
    output.echo(
        ", ".join(f"{many(count, 'note')} {word}" for word, count in counts.items())
        or "nothing to reject"
    )


def _contradicting(
    memory: engine.Memory, names: tuple[str, ...], files: tuple[str, ...]
) -> list[engine.Target]:
    """Return the named notes that contradict a decision, or all such notes of the named files.

    Raises:
        UsageError: neither notes nor files were named, or both.
        NotFound: a name is unknown.
    """
    if bool(names) == bool(files):
        raise engine.UsageError("name entries, or --file", "`memsearch review` lists what waits")
    wanted = {os.path.realpath(path) for path in files}
    waiting = memory.trust.quarantined()
    wrong = [note for note in waiting if note.why is engine.QuarantineReason.CONTRADICTS]
    if files:
        return [note.target for note in wrong if os.path.realpath(note.path) in wanted]
    found = []
    for name in names:
        of_name = [note.target for note in wrong if note.entry_id.startswith(name)]
        found += of_name or [memory.files.section(name).target]
    return found


@trust.command(
    "release",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch trust release 3fa9c1d2\n"
        "  memsearch trust release --file .memsearch/memory/2026-02-09.md\n"
        "  memsearch trust release --author ana@example.org\n"
        "  memsearch trust release --here"
    ),
)
@click.argument("names", nargs=-1, metavar="ENTRY...")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="All present notes of this file.",
)
@click.option(
    "--author",
    help="The present notes of files that only this e-mail address has committed.",
)
@click.option("--here", is_flag=True, help="All present notes of this project.")
@as_json
def trust_release(
    names: tuple[str, ...], files: tuple[str, ...], author: str | None, here: bool
) -> None:
    """Release notes: new sessions may get them. `memsearch undo` takes back the release
    of an ENTRY.

    What this machine did not write itself (it came with a clone, a pull or a copy) waits until
    then. A release counts for the present text: a note that changes waits again.
    """
    if bool(names) + bool(files) + bool(author) + here != 1:
        raise engine.UsageError(
            "name entries, or one of --file, --author, --here",
            "`memsearch review` lists what waits",
        )
    if names:
        _decide(names, "release")
        return
    waiting = engine.Memory().trust
    paths: list[str] = list(files)
    if missing := [path for path in paths if not os.path.isfile(path)]:
        raise engine.NotFound(
            f"no file {', '.join(missing)}", "`memsearch trust review` names the files"
        )
    if author:
        count, paths = waiting.release_author(author)
        if not paths:
            ways = "`memsearch trust review` lists what waits"
            output.say(f"no file was committed by {author} alone - {ways}")
    else:
        count = waiting.release_folder() if here else waiting.release_files(paths)
    output.emit(
        {"released": count, "files": paths},
        echo=f"{many(count, 'note')} released"
        + (f", of {many(len(paths), 'file')}" if author else ""),
    )


@trust.command("quarantine", epilog="\b\nExample:\n  memsearch trust quarantine 3fa9c1d2")
@click.argument("names", nargs=-1, required=True, metavar="ENTRY...")
@as_json
def trust_quarantine(names: tuple[str, ...]) -> None:
    """Quarantine notes: no session gets them."""
    _decide(names, "hold")


#: The older name of `trust quarantine`.
_hold = copy.copy(trust_quarantine)
_hold.hidden = True
trust.add_command(_hold, "hold")


def _decide(names: tuple[str, ...], verdict: Literal["release", "hold"]) -> None:
    memory = engine.Memory()
    targets = [memory.files.section(name).target for name in names]
    waiting = memory.trust
    done = waiting.release(targets) if verdict == "release" else waiting.quarantine(targets)
    output.emit(
        {"entries": [{"entry_id": entry.id, "marks": entry.marks} for entry in done]},
        echo=(
            f"{len(done)} {'released' if verdict == 'release' else 'quarantined'} - `memsearch"
            " undo`"
            " takes it back"
        ),
    )


@trust.command(
    "sources",
    short_help="Show where a note came from.",
    epilog="\b\nExample:\n  memsearch trust sources 3fa9c1d2",
)
@click.argument("name", metavar="ENTRY")
@as_json
def trust_sources(name: str) -> None:
    """Where a note came from: user, model, inside (what tools printed here), outside (web, MCP).

    Of these, the last one that took part decides how far the note is trusted.
    """
    memory = engine.Memory()
    entry = memory.files.section(name).entry
    classes = memory.trust.sources(entry)
    output.emit(
        {
            "entry_id": entry.id,
            "sources": classes,
            "trust": entry.marks.get("trust", classes[-1]),
        },
        echo=f"{', '.join(classes)}; trusted as {entry.marks.get('trust', classes[-1])}",
    )


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch repair                    what could be repaired, with the evidence\n"
        "  memsearch repair --fix 3fa9c1d2     one of it\n"
        "  memsearch repair --fix duplicate    all of a kind, after asking"
    )
)
@click.option(
    "--fix",
    "names",
    multiple=True,
    metavar="ENTRY|KIND",
    help="Mend this (vanished, merged, returned, stub, error, echo, prompt, duplicate).",
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@scope
@as_json
def repair(names: tuple[str, ...], yes: bool, everything: bool, project: str | None) -> int:
    """Find junk (stubs, error texts, echoes, prompts), notes that say nearly the same, and notes
    that a merge by git has damaged: the group `repairs` of `memsearch review`.

    --fix asks first. It deletes junk, and makes one note with all anchors of repetitions.
    `memsearch undo` takes each repair back.
    """
    queue = engine.Memory(everything=everything, project=project).review
    found = queue.cases("repair")
    if names:
        found = [case for case in found if any(map(case.subject.is_called, names))]
    if names and not found:
        raise engine.NotFound(
            f"nothing to mend under {', '.join(names)}", "`memsearch repair` lists what was found"
        )
    print_cases(found, room=output.width())
    if not names:
        output.emit({"findings": [_finding(case.subject) for case in found]})
        return 1 if found else 0
    output.confirm(f"Mend these {len(found)}?", yes)
    for case in found:
        queue.decide(case, True)
    output.emit(
        {"mended": [case.subject.id for case in found]},
        echo=f"{len(found)} mended - `memsearch undo` takes back one at a time",
    )
    return 0


def _finding(found: engine.RepairCandidate) -> dict[str, Any]:
    import msgspec

    fields = msgspec.to_builtins(found)
    del fields["file"]  # whole files; `git diff` shows them better after the repair
    return {**fields, "why": found.why}
