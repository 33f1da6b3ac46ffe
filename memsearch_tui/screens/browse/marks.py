"""What the owner decides about notes: marks (pinned, expiring, superseded, confidence), sharing
with the team, and facts for the long-term memory.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial

import memsearch_engine as engine

from memsearch_tui.commands import PaletteCommand
from memsearch_tui.counted import many, quoted
from memsearch_tui.library import Item
from memsearch_tui.screens.browse.changes import Changes, Selection
from memsearch_tui.screens.browse.conversation import Conversation
from memsearch_tui.screens.browse.desk import Desk
from memsearch_tui.screens.browse.search import SearchController

_COPIES, _LINES = 4, 4  # shown copies, and lines of each
_NEWER = 12  # notes that are offered as the newer version
_LEVELS = ("low", "medium", "high")
#: mark -> adjective for a marked note
_MARKED = {"expires": "expiring", "superseded-by": "superseded", "confidence": "of a confidence"}
_FACTS = "long-term memory"  # group of palette commands


class Marks:
    """Sets marks of the selected notes, shares them, and writes facts."""

    def __init__(
        self,
        desk: Desk,
        selection: Selection,
        changes: Changes,
        conversation: Conversation,
        search: SearchController,
    ) -> None:
        self._desk, self._state, self._selection = desk, desk.state, selection
        self._changes, self._conversation, self._search = changes, conversation, search

    def _done(self, text: str, for_s: float = 8) -> None:
        """Show that the selected notes were written."""
        self._selection.clear()
        self._search.reload()
        self._desk.say(text, for_s=for_s)

    async def pin(self) -> None:
        """Pin the selected notes; if all are pinned, unpin them."""
        chosen = self._selection.items()
        if chosen and not self._conversation.is_elsewhere():
            is_pinned = all("pin" in item.marks for item in chosen)
            value, done = (None, "unpinned") if is_pinned else ("", "pinned")
            await self._mark(chosen, "pin", value, done)

    async def _mark(self, chosen: list[Item], name: str, value: str | None, done: str) -> None:
        if not chosen or self._state.editing:
            return
        memory, seen = self._state.library.memory, self._selection.open_text()

        def mark() -> None:
            targets = [self._selection.target(item, seen) for item in chosen]
            memory.mark_each(targets, name, value)

        def marked(_: object) -> None:
            self._done(f"{done}: {many(len(chosen), 'note')} · u takes it back")

        await self._desk.write("marking", mark, marked, self._changes.failed)

    def _start_mark(self, chosen: list[Item], name: str, value: str | None, done: str) -> None:
        self._desk.start(partial(self._mark, chosen, name, value, done), "edit")

    # -- the menu

    def choose(self) -> None:
        """Show the menu of marks."""
        chosen = self._selection.items()
        if not chosen or self._state.editing or self._conversation.is_elsewhere():
            return
        one = quoted(chosen[0].title)
        what = one if len(chosen) == 1 else many(len(chosen), "note")
        self._desk.choose(what, _choices(chosen), self._chosen)

    def _chosen(self, name: str) -> None:
        word, _, value = name.partition(" ")
        staleness = self._state.library.memory.staleness
        actions: dict[str, Callable[[], object]] = {
            "pin": lambda: self._desk.start(self.pin, "edit"),
            "expire": self.expire,
            "supersede": self.supersede,
            "confidence": lambda: self.set_confidence(value),
            "off": lambda: self._take_off(value),
            "holds": lambda: self._repair(staleness.confirm, "still true"),
            "paths": lambda: self._repair(staleness.moved, "has the new paths"),
            "remember": self.remember,
            "forget": self.forget,
            "share": self.share,
            "withdraw": self.withdraw,
        }
        actions[word]()

    def commands(self) -> list[PaletteCommand]:
        """Return the palette's marks that have no key."""
        return [
            PaletteCommand("Expires on a day", "mark", self.expire, "expire end date"),
            PaletteCommand(
                "Superseded by another note",
                "mark",
                self.supersede,
                "supersede replaced overtaken obsolete",
            ),
            *(
                PaletteCommand(
                    f"Confidence: {level}",
                    "mark",
                    partial(self.set_confidence, level),
                    "confidence sure doubt",
                )
                for level in _LEVELS
            ),
            PaletteCommand(
                "Remember as a fact", _FACTS, self.remember, "remember fact always tell"
            ),
            PaletteCommand("Forget facts", _FACTS, self.forget, "forget remove fact"),
        ]

    # -- single marks

    def set_confidence(self, level: str) -> None:
        """Set the confidence of the selected notes: low, medium or high."""
        self._start_mark(self._selection.items(), "confidence", level, f"confidence {level}")

    def _take_off(self, name: str) -> None:
        self._start_mark(self._selection.items(), name, None, f"no longer {_MARKED[name]}")

    def _repair(self, repair: Callable[[str], object], done: str) -> None:
        """Repair stale references of the selected notes.

        Args:
            repair: repairs the note with this id.
            done: what was done, for the message.
        """
        chosen = self._selection.items()
        if chosen and not self._state.editing:
            names = [item.entry_id for item in chosen]
            text = f"{done}: {many(len(chosen), 'note')} · u takes it back"

            def repair_all() -> None:
                for name in names:
                    repair(name)

            self._desk.start_write("writing", repair_all, lambda _: self._done(text))

    def expire(self) -> None:
        """Ask for the last day on which the selected notes are valid."""
        chosen, today = self._selection.items(), self._state.library.today()

        def decided(answer: str) -> None:
            try:
                day = date.fromisoformat(answer).isoformat()
            except ValueError:
                self._desk.say(f"{answer!r} is no day: write it as {today}")
                return
            self._start_mark(chosen, "expires", day, f"expires {day}")

        if chosen and not self._state.editing:
            self._desk.ask("Expires after the day", today, decided)

    def supersede(self) -> None:
        """Search for the newer note, and choose it."""
        chosen, memory = self._selection.items(), self._state.library.memory
        if not chosen or self._state.editing:
            return

        async def look(words: str) -> None:
            await self._desk.read(
                "searching",
                partial(memory.queries.lexical, words, _NEWER),
                partial(self._choose_newer, chosen),
            )

        def asked(words: str) -> None:
            self._desk.start(partial(look, words), "edit")

        self._desk.ask("Words of the note that supersedes it", chosen[0].title, asked)

    def _choose_newer(self, chosen: list[Item], answer: engine.Answer) -> None:
        old = {item.entry_id for item in chosen}
        rows = {hit.row.entry_id: hit.row for hit in answer.hits if hit.row.entry_id not in old}
        choices = [(name, f"{row.day} {row.time}", row.title) for name, row in rows.items()]

        def decided(newer: str) -> None:
            self._start_mark(chosen, "superseded-by", newer, "superseded")

        if choices:
            self._desk.choose("superseded by", choices, decided)
        else:
            self._desk.say("no other note has these words")

    # -- facts

    def remember(self) -> None:
        """Ask for a fact that is injected into every new session of the project."""
        if self._state.editing:
            return
        chosen, library = self._selection.items(), self._state.library
        place = library.writer.project_of_new(chosen[0] if chosen else None)

        def noted(fact: engine.Fact) -> None:
            self._desk.say(f"remembered: {fact.text} · every new session gets it")

        def decided(text: str) -> None:
            work = partial(library.writer.remember, text, place.root)
            self._desk.start_write("remembering", work, noted)

        text = chosen[0].title if chosen else ""
        self._desk.ask(f"A fact for every session of {place.name}", text, decided)

    def forget(self) -> None:
        """Ask for words, and remove facts that contain them."""
        memory = self._state.library.memory

        async def look(words: str) -> None:
            await self._desk.read(
                "looking", partial(memory.forgettable, words), partial(self._choose_facts, words)
            )

        def asked(words: str) -> None:
            self._desk.start(partial(look, words), "edit")

        if not self._state.editing:
            self._desk.ask("Forget facts with these words", "", asked)

    def _choose_facts(self, words: str, matches: list[engine.Match]) -> None:
        def forgotten(number: int) -> None:
            self._desk.say(f"forgotten · `memsearch longterm restore {number}` brings it back")

        def decided(name: str) -> None:
            chosen = matches if name == "all" else [matches[int(name)]]
            work = partial(self._state.library.memory.forget, words, chosen)
            self._desk.start_write("forgetting", work, forgotten)

        choices = [(str(n), match.line, match.name) for n, match in enumerate(matches)]
        choices += [("all", f"all {len(choices)}", "")] if len(choices) > 1 else []
        if choices:
            self._desk.choose("forget", choices, decided)
        else:
            self._desk.say("nothing in the long-term memory has these words")

    # -- sharing with the team

    def share(self) -> None:
        """Preview the copies of the selected notes, and write them."""
        chosen = self._selection.items()
        if chosen and not self._state.editing:
            self._desk.start(partial(self._plan_share, chosen), "edit")

    async def _plan_share(self, chosen: list[Item]) -> None:
        await self._desk.read(
            "looking", partial(self._state.library.writer.plan_share, chosen), self._choose_share
        )

    def _choose_share(self, planned: tuple[str, list[engine.PlannedShare]]) -> None:
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

        def decided(word: str) -> None:
            if word == "yes":
                work = partial(self._state.library.writer.share, root, new)
                self._desk.start_write("sharing", work, shared)

        secrets = sum(len(one.replaced) for one in new)
        removed = f", {secrets} left out" if secrets else ""
        lines = [line for one in new[:_COPIES] for line in _text(one)[:_LINES]]
        lines += [f"{len(copies) - len(new)} not: {why}"] if why else []
        question = f"Write {many(len(new), 'copy')} into .memsearch/shared"
        note = f"without secrets and paths of this machine{removed}"
        choices = [("yes", question, note)]
        choices += [(f"no {n}", f"  {line.lstrip('- ')}", "") for n, line in enumerate(lines)]
        self._desk.choose(f"share as {new[0].author}", choices, decided)

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


def _choices(chosen: list[Item]) -> list[tuple[str, str, str]]:
    """Return the menu for these notes: name, text and note of each row."""
    stale = {item.stale for item in chosen} - {""}
    is_own = not any(item.author for item in chosen)
    have = set.intersection(*(set(item.marks) for item in chosen))
    not_injected = "not injected into sessions"
    choices = [
        ("pin", "Unpin" if "pin" in have else "Pin", "ranks higher, never fades"),
        ("expire", "Let it expire on a day", "ranks last from then on"),
        ("supersede", "Superseded by another note", "ranks last"),
    ]
    for level in _LEVELS:
        note = not_injected if level == "low" else ""
        choices.append((f"confidence {level}", f"Confidence: {level}", note))
    if stale:
        why = "what is gone from the repository does not count against it"
        choices.append(("holds", "Still true", why))
    if stale & {"moved", "partly"}:
        choices.append(("paths", "Put the new paths in", "of files that moved"))
    choices += [
        (f"off {name}", f"Take back: {words}", "")
        for name, words in _MARKED.items()
        if name in have
    ]
    choices.append(("remember", "Remember as a fact", "for every session of the project"))
    if is_own:
        where = "a copy in .memsearch/shared, which you commit"
        choices.append(("share", "Share with the team", where))
    else:
        choices.append(("withdraw", "Take back from the team", "out of .memsearch/shared"))
    return [*choices, ("forget", "Forget facts", "out of the long-term memory")]
