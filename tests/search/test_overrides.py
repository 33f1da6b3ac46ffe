"""The owner's words on what amends what, as a process sees them that asks at every search."""

from __future__ import annotations

from memsearch_engine.core.home import Home
from memsearch_engine.search.supersession.listing import NONE, OverrideCache, set_override


def test_what_another_process_says_is_seen_at_once_and_a_damaged_database_says_nothing(tmp_path):
    home = Home(tmp_path / "home").ensure()
    seen = OverrideCache(home)
    assert seen.read() == NONE
    assert set_override(home, "old", "new", True) is None and seen.read() == {("old", "new"): True}
    assert set_override(home, "old", "new", False) is True and seen.read() == {
        ("old", "new"): False
    }
    assert set_override(home, "old", "new", None) is False and seen.read() == {}
    set_override(home, "old", "new", True)
    assert OverrideCache(home).read() == seen.read() == {("old", "new"): True}
    seen.close()
    home.state_db.write_bytes(b"no database" * 1000)
    assert seen.read() == {("old", "new"): True}  # as it was known last
