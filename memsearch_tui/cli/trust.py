"""Trust: secrets in what was written."""

from __future__ import annotations

import click
from memsearch_engine.client import Memory

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json


@click.group()
def secrets() -> None:
    """Find secrets in notes and kept conversations."""


@secrets.command(
    "scan",
    epilog="\b\nExamples:\n  memsearch secrets scan              this project's notes, and all kept conversations\n  memsearch secrets scan --all --json",
)
@click.option("--all", "-a", "everything", is_flag=True, help="The notes of all projects.")
@as_json
def secrets_scan(everything: bool, json_: bool) -> int:
    """Look for secrets in years of notes and in kept conversations. Prints where they stand, never what they are.

    Exit code 1 when something was found.
    """
    from memsearch_engine.capture.audit import audit

    memory = Memory(everything=everything)
    progress = output.Progress()
    try:
        found = audit(
            memory.home,
            memory.projects,
            lambda phase, done, total: progress({"phase": phase, "done": done, "total": total}),
        )
    finally:
        progress.close()
    if json_:
        output.emit(
            {
                "findings": [
                    {
                        "where": f.where,
                        "line": f.line,
                        "entry_id": f.entry_id,
                        "rule": f.rule,
                        "fingerprint": f.fingerprint,
                    }
                    for f in found
                ]
            }
        )
        return 1 if found else 0
    for finding in found:
        place = f"{finding.where}:{finding.line}" if finding.line else finding.where
        click.echo(
            f"{finding.rule:20s} {finding.fingerprint}  {output.safe(place)}"
            + (f"  entry {finding.entry_id}" if finding.entry_id else "")
        )
    if found:
        output.say(
            f"{len(found)} found - `memsearch edit ENTRY` changes a note; what is captured from now on is cleaned before it is written"
        )
    else:
        output.say("no secret found")
    return 1 if found else 0
