"""Prepares turns for the journal: removes secrets, and makes the text of the note.

That is most of the work of an import. So a second process does it for the next turns while a turn
is written: ``python -m memsearch_engine.capture.preparing HOME``. It reads turns as lines of JSON
from stdin, and writes what it made of them to stdout. It writes no file, and ends with the process
that started it. Turns that it could not prepare are prepared by that process itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from memsearch_engine.agents.transcripts.model import Turn
from memsearch_engine.capture.extract import extract
from memsearch_engine.core.child_process import LineProcess
from memsearch_engine.core.home import Home
from memsearch_engine.journal.text import CleanText
from memsearch_engine.journal.write import Journal

_AHEAD = 8  # turns that wait for the other process, or for being written
_PATIENCE_S = 60.0


class PreparedTurn(msgspec.Struct, frozen=True):
    """What is written about a turn.

    Attributes:
        turn: the turn without secrets and injected memory.
        body: the text of its note.
        clean: the same as the journal writes it.
    """

    turn: Turn
    body: str
    clean: CleanText


def prepare(turn: Turn, journal: Journal) -> PreparedTurn:
    """Prepare a turn in this process."""
    from memsearch_engine.capture.clean import redacted  # loads the rules

    clean = redacted(turn, journal.home)
    body = extract(clean)
    return PreparedTurn(clean, body, journal.clean(body))


class TurnPreparer:
    """Prepares turns in a second process, if the machine has a core for it. Close it after use."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._child: LineProcess | None = None
        self._is_over = (os.cpu_count() or 1) < 2

    def start(self) -> None:
        """Start the process, unless it runs or has failed. It loads the rules meanwhile."""
        if self._child or self._is_over:
            return
        # -P: the current folder may be a stranger's repository
        argv = [sys.executable, "-P", "-m", __name__, os.fspath(self._home.root)]
        try:
            self._child = LineProcess(argv, stderr=subprocess.DEVNULL)
        except OSError:
            self._is_over = True

    def close(self) -> None:
        """End the process. It is not started again."""
        self._is_over = True
        if self._child:
            self._child.close()
            self._child = None

    def ahead(
        self, groups: Iterable[list[Turn]]
    ) -> Iterator[list[tuple[Turn, PreparedTurn | None]]]:
        """Yield the turns of each group with what was made of them, and prepare the next ones.

        None: the caller has to prepare the turn.
        """
        waiting: deque[list[tuple[Turn, bool]]] = deque()
        try:
            for turns in groups:
                waiting.append([(turn, self._send(turn)) for turn in turns])
                if len(waiting) > _AHEAD:
                    yield self._received(waiting.popleft())
            while waiting:
                yield self._received(waiting.popleft())
        finally:
            if waiting:  # nobody reads the answers
                self.close()

    def _send(self, turn: Turn) -> bool:
        try:
            line = msgspec.json.encode(turn)
        except UnicodeEncodeError:  # half a surrogate pair
            return False
        try:
            if self._child:
                self._child.send(line + b"\n")
        except OSError:
            self.close()
        return self._child is not None

    def _received(self, sent: list[tuple[Turn, bool]]) -> list[tuple[Turn, PreparedTurn | None]]:
        return [(turn, self._receive() if was_sent else None) for turn, was_sent in sent]

    def _receive(self) -> PreparedTurn | None:
        line = self._child.line(_PATIENCE_S) if self._child else None
        try:
            return msgspec.json.decode(line or b"", type=PreparedTurn)
        except msgspec.DecodeError:  # it has died, or takes too long
            self.close()
            return None


def main() -> None:
    """Prepare the turns that come from stdin."""
    journal = Journal(Home(Path(sys.argv[1])))
    prepare(Turn("", "", "", user="What is the password?", assistant="It is set."), journal)
    for line in sys.stdin.buffer:
        made = prepare(msgspec.json.decode(line, type=Turn), journal)
        sys.stdout.buffer.write(msgspec.json.encode(made) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
