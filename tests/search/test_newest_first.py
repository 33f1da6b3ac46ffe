"""What was decided last comes before what it replaces; not where the past is asked for."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import load as load_embedder
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import hybrid
from memsearch_engine.search.request import parse
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.supersession import reorder

NOTES = {
    "2026-01-05": [
        "Catalog cache: `CATALOG_TTL` decided as 300 seconds, marketing edits prices by hand",
        "Redis holds the carts of visitors with `CART_LIFE=1800` seconds",
    ],
    "2026-02-11": [
        "Moved the nightly backup to 02:30",
        "Invoices are numbered per shop, without gaps",
    ],
    "2026-03-20": [
        "Catalog cache: `CATALOG_TTL` is 900 seconds from today, stock is no longer cached",
        "Raised `CART_LIFE` from 1800 to 7200 seconds, people come back after lunch",
    ],
    "2026-05-03": [
        "The label printer got its firmware update again",
        "Lowered `CART_LIFE` from 7200 to 3600 seconds, memory was full\n\n"
        + "The graph of the week is in the wiki.\n\n" * 60
        + "Payroll runs elsewhere.",  # several chunks
    ],
    "2026-04-02": [
        "The label printer needs firmware 4.1",
        "Stripe webhooks are verified with the raw body",
    ],
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """query -> the days of its hits and the hits, over a project; another one has the older note
    only.
    """
    home = Home(tmp_path_factory.mktemp("home")).ensure()
    settings = Settings()
    catalog = Catalog(home.cache_db, writable=True)
    space = VectorIndex(home, settings.milvus, load_embedder(home, settings.embedding))
    projects = []
    for name, days in (("shop", sorted(NOTES)), ("fork", ["2026-01-05"])):
        memory = tmp_path_factory.mktemp(name) / ".memsearch" / "memory"
        memory.mkdir(parents=True)
        for day in days:
            text = "".join(f"### 1{hour}:00\n- {note}\n\n" for hour, note in enumerate(NOTES[day]))
            (memory / f"{day}.md").write_text(f"# {day}\n\n{text}", encoding="utf-8")
        project = Project(
            f"id-{name}", name, f"ms_{name}_0", str(memory.parent.parent), str(memory)
        )
        scan(catalog, project.id, [project.memory], settings, memory=project.memory)
        space.embed(space.missing(catalog, project.id))
        space.reconcile(catalog, project.id, project.collection)
        projects.append(project)

    def answer(text: str, limit: int = 10, among: int = 1):
        return hybrid.search(
            Sources(catalog, space, projects[:among]), parse(text, limit=limit)
        ).hits

    yield answer
    space.close()
    catalog.close()


@pytest.mark.parametrize(
    "text", ["what was the CATALOG_TTL decided as, in seconds", "catalog cache ttl now"]
)
def test_the_newest_word_comes_first(ask, text):
    hits = ask(text)
    assert [hit.day for hit in hits[:2]] == ["2026-03-20", "2026-01-05"]
    assert hits[0].score >= hits[1].score and [hit.rank for hit in hits] == list(
        range(1, len(hits) + 1)
    )
    assert hits[0].confidence >= hits[1].confidence
    assert [hit.day for hit in ask(text, limit=1)] == ["2026-03-20"]  # however few are asked for


def test_a_chain_of_stated_changes_is_followed_to_its_end(ask):
    text = "where does redis hold the carts of visitors"
    chain = ["2026-05-03", "2026-03-20", "2026-01-05"]
    hits = ask(text)
    assert [hit.day for hit in hits[:3]] == chain
    assert [hit.supersedes for hit in hits[:2]] == [[hits[1].id], [hits[2].id]]
    assert hits[0].confidence >= hits[2].confidence
    assert [hit.day for hit in ask(text, limit=1)] == chain[:1]
    days = [hit.day for hit in ask(f"{text} before:2026-04-01")]
    assert days[:2] == chain[1:] and chain[0] not in days
    hits = ask(f"{text} -payroll")
    assert [hit.day for hit in hits[:2]] == chain[1:]
    assert not any("Lowered" in hit.text for hit in hits)
    assert ask("where did redis hold the carts of visitors originally")[0].day == chain[2]


def test_it_says_so_where_it_moved_something(ask):
    moved = ask("what was the CATALOG_TTL decided as, in seconds")[0]
    assert any(
        reason.startswith("newer version of the note of 2026-01-05 (") for reason in moved.reasons
    )
    assert moved.scores["newer"] >= 0.65 and "newer" not in ask("nightly backup")[0].scores


def test_the_past_is_found_where_it_is_asked_for(ask):
    assert ask("what was the CATALOG_TTL originally decided as, in seconds")[0].day == "2026-01-05"
    assert (
        ask("what was the CATALOG_TTL decided as, in seconds before:2026-03-01")[0].day
        == "2026-01-05"
    )


def test_another_topic_and_another_project_are_not_moved(ask):
    assert ask("nightly backup")[0].text == "- Moved the nightly backup to 02:30"
    text = "what was the CATALOG_TTL decided as, in seconds"
    hits = {(hit.row.project, hit.day): hit for hit in ask(text, among=2)}
    newer, older = hits["id-shop", "2026-03-20"], hits["id-fork", "2026-01-05"]
    same = {(one.id, other.id): 2.0 for one in hits.values() for other in hits.values()}
    found = [older, newer]
    reorder._newest_first(parse(text), found, same, set(), {}, {})
    assert found == [older, newer]
    found = [hits["id-shop", "2026-01-05"], newer]
    said = {(found[0].id, newer.id): False}  # the owner says that it is about something else
    reorder._newest_first(parse(text), found, same, set(), said, {})
    assert found[1] is newer
    reorder._newest_first(parse(text), found, same, set(), {}, {})
    assert found[0] is newer


def test_a_note_with_the_name_that_was_asked_for_is_not_put_behind_one_without(ask):
    assert [hit.day for hit in ask("printer firmware 4.1 update")][:2] == [
        "2026-04-02",
        "2026-05-03",
    ]


class Squeezed:
    """The default embedder with a number added to every vector: all cosines lie above 0.9."""

    def __init__(self, embedder) -> None:
        self._embedder = embedder
        self.dimension = embedder.dimension + 1
        self.fingerprint, self.model = f"{embedder.fingerprint}-squeezed", embedder.model

    def query(self, text: str) -> np.ndarray:
        return self._squeezed(self._embedder.query(text)[None])[0]

    def passages(self, texts: list[str], cancelled=lambda: False) -> np.ndarray:
        return self._squeezed(self._embedder.passages(texts, cancelled))

    def _squeezed(self, vectors: np.ndarray) -> np.ndarray:
        longer = np.c_[vectors, np.full(len(vectors), 3.0)].astype(np.float32)
        return longer / np.linalg.norm(longer, axis=1, keepdims=True)


QUERIES = [
    "what was the CATALOG_TTL decided as, in seconds",
    "how long is the catalog cached",
    "nightly backup",
    "printer firmware update",
    "how are webhooks checked",
    "invoice numbers without gaps",
    "shelf 17 in the warehouse",
]


@pytest.mark.slow
def test_the_order_of_hits_does_not_depend_on_the_scale_of_a_models_cosines(tmp_path):
    memory = tmp_path / ".memsearch" / "memory"
    memory.mkdir(parents=True)
    routine = [
        f"Counted shelf {n} in hall {n % 7}: {n * 13 % 97} boxes, {n % 5} damaged"
        for n in range(200)
    ]
    for day, notes in {**NOTES, "2026-01-02": routine}.items():
        text = "".join(
            f"### {10 + n // 60}:{n % 60:02d}\n- {note}\n\n" for n, note in enumerate(notes)
        )
        (memory / f"{day}.md").write_text(f"# {day}\n\n{text}", encoding="utf-8")
    project = Project("id", "shop", "ms_shop_0", str(tmp_path), str(memory))
    home, settings = Home(tmp_path / "home").ensure(), Settings()
    plain = load_embedder(home, settings.embedding)
    orders = []
    with contextlib.closing(Catalog(home.cache_db, writable=True)) as catalog:
        scan(catalog, project.id, [project.memory], settings, memory=project.memory)
        for embedder in (plain, Squeezed(plain)):
            with contextlib.closing(VectorIndex(home, settings.milvus, embedder)) as index:
                index.embed(index.missing(catalog, project.id))
                index.reconcile(catalog, project.id, project.collection)
                sources = Sources(catalog, index, [project])
                answers = [hybrid.search(sources, parse(text, limit=3)) for text in QUERIES]
                orders.append([[hit.id for hit in answer] for answer in answers])
                assert answers[0].hits[0].supersedes  # the newer decision comes first
    same = sum(one[:1] == other[:1] for one, other in zip(*orders))
    assert same == len(QUERIES) and orders[0][0][:2] == orders[1][0][:2]
