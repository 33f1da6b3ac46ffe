"""Searching on the home screen: words at every key, meaning when typing rests; what was searched
before, and searches that are kept.

A part of ``BrowseScreen`` (it uses its list and its box).
"""

from __future__ import annotations

import asyncio
import time
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from memsearch_engine import shown_line
from textual import events
from textual.widgets import Input

from memsearch_tui.aside import Lane
from memsearch_tui.counted import many
from memsearch_tui.timeline import Hits, Key, Timeline, is_heading

if TYPE_CHECKING:
    from memsearch_engine import Answer
    from textual.screen import Screen

    from memsearch_tui.library import Item, Library
    from memsearch_tui.widgets.lines import LineList

    _Base = Screen[None]
else:
    _Base = object

_REST_S = 0.14
#: One thread each: what was typed over is dropped from the lane, and no thread keeps a database
#: connection for nothing.
_WORDS, _MEANING = Lane("words"), Lane("meaning")
_HITS = 60
_PAST, _MIN = 50, 3  # searches that are remembered, and how many letters one must have


class Searching(_Base):
    """The query, its hits, and filters by key."""

    if TYPE_CHECKING:
        library: Library
        entries: LineList
        item: Item | None
        gone: set[Key]
        shown: Timeline | Hits
        level: str
        timeline: Timeline
        editing: bool

        _wanted: Key | None

        def go(self, level: str) -> None: ...
        def say(self, text: str, *, for_s: float = 8) -> None: ...
        def say_of_service(self, text: str) -> None: ...
        def say_of_query(self, text: str) -> None: ...
        def _preview(self) -> None: ...
        def _recount(self) -> None: ...
        def _title_day(self) -> None: ...
        def _show_timeline(self, cursor: Key | None = None) -> None: ...
        def action_reload(self, stand_on: Key | None = None) -> None: ...
        def _show_calendar(self, counts: dict[str, int]) -> None: ...
        def _show_places(self) -> None: ...

    def __init__(self) -> None:
        super().__init__()
        self.query_text = ""
        self.sought = ""  # in the text that is open
        self._moved = False
        self._before_search: Key | None = None
        self._generation = 0
        self._marked: tuple[str, list[str]] = ("", [])
        self._answer: Answer | None = None  # what is shown of it
        self._past = -1  # which of the past searches stands in the box, counted from the newest

    def _words(self) -> list[str]:
        """The query's plain words, for highlighting; every row asks for them."""
        if self._marked[0] != self.query_text:
            from memsearch_engine import STOP_WORDS
            from memsearch_engine import parse_query as parse

            words = (word.casefold() for word in parse(self.query_text).text.split())
            self._marked = (
                self.query_text,
                [word for word in words if len(word) > 1 and word not in STOP_WORDS],
            )
        return self._marked[1]

    def _marks(self) -> list[str]:
        """What is highlighted in the text that is open: what was looked for in it, else the query's
        words.
        """
        return [self.sought.casefold()] if self.sought else self._words() if self.query_text else []

    def action_search(self) -> None:
        box = self.query_one("#query", Input)
        self.go("entries")
        self.set_focus(box)  # at once: what is typed next must not be taken for commands

    def on_input_changed(
        self, event: Input.Changed
    ) -> None:  # by its name: Textual looks for decorated ones in screens only
        self.query_text = event.value
        self._moved = False
        self.say_of_query("")
        if self._past >= 0 and event.value != self._searches("searches")[self._past]:
            self._past = -1
        if event.value.strip():
            self._start_search()
        else:
            self.query_text = ""
            self._generation += 1  # an answer that is still on its way is none any more
            self._show_timeline(self._before_search)
            self.action_reload()  # what came meanwhile

    def on_key(self, event: events.Key) -> None:
        if isinstance(self.focused, Input) and event.key in ("down", "up"):
            if not self.query_text or self._past >= 0:
                self._recall(1 if event.key == "up" else -1)
            else:
                self.entries.action_move(1 if event.key == "down" else -1)
            event.stop()

    def _start_search(self, *, words_first: bool = True) -> None:
        self._generation += 1
        # no coroutine yet: a search that a newer one replaces may never run
        search = partial(self._search, self.query_text, self._generation, words_first)
        self.run_worker(search, exclusive=True, group="search")  # type: ignore[arg-type]

    async def _search(self, text: str, generation: int, words_first: bool) -> None:
        """Words at once; meaning when typing rests. A newer query makes this one's answers void."""
        memory = self.library.memory
        typed = time.monotonic()
        if self.library.narrows(text):
            await self._narrow(text, generation)
            return
        steps = [(_WORDS, 0.0, memory.lexical), (_MEANING, _REST_S, memory.search)]
        for lane, rest, ask in steps if words_first else steps[1:]:
            await asyncio.sleep(max(0.0, typed + rest - time.monotonic()))
            try:
                answer = await lane.run(partial(ask, text, _HITS))
            except Exception as error:  # whatever a damaged index raises: the next key asks again
                self.say_of_service(str(error))
                return
            if generation != self._generation or not self.query_text:
                return
            self._show_hits(answer)
            if lane is _MEANING:  # typing rests
                self.say_of_query(_remarks(answer))
                if answer.mode == "hybrid":
                    self.say_of_service("")  # it has answered

    async def _narrow(self, text: str, generation: int) -> None:
        """Show the notes that filters alone admit, all of them under their days."""
        near = self.item.day if self.item is not None else None
        library = self.library

        def listed() -> Timeline:
            narrowed, only = library.narrowed(text)
            return Timeline(narrowed, self._recount, near=near or library.today(), only=only)

        try:
            found = await _WORDS.run(listed)
        except Exception as error:  # an unknown project, a damaged index
            self.say_of_query(str(error))
            return
        if generation == self._generation and self.query_text:
            self._answer, self.shown = None, found
            self.entries.empty = _nothing(text, [])
            line, here = self.entries.line, self.entries.key if self._moved else self._before_search
            here, self._wanted = self._wanted if self._wanted in found else here, None
            newest = found[1] if len(found) else None
            self.entries.show_keys(found, cursor=here if here in found else newest)
            if self._moved and here in found:
                self.entries.hold(line)
            self._preview()
            self._title_day()
            self._show_calendar(found.counts)
            self.say_of_query("")

    def _show_hits(self, answer) -> None:
        self._answer = answer
        grouped = bool(self.app.kept.get("by_session"))  # type: ignore[attr-defined]
        items = (
            self.library.talks(answer, self.query_text)
            if grouped
            else self.library.items(answer, self.query_text)
        )
        hits = Hits(items, by_session=grouped).without(self.gone)
        line = self.entries.line
        cursor = (
            self.entries.key
            if self._moved
            else next((key for key in hits if not is_heading(key)), None)
        )
        self.shown = hits
        self.entries.empty = _nothing(self.query_text, answer.absent)
        self.entries.show_keys(hits, cursor=cursor)
        self._preview()
        self._show_calendar({} if answer.is_unsure else hits.days)
        if self._moved:  # the row under the cursor stays where the eye is
            self.entries.hold(
                max(line, self.entries.tall) if grouped else line
            )  # a heading belongs to its first row
        found = sum(hits.days.values())
        count = f"first {found}" if found == _HITS else many(found, "hit")
        self.entries.border_title = f"{count} · {answer.mode}"
        self.entries.border_subtitle = f"{answer.took_ms:.0f} ms" if answer.took_ms else ""

    def _end_search(self) -> None:
        self._generation += 1
        self._wanted = None
        self.say_of_query("")
        self.query_text = ""
        self._past = -1
        box = self.query_one("#query", Input)
        with box.prevent(Input.Changed):
            box.value = ""
        self._show_timeline(self._before_search)
        self.action_reload()  # what came meanwhile
        self.set_focus(self.entries)
        self.go("entries")

    def action_by_session(self) -> None:
        """Show hits by the conversation that they come from, or one by one; the row under the
        cursor stays.
        """
        grouped = not self.app.kept.get("by_session")  # type: ignore[attr-defined]
        self.app.keep(by_session=grouped)  # type: ignore[attr-defined]
        if self.query_text and self._answer is not None:
            self._moved = True
            self._show_hits(self._answer)
        self.say(
            "hits are shown by conversation · s shows them one by one"
            if grouped
            else "hits are shown one by one"
        )

    def action_why(self) -> None:
        if self.item and self.item.reasons:
            self.notify(" · ".join(self.item.reasons), title="Why this hit", timeout=10)

    # -- past and kept searches

    def _searches(self, name: str) -> list[str]:
        """``searches``: what was searched for, newest first; ``saved``: what is kept."""
        kept = self.app.kept.get(name)  # type: ignore[attr-defined]
        return [text for text in kept if isinstance(text, str)] if isinstance(kept, list) else []

    def _remember_search(self) -> None:
        text = self.query_text.strip()
        if len(text) >= _MIN and not self._is_secret(text):
            past = [text, *(other for other in self._searches("searches") if other != text)]
            self.app.keep(searches=past[:_PAST])  # type: ignore[attr-defined]

    def _is_secret(self, text: str) -> bool:
        from memsearch_engine import redact

        return bool(redact(text, self.library.memory.home)[1])

    def _recall(self, step: int) -> None:
        """Put an older (1) or newer (-1) search into the box; beyond the newest it is empty."""
        past = self._searches("searches")
        if past and -1 <= self._past + step < len(past):
            self._past += step
            self.search_for(past[self._past] if self._past >= 0 else "")

    def search_for(self, text: str) -> None:
        """Put *text* into the box, as if it had been typed."""
        if not self.query_text:
            self._before_search = self.entries.key
        box = self.query_one("#query", Input)
        box.value = shown_line(text)
        box.cursor_position = len(box.value)
        self.go("entries")

    def save_search(self) -> None:
        """Keep the search that stands in the box, or keep it no longer."""
        text, saved = self.query_text.strip(), self._searches("saved")
        if not text:
            self.say("There is no search to keep: type one first.")
        elif text in saved:
            self.app.keep(saved=[other for other in saved if other != text])  # type: ignore[attr-defined]
            self.say(f"no longer kept: {text}")
        elif self._is_secret(text):
            self.say("A search with a secret in it is not kept.")
        else:
            self.app.keep(saved=[*saved, text])  # type: ignore[attr-defined]
            self.say(f"kept: {text} · S lists what is kept · ctrl+s again drops it")
        self._show_places()

    def action_saved(self) -> None:
        """Choose one of the searches that are kept."""
        from memsearch_tui.screens.choose import Choice, ChooseScreen

        saved = self._searches("saved")
        if not saved:
            self.say("No search is kept yet: type one and press ctrl+s.")
            return
        choices = [Choice(text, text) for text in saved]
        chosen = ChooseScreen("kept searches", choices)
        self.app.push_screen(chosen, lambda text: self.search_for(text) if text else None)

    # -- filters by key

    def action_filter_agent(self) -> None:
        if self.item and self.item.agent:
            self._toggle_word(f"agent:{self.item.agent}")

    def action_filter_projects(self) -> None:
        self._toggle_word("project:*")

    def action_as_of(self) -> None:
        """Slide over the days: the search is answered as of each."""
        from memsearch_tui.screens.as_of import AsOfScreen

        counts, today = self.timeline.counts, self.library.today()
        if self.editing or not counts:
            return
        before = self.query_text
        chosen = next(
            (word.partition(":")[2] for word in before.split() if word.startswith("as-of:")), ""
        )

        def moved(day: str) -> None:
            words = [word for word in self.query_text.split() if not word.startswith("as-of:")]
            self.search_for(" ".join([*words, f"as-of:{day}"] if day else words))

        def decided(kept: bool | None) -> None:
            if not kept:
                self.search_for(before)

        first = min(counts)
        day = chosen if _is_day(chosen) else today
        self.app.push_screen(AsOfScreen(min(first, today), today, day, moved), decided)

    def _toggle_word(self, word: str) -> None:
        """Put a filter into the query, or take it out; the query says what is filtered."""
        words = self.query_text.split()
        self.search_for(
            " ".join([w for w in words if w != word] if word in words else [*words, word])
        )


def _remarks(answer: Answer) -> str:
    """What a person should know about how a query was read and answered."""
    remarks = [f"{word} → {', '.join(near)}" for word, near in answer.corrected.items()]
    remarks += [f"no note has {', '.join(answer.absent)}"] if answer.absent else []
    remarks += ["perhaps no note fits"] if answer.is_unsure else []
    return " · ".join([*remarks, answer.reason] if answer.reason else remarks)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _nothing(text: str, absent: list[str]) -> list[str]:
    """Why a search found nothing, and what to change."""
    from difflib import get_close_matches

    from memsearch_engine import FILTER_KEYS

    keyed = {word: word.partition(":")[0].lstrip("-") for word in text.split() if ":" in word}
    filters = [word for word, key in keyed.items() if key in FILTER_KEYS]
    lines = ["No note fits."]
    lines += [f"No note has {', '.join(absent)}."] if absent else []
    lines += (
        [f"It is narrowed by {', '.join(filters)}: take one out to see more."] if filters else []
    )
    for word, key in keyed.items():
        near = get_close_matches(key, FILTER_KEYS, 1) if key not in FILTER_KEYS else []
        lines += [f"{word} is searched for as text: did you mean {near[0]}: ?"] if near else []
    return [
        *lines,
        "",
        "escape               goes back to all notes",
        "F                    looks in all projects",
    ]
