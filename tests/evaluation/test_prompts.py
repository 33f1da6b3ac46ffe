"""Prompts in the wording of issue trackers: what the set has, and what a home answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation import prompts, repositories
from tests.evaluation.test_repositories import git

CHANGELOG = """# 2.0

- [BUG #7](https://tracker.example/7): Nested arrays with a comma at their end are rejected (@ann).
- Sort keys of the dump by codepoint (#9)
"""
COMMA = (
    "An element that is missing after the last separator was an error. It is skipped from now on."
)
KEYS = "The order was that of the hash table, which differs between runs. Compare bytes instead."
CACHE = "Entries were evicted by age alone, so that a burst of cold entries emptied the cache."
COUNT = "A burst of cold entries emptied the cache. Every read is counted beside the value now."
PANIC = "The reader took the length from the header. It is checked against the buffer first."
COPY = "This sends the bytes of the file through a pipe, so that no buffer of ours is needed."


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A repository with one commit for each kind of quotation."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "changelog.md").write_text(CHANGELOG)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    commits = [
        ("parser: be lenient", f"{COMMA}\n\nFixes #7"),
        ("dump: order (#9)", KEYS),
        ("Evict entries by how often they are read (#11)", CACHE),
        ("cache: count reads", f"{COUNT}\n\nCloses #11"),
        ("reader: bounds", f"{PANIC}\n\nFixes #13: Crash while opening a truncated archive"),
    ]
    for subject, body in commits:
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject, "-m", body)
    git(tmp_path, "checkout", "-q", "-b", "copy")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "copy: splice", "-m", COPY)
    git(tmp_path, "checkout", "-q", "main")
    merge = ["-m", "Merge pull request #15 from a/copy", "-m", "Faster upload of large logs"]
    git(tmp_path, "merge", "-q", "--no-ff", *merge, "copy")
    return tmp_path


def test_prompts_are_what_the_checkout_quotes_from_its_tracker(checkout):
    found = prompts.prompts_of(checkout, 10, 10)
    subjects = {one.id: one.subject for one in repositories.commits(checkout)}
    asked = {
        one.text: {subjects[commit] for commit in one.right}
        for one in [*found.answered, *found.unanswered]
    }
    assert asked == {
        "Nested arrays with a comma at their end are rejected.": {"parser: be lenient"},
        "Sort keys of the dump by codepoint": {"dump: order (#9)"},
        "Evict entries by how often they are read": {
            "Evict entries by how often they are read (#11)",
            "cache: count reads",
        },
        "Crash while opening a truncated archive": {"reader: bounds"},
        "Faster upload of large logs": {"copy: splice"},
    }


@pytest.mark.parametrize("seed", range(5))
def test_a_prompt_without_an_answer_has_no_note_of_its_issue(checkout, monkeypatch, seed):
    monkeypatch.setattr(prompts, "_SEED", seed)
    found = prompts.prompts_of(checkout, 10, 6)
    there = {note.id for note in found.notes}
    assert len(found.unanswered) == 2
    assert len(found.answered) == 3
    assert all(one.right <= there for one in found.answered)
    assert all(there.isdisjoint(one.right) for one in found.unanswered)


def test_a_note_similar_to_one_that_is_left_out_is_left_out(checkout, monkeypatch):
    git(
        checkout,
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "hash: seed",
        "-m",
        f"{KEYS[:69]} So do the others.",
    )
    for seed in range(9):
        monkeypatch.setattr(prompts, "_SEED", seed)
        found = prompts.prompts_of(checkout, 10, 6)
        subjects = {note.subject for note in found.notes}
        assert ("hash: seed" in subjects) == ("dump: order (#9)" in subjects)


def test_a_line_that_the_note_repeats_is_no_prompt(checkout):
    body = f"{PANIC}\n\nCrash of the tool on large archives"
    git(
        checkout, "commit", "-q", "--allow-empty", "-m", "Crash on large archives (#17)", "-m", body
    )
    found = prompts.prompts_of(checkout, 10, 10)
    assert "Crash on large archives" not in {
        one.text for one in [*found.answered, *found.unanswered]
    }


def test_the_outcome_counts_right_and_other_notes(checkout, tmp_path_factory):
    """The words of a note as a prompt: the note is injected. It is the right one, or another."""
    notes = list(repositories.commits(checkout))
    by_body = {note.body: note.id for note in notes}
    asked = prompts.PromptSet(
        [note for note in notes if note.body in (COMMA, KEYS, PANIC, COPY)],
        [
            prompts.Prompt(PANIC, frozenset({by_body[PANIC]})),
            prompts.Prompt(PANIC, frozenset({by_body[COPY]})),
            prompts.Prompt("Yes, do", frozenset({by_body[COPY]})),
        ],
        [prompts.Prompt(COPY, frozenset()), prompts.Prompt("Go on", frozenset())],
    )
    answered, unanswered = prompts.ask(tmp_path_factory.mktemp("home"), asked)
    assert answered == prompts.Outcome(1, 1, 3)
    assert unanswered == prompts.Outcome(0, 1, 2)
