"""The catalog ranks the words of a search by meaning and words, in projects of every size."""

from __future__ import annotations

import math
from contextlib import closing

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import load as load_embedder
from memsearch_engine.index.rows import Filter, comparable
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import hybrid, lexical, retrieve
from memsearch_engine.search.request import SearchRequest, parse
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.spelling import correct

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
    settings = Settings()
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


def test_mistyped_words_of_a_prompt_are_replaced_but_not_listed(world):
    catalog = world[0]
    text = "raise the websokcet backoff"
    terms = analyze.query_terms(text)
    fixed, listed = correct(catalog, terms, parse(text))
    assert listed == {"websokcet": ["websocket"]}
    prompt = SearchRequest.of_words(text, is_prompt=True)
    assert correct(catalog, terms, prompt) == (fixed, {})


def bm25(notes: dict[str, list[str]], terms: list[str], rows: list[str]) -> dict[str, float]:
    """BM25 with the weights of Lucene and Milvus.

    Args:
        notes: name -> terms, of all notes.
        rows: names of the notes to score.
    """
    average = sum(map(len, notes.values())) / len(notes)
    scores: dict[str, float] = {}
    for term in terms:
        count = sum(term in has for has in notes.values())
        weight = math.log(1 + (len(notes) - count + 0.5) / (count + 0.5))
        for name in rows:
            found = notes[name].count(term)
            if found:
                norm = 1.2 * (0.25 + 0.75 * len(notes[name]) / average)
                part = weight * found * 2.2 / (found + norm)
                scores[name] = scores.get(name, 0.0) + part
    return scores


@pytest.mark.parametrize("mode", ["bm25", "hybrid"])
@pytest.mark.parametrize("text", QUERIES)
def test_words_are_found_in_every_mode(world, text, mode):
    catalog, space, projects = world
    answer = hybrid.search(Sources(catalog, space, projects), parse(text, limit=100, mode=mode))
    assert answer.mode == mode or not answer.hits
    found = [hit for hit in answer.hits if "bm25" in hit.scores]
    assert bool(found) == (text != "nowhere")


@pytest.mark.parametrize(
    "terms",
    [
        "redis",
        "shop",
        "step",
        "settled",
        "redis step",
        "of step 3",
        "cache ttl of redis",
        "canary 3",
    ],
)
def test_the_catalog_weights_frequent_and_rare_words_as_bm25_does(world, terms):
    """FTS5 gives no weight to a word of half of the notes; a word may be in all of a few notes."""
    catalog, _, (project, _) = world
    texts = catalog.database.query(
        "SELECT c.chunk_id, c.text, e.project FROM chunks c JOIN entries e ON e.id = c.entry"
    )
    notes = {f"{of} {name}": analyze.terms(text) for name, text, of in texts}
    own = [name for name in notes if name.startswith(f"{project.id} ")]
    words = analyze.query_terms(terms)
    expected = {name.split()[1]: score for name, score in bm25(notes, words, own).items()}
    ranked = lexical.ranked(catalog, [project], words, 100, Filter())
    found = [(name, score) for (_, name), score in ranked]
    assert dict(found).keys() == expected.keys() and expected
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    for name, score in found:
        assert score == pytest.approx(expected[name], abs=0.4 * len(words))


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


@pytest.mark.parametrize("mode", ["bm25", "lexical"])
def test_words_of_several_projects_are_ranked_as_in_one_project(world, tmp_path, monkeypatch, mode):
    space = world[1]
    monkeypatch.setattr(retrieve, "_OVERFETCH", 1)  # fewer candidates than notes
    notes = [f"### 10:00\n- redis {'cache ' * n}in step {n}\n" for n in range(1, 25)]

    def hits(texts: list[list[str]]) -> list[tuple[str, float]]:
        """The hits of a search in projects with these notes."""
        root, projects = tmp_path / str(len(texts)), []
        with closing(Catalog(tmp_path / f"{len(texts)}.db", writable=True)) as catalog:
            for number, some in enumerate(texts):
                memory = root / str(number) / ".memsearch" / "memory"
                memory.mkdir(parents=True)
                for day, text in enumerate(some, 1):
                    (memory / f"2026-05-{day:02}.md").write_text(text, encoding="utf-8")
                name = f"{len(texts)}_{number}"
                project = Project(f"id-{name}", name, f"ms_{name}_0", str(root), str(memory))
                scan(catalog, project.id, [project.memory], Settings(), memory=project.memory)
                space.embed(space.missing(catalog, project.id))
                space.reconcile(catalog, project.id, project.collection)
                projects.append(project)
            request = parse("redis cache", limit=3, mode=mode)
            answer = hybrid.search(Sources(catalog, space, projects), request)
        return [(hit.row.text, round(hit.score, 4)) for hit in answer.hits]

    found = hits([notes[::3], notes[1::3], notes[2::3]])
    assert found == hits([notes]) and len(found) == 3


def test_the_nearest_notes_of_several_projects_are_the_nearest_of_each(world, monkeypatch):
    catalog, space, projects = world

    def nearest(some: list[Project], limit: int) -> list[tuple[str, str]]:
        sources = Sources(catalog, space, some)
        request = parse("pool size", limit=limit, mode="dense")
        found = retrieve.retrieve(sources, request, retrieve.IndexCompleteness.of(sources))
        scores = {key: near.score for key, near in found.models[0].found.items()}
        return sorted(scores, key=lambda key: (-comparable(scores[key]), key))

    every = nearest(projects, 10)
    monkeypatch.setattr(retrieve, "_OVERFETCH", 1)
    first = nearest(projects, 3)
    assert first == every[:12] and len({owner for owner, _ in first}) == 2
    for project in projects:
        own = [key for key in first if key[0] == project.id]
        assert nearest([project], 3)[: len(own)] == own


@pytest.mark.slow
def test_what_is_written_and_deleted_is_found_and_gone(world):
    catalog, space, (project, _) = world
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
