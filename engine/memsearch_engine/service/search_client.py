"""Searches on behalf of a caller: through the service, else from the files and the catalog here."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.projects import Project
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.request import SearchRequest, request_of
from memsearch_engine.search.scope import Scope
from memsearch_engine.service.calls import sent
from memsearch_engine.service.launch import connect

if TYPE_CHECKING:  # a search through the service needs none of these
    from memsearch_engine.search.as_of import Then
    from memsearch_engine.search.explain import Absence

HYBRID_WAIT_S = 4.0
_ANSWER_S = 0.5  # what a service may take longer than the deadline that it was given


class Searcher:
    """Searches the notes of a scope. It answers by words alone where no service answers in time.

    >>> with Memory() as memory:
    ...     note = memory.add("The queue is called payouts")
    ...     answer = memory.queries.lexical("payouts")
    ...     _ = memory.undo()
    ...     [hit.text for hit in answer]
    ['- The queue is called payouts']
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def search(
        self,
        query: str | SearchRequest,
        limit: int = 10,
        mode: str = "hybrid",
        fusion: str = "",
        *,
        wait: bool = True,
    ) -> Answer:
        """Search by meaning and words; by words alone where the index can't answer in time.

        Args:
            query: as a person types it, or a parsed request, whose own limit, mode and fusion then
                count.
            limit: number of hits.
            mode: ``hybrid``, ``dense``, ``bm25`` or ``lexical``.
            fusion: ``weighted`` or ``rrf``; the configured one by default.
            wait: start the service if needed and give it ``HYBRID_WAIT_S``; else answer from
                what is here now.
        """
        request = request_of(query, limit=limit, mode=mode, fusion=fusion)
        answer = self._as_of(self._search(_deepened(request), wait), request)
        from memsearch_engine.search.views import mark_contradicting

        with contextlib.suppress(MemsearchError):  # of a home that can't be read
            mark_contradicting(self._scope.journal.origin, answer.hits)
        return answer

    def _search(self, request: SearchRequest, wait: bool) -> Answer:
        if request.mode == "lexical" and not wait:
            return self._lexical(request)
        if os.environ.get("MEMSEARCH_OFFLINE", "") not in ("", "0") and (
            reason := self._would_leave()
        ):
            return self._fallback(request, reason)
        start = time.monotonic()
        try:
            connection = connect(self._scope.home, start=wait, wait_s=HYBRID_WAIT_S)
        except Unreachable as error:
            reason = str(error) if wait else "the service is not running"
            return self._fallback(request, "" if request.mode == "lexical" else reason)
        try:
            left = max(0.2, HYBRID_WAIT_S - (time.monotonic() - start)) if wait else 0.15
            return connection.call(
                "search",
                Answer,
                timeout_s=left + _ANSWER_S,
                deadline_s=left,
                place=self._scope.place_param,
                projects=["*"] if self._scope.everything else [],
                **sent(request, connection),
            )
        except MemsearchError as error:
            if error.exit_code != Unreachable.exit_code:
                raise
            return self._fallback(request, str(error))
        finally:
            connection.close()

    def _would_leave(self) -> str:
        """Why the service, which may have been started without ``--offline``, is not asked; ''
        where it stays on this machine.
        """
        from memsearch_engine.core.network import is_local
        from memsearch_engine.core.settings import load

        settings = load(self._scope.home)
        embedding, uri = settings.embedding, settings.milvus.uri
        if embedding.provider != "onnx" and not is_local(embedding.base_url or "elsewhere"):
            return f"offline: {embedding.provider} is not asked"
        return f"offline: {uri} is not asked" if uri and not is_local(uri) else ""

    def lexical(self, query: str | SearchRequest, limit: int = 10) -> Answer:
        """Answer by words, in this process, from the catalog and the files."""
        request = request_of(query, limit=limit)
        return self._as_of(self._lexical(_deepened(request)), request)

    def _as_of(self, answer: Answer, request: SearchRequest) -> Answer:
        """*answer*, with the notes as they were on the day that the request asks for, if any."""
        if request.as_of:
            from memsearch_engine.search.as_of import put_back

            scope = self._scoped(request.projects)
            put_back(self._scope.catalog, answer, request, self.then(request.as_of, scope), scope)
        return answer

    def then(self, day: str, projects: list[Project] | None = None) -> Then:
        """What of the notes of these projects (of this one, by default) was changed after the end
        of *day* (``YYYY-MM-DD``), as it stood then.

        Raises:
            Unreachable: the history can't be read.
        """
        from memsearch_engine.longterm import fact_history
        from memsearch_engine.search.as_of import Then, end_of

        scope = projects or self._scope.projects
        memories = {os.path.abspath(project.memory) for project in scope}
        longterm: dict[tuple[str, str], str] = {}
        with contextlib.suppress(MemsearchError, OSError):  # the notes are told without it
            longterm = fact_history.at(
                self._scope.home, sorted({project.id[:8] for project in scope}), end_of(day)
            )
        return Then(self._scope.journal.history, sorted(memories), day, longterm)

    def _lexical(self, request: SearchRequest) -> Answer:
        from memsearch_engine.search import lexical

        return lexical.search(self._scope.catalog, self._scoped(request.projects), request)

    def _fallback(self, request: SearchRequest, reason: str) -> Answer:
        answer = self._lexical(request)
        answer.reason = "; ".join(
            dict.fromkeys(part for part in (reason, answer.reason, self._scope.shortfall) if part)
        )
        return answer

    def why_not(self, query: str | SearchRequest, name: str) -> Absence:
        """Why an entry is not among the first hits of *query*.

        Raises:
            NotFound: no such entry. UsageError.
        """
        from memsearch_engine.search.explain import why_not

        scope = self._scope
        request = request_of(query)
        return why_not(scope.catalog, scope.projects, scope.section(name), request, self.search)

    def _scoped(self, names: list[str]) -> list[Project]:
        return self._scope.named(names) if names else self._scope.projects


def _deepened(request: SearchRequest) -> SearchRequest:
    """More hits for a request of a past day: some of them did not exist then."""
    return request.with_(limit=3 * request.limit) if request.as_of else request
