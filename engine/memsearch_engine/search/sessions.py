"""Group hits by the session that they come from.

Sessions are ordered by the probability that at least one of their notes answers the query. The
notes are treated as independent (noisy or, Pearl 1988). A session with many notes on a topic
therefore comes before a session with one. Doubtful hits are not counted. If only words were
compared, no probability is known and sessions are ordered by the rank of their best note.
"""

from __future__ import annotations

import math

import msgspec

from memsearch_engine.search.hits import Hit


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


def by_session(hits: list[Hit]) -> list[SessionHits]:
    """Group hits by session, the most probable session first.

    Args:
        hits: best first.
    """
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
    for group in list(found):  # a session with a newer version goes before the older version's
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
