"""Newer versions of notes: the notes of a topic in order, and which note supersedes which."""

from __future__ import annotations

from typing import Any

import click
import memsearch_engine as engine
from memsearch_engine import Memory, UsageError

from memsearch_tui.cli import output
from memsearch_tui.cli.find import supersessions
from memsearch_tui.cli.options import as_json
from memsearch_tui.cli.review import print_cases


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch trace CATALOG_CACHE_TTL\n"
        "  memsearch trace 'when may we deploy' --json"
    )
)
@click.argument("query", nargs=-1, required=True)
@as_json
def trace(query: tuple[str, ...]) -> int:
    """Show the notes on a topic, oldest first: each newer version with what it supersedes. The last
    one is current.

    Which note supersedes which is derived from their words; `memsearch supersession` corrects that,
    `memsearch supersede` marks a note for good.
    """
    memory = Memory()
    words = memory.supersession.trace(" ".join(query))
    days = {word.row.entry_id: word.row.day for word in words}
    endings = _endings(memory, [word.row for word in words], " ".join(query))
    notes = [
        {
            **_entry_json(word.row),
            "replaces": word.replaces,
            "ending": endings.get(word.row.entry_id, ""),
        }
        for word in words
    ]
    output.emit({"words": notes, "now": words[-1].row.entry_id if words else ""})
    for word in words:
        row = word.row
        output.echo(
            output.style(
                f"{row.day} {row.time or '     '}  {row.agent or 'note'}  {row.entry_id}",
                "strong",
            )
        )
        for older, sure in sorted(word.replaces.items(), key=lambda item: days.get(item[0], "")):
            if older in days:
                why = next(
                    (
                        f": {pair.why}"
                        for pair in supersessions(memory, row.entry_id)
                        if pair.older.entry_id == older
                    ),
                    "",
                )
                output.echo(
                    output.style(
                        f"  supersedes {older} of {days[older]} ({sure:.0%}"
                        f" sure){output.safe(why)}",
                        "dim",
                    )
                )
        for line in row.text.splitlines():
            if line.strip() and not line.startswith(("#", "<!--")):
                output.echo(f"  {output.safe(line)}")
        if ending := endings.get(row.entry_id):
            output.echo(f"  → {output.safe(ending)}")
    if len(words) == 1:
        output.say("no other note supersedes it, and it supersedes none")
    elif not words:
        output.say("nothing found")
    return 0 if words else 1


def _endings(memory: Memory, rows: list[engine.Row], query: str) -> dict[str, str]:
    """Return how conversations ended on the topic of their notes: what the notes do not say."""
    texts = {row.entry_id: row.text for row in rows}
    ended = memory.queries.endings(list(texts), query) if rows else {}
    lacking = {
        name: [
            line
            for line in lines
            if line.removeprefix("User: ").removesuffix(" …") not in texts[name]
        ]
        for name, lines in ended.items()
    }
    return {name: " ".join(lines) for name, lines in lacking.items() if lines}


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch supersession                            pairs that wait for your decision\n"
        "  memsearch supersession 3fa9c1d2                   what this note supersedes,"
        " and what supersedes it\n"
        "  memsearch supersession 3fa9c1d2 0b77e1aa          the first supersedes the second\n"
        "  memsearch supersession 3fa9c1d2 0b77e1aa --no     it does not"
    )
)
@click.argument("newer", required=False)
@click.argument("older", required=False)
@click.option("--no", "verdict", flag_value="no", help="It is about something else.")
@click.option(
    "--off", "verdict", flag_value="off", help="Remove your decision: their texts decide again."
)
@as_json
def supersession(newer: str | None, older: str | None, verdict: str | None) -> int:
    """Decide whether the note NEWER supersedes the note OLDER; this overrides what their words
    suggest. Both stay as they are.

    Without OLDER, show what was found when notes were compared. `memsearch trace` shows a whole
    topic.
    """
    memory = Memory()
    if newer is None or older is None:
        if verdict:
            raise UsageError(
                "a decision needs both notes", "memsearch supersession NEWER OLDER --no"
            )
        return _show_pairs(memory, newer)
    override = {"no": False, "off": None, None: True}[verdict]
    if case := _waiting(memory, newer, older) if override is not None else None:
        before = None
        memory.review.decide(case, bool(override))
    else:
        before = memory.supersession.override(newer, older, override)
    output.emit({"newer": newer, "older": older, "amends": override, "before": before})
    what = {True: "supersedes", False: "does not supersede", None: "is compared again with"}[
        override
    ]
    output.say(f"{newer} {what} {older}")
    return 0


def _waiting(memory: Memory, newer: str, older: str) -> engine.ReviewItem | None:
    """Return the case of the review queue for these notes; None if they do not wait."""
    names = tuple(memory.files.section(name).entry.id for name in (newer, older))
    cases = memory.review.cases("amends", "contradicts")
    return next((case for case in cases if case.notes == names), None)


def _show_pairs(memory: Memory, name: str | None) -> int:
    """Print the pairs of a note; without a name, the pairs that wait in the review queue."""
    cases = [] if name else memory.review.cases("amends")
    found: list[engine.Supersession] = (
        memory.supersession.pairs(name) if name else [case.subject for case in cases]
    )
    pairs = [
        {
            "newer": _entry_json(pair.newer),
            "older": _entry_json(pair.older),
            "sure": pair.sure,
            "said": pair.said,
            "shared": pair.shared,
            "changes": pair.changes,
            "holds": pair.is_effective,
        }
        for pair in found
    ]
    output.emit({"amendments": pairs})
    if not name:
        print_cases(cases)
        return 0
    for pair in found:
        output.echo(
            output.style(f"{pair.newer.entry_id} supersedes {pair.older.entry_id}", "strong")
            + f"  {pair.sure:.0%} sure"
        )
        for row in (pair.newer, pair.older):
            output.echo(f"  {row.day} {row.time or '     '}  {output.safe(row.title)}")
        output.echo(output.style(f"  {output.safe(pair.why)}", "dim"))
    output.say(
        "`memsearch supersession NEWER OLDER` confirms one, `--no` rejects it; `memsearch review`"
        " lists all that waits"
        if found
        else "no other note supersedes it, and it supersedes none"
    )
    return 0


def _entry_json(row: engine.Row) -> dict[str, Any]:
    return {
        "entry_id": row.entry_id,
        "day": row.day,
        "time": row.time,
        "agent": row.agent,
        "session": row.session,
        "turn": row.turn,
        "source": row.path,
        "content": row.text,
    }
