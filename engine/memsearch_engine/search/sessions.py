"""Group hits by the session that they come from.

A session is placed by the probability that at least one of its notes answers, each taken by itself
(noisy or, Pearl 1988). So a session with many notes on a topic comes before one that names it once,
and many doubtful hits count for nothing. Where only words were compared, no probability is known,
and the place of the best note decides.
"""

from __future__ import annotations

import math

import msgspec

from memsearch_engine.search.hits import Hit


class SessionHits(msgspec.Struct):
    """The hits of one session, best first. A note that a person wrote is a group of its own.

    Attributes:
        agent, session: empty for a note that a person wrote.
        project: id.
        confidence: probability that one of its notes answers, 0 to 1; None where only words were
            compared.
    """

    rank: int
    agent: str
    session: str
    project: str
    confidence: float | None
    hits: list[Hit]

    @property
    def first_day(self) -> str:
        """ISO day of the oldest hit; empty where none has one."""
        return min((hit.day for hit in self.hits if hit.day), default="")

    @property
    def last_day(self) -> str:
        return max((hit.day for hit in self.hits), default="")


def by_session(hits: list[Hit]) -> list[SessionHits]:
    """The sessions of *hits*, which are in order."""
    groups: dict[tuple[str, ...], SessionHits] = {}
    for hit in hits:
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
    for group in list(found):  # the session with the newer version first
        replaced = {
            name for hit in group.hits for name in (*hit.supersedes, *hit.possibly_supersedes)
        }
        before = next((n for n, other in enumerate(found) if other.hits[0].id in replaced), None)
        if before is not None and before < found.index(group):
            found.remove(group)
            found.insert(before, group)
    for rank, group in enumerate(found, 1):
        group.rank = rank
    return found
