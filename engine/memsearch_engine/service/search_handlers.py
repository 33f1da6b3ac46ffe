"""Handlers of search requests, and of requests that open a note."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

import msgspec

from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.projects import Project
from memsearch_engine.index.analyze import is_english
from memsearch_engine.index.embed_http import OtherLength
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.request import SearchRequest, parse
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.sections import Section
from memsearch_engine.search.supersession import revisions
from memsearch_engine.search.supersession.listing import Supersession
from memsearch_engine.search.supersession.revisions import Revision
from memsearch_engine.search.views import answer_view, mark_contradicting
from memsearch_engine.service import reading
from memsearch_engine.service.commands import RequestContext

if TYPE_CHECKING:
    from memsearch_engine.index.vector_index import VectorIndex

from memsearch_engine.service.service_state import ServiceState

log = logging.getLogger("memsearch.service")
P = ParamSpec("P")
T = TypeVar("T")
H = TypeVar("H", bound="Searching")
_OPENING_S = 0.3  # seconds that a search waits for an index that reopens after a failure
_TRACED = 10  # hits that are searched for notes on one topic
_LONGEST_WAIT_S = 60.0  # seconds that a request waits for an index that is being opened
_RECENT_QUERIES = 100


class Searching(Protocol):
    """A class with request handlers that search."""

    _state: ServiceState


def searching(method: Callable[Concatenate[H, P], T]) -> Callable[Concatenate[H, P], T]:
    """Decorate a handler: the indexes that it searches are closed only after it has returned."""

    @wraps(method)
    def wrapped(self: H, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._state.indexer.spaces.searching():
            return method(self, *args, **kwargs)

    return wrapped


class SearchHandlers:
    """Handlers of search requests. They run on the server's request threads."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        #: Whether the last queries were English; the queries themselves are not stored.
        self.asked_in_english: deque[bool] = deque(maxlen=_RECENT_QUERIES)

    @searching
    def search(
        self,
        call: RequestContext,
        place: dict[str, str],
        query: str = "",
        limit: int = 10,
        mode: str = "hybrid",
        fusion: str = "",
        projects: list[str] | None = None,
        request: dict[str, Any] | None = None,
    ) -> Answer:
        """Search.

        Args:
            query, limit, mode, fusion: of clients of protocol 1, which send the query as text.
            projects: names of projects to search in addition to those of the request.
            request: the typed request of newer clients.
        """
        wanted = _request(request, query, limit=limit, mode=mode, fusion=fusion)
        return self._answer(call, place, wanted, projects or [])

    def _answer(
        self,
        call: RequestContext,
        place: dict[str, str],
        wanted: SearchRequest,
        projects: list[str],
    ) -> Answer:
        indexer = self._state.indexer
        scope = self._state.scope(place, [*projects, *wanted.projects])
        if not wanted.is_empty:
            self.asked_in_english.append(is_english(wanted.text))
        is_current = True  # a search by words reads changed files by itself
        if wanted.mode != "lexical" and not wanted.is_empty:
            # while the index reopens after a failure, words answer
            indexer.ready.wait(_OPENING_S if indexer.problem else call.remaining())
            is_current = indexer.catch_up(scope, call)
        return self.find(wanted, scope, is_current=is_current)

    @searching
    def search_view(
        self,
        call: RequestContext,
        place: dict[str, str],
        query: str,
        limit: int = 0,
        mode: str = "hybrid",
        fusion: str = "",
        everything: bool = False,
    ) -> dict[str, Any] | None:
        """Search for a client that prints the answer (``answer_view``).

        Args:
            limit: number of hits; 0 for the configured number.

        Returns:
            None if the index is not open, the settings can't be read, or the query asks for a past
            day, which needs the history. The client then searches by itself.
        """
        self._state.look_at_settings()
        if self._state.paused or not self._state.indexer.ready.is_set():
            return None
        limit = limit or self._state.settings.search.top_k
        request = parse(query, limit=limit, mode=mode, fusion=fusion)
        if request.as_of:
            return None
        answer = self._answer(call, place, request, ["*"] if everything else [])
        mark_contradicting(self._state.journal.origin, answer.hits)
        return answer_view(answer)

    def expand_view(
        self,
        call: RequestContext,
        place: dict[str, str],
        name: str,
        lines: int | None = None,
        whole: bool = True,
        everything: bool = False,
    ) -> dict[str, Any]:
        """Open the section behind a hit for a client that prints it (``section_view``)."""
        project, found = self._state.project_at(place), self._section(place, name, everything)
        entry = found.entry
        reading.note_opened(self._state.home, entry.id, entry.agent, entry.session)
        return reading.section_view(
            self._state.indexer.catalog,
            self._state.journal.origin,
            self._state.overrides.read,
            found.project or project,
            found,
            lines=lines,
            whole=whole,
        )

    def transcript_view(
        self,
        call: RequestContext,
        place: dict[str, str],
        name: str,
        turn: str = "",
        context: int = 0,
        full: bool = False,
        raw: bool = False,
    ) -> dict[str, Any]:
        """Open the conversation behind a hit for a client that prints it (``transcript_view``)."""
        return reading.transcript_view(
            self._state.home,
            place["root"],
            self._section(place, name),
            turn=turn,
            context=context,
            full=full,
            raw=raw,
        )

    def _section(self, place: dict[str, str], name: str, everything: bool = False) -> Section:
        projects = self._state.projects_of(place, everything)
        others = None if everything else lambda: self._state.projects_of(place, True)
        return reading.find_section(self._state.indexer.catalog, projects, others, name)

    def _answered(
        self, index: VectorIndex | None, scope: list[Project], request: SearchRequest
    ) -> Answer:
        """Search with both models, or with the first one if there is no second or it fails."""
        sources = Sources(
            self._state.indexer.catalog,
            index,
            scope,
            overrides=self._state.overrides.read(),
        )
        second = self._state.indexer.spaces.second
        if second is None:
            return hybrid.search(sources, request)
        try:
            return hybrid.search(sources._replace(second=second), request)
        except MemsearchError:
            raise
        except Exception as error:  # an error of the first model occurs again below
            failed = error
        answer = hybrid.search(sources, request)
        self._state.indexer.without_second(failed)
        return answer

    def find(
        self, request: SearchRequest, scope: list[Project], *, is_current: bool = True
    ) -> Answer:
        """Search the index, or by words alone if the index can't answer.

        Args:
            is_current: whether the catalog has the current files.
        """
        indexer = self._state.indexer
        request = request.with_(fusion=request.fusion or self._state.settings.search.fusion)
        behind = not is_current or indexer.is_behind(scope)
        try:
            index = None if behind else indexer.spaces.serving
            answer = self._answered(index, scope, request)
            if behind and answer.mode == "lexical" and request.mode != "lexical":
                answer.reason = "the notes are being read"
        except OtherLength as error:
            indexer.reopen(str(error))
            return self._by_words(scope, request, str(error))
        except MemsearchError:
            raise
        except Exception as error:  # any error of Milvus: words still answer
            indexer.failed(index, error)
            answer = self._by_words(scope, request, "the index failed and is opened again")
        if answer.mode == "lexical" and request.mode != "lexical" and indexer.problem:
            answer.reason = indexer.problem
        return answer

    def _by_words(self, scope: list[Project], request: SearchRequest, reason: str) -> Answer:
        """Answer from the catalog alone, with the reason."""
        sources = Sources(self._state.indexer.catalog, None, scope)
        answer = hybrid.search(sources, request.with_(mode="lexical"))
        answer.reason = reason
        return answer

    @searching
    def trace(
        self,
        call: RequestContext,
        place: dict[str, str],
        query: str = "",
        note: str = "",
        request: dict[str, Any] | None = None,
    ) -> list[Revision]:
        """Return the notes on the topic of a request or of a note, oldest first.

        Args:
            query: of clients of protocol 1, which send the query as text.
            note: an entry id.
            request: the typed request of newer clients.

        Raises:
            Unreachable: the index is not ready.
        """
        indexer, project = self._state.indexer, self._state.project_at(place)
        indexer.ready.wait(min(call.remaining(), _LONGEST_WAIT_S))
        catalog, index, overrides = (
            indexer.catalog,
            indexer.spaces.serving,
            self._state.overrides.read(),
        )
        if note:
            row = next(iter(catalog.by_entry(note)), None)
            project = next(
                (known for known in self._state.registered() if row and known.id == row.project),
                project,
            )
            hits = [Hit(1, 1.0, row)] if row else []
            return revisions.chain(catalog, index, project, hits, overrides) if index else []
        wanted = _request(request, query).with_(limit=_TRACED, mode="hybrid", fusion="weighted")
        answer = self.find(wanted, [project])
        if index is None or (answer.hits and answer.mode != "hybrid"):
            raise Unreachable(
                answer.reason or indexer.problem or "the index is not ready",
                "memsearch status --index",
            )
        return revisions.chain(catalog, index, project, answer.hits, overrides)

    @searching
    def contradicted(self, call: RequestContext, place: dict[str, str]) -> list[Supersession]:
        """Return the notes that contradict sections of agent files, one for each section.

        The result is empty if the vectors that the comparison needs are not on this machine.
        """
        indexer, project = self._state.indexer, self._state.project_at(place)
        indexer.ready.wait(min(call.remaining(), _LONGEST_WAIT_S))
        space, catalog = indexer.spaces.serving, indexer.catalog
        if space is None or not space.is_local:
            return []
        rows = catalog.first_chunks_of_kind(project.id, "native")
        return revisions.contradicting(catalog, space, project, rows)


def _request(request: dict[str, Any] | None, query: str, **options: Any) -> SearchRequest:
    """Return the typed request of a client. Clients of protocol 1 send the query as text."""
    return parse(query, **options) if request is None else msgspec.convert(request, SearchRequest)
