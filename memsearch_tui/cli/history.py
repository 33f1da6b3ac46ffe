"""Old sessions: import them, and archive the conversations behind notes."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import click
import memsearch_engine as engine

from memsearch_tui.cli import output
from memsearch_tui.cli.options import as_json, days_of
from memsearch_tui.counted import many

AGENTS = engine.agent_names()


@click.command(
    "import",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch agents import --all --dry-run           count, write nothing\n"
        "  memsearch agents import claude-code --since 2026-01-01\n"
        "  memsearch agents import codex --project api --yes\n"
        "  memsearch agents import staging.pack              notes that a teammate shared"
    ),
)
@click.argument("names", nargs=-1, metavar="[AGENT | FILE]...")
@click.option("--all", "-a", "everything", is_flag=True, help="All agents that have sessions here.")
@click.option("--since", help="Only turns from this day on (2026-01-31, 90d).")
@click.option("--project", "-p", help="Only turns of this project: its name or folder.")
@click.option(
    "--orphans",
    metavar="FOLDER",
    help="The folder for turns whose project folder is gone. They are skipped otherwise.",
)
@click.option(
    "--summarize",
    type=click.Choice(["extractive", "llm"]),
    default="extractive",
    show_default=True,
    help=("llm: the model of capture.summarize replaces the extractive notes, within its budgets."),
)
@click.option(
    "--expect",
    metavar="HASH",
    help="Import FILE only if this is its hash.",
)
@click.option("--dry-run", is_flag=True, help="Show counts and write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def import_(
    names: tuple[str, ...],
    everything: bool,
    since: str | None,
    project: str | None,
    orphans: str | None,
    summarize: str,
    expect: str | None,
    dry_run: bool,
    yes: bool,
) -> int:
    """Import old sessions of agents as notes, under the day and time of each turn, or a FILE of
    shared notes.

    The import is free and needs no network, unless --summarize llm is given. A second run writes
    nothing, and a run after an interruption continues. Trivial turns and turns of sub-agents and
    summarizers are counted and left out. Secrets are replaced before the first write.
    """
    if (
        len(names) == 1
        and names[0] not in AGENTS
        and not everything
        and _is_a_file(names[0], expect)
    ):
        from memsearch_tui.cli.share import take

        return take(names[0], expect, dry_run, yes)
    _check(names, everything)
    memory = engine.Memory()
    if summarize == "llm" and memory.settings.capture.summarize.provider == "extractive":
        raise engine.UsageError(
            "no model is chosen for summaries",
            "memsearch config set capture.summarize.provider native (or a provider's name)",
        )
    old = memory.import_sessions(
        *names,
        since=days_of(since or "")[0],
        into=_memory_of(memory, project),
        orphans=_folder(orphans),
        summarize=summarize == "llm",
    )
    return _import(memory, old, dry_run, yes)


def _import(memory: engine.Memory, old: Any, dry_run: bool, yes: bool) -> int:
    stopped = threading.Event()
    try:
        progress = output.Progress()
        made = old.plan(progress.show, run_follows=not dry_run)
        progress.close()
        _show_plan(memory, old, made)
        if dry_run or not made.new:
            output.emit(_plan_json(made, None))
            if not made.new:
                output.say("no new turns to import")
            return 5 if made.failed else 0
        output.confirm(f"Write {many(made.new, 'entry')}?", yes)
        signal.signal(signal.SIGINT, lambda *_: stopped.set())
        report = old.run(made, progress.show, stopped.is_set)
    finally:
        progress.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        old.close()
    output.emit(_plan_json(made, report))
    _print_report(report)
    if stopped.is_set():
        output.remark("interrupted - the same command goes on from here")
        return 130
    return 5 if report.failed or made.failed else 0


def _print_report(report: Any) -> None:
    output.echo(
        f"{many(report.written, 'entry')} written, {report.known} were known,"
        f" {report.skipped} left out"
    )
    output.say_each(
        f"failed: {output.safe(where)}: {output.safe(reason)}"
        for where, reason in report.failed[:20]
    )
    if report.written:
        output.say("`memsearch search` finds them in a moment: the index follows in the background")


def _is_a_file(name: str, expect: str | None) -> bool:
    """Return whether *name* means a file of shared notes, even if it does not exist."""
    return expect is not None or os.sep in name or "." in name or os.path.isfile(name)


def _check(names: tuple[str, ...], everything: bool) -> None:
    unknown = [name for name in names if name not in AGENTS]
    if unknown:
        raise engine.UsageError(
            f"no agent and no file named {', '.join(unknown)}", f"known: {', '.join(AGENTS)}"
        )
    if bool(names) == everything:
        raise engine.UsageError("name agents, or pass --all", f"known: {', '.join(AGENTS)}")


def _memory_of(memory: engine.Memory, project: str | None) -> str:
    """Return the memory folder of a project that is given by name or folder."""
    if not project:
        return ""
    if os.path.isdir(project):
        return engine.Memory(project, home=memory.home).place.memory
    return engine.Memory(home=memory.home, project=project).place.memory


def _folder(path: str | None) -> str:
    if path and not os.path.isdir(path):
        raise engine.UsageError(f"{path} is no folder", "name one that exists")
    return os.path.abspath(path) if path else ""


def _show_plan(memory: engine.Memory, old: engine.Import, made: engine.ImportPlan) -> None:
    settings = memory.settings
    for agent, count in made.counts.items():
        days = f", {count.first_day} to {count.last_day}" if count.new else ""
        output.echo(
            f"{output.style(agent, 'strong')}: {many(count.sessions, 'session')},"
            f" {many(count.turns, 'turn')}"
        )
        who = old.writer(agent)
        cost = (
            f"about {count.tokens:,} tokens, if a model summarised them; none are spent"
            if who == "extractive"
            else (
                f"about {count.tokens:,} tokens by {who}{_price(settings, who, count.tokens)}, at"
                f" most {settings.capture.daily_tokens:,} a day"
            )
        )
        output.echo(f"  {count.new} to write{days} ({cost})")
        left = {
            "in memory already": count.known,
            "trivial": count.trivial,
            "of folders that are gone": count.homeless,
            "outside --since or --project": count.left_out,
            "sub-agents' sessions": count.subagents,
            "summarisers' sessions": count.summarisers,
        }
        if skipped := [f"{number} {what}" for what, number in left.items() if number]:
            output.echo(f"  left out: {', '.join(skipped)}")
        if passed_over := made.passed_over.get(agent):
            kinds = ", ".join(f"{number}x {kind}" for kind, number in sorted(passed_over.items()))
            output.echo(f"  records passed over, damaged or of unknown kinds: {output.safe(kinds)}")
    if made.gone:
        output.say("folders that are gone (`--orphans FOLDER` brings their turns in there):")
        output.say_each(
            f"  {number:5d} turns  {output.safe(folder) or '(none named)'}"
            for folder, number in sorted(made.gone.items(), key=lambda item: -item[1])[:10]
        )
    output.say_each(
        f"can't be read: {output.safe(where)}: {output.safe(reason)}"
        for where, reason in made.failed[:20]
    )
    output.say_each(
        f"not read: {output.safe(where)}: {output.safe(reason)}"
        for where, reason in made.not_read[:20]
    )
    if len(made.not_read) > 20:
        output.say(f"not read: {len(made.not_read) - 20} more files (--json lists all)")


def _price(settings: Any, provider: str, tokens: int) -> str:
    """Return the price of reading so many tokens, if the owner has set the provider's price."""
    known = settings.llm.providers.get(provider)
    return f", ${tokens * known.price_in / 1e6:.2f}" if known and known.price_in else ""


def _plan_json(made: Any, report: Any) -> dict[str, Any]:
    import msgspec

    value = {
        "agents": msgspec.to_builtins(made.counts),
        "new": made.new,
        "gone_folders": made.gone,
        "passed_over": made.passed_over,
        "unreadable": [{"where": where, "reason": reason} for where, reason in made.failed],
        "not_read": [{"where": where, "reason": reason} for where, reason in made.not_read],
    }
    if report is not None:
        value |= {
            "written": report.written,
            "known": report.known,
            "skipped": report.skipped,
            "failed": [{"where": where, "reason": reason} for where, reason in report.failed],
        }
    return value


@click.group(invoke_without_command=True)
@click.pass_context
def evidence(ctx: click.Context) -> None:
    """Archive, count and prune the conversations behind notes."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(evidence_status)


@evidence.command(
    "status",
    short_help="Count the conversations behind notes.",
    epilog="\b\nExample:\n  memsearch agents evidence status",
)
@as_json
def evidence_status() -> None:
    """Count conversations behind notes: live, archived, lost, or soon deleted by their agent."""
    evidence = engine.Memory(everything=True).evidence
    status, found = evidence.status(), evidence.survey()
    state = {
        "archived_turns": status.turns,
        "contents": status.contents,
        "bytes": status.bytes,
        "raw_bytes": status.raw,
        "live": found.live,
        "kept": found.kept,
        "lost": found.lost,
        "expiring": [
            {
                "path": e.path,
                "deleted_in_days": e.days,
                "memories": e.memories,
                "not_kept": e.unkept,
            }
            for e in found.expiring
        ],
    }
    output.emit(
        state,
        echo=(
            f"archived {many(status.turns, 'turn')} in {status.bytes / 1e6:.1f} MB"
            f" ({status.raw / 1e6:.1f} MB unpacked)"
        ),
    )
    output.echo(f"notes    {found.live} live, {found.kept} archived only, {found.lost} lost")
    unkept = sum(e.unkept for e in found.expiring)
    if found.expiring:
        output.echo(
            f"expiring {many(len(found.expiring), 'transcript')} within a week,"
            f" {sum(e.memories for e in found.expiring)} memories cite them, {unkept} of those"
            " are not archived"
            + (" - `memsearch agents evidence archive` archives them" if unkept else "")
        )


@evidence.command(
    "archive",
    short_help="Archive the conversations behind notes.",
    epilog="\b\nExample:\n  memsearch agents evidence archive",
)
@as_json
def evidence_archive() -> int:
    """Archive every conversation that a note cites and its agent still has."""
    with output.Progress() as progress:
        archived, failed = engine.Memory(everything=True).evidence.archive(progress.show)
    output.emit(
        {
            "kept": archived,
            "failed": [{"where": where, "reason": reason} for where, reason in failed],
        },
        echo=f"{many(archived, 'turn')} archived",
        say=(
            f"failed: {output.safe(where)}: {output.safe(reason)}" for where, reason in failed[:20]
        ),
    )
    return 5 if failed else 0


@evidence.command(
    "prune",
    short_help="Delete archived conversations beyond the limits.",
    epilog="\b\nExample:\n  memsearch agents evidence prune --dry-run",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def evidence_prune(dry_run: bool, yes: bool) -> None:
    """Delete the oldest archived conversations now that are beyond `evidence.max_mb` or
    `evidence.max_days`. Notes are not touched.
    """
    memory = engine.Memory()
    limits = memory.settings.evidence
    size, age = int(limits.max_mb * 1e6), limits.max_days
    archive = memory.evidence
    gone, only = archive.prune(max_bytes=size, max_days=age, dry_run=True)
    lost = f", {only} of them the only copy: their agent has deleted it" if only else ""
    if gone and not dry_run:
        output.confirm(f"Delete {gone} archived conversations{lost}?", yes)
        gone, _ = archive.prune(max_bytes=size, max_days=age)
    output.emit(
        {"pruned": gone, "only_copies": only, "dry_run": dry_run},
        echo=f"{gone} archived conversations {'would go' if dry_run else 'gone'}{lost}",
    )
