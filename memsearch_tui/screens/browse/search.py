"""The search: by words at every key, by meaning when typing rests; past and saved searches;
filters.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial

import memsearch_engine as engine
import msgspec
from memsearch_engine import shown_line
from textual.widgets import Input

from memsearch_tui.aside import Lane
from memsearch_tui.library.rows import counted_hits, has_only_filters, hit_rows
from memsearch_tui.screens.browse.desk import Desk
from memsearch_tui.screens.browse.listing import TimelineController
from memsearch_tui.screens.browse.reader import Reader
from memsearch_tui.timeline import Hits, Key, Timeline, is_heading
from memsearch_tui.widgets.calendar import iso_date
from memsearch_tui.widgets.query import without_unfinished_filter

#: Pause in typing, in seconds, before the search by meaning begins.
REST_S = 0.14
#: One thread each: an outdated query is dropped from the lane before it runs.
_WORDS, _MEANING = Lane("words"), Lane("meaning")
_HITS = 60
_OFFERED = 8  # listed values of a filter
#: Words of a question that a matching note need not contain.
_ASKING = frozenset(
    "today yesterday now recently lately latest last current currently when what why how who which "
    "where did does do was were is are has have "
    "had the a an of for to in on about again still".split()
)
_SHORTEST = 3  # shortest search that is stored, in letters


class SearchController:
    """The query, its hits, and filters by key."""

    def __init__(self, desk: Desk, reader: Reader, listing: TimelineController) -> None:
        self._desk, self._reader, self._listing = desk, reader, listing
        self._state, self._panes, self._saved = desk.state, desk.panes, desk.saved
        self._generation = 0
        self._answer: engine.Answer | None = None  # the shown answer
        self._past = -1  # the past search in the box, counted from the newest
        self._unfolded = False  # faintly similar hits are listed, too
        self._offered = ""  # the values of the filter that is typed

    # -- the box

    def focus(self) -> None:
        """Focus the box at once: the next keys are text, not commands."""
        self._desk.go("entries")
        self._desk.screen.set_focus(self._panes.query)

    def typed(self, text: str) -> None:
        """Use the text of the box as the query."""
        self._state.query, self._state.chosen, self._unfolded = text, False, False
        if self._desk.is_typing:
            self._desk.say("")  # a message of before
        if not text or text.endswith(" "):
            self._offered = ""
        self._desk.status.set_remark(self._offered)
        if self._past >= 0 and text != self._saved.past_searches[self._past]:
            self._past = -1
        if text.strip():
            self._start()
        else:
            self._state.query = ""
            self._generation += 1  # answers of earlier queries are dropped
            self._listing.show(self._state.before_search)
            self._listing.read_again()

    def offer(self, name: str, values: Sequence[str]) -> None:
        """List the values of the filter that is typed; nothing for ''."""
        listed = "  ".join([*values[:_OFFERED], *["…"] * (len(values) > _OFFERED)])
        self._offered = f"{name}:  {listed}   tab completes" if name else ""
        if self._desk.is_typing:
            self._desk.status.set_remark(self._offered)

    def arrow(self, step: int) -> None:
        """Handle down (1) or up (-1) in the box: an empty box shows past searches, else the cursor
        moves in the hits.
        """
        if not self._state.query or self._past >= 0:
            self._recall(-step)
        else:
            self._panes.query.chosen_in = self._panes.entries
            self._panes.entries.action_move(step)

    def search_for(self, text: str) -> None:
        """Put *text* into the box as if it was typed."""
        if not self._state.query:
            self._state.before_search = self._panes.entries.key
        box = self._panes.query
        box.value = shown_line(text)
        box.cursor_position = len(box.value)
        self._desk.go("entries")

    def end(self) -> None:
        """Empty the box and return to the row of all notes where the search began."""
        self._generation += 1
        self._state.cursor_wanted = None
        self._offered = ""
        self._desk.status.set_remark("")
        self._state.query = ""
        self._past = -1
        box = self._panes.query
        with box.prevent(Input.Changed):
            box.value = ""
        self._listing.show(self._state.before_search)
        self._listing.read_again()
        self._desk.screen.set_focus(self._panes.entries)
        self._desk.go("entries")

    # -- answers

    def reload(self, stand_on: Key | None = None) -> None:
        """Read the lists again.

        Args:
            stand_on: the key for the cursor; None: the cursor stays.
        """
        state = self._state
        if state.editing:
            return
        if state.query:
            state.cursor_wanted = stand_on or state.cursor_wanted
            self._start(words_first=False)  # the hits stay until the new ones arrive
            if stand_on in state.shown:
                self._panes.entries.show_keys(state.shown, cursor=stand_on)
                self._reader.preview()
        elif state.level != "turn":
            self._listing.read_again(stand_on)

    def drop_deleted(self) -> None:
        """Remove deleted notes from the list."""
        state = self._state
        if not isinstance(state.shown, Hits):
            self.reload()
            return
        state.shown = state.shown.without(state.deleted)
        self._panes.entries.show_keys(state.shown)
        self._reader.preview()

    def _start(self, *, words_first: bool = True) -> None:
        self._generation += 1
        search = partial(self._search, self._state.query, self._generation, words_first)
        self._desk.start(search, "search", only=True)

    def _is_void(self, generation: int) -> bool:
        return generation != self._generation or not self._state.query

    async def _search(self, text: str, generation: int, words_first: bool) -> None:
        """Search by words at once, and by meaning when typing rests.

        A newer query drops these answers.
        """
        library = self._state.library
        typed = time.monotonic()
        text = without_unfinished_filter(text)
        if has_only_filters(text):
            await self._narrow(text, generation)
            return
        memory = library.memory
        steps = [(_WORDS, 0.0, memory.queries.lexical), (_MEANING, REST_S, memory.search)]
        for lane, rest, ask in steps if words_first else steps[1:]:
            await asyncio.sleep(max(0.0, typed + rest - time.monotonic()))
            try:
                answer = await lane.run(partial(ask, text, _HITS))
            except Exception as error:
                # a damaged index may raise anything; the next key searches again
                self._desk.status.set_service(str(error))
                return
            if self._is_void(generation):
                return
            self.show_hits(answer, is_second=words_first and lane is _MEANING)
            if lane is _MEANING:  # typing rests
                self._desk.status.set_remark(self._offered or _remarks(answer, text))
                if answer.mode == "hybrid":
                    self._desk.status.set_service("")  # the service has answered

    async def _narrow(self, text: str, generation: int) -> None:
        """Show all notes that match the filters, newest first."""
        state, entries = self._state, self._panes.entries
        near = state.item.day if state.item is not None else None
        library = state.library

        def listed() -> Timeline:
            narrowed, only = library.narrowed(text)
            near_day = near or library.today()
            return Timeline(narrowed, self._listing.recount, near=near_day, only=only)

        try:
            found = await _WORDS.run(listed)
        except Exception as error:  # an unknown project, a damaged index
            self._desk.status.set_remark(str(error))
            return
        if self._is_void(generation):
            return
        self._answer, state.shown = None, found
        entries.empty = _nothing(text, [])
        entries.want_two_lines(False)
        line, here = entries.cursor_line, entries.key if state.chosen else state.before_search
        here, state.cursor_wanted = (
            state.cursor_wanted if state.cursor_wanted in found else here,
            None,
        )
        newest = found[0] if len(found) and not state.chosen else None
        entries.show_keys(found, cursor=here if here in found else newest)
        if state.chosen and here in found:
            entries.hold(line)
        self._reader.preview()
        self._listing.show_title()
        self._listing.show_calendar(found.counts)
        self._desk.status.set_remark(self._offered)

    def show_hits(self, answer: engine.Answer, *, is_second: bool = False) -> None:
        """Show the hits. The cursor is on the best one until the user moves it.

        Args:
            is_second: the hits by words of the same search are shown. Nothing is drawn if these
                look the same: a screen reader would say them again.
        """
        state, entries = self._state, self._panes.entries
        self._answer = answer
        grouped = self._saved.by_session
        items = hit_rows(state.library.items, answer, by_session=grouped)
        hits = Hits(items, by_session=grouped, unfolded=self._unfolded).without(state.deleted)
        rows = [msgspec.structs.replace(item, reasons=()) for item in items]
        hits.looks = state.query, list(hits), rows, answer.absent, answer.is_unsure
        before, state.shown = state.shown, hits
        if is_second and isinstance(before, Hits) and before.looks == hits.looks:
            return
        line = entries.cursor_line
        best = next((key for key in hits if not is_heading(key)), None)
        entries.empty = _nothing(state.query, answer.absent)
        entries.want_two_lines(True)
        entries.show_keys(hits, cursor=entries.key if state.chosen else best)
        self._reader.preview()
        self._listing.show_calendar({} if answer.is_unsure else hits.days)
        self._listing.show_title()
        if state.chosen:  # the row under the cursor stays at its place on the screen
            # a heading belongs to its first row
            entries.hold(max(line, entries.tall) if grouped else line)
        entries.entitle(counted_hits(items, _HITS, grouped=grouped), "")

    def unfold(self) -> None:
        """Also show the faintly similar hits."""
        if self._answer is not None:
            self._unfolded, self._state.chosen = True, True
            place = self._panes.entries.cursor
            self.show_hits(self._answer)
            self._panes.entries.move_to(place + 1)

    def group_by_session(self) -> None:
        """Toggle the grouping of hits by conversation; the row under the cursor stays."""
        grouped = not self._saved.by_session
        self._saved.save("by_session", grouped)
        if self._state.query and self._answer is not None:
            self._state.chosen = True
            self.show_hits(self._answer)
        how = "by conversation · s shows them one by one" if grouped else "one by one"
        self._desk.say(f"hits are shown {how}")

    async def explain(self) -> None:
        """Show why the note under the cursor is a hit, or why it is no hit of the last search."""
        past = self._saved.past_searches
        # of the newest answer, which may look like the one before and have other reasons
        item = self._state.shown.item(self._panes.entries.key)
        if item and item.reasons:
            reasons = [_whole(reason, self._state.words()) for reason in item.reasons]
            self._desk.say(f"Why this hit: {' · '.join(reasons)}", for_s=10)
        elif item and past:

            def show(found: engine.Absence) -> None:
                reasons = f"“{past[0]}”: {' · '.join(found.reasons)}"
                self._desk.say(f"Why it is no near hit of {reasons}", for_s=10)

            why_not = self._state.library.memory.queries.why_not
            await self._desk.read("looking for it", partial(why_not, past[0], item.entry_id), show)
        else:
            self._desk.say("Only a hit of a search has reasons: / searches.")

    # -- past and saved searches

    def remember(self) -> None:
        """Store the query as a past search, unless it contains a secret."""
        text = self._state.query.strip()
        if len(text) >= _SHORTEST and not self._is_secret(text):
            self._saved.add_past_search(text)

    def _is_secret(self, text: str) -> bool:
        return bool(engine.redact(text, self._state.library.memory.home)[1])

    def _recall(self, step: int) -> None:
        """Put an older (1) or newer (-1) past search into the box; after the newest one it is
        empty.
        """
        past = self._saved.past_searches
        if past and -1 <= self._past + step < len(past):
            self._past += step
            self.search_for(past[self._past] if self._past >= 0 else "")

    def save(self) -> None:
        """Save the search in the box, or remove it from the saved searches."""
        text, saved = self._state.query.strip(), self._saved.saved_searches
        if not text:
            self._desk.say("There is no search to save: type one first.")
        elif text in saved:
            self._saved.save("saved", [other for other in saved if other != text])
            self._desk.say(f"no longer saved: {text}")
        elif self._is_secret(text):
            self._desk.say("A search with a secret in it is not saved.")
        else:
            self._saved.save("saved", [*saved, text])
            self._desk.say(f"saved: {text} · S lists saved searches · ctrl+s again drops it")
        self._listing.show_places()

    def choose_saved(self) -> None:
        """Let the user choose a saved search."""
        saved = self._saved.saved_searches
        if not saved:
            self._desk.say("No search is saved yet: type one and press ctrl+s.")
            return
        self._desk.choose("saved searches", [(text, text) for text in saved], self.search_for)

    # -- filters by key

    def filter_agent(self) -> None:
        """Toggle between notes of the agent under the cursor and notes of all agents."""
        item = self._state.item
        if item and item.agent:
            self.toggle_word(f"agent:{item.agent}")

    def filter_projects(self) -> None:
        """Toggle between notes of this project and notes of all projects."""
        self.toggle_word("project:*")

    def choose_as_of(self) -> None:
        """Let the user choose a past day; the search is answered as of each day."""
        from memsearch_tui.screens.dialogs import AsOfScreen

        counts, today = self._state.timeline.counts, self._state.library.today()
        if self._state.editing or not counts:
            return
        before = self._state.query
        words = (word.partition(":") for word in before.split())
        chosen = next((value for name, _, value in words if name == "as-of"), "")

        def moved(day: str) -> None:
            words = [word for word in self._state.query.split() if not word.startswith("as-of:")]
            self.search_for(" ".join([*words, f"as-of:{day}"] if day else words))

        def decided(stays: bool | None) -> None:
            if not stays:
                self.search_for(before)

        first = min(counts)
        day = chosen if iso_date(chosen) else today
        screen = AsOfScreen(min(first, today), today, day, moved)
        self._desk.screen.app.push_screen(screen, decided)

    def toggle_word(self, word: str) -> None:
        """Add a filter to the query, or remove it."""
        words = self._state.query.split()
        is_in = word in words
        self.search_for(" ".join([w for w in words if w != word] if is_in else [*words, word]))


def _whole(reason: str, words: list[str]) -> str:
    """Return a reason with the query's words in place of their stems."""
    name, colon, stems = reason.partition("words: ")
    if name or not colon:
        return reason
    whole = (next((word for word in words if word.startswith(s)), s) for s in stems.split(", "))
    return f"words: {', '.join(whole)}"


def _remarks(answer: engine.Answer, query: str) -> str:
    """Return one line on how a query was read and answered; '' if there is nothing to remark."""
    absent = [
        word
        for word in answer.absent
        if word.casefold() not in _ASKING and f":{word} is no filter" not in answer.reason
    ]
    is_by_words = answer.mode == "lexical" and not engine.parse_query(query).is_empty
    remarks = ["words only"] if is_by_words else []
    remarks += [answer.reason] if answer.reason else []
    remarks += [f"“{word}” is read as {', '.join(near)}" for word, near in answer.corrected.items()]
    if absent:
        remarks.append(f"no note has “{'”, “'.join(absent)}”")
    if answer.is_unsure and answer.hits:
        remarks.append("no close match: these are the nearest")
    return " · ".join(remarks)


def _nothing(text: str, absent: list[str]) -> list[str]:
    """Return why a search found nothing, and what to change."""
    from difflib import get_close_matches

    keyed = {word: word.partition(":")[0].lstrip("-") for word in text.split() if ":" in word}
    filters = [word for word, key in keyed.items() if key in engine.FILTER_KEYS]
    lines = ["No note fits."]
    absent = [word for word in absent if word.casefold() not in _ASKING]
    lines += [f"No note has {', '.join(absent)}."] if absent else []
    if filters:
        lines.append(f"It is narrowed by {', '.join(filters)}: take one out to see more.")
    for word, key in keyed.items():
        near = (
            get_close_matches(key, engine.FILTER_KEYS, 1) if key not in engine.FILTER_KEYS else []
        )
        lines += [f"{word} is searched for as text: did you mean {near[0]}: ?"] if near else []
    return [
        *lines,
        "",
        "escape               goes back to all notes",
        "project:*            looks in all projects",
    ]
