"""What wants a decision, one line each, with the evidence beside it: a says yes, x says no, e changes the words first."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from memsearch_engine.errors import MemsearchError
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Footer

from memsearch_tui.library import Library
from memsearch_tui.review import TITLES, Case, cases, decide, undo
from memsearch_tui.widgets.lines import LineList, Row, TextView


class ReviewScreen(Screen[None]):
    """What was decided leaves the list; the cursor then stands on the next case. r reads everything again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "answer(True)", "Yes", id="review.yes"),
        Binding("x", "answer(False)", "No", id="review.no"),
        Binding("e", "edit", "Change a proposal", id="review.edit"),
        Binding("s", "scan", "Look for secrets", id="review.scan"),
        Binding("u", "undo", "Undo (notes)", id="review.undo"),
        Binding("r", "reload", "Read again", id="review.reload", show=False),
        Binding("escape,q,left,h", "leave", "Back", id="review.back"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._memory = library.memory
        self._cases: dict[str, Case] = {}
        self._left: set[str] = set()  # "leave it" holds for as long as the app is open
        self._with_secrets = False
        self._list = LineList(self._row, moved=self._moved, empty=["reading the notes …"], id="cases")
        self._detail = TextView(id="evidence")

    def compose(self) -> ComposeResult:
        with Container(id="review"):
            yield self._list
            yield self._detail
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._list.border_title, self._detail.border_title = "review", "evidence"
        self._list.focus()
        self.action_reload()

    @property
    def case(self) -> Case | None:
        return self._cases.get(self._list.key) if self._list.key else None

    def _row(self, index: int, width: int) -> Row:
        case = self._cases[self._list.keys[index]]
        return [(f"{TITLES[case.kind]:20s}", "dim"), (case.title, "text")]

    def _moved(self, by_hand: bool = False) -> None:
        case = self.case
        if case is None:
            self._detail.show([])
            self._detail.border_subtitle = ""
            return
        self._detail.show(case.detail)
        answers = [f"a {case.yes}"] * bool(case.yes) + [f"x {case.no}"] * bool(case.no) + ["e change"] * bool(case.text)
        self._detail.border_subtitle = " · ".join(answers)

    # -- reading --------------------------------------------------------------------------------------------

    def action_reload(self) -> None:
        self.run_worker(self._reload(), exclusive=True, group="read")

    async def _reload(self) -> None:
        try:
            found = await asyncio.to_thread(cases, self._memory, self._with_secrets)
        except (MemsearchError, OSError) as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self._list.empty = ["Nothing wants a decision.", "", "s looks for secrets in notes and kept conversations"]
        self._cases = {case.key: case for case in found if case.key not in self._left}
        self._show()

    def _show(self) -> None:
        self._list.show_keys(list(self._cases))
        self._list.border_subtitle = f"{len(self._cases)}" if self._cases else ""
        self._moved()

    def action_scan(self) -> None:
        self._with_secrets = True
        self.notify("looking for secrets …", timeout=2)
        self.action_reload()

    # -- deciding -------------------------------------------------------------------------------------------

    def action_answer(self, yes: bool) -> None:
        case = self.case
        if case is None or not (case.yes if yes else case.no):
            return
        if yes and case.asks:
            self._ask(
                case.asks, "", lambda said: self._carry_out(case, True) if said.strip().lower() == "yes" else None
            )
        else:
            self._carry_out(case, yes)

    def action_edit(self) -> None:
        case = self.case
        if case and not case.text:
            self.notify("only what is proposed in one line can be changed here", timeout=4)
        elif case:
            one_line = " ".join(case.text.splitlines())
            self._ask(
                "Accept it in these words", one_line, lambda said: self._carry_out(case, True, said) if said else None
            )

    def _ask(self, question: str, value: str, then) -> None:
        from memsearch_tui.screens.ask import AskScreen

        self.app.push_screen(AskScreen(question, value), lambda said: then(said or ""))

    def _carry_out(self, case: Case, yes: bool, text: str | None = None) -> None:
        self.run_worker(self._decide(case, yes, text), group="decide")

    async def _decide(self, case: Case, yes: bool, text: str | None) -> None:
        try:
            said = await asyncio.to_thread(decide, self._memory, case, yes, text)
        except (MemsearchError, OSError) as error:
            self.notify(str(error), severity="error", markup=False, timeout=8)
        else:
            self.notify(said, markup=False, timeout=5)
            if case.kind == "repair" and not yes:
                self._left.add(case.key)
            # the others stand as they were read: reading years of notes again for each word would take seconds
            self._cases.pop(case.key, None)
            self._show()
            return
        await self._reload()

    def action_undo(self) -> None:
        self.run_worker(self._undo(), group="decide")

    async def _undo(self) -> None:
        self.notify(await asyncio.to_thread(undo, self._memory), markup=False, timeout=5)
        await self._reload()

    def action_leave(self) -> None:
        self.dismiss(None)
