"""Search by words as the app asks at every key."""

from __future__ import annotations

from memsearch_engine.client import Memory


def test_one_letter_gives_the_newest_notes_that_begin_a_word_with_it(box):
    for day, words in (
        ("2026-01-01", "redis redis redis"),
        ("2026-01-02", "nothing of it"),
        ("2026-01-03", "a long note about rollouts"),
    ):
        box.write(day, f"### 10:00\n- {words}\n")
    box.index()
    memory = Memory(box.home, str(box.project))
    try:
        assert [hit.row.day for hit in memory.lexical("r").hits] == ["2026-01-03", "2026-01-01"]
        assert [hit.row.day for hit in memory.lexical("redis r").hits] == [
            "2026-01-01"
        ]  # beside a word, a letter says nothing yet
    finally:
        memory.close()
