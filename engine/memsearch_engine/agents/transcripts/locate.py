"""Finds the turns behind an anchor, only in folders where the agent stores its sessions.

An anchor is untrusted text. Its path is used only if it lies in one of the agent's own folders.
Otherwise the session is looked up there by its id. This also finds sessions after a home or a
configuration folder was moved.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from memsearch_engine.agents.transcripts.model import Conversation, Session, Turn
from memsearch_engine.agents.transcripts.readers import FileReader, reader, reader_of
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import NotFound
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.migrations import read_rows

_READ = 16  # turns that are read at once in a search for words
_WORD = re.compile(r"[A-Za-z0-9]{1,8}")
_SESSION = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._:-]{0,199}$")


class Excerpt(msgspec.Struct):
    """A part of a conversation.

    Attributes:
        turns: the requested turns, oldest first.
        index: position of the wanted turn in ``turns``, -1 if none was named.
        first: position of ``turns[0]`` in the session.
        total: number of turns of the session.
        state: ``live``, or ``archived`` if the agent no longer has the session.
        left_out: number of characters that ``shorten`` removed.
        is_near: the wanted turn is missing; ``index`` is the turn that began nearest to it.
    """

    path: str
    turns: list[Turn]
    index: int
    first: int = 0
    total: int = 0
    state: str = "live"
    left_out: int = 0
    is_near: bool = False

    def shorten(self) -> None:
        """Shorten the excerpt to about 60,000 characters, so that an agent does not pay for more.

        The middle of long texts and outputs goes first, then whole turns, the farthest from the
        wanted turn first.
        """
        meant, room = max(self.index, 0), _MAX
        chosen: set[int] = set()
        for place in sorted(range(len(self.turns)), key=lambda place: (abs(place - meant), place)):
            turn = self.turns[place]
            self.left_out += _shorten_turn(turn)
            size = _size(turn)
            if chosen and (size > room or len(chosen) == _MAX_TURNS):
                self.left_out += size
                room = 0  # drop all turns that are farther away, so that there are no gaps
                continue
            room -= size
            chosen.add(place)
        if chosen:
            self.first += min(chosen)
            self.index = max(-1, self.index - min(chosen))
        self.turns = [turn for place, turn in enumerate(self.turns) if place in chosen]


_MAX, _MAX_TURNS = 60_000, 40
_MAX_TEXT, _MAX_OUTPUT, _MAX_TOOLS = 12_000, 1_500, 30_000


def _size(turn: Turn) -> int:
    return (
        len(turn.user)
        + len(turn.assistant)
        + sum(len(tool.input) + len(tool.output) for tool in turn.tools)
    )


def _shorten_turn(turn: Turn) -> int:
    """Shorten the texts of a turn. Return the number of removed characters."""
    before = _size(turn)
    turn.user, turn.assistant = (
        _without_middle(turn.user, _MAX_TEXT),
        _without_middle(turn.assistant, _MAX_TEXT),
    )
    room = _MAX_TOOLS
    for number, tool in enumerate(turn.tools):
        tool.input, tool.output = (
            _without_middle(tool.input, _MAX_OUTPUT),
            _without_middle(tool.output, _MAX_OUTPUT),
        )
        room -= len(tool.input) + len(tool.output)
        if room < 0:
            del turn.tools[number:]
            break
    return max(0, before - _size(turn))


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return (
        f"{text[: most * 2 // 3]}\n"
        f"[… {len(text) - most} characters left out: --full …]\n{text[-most // 3 :]}"
    )


def all_sessions(
    agent: str, folders: AgentFolders, failed: list[tuple[str, str]] | None = None
) -> Iterator[Session]:
    """Return every session of an agent once. Files that are links out of its folders are ignored.

    Args:
        failed: gets a pair (path, reason) for everything that cannot be read.
    """
    seen: set[tuple[str, str]] = set()
    failed = [] if failed is None else failed
    reads = reader(agent)
    if reads is None:
        return
    for folder in folders.of(agent):
        if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
            failed.append((str(folder), "Permission denied"))
            continue
        for found in reads.sessions(folder, failed):
            key = (os.path.realpath(found.path), found.session)
            if key in seen:
                continue
            if _is_theirs(found.path, folder, agent) or _inside(found.path, folder.parent):
                seen.add(key)
                yield found
            else:
                failed.append((found.path, "a link out of the agent's folders"))


def unread_files(agent: str, folders: AgentFolders) -> list[tuple[str, str]]:
    """List what is in an agent's folders and is not read.

    Returns:
        Pairs (path, reason).
    """
    found: list[tuple[str, str]] = []
    for _ in all_sessions(agent, folders, found):
        pass
    return found + unknown_files(agent, folders)


def unknown_files(agent: str, folders: AgentFolders) -> list[tuple[str, str]]:
    """List the files in an agent's folders that seem to be sessions and that its reader skips.

    Returns:
        Pairs (path, reason).
    """
    reads = reader(agent)
    places = folders.of(agent) if reads else []
    found = (one for place in places if reads for one in reads.unknown_files(place))
    return list(dict.fromkeys(found))


def find_session(agent: str, session: str, path: str, folders: AgentFolders) -> Session | None:
    """Return the session of an anchor, or None if the agent no longer has it."""
    reads = reader(agent)
    if reads is None:
        return None
    places = [place for place in folders.of(agent) if place.exists()]
    if "\0" not in path and os.path.isfile(candidate := os.path.expanduser(path)):
        known = agent_registry.agent(agent)
        # a file of the location itself, which is a project
        if known.in_projects and not known.sessions:
            is_theirs = os.path.realpath(os.path.dirname(candidate)) in map(
                os.path.realpath, places
            )
        else:
            is_theirs = any(_is_theirs(candidate, place, agent) for place in places)
        if is_theirs:
            with contextlib.suppress(OSError):
                if found := reads.at(candidate, session):
                    return found
    if not _SESSION.match(session):
        return None
    for place in places:
        found = reads.locate(place, session)
        if found and any(_is_theirs(found.path, inner, agent) for inner in places):
            return found
    return None


class SessionFinder:
    """Finds many sessions: it lists the files of each agent once.

    A session whose file appears meanwhile may not be found.
    """

    def __init__(self, folders: AgentFolders) -> None:
        self._folders = folders
        self._words: dict[str, set[str] | None] = {}

    def find(self, agent: str, session: str, path: str) -> Session | None:
        """As ``find_session``."""
        if agent not in self._words:
            self._words[agent] = self._words_of(agent)
        words, first = self._words[agent], _WORD.match(session)
        is_unnamed = words is not None and first and first[0].lower() not in words
        if is_unnamed and ("\0" in path or not os.path.isfile(os.path.expanduser(path))):
            return None
        return find_session(agent, session, path, self._folders)

    def _words_of(self, agent: str) -> set[str] | None:
        """The words in the names of an agent's files; None if its sessions have no files.

        The name of a session's file contains the session's id, or its first eight characters.
        """
        reads, places = reader(agent), self._folders.of(agent)
        if isinstance(reads, FileReader):
            files = (file for place in places for file in reads.files(place))
            return {word.lower() for file in files for word in _WORD.findall(str(file))}
        return None if any(place.exists() for place in places) else set()


def open_session(where: Session, cache: Path | None = None) -> Conversation:
    """Open a session. Raises OSError if its file cannot be read."""
    reads = reader(where.agent)
    assert reads is not None, where.agent
    return reads.open_session(where, cache)


def open_anchor(
    agent: str,
    session: str,
    turn: str,
    path: str,
    folders: AgentFolders,
    *,
    context: int | None = None,
    cache: Path | None = None,
) -> Excerpt:
    """Return the turn behind an anchor and the turns around it.

    Args:
        context: number of turns on each side. None: the whole session.
        cache: the folder of offset indexes.

    Raises:
        NotFound: the agent no longer has the session, or the turn is not in it.
    """
    return window(anchored(agent, session, path, folders, cache=cache), turn, context)


def anchored(
    agent: str, session: str, path: str, folders: AgentFolders, *, cache: Path | None = None
) -> Conversation:
    """Return the conversation of an anchor. Raises NotFound if the agent no longer has it."""
    if agent not in agent_registry.names():
        known = f"known: {', '.join(agent_registry.names())}"
        raise NotFound(f"conversations of {agent or 'an unknown agent'} can't be read", known)
    where = find_session(agent, session, path, folders)
    if where is None:
        raise NotFound(
            f"the conversation of session {session} is gone: {agent} no longer has it",
            "the note itself is untouched",
        )
    return _opened(where, cache)


def open_file(
    path: str,
    turn: str = "",
    session: str = "",
    *,
    context: int | None = None,
    cache: Path | None = None,
) -> Excerpt:
    """Return turns of a transcript file or database that the user named.

    Its content decides the agent.

    Args:
        turn: the wanted turn; ``""`` for all.
        session: needed if the file holds several.
        context: number of turns on each side. None: the whole session.

    Raises:
        UsageError: no known agent wrote the file.
        NotFound: the file has no such session or turn.
    """
    return window(_opened(recognise(path, session), cache), turn, context)


def recognise(path: str, session: str = "") -> Session:
    """Return the session in a file, with its agent."""
    try:
        found = reader_of(path).at(path, session)
    except OSError as error:
        raise NotFound(f"{path} can't be read: {error.strerror}") from error
    if found is None:
        raise NotFound(
            f"no session {session} in {path}".replace("  ", " "),
            "`memsearch transcript ENTRY` opens the conversation of a note",
        )
    return found


def _opened(where: Session, cache: Path | None) -> Conversation:
    try:
        return open_session(where, cache)
    except OSError as error:
        raise NotFound(f"{where.path} can't be read: {error.strerror or error}") from error


def window(conversation: Conversation, turn: str, context: int | None) -> Excerpt:
    """Return *turn* with *context* turns on each side, or all turns if *context* is None."""
    place = conversation.find(turn) if turn else -1
    if turn and place < 0:
        raise NotFound(
            f"the turn {turn} is not in {conversation.where.path}", "the file itself can be opened"
        )
    return around(conversation, place, context)


def around(conversation: Conversation, place: int, context: int | None) -> Excerpt:
    """Like ``window``, for a position in the conversation. Returns all turns if *place* is -1."""
    first, last = 0, len(conversation.ids)
    if place >= 0 and context is not None:
        first, last = max(0, place - context), min(last, place + context + 1)
    try:
        turns = conversation.turns(first, last)
    except OSError as error:
        raise NotFound(
            f"{conversation.where.path} can't be read: {error.strerror or error}"
        ) from error
    index = next(
        (i for i, t in enumerate(turns) if place >= 0 and t.turn == conversation.ids[place]), -1
    )
    return Excerpt(conversation.where.path, turns, index, first, len(conversation.ids))


def place_at(conversation: Conversation, moment: datetime) -> int:
    """Return the position of the turn that began nearest to *moment*; -1 without times.

    Args:
        moment: a time with a time zone.
    """
    nearest, least = -1, float("inf")
    for place, turn in enumerate(conversation.each()):
        with contextlib.suppress(ValueError, OverflowError):
            apart = abs(
                (datetime.fromisoformat(turn.started).astimezone() - moment).total_seconds()
            )
            nearest, least = (place, apart) if apart < least else (nearest, least)
    return nearest


def place_with(conversation: Conversation, words: Sequence[str], start: int, step: int) -> int:
    """Return the position of the next turn after *start* that contains one of *words*, else -1.

    Args:
        words: casefolded.
        start: this turn itself is not searched.
        step: 1 searches forwards, -1 backwards.
    """
    last = len(conversation.ids) - 1
    place = start + step
    while 0 <= place <= last:
        begin, end = (
            (place, min(last + 1, place + _READ))
            if step > 0
            else (max(0, place - _READ + 1), place + 1)
        )
        turns = conversation.turns(begin, end)
        for number, turn in list(enumerate(turns, begin))[::step]:
            parts = [
                turn.user,
                turn.assistant,
                *(part for tool in turn.tools for part in (tool.input, tool.output)),
            ]
            if any(word in part.casefold() for part in parts for word in words):
                return number
        place = end if step > 0 else begin - 1
    return -1


def _is_theirs(path: str | os.PathLike[str], folder: Path, agent: str) -> bool:
    """Return whether a file lies in an agent's folder.

    Folders may be links that their owner made (another disk, a dotfile manager). The file may not
    be a link, and nothing in a project may be one, because others may have made it.
    """
    if _inside(path, folder):
        return True
    name, base = os.fspath(path), os.path.abspath(folder)
    if (
        agent_registry.agent(agent).in_projects
        or os.pardir in name.split(os.sep)
        or os.path.islink(name)
    ):
        return False
    return os.path.abspath(name).startswith(base + os.sep)


def _inside(path: str | os.PathLike[str], base: Path) -> bool:
    """Return whether *path* lies under *base* after links are resolved."""
    real, root = os.path.realpath(path), os.path.realpath(base)
    return real.startswith(root + os.sep)


_WAIT_S = 2.0


def project_roots(home: Home) -> list[str]:
    """Return the folders of all known projects; none if the database cannot be read."""
    query = "SELECT root FROM project_paths ORDER BY root"
    return [root for (root,) in read_rows(home.state_db, query, timeout_s=_WAIT_S)]


def known_folders(home: Home, *roots: str) -> dict[str, list[str]]:
    """Return the agents' folders that hooks reported, newest first.

    For agents that store their sessions in the projects, these are *roots* and the known projects.
    If the database cannot be read, only *roots* are known.
    """
    projects = [*roots, *project_roots(home)]
    found = {agent.name: list(projects) for agent in agent_registry.everyone() if agent.in_projects}
    for agent, folders in reported_folders(home).items():
        found.setdefault(agent, []).extend(folders)
    return found


def reported_folders(home: Home) -> dict[str, list[str]]:
    """Return the agents' folders that hooks reported, newest first, without the projects."""
    found: dict[str, list[str]] = {}
    query = "SELECT agent, folder FROM agent_folders ORDER BY seen DESC"
    for agent, folder in read_rows(home.state_db, query, timeout_s=_WAIT_S):
        found.setdefault(agent, []).append(folder)
    return found
