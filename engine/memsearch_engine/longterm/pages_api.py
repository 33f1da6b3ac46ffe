"""The public interface of PROJECT.md, USER.md, and of the block with them in instruction files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from memsearch_engine.agents import patches
from memsearch_engine.agents.patches import Patch
from memsearch_engine.capture import authors
from memsearch_engine.core import safe_files
from memsearch_engine.core.errors import MemsearchError, UsageError
from memsearch_engine.core.ids import digest
from memsearch_engine.core.settings import load
from memsearch_engine.injection.injection_log import without_citations
from memsearch_engine.longterm import injected
from memsearch_engine.longterm import pages as documents
from memsearch_engine.longterm.changes import Hunk
from memsearch_engine.longterm.pages import Page, PageProposal, PageReview, PageState, Spot
from memsearch_engine.search.scope import ScopePart

if TYPE_CHECKING:  # Review needs no model code
    from memsearch_engine.longterm.page_drafts import PageDraftResult

_BEGIN = "<!-- memsearch:begin, kept by `memsearch pages propose`; `--undo` takes it out -->"
_END = "<!-- memsearch:end -->"
_HEADS: dict[Page, str] = {
    "project": "## Where this project stands",
    "user": "## How the developer likes to work",
}


class Pages(ScopePart):
    """PROJECT.md and USER.md of a project: propose, decide, read, and copy into instruction files.

    >>> with Memory() as memory:
    ...     memory.pages.get("project").text
    ''
    """

    def review(self, page: Page, *, provider: str = "", model: str = "") -> PageDraftResult:
        """Have a model propose changes now, whatever the pause.

        Args:
            provider, model: override the settings.

        Raises:
            SettingsError: no model is configured.
        """
        from memsearch_engine.longterm import page_drafts

        self._scope.register()
        return page_drafts.run(
            self._home,
            load(self._home),
            self._scope.project,
            page,
            force=True,
            provider=provider,
            model=model,
        )

    def get(self, page: Page) -> PageState:
        """One page. Raises Unreachable if its file is not readable."""
        project, settings = self._scope.project, load(self._home)
        chosen = documents.chosen(settings, page)
        draft = self.draft(page)
        return PageState(
            page,
            documents.path_of(settings, project, page),
            documents.read(settings, project, page),
            documents.accepted_text(self._home, settings, project, page),
            documents.strange(self._home, settings, project, page),
            draft.waiting if draft else [],
            draft.id if draft else "",
            draft.reason if draft else "",
            chosen[0] if chosen else "",
        )

    def draft(self, page: Page) -> PageProposal | None:
        """The proposal that is pending review."""
        return self._review(page).pending()

    def _review(self, page: Page) -> PageReview:
        return PageReview(self._home, load(self._home), self._scope.project, page)

    def decide(
        self,
        page: Page,
        verdict: Literal["accepted", "rejected"],
        numbers: Iterable[int] = (),
        *,
        text: str | None = None,
        draft: str = "",
    ) -> list[Hunk]:
        """Accept or reject changes. This can be undone.

        Args:
            numbers: the changes; empty for all open ones.
            text: accept one change with these words instead.
            draft: the id of the proposal that was shown.

        Raises:
            NotFound: no proposal is pending, or no change has that number.
            Conflict: another proposal is pending by now, or the page changed there.
            UsageError: the text is not allowed in the page.
        """
        done = self._review(page).decide(verdict, numbers, text=text, seen=draft)
        self._refresh_injected()
        return done

    def reopen(self, draft: PageProposal) -> bool:
        """Make rejected changes pending again.

        Returns False if other changes are pending by now.
        """
        return self._review(draft.page).reopen(draft)

    def release(self, page: Page, lines: Iterable[Spot], *, off: bool = False) -> None:
        """Allow the injection of lines in their place (``PageState.strange``).

        Args:
            off: withdraw the permission instead.
        """
        documents.release(self._home, self._scope.project, page, lines, off=off)
        self._refresh_injected()

    def newest(self, page: Page) -> int:
        """The number of the last accepted change; 0 if there is none."""
        return self._review(page).newest()

    def undo(self, page: Page, number: int = 0) -> str:
        """Undo the last accepted change.

        Args:
            number: the change that was shown (``newest``); 0 for any.

        Returns:
            The page's file; '' if there is no change.

        Raises:
            Conflict: another change is the last one by now, or the page was changed since.
            UsageError: an agent undoes it.
        """
        authors.refuse("undo changes of pages")
        path = self._review(page).undo(number)
        self._refresh_injected()
        return path

    def _refresh_injected(self) -> None:
        injected.refresh(self._home)
        try:
            self._scope.call(
                "attach", type(None), start=False, timeout_s=5, memories=[self._scope.place.memory]
            )
        except MemsearchError:
            pass  # the service notices the change by itself

    # -- instruction files

    def proposed(self, name: str, pages: Iterable[Page] = ("project",)) -> Patch:
        """Return the change of an instruction file that adds the pages' injectable text.

        The text is in a marked block of AGENTS.md, CLAUDE.md or another file. Nothing is written.

        Raises:
            UsageError: the file is not a markdown file of the project, or the pages have no such
                text.
        """
        path = self._instructions(name)
        parts = []
        for page in pages:
            accepted = without_citations(
                documents.accepted_text(self._home, load(self._home), self._scope.project, page)
            )
            lines = [
                f"#{line}" if line.startswith("#") else line
                for line in accepted.splitlines()
                if not line.startswith("# ")
            ]
            if any(line.strip() for line in lines):
                parts.append("\n".join([_HEADS[page], "", *lines]).strip())
        if not parts:
            raise UsageError(
                "PROJECT.md and USER.md say nothing yet that was accepted",
                "memsearch pages review",
            )
        block = "\n\n".join([_BEGIN, *parts, _END]) + "\n"
        before = patches.read(path)
        text = (before or b"").decode("utf-8", "surrogateescape")
        rest = _without_block(text)
        gap = "" if not rest or rest.endswith("\n\n") else "\n" if rest.endswith("\n") else "\n\n"
        after = (
            text.replace(_block_of(text), block.rstrip("\n"))
            if _block_of(text)
            else f"{rest}{gap}{block}"
        )
        return Patch(
            path,
            before,
            after.encode("utf-8", "surrogateescape"),
            "what sessions taught",
            own=before is None,
        )

    def propose(self, patch: Patch) -> list[Patch]:
        """Write the changes that were shown. Raises Unreachable if the file has changed since."""
        return patches.apply(self._home, _record_of(patch.path), [patch])

    def withdraw(self, name: str) -> list[Patch]:
        """Restore an instruction file byte for byte.

        If somebody has edited it since, only our block is removed.
        """
        path = self._instructions(name)

        def strip(_path: str, now: bytes, _before: bytes | None) -> bytes | None:
            """The file's content without our block."""
            return _without_block(now.decode("utf-8", "surrogateescape")).encode(
                "utf-8", "surrogateescape"
            )

        if patches.record(self._home, _record_of(path)):
            return patches.revert(self._home, _record_of(path), strip)
        now = patches.read(path)  # written by another home
        patch = Patch(
            path, now, strip(path, now, None) if now is not None else None, "ours removed"
        )
        done = patches.apply(self._home, _record_of(path), [patch]) if patch.changes else []
        patches.forget(self._home, _record_of(path))
        return done

    def _instructions(self, name: str) -> str:
        root = self._scope.place.root
        path = os.path.normpath(os.path.join(root, name))
        if (
            not path.startswith(root + os.sep)
            or not path.endswith(".md")
            or os.sep + safe_files.MARKER in path
        ):
            raise UsageError(
                f"{name} is no markdown file of this project", "memsearch pages propose AGENTS.md"
            )
        if os.path.lexists(path) and os.path.realpath(path) != os.path.join(
            os.path.realpath(root), os.path.relpath(path, root)
        ):
            raise UsageError(f"{name} is a link", "name the file that it leads to")
        return path


def _record_of(path: str) -> str:
    """The name of the record of changes to a file."""
    return f"propose-{digest(path, size=8)}"


def _block_of(text: str) -> str:
    begin = text.find(_BEGIN)
    end = text.find(_END, begin) if begin >= 0 else -1
    return text[begin : end + len(_END)] if end >= 0 else ""


def _without_block(text: str) -> str:
    while block := _block_of(text):
        text = text.replace(block + "\n", "").replace(block, "")
    return text
