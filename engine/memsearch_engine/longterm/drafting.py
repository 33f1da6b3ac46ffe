"""Having a model draft a document of a project from its notes, as a leased job.

The pages of a project (``page_drafts``) and its skills (``skill_drafts``) are drafted so. They
differ in the question, in the answer's shape, and in what is taken over of an answer.
"""

from __future__ import annotations

import re
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

import msgspec

from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.reply import ModelError
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, SkillTask, Task
from memsearch_engine.longterm import reading
from memsearch_engine.longterm.asking import Asker
from memsearch_engine.longterm.jobs import NOTHING_TO_DO, Claim, Jobs, Refusal
from memsearch_engine.longterm.reading import Material

Kind = Literal["project_review", "user_profile", "memory_to_skill"]
_JSON = re.compile(r"\A\s*(?:```(?:json)?\s*\n)?(\{.*\})\s*(?:\n```)?\s*\Z", re.S)


class Outcome(Protocol):
    """What drafting came to. ``tokens``: what the model used."""

    state: str
    tokens: int


T = TypeVar("T", Task, SkillTask)
A = TypeVar("A")
R = TypeVar("R", bound=Outcome)


def enabled(settings: Settings, kind: Kind) -> tuple[str, Task | SkillTask] | None:
    """The agent whose table in the settings enables a task, and that table; None where none does."""
    for agent in agent_registry.names():
        task = getattr(settings.plugins.get(agent), kind, None)
        if task is not None and task.enabled:
            return agent, task
    return None


class Drafting(ABC, Generic[T, A, R]):
    """One request to draft a document.

    Args:
        agent: whose command line is asked where the task's provider is that of the agent.
        task: the table of the settings. provider, model: who is asked instead of what it says.
        stop: asked before each request to the model.
        clock: seconds since 1970.
    """

    kind: ClassVar[Kind]

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
        self.asker: Asker | None = None
        self.folder = reading.folder_of(project, self.task.input_dir)
        #: Writes what is drafted, in the transaction that ends the job, with the schema it needs.
        self.writes: tuple[Callable[[sqlite3.Connection], None], str] | None = None

    @abstractmethod
    def result(self, state: str, reason: str) -> R:
        """What drafting came to, where nothing was drafted."""

    @abstractmethod
    def room(self) -> int:
        """How many tokens of notes the model may be shown; 0 where none may."""

    @abstractmethod
    def question(self, material: Material) -> str:
        """What the model is asked."""

    @abstractmethod
    def parsed(self, text: str) -> A:
        """The model's answer. Raises ModelError where it has another shape."""

    @abstractmethod
    def take(self, answer: A, material: Material) -> R:
        """Take an answer over as a draft."""

    def system(self) -> str:
        """The instructions of the task."""
        return prompt(self.settings, self.kind)

    @property
    def tokens(self) -> int:
        """What the model has used."""
        return self.asker.tokens if self.asker else 0

    def run(self, *, force: bool = False) -> R:
        """Draft, if notes were added since the last time and the pause after that is over.

        Args:
            force: the owner asks: draft whatever the notes and the pause.

        Raises:
            SettingsError: the model can't be asked, or a file of the task can't be read.
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
        found = self._drafted(lost)
        work, schema = self.writes or (None, "")
        jobs.finish(claim, found.state if self.tokens else NOTHING_TO_DO, work, schema)
        return found

    def _drafted(self, lost: Callable[[], bool]) -> R:
        room = self.room()
        if room <= 0:
            return self.result("unchanged", "the page is as long as what a model may be shown")
        material = reading.collect(self.home, self.project, self.folder, room)
        if not material.notes:
            return self.result("unchanged", "there is no note that a model may be shown")
        self.asker = Asker(
            self.home, self.settings, self.task, self.agent, lambda: lost() or self.stop()
        )
        question = self.question(material)
        answer = self.asker.ask(self.system(), question, material, self.parsed)
        return self.take(answer, material)


def prompt(settings: Settings, kind: str) -> str:
    """The instructions of a task: the owner's file (``prompts.<task>``), else ours. Raises
    SettingsError.
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
    """A model's answer, which is one JSON object, also where it stands in a fence. Raises
    ModelError.
    """
    match = _JSON.match(text)
    try:
        return msgspec.json.decode(match[1] if match else text, type=shape)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ModelError(
            f"the answer is not the JSON that was asked for: {error}", again=True
        ) from error
