"""Hits by the conversation that they come from: which old talk was it?

A conversation stands where the chance puts it that at least one of its notes answers, each taken
for itself (noisy or, Pearl 1988): a talk that circles a matter in many notes comes before one that
names it once, and a heap of faint hits counts for nothing. Where words alone were compared, no
chance is known and the best note's place decides.
"""

from __future__ import annotations

import math

import msgspec

from memsearch_engine.search.hits import Hit


class Talk(msgspec.Struct):
    """The hits of one conversation, best first; of a note that a person wrote, that note alone.

    Attributes:
        agent, session: '' for what a person wrote; project: its id.
        confidence: how likely one of its notes answers, 0 to 1; None where words alone were
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
        """The day of its oldest hit; '' where none has one."""
        return min((hit.day for hit in self.hits if hit.day), default="")

    @property
    def last_day(self) -> str:
        return max((hit.day for hit in self.hits), default="")


def by_session(hits: list[Hit]) -> list[Talk]:
    """The conversations behind *hits*, which are in order."""
    talks: dict[tuple[str, ...], Talk] = {}
    for hit in hits:
        row = hit.row
        key = (
            (row.project, row.agent, row.session)
            if row.session
            else (row.project, row.path, row.entry_id)
        )
        talk = talks.setdefault(key, Talk(0, row.agent, row.session, row.project, None, []))
        talk.hits.append(hit)
    for talk in talks.values():
        likely = [
            hit.confidence
            for hit in talk.hits
            if hit.confidence is not None and not hit.is_doubtful
        ]
        if talk.hits[0].confidence is not None:
            best = max(hit.confidence or 0.0 for hit in talk.hits)
            talk.confidence = (
                round(1 - math.prod(1 - chance for chance in likely), 3) if likely else best
            )
    found = sorted(talks.values(), key=lambda talk: (-(talk.confidence or 0.0), talk.hits[0].rank))
    for talk in list(found):  # the newer word on a matter first
        replaced = {name for hit in talk.hits for name in (*hit.overtakes, *hit.precedes)}
        before = next((n for n, other in enumerate(found) if other.hits[0].id in replaced), None)
        if before is not None and before < found.index(talk):
            found.remove(talk)
            found.insert(before, talk)
    for rank, talk in enumerate(found, 1):
        talk.rank = rank
    return found
