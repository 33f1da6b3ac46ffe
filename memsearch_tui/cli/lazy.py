"""Click groups that import a command when it is called."""

from __future__ import annotations

import importlib
from typing import Any

import click

from memsearch_tui.cli.commands import Alias, Command


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
        if name in self.table:
            return loaded(self.table[name])
        return super().get_command(ctx, name)

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
        for name in super().list_commands(ctx):
            if (command := super().get_command(ctx, name)) and not command.hidden:
                rows.append((name, command.get_short_help_str(formatter.width)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
