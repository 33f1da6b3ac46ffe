"""An evaluation set made from a git checkout, and how its figures are printed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.evaluation import intervals, repositories

CHANGELOG = """# 2.0

- [BUG #7](https://tracker.example/7): The parser keeps a trailing comma in nested lists.
- #9: Two commits close this one.
"""
PARSER = "A comma at the end of a nested list was taken for an empty element. It is skipped now."
CACHE = "Entries were evicted by age alone, so a burst of cold keys emptied the cache of hot ones."

COUNT = "A counter beside the value says how often it was read since the last sweep of the store."


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A repository whose commits each show one rule of the set."""
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    commits = [
        (
            "Skip a trailing comma in nested lists",
            f"{PARSER}\n\nFixes #7\nSigned-off-by: A <a@b.c>",
        ),
        ("Evict cache entries by use (#12)", f"{CACHE}\n\nCloses #9"),
        ("Evict cache entries by recent use", f"{CACHE} Again.\n\nCloses #9"),
        ("Count hits of each cache entry", f"{COUNT}\n\nCloses #9"),
        ("Too short a body to be a note", "Typo."),
        ("Rename the reader of frames", "Rename the reader of frames to what it reads. " * 3),
    ]
    for day, (subject, body) in enumerate(commits, 1):
        date = f"2026-01-0{day}T10:00:00"
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject, "-m", body, date=date)
    return tmp_path


def git(folder: Path, *arguments: str, date: str = "2026-01-01T10:00:00") -> None:
    who = {
        f"GIT_{role}_{what}": "a" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "PATH": "/usr/bin:/bin"}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, env=who | dates)


def test_bodies_are_notes_and_subjects_queries_without_near_duplicates(checkout):
    notes, queries = repositories.made(checkout, 10, 10)
    assert [(note.day, note.body) for note in notes] == [
        ("2026-01-01", PARSER),
        ("2026-01-03", f"{CACHE} Again."),  # the newest of two alike
        ("2026-01-04", COUNT),
    ]
    assert {query.text for query in queries} == {
        "Skip a trailing comma in nested lists",
        "Evict cache entries by recent use",
        "Count hits of each cache entry",
    }
    assert repositories.made(checkout, 10, 10) == (notes, queries)


def test_a_line_of_the_changelog_asks_for_the_commit_that_closes_its_issue(checkout):
    notes, (query,) = repositories.made(checkout, 10, 10, changelog=True)
    by_id = {note.id: note.subject for note in notes}
    assert (query.text, by_id[query.commit]) == (
        "The parser keeps a trailing comma in nested lists.",
        "Skip a trailing comma in nested lists",
    )


def test_every_note_has_a_day_and_a_time_of_its_own(tmp_path):
    notes = [
        repositories.Commit(str(n), "2026-01-01", "subject", f"first {n}\n\nsecond", frozenset())
        for n in range(61)
    ]
    places = repositories.write(tmp_path, notes)
    assert list(places.values()) == [note.id for note in notes]
    text = (tmp_path / "2026-01-01.md").read_text()
    assert "### 08:00\n- first 0\n- second\n" in text and "### 09:00\n- first 60\n" in text


def test_intervals_hold_the_difference():
    ranks = np.array([1, 2, 0, 6])
    assert intervals.first(ranks).tolist() == [1, 0, 0, 0]
    assert intervals.in_five(ranks).tolist() == [1, 1, 0, 0]
    assert intervals.reciprocal(ranks).tolist() == [1, 0.5, 0, 1 / 6]
    low, high = intervals.wilson(8, 10)
    assert 0.49 < low < 0.8 < high < 0.95
    mean, low, high = intervals.paired(np.ones(50), np.zeros(50))
    assert mean == low == high == 1
    lines = intervals.report({"set": {"hybrid": [1, 2], "bm25": [0, 2]}}).splitlines()
    assert "0.500  1.000" in lines[1] and "+0.500" in lines[2]
