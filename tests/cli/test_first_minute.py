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
