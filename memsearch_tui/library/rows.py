"""The rows that screens list: notes by day, hits, related notes and known projects."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

import memsearch_engine as engine
import msgspec
from memsearch_engine import Memory, MemsearchError

from memsearch_tui.counted import many

_TITLE = 300  # characters of a title in the index


class Item(msgspec.Struct, frozen=True):
    """A row of the list: the id and file of an entry, and the values that the row shows."""

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
    by_meaning: bool = False  # the note has no word of the query
    doubtful: bool = False  # only faintly similar
    text: str = ""  # the matching part
    superseded: bool = False  # superseded by a hit above
    replaced: tuple[tuple[str, str], ...] = ()  # (day, title) of superseded hits
    earlier: tuple[tuple[str, str], ...] = ()  # the same, of older hits on its topic
    session: str = ""
    stale: str = ""  # its stale reference, if any
    as_of: str = ""  # ISO day of an as-of search
    unmerged: str = ""  # branch of its turn, if not merged

    @property
    def key(self) -> tuple[str, str]:
        """(path, entry id)."""
        return self.path, self.entry_id

    @property
    def author(self) -> str:
        """The team member who shared it; '' for the project's own notes."""
        return engine.shared_author(self.path)

    @property
    def target(self) -> engine.Target:
        """The entry as a target of the engine's commands."""
        return engine.Target(self.path, self.entry_id, self.hash)

    def shows(self, entry: engine.Entry) -> bool:
        """Return whether the row shows the current title of *entry*."""
        return entry.title[:_TITLE] == self.title[:_TITLE]


class Related(msgspec.Struct, frozen=True):
    """A related note.

    Attributes:
        how: its relation to the open note: a file that both turns wrote to, or its place in the
            revision chain.
        amends: ids of the entries on the topic that it supersedes.
    """

    how: str
    item: Item
    amends: tuple[str, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """A note as the reader shows it.

    Attributes:
        evidence: the state of its conversation (``NoteReader.evidence``).
        standing: its staleness; None if it was not compared with a repository.
    """

    entry: engine.Entry
    evidence: str
    standing: engine.NoteStaleness | None


class ProjectRow(msgspec.Struct, frozen=True):
    """A known project. ``here``: its folder is on this machine."""

    name: str
    root: str
    entries: int
    days: int
    newest: str
    here: bool


class ItemMaker:
    """Makes rows from entries and from rows of the index."""

    def __init__(self, memory: engine.Memory) -> None:
        self._memory = memory

    def project_of(self, path: str) -> str:
        """Return the name of the project of a file; '' if there is none."""
        project = self._memory.files.project_of(path)
        return project.name if project else ""

    def of_entry(self, entry: engine.Entry, path: str, day: str) -> Item:
        """Return the row of an entry in the file *path* of the ISO day *day*."""
        return Item(
            entry.id,
            path,
            day,
            entry.time,
            entry.agent,
            entry.title[:_TITLE],
            entry.marks,
            self.project_of(path),
            entry.hash,
        )

    def of_index(self, row: engine.Row) -> Item:
        """Return the row of an entry in the index."""
        project = next((p.name for p in self._memory.projects if p.id == row.project), "")
        return Item(
            row.entry_id,
            row.path,
            row.day,
            row.time,
            row.agent,
            row.title,
            row.marks,
            project,
            row.hash,
            stale=row.stale,
            unmerged=row.unmerged,
        )

    def of_id(self, entry_id: str) -> Item | None:
        """Return the row of the entry with this id, or None."""
        try:
            section = self._memory.files.section(entry_id)
        except engine.MemsearchError:
            return None
        return self.of_entry(section.entry, section.path, section.day)


#: ranking -> what people call it
_RANKINGS = {"dense": "by meaning", "bm25": "by words", "lexical": "by words"}


def has_only_filters(query: str) -> bool:
    """Return whether *query* has only filters, asks for current notes and not for other kinds of
    text.

    Such a query lists all matching notes in order of time.
    """
    request = engine.parse_query(query)
    is_of_notes = not set(request.filter.kinds) - {"turn", "note"}
    return request.is_empty and not request.as_of and is_of_notes


def hit_rows(items: ItemMaker, answer: engine.Answer, *, by_session: bool = False) -> list[Item]:
    """Return the hits of an answer as rows.

    Args:
        by_session: group them by conversation.
    """
    superseded, as_of = answer.superseded, answer.as_of
    rows = {hit.id: hit.row for hit in answer.hits}
    found = [
        msgspec.structs.replace(
            items.of_index(hit.row),
            reasons=(
                *(f"{_RANKINGS.get(name, name)} #{n}" for name, n in hit.ranks.items()),
                *hit.reasons,
            ),
            by_meaning=hit.by_meaning,
            doubtful=hit.is_doubtful,
            text=hit.row.text,
            superseded=hit.id in superseded,
            replaced=_titles_of(rows, hit.supersedes),
            earlier=_titles_of(rows, hit.possibly_supersedes),
            session=hit.row.session,
            as_of=as_of,
        )
        for hit in answer.hits
    ]
    if by_session:
        grouped = (hit for group in answer.by_session() for hit in group.hits)
        order = {(hit.path, hit.id): place for place, hit in enumerate(grouped)}
        found.sort(key=lambda item: order[item.key])
    return found


def counted_hits(items: Sequence[Item], most: int, *, grouped: bool = False) -> str:
    """Return the number of hits in words. Those after the last sure one are not counted.

    Args:
        most: the number that was asked for.
        grouped: the hits are listed by session.
    """
    places = [n for n, item in enumerate(items, 1) if not item.doubtful]
    sure = len(places) if grouped else max(places, default=0)
    if sure < len(items):
        return many(sure, "hit") if sure else f"nearest {len(items)}"
    return f"first {sure}" if sure == most else many(sure, "hit")


def _titles_of(rows: dict[str, engine.Row], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return (day, title) of the named entries that are among the hits."""
    return tuple((rows[name].day, rows[name].title) for name in names if name in rows)


class NoteDays:
    """Lists the days and their notes.

    Files that are indexed in their current state are listed from the index, which takes
    milliseconds at 30,000 entries. Other files are read.
    """

    def __init__(self, memory: engine.Memory, items: ItemMaker) -> None:
        self._memory, self._items = memory, items
        self._files: dict[str, list[engine.DayFile]] = {}

    def read(self) -> list[tuple[str, int]]:
        """Find the files again, and return (ISO day, number of notes), newest day first."""
        listed = self._memory.days()
        counts = count_notes(self._memory, listed)
        files: dict[str, list[engine.DayFile]] = {}
        for file in listed:
            files.setdefault(file.day, []).append(file)
        self._files = files  # replaced in one step: another thread may read it
        return list(counts.items())

    def notes(self, day: str) -> list[Item]:
        """Return the notes of an ISO day, oldest first; those without a time come last."""
        items: list[Item] = []
        for file in self._files.get(day, ()):
            titles = None
            with contextlib.suppress(engine.MemsearchError):
                titles = self._memory.files.titles(file)
            if titles is not None:
                project = self._items.project_of(file.path)
                items += [
                    Item(
                        title.entry_id,
                        file.path,
                        day,
                        title.time,
                        title.agent,
                        title.title,
                        title.marks,
                        project,
                        title.hash,
                        stale=title.stale,
                        unmerged=title.unmerged,
                    )
                    for title in titles
                ]
                continue
            with contextlib.suppress(OSError):
                entries = self._memory.files.read(file)
                items += [self._items.of_entry(entry, file.path, day) for entry in entries]
        return sorted(items, key=lambda item: (item.time or "99", item.path))

    def day_of(self, path: str) -> str:
        """Return the ISO day of a listed file; '' for a file that is not listed."""
        day = os.path.basename(path).removesuffix(".md")
        return day if any(file.path == path for file in self._files.get(day, ())) else ""

    def sources(self, day: str) -> list[tuple[str, str]]:
        """Return (path, text) of the files of an ISO day, as they are on disk.

        The text of a file that cannot be read is the error.
        """
        found = []
        for file in self._files.get(day, ()):
            try:
                text = self._memory.files.source(file.path)
            except OSError as error:
                text = str(error)
            found.append((short_path(self._memory, file.path), text))
        return found


def short_path(memory: engine.Memory, path: str) -> str:
    """Return *path* from the project's name on: enough for a person to find the file."""
    project = next((p for p in memory.projects if path.startswith(p.root + os.sep)), None)
    return os.path.join(project.name, os.path.relpath(path, project.root)) if project else path


def count_notes(memory: engine.Memory, files: Sequence[engine.DayFile]) -> dict[str, int]:
    """Return ISO day -> number of notes, in the order of *files*.

    For a file that is not indexed in its current state, the number of its headings is used, which
    is nearly right.
    """
    known: dict[str, tuple[int, int, int]] = {}
    with contextlib.suppress(engine.MemsearchError):  # a damaged catalog is being rebuilt
        known = memory.files.indexed()
    counts: dict[str, int] = {}
    for file in files:
        mtime_ns, size, count = known.get(file.path, (0, 0, 0))
        is_known = (mtime_ns, size) == (file.mtime_ns, file.size)
        counts[file.day] = counts.get(file.day, 0) + (
            count if is_known else engine.count_entries([file])
        )
    return counts


class KnownProjects:
    """Lists the projects in the registry of a home."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._names: list[str] = []

    def names(self) -> list[str]:
        """Return the names of all known projects; [] if the registry cannot be read."""
        if not self._names:
            with contextlib.suppress(MemsearchError):
                self._names = sorted({project.name for project in self._memory.known()})
        return self._names

    def rows(self) -> list[ProjectRow]:
        """Return every known project, the one with the newest note first."""
        rows = []
        with Memory(self._memory.place.root, home=self._memory.home, everything=True) as everything:
            files = everything.days()
            for project in everything.projects:
                own = [file for file in files if everything.files.project_of(file.path) == project]
                counts = {day: n for day, n in count_notes(everything, own).items() if n}
                here = os.path.isdir(project.root)
                notes, newest = sum(counts.values()), max(counts, default="")
                rows.append(
                    ProjectRow(project.name, project.root, notes, len(counts), newest, here)
                )
        return sorted(rows, key=lambda row: (row.newest, row.name), reverse=True)
