"""Merging by entry: what two sides did to a day, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memsearch_engine.journal.merge import Merged, Unmergeable, merge, text_key
from memsearch_engine.journal.parse import parse

DAY = "2026-02-09"


def turn(name: str, text: str, *, at: str = "14:30", session: str = "a", marks: str = "") -> str:
    return (
        f"### {at}\n<!-- session:{session} turn:{name} transcript:/x/{session}.jsonl -->\n"
        f"{marks}{text}\n\n"
    )


def day(*parts: str, head: str = f"# {DAY}\n\n") -> bytes:
    return (head + "".join(parts)).rstrip("\n").encode() + b"\n"


def merged(base: bytes, ours: bytes, theirs: bytes, **how: object) -> Merged:
    done = merge(base, ours, theirs, DAY, **how)  # type: ignore[arg-type]
    assert done == merge(base, theirs, ours, DAY, **how)  # type: ignore[arg-type]
    assert merge(done.data, done.data, done.data, DAY, **how).data == done.data  # type: ignore[arg-type]
    return done


def bodies(data: bytes) -> list[str]:
    return [entry.body for entry in parse(data, DAY).entries]


BASE = day("## Session 14:30\n\n", turn("1", "- one"), turn("2", "- two"))


def test_what_both_added_stands_under_its_own_session_in_order_of_time():
    ours = BASE + b"\n" + turn("3", "- three", at="16:00").encode().rstrip(b"\n") + b"\n"
    theirs = (
        BASE
        + ("\n## Session 15:00\n\n" + turn("9", "- nine", at="15:00", session="b"))
        .rstrip("\n")
        .encode()
        + b"\n"
    )
    text = merged(BASE, ours, theirs).data.decode()
    assert bodies(text.encode()) == ["- one", "- two", "- three", "- nine"]
    assert [entry.trail[-1] for entry in parse(text.encode()).entries] == ["Session 14:30"] * 3 + [
        "Session 15:00"
    ]
    assert text == text.rstrip("\n") + "\n" and "\n\n\n" not in text


def test_two_sessions_that_began_in_one_minute_keep_a_heading_each():
    ours = (
        BASE + ("\n## Session 15:00\n\n" + turn("3", "- three", at="15:00", session="s1")).encode()
    )
    theirs = (
        BASE + ("\n## Session 15:00\n\n" + turn("9", "- nine", at="15:00", session="s2")).encode()
    )
    done = merged(BASE, ours, theirs).data
    assert done.count(b"## Session 15:00") == 2 and len(bodies(done)) == 4


def test_a_deletion_beats_what_the_other_side_left_alone_and_marked():
    ours = day("## Session 14:30\n\n", turn("1", "- one"))
    for theirs in (
        BASE + b"\n## Notes\n\nA note\n",
        BASE.replace(b"- two", b"<!-- pin -->\n- two"),
    ):
        assert "- two" not in bodies(merged(BASE, ours, theirs).data)


def test_an_edit_beats_a_deletion_of_the_older_text():
    ours = day("## Session 14:30\n\n", turn("1", "- one"))
    assert bodies(merged(BASE, ours, BASE.replace(b"- two", b"- 2, said better")).data) == [
        "- one",
        "- 2, said better",
    ]


def test_an_edit_on_one_side_wins_and_the_rest_stays_byte_for_byte():
    ours = BASE.replace(b"- one", b"- one, edited")
    theirs = BASE.replace(b"- two", b"- two,   with odd  blanks \n\n\n  - and more")
    assert merged(BASE, ours, theirs).data == theirs.replace(b"- one", b"- one, edited")


def test_edits_on_both_sides_keep_both_texts_and_say_so():
    ours, theirs = BASE.replace(b"- two", b"- two, ours"), BASE.replace(b"- two", b"- two, theirs")
    done = merged(BASE, ours, theirs)
    entries = parse(done.data, DAY).entries
    shown = next(entry for entry in entries if "conflict" in entry.marks)
    (beside,) = [entry for entry in entries if entry.marks.get("conflict-of") == shown.id]
    assert done.conflicts == [shown.id] and {shown.body, beside.body} == {
        "- two, ours",
        "- two, theirs",
    }
    assert shown.turn == "2" and not beside.anchors  # a turn has one entry
    assert entries.index(beside) == entries.index(shown) + 1
    assert merge(BASE, done.data, theirs, DAY).data == done.data  # known already


def test_the_newer_text_is_shown_where_it_is_known_which_that_is():
    ours, theirs = BASE.replace(b"- two", b"- two, ours"), BASE.replace(b"- two", b"- two, theirs")
    for word in ("ours", "theirs"):
        done = merged(BASE, ours, theirs, newer=lambda one, other: word in one.body)  # noqa: B023
        assert (
            next(e for e in parse(done.data).entries if "conflict" in e.marks).body
            == f"- two, {word}"
        )


def test_a_decided_conflict_stays_decided():
    ours, theirs = BASE.replace(b"- two", b"- two, ours"), BASE.replace(b"- two", b"- two, theirs")
    open_ = merge(BASE, ours, theirs, DAY).data
    beside = next(entry for entry in parse(open_, DAY).entries if "conflict-of" in entry.marks)
    decided = (open_[: beside.start] + open_[beside.stop :]).replace(b"<!-- conflict -->\n", b"")
    more = open_ + b"\n## Notes\n\nMeanwhile\n"
    done = merged(open_, decided, more).data
    assert b"conflict" not in done and b"Meanwhile" in done


def test_a_text_that_was_deleted_where_it_was_seen_does_not_come_back_beside_a_newer_one():
    first = BASE.replace(b"- two", b"- two, first")
    both = merge(
        BASE,
        BASE.replace(b"- two", b"- two, second"),
        first,
        DAY,
        newer=lambda one, other: "second" in one.body,
    ).data
    assert b"- two, first" in both
    gone = day(
        "## Session 14:30\n\n", turn("1", "- one")
    )  # its maker deletes "first", knowing of no other
    assert b"- two, first" not in merged(first, gone, both).data


@pytest.mark.parametrize(
    ("ours", "theirs", "stands"),
    [
        ("<!-- pin -->\n", "", "<!-- pin -->"),
        ("<!-- expires:2026-03-01 -->\n", "<!-- expires:2027-01-01 -->\n", "expires:2027-01-01"),
        ("<!-- trust:released -->\n", "<!-- trust:suspect -->\n", "trust:suspect"),
        ("<!-- trust:outside -->\n", "<!-- trust:released -->\n", "trust:outside"),
        ("<!-- confidence:low -->\n", "<!-- confidence:high -->\n", "confidence:low"),
        (
            "<!-- verified:2026-02-10T10:00:00 -->\n",
            "<!-- verified:2026-02-12T10:00:00 -->\n",
            "verified:2026-02-12",
        ),
        ("<!-- superseded-by:abcd -->\n", "<!-- pin -->\n", "superseded-by:abcd"),
    ],
)
def test_marks_merge_by_kind(ours: str, theirs: str, stands: str):
    def marked(marks: str) -> bytes:
        return day("## Session 14:30\n\n", turn("1", "- one", marks=marks), turn("2", "- two"))

    done = merged(BASE, marked(ours), marked(theirs)).data.decode()
    assert stands in done and done.count(stands.split(":")[0]) == 1
    assert len(bodies(done.encode())) == 2


def test_a_mark_that_one_side_took_away_is_gone_and_a_pending_summary_is_settled():
    def marked(marks: str) -> bytes:
        return day("## Session 14:30\n\n", turn("1", "- one", marks=marks), turn("2", "- two"))

    base = marked("<!-- pin -->\n<!-- summary:pending -->\n")
    done = merged(base, marked("<!-- summary:pending -->\n"), marked("<!-- pin -->\n")).data
    assert b"pin" not in done and b"summary" not in done


def test_a_mark_on_one_side_goes_with_an_edit_on_the_other():
    ours = day(
        "## Session 14:30\n\n", turn("1", "- one"), turn("2", "- two", marks="<!-- pin -->\n")
    )
    done = merged(BASE, ours, BASE.replace(b"- two", b"- two, better")).data
    assert b"<!-- pin -->\n- two, better" in done


def test_copies_of_one_turn_are_put_together_on_both_sides():
    anchor = "<!-- session:{0} turn:2 transcript:/x/{0}.jsonl -->\n"
    ours = day(
        "## Session 14:30\n\n", turn("1", "- one"), turn("2", "- two", marks=anchor.format("c"))
    )
    theirs = day(
        "## Session 14:30\n\n", turn("1", "- one"), turn("2", "- two", marks=anchor.format("b"))
    )
    assert [
        anchor.session for anchor in parse(merged(BASE, ours, theirs).data).entries[1].anchors
    ] == ["a", "b", "c"]


def test_what_is_known_to_be_deleted_is_no_addition_where_it_turns_up_again():
    old = parse(BASE, DAY).entries[1]
    theirs = day("## Session 14:30\n\n", turn("1", "- one"))
    assert len(bodies(merged(b"", BASE, theirs, dead={(old.id, text_key(old))}).data)) == 1
    edited = BASE.replace(b"- two", b"- two, since edited")
    assert len(bodies(merged(b"", edited, theirs, dead={(old.id, text_key(old))}).data)) == 2


def test_secrets_are_taken_out_of_texts_that_are_kept_twice():
    def clean(text: str) -> str:
        return text.replace("hunter2", "[REDACTED]")

    base = BASE.replace(b"- two", b"- the word is hunter2")
    scrubbed, edited = (
        base.replace(b"hunter2", b"[REDACTED]"),
        base.replace(b"- the word", b"- so far the word"),
    )
    done = merged(base, scrubbed, edited, clean=clean).data
    assert b"hunter2" not in done and b"so far" in done and done.count(b"[REDACTED]") == 2


def test_line_ends_front_matter_and_words_before_the_first_heading_are_kept():
    base = b"---\nmood: fine\n---\nToday.\n\n## A\n\nText\n"
    ours = base.replace(b"Today.", b"Today.\nOurs.").replace(b"\n", b"\r\n")
    theirs = base.replace(b"Today.", b"Today.\nTheirs.").replace(b"fine", b"good")
    done = merged(base, ours, theirs).data
    assert b"\r\n" in done and b"\n" not in done.replace(b"\r\n", b"")
    for words in (b"Ours.", b"Theirs.", b"Today.", b"mood: good", b"## A\r\n\r\nText"):
        assert words in done
    assert merged(base, base.replace(b"\n", b"\r\n"), base).data == base.replace(b"\n", b"\r\n")


def test_a_fence_that_one_side_leaves_open_takes_in_nothing_of_the_other():
    ours = BASE + b"\n## Notes\n\n### 15:00\n<!-- id:ours -->\nRun\n```sh\nmake\n"
    theirs = (
        BASE
        + (
            "\n## Session 16:00\n\n" + turn("9", "- nine\n```\nout\n```", at="16:00", session="b")
        ).encode()
    )
    done = merged(BASE, ours, theirs).data
    assert [entry.id for entry in parse(done, DAY).entries].count("ours") == 1 and len(
        bodies(done)
    ) == 4
    assert "- nine\n```\nout\n```" in bodies(done)


def test_headings_and_entries_keep_their_place_in_a_page_written_by_hand():
    base = b"# Plan\n\n## Now\n\nThis\n\n## Later\n\n### Soon\n\nThat\n"
    ours = base.replace(b"## Later", b"## Next\n\nOurs\n\n## Later")
    theirs = base.replace(b"### Soon", b"### Before\n\nTheirs\n\n### Soon") + b"\n# Done\n\n- all\n"
    done = merged(base, ours, theirs).data.decode()
    headings = [line for line in done.splitlines() if line.startswith("#")]
    assert headings == [
        "# Plan",
        "## Now",
        "## Next",
        "## Later",
        "### Before",
        "### Soon",
        "# Done",
    ]


def test_a_heading_that_one_side_takes_away_stays_over_what_the_other_wrote_there():
    base = b"## Plan\n\n### 10:00\n<!-- id:aaaa -->\nThis\n"
    done = merged(
        base, b"## Other\n\nWords\n", base + b"\n### 11:00\n<!-- id:bbbb -->\nThat\n"
    ).data
    assert bodies(done) == ["That", "Words"] or bodies(done) == ["Words", "That"]
    assert b"## Plan\n\n### 11:00" in done


def test_an_entry_that_was_moved_stands_where_it_was_moved_to():
    base = day(
        "## A\n\n",
        "### 10:00\n<!-- id:aaaa -->\nThis\n\n",
        "## B\n\n",
        "### 11:00\n<!-- id:bbbb -->\nThat\n\n",
    )
    ours = day(
        "## A\n\n",
        "## B\n\n",
        "### 11:00\n<!-- id:bbbb -->\nThat\n\n",
        "### 10:00\n<!-- id:aaaa -->\nThis\n\n",
    )
    theirs = base.replace(b"This", b"This, edited")
    entry = parse(merged(base, ours, theirs).data).find("aaaa")
    assert entry is not None and entry.trail == [DAY, "B"] and entry.body == "This, edited"


_LINES = st.sampled_from(
    [
        b"# 2026-02-09",
        b"## Session 10:00",
        b"## Notes",
        b"### 10:00",
        b"### 11:30",
        b"<!-- id:aaaa -->",
        b"<!-- id:bbbb -->",
        b"<!-- pin -->",
        b"<!-- session:s turn:1 transcript:/x.jsonl -->",
        b"- text",
        b"- more",
        b"```",
        b"~~~sh",
        b"<!--",
        b"-->",
        b"",
        b"",
        b"---",
        b"\xff\xfe",
        b"    # code",
        b"<!-- conflict -->",
        b"<!-- conflict-of:aaaa -->",
        b"\t",
        b"\x0c",
    ]
)
_FILES = st.builds(
    lambda lines, newline, end: newline.join(lines) + end,
    st.lists(_LINES, max_size=14),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\n"]),
)


@pytest.mark.slow
@settings(max_examples=600)
@given(_FILES, _FILES, _FILES)
def test_whatever_the_files_are_no_line_of_text_that_was_added_is_dropped(
    base: bytes, ours: bytes, theirs: bytes
):
    try:
        done = merge(base, ours, theirs, DAY)
    except Unmergeable:
        return
    assert done == merge(base, theirs, ours, DAY)
    known = {text_key(entry) for entry in parse(base, DAY).entries}
    there = {line.strip() for line in done.data.splitlines()}
    for data in (ours, theirs):
        for entry in parse(data, DAY).entries:
            lines = entry.raw[entry.body_start - entry.start :].splitlines()
            if text_key(entry) not in known and not any(
                line.startswith(b"<!-- conflict") for line in entry.raw.splitlines()
            ):
                added = {line.strip() for line in lines} - {
                    line.strip() for line in base.splitlines()
                }
                assert all(
                    any(line in found for found in there) for line in added
                )  # what it leaves open may be closed
