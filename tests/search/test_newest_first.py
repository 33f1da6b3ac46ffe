"""What was decided last comes before what it replaces; not where the past is asked for."""

from __future__ import annotations

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
        "Catalog cache: `CATALOG_TTL` decided as 300 seconds, marketing edits prices by hand"
    ],
    "2026-02-11": [
        "Moved the nightly backup to 02:30",
        "Invoices are numbered per shop, without gaps",
    ],
    "2026-03-20": [
        "Catalog cache: `CATALOG_TTL` is 900 seconds from today, stock is no longer cached"
    ],
    "2026-05-03": ["The label printer got its firmware update again"],
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


def test_it_says_so_where_it_moved_something(ask):
    moved = ask("what was the CATALOG_TTL decided as, in seconds")[0]
    assert any(
        reason.startswith("newer version of the note of 2026-01-05 (alike 0.")
        for reason in moved.reasons
    )
    assert moved.scores["newer"] >= 0.65 and "newer" not in ask("nightly backup")[0].scores


def test_the_past_is_found_where_it_is_asked_for(ask):
    assert ask("what was the CATALOG_TTL originally decided as, in seconds")[0].day == "2026-01-05"
    assert (
        ask("what was the CATALOG_TTL decided as, in seconds before:2026-03-01")[0].day
        == "2026-01-05"
    )


def test_another_matter_and_another_project_are_not_moved(ask):
    assert ask("nightly backup")[0].text == "- Moved the nightly backup to 02:30"
    text = "what was the CATALOG_TTL decided as, in seconds"
    hits = {(hit.row.project, hit.day): hit for hit in ask(text, among=2)}
    newer, older = hits["id-shop", "2026-03-20"], hits["id-fork", "2026-01-05"]
    same = {(hit.row.project, hit.row.chunk_id): np.ones(1) for hit in hits.values()}
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
