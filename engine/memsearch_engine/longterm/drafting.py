"""Has a model draft a document of a project from its notes, as a leased job.

The pages of a project (``page_drafts``) and its skills (``skill_drafts``) use it. They differ in
the question, in the format of the answer, and in how an answer is stored.

A model behind an API may look things up with tools. An agent's command line is asked once. Both
respect the daily token cap.
"""

from __future__ import annotations

import re
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm import cli, spend, tools
from memsearch_engine.core.llm.providers import complete
from memsearch_engine.core.llm.reply import ModelError, Reply
from memsearch_engine.core.llm.tokens import estimate
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, SkillTask, Task
from memsearch_engine.longterm import reading
from memsearch_engine.longterm.jobs import NOTHING_TO_DO, Claim, Jobs, Refusal
from memsearch_engine.longterm.reading import Material

Kind = Literal["project_review", "user_profile", "memory_to_skill"]
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


def enabled(settings: Settings, kind: Kind) -> tuple[str, Task | SkillTask] | None:
    """The agent and its settings table that enable a task; None if no table does."""
    for agent in agent_registry.names():
        task = getattr(settings.plugins.get(agent), kind, None)
        if task is not None and task.enabled:
            return agent, task
    return None


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

    kind: Kind
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
        self.folder = reading.folder_of(project, self.task.input_dir)
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
            reading.newest(self.folder),
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
        material = reading.collect(self.home, self.project, self.folder, room)
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
                    reading.tools_for(material),
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
            f"`prompts.{kind}` {path} can't be read: {getattr(error, 'strerror', '') or error}"
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
