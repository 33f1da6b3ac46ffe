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
    answer = prompt.without_questions(hybrid.search(Sources(catalog, space, [project]), query))
    features = list(zip([hit.id for hit in answer.hits], judge.features(answer.hits)))
    topics = prompt.rate(catalog, space, project, answer)
    injection, notes = prompt.select(
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
    return Sent(query, answer, features, injection, notes)
