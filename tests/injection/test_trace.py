"""What was decided on a matter, in the order it was."""

from __future__ import annotations

import pytest

from tests.conftest import Box
from tests.injection.corpus import case, furnish

RETURNS, RECONCILED = case("data", "data-05"), case("data", "data-11")


@pytest.mark.slow
def test_a_topic_is_traced_in_order_with_what_supersedes_what(box: Box):
    furnish(box, RETURNS, RECONCILED)
    found = box.ok(
        "trace", "reconciliation", "method", "of", "shops", "and", "regions", "--json"
    ).json
    older, newer = found["words"]
    assert (older["day"], newer["day"]) == ("2026-02-13", "2026-02-21") and older["replaces"] == {}
    assert (
        list(newer["replaces"]) == [older["entry_id"]]
        and newer["replaces"][older["entry_id"]] >= 0.6
    )
    assert found["now"] == newer["entry_id"] and "bottom-up" in newer["content"]
    for name in (older["entry_id"], newer["entry_id"][:8]):  # also from the id of a note
        by_id = box.ok("trace", name, "--json").json
        assert by_id["now"] == found["now"] and len(by_id["words"]) == 2
    shown = box.ok("trace", "reconciliation method of shops and regions").out
    assert (
        shown.index("MinT")
        < shown.index(f"supersedes {older['entry_id']} of 2026-02-13")
        < shown.index("bottom-up")
    )


@pytest.mark.slow
def test_what_nothing_supersedes_is_listed_alone_and_nothing_is_found_where_nothing_is(box: Box):
    furnish(box, RETURNS)
    alone = box.ok("trace", "returned items with negative quantity")
    assert "floor the day at zero" in alone.out and "no other note" in alone.err
    assert "no note fits" not in alone.err
    unknown = box.ok("trace", "zzqxv")
    assert "no note has 'zzqxv'" in unknown.err and "perhaps no note fits" in unknown.err
    empty = box.run("trace", "anything", cwd=box.other_project("empty"))
    assert empty.code == 1 and "nothing found" in empty.err


@pytest.mark.slow
def test_the_owners_override_of_a_supersession_wins_and_can_be_undone(box: Box):
    """Told at a prompt, in a search and in the trace, in a service that runs all the while."""
    furnish(box, RETURNS, RECONCILED)
    words = "reconciliation method of shops and regions"
    older, newer = (note["entry_id"] for note in box.ok("trace", words, "--json").json["words"])
    box.ok("amends", newer, older, "--no")
    apart = box.ok("trace", words, "--json").json["words"]
    assert len(apart) == 1 and apart[0]["replaces"] == {}
    injected = box.ok(
        "context", "--prompt", "which reconciliation method do shops and regions use", "--json"
    ).json
    assert all(
        note.get("held") != "superseded by a newer note" for note in injected.get("considered", [])
    )
    assert box.ok("amends", newer, older, "--off", "--json").json == {
        "schema_version": 1,
        "newer": newer,
        "older": older,
        "amends": None,
        "before": False,
    }
    assert len(box.ok("trace", words, "--json").json["words"]) == 2
    box.ok("amends", newer, older)
    (_, now) = box.ok("trace", words, "--json").json["words"]
    assert now["replaces"] == {older: 1.0}
    hits = {hit["entry_id"]: hit for hit in box.ok("search", words, "--json").json["hits"]}
    assert (
        hits[newer]["rank"] < hits[older]["rank"]
        and hits[older]["overtaken_by"] == newer
        and not hits[newer]["overtaken_by"]
    )
    assert "replaces" in box.ok("search", words).out
    assert (
        box.run("amends", newer, newer).code != 0
        and box.run("amends", newer, "nothing-of-this-name").code == 1
    )
