"""The rows of Health and Activity: what is wrong, and the key or command that mends it."""

from __future__ import annotations

import copy

from memsearch_engine.core.llm.spend import Spent

from memsearch_tui import activity, health
from tests.tui.test_pictures import ACTIVITY, HEALTH


def rows(lines) -> list[str]:
    return ["".join(text for text, _ in line.row) for line in lines]


def details(lines, key: str) -> str:
    (line,) = [line for line in lines if line.key == key]
    return "\n".join("".join(text for text, _ in row) for row in line.detail)


def test_every_part_of_health_has_its_size_and_a_way_to_mend_it():
    lines = health.lines(HEALTH)
    text = "\n".join(rows(lines))
    assert "index     ready  23.4 MB" in text and "words     ready  5.0 MB" in text
    assert "up 10 min" in text and "301 MB" in text
    parts = [line for line in lines if line.key and not line.key.startswith("problem")]
    for line in parts:
        if line.key not in ("second",):
            way = details(lines, line.key) + "".join(text for text, _ in line.row)
            assert "`memsearch " in way or "f4" in way or "-> " in way, line.key
    assert "memsearch index" in details(lines, "problem 2026-02-07.md: permission denied")


def test_a_broken_index_says_why_and_what_repairs_it():
    state = copy.deepcopy(HEALTH) | {"index": "broken"}
    state["service"]["reason"] = "the index file is cut"
    lines = health.lines(state)
    assert any(row.startswith("index     broken") and "doctor --fix" in row for row in rows(lines))
    assert "the index file is cut" in details(lines, "index")


def test_notes_without_vectors_and_alarms_of_capture_are_named():
    state = copy.deepcopy(HEALTH)
    state["projects"][0]["vectors"] = 1
    state["service"]["alarms"] = ["codex: capture has stopped"]
    lines = health.lines(state)
    text = "\n".join(rows(lines))
    assert "3 without meaning yet  -> memsearch index" in text
    assert "capture   1 alarm  -> f4" in text
    assert "codex: capture has stopped" in details(lines, "capture")


def test_a_machine_without_sync_says_how_to_begin():
    assert any("memsearch sync add" in row for row in rows(health.lines(HEALTH)))


def test_activity_names_the_agents_own_model_in_words():
    spent = [
        Spent("2026-02-09", "summarize", name, "haiku", 12, 100, 20, 0.0, 1)
        for name in ("native", "local")
    ]
    lines = activity.lines({**ACTIVITY, "spend": spent}, "2026-02-09")
    shown = "\n".join([*rows(lines), details(lines, "cost")])
    assert "agent's CLI haiku" in shown and "local haiku" in shown and "native" not in shown
