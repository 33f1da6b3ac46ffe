"""The public interface for secrets in stored text."""

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
    """Secrets in notes, archived conversations and all other files of ours.

    >>> with Memory() as memory:
    ...     memory.secrets.found()
    []
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home

    def everywhere(self) -> Secrets:
        """The same object for all projects, because a secret is removed from all files at once."""
        scope = self._scope
        if scope.everything:
            return self
        everything = Scope(
            scope.home, scope.place.root, everything=True, project=None, call=scope.call
        )
        return Secrets(everything)

    def found(self, progress: Progress | None = None) -> list[SecretPlace]:
        """Find secrets in the notes of these projects and in all archived conversations.

        This takes seconds to minutes.
        """
        projects = self._scope.projects
        return audit(self._home, projects, scrub.documents(projects), progress)

    def wanted(self, *, text: str = "", rule: str = "", entry: str = "") -> list[scan.FoundSecret]:
        """The secrets that a scrub would remove: *text* itself, or those that the scanner finds.

        Args:
            text: the secret.
            rule: only secrets of this rule.
            entry: only secrets in this entry.

        Raises:
            UsageError: the text is too short or too common.
            NotFound: there is no such entry.
        """
        if text:
            if len(text) < _MIN_TEXT:
                what = f"a text of fewer than {_MIN_TEXT} characters stands in too many places"
                raise UsageError(what, "name more of it")
            scrub.check_text(self._scope.projects, text)
            return [scan.FoundSecret.of(self._home, "text", text)]
        name = self._scope.section(entry).entry.id if entry else ""
        return scrub.known(self._home, self._scope.projects, rule=rule, entry=name)

    def survey(
        self, wanted: list[scan.FoundSecret], progress: Progress | None = None
    ) -> scrub.ScrubReport:
        """Find the files that contain the secrets: ours (``left``) and others (``others``).

        Changes nothing.
        """
        return scrub.survey(self._home, self._scope.projects, wanted, self._scope.folders, progress)

    def scrub(
        self, wanted: list[scan.FoundSecret], progress: Progress | None = None
    ) -> scrub.ScrubReport:
        """Remove secrets from all our files, then verify. This cannot be undone."""
        scope = self._scope
        return scrub.scrub(
            self._home, load(self._home), scope.projects, wanted, scope.folders, progress
        )

    def interrupted(self) -> list[str]:
        """The fingerprints of a scrub that was interrupted."""
        return scrub.interrupted(self._home)

    def allow(self, fingerprint: str, *, off: bool = False) -> None:
        """Mark a finding as no secret.

        Args:
            fingerprint: the fingerprint of the finding.
            off: mark it as a secret again.

        Raises:
            UsageError: it is not a fingerprint.
        """
        try:
            scan.allow(self._home, fingerprint, off=off)
        except ValueError as error:
            raise UsageError(str(error), "`memsearch secrets scan` prints them") from error

    def allowed(self) -> frozenset[str]:
        """Fingerprints that are marked as no secrets."""
        return scan.allowed(self._home)
