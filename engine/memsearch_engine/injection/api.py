"""What is injected into sessions, looked at beforehand and afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.search.scope import Scope

if TYPE_CHECKING:
    from memsearch_engine.core.home import Home
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
        from memsearch_engine.injection.injection_log import demote

        return self._changed(
            demote,
            name,
            "was not injected at a prompt",
            "`memsearch agents context --log` lists what was injected",
        )

    def promote(self, name: str) -> list[str]:
        """Undo ``demote``, and return the ids of the entries.

        Raises:
            NotFound: the note is not demoted.
        """
        from memsearch_engine.injection.injection_log import promote

        return self._changed(
            promote,
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
