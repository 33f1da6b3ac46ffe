"""What was decided on a matter, in the order it was."""

from __future__ import annotations

from tests.conftest import Box
from tests.recall.corpus import case, furnish

RETURNS, RECONCILED = case("data", "data-05"), case("data", "data-11")


def test_a_matter_is_told_in_order_with_what_amends_what(box: Box):
    furnish(box, RETURNS, RECONCILED)
    found = box.ok("trace", "reconciliation", "method", "of", "shops", "and", "regions", "--json").json
    older, newer = found["words"]
    assert (older["day"], newer["day"]) == ("2026-02-13", "2026-02-21") and older["replaces"] == {}
    assert list(newer["replaces"]) == [older["entry_id"]] and newer["replaces"][older["entry_id"]] >= 0.6
    assert found["now"] == newer["entry_id"] and "bottom-up" in newer["content"]
    shown = box.ok("trace", "reconciliation method of shops and regions").out
    assert shown.index("MinT") < shown.index(f"amends {older['entry_id']} of 2026-02-13") < shown.index("bottom-up")


def test_what_nothing_amends_stands_alone_and_nothing_is_found_where_nothing_is(box: Box):
    furnish(box, RETURNS)
    alone = box.ok("trace", "returned items with negative quantity")
    assert "floor the day at zero" in alone.out and "no other note" in alone.err
    empty = box.run("trace", "anything", cwd=box.other_project("empty"))
    assert empty.code == 1 and "nothing found" in empty.err
