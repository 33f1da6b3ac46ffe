"""What agents did in past turns: commands, errors and written files, as a part of ``Memory``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from memsearch_engine.actions import answers, work
from memsearch_engine.actions.answers import CommandRuns, Fix
from memsearch_engine.actions.index import ActionIndex, AgentAction
from memsearch_engine.core.errors import MemsearchError, UsageError
from memsearch_engine.search.scope import ScopePart
from memsearch_engine.service.search_client import Searcher

_NOTES_ASKED = 5  # notes; the commands of their turns answer ``how``


class PastActions(ScopePart):
    """What agents did in past turns.

    >>> with Memory() as memory:
    ...     memory.actions.how("run the tests")
    []
    """

    def how(self, asked: str, *, limit: int = 10) -> list[CommandRuns]:
        """Find the commands that did something, best first.

        Commands with the words of *asked* come first, then the commands of turns with a matching
        note.

        Args:
            asked: what was done, in the words of a person.
            limit: number of answers.
        """
        turns = [
            (anchor.agent, anchor.session, anchor.turn)
            for hit in Searcher(self._scope).search(asked, limit=_NOTES_ASKED)
            if not hit.is_doubtful
            for anchor in hit.row.anchors
        ]
        with self._actions() as actions:
            return answers.how(actions, self._memories, asked, self._note_exists(), turns)[:limit]

    def fix(self, error: str, *, limit: int = 5) -> list[Fix]:
        """Find where an error occurred, and what fixed it: the same error first, then similar ones.

        Args:
            error: the error message, or a part of it.
            limit: number of answers.
        """
        with self._actions() as actions:
            return answers.fix(actions, self._memories, error, self._note_exists())[:limit]

    def blame(self, path: str | os.PathLike[str], *, limit: int = 20) -> list[AgentAction]:
        """Return the turns that wrote to a file, newest first.

        ``note(act.entry)`` is the note of a turn.

        Args:
            path: absolute, relative to the current folder or to the project, or only its last
                parts.
            limit: number of turns.

        Raises:
            UsageError: the path is empty.
        """
        name = os.fspath(path)
        if not name.strip():
            raise UsageError("a file has a name", "memsearch blame PATH")
        is_here = os.path.isabs(name) or os.path.exists(name)
        name = work.within(os.path.abspath(name) if is_here else name, self._scope.place.root)
        with self._actions() as actions:
            return answers.blame(actions, self._memories, name, self._note_exists())[:limit]

    @property
    def _memories(self) -> list[str]:
        return (
            [] if self._scope.everything else [project.memory for project in self._scope.projects]
        )

    def _actions(self) -> contextlib.closing[ActionIndex]:
        return contextlib.closing(ActionIndex(self._scope.home))

    def _note_exists(self) -> Callable[[AgentAction], bool]:
        """Return a function that checks whether an action's note still exists.

        The actions of a deleted note are not shown.
        """
        known: dict[str, bool] = {}
        catalog = self._scope.catalog

        def exists(act: AgentAction) -> bool:
            if act.entry not in known:
                known[act.entry] = (
                    catalog is None
                    or bool(catalog.by_entry(act.entry))
                    or self._is_there(act.entry)
                )
            return known[act.entry]

        return exists

    def _is_there(self, name: str) -> bool:
        try:
            return bool(self._scope.section(name))
        except MemsearchError:
            return False
