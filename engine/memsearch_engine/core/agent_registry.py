"""The only list of agents, and the way to what is known of each.

An agent is a package. Its ``__init__`` has ``AGENT``, the facts below; the rest are parts that the
rooms which need them describe: ``reader`` (``agents/transcripts/readers.py``), ``installer``
(``agents/installing.py``), and, where an agent has such a thing, ``cli``
(``core/llm/cli.py``), ``compaction`` (``agents/transcripts/summary.py``), ``retention``
(``capture/retention.py``), ``memories`` (``agents/agent_files.py``) and ``mcp_entry``
(``agents/installing.py``). A part is imported when it is asked for. Standard library only: hooks
ask, and count milliseconds.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NamedTuple
else:

    class NamedTuple:
        """What an agent's facts need of ``typing.NamedTuple``, whose import costs a hook as much as
        its start.
        """

        def __init__(self, **facts):
            self.__dict__.update(facts)

        def __setattr__(self, name, value):
            raise AttributeError(f"can't set {name}")

        def __eq__(self, other):
            return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

        def __hash__(self):
            return hash(self.name)

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


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
    """What everybody may know of an agent.

    Attributes:
        name, title, tag: as commands name it; as people do; in two letters, in lists.
        program: its command; resume: what goes on with a session, ``{session}`` in its place;
            () where no command does.
        home_variable, home, sessions: the variable that moves its home; its home below the
            user's; where sessions lie in it ('': it can be told
            any folder for them).
        writes: how the files of its sessions end.
        context_lines: lines of recent notes that a new session is told.
        sessions_variable: the variable that moves nothing but its sessions ('': none does).
        also_called: other names of it in a query.
        anchor: the word for the path in an anchor that names no agent and is its; anchor_path:
            what stands in such a path ('': any).
        noted_by_minute: memsearch's anchors of its turns name no turn.
        session_marks: how variables begin that tell its programs that they run in a session.
        told_in, compacted: in a line of a session, what says that a hook was the one to speak;
            that all before it was summed up.
        replaced: what says that of all before it only that counts which this line repeats.
        transcript: where below its sessions the file of one lies, ``{session}`` in its place,
            where its hooks do not say so.
        answers_flat: its hooks say what they add at the top of their answer.
        escapes: it escapes angle brackets in what its hooks add.
        is_quiet: a hook that has nothing to say may print nothing.
        tools: its own tools by which it reads memory.
        shell_marks: variables of which its shells and servers have one: what runs with it was
            started by the agent.
        session_variable: the one of these programs that names the session.
        elsewhere: further folders below the user's home in which sessions lie.
        in_projects: its sessions lie in the projects that they were held in, each of which is a
            home of it.
        tells: when its sessions can be told something. An agent that can be told nothing is one
            whose sessions are only read: it has no
            ``installer``.
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
    session_marks: tuple[str, ...] = ()
    told_in: tuple[bytes, ...] = ()
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
    """Of all agents that are known, the first one first."""
    return tuple(PACKAGES)


def live() -> tuple[str, ...]:
    """Those whose turns are captured as they end; of the others sessions are only read."""
    return tuple(name for name in PACKAGES if agent(name).tells)


def agent(name: str) -> Agent:
    """The facts of an agent. Raises KeyError where none is called so."""
    return _facts(PACKAGES[name])


def _facts(package: str) -> Agent:
    """Cached, since every anchor that is read asks for all of them."""
    if package not in _FACTS:
        _FACTS[package] = __import__(package, fromlist=["AGENT"]).AGENT
    return _FACTS[package]


_FACTS: dict[str, Agent] = {}


def everyone() -> list[Agent]:
    """The facts of all of them."""
    return [agent(name) for name in PACKAGES]


def context_lines(name: str) -> int:
    """How many lines of recent notes a new session is told; 0 for an agent that nobody knows."""
    return agent(name).context_lines if name in PACKAGES else 0


def part(name: str, which: str) -> ModuleType | None:
    """A part of an agent's package; None where there is no such agent, or it has no such part."""
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
    """Whose an anchor is that names no agent: the one with its mark in the path before those that
    take any; '' where nobody's.
    """
    known = everyone()
    theirs = [
        one
        for one in known
        if one.anchor_path and one.anchor_path in path and kind in one.anchor.split()
    ]
    theirs += [one for one in known if kind and kind == one.anchor and not one.anchor_path]
    return theirs[0].name if theirs else ""
