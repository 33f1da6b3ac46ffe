"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from memsearch_engine import dialect

from memsearch_tui.cli import output

_SILENT = ("collection", "default_collection", "description", "batch_size", "milvus_token", "api_key")
_INSTEAD = {
    "provider": "`memsearch config set embedding.provider` sets it",
    "model": "`memsearch models use` sets it",
    "milvus_uri": "`memsearch config set milvus.uri` sets it",
    "base_url": "`memsearch config set embedding.base_url` sets it",
    "ignore_file": "`memsearch config set indexing.ignore_files '[\"NAME\"]'` sets it",
    "exclude": "`memsearch config set indexing.exclude '[\"PATTERN\"]'` sets it",
    "max_chunk_size": "`memsearch config set chunking.max_chars` sets it",
    "debounce_ms": "`memsearch config set watch.debounce_ms` sets it",
}


def as_json(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "json_", is_flag=True, help="JSON with a schema_version.")(command)


def scope(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which projects: this one, a named one, or all."""
    command = click.option("--all", "-a", "everything", is_flag=True, help="All known projects.")(command)
    return click.option("--project", "-p", help="A project by name ('*' for all).", callback=_no_provider)(command)


def _no_provider(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """``-p`` is memsearch's ``--provider``: the name of one is no project's."""
    if value in dialect.PROVIDERS:
        output.say(f"note: -p {value}: embedding.provider decides here; -p names a project")
        return None
    return value


def tolerated(command: Callable[..., Any]) -> Callable[..., Any]:
    """memsearch's own flags, accepted so that its skills and plugins keep working. What decides instead is said, but for the
    collection, which every call of theirs names."""

    def drop(_ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value and param.name not in _SILENT:
            output.say(
                f"note: {param.opts[0]} has no effect here: {_INSTEAD.get(param.name or '', 'the settings decide')}"
            )

    for name in ("--ignore-file", "--exclude"):
        command = click.option(name, hidden=True, expose_value=False, callback=drop, multiple=True)(command)
    for names in (
        ("--collection", "-c"),
        ("--default-collection",),
        ("--max-chunk-size",),
        ("--debounce-ms",),
        ("--reranker-model",),
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
