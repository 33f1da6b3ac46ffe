"""Notes that may be outdated: those whose references are gone from the repository (``verify``), and
those that a newer note supersedes (``trace``, ``supersession``).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click
import memsearch_engine as engine

from memsearch_tui.cli import output, results, terminal
from memsearch_tui.cli.find import supersessions
from memsearch_tui.cli.options import as_json, memory_at, scope
from memsearch_tui.cli.review import print_cases
from memsearch_tui.counted import many

_ID = re.compile(r"\[?(mem:)?[0-9a-f]{6,}]?")  # of a note, or its beginning; also cited


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch verify                      compare all notes of this project now\n"
        "  memsearch verify 3fa9c1d2             everything that one note names, and its state\n"
        "  memsearch verify 3fa9c1d2 --moved     put the new paths into it\n"
        "  memsearch verify 3fa9c1d2 --holds     it is still true: earlier changes are"
        " not reported again\n"
        "  memsearch verify 3fa9c1d2 --outdated  it is not true any more\n"
        "  memsearch search 'is:stale redis'     search among them"
    )
)
@click.argument("names", nargs=-1, metavar="[ENTRY]...")
@click.option("--holds", "decision", flag_value="holds", help="The notes are still true.")
@click.option(
    "--outdated", "decision", flag_value="overtaken", help="The notes are not true any more."
)
@click.option("--overtaken", "decision", flag_value="overtaken", hidden=True)
@click.option(
    "--moved",
    "decision",
    flag_value="moved",
    help="Put the new paths of what moved into the notes.",
)
@scope
@as_json
def verify(
    names: tuple[str, ...], decision: str | None, project: str | None, everything: bool
) -> int:
    """Find notes whose files, symbols, settings or commands are gone from the project's repository,
    or elsewhere.

    Only what git's history shows is claimed. Nothing is changed unless you decide it, and
    `memsearch undo` takes that back.
    """
    memory = memory_at(project, everything)
    staleness = memory.staleness
    if decision:
        if not names:
            raise click.UsageError("of which notes? Name their ids")
        return _decide(staleness, names, decision)
    if names:
        return _one_by_one(memory, staleness, names)
    with output.Progress() as progress:
        checked = staleness.verify(progress)
    compared = [project for project in checked.projects if not project.problem]
    notes = [_json(stale.row.entry_id, stale.standing, stale) for stale in checked.stale]
    output.emit({"projects": checked.projects, "notes": notes})
    _print(checked.stale)
    for one in checked.projects:
        if one.problem:
            output.say(f"! {output.safe(one.name)}: {output.safe(one.problem)}")
    if compared and not checked.stale:
        output.say(
            "nothing that the notes name is gone or elsewhere"
            f" ({', '.join(output.safe(p.name) for p in compared)})"
        )
    elif checked.stale:
        first = checked.stale[0].row.entry_id
        output.say(
            f"{many(len(checked.stale), 'note')} - `memsearch verify {first}` shows all that the"
            " first one names; --holds, --outdated or --moved decides"
        )
    return 0 if compared else 5


def _print(stale: list[engine.Stale]) -> None:
    room = output.width()
    for note in stale:
        row = note.row
        facts = "  ".join([row.agent or row.kind, row.entry_id])
        output.echo(
            f"{output.style(f'{row.day} {row.time}', 'strong')}  {output.style(facts, 'dim')}"
        )
        output.echo(f"    {output.clip(row.title, room - 4)}")
        output.echo_each(
            f"    {_sign(finding)} {output.clip(finding.words, room - 6)}"
            for finding in note.standing.stale
        )


def _sign(finding: engine.ReferenceState) -> str:
    sign = {"gone": "✗", "moved": "→", "changed": "~", "fresh": "=", "unknown": "?"}[finding.state]
    return output.style(sign, "warn" if finding.state in ("gone", "moved") else "dim")


def _one_by_one(memory: engine.Memory, staleness: engine.Staleness, names: tuple[str, ...]) -> int:
    sections = [memory.files.section(name) for name in names]
    standings = [staleness.of(section) for section in sections]
    if any(standing is None for standing in standings):
        # it is new, or changed since the comparison
        with output.Progress() as progress:
            checked = staleness.verify(progress)
        problems = [one.problem for one in checked.projects if one.problem]
        if problems and len(problems) == len(checked.projects):
            raise engine.Unreachable(problems[0])
        # without a service, only findings are stored
        stale = {(note.row.path, note.row.entry_id): note.standing for note in checked.stale}
        standings = [
            staleness.of(section) or stale.get((section.path, section.entry.id))
            for section in sections
        ]
    shown = [(section.entry.id, standing) for section, standing in zip(sections, standings)]
    output.emit(
        {"notes": [_json(name, standing or engine.NoteStaleness()) for name, standing in shown]}
    )
    compared = staleness.compared()
    when = (
        f"with {compared.head[:7]} on {datetime.fromtimestamp(compared.at):%Y-%m-%d %H:%M}"
        if compared
        else ""
    )
    for name, standing in shown:
        output.echo(output.style(name, "strong"))
        output.echo_each(
            f"    {_sign(finding)} {output.safe(finding.words)}"
            for finding in (standing.findings if standing else ())
        )
        if standing and standing.unmerged:
            output.echo(f"    ! its branch {output.safe(standing.unmerged)} was not merged")
        if not standing or not standing.findings:
            output.say("    nothing that it names is gone or elsewhere")
    if compared:
        output.say(compared.problem or f"compared {when}")
    return 0


def _decide(staleness: engine.Staleness, names: tuple[str, ...], decision: str) -> int:
    verbs: dict[str, tuple[Callable[[str], engine.Note], str]] = {
        "holds": (staleness.confirm, "still true"),
        "overtaken": (staleness.superseded, "not true any more"),
        "moved": (staleness.moved, "has the new paths"),
    }
    verb, words = verbs[decision]
    notes: list[engine.Note] = []
    problem: engine.MemsearchError | None = None
    for name in names:
        try:
            notes.append(verb(name))
        except engine.MemsearchError as error:  # report what was done first
            problem = error
            break
    output.emit(
        {
            "notes": [
                {"entry_id": note.id, "hash": note.hash, "marks": note.marks} for note in notes
            ]
        },
        say=(f"{note.id}: {words} - `memsearch undo {note.id}` takes it back" for note in notes),
    )
    if problem is not None:
        raise problem
    return 0


def _json(
    name: str, standing: engine.NoteStaleness, stale: engine.Stale | None = None
) -> dict[str, object]:
    found = [{**_finding(finding), "words": finding.words} for finding in standing.findings]
    row = (
        {
            "day": stale.row.day,
            "time": stale.row.time,
            "title": stale.row.title,
            "path": stale.row.path,
        }
        if stale
        else {}
    )
    return {
        "entry_id": name,
        **row,
        "state": standing.state,
        "unmerged": standing.unmerged,
        "names": found,
    }


def _finding(finding: engine.ReferenceState) -> dict[str, object]:
    fields = ("kind", "name", "state", "path", "to", "commit", "day", "commits", "share")
    return {field: getattr(finding, field) for field in fields}


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch trace CATALOG_CACHE_TTL\n"
        "  memsearch trace 3fa9c1d2                  the topic of a note\n"
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
    memory = engine.Memory()
    topic, note = _topic(memory, query)
    words = memory.supersession.trace("" if note else topic, note=note)
    days = {word.row.entry_id: word.row.day for word in words}
    endings = _endings(memory, [word.row for word in words], topic)
    notes = [
        {
            **_entry_json(word.row),
            "replaces": word.replaces,
            "ending": endings.get(word.row.entry_id, ""),
        }
        for word in words
    ]
    output.emit({"words": notes, "now": words[-1].row.entry_id if words else ""})
    if not note and not output.is_json():
        found = engine.answer_view(memory.search(topic))
        output.say_each(f"note: {text}" for text in results.remarks(found))
    for word in words:
        row = word.row
        output.echo(
            output.style(
                f"{row.day} {row.time or '     '}  {row.agent or 'note'}  {row.entry_id}",
                "strong",
            )
        )
        replaced = {older: sure for older, sure in word.replaces.items() if older in days}
        for older, sure in sorted(replaced.items(), key=lambda item: days[item[0]]):
            pairs = supersessions(memory, row.entry_id)
            why = next((f": {pair.why}" for pair in pairs if pair.older.entry_id == older), "")
            head = f"  supersedes {older} of {days[older]} ({sure:.0%} sure)"
            _say_wrapped(f"{head}{output.safe(why)}", "dim")
        for line in row.text.splitlines():
            if line.strip() and not line.startswith(("#", "<!--")):
                _say_wrapped(f"  {output.safe(line)}")
        if ending := endings.get(row.entry_id):
            _say_wrapped(f"  → {output.safe(ending)}")
    if len(words) == 1:
        output.say("no other note supersedes it, and it supersedes none")
    return output.exit_code(words, "nothing found - `memsearch search` looks through the notes")


def _topic(memory: engine.Memory, words: tuple[str, ...]) -> tuple[str, str]:
    """Return the text of a topic and, if *words* are the id of a note, the whole id."""
    if len(words) == 1 and _ID.fullmatch(words[0]):
        with contextlib.suppress(engine.MemsearchError):  # no note has it: it is a word
            note = memory.note(words[0])
            return note.title, note.id
    return " ".join(words), ""


def _say_wrapped(line: str, role: str = "") -> None:
    """Print a line, broken at words if a person reads it."""
    is_read = terminal.is_read_by_a_person()
    output.echo_each(
        output.style(part, role) if role else part
        for part in (results.wrapped(line, output.width()) if is_read else [line])
    )


def _endings(memory: engine.Memory, rows: list[engine.Row], query: str) -> dict[str, str]:
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
    memory = engine.Memory()
    if newer is None or older is None:
        if verdict:
            raise engine.UsageError(
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


def _waiting(memory: engine.Memory, newer: str, older: str) -> engine.ReviewItem | None:
    """Return the case of the review queue for these notes; None if they do not wait."""
    names = tuple(memory.files.section(name).entry.id for name in (newer, older))
    cases = memory.review.cases("amends", "contradicts")
    return next((case for case in cases if case.notes == names), None)


def _show_pairs(memory: engine.Memory, name: str | None) -> int:
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
        output.echo_each(
            f"  {row.day} {row.time or '     '}  {output.safe(row.title)}"
            for row in (pair.newer, pair.older)
        )
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
