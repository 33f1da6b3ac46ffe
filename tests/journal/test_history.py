"""The log of changes by itself: what is forgotten by age and size, what can be done again, what is
damaged.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.journal.history import Change, History

_DAY_S = 86_400.0


@pytest.fixture
def log(tmp_path: Path):
    history = History(tmp_path / "history.db")
    yield history
    history.close()


def put(
    log: History,
    entry: str,
    op: str = "edit",
    *,
    size: int = 100,
    days_ago: float = 0.0,
    batch: str = "",
) -> int:
    """A change that was done so long ago; ``size`` bytes of images."""
    before, after = b"b" * (size // 2), b"a" * (size - size // 2)
    seq = log.record(Change(batch or entry, op, "m", "p", entry, "", 0, before, after, "x", "y"))
    log.confirm(seq)
    log.database.execute("UPDATE changes SET at = at - ? WHERE seq=?", (days_ago * _DAY_S, seq))
    return seq


def kept(log: History) -> list[int]:
    return [change.seq for change in reversed(log.recent()) if change.state == "done"]


def test_what_is_older_is_forgotten_and_what_is_not_is_kept(log: History):
    old, recent = put(log, "one", days_ago=40), put(log, "two", days_ago=3)
    assert kept(log) == [old, recent]
    assert log.prune(max_days=30) == 1 and kept(log) == [recent]
    assert log.prune() == 0 and kept(log) == [recent]  # no limit


def test_the_oldest_beyond_a_size_are_forgotten(log: History):
    seqs = [put(log, f"e{number}", size=1000) for number in range(5)]
    assert log.prune(max_bytes=2500) == 3 and kept(log) == seqs[3:]
    assert log.prune(max_bytes=2500, max_days=1) == 0
    put(log, "old", size=10, days_ago=9)
    assert log.prune(max_bytes=1_000_000, max_days=1) == 1  # either limit is enough


def test_that_a_note_was_deleted_outlives_its_images(log: History):
    put(log, "gone", "delete", days_ago=40)
    put(log, "here", "edit", days_ago=40)
    assert log.prune(max_days=30) == 2
    assert log.is_deleted("gone") and not log.is_deleted("here") and kept(log) == []


def test_nothing_is_done_again_whose_entry_has_changed_since(log: History):
    first, second = put(log, "one", batch="both"), put(log, "two", batch="both")
    for change in log.last_done():
        log.confirm_undo(log.begin_undo(change, True, "y", "x"))
    assert [change.seq for change in log.last_undone()] == [first, second]
    put(log, "two")  # by the path of another project, which asks for none of these
    assert log.last_undone(entry_id="one") == []


def test_a_record_that_fails_leaves_nothing_behind(log: History, monkeypatch: pytest.MonkeyPatch):
    from memsearch_engine.journal import history

    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("no space")

    monkeypatch.setattr(history, "store_turns", fails)
    with pytest.raises(Unreachable):
        put(log, "gone", "delete")
    assert log.recent() == [] and log.unsettled() == []
    monkeypatch.undo()
    put(log, "gone", "delete")  # and the file is no transaction's any more
    assert log.is_deleted("gone")


def test_a_sound_log_says_nothing_and_a_damaged_one_says_so(log: History, tmp_path: Path):
    assert log.database.check() == ""
    for number in range(200):
        put(log, f"e{number}", size=4000)
    assert log.database.check() == ""
    log.close()
    file = tmp_path / "history.db"
    data = bytearray(file.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 8192] = b"\xff" * 8192
    file.write_bytes(bytes(data))
    assert "is damaged" in History(file).database.check()
    file.write_bytes(b"no database at all" * 100)
    assert "is damaged" in History(file).database.check()
