"""``memsearch status``: one screen with the state that people check daily."""

from __future__ import annotations

import contextlib
from datetime import date, datetime, timedelta
from typing import Any

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.agents import connected_agents, not_written_here
from memsearch_tui.cli.options import as_json
from memsearch_tui.counted import many

EXAMPLES = """\b
Examples:
  memsearch status
  memsearch status --index      files, index and service in detail
  memsearch status --cost       what models have cost, by day
  memsearch status --json"""
_LABEL = 9
_WEEK = timedelta(days=6)
#: Days in which quarantined notes are counted while the service does not run.
_MAX_DAYS = 400


@click.command(epilog=EXAMPLES)
@click.option("--index", "of_index", is_flag=True, help="The index, its files and the service.")
@click.option("--cost", "of_cost", is_flag=True, help="What models have cost in 30 days.")
@as_json
@click.pass_context
def status(ctx: click.Context, of_index: bool = False, of_cost: bool = False) -> Any:
    """Show the state of everything on one screen, each line with the command for details."""
    if of_index:
        from memsearch_tui.cli.index import health

        return ctx.invoke(health, project=None, everything=False)
    if of_cost:
        from memsearch_tui.cli.capture import spend

        return ctx.invoke(spend, since="30d")
    state = gathered(engine.Memory())
    output.emit(state)
    for label, text, hint in _lines(state):
        head = output.style(f"{label:{_LABEL}s}", "strong")
        output.echo(f"{head} {text}" + (output.style(f"  {hint}", "dim") if hint else ""))
    for warning in state["warnings"]:
        output.say(output.style(f"! {output.safe(warning)}", "warn"))
    return 0


def gathered(memory: engine.Memory) -> dict[str, Any]:
    """Return the values of the screen. Values that cannot be read are left out, with a warning."""
    warnings: list[str] = []
    days = memory.days()
    service = engine.ServiceStatus(running=False)
    counts: dict[str, int] = {}
    capturing: dict[str, float] = {}
    waiting: int | None = None
    with contextlib.suppress(engine.MemsearchError):  # a damaged catalog: `doctor` reports it
        counts = memory.files.counts()
    with contextlib.suppress(engine.MemsearchError):
        service = memory.service.status(start=False)
        standing = memory.capture.standing(start=False)
        capturing, waiting = standing.capturing, standing.waiting
    connected: dict[str, list[str]] = {}
    spent: list[Any] = []
    sync: dict[str, Any] = {"remote": ""}
    try:
        settings = memory.settings
        warnings += settings.warnings
        connected = connected_agents(memory)
        spent = memory.capture.spent((date.today() - _WEEK).isoformat())
        found = memory.sync.state(elsewhere=False)
        sync = {"remote": found.remote, "worked": found.worked}
    except engine.MemsearchError as error:
        warnings.append(f"{error} ({error.hint})" if error.hint else str(error))
    warnings += service.alarms
    if waiting or (waiting is None and len(days) <= _MAX_DAYS):
        with contextlib.suppress(engine.MemsearchError):
            if remark := not_written_here(memory):
                warnings.append(remark)
    return {
        "version": engine.__version__,
        "home": str(memory.home.root),
        "project": memory.project.slug,
        "name": memory.project.name,
        "memory": memory.place.memory,
        "days": len({file.day for file in days}),  # a shared file may repeat a day
        "newest_day": days[0].day if days else "",
        "oldest_day": days[-1].day if days else "",
        "index": counts,
        "service": service if service.running else {"running": False},
        "agents": [
            {
                "agent": agent,
                "connected": agent in connected,
                "since": capturing.get(agent, 0.0),
                "problems": connected.get(agent, []),
            }
            for agent in sorted({*connected, *capturing})
        ],
        "waiting": waiting,
        "week": {
            "tokens": sum(row.input_tokens + row.output_tokens for row in spent),
            "usd": round(sum(row.usd for row in spent), 4),
        },
        "sync": sync,
        "warnings": warnings,
    }


def _lines(state: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return label, text and related command of each line."""
    counts, service = state["index"], state["service"]
    notes = f"{many(state['days'], 'day')}, {state['oldest_day']} to {state['newest_day']}"
    if counts.get("entries"):
        notes = f"{many(counts['entries'], 'note')} on {notes}"
    else:
        notes += " (not indexed yet)"
    lines = [
        ("project", output.safe(f"{state['name']}  {state['memory']}"), ""),
        (
            ("notes", notes, "memsearch days")
            if state["days"]
            else ("notes", "none yet", "memsearch demo shows a sample year")
        ),
    ]
    lines += _agent_lines(state["agents"])
    if (waiting := state["waiting"]) is not None:
        lines.append(
            (
                "review",
                f"{many(waiting, 'decision')} to make" if waiting else "nothing waits",
                "memsearch review",
            )
        )
    else:
        lines.append(("review", "not counted while the service rests", "memsearch review"))
    if counts:
        failed = f", {counts['failed']} failed" if counts["failed"] else ""
        text = f"{many(counts['files'], 'file')}, {many(counts['chunks'], 'chunk')}{failed}"
        lines.append(("index", text, "memsearch status --index"))
    running = isinstance(service, engine.ServiceStatus)
    text = f"running, pid {service.pid}" if running else "not running (starts when needed)"
    lines.append(("service", text, "memsearch service status"))
    week = state["week"]
    cost = f"{week['tokens']:,} tokens in 7 days" + (f", ${week['usd']:.2f}" if week["usd"] else "")
    lines.append(
        ("cost", cost if week["tokens"] else "nothing in 7 days", "memsearch status --cost")
    )
    sync = state["sync"]
    if sync["remote"]:
        worked = sync["worked"]
        when = f"last {datetime.fromtimestamp(worked):%Y-%m-%d %H:%M}" if worked else "not yet"
        lines.append(("sync", f"{output.safe(sync['remote'])}, {when}", "memsearch sync"))
    else:
        lines.append(("sync", "this machine only", "memsearch sync --help"))
    return lines


def _agent_lines(agents: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return a line for each agent that is or was connected; one line if there is none."""
    if not agents:
        return [("agents", "none connected", "memsearch agents")]
    lines = []
    for number, row in enumerate(agents):
        if row["problems"]:
            text = f"{row['agent']}: {output.safe(row['problems'][0])}"
        elif not row["connected"]:
            text = f"{row['agent']}: not connected; its earlier turns are here"
        else:
            since = (
                f" since {datetime.fromtimestamp(row['since']):%Y-%m-%d}" if row["since"] else ""
            )
            text = f"{row['agent']}: connected, captured{since}"
        lines.append(("" if number else "agents", text, "" if number else "memsearch agents"))
    return lines
