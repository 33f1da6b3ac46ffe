"""Parts of ``Memory``: what is injected into sessions, and which note supersedes which."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.injection import injection_log
from memsearch_engine.search.request import SearchRequest, request_of
from memsearch_engine.search.scope import ScopePart
from memsearch_engine.search.supersession import contradictions, listing

if TYPE_CHECKING:
    from memsearch_engine.injection.prompt import PromptInjection
    from memsearch_engine.search.sections import Section
    from memsearch_engine.search.supersession.revisions import Revision

_LONG_S = 24 * 3600.0
_MIN_NAME = 8  # digits by which a note may be named


class Injections(ScopePart):
    """What is injected into sessions unasked.

    >>> with Memory() as memory:
    ...     memory.injection.log()
    []
    """

    def preview(self, prompt: str, *, agent: str = "", session: str = "") -> PromptInjection:
        """Preview the injection at *prompt*, and the reasons why other notes are not injected.

        Args:
            agent, session: a session with earlier injections; a new session by default.

        Raises:
            Unreachable: the service can't be started.
        """
        return self._preview("recall", prompt=prompt, agent=agent, session=session)

    def preview_after_compaction(self, agent: str, session: str) -> PromptInjection:
        """Preview the injection after a compaction: the session's notes that its summary lacks."""
        return self._preview("carry_on", agent=agent, session=session)

    def _preview(self, method: str, **params: Any) -> PromptInjection:
        from memsearch_engine.injection.prompt import PromptInjection

        return self._scope.call(
            method,
            PromptInjection,
            timeout_s=_LONG_S,
            place=self._scope.place_param,
            dry=True,
            **params,
        )

    def log(self, session: str = "", limit: int = 50) -> list[injection_log.InjectionRecord]:
        """What was injected into sessions, newest first, and whether agents used it."""
        return injection_log.records(self._scope.home, session, limit)

    def demote(self, name: str) -> list[str]:
        """Inject a note less at prompts like those at which it was injected. ``promote`` undoes it.

        Returns:
            The ids of the demoted entries.

        Raises:
            NotFound: the note was never injected.
        """
        return self._changed(
            injection_log.demote,
            name,
            "was not injected at a prompt",
            "`memsearch agents context --log` lists what was injected",
        )

    def promote(self, name: str) -> list[str]:
        """Undo ``demote``, and return the ids of the entries.

        Raises:
            NotFound: the note is not demoted.
        """
        return self._changed(
            injection_log.promote,
            name,
            "was not demoted",
            "`memsearch agents context --less NOTE` demotes a note",
        )

    def _changed(
        self, change: Callable[[Home, str], list[str]], name: str, problem: str, hint: str
    ) -> list[str]:
        """Apply *change* to a note, and return the ids of the changed entries."""
        if len(name) < _MIN_NAME:
            raise UsageError(f"{name!r} may be any note", f"at least {_MIN_NAME} digits of its id")
        if not (found := change(self._scope.home, name)):
            raise NotFound(f"{name} {problem}", hint)
        return found


class Supersessions(ScopePart):
    """Which notes supersede which.

    >>> with Memory() as memory:
    ...     memory.supersession.contradictions()
    []
    """

    def trace(self, query: str | SearchRequest = "", *, note: str = "") -> list[Revision]:
        """Return the notes on the topic of a query or note, oldest first. The last one is valid.

        Args:
            query: what to search for.
            note: the id of a note on the topic, instead of a query.

        Raises:
            Unreachable: the service can't be started, or has no vectors to compare notes.
        """
        from memsearch_engine.search.supersession.revisions import Revision

        return self._scope.call(
            "trace",
            list[Revision],
            timeout_s=_LONG_S,
            request=request_of(query),
            place=self._scope.place_param,
            note=note,
        )

    def override(self, newer: str, older: str, yes: bool | None = True) -> bool | None:
        """Store the owner's decision whether a note supersedes an older one.

        A superseding note is found before the older one and injected in its place.

        Args:
            yes: None removes the decision, so that the texts decide.

        Returns:
            The previous decision.

        Raises:
            NotFound: there is no such entry.
        """
        sections = [self._scope.section(name) for name in (older, newer)]
        for section in sections:
            check_is_note(self._scope.home, section)
        names = [section.entry.id for section in sections]
        if names[0] == names[1]:
            raise UsageError("a note cannot supersede itself", "name two notes")
        return listing.set_override(self._scope.home, names[0], names[1], yes)

    def pairs(self, name: str = "", *, limit: int = 20) -> list[listing.Supersession]:
        """Which note supersedes which, computed or decided by the owner.

        Args:
            name: a note: what it supersedes and what supersedes it, the most probable first.
                Without it: probable pairs that are pending review, the newest first. ``override``
                decides them.

        Raises:
            NotFound: no such entry.
        """
        if self._scope.catalog is None:
            return []
        if not name:
            return listing.undecided(
                self._scope.catalog,
                listing.read_overrides(self._scope.home),
                sorted({p.id for p in self._scope.projects}),
                limit,
            )
        section = self._scope.section(name)
        project = section.project or self._scope.project
        found = listing.of_note(
            self._scope.catalog,
            listing.read_overrides(self._scope.home),
            project.id,
            section.entry.id,
        )[:limit]
        if not found:
            return []
        from memsearch_engine.injection.notes import mark_withheld  # 6 MB, for what few notes have

        return mark_withheld(found, project.memory, self._scope.journal.origin)

    def contradictions(self, *, limit: int = 20) -> list[contradictions.Contradiction]:
        """Return undecided pairs of notes with two values for one setting, newest first."""
        if self._scope.catalog is None:
            return []
        return contradictions.undecided(
            self._scope.catalog,
            listing.read_overrides(self._scope.home),
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
