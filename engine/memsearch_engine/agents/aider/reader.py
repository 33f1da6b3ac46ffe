"""Aider's chat history (0.86.2 was driven): one markdown file in the project, to which all sessions
are appended.

Lines of the person begin with ``#### ``, those of the client with ``> ``, and both end in two
blanks, by which they are told apart from an answer that has such lines. Commands stay in the
client, unless an answer follows. What the client did (edits, commands, pages) stands in its
notices, without what came of it.

**A turn is named by when its session began, by its number among all prompts of that** (commands and
the client's own among them), **and by what
the session began with**: it stays as the file grows, and when its project is renamed. Times are the
local ones of the machine; those of the prompts are in another file, and are taken from there where
it has the same words.

The file lies in the project, and may have come with it: then all its turns are from outside.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from memsearch_engine.agents.aider import AGENT
from memsearch_engine.agents.transcripts import readers
from memsearch_engine.agents.transcripts.model import (
    Conversation,
    Session,
    ToolCall,
    Turn,
    WholeConversation,
    brings_outside,
    input_text,
)
from memsearch_engine.agents.transcripts.sqlite import stamp
from memsearch_engine.core import safe_files
from memsearch_engine.core.ids import digest
from memsearch_engine.core.repository import came_along

NAME, _TYPED = ".aider.chat.history.md", ".aider.input.history"
_MAX = 256 * 1024 * 1024
_HEAD = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)$")
_GIVEN = re.compile(r"Added \d+ lines? of output to the chat")
_RUN = re.compile(r"(?:/run |/test |/git |!)\s*(.*)", re.S)
_ASKS_BACK = re.compile(r"\(Y\)es/\(N\)o.*\]: \w+$")
_THINKS = re.compile(r"<(/?)thinking-content-[0-9a-f]{32}>")
_TWICE = re.compile(
    r"/(?:ask|code|architect|context)\s+(.*)", re.S
)  # the rest of these is sent as a prompt of its own
_DID = re.compile(r"(Applied edit to|Running|Scraping) (.*?)(?:\.\.\.)?$")
_EDITOR = "Editor model:"  # where it has one, an answer is given to that as a prompt
_BY_ITSELF = "Processing your request..."  # of what it found in a file that it watches
_LEFT, _FAILED, _FULL = "^C", "litellm.", "has hit a token limit!"
_TYPED_AT = re.compile(r"# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+)$")


class _Record(NamedTuple):
    kind: str  # head, prompt, notice, answer
    text: str


class Reader(readers.Reader):
    agent = AGENT.name
    own_names = re.compile(re.escape(NAME))

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Every session of the history in *folder*."""
        file = folder / NAME
        if not file.is_file():
            return
        try:
            info, found = file.stat(), _sessions(file)
        except OSError as error:
            failed.append((str(file), error.strerror or str(error)))
            return
        for name, records in found:
            if any(record.kind == "prompt" for record in records):
                yield Session(self.agent, name, str(file), self.kind, info.st_mtime, info.st_size)

    def locate(self, folder: Path, session: str) -> Session | None:
        file = folder / NAME
        return self.at(file, session) if file.is_file() else None

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """The named session of a history, else its last one."""
        path = Path(path)
        if path.name != NAME:
            return None
        names = [name for name, _ in _sessions(path)]
        found = session if session in names else names[-1] if names and not session else ""
        return Session(self.agent, found, str(path), self.kind) if found else None

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        return AiderConversation(where)


class AiderConversation(WholeConversation):
    def __init__(self, where: Session) -> None:
        super().__init__(where)
        file = Path(where.path)
        records = next(
            (records for name, records in _sessions(file) if name == where.session), None
        )
        if records is None:
            raise FileNotFoundError(2, f"no session {where.session}", where.path)
        self._came_along = came_along(where.path)
        self._has_editor = any(record.text.startswith(_EDITOR) for record in records)
        self._cwd = _folder(os.path.dirname(os.path.abspath(where.path)), records)
        self._began = records[0].text
        self._typed = _typed(file.parent / _TYPED, self._began)
        self._turns = list(self._read(records[1:]))
        for turn in self._turns:
            turn.outside = turn.outside or self._came_along
        self.ids = [turn.turn for turn in self._turns]

    def _read(self, records: list[_Record]) -> Iterator[Turn]:
        """A prompt or a command with what follows it; those that stayed in the client are left out."""
        asked: _Asked | None = None
        count, took_in, last = 0, False, ""
        for record in [*records, _Record("end", "")]:
            count += record.kind == "prompt"
            before, last = last, record.kind
            if (
                asked is not None
                and record.kind == "prompt"
                and before == "notice"
                and _ASKS_BACK.search(record.text)
            ):
                continue
            if (
                asked is not None
                and record.kind == "prompt"
                and asked.goes_on(record.text, self._has_editor)
            ):
                continue
            if record.kind in ("prompt", "end") or record.text == _BY_ITSELF:
                if asked is not None:
                    if asked.was_sent:
                        yield asked.turn(took_in)
                    took_in = not asked.was_sent and (took_in or asked.took_in)
                asked = (
                    _Asked(self._new(count, record.text), []) if record.kind == "prompt" else None
                )
            elif asked is not None:
                asked.add(record)

    def _new(self, number: int, words: str) -> Turn:
        at = self._typed.get(words, self._began)
        stamp, began = self.session.removeprefix("aider-").split("-", 1)
        return Turn(
            self.agent,
            self.session,
            f"{stamp}-{number}-{began}",
            _utc(at),
            _utc(at),
            self._cwd,
            words,
            tools=[],
            status="interrupted",
        )


class _Asked:
    """A prompt with what came of it so far."""

    def __init__(self, turn: Turn, notices: list[str]) -> None:
        self._turn, self._notices = turn, notices
        self._answer: str | None = None
        self._is_open, self._was_left = (
            True,
            False,
        )  # the model has yet to end; the person did not wait for that
        self.was_sent = turn.user[:1] not in ("/", "!") and turn.user != "<blank>"
        self.took_in = False  # what it brought in is read by the next prompt's model

    def goes_on(self, words: str, has_editor: bool) -> bool:
        """Whether a further prompt is the client's own: a command's rest, or an answer that is
        given to a second model, which edits.
        """
        rest = _TWICE.fullmatch(self._turn.user)
        if rest and self._answer is None and words == rest[1]:
            self.was_sent = True
            return True
        is_passed_on = has_editor or self._turn.user.startswith("/architect")
        return (
            is_passed_on and self._answer is not None and _trimmed(words) == _trimmed(self._answer)
        )

    def add(self, record: _Record) -> None:
        if record.kind == "answer":
            self.was_sent, self._answer, self._is_open = True, record.text, True
            self._turn.say(_without_thoughts(record.text))
            return
        self._notices.append(record.text)
        self._is_open = self._is_open and not record.text.startswith("Tokens: ")
        self._was_left = self._was_left or (self._is_open and _LEFT in record.text)
        if _GIVEN.match(record.text) and (run := _RUN.fullmatch(self._turn.user)):
            self.took_in = self.took_in or brings_outside("shell", run[1])
        if not (did := _DID.match(record.text)):
            return
        if did[1] == "Running":
            self._turn.call(ToolCall("shell", did[2]))
        elif did[1] == "Scraping":
            self._turn.call(ToolCall("web", input_text({"url": did[2]})))
        else:
            self._turn.call(ToolCall("edit", input_text({"path": did[2]})))
        self.took_in = self.took_in or self._turn.outside

    def turn(self, took_in: bool) -> Turn:
        turn = self._turn
        turn.outside = turn.outside or took_in
        errors = [
            place
            for place, said in enumerate(self._notices)
            if said.startswith(_FAILED) or _FULL in said
        ]
        if self._was_left:
            turn.status = "interrupted"
        elif errors:
            turn.status = "failed"
            last = errors[-1]
            is_known = self._notices[last].startswith(_FAILED)
            turn.say("\n".join(self._notices[last : last + 1 + is_known]))
        else:
            turn.status = "done" if turn.assistant else "interrupted"
        return turn


def _sessions(file: Path) -> list[tuple[str, list[_Record]]]:
    """(name, its records, the first of which says when it began) of all sessions in a file. Raises
    OSError.
    """
    info = os.stat(file)
    return _parsed(file, info.st_mtime_ns, info.st_size)


@lru_cache(maxsize=4)
def _parsed(file: Path, mtime_ns: int, size: int) -> list[tuple[str, list[_Record]]]:
    """The same, once for a file as it is: an import opens its sessions one by one."""
    text = safe_files.read(file, _MAX).decode("utf-8", "replace").replace("\r\n", "\n")
    found: list[tuple[str, list[_Record]]] = []
    for record in _records(text.split("\n")):
        if record.kind == "head":
            found.append(("", [record]))
        elif found:
            found[-1][1].append(record)
    seen: Counter[str] = Counter()
    named = []
    for _, records in found:
        when = re.sub(r"[-:]", "", records[0].text).replace(" ", "T")
        first = next(
            (place for place, record in enumerate(records) if record.kind == "prompt"), len(records)
        )
        began = digest(*(record.text for record in records[1 : first + 1]), size=4)
        seen[began] += 1
        named.append(
            (f"aider-{when}-{began}" + (f".{seen[began]}" if seen[began] > 1 else ""), records)
        )
    return named


def _records(lines: list[str]) -> Iterator[_Record]:
    last, at = "", 0
    answer: list[str] = []
    while at < len(lines):
        line, is_apart = lines[at], at == 0 or not lines[at - 1].strip()
        found, stop = _record(lines, at, last, is_apart)
        if found is not None:
            if said := "\n".join(answer).strip():
                yield _Record("answer", said)
            answer = []
            yield found
            last, at = found.kind, stop
            continue
        if line.strip() or answer:
            answer.append(line)
            last = "answer"
        at += 1
    if said := "\n".join(answer).strip():
        yield _Record("answer", said)


def _record(lines: list[str], at: int, last: str, is_apart: bool) -> tuple[_Record | None, int]:
    """The client's or the person's record that begins at a line, and where it ends; None where the
    line is an answer's.

    Args:
        last: the kind of the record before. is_apart: there is an empty line between.
    """
    line, is_marked = lines[at], lines[at].endswith("  ")
    if is_apart and (head := _HEAD.match(line)) and _begins(lines, at + 1):
        return _Record("head", head[1]), at + 1
    if is_apart and is_marked and line.startswith("#### "):
        stop = at
        while stop < len(lines) and lines[stop].startswith("#### ") and lines[stop].endswith("  "):
            stop += 1
        return _Record("prompt", "\n".join(part[5:-2] for part in lines[at:stop])), stop
    if line.startswith("> "):
        if is_marked and (last in ("notice", "prompt") or is_apart):
            return _Record("notice", line[2:].rstrip()), at + 1
        if last == "head" or (last in ("notice", "prompt") and not is_apart):
            stop = at
            while stop < len(lines) and not lines[stop].endswith("  "):
                stop += 1
            return _Record("notice", "\n".join(lines[at : stop + 1])[2:].rstrip()), stop + 1
    return None, at


def _begins(lines: list[str], at: int) -> bool:
    """Whether a session begins before a line: what the client says of itself follows, or nothing."""
    after = next((line for line in lines[at : at + 200] if line.strip()), "")
    is_notice = after.startswith("> ") and (after.endswith("  ") or "aider" in after)
    return not after or bool(_HEAD.match(after)) or is_notice


def _typed(file: Path, since: str) -> dict[str, str]:
    """Words -> when they were typed first, from *since* on."""
    try:
        info = os.stat(file)
        known = _all_typed(file, info.st_mtime_ns, info.st_size)
    except OSError:
        return {}
    found: dict[str, str] = {}
    for at, words in known[bisect_left(known, (since, "")) :]:
        found.setdefault(words, at)
    return found


@lru_cache(maxsize=4)
def _all_typed(file: Path, mtime_ns: int, size: int) -> list[tuple[str, str]]:
    """(when, words) of all that was typed, oldest first; once for a file as it is."""
    text = safe_files.read(file, _MAX).decode("utf-8", "replace")
    found: list[tuple[str, str]] = []
    at, words = "", []
    for line in [*text.split("\n"), "# end"]:
        if line.startswith("+"):
            words.append(line[1:])
        elif line.startswith("# "):
            if words and at:
                found.append((at, "\n".join(words)))
            words, when = [], _TYPED_AT.match(line)
            at = when[1] if when else ""
    return sorted(found)


def _folder(root: str, records: list[_Record]) -> str:
    """The folder that a session was started in, where it says so and that lies below the one that
    its file lies in.
    """
    said = dict(
        record.text.split(": ", 1)
        for record in records[:40]
        if re.match("(?:Cur|Git) working dir: ", record.text)
    )
    started, top = said.get("Cur working dir", ""), said.get("Git working dir", "")
    below = (
        os.path.relpath(started, top) if started.startswith(f"{top}{os.sep}") and top else os.curdir
    )
    return root if os.pardir in below.split(os.sep) else os.path.normpath(os.path.join(root, below))


def _without_thoughts(text: str) -> str:
    """What was said: what a model thought stands in tags; without an end, it thought to the last."""
    parts, at, is_open = [], 0, False
    for tag in _THINKS.finditer(text):
        if not is_open and not tag[1]:
            parts.append(text[at : tag.start()])
            is_open = True
        elif is_open and tag[1]:
            at, is_open = tag.end(), False
    return "".join([*parts, "" if is_open else text[at:].lstrip() if parts else text])


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n")]


def _utc(local: str) -> str:
    try:
        return stamp(datetime.fromisoformat(local).astimezone(UTC).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return ""
