"""``memsearch mark``: show, set and remove the marks of a note."""

from __future__ import annotations

import click
from memsearch_engine import Memory, UsageError, note_view

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, day_of

EXAMPLES = """\b
Examples:
  memsearch mark 3fa9c1d2                            print its marks
  memsearch mark 3fa9c1d2 --pin
  memsearch mark 3fa9c1d2 --expires 2026-12-31
  memsearch mark 3fa9c1d2 --confidence low
  memsearch mark 3fa9c1d2 --superseded-by 77aa01de   77aa01de is the newer version
  memsearch mark 3fa9c1d2 --no-pin --no-expires"""


@click.command(epilog=EXAMPLES)
@click.argument("name", metavar="ENTRY")
@click.option("--pin/--no-pin", default=None, help="It ranks higher and never fades.")
@click.option("--expires", metavar="DAY", help="After this day it ranks last; no agent gets it.")
@click.option("--no-expires", is_flag=True, help="It does not expire.")
@click.option(
    "--confidence",
    type=click.Choice(["high", "medium", "low"]),
    help="How sure it is. A low one is not given to agents.",
)
@click.option("--no-confidence", is_flag=True, help="Take that away.")
@click.option(
    "--superseded-by", "newer", metavar="ENTRY", help="The note that is its newer version."
)
@click.option("--no-superseded-by", "valid", is_flag=True, help="It is the newest version again.")
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
            raise UsageError(f"--{option} and --no-{option} exclude each other")
    memory = Memory()
    note = memory.note(name)
    changes: list[tuple[str, str | None]] = []
    if pin is not None:
        changes.append(("pin", "" if pin else None))
    if expires is not None or no_expires:
        changes.append(("expires", day_of(expires) if expires else None))
    if confidence or no_confidence:
        changes.append(("confidence", confidence))
    newer_id = memory.note(newer).id if newer else None
    if newer_id == note.id:
        raise UsageError("a note cannot supersede itself")
    if newer or valid:
        changes.append(("superseded-by", newer_id))
    for key, value in changes:
        note = memory.mark(note.id, key, value)
    output.emit(note_view(note))
    marks = [f"{key} {value}".strip() for key, value in note.marks.items() if key != "id"]
    shown = ", ".join(marks) or "no marks"
    output.say(f"{note.id}: {shown}" + (" - `memsearch undo` takes it back" if changes else ""))
