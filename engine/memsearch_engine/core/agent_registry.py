"""The list of agents, and the way to each agent's package.

A package's ``__init__`` has ``AGENT``, the facts below. Its other parts are modules that rooms
import through ``part``: ``reader`` (``agents/transcripts/readers.py``), ``installer``
(``agents/installing.py``), and, where the agent has such a thing, ``cli`` (``core/llm/cli.py``) and
``memories`` (``agents/agent_files.py``). Standard library only: hooks import this module, and each
millisecond counts.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NamedTuple
else:

    class NamedTuple:
        """A minimal ``typing.NamedTuple``. Importing the original doubles the start of a hook."""

        def __init__(self, **facts):
            self.__dict__.update(facts)

        def __setattr__(self, name, value):
            raise AttributeError(f"can't set {name}")

        def __eq__(self, other):
            return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

        def __hash__(self):
            return hash(self.name)

        def __repr__(self):
            return (
                f"{type(self).__name__}("
                f"{', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
            )


#: name -> package. To add an agent: its package, and its line here.
PACKAGES = {
    "claude-code": "memsearch_engine.agents.claude_code",
    "codex": "memsearch_engine.agents.codex",
    "opencode": "memsearch_engine.agents.opencode",
    "openclaw": "memsearch_engine.agents.openclaw",
    "qwen": "memsearch_engine.agents.qwen",
    "gemini": "memsearch_engine.agents.gemini",
    "pi": "memsearch_engine.agents.pi",
    "copilot": "memsearch_engine.agents.copilot",
    "kilo": "memsearch_engine.agents.kilo",
    "cline": "memsearch_engine.agents.cline",
    "kimi": "memsearch_engine.agents.kimi",
    "vibe": "memsearch_engine.agents.vibe",
    "cursor": "memsearch_engine.agents.cursor",
    "aider": "memsearch_engine.agents.aider",
    "crush": "memsearch_engine.agents.crush",
    "goose": "memsearch_engine.agents.goose",
    "zed": "memsearch_engine.agents.zed",
}


class Agent(NamedTuple):
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
    resume: tuple[str, ...]
    home_variable: str
    home: str
    sessions: str
    writes: str
    context_lines: int
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


def names() -> tuple[str, ...]:
    """Names of all agents, in the order of the list."""
    return tuple(PACKAGES)


def live() -> tuple[str, ...]:
    """Names of the agents whose turns are captured as they end. Other agents are only imported."""
    return tuple(name for name in PACKAGES if agent(name).tells)


def agent(name: str) -> Agent:
    """Facts of the agent *name*. Raises KeyError for an unknown name."""
    return _facts(PACKAGES[name])


def _facts(package: str) -> Agent:
    """Cached: every anchor that is read needs all facts."""
    if package not in _FACTS:
        _FACTS[package] = __import__(package, fromlist=["AGENT"]).AGENT
    return _FACTS[package]


_FACTS: dict[str, Agent] = {}


def everyone() -> list[Agent]:
    """Facts of all agents."""
    return [agent(name) for name in PACKAGES]


def context_lines(name: str) -> int:
    """Lines of recent notes that a new session gets; 0 for an unknown agent."""
    return agent(name).context_lines if name in PACKAGES else 0


def part(name: str, which: str) -> ModuleType | None:
    """Return a module of an agent's package; None if the agent or the module does not exist."""
    if name not in PACKAGES:
        return None
    from importlib import import_module  # hooks ask for no part

    module = f"{PACKAGES[name]}.{which}"
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
