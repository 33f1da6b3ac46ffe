"""Notes with a conflict: their text was changed in two places.

Both texts are in the file until the owner decides.

``journal.merge`` has put the newer text in the note's place and the other one after it. Neither is
injected until then.
"""

from __future__ import annotations

import contextlib
from typing import Literal

import msgspec

from memsearch_engine.journal import versions
from memsearch_engine.journal.model import CONFLICT_OF, Entry
from memsearch_engine.journal.outline import Look
from memsearch_engine.journal.targets import target_of
from memsearch_engine.search.scope import Scope


class TextConflict(msgspec.Struct, frozen=True):
    """A note and its other text. ``entry`` is None if the note itself was deleted since."""

    path: str
    day: str
    entry: Entry | None
    other: Entry

    @property
    def id(self) -> str:
        """The id of the other text.

        It names the conflict, because a note may have several other texts.
        """
        return self.other.id


class Conflicts:
    """The notes with a conflict.

    >>> with Memory() as memory:
    ...     memory.conflicts.all()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def all(self) -> list[TextConflict]:
        """All conflicts, newest day first."""
        found = []
        outlines = self._scope.outlines()
        for file in self._scope.days():
            if (outline := outlines.get(file)) and not outline.look & Look.CONFLICT:
                continue
            with contextlib.suppress(OSError):  # `doctor` reports the unreadable file
                entries = self._scope.read(file)
                by_id = {entry.id: entry for entry in entries}
                found += [
                    TextConflict(file.path, file.day, by_id.get(of), other)
                    for other in entries
                    if (of := other.marks.get(CONFLICT_OF))
                ]
        return found

    def decide(
        self,
        case: TextConflict,
        keep: Literal["shown", "other", "both"],
        text: str | None = None,
    ) -> None:
        """Resolve a conflict in one step of undo.

        Args:
            keep: the text that stays. ``both`` makes each text a note of its own.
            text: use this text instead of both.

        Raises:
            Conflict: a text has changed since.
            NotFound: a text does not exist any more.
        """
        folder = self._scope.memory_of(case.path)
        other = target_of(case.path, case.other)
        if case.entry is None:
            if keep == "shown":
                self._scope.journal.delete(folder, [other])
            else:
                versions.separate(self._scope.journal, folder, other, None)
            return
        shown = target_of(case.path, case.entry)
        if keep == "both":
            versions.separate(self._scope.journal, folder, other, shown)
            return
        body = text if text is not None else case.other.body if keep == "other" else None
        versions.decide(self._scope.journal, folder, shown, other, body)
