"""After a change only the written chunks are compared, and the result is that of comparing all."""

from __future__ import annotations

import contextlib
import hashlib
import random
import threading
from queue import Queue
from types import SimpleNamespace

import numpy as np
import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import MilvusSettings
from memsearch_engine.index.catalog import Catalog, database
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.index.vectors.ledger import LedgerRow
from memsearch_engine.service import prompt_finder
from memsearch_engine.service.prompt_finder import PromptFinder


class Model:
    fingerprint, dimension, batch = "random", 8, 3

    def passages(self, texts: list[str], cancelled=lambda: False) -> np.ndarray:
        seeds = (int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) for text in texts)
        return np.stack([np.random.default_rng(seed).random(8, np.float32) for seed in seeds])


class Notes:
    def __init__(self, folder) -> None:
        self.folder = folder / "notes"
        self.folder.mkdir()
        self.home = Home(folder / "home").ensure()
        self.catalog = Catalog(self.home.cache_db, writable=True)

    def write(self, day: int, notes: list[str]) -> None:
        lines = (f"### 10:{n:02d}\n- {note}\n" for n, note in enumerate(notes))
        (self.folder / f"2026-01-{day:02d}.md").write_text("\n".join(lines))

    def scan(self) -> None:
        scan(self.catalog, "p", [str(self.folder)], Settings(), memory=str(self.folder))

    def open(self) -> VectorIndex:
        return VectorIndex(self.home, MilvusSettings(), Model())

    def wanted(self, space: VectorIndex) -> dict[str, str]:
        """Chunk id -> text hash of all chunks with a vector."""
        keys = {}
        for key in self.catalog.chunk_keys("p"):
            keys.setdefault(key.chunk_id, key.text_hash)
        known = space.embeddings.known(keys.values())
        return {name: text for name, text in keys.items() if text in known}


def stored(space: VectorIndex) -> dict[str, str]:
    return {name: row.text_hash for name, row in space.ledger.rows("c").items()}


@pytest.fixture
def notes(tmp_path):
    made = Notes(tmp_path)
    yield made
    made.catalog.close()


@pytest.mark.parametrize("remembered", [5, 20_000])
def test_any_changes_leave_what_a_comparison_of_all_leaves(notes, monkeypatch, remembered):
    monkeypatch.setattr(database, "_REMEMBERED", remembered)
    chance, space = random.Random(remembered), notes.open()
    days: dict[int, list[str]] = {}
    for step in range(60):
        day = chance.randrange(1, 6)
        what = chance.randrange(6)
        if what == 0 and days.pop(day, None):
            (notes.folder / f"2026-01-{day:02d}.md").unlink()
        elif what == 1 and days.get(day):
            days[day].pop(chance.randrange(len(days[day])))
        elif what < 5:
            days.setdefault(day, []).append(f"note {chance.randrange(40)}")
        if day in days:
            notes.write(day, days[day])
        notes.scan()
        if what == 5:
            rows = [key.row for key in notes.catalog.chunk_keys("p")]
            notes.catalog.prompts.put(dict.fromkeys(rows[:2], f"why {step}?"))
        if step % 7 == 3:  # another process
            space.close()
            space = notes.open()
        space.reconcile(notes.catalog, "p", "c")
        missing = space.missing(notes.catalog, "p")
        every = {key.text_hash for key in notes.catalog.chunk_keys("p")}
        assert missing.keys() == every - space.embeddings.known(every)
        part = dict(list(missing.items())[: chance.randrange(3)]) if step % 3 else missing
        space.embed(part)
        space.reconcile(notes.catalog, "p", "c")
        now, wanted = stored(space), notes.wanted(space)
        assert wanted.items() <= now.items()
        assert now.keys() <= {key.chunk_id for key in notes.catalog.chunk_keys("p")}
        assert set(space._search.cache("c").ids) == now.keys()
    space.close()


def compared(monkeypatch) -> list[int]:
    """The number of chunks that each comparison reads."""
    found: list[int] = []
    read = Catalog.chunk_keys

    def counting(*arguments):
        keys = read(*arguments)
        found.append(len(keys))
        return keys

    monkeypatch.setattr(Catalog, "chunk_keys", counting)
    return found


def test_a_new_note_and_a_start_compare_nothing_else(notes, monkeypatch):
    for day in range(1, 21):
        notes.write(day, [f"note {day} {n}" for n in range(10)])
    notes.scan()
    with contextlib.closing(notes.open()) as space:
        space.embed(space.missing(notes.catalog, "p"))
        assert space.reconcile(notes.catalog, "p", "c") == (200, 0)
        sizes = compared(monkeypatch)
        notes.write(3, [*(f"note 3 {n}" for n in range(10)), "one more"])
        notes.scan()
        assert space.reconcile(notes.catalog, "p", "c") == (0, 0)  # it has no vector yet
        assert space.embed(space.missing(notes.catalog, "p")) == 1
        assert space.reconcile(notes.catalog, "p", "c") == (1, 0)
        assert max(sizes) == 11
    with contextlib.closing(notes.open()) as space:
        sizes.clear()
        assert space.reconcile(notes.catalog, "p", "c") == (0, 0)
        assert not space.missing(notes.catalog, "p")
        assert sizes == [0, 0]


def test_a_start_compares_nothing_while_prompts_are_looked_up_in_vain(notes, monkeypatch):
    heads = (f"<!-- session:s turn:t{n} agent:codex transcript:/gone -->" for n in range(5))
    lines = (f"### 10:0{n}\n{head}\n- note {n}\n" for n, head in enumerate(heads))
    (notes.folder / "2026-01-01.md").write_text("\n".join(lines))
    notes.scan()
    assert compare_all(notes) == (5, 0)
    monkeypatch.setattr(prompt_finder, "PROMPTS_AT_ONCE", 2)
    sizes = compared(monkeypatch)
    for left in (3, 1, 0):
        with contextlib.closing(notes.open()) as space:
            space.reconcile(notes.catalog, "p", "c")  # as the first index job does
            state = SimpleNamespace(
                home=notes.home,
                catalog=notes.catalog,
                spaces=[space],
                queue=Queue(),
                stopping=threading.Event(),
            )
            finder = PromptFinder(state, SimpleNamespace(prompts_wanted=True))
            finder.note(Project("p", "p", "c", "/", str(notes.folder)))
            finder.step()
            assert len(notes.catalog.prompts.missing("p", 9)) == left
    assert len(sizes) == 6 and max(sizes) == 0


@pytest.mark.parametrize("killed", ["before the ledger", "after the ledger"])
def test_a_change_whose_process_was_killed_is_made_at_the_next_start(notes, monkeypatch, killed):
    notes.write(1, ["old", "older"])
    notes.scan()
    with contextlib.closing(notes.open()) as space:
        space.embed(space.missing(notes.catalog, "p"))
        space.reconcile(notes.catalog, "p", "c")
    notes.write(1, ["new", "older"])
    notes.scan()
    with contextlib.closing(notes.open()) as space:
        space.embed(space.missing(notes.catalog, "p"))
        change = space.ledger.change

        def dies(*arguments):
            if killed == "after the ledger":
                change(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(space.ledger, "change", dies)
        with pytest.raises(KeyboardInterrupt):
            space.reconcile(notes.catalog, "p", "c")
        assert not (killed == "after the ledger" and space.ledger.settled_stamp("c"))
    with contextlib.closing(notes.open()) as space:
        space.reconcile(notes.catalog, "p", "c")
        assert stored(space) == notes.wanted(space)
        assert len(stored(space)) == 2


@pytest.mark.parametrize("others", [0, 1500])  # few: the whole table of vectors is read
def test_every_chunk_has_its_vector_in_memory(notes, others):
    chunks = {
        f"chunk {n}": LedgerRow(("2026-01-01",) * 4, None, f"text {n % 700}") for n in range(999)
    }
    chance = np.random.default_rng(1)
    texts = [*(f"other {n}" for n in range(others)), *(f"text {n}" for n in range(690))]
    with contextlib.closing(notes.open()) as space:
        space.embeddings.put({name: chance.random(8, np.float32) for name in texts})
        space.ledger.change("c", [], chunks)
        cache = space._search.cache("c")
        with_vector = {name for name, row in chunks.items() if row.text_hash in texts}
        held = cache.vectors(cache.ids)
        assert len(cache.ids) == len(held) == len(with_vector) and held.keys() == with_vector
        known = space.embeddings.get(texts)
        assert all((vector == known[chunks[name].text_hash]).all() for name, vector in held.items())


def compare_all(notes: Notes) -> tuple[int, int]:
    with contextlib.closing(notes.open()) as space:
        space.embed(space.missing(notes.catalog, "p"))
        return space.reconcile(notes.catalog, "p", "c")


def test_a_ledger_that_an_earlier_version_emptied_is_filled_again(notes):
    notes.write(1, [f"note {n}" for n in range(30)])
    notes.scan()
    assert compare_all(notes) == (30, 0)
    with contextlib.closing(notes.open()) as space:
        space.ledger._database.execute("DELETE FROM stored WHERE collection<>''")
    assert compare_all(notes) == (30, 0)
    assert compare_all(notes) == (0, 0)


@pytest.mark.parametrize("opens_index", [True, False])
def test_prompts_of_an_earlier_version_are_compared(notes, opens_index):
    heads = ("" if opens_index else f"<!-- session:s turn:t{n} agent:codex -->\n" for n in range(3))
    lines = (f"### 10:0{n}\n{head}- note {n}\n" for n, head in enumerate(heads))
    (notes.folder / "2026-01-01.md").write_text("\n".join(lines))
    notes.scan()
    assert compare_all(notes) == (3, 0)
    assert len(notes.catalog.prompts.missing("p", 9)) == (0 if opens_index else 3)
    with notes.catalog.database.transaction() as db:  # it changes no ``files.at``
        db.execute("UPDATE entries SET asked='why?' WHERE id=1")
        db.execute("UPDATE chunks SET text_hash='new' WHERE entry=1")
    with contextlib.closing(notes.open()) as space:
        (name,) = {key.chunk_id for key in notes.catalog.chunk_keys("p") if key.text_hash == "new"}
        space.embeddings.put({"new": Model().passages(["why?"])[0]})
        if opens_index:
            space.ledger._database.put_value("target", space.ledger._database.value("target"))
    with contextlib.closing(notes.open()) as space:
        assert space.reconcile(notes.catalog, "p", "c") == (1, 0)
        assert stored(space)[name] == "new"


def test_a_ledger_that_was_forgotten_during_a_comparison_is_filled_by_the_next(notes, monkeypatch):
    notes.write(1, ["one", "two"])
    notes.scan()
    with contextlib.closing(notes.open()) as space:
        space.embed(space.missing(notes.catalog, "p"))
        with monkeypatch.context() as patched:  # a search finds no collection on the server
            patched.setattr(space.ledger, "change", lambda *arguments: space.forget("c"))
            space.reconcile(notes.catalog, "p", "c")
        assert space.is_behind("c")
        assert space.reconcile(notes.catalog, "p", "c") == (2, 0)
        assert not space.is_behind("c")


def test_chunks_that_were_compared_are_forgotten_and_others_not(notes):
    base = notes.catalog.database
    notes.write(1, ["one", "two"])
    notes.scan()
    with contextlib.closing(notes.open()) as space:
        space.reconcile(notes.catalog, "p", "c")
        compared = space.compared_version(notes.catalog, "c")
        notes.write(2, ["three"])
        notes.scan()
        base.forget_written("p", compared)
        assert base.written_since("p", compared - 1) is None
        assert len(base.written_since("p", compared)) == 1
        space.embed(space.missing(notes.catalog, "p"))
        assert space.reconcile(notes.catalog, "p", "c") == (3, 0)


@pytest.mark.parametrize("writable", [True, False])
def test_frequencies_are_counted_once_and_again_after_a_change(notes, monkeypatch, writable):
    notes.write(1, ["red apples", "red pears"])
    notes.write(2, ["red plums"])
    notes.scan()
    catalog = notes.catalog if writable else Catalog(notes.home.cache_db)
    asked, query = [], catalog.database.query
    monkeypatch.setattr(catalog.database, "query", lambda *a: asked.append(a) or query(*a))
    words = catalog.words
    assert words.document_frequencies(["red", "plum", "fig"]) == {"red": 3, "plum": 1}
    assert words.chunk_count() == 3 and len(asked) == 2
    assert words.document_frequencies(["plum", "pear", "fig"]) == {"plum": 1, "pear": 1}
    assert words.chunk_count() == 3 and [values for _, values in asked[2:]] == [["pear"]]
    notes.write(2, ["green figs"])
    notes.scan()
    assert words.document_frequencies(["red", "plum", "fig"]) == {"red": 2, "fig": 1}
    notes.write(3, ["red figs"])
    notes.scan()
    assert words.chunk_count() == 4
    catalog.close()
