"""Reports of changed folders."""

from __future__ import annotations

import queue

from memsearch_engine.index.watch import Watcher


def test_many_changes_are_reported_together_and_later_ones_again(tmp_path):
    reports: queue.Queue[str] = queue.Queue()
    watcher = Watcher(reports.put, debounce_s=0.5)
    try:
        assert watcher.add("notes", str(tmp_path))
        for number in range(100):
            (tmp_path / "2026-03-01.md").write_text(f"- note {number}\n")
        assert reports.get(timeout=60) == "notes"
        assert reports.qsize() < 10
        while not reports.empty():
            reports.get()
        (tmp_path / "2026-03-01.md").write_text("- the last note\n")
        assert reports.get(timeout=60) == "notes"
    finally:
        watcher.stop()
