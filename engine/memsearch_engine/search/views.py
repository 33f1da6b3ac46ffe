"""Search results and notes as plain dictionaries, for ``--json`` and for renderers.

The service builds them for clients that import only the standard library. Commands build them in
their own process if no service answers. The output is the same.
"""

from __future__ import annotations

import contextlib
from typing import Any

from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.index.rows import LONGTERM_KINDS
from memsearch_engine.journal.model import CONTRADICTS
from memsearch_engine.journal.note import Note
from memsearch_engine.journal.origin import Origin
from memsearch_engine.search.hits import Answer, Hit

#: Key of the values that only a renderer needs. They are not part of the JSON output.
DISPLAY = "display"


def answer_view(answer: Answer) -> dict[str, Any]:
    """An answer as a dictionary.

    Returns:
        The fields of ``search --json`` in their order, without ``schema_version``. ``hits`` are
        dictionaries of ``hit_view``, each with ``DISPLAY`` added. ``is_unsure`` is
        ``Answer.is_unsure``.
    """
    return {
        "mode": answer.mode,
        "reason": answer.reason,
        "corrected": answer.corrected,
        "absent": answer.absent,
        "took_ms": answer.took_ms,
        "hits": [hit_view(hit, answer) | {DISPLAY: _display(hit, answer)} for hit in answer.hits],
        "is_unsure": answer.is_unsure,
    }


def hit_view(hit: Hit, answer: Answer) -> dict[str, Any]:
    """A hit with the keys of ``search --json``, in their order."""
    row, newer, later = (
        hit.row,
        answer.superseded.get(hit.id),
        answer.possibly_superseded.get(hit.id),
    )
    return {
        "content": row.text,
        "asked": row.asked,
        "source": row.path,
        "heading": row.heading,
        "chunk_hash": row.chunk_id,
        "heading_level": row.level,
        "start_line": row.start_line,
        "end_line": row.end_line,
        "score": round(hit.score, 6),
        "entry_id": row.entry_id,
        "hash": row.hash,
        "agent": row.agent,
        "author": row.author,
        "session": row.session,
        "turn": row.turn,
        "kind": row.kind,
        "day": row.day,
        "time": row.time,
        "rank": hit.rank,
        "mode": answer.mode,
        "ranks": hit.ranks,
        "scores": hit.scores,
        "reasons": hit.reasons,
        "confidence": hit.confidence,
        "overtaken_by": newer.id if newer else "",
        "later": later.id if later else "",
        "stale": row.stale,
        "stale_why": row.stale_why,
        "branch": row.marks.get("branch", ""),
        "unmerged": row.unmerged,
    }


def mark_contradicting(origin: Origin, hits: list[Hit]) -> None:
    """Mark the hits with a file that contradicts the owner's decision about the note.

    Such notes are shown but not injected. If the decisions can't be read, nothing is marked.
    """
    with contextlib.suppress(MemsearchError):
        wrong = origin.verdicts((hit.row.hash, hit.row.day) for hit in hits)
        for hit in hits:
            if (hit.row.hash, hit.row.day) in wrong:
                hit.row.marks[CONTRADICTS] = ""


def _display(hit: Hit, answer: Answer) -> dict[str, Any]:
    """The values of a hit that a renderer needs in addition to its JSON keys.

    Returns:
        ``text`` is the note without heading, anchors and marks. ``embedded`` is the text that was
        indexed. ``newer`` and ``later`` are rank and day of the hit that supersedes or possibly
        supersedes it, or None.
    """
    row, newer, later = (
        hit.row,
        answer.superseded.get(hit.id),
        answer.possibly_superseded.get(hit.id),
    )
    return {
        "title": hit.title,
        "text": hit.text,
        "embedded": row.embedded,
        "marks": row.marks,
        "is_longterm": row.kind in LONGTERM_KINDS.values(),
        "is_doubtful": hit.is_doubtful,
        "by_meaning": hit.by_meaning,
        "newer": {"rank": newer.rank, "day": newer.day} if newer else None,
        "later": {"rank": later.rank, "day": later.day} if later else None,
    }


def note_view(note: Note) -> dict[str, Any]:
    """A note as a dictionary, with the keys that all commands use for a note."""
    anchor = note.anchor
    return {
        "entry_id": note.id,
        "hash": note.hash,
        "day": note.day,
        "time": note.time,
        "agent": note.agent,
        "author": note.author,
        "session": note.session,
        "turn": note.turn,
        "kind": note.kind,
        "source": note.path,
        "start_line": note.start_line,
        "end_line": note.end_line,
        "content": note.content,
        "body": note.text,
        "marks": note.marks,
        "anchor": {
            "session": anchor.session,
            "turn": anchor.turn,
            anchor.kind or "path": anchor.path,
        }
        if anchor
        else None,
    }
