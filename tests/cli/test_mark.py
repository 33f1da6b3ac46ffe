"""`memsearch mark`: marks are set, printed and taken away."""

from __future__ import annotations

import json

import pytest
from memsearch_engine import Memory

from memsearch_tui.cli.group import run


@pytest.fixture
def note(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    with Memory() as memory:
        yield memory.add("The cache lives 900 s")


def marks(capsys, *arguments):
    assert run(["mark", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["marks"]
    return {name: value for name, value in found.items() if name != "id"}


def test_marks_are_set_together_and_taken_away(note, capsys):
    set_ = marks(capsys, note.id, "--pin", "--expires", "2099-12-31", "--confidence", "low")
    assert set_ == {"pin": "", "expires": "2099-12-31", "confidence": "low"}
    assert marks(capsys, note.id) == set_
    assert marks(capsys, note.id, "--no-pin", "--no-expires", "--no-confidence") == {}


def test_a_newer_version_is_named(note, capsys):
    newer = Memory().add("The cache lives 1800 s now")
    assert marks(capsys, note.id, "--superseded-by", newer.id[:6]) == {"superseded-by": newer.id}
    assert marks(capsys, note.id, "--no-superseded-by") == {}


@pytest.mark.parametrize(
    "options",
    [
        ["--expires", "someday"],
        ["--confidence", "surely"],
        ["--expires", "2099-12-31", "--no-expires"],
        ["--superseded-by", "SELF"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused(note, options, capsys):
    options = [note.id if option == "SELF" else option for option in options]
    assert run(["mark", note.id, *options]) == 2
    assert marks(capsys, note.id) == {}
