"""The health page: the service's state, and the repair of each problem.

Each row opens its details.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from memsearch_engine import MemsearchError
from textual.binding import Binding, BindingType

from memsearch_tui.activity import Line
from memsearch_tui.aside import away
from memsearch_tui.health import lines
from memsearch_tui.library import Library
from memsearch_tui.screens.rows import RowsScreen


class HealthScreen(RowsScreen):
    """Index, service, models, projects and sync."""

    TITLES = "health", "this part, and what mends it"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "2",
            "second_model",
            "Second model",
            tooltip="Ask a second model, too",
            id="health.second",
        )
    ]

    def __init__(self, library: Library, *, live: bool = True) -> None:
        super().__init__(self._look, live=live)
        self._library = library
        self._state: dict[str, Any] = {}
        self._making = ""

    def _look(self) -> list[Line]:
        self._state = self._library.status.health()
        return lines(self._state, self._making)

    def action_second_model(self) -> None:
        """Download the second model. The service uses it as soon as it has embedded the notes."""
        second = self._state.get("second", {})
        if self._making or not second.get("advice"):
            is_asked = second.get("asked")
            self.say("the second model is in use" if is_asked else "these notes don't need one")
            return
        self._making = "downloading; quitting stops it …"
        self.run_worker(self._bring(second["name"]), group="second")
        self.action_reload()

    async def _bring(self, name: str) -> None:
        try:
            await away(partial(self._library.memory.models.pull, name))
            self.say(f"{name} is downloaded and embeds the notes in the background")
        except MemsearchError as error:
            self.notify(f"{error} {error.hint}", severity="error")
        finally:
            self._making = ""
            self.action_reload()
