"""The line scanner: every dialect parses, nothing in code or comments is taken for structure."""

import time

import pytest
from memsearch_engine.journal.parse import parse, sections, turn_id

DAY = b"""# 2026-02-09

## Session 14:30

### 14:30
<!-- session:abc123 turn:ghi789 transcript:/home/u/.claude/projects/-p/abc123.jsonl -->
- User asked about N+1 queries in order-service
- Agent used selectinload in get_orders()

### 14:42
<!-- session:abc123 turn:jkl transcript:/home/u/.claude/projects/-p/abc123.jsonl -->
- second

## Notes
hand-written, no time
"""


def test_a_day_as_memsearch_writes_it():
    first, second, note = parse(DAY, "2026-02-09").entries
    assert (first.time, first.session, first.turn, first.agent) == (
        "14:30",
        "abc123",
        "ghi789",
        "claude-code",
    )
    assert first.anchor.kind == "transcript" and first.anchor.path.endswith("abc123.jsonl")
    assert first.trail == ["2026-02-09", "Session 14:30"]
    assert (
        first.body.startswith("- User asked")
        and first.title == "User asked about N+1 queries in order-service"
    )
    assert (first.start_line, first.end_line) == (5, 8)
    assert first.id == turn_id("claude-code", "abc123", "ghi789")
    assert second.time == "14:42" and note.kind == "note" and note.heading == "Notes"
    assert DAY[second.start : second.end] == second.raw


@pytest.mark.parametrize(
    ("anchor", "agent", "kind", "path"),
    [
        (
            "session:a turn:b rollout:/h/.codex/sessions/r.jsonl",
            "codex",
            "rollout",
            "/h/.codex/sessions/r.jsonl",
        ),
        (
            "session:a turn:b db:/h/opencode/opencode.db",
            "opencode",
            "db",
            "/h/opencode/opencode.db",
        ),
        (
            "session:a db:/h/.openclaw/agents/main/x.sqlite",
            "openclaw",
            "db",
            "/h/.openclaw/agents/main/x.sqlite",
        ),
        (
            "session:a transcript:/h/.openclaw/s.jsonl",
            "openclaw",
            "transcript",
            "/h/.openclaw/s.jsonl",
        ),
        (
            "agent:codex session:a turn:b transcript:/x y/z.jsonl",
            "codex",
            "transcript",
            "/x y/z.jsonl",
        ),
        ("session:only", "", "", ""),
    ],
)
def test_anchor_dialects(anchor, agent, kind, path):
    entry = parse(f"### 09:05\n<!-- {anchor} -->\n- x\n".encode()).entries[0]
    assert (entry.agent, entry.anchor.kind, entry.anchor.path) == (agent, kind, path)
    assert entry.body == "- x"


def test_an_empty_comment_does_not_end_a_comment_above():
    _, *entries = parse(b"<!-- of a page\n### 10:00\n- words\n<!-->\n### 11:00\n- more\n").entries
    assert [entry.time for entry in entries] == ["10:00", "11:00"]


def test_headings_in_code_and_comments_are_text():
    text = (
        b"### 1:00\n```bash\n# not a heading\n## nor this\n"
        b"```\n<!--\n## hidden\n-->\n- end\n### 2:00\nx\n"
    )
    entries = parse(text).entries
    assert [e.time for e in entries] == ["01:00", "02:00"]


def test_a_fence_that_never_closes_hides_nothing():
    assert len(parse(b"### 1:00\n```py\n- cut off\n### 2:00\n- x\n").entries) == 2


def test_a_forged_anchor_in_the_body_is_text():
    entry = parse(b"### 1:00\n- x\n<!-- session:evil turn:1 transcript:/etc/passwd -->\n").entries[
        0
    ]
    assert not entry.anchors and "evil" in entry.body


def test_marks():
    head = (
        b"<!-- id:abcd1234 -->\n<!-- pin -->\n"
        b"<!-- expires:2026-12-31 -->\n<!-- superseded-by:ffff -->\n"
    )
    entry = parse(
        b"### 1:00\n" + head + b"<!-- trust:outside -->\n<!-- summary:pending -->\n- x"
    ).entries[0]
    assert (
        entry.id == "abcd1234"
        and entry.marks["pin"] == ""
        and entry.marks["expires"] == "2026-12-31"
    )
    assert (
        entry.marks["superseded-by"] == "ffff"
        and entry.marks["summary"] == "pending"
        and entry.body == "- x"
    )


def test_a_turn_does_not_supersede_itself():
    head = b"### 10:00\n<!-- session:s turn:t transcript:/x.jsonl -->\n"
    own = turn_id("claude-code", "s", "t")
    for name, marks in ((own, {}), ("ffff", {"superseded-by": "ffff"})):
        (entry,) = parse(head + f"<!-- superseded-by:{name} -->\n- text\n".encode()).entries
        assert (entry.id, entry.marks) == (own, marks)


def test_front_matter_preamble_crlf_and_bytes_that_are_no_utf8():
    data = (
        b"---\r\ntitle: x\r\n# no heading\r\n---\r\n\r\n"
        b"loose words \xff\r\n# Day\r\n## A\r\ntext\r\n"
    )
    document = parse(data)
    assert document.newline == "\r\n"
    assert [e.body for e in document.entries] == ["loose words \ufffd", "text"]
    assert document.entries[0].raw == b"loose words \xff"


def test_equal_notes_differ_by_an_ordinal_and_days_keep_them_apart():
    data = b"### 1:00\nsame\n### 1:00\nsame\n"
    ids = [e.id for e in parse(data, "2026-01-01").entries]
    assert len(set(ids)) == 2 and ids == [e.id for e in parse(data, "2026-01-01").entries]
    assert ids[0] != parse(data, "2026-01-02").entries[0].id


def test_ids_survive_moved_lines_and_new_neighbours():
    moved = b"\n\n\n# new\nintro\n" + DAY
    before, after = parse(DAY, "d").entries, parse(moved, "d").entries
    assert [e.id for e in before] == [e.id for e in after][-3:] and [e.hash for e in before] == [
        e.hash for e in after
    ][-3:]


@pytest.mark.slow
def test_ten_megabytes_and_a_long_line_are_linear():
    entry = b"### 10:00\n<!-- session:s turn:%d transcript:/t -->\n- " + b"x" * 280 + b"\n\n"
    small = b"".join(entry % i for i in range(3000))
    hostile = [
        b"```\n" * 200_000,
        b"<!--\n" * 200_000,
        b"#" * 2_000_000,
        b"### 1:00\n" + b"y" * 10_000_000,
    ]
    start = time.process_time()
    parse(small)
    unit = time.process_time() - start
    for data in hostile:
        start = time.process_time()
        parse(data)
        assert time.process_time() - start < 60 * max(unit, 0.02)


@pytest.mark.parametrize("end", ["", "-->\n", "<!-- y -->\n"])
def test_many_comments_that_begin_before_one_end_are_looked_at_once(end):
    text = "# day\n" + "<!-- x\n" * 300_000 + end + "# after\n"  # quadratic work does not end
    assert [heading for _, heading, *_ in sections(text.encode())] == ["day", "after"]
