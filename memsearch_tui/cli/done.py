"""What agents did: how a command was run, how an error was fixed, which turns wrote to a file."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, memory_at, scope
from memsearch_tui.counted import many

_MAX_READ = 1_000_000


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch how 'alembic upgrade'\n"
        "  memsearch how 'seed the staging database' --json"
    )
)
@click.argument("asked", nargs=-1, required=True)
@click.option(
    "--limit", "-k", type=click.IntRange(1, 100, clamp=True), default=10, show_default=True
)
@scope
@as_json
def how(asked: tuple[str, ...], limit: int, project: str | None, everything: bool) -> int:
    """Find commands that worked, by their own words or by the notes about them.

    The commands of every captured turn are stored with their results, without secrets.
    """
    ways = memory_at(project, everything).actions.how(" ".join(asked), limit=limit)
    output.emit(
        {
            "ways": [
                {
                    "command": way.command,
                    "worked": way.worked,
                    "failed": way.failed,
                    "why": way.why,
                    **_act_json(way.last),
                }
                for way in ways
            ]
        }
    )
    for way in ways:
        output.echo(output.style(output.safe(way.command), "strong"))
        failed = f", failed {_times(way.failed)}" if way.failed else ""
        output.echo(
            output.style(
                f"  worked {_times(way.worked)}{failed} · last {_when(way.last)} ·"
                f" {output.safe(way.why)}",
                "dim",
            )
        )
    return output.exit_code(
        ways,
        "no command that worked is known for that - `memsearch search` looks through the notes",
    )


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch fix \"ModuleNotFoundError: No module named 'psycopg2'\"\n"
        "  cargo build 2>&1 | memsearch fix -"
    )
)
@click.argument("error", nargs=-1, required=True)
@click.option(
    "--limit", "-k", type=click.IntRange(1, 100, clamp=True), default=5, show_default=True
)
@scope
@as_json
def fix(error: tuple[str, ...], limit: int, project: str | None, everything: bool) -> int:
    """Show where an error occurred and what fixed it: what was done until the same command worked.

    `-` reads what a program printed from standard input.
    """
    text = (
        sys.stdin.buffer.read(_MAX_READ).decode("utf-8", "replace")
        if error == ("-",)
        else " ".join(error)
    )
    if not text.strip():
        raise engine.UsageError(
            "there is no error to look for", 'memsearch fix "the error\'s text"'
        )
    memory = memory_at(project, everything)
    found = memory.actions.fix(text, limit=limit)
    output.emit({"fixes": [_fix_json(one) for one in found]})
    for one in found:
        same = "the same error" if one.alike == 1 else f"an error alike ({one.alike:.0%})"
        output.echo(
            output.style(
                f"{_when(one.met)} · {same} from {output.safe(one.met.command)}",
                "strong",
            )
        )
        output.echo(f"  {output.safe(one.met.complaint)}")
        mended = one.words()
        output.echo(
            f"  mended: {output.safe(mended)}"
            if mended
            else "  not mended in that session, as far as is known"
        )
        output.echo_each(
            output.style(f"  {output.safe(line)}", "dim")
            for line in _noted(memory, (one.mended or one.met).entry)
        )
    return output.exit_code(
        found,
        "no failed command with that error is known - `memsearch search` looks through the notes",
    )


def _fix_json(fix: engine.Fix) -> dict[str, Any]:
    return {
        "error": fix.met.complaint,
        "alike": fix.alike,
        "mended": fix.words(),
        **_act_json(fix.met),
        "between": [act.path or act.command for act in fix.between],
        "mended_by": fix.mended.entry if fix.mended else "",
    }


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch blame app/catalog/cache.py\n"
        "  memsearch blame cache.py --all --json"
    )
)
@click.argument("path")
@click.option(
    "--limit", "-k", type=click.IntRange(1, 1000, clamp=True), default=20, show_default=True
)
@scope
@as_json
def blame(path: str, limit: int, project: str | None, everything: bool) -> int:
    """List the turns that wrote to a file, with their notes, newest first. The last parts of a path
    are enough.
    """
    memory = memory_at(project, everything)
    acts = memory.actions.blame(path, limit=limit)
    output.emit({"turns": [{"path": act.path, **_act_json(act)} for act in acts]})
    several = len({act.path for act in acts}) > 1
    for act in acts:
        output.echo(
            output.style(
                f"{_when(act)}  {act.entry}{f'  {output.safe(act.path)}' if several else ''}",
                "strong",
            )
        )
        output.echo_each(f"  {output.safe(line)}" for line in _noted(memory, act.entry))
    if len(acts) == limit:
        output.say(f"the newest {many(limit, 'turn')}; -k shows more")
    return output.exit_code(
        acts,
        "no captured turn wrote to it - `memsearch search` finds notes that name it",
    )


def _act_json(act: engine.AgentAction) -> dict[str, Any]:
    return {
        "at": datetime.fromtimestamp(act.at).astimezone().isoformat(timespec="seconds"),
        "agent": act.agent,
        "session": act.session,
        "turn": act.turn,
        "entry_id": act.entry,
        "ran": act.command,
        "outside": act.outside,
    }


def _noted(memory: engine.Memory, entry: str) -> list[str]:
    """Return at most two lines of a note that state the outcome."""
    try:
        lines = engine.outcomes_in(memory.note(entry).text)
    except engine.NotFound:
        return []
    return lines[:2]


def _when(act: engine.AgentAction) -> str:
    outside = " (it read content from outside)" if act.outside else ""
    return f"{datetime.fromtimestamp(act.at):%Y-%m-%d %H:%M} {act.agent}{outside}"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
