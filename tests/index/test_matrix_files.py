"""The file from which a start maps the vectors: searches find the same with it and without it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import MilvusSettings
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.hubness import QueryVector
from memsearch_engine.index.rows import Filter
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.index.vectors import difference, matrix

DIMENSION, QUERIES = 24, 5
Answers = list[list[tuple[str, float, float]]]


def vector(text: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    made = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32) + 0.4
    return made / np.linalg.norm(made)


class Notes:
    """A project's notes, with an embedder of random vectors."""

    fingerprint, dimension, prefix = "random", DIMENSION, ""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "notes", Home(folder / "home").ensure()
        self.folder.mkdir()
        self.catalog = Catalog(self.home.cache_db, writable=True)

    @property
    def file(self) -> Path:
        return self.home.index / self.fingerprint / "p.matrix"

    def passages(self, texts: list[str], cancelled: Callable[[], bool] = bool) -> np.ndarray:
        return np.stack([vector(self.prefix + text)[: self.dimension] for text in texts])

    def write(self, numbers: Iterable[int]) -> None:
        entries = (f"### {n // 60:02d}:{n % 60:02d}\n- note number {n}\n" for n in numbers)
        (self.folder / "2026-01-01.md").write_text("\n".join(entries))
        scan(self.catalog, "p", [str(self.folder)], Settings(), memory=str(self.folder))

    @contextlib.contextmanager
    def started(self) -> Iterator[VectorIndex]:
        """Open the index as a start of the service does."""
        with contextlib.closing(VectorIndex(self.home, MilvusSettings(), self)) as index:
            index.warm("p")
            yield index

    def index(self, numbers: Iterable[int]) -> None:
        """Start, save, and index the notes with these numbers."""
        self.write(numbers)
        with self.started() as index:
            index.save()
            self.bring(index)

    def bring(self, index: VectorIndex) -> None:
        index.embed(index.missing(self.catalog, "p"))
        index.reconcile(self.catalog, "p", "p")

    def found(self) -> Answers:
        """The answers after a start, which saves."""
        with self.started() as index:
            index.save()
            return answers(index)

    def found_without_file(self) -> Answers:
        self.file.unlink(missing_ok=True)
        with self.started() as index:
            return answers(index)


def asked(text: str) -> QueryVector:
    return QueryVector(vector(text), analyze.script(text))


def answers(index: VectorIndex) -> Answers:
    return [
        [
            (name, score.cosine, score.hubness_correction)
            for name, score in index.nearest("p", asked(f"question {n}"), 1000, Filter())
        ]
        for n in range(QUERIES)
    ]


@pytest.fixture
def notes(tmp_path, monkeypatch) -> Iterator[Notes]:
    """200 notes, saved in a file."""
    monkeypatch.setattr(matrix, "WORTH_A_FILE", 50)
    made = Notes(tmp_path)
    with contextlib.closing(made.catalog):
        made.index(range(200))
        made.found()
        yield made


def same(some: Answers, others: Answers) -> bool:
    return all(
        [name for name, *_ in one] == [name for name, *_ in other]
        and [values for _, *values in one] == [pytest.approx(v, abs=2e-5) for _, *v in other]
        for one, other in zip(some, others, strict=True)
    )


def test_a_start_takes_the_vectors_from_the_file(notes):
    with contextlib.closing(sqlite3.connect(notes.file.with_name("vectors.db"))) as db, db:
        db.execute("UPDATE vectors SET vector=zeroblob(length(vector))")
    found = notes.found()
    assert len(found[0]) == 200 and found[0][0][1] > 0.1  # a cosine to zeros would be 0
    assert notes.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("by_script", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_file_that_is_out_of_date_gives_the_same_answers(notes, by_script):
    if by_script:  # a model whose vectors are centered
        notes.fingerprint, notes.model = "centered", SimpleNamespace(centered=True)
        notes.index(range(200))
    random = np.random.default_rng(3)
    there, next_number = list(range(200)), 200
    for step in range(12):
        gone = set(random.choice(there, int(random.integers(0, 12)), replace=False).tolist())
        new = range(next_number, next_number := next_number + int(random.integers(0, 20)))
        there = [n for n in there if n not in gone] + list(new)
        notes.write(there)
        with notes.started() as index:
            if step % 3 == 0:
                index.save()
            file = notes.file.read_bytes()
            notes.bring(index)
            while_running = answers(index)
            assert notes.file.read_bytes() == file  # changes are in memory alone
        with_file = notes.found()
        kept = notes.file.read_bytes()
        assert same(with_file, notes.found_without_file())
        assert same(while_running, with_file) and len(with_file[0]) == len(there)
        notes.file.write_bytes(kept)


def test_two_notes_of_one_text_have_a_row_each(notes):
    (notes.folder / "2026-01-02.md").write_text("### 00:07\n- note number 7\n")
    notes.index([*range(200), 300])
    found = notes.found()
    assert len(found[0]) == 202 and same(found, notes.found_without_file())


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"\0",
        lambda data: b"another format" + data[14:],
        lambda data: data[:16] + (DIMENSION // 2).to_bytes(8, "little") + data[24:],
        lambda data: data[:32] + b"\xff" * 900 + data[932:],  # names
    ],
)
def test_a_damaged_file_is_made_again(notes, harm):
    sound, wanted = notes.file.read_bytes(), notes.found()
    notes.file.write_bytes(harm(sound))
    assert same(notes.found(), wanted)
    assert notes.file.read_bytes() == sound


def test_a_full_disk_and_a_killed_writer_leave_a_home_that_starts(notes, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    wanted = notes.found()
    notes.file.unlink()
    part = notes.file.with_name("p.matrix.part")
    with monkeypatch.context() as patch, notes.started() as index:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            index.save()
        assert same(answers(index), wanted)
    assert not part.exists() and not notes.file.exists()
    part.write_bytes(b"half of it")
    assert same(notes.found(), wanted)
    assert notes.file.exists() and not part.exists()


def test_the_file_goes_with_the_project_and_with_the_vectors(notes, monkeypatch):
    notes.file.with_name("p.matrix.part").write_bytes(b"half of it")
    with notes.started() as index:
        index.forget("p")
        assert list(notes.file.parent.glob("*.matrix*")) == []
        notes.bring(index)
    notes.found()
    monkeypatch.setattr(difference, "_SPARE", 10)
    monkeypatch.setattr(difference, "_WORTH_PRUNING", 10)
    notes.write(range(100))
    with notes.started() as index:
        notes.bring(index)
        assert notes.file.exists()
        assert index.embeddings.prune(notes.catalog.text_hashes()) == 90
        assert not notes.file.exists()


@pytest.mark.parametrize("happens", ["forgotten", "rebuilt", "pruned"])
def test_a_file_does_not_stay_that_is_saved_while_copies_are_removed(notes, monkeypatch, happens):
    def meanwhile(descriptor: int) -> None:
        if happens == "pruned":
            assert index.embeddings.prune(notes.catalog.text_hashes()) == 90
        elif happens == "rebuilt":
            index.rebuild()
        else:
            index.forget("p")
        notes.bring(index)
        assert len(answers(index)[0]) == 100  # the project is in memory again

    notes.file.unlink()
    monkeypatch.setattr(difference, "_SPARE", 10)
    monkeypatch.setattr(difference, "_WORTH_PRUNING", 10)
    notes.write(range(100))
    with notes.started() as index:
        monkeypatch.setattr(os, "fsync", meanwhile)
        index.save()
    assert list(notes.file.parent.glob("*.matrix*")) == []


def test_a_file_of_a_model_that_changed_its_dimension_and_back_is_not_used(notes):
    notes.dimension = DIMENSION // 2
    with notes.started() as index:
        notes.bring(index)
    notes.dimension, notes.prefix = DIMENSION, "as another model "
    with notes.started() as index:
        notes.bring(index)
    found = notes.found()
    assert same(found, notes.found_without_file()) and len(found[0]) == 200


def test_a_project_that_has_few_notes_left_has_no_file(notes):
    notes.index(range(40))
    assert notes.file.exists()
    assert len(notes.found()[0]) == 40 and not notes.file.exists()


@pytest.mark.slow
def test_an_index_on_a_server_has_no_file(notes, tmp_path):
    from tests.index.standin import StandIn

    with contextlib.closing(StandIn(tmp_path, "token")) as server:
        settings = MilvusSettings(uri=server.uri, token="token")
        assert notes.file.exists()
        with contextlib.closing(VectorIndex(notes.home, settings, notes)):
            assert not notes.file.exists()


def test_a_file_that_cannot_be_saved_does_not_keep_the_others_in_memory(notes, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    for name in "qr":
        with notes.started() as index:
            index.reconcile(notes.catalog, "p", name)
    monkeypatch.setattr(os, "fsync", full)
    with notes.started() as index:
        index.warm("q")
        index.warm("r")
        with pytest.raises(OSError, match="No space"):
            index.save()
        index.save()  # nothing is left to do


def test_a_damaged_database_is_not_restored_from_the_file(notes):
    database = notes.file.with_name("vectors.db")
    database.write_bytes(b"x" * database.stat().st_size)
    with notes.started() as index:
        assert index.chunk_count("p") == 0 and not notes.file.exists()


def test_few_notes_have_no_file(tmp_path):
    few = Notes(tmp_path)
    with contextlib.closing(few.catalog):
        few.index(range(20))
        assert len(few.found()[0]) == 20 and not few.file.exists()
