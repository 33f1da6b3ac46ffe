"""``memsearch status``, and the index: update, watch, count, check and rebuild it.

No command here changes notes.
"""

from __future__ import annotations

import contextlib
import os
from datetime import date, datetime, timedelta
from typing import Any

import click
import memsearch_engine as engine
from memsearch_engine.core import compatibility
from msgspec import structs

from memsearch_tui.cli import output
from memsearch_tui.cli.agents import connected_agents, not_written_here
from memsearch_tui.cli.options import as_json, memory_at, scope, tolerated
from memsearch_tui.cli.terminal import cells
from memsearch_tui.counted import many

_LOOK_S = 60.0


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch index\n"
        "  memsearch index docs/ notes.md\n"
        "  memsearch index --all --json"
    )
)
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--force", "-f", is_flag=True, help="Read every file again (vectors of known texts stay)."
)
@scope
@tolerated
@click.option("--json-output", "-j", "also_json", is_flag=True, hidden=True)
@as_json
def index(paths: tuple[str, ...], force: bool, project: str | None, everything: bool) -> int:
    """Bring the index up to date; PATHS are indexed with this project from now on."""
    memory = memory_at(project, everything, paths)
    with output.Progress() as progress:
        results = memory.index(*paths, force=force, progress=progress)
    total = {
        key: sum(getattr(result, key) for result in results)
        for key in (
            "files",
            "changed",
            "removed",
            "entries",
            "chunks",
            "embedded",
            "deleted",
            "seconds",
        )
    }
    total["seconds"] = round(total["seconds"], 3)
    failed = [item for result in results for item in result.failed]
    reason = next((result.reason for result in results if result.reason), "")
    output.emit(
        {**total, "failed": failed, "reason": reason, "projects": results},
        echo=(
            f"{many(total['files'], 'file')}, {many(total['entries'], 'entry')},"
            f" {many(total['chunks'], 'chunk')}; {many(total['changed'], 'file')} read,"
            f" {many(total['embedded'], 'chunk')} embedded, {total['deleted']} removed in"
            f" {total['seconds']:.1f} s"
        ),
    )
    for result in results:
        for warning in result.warnings:
            output.remark(f"warning: {output.safe(warning)}")
    for item in failed:
        output.remark(f"failed: {output.safe(item.path)}: {item.reason}")
    if reason:
        output.remark(f"note: words only: {output.safe(reason)}")
    if not failed:
        compatibility.note_indexed(os.path.dirname(memory.place.memory))
    share = max((result.not_english for result in results), default=0.0)
    if share > 0.1:
        output.remark(
            f"note: {share:.0%} of these notes are not English, which this model hardly knows - "
            f"`{engine.install_command('multilingual')}`, then `memsearch models pull"
            " multilingual-e5-small`: then they are found by meaning"
        )
    return 5 if failed or reason else 0


@click.command(epilog="\b\nExamples:\n  memsearch watch\n  memsearch watch docs")
@click.argument("paths", nargs=-1, type=click.Path())
@scope
@tolerated
@as_json
def watch(paths: tuple[str, ...], project: str | None, everything: bool) -> None:  # noqa: ARG001
    """Update the index continuously and show changes, until ctrl+c. PATHS are indexed with this
    project from now on.

    The service watches every known project in any case. This command shows what it finds, and keeps
    it running.
    """
    memory = memory_at(project, False, paths)
    own = os.path.realpath(memory.place.memory)
    more = [os.path.abspath(path) for path in paths if os.path.realpath(path) != own]
    memory.index(*more, progress=output.Progress())
    output.remark(
        f"watching {memory.place.memory} - ctrl+c ends this, the service goes on until it is idle"
    )
    last: dict[str, int] = {}
    for _ in memory.changes(every_s=_LOOK_S):
        (indexed, *_) = memory.service.health().projects
        counts = {key: getattr(indexed, key) for key in ("files", "entries", "chunks", "vectors")}
        if counts != last:
            output.emit(
                {"event": "indexed", **counts},
                echo="  ".join(f"{value} {key}" for key, value in counts.items()),
            )
            last = counts


@click.command(epilog="\b\nExample:\n  memsearch stats --all")
@scope
@tolerated
@click.option("--json-output", "-j", "also_json", is_flag=True, hidden=True)
@as_json
def stats(project: str | None, everything: bool) -> None:
    """Count what is indexed (from our own ledger)."""
    memory = memory_at(project, everything)
    if not memory.files.counts():
        raise engine.Unreachable("there is no index yet", "`memsearch index` makes one")
    rows = [
        {
            "project": p.slug,
            "name": p.name,
            "collection": p.collection,
            "memory": p.memory,
            **memory.files.counts(p),
        }
        for p in memory.projects
    ]
    output.emit({"total_chunks": sum(row["chunks"] for row in rows), "projects": rows})
    for row in rows:
        name = output.safe(str(row["name"]))
        output.echo(
            f"{name}{' ' * (24 - cells(name))} {row['days']:5d} days {row['entries']:6d} entries"
            f" {row['chunks']:6d} chunks" + (f"  {row['failed']} failed" if row["failed"] else "")
        )


@click.command(
    epilog="\b\nExamples:\n  memsearch status --index\n  memsearch status --index --json"
)
@scope
@as_json
def health(project: str | None, everything: bool) -> int:
    """State of files, index, model and service, each problem with what mends it."""
    memory = engine.Memory(everything=everything, project=project)
    service = memory.service
    state, process = service.health(), service.status()
    output.emit({**structs.asdict(state), "service": process})
    print_health(state, process)
    return 5 if state.problems else 0


def print_health(state: engine.Health, process: engine.ServiceStatus) -> None:
    """Print the state of the index, the model and the service."""
    output.echo(
        f"service  pid {process.pid}, up {process.uptime_s:.0f} s, {process.rss_mb:.0f} MB\n"
        f"index    {state.index}  {state.fingerprint}  {state.disk.index / 1e6:.1f} MB"
    )
    if state.store:
        output.echo(f"store    {output.safe(state.store)}")
    if progress := state.progress:
        output.echo(
            f"now      {progress['phase']} {output.safe(progress['project'])}"
            f" {progress['done']}/{progress['total']}"
        )
    output.echo_each(
        (
            f"project  {output.safe(row.name)}: {many(row.files, 'file')},"
            f" {many(row.entries, 'entry')}, {row.vectors}/{many(row.chunks, 'chunk')} with meaning"
        )
        for row in state.projects
    )
    for problem in state.problems:
        fix = f"  -> {problem.fix}" if problem.fix else ""
        output.echo(f"problem  {output.safe(problem.what)}{fix}")


@click.command(epilog="\b\nExamples:\n  memsearch reset\n  memsearch reset --all --yes")
@click.option("--all", "-a", "everything", is_flag=True, help="Of all projects.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@tolerated
@as_json
def reset(everything: bool, yes: bool) -> None:
    """Throw the index away and build it again. Notes stay; vectors of known texts stay, so
    nothing is embedded twice.
    """
    output.confirm("Throw the index away and build it again? (notes stay)", yes)
    projects = memory_at(everything=everything).service.reset()
    output.emit(
        {"projects": projects}, say=f"building again in the background: {', '.join(projects)}"
    )


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def models(ctx: click.Context) -> None:
    """List, fetch and choose embedding models."""
    ctx.invoke(models_list)


@models.command(
    "list", short_help="List the models.", epilog="\b\nExample:\n  memsearch models list"
)
@as_json
def models_list() -> None:
    """List the models: * is in use, + is the second model, which is searched too."""
    rows = engine.Memory().models.known()
    output.emit({"models": rows})
    for row in rows:
        here = "on this machine" if row.here else f"`memsearch models pull {row.name}`"
        output.echo(
            f"{'*' if row.in_use else '+' if row.beside else ' '} {row.name:24s} {row.dimension:5d}"
            f"  {row.languages:14s} {row.size_mb:4d} MB  {here}"
        )


@models.command("pull", epilog="\b\nExample:\n  memsearch models pull bge-m3")
@click.argument("name")
@as_json
def models_pull(name: str) -> None:
    """Fetch a model from its hub (the only command that does)."""
    models = engine.Memory().models
    folder = models.pull(name)
    output.emit({"model": name, "folder": str(folder)})
    output.remark(
        f"{name} is in {folder}: it is asked beside the installed model (`search.models one`"
        " ends that)"
        if any(model.name == name and model.beside for model in models.known())
        else f"{name} is in {folder} - `memsearch models use {name}` switches to it"
    )


@models.command(
    "use",
    short_help="Switch to a model.",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch models use multilingual-e5-small\n"
        "  memsearch models use ~/models/mine"
    ),
)
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def models_use(name: str, yes: bool) -> None:
    """Switch to a model (a name, or a folder with model.onnx and tokenizer.json); everything is
    embedded again once.
    """
    memory = engine.Memory(everything=True)
    models = memory.models
    if models.can_be_made(name):
        output.remark(f"making {name} from the weights that are installed …")
        models.pull(name)
    models.find(name)
    chunks = sum(memory.files.counts(project).get("chunks", 0) for project in memory.projects)
    output.confirm(
        f"{many(chunks, 'chunk')} will be embedded with {name} in the background. Go ahead?",
        yes or chunks < 100,
    )
    models.use(name)
    output.emit({"model": name, "chunks": chunks})
    output.remark(f"{name} is in use - `memsearch status --index` shows how far it is")


STATUS_EXAMPLES = """\b
Examples:
  memsearch status
  memsearch status --index      files, index and service in detail
  memsearch status --cost       what models have cost, by day
  memsearch status --json"""
_LABEL = 9
_WEEK = timedelta(days=6)
#: Days in which quarantined notes are counted while the service does not run.
_MAX_DAYS = 400


@click.command(epilog=STATUS_EXAMPLES)
@click.option("--index", "of_index", is_flag=True, help="The index, its files and the service.")
@click.option("--cost", "of_cost", is_flag=True, help="What models have cost in 30 days.")
@as_json
@click.pass_context
def status(ctx: click.Context, of_index: bool = False, of_cost: bool = False) -> Any:
    """Show the state of everything on one screen, each line with the command for details."""
    if of_index:
        return ctx.invoke(health, project=None, everything=False)
    if of_cost:
        from memsearch_tui.cli.capture import spend

        return ctx.invoke(spend, since="30d")
    state = gathered(engine.Memory())
    output.emit(state)
    for label, text, hint in _lines(state):
        head = output.style(f"{label:{_LABEL}s}", "strong")
        output.echo(f"{head} {text}" + (output.style(f"  {hint}", "dim") if hint else ""))
    output.say_each(
        output.style(f"! {output.safe(warning)}", "warn") for warning in state["warnings"]
    )
    return 0


def gathered(memory: engine.Memory) -> dict[str, Any]:
    """Return the values that `status` shows. A value that cannot be read becomes a warning."""
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
            warnings += filter(None, [not_written_here(memory)])
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
        "agents": _agents(connected, capturing),
        "waiting": waiting,
        "week": {
            "tokens": sum(row.input_tokens + row.output_tokens for row in spent),
            "usd": round(sum(row.usd for row in spent), 4),
        },
        "sync": sync,
        "warnings": warnings,
    }


def _agents(connected: dict[str, list[str]], capturing: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {
            "agent": agent,
            "connected": agent in connected,
            "since": capturing.get(agent, 0.0),
            "problems": connected.get(agent, []),
        }
        for agent in sorted({*connected, *capturing})
    ]


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
        lines.append(("review", "not counted: the service is not running", "memsearch review"))
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
