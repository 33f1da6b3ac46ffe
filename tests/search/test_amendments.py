"""The owner's words on what amends what, as a process sees them that asks at every search."""

from __future__ import annotations

from memsearch_engine.core.home import Home
from memsearch_engine.search.overrides import NOTHING, Amendments, say


def test_what_another_process_says_is_seen_at_once_and_a_damaged_database_says_nothing(tmp_path):
    home = Home(tmp_path / "home").ensure()
    seen = Amendments(home)
    assert seen.said() == NOTHING
    assert say(home, "old", "new", True) is None and seen.said() == {("old", "new"): True}
    assert say(home, "old", "new", False) is True and seen.said() == {("old", "new"): False}
    assert say(home, "old", "new", None) is False and seen.said() == {}
    say(home, "old", "new", True)
    assert Amendments(home).said() == seen.said() == {("old", "new"): True}
    seen.close()
    home.state_db.write_bytes(b"no database" * 1000)
    assert seen.said() == {("old", "new"): True}  # as it was known last
