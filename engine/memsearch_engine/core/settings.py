"""Typed settings in four layers.

They are the defaults, the user's ``config.toml``, the project's ``.memsearch.toml``, and the call.
A project's file may come with a clone, so it may set only harmless keys (``PROJECT_KEYS``). Others
are ignored and listed in ``Settings.warnings``.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import threading
import types
import typing
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from memsearch_engine.core import agent_registry, compatibility, safe_files
from memsearch_engine.core.errors import SettingsError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import Provider, Settings, SkillTask, Summarize, Task

_KEYS_TABLE = "tui.keys."
#: msgspec may crash if two threads convert to a type for the first time.
_CONVERTING = threading.Lock()
#: The only keys that a file inside a repository may set.
PROJECT_KEYS = (
    "embedding.batch_size",
    "chunking.",
    "indexing.ignore_files",
    "indexing.exclude",
    "watch.debounce_ms",
)


def load(
    home: Home, project_file: Path | None = None, overrides: dict[str, Any] | None = None
) -> Settings:
    """Read all layers.

    Args:
        project_file: the project's ``.memsearch.toml``, if there is one.
        overrides: dotted keys from the command line, e.g. ``{"search.fusion": "rrf"}``.

    Raises:
        SettingsError: a file is not TOML, a key is unknown or a value has the wrong type.
    """
    merged: dict[str, Any] = {}
    warnings: list[str] = []
    sources: dict[str, tuple[Path, str]] = {}
    for path, allowed in ((home.config, None), (project_file, PROJECT_KEYS)):
        if path is None:
            continue
        try:
            # The owner's file may be a link to anywhere, a project's may not leave the project.
            text = _text(path, os.path.realpath(path) if allowed is None else path)
        except FileNotFoundError:
            continue
        import tomllib  # 2 ms; many homes have no settings file

        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _no_toml(path, error) from error
        flat, remarks = compatibility.translated(
            flatten(table), lambda model: (home.models / model).is_dir()
        )
        warnings += [
            f"{where(path, text, key)}: `{key}`: {instead}" for key, instead in remarks.items()
        ]
        for key, value in flat.items():
            if allowed is not None and not key.startswith(allowed):
                warnings.append(f"{path}: `{key}` ignored: a project's file may not set it")
                continue
            if allowed is not None and not _fits(key, value):
                warnings.append(
                    f"{where(path, text, key)}: `{key}` ignored: it wants {type_name(_hint(key))}"
                )
                continue
            _put(merged, key, value)
            sources[key] = (path, text)
    for key, value in (overrides or {}).items():
        _put(merged, key, value)
    return _typed(merged, sources, warnings)


def _no_toml(path: Path, error: Exception) -> SettingsError:
    hint = "correct the file, or move it aside"
    return SettingsError(f"{path}: not valid TOML: {error}", hint)


def _fits(key: str, value: Any) -> bool:
    try:
        msgspec.convert(value, _hint(key) or str, strict=True)
    except msgspec.ValidationError:
        return False
    return True


def _typed(
    merged: dict[str, Any], sources: dict[str, tuple[Path, str]], warnings: list[str]
) -> Settings:
    for key in list(flatten(merged)):
        if key not in keys() and _hint(key) is None:
            path, text = sources.get(key, (None, ""))
            if path is None:
                raise SettingsError(
                    f"unknown setting `{key}`", "`memsearch config list` shows them all"
                )
            warnings.append(f"{where(path, text, key)}: unknown setting `{key}` ignored")
            _drop(merged, _parts(key))
    try:
        # the first conversion takes 4 ms, and many homes have no settings
        with _CONVERTING:
            settings = msgspec.convert(merged, Settings, strict=True) if merged else Settings()
    except msgspec.ValidationError as error:
        key = _key_in(str(error), merged)
        reason = str(error).partition(" - at")[0]
        path, text = sources.get(key, (None, ""))
        place = where(path, text, key) if path else "command line"
        raise SettingsError(
            f"{place}: `{key}`: {reason}", "`memsearch config list` shows the types"
        ) from error
    if settings.search.rerank:
        warnings.append("`search.rerank` has no effect: reordering hits made them worse")
    settings.warnings = [*warnings, *_nameless_models(settings)]
    return settings


def _text(path: Path, file: Path | str = "") -> str:
    """Read a settings file.

    Args:
        path: its name in errors.
        file: where it is, if that is another path.

    Raises:
        FileNotFoundError: it does not exist.
        SettingsError: it can't be read.
    """
    try:
        return safe_files.read(file or path, safe_files.MAX_SETTINGS).decode("utf-8")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "") or error
        raise SettingsError(f"{path} can't be read: {reason}") from error


def _key_in(message: str, merged: dict[str, Any]) -> str:
    """Return the dotted key in a validation error.

    Inside named tables, the message has ``[...]`` instead of the name. It is then the first such
    key with a value of a wrong type.
    """
    path = message.rpartition("`$.")[2].rstrip("`") if "`$." in message else ""
    if "[...]" not in path:
        return path
    pattern = re.compile(re.escape(path).replace(re.escape("[...]"), r"\.[^.]+"))
    for key, value in flatten(merged).items():
        if pattern.fullmatch(key) and not _fits(key, value):
            return key
    return path


def where(path: Path, text: str, key: str) -> str:
    """``file:line`` of *key* in a TOML text."""
    table, _, _name = key.rpartition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if header := re.match(r"\[\s*([^\[\]]+?)\s*\]", stripped):
            current = header[1].replace('"', "")
        match = re.match(r"([\w.\-\"]+)\s*=", stripped)
        if match and (f"{current}.{match[1]}" if current else match[1]).replace('"', "") in (
            key,
            table,
        ):
            return f"{path}:{number}"
    return str(path)


def flatten(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            flat.update(flatten(value, f"{key}."))
        else:
            flat[key] = value
    return flat


@functools.cache
def keys() -> dict[str, Any]:
    """Every settable key with its type; tables with names of the user's own are left out."""
    return _keys(Settings, "")


def _keys(struct: type, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(struct, include_extras=True).items():
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            found |= _keys(hint, f"{prefix}{name}.")
        elif prefix and typing.get_origin(hint) is not dict:
            found[f"{prefix}{name}"] = hint
    return found


def value_of(settings: Settings, key: str) -> Any:
    """The value of a dotted key."""
    return attrgetter(key)(settings)


#: Tables with a name of the user's own, and the type of each.
_NAMED_TABLES = {
    r"llm\.providers\.[^.]+": Provider,
    r"plugins\.[^.]+\.summarize": Summarize,
    r"plugins\.[^.]+\.memory_to_skill": SkillTask,
    r"plugins\.[^.]+\.(project_review|user_profile)": Task,
}


def _hint(key: str) -> Any:
    if key.startswith(_KEYS_TABLE):
        return str
    table, _, name = key.rpartition(".")
    for pattern, struct in _NAMED_TABLES.items():
        if re.fullmatch(pattern, table):
            return typing.get_type_hints(struct, include_extras=True).get(name)
    return keys().get(key)


def type_name(hint: Any) -> str:
    """Return a description of a setting's type."""
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) is Literal:
        return " | ".join(typing.get_args(hint))
    if isinstance(hint, types.GenericAlias | types.UnionType):
        return str(hint)
    return str(hint.__name__)


#: Values of a ``provider`` that need no table under ``llm.providers``. For summaries,
#: ``extractive`` is another one.
_WITHOUT_PROVIDER = ("", "native", *agent_registry.names())


def _nameless_models(settings: Settings) -> list[str]:
    """Return a warning for each chosen provider without a table under ``llm.providers``."""
    chosen = {
        "capture.summarize": settings.capture.summarize.provider,
        "longterm.extract": settings.longterm.extract.provider,
        "longterm.consolidate": settings.longterm.consolidate.provider,
    }
    if settings.compact.provider not in (
        "extractive",
        "openai",
        "openai-compatible",
        "anthropic",
        "gemini",
    ):
        chosen["compact"] = settings.compact.provider
    for agent, own in settings.plugins.items():
        if own.summarize:
            chosen[f"plugins.{agent}.summarize"] = own.summarize.provider
        for name in ("project_review", "user_profile", "memory_to_skill"):
            if (task := getattr(own, name)) is not None and task.enabled:
                chosen[f"plugins.{agent}.{name}"] = task.provider
    return [
        f"`{key}.provider` is {name!r}, and there is no `llm.providers.{name}`"
        for key, name in chosen.items()
        if name not in _WITHOUT_PROVIDER
        and name not in settings.llm.providers
        and not (name == "extractive" and key.endswith("summarize"))
    ]


def set_value(home: Home, key: str, raw: str) -> Any:
    """Write one key into the user's ``config.toml``, and return the typed value."""
    return set_values(home, {key: raw})[key]


def set_values(home: Home, raw: dict[str, str]) -> dict[str, Any]:
    """Write several keys at once: all of them, or none. Returns the typed values."""
    values: dict[str, Any] = {}
    for key, text in raw.items():
        if key in compatibility.KEYS:
            values[key] = _own_type(compatibility.KEYS[key], text)
            continue
        hint = _hint(key)
        if hint is None:
            raise SettingsError(
                f"unknown setting `{key}`", "`memsearch config list` shows them all"
            )
        _check_agent(key)
        # memsearch's name of a type is translated when it is read
        is_type = key.startswith("llm.providers.") and key.endswith(".type")
        is_known = is_type and text in compatibility.PROVIDER_TYPES
        values[key] = text if is_known else _parse_value(key, text, hint)
    home.ensure()
    # the owner may keep the file elsewhere, behind a link
    _write(Path(os.path.realpath(home.config)), values, private=True)
    return values


def _check_agent(key: str) -> None:
    """Raise SettingsError where ``plugins.AGENT.…`` names no agent."""
    table, _, rest = key.partition(".")
    agent = rest.partition(".")[0].replace("_", "-")
    if table == "plugins" and agent not in agent_registry.names():
        raise SettingsError(
            f"`{key}`: no agent is called {agent}", f"known: {', '.join(agent_registry.names())}"
        )


def set_in_project(file: Path, key: str, raw: str) -> Any:
    """Write a key into a project's file, which may set only a few, and return the typed value.

    Raises:
        SettingsError: the key is not allowed there, or the value is not valid.
    """
    if key in compatibility.PROJECT_KEYS:
        value: Any = _own_type(compatibility.KEYS[key], raw)
    elif key.startswith(PROJECT_KEYS) and (hint := _hint(key)) is not None:
        value = _parse_value(key, raw, hint)
    else:
        raise SettingsError(
            f"a project's file may not set `{key}`", f"it may set {', '.join(PROJECT_KEYS)}"
        )
    _write(file, {key: value})
    return value


def unset(home: Home, key: str) -> None:
    """Remove a key from the user's ``config.toml``, so that its default applies.

    Raises:
        SettingsError: the key is not known, or the file can't be read.
    """
    if key not in compatibility.KEYS and _hint(key) is None:
        raise SettingsError(f"unknown setting `{key}`", "`memsearch config list` shows them all")
    if home.config.exists():
        _write(Path(os.path.realpath(home.config)), {key: None}, private=True)


def _parts(key: str) -> list[str]:
    """Return the tables of a dotted key, and its name in the last. Names of actions have dots."""
    name = key.removeprefix(_KEYS_TABLE)
    return key.split(".") if name == key else [*_KEYS_TABLE.strip(".").split("."), name]


def _drop(table: Any, parts: list[str]) -> None:
    for part in parts[:-1]:
        table = table.get(part)
        if not isinstance(table, dict):
            return
    table.pop(parts[-1], None)


def _write(file: Path, values: dict[str, Any], *, private: bool = False) -> None:
    """Write keys into a TOML file (None removes one). Other content and comments stay.

    Args:
        private: the file may contain API keys, so only its owner may read it. Links in a project
            are not followed out of it.
    """
    import tomlkit  # only here: 40 ms

    try:
        document = tomlkit.parse(_text(file))
    except FileNotFoundError:
        document = tomlkit.document()
    except tomlkit.exceptions.TOMLKitError as error:
        raise _no_toml(file, error) from error
    for key, value in values.items():
        table: Any = document
        *tables, name = _parts(key)
        for part in tables:
            if part not in table:
                table[part] = tomlkit.table()
            table = table[part]
        if value is None:
            table.pop(name, None)
            _drop(document, key.split("."))  # as an older version wrote names with dots
        else:
            table[name] = value
    try:
        safe_files.put(str(file), tomlkit.dumps(document).encode("utf-8"), private=private)
    except OSError as error:
        if error.errno == errno.EPERM:  # a link that leads elsewhere
            raise SettingsError(f"{file} can't be written: {error.strerror}") from error
        raise Unreachable(f"{file} can't be written: {error.strerror}") from error


def raw_value(home: Home, project_file: Path, key: str, default: Any = None) -> Any:
    """Return a value as memsearch's scripts read it.

    It comes from the project's file, the user's file, its default, or *default*.
    """
    import tomllib

    for file in (project_file, Path(os.path.realpath(home.config))):
        with contextlib.suppress(OSError, ValueError):
            flat = flatten(
                tomllib.loads(safe_files.read(file, safe_files.MAX_SETTINGS).decode("utf-8"))
            )
            if key in flat:
                return flat[key]
    return compatibility.KEYS.get(key, default)


def _own_type(default: Any, raw: str) -> Any:
    """*raw* in the type of memsearch's default."""
    if isinstance(default, bool):
        return raw.strip().lower() in ("1", "true", "yes", "on")
    if isinstance(default, list):
        return [
            part.strip() for part in raw.strip("[]").replace('"', "").split(",") if part.strip()
        ]
    return int(raw) if isinstance(default, int) and raw.isdecimal() else raw


_SWITCHES = {"on": True, "yes": True, "off": False, "no": False}


def _parse_value(key: str, raw: str, hint: Any) -> Any:
    import tomllib

    if hint is bool and raw.lower() in _SWITCHES:
        return _SWITCHES[raw.lower()]
    is_list = list[str] in (hint, *typing.get_args(hint)) and not raw.lstrip().startswith("[")
    if is_list and raw.lower() not in ("true", "false", *_SWITCHES):
        return [part.strip() for part in raw.split(",") if part.strip()]
    try:
        value: Any = (
            raw
            if hint is str or typing.get_origin(hint) is Literal
            else tomllib.loads(f"v = {raw}")["v"]
        )
        return msgspec.convert(value, hint, strict=True)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(
            f"`{key}` wants {type_name(hint)}, not {raw!r}",
            f"`memsearch config get {key}` prints its present value",
        ) from error


def secret(value: str) -> str:
    """A key as written, or the environment variable that ``env:NAME`` names."""
    return os.environ.get(value[4:], "") if value.startswith("env:") else value


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    *tables, name = _parts(key)
    for part in tables:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise SettingsError(
                f"`{key}`: `{part}` is not a table", f"write [{part}] in the settings file"
            )
    table[name] = value
