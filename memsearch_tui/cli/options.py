"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from functools import wraps
from typing import Any

import click
from memsearch_engine import Home, Memory, UsageError, date_in_words
from memsearch_engine.core import compatibility

from memsearch_tui.cli import output

_SILENT = ("default_collection", "description", "batch_size", "milvus_token", "api_key")
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


_COLLECTION = "memsearch.collection"


def _remember(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    ctx.meta[_COLLECTION] = value or ""


def by_the_peer() -> bool:
    """Return whether memsearch's own tools call: each of their calls names a collection."""
    return bool(click.get_current_context().meta.get(_COLLECTION))


def memory_at(
    project: str | None = None, everything: bool = False, paths: tuple[str, ...] = ()
) -> Memory:
    """Return the memory for a command: that of the current folder.

    memsearch's own tools run in any folder; they name a memory by a path to its notes or by its
    collection.
    """
    root = None
    if by_the_peer() and not (project or everything or os.environ.get("MEMSEARCH_DIR")):
        end = os.path.join("", ".memsearch", "memory")
        named = os.path.abspath(paths[0]) if len(paths) == 1 else ""
        root = (
            named.removesuffix(end)
            if named.endswith(end) and os.path.isdir(named)
            else _known_root()
        )
    return Memory(root, everything=everything, project=project)


def _known_root() -> str | None:
    """Return the folder of the known project that has the collection which memsearch's tools
    named.
    """
    tail = click.get_current_context().meta[_COLLECTION].rpartition("_")[2]
    if not Home.from_env().state_db.exists():
        return None
    return next(
        (p.root for p in Memory().known() if compatibility.collection_of(p.root) == tail), None
    )


def days_of(text: str) -> tuple[str, str]:
    """Return the first and the last ISO day of a word: ``2026-02-09``, ``2026-02``, ``yesterday``,
    ``90d``; '' for ''.

    Raises:
        UsageError: the word names no day.
    """
    if not text:
        return "", ""
    if (span := date_in_words(text, date.today())) is None:
        raise UsageError(f"{text!r} is not a day", "write 2026-02-09, yesterday, 3d, mon or 14 mar")
    return span


NOT_TEXT = (
    "give it as UTF-8: `iconv -t UTF-8` converts a file, the terminal's settings name what it sends"
)


def as_text(given: str) -> str:
    """Return *given*, an argument, if it is valid text.

    Raises:
        UsageError: its bytes are not UTF-8. Nothing is written with replaced characters.
    """
    if any("\ud800" <= char <= "\udfff" for char in given):
        raise UsageError("the text is not UTF-8: nothing was written", NOT_TEXT)
    return given


def day_of(text: str) -> str:
    """Return the ISO day of a word.

    Raises:
        UsageError: the word names no day, or a month.
    """
    first, last = days_of(text)
    if not first or first != last:
        raise UsageError(f"{text!r} is not a day", "write 2026-02-09, yesterday, 3d, mon or 14 mar")
    return first


def as_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option ``--json``, and run the command so that ``output`` prints in that form.

    A command may have a second option of the same effect: a flag with the name ``also_json``. A
    group is only run without a subcommand.
    """

    @wraps(command)
    def run(*args: Any, json_: bool = False, also_json: bool = False, **values: Any) -> Any:
        if click.get_current_context().invoked_subcommand is not None:
            return None
        with output.json_mode(json_ or also_json):
            return command(*args, **values)

    return click.option("--json", "json_", is_flag=True, help="JSON with a schema_version.")(run)


def scope(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose projects: this one, a named one, or all."""
    command = click.option("--all", "-a", "everything", is_flag=True, help="All known projects.")(
        command
    )
    return click.option(
        "--project", "-p", help="A project by name ('*' for all).", callback=_no_provider
    )(command)


def _no_provider(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Ignore the name of an embedding provider: ``-p`` is memsearch's ``--provider``."""
    if value in compatibility.PROVIDERS:
        output.remark(f"note: -p {value}: embedding.provider decides here; -p names a project")
        return None
    return value


def tolerated(command: Callable[..., Any]) -> Callable[..., Any]:
    """Accept memsearch's own flags, so that its skills and plugins work.

    A remark says what decides instead. The collection, which each of their calls names, selects a
    project (``memory_at``).
    """

    def drop(_ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value and param.name not in _SILENT:
            output.remark(
                f"note: {param.opts[0]} has no effect here:"
                f" {_INSTEAD.get(param.name or '', 'the settings decide')}"
            )

    for name in ("--ignore-file", "--exclude"):
        command = click.option(name, hidden=True, expose_value=False, callback=drop, multiple=True)(
            command
        )
    command = click.option(
        "--collection", "-c", hidden=True, expose_value=False, callback=_remember, is_eager=True
    )(command)
    for names in (
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
