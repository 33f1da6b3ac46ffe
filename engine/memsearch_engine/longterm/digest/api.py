"""The verbs of documents that are made of notes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from memsearch_engine.journal.note import Note
from memsearch_engine.longterm.digest import compact, picking
from memsearch_engine.longterm.digest.compact import Asked, Digest, Plan
from memsearch_engine.longterm.digest.picking import Search
from memsearch_engine.search.scope import Scope


class Compact:
    """A digest of many notes, written into today as one note.

    Args:
        scope: whose notes.
        search: answers a query, as ``Memory.search`` does.
        source: a file, a day, days (``A..B``), ``week`` for the seven days before today, or a
            query; '' for all notes.
        asked: who writes it and how; what the settings say where it is empty.

    Raises:
        UsageError, NotFound: no notes. SettingsError: no such provider.

    >>> with Memory() as memory:
    ...     note = memory.add("Decided to stay on Postgres 16")
    ...     print(memory.compact(note.day).make().text)
    ...     _ = memory.undo()
    **Decisions**
    - ...Decided to stay on Postgres 16...
    """

    WEEK = "week"

    def __init__(self, scope: Scope, search: Search, source: str, asked: Asked) -> None:
        self._scope = scope
        what = picking.week(date.today()) if source == self.WEEK else source
        self.plan: Plan = compact.plan(scope, search, what, asked)

    def make(self, progress: Callable[[int, int], None] | None = None) -> Digest:
        """Write it, by the model that was chosen, or of the notes' own lines. *progress*: calls
        done, and all.
        """
        return compact.make(self._scope, self.plan, progress)

    def folder(self, output_dir: str = "") -> str:
        """The memory folder that it goes to: the project's, or the one in another folder. Raises
        UsageError, OSError.
        """
        return compact.folder_of(self._scope, output_dir)

    def write(self, digest: Digest, folder: str = "") -> Note:
        """Append it to today's file there. Undoable."""
        return compact.write(self._scope, self.plan, digest, folder or self.folder())
