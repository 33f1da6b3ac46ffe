"""The list of agents, and the way to each agent's package.

``AGENTS`` has the facts about each agent. Its package below ``agents/`` has its name, with ``_``
for ``-``. The parts of a package are modules that rooms import through ``part``: ``reader``
(``agents/transcripts/readers.py``), ``installer`` (``agents/installing.py``), and, where the agent
has such a thing, ``cli`` (``core/llm/cli.py``) and ``memories`` (``agents/agent_files.py``).
Standard library only: hooks import this module, and each millisecond counts.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    from dataclasses import dataclass
    from types import ModuleType
else:

    def dataclass(kind):
        """A minimal ``dataclasses.dataclass``. Importing the original doubles a hook's start."""
        kind.__init__ = lambda self, **facts: self.__dict__.update(facts)
        return kind


@dataclass
class Agent:
    """Facts about one agent.

    Attributes:
        name: its name in commands.
        title: its name for people.
        tag: two letters for lists.
        program: its command.
        resume: the command that resumes a session, with ``{session}``; () if there is none.
        home_variable: environment variable that moves its home.
        home: its home below the user's.
        sessions: where sessions are in it; ``""``: any folder may be named.
        writes: ending of its session files.
        context_lines: lines of recent notes that a new session gets.
        sessions_variable: environment variable that moves only its sessions, or ``""``.
        also_called: other names in a query.
        anchor: word before the path in an anchor without an agent name.
        anchor_path: what such a path contains; ``""``: anything.
        noted_by_minute: memsearch's anchors of its turns have a minute and no turn.
        rewind_copies: a rewind copies the turns into a new session.
        rewind_erases: a rewind deletes the later turns from the session.
        session_marks: beginnings of variables that its programs see inside a session.
        injected_in: text in a session line that shows output of a hook.
        compacted: text in a line that shows a context compaction.
        replaced: text in a line that replaces all lines before it.
        transcript: path of a session's file below ``sessions``, with ``{session}``, if hooks do not
            pass it.
        answers_flat: a hook's added context is at the top level of its answer.
        escapes: it escapes angle brackets in added context.
        is_quiet: a hook may print nothing.
        tools: its own tools that read memory.
        shell_marks: variables that are set in its shells and servers.
        session_variable: the one of them that holds the session's id.
        elsewhere: further folders below the user's home with sessions.
        in_projects: its sessions are inside the projects.
        tells: moments at which context can be injected. Empty: sessions are only imported, and
            there is no ``installer``.
    """

    name: str
    title: str
    tag: str
    program: str
    resume: tuple[str, ...] = ()
    home_variable: str = ""
    home: str = ""
    sessions: str = ""
    writes: str = ".jsonl"
    context_lines: int = 30
    sessions_variable: str = ""
    also_called: tuple[str, ...] = ()
    anchor: str = ""
    anchor_path: str = ""
    noted_by_minute: bool = False
    rewind_copies: bool = False
    rewind_erases: bool = False
    session_marks: tuple[str, ...] = ()
    injected_in: tuple[bytes, ...] = ()
    compacted: tuple[bytes, ...] = ()
    replaced: tuple[bytes, ...] = ()
    transcript: str = ""
    answers_flat: bool = False
    escapes: bool = False
    is_quiet: bool = False
    tools: tuple[str, ...] = ()
    shell_marks: tuple[str, ...] = ()
    session_variable: str = ""
    elsewhere: tuple[str, ...] = ()
    in_projects: bool = False
    tells: tuple[str, ...] = ("start", "prompt", "action", "compaction")


#: name -> facts, in the order in which agents are listed.
AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude-code",
            title="Claude Code",
            tag="cl",
            program="claude",
            resume=("claude", "--resume", "{session}"),
            home_variable="CLAUDE_CONFIG_DIR",
            home=".claude",
            sessions="projects",
            also_called=("claude", "claudecode", "claude_code"),
            anchor="transcript",
            session_marks=(
                "CLAUDECODE",
                "CLAUDE_CODE_",
                "CLAUDE_PID",
                "CLAUDE_PROJECT_DIR",
                "CLAUDE_PLUGIN_",
            ),
            injected_in=(b'"hook_additional_context"',),
            compacted=(b'"subtype":"compact_boundary"',),
            is_quiet=True,
            shell_marks=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
            session_variable="CLAUDE_CODE_SESSION_ID",
        ),
        Agent(
            name="codex",
            title="Codex CLI",
            tag="cx",
            program="codex",
            resume=("codex", "resume", "{session}"),
            home_variable="CODEX_HOME",
            home=".codex",
            sessions="sessions",
            anchor="rollout",
            noted_by_minute=True,
            injected_in=(b'"role":"developer"',),
            compacted=(b'"type":"compacted"',),
            is_quiet=True,
            shell_marks=(
                "CODEX_THREAD_ID",
                "CODEX_CI",
                "CODEX_SANDBOX",
                "CODEX_SANDBOX_NETWORK_DISABLED",
            ),
            session_variable="CODEX_THREAD_ID",
        ),
        Agent(
            name="opencode",
            title="OpenCode",
            tag="oc",
            program="opencode",
            resume=("opencode", "--session", "{session}"),
            home_variable="XDG_DATA_HOME",
            home=".local/share",
            sessions="opencode",
            writes=".db",
            context_lines=15,
            anchor="db",
            rewind_erases=True,
            shell_marks=("OPENCODE",),
            tools=("memory_search", "memory_get", "memory_transcript"),
        ),
        Agent(
            name="openclaw",
            title="OpenClaw",
            tag="ow",
            program="openclaw",
            resume=("openclaw", "tui", "--session", "{session}"),
            home_variable="OPENCLAW_STATE_DIR",
            home=".openclaw",
            sessions="agents",
            writes=".sqlite and .jsonl",
            context_lines=15,
            anchor="transcript db",
            anchor_path="openclaw",
            noted_by_minute=True,
            rewind_copies=True,
            tells=("start", "prompt", "compaction"),
            shell_marks=("OPENCLAW_SHELL", "OPENCLAW_CLI"),
            tools=("memsearch_search", "memsearch_get", "memsearch_transcript"),
        ),
        Agent(
            name="qwen",
            title="Qwen Code",
            tag="qw",
            program="qwen",
            resume=("qwen", "--resume", "{session}"),
            home_variable="QWEN_HOME",
            home=".qwen",
            sessions="projects",
            sessions_variable="QWEN_RUNTIME_DIR",
            also_called=("qwen-code", "qwencode", "qwen_code"),
            session_marks=(
                "QWEN_CODE_",
                "QWEN_PROJECT_DIR",
                "GEMINI_PROJECT_DIR",
                "CLAUDE_PROJECT_DIR",
            ),
            # Context from a hook at the start is part of the system prompt and in no file, so a
            # resumed session gets it again.
            injected_in=(),
            compacted=(b'"subtype":"chat_compression"',),
            escapes=True,
            is_quiet=True,
            shell_marks=("QWEN_CODE", "QWEN_CODE_SESSION_ID"),
            session_variable="QWEN_CODE_SESSION_ID",
        ),
        Agent(
            name="gemini",
            title="Gemini CLI",
            tag="ge",
            program="gemini",
            resume=("gemini", "--resume", "{session}"),
            home_variable="GEMINI_CLI_HOME",
            # the variable names the parent of the agent's folder
            sessions=".gemini/tmp",
            writes=".jsonl or .json",
            also_called=("gemini-cli", "geminicli", "gemini_cli"),
            session_marks=(
                "GEMINI_SESSION_ID",
                "GEMINI_PROJECT_DIR",
                "GEMINI_CWD",
                "GEMINI_PLANS_DIR",
                "CLAUDE_PROJECT_DIR",
            ),
            injected_in=(b"<hook_context>",),
            compacted=(b'[{"text":"<state_snapshot>',),
            replaced=(b'{"$set":{"messages":',),
            escapes=True,
            is_quiet=True,
            shell_marks=("GEMINI_CLI", "GEMINI_SESSION_ID"),
            session_variable="GEMINI_SESSION_ID",
        ),
        Agent(
            name="pi",
            title="pi",
            tag="pi",
            program="pi",
            resume=("pi", "--session", "{session}"),
            home_variable="PI_CODING_AGENT_DIR",
            home=".pi/agent",
            # not in a folder of that name, but directly in the folder that its variable names
            sessions_variable="PI_CODING_AGENT_SESSION_DIR",
            also_called=("pi-agent", "pi-coding-agent"),
            # only these: other variables with this beginning name its folders
            session_marks=("PI_SESSION_ID", "PI_SESSION_FILE"),
            injected_in=(b'"customType":"memsearch"',),
            compacted=(b'{"type":"compaction"',),
            shell_marks=("PI_CODING_AGENT", "PI_SESSION_ID"),
            session_variable="PI_SESSION_ID",
        ),
        Agent(
            name="copilot",
            title="GitHub Copilot CLI",
            tag="co",
            program="copilot",
            resume=("copilot", "--resume", "{session}"),
            home_variable="COPILOT_HOME",
            home=".copilot",
            sessions="session-state",
            also_called=("copilot-cli", "github-copilot", "copilotcli"),
            session_marks=(
                "COPILOT_AGENT_SESSION_ID",
                "COPILOT_CLI",
                "COPILOT_HOOK_DIR",
                "COPILOT_PROJECT_DIR",
                "CLAUDE_PROJECT_DIR",
            ),
            # Context from a session's start is lost with a context compaction or the process;
            # context of a prompt stays with the prompt.
            injected_in=(b"<system_reminder>",),
            compacted=(b'"type":"session.compaction_complete","data":{"success":true',),
            transcript="{session}/events.jsonl",
            answers_flat=True,
            rewind_erases=True,
            shell_marks=("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"),
            session_variable="COPILOT_AGENT_SESSION_ID",
        ),
        Agent(
            name="kilo",
            title="Kilo CLI",
            tag="ki",
            program="kilo",
            resume=("kilo", "-s", "{session}"),
            home_variable="XDG_DATA_HOME",
            home=".local/share",
            sessions="kilo",
            writes=".db",
            also_called=("kilo-code", "kilocode"),
            tells=(),
            rewind_erases=True,
            shell_marks=("KILO",),
        ),
        Agent(
            name="cline",
            title="Cline CLI",
            tag="cn",
            program="cline",
            resume=("cline", "--id", "{session}"),
            home_variable="CLINE_DATA_DIR",
            home=".cline/data",
            sessions="sessions",
            writes=".messages.json",
            also_called=("cline-cli",),
            tells=(),
            shell_marks=("CLINE_ACTIVE",),
        ),
        Agent(
            name="kimi",
            title="Kimi Code",
            tag="km",
            program="kimi",
            resume=("kimi", "-r", "{session}"),
            home_variable="KIMI_CODE_HOME",
            home=".kimi-code",
            sessions="sessions",
            also_called=("kimi-code", "kimi-cli"),
            tells=(),
        ),
        Agent(
            name="vibe",
            title="Mistral Vibe",
            tag="vi",
            program="vibe",
            resume=("vibe", "--resume", "{session}"),
            home_variable="VIBE_HOME",
            home=".vibe",
            sessions="logs/session",
            writes="CURRENT and .jsonl",
            also_called=("mistral-vibe", "mistral"),
            tells=(),
        ),
        Agent(
            name="cursor",
            title="Cursor",
            tag="cu",
            program="cursor-agent",
            resume=("cursor-agent", "--resume={session}"),
            home_variable="CURSOR_DATA_DIR",
            home=".cursor",
            sessions="projects",
            elsewhere=(
                ".config/Cursor/User/globalStorage",
                "Library/Application Support/Cursor/User/globalStorage",
            ),
            writes=".vscdb or .jsonl",
            also_called=("cursor-agent", "cursor-cli"),
            tells=(),
            rewind_erases=True,
            shell_marks=("CURSOR_AGENT",),
        ),
        Agent(
            name="aider",
            title="Aider",
            tag="ai",
            program="aider",
            resume=("aider", "--restore-chat-history"),
            in_projects=True,
            writes=".aider.chat.history.md",
            also_called=("aider-chat",),
            tells=(),
        ),
        Agent(
            name="crush",
            title="Crush",
            tag="cr",
            program="crush",
            resume=("crush", "--session", "{session}"),
            sessions=".crush",
            in_projects=True,
            writes=".db",
            tells=(),
            shell_marks=("CRUSH",),
        ),
        Agent(
            name="goose",
            title="Goose",
            tag="gs",
            program="goose",
            resume=("goose", "session", "--resume", "--session-id", "{session}"),
            home_variable="XDG_DATA_HOME",
            home=".local/share",
            sessions="goose/sessions",
            writes=".db",
            tells=(),
            shell_marks=("GOOSE_TERMINAL",),
        ),
        Agent(
            name="zed",
            title="Zed",
            tag="zd",
            program="zed",
            home_variable="XDG_DATA_HOME",
            home=".local/share",
            sessions="zed/threads",
            elsewhere=("Library/Application Support/Zed/threads",),
            writes=".db",
            tells=(),
        ),
    )
}


def names() -> tuple[str, ...]:
    """Names of all agents, in the order of the list."""
    return tuple(AGENTS)


def live() -> tuple[str, ...]:
    """Names of the agents whose turns are captured as they end. Other agents are only imported."""
    return tuple(name for name, facts in AGENTS.items() if facts.tells)


def agent(name: str) -> Agent:
    """Facts of the agent *name*. Raises KeyError for an unknown name."""
    return AGENTS[name]


def everyone() -> list[Agent]:
    """Facts of all agents."""
    return list(AGENTS.values())


def context_lines(name: str) -> int:
    """Lines of recent notes that a new session gets; 0 if the agent gets none or is unknown."""
    return AGENTS[name].context_lines if name in live() else 0


def part(name: str, which: str) -> ModuleType | None:
    """Return a module of an agent's package; None if the agent or the module does not exist."""
    if name not in AGENTS:
        return None
    from importlib import import_module  # hooks ask for no part

    module = f"memsearch_engine.agents.{name.replace('-', '_')}.{which}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None


def owner(kind: str, path: str) -> str:
    """Return the agent of an anchor without an agent name; ``""`` if there is none.

    Agents with a mark in the path take precedence over agents that accept any path.
    """
    known = everyone()
    theirs = [
        one
        for one in known
        if one.anchor_path and one.anchor_path in path and kind in one.anchor.split()
    ]
    theirs += [one for one in known if kind and kind == one.anchor and not one.anchor_path]
    return theirs[0].name if theirs else ""
