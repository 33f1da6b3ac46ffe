"""``search`` and ``expand``: from words to notes, from a note to its whole section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from memsearch_engine import Memory, Note, Unreachable, shared_author

from memsearch_tui.cli import looks, output, render
from memsearch_tui.cli.options import as_json, by_the_peer, memory_at, scope, tolerated

if TYPE_CHECKING:
    from memsearch_engine import Amendment, Answer, Section

#: Notes to find for each conversation that is wanted, and at the least.
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
@click.option("--why-not", metavar="ENTRY", help="Print why this note is not among the hits.")
@click.option(
    "--strict", is_flag=True, help="Fail where a filter is misspelled (agnet:codex), exit code 2."
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
    json_: bool,
    bare: bool,
) -> int:
    """Find notes by meaning and words.

    Filters: agent: project: session: day: after: before: kind: has:evidence is:pinned is:stale
    path: branch: as-of: -word "a phrase". `memsearch help query` explains them.
    """
    memory = memory_at(project, everything)
    text = " ".join(query)
    if why_not is not None:
        return explain_absence(memory, text, why_not, json_=json_)
    if strict:
        _refuse_misread(text)
    if by_the_peer():
        from memsearch_engine.core import compatibility

        text = compatibility.plain_query(text)
    asked = f'{text} path:"{source_prefix}"' if source_prefix else text
    limit = min(limit or _top_k(memory), _MAX_HITS)
    by_session = by == "session" and not bare
    wanted = max(_MIN_NOTES, limit * _NOTES_PER_SESSION) if by_session else limit
    answer = memory.search(asked, wanted, mode, fusion or "", wait=not no_wait)
    if mode == "lexical":
        answer.reason = ""  # words only is what was asked for
    found = answer_json(answer)
    if by_session:
        found["sessions"] = _sessions(answer, limit, found.pop("hits"))
    if json_ or bare:
        if answer.reason:
            words = "words only: " if answer.mode == "lexical" else ""
            output.say(f"note: {words}{output.safe(answer.reason)}")
        output.emit(found["hits"] if bare else found)
    elif by_session:
        looks.write(render.sessions(found, width=looks.width()))
    else:
        looks.write(render.search(found, text, width=looks.width(), explain=explain, weak=weak))
    return 0 if answer.hits or bare else 1


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as ``search --json`` prints it."""
    from msgspec import to_builtins

    return render.answer_json(to_builtins(answer), shared_author)


def _sessions(answer: Answer, limit: int, hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversations behind an answer, each with its hits."""
    printed = {hit["entry_id"]: hit for hit in hits}
    return [
        {
            "rank": one.rank,
            "agent": one.agent,
            "session": one.session,
            "first_day": one.first_day,
            "last_day": one.last_day,
            "confidence": one.confidence,
            "hits": [printed[hit.id] for hit in one.hits],
        }
        for one in answer.by_session()[:limit]
    ]


def _refuse_misread(query: str) -> None:
    """Raise UsageError where a filter of a query would be read as text."""
    from memsearch_engine import UsageError, parse_query

    if wrong := parse_query(query).misread:
        raise UsageError(
            f"no such filter: {', '.join(wrong)}", "`memsearch help query` lists the filters"
        )


def _top_k(memory: Memory) -> int:
    """The setting ``search.top_k``; the file is read only where there is one."""
    if not memory.home.config.exists():
        return 10
    from memsearch_engine import SettingsError

    try:
        return memory.settings.search.top_k
    except SettingsError as error:
        output.say(f"warning: {output.safe(str(error))}; the defaults are used")
        return 10


EXPAND_EXAMPLES = """\b
Examples:
  memsearch expand 3fa9c1d2
  memsearch expand 3fa9c1d2 --raw       as the file has it, with its anchor
  memsearch expand 3fa9c1d2 --json"""


@click.command(epilog=EXPAND_EXAMPLES)
@click.argument("name", metavar="ENTRY")
@click.option("--json-output", "-j", "bare", is_flag=True, help="As --json.")
@click.option(
    "--raw", is_flag=True, help="As the file has it, with its anchor (the default when piped)."
)
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
    raw: bool,
    lines: int | None,
    section: bool,
    project: str | None,
    everything: bool,
    json_: bool,
) -> None:
    """Show a whole note: ENTRY is the id of a hit, or its first four characters or more."""
    memory = memory_at(project, everything)
    shown = section_json(memory, name, lines=lines, whole=section)
    if json_ or bare:
        output.emit(shown)
        return
    # memsearch's skills read the anchor from what a pipe gets
    raw = raw or lines is not None or not section or not output.is_shown()
    output.page(render.note(shown, width=looks.width(), raw=raw))


def section_json(
    memory: Memory, name: str, *, lines: int | None = None, whole: bool = True
) -> dict[str, Any]:
    """A note as ``expand --json`` prints it; counts as a use of the note.

    Args:
        lines: so many lines of the file before and after it.
        whole: the whole section; else the lines of the hit alone.
    """

    found = memory.files.section(name)
    entry = found.entry
    memory.opened(entry.id, entry.agent, entry.session)
    pairs, standing = supersessions(memory, entry.id), memory.staleness.of(found)
    newer = [pair for pair in pairs if pair.older.entry_id == entry.id]
    older = [pair for pair in pairs if pair not in newer]
    shown = {
        **note_json(Note.of(entry, found.path)),
        "chunk_hash": found.own_chunk,
        "heading": entry.heading,
        "overtaken_by": [pair.newer.entry_id for pair in newer],
        "amends": [pair.older.entry_id for pair in older],
        "superseded_by": [_version(pair.newer, pair.why) for pair in newer],
        "supersedes": [_version(pair.older, pair.why) for pair in older],
        "stale": [finding.words for finding in standing.stale] if standing else [],
        "unmerged": standing.unmerged if standing else "",
    }
    if lines is not None or not whole:
        shown |= _around(memory, found, lines or 0, whole)
    return shown


def _version(row: Any, why: str) -> dict[str, str]:
    return {"entry_id": row.entry_id, "day": row.day, "title": row.title, "why": why}


def _around(memory: Memory, found: Section, lines: int, whole: bool) -> dict[str, Any]:
    """Lines of the file around a section, or around the hit's own lines."""
    first, last = (found.entry.start_line, found.entry.end_line) if whole else found.own_lines
    text = memory.files.source(found.path).splitlines()
    first, last = max(1, first - lines), min(len(text), last + lines)
    return {"start_line": first, "end_line": last, "content": "\n".join(text[first - 1 : last])}


def note_json(note: Note) -> dict[str, Any]:
    """A note as the commands print it with ``--json``."""
    anchor = note.anchor
    return {
        "entry_id": note.id,
        "hash": note.hash,
        "day": note.day,
        "time": note.time,
        "agent": note.agent,
        "author": note.author,
        "session": note.session,
        "turn": note.turn,
        "kind": note.kind,
        "source": note.path,
        "start_line": note.start_line,
        "end_line": note.end_line,
        "content": note.content,
        "body": note.text,
        "marks": note.marks,
        "anchor": {
            "session": anchor.session,
            "turn": anchor.turn,
            anchor.kind or "path": anchor.path,
        }
        if anchor
        else None,
    }


def supersessions(memory: Memory, name: str) -> list[Amendment]:
    """The pairs of a note and a newer version of it that count; [] where the catalog is damaged."""
    try:
        return [pair for pair in memory.supersession.amendments(name) if pair.holds]
    except Unreachable:
        return []


@click.command("why-not", epilog="\b\nExample:\n  memsearch why-not 'connection pool' 3fa9c1d2")
@click.argument("query")
@click.argument("name", metavar="ENTRY")
@scope
@as_json
def why_not(query: str, name: str, project: str | None, everything: bool, json_: bool) -> int:
    """Print why the note ENTRY is not among the hits of QUERY (also: search --why-not ENTRY)."""
    return explain_absence(Memory(everything=everything, project=project), query, name, json_=json_)


def explain_absence(memory: Memory, query: str, name: str, *, json_: bool) -> int:
    """Print the reasons why a note is not among the hits of a query."""
    found = memory.queries.why_not(query, name)
    if json_:
        output.emit(found)
        return 0
    for reason in found.reasons:
        output.echo(f"- {output.safe(reason)}")
    return 0
