"""The settings: one class per table of ``config.toml``.

The page of settings in the documentation is made from the ``Attributes`` of these classes.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class EmbeddingSettings(msgspec.Struct, kw_only=True):
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


class MilvusSettings(msgspec.Struct, kw_only=True):
    """Where the index is.

    Attributes:
        uri: address of a Milvus server or Zilliz Cloud; empty: the index is in the home.
        token: the token, or env:NAME.
        lite: accepted for files of earlier versions; has no effect.
    """

    uri: str = ""
    token: str = ""
    lite: bool = True


class ChunkingSettings(msgspec.Struct, kw_only=True):
    """How notes are cut for the index.

    Attributes:
        max_chars: characters of a chunk at most.
    """

    max_chars: Annotated[int, msgspec.Meta(ge=200, le=20_000)] = 1500


class IndexingSettings(msgspec.Struct, kw_only=True):
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


class WatchSettings(msgspec.Struct, kw_only=True):
    """How changes of files are followed.

    Attributes:
        debounce_ms: milliseconds to wait after a change.
    """

    debounce_ms: int = 200


class SearchSettings(msgspec.Struct, kw_only=True):
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


class McpSettings(msgspec.Struct, kw_only=True):
    """The MCP server.

    Attributes:
        projects: whether a client may ask for other projects than the one it works in.
    """

    projects: Literal["own", "all"] = "own"


class ServiceSettings(msgspec.Struct, kw_only=True):
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


class CaptureSettings(msgspec.Struct, kw_only=True):
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
        provider: a value of capture.summarize.provider; native: the agent of this table.
        model: another model than the provider's default.
        min_interval_hours: pause after each run, in hours.
        input_dir: folder of the notes, below the project; empty: the default.
        output_file: the page, below the project; empty: the default.
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


class PluginSettings(msgspec.Struct, kw_only=True):
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


class PromptSettings(msgspec.Struct, kw_only=True):
    """Your own files with instructions for models.

    Attributes:
        project_review: instead of the built-in text for PROJECT.md.
        user_profile: instead of the built-in text for USER.md.
        memory_to_skill: instead of the built-in text for skills.
    """

    project_review: str = ""
    user_profile: str = ""
    memory_to_skill: str = ""


class DocumentSettings(msgspec.Struct, kw_only=True):
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


class LlmSettings(msgspec.Struct, kw_only=True):
    """Models that may be asked.

    Attributes:
        providers: table of providers by name.
        timeout_s: seconds until a request is given up.
    """

    providers: dict[str, Provider] = {}
    timeout_s: Annotated[float, msgspec.Meta(ge=1, le=600)] = 60.0


class CompactSettings(msgspec.Struct, kw_only=True):
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


class RecallSettings(msgspec.Struct, kw_only=True):
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


class PhaseModelSettings(msgspec.Struct, kw_only=True):
    """The model of one phase of the long-term memory.

    Attributes:
        provider: a name under llm.providers, an agent (claude-code, codex), or native
            (the session's own agent); empty: the phase does not run.
        model: another model than the provider's default.
    """

    provider: str = ""
    model: str = ""


class LongtermSettings(msgspec.Struct, kw_only=True):
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
    extract: PhaseModelSettings = msgspec.field(default_factory=PhaseModelSettings)
    consolidate: PhaseModelSettings = msgspec.field(default_factory=PhaseModelSettings)
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


class EvidenceSettings(msgspec.Struct, kw_only=True):
    """The archive of conversations behind notes.

    Attributes:
        enabled: whether captured turns are archived.
        max_mb: megabytes at most, the oldest go first; 0: no limit.
        max_days: days at most; 0: no limit.
    """

    enabled: bool = True
    max_mb: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 500.0
    max_days: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0


class HistorySettings(msgspec.Struct, kw_only=True):
    """What undo can bring back.

    Attributes:
        max_mb: megabytes at most, the oldest go first; 0: no limit.
        max_days: days at most; 0: no limit.
    """

    max_mb: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 200.0
    max_days: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0


class NetworkSettings(msgspec.Struct, kw_only=True):
    """Connections.

    Attributes:
        offline: refuse every connection that leaves this machine.
    """

    offline: bool = False


class SyncSettings(msgspec.Struct, kw_only=True):
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


class ShareSettings(msgspec.Struct, kw_only=True):
    """Notes shared with a team.

    Attributes:
        author: your name there; empty: what git calls you.
    """

    author: str = ""


class TuiSettings(msgspec.Struct, kw_only=True):
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
    """All settings, with their defaults."""

    embedding: EmbeddingSettings = msgspec.field(default_factory=EmbeddingSettings)
    milvus: MilvusSettings = msgspec.field(default_factory=MilvusSettings)
    chunking: ChunkingSettings = msgspec.field(default_factory=ChunkingSettings)
    indexing: IndexingSettings = msgspec.field(default_factory=IndexingSettings)
    watch: WatchSettings = msgspec.field(default_factory=WatchSettings)
    search: SearchSettings = msgspec.field(default_factory=SearchSettings)
    service: ServiceSettings = msgspec.field(default_factory=ServiceSettings)
    mcp: McpSettings = msgspec.field(default_factory=McpSettings)
    capture: CaptureSettings = msgspec.field(default_factory=CaptureSettings)
    llm: LlmSettings = msgspec.field(default_factory=LlmSettings)
    plugins: dict[str, PluginSettings] = {}
    compact: CompactSettings = msgspec.field(default_factory=CompactSettings)
    documents: DocumentSettings = msgspec.field(default_factory=DocumentSettings)
    prompts: PromptSettings = msgspec.field(default_factory=PromptSettings)
    recall: RecallSettings = msgspec.field(default_factory=RecallSettings)
    evidence: EvidenceSettings = msgspec.field(default_factory=EvidenceSettings)
    longterm: LongtermSettings = msgspec.field(default_factory=LongtermSettings)
    history: HistorySettings = msgspec.field(default_factory=HistorySettings)
    network: NetworkSettings = msgspec.field(default_factory=NetworkSettings)
    sync: SyncSettings = msgspec.field(default_factory=SyncSettings)
    share: ShareSettings = msgspec.field(default_factory=ShareSettings)
    tui: TuiSettings = msgspec.field(default_factory=TuiSettings)
    warnings: list[str] = []
