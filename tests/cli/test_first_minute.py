"""What somebody meets who has just installed it."""

from __future__ import annotations

import pytest

from tests.conftest import Box


@pytest.mark.parametrize(
    "words", [("undo",), ("redo",), ("history",), ("restore", "3")], ids=" ".join
)
def test_where_nothing_was_ever_changed_looking_back_says_so_and_makes_no_home(tmp_path, words):
    box = Box(tmp_path)
    done = box.run(*words)
    assert "can't be used" not in done.err and done.code in (0, 1), done.err
    assert not box.home.root.exists()


def test_status_without_an_index_claims_no_number_of_notes(box: Box):
    """Notes that are there and not indexed are not called "0 notes"."""
    box.write("2026-02-09", "# 2026-02-09\n\n### 10:00\n- the search timeout is 20 seconds\n")
    done = box.ok("status")
    assert "0 notes" not in done.out and "1 day, 2026-02-09" in done.out, done
    assert "no session gets 1 note that this program did not write" in done.out + done.err, done


def test_a_day_with_shared_notes_is_counted_once(box: Box):
    text = "# 2026-02-09\n\n### 10:00\n- {}\n"
    box.write("2026-02-09", text.format("the search timeout is 20 seconds"))
    shared = box.memory.parent / "shared" / "ana"
    shared.mkdir(parents=True)
    for day in ("2026-02-09", "2026-02-10"):
        (shared / f"{day}.md").write_text(text.format("uploads expire").replace("2026-02-09", day))
    assert box.ok("status", "--json").json["days"] == 2
