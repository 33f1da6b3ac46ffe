"""Asks a model to write about a project's notes.

A model behind an API may look things up with tools. An agent's command line is asked once. Both
respect the daily token cap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm import cli, spend, tools
from memsearch_engine.core.llm.providers import complete
from memsearch_engine.core.llm.reply import ModelError, Reply
from memsearch_engine.core.llm.tokens import estimate
from memsearch_engine.core.settings import Settings, Task
from memsearch_engine.longterm import reading
from memsearch_engine.longterm.reading import Material

T = TypeVar("T")
PURPOSE = "documents"
_MAX_TURNS = 8
_TRIES = 2


class Asker:
    """Asks one model for one document. ``tokens`` counts what it has used.

    Args:
        agent: the agent that provides the command line if the provider is ``native``.
        stop: called before each request; true cancels it.
    """

    def __init__(
        self, home: Home, settings: Settings, task: Task, agent: str, stop: Callable[[], bool]
    ) -> None:
        self._home, self._settings, self._task, self._agent, self._stop = (
            home,
            settings,
            task,
            agent,
            stop,
        )
        self.tokens = 0
        self._booked = 0

    def ask(self, system: str, question: str, material: Material, read: Callable[[str], T]) -> T:
        """Ask, and parse the answer. The question is asked once more if *read* raises ModelError.

        Args:
            read: parses an answer.

        Returns:
            The result of *read*.

        Raises:
            ModelError: there is no valid answer.
            SettingsError: the model is not configured.
        """
        for attempt in range(_TRIES):
            if self._stop():
                raise ModelError("it was told to stop", again=True)
            text = self._reply(system, question, material)
            try:
                return read(text)
            except ModelError:
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def _reply(self, system: str, question: str, material: Material) -> str:
        limits, provider, llm = self._settings.documents, self._task.provider, self._settings.llm
        if provider != cli.PROVIDER and not (
            cli.can_ask(provider) and provider not in llm.providers
        ):
            return self._with_tools(system, question, material)
        if provider == cli.PROVIDER and not self._agent:
            raise SettingsError(
                "whose own model? name the agent", f"--provider {' or '.join(cli.agents())}"
            )
        booked = self._reserve(estimate(system + question) + limits.answer_tokens)
        try:
            reply = complete(
                llm,
                provider,
                system,
                question,
                agent=self._agent,
                model=self._task.model,
                max_tokens=limits.answer_tokens,
            )
        except ModelError as error:
            spend.settle(self._home, llm, booked, provider, error)
            raise
        spend.settle(self._home, llm, booked, provider, reply)
        self.tokens += reply.input_tokens + reply.output_tokens
        return reply.text

    def _with_tools(self, system: str, question: str, material: Material) -> str:
        limits, llm = self._settings.documents, self._settings.llm
        try:
            return tools.work(
                llm,
                self._task.provider,
                self._task.model,
                system,
                question,
                reading.tools_for(material),
                max_turns=_MAX_TURNS,
                before_turn=lambda: self._before_turn(system + question),
                after_turn=self._after_turn,
                answer_tokens=limits.answer_tokens,
            )
        except ModelError as error:
            if self._booked:
                spend.settle(self._home, llm, self._booked, self._task.provider, error)
            raise

    def _reserve(self, tokens: int) -> int:
        cap, task = self._settings.documents.daily_tokens, self._task
        booked = spend.reserve(
            self._home,
            purpose=PURPOSE,
            provider=task.provider,
            model=task.model,
            agent=self._agent,
            tokens=tokens,
            cap=cap,
        )
        if not booked:
            raise ModelError(
                f"the day's {cap:,} tokens (documents.daily_tokens) don't suffice: {tokens:,} may "
                "be needed",
                again=True,
            )
        return booked

    def _before_turn(self, asked: str) -> None:
        """Reserve the minimum that a request uses.

        Text that the model looks up is counted afterwards.
        """
        if self._stop():
            raise ModelError(
                "it was told to stop, or another process took the job over", again=True
            )
        self._booked = self._reserve(estimate(asked) + self._settings.documents.answer_tokens)

    def _after_turn(self, reply: Reply) -> None:
        self.tokens += reply.input_tokens + reply.output_tokens
        spend.settle(self._home, self._settings.llm, self._booked, self._task.provider, reply)
        self._booked = 0
