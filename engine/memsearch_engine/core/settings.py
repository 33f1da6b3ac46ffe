"""Typed settings in four layers: defaults, the user's ``config.toml``, the project's
``.memsearch.toml``, the call.

A project's file may come with a clone, so it may set only harmless keys (``PROJECT_KEYS``). Others
are ignored and listed in ``Settings.warnings``. The page of settings in the documentation is made
from the ``Attributes`` of these classes.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import tomllib
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from memsearch_engine.core import agent_registry, compatibility, safe_files
from memsearch_engine.core.errors import SettingsError, Unreachable
from memsearch_engine.core.home import Home

_KEYS_TABLE = "tui.keys."
#: The only keys that a file inside a repository may set.
PROJECT_KEYS = (
    "embedding.batch_size",
    "chunking.",
    "indexing.ignore_files",
    "indexing.exclude",
    "watch.debounce_ms",
)


class Embedding(msgspec.Struct, kw_only=True):
    """The model that turns texts into vectors.

    Attributes:
        provider: onnx (local) or a service.
        model: a model's name, or a folder with model.onnx, tokenizer.json and,
            optionally, embedding.json (pooling, prefixes, length); empty: the installed
            model.
        base_url: address of the service; empty: its default.
        api_key: the key, or env:NAME.
        dimension: length of the vectors; 0: the model's own.
        batch_size: texts per request; 0: as many as the provider takes.
    """

    provider: Literal["onnx", "openai", "google", "voyage", "jina", "mistral", "ollama"] = "onnx"
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    dimension: int = 0
    batch_size: int = 0


class Milvus(msgspec.Struct, kw_only=True):
    """Where the index is.

    Attributes:
        uri: address of a Milvus server or Zilliz Cloud; empty: Milvus Lite in the home.
        token: the token, or env:NAME.
    """

    uri: str = ""
    token: str = ""


class Chunking(msgspec.Struct, kw_only=True):
    """How notes are cut for the index.

    Attributes:
        max_chars: characters of a chunk at most.
    """

    max_chars: Annotated[int, msgspec.Meta(ge=200, le=20_000)] = 1500


class Indexing(msgspec.Struct, kw_only=True):
    """What is indexed.

    Attributes:
        ignore_files: whether a repository's ignore files apply to folders indexed
            beside the notes, or the names of those files.
        exclude: patterns of paths that are left out.
        prompts: whether the prompt of a turn is searched with its note; auto: if the
            model is on this machine.
        native_memories: whether agents' own memory files are indexed (kind:native);
            auto: if the model is on this machine.
        references: whether files, symbols and commands in notes are compared with the
            repository.
    """

    ignore_files: bool | list[str] = True
    exclude: list[str] = []
    prompts: Literal["auto", "on", "off"] = "auto"
    native_memories: Literal["auto", "on", "off"] = "auto"
    references: bool = True


class Watch(msgspec.Struct, kw_only=True):
    """How changes of files are followed.

    Attributes:
        debounce_ms: milliseconds to wait after a change.
    """

    debounce_ms: int = 200


class Search(msgspec.Struct, kw_only=True):
    """How searches answer.

    Attributes:
        fusion: how meaning and words are combined: by scores, or by ranks (rrf).
        top_k: number of hits.
        models: one, both (multilingual-e5-small beside the installed model), or auto:
            both if the second is in models/.
        rerank: accepted for files of earlier versions; has no effect.
    """

    fusion: Literal["weighted", "rrf"] = "weighted"
    top_k: int = 10
    models: Literal["auto", "one", "both"] = "auto"
    rerank: str = ""


class Mcp(msgspec.Struct, kw_only=True):
    """The MCP server.

    Attributes:
        projects: whether a client may ask for other projects than the one it works in.
    """

    projects: Literal["own", "all"] = "own"


class Service(msgspec.Struct, kw_only=True):
    """The resident service.

    Attributes:
        idle_minutes: minutes without a client or hook event after which the service
            ends.
    """

    idle_minutes: float = 15.0


class Summarize(msgspec.Struct, kw_only=True):
    """The model that writes notes.

    Attributes:
        enabled: whether turns of this agent are captured.
        provider: extractive (no model), native (the agent's own command line), or a
            name under llm.providers.
        model: another model than the provider's default.
    """

    enabled: bool = True
    provider: str = "extractive"
    model: str = ""


class Capture(msgspec.Struct, kw_only=True):
    """How turns become notes.

    Attributes:
        enabled: off: finished turns leave no trace; search still works.
        summarize: the model that writes notes.
        daily_tokens: tokens that notes may use in a day.
        per_turn_tokens: tokens that one note may use; a longer turn stays extractive.
    """

    enabled: bool = True
    summarize: Summarize = msgspec.field(default_factory=Summarize)
    daily_tokens: Annotated[int, msgspec.Meta(ge=0)] = 200_000
    per_turn_tokens: Annotated[int, msgspec.Meta(ge=200)] = 6_000


class Task(msgspec.Struct, kw_only=True):
    """A page that a model proposes changes to.

    Attributes:
        enabled: whether it runs by itself.
        provider: as capture.summarize.provider; native: the agent of this table.
        model: another model than the provider's default.
        min_interval_hours: pause after each run, in hours.
        input_dir: folder of the notes, below the project; empty: the usual one.
        output_file: the page, below the project; empty: the usual one.
    """

    enabled: bool = False
    provider: str = "native"
    model: str = ""
    min_interval_hours: Annotated[float, msgspec.Meta(ge=0, le=8760)] = 24.0
    input_dir: str = ""
    output_file: str = ""


class SkillTask(Task, kw_only=True):
    """Skills that a model drafts from recurring work.

    Attributes:
        min_occurrences: days or sessions in which a procedure must occur.
        paths: folders for `memsearch skills install` without --path.
    """

    min_occurrences: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3
    paths: list[str] = []


class Plugin(msgspec.Struct, kw_only=True):
    """Settings of one agent, in memsearch's own table.

    Attributes:
        summarize: takes precedence over capture.summarize.
        project_review: keeps PROJECT.md.
        user_profile: keeps USER.md.
        memory_to_skill: drafts skills.
    """

    summarize: Summarize | None = None
    project_review: Task | None = None
    user_profile: Task | None = None
    memory_to_skill: SkillTask | None = None


class Prompts(msgspec.Struct, kw_only=True):
    """Your own files with instructions for models.

    Attributes:
        project_review: instead of the built-in text for PROJECT.md.
        user_profile: instead of the built-in text for USER.md.
        memory_to_skill: instead of the built-in text for skills.
    """

    project_review: str = ""
    user_profile: str = ""
    memory_to_skill: str = ""


class Documents(msgspec.Struct, kw_only=True):
    """PROJECT.md, USER.md and skills.

    Attributes:
        daily_tokens: tokens that they may use in a day.
        input_tokens: tokens of notes that a model is shown.
        answer_tokens: tokens of an answer.
        max_tokens: tokens of PROJECT.md that a new session gets.
    """

    daily_tokens: Annotated[int, msgspec.Meta(ge=0)] = 200_000
    input_tokens: Annotated[int, msgspec.Meta(ge=1000, le=500_000)] = 20_000
    answer_tokens: Annotated[int, msgspec.Meta(ge=500, le=20_000)] = 4_000
    max_tokens: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 800


class Provider(msgspec.Struct, kw_only=True):
    """A model behind an API.

    Attributes:
        type: contract of the API.
        model: the model's name.
        base_url: address of the API.
        api_key: the key, or env:NAME.
        price_in: US dollars per million input tokens, for `status --cost`.
        price_out: US dollars per million output tokens.
    """

    type: Literal["openai", "anthropic"] = "openai"
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    price_in: float = 0.0
    price_out: float = 0.0


class Llm(msgspec.Struct, kw_only=True):
    """Models that may be asked.

    Attributes:
        providers: table of providers by name.
        timeout_s: seconds until a request is given up.
    """

    providers: dict[str, Provider] = {}
    timeout_s: Annotated[float, msgspec.Meta(ge=1, le=600)] = 60.0


class Compact(msgspec.Struct, kw_only=True):
    """Digests (`memsearch compact`).

    Attributes:
        provider: a name under llm.providers, an agent (claude-code, codex), openai,
            anthropic or gemini; empty or extractive: no model.
        model: another model than the provider's default.
        base_url: address of the API, if provider is not under llm.providers.
        api_key: key of the API, if provider is not under llm.providers.
        prompt_file: a file with your instructions, with {chunks} for the notes.
        daily_tokens: tokens that digests may use in a day.
        part_tokens: tokens that a model reads at once.
        answer_tokens: tokens of an answer.
    """

    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    prompt_file: str = ""
    daily_tokens: Annotated[int, msgspec.Meta(ge=0)] = 200_000
    part_tokens: Annotated[int, msgspec.Meta(ge=1000, le=1_000_000)] = 24_000
    answer_tokens: Annotated[int, msgspec.Meta(ge=200, le=20_000)] = 1_500


class Recall(msgspec.Struct, kw_only=True):
    """What is injected into sessions.

    Attributes:
        inject: inject notes at the start of a session.
        max_tokens: tokens of notes at the start of a session.
        hint: show one line to the user when notes were injected; costs no tokens.
        prompt: inject relevant notes at a prompt.
        prompt_tokens: tokens at one prompt.
        session_tokens: tokens at prompts and actions of one session.
        action: inject one line before an action or after an error.
        compaction: inject after a context compaction what the agent's summary lacks.
        compaction_tokens: tokens after a context compaction.
        wait_ms: milliseconds that a hook waits for the service.
    """

    inject: bool = True
    max_tokens: Annotated[int, msgspec.Meta(ge=200, le=10_000)] = 1500
    hint: bool = True
    prompt: bool = True
    prompt_tokens: Annotated[int, msgspec.Meta(ge=150, le=5_000)] = 300
    session_tokens: Annotated[int, msgspec.Meta(ge=0, le=50_000)] = 1500
    action: bool = True
    compaction: bool = True
    compaction_tokens: Annotated[int, msgspec.Meta(ge=200, le=10_000)] = 800
    wait_ms: Annotated[int, msgspec.Meta(ge=20, le=3_000)] = 150


class Model(msgspec.Struct, kw_only=True):
    """The model of one phase of the long-term memory.

    Attributes:
        provider: a name under llm.providers, an agent (claude-code, codex), or native
            (the session's own agent); empty: the phase does not run.
        model: another model than the provider's default.
    """

    provider: str = ""
    model: str = ""


class Longterm(msgspec.Struct, kw_only=True):
    """The long-term memory.

    Attributes:
        enabled: whether the service runs both phases by itself.
        extract: model of phase 1, which reads sessions.
        consolidate: model of phase 2, which proposes changes.
        max_age_days: sessions that are older are not read.
        idle_hours: hours that a session must have been quiet.
        sessions_per_run: sessions that one background run reads.
        parallel: sessions that are read at the same time.
        max_mb: larger sessions are not read.
        session_tokens: tokens of one session that a model is shown.
        daily_tokens: tokens that both phases may use in a day.
        run_turns: turns after which a consolidation is ended.
        run_minutes: minutes after which a consolidation is ended.
        run_tokens: tokens after which a consolidation is ended.
        memories: sessions whose memories one consolidation reads.
        unused_days: days without use after which a memory is forgotten; it can be
            restored for as long again.
        max_tokens: tokens that a new session gets of it.
        outside: whether sessions with content from outside (web, MCP) are left out.
        auto_accept: changes take effect without review.
    """

    enabled: bool = False
    extract: Model = msgspec.field(default_factory=Model)
    consolidate: Model = msgspec.field(default_factory=Model)
    max_age_days: Annotated[float, msgspec.Meta(ge=0, le=3650)] = 30.0
    idle_hours: Annotated[float, msgspec.Meta(ge=0, le=48)] = 6.0
    sessions_per_run: Annotated[int, msgspec.Meta(ge=1, le=128)] = 8
    parallel: Annotated[int, msgspec.Meta(ge=1, le=16)] = 4
    max_mb: Annotated[float, msgspec.Meta(gt=0, le=10_000)] = 50.0
    session_tokens: Annotated[int, msgspec.Meta(ge=1000, le=1_000_000)] = 40_000
    daily_tokens: Annotated[int, msgspec.Meta(ge=0)] = 500_000
    run_turns: Annotated[int, msgspec.Meta(ge=1, le=500)] = 60
    run_minutes: Annotated[float, msgspec.Meta(gt=0, le=240)] = 20.0
    run_tokens: Annotated[int, msgspec.Meta(ge=1000)] = 400_000
    memories: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 256
    unused_days: Annotated[float, msgspec.Meta(ge=0, le=365)] = 30.0
    max_tokens: Annotated[int, msgspec.Meta(ge=200, le=10_000)] = 2500
    outside: Literal["exclude", "include"] = "exclude"
    auto_accept: bool = False


class Evidence(msgspec.Struct, kw_only=True):
    """The archive of conversations behind notes.

    Attributes:
        enabled: whether captured turns are archived.
        max_mb: megabytes at most, the oldest go first; 0: no limit.
        max_days: days at most; 0: no limit.
    """

    enabled: bool = True
    max_mb: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 500.0
    max_days: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0


class History(msgspec.Struct, kw_only=True):
    """What undo can bring back.

    Attributes:
        max_mb: megabytes at most, the oldest go first; 0: no limit.
        max_days: days at most; 0: no limit.
    """

    max_mb: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 200.0
    max_days: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0


class Network(msgspec.Struct, kw_only=True):
    """Connections.

    Attributes:
        offline: refuse every connection that leaves this machine.
    """

    offline: bool = False


class Sync(msgspec.Struct, kw_only=True):
    """One memory on several machines.

    Attributes:
        remote: the git repository where your machines meet (`memsearch sync add`).
        encrypt: encrypt everything there; sync.key in the home is the key.
        every_minutes: minutes between two rounds of the service; 0: only when asked.
        evidence: send the archived conversations, too.
    """

    remote: str = ""
    encrypt: bool = False
    every_minutes: Annotated[float, msgspec.Meta(ge=0, le=10_080)] = 10.0
    evidence: bool = False


class Share(msgspec.Struct, kw_only=True):
    """Notes shared with a team.

    Attributes:
        author: your name there; empty: what git calls you.
    """

    author: str = ""


class Tui(msgspec.Struct, kw_only=True):
    """The app.

    Attributes:
        theme: name of a theme.
        mouse: whether the mouse works.
        keys: binding ids to keys, e.g. {delete = "x"}; `?` in the app lists the ids.
    """

    theme: str = ""
    mouse: bool = True
    keys: dict[str, str] = {}


class Settings(msgspec.Struct, kw_only=True):
    embedding: Embedding = msgspec.field(default_factory=Embedding)
    milvus: Milvus = msgspec.field(default_factory=Milvus)
    chunking: Chunking = msgspec.field(default_factory=Chunking)
    indexing: Indexing = msgspec.field(default_factory=Indexing)
    watch: Watch = msgspec.field(default_factory=Watch)
    search: Search = msgspec.field(default_factory=Search)
    service: Service = msgspec.field(default_factory=Service)
    mcp: Mcp = msgspec.field(default_factory=Mcp)
    capture: Capture = msgspec.field(default_factory=Capture)
    llm: Llm = msgspec.field(default_factory=Llm)
    plugins: dict[str, Plugin] = {}
    compact: Compact = msgspec.field(default_factory=Compact)
    documents: Documents = msgspec.field(default_factory=Documents)
    prompts: Prompts = msgspec.field(default_factory=Prompts)
    recall: Recall = msgspec.field(default_factory=Recall)
    evidence: Evidence = msgspec.field(default_factory=Evidence)
    longterm: Longterm = msgspec.field(default_factory=Longterm)
    history: History = msgspec.field(default_factory=History)
    network: Network = msgspec.field(default_factory=Network)
    sync: Sync = msgspec.field(default_factory=Sync)
    share: Share = msgspec.field(default_factory=Share)
    tui: Tui = msgspec.field(default_factory=Tui)
    warnings: list[str] = []


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
            text = (
                path.read_bytes()
                if allowed is None
                else safe_files.read(path, safe_files.MAX_SETTINGS)
            ).decode("utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"{path} can't be read: {getattr(error, 'strerror', '') or error}"
            ) from error
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(
                f"{path}: not valid TOML: {error}", "correct the file, or move it aside"
            ) from error
        flat, said = compatibility.translated(
            flatten(table), lambda model: (home.models / model).is_dir()
        )
        warnings += [
            f"{where(path, text, key)}: `{key}`: {instead}" for key, instead in said.items()
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
            _drop(merged, key)
    try:
        settings = msgspec.convert(merged, Settings, strict=True)
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


def _key_in(message: str, merged: dict[str, Any]) -> str:
    """The dotted key that a validation error is about. Inside named tables the message says
    ``[...]`` instead of the name: then it is the first such key whose value has not the right type.
    """
    path = message.rpartition("`$.")[2].rstrip("`") if "`$." in message else ""
    if "[...]" not in path:
        return path
    pattern = re.compile(re.escape(path).replace(re.escape("[...]"), r"\.[^.]+"))
    for key, value in flatten(merged).items():
        if pattern.fullmatch(key):
            try:
                msgspec.convert(value, _hint(key) or str, strict=True)
            except msgspec.ValidationError:
                return key
    return path


def where(path: Path, text: str, key: str) -> str:
    """``file:line`` of *key* in a TOML text."""
    table, _, name = key.rpartition(".")
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
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _hint(key: str) -> Any:
    if key.startswith(_KEYS_TABLE):
        return str
    table, _, name = key.rpartition(".")
    if re.fullmatch(r"llm\.providers\.[^.]+", table):
        return typing.get_type_hints(Provider, include_extras=True).get(name)
    if re.fullmatch(r"plugins\.[^.]+\.summarize", table):
        return typing.get_type_hints(Summarize, include_extras=True).get(name)
    if match := re.fullmatch(
        r"plugins\.[^.]+\.(project_review|user_profile|memory_to_skill)", table
    ):
        struct = SkillTask if match[1] == "memory_to_skill" else Task
        return typing.get_type_hints(struct, include_extras=True).get(name)
    return keys().get(key)


def type_name(hint: Any) -> str:
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) is Literal:
        return " | ".join(typing.get_args(hint))
    if isinstance(hint, types.GenericAlias | types.UnionType):
        return str(hint)
    return str(hint.__name__)


#: What a ``provider`` may say beside a name under ``llm.providers``; who summarises, also
#: ``extractive``.
_WITHOUT_PROVIDER = ("", "native", *agent_registry.names())


def _nameless_models(settings: Settings) -> list[str]:
    """Who was chosen to be asked, but is described nowhere."""
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
    """Write one key into the user's ``config.toml``, keeping its comments. Returns the typed value."""
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
        values[key] = _parse_value(key, text, hint)
    home.ensure()
    _write(
        Path(os.path.realpath(home.config)), values, private=True
    )  # the owner may keep it elsewhere
    return values


def set_in_project(file: Path, key: str, raw: str) -> Any:
    """Write one of the few keys that a project's file may set. Returns the typed value. Raises
    SettingsError.
    """
    if key in compatibility.PROJECT_KEYS:
        value: Any = (
            int(raw) if isinstance(compatibility.KEYS[key], int) and raw.isdecimal() else raw
        )
    elif key.startswith(PROJECT_KEYS) and (hint := _hint(key)) is not None:
        value = _parse_value(key, raw, hint)
    else:
        raise SettingsError(
            f"a project's file may not set `{key}`", f"it may set {', '.join(PROJECT_KEYS)}"
        )
    _write(file, {key: value})
    return value


def unset(home: Home, key: str) -> None:
    """Take one key out of the user's ``config.toml``: its default holds again. Raises
    SettingsError.
    """
    if key not in compatibility.KEYS and _hint(key) is None:
        raise SettingsError(f"unknown setting `{key}`", "`memsearch config list` shows them all")
    if home.config.exists():
        _write(Path(os.path.realpath(home.config)), {key: None}, private=True)


def _parts(key: str) -> list[str]:
    """The tables of a dotted key, and its name in the last. Names of actions have dots of their
    own.
    """
    name = key.removeprefix(_KEYS_TABLE)
    return key.split(".") if name == key else [*_KEYS_TABLE.strip(".").split("."), name]


def _pop_nested(table: Any, parts: list[str]) -> None:
    for part in parts[:-1]:
        table = table.get(part)
        if not isinstance(table, dict):
            return
    table.pop(parts[-1], None)


def _write(file: Path, values: dict[str, Any], *, private: bool = False) -> None:
    """Put keys into a TOML file (None: take them out), keeping what else stands in it, comments
    too. Links in a project lead nowhere else. ``private``: it may hold keys.
    """
    import tomlkit  # only here: 40 ms

    try:
        text = safe_files.read(file, safe_files.MAX_SETTINGS).decode("utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file} can't be read: {getattr(error, 'strerror', '') or error}"
        ) from error
    document = tomlkit.parse(text)
    for key, value in values.items():
        table: Any = document
        *tables, name = _parts(key)
        for part in tables:
            if part not in table:
                table[part] = tomlkit.table()
            table = table[part]
        if value is None:
            table.pop(name, None)
            _pop_nested(document, key.split("."))  # as an older version wrote names with dots
        else:
            table[name] = value
    try:
        safe_files.put(str(file), tomlkit.dumps(document).encode("utf-8"), private=private)
    except OSError as error:
        if error.errno == errno.EPERM:  # a link that leads elsewhere
            raise SettingsError(f"{file} can't be written: {error.strerror}") from error
        raise Unreachable(f"{file} can't be written: {error.strerror}") from error


def raw_value(home: Home, project_file: Path, key: str, default: Any = None) -> Any:
    """A value as memsearch's scripts ask for it: from the project's file, the user's, else its
    default, or *default*.
    """
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
    if hint is bool and raw.lower() in _SWITCHES:
        return _SWITCHES[raw.lower()]
    try:
        value: Any = (
            raw
            if hint is str or typing.get_origin(hint) is Literal
            else tomllib.loads(f"v = {raw}")["v"]
        )
        return msgspec.convert(value, hint, strict=True)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(f"`{key}` wants {type_name(hint)}, not {raw!r}") from error


def secret(value: str) -> str:
    """A key as written, or the environment variable that ``env:NAME`` names."""
    return os.environ.get(value[4:], "") if value.startswith("env:") else value


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    *tables, name = _parts(key)
    for part in tables:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise SettingsError(f"`{key}`: `{part}` is not a table")
    table[name] = value


def _drop(table: dict[str, Any], key: str) -> None:
    *tables, name = _parts(key)
    for part in tables:
        table = table[part]
    table.pop(name, None)
