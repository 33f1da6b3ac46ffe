"""A rule with a part, or a finder, that is left out of a scan would find nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from memsearch_engine.secrets import scan
from memsearch_engine.secrets.linear import any_of
from memsearch_engine.secrets.vendor import Part

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", ["positive", "positive_more", "shapes", "formats", "places"])
def test_what_is_left_out_of_a_scan_would_find_nothing(name):
    lines = (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    for text in (json.loads(line)["text"] for line in lines):
        rules, finders = set(scan._words()(text)), set(scan._finders()(text))
        unused = [
            rule
            for at, (rule, _) in enumerate(scan._RULES)
            if isinstance(rule.words, Part) and at not in rules
        ]
        assert [rule for rule in unused if list(rule.spans(text))] == [], text
        others = [find for at, (find, _) in enumerate(scan._FINDERS) if at not in finders]
        assert [find for find in others if list(find(text))] == [], text


def test_without_re2_the_words_are_searched_and_patterns_count_as_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    assert any_of([("token",), ("pass",), "[0-9]{4}"])("my PASSWORD") == [1, 2]
