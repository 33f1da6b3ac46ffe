"""Session memories with their use and the day on which they will be forgotten."""

from __future__ import annotations

import contextlib
import time

import msgspec

from memsearch_engine.core.home import Home
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.injection.usage import totals
from memsearch_engine.longterm.store import DAY_S, SessionMemories, id_of


def pinned(home: Home) -> set[str]:
    """Ids of the sessions with a pinned note. They are never forgotten."""
    catalog = Catalog.open_readonly(home.cache_db)
    if catalog is None:
        return set()
    with contextlib.closing(catalog):
        return {id_of(agent, session) for agent, session in catalog.marked_sessions("pin")}


class SessionMemoryUsage(msgspec.Struct):
    """The memory of one session with its use. Days are ISO dates; '' for none.

    Attributes:
        forget_on: the day on which it will be forgotten if nobody uses it.
        gone_on: the last day on which a forgotten memory can be restored.
        weighed: whether a consolidation has read it.
    """

    id: str
    agent: str
    session: str
    project: str
    made: str
    age_days: float
    cited: int
    read: int
    last_used: str
    pinned: bool
    weighed: bool
    forgotten: str
    forget_on: str
    gone_on: str
    slug: str
    title: str


def overview(home: Home, unused_days: float, now: float = 0.0) -> list[SessionMemoryUsage]:
    """Return every session memory with its use, age, and the days of its forgetting and deletion.

    Args:
        unused_days: the days without use after which a memory is forgotten.
        now: seconds since 1970; 0 for the current time.
    """
    now = now or time.time()
    uses, pinned_ids = totals(home), pinned(home)
    rows = []
    for memory in SessionMemories(home).all():
        use = uses.get(memory.id)
        last = memory.last_used(use)
        rows.append(
            SessionMemoryUsage(
                id=memory.id,
                agent=memory.agent,
                session=memory.session,
                project=memory.project_name,
                made=_day(memory.watermark),
                age_days=round((now - memory.watermark) / DAY_S, 1),
                cited=use.cited if use else 0,
                read=use.read if use else 0,
                last_used=_day(last),
                pinned=memory.id in pinned_ids,
                weighed=bool(memory.selected),
                forgotten=_day(memory.forgotten),
                forget_on=""
                if memory.forgotten or memory.id in pinned_ids
                else _day(last + unused_days * DAY_S),
                gone_on=_day(memory.forgotten + max(unused_days, 1) * DAY_S)
                if memory.forgotten
                else "",
                slug=memory.slug,
                title=memory.title,
            )
        )
    return rows


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds)) if seconds else ""
