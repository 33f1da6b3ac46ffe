"""Which vectors serve while an index is opened, can't be, or is broken meanwhile."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import EmbeddingSettings, MilvusSettings
from memsearch_engine.index.rows import Filter
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.service import index_state
from memsearch_engine.service.index_state import OpenIndexes
from memsearch_engine.service.indexing import Indexer

from tests.conftest import until


class Tiny:
    """An embedder of no meaning."""

    dimension = 8

    def __init__(self, name: str) -> None:
        self.fingerprint = name

    def passages(self, texts: list[str], cancelled=lambda: False) -> np.ndarray:
        return np.ones((len(texts), self.dimension), np.float32)

    def query(self, text: str) -> np.ndarray:
        return self.passages([text])[0]


@pytest.fixture
def home(box, monkeypatch) -> Home:
    monkeypatch.setattr(index_state.embed, "load", lambda home, wanted: Tiny(wanted.model or "new"))
    monkeypatch.setattr(
        index_state.embed, "fingerprint_of", lambda home, wanted: wanted.model or "new"
    )
    return Home(box.home.root).ensure()


@pytest.fixture
def broken(monkeypatch) -> dict[str, Exception]:
    """Fingerprint -> why its index can't be opened."""
    broken: dict[str, Exception] = {}

    def opened(home: Home, milvus: MilvusSettings, embedder: Tiny) -> VectorIndex:
        if embedder.fingerprint in broken:
            raise broken[embedder.fingerprint]
        return VectorIndex(home, milvus, embedder)

    monkeypatch.setattr(index_state, "VectorIndex", opened)
    return broken


@contextlib.contextmanager
def indexer(home: Home, states: list[str] | None = None) -> Iterator[Indexer]:
    with contextlib.closing(Registry(home)) as registry:
        made = Indexer(home, registry, threading.Event(), lambda: None)
        if states is not None:
            made.changed = lambda: states.append(made.state)
        try:
            yield made
        finally:
            made.close()


def is_open(of: Indexer) -> bool:
    return of.ready.is_set() and not of.is_opening


def test_a_new_model_is_built_also_where_the_old_index_can_t_be_opened(home, broken):
    with contextlib.closing(VectorIndex(home, MilvusSettings(), Tiny("old"))) as old:
        old.set_complete(EmbeddingSettings(model="old"))
    broken["old"] = Unreachable("broken")
    with contextlib.closing(OpenIndexes(home, Settings)) as open_now:
        open_now.open()
        assert open_now.serving is None and open_now.next and open_now.next.fingerprint == "new"
        open_now.complete()
        assert open_now.serving and open_now.serving.fingerprint == "new" and open_now.next is None


def test_an_index_of_an_earlier_default_model_serves_until_the_new_one_is_built(home, monkeypatch):
    earlier = "all-minilm-l6-v2-0c1d2e3f"
    with contextlib.closing(VectorIndex(home, MilvusSettings(), Tiny(earlier))) as old:
        old.set_complete(EmbeddingSettings())  # the default model has no name in the settings
    fingerprints = {"all-minilm-l6-v2": earlier, "": "new"}
    monkeypatch.setattr(
        index_state.embed, "load", lambda home, wanted: Tiny(fingerprints[wanted.model])
    )
    with contextlib.closing(OpenIndexes(home, Settings)) as open_now:
        open_now.open()
        assert open_now.serving and open_now.serving.fingerprint == earlier
        assert open_now.next and open_now.next.fingerprint == "new"
        open_now.complete()
        assert open_now.serving.fingerprint == "new" and open_now.next is None


@pytest.mark.slow
def test_an_index_that_can_t_be_opened_is_tried_later_and_never_called_ready(home, broken):
    broken["new"] = Unreachable("the disk is full")
    states: list[str] = []
    with indexer(home) as made:
        until(lambda: is_open(made))
        assert (made.state, made.problem) == (
            "broken",
            "the disk is full",
        ) and made.spaces.serving is None
        made.changed = lambda: states.append(made.state)
        pauses = []
        for _ in range(3):
            made.reopen_at, before = 0.0, len(states)
            made._try_again()
            until(lambda before=before: len(states) > before)
            pauses.append(made.pause_s)
        assert pauses == [
            2 * index_state.FIRST_PAUSE_S,
            4 * index_state.FIRST_PAUSE_S,
            8 * index_state.FIRST_PAUSE_S,
        ]
        assert set(states) == {"broken"}
        broken.clear()
        made.reopen_at = 0.0
        made._try_again()
        until(lambda: made.state == "ready")
        until(lambda: not made.is_opening)
        assert made.problem == "" and made.pause_s == index_state.FIRST_PAUSE_S


def test_what_breaks_while_it_is_being_opened_is_not_opened_twice(home, monkeypatch):
    go_on, waits, made = threading.Event(), threading.Event(), []
    really = OpenIndexes.tidy_server

    def tidy_server(indexes: OpenIndexes) -> None:
        waits.set()
        assert go_on.wait(30)
        really(indexes)

    def opened_index(*args: object) -> VectorIndex:
        made.append(VectorIndex(*args))
        return made[-1]

    monkeypatch.setattr(OpenIndexes, "tidy_server", tidy_server)
    monkeypatch.setattr(index_state, "VectorIndex", opened_index)
    with indexer(home) as opened:
        assert waits.wait(30) and opened.ready.wait(30)
        serving = opened.spaces.serving
        assert serving is not None and serving.nearest("p", serving.ask("words"), 3, Filter()) == []
        opened.failed(serving, sqlite3.DatabaseError("malformed"))
        opened.reopen("the settings have changed")
        assert opened.spaces.serving is serving and opened.ready.is_set()
        go_on.set()
        until(lambda: is_open(opened))
        assert len(made) == 1 and opened.spaces.serving is serving
        opened.failed(serving, sqlite3.DatabaseError("malformed"))  # and now it is
        until(lambda: len(made) == 2 and is_open(opened))
        opened.failed(serving, sqlite3.ProgrammingError("closed"))  # a search that had begun on it
        assert len(made) == 2 and opened.spaces.serving is made[1]
