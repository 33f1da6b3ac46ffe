"""The public interface of sharing: share notes, list shared notes, write and import packs."""

from __future__ import annotations

import getpass
from collections.abc import Iterable

from memsearch_engine.core import repository
from memsearch_engine.core.errors import NotFound, UsageError
from memsearch_engine.core.ids import cited_id
from memsearch_engine.core.project_location import author_name, author_of
from memsearch_engine.index.rows import Filter
from memsearch_engine.index.scan import is_ignored_by_git
from memsearch_engine.journal.files import day_of, read_day
from memsearch_engine.journal.history import new_batch
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.note import Note
from memsearch_engine.journal.shared import COPY_OF, WRITTEN
from memsearch_engine.journal.targets import Target
from memsearch_engine.search.files import Files
from memsearch_engine.search.request import parse
from memsearch_engine.search.scope import ScopePart
from memsearch_engine.sync.sharing import copies, packs
from memsearch_engine.sync.sharing.copies import Planned, ShareChange, SharedNote
from memsearch_engine.sync.sharing.packs import Packed, Received

_MIN_NAME = 4


class Sharing(ScopePart):
    """Notes for the project's team in ``.memsearch/shared/``, which the team reviews like code.

    >>> with Memory() as memory:
    ...     note = memory.add("Deploys are frozen on Fridays")
    ...     planned = memory.sharing.plan([note.id], author="Ana")
    ...     [(one.change.value, one.title) for one in planned]
    [('new', 'Deploys are frozen on Fridays')]
    """

    def author(self, name: str = "") -> str:
        """Return the name under which notes are shared.

        It is *name*, the setting ``share.author``, git's ``user.name``, or the login name.

        Raises:
            UsageError: the name is not valid.
        """
        chosen = (
            name
            or self._scope.settings.share.author
            or repository.user_name(self._scope.place.common_dir)
            or getpass.getuser()
        )
        found = author_name(chosen)
        if not found:
            raise UsageError(
                f"{chosen!r} is no name for a folder", "memsearch config set share.author ana"
            )
        return found

    def listed(self) -> list[SharedNote]:
        """All shared notes, newest day first."""
        return copies.listed(self._scope)

    def plan(
        self,
        names: Iterable[str] = (),
        *,
        query: str = "",
        author: str = "",
        review: str = "",
        for_pack: bool = False,
    ) -> list[Planned]:
        """Plan the copies of notes, without secrets and private paths.

        Args:
            names: ids of notes.
            query: filters that select further notes.
            author: the name under which they are shared.
            review: the day (``YYYY-MM-DD``) on which they are to be reviewed; in half a year by
                default.
            for_pack: they go into a file (``pack``), which needs no folder of the project.

        Raises:
            NotFound: there is no such note.
            UsageError: the project has no folder for it.
        """
        return copies.plan(
            self._scope,
            self._chosen(names, query),
            self.author(author),
            review=review,
            for_pack=for_pack,
        )

    def share(self, planned: list[Planned]) -> list[str]:
        """Write planned copies into the work tree, in one step of undo.

        Returns:
            The files, which the owner commits.

        Raises:
            UsageError, Unreachable: a copy is not writable.
        """
        batch, files = new_batch(), dict[str, None]()
        for one in planned:
            if one.change in (ShareChange.NEW, ShareChange.CHANGED):
                copies.put(self._scope, one, WRITTEN, batch)
                files[one.path] = None
        return list(files)

    def is_ignored(self, path: str) -> bool:
        """Whether git ignores a file of shared notes, so that nobody receives it."""
        return is_ignored_by_git(path, self._scope.place.root)

    def named(self, names: Iterable[str]) -> list[Note]:
        """Return the shared notes with these ids, or the beginnings of ids.

        Ids of the original notes count, too.

        Raises:
            NotFound: there is no such note.
        """
        there = [
            (file.path, entry)
            for file, entries in copies.shared_files(self._scope)
            for entry in entries
        ]
        chosen: dict[str, Note] = {}
        for name in map(cited_id, names):
            found = [
                Note.of(entry, path)
                for path, entry in there
                if len(name) >= _MIN_NAME
                and (entry.id.startswith(name) or entry.marks.get(COPY_OF, "").startswith(name))
            ]
            if not found:
                raise NotFound(f"no shared note {name}", "`memsearch share` lists them")
            if len({note.id for note in found}) > 1:
                raise UsageError(
                    f"{name} names several shared notes", "`memsearch share` has their whole names"
                )
            chosen |= {note.path + note.id: note for note in found}
        return list(chosen.values())

    def withdraw(self, names: Iterable[str]) -> list[Note]:
        """Remove shared notes from the work tree, in one step of undo for each project.

        Args:
            names: their ids or those of the original notes.

        Returns:
            The removed notes.

        Raises:
            NotFound: there is no such note.
        """
        gone = self.named(names)
        by_memory: dict[str, list[Target]] = {}
        for note in gone:
            target = Target(note.path, note.id, note.hash)
            by_memory.setdefault(self._scope.memory_of(note.path), []).append(target)
        for folder, targets in by_memory.items():
            self._scope.journal.delete(folder, targets)
        return gone

    def pack(self, path: str, planned: list[Planned] | None = None) -> Packed:
        """Write notes into a file for people without this repository.

        Args:
            planned: the notes; None for all shared ones.

        Raises:
            UsageError: there are no notes, or the file exists.
        """
        if planned is None:
            return packs.pack(self._scope, path, packs.everything(self._scope))
        chosen = [one for one in planned if one.change is not ShareChange.REFUSED]
        return packs.pack(self._scope, path, [(one.author, one.day, one.lines) for one in chosen])

    def open(self, path: str, expected: str | None = None) -> Received:
        """Plan the import of a pack into this project.

        Args:
            expected: the hash that the pack must have.

        Raises:
            NotFound: there is no such file.
            UsageError: it is not a valid pack.
        """
        return packs.opened(self._scope, path, expected)

    def take(self, received: Received) -> tuple[list[str], list[str]]:
        """Add a pack's notes to the shared ones, in one step of undo.

        Returns:
            The files, and the ids of notes that were changed here, too.
        """
        return packs.take(self._scope, received)

    def _chosen(self, names: Iterable[str], query: str) -> list[tuple[str, Entry]]:
        found = [(section.path, section.entry) for section in map(self._scope.section, names)]
        if query:
            request = parse(query)
            if not request.is_empty or (
                request.filter == Filter() and not request.filters_after_fetch
            ):
                raise UsageError(
                    f"{query!r} is no filter alone, and would share what you have not seen",
                    "filters are `is:pinned after:90d agent:codex`; `memsearch search` finds "
                    "notes by words, whose ids can be named",
                )
            for target in Files(self._scope).admitted(request):
                entry = read_day(target.path).find(target.entry_id)
                if entry is not None and day_of(target.path) and not author_of(target.path):
                    found.append((target.path, entry))
        return list({(path, entry.id): (path, entry) for path, entry in found}.values())
