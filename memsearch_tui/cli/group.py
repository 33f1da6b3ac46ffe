"""The click command ``memsearch``: it maps errors to one line and an exit code.

A group imports a command when it is called.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click
from memsearch_engine import MemsearchError, __version__

from memsearch_tui.cli import commands
from memsearch_tui.cli.commands import Alias, Command
from memsearch_tui.cli.terminal import echo, is_interactive, report, report_json


def loaded(found: Command | Alias) -> click.Command:
    """Import the click command of a row of the table."""
    module = importlib.import_module(f"memsearch_tui.cli.{found.module}")
    command: click.Command = getattr(module, found.function)
    return command


class LazyGroup(click.Group):
    """A group that knows the names and help of its commands without importing them.

    Args:
        table: name -> row of the command. Commands that are added with click's decorators follow
            them.
    """

    def __init__(self, *args: Any, table: dict[str, Command] | None = None, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.table = table or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*self.table, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command; None for an unknown name."""
        return loaded(self.table[name]) if name in self.table else super().get_command(ctx, name)

    def elsewhere(self, name: str) -> list[str]:
        """Return the full names of commands in other groups that are called *name*."""
        return []

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of *args*; an unknown name suggests similar ones."""
        if args and self.get_command(ctx, args[0]) is None:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), 2)
            near = self.elsewhere(args[0]) or near
            instead = f"`{ctx.command_path} --help` lists the commands."
            hint = f"Did you mean {' or '.join(near)}?" if near else instead
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands for help without importing them."""
        rows = [(name, command.help) for name, command in self.table.items()]
        rows.extend(
            (name, command.get_short_help_str(formatter.width))
            for name in super().list_commands(ctx)
            if (command := super().get_command(ctx, name)) and not command.hidden
        )
        with formatter.section("Commands"):
            formatter.write_dl(rows)


EPILOG = """\b
Examples:
  memsearch search 'redis ttl after:30d'      find by meaning and words
  memsearch expand 3fa9c1d2                   the whole note behind a hit
  memsearch agents install claude-code        have its turns written down
  memsearch demo                              try it on a sample year

`memsearch help --all` lists every command, `memsearch help TOPIC` explains query, exit-codes, json,
environment, files."""


class Root(LazyGroup):
    """All commands. Older names work but are not listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the listed commands."""
        return [name for group in commands.listed(everything=True).values() for name in group]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command or an alias; None for an unknown name."""
        found = commands.found(name)
        return loaded(found) if found else None

    def elsewhere(self, name: str) -> list[str]:
        """Return `memsearch GROUP NAME` for each group that has such a command."""
        rows = [row for group in commands.listed(everything=True).values() for row in group.items()]
        return [
            f"`memsearch {group} {name}`"
            for group, row in rows
            if isinstance(command := loaded(row), click.Group)
            and name in command.list_commands(click.Context(command))
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of *args*; for an older name, a remark gives the new one."""
        alias = commands.ALIASES.get(args[0]) if args else None
        if alias and alias.instead and "--json" not in args:
            click.echo(f"note: `memsearch {args[0]}` is now `memsearch {alias.instead}`", err=True)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A reader that closes the pipe is no error; click would end with 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            return report(error, [])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of ``memsearch --help``."""
        write_groups(formatter, everything=False)


def write_groups(formatter: click.HelpFormatter, *, everything: bool) -> None:
    """Write the commands by group, with all help texts in one column.

    Args:
        everything: also write the commands that ``--help`` leaves out.
    """
    groups = commands.listed(everything=everything)
    room = max(len(name) for group in groups.values() for name in group)
    for title, group in groups.items():
        with formatter.section(title):
            formatter.write_dl([(f"{name:{room}s}", one.help) for name, one in group.items()])


@click.group(
    cls=Root,
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

    Without a command, it opens the app on a terminal, and prints the status elsewhere.
    """
    if offline:
        os.environ["MEMSEARCH_OFFLINE"] = "1"
    if show_version:
        click.echo(__version__)
    elif ctx.invoked_subcommand is None:
        from memsearch_tui.cli import index, setup

        ctx.exit(ctx.invoke(setup.tui if is_interactive() else index.status))


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        result: Any = cli.main(arguments, prog_name="memsearch", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        import io

        printed = io.StringIO()
        error.show(printed)
        echo(printed.getvalue(), err=True, nl=False)
        context = getattr(error, "ctx", None)  # only a usage error has one
        hint = f"{context.command_path} --help" if context else ""
        is_word = isinstance(error, click.NoSuchOption) and error.option_name[:2] != "--"
        if is_word and hint == "memsearch search --help":
            hint = "a word to leave out goes into the quotes: memsearch search 'redis -draft'"
            echo(f"  -> {hint}", err=True)
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
