"""Settings that two notes give two values."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from pathlib import Path

import pytest
from memsearch_engine import Memory
from memsearch_engine.index import values
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.values import (
    _ASSIGNED,
    _STATED,
    SENTENCE,
    Assigned,
    _may_state,
    assigned_in,
    is_identifier,
    normalized,
)
from memsearch_engine.search.supersession import contradictions
from memsearch_engine.search.supersession.contradictions import stated_in

from memsearch_tui.demo.history import fillers, stories
from memsearch_tui.review import cases, decide
from tests.conftest import Box
from tests.review.test_outlines import at, index, text_of
from tests.search.test_sessions import hit


def stated(text: str) -> dict[str, str]:
    row = hit(1, "s", None).row
    row.text = text
    return {found.name: found.value for found in stated_in(row, assigned_in(text))}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- `cache.ttl = 300`", {"cache.ttl": "300"}),
        (
            "- `pool_size` is 20 and `MAX_ITEMS` defaults to 1,000",
            {"pool_size": "20", "MAX_ITEMS": "1000"},
        ),
        ("- read_timeout is set to 5 min", {"read_timeout": "300 s"}),
        ("- `max_body` is 2 MB", {"max_body": "2e+06 B"}),
        ("- `use_http2: true`, `useCache` is off", {"use_http2": "on", "useCache": "off"}),
        ("- `log_level` is `debug`", {"log_level": "debug"}),
        ("- `log_level` equals `debug`", {"log_level": "debug"}),
        # no statement
        ("- Tried `cache.ttl = 300`", {}),
        ("- `cache.ttl` was 300", {}),
        ("- Should `cache.ttl` be 300?", {}),
        ("- raised `pool_size = 40`", {}),
        ("- User asked: `pool_size = 40`", {}),
        ("- Errors met: `pool_size = 40`", {}),
        ("- `pool_size = 20`\n- `pool_size = 40`", {}),
        ("- the pool size is 20", {}),
        ("- `proxy.egress:3128` answers", {}),
        ("- `count` is 3", {}),
        ("- `redis_host` is on the private subnet", {}),
        ("- `order_id` is off by one", {}),
        ("- `api_gateway` is on port 8080", {}),
        ("- `retry_max` is 3 times the pool", {}),
        ("- `load_factor` is 0,5", {"load_factor": "0.5"}),
        ("- `max_rows` is 1,000,000 in production", {"max_rows": "1e+06"}),
    ],
)
def test_what_states_a_value(text, found):
    assert stated(text) == found
    for whole in (text, f"- Before it\n{text}\n- After it", f"Before it. {text}; after it"):
        assert _may_state(whole) or not found


def pairs(box: Box, *notes: str) -> list[tuple[str, str, str]]:
    memory = Memory(box.project, home=box.home)
    for number, text in enumerate(notes):
        memory.add(text, day=f"2026-02-{number + 1:02d}", time="10:00")
    memory.index()
    return [
        (pair.name, pair.older.written, pair.newer.written)
        for pair in memory.supersession.contradictions()
    ]


def test_a_word_without_end_does_not_stop_the_index():
    words = "_" * 300_000, "x_" * 150_000, f"`{'a.' * 150_000}`"
    text = "\n".join(f"{word} is high; b_c is 5" for word in words)
    assert {one.name for one in assigned_in(text)} == {"b_c"}


def test_two_values_without_a_word_of_change(box):
    assert pairs(
        box, "`pool_size` is 20 for the catalog", "Connections: `pool_size = 40` there"
    ) == [("pool_size", "20", "40")]


def test_every_verb_that_states_a_value_is_found(box):
    assert pairs(box, "`pool_size` equals 20", "max_rows are 3; `pool_size` stands at 40") == [
        ("pool_size", "20", "40")
    ]


def test_the_values_of_an_earlier_catalog_are_read_from_its_notes_until_the_next_scan(tmp_path):
    memory = at(tmp_path / "project", tmp_path / "home")
    for day, value in (("2026-02-01", 20), ("2026-02-02", 40)):
        text = text_of(day, [f"- `pool_size` is {value}"])
        (Path(memory.place.memory) / f"{day}.md").write_text(text)
    index(memory)
    (found,) = memory.supersession.contradictions()
    with contextlib.closing(sqlite3.connect(memory.home.cache_db)) as db:
        db.execute("ALTER TABLE outlines DROP COLUMN given")
    assert Catalog.open_readonly(memory.home.cache_db) is None
    Catalog(memory.home.cache_db, writable=True).close()
    assert len(memory._scope.catalog.outlines.missing(memory.project.id)) == 2
    assert memory.supersession.contradictions() == [found]
    index(memory)
    assert memory._scope.catalog.outlines.missing(memory.project.id) == []
    assert memory.supersession.contradictions() == [found]
    memory.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "notes",
    [
        ("`pool_size` is 20", "`pool_size = 20` it is"),
        ("`read_timeout` is 5 min", "`read_timeout` is 300 s"),
        ("`poll_ms` is 500", "`poll_ms` is 500 ms"),
        ("`load_factor` is 0,5", "`load_factor` is 0.5"),
        ("`pool_size` is 20 in staging", "`pool_size` is 40 in production"),
        ("`pool_size` is 20", "We raised `pool_size` from 20 to 40", "`pool_size` is 20"),
        ("`pool_size` is 20", "`other_size` is 40"),
    ],
)
def test_what_is_none(box, notes):
    assert pairs(box, *notes) == []


def test_review_asks_and_remembers_the_answer(box):
    assert pairs(box, "`pool_size` is 20 for the catalog", "Connections: `pool_size = 40` there")
    memory = Memory(box.project, home=box.home)
    (case,) = [case for case in cases(memory) if case.kind == "contradicts"]
    assert case.title == "2026-02-02  pool_size: 20 or 40?" and len(case.notes) == 2
    decided = decide(memory, case, False)
    assert memory.supersession.contradictions() == []
    assert decided.back is not None and decided.back() == "it waits again"
    assert len(memory.supersession.contradictions()) == 1
    decide(memory, case, True)
    assert memory.supersession.contradictions() == [] and [
        pair.said for pair in memory.supersession.pairs(case.notes[0])
    ] == [True]


STATES = (
    "`pool_size` is {}",
    "`pool_size = {}`",
    "`pool_size`  IS  {}",
    "`cache.ttl` stays at {} s",
    "`cache.ttl` Stays {}",
    "read_timeout set to {} min",
    "read_timeout is set to {} min",
    "read_timeout SET TO {}",
    "`maxRows` defaults to {}",
    "max_rows defaults to {} by default",
    "`use_http2: {}`",
    "`log_level` equals `debug{}`",
    "log_level = {}",
    "Tried pool_size = {}; it was slow",
    "staging: `cache.ttl` is {} s now",
)


def plainly_assigned(text: str) -> list[Assigned]:
    return [
        Assigned(sentence, name, value, written)
        for line in text.split("\n")
        for sentence in SENTENCE.split(line)
        for name, written in [
            *_ASSIGNED.findall(sentence),
            *((quoted or bare, value) for quoted, bare, value in _STATED.findall(sentence)),
        ]
        if (value := normalized(written)) and is_identifier(name)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_quick_search_finds_what_a_plain_one_finds(tmp_path, monkeypatch, seed):
    """The notes are those of the demo, and routine turns as in the benchmarks, with values."""
    chance, memory = random.Random(seed), at(tmp_path / "project", tmp_path / "home")
    bodies = ["\n".join(f"- {line}" for line in one.bullets) for one in stories()]
    for story in fillers(300, seed):
        lines = [*story.bullets, chance.choice(STATES).format(chance.choice((5, 20, 300)))]
        bodies.append("\n".join(f"- {line}" for line in chance.sample(lines, len(lines))))
    chance.shuffle(bodies)
    for number in range(0, len(bodies), 20):
        day = f"2026-{1 + number // 20 // 28:02d}-{1 + number // 20 % 28:02d}"
        text = text_of(day, bodies[number : number + 20])
        (Path(memory.place.memory) / f"{day}.md").write_text(text, encoding="utf-8")
    index(memory)
    quick = memory.supersession.contradictions(limit=1000)
    with contextlib.closing(sqlite3.connect(memory.home.cache_db)) as db:
        db.execute("UPDATE outlines SET given=NULL")
        db.commit()
    assert quick == memory.supersession.contradictions(limit=1000)
    for module in (values, contradictions):
        monkeypatch.setattr(module, "assigned_in", plainly_assigned)
    assert quick == memory.supersession.contradictions(limit=1000)
    monkeypatch.undo()
    index(memory)
    assert memory._scope.catalog.outlines.missing(memory.project.id) == []
    assert len({pair.name for pair in quick}) >= 4
    memory.close()
