"""A command that gets no more memory says so in a sentence."""

from __future__ import annotations

import json

import pytest
from memsearch_engine import Memory

from memsearch_tui.cli import group


@pytest.mark.parametrize(("verb", "words"), [("add", ["add", "A note"]), ("search", ["search", "note", "--no-wait"])])
def test_it_is_one_sentence_and_exit_3(box, monkeypatch, capsys, verb, words):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.chdir(box.project)
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    monkeypatch.setattr(Memory, verb, full)
    assert group.run([*words, "--json"]) == 3
    said = capsys.readouterr()
    assert said.err == "error: there is not enough memory for this\n"
    assert "not enough memory" in json.dumps(json.loads(said.out))
