"""The verbs of trust: secrets in what was written, notes that wait for a word, junk and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memsearch_engine.capture.audit import Place as Stands
from memsearch_engine.capture.audit import audit
from memsearch_engine.errors import UsageError
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.write import Target
from memsearch_engine.memory import Memory
from memsearch_engine.secrets import scan
from memsearch_engine.settings import load
from memsearch_engine.trust import inbox, repair, scrub
from memsearch_engine.trust.inbox import Held
from memsearch_engine.trust.repair import Finding as Mendable

Progress = Callable[[str, int, int], None]
_MIN_TEXT = 4


class Secrets:
    """Secrets in notes, kept conversations and everything else of ours.

    >>> with Memory() as memory:
    ...     Secrets(memory).found()
    []
    """

    def __init__(self, memory: Memory) -> None:
        self._memory, self._home = memory, memory.home

    def found(self, progress: Progress | None = None) -> list[Stands]:
        """Where secrets stand in the notes of these projects and in all kept conversations; takes seconds to minutes."""
        return audit(self._home, self._memory.projects, progress)

    def wanted(self, *, text: str = "", rule: str = "", entry: str = "") -> list[scan.Finding]:
        """What a scrub would take out: *text* itself, or what the scanner finds by one rule, in one entry, or at all.

        Raises:
            UsageError: the text is so short, or so common, that it stands in too many places. NotFound: no such entry.
        """
        if text:
            if len(text) < _MIN_TEXT:
                what = f"a text of fewer than {_MIN_TEXT} characters stands in too many places"
                raise UsageError(what, "name more of it")
            scrub.check_text(self._memory.projects, text)
            return [scan.Finding.of(self._home, "text", text)]
        name = self._memory.section(entry).entry.id if entry else ""
        return scrub.known(self._home, self._memory.projects, rule=rule, entry=name)

    def survey(self, wanted: list[scan.Finding], progress: Progress | None = None) -> scrub.Report:
        """Where secrets stand, in ours (``left``) and in what is not ours (``others``). Nothing is changed."""
        return scrub.survey(self._home, self._memory.projects, wanted, self._memory.folders, progress)

    def scrub(self, wanted: list[scan.Finding], progress: Progress | None = None) -> scrub.Report:
        """Take secrets out of everything of ours, then read it again and say what is left. Can't be undone."""
        memory = self._memory
        return scrub.scrub(self._home, load(self._home), memory.projects, wanted, memory.folders, progress)

    def interrupted(self) -> list[str]:
        """Of a scrub that did not come to its end, what it looked for."""
        return scrub.interrupted(self._home)

    def allow(self, fingerprint: str, *, off: bool = False) -> None:
        """Say that something that was found is no secret; *off*: that it is one after all. Raises UsageError."""
        try:
            scan.allow(self._home, fingerprint, off=off)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def allowed(self) -> frozenset[str]:
        """Fingerprints of what is no secret."""
        return scan.allowed(self._home)


class Trust:
    """Notes that took in content from outside, read like orders, or were not written on this machine.

    >>> with Memory() as memory:
    ...     Trust(memory).held()
    []
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def held(self) -> list[Held]:
        """What waits for the owner's word, and why."""
        return inbox.held(self._memory)

    def release(self, targets: list[Target]) -> list[Entry]:
        """Let sessions be told what these notes say. Undoable."""
        return inbox.release(self._memory, targets)

    def release_files(self, paths: list[str]) -> int:
        """The same for all that stands in files now; how many notes that are."""
        return inbox.release_files(self._memory, paths)

    def release_author(self, author: str) -> tuple[int, list[str]]:
        """The same for the files that nobody but this e-mail address has committed: how many notes, and which files."""
        return inbox.release_author(self._memory, author)

    def release_folder(self) -> int:
        """The same for all that stands in this project's memory folder now."""
        return inbox.release_folder(self._memory)

    def hold(self, targets: list[Target]) -> list[Entry]:
        """Don't tell sessions what these notes say (any more). Undoable."""
        return inbox.hold(self._memory, targets)

    def sources(self, entry: Entry) -> list[str]:
        """Where an entry came from: ``user``, ``model``, ``inside``, ``outside``. It is trusted as the last."""
        return inbox.sources_of(self._memory, entry)


class Repair:
    """Junk, notes that say nearly the same, and a damaged undo history.

    >>> with Memory() as memory:
    ...     Repair(memory).findings()
    []
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def findings(self, names: Iterable[str] = ()) -> list[Mendable]:
        """What could be mended, with the evidence. *names*: only these ids and kinds."""
        found = repair.findings(self._memory)
        return repair.chosen(found, names) if names else found

    def history_fault(self) -> str:
        """What is wrong with the undo history; '' where it is sound. Raises Unreachable where it is in use, or a newer version's."""
        return self._memory.journal.history.check()

    def set_history_aside(self) -> str:
        """Begin a new undo history beside a damaged one; where that one is now. It may hold old texts."""
        return str(self._memory.journal.history.set_aside())

    def mend(self, finding: Mendable) -> None:
        """Delete junk; make repetitions one note with all their anchors. Undoable."""
        repair.mend(self._memory, finding)
