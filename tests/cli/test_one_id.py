"""What `search` prints works everywhere, and goes on working after an edit."""

from __future__ import annotations

import pytest

NOTE = "The release branch is cut on Tuesdays"


@pytest.mark.slow
def test_the_id_of_a_hit_opens_edits_marks_and_deletes(box):
    box.ok("add", NOTE)
    (hit,) = box.ok("search", "release branch", "--no-wait", "--json").json["hits"]
    name = hit["entry_id"]
    assert name in box.ok("search", "release branch", "--no-wait").out
    assert NOTE in box.ok("expand", name[:4]).out
    box.ok("edit", name, "--text", "The release branch is cut on Fridays")
    box.ok("mark", name, "--pin")
    shown = box.ok("expand", name, "--json").json
    assert "Fridays" in shown["content"] and "pin" in shown["marks"]
    box.ok("delete", name, "--yes")
    assert box.run("expand", name).code == 1


@pytest.mark.slow
@pytest.mark.parametrize("length", [8, 16])
def test_a_chunk_id_outlives_the_edit_of_its_note(box, length):
    box.ok("add", NOTE)
    (hit,) = box.ok("search", "release branch", "--no-wait", "--json").json["hits"]
    box.ok("edit", hit["entry_id"], "--text", "The release branch is cut on Fridays")
    old = hit["chunk_hash"][:length]
    assert box.ok("expand", old, "--json").json["entry_id"] == hit["entry_id"]
    assert "Fridays" in box.ok("expand", old).out
