"""Hits by the conversation that they come from."""

from __future__ import annotations

import pytest
from memsearch_engine.index.rows import Row
from memsearch_engine.search.hits import Answer, Hit

from tests.conftest import Box


def hit(
    rank: int,
    session: str,
    confidence: float | None,
    *,
    day: str = "2026-02-09",
    agent: str = "codex",
) -> Hit:
    row = Row(
        rank,
        f"c{rank}",
        "- x",
        "x",
        1,
        1,
        0,
        f"e{rank}",
        "h",
        "p",
        day,
        "10:00",
        agent if session else "",
        session,
        "t",
        "turn",
        "",
        3,
        "x",
        [],
        {},
        "/p/day.md",
    )
    return Hit(rank, 1.0 / rank, row, confidence=confidence)


def conversations(*hits: Hit) -> list[tuple[str, float | None, list[int]]]:
    return [
        (t.session, t.confidence, [h.rank for h in t.hits])
        for t in Answer("hybrid", list(hits)).by_session()
    ]


def test_a_conversation_about_a_topic_comes_before_one_that_names_it_once():
    found = conversations(
        hit(1, "once", 0.5), hit(2, "often", 0.4), hit(3, "often", 0.4), hit(4, "once", 0.01)
    )
    assert found == [("often", 0.64, [2, 3]), ("once", 0.5, [1, 4])]


def test_a_heap_of_faint_hits_counts_for_nothing():
    faint = [hit(rank, "routine", 0.04) for rank in range(2, 40)]
    assert [name for name, *_ in conversations(hit(1, "it", 0.2), *faint)] == ["it", "routine"]


def test_where_words_alone_were_compared_the_best_note_decides():
    found = conversations(
        hit(1, "a", None), hit(2, "b", None), hit(3, "b", None), hit(4, "", None), hit(5, "", None)
    )
    assert found == [("a", None, [1]), ("b", None, [2, 3]), ("", None, [4]), ("", None, [5])]


def test_what_supersedes_the_best_note_of_a_conversation_comes_before_that_conversation():
    """Even if the older one has more hits. Only a note newer than the best one counts."""
    older = [hit(2, "older", 0.6), hit(3, "older", 0.6)]
    newer = hit(1, "newer", 0.3)
    for names in ("supersedes", "possibly_supersedes"):
        setattr(newer, names, [older[0].id])
        assert [name for name, *_ in conversations(newer, *older)] == ["newer", "older"]
        setattr(newer, names, [older[1].id])
        assert [name for name, *_ in conversations(newer, *older)] == ["older", "newer"]
        setattr(newer, names, [])


def test_a_conversation_knows_its_days():
    (conversation,) = Answer(
        "hybrid", [hit(1, "s", 0.5), hit(2, "s", 0.1, day="2026-01-01")]
    ).by_session()
    assert (conversation.rank, conversation.first_day, conversation.last_day) == (
        1,
        "2026-01-01",
        "2026-02-09",
    )


@pytest.mark.parametrize("how", [(), ("--no-wait", "--mode", "lexical")])
def test_the_command_lists_conversations(shared_box: Box, how):
    injected = shared_box.ok(
        "search", "redis ttl order-service", "--by", "session", "--json", *how
    ).json
    first = injected["sessions"][0]
    assert (first["agent"], first["session"]) == (
        "claude-code",
        "abc123",
    ) and "hits" not in injected
    assert {found["turn"] for found in first["hits"]} == {"t1", "t2"}
    assert first["first_day"] == first["last_day"] == "2026-02-09"
    shown = shared_box.ok("search", "redis ttl order-service", "--by", "session", "-k", "1", *how)
    assert (
        shown.out.startswith("2026-02-09")
        and "abc123" in shown.out
        and "memsearch transcript" in shown.err
    )
    assert (
        shared_box.run("search", "zzz", "--by", "session", "--no-wait", "--mode", "lexical").code
        == 1
    )
