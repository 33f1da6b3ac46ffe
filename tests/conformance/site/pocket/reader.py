"""Its sessions: a file of JSON each, with all turns. A turn is named by its ``id``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from memsearch_engine.agents.transcripts.model import Conversation, Session, ToolCall, Turn
from memsearch_engine.agents.transcripts.readers import FileReader

from pocket import AGENT


class Reader(FileReader):
    agent = AGENT.name
    own_names = re.compile(r".*\.chat")
    patterns = ("{}.chat",)

    def open_session(self, where: Session, cache: Path | None = None) -> Conversation:
        return _Chat(where)


class _Chat(Conversation):
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
