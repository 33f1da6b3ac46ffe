"""The app as a dialog in lines, for screen readers and simple terminals: no redrawing, no movement,
no colours.

It uses the same ``Library`` and ``review`` as the screens. Lists are numbered; a number refers to
the last list.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from textwrap import wrap
from time import localtime, strftime

import memsearch_engine as engine
import msgspec
from memsearch_engine import Memory, MemsearchError, ReviewItem, UsageError, plain, redact, shown
from rich.cells import cell_len

from memsearch_tui import activity, drafts, health, review
from memsearch_tui.counted import many
from memsearch_tui.library import Item, Library, ProjectRow
from memsearch_tui.library.notes import as_markdown, export
from memsearch_tui.library.rows import counted_hits, hit_rows

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
why 3              why it is a hit of the last search, or why it is none
export 3 FILE      write it to a new file: JSON if its name ends in .json
review             what needs a decision
case 1             what case 1 of the review is about, and its notes
accept 1           accept case 1 of the review; reject 1 rejects it
projects           list the projects
project 2          open project 2
health             the state of the index
activity           captured turns, cost, failures
memsearch agents   any other command; memsearch help lists them:
                   memsearch agents install NAME connects an agent,
                   memsearch agents files lists the files agents read
help               this list
quit               leave
"""
_HITS = 60
_PAGE = 14  # rows of a page without a terminal
_AROUND = 4  # lines of a screen before and after a page
_MARKS = ("pin", "expires", "confidence", "superseded-by")


class Printer:
    """Prints texts and lists, in a terminal no more at once than fits on the screen."""

    def __init__(
        self, write: Callable[[str], None], size: Callable[[], tuple[int, int]] | None
    ) -> None:
        """Args:
        write: writes lines.
            size: returns the columns and lines of the terminal; None: there is no terminal.
        """
        self._write_lines, self._size = write, size
        self._rows: list[str] = []  # rows of the current list that are not printed yet

    def say(self, text: str) -> None:
        """Write lines, broken between words."""
        self._write_lines("\n".join(self._lines(text)))

    def _lines(self, text: str) -> list[str]:
        """Return the lines of a text in the width of the terminal."""
        if self._size is None:
            return text.split("\n")
        width = max(20, self._size()[0] - 1)
        return [
            part
            for line in text.split("\n")
            for part in wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
        ]

    def _height(self, row: str) -> int:
        """Return how many terminal lines a row takes. A line without blanks may take several."""
        if self._size is None:
            return 1
        width = max(20, self._size()[0])
        return sum(max(1, -(-cell_len(line) // width)) for line in self._lines(row))

    def begin(self, rows: list[str]) -> None:
        """Print the first page of a list."""
        self._rows = rows
        if rows:
            self.more()

    def print(self, text: str) -> None:
        """Print a text; in a terminal, as much of it as fits on the screen."""
        if self._size is None:
            self.say(text)
        else:
            self.begin(self._lines(text.rstrip("\n")))

    def more(self) -> None:
        """Print the next page. A page fits on the screen, where a screen reader reads."""
        room, used, page = self._size()[1] - _AROUND if self._size else _PAGE, 0, 0
        for row in self._rows:
            used += self._height(row)
            if page and used > room:
                break
            page += 1
        shown, self._rows = self._rows[:page], self._rows[page:]
        self.say("\n".join(shown or ["that was all"]))
        if self._rows:
            self.say(f"{len(self._rows)} more: more")


class Plain:
    """One dialog.

    Args:
        ask: reads a line; '' ends the dialog.
        say: writes a line.
        write: writes raw text to a terminal; None: there is no terminal.
        size: returns the columns and lines of the terminal; None: there is no terminal.
    """

    def __init__(
        self,
        library: Library,
        ask: Callable[[], str],
        say: Callable[[str], None],
        write: Callable[[str], object] | None = None,
        size: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self.library, self.memory = library, library.memory
        self.ask, self.write = ask, write
        self._printer = Printer(say, size)
        self.say = self._printer.say
        self.query = ""  # the last search
        self.items: list[Item] = []
        self.days: list[str] = []
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
            "more": lambda _: self._printer.more(),
            "add": self._add,
            "pin": self._pin,
            "copy": self._copy,
            "undo": lambda _: self._undo(),
            "redo": lambda _: self._redo(),
            "changes": self._list_changes,
            "restore": self._restore,
            "related": self._list_related,
            "why": self._why,
            "export": self._export,
            "memsearch": self._run,
            "review": self._review,
            "case": self._show_case,
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
            "help": lambda _: self._printer.print(_HELP),
            "?": lambda _: self._printer.print(_HELP),
        }
        if line.startswith("/"):
            self._search(line[1:])
        elif word.isdecimal():
            self._read(word)
        elif word in commands:
            commands[word](rest)
        elif line:
            raise UsageError(f"{word!r} is no command here", "help lists them; /words searches")

    def _run(self, words: str) -> None:
        """Run a command of ``memsearch`` that the dialog does not have."""
        try:
            argv = [sys.executable, "-P", "-m", "memsearch_tui.cli.main", *shlex.split(words)]
        except ValueError as error:
            raise UsageError(str(error), 'words with an apostrophe need "quotes"') from error
        home = {"MEMSEARCH_HOME": str(self.memory.home.root)}
        with drafts.uninterrupted():
            subprocess.run(argv, cwd=self.memory.place.root, env=os.environ | home, check=False)

    # -- lists

    def _search(self, query: str) -> None:
        self.query = query
        answer = self.memory.search(query, _HITS)
        items = hit_rows(self.library.items, answer)
        facts = (
            counted_hits(items, _HITS),
            answer.mode,
            f"no note has {', '.join(answer.absent)}" if answer.absent else "",
            "perhaps no note fits" if answer.is_unsure else "",
            answer.reason,
        )
        self._list(items, ", ".join(filter(None, facts)))

    def _list_days(self, _: str) -> None:
        found = self.library.list_days()
        self.days = [day for day, _count in found]
        self._printer.begin(
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
        self._printer.begin(rows)

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
        head = f"{item.day} {entry.time} {entry.agent or 'note'}{whose}"
        text = [head + (f", {marks}" if marks else ""), plain(entry.body)]
        if evidence := self.library.notes.evidence(entry):
            opens = f": conversation {number} opens it" if evidence != "lost" else ""
            text.append(f"conversation {evidence}{opens}")
        self._printer.print("\n".join(text))

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
            text = [f"turn {found.first + place + 1} of {found.total}"]
            text.append(f"You: {self._clean(turn.user)}")
            for step in turn.steps():
                if isinstance(step, str):
                    text.append(f"{turn.agent}: {self._clean(step)}")
                else:
                    what = "Failed tool" if step.failed else "Tool"
                    text.append(f"{what} {plain(step.name)}: {self._clean(step.input)[:300]}")
            self._printer.print("\n".join(text))

    def _why(self, number: str) -> None:
        item = self._item(number)
        if not self.query:
            raise UsageError("nothing was searched yet", "/words searches")
        reasons = item.reasons or self.memory.queries.why_not(self.query, item.entry_id).reasons
        is_hit = "a hit" if item.reasons else "no hit, or not a near one,"
        self.say(f"{number} is {is_hit} of {plain(self.query)}: {plain('; '.join(reasons))}")

    def _export(self, words: str) -> None:
        number, _, path = words.partition(" ")
        item = self._item(number)
        if not path.strip():
            raise UsageError("no file is named", "export 3 note.md")
        target = export([self.library.notes.entry(item)], [item], path.strip())
        self.say(f"1 note in {plain(target)}")

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
        self._printer.begin(
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
        self._printer.begin([plain(" ".join(text.split())) for text in texts if text.strip()])

    # -- review

    def _review(self, _: str) -> None:
        self.cases = review.cases(self.memory)
        self.say(
            f"{len(self.cases)} cases need a decision" if self.cases else "nothing needs a decision"
        )
        rows = []
        for number, case in enumerate(self.cases, 1):
            answers = " or ".join(
                f"{word} {number} ({what})"
                for word, what in (("accept", case.yes), ("reject", case.no))
                if what
            )
            rows.append(f"{number}. {review.TITLES[case.kind]}: {plain(case.title)}. {answers}")
        self._printer.begin(rows)

    def _case(self, number: str) -> ReviewItem:
        return self.cases[_place(number, len(self.cases), "case")]

    def _show_case(self, number: str) -> None:
        case = self._case(number)
        self.say("\n".join(plain("".join(text for text, _ in row)) for row in case.detail))
        if notes := list(self.library.related.of_case(case.notes, case.sessions)):
            self._list(notes, many(len(notes), "note"))

    def _decide(self, words: str, yes: bool) -> None:
        number, _, sure = words.partition(" ")
        case = self._case(number)
        if not (case.yes if yes else case.no):
            raise UsageError(f"{number} has no such answer")
        if yes and case.asks and sure.strip() != "yes":
            raise UsageError(plain(case.asks), f"accept {number} yes accepts it")
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
        self._printer.begin(
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
        done = "removed" if restored.op == "delete" else "brought back"
        self.say(f"{done} {plain(restored.title)}; undo takes it back")


def _place(number: str, count: int, what: str) -> int:
    """Return the index of a row that is named by its number.

    Raises:
        UsageError: there is no such row.
    """
    if not number.isdecimal() or not 0 < int(number) <= count:
        raise UsageError(
            f"no {what} {number or 'without a number'} in the list",
            f"1 to {count} are there" if count else "that list is empty, or was not printed yet",
        )
    return int(number) - 1


def run(library: Library) -> int:
    """Run the dialog on standard input and output; returns an exit code."""

    def ask() -> str:
        if sys.stdin.isatty():
            sys.stdout.write("> ")
            sys.stdout.flush()
        return sys.stdin.readline()

    write, size = (
        (sys.stdout.write, shutil.get_terminal_size) if sys.stdout.isatty() else (None, None)
    )
    return Plain(library, ask, lambda text: print(shown(text), flush=True), write, size).run()
