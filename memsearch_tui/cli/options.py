"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def as_json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "json_", is_flag=True, help="JSON with a schema_version.")(command)


def scope(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which projects: this one, a named one, or all."""
    command = click.option("--all", "-a", "everything", is_flag=True, help="All known projects.")(command)
    return click.option("--project", "-p", help="A project by name ('*' for all).")(command)


def tolerated(command: Callable[..., Any]) -> Callable[..., Any]:
    """memsearch's own flags, accepted so that existing skills keep working; the settings decide instead."""

    def drop(_ctx: click.Context, _param: click.Parameter, _value: Any) -> None:
        return None

    for names in (
        ("--collection", "-c"),
        ("--milvus-uri",),
        ("--milvus-token",),
        ("--provider",),
        ("--model", "-m"),
        ("--base-url",),
        ("--api-key",),
        ("--batch-size",),
        ("--description",),
    ):
        command = click.option(*names, hidden=True, expose_value=False, callback=drop)(command)
    return command
