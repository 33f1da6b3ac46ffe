"""The click group: commands by section, loaded lazily; errors become one line and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click
from memsearch_engine import MemsearchError

from memsearch_tui.cli.failures import report, report_json
from memsearch_tui.cli.main import COMMANDS, is_terminal
from memsearch_tui.cli.terminal import echo

EPILOG = """\b
Examples:
  memsearch search 'redis ttl after:30d'      find by meaning and words
  memsearch expand 3fa9c1d2                   the whole section behind a hit
  memsearch edit 3fa9c1d2                     change it in $EDITOR; `undo` takes it back
  memsearch demo                              try it on a sample year

Exit codes: 0 done, 1 nothing found, 2 usage, 3 can't reach what it needs, 4 conflict, 5 partly done, 130 interrupted."""


class Sections(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in COMMANDS.values() for name in commands]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        for commands in COMMANDS.values():
            if name in commands:
                module, function, _ = commands[name]
                return getattr(importlib.import_module(f"memsearch_tui.cli.{module}"), function)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), 2)
            hint = (
                f" Did you mean {' or '.join(near)}?"
                if near
                else " `memsearch --help` lists the commands."
            )
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in COMMANDS.items():
            with formatter.section(section):
                formatter.write_dl([(name, text) for name, (_, _, text) in commands.items()])


@click.group(
    cls=Sections,
    invoke_without_command=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", "-V", "show_version", is_flag=True, help="Print the version.")
@click.option(
    "--offline",
    is_flag=True,
    help="Let nothing leave this machine (also: network.offline, MEMSEARCH_OFFLINE=1).",
)
@click.pass_context
def cli(ctx: click.Context, show_version: bool, offline: bool) -> None:
    """One memory for every coding agent, in markdown that you own.

    Without a command: the terminal app; a status where stdout is no terminal.
    """
    if offline:
        os.environ["MEMSEARCH_OFFLINE"] = "1"
    if show_version:
        from memsearch_engine import __version__

        click.echo(__version__)
    elif ctx.invoked_subcommand is None:
        from memsearch_tui.cli import setup

        ctx.exit(ctx.invoke(setup.tui) if is_terminal() else ctx.invoke(setup.status))


def run(arguments: list[str]) -> int:
    """Run a command line; returns the exit code."""
    try:
        result: Any = cli.main(arguments, prog_name="memsearch", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        import io

        said = io.StringIO()
        error.show(said)
        echo(said.getvalue(), err=True, nl=False)
        context = getattr(error, "ctx", None)  # of a usage error
        hint = f"{context.command_path} --help" if context else ""
        report_json(arguments, error.format_message(), hint, error.exit_code)
        return error.exit_code
    except MemsearchError as error:
        echo(f"error: {error}", err=True)
        if error.hint:
            echo(f"  -> {error.hint}", err=True)
        report_json(arguments, str(error), error.hint, error.exit_code)
        return error.exit_code
    except click.Abort:
        return report(KeyboardInterrupt(), arguments)
    except (KeyboardInterrupt, UnicodeEncodeError, MemoryError, OSError) as error:
        return report(error, arguments)
