"""What a search answers with. Plain values: importing this opens and loads nothing."""

from __future__ import annotations

import msgspec

from memsearch_engine.index.rows import Row


class Hit(msgspec.Struct):
    """One found entry (its best chunk). ``score`` only orders; ``ranks`` and ``reasons`` say why it is here.

    ``ranks``: place in each list it was in (``dense``, ``bm25``, ``lexical``), from 1.
    """

    rank: int
    score: float
    row: Row
    ranks: dict[str, int] = {}
    scores: dict[str, float] = {}
    reasons: list[str] = []

    @property
    def by_meaning(self) -> bool:
        """Found by meaning alone: no list of words has it."""
        return bool(self.ranks) and "bm25" not in self.ranks and "lexical" not in self.ranks


class Answer(msgspec.Struct):
    """``mode`` is what was really done; ``reason`` says why, where that is less than was asked for.

    ``corrected``: words that no note has, with near ones that were searched for; ``absent``: those without a near one. There
    is no floor under scores: on the evaluation set one that catches a third of the questions without an answer hides more right
    answers than it catches.
    """

    mode: str
    hits: list[Hit]
    reason: str = ""
    corrected: dict[str, list[str]] = {}
    absent: list[str] = []
    took_ms: float = 0.0
