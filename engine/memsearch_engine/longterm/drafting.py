"""Has a model draft a document of a project from its notes, as a leased job.

The pages of a project (``page_drafts``) and its skills (``skill_drafts``) use it. They differ in
the question, in the format of the answer, and in how an answer is stored.

A model behind an API may look things up with tools. An agent's command line is asked once. Both
respect the daily token cap. The text of notes is bounded and free of secrets. Notes that must not
be injected into sessions are excluded.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.capture.clean import without_secrets
from memsearch_engine.core.errors import MemsearchError, SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm import cli, spend, tools
from memsearch_engine.core.llm.providers import complete
from memsearch_engine.core.llm.reply import ModelError, Reply, estimate
from memsearch_engine.core.llm.tools import ModelTool
from memsearch_engine.core.projects import Project
from memsearch_engine.core.safe_text import plain
from memsearch_engine.core.settings import Settings, SkillTask, Task
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.injection.session_start import is_injectable, unfenced
from memsearch_engine.journal.files import DayFile, list_days, list_files, read_day_or_empty
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import workspace
from memsearch_engine.longterm.jobs import NOTHING_TO_DO, Claim, Jobs, Refusal
from memsearch_engine.longterm.pages import TaskName
from memsearch_engine.search import lexical
from memsearch_engine.search.request import parse
from memsearch_engine.secrets.scan import redact

PURPOSE = "documents"
_MAX_TURNS = 8
_JSON = re.compile(r"\A\s*(?:```(?:json)?\s*\n)?(\{.*\})\s*(?:\n```)?\s*\Z", re.S)


class DraftingResult(Protocol):
    """The result of drafting. ``tokens``: tokens that the model used."""

    state: str
    tokens: int


T = TypeVar("T", Task, SkillTask)
A = TypeVar("A")
R = TypeVar("R", bound=DraftingResult)


class Drafting(ABC, Generic[T, A, R]):
    """One request to draft a document.

    Attributes:
        shape: the JSON object that the model must answer with.

    Args:
        agent: the agent that provides the command line if the task uses the agent's own provider.
        task: the settings table of the task.
        provider, model: override the provider and model of the table.
        stop: called before each request to the model; true cancels it.
        clock: returns seconds since 1970.
    """

    kind: TaskName
    shape: type[A]

    def __init__(
        self,
        home: Home,
        settings: Settings,
        project: Project,
        agent: str,
        task: T,
        *,
        provider: str = "",
        model: str = "",
        stop: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.home, self.settings, self.project, self.agent = home, settings, project, agent
        self.task: T = msgspec.structs.replace(
            task,
            provider=provider or task.provider,
            model=model or ("" if provider else task.model),
        )
        self.stop, self.clock = stop, clock
        self.tokens = 0  # that the model has used
        self._booked = 0
        self.folder = folder_of(project, self.task.input_dir)
        #: Writes the draft, in the transaction that ends the job, with the schema it needs.
        self.writes: tuple[Callable[[sqlite3.Connection], None], str] | None = None

    @abstractmethod
    def result(self, state: str, reason: str) -> R:
        """The result if nothing was drafted."""

    @abstractmethod
    def room(self) -> int:
        """The number of tokens of notes that the model may receive; 0 for none."""

    @abstractmethod
    def question(self, material: Material) -> str:
        """The question for the model."""

    @abstractmethod
    def take(self, answer: A, material: Material) -> R:
        """Store an answer as a draft."""

    def system(self) -> str:
        """The instructions of the task."""
        return prompt(self.settings, self.kind)

    def run(self, *, force: bool = False) -> R:
        """Draft if there are notes since the last run and the pause after it is over.

        Args:
            force: the owner asked: ignore both conditions.

        Raises:
            SettingsError: the model is not configured, or a file of the task is not readable.
        """
        jobs = Jobs(self.home, self.clock)
        claim = jobs.claim(
            self.kind,
            self.project.id,
            newest(self.folder),
            cooldown_s=self.task.min_interval_hours * 3600,
            force=force,
            cap=2,
        )
        if isinstance(claim, Refusal):
            return self.result("skipped", str(claim))
        found = jobs.attempt(
            claim,
            lambda lost: self._work(jobs, claim, lost),
            lambda error: self.result("failed", error),
        )
        found.tokens = self.tokens
        return found

    def _work(self, jobs: Jobs, claim: Claim, lost: Callable[[], bool]) -> R:
        stop = self.stop
        self.stop = lambda: lost() or stop()
        found = self._drafted()
        work, schema = self.writes or (None, "")
        jobs.finish(claim, found.state if self.tokens else NOTHING_TO_DO, work, schema)
        return found

    def _drafted(self) -> R:
        room = self.room()
        if room <= 0:
            return self.result("unchanged", "the page is as long as what a model may be shown")
        material = collect(self.home, self.project, self.folder, room)
        if not material.notes:
            return self.result("unchanged", "there is no note that a model may be shown")
        question = self.question(material)
        text = self._reply(question, material)
        try:
            answer = answered(text, self.shape)
        except ModelError:  # the question is asked once more
            answer = answered(self._reply(question, material), self.shape)
        return self.take(answer, material)

    def _reply(self, question: str, material: Material) -> str:
        limits, llm, task = self.settings.documents, self.settings.llm, self.task
        system, is_named = self.system(), task.provider in llm.providers
        if task.provider == cli.PROVIDER and not self.agent:
            raise SettingsError(
                "whose own model? name the agent", f"--provider {' or '.join(cli.agents())}"
            )
        needed = estimate(system + question) + limits.answer_tokens
        try:
            if task.provider != cli.PROVIDER and (is_named or not cli.can_ask(task.provider)):
                return tools.work(
                    llm,
                    task.provider,
                    task.model,
                    system,
                    question,
                    tools_for(material),
                    max_turns=_MAX_TURNS,
                    # text that the model looks up is counted afterwards
                    before_turn=lambda: self._reserve(needed),
                    after_turn=self._settle,
                    answer_tokens=limits.answer_tokens,
                )
            self._reserve(needed)
            reply = complete(
                llm,
                task.provider,
                system,
                question,
                agent=self.agent,
                model=task.model,
                max_tokens=limits.answer_tokens,
            )
        except ModelError as error:
            if self._booked:
                spend.settle(self.home, llm, self._booked, task.provider, error)
            raise
        self._settle(reply)
        return reply.text

    def _reserve(self, tokens: int) -> None:
        """Reserve the tokens of the next request.

        Raises:
            ModelError: the drafting was cancelled, or the daily cap leaves no room.
        """
        cap, task = self.settings.documents.daily_tokens, self.task
        if self.stop():
            raise ModelError("it was stopped, or another process took the job over", again=True)
        self._booked = spend.reserve(
            self.home,
            purpose=PURPOSE,
            provider=task.provider,
            model=task.model,
            agent=self.agent,
            tokens=tokens,
            cap=cap,
        )
        if not self._booked:
            raise ModelError(
                f"the day's {cap:,} tokens (documents.daily_tokens) don't suffice: {tokens:,} may "
                "be needed",
                again=True,
            )

    def _settle(self, reply: Reply) -> None:
        self.tokens += reply.input_tokens + reply.output_tokens
        spend.settle(self.home, self.settings.llm, self._booked, self.task.provider, reply)
        self._booked = 0


def prompt(settings: Settings, kind: str) -> str:
    """The instructions of a task: the owner's file (``prompts.<task>``), or the default ones.

    Raises:
        SettingsError: the file is not readable.
    """
    path = getattr(settings.prompts, kind)
    file = Path(path).expanduser() if path else Path(__file__).parent / "prompts" / f"{kind}.md"
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"`prompts.{kind}` {path} can't be read: {getattr(error, 'strerror', '') or error}",
            f"memsearch config unset prompts.{kind}",
        ) from error


def answered(text: str, shape: type[A]) -> A:
    """Parse a model's answer, which is one JSON object, with or without a code fence.

    Raises:
        ModelError: the answer has another format.
    """
    match = _JSON.match(text)
    try:
        return msgspec.json.decode(match[1] if match else text, type=shape)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ModelError(
            f"the answer is not the JSON that was asked for: {error}", again=True
        ) from error


_TAG = re.compile(r"<(?=\s*(?:/\s*)?(?:page|notes|longterm|skill)\b)", re.IGNORECASE)
_ID = 12  # digits of an entry's id in a model's citation
_NOTE_TOKENS, _LONGTERM_TOKENS = 400, 2_500
_HITS, _MAX_SHOWN = 8, 6_000


class Source(NamedTuple):
    """A note that a model received.

    ``session``: agent and id of its session; '' for a hand-written note.
    """

    entry: Entry
    day: str
    session: str


class Material(msgspec.Struct):
    """The text for a model.

    ``notes``: citable id -> note. Notes that the model looks up are added.
    """

    home: Home
    project: Project
    text: str
    longterm: str
    notes: dict[str, Source]


def folder_of(project: Project, input_dir: str) -> str:
    """The folder with the notes to read. Raises SettingsError."""
    if not input_dir:
        return project.memory
    path = os.path.normpath(os.path.join(project.root, input_dir))
    if not path.startswith(project.root + os.sep):
        raise SettingsError(f"`input_dir` {input_dir!r} is no folder in the project")
    return path


def newest(folder: str) -> float:
    """Return the newest modification time of the folder's files (since 1970); 0 without files."""
    return max((file.mtime_ns / 1e9 for file in list_files(folder).files), default=0.0)


def collect(home: Home, project: Project, folder: str, max_tokens: int) -> Material:
    """Collect the newest injectable notes, and the project's part of the long-term memory.

    Args:
        max_tokens: the largest size of the result.
    """
    longterm = redact(
        workspace.part_for(workspace.read(home.longterm, workspace.SUMMARY), project.id[:8]), home
    )[0]
    while longterm and estimate(longterm) > _LONGTERM_TOKENS:
        longterm = longterm.rpartition("\n")[0]
    material = Material(home, project, "", longterm, {})
    days: list[str] = []
    left = max_tokens
    with contextlib.closing(Origin(home)) as origin:
        for file in sorted(list_days(folder), key=lambda file: file.day, reverse=True):
            lines = []
            for entry in reversed(_injectable(project, file, origin)):
                line = _shown(material, file.day, entry)
                if estimate(line) > left:
                    left = 0
                    break
                left -= estimate(line)
                lines.append(line)
            if lines:
                days.append("\n".join(lines))
            if left <= 0:
                break
    material.text = "\n\n".join(days)
    return material


def _injectable(project: Project, file: DayFile, origin: Origin) -> list[Entry]:
    entries = read_day_or_empty(file.path).entries
    arrived = origin.arrived(project.memory, entries, file.path)
    released = origin.released(entries)
    return [
        entry
        for entry in entries
        if entry.id not in arrived
        and is_injectable(entry, date.today())
        and not entry.is_digest
        and (entry.id in released or not orders(entry.body, his_words=False))
    ]


def _shown(material: Material, day: str, entry: Entry) -> str:
    """Format a note for a model and make it citable."""
    name = entry.id[:_ID]
    session = f"{entry.agent}/{entry.session}" if entry.session else ""
    material.notes[name] = Source(entry, day, session)
    text = unfenced(redact(plain(entry.body), material.home)[0])
    while estimate(text) > _NOTE_TOKENS:
        text = text[: len(text) * 4 // 5]
    who = entry.agent or "by hand"
    return (
        f"[mem:{name}] {day} {entry.time} "
        f"{who}{f' session {entry.session[:8]}' if entry.session else ''}\n{text}"
    )


def tools_for(material: Material) -> list[ModelTool]:
    """Return a model's read-only tools: search notes, read a note, read its conversation."""
    return [
        ModelTool(
            "search",
            "Notes of the project that have these words, best first.",
            {"words": "string"},
            partial(_search, material),
        ),
        ModelTool(
            "expand", "A whole note by its id.", {"id": "string"}, partial(_expand, material)
        ),
        ModelTool(
            "transcript",
            "The conversation that a note came from, by the note's id.",
            {"id": "string"},
            partial(_transcript, material),
        ),
    ]


def _search(material: Material, words: str) -> str:
    request = parse(words[:500], limit=_HITS * 3).with_(projects=[])
    catalog = Catalog.open_readonly(material.home.cache_db)
    found: list[str] = []
    try:
        with contextlib.closing(Origin(material.home)) as origin:
            for hit in lexical.search(catalog, [material.project], request).hits:
                if hit.day and len(found) < _HITS:
                    entries = _injectable(material.project, DayFile.at(hit.path), origin)
                    found += [_shown(material, hit.day, e) for e in entries if e.id == hit.id]
    except MemsearchError as error:
        raise ValueError(str(error)) from error
    finally:
        if catalog is not None:
            catalog.close()
    return "\n\n".join(found)[:_MAX_SHOWN] or "nothing found"


def _expand(material: Material, id: str) -> str:
    source = _known(material, id)
    return redact(plain(source.entry.body), material.home)[0][:_MAX_SHOWN]


def _transcript(material: Material, id: str) -> str:
    entry = _known(material, id).entry
    with contextlib.closing(Archive(material.home)) as archive:
        turn = archive.get(entry.agent, entry.session, entry.turn)
    if turn is None or turn.outside:
        raise ValueError("its conversation is not kept")
    clean = without_secrets(turn, material.home)
    return unfenced(plain(f"user: {clean.user}\n\nassistant: {clean.assistant}"))[:_MAX_SHOWN]


def quoted(text: str) -> str:
    """*text* with the tags escaped that mark where material begins and ends."""
    return _TAG.sub("\u2039", text)


def _known(material: Material, name: str) -> Source:
    source = material.notes.get(name.strip().removeprefix("mem:")[:_ID])
    if source is None:
        raise ValueError("no such note: use an id that you were given")
    return source
