"""The verbs of secrets in what was written."""

from __future__ import annotations

from collections.abc import Callable

from memsearch_engine.capture.audit import SecretPlace, audit
from memsearch_engine.core.errors import UsageError
from memsearch_engine.core.settings import load
from memsearch_engine.review import scrub
from memsearch_engine.search.scope import Scope
from memsearch_engine.secrets import scan

Progress = Callable[[str, int, int], None]
_MIN_TEXT = 4


class Secrets:
    """Secrets in notes, kept conversations and everything else of ours.

    >>> with Memory() as memory:
    ...     memory.secrets.found()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home

    def everywhere(self) -> Secrets:
        """The same for all registered projects: a secret is removed from every place at once."""
        scope = self._scope
        if scope.everything:
            return self
        everything = Scope(
            scope.home, scope.place.root, everything=True, project=None, call=scope.call
        )
        return Secrets(everything)

    def found(self, progress: Progress | None = None) -> list[SecretPlace]:
        """Where secrets stand in the notes of these projects and in all kept conversations; takes
        seconds to minutes.
        """
        projects = self._scope.projects
        return audit(self._home, projects, scrub.documents(projects), progress)

    def wanted(self, *, text: str = "", rule: str = "", entry: str = "") -> list[scan.Finding]:
        """What a scrub would take out: *text* itself, or what the scanner finds by one rule, in one
        entry, or at all.

        Raises:
            UsageError: the text is so short, or so common, that it stands in too many places.
                NotFound: no such entry.
        """
        if text:
            if len(text) < _MIN_TEXT:
                what = f"a text of fewer than {_MIN_TEXT} characters stands in too many places"
                raise UsageError(what, "name more of it")
            scrub.check_text(self._scope.projects, text)
            return [scan.Finding.of(self._home, "text", text)]
        name = self._scope.section(entry).entry.id if entry else ""
        return scrub.known(self._home, self._scope.projects, rule=rule, entry=name)

    def survey(
        self, wanted: list[scan.Finding], progress: Progress | None = None
    ) -> scrub.ScrubReport:
        """Where secrets stand, in ours (``left``) and in what is not ours (``others``). Nothing is
        changed.
        """
        return scrub.survey(self._home, self._scope.projects, wanted, self._scope.folders, progress)

    def scrub(
        self, wanted: list[scan.Finding], progress: Progress | None = None
    ) -> scrub.ScrubReport:
        """Take secrets out of everything of ours, then read it again and say what is left. Can't be
        undone.
        """
        scope = self._scope
        return scrub.scrub(
            self._home, load(self._home), scope.projects, wanted, scope.folders, progress
        )

    def interrupted(self) -> list[str]:
        """Of a scrub that did not come to its end, what it looked for."""
        return scrub.interrupted(self._home)

    def allow(self, fingerprint: str, *, off: bool = False) -> None:
        """Say that something that was found is no secret; *off*: that it is one after all. Raises
        UsageError.
        """
        try:
            scan.allow(self._home, fingerprint, off=off)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def allowed(self) -> frozenset[str]:
        """Fingerprints of what is no secret."""
        return scan.allowed(self._home)
