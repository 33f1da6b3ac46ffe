"""What is injected into sessions, looked at beforehand and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.search.scope import Scope

if TYPE_CHECKING:
    from memsearch_engine.injection.injection_log import InjectionRecord
    from memsearch_engine.injection.prompt import PromptInjection

_LONG_S = 24 * 3600.0
_MIN_NAME = 8  # digits by which a note may be named


class Injections:
    """What is injected into sessions unasked.

    >>> with Memory() as memory:
    ...     memory.injection.log()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def preview(self, prompt: str, *, agent: str = "", session: str = "") -> PromptInjection:
        """Preview the injection at *prompt*, and the reasons why other notes are not injected.

        Args:
            agent, session: a session with earlier injections; a new session by default.

        Raises:
            Unreachable: the service can't be started.
        """
        from memsearch_engine.injection.prompt import PromptInjection

        return self._scope.call(
            "recall",
            PromptInjection,
            timeout_s=_LONG_S,
            place=self._scope.place_param,
            prompt=prompt,
            agent=agent,
            session=session,
            dry=True,
        )

    def preview_after_compaction(self, agent: str, session: str) -> PromptInjection:
        """Preview the injection after a compaction: the session's notes that its summary lacks."""
        from memsearch_engine.injection.prompt import PromptInjection

        return self._scope.call(
            "carry_on",
            PromptInjection,
            timeout_s=_LONG_S,
            place=self._scope.place_param,
            agent=agent,
            session=session,
            dry=True,
        )

    def log(self, session: str = "", limit: int = 50) -> list[InjectionRecord]:
        """What was injected into sessions, newest first, and whether agents used it."""
        from memsearch_engine.injection.injection_log import records

        return records(self._scope.home, session, limit)

    def demote(self, name: str) -> list[str]:
        """Inject a note less at prompts like those at which it was injected. ``promote`` undoes it.

        Returns:
            The ids of the demoted entries.

        Raises:
            NotFound: the note was never injected.
        """
        from memsearch_engine.injection import injection_log

        if len(name) < _MIN_NAME:
            raise UsageError(f"{name!r} may be any note", f"at least {_MIN_NAME} digits of its id")
        if not (found := injection_log.demote(self._scope.home, name)):
            raise NotFound(
                f"{name} was not injected at a prompt",
                "`memsearch agents context --log` lists what was injected",
            )
        return found

    def promote(self, name: str) -> list[str]:
        """Undo ``demote``, and return the ids of the entries.

        Raises:
            NotFound: the note is not demoted.
        """
        from memsearch_engine.injection import injection_log

        if len(name) < _MIN_NAME:
            raise UsageError(f"{name!r} may be any note", f"at least {_MIN_NAME} digits of its id")
        if not (found := injection_log.promote(self._scope.home, name)):
            raise NotFound(
                f"{name} was not demoted",
                "`memsearch agents context --less NOTE` demotes a note",
            )
        return found
