"""Install memsearch into agents, and uninstall it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click
import memsearch_engine as engine

from memsearch_tui.cli import output, terminal
from memsearch_tui.cli.options import as_json
from memsearch_tui.counted import many

#: Measured by `python -m tests.evaluation.recall`: the share of prompts with an injection, without
#: and with a relevant note, and the tokens of an injection.
_INJECTED_AT, _INJECTED_TOKENS = (0.08, 0.38), 140
_MCP = "mcp"


class _Live(click.Choice[str]):
    """An agent that memsearch can be installed into.

    For an agent with readable sessions only, the error says what works instead.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in engine.agent_names() and value not in self.choices:
            engine.Memory().plugins.installer(value)  # raises with the reason
        return super().convert(value, param, ctx)


AGENTS = _Live(engine.agents_live())
_AGENTS_AND_MCP = _Live([*engine.agents_live(), _MCP])


@click.group()
def plugins() -> None:
    """Install memsearch into your agents, and take it out again."""


@plugins.command(
    "install",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch agents install claude-code --dry-run     show what would change\n"
        "  memsearch agents install codex opencode\n"
        "  memsearch agents install mcp --for cursor          the MCP server, into that"
        " client's own list\n"
        "  memsearch agents install mcp --print               the entry, for any other client"
    ),
)
@click.argument("names", nargs=-1, required=True, type=_AGENTS_AND_MCP, metavar="AGENT...")
@click.option(
    "--for",
    "client",
    metavar="CLIENT",
    help="With mcp: which client (cursor, gemini, copilot, pi, windsurf, codex, …).",
)
@click.option("--print", "shown", is_flag=True, help="With mcp: only print the entry.")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option("--replace", is_flag=True, help="Replace memsearch's own plugin where it is active.")
@click.option(
    "--summaries",
    type=click.Choice(["extractive", "native"]),
    help=(
        "Who takes notes: extractive (free, no model) or native (the agent's own command line)."
        " Asked on a terminal."
    ),
)
@click.option(
    "--allow/--no-allow",
    default=None,
    help=(
        "Claude Code: let it look memories up without asking you each time (asked on a terminal;"
        " `uninstall` takes it back)."
    ),
)
@click.option(
    "--no-trust", is_flag=True, help="Codex: leave trusting the hooks to its own review (`/hooks`)."
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask before files are written.")
@as_json
def plugins_install(
    names: tuple[str, ...],
    client: str | None,
    shown: bool,
    dry_run: bool,
    replace: bool,
    summaries: str | None,
    allow: bool | None,
    no_trust: bool,
    yes: bool,
) -> None:
    """Add memsearch's hooks and skills to the agents' own configuration. Everything else in it
    stays as it is. On a terminal, it lists the files and asks.

    Notes are taken without a model unless you choose one: nothing is spent that you did not agree
    to.
    """
    if _MCP in names or client or shown:
        _install_mcp(names, client, shown, dry_run=dry_run)
        return
    memory = engine.Memory()
    plugins = memory.plugins
    done: dict[str, Any] = {}
    allow = _choose_rules(plugins, names, allow, ask=not (output.is_json() or dry_run))
    install = partial(plugins.install, replace_peer=replace, trust=not no_trust, allow=allow)
    asks = sys.stdin.isatty() and not (dry_run or yes or output.is_json())
    if asks and (files := _planned(install, names)):
        output.confirm(f"Write {many(files, 'file')}?", yes)
    for agent in names:
        changes = install(agent, dry_run=dry_run)
        done[agent] = [{"path": patch.path, "what": patch.why} for patch in changes]
        _print_changes(
            agent, changes, "would change" if dry_run else "installed", "is installed already"
        )
        state = plugins.status(agent) if not dry_run else None
        output.say_each(
            f"  ! {output.safe(problem)}" for problem in (state.problems if state else [])
        )
    if not dry_run:
        _choose_summaries(memory, names, summaries, ask=not output.is_json())
    output.emit({"changed": done, "dry_run": dry_run})
    if not dry_run:
        _say_what_is_injected(memory)
        output.say("new sessions are captured from now on; `memsearch agents coverage` shows it")


def _planned(install: Callable[..., list[Any]], names: tuple[str, ...]) -> int:
    """Print the files that an installation would change. Returns their number."""
    plans = {agent: install(agent, dry_run=True) for agent in names}
    for agent, changes in plans.items():
        _print_changes(agent, changes, "would change", "is installed already")
    return sum(map(len, plans.values()))


def _install_mcp(names: tuple[str, ...], client: str | None, shown: bool, *, dry_run: bool) -> None:
    clients = engine.Memory().mcp_clients
    _only_mcp(clients, names, client, shown)
    if shown:
        terminal.echo(clients.entry_text(client or ""))
        return
    assert client is not None
    title = clients.title(client)
    changes = clients.install(client, dry_run=dry_run)
    output.emit(
        {
            "changed": {client: [{"path": p.path, "what": p.why} for p in changes]},
            "dry_run": dry_run,
        }
    )
    _print_changes(
        title, changes, "would change" if dry_run else "installed", "is installed already"
    )
    if importlib.util.find_spec("mcp") is None:
        output.say(f"! serving it needs the library mcp: {engine.install_command('mcp')}")
    if not dry_run:
        output.say(
            f"restart {title}; `memsearch agents uninstall mcp --for {client}` takes it out again"
        )


def _only_mcp(
    clients: engine.McpClients, names: tuple[str, ...], client: str | None, shown: bool = False
) -> None:
    if names != (_MCP,):
        raise engine.UsageError(
            "--for and --print go with mcp alone", "memsearch agents install mcp --for CLIENT"
        )
    if not (client or shown):
        raise engine.UsageError(
            "which client?", f"--for {', '.join(clients.names())}; or --print for any other"
        )


def _choose_rules(
    plugins: engine.Plugins, names: tuple[str, ...], wanted: bool | None, *, ask: bool
) -> bool:
    """Return whether agents that ask for permission may search without asking.

    On a terminal the rules are shown before the question.
    """
    asking = [(name, found) for name in names if (found := plugins.installer(name)).rules()]
    if wanted and not asking:
        having = ", ".join(engine.agent_named(name).title for name in plugins.rules())
        output.remark(f"note: --allow: only {having} has such rules")
    if wanted is not None or not ask or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return bool(wanted)
    lacking = [(name, found) for name, found in asking if found.lacks_rules()]
    if not lacking:
        return False
    for name, found in lacking:
        output.remark(
            f"{engine.agent_named(name).title} asks before it looks a memory up, and can't where it"
            " runs"
            " without a terminal."
        )
        output.remark("These rules let it read memories, of all your projects, and no more:")
        for rule in found.rules():
            output.remark(f"  {output.safe(rule)}")
    return click.confirm("Add them to its settings?", default=False, err=True)


def _choose_summaries(
    memory: engine.Memory, names: tuple[str, ...], wanted: str | None, *, ask: bool
) -> None:
    """Set who summarizes turns. On a terminal, ask once and show the cost of a model for each
    day.
    """
    now = memory.settings.capture.summarize.provider
    if wanted is None:
        if not ask or now != "extractive" or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return
        turns, tokens = _a_day(memory, names)
        output.say("")
        if turns and memory.settings.recall.prompt:
            least, most = (round(share * _INJECTED_TOKENS * turns, -1) for share in _INJECTED_AT)
            output.say(
                f"You send about {turns:.0f} prompts a day: relevant notes would take"
                f" {least:,.0f} to {most:,.0f} tokens."
            )
        output.say("Who takes the notes?")
        output.say(
            "  extractive  free, offline: what was asked, what came out, files, commands, errors"
        )
        about = (
            f"about {tokens:,} tokens a day, from your last two weeks"
            if tokens
            else "no sessions yet to estimate from"
        )
        output.say(f"  native      the agent's own small model writes them ({about})")
        wanted = click.prompt(
            "Notes by", type=click.Choice(["extractive", "native"]), default="extractive", err=True
        )
    if wanted != now:
        memory.config.set("capture.summarize.provider", wanted)
        output.say(
            f"capture.summarize.provider = {wanted} (`memsearch config set` changes it, `memsearch"
            " status --cost` watches it)"
        )


def _say_what_is_injected(memory: engine.Memory) -> None:
    recall = memory.settings.recall
    at_start = f"at their start: recent notes, at most {recall.max_tokens:,} tokens"
    at_prompt = f"at a prompt: relevant notes, mostly none, at most {recall.prompt_tokens:,} tokens"
    at_action = "around an action: one line about its file, command or error, if there is one"
    moments = {at_start: recall.inject, at_prompt: recall.prompt, at_action: recall.action}
    if not any(moments.values()):
        return
    output.say("sessions get:")
    output.say_each(f"  {moment}" for moment, is_on in moments.items() if is_on)
    if recall.prompt or recall.action:
        output.say(f"  for prompts and actions at most {recall.session_tokens:,} tokens a session")
    output.say(
        "`memsearch agents context --log` lists each injection; `recall.*` settings change it"
    )


def _a_day(memory: engine.Memory, names: tuple[str, ...]) -> tuple[float, int]:
    """Return averages of the last two weeks: prompts a day, and tokens a day that a summarizer
    would read.
    """
    from datetime import date, timedelta

    since = (date.today() - timedelta(days=14)).isoformat()
    with output.Progress() as progress, memory.import_sessions(*names, since=since) as old:
        counts = old.plan(progress.show).counts.values()
    return sum(count.turns for count in counts) / 14, sum(count.tokens for count in counts) // 14


@plugins.command(
    "uninstall",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch agents uninstall claude-code\n"
        "  memsearch agents uninstall --all --dry-run"
    ),
)
@click.argument("names", nargs=-1, type=_AGENTS_AND_MCP, metavar="[AGENT]...")
@click.option("--all", "-a", "everything", is_flag=True, help="All agents and MCP clients.")
@click.option("--for", "client", metavar="CLIENT", help="With mcp: which client.")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option(
    "--yes", "-y", is_flag=True, expose_value=False, help="For scripts: nothing is asked anyway."
)
@as_json
def plugins_uninstall(
    names: tuple[str, ...], everything: bool, client: str | None, dry_run: bool
) -> None:
    """Put the agents' configuration back as it was. Notes stay.

    To remove memsearch itself, run `memsearch service stop` and uninstall its package afterwards
    (`pipx uninstall memsearch-tui`). `memsearch help files` lists the files that stay.
    """
    memory = engine.Memory()
    clients, plugins = memory.mcp_clients, memory.plugins
    if everything:
        served, connected = clients.names(), list(engine.agents_live())
    elif _MCP in names or client:
        _only_mcp(clients, names, client)
        served, connected = [str(client)], []
    elif names:
        served, connected = [], list(names)
    else:
        known = ", ".join([*engine.agents_live(), _MCP])
        raise engine.UsageError("name agents, or pass --all", f"known: {known}")
    steps: list[tuple[str, str, Callable[..., list[Any]], str]]
    steps = [(clients.title(name), name, clients.uninstall, "") for name in served]
    ended = "  {} is no longer captured; its notes stay"
    steps += [(name, name, plugins.uninstall, ended) for name in connected]
    done: dict[str, Any] = {}
    for title, name, uninstall, remark in steps:
        changes = uninstall(name, dry_run=dry_run)
        if everything and not changes:
            continue
        rows = [{"path": patch.path, "what": patch.why} for patch in changes]
        done[name] = [*done.get(name, []), *rows]
        _print_changes(title, changes, "would change" if dry_run else "removed", "is not installed")
        if changes and remark and not dry_run:
            output.say(remark.format(name))
    output.emit({"changed": done, "dry_run": dry_run})
    if not done:
        output.say("memsearch is installed in no agent")


@plugins.command(
    "status", epilog="\b\nExamples:\n  memsearch agents status\n  memsearch agents status codex"
)
@click.argument("names", nargs=-1, type=AGENTS, metavar="[AGENT]...")
@as_json
def plugins_status(names: tuple[str, ...]) -> int:
    """Show which agents memsearch is installed in, and what is wrong there."""
    plugins = engine.Memory().plugins
    rows = [plugins.status(agent) for agent in names or engine.agents_live()]
    output.emit({"plugins": rows})
    for row in rows:
        facts = (
            f"installed ({row.version})" if row.installed else "not installed",
            "as a plugin of its marketplace" if row.plugin else "",
            "" if row.program else "program not on PATH",
        )
        name = output.style(f"{row.agent:12s}", "agent")
        output.echo(f"{name} {', '.join(filter(None, facts))}")
        output.echo_each(f"  ! {output.safe(problem)}" for problem in row.problems)
        output.echo_each(output.style(f"  {output.safe(note)}", "dim") for note in row.notes)
        output.echo_each(
            f"  ! memsearch's own plugin is active: {output.safe(peer)}" for peer in row.peer
        )
    return 5 if any(row.problems for row in rows) else 0


def _print_changes(agent: str, changes: list[Any], done: str, nothing: str) -> None:
    if not changes:
        output.echo(f"{output.style(agent, 'strong')} {nothing}")
        return
    output.echo(f"{output.style(agent, 'strong')} {done}:")
    for patch in changes:
        gone = patch.after is None and not patch.by_agent
        verb = "add" if patch.before is None else "remove" if gone else "change"
        output.echo(f"  {verb:6s} {output.safe(patch.path)}  {output.style(patch.why, 'dim')}")
