"""What a merge by lines leaves is found and mended; what only looks like it is left alone."""

from __future__ import annotations

import pytest
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.unmangle import unmangled

from tests.conftest import Box
from tests.sync.test_git_driver import DAY, FIRST, Repo, turn


def texts(data: bytes) -> list[tuple[str, str, str]]:
    return [(entry.session, entry.trail[-1], entry.body) for entry in parse(data, DAY).entries]


SIDES = (
    turn("theirs", "15:00", "c"),
    turn("mine", "15:00", "b") + turn("mine2", "15:20", "b").replace("\n## Session 15:20\n", ""),
)


def damaged(box: Box, attributes: str, *, commit_markers: bool) -> Repo:
    repo = Repo(box)
    (box.project / ".gitattributes").write_text(attributes)
    repo.commit(FIRST)
    repo.git("checkout", "-qb", "side")
    repo.commit(FIRST + SIDES[0])
    repo.git("checkout", "-q", "main")
    repo.commit(FIRST + SIDES[1])
    repo.git("merge", "--no-edit", "side", check=not commit_markers)
    if commit_markers:
        repo.git("commit", "-qam", "merged")
    return repo


@pytest.mark.slow
@pytest.mark.parametrize(("attributes", "markers"), [("*.md merge=union\n", False), ("", True)])
def test_what_git_mangled_is_found_shown_mended_and_undone(
    box: Box, attributes: str, markers: bool
):
    repo = damaged(box, attributes, commit_markers=markers)
    before = repo.day.read_bytes()
    assert len(texts(before)) != 4 or b"<<<<<<<" in before
    (found,) = [f for f in box.run("repair", "--json").json["findings"] if f["kind"] == "merged"]
    assert "line by line" in found["why"] and "file" not in found
    assert "merged" in box.run("repair").out and repo.day.read_bytes() == before
    box.ok("repair", "--fix", "merged", "--yes")
    assert sorted(texts(repo.day.read_bytes())) == [
        ("a", "Session 14:30", "- one"),
        ("b", "Session 15:00", "- mine"),
        ("b", "Session 15:00", "- mine2"),
        ("c", "Session 15:00", "- theirs"),
    ]
    assert not [f for f in box.run("repair", "--json").json["findings"] if f["kind"] == "merged"]
    box.ok("undo")
    assert repo.day.read_bytes() == before


@pytest.mark.slow
def test_a_deleted_note_that_a_merge_brought_back_is_named_and_goes_again(box: Box):
    path = box.write(DAY, FIRST + turn("two", "15:00", "a"))
    box.own()
    name = box.ok("entries", "--json").json["entries"][0]["entry_id"]
    old = path.read_bytes()
    box.ok("delete", name, "--yes")
    path.write_bytes(old)  # another machine's copy of the file
    (found,) = [f for f in box.run("repair", "--json").json["findings"] if f["kind"] == "returned"]
    assert found["notes"][0]["entry_id"] == name
    box.ok("repair", "--fix", "returned", "--yes")
    assert len(parse(path.read_bytes(), DAY).entries) == 1
    box.ok("undo")
    assert path.read_bytes() == old


@pytest.mark.slow
def test_a_deletion_that_was_taken_back_is_no_return(box: Box):
    box.write(DAY, FIRST + turn("two", "15:00", "a"))
    name = box.ok("entries", "--json").json["entries"][0]["entry_id"]
    box.ok("delete", name, "--yes")
    box.ok("restore", str(box.ok("history", "--json").json["changes"][0]["change"]))
    assert not [f for f in box.run("repair", "--json").json["findings"] if f["kind"] == "returned"]


@pytest.mark.parametrize(
    "text",
    [
        FIRST,
        FIRST
        + (
            "\n## Notes\n\n### 16:00\ngit writes `<<<<<<< HEAD` there:\n"
            "\n```\n<!-- session:x turn:y transcript:/z.jsonl -->\n```\n"
        ),
        FIRST + "\n## Notes\n\n<<<<<<< HEAD\nis how it begins\n",
        FIRST.replace(
            "- one", "<!-- session:b turn:t9 transcript:/x/b.jsonl -->\n- one"
        ),  # copies of a turn
    ],
)
def test_what_only_looks_like_it_is_left_alone(text: str):
    assert unmangled(text.encode(), DAY) is None


def test_markers_with_a_base_delete_what_a_side_deleted():
    two = turn("two", "15:00", "b")
    text = (
        f"{FIRST}<<<<<<< ours\n||||||| base\n{two}=======\n"
        f"{two.replace('- two', '- two')}>>>>>>> theirs\n"
    )
    mended = unmangled(text.encode(), DAY)
    assert mended is not None and [body for *_, body in texts(mended.data)] == ["- one"]


def test_line_ends_of_windows_and_several_notes_in_one():
    three = "".join(
        f"<!-- session:{s} turn:{s} transcript:/x/{s}.jsonl -->\n- {s}\n" for s in "bcd"
    )
    text = (FIRST + f"\n## Session 15:00\n\n### 15:00\n{three}").replace("\n", "\r\n").encode()

    mended = unmangled(text, DAY)
    assert mended is not None and b"\n" not in mended.data.replace(b"\r\n", b"")
    assert sorted(body for *_, body in texts(mended.data)) == ["- b", "- c", "- d", "- one"]
    assert unmangled(mended.data, DAY) is None


@pytest.mark.parametrize(
    "text",
    [
        b"### 10:00\n- x\n" + b"<<<<<<< HEAD\n" * 100_000,
        b"<<<<<<< HEAD\n" + b"=======\n" * 100_000,
        b"<<<<<<< HEAD\n" + b"||||||| base\n" * 100_000,
        b"### 10:00\n<!-- session:a turn:1 -->\n- x\n<!-- " + b"session:a --> " * 100_000 + b"z\n",
    ],
    ids=["openings", "middles", "bases", "anchors"],
)
def test_markers_that_never_close_and_long_lines_are_read_once(text: bytes):
    assert unmangled(text, DAY) is None  # it does not end if the work is quadratic


def note(session: str, turn: int) -> str:
    return f"<!-- session:{session} turn:{turn} transcript:/x/{session}.jsonl -->\n- {turn}\n"


def test_many_second_notes_are_parted_in_one_merge():
    count = 500
    in_one = "".join(note(f"s{turn}", turn) for turn in range(count))
    each = "".join(f"\n### 15:00\n{note('a', n)}{note('b', -n)}" for n in range(count, 2 * count))
    text = f"# {DAY}\n\n## Session 15:00\n\n### 15:00\n{in_one}{each}"

    mended = unmangled(text.encode(), DAY)  # with a merge for each note, it does not end
    assert mended is not None and len(mended.evidence) == 2 * count - 1
    expected = [(f"s{turn}", f"- {turn}") for turn in range(count)]
    expected += [("a", f"- {turn}") for turn in range(count, 2 * count)]
    expected += [("b", f"- {-turn}") for turn in range(count, 2 * count)]
    assert sorted((one, body) for one, _, body in texts(mended.data)) == sorted(expected)
    assert unmangled(mended.data, DAY) is None


def test_the_notes_after_a_second_note_stay_with_its_session():
    text = (
        f"# {DAY}\n\n## Session 15:00\n\n### 15:00\n{note('a', 1)}{note('b', 2)}\n"
        f"### 15:10\n{note('b', 3)}{note('c', 4)}\n### 15:20\n{note('c', 5)}\n"
        f"### 15:30\n{note('a', 6)}"
    )
    mended = unmangled(text.encode(), DAY)
    assert mended is not None and unmangled(mended.data, DAY) is None
    lines = mended.data.decode().splitlines()
    said = " ".join(line for line in lines if line.startswith(("- ", "## ")))
    parts = {part.strip() for part in said.split("## Session 15:00") if part}
    assert parts == {"- 1 - 6", "- 2 - 3", "- 4 - 5"}
