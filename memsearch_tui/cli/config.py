"""``memsearch config``: read and change settings, and the questions of the first start."""

from __future__ import annotations

import json
import shutil
import sys
from operator import attrgetter
from typing import Any

import click
import memsearch_engine as engine
import msgspec
from memsearch_engine.core import compatibility

from memsearch_tui.cli import output, terminal
from memsearch_tui.cli.agents import not_written_here
from memsearch_tui.cli.options import as_json

#: Tables of an agent's plugin.
_TASKS: dict[str, type[engine.Summarize | engine.Task | engine.SkillTask]] = {
    "summarize": engine.Summarize,
    "project_review": engine.Task,
    "user_profile": engine.Task,
    "memory_to_skill": engine.SkillTask,
}


@click.group()
def config() -> None:
    """Read and change settings (~/.memsearch/config.toml)."""


@config.command(
    "list",
    epilog="\b\nExamples:\n  memsearch config list\n  memsearch config list --global --json-output",
)
@click.option(
    "--resolved",
    "which",
    flag_value="resolved",
    default="resolved",
    help="As they apply here (the default).",
)
@click.option("--global", "which", flag_value="global", help="Only your own file.")
@click.option("--project", "which", flag_value="project", help="Only this project's file.")
@click.option(
    "--json-output", "-j", "bare", is_flag=True, help="memsearch's nested object, its own keys too."
)
@click.option("--default-collection", hidden=True)
@as_json
def config_list(which: str, bare: bool, default_collection: str | None) -> None:
    """Every setting with its value and type."""
    memory = engine.Memory()
    own = memory.config
    if bare or which != "resolved":
        _nested(own, which, default_collection, bare or output.is_json())
        return
    settings = own.load()
    rows = {key: _value(settings, key) for key in own.types()}
    output.emit(
        {"settings": rows, "file": str(memory.home.config), "warnings": settings.warnings},
        echo=(
            f"{key:28s} = {_toml(rows[key]):24s} {output.style('# ' + kind, 'dim')}"
            for key, kind in own.types().items()
        ),
        say=(f"warning: {output.safe(warning)}" for warning in settings.warnings),
    )


def _nested(own: engine.Configuration, which: str, collection: str | None, json_: bool) -> None:
    """Print the settings as memsearch's scripts read them: one object with nested tables."""
    import tomlkit

    table: dict[str, Any] = {}
    if which == "resolved":
        table = msgspec.to_builtins(own.load())
        table.pop("warnings")
        for agent, plugin in table["plugins"].items():
            if plugin.get("summarize"):
                plugin["summarize"]["provider"] = _named(own, f"plugins.{agent}.summarize.provider")
        for key in compatibility.KEYS:
            *parts, name = key.split(".")
            inner = table
            for part in parts:
                inner = inner.setdefault(part, {}) if isinstance(inner.get(part, {}), dict) else {}
            inner.setdefault(name, own.raw(key))
        if collection and not _is_set(own, "milvus.collection"):
            table["milvus"]["collection"] = collection
    else:
        table = own.written(in_project=which == "project")
    terminal.echo(
        msgspec.json.encode(_hidden(table)).decode()
        if json_
        else tomlkit.dumps(_hidden(table)) or "(empty)"
    )


def _is_set(own: engine.Configuration, key: str) -> bool:
    return bool(own.raw(key) != compatibility.KEYS[key])


def _hidden(value: Any, name: str = "") -> Any:
    """Return a value with keys and tokens hidden, and without types that TOML lacks."""
    if isinstance(value, dict):
        return {key: _hidden(item, key) for key, item in value.items() if item is not None}
    secret = name in ("api_key", "token") and value and not str(value).startswith("env:")
    return "(set)" if secret else value


@config.command("get", epilog="\b\nExample:\n  memsearch config get embedding.model")
@click.argument("key")
@click.option("--default-collection", hidden=True)
@as_json
def config_get(key: str, default_collection: str | None) -> None:
    """Print one setting. Keys of the original memsearch work, too."""
    own = engine.Memory().config
    value: Any
    if key in own.types():
        value = _value(own.load(), key)
    elif key in compatibility.KEYS:
        value = own.raw(key)
        if key == "milvus.collection" and default_collection and not _is_set(own, key):
            value = default_collection
    else:
        value = _named(own, key)
    output.emit({"key": key, "value": value})
    if key == "embedding.model" and not value:  # memsearch's hooks print the model in use
        value = engine.Memory().models.DEFAULT
    output.echo(value if isinstance(value, str) else _toml(value))


def _named(own: engine.Configuration, key: str) -> object:
    """Return a value in a table that the user names: ``llm.providers.NAME.…`` or
    ``plugins.AGENT.summarize.…``.
    """
    settings = own.load()
    match key.split("."):
        case ["llm", "providers", name, field] if field in engine.Provider.__struct_fields__:
            found = settings.llm.providers.get(name) or engine.Provider()
            return _hidden({field: getattr(found, field)})[field]
        case ["plugins", _, "summarize", "provider"]:
            # memsearch's hooks call us for any value except '' and native; those they handle
            # themselves
            names = dict.fromkeys(
                (key, key.replace("_", "-", 1), key.replace("claude-code", "claude_code", 1))
            )
            return next((found for name in names if (found := own.raw_of_owner(name, ""))), "")
        case ["plugins", agent, task, field] if task in _TASKS:
            default = settings.capture.summarize if task == "summarize" else _TASKS[task]()
            plugin = settings.plugins.get(agent.replace("_", "-"))
            if field in default.__struct_fields__:
                return getattr((plugin and getattr(plugin, task)) or default, field)
    raise engine.SettingsError(f"unknown setting `{key}`", "`memsearch config list` shows them all")


@config.command(
    "set",
    epilog=(
        "\b\nExamples:\n"
        "  memsearch config set search.top_k 20\n"
        "  memsearch config set capture.summarize.provider native"
    ),
)
@click.argument("key")
@click.argument("value")
@click.option(
    "--project", is_flag=True, help="In this project's .memsearch.toml, which may set only a few."
)
@as_json
def config_set(key: str, value: str, project: bool) -> None:
    """Change one setting; comments in the file stay."""
    memory = engine.Memory()
    own = memory.config
    if project:
        file, typed = own.project_file, own.set_in_project(key, value)
        output.emit(
            {"key": key, "value": typed, "file": str(file)}, say=f"{key} = {_toml(typed)} in {file}"
        )
        return
    typed = own.set(key, value)
    warnings = [warning for warning in memory.settings.warnings if f"`{key}`" in warning]
    output.emit({"key": key, "value": typed, "file": str(own.file), "warnings": warnings})
    output.remark(f"{key} = {_toml(typed)} in {own.file}")
    for warning in warnings:
        output.remark(f"warning: {output.safe(warning)}")


@config.command("unset", epilog="\b\nExample:\n  memsearch config unset tui.keys.delete")
@click.argument("key")
@as_json
def config_unset(key: str) -> None:
    """Go back to a setting's default."""
    own = engine.Memory().config
    own.unset(key)
    output.emit({"key": key, "file": str(own.file)})
    output.remark(f"{key} is out of {own.file}")


@config.command("init", epilog="\b\nExample:\n  memsearch config init")
def config_init() -> None:
    """Ask for the most important settings. Nothing is written before the last answer."""
    memory = engine.Memory()
    own, models = memory.config, memory.models
    current = memory.settings
    if not sys.stdin.isatty():
        raise click.UsageError(
            "the wizard needs a terminal; `memsearch config set KEY VALUE` does not"
        )
    output.say(
        f"Settings go to {own.file}. Enter takes the value in brackets, ctrl+c changes nothing."
    )
    here = [agent.name for agent in engine.all_agents() if shutil.which(agent.program)]
    answers = _ask_capture(current, here)
    output.say(
        "\n"
        + "; ".join(
            f"{model.name}: {model.languages}, {model.size_mb} MB" for model in models.known()
        )
    )
    using = current.embedding.model or models.DEFAULT
    names = [model.name for model in models.known()]
    model = _choose("Model for meaning", names, using)
    missing = model in names and not models.is_present(model)
    if model != using and not missing:
        answers["embedding.model"] = model
    answers |= _ask_milvus(current.milvus.uri)

    if not missing and models.can_be_made(model):
        output.say(f"making {model} from the weights that are installed …")
        models.pull(model)
    changed = {key: text for key, text in answers.items() if text != _as_typed(own.value(key))}
    if changed:
        own.set_all(changed)
    if model != using or answers["milvus.uri"] != current.milvus.uri:
        memory.service.stop()  # the next command starts it with the new settings
    output.say(f"\nwritten to {own.file}: {', '.join(changed)}" if changed else "\nnothing changed")
    if missing:
        output.say(
            f"{model} is not on this machine: `memsearch models pull {model}`, then `memsearch"
            f" models use {model}`"
        )
    if moved := not_written_here(memory):
        output.say(f"! {moved}")
    waiting = [agent for agent in here if not memory.plugins.status(agent).installed]
    if answers["capture.enabled"] == "true" and waiting:
        output.say(
            f"next: `memsearch agents install {' '.join(waiting)}` lets them hand over their turns"
        )


def _ask_capture(current: Any, here: list[str]) -> dict[str, str]:
    output.say(
        "\nAgents on this machine:"
        f" {', '.join(here) or 'none of ' + ', '.join(engine.agent_names())}."
    )
    if not click.confirm("Take a note of every finished turn?", current.capture.enabled, err=True):
        return {"capture.enabled": "false"}
    output.say(
        "\nextractive: your words and the answer's last ones, no model, no token; native: the"
        " agent's small model."
    )
    writers = ["extractive", "native", *current.llm.providers]
    provider = _choose("Who writes the notes", writers, current.capture.summarize.provider)
    return {"capture.enabled": "true", "capture.summarize.provider": provider}


def _ask_milvus(server: str) -> dict[str, str]:
    where = "-" if server else "enter"
    uri = click.prompt(
        f"\nMilvus URI ({where}: files on this machine)",
        server,
        show_default=bool(server),
        err=True,
    )
    uri = "" if uri == "-" else uri
    if uri == server:
        return {"milvus.uri": uri}
    token = uri and click.prompt(
        "Its token (enter: none)", "", hide_input=True, show_default=False, err=True
    )
    return {"milvus.uri": uri, "milvus.token": token}


def _choose(question: str, names: list[str], current: str) -> str:
    """Ask for one of *names*. The current value, for example a folder, is always accepted."""
    return click.prompt(
        question, current, type=click.Choice(list(dict.fromkeys([*names, current]))), err=True
    )


def _as_typed(value: Any) -> str:
    """Return a setting as a person would type it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(settings: engine.Settings, key: str) -> object:
    return _hidden(attrgetter(key)(settings), key.rpartition(".")[2])


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
