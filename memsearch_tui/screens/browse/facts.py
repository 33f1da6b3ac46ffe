"""Facts of the long-term memory: add one, remove some."""

from __future__ import annotations

from functools import partial

import memsearch_engine as engine

from memsearch_tui.aside import away
from memsearch_tui.commands import PaletteCommand
from memsearch_tui.screens.browse.changes import Selection
from memsearch_tui.screens.browse.desk import Desk


class Facts:
    """Asks for facts and writes them."""

    def __init__(self, desk: Desk, selection: Selection) -> None:
        self._desk, self._state, self._selection = desk, desk.state, selection

    def commands(self) -> list[PaletteCommand]:
        """Return the commands of the palette."""
        group = "long-term memory"
        remember = "remember fact always tell"
        return [
            PaletteCommand("Remember as a fact", group, self.remember, remember),
            PaletteCommand("Forget facts", group, self.forget, "forget remove fact"),
        ]

    def remember(self) -> None:
        """Ask for a fact that is injected into every new session of the project."""
        from memsearch_tui.screens.ask import AskScreen

        if self._state.editing:
            return
        chosen, library = self._selection.items(), self._state.library
        place = library.writer.project_of_new(chosen[0] if chosen else None)

        def noted(fact: engine.Fact) -> None:
            self._desk.say(f"remembered: {fact.text} · every new session gets it")

        def decided(text: str | None) -> None:
            if text:
                work = partial(library.writer.remember, text, place.root)
                self._desk.start_write("remembering", work, noted)

        text = chosen[0].title if chosen else ""
        screen = AskScreen(f"A fact for every session of {place.name}", text)
        self._desk.screen.app.push_screen(screen, decided)

    def forget(self) -> None:
        """Ask for words, and remove facts that contain them."""
        from memsearch_tui.screens.ask import AskScreen

        memory = self._state.library.memory

        async def look(words: str) -> None:
            looking = away(partial(memory.forgettable, words))
            await self._desk.read("looking", looking, partial(self._choose, words))

        def asked(words: str | None) -> None:
            if words:
                self._desk.start(partial(look, words), "edit")

        if not self._state.editing:
            screen = AskScreen("Forget facts with these words", "")
            self._desk.screen.app.push_screen(screen, asked)

    def _choose(self, words: str, matches: list[engine.Match]) -> None:
        from memsearch_tui.screens.choose import ChoiceRow, ChooseScreen

        def forgotten(number: int) -> None:
            self._desk.say(f"forgotten · `memsearch longterm restore {number}` brings it back")

        def decided(name: str | None) -> None:
            if name:
                chosen = matches if name == "all" else [matches[int(name)]]
                work = partial(self._state.library.memory.forget, words, chosen)
                self._desk.start_write("forgetting", work, forgotten)

        choices = [ChoiceRow(str(n), match.line, match.name) for n, match in enumerate(matches)]
        choices += [ChoiceRow("all", f"all {len(choices)}")] if len(choices) > 1 else []
        if choices:
            self._desk.screen.app.push_screen(ChooseScreen("forget", choices), decided)
        else:
            self._desk.say("nothing in the long-term memory has these words")
