"""The public interface of digests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from memsearch_engine.journal.note import Note
from memsearch_engine.longterm.digest import compact, picking
from memsearch_engine.longterm.digest.compact import Digest, DigestPlan, DigestRequest
from memsearch_engine.longterm.digest.picking import Search
from memsearch_engine.search.scope import Scope


class Compact:
    """A digest of many notes, written into today's file as one note.

    Args:
        scope: the projects that provide the notes.
        search: runs a query, like ``Memory.search``.
        source: a file, a day, days (``A..B``), ``week`` for the seven days before today, or a
            query; '' for all notes.
        asked: the provider and the prompt; empty fields follow the settings.

    Raises:
        UsageError, NotFound: there are no notes.
        SettingsError: there is no such provider.

    >>> with Memory() as memory:
    ...     note = memory.add("Decided to stay on Postgres 16")
    ...     print(memory.compact(note.day).make().text)
    ...     _ = memory.undo()
    **Decisions**
    - ...Decided to stay on Postgres 16...
    """

    WEEK = "week"

    def __init__(self, scope: Scope, search: Search, source: str, asked: DigestRequest) -> None:
        self._scope = scope
        what = picking.week(date.today()) if source == self.WEEK else source
        self.plan: DigestPlan = compact.plan(scope, search, what, asked)

    def make(self, progress: Callable[[int, int], None] | None = None) -> Digest:
        """Create the digest with the chosen model, or from the notes' own lines without one.

        Args:
            progress: called with the number of finished calls and of all calls.
        """
        return compact.make(self._scope, self.plan, progress)

    def folder(self, output_dir: str = "") -> str:
        """The memory folder for the digest: the project's, or the one in *output_dir*.

        Raises:
            UsageError, OSError: the folder is not usable.
        """
        return compact.folder_of(self._scope, output_dir)

    def write(self, digest: Digest, folder: str = "") -> Note:
        """Append the digest to today's file in the folder. This can be undone."""
        return compact.write(self._scope, self.plan, digest, folder or self.folder())
