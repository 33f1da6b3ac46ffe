"""The review queue: one line for each case, with its evidence beside it.

``a`` accepts, ``x`` rejects, ``e`` edits the text first, enter opens the source.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import ClassVar

from memsearch_engine import Decision, MemsearchError, ReviewItem
from textual import work
from textual.binding import Binding, BindingType

from memsearch_tui.aside import CASES, away, read, write
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library
from memsearch_tui.library.rows import short_path
from memsearch_tui.review import TITLES, decide, groups, titled, undo
from memsearch_tui.screens.page import Page, page_keys
from memsearch_tui.widgets import render
from memsearch_tui.widgets.pieces import Row

_REST_S = 0.2  # rest of the cursor before its notes are read
_NOTES = 3  # notes beside a case


class ReviewScreen(Page[Item]):
    """A decided case leaves the list, and the cursor moves to the next one.

    ``r`` reads all cases again. The case under the cursor that is no longer found stays until the
    cursor leaves it, without its keys: no other case takes its place under a key.

    Dismisses with the note that was opened, or None if the user left.
    """

    TITLES = "review", "evidence"
    THIRD = "what enter opens"
    OF_A_ROW = "open", "answer_group"
    BINDINGS: ClassVar[list[BindingType]] = [
        *page_keys("review"),
        Binding("a", "answer(True)", "Accept", id="review.yes"),
        Binding("x", "answer(False)", "Reject", id="review.no"),
        Binding(
            "ctrl+a", "answer_group(True)", "Accept the group", id="review.yes.all", show=False
        ),
        Binding(
            "ctrl+x", "answer_group(False)", "Reject the group", id="review.no.all", show=False
        ),
        Binding("e", "edit", "Edit", tooltip="Accept a proposal in other words", id="review.edit"),
        Binding(
            "u",
            "undo",
            "Undo",
            tooltip="Take back the last answer, else the last change of a note",
            id="review.undo",
        ),
        Binding(
            "exclamation_mark",
            "scan",
            "Secrets",
            tooltip="Look for secrets, too",
            id="review.scan",
        ),
        Binding("r", "reload", "Read again", id="review.reload", show=False),
    ]

    def __init__(self, library: Library, before: ReviewScreen | None = None) -> None:
        """Args:
        before: the screen from which a note was opened; its list and cursor are used again.
        """
        super().__init__()
        self._library, self._memory = library, library.memory
        self._cases: dict[str, ReviewItem] = before._cases if before else {}
        # "leave it" applies as long as the app is open
        self._left: set[str] = before._left if before else set()
        self._with_secrets: bool = before._with_secrets if before else False
        # (index in the list, ...), the last one last
        self._decided: list[tuple[int, ReviewItem, Callable[[], str] | None]] = (
            before._decided if before else []
        )
        self._at: str | None = before._list.key if before else None
        #: The kinds that were read, and whether the others are being read.
        self._read_kinds: set[str] = before._read_kinds if before else set()
        self._is_reading: bool = not before or before._is_reading
        self._gone = ""  # the case under the cursor that was not found again

    async def on_mount(self) -> None:
        """Show the cases of before, and read them unless all were read."""
        if (before := self.before()) and self._at is None:
            self._cases, self._left, self._at = before._cases, before._left, before._list.key
        if self._at is not None:
            self._show(self._at)
        if self._is_reading:
            self.action_reload()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key works on the case under the cursor."""
        case = self.case
        if case and case.key == self._gone and action in ("answer", "answer_group", "edit", "open"):
            return False
        if action == "answer":
            return bool(case and (case.yes if parameters[0] else case.no))
        if action == "edit":
            return bool(case and case.text)
        return super().check_action(action, parameters)

    def _is_heading(self, key: str) -> bool:
        return key in TITLES

    @property
    def case(self) -> ReviewItem | None:
        """The case under the cursor."""
        return self._cases.get(self._list.key) if self._list.key else None

    @property
    def _found(self) -> list[ReviewItem]:
        """The cases without the one that is gone."""
        return [case for key, case in self._cases.items() if key != self._gone]

    def _row(self, index: int, width: int) -> Row:
        key = self._list.keys[index]
        if key in TITLES:
            count = sum(case.kind == key for case in self._found)
            title = titled(key, count)
            return [(f" {title} ", "strong"), ("─" * max(2, width - len(title) - 3), "dim")]
        if key == self._gone:
            return [("  gone: ", "warn"), (self._cases[key].title, "dim")]
        return [(f"  {self._cases[key].title}", "text")]

    def _moved(self, by_hand: bool = False) -> None:
        if self._gone and self._gone != self._list.key:
            self._cases.pop(self._gone, None)
            self._gone = ""
            self._show()
            return
        case = self.case
        self.refresh_bindings()
        if case is None:
            self._detail.show([])
            self._detail.border_subtitle = ""
            return
        is_gone: list[Row] = [[("It was decided or changed elsewhere.", "warn")], []]
        self._detail.show([*(is_gone if case.key == self._gone else []), *case.detail])
        answers = [
            f"{key} {words}"
            for key, words, plain in (("a", case.yes, "accept"), ("x", case.no, "reject"))
            # the footer has the plain verbs
            if words and words != plain and case.key != self._gone
        ]
        self._detail.border_subtitle = " · ".join(answers)
        if not self.has_class("-narrow"):
            self._show_notes()

    @work(exclusive=True, group="notes")
    async def _show_notes(self) -> None:
        """Show the notes of the case beside its evidence, once the cursor rests."""
        await asyncio.sleep(_REST_S)
        case = self.case
        if case is None:
            return
        rows: list[Row] = []
        with contextlib.suppress(MemsearchError, OSError):  # opening the case shows the error
            rows = await away(partial(self._notes, case))
        if case is self.case:
            self._third.set_class(bool(rows), "filled")
            self._third.show(rows)

    def _notes(self, case: ReviewItem) -> list[Row]:
        rows: list[Row] = []
        notes = self._library.notes
        found = self._library.related.of_case(case.notes, case.sessions)
        for item in islice(found, _NOTES):
            entry, path = notes.entry(item), short_path(self._memory, item.path)
            rows += [*render.entry_rows(entry, item.day, path, notes.evidence(entry)), []]
        return rows

    # -- reading

    @work(exclusive=True, group="read")
    async def action_reload(self) -> None:
        """Read all cases again, and show each kind as soon as it is read."""
        self._read_kinds, self._is_reading = set(), True
        decided = len(self._decided)
        self._show()
        reading = groups(self._memory, self._with_secrets)
        try:
            while group := await CASES.run(partial(next, reading, None)):
                # a case may be decided after it was read, and before it is shown
                done = {case.key for _, case, _ in self._decided[decided:]}
                self._take(group[0], [case for case in group[1] if case.key not in done])
            for kind in {case.kind for case in self._cases.values()} - self._read_kinds:
                self._take(kind, [])
        except (MemsearchError, OSError) as error:
            self._complain(error)
            self._is_reading = False
            self._show()
            self._left_unread()
            return
        self._is_reading = False
        self._show()

    def _take(self, kind: str, found: list[ReviewItem]) -> None:
        """Show the cases of a kind after those of the kinds that were read before."""
        self._read_kinds.add(kind)
        if (here := self.case) and here.kind == kind:
            self._gone = ""
            if all(case.key != here.key for case in found):
                self._gone = here.key
                place = [k for k, case in self._cases.items() if case.kind == kind].index(here.key)
                found = [*found[:place], here, *found[place:]]
        others = [case for case in self._cases.values() if case.kind != kind]
        shown = [case for case in others if case.kind in self._read_kinds]
        shown += [case for case in found if case.key not in self._left]
        shown += [case for case in others if case.kind not in self._read_kinds]
        self._cases = {case.key: case for case in shown}
        self._show()

    def _show(self, cursor: str | None = None) -> None:
        if not self._is_reading:
            self._list.empty = [
                "Nothing waits for a decision.",
                "",
                "! looks for secrets in notes and archived conversations",
            ]
        self._list.show_keys(self._grouped(), cursor=cursor)
        waiting, found = sum(case.waits for case in self._found), len(self._found)
        counts = [f"{waiting} wait{'s' * (waiting == 1)}"] * bool(waiting)
        counts += [many(found - waiting, "suggestion")] * (found > waiting)
        # no counter while cases arrive: a screen reader would say each of its values
        self._list.border_subtitle = "reading …" if self._is_reading else " · ".join(counts)
        self._moved()

    def _grouped(self) -> list[str]:
        """Return the keys of the cases, each kind under its heading, in the order of first
        appearance.
        """
        kinds = dict.fromkeys(case.kind for case in self._cases.values())
        return [
            key
            for kind in kinds
            for key in [kind, *(k for k, case in self._cases.items() if case.kind == kind)]
        ]

    async def action_answer_group(self, yes: bool) -> None:
        """Ask, then give every case of the group under the cursor the same answer."""
        from memsearch_tui.screens.dialogs import AskScreen

        case = self.case
        if case is None:
            return
        group = [
            one
            for one in self._found
            if one.kind == case.kind
            and (one.yes if yes else one.no)
            and not (yes and (one.asks or one.single))
        ]

        async def answer() -> None:
            for one in group:
                await self._carry_out(one, yes)

        def decided(text: str | None) -> None:
            if text and text.strip().lower() == "yes":
                self.run_worker(answer(), group="decide")

        if group:
            verb = "Accept" if yes else "Reject"
            question = f"{verb} all {len(group)} of “{TITLES[case.kind]}”? Type yes"
            self.app.push_screen(AskScreen(question, ""), decided)
        else:
            self.say("these are decided one by one")

    def action_scan(self) -> None:
        """Look for secrets, too."""
        self._with_secrets = True
        self.action_reload()

    async def action_open(self) -> None:
        """Open the note of a case, or a note of its session."""
        case = self.case
        if case is None or not (case.notes or case.sessions):
            return
        await read(
            self,
            "looking for it",
            lambda: list(self._library.related.of_case(case.notes, case.sessions)),
            self._open,
            self._complain,
        )

    def _open(self, items: list[Item]) -> None:
        from memsearch_tui.screens.dialogs import ChoiceRow, ChooseScreen

        if self.app.screen is not self:
            return  # another screen was opened meanwhile
        if not items:
            self.say("Neither the note nor its session is there any more.")
        elif len(items) == 1:
            self.dismiss(items[0])
        else:
            choices = [
                ChoiceRow(str(n), f"{item.day} {item.time}", item.title)
                for n, item in enumerate(items)
            ]

            def chosen(name: str | None) -> None:
                if name:
                    self.dismiss(items[int(name)])

            self.app.push_screen(ChooseScreen("open", choices), chosen)

    # -- deciding

    async def action_answer(self, yes: bool) -> None:
        """Accept or reject the case under the cursor."""
        case = self.case
        if case is None:
            return
        if yes and case.asks:
            self._ask(
                case, case.asks, "", lambda reply: None if reply.strip().lower() == "yes" else ""
            )
        else:
            await self._carry_out(case, yes)

    def action_edit(self) -> None:
        """Edit the text of the case under the cursor, then accept it."""
        case = self.case
        if case:
            self._ask(
                case,
                "Accept it in these words",
                " ".join(case.text.splitlines()),
                lambda reply: reply.strip() or "",
            )

    def _ask(
        self, case: ReviewItem, question: str, value: str, text: Callable[[str], str | None]
    ) -> None:
        """Ask the user before *case* is accepted.

        Args:
            text: converts the answer into the text of the decision. '' as an answer leaves the
                case.
        """
        from memsearch_tui.screens.dialogs import AskScreen

        def decided(reply: str | None) -> None:
            words = text(reply) if reply else ""
            if words != "":
                self.run_worker(self._carry_out(case, True, words), group="decide")

        self.app.push_screen(AskScreen(question, value), decided)

    async def _carry_out(self, case: ReviewItem, yes: bool, text: str | None = None) -> None:
        def done(decision: Decision) -> None:
            self.say(decision.said)
            if case.kind == "repair" and not yes:
                self._left.add(case.key)
            # the other cases are not read again: reading years of notes for each decision would
            # take seconds
            place = list(self._cases).index(case.key) if case.key in self._cases else 0
            self._decided.append((place, case, decision.back))
            keys, here = list(self._cases), self._cases.pop(case.key, None)
            self._show(
                next((key for key in keys[keys.index(case.key) + 1 :]), None) if here else None
            )

        def failed(error: Exception) -> None:
            self._complain(error)
            self.action_reload()

        work = partial(decide, self._memory, case, yes, text)
        await write(self, "carrying it out", work, done, failed)

    async def action_undo(self) -> None:
        """Undo the last decision."""
        place, case, back = (
            self._decided.pop() if self._decided else (0, None, partial(undo, self._memory))
        )
        if back is None:
            self.say("The last answer can't be taken back.")
            return

        def done(reply: str) -> None:
            self.say(reply)
            if case is None:
                self.action_reload()
                return
            self._left.discard(case.key)
            keys = list(self._cases)
            keys.insert(place, case.key)
            self._cases[case.key] = case
            self._cases = {key: self._cases[key] for key in keys}
            self._show(case.key)

        await write(self, "taking it back", back, done, self._complain)
