"""Chunks: every byte once, none too long, code and addresses whole where they fit."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from memsearch_engine.index import analyze
from memsearch_engine.index.chunk import chunks_of, split, weight
from memsearch_engine.journal.parse import parse

WORD = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Zl", "Zp")), min_size=1, max_size=30
)
CODE = st.lists(st.text("abc_=() #", max_size=30), min_size=1, max_size=8).map(
    lambda lines: "```python\n" + "\n".join(lines) + "\n```"
)
URL = st.text("abcdef0123456789/-_.", min_size=5, max_size=90).map(
    lambda tail: f"https://example.org/{tail}x"
)
PARAGRAPH = st.one_of(
    st.lists(WORD, max_size=25).map(" ".join),
    CODE,
    st.lists(st.one_of(URL, st.sampled_from(["see", "at", "and."])), min_size=1, max_size=6).map(
        " ".join
    ),
    st.text("部署脚本改用了蓝绿发布。！", max_size=80),
    st.just("- item one\n- item two\n  continued"),
)
TEXT = st.lists(PARAGRAPH, max_size=12).map("\n\n".join)
LIMIT = st.integers(100, 600)


@pytest.mark.slow
@settings(max_examples=300)
@given(TEXT, LIMIT)
def test_spans_cover_the_text_and_respect_the_limit(text, limit):
    spans = split(text, limit)
    assert spans[0][0] == 0 and spans[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in itertools.pairwise(spans))
    assert all(weight(text[a:b]) <= limit for a, b in spans)
    assert all(a < b for a, b in spans) or text == ""


@settings(max_examples=200)
@given(st.text(max_size=400), st.integers(1, 50))
def test_any_text_and_any_limit(text, limit):
    spans = split(text, limit)
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(weight(text[a:b]) <= max(limit, 3) for a, b in spans)


@settings(max_examples=200)
@given(
    st.lists(
        st.one_of(URL, WORD.filter(lambda w: "`" not in w and "~" not in w)),
        min_size=5,
        max_size=60,
    ).map(" ".join),
    LIMIT,
)
def test_addresses_stay_whole_where_they_fit(text, limit):
    cuts = {stop for _, stop in split(text, limit)} - {len(text)}
    for match in re.finditer(r"https://\S+", text):
        if len(match[0]) < limit // 3:
            assert not any(match.start() < cut < match.end() for cut in cuts), match[0]


@settings(max_examples=200)
@given(
    st.lists(
        st.one_of(
            CODE,
            st.lists(st.sampled_from(["some", "prose.", "words"]), min_size=3, max_size=40).map(
                " ".join
            ),
        ),
        min_size=3,
        max_size=12,
    ).map("\n\n".join),
    LIMIT,
)
def test_code_fences_stay_whole_where_they_fit(text, limit):
    cuts = {stop for _, stop in split(text, limit)} - {len(text)}
    for match in re.finditer(r"(?ms)^```python\n.*?^```$", text):
        if weight(match[0]) + 2 <= limit:
            assert not any(match.start() < cut < match.end() for cut in cuts), (match[0], cuts)


def test_a_fence_right_under_prose_stays_whole():
    """Markdown wants no blank line before a fence; agents often leave it out."""
    fence = "```python\n" + "\n".join(f"step_{n}()" for n in range(20)) + "\n```"
    text = "word " * 50 + "\n" + fence + "\n" + "word " * 50
    cuts = {stop for _, stop in split(text, 400)} - {len(text)}
    start = text.index(fence)
    assert len(fence) < 400 and not any(start < cut < start + len(fence) for cut in cuts)


def entry(body: str, heading: str = "10:00", trail: str = ""):
    return parse(f"{trail}### {heading}\n{body}\n".encode(), "2026-01-01").entries[-1]


@settings(max_examples=150)
@given(TEXT, LIMIT)
def test_chunks_of_an_entry(text, limit):
    parsed = parse(f"# 2026-01-01\n\n### 10:00\n{text}\n".encode(), "2026-01-01")
    for found in parsed.entries:
        chunks = chunks_of(found, limit)
        assert [c.part for c in chunks] == list(range(len(chunks)))
        assert len({c.chunk_id for c in chunks}) == len(chunks)
        for chunk in chunks:
            assert found.start_line <= chunk.start_line <= chunk.end_line <= found.end_line
        again = chunks_of(found, limit)
        assert [c.chunk_id for c in again] == [c.chunk_id for c in chunks]


def test_what_is_embedded_has_no_comment_and_no_time():
    (chunk,) = chunks_of(
        entry("<!-- agent:codex session:s turn:t rollout:/x -->\n- text <!-- aside --> here")
    )
    assert (
        "<!--" not in chunk.embedded and "10:00" not in chunk.embedded and "text" in chunk.embedded
    )
    assert "<!-- agent:codex" in chunk.text
    (chunk,) = chunks_of(entry("- text", "Decisions", "# Project X\n\n## Database\n\n"))
    assert chunk.embedded == "Project X / Database / Decisions\n- text"


def test_the_vector_of_a_text_does_not_depend_on_where_it_stands():
    one = chunks_of(parse(b"# 2026-01-01\n\n### 10:00\n- same\n", "2026-01-01").entries[0])
    two = chunks_of(parse(b"# 2026-03-03\n\n\n\n### 23:59\n- same\n", "2026-03-03").entries[0])
    assert one[0].text_hash == two[0].text_hash


def test_a_huge_heading_does_not_multiply():
    """The heading trail is context for every chunk, so it has to be bounded."""
    found = entry("- " + "word " * 20_000, "heading " * 12_000)
    chunks = chunks_of(found)
    assert sum(len(chunk.embedded) for chunk in chunks) < 10 * len(found.raw)


# -- terms


@settings(max_examples=300)
@example(
    "\u3097\u30fb\u2e80 テスト"
)  # among the letters' ranges: one that is none yet, a dot, a radical
@given(st.text(max_size=200))
def test_terms_are_single_tokens_and_the_same_for_queries(text):
    for term in [*analyze.terms(text), *analyze.query_terms(text)]:
        assert re.fullmatch(r"\w{1,80}", term), term
    assert analyze.terms(text) == analyze.terms(text)


def test_identifiers_whole_and_in_parts():
    found = set(analyze.terms("fixed PLAT-4821 in getUserById of src/api/order_service.py running"))
    assert {"plat_4821", "4821", "getuserbyid", "user", "order_service", "run"} <= found
    assert set(analyze.query_terms("order service")) & found
    assert set(analyze.terms("蓝绿发布")) >= {"蓝绿", "绿发", "发布"}


def test_a_time_and_an_anchor_alone_are_no_hit():
    document = parse(
        b"## Session 10:00\n\n### 10:00\n"
        b"<!-- session:s turn:t transcript:/x -->\n\n### 10:05\n- said\n",
        "2026-02-09",
    )
    chunks = [chunk for entry in document.entries for chunk in chunks_of(entry)]
    assert [chunk.embedded for chunk in chunks] == ["- said"]
    (headed,) = [
        c for e in parse(b"## Decided: Postgres\n", "2026-02-09").entries for c in chunks_of(e)
    ] or [None]
    assert headed is None or "Postgres" in headed.embedded
