"""What a search answers with. Plain values: importing this opens and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from memsearch_engine.index.rows import Row

if TYPE_CHECKING:
    from memsearch_engine.search.sessions import Talk

#: Confidences, see ``search/confidence.py``.
_DOUBTFUL, _UNSURE = 0.05, 0.32
_COMMENT = re.compile(r"<!--.*-->")


class Hit(msgspec.Struct):
    """One found entry (its best chunk). ``score`` only orders; ``ranks`` and ``reasons`` say why it
    is here.

    ``ranks``: place in each list it was in (``dense``, ``bm25``, ``lexical``), from 1.
    ``confidence``: how likely it answers the query, 0 to 1, as measured on the evaluation set; None
    where words alone were compared. ``overtakes``: the entries before which it was put as the newer
    word on their matter; ``precedes``: those of earlier talks on the matter, before which it was
    put (``search.later``).
    """

    rank: int
    score: float
    row: Row
    ranks: dict[str, int] = {}
    scores: dict[str, float] = {}
    reasons: list[str] = []
    confidence: float | None = None
    overtakes: list[str] = []
    precedes: list[str] = []

    @property
    def is_doubtful(self) -> bool:
        """Only faintly like what was asked: on the evaluation set 2 in 100 of those are right."""
        return self.confidence is not None and self.confidence < _DOUBTFUL

    @property
    def id(self) -> str:
        """Of the entry: what ``expand``, ``transcript`` and ``edit`` take."""
        return self.row.entry_id

    @property
    def day(self) -> str:
        """``YYYY-MM-DD``; '' for a file that is no day's."""
        return self.row.day

    @property
    def time(self) -> str:
        """``HH:MM``, as its heading says; may be ''."""
        return self.row.time

    @property
    def agent(self) -> str:
        """Whose turn it is from; '' for what a person wrote."""
        return self.row.agent

    @property
    def title(self) -> str:
        return self.row.title

    @property
    def text(self) -> str:
        """Of the best chunk, without heading, anchors and marks; ``expand`` has the whole entry."""
        lines = self.row.text.split("\n")
        head = 0
        if self.row.part == 0:
            head += bool(self.row.level) and lines[0].startswith("#")
            while head < len(lines) and (
                not lines[head].strip() or _COMMENT.fullmatch(lines[head].strip())
            ):
                head += 1
        return "\n".join(lines[head:]).strip("\n")

    @property
    def path(self) -> str:
        return self.row.path

    @property
    def by_meaning(self) -> bool:
        """Found by meaning alone: no list of words has it."""
        return bool(self.ranks) and "bm25" not in self.ranks and "lexical" not in self.ranks


class Answer(msgspec.Struct):
    """Hits, best first: iterate over it. ``mode`` is what was really done (``hybrid``, ``dense``,
    ``bm25``, ``lexical``); ``reason`` says why, where that is less than was asked for.

    ``corrected``: words that no note has, with near ones that were searched for; ``absent``: those
    without a near one. There
    is no floor under scores: on the evaluation set one that catches a third of the questions
    without an answer hides more right answers than it catches.
    """

    mode: str
    hits: list[Hit]
    reason: str = ""
    corrected: dict[str, list[str]] = {}
    absent: list[str] = []
    took_ms: float = 0.0

    @property
    def is_unsure(self) -> bool:
        """Perhaps nothing fits: the best hit is hardly nearer than the rest. No reason to hide it:
        often it is right all the same.
        """
        sure = [hit.confidence for hit in self.hits if hit.confidence is not None]
        return bool(sure) and max(sure) < _UNSURE

    def by_session(self) -> list[Talk]:
        """The hits by the conversation that they come from, the likeliest first."""
        from memsearch_engine.search.sessions import by_session

        return by_session(self.hits)

    @property
    def overtaken(self) -> dict[str, Hit]:
        """Entries among the hits that a newer word on their matter was put before -> that newer
        one.
        """
        return {older: hit for hit in self.hits for older in hit.overtakes}

    @property
    def preceded(self) -> dict[str, Hit]:
        """Entries among the hits of which a later talk on the matter stands above -> its hit, of
        several the newest.
        """
        return {
            older: hit
            for hit in reversed(self.hits)
            for older in hit.precedes
            if older not in self.overtaken
        }

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        """An answer without hits is an answer."""
        return True
