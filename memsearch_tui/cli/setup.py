"""Setup: app, service, project, demo, MCP server, completion and version."""

from __future__ import annotations

import importlib.util
import os

import click
import memsearch_engine as engine

from memsearch_tui.cli import output, pages
from memsearch_tui.cli.options import as_json
from memsearch_tui.cli.terminal import is_interactive


@click.command(
    epilog="\b\nExamples:\n  memsearch tui\n  memsearch tui --all\n  memsearch tui --plain"
)
@click.option("--project", "-p", help="Open on this project.")
@click.option("--all", "-a", "everything", is_flag=True, help="Open on all projects.")
@click.option(
    "--plain",
    is_flag=True,
    help="Line by line, for screen readers: nothing is drawn over, no colours.",
)
def tui(
    project: str | None = None,
    everything: bool = False,
    plain: bool = False,
) -> int:
    """Open the terminal app."""
    if plain:
        from memsearch_tui.library import Library
        from memsearch_tui.plain import run as run_plain

        return run_plain(Library(engine.Memory(everything=everything, project=project)))
    if not is_interactive():
        raise engine.Unreachable(
            "the app needs a terminal", "`memsearch tui --plain` reads and prints line by line"
        )
    from memsearch_tui.app import run
    from memsearch_tui.screens.browse.screen import DEMO

    code = run(project=project, everything=everything)
    if code != DEMO:
        return code
    from memsearch_tui.demo.command import run as show

    return show(open_app=True, json_=False)


@click.group()
def service() -> None:
    """Start, stop and inspect the resident service (it starts by itself when needed)."""


@service.command("start", epilog="\b\nExample:\n  memsearch service start")
@as_json
def service_start() -> None:
    """Start it now."""
    state = engine.Memory().service.status()
    output.emit(state, say=f"running, pid {state.pid}")


@service.command("stop", epilog="\b\nExample:\n  memsearch service stop")
@as_json
def service_stop() -> None:
    """Stop it; nothing is lost, the next command starts it again."""
    stopped = engine.Memory().service.stop()
    output.emit({"stopped": stopped}, say="stopped" if stopped else "it was not running")


@service.command("status", epilog="\b\nExample:\n  memsearch service status --json")
@as_json
def service_status() -> int:
    """Print whether it runs, for how long and with how much memory."""
    try:
        state = engine.Memory().service.status(start=False)
    except engine.MemsearchError:
        state = engine.ServiceStatus(running=False)
    output.emit(state)
    if state.running:
        output.echo(
            f"running, pid {state.pid}, up {state.uptime_s:.0f} s, {state.rss_mb:.0f} MB, index"
            f" {state.index}"
        )
        used = f"by {state.last_use} " if state.last_use else ""
        output.echo(
            f"last used {used}{state.idle_s:.0f} s ago; ends after"
            f" {state.idle_limit_s / 60:g} minutes without use"
        )
        output.echo_each(f"stays because of {output.safe(reason)}" for reason in state.kept_up_by)
        output.echo_each(
            f"by itself  {output.safe(work)} (postpones nothing, is resumed by the next service)"
            for work in state.own_work
        )
    else:
        output.echo("not running (it starts when needed)")
    return 0 if state.running else 1


@service.command("logs", epilog="\b\nExample:\n  memsearch service logs")
@click.option("--lines", "-n", default=40, type=click.IntRange(1), show_default=True)
@as_json
def service_logs(lines: int) -> int:
    """Print the end of its log."""
    service = engine.Memory().service
    try:
        tail = service.tail(lines)
    except FileNotFoundError:
        output.remark(f"no log yet ({service.log})")
        return 1
    output.emit(
        {"file": str(service.log), "lines": [output.safe(line.rstrip("\n")) for line in tail]}
    )
    output.echo(output.safe("".join(tail)), nl=False)
    return 0


class _WithPages(click.Group):
    """``memsearch project`` once had the commands of ``memsearch pages``; both names work."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, name) or pages.pages.get_command(ctx, name)


@click.group(
    cls=_WithPages,
    invoke_without_command=True,
    epilog=(
        "\b\nExamples:\n"
        "  memsearch project\n"
        "  memsearch project --all\n"
        "  memsearch project forget ~/old/website"
    ),
)
@click.option("--all", "-a", "everything", is_flag=True, help="All known projects.")
@as_json
def project(everything: bool) -> None:
    """Show which project this folder belongs to, its memory folder and its collection."""
    memory = engine.Memory(everything=everything)
    rows = [
        {
            "id": p.id,
            "name": p.name,
            "slug": p.slug,
            "collection": p.collection,
            "root": p.root,
            "memory": p.memory,
        }
        for p in (memory.known() if everything else [memory.project])
    ]
    output.emit(
        {"projects": rows} if everything else rows[0],
        echo=(
            (
                f"{output.safe(row['name'])}  {row['collection']}\n  {output.safe(row['root'])}\n "
                f" {output.safe(row['memory'])}"
            )
            for row in rows
        ),
    )


@project.command(
    "forget",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch project forget website\n"
        "  memsearch project forget ~/old/website --yes"
    ),
)
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@as_json
def project_forget(name: str, yes: bool) -> None:
    """Forget a project (its name, or the path of its folder). Its notes stay where they are."""
    import os

    name = os.path.expanduser(name)
    output.confirm(f"Search and watch {name} no more? Its notes and their history stay.", yes)
    gone = engine.Memory().forget_project(name)
    output.emit(
        {
            "forgotten": {
                "id": gone.id,
                "name": gone.name,
                "root": gone.root,
                "memory": gone.memory,
            }
        },
        say=f"{output.safe(gone.root)} is forgotten; working in it makes it known again",
    )


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch demo                 open the sample year in the app\n"
        "  memsearch demo --no-open       only write and index it, print how to use it"
    )
)
@click.option("--no-open", is_flag=True, help="Don't open the app.")
@as_json
def demo(no_open: bool) -> int:
    """Try it on a sample year: three projects, four agents, in a temporary home. Your own notes are
    not touched.
    """
    from memsearch_tui.demo.command import run

    return run(open_app=not no_open and not output.is_json(), json_=output.is_json())


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch completion bash >> ~/.bashrc\n"
        "  memsearch completion zsh >> ~/.zshrc"
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script: memsearch completion bash >> ~/.bashrc"""  # noqa: D415
    from click.shell_completion import get_completion_class

    from memsearch_tui.cli.group import cli

    kind = get_completion_class(shell)
    assert kind is not None
    output.echo(kind(cli, {}, "memsearch", "_MEMSEARCH_COMPLETE").source())


@click.command(epilog="\b\nExample:\n  memsearch version")
@as_json
def version() -> None:
    """Print the version."""
    output.emit({"version": engine.__version__}, echo=engine.__version__)


@click.command(
    epilog=(
        "\b\nExamples:\n"
        "  memsearch mcp                        over standard input and output: what an"
        " agent starts\n"
        "  memsearch mcp --http --port 8765     over HTTP on this machine, behind a token\n"
        "  memsearch agents install mcp --for cursor   writes it into a client's configuration"
    )
)
@click.option(
    "--http",
    is_flag=True,
    help="Streamable HTTP on 127.0.0.1 instead of standard input and output.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="The port for --http; 0 takes any free one.",
)
def mcp(http: bool, port: int) -> None:
    """Serve this memory to an agent by the Model Context Protocol.

    Tools: recall, open, timeline, note, remember, and forget and correct, which ask the person. It
    ends when its input is closed, or the process that started it has gone.
    """
    from memsearch_tui.mcp_server.client_process import parents

    chain = parents()  # before the slow imports: the client may be gone after them
    if importlib.util.find_spec("mcp") is None:
        hint = f"{engine.install_command('mcp')}, then try again"
        raise engine.Unreachable("serving the Model Context Protocol needs the library mcp", hint)
    from memsearch_tui.mcp_server import serve

    if not http:
        serve.over_stdio(chain)
        return
    home = engine.Home.from_env()
    output.say(
        "a client has to send `Authorization: Bearer …` with the token in"
        f" {home.root / serve.TOKEN_FILE}"
    )
    serve.over_http(
        home,
        port,
        os.getcwd(),
        lambda address: output.say(f"listening at {address} (ctrl+c ends it)"),
    )
