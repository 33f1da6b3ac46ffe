"""The remote methods of the service: their names, and the types of their answers.

Client and server use this table. The parameters of a method are those of its handler (in
``search_handlers``, ``injection_handlers``, ``index_handlers``, ``capture_handlers`` or
``engine``). A type is imported when an answer is decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING:
    from memsearch_engine.capture.coverage import Coverage
    from memsearch_engine.capture.ledger import MissedTurn
    from memsearch_engine.index.rows import IndexResult
    from memsearch_engine.injection.prompt import PromptInjection
    from memsearch_engine.search.hits import Answer
    from memsearch_engine.search.supersession.listing import Supersession
    from memsearch_engine.search.supersession.revisions import Revision
    from memsearch_engine.service.answers import (
        CaptureStatus,
        Health,
        IndexStatus,
        QueueReport,
        ServiceStatus,
        Verified,
    )

T = TypeVar("T")
METHODS: dict[str, Method[Any]] = {}


class Method(Generic[T]):
    """A remote method.

    Args:
        name: the name in requests.
        answer: the type of its answer: ``module:Class`` inside the engine, or a built-in type.
        is_list: whether the answer is a list of that type.
    """

    def __init__(self, name: str, answer: str | type[Any], *, is_list: bool = False) -> None:
        self.name, self._answer, self._is_list = name, answer, is_list
        METHODS[name] = self

    @property
    def answer(self) -> type[T]:
        """The type as which an answer is decoded."""
        found: Any = self._answer
        if isinstance(found, str):
            from importlib import import_module

            module, _, name = found.partition(":")
            found = getattr(import_module(f"memsearch_engine.{module}"), name)
        return cast("type[T]", list[found] if self._is_list else found)


SEARCH: Method[Answer] = Method("search", "search.hits:Answer")
SEARCH_VIEW: Method[dict[str, Any]] = Method("search_view", dict)
EXPAND_VIEW: Method[dict[str, Any]] = Method("expand_view", dict)
TRANSCRIPT_VIEW: Method[dict[str, Any]] = Method("transcript_view", dict)
TRACE: Method[list[Revision]] = Method(
    "trace", "search.supersession.revisions:Revision", is_list=True
)
CONTRADICTED: Method[list[Supersession]] = Method(
    "contradicted", "search.supersession.listing:Supersession", is_list=True
)
RECALL: Method[PromptInjection] = Method("recall", "injection.prompt:PromptInjection")
PREPARE: Method[PromptInjection] = Method("prepare", "injection.prompt:PromptInjection")
CARRY_ON: Method[PromptInjection] = Method("carry_on", "injection.prompt:PromptInjection")
AROUND: Method[PromptInjection] = Method("around", "injection.prompt:PromptInjection")
INDEX: Method[list[IndexResult]] = Method("index", "index.rows:IndexResult", is_list=True)
VERIFY: Method[list[Verified]] = Method("verify", "service.answers:Verified", is_list=True)
RESET: Method[list[str]] = Method("reset", str, is_list=True)
FORGET_PROJECT: Method[bool] = Method("forget_project", bool)
ATTACH: Method[None] = Method("attach", type(None))
HEALTH: Method[Health] = Method("health", "service.answers:Health")
STATUS: Method[ServiceStatus] = Method("status", "service.answers:ServiceStatus")
WAIT: Method[IndexStatus] = Method("wait", "service.answers:IndexStatus")
COVERAGE: Method[Coverage] = Method("coverage", "capture.coverage:Coverage")
MISSED: Method[list[MissedTurn]] = Method("missed", "capture.ledger:MissedTurn", is_list=True)
INBOX: Method[QueueReport] = Method("inbox", "service.answers:QueueReport")
STANDING: Method[CaptureStatus] = Method("standing", "service.answers:CaptureStatus")
LONGTERM: Method[bool] = Method("longterm", bool)
