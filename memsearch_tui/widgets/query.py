"""The search box, and the order of typed keys.

The box completes filters: ``agent:co`` -> ``agent:codex``, accepted with right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import memsearch_engine as engine
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.suggester import Suggester
from textual.widgets import Input

from memsearch_tui.aside import away
from memsearch_tui.library import Library
from memsearch_tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from textual.widget import Widget

    _Base = Widget
else:
    _Base = object

_DATES = ("today", "yesterday", "7d", "30d", "90d", "mon", "14-mar", "last-march")


#: Texts of the empty box, the longest first.
_PLACEHOLDERS = (
    '/ search words or a question · agent: project: after:7d is:pinned -word "phrase"',
    "/ search words or a question · agent: after:7d is:pinned",
    "/ search words or a question",
    "/ search",
    "",
)


def _values(name: str) -> Sequence[str]:
    """Return the values of a filter, if they can be listed."""
    known = engine.FILTERS.get(name)
    if known and known.is_date:
        return _DATES[2:] if name == "after" else _DATES
    return known.values if known else ()


class InOrder(_Base):
    """A mixin for Input or TextArea, with a cursor that does not blink.

    Textual runs a key's binding (backspace, ctrl+u, an arrow) only after the key has bubbled up to
    the app, but inserts letters at once. Fast typing, or typing while the app is busy, would be
    applied in another order.
    """

    def on_mount(self) -> None:
        """Show a steady cursor: a blinking one is written twice a second."""
        self.cursor_blink = False

    async def _on_key(self, event: events.Key) -> None:
        bound = self._bindings.key_to_bindings.get(event.key, ())
        if bound and not event.is_printable and not bound[0].action.startswith("scroll_"):
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)
            return
        await super()._on_key(event)


class QueryBox(InOrder, Input):
    """The search box.

    Enter leaves it at once, so that all later keys belong to the list. Tab completes and never
    leaves.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "Complete the filter", id="query.complete", show=False),
        Binding("down", "hit(1)", "Choose a hit", id="query.choose", key_display="↑↓", show=False),
        Binding("up", "hit(-1)", "Choose a hit", show=False),
        Binding("enter", "submit", "Open the hit", id="query.open", show=False),
    ]

    #: The list in which up and down choose a hit; None while the keys act on the text.
    chosen_in: LineList | None = None

    @property
    def cursor_screen_offset(self) -> Offset:
        """The place that the last key acted on."""
        chosen_in = self.chosen_in
        return chosen_in.cursor_screen_offset if chosen_in else super().cursor_screen_offset

    def on_resize(self) -> None:
        """Use the placeholder that fits."""
        self.placeholder = next(text for text in _PLACEHOLDERS if len(text) < self.size.width)

    async def action_hit(self, step: int) -> None:
        """Move down (1) or up (-1) in the list, or through past searches if the box is empty."""
        await self.screen.run_action(f"do('arrow', {step})")

    def action_complete(self) -> None:
        """Accept the suggested completion."""
        self.action_end()  # at the end of the text, this action accepts the suggestion
        self.action_cursor_right()

    async def action_submit(self) -> None:
        """Go from the box to the hits."""
        await self.screen.run_action("do('deeper')")

    async def _on_key(self, event: events.Key) -> None:
        if self.screen.focused is not self:  # the focus moved while the key was on its way
            event.stop()
            event.prevent_default()
            self.app.post_message(events.Key(event.key, event.character))
            return
        self.chosen_in = None
        await super()._on_key(event)


def without_unfinished_filter(query: str) -> str:
    """Return *query* without a filter at its end whose value is still being typed.

    ``redis agent:co`` becomes ``redis``; ``agent:nobody`` can't become a filter and stays.
    """
    before, _, word = query.rpartition(" ")
    name, colon, start = word.removeprefix("-").partition(":")
    if not colon or name not in engine.FILTER_KEYS or engine.parse_query(word).is_empty:
        return query
    may_go_on = not start or any(value.startswith(start) for value in _values(name))
    return before if may_go_on else query


class FilterSuggester(Suggester):
    """Suggests the rest of the last word of a query if it is the beginning of a filter."""

    def __init__(
        self,
        library: Library,
        offer: Callable[[str, Sequence[str]], None] = lambda name, values: None,
    ) -> None:
        """Args:
        offer: called with the name of the filter that is typed and its values that fit; ('', ())
            for other words.
        """
        super().__init__(use_cache=False, case_sensitive=True)
        self._library, self._offer = library, offer

    async def get_suggestion(self, value: str) -> str | None:
        """Complete the filter at the end of the query; None if there is no completion."""
        before, _, word = value.rpartition(" ")
        minus = "-" if word.startswith("-") else ""
        completed = await self._complete(word.removeprefix("-"))
        return (
            f"{before}{' ' if before or value.startswith(' ') else ''}{minus}{completed}"
            if completed
            else None
        )

    async def _complete(self, word: str) -> str:
        name, colon, start = word.partition(":")
        if not colon:
            self._offer("", ())
            near = [key for key in engine.FILTER_KEYS if len(word) > 1 and key.startswith(word)]
            return f"{near[0]}:" if near else ""
        names = await away(self._library.projects.names) if name == "project" else ()
        values = ("*", *names) if name == "project" else _values(name)
        near = [value for value in values if value.startswith(start) and value != start]
        self._offer(name if near else "", near)
        return engine.shown_line(f"{name}:{near[0]}") if near else ""
