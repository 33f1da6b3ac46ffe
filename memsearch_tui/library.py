"""What the app shows, read from the engine. No widget here: the same calls could feed any other face.

Lists come from the catalog where there is one (it answers in milliseconds at 30,000 entries); the entries of one day
and every text come from the files themselves, so what is read is what is there.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from memsearch_engine import Memory
from memsearch_engine.errors import MemsearchError, NotFound
from memsearch_engine.journal.files import DayFile, count_entries, list_days
from memsearch_engine.journal.model import Entry
from memsearch_engine.search.hits import Answer

if TYPE_CHECKING:  # what the first frame does not need
    from memsearch_engine.journal.write import Target
    from memsearch_engine.transcripts.locate import Excerpt
    from memsearch_engine.transcripts.model import Turn

#: Turns on both sides of the one that is opened.
AROUND = 40
_FILES = 8  # of a note, whose turns are looked for
_PATH = re.compile(r"`([\w@.-]+(?:/[\w@.-]+)*\.\w{1,8})`")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")


class Item(msgspec.Struct, frozen=True):
    """A row of the list: an entry by its id and file, and what the row shows."""

    entry_id: str
    path: str
    day: str
    time: str
    agent: str
    title: str
    marks: dict[str, str]
    project: str = ""
    hash: str = ""
    reasons: tuple[str, ...] = ()
    by_meaning: bool = False  # found without a word of the query
    doubtful: bool = False  # only faintly like it

    @property
    def key(self) -> tuple[str, str]:
        return self.path, self.entry_id

    @property
    def target(self) -> Target:
        from memsearch_engine.journal.write import Target

        return Target(self.path, self.entry_id, self.hash)


class Related(msgspec.Struct, frozen=True):
    """A note beside another. ``how``: what it is to it: a file that both wrote to, or its place in the matter."""

    how: str
    item: Item


class ProjectRow(msgspec.Struct, frozen=True):
    """A known project. ``here``: its folder is on this machine."""

    name: str
    root: str
    entries: int
    days: int
    newest: str
    here: bool


class Library:
    """One project's memory, or all of them."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._files: dict[str, list[DayFile]] = {}
        self._names: list[str] = []
        self._evidence: dict[tuple[str, str, str], str] = {}  # a cursor move must not search the agents' folders

    def days(self) -> list[tuple[str, int]]:
        """(day, number of entries), newest first. Counts are the catalog's; a day it does not know yet counts as -1."""
        self._files, self._evidence = {}, {}
        for file in self.memory.days():
            self._files.setdefault(file.day, []).append(file)
        counts: Counter[str] = Counter()
        if self.memory.catalog is not None:
            for project in {p.id for p in self.memory.projects}:
                counts.update(dict(self.memory.catalog.days(project)))
        return [(day, counts.get(day, -1)) for day in self._files]

    def day(self, day: str) -> list[Item]:
        """The entries of a day, in the order they stand in its files."""
        items = []
        for file in self._files.get(day, ()):
            try:
                entries = self.memory.read(file)
            except OSError:
                continue
            items += [self._item(entry, file.path, day) for entry in entries]
        return sorted(items, key=lambda item: (item.time or "99", item.path))

    def _item(self, entry: Entry, path: str, day: str) -> Item:
        project = next((p.name for p in self.memory.projects if path.startswith(p.memory)), "")
        return Item(entry.id, path, day, entry.time, entry.agent, entry.title, entry.marks, project, entry.hash)

    def items(self, answer: Answer) -> list[Item]:
        names = {p.id: p.name for p in self.memory.projects}
        return [
            Item(
                hit.row.entry_id,
                hit.row.path,
                hit.row.day,
                hit.row.time,
                hit.row.agent,
                hit.row.title,
                hit.row.marks,
                names.get(hit.row.project, ""),
                hit.row.hash,
                (
                    *(f"{name} #{place}" for name, place in hit.ranks.items()),
                    *hit.reasons,
                ),
                hit.by_meaning,
                hit.is_doubtful,
            )
            for hit in answer.hits
        ]

    def entry(self, item: Item) -> Entry:
        """The entry as it stands in its file now. Raises NotFound, OSError."""
        from memsearch_engine.journal.files import read_day

        entry = read_day(item.path).find(item.entry_id)
        if entry is None:
            raise NotFound(f"the entry {item.entry_id} is no longer in {item.path}")
        return entry

    def short(self, path: str) -> str:
        """*path* from its project's name on: what a person needs to find the file."""
        project = next((p for p in self.memory.projects if path.startswith(p.root + os.sep)), None)
        return os.path.join(project.name, os.path.relpath(path, project.root)) if project else path

    def evidence(self, entry: Entry) -> str:
        """``live``, ``archived`` or ``lost``; '' where no conversation stands behind the entry."""
        key = (entry.agent, entry.session, entry.turn)
        if key not in self._evidence:
            self._evidence[key] = self.memory.evidence(entry)
        return self._evidence[key]

    def conversation(self, entry: Entry, turn: str = "") -> Excerpt:
        """The conversation around the entry's turn, or around another *turn* of it."""
        return self.memory.conversation(entry, turn=turn, context=AROUND)

    def memory_of_turn(self, turn: Turn) -> Item | None:
        """The entry that came from a turn, or None."""
        from memsearch_engine.journal.parse import turn_id

        return self._noted(turn_id(turn.agent, turn.session, turn.turn))

    def related(self, item: Item, entry: Entry) -> tuple[list[Related], str]:
        """The other notes on an entry's matter, oldest first, then those of turns that wrote to the files that it names, newest first;
        and why the first could not be looked for, where it could not. Takes a moment: it may start the service."""
        from memsearch_engine.recall.notes import files

        found: list[Related] = []
        problem = ""
        try:
            words = self.memory.trace(note=item.entry_id)
            days = {word.row.entry_id: word.row.day for word in words}
            for word in words:
                row = word.row
                of = ", ".join(days[name] for name in word.replaces if name in days)
                it = Item(row.entry_id, row.path, row.day, row.time, row.agent, row.title, row.marks, "", row.hash)
                what = f"amends {of}" if of else "the first word"
                if len(words) > 1:
                    found.append(Related("this note" if row.entry_id == item.entry_id else what, it))
        except MemsearchError as error:
            problem = str(error)
        for path in dict.fromkeys([*files(entry.body), *_PATH.findall(entry.body)][:_FILES]):
            for act in self.memory.blame(path):
                if act.entry != item.entry_id and (other := self._noted(act.entry)) is not None:
                    found.append(Related(act.path, other))
        return found, problem

    def _noted(self, entry_id: str) -> Item | None:
        from memsearch_engine.journal.files import day_of

        try:
            section = self.memory.section(entry_id)
        except MemsearchError:
            return None
        return self._item(section.entry, section.path, day_of(section.path))

    def resume(self, entry: Entry) -> tuple[list[str], str]:
        """(the command that goes on with an entry's session, the folder to run it in); ([], '') where there is none."""
        argv = {
            "claude-code": ["claude", "--resume", entry.session],
            "codex": ["codex", "resume", entry.session],
            "opencode": ["opencode", "--session", entry.session],
            "openclaw": ["openclaw", "tui", "--session", entry.session],
        }.get(entry.agent)
        if argv is None or not _SESSION.match(entry.session):  # an anchor is untrusted text
            return [], ""
        try:
            folder = self.memory.conversation(entry, context=0).turns[0].cwd
        except (MemsearchError, OSError, IndexError):
            folder = self.memory.place.root
        return argv, folder

    def export(self, entries: list[Entry], items: list[Item], path: str) -> str:
        """Write entries to a new file: JSON where its name ends so, else markdown. Returns its full path. Raises OSError."""
        target = os.path.abspath(os.path.expanduser(path))
        if target.endswith(".json"):
            rows = [
                {"entry_id": e.id, "day": item.day, "time": e.time, "agent": e.agent, "session": e.session, "turn": e.turn,
                 "source": item.path, "content": e.content, "body": e.body, "marks": e.marks}
                for e, item in zip(entries, items)
            ]  # fmt: skip
            data = msgspec.json.format(msgspec.json.encode({"schema_version": 1, "entries": rows}), indent=2).decode()
        else:
            parts = [f"<!-- {os.path.basename(item.path)} -->\n{e.content}" for e, item in zip(entries, items)]
            data = "\n\n".join(parts)
        with open(target, "x", encoding="utf-8") as out:
            out.write(data + "\n")
        return target

    def project_names(self) -> list[str]:
        """Names of all known projects; [] where the registry can't be read."""
        from memsearch_engine.registry import Registry

        if not self._names:
            registry = Registry(self.memory.home)
            try:
                self._names = sorted({project.name for project in registry.all()})
            except MemsearchError:
                self._names = []
            finally:
                registry.close()
        return self._names

    def projects(self) -> list[ProjectRow]:
        """Every known project, the one with the newest memory first."""
        everything = Memory(self.memory.place.root, home=self.memory.home, everything=True)
        rows = []
        for project in everything.projects:
            counts = everything.catalog.counts(project.id) if everything.catalog else {}
            days = list_days(project.memory) if os.path.isdir(project.memory) else []
            rows.append(
                ProjectRow(
                    project.name, project.root, counts.get("entries") or count_entries(days), len(days), days[0].day if days else "",
                    os.path.isdir(project.root),
                )
            )  # fmt: skip
        everything.close()
        return sorted(rows, key=lambda row: (row.newest, row.name), reverse=True)

    def activity(self) -> dict[str, Any]:
        """Capture at work, for the activity screen."""
        from memsearch_engine.capture import summaries
        from memsearch_engine.llm import spend
        from memsearch_engine.settings import load

        home = self.memory.home
        state: dict[str, Any] = {
            "capturing": {}, "percent": 100, "seen": 0, "trivial": 0, "days": [], "alarms": [], "waiting": [], "error": "",
            "summaries": {}, "failures": [], "spend": [], "told": [], "today_tokens": 0, "daily_tokens": 0, "provider": "extractive",
        }  # fmt: skip
        try:
            settings = load(home)
            state |= {"daily_tokens": settings.capture.daily_tokens, "provider": settings.capture.summarize.provider}
            state |= {"summaries": summaries.waiting(home), "failures": summaries.failures(home)}
            state |= {
                "spend": spend.by_day(home),
                "today_tokens": spend.today(home, summaries.PURPOSE),
                "told": self.memory.receipts(),
            }
            state["waiting"] = self.memory.call("inbox", dict, timeout_s=60)["waiting"]
            covered = self.memory.call("coverage", dict, timeout_s=120)
            state |= {name: covered[name] for name in ("percent", "seen", "trivial", "days", "alarms")}
            state["capturing"] = covered["agents"]
        except MemsearchError as error:
            state["error"] = str(error)
        return state

    def retry(self) -> str:
        """Try waiting events and failed summaries again; says what came of it."""
        from memsearch_engine.capture import summaries
        from memsearch_engine.capture.worker import retry

        try:
            count = retry(self.memory.home) + summaries.retry(self.memory.home)
            done = self.memory.call("inbox", dict, timeout_s=120)
        except MemsearchError as error:
            return str(error)
        return f"{count} tried again, {done['captured']} captured, {len(done['waiting'])} waiting"

    def health(self) -> dict[str, Any]:
        """The service's view of itself, or why there is none."""
        try:
            everything = self.memory.everything
            state = self.memory.call("health", dict, place=self.memory.place_param, all_projects=everything)
            state["service"] = self.memory.call("status", dict)
            return state
        except MemsearchError as error:
            return {"error": str(error), "hint": error.hint}
