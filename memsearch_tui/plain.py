"""The app as a dialog in lines, for screen readers and simple terminals: no redrawing, no movement,
no colours.

It uses the same ``Library`` and ``review`` as the screens. Lists are numbered; a number refers to
the last list.
"""

from __future__ import annotations

import base64
import contextlib
import shlex
import sys
from collections.abc import Callable
from datetime import date
from time import localtime, strftime

import memsearch_engine as engine
import msgspec
from memsearch_engine import Memory, MemsearchError, ReviewItem, UsageError, plain, redact, shown

from memsearch_tui import activity, drafts, health, review
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library, ProjectRow
from memsearch_tui.library.notes import as_markdown
from memsearch_tui.library.rows import hit_rows

_HELP = """\
/words             search; filters as words
days               list the days
day 2              the notes of day 2 (or: day 2026-02-09, day yesterday, day mon)
more               the next page of a list
3                  read note 3
conversation 3     its turn of its conversation; conversation 3 7 shows turn 7
related 3          other notes on its topic and its files
resume 3           the command that resumes its session
add words          write a note
edit 3             change it in $EDITOR
delete 3           delete it
undo               undo the last change; redo does it again
changes            what was changed; restore 2 undoes change 2
pin 3              pin it, or unpin it
mark 3 NAME VALUE  set a mark: expires, confidence …; unmark 3 NAME removes it
copy 3             copy its markdown to the clipboard
review             what needs a decision
accept 1           accept case 1 of the review; reject 1 rejects it
projects           list the projects
project 2          open project 2
health             the state of the index
activity           captured turns, cost, failures
help               this list
quit               leave
"""
_HITS = 60
_PAGE = 14
_MARKS = ("pin", "expires", "confidence", "superseded-by")


class Plain:
    """One dialog.

    Args:
        ask: reads a line; '' ends the dialog.
        say: writes a line.
        write: writes raw text to a terminal; None: there is no terminal.
    """

    def __init__(
        self,
        library: Library,
        ask: Callable[[], str],
        say: Callable[[str], None],
        write: Callable[[str], object] | None = None,
    ) -> None:
        self.library, self.memory = library, library.memory
        self.ask, self.say, self.write = ask, say, write
        self.items: list[Item] = []
        self.days: list[str] = []
        self.rows: list[str] = []  # rows of the current list that are not printed yet
        self.cases: list[ReviewItem] = []
        self.projects: list[ProjectRow] = []
        self.changes: list[engine.Change] = []
        self.back: Callable[[], str] | None = None  # undoes the last decision

    def run(self) -> int:
        """Read and carry out commands until the input ends. Returns an exit code."""
        days = self.library.list_days()
        self.say(
            "memsearch, "
            f"{'all projects' if self.memory.everything else self.memory.project.name}: "
            f"{many(len(days), 'day')}. help lists what you can type."
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
            "days": self._list_days,
            "day": self._day,
            "conversation": self._show_conversation,
            "talk": self._show_conversation,  # the name in earlier versions
            "edit": self._edit,
            "delete": self._delete,
            "more": lambda _: self._more(),
            "add": self._add,
            "pin": self._pin,
            "copy": self._copy,
            "undo": lambda _: self._undo(),
            "redo": lambda _: self._redo(),
            "changes": self._list_changes,
            "restore": self._restore,
            "related": self._list_related,
            "review": self._review,
            "mark": self._mark,
            "unmark": lambda words: self._mark(words, off=True),
            "resume": self._resume,
            "accept": lambda number: self._decide(number, True),
            "reject": lambda number: self._decide(number, False),
            "yes": lambda number: self._decide(number, True),
            "no": lambda number: self._decide(number, False),
            "projects": self._list_projects,
            "project": self._open_project,
            "health": lambda _: self._say_lines(health.lines(self.library.status.health())),
            "activity": lambda _: self._say_lines(
                activity.lines(self.library.status.activity(), self.library.today())
            ),
            "help": lambda _: self.say(_HELP),
            "?": lambda _: self.say(_HELP),
        }
        if line.startswith("/"):
            answer = self.memory.search(line[1:], _HITS)
            count = f"first {_HITS}" if len(answer.hits) == _HITS else many(len(answer.hits), "hit")
            remarks = [f"no note has {', '.join(answer.absent)}"] if answer.absent else []
            remarks += ["perhaps no note fits"] if answer.is_unsure else []
            remarks += [answer.reason] if answer.reason else []
            self._list(
                hit_rows(self.library.items, answer), ", ".join([count, answer.mode, *remarks])
            )
        elif word.isdecimal():
            self._read(word)
        elif word in commands:
            commands[word](rest)
        elif line:
            raise UsageError(f"{word!r} is no command here", "help lists them; /words searches")

    # -- lists

    def _list_days(self, _: str) -> None:
        found = self.library.list_days()
        self.days = [day for day, _count in found]
        self._begin(
            [
                f"{number}. {day}, {many(count, 'note')}"
                for number, (day, count) in enumerate(found, 1)
            ]
        )

    def _day(self, name: str) -> None:
        if name.isdecimal() and 0 < int(name) <= len(self.days):
            day = self.days[int(name) - 1]
        else:
            found = engine.date_in_words(name, date.fromisoformat(self.library.today()))
            day = found[1] if found else name
        if day not in dict(self.library.list_days()):
            raise UsageError(f"no entries on {day!r}", "days lists the days")
        items = self.library.days.notes(day)
        self._list(items, f"{day}, {many(len(items), 'note')}")

    def _list(self, items: list[Item], title: str) -> None:
        self.items = items
        self.say(title)
        rows, was_sure = [], True
        for number, item in enumerate(items, 1):
            faint = (
                "only faintly alike from here on:\n"
                if item.doubtful and was_sure and number > 1
                else ""
            )
            was_sure = not item.doubtful
            whose = f", shared by {item.author}" if item.author else ""
            signs = "pinned, " if "pin" in item.marks else ""
            signs += "superseded, " if item.superseded else ""
            rows.append(
                f"{faint}{number}. {item.day} {item.time} {item.agent or 'note'}{whose}: "
                f"{signs}{plain(item.title)}"
            )
        self._begin(rows)

    def _begin(self, rows: list[str]) -> None:
        """Print the first page of a list."""
        self.rows = rows
        if rows:
            self._more()

    def _more(self) -> None:
        page, self.rows = self.rows[:_PAGE], self.rows[_PAGE:]
        for row in page or ["that was all"]:
            self.say(row)
        if self.rows:
            self.say(f"{len(self.rows)} more: more")

    def _item(self, number: str) -> Item:
        return self.items[_place(number, len(self.items), "note")]

    # -- one entry

    def _read(self, number: str) -> None:
        item = self._item(number)
        entry = self.library.notes.entry(item)
        marks = ", ".join(
            f"{name} {value}".strip() for name, value in entry.marks.items() if name != "id"
        )
        whose = f", shared by {item.author}" if item.author else ""
        self.say(
            f"{item.day} {entry.time} {entry.agent or 'note'}{whose}"
            + (f", {marks}" if marks else "")
        )
        self.say(plain(entry.body))
        if evidence := self.library.notes.evidence(entry):
            self.say(
                f"conversation {evidence}"
                + (f": conversation {number} opens it" if evidence != "lost" else "")
            )

    def _show_conversation(self, words: str) -> None:
        number, _, wanted = words.partition(" ")
        item = self._item(number)
        entry = self.library.notes.entry(item)
        found = self.library.notes.conversation(entry, item.day)
        place = max(found.index, 0)
        if wanted.strip():
            place = _place(wanted.strip(), found.total, "turn")
            found = self.library.notes.turns_around(entry, place)
            place -= found.first
        elif found.is_near:
            self.say(
                "The turn of this note is not in the conversation. This is the one nearest in time."
            )
        for turn in found.turns[place : place + 1]:
            self.say(f"turn {found.first + place + 1} of {found.total}")
            self.say(f"You: {self._clean(turn.user)}")
            for step in turn.steps():
                if isinstance(step, str):
                    self.say(f"{turn.agent}: {self._clean(step)}")
                else:
                    what = "Failed tool" if step.failed else "Tool"
                    self.say(f"{what} {plain(step.name)}: {self._clean(step.input)[:300]}")

    def _list_related(self, number: str) -> None:
        item = self._item(number)
        found, problem = self.library.related.of(item, self.library.notes.entry(item))
        rows = [
            msgspec.structs.replace(one.item, title=f"{one.how}: {one.item.title}") for one in found
        ]
        self._list(rows, ", ".join(filter(None, [many(len(rows), "related note"), problem])))

    def _clean(self, text: str) -> str:
        return plain(redact(text, self.memory.home)[0])

    def _edit(self, number: str) -> None:
        import click

        item = self._item(number)
        entry = self.library.notes.entry(item)
        try:
            text = drafts.in_editor(self.memory.home, entry.body)
        except (click.ClickException, ValueError) as error:
            raise UsageError(str(error), "set EDITOR") from error
        if text is None:
            self.say("nothing was changed")
            return
        draft = drafts.EditDraft(item.path, entry.id, entry.title, text, entry.hash, entry.body)
        with contextlib.suppress(OSError):
            drafts.save(self.memory.home, draft)  # typed text is not lost if saving fails
        self.memory.edit(entry.id, text, if_match=entry.hash, path=item.path)
        drafts.drop(self.memory.home, draft.path, draft.entry_id)
        self.say("saved; undo takes it back")

    def _add(self, words: str) -> None:
        note = self.library.writer.add(words, self.library.today())
        replaced = f"; {many(len(note.replaced), 'secret')} replaced" if note.replaced else ""
        self.say(f"noted; undo takes it back{replaced}")

    def _pin(self, number: str) -> None:
        item = self._item(number)
        entry = self.library.notes.entry(item)
        is_pinned = "pin" in entry.marks
        target = msgspec.structs.replace(item.target, hash=entry.hash)
        self.memory.mark_each([target], "pin", None if is_pinned else "")
        self.say(f"{'unpinned' if is_pinned else 'pinned'}; undo takes it back")

    def _copy(self, number: str) -> None:
        item = self._item(number)
        text = as_markdown([self.library.notes.entry(item)], [item])
        if self.write:  # OSC 52: the terminal copies it to its clipboard, also over ssh
            self.write(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\a")
            self.say("copied, where the terminal allows it")
        else:
            self.say(plain(text))

    def _delete(self, number: str) -> None:
        item = self._item(number)
        self.memory.delete_each([item.target])
        self.say(f"deleted {plain(item.title)}; undo brings it back")

    def _mark(self, words: str, off: bool = False) -> None:
        number, _, rest = words.partition(" ")
        name, _, value = rest.strip().partition(" ")
        if name not in _MARKS:
            raise UsageError(f"{name or 'nothing'} is no mark", f"marks: {', '.join(_MARKS)}")
        item = self._item(number)
        entry = self.library.notes.entry(item)
        target = msgspec.structs.replace(item.target, hash=entry.hash)
        self.memory.mark_each([target], name, None if off else value)
        self.say(f"{'unmarked' if off else 'marked'} {name}; undo takes it back")

    def _resume(self, number: str) -> None:
        argv, folder = self.library.notes.resume(self.library.notes.entry(self._item(number)))
        if not argv:
            raise UsageError("its session can't be resumed")
        self.say(plain(f"cd {shlex.quote(folder)} && {shlex.join(argv)}"))

    # -- other pages

    def _list_projects(self, _: str) -> None:
        self.projects = self.library.projects.rows()
        self._begin(
            [
                f"{number}. {plain(row.name)}: {many(row.entries, 'note')} in "
                f"{many(row.days, 'day')}, newest {row.newest or 'none'}"
                for number, row in enumerate(self.projects, 1)
            ]
        )

    def _open_project(self, number: str) -> None:
        row = self.projects[_place(number, len(self.projects), "project")]
        self.library = Library(Memory(row.root, home=self.memory.home))
        self.memory = self.library.memory
        self.items, self.days = [], []
        self.say(f"{plain(row.name)} is open; days lists its days")

    def _say_lines(self, lines: list[activity.Line]) -> None:
        """Print the rows of a page, without bars and blank lines."""
        texts = ("".join(text for text, tone in line.row if tone != "heat2") for line in lines)
        self._begin([plain(" ".join(text.split())) for text in texts if text.strip()])

    # -- review

    def _review(self, _: str) -> None:
        self.cases = review.cases(self.memory)
        self.say(
            f"{len(self.cases)} cases need a decision" if self.cases else "nothing needs a decision"
        )
        for number, case in enumerate(self.cases, 1):
            answers = " or ".join(
                f"{word} {number} ({what})"
                for word, what in (("accept", case.yes), ("reject", case.no))
                if what
            )
            self.say(f"{number}. {review.TITLES[case.kind]}: {plain(case.title)}. {answers}")

    def _decide(self, number: str, yes: bool) -> None:
        case = self.cases[_place(number, len(self.cases), "case")]
        if not (case.yes if yes else case.no):
            raise UsageError(f"{number} has no such answer")
        decision = review.decide(self.memory, case, yes)
        self.back = decision.back
        self.say(decision.said)

    def _undo(self) -> None:
        """Undo the last decision of the review, else the last change of a note."""
        back, self.back = self.back, None
        self.say(back() if back else review.undo(self.memory))

    def _redo(self) -> None:
        changes = self.memory.redo(everywhere=self.memory.everything, own=True)
        self.say(f"redone: {review.of_changes(changes)}" if changes else "nothing to redo")

    def _list_changes(self, _: str) -> None:
        self.changes = self.memory.history(everywhere=self.memory.everything)
        self._begin(
            [
                f"{number}. {strftime('%Y-%m-%d %H:%M', localtime(change.at))} {change.op}"
                f"{' (undone)' if change.state == 'undone' else ''}: {plain(change.title)}"
                for number, change in enumerate(self.changes, 1)
            ]
            or ["nothing was changed yet"]
        )

    def _restore(self, number: str) -> None:
        change = self.changes[_place(number, len(self.changes), "change")]
        restored = self.memory.restore(change.seq)
        self.say(f"brought back {plain(restored.title)}; undo takes it back")


def _place(number: str, count: int, what: str) -> int:
    """Return the index of a row that is named by its number.

    Raises:
        UsageError: there is no such row.
    """
    if not number.isdecimal() or not 0 < int(number) <= count:
        raise UsageError(
            f"no {what} {number or 'without a number'} in the list", f"1 to {count} are there"
        )
    return int(number) - 1


def run(library: Library) -> int:
    """Run the dialog on standard input and output; returns an exit code."""

    def ask() -> str:
        if sys.stdin.isatty():
            sys.stdout.write("> ")
            sys.stdout.flush()
        return sys.stdin.readline()

    write = sys.stdout.write if sys.stdout.isatty() else None
    return Plain(library, ask, lambda text: print(shown(text), flush=True), write).run()
