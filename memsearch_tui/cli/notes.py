"""Notes: write, change, delete, undo. The files are authoritative: no service is needed."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from typing import Any

import click
import msgspec
from memsearch_engine import Change, Conflict, Memory, MemsearchError, Note, UsageError, note_view

from memsearch_tui import drafts
from memsearch_tui.cli import output, terminal
from memsearch_tui.cli.options import NOT_TEXT, as_json, as_text, day_of, scope


class _Bullets(click.Command):
    """A command that accepts a list item as its argument: ``- text`` is no option, wherever it
    is.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        items = [arg for arg in args[:end] if arg.startswith("- ")]
        return super().parse_args(
            ctx, [*(arg for arg in args[:end] if arg not in items), "--", *items, *args[end + 1 :]]
        )


@click.command(
    cls=_Bullets,
    epilog=(
        "\b\nExamples:\n"
        "  memsearch add 'Staging runs Postgres 16 since today'\n"
        "  git log -1 --format=%B | memsearch add"
    ),
)
@click.argument("text", required=False)
@click.option("--day", help="Another day than today (2026-02-09, yesterday).")
@as_json
def add(text: str | None, day: str | None) -> None:
    """Write a note into today (from the argument or stdin)."""
    body = _given(text) if text is not None or not sys.stdin.isatty() else None
    if body is None or not body.strip():
        raise UsageError(
            "nothing to write", "memsearch add 'what to remember', or pipe the text in"
        )
    note = Memory().add(body, day=day_of(day) if day else "")
    _say_replaced(note)
    why = note.unconfirmed
    try:
        output.emit(
            {"entry_id": note.id, "source": note.path, **({"unconfirmed": why} if why else {})},
            echo=note.id,
        )
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the last flush fails, too
        why = f"stdout: {error.strerror}"
    if why:
        output.remark(f"written, not confirmed ({why}): don't add it again; it is in {note.path}")
    else:
        output.say(
            f"written to {note.path} - `memsearch expand {note.id}` shows it, `memsearch undo`"
            " takes it back"
        )


def _say_replaced(note: Note) -> None:
    for placeholder in note.replaced:
        output.remark(f"note: a secret was replaced by {placeholder}")


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch edit 3fa9c1d2\n"
        "  memsearch edit 3fa9c1d2 --text '- TTL is 900 s now' --if-match 1f2e3d4c5b6a7988"
    )
)
@click.argument("name")
@click.option("--text", help="The new text (else stdin where that is no terminal, else $EDITOR).")
@click.option("--if-match", "hash_", default="", help="Only if the entry still has this hash.")
@as_json
def edit(name: str, text: str | None, hash_: str) -> None:
    """Change an entry's text; its heading, anchor and marks stay."""
    memory = Memory()
    before = memory.note(name)
    is_typed = text is None and sys.stdin.isatty()
    if is_typed:
        text = drafts.in_editor(memory.home, before.text)
        if text is None:
            output.remark("nothing was changed")
            return
    body = _given(text)
    if not body.strip():
        raise UsageError("there is no text", f"`memsearch delete {before.id}` deletes the note")
    try:
        now = memory.edit(before.id, body, if_match=hash_ or before.hash, path=before.path)
    except (MemsearchError, OSError):
        if is_typed:
            typed = (before.path, before.id, before.title, body, before.hash, before.text)
            drafts.save(memory.home, drafts.EditDraft(*typed))
            output.remark("your text is a draft now: `e` on the note in the app goes on with it")
        raise
    _say_replaced(now)
    output.emit(note_view(now), say=f"entry {now.id} changed - `memsearch undo` takes it back")


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch delete 3fa9c1d2 --dry-run\n"
        "  memsearch delete 3fa9c1d2 77aa01bc --yes"
    )
)
@click.argument("names", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option(
    "--if-match", "hash_", default="", help="Only if the entry still has this hash (one entry)."
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def delete(names: tuple[str, ...], dry_run: bool, hash_: str, yes: bool) -> None:
    """Delete entries, after showing them. `undo` brings all of them back."""
    memory = Memory()
    notes = [memory.note(name) for name in dict.fromkeys(names)]
    if hash_ and (len(notes) != 1 or notes[0].hash != hash_):
        raise Conflict(
            "the entry changed since it was read",
            f"`memsearch expand {names[0]}` shows it as it is",
        )
    for note in notes:
        output.say(output.style(f"{note.path}:{note.start_line}", "dim"))
        output.say(output.safe(note.content) + "\n")
    if not dry_run:
        output.confirm(f"Delete {len(notes)} {'entry' if len(notes) == 1 else 'entries'}?", yes)
        memory.delete(*notes)  # the versions that were shown
    gone = [note_view(note) for note in notes]
    output.emit(
        {"deleted": [] if dry_run else gone, "would_delete": gone if dry_run else []},
        say="nothing was deleted (dry run)"
        if dry_run
        else f"{len(gone)} deleted - `memsearch undo` brings it back",
    )


def _step(name: str | None, everything: bool, *, back: bool) -> int:
    memory = Memory()
    changes = (memory.undo if back else memory.redo)(name or "", everywhere=everything)
    verb = "undone" if back else "redone"
    output.emit(
        {verb: [_change_json(change) for change in changes]},
        say=(
            f"{verb}: {change.op} of {change.entry_id} ({output.clip(change.title, 60)})"
            for change in changes
        ),
    )
    if not changes:
        output.remark(
            f"{f'no change of {name}' if name else 'nothing'} to be {verb} here"
            + ("" if everything else " (`--all` looks in all projects)")
        )
    return 0 if changes else 1


@click.command(epilog="\b\nExamples:\n  memsearch undo\n  memsearch undo 3fa9c1d2")
@click.argument("name", required=False)
@click.option("--all", "-a", "everything", is_flag=True, help="The last change in any project.")
@as_json
def undo(name: str | None, everything: bool) -> int:
    """Take back the last change (of this project, or of one entry). Works across restarts."""
    return _step(name, everything, back=True)


@click.command(epilog="\b\nExample:\n  memsearch redo")
@click.argument("name", required=False)
@click.option(
    "--all", "-a", "everything", is_flag=True, help="The last undone change in any project."
)
@as_json
def redo(name: str | None, everything: bool) -> int:
    """Do again what was undone."""
    return _step(name, everything, back=False)


@click.command(epilog=("\b\nExamples:\n  memsearch history -n 20\n  memsearch history 3fa9c1d2"))
@click.argument("name", required=False)
@click.option("--limit", "-n", default=20, type=click.IntRange(1), show_default=True)
@click.option("--diff", is_flag=True, help="Show what each change did.")
@as_json
def history(name: str | None, limit: int, diff: bool) -> int:
    """List changes, newest first: of this project, or of one entry (also a deleted one)."""
    changes = Memory().history(name or "", limit=limit)
    output.emit({"changes": [_change_json(change, full=True) for change in changes]})
    for change in changes:
        when = datetime.fromtimestamp(change.at).strftime("%Y-%m-%d %H:%M")
        state = "" if change.state == "done" else f" [{change.state}]"
        head = f"{change.seq:5d}  {when}  {change.op:6s} {change.entry_id}  "
        output.echo(f"{output.beside(head, change.title, 50)}{state}")
        if diff:
            _print_diff(change)
    if not changes:
        output.remark(
            f"no change of {name} - `memsearch history` lists all changes of this project"
            if name
            else "no changes yet - `memsearch history` lists what `edit`, `delete` and `mark` do"
        )
    return 0 if changes else 1


@click.command(epilog="\b\nExample:\n  memsearch restore 17")
@click.argument("change", type=int)
@as_json
def restore(change: int) -> None:
    """Restore the version of an entry before CHANGE (a number from `history`)."""
    record = Memory().restore(change)
    output.emit(
        {"restored": _change_json(record)},
        say=(
            f"entry {record.entry_id} is as it was before change {change} - `memsearch undo`"
            " takes this back"
        ),
    )


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch export --query 'redis' > redis.md\n"
        "  memsearch export --day 2026-02-09 --format json"
    )
)
@click.option("--query", "-q", help="Only the notes that this query finds.")
@click.option("--day", help="Only this day.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
)
@scope
@as_json
def export(
    query: str | None,
    day: str | None,
    format_: str,
    project: str | None,
    everything: bool,
) -> int:
    """Write entries as markdown or JSON."""
    memory = Memory(everything=everything, project=project)
    span = day_of(day) if day else ""
    if query:
        notes = [memory.note(hit.id) for hit in memory.search(query, 200)]
    else:
        notes = memory.entries(span)
    if output.is_json() or format_ == "json":
        entries = [note_view(note) for note in notes]
        encoded = msgspec.json.encode({"schema_version": output.SCHEMA_VERSION, "entries": entries})
        data = msgspec.json.format(encoded, indent=2).decode()
    else:
        data = output.safe(
            "\n\n".join(f"<!-- {os.path.basename(note.path)} -->\n{note.content}" for note in notes)
        )
    terminal.echo(data)
    return 0 if notes else 1


def _given(text: str | None) -> str:
    if text is not None:
        return as_text(text)
    try:
        return sys.stdin.buffer.read().decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the text on standard input is not UTF-8 (byte {error.start + 1})", NOT_TEXT
        ) from error


def _change_json(change: Change, *, full: bool = False) -> dict[str, Any]:
    record = {
        "change": change.seq,
        "at": datetime.fromtimestamp(change.at).astimezone().isoformat(),
        "op": change.op,
        "entry_id": change.entry_id,
        "source": change.path,
        "title": change.title,
        "state": change.state,
    }
    if full:
        record["before"] = change.before.decode("utf-8", "replace")
        record["after"] = change.after.decode("utf-8", "replace")
    return record


def _print_diff(change: Change) -> None:
    for line in output.diff(change.before, change.after, context=1)[2:]:
        role = {"+": "good", "-": "bad"}.get(line[:1], "dim")
        output.echo("       " + output.style(output.safe(line), role))


MARK_EXAMPLES = """\b
Examples:
  memsearch mark 3fa9c1d2                            print its marks
  memsearch mark 3fa9c1d2 --pin
  memsearch mark 3fa9c1d2 --expires 2026-12-31
  memsearch mark 3fa9c1d2 --confidence low
  memsearch mark 3fa9c1d2 --superseded-by 77aa01de   77aa01de is the newer version
  memsearch mark 3fa9c1d2 --no-pin --no-expires"""


@click.command(epilog=MARK_EXAMPLES)
@click.argument("name", metavar="ENTRY")
@click.option("--pin/--no-pin", default=None, help="It ranks higher and never fades.")
@click.option("--expires", metavar="DAY", help="After this day it ranks last; no agent gets it.")
@click.option("--no-expires", is_flag=True, help="It does not expire.")
@click.option(
    "--confidence",
    type=click.Choice(["high", "medium", "low"]),
    help="How sure it is. A low one is not given to agents.",
)
@click.option("--no-confidence", is_flag=True, help="Remove the confidence.")
@click.option(
    "--superseded-by", "newer", metavar="ENTRY", help="The note that is its newer version."
)
@click.option("--no-superseded-by", "valid", is_flag=True, help="No note supersedes it any more.")
@as_json
def mark(
    name: str,
    pin: bool | None,
    expires: str | None,
    no_expires: bool,
    confidence: str | None,
    no_confidence: bool,
    newer: str | None,
    valid: bool,
) -> None:
    """Set the marks of a note, or print them. `memsearch undo` takes a change back."""
    for value, off, option in (
        (expires, no_expires, "expires"),
        (confidence, no_confidence, "confidence"),
        (newer, valid, "superseded-by"),
    ):
        if value is not None and off:
            raise UsageError(f"--{option} and --no-{option} exclude each other", "pass one")
    changes: list[tuple[str, str | None]] = []
    if pin is not None:
        changes.append(("pin", "" if pin else None))
    if expires is not None or no_expires:
        changes.append(("expires", day_of(expires) if expires else None))
    if confidence or no_confidence:
        changes.append(("confidence", confidence))
    memory = Memory()
    note = memory.note(name)
    newer_id = memory.note(newer).id if newer else None
    if newer_id == note.id:
        raise UsageError("a note cannot supersede itself", "name another note")
    if newer or valid:
        changes.append(("superseded-by", newer_id))
    for key, value in changes:
        note = memory.mark(note.id, key, value)
    output.emit(note_view(note))
    marks = [f"{key} {value}".strip() for key, value in note.marks.items() if key != "id"]
    shown = ", ".join(marks) or "no marks"
    output.say(f"{note.id}: {shown}" + (" - `memsearch undo` takes it back" if changes else ""))


# -- the names that parts of ``mark`` had before


@click.command(epilog="\b\nExamples:\n  memsearch pin 3fa9c1d2\n  memsearch pin 3fa9c1d2 --off")
@click.argument("name")
@click.option("--off", is_flag=True, help="Unpin it.")
@as_json
def pin(name: str, off: bool) -> None:
    """Pin an entry: it ranks higher and never fades."""
    _mark(name, pin=not off)


@click.command(
    epilog=(
        "\b\nExamples:\n  memsearch confidence 3fa9c1d2 low\n  memsearch confidence 3fa9c1d2 --off"
    )
)
@click.argument("name")
@click.argument("level", required=False, type=click.Choice(["high", "medium", "low"]))
@click.option("--off", is_flag=True, help="Take the mark away.")
@as_json
def confidence(name: str, level: str | None, off: bool) -> None:
    """Set how sure a note is: it moves in the ranking, and agents do not get a low one."""
    if (level is None) != off:
        raise UsageError("no level, or two answers", "name high, medium or low, or pass --off")
    _mark(name, confidence=level, no_confidence=off)


@click.command(
    epilog=(
        "\b\nExamples:\n  memsearch expire 3fa9c1d2 2026-12-31\n  memsearch expire 3fa9c1d2 --off"
    )
)
@click.argument("name")
@click.argument("day", required=False)
@click.option("--off", is_flag=True, help="Let it not expire.")
@as_json
def expire(name: str, day: str | None, off: bool) -> None:
    """Let an entry expire after DAY: it then ranks last and is not given to agents."""
    if not (day or off):
        raise UsageError("on which day?", "write 2026-12-31")
    _mark(name, expires=None if off else day, no_expires=off)


@click.command(
    epilog=(
        "\b\nExample:\n"
        "  memsearch supersede 3fa9c1d2 77aa01de     the first one is out of date, the"
        " second one replaces it"
    )
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW", required=False)
@click.option("--off", is_flag=True, help="It is current again.")
@as_json
def supersede(old: str, new: str | None, off: bool) -> None:
    """Mark a note as superseded by another: search ranks the newer one first, and sessions get the
    newer one.
    """
    if bool(new) == off:
        raise UsageError(
            "no newer note, or two answers", "name the note that replaces it, or pass --off"
        )
    _mark(old, newer=new, valid=off)


def _mark(name: str, **marks: Any) -> None:
    click.get_current_context().invoke(mark, name=name, **marks)
