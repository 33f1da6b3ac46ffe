"""The engine: one memory for every coding agent, kept in markdown.

    from memsearch_engine import Memory

    with Memory() as memory:
        note = memory.add("Staging runs Postgres 16")
        for hit in memory.search("which postgres on staging", limit=5):
            print(hit.day, hit.text)

Rooms, from the ground up: ``home`` (paths), ``settings``, ``projects``, ``secrets``, ``journal`` (the truth), ``transcripts``
(what was said), ``actions`` (what was done), ``index`` (the cache), ``search``, ``capture``, ``recall`` (what sessions are told), ``longterm``, ``service`` (the resident process) and ``memory``
(the verbs). Nothing here knows a screen. What stands in ``__all__`` and README's page keeps its meaning from version to
version; what is deeper, ``Memory``'s own workings among it, may change with any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.4.0"

#: Where each name lives. They are imported when they are asked for: a hook and ``--help`` need none of them.
_PUBLIC = {
    "Absence": "search.explain",
    "Act": "actions.index",
    "Amendment": "search.linked",
    "Answer": "search.hits",
    "Change": "journal.history",
    "Conflict": "errors",
    "Context": "capture.context",
    "DayFile": "journal.files",
    "Excerpt": "transcripts.locate",
    "Fact": "longterm.facts",
    "Failure": "index.rows",
    "Fix": "actions.answers",
    "Hit": "search.hits",
    "IndexResult": "index.rows",
    "Memory": "memory",
    "MemsearchError": "errors",
    "NotFound": "errors",
    "Note": "note",
    "Receipt": "receipts",
    "SettingsError": "errors",
    "Talk": "search.sessions",
    "Telling": "recall.prompt",
    "ToolCall": "transcripts.model",
    "Turn": "transcripts.model",
    "Unreachable": "errors",
    "Update": "updates",
    "UpdateKind": "updates",
    "UsageError": "errors",
    "Way": "actions.answers",
    "Word": "search.chains",
}

__all__ = [*_PUBLIC, "__version__"]  # noqa: PLE0604

if TYPE_CHECKING:
    from memsearch_engine.actions.answers import Fix, Way
    from memsearch_engine.actions.index import Act
    from memsearch_engine.capture.context import Context
    from memsearch_engine.errors import Conflict, MemsearchError, NotFound, SettingsError, Unreachable, UsageError
    from memsearch_engine.index.rows import Failure, IndexResult
    from memsearch_engine.journal.files import DayFile
    from memsearch_engine.journal.history import Change
    from memsearch_engine.longterm.facts import Fact
    from memsearch_engine.memory import Memory
    from memsearch_engine.note import Note
    from memsearch_engine.recall.prompt import Telling
    from memsearch_engine.receipts import Receipt
    from memsearch_engine.search.chains import Word
    from memsearch_engine.search.explain import Absence
    from memsearch_engine.search.hits import Answer, Hit
    from memsearch_engine.search.linked import Amendment
    from memsearch_engine.search.sessions import Talk
    from memsearch_engine.transcripts.locate import Excerpt
    from memsearch_engine.transcripts.model import ToolCall, Turn
    from memsearch_engine.updates import Update, UpdateKind


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
