"""The query language never fails, and what is no filter is text."""

from __future__ import annotations

import contextlib
import re
from datetime import date

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.journal.files import list_files
from memsearch_engine.search import lexical
from memsearch_engine.search.dates import date_in_words, parse_date
from memsearch_engine.search.request import FILTER_KEYS, SearchRequest, parse

TODAY = date(2026, 3, 1)
PIECE = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *(f"{key}:" for key in FILTER_KEYS),
            '"',
            "-",
            ":",
            "agent:codex",
            "after:7d",
            "a OR b",
            "NEAR(",
        ]
    ),
    st.tuples(st.sampled_from(FILTER_KEYS), st.text(max_size=8)).map(":".join),
    st.tuples(
        st.sampled_from(["after", "day", "before"]), st.from_regex(r"\A[0-9]{1,5}[dwmy]?\Z")
    ).map(":".join),
)
QUERY = st.lists(PIECE, max_size=10).map(" ".join)


@settings(max_examples=500)
@given(QUERY)
@pytest.mark.slow
def test_parse_never_raises(raw):
    query = parse(raw, TODAY)
    assert query.raw == raw
    query.filter.expression()
    assert isinstance(query.asks_for_present, bool)


def test_a_prompt_asks_nothing_of_the_past_or_the_present():
    """ "The page that we had before": what a person tells an agent is no question about notes."""
    words = "what was the limit before, and what is it now"
    assert parse(words, TODAY).asks_for_past or parse(words, TODAY).asks_for_present
    injected = SearchRequest.of_words(words, is_prompt=True)
    assert not injected.asks_for_past and not injected.asks_for_present


@pytest.mark.parametrize(
    ("text", "present"),
    [
        ("what is the redis ttl now", True),
        ("redis ttl currently?", True),
        ("latest redis ttl", True),
        ("目前 redis 的 ttl", True),
        ("The parser now keeps comments", False),
        ("search: --hidden is now the default", False),
    ],
)
def test_now_alone_does_not_ask_for_the_present(text, present):
    assert parse(text, TODAY).asks_for_present == present


@settings(max_examples=200)
@given(
    st.from_regex(r"\A[a-z]{2,9}\Z").filter(lambda key: key not in FILTER_KEYS),
    st.from_regex(r"\A[a-z0-9/]{1,12}\Z"),
)
def test_an_unknown_key_is_text(key, value):
    query = parse(f"{key}:{value} other", TODAY)
    assert query.text == f"{key}:{value} other" and query.filter == parse("x", TODAY).filter


@pytest.mark.parametrize(
    "word",
    [
        "http://x.y/z",
        "agent:nobody",
        "after:someday",
        "day:2026-02-31",
        "is:new",
        "has:money",
        "kind:x",
        "agent:",
        "C:\\temp",
        "10:30",
        "std::move",
        "AGENT:codex",
        "-day:x",
        "-after:7d",
    ],
)
def test_what_only_looks_like_a_filter_is_text(word):
    query = parse(f"redis {word}", TODAY)
    assert query.text == f"redis {word}" and query.filter == parse("x", TODAY).filter
    assert not (query.projects or query.flags or query.has or query.paths or query.excluded_filters)


@pytest.mark.parametrize(
    ("raw", "first", "last"),
    [
        ("after:7d", "2026-02-22", ""),
        ("before:yesterday", "", "2026-02-28"),
        ("day:2026-02-09", "2026-02-09", "2026-02-09"),
        ("day:2026-02", "2026-02-01", "2026-02-28"),
        ("day:2025", "2025-01-01", "2025-12-31"),
        ("after:2026-01-01 after:2026-02-01 before:2026-02-10", "2026-02-01", "2026-02-10"),
    ],
)
def test_dates(raw, first, last):
    where = parse(raw, TODAY).filter
    assert (where.first_day, where.last_day) == (first, last)


@settings(max_examples=200)
@given(st.text(max_size=12))
def test_dates_never_raise(text):
    for span in (parse_date(text, TODAY), date_in_words(text, TODAY)):
        assert span is None or "0001" <= span[0] <= span[1] <= "9999-12-31"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [  # TODAY is a Sunday, 1 March 2026
        ("sun", "2026-03-01", "2026-03-01"),
        ("last sunday", "2026-02-22", "2026-02-22"),
        ("Mon", "2026-02-23", "2026-02-23"),
        ("3 weeks ago", "2026-02-08", "2026-02-08"),
        ("3-weeks-ago", "2026-02-08", "2026-02-08"),
        ("a month ago", "2026-01-30", "2026-01-30"),
        ("2 days", "2026-02-27", "2026-02-27"),
        ("14 mar", "2025-03-14", "2025-03-14"),
        ("feb 14th", "2026-02-14", "2026-02-14"),
        ("the 14th of February", "2026-02-14", "2026-02-14"),
        ("14 mar 2024", "2024-03-14", "2024-03-14"),
        ("mar 2024", "2024-03-01", "2024-03-31"),
        ("march", "2026-03-01", "2026-03-31"),
        ("last march", "2025-03-01", "2025-03-31"),
        ("december", "2025-12-01", "2025-12-31"),
        ("last week", "2026-02-16", "2026-02-22"),
        ("this week", "2026-02-23", "2026-03-01"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("last year", "2025-01-01", "2025-12-31"),
    ],
)
def test_dates_as_people_type_them(text, first, last):
    assert date_in_words(text, TODAY) == (first, last)
    assert parse(f'day:"{text}"', TODAY).filter.first_day == first


@pytest.mark.parametrize(
    "text", ["", "31 feb", "monday 14", "marching", "last", "0 mar", "14 mar 0000", "weeks ago"]
)
def test_other_words_are_no_date(text):
    assert date_in_words(text, TODAY) is None


def test_phrases_exclusions_and_quoted_values():
    query = parse(
        'redis -draft "pool size" project:"my project" -agent:codex -"two words" session:a', TODAY
    )
    assert query.text == "redis pool size" and query.phrases == ["pool size"]
    assert query.excluded == ["draft", "two words"] and query.projects == ["my project"]
    assert query.excluded_filters == [("agent", "codex")] and query.filter.sessions == ("a",)


@pytest.mark.parametrize(
    "flags",
    [
        "Add -s/--case-sensitive flag. Overrides --smart-case.",
        "grep -rn with -A3 -v",
        "rg -uu --no-ignore=vcs",
        "gcc -O2 -Wl,-rpath",
        "ls -1 -a_b -v2",
    ],
)
def test_a_command_line_flag_excludes_nothing(flags):
    request = parse(flags, TODAY)
    assert request.excluded == [] and request.text == flags


@pytest.mark.parametrize("word", ["draft", "über", "中文", "черновик"])
def test_a_plain_word_after_a_dash_excludes(word):
    request = parse(f"redis -{word}", TODAY)
    assert request.excluded == [word] and request.text == "redis"


def test_filter_values_cannot_leave_their_quotes():
    for value in ('a" or "1"=="1', "a\\", '\\"', "x\ny", "' or 1", "{}", "%"):
        expression = parse("x", TODAY).filter.__class__(sessions=(value,)).expression()
        inner = re.fullmatch(r'\(session (?:like|==) "(.*)"\)', expression)[1]
        bare = inner.replace("\\\\", "").replace('\\"', "")
        assert '"' not in bare and "\\" not in bare and "\n" not in bare


# -- against files and a catalog


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    from memsearch_engine.index.scan import scan

    from tests.conftest import DAYS

    root = tmp_path_factory.mktemp("corpus")
    for day, text in DAYS.items():
        (root / f"{day}.md").write_text(text)
    catalog = Catalog(root / "cache.db", writable=True)
    scan(catalog, "p", [str(root)], Settings(), memory=str(root))
    yield catalog, Project("p", "p", "ms_p", str(root), str(root))
    catalog.close()


@settings(max_examples=150)
@given(QUERY)
def test_lexical_search_never_raises(corpus, raw):
    catalog, project = corpus
    query = parse(raw, TODAY)
    for source in (catalog, None):
        answer = lexical.search(source, [project], query.with_(limit=5))
        assert len(answer.hits) <= 5 and [hit.rank for hit in answer.hits] == list(
            range(1, len(answer.hits) + 1)
        )


@pytest.mark.parametrize(
    "raw",
    [
        "redis",
        "selectinload",
        "蓝绿",
        "postgres staging",
        "sele",
        "agent:codex",
        "flaky -login",
        '"Redis cache"',
        "day:2026-02-09",
        "is:pinned",
        "has:evidence",
        "kind:note",
        "session:abc",
        "session:abc N+1",
        "path:02-10 login",
    ],
)
def test_catalog_and_files_find_the_same(corpus, raw):
    catalog, project = corpus
    query = parse(raw, TODAY)
    by_catalog = [
        h.row.entry_id for h in lexical.search(catalog, [project], query.with_(limit=10)).hits
    ]
    by_files = [h.row.entry_id for h in lexical.search(None, [project], query.with_(limit=10)).hits]
    assert sorted(by_catalog) == sorted(by_files)
    expected = {
        "flaky -login": 0,
        "is:pinned": 0,
        "has:evidence": 4,
        "kind:note": 1,
        "session:abc": 2,
        "day:2026-02-09": 3,
    }
    assert len(by_files) == expected.get(raw, max(1, len(by_files)))


def test_a_listing_query_is_not_cut_by_what_the_filter_sorts_out(tmp_path):
    """`session:` alone lists the session's entries, also where hundreds of newer ones of others
    stand before them.
    """
    from memsearch_engine.index.scan import scan

    notes = "".join(f"### 10:{n % 60:02d}\n- filler {n}\n\n" for n in range(300))
    (tmp_path / "2026-02-02.md").write_text(notes)
    (tmp_path / "2026-02-01.md").write_text(
        "### 09:00\n<!-- session:old turn:1 transcript:/x -->\n- wanted filler\n"
    )
    assert len(list_files(tmp_path).files) == 2
    catalog = Catalog(tmp_path / "cache.db", writable=True)
    scan(catalog, "p", [str(tmp_path)], Settings(), memory=str(tmp_path))
    project = Project("p", "p", "ms_p", str(tmp_path), str(tmp_path))
    for raw in (
        "session:old",
        "path:2026-02-01",
        "filler session:old",
        "has:evidence",
        "filler has:evidence",
        'filler "wanted filler"',
    ):
        hits = lexical.search(catalog, [project], parse(raw, TODAY, limit=5)).hits
        assert [h.row.session for h in hits] == ["old"], raw
    catalog.close()


@pytest.mark.parametrize("by_catalog", [True, False])
def test_an_answer_says_how_many_notes_an_excluded_word_left_out(tmp_path, by_catalog):
    from memsearch_engine.index.scan import scan

    notes = ["Draft: Redis TTL 5", "Redis TTL 300", "redis draft two", "Redis cluster"]
    text = "".join(f"### 1{n}:00\n- {note}\n\n" for n, note in enumerate(notes))
    (tmp_path / "2026-02-01.md").write_text(f"# 2026-02-01\n\n{text}")
    project = Project("p", "p", "ms_p", str(tmp_path), str(tmp_path))
    with contextlib.closing(Catalog(tmp_path / "cache.db", writable=True)) as catalog:
        scan(catalog, "p", [str(tmp_path)], Settings(), memory=str(tmp_path))
        source = catalog if by_catalog else None
        answer = lexical.search(source, [project], parse("redis -draft"))
        assert len(answer.hits) == 2 and answer.reason == "left out 2 notes with “draft”"
        assert lexical.search(source, [project], parse("redis -zebra")).reason == ""


@pytest.mark.parametrize("by_catalog", [True, False])
def test_words_phrases_and_exclusions_concern_the_whole_note(tmp_path, by_catalog):
    from memsearch_engine.index.scan import scan

    filler = "\n\n".join(f"Redis paragraph {n}: " + "sessions expire late. " * 20 for n in range(9))
    long = f"{filler}\n\nThe last line names the payroll server."
    (tmp_path / "2026-02-01.md").write_text(
        f"# 2026-02-01\n\n### 10:00\n{long}\n\n### 11:00\n- Redis on a small note\n"
    )
    project = Project("p", "p", "ms_p", str(tmp_path), str(tmp_path))

    def times(query: str) -> tuple[set[str], list[str]]:
        request = parse(query)
        hits = lexical.search(source, [project], request).hits
        admitted = lexical.admitted(source, [project], request)
        return {hit.row.time for hit in hits}, [row.time for row in admitted]

    with contextlib.closing(Catalog(tmp_path / "cache.db", writable=True)) as catalog:
        scan(catalog, "p", [str(tmp_path)], Settings(), memory=str(tmp_path))
        source = catalog if by_catalog else None
        assert times("redis") == ({"10:00", "11:00"}, ["10:00", "11:00"])
        assert times("redis -payroll") == ({"11:00"}, ["11:00"])
        assert times('redis "payroll server"') == ({"10:00"}, ["10:00"])


def test_a_minus_excludes_flags_and_evidence_and_else_says_that_it_cannot(tmp_path):
    (tmp_path / "2026-02-01.md").write_text(
        "### 09:00\n<!-- session:a turn:1 transcript:/x -->\n- captured\n\n"
        "### 10:00\n<!-- pin -->\n- pinned\n\n### 11:00\n- plain\n"
    )
    project = Project("p", "p", "ms_p", str(tmp_path), str(tmp_path))
    for query, wanted in (
        ("-has:evidence", ["10:00", "11:00"]),
        ("-is:pinned", ["09:00", "11:00"]),
        ("is:pinned -has:evidence", ["10:00"]),
    ):
        request = parse(query)
        assert request.is_empty and request.remark == ""
        assert [row.time for row in lexical.admitted(None, [project], request)] == wanted, query
    assert "-after:7d is no filter (after: has no exclusion)" in parse("-after:7d").remark
    assert "-is:nothing is no filter (pinned," in parse("-is:nothing").remark


def test_a_request_survives_the_wire():
    request = parse(
        'was ttl agent:codex -day:2026-02-01 "a b" -draft as-of:2026-02', TODAY, limit=3
    )
    sent = msgspec.json.decode(msgspec.json.encode(request))
    assert msgspec.convert(sent, SearchRequest) == request
