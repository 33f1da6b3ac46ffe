"""Searches for a caller: through the service, or else in this process from files and catalog."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.projects import Project
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.request import SearchRequest, request_of
from memsearch_engine.search.scope import ScopePart
from memsearch_engine.service.launch import connect

if TYPE_CHECKING:  # a search through the service needs none of these
    from memsearch_engine.journal.note import Note
    from memsearch_engine.search.as_of import NotesAsOf
    from memsearch_engine.search.explain import Absence

HYBRID_WAIT_S = 4.0
_ANSWER_S = 0.5  # seconds that the service may answer after its deadline


class Searcher(ScopePart):
    """Searches the notes of a scope. It answers by words alone if no service answers in time.

    >>> with Memory() as memory:
    ...     note = memory.add("The queue is called payouts")
    ...     answer = memory.queries.lexical("payouts")
    ...     _ = memory.undo()
    ...     [hit.text for hit in answer]
    ['- The queue is called payouts']
    """

    def search(
        self,
        query: str | SearchRequest,
        limit: int = 10,
        mode: str = "hybrid",
        fusion: str = "",
        *,
        wait: bool = True,
    ) -> Answer:
        """Search by meaning and words, or by words alone if the index can't answer in time.

        Args:
            query: text as a person types it, or a parsed request. The limit, mode and fusion of a
                parsed request replace the arguments.
            limit: number of hits.
            mode: ``hybrid``, ``dense``, ``bm25`` or ``lexical``.
            fusion: ``weighted`` or ``rrf``; the configured one by default.
            wait: start the service if needed and wait ``HYBRID_WAIT_S`` for it; otherwise answer
                from what is available now.
        """
        request = request_of(query, limit=limit, mode=mode, fusion=fusion)
        answer = self._as_of(self._search(_deepened(request), wait), request)
        from memsearch_engine.search.views import mark_contradicting

        with contextlib.suppress(MemsearchError):  # the home can't be read
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
                request=request,
            )
        except MemsearchError as error:
            if error.exit_code != Unreachable.exit_code:
                raise
            return self._fallback(request, str(error))
        finally:
            connection.close()

    def endings(self, notes: list[str], query: str = "") -> dict[str, list[str]]:
        """Return how the conversation of each note ended on the topic of the note.

        Args:
            notes: entry ids.
            query: its words are preferred.

        Returns:
            Entry id -> the lines that settle the topic. It lacks notes that are not from a
            conversation of several turns. Empty if no service answers.
        """
        with contextlib.suppress(Unreachable):
            return self._scope.call(
                "endings",
                dict[str, list[str]],
                start=False,
                timeout_s=HYBRID_WAIT_S,
                place=self._scope.place_param,
                notes=notes,
                query=query,
            )
        return {}

    def _would_leave(self) -> str:
        """Return why the service may not be used with ``--offline``; ``""`` if it may.

        The service may have been started without ``--offline``, and use a model or a store on
        another machine.
        """
        from memsearch_engine.core.network import is_local
        from memsearch_engine.core.settings import load

        settings = load(self._scope.home)
        embedding, uri = settings.embedding, settings.milvus.uri
        if embedding.provider != "onnx" and not is_local(embedding.base_url or "elsewhere"):
            return f"offline: {embedding.provider} is not asked"
        return f"offline: {uri} is not asked" if uri and not is_local(uri) else ""

    def lexical(self, query: str | SearchRequest, limit: int = 10) -> Answer:
        """Search by words in this process, from the catalog and the files."""
        request = request_of(query, limit=limit)
        return self._as_of(self._lexical(_deepened(request)), request)

    def _as_of(self, answer: Answer, request: SearchRequest) -> Answer:
        """Replace the notes in *answer* by their versions on the requested day, if there is one."""
        if request.as_of:
            from memsearch_engine.search.as_of import put_back

            scope = self._scoped(request.projects)
            put_back(self._scope.catalog, answer, request, self.then(request.as_of, scope), scope)
        return answer

    def entries(
        self,
        day: str = "",
        *,
        agent: str = "",
        limit: int | None = None,
        last: str = "",
        as_of: str = "",
    ) -> list[Note]:
        """Return notes without a search, newest day first; see ``Memory.entries``."""
        from memsearch_engine.journal.note import Note

        found: list[Note] = []
        then = self.then(as_of) if as_of else None
        for file in self._scope.days():
            if (day and not day <= file.day <= (last or day)) or (as_of and file.day > as_of):
                continue
            with contextlib.suppress(OSError):
                now = self._scope.read(file)
                entries = then.read(file, now) if then else now
                found += [
                    Note.of(entry, file.path)
                    for entry in entries
                    if not agent or entry.agent == agent
                ]
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def then(self, day: str, projects: list[Project] | None = None) -> NotesAsOf:
        """Return the older versions of the notes that were changed after a day.

        Args:
            day: ``YYYY-MM-DD``; its end counts.
            projects: the projects of the notes; by default those of the scope.

        Raises:
            Unreachable: the history can't be read.
        """
        from memsearch_engine.longterm import fact_history
        from memsearch_engine.search.as_of import NotesAsOf, end_of

        scope = projects or self._scope.projects
        memories = {os.path.abspath(project.memory) for project in scope}
        longterm: dict[tuple[str, str], str] = {}
        with contextlib.suppress(MemsearchError, OSError):  # continue without long-term memory
            longterm = fact_history.at(
                self._scope.home, sorted({project.id[:8] for project in scope}), end_of(day)
            )
        return NotesAsOf(self._scope.journal.history, sorted(memories), day, longterm)

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
        """Explain why an entry is not among the first hits of *query*.

        Args:
            query: a query or a parsed request.
            name: the id of the entry, or its beginning.

        Raises:
            NotFound: there is no such entry.
            UsageError: the name is too short, or several entries match.
        """
        from memsearch_engine.search.explain import why_not

        scope = self._scope
        request = request_of(query)
        return why_not(scope.catalog, scope.projects, scope.section(name), request, self.search)

    def _scoped(self, names: list[str]) -> list[Project]:
        return self._scope.named(names) if names else self._scope.projects


def _deepened(request: SearchRequest) -> SearchRequest:
    """Return a request with more hits if it is for a past day: later notes are removed."""
    return request.with_(limit=3 * request.limit) if request.as_of else request
