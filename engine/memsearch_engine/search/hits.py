"""The answer of a search, as plain values. Importing this module opens no file and no model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import msgspec

from memsearch_engine.index.rows import Row

#: Limits of ``Hit.confidence`` (``search/confidence.py``).
_DOUBTFUL, UNSURE = 0.05, 0.32
_COMMENT = re.compile(r"<!--.*-->")


class Hit(msgspec.Struct):
    """A found entry, represented by its best chunk.

    Attributes:
        rank: position in the answer, from 1.
        score: orders the hits of one answer; not comparable between answers.
        row: the best chunk.
        ranks: list (``dense``, ``bm25``, ``lexical``) -> rank from 1.
        scores: parts of the score by name.
        reasons: sentences that explain why the entry was found.
        confidence: probability that it answers the query, 0 to 1, as measured on the evaluation
            set; None if only words were compared.
        supersedes: ids of older entries of which it is a newer version. It was moved before them.
        possibly_supersedes: ids of entries of earlier conversations on the same topic. It was moved
            before them.
    """

    rank: int
    score: float
    row: Row
    ranks: dict[str, int] = {}
    scores: dict[str, float] = {}
    reasons: list[str] = []
    confidence: float | None = None
    # the names that older clients of the service use
    supersedes: list[str] = msgspec.field(default_factory=list, name="overtakes")
    possibly_supersedes: list[str] = msgspec.field(default_factory=list, name="precedes")

    @property
    def is_doubtful(self) -> bool:
        """Whether the hit hardly fits: 2 % of such hits are right on the evaluation set."""
        return self.confidence is not None and self.confidence < _DOUBTFUL

    @property
    def id(self) -> str:
        """Id of the entry, for ``expand``, ``transcript`` and ``edit``."""
        return self.row.entry_id

    @property
    def day(self) -> str:
        """``YYYY-MM-DD``; empty for a file that is not a day file."""
        return self.row.day

    @property
    def time(self) -> str:
        """``HH:MM`` from the heading; may be empty."""
        return self.row.time

    @property
    def agent(self) -> str:
        """The agent that the note came from; empty for a note that a person wrote."""
        return self.row.agent

    @property
    def title(self) -> str:
        """The first line of the entry, for lists."""
        return self.row.title

    @property
    def text(self) -> str:
        """Text of the best chunk without heading, anchors and marks.

        ``expand`` prints the whole entry.
        """
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
        """The file that contains the entry."""
        return self.row.path

    @property
    def by_meaning(self) -> bool:
        """Whether the entry was found by meaning only and matched no word."""
        return bool(self.ranks) and "bm25" not in self.ranks and "lexical" not in self.ranks


class SessionHits(msgspec.Struct):
    """The hits of one session. A note that a person wrote is a group by itself.

    Attributes:
        rank: position among the sessions, from 1.
        agent, session: empty for a note that a person wrote.
        project: project id.
        confidence: probability that at least one of its notes answers the query, 0 to 1; None if
            only words were compared.
        hits: best first.
    """

    rank: int
    agent: str
    session: str
    project: str
    confidence: float | None
    hits: list[Hit]

    @property
    def first_day(self) -> str:
        """ISO day of the oldest hit; empty if no hit has a day."""
        return min((hit.day for hit in self.hits if hit.day), default="")

    @property
    def last_day(self) -> str:
        """ISO day of the newest hit; empty if no hit has a day."""
        return max((hit.day for hit in self.hits), default="")


class Answer(msgspec.Struct):
    """The hits of a search, best first. Iterating over an answer yields its hits.

    A hit needs no minimum score: in the evaluation, a minimum hid more right answers than it
    removed wrong ones.

    Attributes:
        mode: how it was found: ``hybrid``, ``dense``, ``bm25`` or ``lexical``.
        reason: a remark for the person, such as why only words were compared.
        corrected: words that no note contains -> similar words that were searched for instead.
        absent: words that no note contains and that have no similar word.
        took_ms: duration in milliseconds.
        as_of: ISO day; the notes were searched as they were at its end. Empty for now.
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
        """Whether possibly no note fits, because no hit has a high confidence.

        The first hit may still be right.
        """
        sure = [hit.confidence for hit in self.hits if hit.confidence is not None]
        return bool(sure) and max(sure) < UNSURE

    def by_session(self) -> list[SessionHits]:
        """Group the hits by the session that they come from, the most probable session first.

        Sessions are ordered by the probability that at least one of their notes answers the query.
        The notes are treated as independent (noisy or, Pearl 1988). A session with many notes on a
        topic therefore comes before a session with one. Doubtful hits are not counted. If only
        words were compared, no probability is known and sessions are ordered by the rank of their
        best note.
        """
        groups: dict[tuple[str, ...], SessionHits] = {}
        for hit in self.hits:
            row = hit.row
            key = (
                (row.project, row.agent, row.session)
                if row.session
                else (row.project, row.path, row.entry_id)
            )
            group = groups.setdefault(
                key, SessionHits(0, row.agent, row.session, row.project, None, [])
            )
            group.hits.append(hit)
        for group in groups.values():
            likely = [
                hit.confidence
                for hit in group.hits
                if hit.confidence is not None and not hit.is_doubtful
            ]
            if group.hits[0].confidence is not None:
                best = max(hit.confidence or 0.0 for hit in group.hits)
                group.confidence = (
                    round(1 - math.prod(1 - chance for chance in likely), 3) if likely else best
                )
        found = sorted(
            groups.values(), key=lambda group: (-(group.confidence or 0.0), group.hits[0].rank)
        )
        for group in list(found):  # a session with a newer version goes before the older version's
            replaced = {
                name for hit in group.hits for name in (*hit.supersedes, *hit.possibly_supersedes)
            }
            before = next(
                (n for n, other in enumerate(found) if other.hits[0].id in replaced), None
            )
            if before is not None and before < found.index(group):
                found.remove(group)
                found.insert(before, group)
        for rank, group in enumerate(found, 1):
            group.rank = rank
        return found

    @property
    def superseded(self) -> dict[str, Hit]:
        """Id of a superseded entry -> the hit that is its newer version."""
        return {older: hit for hit in self.hits for older in hit.supersedes}

    @property
    def possibly_superseded(self) -> dict[str, Hit]:
        """Id of an entry -> the newest hit from a later conversation on its topic."""
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
        """True, also for an answer without hits."""
        return True
