"""Find notes: search them, list them by day, and show a note, its day or its conversation.

The lists are read from the files themselves.
"""

from __future__ import annotations

import os
from typing import Any

import click
import memsearch_engine as engine
from msgspec import to_builtins

from memsearch_tui.cli import output, results, terminal
from memsearch_tui.cli.options import (
    as_json,
    by_the_peer,
    day_of,
    days_of,
    memory_at,
    scope,
    tolerated,
)

#: Notes to find for each wanted conversation, and their minimum.
_NOTES_PER_SESSION, _MIN_NOTES = 5, 50
_MAX_HITS = 200
SEARCH_EXAMPLES = """\b
Examples:
  memsearch search 'redis ttl' -k 5
  memsearch search 'agent:codex after:7d "pool size" -draft'
  memsearch search 'flaky test' --project '*' --json
  memsearch search --by session 'move to postgres'     the conversations
  memsearch search --why-not 3fa9c1d2 'redis ttl'      why a note is missing"""


@click.command(epilog=SEARCH_EXAMPLES)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--top-k",
    "-k",
    "limit",
    type=click.IntRange(1),
    help="How many hits, at most 200 (search.top_k, else 10).",
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
@click.option("--no-wait", is_flag=True, help="Answer at once; never start the service.")
@click.option("--explain", is_flag=True, help="Print for each hit why it was found.")
@click.option("--weak", is_flag=True, help="Print the hits that are only faintly similar too.")
@click.option(
    "--by",
    type=click.Choice(["note", "session"]),
    default="note",
    help="One hit for each note, or for each conversation.",
)
@click.option(
    "--why-not",
    metavar="ENTRY",
    help="Print why this note is not among the hits (`memsearch entries` lists the ids).",
)
@click.option(
    "--strict",
    is_flag=True,
    help=(
        "A misspelled filter (agnet:codex) is an error (2). Without it, the word is searched as"
        " text, with a note on stderr."
    ),
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
    weak: bool,
    by: str,
    why_not: str | None,
    strict: bool,
    source_prefix: str | None,
    project: str | None,
    everything: bool,
    bare: bool,
) -> int:
    """Find notes by meaning and words.

    Filters: agent: project: session: day: after: before: kind: has:evidence is:pinned is:stale
    path: branch: as-of: -word "a phrase". `memsearch help query` explains them.
    """
    memory = memory_at(project, everything)
    text = " ".join(query)
    if why_not is not None:
        return explain_absence(memory, text, why_not)
    if strict and (wrong := engine.parse_query(text).misread):
        raise engine.UsageError(
            f"no such filter: {', '.join(wrong)}", "`memsearch help query` lists the filters"
        )
    if by_the_peer():
        from memsearch_engine.core import compatibility

        text = compatibility.plain_query(text)
    asked = f'{text} path:"{source_prefix}"' if source_prefix else text
    limit = min(limit or _top_k(memory), _MAX_HITS)
    by_session = by == "session" and not bare
    wanted = max(_MIN_NOTES, limit * _NOTES_PER_SESSION) if by_session else limit
    answer = memory.search(asked, wanted, mode, fusion or "", wait=not no_wait)
    view = engine.answer_view(answer)
    if not by_session:
        return results.print_search(
            view, mode, as_json=output.is_json(), bare=bare, explain=explain, query=text, weak=weak
        )
    results.say_reason(answer.reason, answer.mode, mode)
    found = answer.by_session()[:limit]
    endings: dict[str, list[str]] = {}
    if answer.mode != "lexical" and not answer.as_of:
        endings = memory.queries.endings([one.hits[0].id for one in found], text)
    _print_sessions(view, found, endings)
    return 0 if answer.hits else 1


def _print_sessions(
    view: dict[str, Any], found: list[engine.SessionHits], endings: dict[str, list[str]]
) -> None:
    """Print an answer with its hits by conversation."""
    view["sessions"] = _sessions(found, endings, view.pop("hits"), without_display=output.is_json())
    if output.is_json():
        del view["is_unsure"]
        output.emit(view)
    else:
        results.write(results.session_lines(view, output.width()))


def _sessions(
    found: list[engine.SessionHits],
    endings: dict[str, list[str]],
    hits: list[dict[str, Any]],
    *,
    without_display: bool,
) -> list[dict[str, Any]]:
    """Return conversations as dictionaries, each with its hits and how it ended on their topic."""
    printed = {hit["entry_id"]: hit for hit in hits}
    for hit in hits if without_display else ():
        del hit["display"]
    return [
        {
            "rank": one.rank,
            "agent": one.agent,
            "session": one.session,
            "first_day": one.first_day,
            "last_day": one.last_day,
            "confidence": one.confidence,
            "ending": " ".join(endings.get(one.hits[0].id, ())),
            "hits": [printed[hit.id] for hit in one.hits],
        }
        for one in found
    ]


def _top_k(memory: engine.Memory) -> int:
    """Return the setting ``search.top_k``. The file is read only if it exists."""
    if not memory.home.config.exists():
        return 10
    try:
        return memory.settings.search.top_k
    except engine.SettingsError as error:
        output.remark(f"warning: {output.safe(str(error))}; the defaults are used")
        return 10


EXPAND_EXAMPLES = """\b
Examples:
  memsearch expand 3fa9c1d2
  memsearch expand 3fa9c1d2 --raw       as the file has it, with its anchor
  memsearch expand 3fa9c1d2 --json"""


@click.command(epilog=EXPAND_EXAMPLES)
@click.argument("name", metavar="ENTRY")
@click.option("--json-output", "-j", "also_json", is_flag=True, help="The same as --json.")
@click.option(
    "--raw", is_flag=True, help="As the file has it, with its anchor (the default when piped)."
)
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(0, 1000),
    help="Also this many lines of the file before and after it.",
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
    raw: bool,
    lines: int | None,
    section: bool,
    project: str | None,
    everything: bool,
) -> None:
    """Show a whole note: ENTRY is the id of a hit, or its first four characters or more."""
    view = memory_at(project, everything).section_view(name, lines=lines, whole=section)
    as_in_file = raw or lines is not None or not section
    results.print_section(view, as_json=output.is_json(), raw=as_in_file or None)


def supersessions(memory: engine.Memory, name: str) -> list[engine.Supersession]:
    """Return the valid pairs of a note and its newer version; [] if the catalog is damaged."""
    try:
        return [pair for pair in memory.supersession.pairs(name) if pair.is_effective]
    except engine.Unreachable:
        return []


@click.command(
    "why-not", epilog="\b\nExample:\n  memsearch search --why-not 'connection pool' 3fa9c1d2"
)
@click.argument("query")
@click.argument("name", metavar="ENTRY")
@scope
@as_json
def why_not(query: str, name: str, project: str | None, everything: bool) -> int:
    """Print why the note ENTRY is not among the hits of QUERY (also: search --why-not ENTRY)."""
    return explain_absence(engine.Memory(everything=everything, project=project), query, name)


def explain_absence(memory: engine.Memory, query: str, name: str) -> int:
    """Print the reasons why a note is not among the hits of a query, and return the exit code.

    Args:
        name: the note's id.
    """
    found = memory.queries.why_not(query, name)
    output.emit(found, echo=(f"- {output.safe(reason)}" for reason in found.reasons))
    return 0


TRANSCRIPT_EXAMPLES = """\b
Examples:
  memsearch transcript 3fa9c1d2 --context 1
  memsearch transcript session.jsonl --turn 373eb335 --json
  memsearch transcript opencode.db --session ses_e00250"""


@click.command(epilog=TRANSCRIPT_EXAMPLES)
@click.argument("target")
@click.option("--turn", "-t", default="", help="The turn to open (an id, or its beginning).")
@click.option("--session", default="", help="The session, where TARGET is a database of many.")
@click.option("--raw", is_flag=True, help="Print secrets, which are replaced otherwise.")
@click.option(
    "--context",
    "-c",
    "context",
    default=0,
    type=click.IntRange(0, 1000),
    help="Also this many turns before and after it.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Print long texts and tool outputs whole; else their middle is cut.",
)
@click.option(
    "--json-output", "-j", "bare", is_flag=True, help="memsearch's bare list of messages."
)
@as_json
def transcript(
    target: str, turn: str, session: str, raw: bool, context: int, full: bool, bare: bool
) -> None:
    """Open the conversation that a note came from.

    TARGET is an entry, a transcript file or an agent's database. Where the agent has deleted the
    conversation, the archived copy is shown. Without --turn, a file is shown whole.
    """
    memory = engine.Memory()
    if os.path.sep in target or os.path.exists(target):
        found = memory.transcripts.file(
            target, turn=turn, session=session, context=context, full=full, raw=raw
        )
    else:
        found = memory.transcript(target, turn=turn, context=context, full=full, raw=raw)
    if bare:
        terminal.print_json([message for item in found.turns for message in _messages(item)])
        return
    shown = {
        "path": found.path,
        "state": found.state,
        "first": found.first,
        "total": found.total,
        "left_out": found.left_out,
        "turns": to_builtins(found.turns),
    }
    results.print_transcript(shown, as_json=output.is_json())


def _messages(item: engine.Turn) -> list[dict[str, Any]]:
    """Return a turn as a list of messages in memsearch's format."""
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
def show(day: str, project: str | None, everything: bool) -> int:
    """Print a day (2026-02-09, today, yesterday, 7d) as it is in its file."""
    day = day_of(day)
    memory = engine.Memory(everything=everything, project=project)
    output.say_shortfall(memory)
    files = [f for f in memory.days() if f.day == day and os.access(f.path, os.R_OK)]
    entries = [engine.note_view(note) for note in memory.entries(day)]
    output.emit({"day": day, "files": [file.path for file in files], "entries": entries})
    for file in files:
        output.echo(output.safe(memory.files.source(file.path)), nl=False)
    return output.exit_code(
        files, f"no memories on {day} - `memsearch days` lists the days that have some"
    )


@click.command(epilog="\b\nExamples:\n  memsearch days\n  memsearch days --all --json")
@click.option("--limit", "-n", default=30, type=click.IntRange(1), show_default=True)
@scope
@as_json
def days(limit: int, project: str | None, everything: bool) -> int:
    """List the days that have notes, newest first."""
    memory = engine.Memory(everything=everything, project=project)
    files = [file for file in memory.days() if os.access(file.path, os.R_OK)][:limit]
    output.say_shortfall(memory)
    rows: list[dict[str, Any]] = [
        {"day": file.day, "entries": len(memory.files.read(file)), "source": file.path}
        for file in files
    ]
    copies = memory.files.copies()
    output.emit(
        {"days": rows, "copies": [{"source": path, "of": of} for path, of in copies]},
        echo=(
            f"{row['day']}  {row['entries']:4d}  {output.style(output.safe(row['source']), 'dim')}"
            for row in rows
        ),
        say=(
            f"a copy of {os.path.basename(of)}, searched only: {output.safe(path)}"
            for path, of in copies
        ),
    )
    return output.exit_code(
        rows,
        f'no notes in {memory.place.memory} yet - `memsearch add "…"` writes the first,'
        " `memsearch demo` shows a year",
    )


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
    help="The entries as they were at the end of this day, before later edits and deletes.",
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
    memory = engine.Memory(everything=everything, project=project)
    rows = memory.entries(first, last=last, agent=agent or "", limit=limit, as_of=then)
    output.say_shortfall(memory)
    output.emit({"entries": [engine.note_view(note) for note in rows]})
    for note in rows:
        head = f"{note.id}  {note.day} {note.time or '     '}  {note.agent or 'note':11s}"
        head += f"  by {output.safe(note.author)}" if note.author else ""
        title = output.beside(f"{head}  ", note.title).removeprefix(head)
        output.echo(f"{output.style(head, 'dim')}{title}")
    return output.exit_code(rows, "no entries here - `memsearch days --all` looks in all projects")
