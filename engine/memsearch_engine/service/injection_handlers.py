"""Handlers of hooks' requests: injection at a prompt, around an action, after a compaction."""

from __future__ import annotations

import contextlib
import logging
import threading
from itertools import islice
from typing import Any

from memsearch_engine.agents.transcripts import readers
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.locate import find_session, known_folders
from memsearch_engine.agents.transcripts.model import input_text
from memsearch_engine.capture import event_queue
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import AgentFolders
from memsearch_engine.core.projects import Project
from memsearch_engine.injection import compaction, injection_log, outcome
from memsearch_engine.injection import prompt as at_prompt
from memsearch_engine.injection.action import ActionAdviser
from memsearch_engine.injection.action import select as select_advice
from memsearch_engine.injection.prompt import PromptInjection
from memsearch_engine.service.commands import RequestContext
from memsearch_engine.service.search_handlers import SearchHandlers, searching
from memsearch_engine.service.service_state import ServiceState

log = logging.getLogger("memsearch.service")
_KNOWN = 5  # pieces of advice on an action; the first that is new to the session is injected
_LONGEST_WAIT_S = 60.0


class InjectionHandlers:
    """Requests of hooks. What is injected is recorded in the injection log first."""

    def __init__(self, state: ServiceState, search: SearchHandlers) -> None:
        self._state, self._search = state, search
        self._injecting = threading.Lock()

    @searching
    def recall(
        self,
        call: RequestContext,
        place: dict[str, str],
        prompt: str,
        agent: str = "",
        session: str = "",
        dry: bool = False,
    ) -> PromptInjection:
        """Return the injection at a prompt; an empty one if the index is not ready.

        Args:
            dry: only preview: record nothing, and wait for the index.
        """
        indexer, settings = self._state.indexer, self._state.settings
        if not settings.recall.prompt:
            return PromptInjection(reason="`recall.prompt` is off")
        project = self._state.project_at(place)
        leaves = settings.embedding.provider != "onnx" or bool(settings.milvus.uri)
        query = at_prompt.prompt_query(prompt, self._state.home, leaves=leaves)
        if query is None:
            return PromptInjection(reason="it says too little, or is no prompt of a person's")
        if dry:
            indexer.ready.wait(min(call.remaining(), _LONGEST_WAIT_S))
        space = indexer.spaces.serving
        if space is None or indexer.is_behind([project]):
            return PromptInjection(reason=indexer.problem or "the index is not ready yet")
        answer = self._search.find(query.with_(fusion="weighted"), [project])
        if answer.mode != "hybrid":
            return PromptInjection(reason=answer.reason)
        answer = at_prompt.without_questions(answer)
        topics = at_prompt.rate(
            indexer.catalog, space, project, answer, self._state.overrides.read()
        )
        event_queue.note_starts(self._state.home, agent, session)
        if not self._injecting.acquire(timeout=min(call.remaining(), _LONGEST_WAIT_S)):
            return PromptInjection(reason="too late")
        try:  # of two prompts of one session at once, only one gets a note
            injected, notes = at_prompt.select(
                self._state.home,
                settings.recall,
                self._state.journal.origin,
                project.memory,
                answer,
                query.text,
                agent,
                session,
                topics,
            )
            return (
                injected
                if dry
                else self._record(
                    call, injected, notes, agent, session, project, "UserPromptSubmit"
                )
            )
        finally:
            self._injecting.release()

    @searching
    def endings(
        self, call: RequestContext, place: dict[str, str], notes: list[str], query: str = ""
    ) -> dict[str, list[str]]:
        """Return how the conversation of each note ended on the topic of the note.

        Args:
            notes: entry ids, of any project.
            query: its words are preferred.

        Returns:
            Entry id -> the lines that settle the topic, in their order. It lacks notes of
            conversations of one turn, and all notes if the index is not ready.
        """
        catalog, index = self._state.indexer.catalog, self._state.indexer.spaces.serving
        if index is None:
            return {}
        projects, origin = self._state.registered(), self._state.journal.origin
        return outcome.endings(catalog, index, projects, origin, notes, query)

    def prepare(
        self, call: RequestContext, place: dict[str, str], agent: str = "", session: str = ""
    ) -> PromptInjection:
        """Prepare the context of new sessions again, after a hook found it out of date."""
        project = self._state.project_at(place)
        self._state.look_at_settings()
        self._state.prepare_context(project.memory, project.id)
        return PromptInjection(reason=self._state.paused or "prepared")

    def carry_on(
        self,
        call: RequestContext,
        place: dict[str, str],
        agent: str,
        session: str,
        transcript: str = "",
        dry: bool = False,
    ) -> PromptInjection:
        """Return the injection for a session that continues after a context compaction."""
        settings, project = self._state.settings.recall, self._state.project_at(place)
        if not settings.compaction:
            return PromptInjection(reason="`recall.compaction` is off")
        where = find_session(
            agent, session, transcript, AgentFolders.from_env(seen=known_folders(self._state.home))
        )
        with contextlib.closing(Archive(self._state.home)) as archive:
            injected, notes = compaction.carried(
                self._state.home,
                self._state.indexer.catalog,
                self._state.journal.origin,
                project.id,
                project.memory,
                (agent, session),
                readers.last_summary(where) if where else "",
                archive.get,
                settings.compaction_tokens,
            )
        return (
            injected
            if dry
            else self._record(
                call, injected, notes, agent, session, project, injection_log.AFTER_COMPACTION
            )
        )

    @searching
    def around(
        self,
        call: RequestContext,
        place: dict[str, str],
        tool: str,
        given: Any,
        agent: str,
        session: str,
        output: str = "",
        cwd: str = "",
    ) -> PromptInjection:
        """Return the injection before an action, or after one that failed.

        Args:
            given: the tool's input, as the agent sent it.
            output: the output of a failed action; ``""`` before an action.
        """
        settings, project = self._state.settings.recall, self._state.project_at(place)
        if not settings.action:
            return PromptInjection(reason="`recall.action` is off")
        adviser = ActionAdviser(
            self._state.home,
            project,
            self._state.indexer.catalog,
            None
            if self._state.indexer.is_behind([project])
            else self._state.indexer.spaces.serving,
            self._state.journal.origin,
            agent,
            session,
            self._state.overrides.read(),
        )
        text = input_text(given)
        found = list(
            islice(
                adviser.after(tool, text, output) if output else adviser.before(tool, text, cwd),
                _KNOWN,
            )
        )
        event_queue.note_starts(self._state.home, agent, session)
        if not self._injecting.acquire(timeout=min(call.remaining(), _LONGEST_WAIT_S)):
            return PromptInjection(reason="too late")
        try:
            injected, notes = select_advice(self._state.home, settings, found, agent, session)
            event = injection_log.AFTER_ERROR if output else injection_log.BEFORE_ACTION
            return self._record(call, injected, notes, agent, session, project, event)
        finally:
            self._injecting.release()

    def _record(
        self,
        call: RequestContext,
        injected: PromptInjection,
        notes: list[injection_log.InjectedNote],
        agent: str,
        session: str,
        project: Project,
        event: str,
    ) -> PromptInjection:
        """Record an injection. The record is withdrawn if the hook has stopped waiting by then."""
        if not injected.text or call.is_late():
            return injected if not injected.text else PromptInjection(reason="too late")
        try:
            wait_s = min(call.remaining(), _LONGEST_WAIT_S)
            at = injection_log.record(
                self._state.home,
                agent,
                session,
                event,
                project.root,
                injected.text,
                injected.tokens,
                notes,
                wait_s,
            )
        except Unreachable as error:  # without a record nothing is injected
            return PromptInjection(reason=str(error))
        if call.is_late():
            injection_log.withdraw(self._state.home, at, agent, session)
            return PromptInjection(reason="too late")
        return injected
