"""Recall: search (L1), expand (L2), transcript (L3), and the plain lists."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from memsearch_engine import (
    Answer,
    Memory,
    Unreachable,
    UsageError,
    answer_view,
    hit_view,
    note_view,
)

from memsearch_tui.cli import output, results
from memsearch_tui.cli.options import (
    as_json,
    by_the_peer,
    day_of,
    days_of,
    memory_at,
    scope,
    tolerated,
)
from memsearch_tui.counted import many

if TYPE_CHECKING:
    from memsearch_engine import Amendment, Row, Talk, Turn

_TOOL_LINES = 6
#: Notes that are looked at for each conversation that is wanted, and at the least; those that are
#: shown of one.
_NOTES_OF_A_TALK, _DEEP, _NOTES_SHOWN = 5, 50, 3


@click.command(
    epilog="\b\nExamples:\n  memsearch search 'redis ttl' -k 5\n  memsearch search 'agent:codex after:7d \"pool size\" -draft'\n  memsearch search 'flaky test' --project '*' --json\n"
    "  memsearch search --by session 'move to postgres'   which conversations it was"
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--top-k",
    "-k",
    "limit",
    type=click.IntRange(1, 200, clamp=True),
    help="How many hits (search.top_k, else 10).",
)
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "dense", "bm25", "lexical"]),
    default="hybrid",
    show_default=True,
)
@click.option(
    "--fusion",
    type=click.Choice(["weighted", "rrf"]),
    help="How the lists are joined (search.fusion).",
)
@click.option(
    "--no-wait", is_flag=True, help="Answer from what is here now; never start the service."
)
@click.option("--explain", is_flag=True, help="Say for each hit why it is there.")
@click.option(
    "--by",
    type=click.Choice(["note", "session"]),
    default="note",
    help="One hit a note, or a conversation.",
)
@click.option("--source-prefix", help="Only files under this path.")
@scope
@tolerated
@as_json
@click.option("--json-output", "-j", "bare", is_flag=True, help="memsearch's bare list of hits.")
def search(
    query: tuple[str, ...],
    limit: int | None,
    mode: str,
    fusion: str | None,
    no_wait: bool,
    explain: bool,
    by: str,
    source_prefix: str | None,
    project: str | None,
    everything: bool,
    json_: bool,
    bare: bool,
) -> int:
    """Find memories by meaning and words.

    Filters: agent: project: session: day: after: before: kind: has:evidence is:pinned is:stale
    path: branch: as-of: -word "a phrase".
    """
    memory = memory_at(project, everything)
    text = " ".join(query)
    if by_the_peer():
        from memsearch_engine.core import compatibility

        text = compatibility.plain_query(text)
    if source_prefix:
        text += f' path:"{source_prefix}"'
    limit = limit or _top_k(memory)
    of_sessions = by == "session" and not bare
    deep = max(_DEEP, limit * _NOTES_OF_A_TALK) if of_sessions else limit
    answer = memory.search(text, deep, mode, fusion or "", wait=not no_wait)
    talks = answer.by_session()[:limit] if of_sessions else []
    if of_sessions:
        _print_sessions(answer, talks, mode, json_)
        return 0 if answer.hits else 1
    return results.print_search(
        answer_view(answer), mode, as_json=json_, bare=bare, explain=explain
    )


def _print_sessions(answer: Answer, talks: list[Talk], mode: str, json_: bool) -> None:
    results.say_reason(answer.reason, answer.mode, mode)
    if json_:
        output.emit(
            {
                "mode": answer.mode,
                "reason": answer.reason,
                "corrected": answer.corrected,
                "absent": answer.absent,
                "took_ms": answer.took_ms,
                "sessions": [_talk_json(talk, answer) for talk in talks],
            }
        )
    else:
        _print_talks(answer, talks)


def _talk_json(talk: Talk, answer: Answer) -> dict[str, Any]:
    return {
        "rank": talk.rank,
        "agent": talk.agent,
        "session": talk.session,
        "first_day": talk.first_day,
        "last_day": talk.last_day,
        "confidence": talk.confidence,
        "hits": [hit_view(hit, answer) for hit in talk.hits],
    }


def _print_talks(answer: Answer, talks: list[Talk]) -> None:
    room = output.width()
    for talk in talks:
        days = (
            talk.first_day
            if talk.first_day == talk.last_day
            else f"{talk.first_day} to {talk.last_day}"
        )
        head = f"{talk.rank:2d}  {days}"
        facts = [talk.agent or "note", talk.session[:13], many(len(talk.hits), "hit")]
        facts += [f"{talk.confidence:.0%} likely"] if talk.confidence is not None else []
        output.echo(
            f"{output.style(head, bold=True)}  {output.style('  '.join(f for f in facts if f), dim=True)}"
        )
        for hit in talk.hits[:_NOTES_SHOWN]:
            output.echo(
                f"    {hit.time or '     '}  {hit.row.chunk_id}  {output.clip(hit.title, room - 30)}"
            )
        if len(talk.hits) > _NOTES_SHOWN:
            output.echo(output.style(f"    and {len(talk.hits) - _NOTES_SHOWN} more", dim=True))
    if talks:
        first, by_hand = talks[0].hits[0].row.chunk_id, not talks[0].session
        how = f"`memsearch {'expand' if by_hand else 'transcript'} {first}` opens the first"
        output.say(f"{many(len(talks), 'conversation')} ({answer.mode}) - {how}")
    else:
        output.say("nothing found - `--all` searches all projects")


def _top_k(memory: Memory) -> int:
    """The setting, read only where there is a settings file: a search should cost nothing for it."""
    if not memory.home.config.exists():
        return 10
    from memsearch_engine import SettingsError

    try:
        return memory.settings.search.top_k
    except SettingsError:
        return 10  # the answer's reason names the file


@click.command(epilog="\b\nExample:\n  memsearch expand 3fa9c1d2 --json")
@click.argument("name")
@click.option("--json-output", "-j", "bare", is_flag=True, help="As --json.")
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(0, 1000),
    help="So many lines of the file before and after it.",
)
@click.option(
    "--section/--no-section",
    default=True,
    help="The whole section (the default), or the hit's own lines.",
)
@scope
@tolerated
@as_json
def expand(
    name: str,
    bare: bool,
    lines: int | None,
    section: bool,
    project: str | None,
    everything: bool,
    json_: bool,
) -> None:
    """Show the whole section behind a hit (its chunk or entry id)."""
    memory = memory_at(project, everything)
    view = memory.section_view(name, lines=lines, whole=section)
    results.print_section(view, as_json=json_ or bare)


@click.command(
    epilog="\b\nExamples:\n  memsearch transcript 3fa9c1d2 --context 1\n  memsearch transcript session.jsonl --turn 373eb335 --json\n  memsearch transcript opencode.db --session ses_e00250"
)
@click.argument("target")
@click.option("--turn", "-t", default="", help="The turn to open (an id, or the beginning of one).")
@click.option("--session", default="", help="The session, where TARGET is a database of many.")
@click.option(
    "--raw", is_flag=True, help="With the secrets that stand in it (they are replaced otherwise)."
)
@click.option(
    "--context",
    "-c",
    "context",
    default=0,
    type=click.IntRange(0, 1000),
    help="So many turns before and after.",
)
@click.option(
    "--full", is_flag=True, help="Whole tool outputs and texts; else long ones lose their middle."
)
@click.option(
    "--json-output", "-j", "bare", is_flag=True, help="memsearch's bare list of messages."
)
@as_json
def transcript(
    target: str,
    turn: str,
    session: str,
    raw: bool,
    context: int,
    full: bool,
    bare: bool,
    json_: bool,
) -> None:
    """Open the conversation that a memory came from.

    TARGET is an entry, a chunk, a transcript file or an agent's database. Where the agent has
    deleted it, the kept copy is shown. Without --turn, a file is shown whole.
    """

    memory = Memory()
    if os.path.sep in target or os.path.exists(target):
        found = memory.transcript_file(
            target, turn=turn, session=session, context=context, full=full, raw=raw
        )
    else:
        found = memory.transcript(target, turn=turn, context=context, full=full, raw=raw)
    if bare:
        output.emit([message for item in found.turns for message in _messages(item)])
        return
    if json_:
        output.emit(
            {
                "path": found.path,
                "state": found.state,
                "first": found.first,
                "total": found.total,
                "left_out": found.left_out,
                "turns": found.turns,
            }
        )
        return
    if found.left_out:
        output.say(f"note: {many(found.left_out, 'character')} left out; --full has them")
    if found.state == "archived":
        output.say(
            "note: the agent no longer has this conversation; this is the copy that was kept"
        )
    for number, item in enumerate(found.turns):
        if number:
            output.echo()
        output.echo(
            output.style(
                f"── {item.started}  turn {output.safe(item.turn)}  {item.status}", dim=True
            )
        )
        output.echo(output.style("you", bold=True) + f"  {output.safe(item.user)}")
        for tool in item.tools:
            output.echo(
                output.style(
                    f"  $ {output.safe(tool.name)}: {output.clip(tool.input, output.width() - 8)}",
                    dim=True,
                )
            )
            for line in output.safe(tool.output).splitlines()[:_TOOL_LINES]:
                output.echo(output.style(f"    {output.clip(line, output.width() - 4)}", dim=True))
        output.echo(output.style(item.agent, bold=True) + f"  {output.safe(item.assistant)}")
    if not found.turns:
        output.say("no turn in it")


def _messages(item: Turn) -> list[dict[str, Any]]:
    """A turn as memsearch's list of messages."""
    tools = [
        {"name": tool.name, "command": tool.input, "output": tool.output} for tool in item.tools
    ]
    return [
        {"role": "user", "uuid": item.turn, "text": item.user, "tools": []},
        {"role": "assistant", "uuid": item.turn, "text": item.assistant, "tools": tools},
    ]


@click.command(epilog="\b\nExamples:\n  memsearch show yesterday\n  memsearch show 2026-02-09")
@click.argument("day", default="today")
@scope
@as_json
def show(day: str, project: str | None, everything: bool, json_: bool) -> int:
    """Print a day (2026-02-09, today, yesterday, 7d) as it stands in its file."""
    day = day_of(day)
    memory = Memory(everything=everything, project=project)
    files = [file for file in memory.days() if file.day == day]
    if json_:
        entries = [note_view(note) for note in memory.entries(day)]
        output.emit({"day": day, "files": [file.path for file in files], "entries": entries})
        return 0 if files else 1
    for file in files:
        output.echo(output.safe(memory.source(file.path)), nl=False)
    if not files:
        output.say(f"no memories on {day} - `memsearch days` lists the days that have some")
    return 0 if files else 1


@click.command(epilog="\b\nExamples:\n  memsearch days\n  memsearch days --all --json")
@click.option("--limit", "-n", default=30, type=click.IntRange(1), show_default=True)
@scope
@as_json
def days(limit: int, project: str | None, everything: bool, json_: bool) -> int:
    """List the days that have memories, newest first."""
    memory = Memory(everything=everything, project=project)
    files = memory.days()[:limit]
    output.say_shortfall(memory)
    rows: list[dict[str, Any]] = [
        {"day": file.day, "entries": len(memory.read(file)), "source": file.path} for file in files
    ]
    copies = memory.copies()
    if json_:
        output.emit({"days": rows, "copies": [{"source": path, "of": of} for path, of in copies]})
    else:
        for row in rows:
            output.echo(
                f"{row['day']}  {row['entries']:4d}  {output.style(output.safe(row['source']), dim=True)}"
            )
        for path, of in copies:
            output.say(f"a copy of {os.path.basename(of)}, searched only: {output.safe(path)}")
        if not rows:
            output.say(
                f'no memories in {memory.place.memory} yet - `memsearch add "…"` writes the first, `memsearch demo` shows a year'
            )
    return 0 if rows else 1


@click.command(
    epilog="\b\nExamples:\n  memsearch entries -n 20\n  memsearch entries --day 2026-02-09 --json\n  memsearch entries --as-of 2026-03-01   as they stood then"
)
@click.option("--day", help="Only this day (2026-02-09, today, 3d).")
@click.option("--agent", help="Only this agent's.")
@click.option(
    "--as-of",
    help="As they stood at the end of a day: what was edited or deleted since is put back.",
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
    json_: bool,
) -> int:
    """List entries, newest day first, read from the files themselves."""
    first, last = days_of(day or "")
    _, then = days_of(as_of or "")
    memory = Memory(everything=everything, project=project)
    rows = memory.entries(first, last=last, agent=agent or "", limit=limit, as_of=then)
    output.say_shortfall(memory)
    if json_:
        output.emit({"entries": [note_view(note) for note in rows]})
    else:
        for note in rows:
            head = f"{note.id}  {note.day} {note.time or '     '}  {note.agent or 'note':11s}"
            head += f"  by {output.safe(note.author)}" if note.author else ""
            output.echo(
                f"{output.style(head, dim=True)}  {output.clip(note.title, output.width() - len(head) - 2)}"
            )
        if not rows:
            output.say("no entries here - `memsearch days --all` looks in all projects")
    return 0 if rows else 1


@click.command(
    epilog="\b\nExamples:\n  memsearch trace CATALOG_CACHE_TTL\n  memsearch trace 'when may we deploy' --json"
)
@click.argument("query", nargs=-1, required=True)
@as_json
def trace(query: tuple[str, ...], json_: bool) -> int:
    """What was noted on a matter, oldest first: each newer word with what it replaces. The last one
    holds.

    Which note amends which is told from their words; `memsearch amends` corrects that, `memsearch
    supersede` marks a note for good.
    """
    memory = Memory()
    words = memory.trace(" ".join(query))
    days = {word.row.entry_id: word.row.day for word in words}
    if json_:
        notes = [{**_entry_json(word.row), "replaces": word.replaces} for word in words]
        output.emit({"words": notes, "now": words[-1].row.entry_id if words else ""})
        return 0 if words else 1
    for word in words:
        row = word.row
        output.echo(
            output.style(
                f"{row.day} {row.time or '     '}  {row.agent or 'note'}  {row.entry_id}", bold=True
            )
        )
        for older, sure in sorted(word.replaces.items(), key=lambda item: days.get(item[0], "")):
            if older in days:
                why = next(
                    (
                        f": {pair.why}"
                        for pair in _amendments(memory, row.entry_id)
                        if pair.older.entry_id == older
                    ),
                    "",
                )
                output.echo(
                    output.style(
                        f"  amends {older} of {days[older]} ({sure:.0%} sure){output.safe(why)}",
                        dim=True,
                    )
                )
        for line in row.text.splitlines():
            if line.strip() and not line.startswith(("#", "<!--")):
                output.echo(f"  {output.safe(line)}")
    if len(words) == 1:
        output.say("no other note amends it, or is amended by it")
    elif not words:
        output.say("nothing found")
    return 0 if words else 1


@click.command(
    epilog="\b\nExamples:\n  memsearch amends                            pairs that wait for your word\n  memsearch amends 3fa9c1d2                   what this note amends, and what amends it\n  memsearch amends 3fa9c1d2 0b77e1aa          the first is the newer word on the second's matter\n  memsearch amends 3fa9c1d2 0b77e1aa --no     it is not"
)
@click.argument("newer", required=False)
@click.argument("older", required=False)
@click.option("--no", "verdict", flag_value="no", help="It is about something else.")
@click.option("--off", "verdict", flag_value="off", help="Let their words tell again.")
@as_json
def amends(newer: str | None, older: str | None, verdict: str | None, json_: bool) -> int:
    """Say whether the note NEWER amends the note OLDER; it outweighs what their words tell. Both
    stay as they are.

    Without OLDER, show what was found when notes were compared. `memsearch trace` shows a whole
    matter.
    """
    memory = Memory()
    if newer is None or older is None:
        if verdict:
            raise UsageError(
                "a word on what amends what needs both notes", "memsearch amends NEWER OLDER --no"
            )
        return _show_amendments(memory.amendments(newer or ""), json_)
    said = {"no": False, "off": None, None: True}[verdict]
    before = memory.amends(newer, older, said)
    if json_:
        output.emit({"newer": newer, "older": older, "amends": said, "before": before})
    else:
        what = {True: "amends", False: "does not amend", None: "may or may not amend"}[said]
        output.say(f"{newer} {what} {older}")
    return 0


def _amendments(memory: Memory, name: str) -> list[Amendment]:
    """What a note amends and what amends it, as far as it is heeded; a note can be read without it."""
    try:
        return [pair for pair in memory.amendments(name) if pair.holds]
    except Unreachable:
        return []


def _show_amendments(found: list[Amendment], json_: bool) -> int:
    if json_:
        pairs = [
            {
                "newer": _entry_json(pair.newer),
                "older": _entry_json(pair.older),
                "sure": pair.sure,
                "said": pair.said,
                "shared": pair.shared,
                "changes": pair.changes,
                "holds": pair.holds,
            }
            for pair in found
        ]
        output.emit({"amendments": pairs})
        return 0
    for pair in found:
        output.echo(
            output.style(f"{pair.newer.entry_id} amends {pair.older.entry_id}", bold=True)
            + f"  {pair.sure:.0%} sure"
        )
        for row in (pair.newer, pair.older):
            output.echo(f"  {row.day} {row.time or '     '}  {output.safe(row.title)}")
        output.echo(output.style(f"  {output.safe(pair.why)}", dim=True))
    output.say(
        "`memsearch amends NEWER OLDER` confirms one, `--no` rejects it"
        if found
        else "nothing was found, or all of it was decided"
    )
    return 0


def _entry_json(row: Row) -> dict[str, Any]:
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


@click.command("why-not", epilog="\b\nExample:\n  memsearch why-not 'connection pool' 3fa9c1d2")
@click.argument("query")
@click.argument("name")
@scope
@as_json
def why_not(query: str, name: str, project: str | None, everything: bool, json_: bool) -> None:
    """Say why the note NAME is not among the hits of QUERY."""
    found = Memory(everything=everything, project=project).why_not(query, name)
    if json_:
        output.emit(found)
        return
    for reason in found.reasons:
        output.echo(f"- {output.safe(reason)}")
