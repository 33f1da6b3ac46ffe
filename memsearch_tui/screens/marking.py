"""What the owner says about notes on the home screen: pinned, expiring, superseded, how sure; and
facts for the long-term memory.

A part of ``BrowseScreen``, beside ``editing``: what it writes goes the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from memsearch_tui.aside import attend, away
from memsearch_tui.counted import many
from memsearch_tui.library import Item

if TYPE_CHECKING:
    from memsearch_engine import Answer, Entry, Fact, Match, PlannedShare, Target
    from textual.screen import Screen

    from memsearch_tui.library import Library
    from memsearch_tui.widgets.lines import LineList

    _Base = Screen[None]
else:
    _Base = object

_NEWER = 12  # notes that are offered as the one that supersedes another
_LEVELS = ("low", "medium", "high")
_COPIES, _LINES = 4, 4  # of what would be shared, and lines of each, that are shown


class Marking(_Base):
    """Marks on the chosen notes."""

    if TYPE_CHECKING:
        library: Library
        entries: LineList
        editing: bool

        @property
        def entry(self) -> Entry | None: ...
        def say(self, text: str, *, for_s: float = 8) -> None: ...
        def chosen(self) -> list[Item]: ...
        def is_elsewhere(self) -> bool: ...
        def action_reload(self) -> None: ...
        def _open_text(self) -> Entry | None: ...
        def _as_shown(self, item: Item, seen: Entry | None) -> Target: ...
        def _complain(self, error: Exception) -> None: ...
        async def _write(self, what: str, work: Callable, then: Callable, failed=None) -> None: ...

    async def action_pin(self) -> None:
        """Pin what is chosen; where all of it is pinned, unpin it."""
        if self.is_elsewhere():
            return
        chosen = self.chosen()
        if chosen:
            is_pinned = all("pin" in item.marks for item in chosen)
            await self._mark(
                chosen, "pin", None if is_pinned else "", "unpinned" if is_pinned else "pinned"
            )

    async def _mark(self, chosen: list[Item], name: str, value: str | None, said: str) -> None:
        if not chosen or self.editing:
            return
        memory, seen = self.library.memory, self._open_text()

        def mark() -> None:
            targets = [self._as_shown(item, seen) for item in chosen]
            memory.mark_each(targets, name, value)

        def done(_: object) -> None:
            self.entries.clear_selection()
            self.action_reload()
            self.say(f"{said}: {many(len(chosen), 'note')} · u takes it back")

        def failed(error: Exception) -> None:
            self._complain(error)
            self.action_reload()

        await self._write("marking", mark, done, failed)

    def action_marks(self) -> None:
        """Choose what is to be said about the chosen notes."""
        from memsearch_tui.screens.choose import Choice, ChooseScreen

        chosen = self.chosen()
        if not chosen or self.editing or self.is_elsewhere():
            return
        stale, own = {item.stale for item in chosen} - {""}, not any(item.author for item in chosen)
        have = set.intersection(*(set(item.marks) for item in chosen))
        choices = [
            Choice("pin", "Unpin" if "pin" in have else "Pin", "ranks higher, never fades"),
            Choice("expire", "Let it expire on a day", "ranks last from then on"),
            Choice("supersede", "Superseded by another note", "ranks last"),
            *(
                Choice(
                    f"confidence {level}",
                    f"Confidence: {level}",
                    "agents are not told" * (level == "low"),
                )
                for level in _LEVELS
            ),
            *(
                [
                    Choice(
                        "holds",
                        "Still true",
                        "what is gone from the repository does not count against it",
                    )
                ]
                if stale
                else []
            ),
            *(
                [Choice("paths", "Put the new paths in", "of files that moved")]
                if stale & {"moved", "partly"}
                else []
            ),
            *(
                Choice(f"off {name}", f"Take back: {said}")
                for name, said in _SAID.items()
                if name in have
            ),
            Choice("remember", "Remember as a fact", "every session of the project is told"),
            *(
                [
                    Choice(
                        "share",
                        "Share with the team",
                        "a copy in .memsearch/shared, which you commit",
                    )
                ]
                if own
                else []
            ),
            *(
                []
                if own
                else [Choice("withdraw", "Take back from the team", "out of .memsearch/shared")]
            ),
            Choice("forget", "Forget facts", "out of the long-term memory"),
        ]
        what = f"“{chosen[0].title[:40]}”" if len(chosen) == 1 else many(len(chosen), "note")
        self.app.push_screen(
            ChooseScreen(what, choices), lambda name: self._chosen_mark(name or "")
        )

    def _chosen_mark(self, name: str) -> None:
        word, _, value = name.partition(" ")
        if word:
            getattr(self, f"action_{word}")(*([value] if value else []))

    def action_confidence(self, level: str) -> None:
        self.run_worker(
            self._mark(self.chosen(), "confidence", level, f"confidence {level}"), group="edit"
        )

    def action_off(self, name: str) -> None:
        self.run_worker(
            self._mark(self.chosen(), name, None, f"no longer {_SAID[name]}"), group="edit"
        )

    def action_holds(self) -> None:
        self._repaired(self.library.still_true, "still true")

    def action_paths(self) -> None:
        self._repaired(self.library.with_new_paths, "has the new paths")

    def _repaired(self, work: Callable[[list[str]], None], said: str) -> None:
        """Have something said or written of the chosen notes that is about their repository."""
        chosen = self.chosen()

        def done(_: object) -> None:
            self.entries.clear_selection()
            self.action_reload()
            self.say(f"{said}: {many(len(chosen), 'note')} · u takes it back")

        if chosen and not self.editing:
            writing = self._write(
                "writing", partial(work, [item.entry_id for item in chosen]), done
            )
            self.run_worker(writing, group="edit")

    def action_expire(self) -> None:
        from memsearch_tui.screens.ask import AskScreen

        chosen = self.chosen()

        def decided(said: str | None) -> None:
            if not said:
                return
            try:
                day = date.fromisoformat(said).isoformat()
            except ValueError:
                self.notify(
                    f"{said!r} is no day: write it as {self.library.today()}", severity="warning"
                )
                return
            self.run_worker(self._mark(chosen, "expires", day, f"expires {day}"), group="edit")

        if chosen and not self.editing:
            self.app.push_screen(AskScreen("Expires after the day", self.library.today()), decided)

    def action_supersede(self) -> None:
        """Look for the newer note by words, and choose it."""
        from memsearch_tui.screens.ask import AskScreen
        from memsearch_tui.screens.choose import Choice, ChooseScreen

        chosen = self.chosen()
        if not chosen or self.editing:
            return

        def decided(newer: str | None) -> None:
            if newer:
                self.run_worker(
                    self._mark(chosen, "superseded-by", newer, "superseded"), group="edit"
                )

        def found(answer: Answer) -> None:
            old = {item.entry_id for item in chosen}
            rows = {hit.row.entry_id: hit.row for hit in answer.hits if hit.row.entry_id not in old}
            choices = [
                Choice(name, f"{row.day} {row.time}", row.title) for name, row in rows.items()
            ]
            if choices:
                self.app.push_screen(ChooseScreen("superseded by", choices), decided)
            else:
                self.notify("no other note has these words", severity="warning")

        def asked(words: str | None) -> None:
            if words:
                looking = away(partial(self.library.memory.lexical, words, _NEWER))
                self.run_worker(
                    attend(self, "searching", looking, found, self._complain), group="edit"
                )

        self.app.push_screen(
            AskScreen("Words of the note that supersedes it", chosen[0].title), asked
        )

    # -- the team

    def action_share(self) -> None:
        """Show whose copies of the chosen notes would be written, and write them."""
        from memsearch_tui.screens.choose import Choice, ChooseScreen

        chosen = self.chosen()

        def shared(files: list[str]) -> None:
            self.entries.clear_selection()
            self.action_reload()
            self.say(
                f"shared, in {many(len(files), 'file')}: commit .memsearch/shared · u takes it back",
                for_s=15,
            )

        def found(planned: tuple[str, list[PlannedShare]]) -> None:
            root, copies = planned
            new = [one for one in copies if one.change.name in ("NEW", "CHANGED")]
            why = "; ".join(
                dict.fromkeys(
                    one.why or "it is shared as it is" for one in copies if one not in new
                )
            )
            if not new:
                self.notify(f"nothing to share: {why}", severity="warning")
                return

            def decided(word: str | None) -> None:
                if word == "yes":
                    writing = self._write("sharing", partial(self.library.share, root, new), shared)
                    self.run_worker(writing, group="edit")

            secrets = sum(len(one.replaced) for one in new)
            left = "without secrets and paths of this machine" + (
                f", {secrets} left out" if secrets else ""
            )
            lines = [line for one in new[:_COPIES] for line in _said_in(one)[:_LINES]]
            lines += [f"{len(copies) - len(new)} not: {why}"] if why else []
            choices = [
                Choice("yes", f"Write {many(len(new), 'copy')} into .memsearch/shared", left)
            ]
            choices += [
                Choice(f"no {number}", f"  {line.lstrip('- ')}")
                for number, line in enumerate(lines)
            ]
            self.app.push_screen(ChooseScreen(f"share as {new[0].author}", choices), decided)

        if chosen and not self.editing:
            looking = away(partial(self.library.plan_share, chosen))
            self.run_worker(attend(self, "looking", looking, found, self._complain), group="edit")

    def action_withdraw(self) -> None:
        """Take the chosen shared notes out of the work tree."""
        chosen = self.chosen()

        def done(_: object) -> None:
            self.entries.clear_selection()
            self.action_reload()
            self.say(f"taken back: {many(len(chosen), 'note')}; commit that · u brings it back")

        if chosen and not self.editing:
            self.run_worker(
                self._write("taking back", partial(self.library.withdraw, chosen), done),
                group="edit",
            )

    # -- facts

    def action_remember(self) -> None:
        from memsearch_tui.screens.ask import AskScreen

        chosen = self.chosen()
        place = self.library.place_of_new(chosen[0] if chosen else None)

        def noted(fact: Fact) -> None:
            self.say(f"remembered: {fact.text} · every new session is told")

        def decided(said: str | None) -> None:
            if said:
                work = partial(self.library.remember, said, place.root)
                self.run_worker(self._write("remembering", work, noted), group="edit")

        if not self.editing:
            text = chosen[0].title if chosen else ""
            self.app.push_screen(AskScreen(f"Tell every session of {place.name}", text), decided)

    def action_forget(self) -> None:
        from memsearch_tui.screens.ask import AskScreen
        from memsearch_tui.screens.choose import Choice, ChooseScreen

        memory = self.library.memory

        def forgotten(number: int) -> None:
            self.say(f"forgotten · `memsearch longterm restore {number}` brings it back")

        def found(words: str, matches: list[Match]) -> None:
            def decided(name: str | None) -> None:
                if name:
                    gone = matches if name == "all" else [matches[int(name)]]
                    self.run_worker(
                        self._write("forgetting", partial(memory.forget, words, gone), forgotten),
                        group="edit",
                    )

            choices = [
                Choice(str(number), match.line, match.name) for number, match in enumerate(matches)
            ]
            choices += [Choice("all", f"all {len(choices)}")] if len(choices) > 1 else []
            if choices:
                self.app.push_screen(ChooseScreen("forget", choices), decided)
            else:
                self.notify("nothing in the long-term memory has these words", severity="warning")

        def asked(words: str | None) -> None:
            if words:
                looking = away(partial(memory.forgettable, words))
                self.run_worker(
                    attend(self, "looking", looking, partial(found, words), self._complain),
                    group="edit",
                )

        if not self.editing:
            self.app.push_screen(AskScreen("Forget facts with these words", ""), asked)


def _said_in(planned: PlannedShare) -> list[str]:
    """The text of a copy."""
    return [
        line for line in planned.lines if line.strip() and not line.startswith(("### ", "<!--"))
    ]


#: mark -> what a note with it is
_SAID = {"expires": "expiring", "superseded-by": "superseded", "confidence": "of a confidence"}
