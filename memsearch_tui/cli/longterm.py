"""The long-term memory: show it, learn from sessions, decide on proposals, add and remove facts by
hand.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any, Literal

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, as_text, days_of
from memsearch_tui.cli.review import print_cases
from memsearch_tui.counted import many


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch remember 'Deploys go out on Tuesdays only'\n"
        "  memsearch remember --global 'Always answer in British English'"
    )
)
@click.argument("fact")
@click.option(
    "--global", "-g", "everywhere", is_flag=True, help="For every project, not only this one."
)
@as_json
def remember(fact: str, everywhere: bool) -> None:
    """Store a fact for good: every new session gets it, from the next one on."""
    memory = engine.Memory()
    project = memory.project
    as_text(fact)
    note = memory.remember(fact, everywhere=everywhere)
    if note.waits:
        output.emit(
            {
                "id": note.id,
                "scope": note.scope or "everywhere",
                "text": note.text,
                "by": note.by,
                "waits": note.waits,
            },
            echo=(
                f"written down as note {note.id}, which no session gets before the user releases it"
            ),
            say=f"`memsearch review` shows it ({note.waits}, by {note.by})",
        )
        return
    if note.id not in memory.longterm.injected_text():
        output.remark(
            "! there is more than a session gets: raise `longterm.max_tokens`, or forget something"
        )
    output.emit(
        {"id": note.id, "scope": note.scope or "everywhere", "text": note.text},
        echo=(
            f"remembered for {'every project' if everywhere else project.name}:"
            f" {output.safe(note.text)}"
        ),
        say=(
            f"`memsearch agents context` shows what sessions get; `memsearch forget {note.id}`"
            " takes it out again"
        ),
    )


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch forget --dry-run yarn\n"
        "  memsearch forget 3f9a2c1b --yes\n"
        "  memsearch longterm restore 4     what was forgotten by mistake"
    )
)
@click.argument("query", nargs=-1, required=True)
@click.option("--dry-run", "-n", is_flag=True, help="Only show what would go.")
@click.option(
    "--all", "-a", "everything", is_flag=True, help="What belongs to other projects, too."
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def forget(query: tuple[str, ...], dry_run: bool, everything: bool, yes: bool) -> int:
    """Take facts out of the long-term memory, at once and for good: lines that contain every word
    of QUERY, or a fact by its id.

    Facts of this project, and those for every project. Daily notes stay; `memsearch delete`
    removes those.
    """
    memory, words = engine.Memory(), " ".join(query)
    found = engine.Memory(everything=everything).forgettable(words)
    rows = [{"kind": match.kind, "where": match.name, "line": match.line} for match in found]
    output.echo_each(
        output.beside(f"{match.kind:8s} {output.safe(match.name):18s} ", match.line)
        for match in found
    )
    if not found:
        nothing = "no fact matches - `memsearch longterm show --text` shows all of them"
        output.emit({"forgotten": [], "number": 0}, say=nothing)
        return 1
    if dry_run:
        output.emit({"would_forget": rows}, say=f"{len(found)} lines would go")
        return 0
    output.confirm(f"Forget these {len(found)} lines?", yes)
    number = memory.forget(words, found)
    output.emit(
        {"forgotten": rows, "number": number},
        say=(
            f"{len(found)} lines forgotten - `memsearch longterm restore {number}` brings them back"
        ),
    )
    return 0


@click.group()
def longterm() -> None:
    """Facts that were learned from sessions and reviewed by you. New sessions get them."""


@longterm.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch longterm run --wait                 now, with progress\n"
        "  memsearch longterm run --wait --phase 1 --since 90d\n"
        "  memsearch longterm run --wait --session 3f1c…"
    )
)
@click.option(
    "--wait", "-w", is_flag=True, help="Run here and show progress; else the service does it."
)
@click.option(
    "--phase",
    type=click.IntRange(0, 2),
    default=0,
    help="1: read sessions; 2: consolidate; both by default.",
)
@click.option("--session", default="", help="One session by id, whatever its age.")
@click.option("--since", help="Sessions from this day on, however old (2026-01-31, 90d).")
@as_json
def run(wait: bool, phase: int, session: str, since: str | None) -> int:
    """Read sessions that are due and consolidate what they teach. Asks only models that you chose
    (`memsearch config set longterm.extract.provider NAME`, and `longterm.consolidate.provider`).
    """
    day = days_of(since or "")[0]
    begin = datetime.fromisoformat(day).timestamp() if day else 0.0
    learned = engine.Memory().longterm
    if not wait:
        state = (
            "started"
            if learned.start(phase=phase, session=session, since=begin)
            else "running already"
        )
        output.emit(
            {"state": state}, echo=f"{state} - `memsearch longterm status` shows how it goes"
        )
        return 0
    with output.Progress() as progress:
        report = learned.run(phase=phase, session=session, since=begin, progress=progress.show)
    output.emit(report)
    _print_report(report)
    extracted, made = report.extracted, report.consolidated
    if (
        session
        and extracted
        and not (extracted.succeeded or extracted.empty or extracted.failed or extracted.refused)
    ):
        output.remark(
            f"no session {session} was read: `memsearch longterm status --all` lists them"
        )
        return 1
    return (
        5
        if (extracted and (extracted.failed or extracted.stopped))
        or (made and made.state == "failed")
        else 0
    )


def _print_report(report: Any) -> None:
    if report.forgotten:
        output.echo(f"forgotten, since nobody used them: {', '.join(report.forgotten)}")
    if read := report.extracted:
        output.echo(
            f"sessions: {read.succeeded} taught something, {read.empty} nothing,"
            f" {len(read.failed)} failed"
            + (f", {read.refused} left to others" if read.refused else "")
            + (f", {read.tokens:,} tokens" if read.tokens else "")
        )
        output.say_each(
            f"! {output.safe(key)}: {output.safe(why)}" for key, why in read.failed[:20]
        )
        if read.stopped:
            output.say(f"! stopped: {output.safe(read.stopped)}")
    if made := report.consolidated:
        what = (
            f"{many(made.hunks, 'change')} from {many(made.memories, 'memory')},"
            f" {made.tokens:,} tokens; "
            if made.hunks
            else ""
        )
        output.echo(f"consolidation: {made.state}: {what}{output.safe(made.reason)}")


@longterm.command(
    short_help="Show what is on, was done and waits.",
    epilog="\b\nExamples:\n  memsearch longterm status\n  memsearch longterm status --all",
)
@click.option("--all", "-a", "everything", is_flag=True, help="Every session with its reason.")
@as_json
def status(everything: bool) -> int:
    """What is on, what was done, what waits, and why sessions were not read."""
    state = engine.Memory().longterm.status()
    output.emit(state, say=(f"! {problem}" for problem in state.problems))
    output.echo(
        f"memories   {state.memories}  ({state.today_tokens:,} of {state.daily_tokens:,} tokens"
        " used today)"
    )
    if last := state.consolidation:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(last.finished or last.started))
        why = f": {output.safe(last.error)}" if last.error else ""
        output.echo(f"last       {when} {last.state} {last.outcome}{why}")
    if waiting := state.review:
        output.echo(
            f"review     {many(waiting.hunks, 'change')} waiting (`memsearch longterm review`)"
        )
    output.echo(f"sessions   {len(state.sessions)}")
    output.echo_each(
        f"  {count:5d}  {output.safe(reason)}" for reason, count in state.reasons.items()
    )
    output.say_each(
        f"! {output.safe(job.key)}: {output.safe(job.error)} ({job.tries_left} tries left)"
        for job in state.failed[:20]
    )
    output.echo_each(
        f"{row.modified}  {row.agent:12s} {output.safe(row.session)}  {output.safe(row.reason)}"
        for row in (state.sessions if everything else [])
    )
    return 0


@longterm.command(
    short_help="Show what is remembered.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch longterm show               what each session taught, and when it"
        " will be forgotten\n"
        "  memsearch longterm show 3f9a2c1b      one of them, whole\n"
        "  memsearch longterm show --text        the two documents"
    ),
)
@click.argument("name", default="")
@click.option("--text", is_flag=True, help="memory_summary.md and MEMORY.md, this project's part.")
@click.option("--all", "-a", "everything", is_flag=True, help="Of all projects.")
@click.option(
    "--forgotten", is_flag=True, help="What was forgotten, and until when it can come back."
)
@as_json
def show(name: str, text: bool, everything: bool, forgotten: bool) -> int:
    """What is remembered, where it comes from, how it is used, and when it will be forgotten."""
    memory = engine.Memory()
    learned = memory.longterm
    if name:
        found = learned.get(name)
        if found is None:
            raise engine.UsageError(f"no memory {name}", "`memsearch longterm show` lists them")
        output.emit(found)
        source = f"{found.agent} {found.session}\n{found.path}"
        output.echo(output.safe(f"{found.raw_memory}\n\n{found.summary}\n\n{source}"))
        return 0
    if text:
        return _show_documents(learned, everything)
    rows = learned.overview(forgotten=forgotten, everything=everything)
    facts = [] if forgotten else engine.Memory(memory.place.root, everything=everything).facts()
    trash = learned.trash() if forgotten else []
    output.emit(
        {"memories": rows, "notes": facts, "forgotten_by_hand": trash},
        echo=(
            f"{fact.id}  noted by you{'' if fact.scope else ', everywhere'}:"
            f" {output.safe(fact.text)}"
            for fact in facts
        ),
    )
    for row in rows:
        kept = "pinned" if row.pinned else f"forgotten on {row.forget_on}"
        end = f"restore until {row.gone_on}" if forgotten else kept
        used = f"cited {row.cited}, read {row.read}"
        output.echo(
            f"{row.id}  {row.made} "
            f" {row.agent:12s} {output.clip(row.title, 48):48s} {used:18s} {end}"
        )
    output.echo_each(
        (
            output.beside(
                f"{item.number:8d}  {item.day}  forgotten by you ({output.safe(item.query)}): ",
                "; ".join(item.lines),
                100,
            )
        )
        for item in trash
    )
    if not rows and not facts and not trash:
        output.say(
            "nothing yet - `memsearch remember FACT` notes one, `memsearch longterm run --wait`"
            " learns from sessions"
        )
        return 0 if output.is_json() else 1
    return 0


def _show_documents(learned: engine.LongTerm, everything: bool) -> int:
    texts = learned.documents(everything=everything)
    output.emit(
        {"files": texts, "folder": str(learned.folder)},
        echo=(
            f"{name}\n{'-' * len(name)}\n{output.safe(text).strip()}\n"
            for name, text in texts.items()
        ),
    )
    return 0 if any(text.strip() for text in texts.values()) else 1


@longterm.command(
    short_help="Decide on proposed changes.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch longterm review                 what waits\n"
        "  memsearch longterm review accept --all\n"
        "  memsearch longterm review reject 7.2 7.5  changes 2 and 5 of proposal 7, as --json"
        " numbers them\n"
        "  memsearch longterm review accept 7.3 --text '- Deploys need two approvals"
        " [mem:3f9a2c1b]'"
    ),
)
@click.argument("verdict", type=click.Choice(["show", "accept", "reject"]), default="show")
@click.argument("names", nargs=-1, metavar="[PROPOSAL.CHANGE]...")
@click.option("--all", "-a", "everything", is_flag=True, help="All that wait.")
@click.option("--text", help="Accept one change with these words instead.")
@as_json
def review(verdict: str, names: tuple[str, ...], everything: bool, text: str | None) -> int:
    """Decide on what a consolidation proposes, change by change: the group `longterm` of `memsearch
    review`. What is rejected is not proposed again.
    """
    memory = engine.Memory()
    learned = memory.longterm
    if verdict == "show":
        proposal = learned.pending()
        output.emit({"proposal": proposal})
        _show_proposal(proposal)
        print_cases(memory.review.cases("longterm"))
        return 0 if proposal else 1
    if bool(names) == everything:
        raise engine.UsageError(
            "name changes, or pass --all", "`memsearch longterm review` lists them"
        )
    proposal_id, numbers = _named(names)
    chosen: Literal["accepted", "rejected"] = "accepted" if verdict == "accept" else "rejected"
    decided = learned.decide(chosen, numbers, text=text, proposal=proposal_id)
    output.emit(
        {"decided": [hunk.number for hunk in decided], "verdict": verdict},
        echo=f"{many(len(decided), 'change')} {verdict}ed",
    )
    return 0


def _named(names: tuple[str, ...]) -> tuple[int, list[int]]:
    """Parse the names of changes, ``PROPOSAL.CHANGE``.

    The number of a change alone could mean a change of a newer proposal.

    Returns:
        The proposal and the numbers of its changes.
    """
    parts = [name.partition(".") for name in names]
    if (
        not all(first.isdecimal() and second.isdecimal() for first, _, second in parts)
        or len({p[0] for p in parts}) > 1
    ):
        raise engine.UsageError(
            f"{' '.join(names)!r} names no changes of one proposal",
            "write 7.2, as `memsearch longterm review --json` numbers them, or use"
            " `memsearch review accept ID`",
        )
    return (int(parts[0][0]) if parts else 0), [int(second) for _, _, second in parts]


def _show_proposal(proposal: engine.Proposal | None) -> None:
    """Print when a proposal was made, and by which model."""
    if proposal is None:
        return
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(proposal.at))
    output.echo(
        f"proposed {when} by {proposal.model} from {many(len(proposal.memories), 'memory')},"
        f" {proposal.tokens:,} tokens\n"
    )


@longterm.command(
    short_help="Bring back what was forgotten.",
    epilog="\b\nExample:\n  memsearch longterm restore 3f9a2c1b",
)
@click.argument("name")
@as_json
def restore(name: str) -> None:
    """Bring back what was forgotten: a fact by its id, or what `forget` took by its number."""
    count = engine.Memory().longterm.restore(name)
    output.emit({"restored": count}, echo="brought back; the next consolidation works it in")


@longterm.command(
    "mode", epilog="\b\nExample:\n  memsearch longterm mode claude-code 3f1c0a… disabled"
)
@click.argument("agent", type=click.Choice(engine.agent_names()))
@click.argument("session")
@click.argument("mode", type=click.Choice(["enabled", "disabled"]))
@as_json
def mode_(agent: str, session: str, mode: Literal["enabled", "disabled"]) -> None:
    """Whether a session may be learned from. `enabled` also releases one that took in content from
    outside.
    """
    engine.Memory().longterm.set_mode(agent, session, mode)
    output.emit({"agent": agent, "session": session, "mode": mode}, echo=f"{session} is {mode}")


@longterm.command(epilog="\b\nExample:\n  memsearch longterm clear")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def clear(yes: bool) -> None:
    """Remove the whole long-term memory; a backup is made first. Daily notes stay."""
    learned = engine.Memory().longterm
    output.confirm(f"Remove everything in {learned.folder}, and what sessions taught?", yes)
    backup = learned.clear()
    output.emit(
        {"backup": str(backup) if backup else None},
        echo=f"cleared; the backup is {backup}" if backup else "there was nothing to clear",
    )
