"""Its sessions: a file of JSON each, with all turns. A turn is named by its ``id``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memsearch_engine.agents.transcripts.model import Conversation, Session, ToolCall, Turn

from pocket import AGENT


def sessions(folder: Path, failed: list[tuple[str, str]]) -> Iterator[Session]:
    for file in sorted(folder.glob("*.chat")):
        info = file.stat()
        yield Session(AGENT.name, file.stem, str(file), "transcript", info.st_mtime, info.st_size)


def locate(folder: Path, session: str) -> Session | None:
    return next((found for found in sessions(folder, []) if found.session == session), None)


def at(path: str | os.PathLike[str], session: str = "") -> Session | None:
    path = Path(path)
    return (
        Session(AGENT.name, session or path.stem, str(path), "transcript")
        if path.suffix == ".chat"
        else None
    )


def holds(name: str) -> bool | None:
    return name.endswith(".chat")


def wrote(line: dict[str, Any]) -> bool:
    return False


def open_session(where: Session, cache: Path | None = None) -> Conversation:
    return _Chat(where)


class _Chat(Conversation):
    agent = AGENT.name

    def __init__(self, where: Session) -> None:
        super().__init__(where)
        self._said = json.loads(Path(where.path).read_text())
        self.ids = [said["id"] for said in self._said]

    def turns(self, first: int = 0, last: int | None = None) -> list[Turn]:
        found = []
        for said in self._said[first:last]:
            turn = Turn(
                AGENT.name,
                self.session,
                said["id"],
                said["at"],
                said["at"],
                said["cwd"],
                said["asked"],
            )
            for command, output in said.get("tools", []):
                turn.call(ToolCall("bash", command, output))
            turn.say(said["answered"])
            found.append(turn)
        return found
