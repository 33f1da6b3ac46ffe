"""Hits of a search as rows."""

from __future__ import annotations

from collections.abc import Sequence

import memsearch_engine as engine
import msgspec

from memsearch_tui.library.rows import Item, ItemMaker

#: ranking -> what people call it
_RANKINGS = {"dense": "by meaning", "bm25": "by words", "lexical": "by words"}


def has_only_filters(query: str) -> bool:
    """Return whether *query* has only filters, asks for current notes and not for other kinds of
    text.

    Such a query lists all matching notes in order of time.
    """
    request = engine.parse_query(query)
    is_of_notes = not set(request.filter.kinds) - {"turn", "note"}
    return request.is_empty and not request.as_of and is_of_notes


def hit_rows(items: ItemMaker, answer: engine.Answer, *, by_session: bool = False) -> list[Item]:
    """Return the hits of an answer as rows.

    Args:
        by_session: group them by conversation.
    """
    superseded, as_of = answer.superseded, answer.as_of
    rows = {hit.id: hit.row for hit in answer.hits}
    found = [
        msgspec.structs.replace(
            items.of_index(hit.row),
            reasons=(
                *(f"{_RANKINGS.get(name, name)} #{n}" for name, n in hit.ranks.items()),
                *hit.reasons,
            ),
            by_meaning=hit.by_meaning,
            doubtful=hit.is_doubtful,
            text=hit.row.text,
            superseded=hit.id in superseded,
            replaced=_titles_of(rows, hit.supersedes),
            earlier=_titles_of(rows, hit.possibly_supersedes),
            session=hit.row.session,
            as_of=as_of,
        )
        for hit in answer.hits
    ]
    if by_session:
        grouped = (hit for group in answer.by_session() for hit in group.hits)
        order = {(hit.path, hit.id): place for place, hit in enumerate(grouped)}
        found.sort(key=lambda item: order[item.key])
    return found


def _titles_of(rows: dict[str, engine.Row], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return (day, title) of the named entries that are among the hits."""
    return tuple((rows[name].day, rows[name].title) for name in names if name in rows)
