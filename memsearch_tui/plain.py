"""The app as a conversation in lines, for screen readers and bare terminals: nothing is drawn over, nothing moves, no colours.

It knows the same ``Library`` and the same ``review`` as the screens do. Lists are numbered; what is named by a number is what was
listed last.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from memsearch_engine.errors import MemsearchError, UsageError
from memsearch_engine.journal.text import plain, shown
from memsearch_engine.secrets.scan import redact

from memsearch_tui import review
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library

_HELP = """\
days              list days                 day 2      its entries (or: day 2026-02-09)
/words            search; filters as words  3          read entry 3
talk 3            its conversation          edit 3     change it in $EDITOR
delete 3          delete it                 undo       take back the last change
review            what wants a decision     yes 1      carry it out; no 1: don't
help              this                      quit       leave
"""
_HITS = 20
_DAYS = 14


class Plain:
    """One conversation. *ask* reads a line ('' ends it), *say* writes one."""

    def __init__(self, library: Library, ask: Callable[[], str], say: Callable[[str], None]) -> None:
        self.library, self.memory = library, library.memory
        self.ask, self.say = ask, say
        self.items: list[Item] = []
        self.days: list[str] = []
        self.cases: list[review.Case] = []

    def run(self) -> int:
        days = self.library.days()
        self.say(
            f"memsearch, {'all projects' if self.memory.everything else self.memory.project.name}: {many(len(days), 'day')}. help lists what you can type."
        )
        if days:
            self._day(days[0][0])
        while line := self.ask():
            word, _, rest = line.strip().partition(" ")
            if word in ("quit", "q", "exit"):
                return 0
            try:
                self._do(word, rest.strip(), line.strip())
            except (MemsearchError, OSError) as error:
                self.say(f"error: {plain(str(error))}")
                if hint := getattr(error, "hint", ""):
                    self.say(f"  {hint}")
        return 0

    def _do(self, word: str, rest: str, line: str) -> None:
        commands: dict[str, Callable[[str], None]] = {
            "days": self._list_days, "day": self._day, "talk": self._talk, "edit": self._edit, "delete": self._delete,
            "undo": lambda _: self.say(review.undo(self.memory)), "review": self._review,
            "yes": lambda number: self._decide(number, True), "no": lambda number: self._decide(number, False),
            "help": lambda _: self.say(_HELP),
        }  # fmt: skip
        if line.startswith("/"):
            answer = self.memory.search(line[1:], _HITS)
            self._list(
                self.library.items(answer),
                f"{many(len(answer.hits), 'hit')}, {answer.mode}" + (f" ({answer.reason})" if answer.reason else ""),
            )
        elif word.isdecimal():
            self._read(word)
        elif word in commands:
            commands[word](rest)
        elif line:
            raise UsageError(f"{word!r} is no command here", "help lists them; /words searches")

    # -- lists ----------------------------------------------------------------------------------------------

    def _list_days(self, _: str) -> None:
        found = self.library.days()
        self.days = [day for day, _count in found]
        for number, (day, count) in enumerate(found[:_DAYS], 1):
            self.say(f"{number}. {day}, {count if count >= 0 else 'not yet counted'} entries")
        if len(found) > _DAYS:
            self.say(f"and {len(found) - _DAYS} more: day 2026-02-09 opens any of them")

    def _day(self, name: str) -> None:
        day = self.days[int(name) - 1] if name.isdecimal() and 0 < int(name) <= len(self.days) else name
        if day not in dict(self.library.days()):
            raise UsageError(f"no entries on {day!r}", "days lists the days")
        items = self.library.day(day)
        self._list(items, f"{day}, {many(len(items), 'entry')}")

    def _list(self, items: list[Item], title: str) -> None:
        self.items = items
        self.say(title)
        for number, item in enumerate(items, 1):
            self.say(f"{number}. {item.day} {item.time} {item.agent or 'note'}: {plain(item.title)}")

    def _item(self, number: str) -> Item:
        if not number.isdecimal() or not 0 < int(number) <= len(self.items):
            raise UsageError(
                f"no entry {number or 'without a number'} in the list", f"1 to {len(self.items)} are there"
            )
        return self.items[int(number) - 1]

    # -- one entry ------------------------------------------------------------------------------------------

    def _read(self, number: str) -> None:
        item = self._item(number)
        entry = self.library.entry(item)
        marks = ", ".join(f"{name} {value}".strip() for name, value in entry.marks.items() if name != "id")
        self.say(f"{item.day} {entry.time} {entry.agent or 'note'}" + (f", {marks}" if marks else ""))
        self.say(plain(entry.body))
        if evidence := self.library.evidence(entry):
            self.say(f"conversation {evidence}" + (f": talk {number} opens it" if evidence != "lost" else ""))

    def _talk(self, number: str) -> None:
        found = self.library.conversation(self.library.entry(self._item(number)))
        for turn in found.turns[max(found.index, 0) : max(found.index, 0) + 1]:
            self.say(f"You: {plain(redact(turn.user, self.memory.home)[0])}")
            for tool in turn.tools:
                self.say(
                    f"{'Failed tool' if tool.failed else 'Tool'} {plain(tool.name)}: {plain(redact(tool.input, self.memory.home)[0])[:300]}"
                )
            self.say(f"{turn.agent}: {plain(redact(turn.assistant, self.memory.home)[0])}")

    def _edit(self, number: str) -> None:
        import click

        item = self._item(number)
        entry = self.library.entry(item)
        text = click.edit(entry.body + "\n", extension=".md", require_save=True)
        if text is None or text.strip("\n") == entry.body.strip("\n"):
            self.say("nothing was changed")
            return
        self.memory.edit(entry.id, text, if_match=entry.hash, path=item.path)
        self.say("saved; undo takes it back")

    def _delete(self, number: str) -> None:
        item = self._item(number)
        self.memory.journal.delete(self.memory.memory_of(item.path), [item.target])
        self.say(f"deleted {plain(item.title)}; undo brings it back")

    # -- review ---------------------------------------------------------------------------------------------

    def _review(self, _: str) -> None:
        self.cases = review.cases(self.memory)
        self.say(f"{len(self.cases)} things want a decision" if self.cases else "nothing wants a decision")
        for number, case in enumerate(self.cases, 1):
            answers = " or ".join(
                f"{word} {number} ({what})" for word, what in (("yes", case.yes), ("no", case.no)) if what
            )
            self.say(f"{number}. {review.TITLES[case.kind]}: {plain(case.title)}. {answers}")

    def _decide(self, number: str, yes: bool) -> None:
        if not number.isdecimal() or not 0 < int(number) <= len(self.cases):
            raise UsageError("name one of the listed by its number", "review lists them")
        case = self.cases[int(number) - 1]
        if not (case.yes if yes else case.no):
            raise UsageError(f"{number} has no such answer")
        self.say(review.decide(self.memory, case, yes))


def run(library: Library) -> int:
    """Talk on standard input and output; returns an exit code."""

    def ask() -> str:
        if sys.stdin.isatty():
            sys.stdout.write("> ")
            sys.stdout.flush()
        return sys.stdin.readline()

    return Plain(library, ask, lambda text: print(shown(text), flush=True)).run()
