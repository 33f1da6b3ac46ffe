"""Which notes supersede which: what was found, and what the owner decided."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.search.scope import Scope

if TYPE_CHECKING:
    from memsearch_engine.search.request import SearchRequest
    from memsearch_engine.search.sections import Section
    from memsearch_engine.search.supersession.contradictions import Contradiction
    from memsearch_engine.search.supersession.listing import Supersession
    from memsearch_engine.search.supersession.revisions import Revision

_LONG_S = 24 * 3600.0


class Supersessions:
    """Which notes supersede which.

    >>> with Memory() as memory:
    ...     memory.supersession.contradictions()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def trace(self, query: str | SearchRequest = "", *, note: str = "") -> list[Revision]:
        """The notes on the topic that *query* is about, oldest first: the last one is what holds
        now.

        Args:
            note: an entry id, for the topic of that note; then nothing is searched for.

        Raises:
            Unreachable: the service can't be started, or has no vectors to compare notes by.
        """
        from memsearch_engine.search.request import request_of
        from memsearch_engine.search.supersession.revisions import Revision

        return self._scope.call(
            "trace",
            list[Revision],
            timeout_s=_LONG_S,
            request=request_of(query),
            place=self._scope.place_param,
            note=note,
        )

    def amends(self, newer: str, older: str, yes: bool | None = True) -> bool | None:
        """Say that a note supersedes an older one, that it does not (False), or leave it to their
        words again (None). A note that supersedes another is found before it and injected in its
        place.

        Returns:
            What was said before.

        Raises:
            NotFound: no such entry.
        """
        from memsearch_engine.search.supersession.overrides import set_override

        sections = [self._scope.section(name) for name in (older, newer)]
        for section in sections:
            check_is_note(self._scope.home, section)
        names = [section.entry.id for section in sections]
        if names[0] == names[1]:
            raise UsageError("a note does not amend itself")
        return set_override(self._scope.home, names[0], names[1], yes)

    def amendments(self, name: str = "", *, limit: int = 20) -> list[Supersession]:
        """Which note supersedes which, as it was found by comparing them and as the owner said.

        Args:
            name: a note: what it supersedes and what supersedes it, the most probable first.
                Without it: pairs that are probable but not clear and wait for the owner's word
                (``amends``), the newest first.

        Raises:
            NotFound: no such entry.
        """
        from memsearch_engine.search.supersession import listing
        from memsearch_engine.search.supersession.overrides import read_overrides

        if self._scope.catalog is None:
            return []
        if not name:
            return listing.undecided(
                self._scope.catalog,
                read_overrides(self._scope.home),
                sorted({p.id for p in self._scope.projects}),
                limit,
            )
        section = self._scope.section(name)
        project = section.project or self._scope.project
        found = listing.of_note(
            self._scope.catalog, read_overrides(self._scope.home), project.id, section.entry.id
        )[:limit]
        if not found:
            return []
        from memsearch_engine.injection.notes import mark_withheld  # 6 MB, for what few notes have

        return mark_withheld(found, project.memory, self._scope.journal.origin)

    def contradictions(self, *, limit: int = 20) -> list[Contradiction]:
        """Pairs of notes that give one setting two values without a word of change, and on which
        the owner said nothing (``amends``), the newest first.
        """
        from memsearch_engine.search.supersession import contradictions
        from memsearch_engine.search.supersession.overrides import read_overrides

        if self._scope.catalog is None:
            return []
        return contradictions.undecided(
            self._scope.catalog,
            read_overrides(self._scope.home),
            sorted({p.id for p in self._scope.projects}),
            limit,
        )


def check_is_note(home: Home, section: Section) -> None:
    """Raises UsageError where a section stands in an agent's own file."""
    path = section.path
    if path.startswith(f"{home.longterm_search}{os.sep}") and path.endswith(f"{os.sep}native.md"):
        raise UsageError(
            f"{section.entry.id} is in an agent's own file, and no note",
            "`memsearch agents files import` makes one of it",
        )
