"""Send a prompt to a home, as the service does at the prompt's hook."""

from __future__ import annotations

from typing import NamedTuple

from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.injection import judge, prompt
from memsearch_engine.injection.injection_log import InjectedNote
from memsearch_engine.journal.origin import Origin
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.retrieve import Sources


class Sent(NamedTuple):
    """A prompt that was sent.

    Attributes:
        answer: the rated hits.
        features: (id, features) of each hit, in the order before newer versions were put first.
    """

    query: SearchRequest
    answer: Answer
    features: list[tuple[str, tuple[float, ...]]]
    injection: prompt.PromptInjection
    notes: list[InjectedNote]


def send(
    home: Home,
    project: Project,
    catalog: Catalog,
    space: VectorIndex,
    origin: Origin,
    text: str,
    session: str,
) -> Sent | None:
    """Send a prompt; None if it says too little to search for."""
    query = prompt.prompt_query(text, home, leaves=False)
    if query is None:
        return None
    sources = Sources(catalog, space, [project])
    answer = prompt.without_questions(hybrid.search(sources, query))
    features = list(zip([hit.id for hit in answer.hits], judge.features(answer.hits)))
    injection, notes = inject(home, sources, origin, query, answer, session)
    return Sent(query, answer, features, injection, notes)


def inject(
    home: Home,
    sources: Sources,
    origin: Origin,
    query: SearchRequest,
    answer: Answer,
    session: str,
) -> tuple[prompt.PromptInjection, list[InjectedNote]]:
    """Rate the hits of *answer* in one project and choose what is injected."""
    [project] = sources.projects
    assert sources.vectors is not None
    topics = prompt.rate(sources.catalog, sources.vectors, project, answer)
    return prompt.select(
        home,
        Settings().recall,
        origin,
        project.memory,
        answer,
        query.text,
        "codex",
        session,
        topics,
    )
