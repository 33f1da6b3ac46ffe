"""``memsearch mcp``: the server for agents that use the Model Context Protocol."""

from __future__ import annotations

import importlib.util
import os

import click
from memsearch_engine import Home, Unreachable, install_command

from memsearch_tui.cli import output


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
    help="With --http; 0 takes any.",
)
def mcp(http: bool, port: int) -> None:
    """Serve this memory to an agent by the Model Context Protocol.

    Tools: recall, open, timeline, note, remember, and forget and correct, which ask the person. It
    ends when its input is closed, or the process that started it has gone.
    """
    parent = os.getppid()  # before the slow imports: the client may be gone after them
    if importlib.util.find_spec("mcp") is None:
        hint = f"{install_command('mcp')}, then try again"
        raise Unreachable("serving the Model Context Protocol needs the library mcp", hint)
    from memsearch_tui.mcp_server import serve

    if not http:
        serve.over_stdio(parent)
        return
    home = Home.from_env()
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
