"""Projects that are too large for Milvus Lite's BM25: the catalog compares their words, with the
same answers.
"""

from __future__ import annotations

import contextlib

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import MilvusSettings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import load as load_embedder
from memsearch_engine.index.scan import scan
from memsearch_engine.index.stores import lite
from memsearch_engine.index.stores.base import NoStore
from memsearch_engine.index.stores.lite import Lite
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import hybrid
from memsearch_engine.search.request import parse
from memsearch_engine.search.retrieve import Sources

LITE = MilvusSettings(lite=True)
AGENTS = ("claude-code", "codex")
TOPICS = (
    "redis cache ttl",
    "postgres pool size",
    "rollout canary weight",
    "websocket reconnect backoff",
    "缓存 失效 策略",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two projects with notes of two agents, indexed."""
    home = Home(tmp_path_factory.mktemp("home")).ensure()
    settings = Settings(milvus=LITE)
    catalog = Catalog(home.cache_db, writable=True)
    space = VectorIndex(home, settings.milvus, load_embedder(home, settings.embedding))
    projects = []
    for name in ("shop", "gateway"):
        memory = tmp_path_factory.mktemp(name) / ".memsearch" / "memory"
        memory.mkdir(parents=True)
        for day in range(1, 9):
            entries = [f"# 2026-03-0{day}\n"]
            for number, topic in enumerate(TOPICS):
                agent = AGENTS[(day + number) % 2]
                entries.append(
                    f"### 1{number}:00\n<!-- agent:{agent} session:{name}-{day}_{agent[:2]} "
                    f"turn:t{day}{number} transcript:/t.jsonl -->\n"
                    f"- {topic} of {name}, step {day}\n"
                    f"- settled `{topic.split()[0]}_{day}` in src/{name}/mod{number}.py\n"
                )
            (memory / f"2026-03-0{day}.md").write_text("\n".join(entries), encoding="utf-8")
        (memory / "2026-03-09.md").write_text(
            "### 10:00\n- the same words twice\n", encoding="utf-8"
        )
        (memory / "2026-03-10.md").write_text(
            "### 10:00\n- the same words twice\n", encoding="utf-8"
        )
        project = Project(
            f"id-{name}", name, f"ms_{name}_0", str(memory.parent.parent), str(memory)
        )
        scan(catalog, project.id, [project.memory], settings, memory=project.memory)
        space.embed(space.missing(catalog, project.id))
        space.reconcile(catalog, project.id, project.collection)
        projects.append(project)
    yield catalog, space, projects
    space.close()
    catalog.close()


QUERIES = (
    "redis cache",
    "postgres_3",
    "src/gateway/mod2.py",
    "canary weigth",
    "缓存 策略",
    "the same words twice",
    "pool size agent:codex",
    "backoff session:shop-4",
    "backoff session:shop-4_c",
    "redis day:2026-03-05",
    "redis after:2026-03-06 before:2026-03-07",
    'step "of shop"',
    "nowhere",
)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["bm25", "hybrid"])
@pytest.mark.parametrize("text", QUERIES)
def test_the_catalog_answers_as_milvus_does(world, monkeypatch, text, mode):
    catalog, space, projects = world

    def ask() -> list[tuple[str, str]]:
        answer = hybrid.search(
            Sources(catalog, space, projects), parse(text, limit=100, mode=mode)
        )  # all: ties are broken differently
        assert answer.mode == mode or not answer.hits
        return [
            (hit.row.day, hit.row.entry_id)
            for hit in answer.hits
            if mode == "bm25" or "bm25" in hit.scores
        ]

    by_milvus = ask()
    monkeypatch.setattr(lite, "WORDS_MOST", 0)
    monkeypatch.setattr(Lite, "bm25", None)  # not asked
    by_catalog = ask()
    assert sorted(by_catalog) == sorted(by_milvus)
    if text in ("postgres_3", "src/gateway/mod2.py", "canary weigth"):
        assert by_catalog[0][1] in {
            entry for _, entry in by_milvus[:8]
        }  # ties aside, the best is the best
    assert bool(by_catalog) == (text != "nowhere")


def test_confidence_falls_down_the_list_and_does_not_depend_on_the_limit(world):
    catalog, space, projects = world
    answer = hybrid.search(Sources(catalog, space, projects), parse("redis_3 cache ttl", limit=10))
    sure = [hit.confidence for hit in answer.hits]
    assert sure == sorted(sure, reverse=True) and sure[0] > 0.25 and not answer.is_unsure
    assert {"above", "coverage", "special"} <= set(answer.hits[0].scores)
    first = hybrid.search(
        Sources(catalog, space, projects), parse("redis_3 cache ttl", limit=1)
    ).hits
    assert [hit.confidence for hit in first] == sure[:1]
    nowhere = hybrid.search(
        Sources(catalog, space, projects), parse("loyalty kangaroo giraffe", limit=10)
    )
    assert nowhere.hits and max(hit.confidence for hit in nowhere.hits) < 0.5 < sure[0]
    foreign = hybrid.search(Sources(catalog, space, projects), parse("缓存 失效", limit=10))
    assert "above" not in foreign.hits[0].scores and foreign.hits[0].confidence is not None
    for mode in ("dense", "bm25", "lexical"):
        answer = hybrid.search(
            Sources(catalog, space, projects), parse("redis cache", limit=5, mode=mode)
        )
        assert {hit.confidence for hit in answer.hits} == {None} and not answer.is_unsure


def test_milvus_is_not_opened_for_a_large_project_without_changes(world, monkeypatch):
    catalog, space, projects = world
    opened: list[str] = []
    monkeypatch.setattr(lite, "WORDS_MOST", 0)
    monkeypatch.setattr(
        Lite, "ensure", lambda self, collection, dimension: opened.append(collection)
    )
    assert space.reconcile(catalog, projects[0].id, projects[0].collection) == (0, 0)
    space.warm(projects[0].collection)
    assert opened == [] and not space.ranks_words(projects[0].collection)


@pytest.mark.slow
def test_what_is_written_and_deleted_in_a_large_project_is_found_and_gone(world, monkeypatch):
    catalog, space, (project, _) = world
    monkeypatch.setattr(lite, "WORDS_MOST", 0)
    day = f"{project.memory}/2026-04-01.md"

    def sync() -> list[str]:
        scan(catalog, project.id, [project.memory], Settings(), memory=project.memory)
        space.embed(space.missing(catalog, project.id))
        space.reconcile(catalog, project.id, project.collection)
        answer = hybrid.search(
            Sources(catalog, space, [project]), parse("quokka enclosure", limit=5)
        )
        assert answer.mode == "hybrid" and answer.reason == ""
        return [
            hit.row.day for hit in answer.hits if "bm25" in hit.scores and "dense" in hit.scores
        ]

    with open(day, "w", encoding="utf-8") as file:
        file.write("### 10:00\n- quokka enclosure is open\n")
    assert sync() == ["2026-04-01"]
    with open(day, "w", encoding="utf-8") as file:
        file.write("### 10:00\n- nothing more\n")
    assert sync() == []


@pytest.mark.slow
def test_vectors_of_another_layout_are_made_again(world, tmp_path):
    import sqlite3

    catalog, space, (project, _) = world
    home = Home(tmp_path / "home").ensure()
    folder = home.index / space.fingerprint
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "vectors.db") as old:
        old.execute(
            "CREATE TABLE vectors (text_hash TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        )
    old.close()
    other = VectorIndex(home, Settings().milvus, space.embedder)
    try:
        assert other.embed(other.missing(catalog, project.id)) > 0
        assert other.reconcile(catalog, project.id, project.collection)[0] > 0
    finally:
        other.close()


@pytest.mark.slow
def test_a_large_project_leaves_milvus_lite_and_a_small_one_comes_back(
    world, tmp_path, monkeypatch
):
    catalog, space, (project, _) = world
    home = Home(tmp_path / "home").ensure()
    collection, rows = (
        project.collection,
        len({key.chunk_id for key in catalog.chunk_keys(project.id)}),
    )

    def opened() -> contextlib.closing[VectorIndex]:
        return contextlib.closing(VectorIndex(home, LITE, space.embedder, later=True))

    def answers(index: VectorIndex) -> list[str]:
        index.reconcile(catalog, project.id, collection)
        found = hybrid.search(Sources(catalog, index, [project]), parse("redis cache", limit=5))
        assert found.mode == "hybrid" and found.reason == ""
        return [hit.id for hit in found.hits]

    with opened() as index:
        assert index.needs_store()
        index.embed(index.missing(catalog, project.id))
        before = answers(index)
        assert index.store.count(collection) == rows == index.chunk_count(collection)
        monkeypatch.setattr(lite, "WORDS_MOST", rows - 1)
        assert answers(index) == before
        assert index.store.count(collection) == 0 and index.chunk_count(collection) == rows
        index.forget("of another project")
    with opened() as index:
        assert not index.needs_store() and answers(index) == before
        assert isinstance(index.store, NoStore) and not index.ranks_words(collection)
        monkeypatch.setattr(lite, "WORDS_MOST", rows)  # within a fifth: stays out
        assert answers(index) == before and isinstance(index.store, NoStore)
        monkeypatch.setattr(lite, "WORDS_MOST", 2 * rows)
        assert answers(index) == before
        assert index.store.count(collection) == rows and index.ranks_words(collection)
    with opened() as index:
        assert index.needs_store()


def test_without_lite_the_catalog_ranks_all_words_and_the_data_of_lite_go(
    world, tmp_path, monkeypatch
):
    catalog, space, (project, _) = world
    home = Home(tmp_path / "home").ensure()
    (home.index / space.fingerprint / "milvus.db").mkdir(parents=True)
    opened: list[str] = []
    monkeypatch.setattr(Lite, "__init__", lambda *_: opened.append("lite"))
    index = VectorIndex(home, MilvusSettings(lite=False), space.embedder)
    with contextlib.closing(index):
        assert not index.needs_store() and not (index.folder / "milvus.db").exists()
        index.embed(index.missing(catalog, project.id))
        assert index.reconcile(catalog, project.id, project.collection)[0] > 0
        found = hybrid.search(Sources(catalog, index, [project]), parse("redis cache", limit=5))
        assert found.mode == "hybrid" and found.reason == ""
        assert any("bm25" in hit.scores for hit in found.hits)
        index.rebuild()
        assert not index.ranks_words(project.collection)
    assert opened == []
