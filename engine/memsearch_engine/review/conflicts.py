"""Notes whose text was changed in two places: both texts stand in the file until the owner says
which one holds.

``journal.merge`` has put the newer one in the note's place and the other right after it. Neither is
told to sessions meanwhile.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from memsearch_engine.core.errors import NotFound
from memsearch_engine.journal.model import CONFLICT_OF, Entry
from memsearch_engine.journal.write import target_of
from memsearch_engine.search.scope import Scope


class Contested(msgspec.Struct, frozen=True):
    """A note and the other text of it. ``entry`` is None where the note itself was deleted
    since.
    """

    path: str
    day: str
    entry: Entry | None
    other: Entry

    @property
    def id(self) -> str:
        """What a decision names: that of the other text, since a note may have several."""
        return self.other.id


class Conflicts:
    """Notes whose text was changed in two places.

    >>> with Memory() as memory:
    ...     memory.conflicts.all()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def all(self) -> list[Contested]:
        """All of them, newest day first."""
        found = []
        for file, other in self._scope.every_entry():
            if of := other.marks.get(CONFLICT_OF):
                entry = next((entry for entry in self._scope.read(file) if entry.id == of), None)
                found.append(Contested(file.path, file.day, entry, other))
        return found

    def decide(
        self,
        case: Contested,
        keep: Literal["shown", "other", "both"],
        text: str | None = None,
    ) -> None:
        """Have one text hold, *text* where neither is right, or each as a note of its own. One step
        of undo. Raises Conflict, NotFound.
        """
        folder = self._scope.memory_of(case.path)
        other = target_of(case.path, case.other)
        if case.entry is None:
            if keep == "shown":
                self._scope.journal.delete(folder, [other])
            else:
                self._scope.journal.part(folder, other, None)
            return
        shown = target_of(case.path, case.entry)
        if keep == "both":
            self._scope.journal.part(folder, other, shown)
            return
        body = text if text is not None else case.other.body if keep == "other" else None
        self._scope.journal.decide(folder, shown, other, body)

    def get(self, name: str) -> Contested:
        """The one that *name* begins the id of, of the note or of its other text. Raises
        NotFound.
        """
        found = [
            case
            for case in self.all()
            if case.id.startswith(name) or (case.entry and case.entry.id.startswith(name))
        ]
        if not found:
            raise NotFound(f"no conflict {name}", "`memsearch sync conflicts` lists them")
        return found[0]
