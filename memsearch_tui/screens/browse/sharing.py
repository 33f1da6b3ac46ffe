"""Share notes with the team, with a preview of the copies."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import memsearch_engine as engine

from memsearch_tui.aside import away
from memsearch_tui.counted import many
from memsearch_tui.library import Item
from memsearch_tui.screens.browse.changes import Selection
from memsearch_tui.screens.browse.desk import Desk

_COPIES, _LINES = 4, 4  # shown copies, and lines of each


class WriteNotice(Protocol):
    """Shows that the selected notes were written."""

    def __call__(self, text: str, for_s: float = ...) -> None:
        """Show *text* for *for_s* seconds."""
        ...


class ShareController:
    """Writes copies of notes into the project's shared folder, and removes them."""

    def __init__(self, desk: Desk, selection: Selection, done: WriteNotice) -> None:
        self._desk, self._state, self._selection, self._done = desk, desk.state, selection, done

    def share(self) -> None:
        """Preview the copies of the selected notes, and write them."""
        chosen = self._selection.items()
        if chosen and not self._state.editing:
            self._desk.start(partial(self._plan, chosen), "edit")

    async def _plan(self, chosen: list[Item]) -> None:
        looking = away(partial(self._state.library.writer.plan_share, chosen))
        await self._desk.read("looking", looking, self._decide)

    def _decide(self, planned: tuple[str, list[engine.PlannedShare]]) -> None:
        from memsearch_tui.screens.choose import ChoiceRow, ChooseScreen

        root, copies = planned
        new = [one for one in copies if one.change.name in ("NEW", "CHANGED")]
        reasons = [one.why or "it is shared as it is" for one in copies if one not in new]
        why = "; ".join(dict.fromkeys(reasons))
        if not new:
            self._desk.say(f"nothing to share: {why}")
            return

        def shared(files: list[str]) -> None:
            count = many(len(files), "file")
            self._done(f"shared, in {count}: commit .memsearch/shared · u takes it back", for_s=15)

        def decided(word: str | None) -> None:
            if word == "yes":
                work = partial(self._state.library.writer.share, root, new)
                self._desk.start_write("sharing", work, shared)

        secrets = sum(len(one.replaced) for one in new)
        removed = f", {secrets} left out" if secrets else ""
        lines = [line for one in new[:_COPIES] for line in _text(one)[:_LINES]]
        lines += [f"{len(copies) - len(new)} not: {why}"] if why else []
        question = f"Write {many(len(new), 'copy')} into .memsearch/shared"
        note = f"without secrets and paths of this machine{removed}"
        choices = [ChoiceRow("yes", question, note)]
        choices += [ChoiceRow(f"no {n}", f"  {line.lstrip('- ')}") for n, line in enumerate(lines)]
        screen = ChooseScreen(f"share as {new[0].author}", choices)
        self._desk.screen.app.push_screen(screen, decided)

    def withdraw(self) -> None:
        """Remove the selected shared notes from the work tree."""
        chosen = self._selection.items()
        count = many(len(chosen), "note")

        def done(_: object) -> None:
            self._done(f"taken back: {count}; commit that · u brings it back")

        if chosen and not self._state.editing:
            work = partial(self._state.library.writer.withdraw, chosen)
            self._desk.start_write("taking back", work, done)


def _text(planned: engine.PlannedShare) -> list[str]:
    """Return the lines of a copy without heading and anchors."""
    beginnings = ("### ", "<!--")
    return [line for line in planned.lines if line.strip() and not line.startswith(beginnings)]
