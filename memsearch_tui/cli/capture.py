"""Capture: the hook entry point, the event queue, coverage, and the injected context.

``summarize`` is for memsearch's own plugins.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

import click
import memsearch_engine as engine
from msgspec import to_builtins

from memsearch_tui.cli import output
from memsearch_tui.cli.agents import not_written_here
from memsearch_tui.cli.options import as_json, days_of
from memsearch_tui.counted import many

AGENTS = click.Choice(engine.agents_live())


@click.command(epilog="\b\nExample:\n  memsearch hook claude-code Stop < payload.json")
@click.argument("agent")
@click.argument("event")
def hook(agent: str, event: str) -> int:
    """Take one hook event of AGENT (`memsearch agents` lists them) from stdin. Always exits 0."""
    return engine.hook(agent, event)


@click.group(invoke_without_command=True)
@as_json
def inbox() -> int:
    """Process the events of hooks, then list those that still wait."""
    state = engine.Memory().capture.inbox()
    output.emit(
        state,
        echo=f"{state.captured} captured, {state.already} known already, {state.skipped} trivial",
    )
    output.echo_each(f"waits  {item.event}: {output.safe(item.reason)}" for item in state.waiting)
    output.echo_each(
        f"set aside  {item.event}: {output.safe(item.reason)}" for item in state.set_aside
    )
    if state.set_aside:
        output.say(
            "`memsearch agents queue retry` tries these again, `memsearch agents queue drop"
            " NAME` forgets one"
        )
    return 5 if state.waiting or state.set_aside else 0


@inbox.command("retry", epilog="\b\nExample:\n  memsearch agents queue retry")
@as_json
def inbox_retry() -> None:
    """Try events again that could not be read, and summaries that failed."""
    capture = engine.Memory().capture
    count, state = capture.retry(), capture.inbox()
    output.emit(
        {"retried": count, **to_builtins(state)},
        echo=(
            f"{many(count, 'event')} tried again; {state.captured} captured,"
            f" {len(state.waiting)} waiting"
        ),
    )


@inbox.command("drop", epilog="\b\nExample:\n  memsearch agents queue drop 1795292537.json")
@click.argument("names", nargs=-1, metavar="[EVENT]...")
@click.option("--all", "everything", is_flag=True, help="All that wait.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def inbox_drop(names: tuple[str, ...], everything: bool, yes: bool) -> None:
    """Forget waiting events. Their turns stay in the agents' transcripts."""
    if bool(names) == everything:
        raise engine.UsageError("name events, or pass --all", "`memsearch agents queue` lists them")
    output.confirm(
        "Forget " + (f"{many(len(names), 'event')}?" if names else "all waiting events?"), yes
    )
    count = engine.Memory().capture.drop(list(names))
    output.emit({"dropped": count}, echo=f"{many(count, 'event')} forgotten")


#: Name of an outcome on the command line -> its names in the ledger.
_OUTCOMES: dict[str, list[engine.TurnOutcome]] = {
    "waiting": ["new"],
    "failed": ["failed"],
    "orphaned": ["homeless"],
    "trivial": ["trivial"],
    "ours": ["ours"],
    "deleted": ["deleted"],
}


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch agents coverage --since 7d\n"
        "  memsearch agents coverage --list failed\n"
        "  memsearch agents coverage --list trivial -k 1000"
    )
)
@click.option("--since", help="Only from this day on (2026-01-31, 7d).")
@click.option(
    "--list",
    "listed",
    type=click.Choice(list(_OUTCOMES)),
    help="The turns of one kind, each with its reason.",
)
@click.option(
    "--limit",
    "-k",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Turns to list.",
)
@as_json
def coverage(since: str | None, listed: str | None, limit: int) -> int:
    """Compare the turns in transcripts with the notes, by agent and day, since capture began."""
    day = days_of(since or "")[0]
    capture = engine.Memory().capture
    state = capture.coverage(day)
    if listed:
        found = capture.missed(_OUTCOMES[listed], limit=-1)
        rows, left_out = found[:limit], max(0, len(found) - limit)
        output.emit(
            {"turns": rows, "left_out": left_out},
            echo=(
                (
                    f"{missed.day}  {missed.agent:12s} {missed.session[:13]}  {missed.turn[:13]} "
                    f" {missed.reason or listed}"
                )
                for missed in rows
            ),
        )
        if left_out:
            output.say(f"{many(left_out, 'older turn')} left out: `-k {len(found)}` lists all")
        return output.exit_code(rows, f"no turn is {listed}")
    output.emit(state)
    if not state.agents:
        output.echo(
            "nothing is captured yet - `memsearch agents install AGENT` begins, `memsearch agents`"
            " lists yours"
        )
        return 0
    output.echo(
        f"{state.percent} % of {many(state.seen, 'turn')} ({state.captured} captured,"
        f" {state.trivial} trivial"
        + (f", {state.ours} asked by memsearch itself)" if state.ours else ")")
    )
    if state.orphaned:
        output.say(
            f"note: {many(state.orphaned, 'turn')} of folders that are gone: `memsearch agents"
            " import --all --orphans FOLDER` gives them a home, `memsearch agents coverage --list"
            " orphaned` lists them"
        )
    for row in state.days:
        left = "".join(
            f", {count} {name}"
            for name in ("waiting", "failed", "orphaned")
            if (count := getattr(row, name))
        )
        output.echo(f"{row.day}  {row.agent:12s} {row.covered:4d} of {row.seen:<4d}{left}")
    output.say_each(f"! {output.safe(alarm)}" for alarm in state.alarms)
    return 0


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch agents context claude-code           what a new session here would get\n"
        '  memsearch agents context --prompt "why do logins fail"   what it would get at'
        " this prompt, and why not more\n"
        "  memsearch agents context --log                 what sessions got, and whether"
        " they used it\n"
        "  memsearch agents context --less 3f9a2c1b77aa   not at such prompts again"
        " (--more undoes it)"
    )
)
@click.argument("agent", type=AGENTS, default="claude-code")
@click.option("--prompt", default="", help="What a session would get at this prompt.")
@click.option(
    "--compacted",
    default="",
    metavar="SESSION",
    help="What a session of AGENT would get after a context compaction.",
)
@click.option("--log", "log_", is_flag=True, help="What was given to which session, newest first.")
@click.option(
    "--session", default="", help="Only this session's (with --log); as if in it (with --prompt)."
)
@click.option(
    "--less",
    default=None,
    metavar="NOTE",
    help="Do not inject a note at prompts like those where it was injected.",
)
@click.option("--more", default=None, metavar="NOTE", help="Undo --less.")
@as_json
def context(
    agent: str,
    prompt: str,
    compacted: str,
    log_: bool,
    session: str,
    less: str | None,
    more: str | None,
) -> int:
    """Show exactly what a new session of AGENT in this folder would get, and how many tokens
    that is.
    """
    memory = engine.Memory()
    if less is not None:
        found = memory.injection.demote(less)
        output.emit({"notes": found}, say=f"{', '.join(found)}: not injected at such prompts again")
        return 0
    if more is not None:
        found = memory.injection.promote(more)
        output.emit({"notes": found}, say=f"{', '.join(found)}: injected at such prompts again")
        return 0
    if prompt:
        return _print_injection(memory.injection.preview(prompt, agent=agent, session=session))
    if compacted:
        return _print_injection(memory.injection.preview_after_compaction(agent, compacted))
    if log_ or session:
        return _log(memory.injection.log(session))
    made = memory.context(agent)
    output.emit(
        {
            "agent": agent,
            "text": made.text,
            "tokens": made.tokens,
            "memories": made.memories,
            "held_back": made.left_out,
        }
    )
    if made.text:
        output.echo(output.safe(made.text))
        left = f"; {many(made.left_out, 'note')} left out" if made.left_out else ""
        output.say(f"about {made.tokens} tokens{left}")
    else:
        output.say("nothing: no notes here that may be injected, or `recall.inject` is off")
    if not output.is_json() and (waiting := not_written_here(memory)):
        output.say(f"! {waiting}")
    return 0


def _print_injection(injection: engine.PromptInjection) -> int:
    output.emit(injection)
    if injection.text:
        output.echo(output.safe(injection.text))
    for seen in injection.considered:
        state = seen.held or "injected"
        output.say(
            f"{seen.confidence:4.0%} sure  {seen.id}  {seen.day}  {state:16s} "
            f" {output.safe(seen.title)[:70]}"
        )
    output.say(
        f"about {injection.tokens} tokens"
        if injection.text
        else f"nothing is injected{': ' * bool(injection.reason)}{injection.reason}"
    )
    return 0


def _log(injections: list[engine.InjectionRecord]) -> int:
    output.emit({"injections": injections})
    for injection in injections:
        when = datetime.fromtimestamp(injection.at).strftime("%Y-%m-%d %H:%M:%S")
        output.echo(
            f"{when}  {injection.agent:12s} "
            f"{output.safe(injection.session)}  {injection.tokens} tokens"
            f" {injection.moment}  {output.safe(injection.cwd)}"
        )
        for note in injection.notes:
            came = note.outcome or "not used so far"
            sure = f"{note.confidence:.0%} sure, " if note.confidence < 1 else ""
            output.echo(f"    {note.entry}  {sure}{came}  ({output.safe(note.why)})")
            output.echo(f"      {output.safe(injection.words(note))}")
    return output.exit_code(injections, "nothing was injected into a session yet")


@click.command(epilog="\b\nExample:\n  memsearch status --cost --since 30d")
@click.option(
    "--since", default="30d", show_default=True, help="From this day on (2026-01-31, 7d)."
)
@as_json
def spend(since: str) -> int:
    """What models have cost by day, the day's cap, and summaries that wait or failed. Nothing is
    spent unless you chose a model (`capture.summarize.provider`).
    """
    day = days_of(since or "")[0]
    memory = engine.Memory()
    settings, capture = memory.settings, memory.capture
    rows, used = capture.spent(day), capture.spent_today()
    state: dict[str, Any] = {
        "today_tokens": used,
        "daily_tokens": settings.capture.daily_tokens,
        "provider": settings.capture.summarize.provider,
        "summaries": capture.summaries(),
        "failures": capture.failures(),
        "days": rows,
    }
    output.emit(state)
    if not rows:
        output.echo(f"nothing spent since {day} (summaries: {state['provider']})")
    for row in rows:
        about = "" if row.counted else " (estimated)"
        usd = f"  ${row.usd:.4f}" if row.usd else ""
        name = f"{row.provider} {row.model}".strip()
        output.echo(
            f"{row.day}  {row.purpose:10s} {name:24s} {row.calls:4d} calls  "
            f"{row.input_tokens:,} in, {row.output_tokens:,} out{about}{usd}"
        )
    if settings.capture.summarize.provider != "extractive":
        output.echo(f"today {used:,} of {settings.capture.daily_tokens:,} tokens")
    output.say_each(
        f"! {failure['entry_id']} ({failure['tries']} tries): {output.safe(failure['reason'])}"
        for failure in state["failures"]
    )
    return 0


_MAX = 1 << 20


@click.command(
    epilog=(
        "\b\nExample:\n"
        "  memsearch summarize --plugin codex < turn.txt     by the model of"
        " plugins.codex.summarize.provider"
    )
)
@click.option(
    "--plugin",
    required=True,
    metavar="AGENT",
    help=f"{', '.join(engine.agent_names())}: whose settings name the model.",
)
@click.option("--agent-name", default="", help="What the prompt calls it.")
@as_json
def summarize(plugin: str, agent_name: str) -> None:
    """Write notes of the turn on stdin, by the model that is set for an agent, and print them.

    memsearch's own plugins call it where `plugins.AGENT.summarize.provider` names a model. Nothing
    is stored.
    """
    text = sys.stdin.buffer.read(_MAX).decode("utf-8", "replace")
    if not text.strip():
        return
    notes = engine.Memory().capture.summarised(plugin.replace("_", "-"), text, agent_name)
    output.emit({"notes": notes}, echo=output.safe(notes))
