"""What a note is near to anyway is taken off: the same numbers however the vectors came, and a hub
falls behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import MilvusSettings
from memsearch_engine.index import hubness
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.hubness import HubnessSample, QueryVector, sampled
from memsearch_engine.index.rows import Filter
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.index.vectors.search import VectorCache
from memsearch_engine.search.supersession import notes

DIMENSION = 24
SCALARS = "2026-01-01\x1fcodex\x1fs\x1fturn"


def rows(numbers) -> list[tuple[str, str, bytes]]:
    """Chunks with a vector each: (id, scalars, bytes), the same for the same number."""
    found = []
    for number in numbers:
        seed = int.from_bytes(str(number).encode()[-7:])
        vector = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32) + 0.4
        chunk_id = hashlib.sha256(str(number).encode()).hexdigest()[:16]
        found.append((chunk_id, SCALARS, (vector / np.linalg.norm(vector)).tobytes()))
    return found


def by_id(held: VectorCache) -> dict[str, float]:
    return dict(zip(held.ids.tolist(), held.corrections.tolist()))


@pytest.mark.parametrize("size", [5, 200])
def test_changed_by_and_by_or_read_at_once_is_the_same(monkeypatch, size):
    monkeypatch.setattr(hubness, "SAMPLE", 40)
    random = np.random.default_rng(size)
    there = set(range(size))
    held = VectorCache.of(rows(sorted(there)), DIMENSION)
    kept = 0
    for step in range(60):
        gone = set(random.choice(sorted(there), int(random.integers(0, 3)), replace=False).tolist())
        new = {1000 + 10 * step + i for i in range(random.integers(0, 4))}
        there = there - gone | new
        if step % 3:  # one that was never asked has nothing to hand on
            assert len(held.corrections) == len(held.ids)
        before = held
        held = held.changed(rows(sorted(new)), {row[0] for row in rows(sorted(gone))})
        kept += before._corrections is not None and held._corrections is not None
        anew = by_id(VectorCache.of(rows(sorted(there)), DIMENSION))
        assert by_id(held) == pytest.approx(anew, abs=1e-6)
    assert kept > 5 or size < 40  # and most of it without comparing all again


def test_what_is_near_to_everything_falls_behind_what_is_near_to_this():
    random = np.random.default_rng(1)

    def vector(general: float, special: np.ndarray) -> np.ndarray:
        mixed = np.concatenate(
            [[general], np.sqrt(1 - general**2) * special / np.linalg.norm(special)]
        )
        return mixed.astype(np.float32)

    special = random.normal(size=(300, DIMENSION - 1))
    vectors = {f"note{i:03d}": vector(0.6, row) for i, row in enumerate(special)}
    vectors |= {
        f"routine{i:02d}": vector(0.99, random.normal(size=DIMENSION - 1)) for i in range(10)
    }
    query = vector(0.93, special[7])
    held = VectorCache.of(
        [(name, SCALARS, vector.tobytes()) for name, vector in vectors.items()], DIMENSION
    )
    found = held.nearest(QueryVector(query), 30, Filter())
    by_cosine = sorted(
        held.cosines(QueryVector(query), vectors).items(), key=lambda item: -item[1].cosine
    )
    assert by_cosine[0][0].startswith("routine") and found[0][0] == "note007"
    assert [near.score for _, near in found] == sorted(
        (near.score for _, near in found), reverse=True
    )
    assert dict(found)["note007"] == pytest.approx(
        held.cosines(QueryVector(query), ["note007"])["note007"], abs=2e-5
    )
    assert all(
        near.hubness_correction < 0
        for name, near in held.cosines(QueryVector(query), vectors).items()
        if name.startswith("routine")
    )


def test_equal_vectors_are_in_the_order_of_their_ids_whatever_a_cpu_makes_of_their_last_bit():
    """A matrix product computes the rows at its edges in another way than the others."""
    random = np.random.default_rng(7)
    vector = rows([1])[0][2]
    names = [f"{number:04d}" for number in random.permutation(1037)]
    held = VectorCache.of([(name, SCALARS, vector) for name in names], DIMENSION)
    noise = random.normal(size=len(names)).astype(np.float32) * 2e-8
    held.matrix = held.matrix * (1 + noise[:, None])
    question = QueryVector(np.frombuffer(rows([2])[0][2], np.float32))
    found = held.nearest(question, 20, Filter())
    assert [name for name, _ in found] == sorted(names)[:20] and len(
        {near for _, near in found}
    ) == 1
    assert [name for name, _ in held.neighbours(["0500"], 5)["0500"]] == sorted(names)[:6]


def test_which_sample_it_is_depends_on_what_is_kept_alone():
    """Not on what is computed of it."""
    held, ordinary = rows(range(30)), {"": np.full(DIMENSION, 0.2, np.float32)}
    matrix = np.stack([np.frombuffer(row[2], np.float32) for row in held])
    names = {
        HubnessSample(
            [row[0] for row in held], matrix, [""] * 30, {"": ordinary[""] + last_bit}
        ).name
        for last_bit in (0, 1e-8)
    }
    assert len(names) == 1


def test_a_note_is_not_compared_with_itself_and_too_few_are_not_corrected():
    for count in (0, 1):
        held = VectorCache.of(rows(range(count)), DIMENSION)
        assert held.corrections.tolist() == [0.0] * count
    two = VectorCache.of(rows(range(2)), DIMENSION)
    assert two.corrections == pytest.approx([0.0, 0.0], abs=1e-6)  # each is as near to the other
    held = VectorCache.of(rows(range(30)), DIMENSION)
    outside = HubnessSample(held.ids[:20].tolist(), held.matrix[:20])
    assert outside.hubness_corrections(["another"], held.matrix[:1]) < outside.hubness_corrections(
        [held.ids[0]], held.matrix[:1]
    )


def test_the_sample_is_that_of_the_collection_not_of_its_order(monkeypatch):
    monkeypatch.setattr(hubness, "SAMPLE", 3)
    assert sampled(["d", "b", "a", "c"]) == sampled(["c", "a", "d", "b"]) == ["a", "b", "c"]


def test_background_similarity_leaves_out_the_query_note_and_works_with_few():
    def sample(count: int) -> HubnessSample:
        held = VectorCache.of(rows(range(count)), DIMENSION)
        return HubnessSample(held.ids.tolist(), held.matrix)

    query = np.frombuffer(rows([99])[0][2], np.float32)
    assert (
        sample(1).background(QueryVector(query, "")).z_score(0.5) == 0.5
    )  # one note is near or not by its own score
    few = sample(6)
    note = few._vectors[0]
    others = [float(vector @ note) for vector in few._vectors[1:]]
    background = few.background(QueryVector(note))
    assert background.mean == pytest.approx(
        np.mean(others) + np.mean(few._corrections[1:]), abs=2e-5
    )
    # its deviation lies between that of so few and that of ordinary notes; a query's is that of the
    # notes as they are
    ordinary = hubness._PRIOR_DEVIATION * background.scale
    as_they_are = float(np.std(few._vectors[1:] @ note + few._corrections[1:]))
    assert min(as_they_are, ordinary) < background.deviation < max(as_they_are, ordinary)
    asked = few.background(QueryVector(query, ""))
    assert asked.deviation == pytest.approx(
        np.std(few._vectors @ query + few._corrections), abs=2e-5
    )


def test_what_is_hidden_takes_no_place_among_the_nearest():
    """However many of an agent's own memories are nearer than any note."""
    vectors = np.eye(DIMENSION, dtype=np.float32)
    kinds = ["native"] * 5 + ["turn"]
    held = VectorCache.of(
        [
            (f"c{n}", "\x1f".join(("", "", "", kind)), vectors[n].tobytes())
            for n, kind in enumerate(kinds)
        ],
        DIMENSION,
    )
    asked = QueryVector(vectors[0])
    assert [name for name, _ in held.nearest(asked, 3, Filter())] == ["c5"]
    assert {name for name, _ in held.nearest(asked, 3, Filter(kinds=("native",)))} <= {
        f"c{n}" for n in range(5)
    }


def test_what_is_unlike_all_others_does_not_come_first_for_that_whatever_is_asked():
    random = np.random.default_rng(3)

    def vector(*parts: tuple[int, float], noise: float) -> np.ndarray:
        mixed = noise * random.normal(size=DIMENSION) / DIMENSION**0.5
        for axis, share in parts:
            mixed[axis] += share
        return (mixed / np.linalg.norm(mixed)).astype(np.float32)

    vectors = {f"routine{i:03d}": vector((0, 1.0), noise=0.3) for i in range(500)}
    vectors["matter"] = vector((0, 0.4), (1, 0.8), noise=0.0)
    vectors["another language"] = vector((2, 1.0), noise=0.0)
    held = VectorCache.of(
        [(name, SCALARS, one.tobytes()) for name, one in vectors.items()], DIMENSION
    )
    near = held.cosines(
        QueryVector(vector((1, 0.6), (2, 0.3), (3, 0.7), noise=0.0)), ["matter", "another language"]
    )
    assert near["another language"].cosine + 0.15 < near["matter"].cosine
    assert near["another language"].hubness_correction == pytest.approx(
        near["matter"].hubness_correction, abs=1e-6
    )
    assert near["another language"].hubness_correction > 0.1


class Notes:
    """A project's notes in a space of random vectors."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "notes", Home(folder / "home").ensure()
        self.folder.mkdir()
        self.catalog = Catalog(self.home.cache_db, writable=True)

    fingerprint, dimension = "random", DIMENSION

    def passages(self, texts: list[str], cancelled=lambda: False) -> np.ndarray:
        return np.stack([np.frombuffer(rows([text])[0][2], np.float32) for text in texts])

    def write(self, count: int) -> None:
        injected = (
            f"### {n // 60:02d}:{n % 60:02d}\n- note number {n:04d}\n" for n in range(count)
        )
        (self.folder / "2026-01-01.md").write_text("\n".join(injected))
        scan(self.catalog, "p", [str(self.folder)], Settings(), memory=str(self.folder))

    def start(self, compared: list[int]) -> int:
        """How many notes a start finds out of, how special they are. What it says is the same as if
        all were found anew.
        """
        with contextlib.closing(VectorIndex(self.home, MilvusSettings(), self)) as space:
            compared.clear()
            space.warm("p")
            found = sum(compared)
            held = space._search.cache("p")
            kept = [
                (str(name), SCALARS, vector.tobytes())
                for name, vector in zip(held.ids, held.matrix)
            ]
            assert by_id(held) == pytest.approx(by_id(VectorCache.of(kept, DIMENSION)), abs=1e-6)
            space.embed(space.missing(self.catalog, "p"))
            space.reconcile(self.catalog, "p", "p")
        return found


def test_hubness_is_stored_and_computed_at_a_start_for_new_notes_alone(tmp_path, monkeypatch):
    """At 100,000 notes it takes a second, for which a first search would wait."""
    monkeypatch.setattr(hubness, "SAMPLE", 40)
    monkeypatch.setattr("memsearch_engine.index.vectors.search._WORTH_SAVING", 1)
    compared: list[int] = []
    corrections = HubnessSample.hubness_corrections
    monkeypatch.setattr(
        HubnessSample,
        "hubness_corrections",
        lambda self, ids, vectors: compared.append(len(vectors)) or corrections(self, ids, vectors),
    )
    notes = Notes(tmp_path)
    notes.write(120)
    notes.start(compared)
    assert [notes.start(compared) for _ in range(2)] == [120, 0]
    notes.write(121)
    assert [notes.start(compared) for _ in range(3)] == [0, 1, 0]
    database = next(notes.home.index.glob("*/vectors.db"))
    for older in (
        # notes of the sample have changed since
        "UPDATE stored SET scalars='another' WHERE chunk_id LIKE 'sample %'",
        "ALTER TABLE stored DROP COLUMN special",  # a version before this one
    ):
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
            db.execute(older)
        assert [notes.start(compared) for _ in range(2)] == [121, 0]
    notes.catalog.close()


def test_amendments_are_found_anew_where_what_is_taken_off_has_changed(monkeypatch):
    space = SimpleNamespace(fingerprint="random")
    before = notes.version(space)
    monkeypatch.setattr(hubness, "_MOST", 9.0)
    assert notes.version(space) != before


def test_one_thread_computes_the_corrections_and_the_others_wait(monkeypatch):
    monkeypatch.setattr(hubness, "SAMPLE", 5)
    held = VectorCache.of(rows(range(20)), DIMENSION)
    free: list[bool] = []
    compute = HubnessSample.hubness_corrections

    def watched(*values):
        def ask() -> None:
            if is_free := held._computing.acquire(blocking=False):
                held._computing.release()
            free.append(is_free)

        other = threading.Thread(target=ask)
        other.start()
        other.join()
        return compute(*values)

    monkeypatch.setattr(HubnessSample, "hubness_corrections", watched)
    assert held.corrections is held.corrections
    assert free == [False]
