"""Phase 2: turns session memories into two short documents and proposes the result for review.

The work runs under one lock in a folder of its own. Either an agent's command line that can write
only there does it, or a model with file tools. It is stopped at its limits of time, turns and
tokens, or when the claim is lost. The result is checked before it is proposed. Only then does the
baseline advance, so an interrupted run is repeated in full.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Set
from pathlib import Path

import msgspec

from memsearch_engine.core.errors import MemsearchError, SettingsError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm import cli, spend, tools
from memsearch_engine.core.llm.reply import ModelError, Reply, estimate
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import Row
from memsearch_engine.injection.injection_log import cited
from memsearch_engine.injection.notes import NoteFiles, newer_versions
from memsearch_engine.journal.disk import locked
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import review, workspace
from memsearch_engine.longterm.extract import PURPOSE, prompt
from memsearch_engine.longterm.facts import facts
from memsearch_engine.longterm.jobs import NOTHING_TO_DO, Claim, Jobs, Refusal
from memsearch_engine.longterm.store import SCHEMA, SessionMemories, SessionMemory
from memsearch_engine.search.supersession.listing import read_overrides

COOLDOWN_S = 6 * 3600.0
_INLINE_TOKENS = 20_000  # tokens of a diff that is shown in the question itself
_READ_CHARACTERS = 60_000
_LISTED = 2_000
_HITS = 200
_NOTES = 200  # notes of a session that are checked for a newer version


class ConsolidationResult(msgspec.Struct):
    """The result of a consolidation.

    Attributes:
        state: ``review`` (a proposal is pending), ``accepted`` (it took effect), ``unchanged``,
            ``skipped``, ``failed``.
        reason: why it was skipped or failed, or which work there was.
        proposal, hunks: the proposal's number, and its number of changes.
    """

    state: str
    reason: str = ""
    proposal: int = 0
    hunks: int = 0
    memories: int = 0
    tokens: int = 0


def run(
    home: Home,
    settings: Settings,
    *,
    force: bool = False,
    pinned: Set[str] = frozenset(),
    stop: Callable[[], bool] | None = None,
    clock: Callable[[], float] = time.time,
) -> ConsolidationResult:
    """Consolidate if there is anything new.

    Args:
        force: the owner asked, so the pause after a success is ignored.
        pinned: ids of memories that come first, whatever their use.

    Raises:
        Unreachable: the workspace is not usable.
    """
    workspace.check_root(home.longterm)
    jobs = Jobs(home, clock)
    claim = jobs.claim("consolidate", "all", clock(), cooldown_s=COOLDOWN_S, force=force)
    if isinstance(claim, Refusal):
        return ConsolidationResult("skipped", str(claim))
    run_ = _Run(home, settings, jobs, claim, pinned, stop, clock)
    try:
        return jobs.attempt(
            claim, run_.work, lambda error: ConsolidationResult("failed", error, tokens=run_.tokens)
        )
    finally:
        shutil.rmtree(home.longterm_staging, ignore_errors=True)


def superseded(home: Home, memories: list[SessionMemory]) -> dict[str, list[str]]:
    """Find notes of sessions that later notes supersede (``search.supersession.listing``).

    Returns:
        The id of a memory -> one line per superseded note. Empty without a catalog.
    """
    catalog = Catalog.open_readonly(home.cache_db)
    if catalog is None:
        return {}
    found: dict[str, list[str]] = {}
    overrides = read_overrides(home)
    sessions = {(memory.agent, memory.session): memory.id for memory in memories}
    folders = {project.id: project.memory for project in _known(home)}
    with contextlib.closing(catalog), contextlib.closing(Origin(home)) as origin:
        for memory in memories:
            project, folder = memory.project, folders.get(memory.project, "")
            for row in catalog.of_session(project, memory.agent, memory.session, _NOTES):
                pairs = newer_versions(catalog, overrides, project, row.entry_id, folder, origin)
                if not pairs or origin.arrived(folder, _current(folder, origin, row), row.path):
                    continue  # the note's author is free to claim any session
                for pair in pairs:
                    if later := sessions.get((pair.newer.agent, pair.newer.session)):
                        by = f"by [mem:{later}], {pair.newer.day}"
                        line = f"overtaken: {row.day} {row.title} | {by}"
                        found.setdefault(memory.id, []).append(" ".join(line.split()))
    return found


def _known(home: Home) -> list[Project]:
    with contextlib.closing(Registry(home)) as registry:
        return registry.all()


def _current(memory: str, origin: Origin, row: Row) -> list[Entry]:
    entry = NoteFiles(memory, origin).current_entry(row)
    return [entry] if entry is not None else []


class _Run:
    def __init__(
        self,
        home: Home,
        settings: Settings,
        jobs: Jobs,
        claim: Claim,
        pinned: Set[str],
        stop: Callable[[], bool] | None,
        clock: Callable[[], float],
    ) -> None:
        self.home, self.settings, self.jobs, self.claim = home, settings, jobs, claim
        self.pinned, self.stop, self.clock = pinned, stop, clock
        self.store, self.baseline, self.folder = (
            SessionMemories(home, clock),
            workspace.Baseline(home),
            home.longterm_staging,
        )
        self.before: dict[str, str] = {}
        self.asked = False
        self.lost: Callable[[], bool] = lambda: False
        self.tokens = 0
        self.ends = time.monotonic() + settings.longterm.run_minutes * 60

    def work(self, lost: Callable[[], bool]) -> ConsolidationResult:
        """Consolidate. *lost* says whether another process took the job over."""
        self.lost = lost
        selected = self.store.select(self.settings.longterm.memories, self.pinned)
        self._stage(selected)
        for name in workspace.DOCUMENTS:  # before a model is asked about them
            path = self.folder / name
            workspace.sections(workspace.read(self.folder, name), f"{path}, ")
        self.before = workspace.artifacts(self.home, self.folder)
        changes = self.baseline.diff(self.folder)
        waiting = review.pending(self.home)
        if not changes:
            why = "nothing new since the last consolidation" + (
                "; its changes wait for review" if waiting else ""
            )
            return self._end(
                selected, ConsolidationResult("unchanged", why, waiting.id if waiting else 0)
            )
        documents = [workspace.read(self.folder, name) for name in workspace.DOCUMENTS]
        if not selected and not facts(self.home) and not any(map(str.strip, documents)):
            return self._finish(
                selected, ConsolidationResult("unchanged", "no session has taught anything yet")
            )
        self._overlay(waiting)
        text = workspace.diff_text(changes)
        (self.folder / workspace.DIFF).write_text(text, encoding="utf-8", errors="replace")
        self.asked = True
        self._ask(text)
        self._forget({memory.id for memory in selected})
        known = {note.id: note.scope for note in facts(self.home)} | {
            m.id: m.project[:8] for m in selected
        }
        projects = {project.id for project in _known(self.home)} | {m.project for m in selected}
        workspace.validate(
            self.folder,
            known,
            {project[:8] for project in projects if project},
            self.settings.longterm.max_tokens,
        )
        return self._conclude(selected)

    # -- before

    def _stage(self, selected: list[SessionMemory]) -> None:
        """Create the folder to work in: the owner's workspace with the current evidence."""
        self.home.longterm.mkdir(mode=0o700, exist_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        for name, path in workspace.files(self.home.longterm).items():
            if name != workspace.DIFF:
                target = self.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        workspace.prune_resources(self.folder, self.clock())
        workspace.write_inputs(self.home, self.folder, selected, superseded(self.home, selected))

    def _overlay(self, waiting: review.Proposal | None) -> None:
        """Apply the pending proposal to the folder.

        The next proposal replaces it and must contain it.
        """
        for hunk in waiting.waiting if waiting else ():
            current = workspace.read(self.folder, hunk.path)
            try:
                workspace.write(self.home, self.folder, hunk.path, review.apply(hunk, current))
            except MemsearchError:
                continue  # the owner has changed these lines since: the owner's text wins
        for name, empty in (
            (workspace.MEMORY, "## Everywhere\n"),
            (workspace.SUMMARY, f"{workspace.VERSION}\n\n## Everywhere\n"),
        ):
            if not workspace.read(self.folder, name).strip():
                workspace.write(self.home, self.folder, name, empty)

    # -- the work

    def _ask(self, diff: str) -> None:
        chosen, limits = self.settings.longterm.consolidate, self.settings.longterm
        system = prompt(self.home, "consolidate").replace(
            "SUMMARY_TOKENS", str(int(limits.max_tokens * 0.9))
        )
        task = self._task(diff)
        if cli.can_ask(chosen.provider) and chosen.provider not in self.settings.llm.providers:
            self._before_turn()
            left = max(1.0, self.ends - time.monotonic())
            reply = spend.capped(
                self.home,
                self.settings.llm,
                lambda: cli.edit(
                    chosen.provider, chosen.model, system, task, self.folder, left, self._unwanted
                ),
                purpose=PURPOSE,
                provider=chosen.provider,
                model=chosen.model,
                agent="",
                # the usage of an agent's command line is known only at its end
                tokens=limits.run_tokens,
                cap=limits.daily_tokens,
            )
            if reply is None:
                used = spend.today(self.home, PURPOSE)
                raise ModelError(
                    f"the day's {limits.daily_tokens:,} tokens don't suffice: {used:,} are used, "
                    f"{limits.run_tokens:,} may be needed",
                    again=True,
                )
            self.tokens += reply.input_tokens + reply.output_tokens
            return
        if chosen.provider == cli.PROVIDER:
            raise SettingsError(
                "`longterm.consolidate.provider` can't be native: no session's agent stands for "
                "all",
                f"choose {' or '.join(cli.agents())}, or a name under llm.providers",
            )
        tools.work(
            self.settings.llm,
            chosen.provider,
            chosen.model,
            system,
            task,
            FileTools(self.home, self.folder).tools(),
            max_turns=limits.run_turns,
            before_turn=self._before_turn,
            after_turn=self._after_turn,
        )

    def _task(self, diff: str) -> str:
        listed = []
        for title, sign in (("refused", "+"), ("kept", "-")):
            if lines := sorted(self.store.refused(sign))[:_LISTED]:
                listed += [f"{title}:", *(f"- {line}" for line in lines), ""]
        shown = (
            diff
            if estimate(diff) <= _INLINE_TOKENS
            else f"It is long: read {workspace.DIFF} piece by piece."
        )
        return "\n".join(
            ["Bring the long-term memory up to date.", "", *listed, "What changed:", "", shown]
        )

    def _unwanted(self) -> bool:
        return self.lost() or bool(self.stop and self.stop()) or time.monotonic() > self.ends

    def _before_turn(self) -> None:
        limits = self.settings.longterm
        if self.lost():
            raise ModelError("another process took the job over", again=True)
        if self.stop and self.stop():
            raise ModelError("it was stopped", again=True)
        if time.monotonic() > self.ends:
            raise ModelError(f"not done after {limits.run_minutes:g} minutes", again=True)
        if self.tokens > limits.run_tokens:
            raise ModelError(
                f"not done after {self.tokens:,} tokens (longterm.run_tokens)", again=True
            )
        if (used := spend.today(self.home, PURPOSE)) >= limits.daily_tokens:
            raise ModelError(
                f"the day's {limits.daily_tokens:,} tokens are used up ({used:,} used)", again=True
            )

    def _after_turn(self, reply: Reply) -> None:
        chosen = self.settings.longterm.consolidate
        self.tokens += reply.input_tokens + reply.output_tokens
        spend.note(
            self.home,
            self.settings.llm,
            reply,
            purpose=PURPOSE,
            provider=chosen.provider,
            model=chosen.model,
            agent="",
        )

    def _forget(self, selected: set[str]) -> None:
        """Remove bullets that rest only on forgotten memories, whatever the model left.

        Citations of joint sources lose the forgotten ids.
        """
        gone = {memory.id for memory in self.store.all()} - selected
        before = set(
            cited(
                workspace.read(self.home.longterm, workspace.MEMORY)
                + workspace.read(self.home.longterm, workspace.SUMMARY)
            )
        )
        gone |= before - selected - {note.id for note in facts(self.home)}
        for name in workspace.DOCUMENTS:
            text = workspace.read(self.folder, name)
            clean = without_memories(text, gone)
            if clean != text:
                workspace.write(self.home, self.folder, name, clean)

    # -- after

    def _conclude(self, selected: list[SessionMemory]) -> ConsolidationResult:
        if not self.jobs.heartbeat(self.claim):
            raise ModelError("another process took the job over", again=True)
        # compared with the files at the start: text that the owner wrote since then stays
        hunks = review.hunks_between(
            self.before, workspace.artifacts(self.home, self.folder), self.store
        )
        proposal = review.Proposal(
            self.clock(),
            hunks,
            [memory.id for memory in selected],
            self.settings.longterm.consolidate.provider,
            self.tokens,
        )
        result = ConsolidationResult(
            "unchanged", "nothing had to change", 0, len(hunks), len(selected), self.tokens
        )
        suspect = any(orders("\n".join(hunk.after)) for hunk in hunks)
        if hunks and self.settings.longterm.auto_accept and not suspect:
            with locked(self.home, str(self.home.longterm)):
                review.take(self.home, hunks)
            # the folder included the pending proposal, so it is accepted, too
            review.clear(self.home)
            self.before = workspace.artifacts(self.home, self.folder)
            result.state, result.reason = "accepted", "longterm.auto_accept"
        elif hunks:
            result.proposal = review.propose(self.home, proposal)
            result.state, result.reason = "review", "`memsearch longterm review` shows the changes"
        return self._finish(selected, result)

    def _finish(
        self, selected: list[SessionMemory], result: ConsolidationResult
    ) -> ConsolidationResult:
        """Write the evidence into the workspace, advance the baseline, end the job; in this order.

        The baseline is the text that was consolidated, not the current text.
        """
        workspace.prune_resources(self.home.longterm, self.clock())
        workspace.write_inputs(self.home, self.home.longterm, selected)
        evidence = [
            name for name in workspace.files(self.folder) if not workspace.is_artifact(name)
        ]
        weighed = {
            name: workspace.read(self.folder, name) for name in evidence if name != workspace.DIFF
        }
        self.baseline.commit(weighed | self.before)
        return self._end(selected, result)

    def _end(
        self, selected: list[SessionMemory], result: ConsolidationResult
    ) -> ConsolidationResult:
        result.memories = len(selected)
        outcome = result.state if self.asked else NOTHING_TO_DO
        self.jobs.finish(
            self.claim, outcome, lambda db: SessionMemories.mark_selected(db, selected), SCHEMA
        )
        return result


def without_memories(text: str, gone: set[str]) -> str:
    """*text* without bullets that cite only ids in *gone*, and without those ids in the others."""
    lines = text.splitlines()
    for start, stop in reversed(workspace.blocks(lines)):
        block = "\n".join(lines[start:stop])
        ids = cited(block)
        if ids and all(name in gone for name in ids):
            del lines[start:stop]
        elif any(name in gone for name in ids):
            lines[start:stop] = re.sub(
                r"[ \t]?\[mem:([^\[\]]*)\]", lambda match: _remaining(match[1], gone), block
            ).split("\n")
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")


def _remaining(ids: str, gone: set[str]) -> str:
    """A citation without the ids in *gone*."""
    rest = ", ".join(name for name in re.findall(r"[0-9a-f]+", ids) if name not in gone)
    return f" [mem:{rest}]" if rest else ""


class FileTools:
    """A model's file tools: it may read all files of the folder, and write its own documents."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home, self.folder = home, folder

    def tools(self) -> list[tools.ModelTool]:
        """The tools, as the model's API describes them."""
        return [
            tools.ModelTool(
                "list_files", "All files, with their sizes in bytes.", {}, self.list_files
            ),
            tools.ModelTool(
                "read_file",
                "Lines of a file, from first_line (counted from 1) on.",
                {"path": "string", "first_line": "integer", "lines": "integer"},
                self.read_file,
            ),
            tools.ModelTool(
                "search",
                "Lines that contain a text, in all files, whatever its case.",
                {"text": "string"},
                self.search,
            ),
            tools.ModelTool(
                "write_file",
                "Write a whole file.",
                {"path": "string", "content": "string"},
                self.write_file,
            ),
            tools.ModelTool(
                "replace_text",
                "Replace a text that stands in a file exactly once.",
                {"path": "string", "old": "string", "new": "string"},
                self.replace_text,
            ),
        ]

    def list_files(self) -> str:
        """List the files of the folder with their sizes."""
        found = workspace.files(self.folder)
        lines = [f"{name} {os.path.getsize(path)}" for name, path in list(found.items())[:_LISTED]]
        return "\n".join(
            lines + ([f"… {len(found) - _LISTED} more"] if len(found) > _LISTED else [])
        )

    def read_file(self, path: str, first_line: int, lines: int) -> str:
        """Return lines of a file, from *first_line* on."""
        text = self._text(path).splitlines()
        if first_line < 1 or lines < 1 or first_line > max(1, len(text)):
            raise ValueError(f"{path} has {len(text)} lines")
        shown = "\n".join(text[first_line - 1 : first_line - 1 + lines])
        return (
            shown
            if len(shown) <= _READ_CHARACTERS
            else shown[:_READ_CHARACTERS] + "\n… cut: ask for fewer lines"
        )

    def search(self, text: str) -> str:
        """List the lines that contain *text*, as ``file:line: text``."""
        if not text.strip():
            raise ValueError("the text is empty")
        hits = [
            f"{name}:{number}: {line[:300]}"
            for name in workspace.files(self.folder)
            for number, line in enumerate(workspace.read(self.folder, name).splitlines(), 1)
            if text.casefold() in line.casefold()
        ]
        return (
            "\n".join(hits[:_HITS] + ([f"… {len(hits) - _HITS} more"] if len(hits) > _HITS else []))
            or "nothing found"
        )

    def write_file(self, path: str, content: str) -> str:
        """Write a whole file."""
        if not workspace.is_artifact(path):
            raise ValueError(f"{path} is not yours to write")
        try:
            workspace.write(self.home, self.folder, path, content)
        except Unreachable as error:
            raise ValueError(str(error)) from error
        return "written"

    def replace_text(self, path: str, old: str, new: str) -> str:
        """Replace a text that occurs exactly once in a file."""
        text = self._text(path)
        if not old or text.count(old) != 1:
            raise ValueError(f"the text stands in {path} {text.count(old) if old else 0} times")
        return self.write_file(path, text.replace(old, new))

    def _text(self, path: str) -> str:
        if path not in workspace.files(self.folder):
            raise ValueError(f"there is no file {path}")
        return workspace.read(self.folder, path)
