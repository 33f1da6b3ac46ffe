"""The answer of a search. Plain values: importing this opens and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from memsearch_engine.index.rows import Row

if TYPE_CHECKING:
    from memsearch_engine.search.sessions import SessionHits

#: Confidences, see ``search/confidence.py``.
_DOUBTFUL, _UNSURE = 0.05, 0.32
_COMMENT = re.compile(r"<!--.*-->")


class Hit(msgspec.Struct):
    """One found entry, by its best chunk.

    Attributes:
        score: only orders the hits of one answer.
        ranks: place from 1 in each list that has it (``dense``, ``bm25``, ``lexical``).
        scores: parts of the score by name.
        reasons: why it is here, in words.
        confidence: probability that it answers the query, 0 to 1, as measured on the evaluation
            set; None where only words were compared.
        supersedes: ids of entries before which it was put as their newer version.
        possibly_supersedes: ids of entries of earlier conversations on the topic, before which it
            was put.
    """

    rank: int
    score: float
    row: Row
    ranks: dict[str, int] = {}
    scores: dict[str, float] = {}
    reasons: list[str] = []
    confidence: float | None = None
    # an older client of the service knows them by these names
    supersedes: list[str] = msgspec.field(default_factory=list, name="overtakes")
    possibly_supersedes: list[str] = msgspec.field(default_factory=list, name="precedes")

    @property
    def is_doubtful(self) -> bool:
        """Whether it hardly fits the query: 2 in 100 of such hits are right on the evaluation set."""
        return self.confidence is not None and self.confidence < _DOUBTFUL

    @property
    def id(self) -> str:
        """Id of the entry, as ``expand``, ``transcript`` and ``edit`` take it."""
        return self.row.entry_id

    @property
    def day(self) -> str:
        """``YYYY-MM-DD``; empty for a file that is no day file."""
        return self.row.day

    @property
    def time(self) -> str:
        """``HH:MM``, as its heading says; may be empty."""
        return self.row.time

    @property
    def agent(self) -> str:
        """The agent whose turn it is from; empty for a note that a person wrote."""
        return self.row.agent

    @property
    def title(self) -> str:
        return self.row.title

    @property
    def text(self) -> str:
        """Text of the best chunk, without heading, anchors and marks. ``expand`` gives the whole entry."""
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
        """Whether it was found by meaning alone: no list of words has it."""
        return bool(self.ranks) and "bm25" not in self.ranks and "lexical" not in self.ranks


class Answer(msgspec.Struct):
    """Hits, best first; iterate over it.

    There is no lower limit of scores: on the evaluation set, one that catches a third of the
    questions without an answer hides more right answers than it catches.

    Attributes:
        mode: how it was found: ``hybrid``, ``dense``, ``bm25`` or ``lexical``.
        reason: what the person should know, such as why words alone were compared.
        corrected: words that no note has, with the near ones that were searched for instead.
        absent: words that no note has, without a near one.
        took_ms: milliseconds.
        as_of: the ISO day at whose end the notes were searched; empty for now.
    """

    mode: str
    hits: list[Hit]
    reason: str = ""
    corrected: dict[str, list[str]] = {}
    absent: list[str] = []
    took_ms: float = 0.0
    as_of: str = ""

    @property
    def is_unsure(self) -> bool:
        """Whether perhaps no note fits: the best hit is hardly better than the rest. It is often
        right all the same.
        """
        sure = [hit.confidence for hit in self.hits if hit.confidence is not None]
        return bool(sure) and max(sure) < _UNSURE

    def by_session(self) -> list[SessionHits]:
        """The hits grouped by the session that they come from, the most probable first."""
        from memsearch_engine.search.sessions import by_session

        return by_session(self.hits)

    @property
    def superseded(self) -> dict[str, Hit]:
        """Id of each entry before which a newer version was put -> that hit."""
        return {older: hit for hit in self.hits for older in hit.supersedes}

    @property
    def possibly_superseded(self) -> dict[str, Hit]:
        """Id of each entry before which a hit of a later conversation on the topic was put -> that
        hit, of several the newest.
        """
        return {
            older: hit
            for hit in reversed(self.hits)
            for older in hit.possibly_supersedes
            if older not in self.superseded
        }

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        """An answer without hits is an answer."""
        return True
