"""Aider's chat history (tested with 0.86.2): one markdown file in the project.

All sessions are appended to it.

The person's lines begin with ``#### ``, the client's with ``> ``. Both end in two blanks, which
distinguishes them from such lines in an answer. Commands stay in the client, unless an answer
follows. The client's notices name its actions (edits, commands, pages), but not their results.

**A turn is named by the time at which its session began, a digest of the session's beginning up to
its first prompt, and the turn's number among all prompts of the session** (commands and the
client's own prompts included). This name survives growth of the file and renaming of the project.
Times are local times of the machine. Times of prompts come from another file, if it has the same
words.

The file lies in the project and may have been cloned with it. In that case all of its turns are
from outside.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from memsearch_engine.agents.transcripts import readers
from memsearch_engine.agents.transcripts.model import (
    Session,
    Turn,
    WholeConversation,
    brings_outside,
)
from memsearch_engine.agents.transcripts.sqlite import utc
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
#: the rest of these commands is sent as a prompt of its own
_TWICE = re.compile(r"/(?:ask|code|architect|context)\s+(.*)", re.S)
_DID = re.compile(r"(Applied edit to|Running|Scraping) (.*?)(?:\.\.\.)?$")
#: The action in a notice -> (tool, key of its input).
_TOOLS = {
    "Running": ("shell", "command"),
    "Scraping": ("web", "url"),
    "Applied edit to": ("edit", "path"),
}
_EDITOR = "Editor model:"  # an editor model gets the answer as a prompt
_BY_ITSELF = "Processing your request..."  # for a comment in a file that it watches
_LEFT, _FAILED, _FULL = "^C", "litellm.", "has hit a token limit!"
_TYPED_AT = re.compile(r"# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+)$")


class _Record(NamedTuple):
    kind: str  # head, prompt, notice or answer
    text: str


class _Asked:
    """A prompt and everything that followed it so far."""

    def __init__(self, turn: Turn, notices: list[str]) -> None:
        self._turn, self._notices = turn, notices
        self._answer: str | None = None
        self._is_open = True  # the model has not ended yet
        self._was_left = False  # the person did not wait for it
        self.was_sent = turn.user[:1] not in ("/", "!") and turn.user != "<blank>"
        self.read_outside = False  # content that the next prompt's model reads

    def goes_on(self, words: str, has_editor: bool) -> bool:
        """Return whether a further prompt comes from the client.

        It is the rest of a command, or an answer for a second model that edits.
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
            self.read_outside = self.read_outside or brings_outside("shell", run[1])
        if not (did := _DID.match(record.text)):
            return
        name, key = _TOOLS[did[1]]
        self._turn.use(name, {key: did[2]})
        self.read_outside = self.read_outside or self._turn.outside

    def turn(self, read_outside: bool) -> Turn:
        turn = self._turn
        turn.outside = turn.outside or read_outside
        errors = [
            place
            for place, notice in enumerate(self._notices)
            if notice.startswith(_FAILED) or _FULL in notice
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
    """Return (name, records) of each session in a file. The first record holds the session's start.

    Raises:
        OSError: the file cannot be read.
    """
    info = os.stat(file)
    return _parsed(file, info.st_mtime_ns, info.st_size)


@lru_cache(maxsize=4)
def _parsed(file: Path, _mtime_ns: int, _size: int) -> list[tuple[str, list[_Record]]]:
    """Like ``_sessions``, but cached by the file's state: an import opens sessions one by one."""
    data = safe_files.read(file, _MAX)
    form = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = data.decode(form, "replace").replace("\r\n", "\n")
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
            if text := "\n".join(answer).strip():
                yield _Record("answer", text)
            answer = []
            yield found
            last, at = found.kind, stop
            continue
        if line.strip() or answer:
            answer.append(line)
            last = "answer"
        at += 1
    if text := "\n".join(answer).strip():
        yield _Record("answer", text)


def _record(lines: list[str], at: int, last: str, is_apart: bool) -> tuple[_Record | None, int]:
    """Return the record of the client or the person at a line, and the line where it ends.

    Args:
        last: kind of the previous record.
        is_apart: whether an empty line separates them.

    Returns:
        None as the record if the line belongs to an answer.
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
    """Whether a session begins before a line: the client's own header follows, or nothing."""
    after = next((line for line in lines[at : at + 200] if line.strip()), "")
    is_notice = after.startswith("> ") and (after.endswith("  ") or "aider" in after)
    return not after or bool(_HEAD.match(after)) or is_notice


def _typed(file: Path, since: str) -> dict[str, str]:
    """Return words -> time at which they were first typed since *since*."""
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
def _all_typed(file: Path, _mtime_ns: int, _size: int) -> list[tuple[str, str]]:
    """Return (time, words) of everything that was typed, oldest first. It is cached."""
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
    """Return the folder where a session was started, if it is known and lies below *root*."""
    settings = dict(
        record.text.split(": ", 1)
        for record in records[:40]
        if re.match("(?:Cur|Git) working dir: ", record.text)
    )
    started, top = settings.get("Cur working dir", ""), settings.get("Git working dir", "")
    below = (
        os.path.relpath(started, top) if started.startswith(f"{top}{os.sep}") and top else os.curdir
    )
    return root if os.pardir in below.split(os.sep) else os.path.normpath(os.path.join(root, below))


def _without_thoughts(text: str) -> str:
    """Return an answer without the tagged thoughts of the model.

    An unclosed tag extends to the end.
    """
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


class AiderConversation(WholeConversation):
    """A session of a chat history."""

    def _load(self) -> None:
        where, file = self.where, Path(self.where.path)
        records = next(
            (records for name, records in _sessions(file) if name == where.session), None
        )
        if records is None:
            raise FileNotFoundError(2, f"no session {where.session}", where.path)
        along = came_along(where.path)
        self._has_editor = any(record.text.startswith(_EDITOR) for record in records)
        self._cwd = _folder(os.path.dirname(os.path.abspath(where.path)), records)
        self._began = records[0].text
        self._typed = _typed(file.parent / _TYPED, self._began)
        self._turns = list(self._read(records[1:]))
        for turn in self._turns:
            turn.outside = turn.outside or along

    def _read(self, records: list[_Record]) -> Iterator[Turn]:
        """Yield the prompts and commands that reached the model, with everything that follows."""
        asked: _Asked | None = None
        count, read_outside, last = 0, False, ""
        for record in [*records, _Record("end", "")]:
            count += record.kind == "prompt"
            before, last = last, record.kind
            is_answer = before == "notice" and _ASKS_BACK.search(record.text)
            if (
                asked is not None
                and record.kind == "prompt"
                and (is_answer or asked.goes_on(record.text, self._has_editor))
            ):
                continue
            if record.kind in ("prompt", "end") or record.text == _BY_ITSELF:
                if asked is not None:
                    if asked.was_sent:
                        yield asked.turn(read_outside)
                    read_outside = not asked.was_sent and (read_outside or asked.read_outside)
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
            utc(at),
            utc(at),
            self._cwd,
            words,
            tools=[],
            status="interrupted",
        )


class Reader(readers.Reader):
    """Reads the chat histories of Aider."""

    agent = "aider"
    own_names = re.compile(re.escape(NAME))
    conversation = AiderConversation

    def sessions(self, folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
        """Yield every session of the history in *folder*."""
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
        """Return the session with that id below *folder*, or None."""
        file = folder / NAME
        return self.at(file, session) if file.is_file() else None

    def at(self, path: str | os.PathLike[str], session: str = "") -> Session | None:
        """Return the named session of a history, else its last one."""
        path = Path(path)
        if path.name != NAME:
            return None
        names = [name for name, _ in _sessions(path)]
        found = session if session in names else names[-1] if names and not session else ""
        return Session(self.agent, found, str(path), self.kind) if found else None
