"""The store on `milvus-lite server`, and on any other server that the environment names."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import numpy as np
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.index import analyze
from memsearch_engine.index.hubness import QueryVector
from memsearch_engine.index.milvus import MilvusServerStore, StoreRow
from memsearch_engine.index.rows import Filter

from tests.conftest import until

DIMENSION = 8


def row(name: str, words: str = "x", axis: int = 0, **kwargs: str) -> StoreRow:
    vector = np.full(DIMENSION, 0.01, np.float32)
    vector[axis] = 1.0
    fields = {"day": "2026-01-01", "agent": "codex", "session": "s", "kind": "turn", **kwargs}
    return StoreRow(name, vector / np.linalg.norm(vector), " ".join(analyze.terms(words)), **fields)


def axis(n: int) -> np.ndarray:
    vector = np.zeros(DIMENSION, np.float32)
    vector[n] = 1.0
    return vector


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """`milvus-lite server` on a free port of 127.0.0.1."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = Path(sys.executable).with_name("milvus-lite")
    if not command.exists():
        pytest.skip("no milvus-lite command in this environment")
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [
                command,
                "server",
                "--data-dir",
                folder / "data.db",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
            ],
            stdout=log,
            stderr=log,
            env={**os.environ, "HOME": str(folder)},
        )

    def listens() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        with socket.socket() as peer:
            return peer.connect_ex(("127.0.0.1", port)) == 0

    until(listens, 60, "milvus-lite server")
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(20)


@pytest.fixture(scope="module", params=["server", "environment"])
def store(request):
    if request.param == "server":
        store = MilvusServerStore(request.getfixturevalue("server"), "", "memsearch_test")
    else:
        uri = os.environ.get("MEMSEARCH_TEST_MILVUS_URI")
        if not uri:
            pytest.skip("MEMSEARCH_TEST_MILVUS_URI is not set")
        store = MilvusServerStore(
            uri,
            os.environ.get("MEMSEARCH_TEST_MILVUS_TOKEN", ""),
            f"memsearch_test_{uuid.uuid4().hex[:8]}",
        )
    yield store
    store.close()


@pytest.fixture
def name(store):
    """A collection's name; it is gone afterwards."""
    name = f"ms_test_{uuid.uuid4().hex[:8]}"
    yield name
    store.drop(name)


@pytest.fixture
def filled(store, name):
    store.ensure(name, DIMENSION)
    store.upsert(
        name,
        [
            row(
                "a",
                "redis cache ttl",
                0,
                day="2026-01-01",
                agent="codex",
                session="one",
                kind="turn",
            ),
            row(
                "b",
                "redis redis redis",
                1,
                day="2026-01-02",
                agent="claude-code",
                session="two",
                kind="note",
            ),
            row(
                "c",
                "postgres staging PLAT-4821",
                2,
                day="2026-01-03",
                agent="codex",
                session='q"uo\\te',
                kind="turn",
            ),
            row("d", "部署脚本", 3, day="", agent="", session="", kind="note"),
        ],
    )
    store.flush()
    return name


def test_dense_is_cosine_best_first(store, filled):
    found = store.dense(filled, axis(2), 10, Filter())
    assert [chunk for chunk, _ in found][0] == "c" and len(found) == 4
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True) and 0.99 < scores[0] <= 1.001 and scores[-1] < 0.1
    assert len(store.dense(filled, axis(2), 2, Filter())) == 2
    assert store.dense(filled, axis(2), 0, Filter()) == []


def test_bm25_is_positive_and_best_first(store, filled):
    found = store.bm25(filled, analyze.query_terms("redis"), 10, Filter())
    assert [chunk for chunk, _ in found] == ["b", "a"]
    assert found[0][1] > found[1][1] > 0
    rare = store.bm25(filled, analyze.query_terms("redis ttl"), 10, Filter())
    assert {chunk for chunk, _ in rare} == {"a", "b"} and all(score > 0 for _, score in rare)
    assert store.bm25(filled, ["nowhere"], 10, Filter()) == []
    assert store.bm25(filled, [], 10, Filter()) == []


@pytest.mark.parametrize(
    ("words", "wanted"), [("PLAT-4821", "c"), ("plat", "c"), ("部署", "d"), ("脚本", "d")]
)
def test_terms_find_parts_and_wholes(store, filled, words, wanted):
    assert [chunk for chunk, _ in store.bm25(filled, analyze.query_terms(words), 5, Filter())] == [
        wanted
    ]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (Filter(agents=("codex",)), "ac"),
        (Filter(agents=("codex", "claude-code")), "abc"),
        (Filter(kinds=("note",)), "bd"),
        (Filter(sessions=("one",)), "a"),
        (Filter(sessions=('q"uo\\te',)), "c"),
        (Filter(first_day="2026-01-02"), "bc"),
        (Filter(last_day="2026-01-02"), "ab"),
        (Filter(agents=("codex",), first_day="2026-01-02", last_day="2026-01-09"), "c"),
        (Filter(agents=("nobody",)), ""),
        (Filter(sessions=('x" or session != "',)), ""),
        (Filter(sessions=("\\",)), ""),
        (Filter(sessions=("%", "_", "'", "{x}", "a\nb", "日本", "one")), "a"),
    ],
)
def test_filters(store, filled, where, wanted):
    assert {chunk for chunk, _ in store.dense(filled, axis(0), 10, where)} == set(wanted)
    by_words = {chunk for chunk, _ in store.bm25(filled, ["redi", "postgr", "部署"], 10, where)}
    assert by_words == set(wanted)


def test_upsert_replaces_and_delete_removes(store, filled):
    store.upsert(filled, [row("a", "kafka", 5, agent="openclaw")])
    store.flush()
    assert store.count(filled) == 4 and store.ids(filled) == {"a", "b", "c", "d"}
    assert [c for c, _ in store.bm25(filled, ["kafka"], 5, Filter())] == ["a"]
    assert [c for c, _ in store.bm25(filled, ["ttl"], 5, Filter())] == []
    assert store.dense(filled, axis(5), 1, Filter(agents=("openclaw",)))[0][0] == "a"
    store.delete(filled, ["a", "b", "not there"])
    store.flush()
    assert store.count(filled) == 2 and store.ids(filled) == {"c", "d"}
    assert {c for c, _ in store.dense(filled, axis(0), 9, Filter())} == {"c", "d"}
    assert store.bm25(filled, analyze.query_terms("redis"), 5, Filter()) == []
    store.delete(filled, [])
    store.upsert(filled, [])


def test_an_empty_collection_and_none(store, name):
    assert store.count(name) == 0
    assert (
        store.dense(name, axis(0), 5, Filter()) == [] and store.bm25(name, ["x"], 5, Filter()) == []
    )
    store.ensure(name, DIMENSION)
    assert store.count(name) == 0 and store.ids(name) == set()
    assert (
        store.dense(name, axis(0), 5, Filter()) == [] and store.bm25(name, ["x"], 5, Filter()) == []
    )
    store.delete(name, ["x"])
    store.flush()
    store.drop(name)
    store.drop(name)


def test_values_at_their_limits(store, name):
    store.ensure(name, DIMENSION)
    store.upsert(
        name,
        [
            row("empty", "", 0),
            row("long", " ".join(f"w{n}" for n in range(30_000)), 1),
            row("wide", "部署脚本改用了蓝绿发布" * 5_000, 2, session="日" * 600),
        ],
    )
    store.flush()
    assert store.count(name) == 3
    assert [c for c, _ in store.bm25(name, ["w7"], 5, Filter())] == ["long"]


def test_more_than_a_batch(store, name):
    store.ensure(name, DIMENSION)
    store.upsert(name, [row(f"c{n:05d}", f"word{n}", n % DIMENSION) for n in range(1_203)])
    store.flush()
    assert store.count(name) == 1_203 and len(store.ids(name)) == 1_203
    assert [c for c, _ in store.bm25(name, ["word777"], 3, Filter())][:1] == ["c00777"]
    store.delete(name, [f"c{n:05d}" for n in range(1_000)])
    store.flush()
    assert store.count(name) == 203


def test_another_dimension_replaces_the_collection(store, name):
    store.ensure(name, DIMENSION)
    store.upsert(name, [row("a")])
    store.drop(name)
    store.ensure(name, 4)
    assert store.count(name) == 0
    store.upsert(name, [StoreRow("b", np.ones(4, np.float32) / 2, "x", "", "", "", "note")])
    assert store.count(name) == 1


def test_many_threads_make_one_collection(store, name):
    gate, failed = threading.Barrier(8), []

    def ensure() -> None:
        gate.wait(10)
        try:
            store.ensure(name, DIMENSION)
            store.dense(name, axis(0), 3, Filter())
        except Exception as error:
            failed.append(repr(error)[:200])

    threads = [threading.Thread(target=ensure) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failed == []


def test_readers_while_a_writer_writes(store, filled):
    done, failed = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            try:
                found = store.dense(filled, axis(0), 5, Filter())
                store.bm25(filled, ["redi"], 5, Filter())
                if not found:
                    failed.append("nothing")
            except Exception as error:
                failed.append(repr(error)[:200])

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for round_ in range(5):
        store.upsert(filled, [row(f"n{round_}-{n}", "more", n % DIMENSION) for n in range(50)])
        store.flush()
    done.set()
    for thread in threads:
        thread.join(30)
    assert failed[:3] == [] and store.count(filled) == 254


def test_a_server_that_is_not_there_is_named():
    from memsearch_engine.core.errors import Unreachable

    with pytest.raises(Unreachable, match=r"127.0.0.1:9"):
        MilvusServerStore("http://127.0.0.1:9", "", "memsearch_x")


class Letters:
    """A tiny real embedder: a vector of letter counts. Another name is another space."""

    def __init__(self, name: str, dimension: int, turn: int = 0) -> None:
        self.fingerprint, self.dimension, self.turn = name, dimension, turn

    def query(self, text: str) -> np.ndarray:
        vector = np.full(self.dimension, 0.01, np.float32)
        for sign in text.lower():
            if sign.isascii() and sign.isalpha():
                vector[(ord(sign) + self.turn) % self.dimension] += 1
        return vector / np.linalg.norm(vector)

    def passages(self, texts, cancelled=lambda: False):
        return np.stack([self.query(text) for text in texts])


@pytest.mark.parametrize(
    "second", [Letters("two", 16), Letters("two", 8, 3)], ids=["other dimension", "same dimension"]
)
def test_going_back_to_an_earlier_model_on_a_server(server, tmp_path, second):
    """On a server both models' spaces would share one collection; going back must not search the
    other's vectors.
    """
    from memsearch_engine.core.settings import Settings
    from memsearch_engine.core.settings_schema import MilvusSettings
    from memsearch_engine.index.catalog import Catalog
    from memsearch_engine.index.scan import scan
    from memsearch_engine.index.vector_index import VectorIndex

    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "2026-01-01.md").write_text("### 10:00\n- aaaa bbbb\n\n### 11:00\n- yyyy zzzz\n")
    home = Home(tmp_path / "h").ensure()
    catalog = Catalog(home.cache_db, writable=True)
    scan(catalog, "p", [str(notes)], Settings(), memory=str(notes))
    collection = f"ms_back_{uuid.uuid4().hex[:8]}"
    first = Letters("one", 8)
    for embedder in (first, second, first):
        space = VectorIndex(home, MilvusSettings(uri=server), embedder)
        space.embed(space.missing(catalog, "p"))
        space.reconcile(catalog, "p", collection)
        found = space.nearest(collection, space.ask("- yyyy zzzz"), 5, Filter())
        assert len(found) == 2 and found[0][1].cosine > 0.999, (embedder.fingerprint, found)
        space.close()
    catalog.close()
    shutil.rmtree(home.index)


def test_a_server_s_hits_are_corrected_as_those_in_memory_are(server, tmp_path):
    from memsearch_engine.core.settings import Settings
    from memsearch_engine.core.settings_schema import MilvusSettings
    from memsearch_engine.index.catalog import Catalog
    from memsearch_engine.index.scan import scan
    from memsearch_engine.index.vector_index import VectorIndex

    notes = tmp_path / "notes"
    notes.mkdir()
    words = ["aaab", "bbba", "cdcd", "dcdc", "efgh", "hgfe", "abcdefgh", "aabbccddeeffgghh", "gggg"]
    file = notes / "2026-01-01.md"
    file.write_text("".join(f"### 1{i}:00\n- {word}\n\n" for i, word in enumerate(words)))
    home = Home(tmp_path / "h").ensure()
    catalog = Catalog(home.cache_db, writable=True)
    collection, embedder, query = (
        f"ms_hub_{uuid.uuid4().hex[:8]}",
        Letters("one", 8),
        Letters("one", 8).query("aab"),
    )

    def answers() -> list[dict[tuple[str, str], float]]:
        scan(catalog, "p", [str(notes)], Settings(), memory=str(notes))
        found = []
        for space in spaces:
            space.embed(space.missing(catalog, "p"))
            space.reconcile(catalog, "p", collection)
            near = dict(space.nearest(collection, QueryVector(query), 5, Filter()))
            near |= space.cosines(
                collection,
                QueryVector(query),
                [row[0] for row in catalog.database.query("SELECT chunk_id FROM chunks")],
            )
            found.append(
                {
                    (name, part): n
                    for name, both in near.items()
                    for part, n in both._asdict().items()
                }
            )
        return found

    other = Home(tmp_path / "other").ensure()
    spaces = [
        VectorIndex(home, MilvusSettings(), embedder),
        VectorIndex(other, MilvusSettings(uri=server), embedder),
    ]
    try:
        local, remote = answers()
        assert local == pytest.approx(remote, abs=1e-4)
        assert any(
            abs(value) > 1e-4 for (_, part), value in local.items() if part == "hubness_correction"
        )
        file.write_text(file.read_text() + "### 20:00\n- aaba\n")
        again, remote = answers()
        assert again == pytest.approx(remote, abs=1e-4) and again.keys() != local.keys()
    finally:
        for space in spaces:
            space.close()
        catalog.close()
