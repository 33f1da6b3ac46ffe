"""What a note names, and what it says of that itself."""

from __future__ import annotations

import pytest
from memsearch_engine.staleness.references import find, replaced


def names(text: str) -> list[tuple[str, str]]:
    return [(found.kind, found.name) for found in find(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- `app/cache.py:42` has it", [("file", "app/cache.py")]),
        (
            "see ./scripts/run.sh and app/web/index.html.",
            [("file", "scripts/run.sh"), ("file", "app/web/index.html")],
        ),
        ("Files changed: `a/b.py`, `c/d.ts`", [("file", "a/b.py"), ("file", "c/d.ts")]),
        ("below `app/jobs/` now", [("file", "app/jobs/")]),
        (
            "`Cache.get_or_set()` and plain_name, and fetchParcels",
            [("symbol", "get_or_set"), ("symbol", "plain_name"), ("symbol", "fetchParcels")],
        ),
        ("`std::fmt::DisplayName`", [("symbol", "DisplayName")]),
        (
            "`POOL_SIZE=20`, `cache.ttl_seconds`",
            [("setting", "POOL_SIZE"), ("symbol", "ttl_seconds")],
        ),
        ("`ttl_seconds = 300` in the settings", [("setting", "ttl_seconds")]),
        (
            "run `make lint` and `npm run build`",
            [("command", "make lint"), ("command", "npm run build")],
        ),
        ("`python -m app.jobs --once`", [("command", "python -m app.jobs --once")]),
        ("`pytest tests/test_a.py::test_b -q`", [("command", "pytest tests/test_a.py::test_b -q")]),
        ("fixed in commit 3fa9c1d20b", [("commit", "3fa9c1d20b")]),
        ("on the branch `feature/cart`", [("branch", "feature/cart")]),
        # no names of the repository's
        ("client/server and TCP/IP and 24/7", []),
        ("https://example.org/app/cache.py", []),
        ("`curl https://example.org/a/b.py`", []),
        ("PostgreSQL", []),
        ("runs on Node.js 20 and Vue.js 3", []),
        ("`src/my runner.py` and `my runner.py`", []),
        (r"`src\my\runner.py` in C:\src\app\x.py", []),
        ("`pip install runner.py==2`", []),
        ("in src/my runner.py", []),
        ("../other/project.py", []),
        ("the word 1234567 is no commit", []),
        ("<!-- session:a turn:b transcript:/x/app/cache.py -->", []),
        # it says itself that it went
        ("- Removed `app/cache.py`; nobody used it", []),
        ("`app/cache.py` was renamed to `app/store.py`", []),
        ("`git mv app/a.py app/b.py`", []),
        ("`purge_expired` becomes `evict_stale`", []),
        ("`app/cache.py` wurde gelöscht", []),
        ("Nothing was removed. `app/cache.py` stays", [("file", "app/cache.py")]),
        # names that only look so
        (
            "`remove_item()` in `app/remove.py`",
            [("symbol", "remove_item"), ("file", "app/remove.py")],
        ),
    ],
)
def test_what_a_note_names(text, found):
    assert names(text) == found


def test_long_texts_are_read_as_far_as_they_matter_and_in_no_time():
    assert len(find("`a/b.py` " * 20_000)) == 1
    assert len(find(" ".join(f"`a/b{n}.py`" for n in range(2000)))) == 40
    for hostile in (
        "a/" * 9_000,
        "a." * 9_000,
        "`" * 18_000,
        "a_" * 9_000,
        "aA" * 9_000,
        "../" * 6_000,
        "make -" * 3_000,
    ):
        assert len(find(hostile)) <= 2


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("`runner.py` runs, see tools/runner.py", "`lib/exec.py` runs, see tools/runner.py"),
        ("https://x.org/?f=runner.py and http://x.org/runner.py", ""),
        ("`src/my runner.py`, `src\\my\\runner.py`, `pip install runner.py==2`", ""),
        ("./runner.py:3 and runner.py.", "lib/exec.py:3 and lib/exec.py."),
    ],
)
def test_a_new_path_is_put_only_where_the_old_one_was_named(text, changed):
    assert replaced(text, "runner.py", "lib/exec.py") == (changed or text)
