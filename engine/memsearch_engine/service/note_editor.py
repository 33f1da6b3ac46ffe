"""Writes notes for a caller.

Secrets are removed, notes by agents get their marks, and every change can be undone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from datetime import date, datetime

from memsearch_engine.core.errors import MemsearchError, NotFound, UsageError
from memsearch_engine.core.ids import cited_id
from memsearch_engine.injection.api import check_is_note
from memsearch_engine.journal.history import Change
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.note import Note
from memsearch_engine.journal.targets import Target, target_of
from memsearch_engine.journal.write import Journal
from memsearch_engine.longterm import facts
from memsearch_engine.search.scope import ScopePart

_TITLE = 300  # characters


class NoteEditor(ScopePart):
    """Writes into the projects of a scope. ``Memory`` documents its methods for programs.

    It also works without the service.
    """

    def add(self, text: str, *, day: str = "", time: str = "", by: str = "") -> Note:
        """Write a note into the project of the scope; see ``Memory.add``."""
        from memsearch_engine.secrets.scan import redact

        clean, found = redact(text.strip("\n"), self._scope.home)
        if not clean.strip():
            raise UsageError("nothing to write")
        if not clean.lstrip().startswith(("-", "*", "#", ">", "|", "`")):
            clean = "\n".join(
                f"  {line}" if number else f"- {line}"
                for number, line in enumerate(clean.splitlines())
            )
        day, time = _moment(day, time)
        marks = self._marks_of(by, clean)
        added = self._scope.journal.add_note(
            self._scope.place.memory, day, time, clean, marks=marks
        )
        replaced = tuple(finding.placeholder for finding in found)
        try:  # the note is written: after an error from here on it would be written again
            self._register_and_prepare()
            return Note.of(self._entry_in(added.path, added.entry_id), added.path, replaced)
        except (MemsearchError, OSError, MemoryError) as error:
            return Note(
                added.entry_id,
                "",
                day,
                time,
                "",
                "",
                "",
                "note",
                clean[:_TITLE],
                clean,
                clean,
                marks,
                added.path,
                0,
                0,
                replaced=replaced,
                unconfirmed=str(error) or "not enough memory",
            )

    def edit(
        self, name: str, text: str, *, if_match: str = "", path: str = "", is_checked: bool = False
    ) -> Note:
        """Replace the text of a note; see ``Memory.edit``."""
        from memsearch_engine.secrets.scan import redact

        path, entry = self._find(name, path)
        clean, found = redact(text, self._scope.home)
        memory = self._scope.memory_of(path)
        marks = {} if is_checked else self._marks_of("", clean)
        target = Target(path, entry.id, if_match or entry.hash)
        now = self._journal.edit(memory, target, clean, marks)
        self._prepare()
        return Note.of(now, path, tuple(finding.placeholder for finding in found))

    def mark(self, name: str, mark: str, value: str | None = "") -> Note:
        """Set a mark of a note, or remove it if *value* is None; see ``Memory.mark``."""
        path, entry = self._find(name)
        if value and mark == "superseded-by":
            check_is_note(self._scope.home, self._scope.section(value))
        (now,) = self.mark_each([target_of(path, entry)], mark, value)
        return Note.of(now, path)

    def delete(self, *notes: str | Note, if_match: str = "") -> list[Note]:
        """Remove notes, all or none; see ``Memory.delete``."""
        gone = [note if isinstance(note, Note) else self._scope.note(note) for note in notes]
        if if_match and len(gone) != 1:
            raise UsageError("if_match is for one entry", "delete the entries one by one")
        self.delete_each([Target(note.path, note.id, if_match or note.hash) for note in gone])
        return gone

    def delete_each(self, targets: Sequence[Target]) -> None:
        """Remove entries, all or none, as one step of undo."""
        if targets:
            self._journal.delete(self._scope.memory_of(targets[0].path), list(targets))
            self._prepare()

    def mark_each(self, targets: Sequence[Target], mark: str, value: str | None) -> list[Entry]:
        """Set a mark of several entries, all or none, as one step of undo."""
        from memsearch_engine.capture import authors

        if not targets:
            return []
        journal = self._journal
        if mark != "pin" and journal.is_agents:
            # an agent decides about notes by agents, as long as its user has not
            entries = [self._entry_in(target.path, target.entry_id) for target in targets]
            if any(
                mark in entry.marks or "by" not in entry.marks for entry in entries
            ) or journal.origin.released(entries):
                authors.refuse(f"change the mark {mark}")
        marked = journal.mark_each(
            self._scope.memory_of(targets[0].path), list(targets), mark, value
        )
        self._prepare()
        return marked

    # -- history

    def undo(self, name: str = "", *, everywhere: bool = False, own: bool = False) -> list[Change]:
        """Undo the last change; see ``Memory.undo``."""
        done = self._journal.undo(*self._step(name, everywhere), own)
        if done:
            self._prepare()
        return done

    def redo(self, name: str = "", *, everywhere: bool = False, own: bool = False) -> list[Change]:
        """Redo the last undone change; see ``Memory.redo``."""
        done = self._journal.redo(*self._step(name, everywhere), own)
        if done:
            self._prepare()
        return done

    def history(self, name: str = "", *, limit: int = 20, everywhere: bool = False) -> list[Change]:
        """Return changes of notes, newest first; see ``Memory.history``."""
        log = self._scope.journal.history
        where = "" if everywhere else os.path.abspath(self._scope.place.memory)
        found = log.of_entry(self._also_deleted(name)) if name else log.recent(where, limit)
        return found[:limit]

    def restore(self, change: int) -> Change:
        """Restore an entry as it was before a change; see ``Memory.restore``."""
        done = self._journal.restore(change)
        self._prepare()
        return done

    # -- facts

    def remember(self, fact: str, *, everywhere: bool = False, by: str = "") -> facts.Fact:
        """Store a fact that is injected into every new session; see ``Memory.remember``."""
        from memsearch_engine.longterm.injected import refresh

        if not everywhere and fact.strip():
            self._scope.register()
        project = "" if everywhere else self._scope.project.id
        marks = self._marks_of(by, fact)
        if why := marks.get("trust"):
            note = self.add(fact, by=by)
            return facts.Fact(note.id, project[:8], note.title, note.path, marks["by"], why)
        name = "" if everywhere else self._scope.project.name
        noted = facts.remember(
            self._scope.home, fact, project=project, name=name, by=marks.get("by", "")
        )
        refresh(self._scope.home)
        return noted

    # -- helpers

    def _marks_of(self, by: str, text: str) -> dict[str, str]:
        """Return the marks of a text that an agent writes; {} if a person writes it."""
        from memsearch_engine.capture import authors

        author = authors.named(by) if by else authors.here()
        if author is None:
            return {}
        why = authors.doubt(self._scope.home, author, self._scope.place.root, text)
        return {"by": author.agent} | ({"trust": str(why)} if why else {})

    @property
    def _journal(self) -> Journal:
        """The journal. What an agent takes back ends no decision of the owner."""
        from memsearch_engine.capture import authors

        self._scope.journal.is_agents = authors.here() is not None
        return self._scope.journal

    def _prepare(self) -> None:
        """Update the context that is injected at the next start of a session.

        A failure is no error: the change is written, and hooks notice that the context is stale.
        """
        with contextlib.suppress(OSError, MemsearchError, MemoryError):
            self._register_and_prepare()

    def _register_and_prepare(self) -> None:
        from memsearch_engine.longterm.injected import prepare

        self._scope.register()
        with contextlib.suppress(OSError, MemsearchError):
            prepare(self._scope.home, self._scope.place.memory, self._scope.project.id)

    def _find(self, name: str, path: str = "") -> tuple[str, Entry]:
        """Return the file of an entry, and the entry. *path*: the file, if it is known."""
        if path:
            return path, self._entry_in(path, name)
        section = self._scope.section(name)
        return section.path, section.entry

    def _entry_in(self, path: str, name: str) -> Entry:
        entry = self._scope.document(path).find(name)
        if entry is None:
            raise NotFound(
                f"no entry {name} in {path}",
                "`memsearch entries` lists what is there; it may have moved",
            )
        return entry

    def _step(self, name: str, everywhere: bool) -> tuple[str, str]:
        entry_id = self._also_deleted(name) if name else ""
        return "" if everywhere or entry_id else os.path.abspath(self._scope.place.memory), entry_id

    def _also_deleted(self, name: str) -> str:
        """Return the full id of an entry; *name* itself if the entry no longer exists."""
        try:
            return self._scope.section(name).entry.id
        except NotFound:
            return cited_id(name)


def _moment(day: str, time: str) -> tuple[str, str]:
    """Return (day, time); ``""`` is replaced by the current day or time. Raises UsageError."""
    now = datetime.now()
    try:
        day = date.fromisoformat(day).isoformat() if day else now.date().isoformat()
        time = datetime.strptime(time, "%H:%M").strftime("%H:%M") if time else now.strftime("%H:%M")
    except ValueError as error:
        raise UsageError(str(error), "a day is 2026-02-09, a time 14:30") from error
    return day, time
