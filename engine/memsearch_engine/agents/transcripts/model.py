"""What every reader gives: sessions as they lie on disk, conversations opened lazily, turns."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from memsearch_engine.core.own_prompts import is_ours

_AT_ONCE = 8
_BETWEEN = "\n\n"  # pieces of an answer


TurnName = tuple[str, str, str]  #: agent, session, turn


class ToolCall(msgspec.Struct):
    name: str
    input: str
    output: str = ""
    failed: bool = False


#: Tools whose answers were written elsewhere, by the words that their names begin with (any
#: agent's, case ignored).
_OUTSIDE = (
    "web",
    "mcp",
    "codemode",
    "browser",
    "fetch",
    "readmcpresource",
    "listmcpresource",
    "read_mcp",
    "list_mcp",
    "google_search",
    "google_web_search",
    "codesearch",
    "callmcp",
    "call_mcp",
    "calldynamic",
    "getmcp",
)
#: Tools that let another agent work, whose own tools stand elsewhere.
SUB_AGENTS = (
    "task",
    "agent",
    "spawn_agent",
    "sessions_spawn",
    "subagent",
    "invoke_agent",
    "agentswarm",
    "team_spawn_teammate",
    "task_v2",
)
#: Tools that run a command.
SHELLS = (
    "bash",
    "shell",
    "shell_command",
    "exec",
    "exec_command",
    "local_shell",
    "local_shell_call",
    "run_terminal_cmd",
    "powershell",
    "run_shell_command",
    "run_commands",
    "run_terminal_command",
    "run_terminal_command_v2",
)
#: Programs that fetch what others wrote.
_FETCHES = re.compile(
    r"(?:^|[\s;&|(`'\"/])(?:curl|wget|https?|xh|aria2c|lynx|w3m|links|elinks|nc|ncat|netcat|telnet|gh|glab|hub|tea|ftp|yt-dlp)(?:\.exe)?\s+([^\n;&|]*)"
)
_HERE = re.compile(
    r"(?:https?://)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?=[:/\s'\"]|$)"
)
_PARSING = re.compile(r"(?:^|\s)(?:--version|--help|-V|version|help)\s*$")


#: Tools of `memsearch mcp`, as agents name them: what they give is this machine's, and says itself
#: where it comes from.
_OURS = re.compile(r"(?:mcp_*)?memsearch[_.]+(?:recall|open|timeline|note|remember|forget|correct)")


def brings_outside(tool: str, given: str) -> bool:
    """Whether a tool call takes in content from outside this machine."""
    name = tool.lower()
    if _OURS.fullmatch(name):
        return False
    if name.startswith(_OUTSIDE):
        return True
    if name not in SHELLS:
        return False
    return any(
        not _HERE.search(m[1]) and not _PARSING.search(m[1]) for m in _FETCHES.finditer(given)
    )


def is_servers_tool(name: str, own: Collection[str] = ()) -> bool:
    """Whether a tool is one of a server's, where an agent calls those ``server_tool``: what it
    gives comes from outside, unless it is ours.

    Args:
        own: the agent's own tools with a name of that shape. One that we don't know is better
            looked at once too often.
    """
    return "_" in name and name not in own and not _OURS.fullmatch(name.lower())


class Turn(msgspec.Struct):
    """One request of the user and all that followed.

    Attributes:
        turn: the agent's own id of the request (``promptId``, ``turn_id``, or the user
            message's id).
        started, ended: ISO 8601 with zone.
        status: ``done``, ``interrupted`` (no answer came) or ``failed`` (the model or its API
            refused).
        outside: a tool brought in content from outside the machine (web, MCP).
        aliases: other ids by which notes may call it: of its lines, of older versions, of
            memsearch. Not kept in evidence.
        branch: of the repository that it worked in, as its agent has noted it; '' where it did not.
        spoken: of each piece of the answer: how many tools were called before it, and its length.
        in_reply_to: the agent's question that a short reply answers, where it was looked for.
        replaced_by: the turn that was sent in place of this one after a rewind, '' for none.
            Not kept in evidence.
        replaces: the turns in whose place this one was sent: the rewound one and those that
            followed it.
    """

    agent: str
    session: str
    turn: str
    started: str = ""
    ended: str = ""
    cwd: str = ""
    user: str = ""
    assistant: str = ""
    tools: list[ToolCall] = []
    status: str = "done"
    outside: bool = False
    aliases: list[str] = []
    spoken: list[tuple[int, int]] = []
    branch: str = ""
    in_reply_to: str = ""
    replaced_by: str = ""
    replaces: list[str] = []

    def call(self, call: ToolCall) -> None:
        """Add a tool call; what brings in words from elsewhere makes the turn one with outside
        content.
        """
        self.tools.append(call)
        self.outside = self.outside or brings_outside(call.name, call.input)

    @property
    def is_ours(self) -> bool:
        """Whether memsearch asked: such a turn is about memories, and none itself."""
        return is_ours(self.user)

    def say(self, text: str) -> None:
        """Add a piece of the answer."""
        if text.strip():
            self.assistant = f"{self.assistant}{_BETWEEN}{text}" if self.assistant else text
            self.spoken.append((len(self.tools), len(text)))

    def fail(self, reason: str) -> None:
        """End the turn as one that the model or its API refused; nothing without a *reason*."""
        if reason:
            self.status = "failed"
            self.say(reason)

    @property
    def is_interleaved(self) -> bool:
        """Whether something was said before a tool was called."""
        return any(before < len(self.tools) for before, _ in self.spoken)

    def steps(self) -> Iterator[ToolCall | str]:
        """Tool calls and pieces of the answer in the order in which they came; all tools first
        where that is not known any more (secrets were taken out, or the middle of a long answer).
        """
        whole = sum(length for _, length in self.spoken) + len(_BETWEEN) * (len(self.spoken) - 1)
        called = at = 0
        if self.spoken and whole == len(self.assistant):
            for before, length in self.spoken:
                yield from self.tools[called:before]
                called = max(called, before)
                yield self.assistant[at : at + length]
                at += length + len(_BETWEEN)
        yield from self.tools[called:]
        if at == 0 and self.assistant:
            yield self.assistant


class Session(msgspec.Struct, frozen=True):
    """A session as its agent keeps it. ``kind`` is the anchor's word for ``path``: transcript,
    rollout or db.
    """

    agent: str
    session: str
    path: str
    kind: str
    modified: float = 0.0
    size: int = 0


class Conversation(ABC):
    """An opened session. Finding a turn costs an index, reading one costs that turn.

    Attributes:
        ids: turn ids, oldest first.
        parent: the session that started this one as a sub-agent; such sessions are no memory of
            their own.
        is_ephemeral: its agent marks it as one of which nothing is to stay.
        unknown: record kinds that the reader does not know, counted.
        aliases: other names of turns (of hooks, of older versions) -> their ids.
    """

    def __init__(self, where: Session) -> None:
        self.where = where
        self.agent = where.agent
        self.session = where.session
        self.ids: list[str] = []
        self.parent = ""
        self.is_ephemeral = False
        self.version = ""
        self.unknown: dict[str, int] = {}
        self.aliases: dict[str, str] = {}

    @abstractmethod
    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Turns ``first`` up to, not including, ``last``. Raises OSError where the agent took them
        away.
        """

    def each(self) -> Iterator[Turn]:
        """All turns, a few at a time: a session can be larger than memory should hold."""
        for first in range(0, len(self.ids), _AT_ONCE):
            yield from self.turns(first, first + _AT_ONCE)

    def find(self, turn: str) -> int:
        """The position of a turn, by its id, another name of it or an unambiguous beginning of one;
        -1 where it is not here.
        """
        turn = self.aliases.get(turn, turn)
        if turn in self.ids:
            return self.ids.index(turn)
        names = [*zip(self.ids, self.ids), *self.aliases.items()]
        near = {
            name for known, name in names if turn and known.startswith(turn) and name in self.ids
        }
        return self.ids.index(near.pop()) if len(near) == 1 else -1


class WholeConversation(Conversation):
    """A conversation whose turns are all read when it is opened."""

    def __init__(self, where: Session) -> None:
        super().__init__(where)
        self._turns: list[Turn] = []

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        return self._turns[first:last]

    def _begin(self, name: str, at: str, words: str, cwd: str) -> Turn:
        """Begin a turn, which counts as interrupted until an answer was read."""
        turn = Turn(
            self.agent, self.session, name, at, at, cwd, words, tools=[], status="interrupted"
        )
        self._turns.append(turn)
        return turn

    def _count(self, kind: object) -> None:
        count(self.unknown, kind)


def count(unknown: dict[str, int], kind: object) -> None:
    """Count a record of a kind that the reader does not know."""
    name = str(kind)[:40]
    unknown[name] = unknown.get(name, 0) + 1


_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u([dD][c-fC-F][0-9a-fA-F]{2})|.)",
    re.S,
)


def well_formed(raw: bytes) -> bytes:
    """JSON with every half of a surrogate pair that stands alone replaced by U+FFFD.

    JavaScript cuts strings in UTF-16 units and writes what is left as ``\\ud83d``; strict decoders
    (RFC 8259, 8.2) refuse the line.
    """
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _ESCAPE.sub(lambda m: rb"\ufffd" if m[3] or (m[1] and not m[2]) else m[0], raw)


def document(data: bytes) -> object:
    """What JSON of any writer's says: halves of surrogate pairs, numbers of any size and bytes that
    are no text spoil no other part of it.

    Raises:
        ValueError, RecursionError: it is no JSON.
    """
    data = well_formed(data)
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads(data.decode("utf-8", "replace"))


#: Clients name the blocks that they add to a prompt in more than one word, as people's HTML is not.
_TAG_FIRST = re.compile(r"\s*<([a-z][a-z0-9]*[-_][a-z0-9_-]{1,40})(?:\s[^<>]*)?>")
_TAG_LAST = re.compile(r"</([a-z][a-z0-9]*[-_][a-z0-9_-]{1,40})>\s*\Z")


def unknown_tag(prompt: str) -> str:
    """A kind to be counted in ``Conversation.unknown`` where a tagged block that no reader knows
    begins or ends a prompt: it may be another's words. '' for other prompts.
    """
    first, last = _TAG_FIRST.match(prompt), _TAG_LAST.search(prompt, max(0, len(prompt) - 100))
    if first and f"</{first[1]}>" in prompt:
        return f"(prompt with <{first[1]}>)"
    return f"(prompt with <{last[1]}>)" if last and f"<{last[1]}" in prompt else ""


def count_unknown_tag(unknown: dict[str, int], prompt: str) -> None:
    """Count the tagged block that no reader knows, where one begins or ends *prompt*."""
    if tag := unknown_tag(prompt):
        unknown[tag] = unknown.get(tag, 0) + 1


_RESULTS = ("toolResult", "tool_result")


def attached(content: object) -> str:
    """What a prompt without words holds, ``[image]`` or ``[document]`` for each; '' where it holds
    nothing.
    """
    blocks = (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )
    if any("functionResponse" in block or block.get("type") in _RESULTS for block in blocks):
        return ""  # a tool's pictures
    return " ".join(filter(None, map(_attachment, blocks)))


def _attachment(block: dict[str, Any]) -> str:
    for name in ("inlineData", "fileData"):
        if isinstance(data := block.get(name), dict):
            return "[image]" if text_of(data.get("mimeType")).startswith("image/") else "[document]"
    kind = text_of(block.get("type")).lower()
    return (
        "[image]"
        if "image" in kind
        else "[document]"
        if kind in ("document", "file", "input_file")
        else ""
    )


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def table_of(value: object, *names: str) -> dict[str, Any]:
    """A JSON object, or the one below it under *names*; {} where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def tables_of(value: object) -> list[dict[str, Any]]:
    """The JSON objects in a list; [] for anything that is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def value_of(given: object) -> Any:
    """The value of a text of JSON, None where it is no JSON; any other value as it is."""
    if not isinstance(given, str | bytes):
        return given
    try:
        return document(given.encode("utf-8", "replace") if isinstance(given, str) else given)
    except (ValueError, RecursionError):
        return None


def blocks_text(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """The text of a content value: a string, or a list of typed blocks."""
    if not isinstance(content, list):
        return text_of(content)
    texts = [
        text_of(b.get("text")) for b in content if isinstance(b, dict) and b.get("type") in kinds
    ]
    return "\n".join(text for text in texts if text)


def input_text(value: object) -> str:
    """A tool's input as text: the command of a shell, else its JSON."""
    if isinstance(value, dict):
        for key in ("command", "cmd"):
            command = value.get(key)
            if isinstance(command, str):
                return command
            if isinstance(command, list) and all(isinstance(part, str) for part in command):
                return (
                    command[2]
                    if len(command) == 3 and command[1] in ("-lc", "-c")
                    else " ".join(command)
                )
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode("utf-8", "replace") if value is not None else ""
