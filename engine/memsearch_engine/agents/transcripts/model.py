"""What every reader returns: sessions on disk, conversations that are opened lazily, and turns."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.core.own_prompts import is_ours

_AT_ONCE = 8
_BETWEEN = "\n\n"  # separates the pieces of an answer

TurnName = tuple[str, str, str]  # (agent, session, turn)


class ToolCall(msgspec.Struct):
    """One call of a tool, with its input and output as text."""

    name: str
    input: str
    output: str = ""
    failed: bool = False


#: Tools that return content from outside, by the beginning of their names (of any agent, case
#: ignored).
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
#: Tools that start another agent. Its tool calls are recorded elsewhere.
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
#: Programs that fetch content which others wrote.
_FETCHES = re.compile(
    r"(?:^|[\s;&|(`'\"/])(?:curl|wget|https?|xh|aria2c|lynx|w3m|links|elinks|nc|ncat|netcat|"
    r"telnet|gh|glab|hub|tea|ftp|yt-dlp)(?:\.exe)?\s+([^\n;&|]*)"
)
_HERE = re.compile(
    r"(?:https?://)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?=[:/\s'\"]|$)"
)
_PARSING = re.compile(r"(?:^|\s)(?:--version|--help|-V|version|help)\s*$")


#: Tools of `memsearch mcp`, in the spelling of each agent. Their results come from this machine and
#: name their origin.
_OURS = re.compile(r"(?:mcp_*)?memsearch[_.]+(?:recall|open|timeline|note|remember|forget|correct)")


def brings_outside(tool: str, given: str) -> bool:
    """Return whether a tool call takes in content from outside this machine.

    Args:
        tool: the tool's name.
        given: its input as text.
    """
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
    """Return whether a tool belongs to a server, for agents that name such tools ``server_tool``.

    Results of such tools come from outside, except those of our own server.

    Args:
        own: built-in tools with a name of that shape. A tool that is missing here counts as a
            server's, which is the safe side.
    """
    return "_" in name and name not in own and not _OURS.fullmatch(name.lower())


class Turn(msgspec.Struct):
    """One request of the user and everything that followed.

    Attributes:
        turn: the agent's own id of the request (``promptId``, ``turn_id``, or the user message's
            id).
        started, ended: ISO 8601 with zone.
        cwd: the working folder.
        user: the prompt.
        assistant: the answer.
        tools: the tool calls in their order.
        status: ``done``, ``interrupted`` (no answer came) or ``failed`` (the model or its API
            refused).
        outside: a tool brought in content from outside the machine (web, MCP).
        aliases: other ids that notes may use: ids of its lines, of older versions, of memsearch.
            Not archived.
        spoken: for each piece of the answer, the number of earlier tool calls and its length in
            characters.
        branch: branch of the repository, as the agent recorded it; ``""`` if unknown.
        in_reply_to: the agent's question that a short reply answers, if it was looked up.
        replaced_by: the turn that was sent instead of this one after a rewind, or ``""``. Not
            archived.
        replaces: the turns that this one replaces: the rewound turn and its successors.
        taken_back: the person took the turn back and has sent nothing since. Not archived.
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
    taken_back: bool = False

    def call(self, call: ToolCall) -> None:
        """Add a tool call, and mark the turn if the call brings in content from outside."""
        self.tools.append(call)
        self.outside = self.outside or brings_outside(call.name, call.input)

    @property
    def is_ours(self) -> bool:
        """Whether memsearch sent the prompt. Such a turn is not captured."""
        return is_ours(self.user)

    def say(self, text: str) -> None:
        """Add a piece of the answer."""
        if text.strip():
            self.assistant = f"{self.assistant}{_BETWEEN}{text}" if self.assistant else text
            self.spoken.append((len(self.tools), len(text)))

    def answer(self, text: str) -> None:
        """Add a piece of the answer. The turn counts as answered if the piece has words."""
        self.say(text)
        if text.strip():
            self.status = "done"

    def add_prompt(self, words: str) -> None:
        """Add words that the person sent during the turn."""
        self.user = f"{self.user}\n\n{words}" if self.user else words

    def use(self, name: object, given: object) -> ToolCall:
        """Add a tool call. The turn counts as interrupted until an answer follows.

        Args:
            given: the input, as the agent records it.
        """
        call = ToolCall(text_of(name), input_text(given))
        self.call(call)
        self.status = "interrupted"
        return call

    def fail(self, reason: str) -> None:
        """Mark the turn as refused by the model or its API. An empty *reason* changes nothing."""
        if reason:
            self.status = "failed"
            self.say(reason)

    @property
    def is_interleaved(self) -> bool:
        """Whether a piece of the answer came before a tool call."""
        return any(before < len(self.tools) for before, _ in self.spoken)

    def steps(self) -> Iterator[ToolCall | str]:
        """Yield tool calls and pieces of the answer in their order.

        All tool calls come first if the order is lost: secrets were removed, or the middle of a
        long answer.
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


def fail_last(turns: list[Turn], reason: str) -> None:
    """Mark the last turn as refused; see ``Turn.fail``."""
    if turns:
        turns[-1].fail(reason)


class Session(msgspec.Struct, frozen=True):
    """A session as its agent stores it.

    Attributes:
        path: the file.
        kind: the word for ``path`` in anchors: transcript, rollout or db.
        modified: seconds since 1970.
        size: bytes, 0 if unknown.
    """

    agent: str
    session: str
    path: str
    kind: str
    modified: float = 0.0
    size: int = 0


class Conversation(ABC):
    """An opened session. Finding a turn needs an index; reading a turn reads only that turn.

    Attributes:
        ids: turn ids, oldest first.
        parent: the session that started this one as a sub-agent. Such sessions are not captured.
        is_ephemeral: the agent marks the session as one that must leave no trace.
        version: version of the agent, ``""`` if unknown.
        unknown: kinds of records that the reader does not know, with their counts.
        aliases: other names of turns (of hooks, of older versions) -> their ids.
    """

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        """Open a session.

        Args:
            cache: the folder for offset indexes in memsearch's home, or None.

        Raises:
            OSError: it cannot be read.
        """
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
        """Return the turns from position *first* up to, but not including, *last*.

        Raises:
            OSError: the agent deleted them.
        """

    def taken_back(self) -> list[int]:
        """Return the positions of turns that the person took back while no other turn follows."""
        return []

    def each(self) -> Iterator[Turn]:
        """Yield all turns and read a few at a time, because a session can be larger than memory."""
        for first in range(0, len(self.ids), _AT_ONCE):
            yield from self.turns(first, first + _AT_ONCE)

    def find(self, turn: str) -> int:
        """Return the position of a turn, or -1.

        Args:
            turn: its id, another name of it, or an unambiguous beginning of one.
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
    """A conversation that reads all turns when it is opened."""

    def __init__(self, where: Session, cache: Path | None = None) -> None:
        super().__init__(where)
        self._turns: list[Turn] = []
        self._tools: dict[str, ToolCall] = {}  # by the ids that results name
        self._load()
        self.ids = [turn.turn for turn in self._turns]

    @abstractmethod
    def _load(self) -> None:
        """Read the session, and begin its turns with ``_begin``. Raises OSError."""

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        """Return the turns from *first* up to, but not including, *last*."""
        found = self._turns[first:last]
        for turn in found:
            sent_off = any(call.name.lower() in SUB_AGENTS for call in turn.tools)
            turn.outside = turn.outside or (sent_off and self._sub_agents_read_outside(turn))
        return found

    def _sub_agents_read_outside(self, turn: Turn) -> bool:
        """Return whether a sub-agent of *turn* read content from outside.

        Also true if it cannot be read. Readers that find this out when they open a session need
        no such method.
        """
        return False

    def _begin(self, name: str, at: str, words: str, cwd: str) -> Turn:
        """Begin a turn. It counts as interrupted until an answer is read."""
        turn = Turn(
            self.agent, self.session, name, at, at, cwd, words, tools=[], status="interrupted"
        )
        self._turns.append(turn)
        return turn

    def _use(self, key: object, name: object, given: object) -> ToolCall:
        """Add a tool call to the last turn. *key* is the id that its result names."""
        call = self._tools[text_of(key)] = self._turns[-1].use(name, given)
        return call

    def _count(self, kind: object) -> None:
        count(self.unknown, kind)


def set_result(
    tools: dict[str, ToolCall], key: object, output: str, failed: object = False
) -> None:
    """Record the result of the tool call with the id *key*, if there is such a call."""
    if call := tools.get(text_of(key)):
        call.output, call.failed = output, bool(failed)


_MAX_SUB_AGENTS = 200


def any_read_outside(
    session: str, children: Iterable[str], visit: Callable[[str], tuple[bool, Iterable[str]]]
) -> bool:
    """Return whether a sub-agent, or one that it started, read content from outside.

    Args:
        session: the session that started the sub-agents.
        children: the sessions of its sub-agents.
        visit: returns whether the agent of a session did so itself, and the sessions of its own
            sub-agents.

    Returns:
        Also true if there are more than 200 sessions, or *visit* raises OSError.
    """
    seen, waiting = {session}, list(children)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            is_outside, further = visit(name)
        except OSError:
            return True
        if is_outside or len(seen) > _MAX_SUB_AGENTS:
            return True
        waiting += further
    return False


def count(unknown: dict[str, int], kind: object) -> None:
    """Count a record of a kind that the reader does not know."""
    name = "(no kind)" if kind is None else str(kind)[:40]
    unknown[name] = unknown.get(name, 0) + 1


_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|"
    rb"u([dD][c-fC-F][0-9a-fA-F]{2})|.)",
    re.S,
)


def well_formed(raw: bytes) -> bytes:
    r"""Return JSON with every unpaired surrogate replaced by U+FFFD.

    JavaScript cuts strings in UTF-16 units and writes the remaining half as ``\ud83d``. Strict
    decoders refuse such a line (RFC 8259, section 8.2).
    """
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _ESCAPE.sub(lambda m: rb"\ufffd" if m[3] or (m[1] and not m[2]) else m[0], raw)


def document(data: bytes) -> object:
    """Decode JSON of any writer.

    It may be UTF-16. Unpaired surrogates, numbers of any size and invalid UTF-8 spoil no more.

    Raises:
        ValueError, RecursionError: it is not JSON.
    """
    data = well_formed(data)
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads(data.decode(json.detect_encoding(data), "replace"))


_RESULTS = ("toolResult", "tool_result")


def attached(content: object) -> str:
    """Return ``[image]`` or ``[document]`` for each attachment of a prompt without words."""
    blocks = (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )
    if any("functionResponse" in block or block.get("type") in _RESULTS for block in blocks):
        return ""  # images of a tool's result
    return " ".join(filter(None, map(_attachment, blocks)))


def _attachment(block: dict[str, Any]) -> str:
    for name in ("inlineData", "fileData"):
        if isinstance(data := block.get(name), dict):
            return "[image]" if text_of(data.get("mimeType")).startswith("image/") else "[document]"
    kind = (text_of(block.get("type")) + text_of(block.get("mime"))).lower()
    return (
        "[image]"
        if "image" in kind
        else "[document]"
        if kind.startswith(("document", "file", "input_file"))
        else ""
    )


def text_of(value: object) -> str:
    """Return *value* if it is a string, else ``""``."""
    return value if isinstance(value, str) else ""


def table_of(value: object, *names: str) -> dict[str, Any]:
    """Return a JSON object, or the object below it under *names*; ``{}`` if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def tables_of(value: object) -> list[dict[str, Any]]:
    """Return the JSON objects in a list; ``[]`` if it is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def value_of(given: object) -> Any:
    """Decode a string of JSON; return None if it is not JSON. Other values stay unchanged."""
    if not isinstance(given, str | bytes):
        return given
    try:
        return document(given.encode("utf-8", "replace") if isinstance(given, str) else given)
    except (ValueError, RecursionError):
        return None


def json_file(path: Path, limit: int = 0) -> dict[str, Any]:
    """Return the JSON object in a file; ``{}`` if there is none or it cannot be read.

    Args:
        limit: for files that another person may have made: the largest size in bytes. Links out of
            their folder are not followed then.
    """
    try:
        return table_of(document(safe_files.read(path, limit) if limit else path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def blocks_of(content: object) -> list[dict[str, Any]]:
    """Return the typed blocks of a content value, which is a string or a list of them."""
    return tables_of(content) if isinstance(content, list) else [{"type": "text", "text": content}]


def blocks_text(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """Return the text of a content value, which is a string or a list of typed blocks."""
    if not isinstance(content, list):
        return text_of(content)
    texts = [
        text_of(b.get("text")) for b in content if isinstance(b, dict) and b.get("type") in kinds
    ]
    return "\n".join(text for text in texts if text)


def input_text(value: object) -> str:
    """Return a tool's input as text: the command of a shell, else JSON."""
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
