"""Has a model propose changes of PROJECT.md and USER.md from the newest notes."""

from __future__ import annotations

import difflib
import re
import sqlite3
import time
import uuid
from collections.abc import Callable
from typing import Literal

import msgspec

from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.reply import estimate
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, Task
from memsearch_engine.injection.injection_log import cited
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.text import FENCE, plain
from memsearch_engine.longterm.changes import Hunk, differences, lines_with_headings
from memsearch_engine.longterm.drafting import Drafting, Material, quoted
from memsearch_engine.longterm.pages import (
    FILES,
    PAGES,
    SCHEMA,
    TASKS,
    Page,
    PageProposal,
    accepted_text,
    chosen,
    lines_of,
    pending,
    read,
    sections,
    spots_of,
)
from memsearch_engine.secrets.scan import redact

# limits of a page: characters, characters of a line, lines
_MAX_PAGE, _MAX_LINE, _MAX_LINES = 24_000, 600, 200
_SOURCES = {"project": 1, "user": 2}  # sessions that must support a bullet
_MIN_ROOM = 500  # minimum tokens of notes that are worth a request
_REWORDED = 0.5  # similarity from which two lines have the same meaning
_BULLET = re.compile(r"^(\s*)(?:[-*+]|\d{1,3}[.)])\s+(\S.*)$")


class PageAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON object that a model must answer with."""

    action: Literal["none", "replace"]
    reason: str
    content: str = ""


class PageDraftResult(msgspec.Struct):
    """The result of a request for changes of a page.

    Attributes:
        state: ``review`` (changes are pending), ``unchanged``, ``skipped`` or ``failed``.
        hunks: the number of pending changes.
        left_out: bullets with too few sessions, and changes to the owner's own lines.
    """

    page: Page
    state: str
    reason: str = ""
    hunks: int = 0
    tokens: int = 0
    left_out: int = 0


def due(settings: Settings) -> list[Page]:
    """The pages that the settings table of an agent enables."""
    return [page for page in PAGES if chosen(settings, page)]


def run(
    home: Home,
    settings: Settings,
    project: Project,
    page: Page,
    *,
    force: bool = False,
    provider: str = "",
    model: str = "",
    stop: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.time,
) -> PageDraftResult:
    """Have changes of a page proposed; see ``Drafting``.

    Raises:
        SettingsError: the settings name no model, or a file of the task is not readable.
    """
    agent, task = chosen(settings, page) or ("", Task())
    if not provider and not agent:
        raise SettingsError(
            f"no model may be asked for {FILES[page]}",
            f"memsearch config set plugins.claude-code.{TASKS[page]}.enabled true, or name one: "
            "--provider NAME",
        )
    drafting = _PageDrafting(
        home, settings, project, agent, task, provider=provider, model=model, stop=stop, clock=clock
    )
    drafting.page, drafting.kind = page, TASKS[page]
    if not force and any(draft.page == page and draft.waiting for draft in pending(home, project)):
        # the owner was shown these changes: they are not replaced before a decision
        return PageDraftResult(page, "skipped", "changes wait for the owner's decision")
    return drafting.run(force=force)


class _PageDrafting(Drafting[Task, PageAnswer, PageDraftResult]):
    page: Page
    shape = PageAnswer

    def result(self, state: str, reason: str) -> PageDraftResult:
        return PageDraftResult(self.page, state, reason)

    def room(self) -> int:
        # a model must not read lines that came with a clone
        self._shown = accepted_text(self.home, self.settings, self.project, self.page)
        room = self.settings.documents.input_tokens - estimate(self._shown)
        return room if room >= _MIN_ROOM else 0

    def question(self, material: Material) -> str:
        parts = [
            f"Bring {FILES[self.page]} up to date.",
            "",
            f"<page>\n{quoted(self._shown)}\n</page>",
        ]
        self._before = read(self.settings, self.project, self.page)
        self._own = self._owners_lines()
        shown = self._shown.splitlines()
        if own := [line for line in shown if line in self._own and not line.startswith("#")]:
            parts += ["the owner's own lines:", *map(quoted, own)]
        if material.longterm:
            parts += ["", f"<longterm>\n{quoted(material.longterm)}\n</longterm>"]
        return "\n".join([*parts, "", f"<notes>\n{quoted(material.text)}\n</notes>"])

    def _owners_lines(self) -> set[str]:
        """The lines of the page that no model proposed."""
        known = lines_of(self.home, self.project, self.page)
        lines = lines_with_headings(self._before.splitlines())
        proposed = {spot[1] for spot in spots_of(self._before) if known.get(spot) == "made"}
        return {line for line, _ in lines if line.strip()} - proposed

    def take(self, answer: PageAnswer, material: Material) -> PageDraftResult:
        if answer.action == "none" or not answer.content.strip():
            return self.result("unchanged", answer.reason[:300])
        after, left_out = checked(self.home, answer.content, self.page, material)
        hunks = hunks_between(self._before, after)
        allowed = [one for hunk in hunks if (one := without_owners(hunk, self._own)) is not None]
        for number, hunk in enumerate(allowed, 1):
            names = cited("\n".join(hunk.after))
            sessions = {material.notes[name].session for name in names if name in material.notes}
            hunk.number, hunk.memories = number, sorted(sessions - {""})
        if not allowed:
            return self.result("unchanged", "nothing of it could be proposed")
        draft = PageProposal(
            at=self.clock(),
            hunks=allowed,
            id=uuid.uuid4().hex[:12],
            page=self.page,
            reason=plain(answer.reason)[:300],
        )
        self.writes = (lambda db: self._store(db, draft)), SCHEMA
        found = PageDraftResult(self.page, "review", draft.reason, len(allowed))
        found.left_out = left_out + len(hunks) - sum(hunk in hunks for hunk in allowed)
        return found

    def _store(self, db: sqlite3.Connection, draft: PageProposal) -> None:
        db.execute(
            "INSERT OR REPLACE INTO living_waiting (project, page, body) VALUES (?,?,?)",
            (self.project.id, self.page, msgspec.json.encode(draft)),
        )


def checked(home: Home, text: str, page: Page, material: Material) -> tuple[str, int]:
    """Clean a model's page for a proposal.

    The result has headings, and bullets that enough sessions support, with their continuation
    lines. It has no secret, comment, code block or order to an agent, and cites only notes that the
    model received.

    Returns:
        The text, and the number of bullets that were left out.
    """
    lines: list[str] = []
    left_out = 0
    keeps = False  # continuation lines of a removed bullet are removed, too
    for line in redact(plain(text), home)[0][:_MAX_PAGE].splitlines()[:_MAX_LINES]:
        line = line.rstrip()[:_MAX_LINE]
        if heading := re.match(r"\s{0,3}(#{1,6})\s+(.*)", line):
            keeps = False
            if heading[2].strip("# ") and not orders(line, his_words=False) and "<" not in line:
                lines.append(f"{heading[1][:3]} {heading[2].strip('# ')}")
        elif bullet := _BULLET.match(line):
            names = list(dict.fromkeys(name for name in cited(line) if name in material.notes))
            sessions = {material.notes[name].session or name for name in names}
            keeps = len(sessions) >= _SOURCES[page] and not _is_foreign(line)
            left_out += not keeps
            if keeps:
                lines.append(
                    f"{bullet[1]}- {_without_citations(bullet[2])} [mem:{', '.join(names)}]"
                )
        elif keeps and line.startswith(" ") and line.strip() and not _is_foreign(line):
            lines.append(_without_citations(line))
        elif not line.strip() and lines and lines[-1].strip():
            lines.append("")
    return redact("\n".join(lines).strip("\n"), home)[0] + "\n", left_out


def _is_foreign(line: str) -> bool:
    """Whether a line has forbidden content: a comment, a fence, an order to an agent."""
    return (
        "<!--" in line
        or ("memsearch" in line and ":" in line)
        or bool(FENCE.match(line.strip()))
        or bool(orders(line, his_words=False))
    )


def _without_citations(line: str) -> str:
    return re.sub(r"(?<!\s)\s*\[mem:[^\[\]]*\]", "", line).rstrip()


def hunks_between(before: str, after: str) -> list[Hunk]:
    """The changes between two versions of a page, bullet by bullet within sections."""
    pieces = differences(sections(before), sections(after))
    return [Hunk(number, "", *piece, []) for number, piece in enumerate(pieces, 1)]


def without_owners(hunk: Hunk, own: set[str]) -> Hunk | None:
    """Restrict a change so that it removes no line of the owner.

    Returns:
        The change without the removal, with its new lines only; None if they only repeat the
        owner's line in other words.
    """
    if not own & set(hunk.before):
        return hunk
    was, now = "\n".join(hunk.before), _without_citations("\n".join(hunk.after))
    if (
        not hunk.after
        or difflib.SequenceMatcher(None, was, now, autojunk=False).ratio() > _REWORDED
    ):
        return None
    return Hunk(
        hunk.number,
        hunk.path,
        hunk.section,
        [*reversed(hunk.before), *hunk.leads],
        [],
        hunk.after,
        [],
    )
