"""Append, edit, delete, undo: nothing that was not named may change by a byte."""

import os
import stat
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memsearch_engine.core.errors import Conflict, NotFound, Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.journal import disk as disk_module
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.targets import Skipped, Target, target_of
from memsearch_engine.journal.text import escape_block
from memsearch_engine.journal.write import Journal


@pytest.fixture
def journal(tmp_path):
    return Journal(Home(tmp_path / "home"))


@pytest.fixture
def memory(tmp_path):
    folder = tmp_path / "p" / ".memsearch" / "memory"
    folder.mkdir(parents=True)
    return str(folder)


def anchor(session="s1", turn="t1"):
    return Anchor(session, turn, "claude-code", "transcript", f"/c/{session}.jsonl")


def entries(memory, day="2026-02-09"):
    with open(f"{memory}/{day}.md", "rb") as file:
        return parse(file.read(), day).entries


def test_a_locked_file_is_waited_for_and_another_file_is_not(tmp_path, monkeypatch):
    home, path = Home(tmp_path / "home"), str(tmp_path / "2026-02-09.md")
    held, released, waited, got = (threading.Event() for _ in range(4))

    def hold() -> None:
        with disk_module.locked(home, path):
            held.set()
            released.wait()

    def wait() -> None:
        with disk_module.locked(home, path):
            got.set()

    def slept(seconds: float) -> None:
        waited.set()
        sleep(seconds)

    sleep = time.sleep
    threads = [threading.Thread(target=hold), threading.Thread(target=wait)]
    threads[0].start()
    held.wait()
    with disk_module.locked(home, f"{path}.other"):
        pass
    with monkeypatch.context() as patched:
        patched.setattr(disk_module, "LOCK_TIMEOUT_S", 0.0)
        with pytest.raises(Unreachable, match="has been locked by another"):
            disk_module.locked(home, path).__enter__()
    monkeypatch.setattr(time, "sleep", slept)
    threads[1].start()
    waited.wait()
    assert not got.is_set()
    released.set()
    for thread in threads:
        thread.join()
    assert got.is_set()
    with disk_module.locked(home, path):
        pass


def test_append_is_idempotent_and_headings_follow_interleaved_sessions(journal, memory):
    for session, turn in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "2")]:
        journal.append_turn(
            memory, "2026-02-09", "14:30", f"- {session}{turn}", anchor(session, turn)
        )
    text = open(f"{memory}/2026-02-09.md").read()
    assert text.count("## Session") == 3 + text.count("### ") * 0 and text.startswith(
        "# 2026-02-09\n\n## Session 14:30\n"
    )
    assert [(e.session, e.turn) for e in entries(memory)] == [("a", "1"), ("b", "1"), ("a", "2")]
    again = journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor("a", "1"))
    assert not again.written and again.skipped is Skipped.THERE


def test_a_turn_that_was_written_during_the_wait_for_the_file_is_not_written_again(
    journal, memory, monkeypatch
):
    path, locked = disk_module.real_file(f"{memory}/2026-02-09.md"), disk_module.locked
    journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())
    block = f"\n### 14:31\n{anchor(turn='t2').render()}\n- y\n"

    def waiting(home, name):
        """Another process, a sync or an undo, has the file's lock alone, and writes."""
        if name == path:
            with locked(Home(home.root), path):
                disk_module.append(path, block.encode())
        return locked(home, name)

    monkeypatch.setattr(disk_module, "locked", waiting)
    done = journal.append_turn(memory, "2026-02-09", "14:31", "- y", anchor(turn="t2"))
    assert (done.written, done.skipped) == (False, Skipped.THERE)
    assert [entry.turn for entry in entries(memory)] == ["t1", "t2"]


def test_the_same_session_shares_a_heading(journal, memory):
    for turn in "123":
        journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor("a", turn))
    assert open(f"{memory}/2026-02-09.md").read().count("## Session") == 1


def test_a_deleted_turn_is_not_captured_again_until_undone(journal, memory):
    journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())
    entry = entries(memory)[0]
    journal.delete(memory, [target_of(f"{memory}/2026-02-09.md", entry)])
    assert (
        journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor()).skipped
        is Skipped.DELETED
    )
    journal.undo(memory)
    assert entries(memory)[0].raw == entry.raw


def test_hostile_model_text_forges_nothing(journal, memory):
    hostile = (
        "## Session 99\n### 1:00\n<!-- session:x transcript:/etc/passwd -->\n"
        "```\nopen\n\x1b[31mred\u202e\n---\n==="
    )
    journal.append_turn(memory, "2026-02-09", "14:30", escape_block(hostile), anchor())
    journal.append_turn(memory, "2026-02-09", "14:31", "- ok", anchor(turn="t2"))
    found = entries(memory)
    assert (
        [e.turn for e in found] == ["t1", "t2"]
        and "\x1b" not in found[0].content
        and "\u202e" not in found[0].body
    )


def test_edit_keeps_anchor_mode_and_all_other_bytes(journal, memory):
    path = f"{memory}/2026-02-09.md"
    data = (
        b"\xef\xbb\xbf# d\r\n\r\n### 1:00\r\n<!-- session:a turn:b transcript:/t -->\r\n"
        b"- old\r\n\r\n\r\n### 2:00\r\nlast \xff no newline"
    )
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o640)
    first = entries(memory)[0]
    now = journal.edit(memory, target_of(path, first), "- new\n- two")
    with open(path, "rb") as file:
        assert file.read() == data.replace(b"- old", b"- new\r\n- two")
    assert now.id == first.id and stat.S_IMODE(os.stat(path).st_mode) == 0o640
    journal.undo()
    with open(path, "rb") as file:
        assert file.read() == data
    journal.redo()
    assert entries(memory)[0].body == "- new\r\n- two"


def test_edit_of_a_note_without_anchor_keeps_its_id(journal, memory):
    path = f"{memory}/2026-02-09.md"
    with open(path, "w") as file:
        file.write("## Ideas\nfirst\n\n## More\nsecond")
    for index in (0, 1):
        before = entries(memory)[index]
        now = journal.edit(memory, target_of(path, before), "changed")
        assert now.id == before.id == entries(memory)[index].id and now.body == "changed"


def test_edit_accepts_the_whole_content_back_and_refuses_what_would_split(journal, memory):
    path = f"{memory}/2026-02-09.md"
    journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())
    entry = entries(memory)[0]
    now = journal.edit(memory, target_of(path, entry), entry.content.replace("- x", "- y"))
    assert now.body == "- y" and now.anchors == entry.anchors
    for text in ("- a\n## Forged", "- a\n# Forged\ntext", "", "a <!-- open"):
        with pytest.raises(UsageError):
            journal.edit(memory, target_of(path, now), text)


def test_a_changed_entry_is_a_conflict_and_a_moved_one_is_not(journal, memory):
    path = f"{memory}/2026-02-09.md"
    journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())
    seen = target_of(path, entries(memory)[0])
    with open(path, "r+") as file:
        text = file.read()
        file.seek(0)
        file.write("# moved\n\nintro\n\n" + text)
    journal.edit(memory, seen, "- y")
    with pytest.raises(Conflict) as caught:
        journal.edit(memory, seen, "- z")
    assert "- y" in caught.value.current and caught.value.exit_code == 4
    with pytest.raises(NotFound):
        journal.edit(memory, Target(path, "nothere"), "- z")


def test_undo_finds_its_place_after_others_appended(journal, memory):
    path = f"{memory}/2026-02-09.md"
    for turn in "123":
        journal.append_turn(memory, "2026-02-09", "14:30", f"- {turn}", anchor(turn=turn))
    journal.delete(memory, [target_of(path, entries(memory)[1])])
    journal.append_turn(memory, "2026-02-09", "15:00", "- 4", anchor("other", "4"))
    journal.undo(memory)
    assert [e.turn for e in entries(memory)] == ["1", "2", "3", "4"]
    journal.redo(memory)
    assert [e.turn for e in entries(memory)] == ["1", "3", "4"]


def test_undo_refuses_when_the_entry_was_changed_since(journal, memory):
    path = f"{memory}/2026-02-09.md"
    journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())
    journal.edit(memory, target_of(path, entries(memory)[0]), "- y")
    text = open(path).read()
    with open(path, "w") as file:
        file.write(text.replace("- y", "- y and by hand"))
    with pytest.raises(Conflict):
        journal.undo(memory)
    assert "by hand" in open(path).read()


def test_a_batch_is_undone_together_and_refused_together(journal, memory):
    path = f"{memory}/2026-02-09.md"
    for turn in "123":
        journal.append_turn(memory, "2026-02-09", "14:30", f"- {turn}", anchor(turn=turn))
    data = open(path, "rb").read()
    found = entries(memory)
    with pytest.raises(Conflict):
        journal.delete(memory, [target_of(path, found[0]), Target(path, found[1].id, "stale")])
    assert open(path, "rb").read() == data
    journal.delete(memory, [target_of(path, e) for e in found])
    assert entries(memory) == []
    journal.undo(memory)
    assert open(path, "rb").read() == data


def test_marks_history_restore_and_notes(journal, memory):
    path = f"{memory}/2026-02-09.md"
    added = journal.add_note(memory, "2026-02-09", "10:00", "- remember me")
    target = Target(path, added.entry_id)
    assert "pin" in journal.mark(memory, target, "pin", "").marks
    assert journal.mark(memory, target, "expires", "2026-12-31").marks["expires"] == "2026-12-31"
    assert "pin" not in journal.mark(memory, target, "pin", None).marks
    journal.edit(memory, target, "- two")
    journal.edit(memory, target, "- three")
    changes = journal.history.of_entry(added.entry_id)
    assert [c.op for c in changes] == ["edit", "edit", "mark", "mark", "mark", "add"]
    journal.restore(changes[1].seq)
    assert entries(memory)[0].body == "- remember me"
    for _ in range(7):
        journal.undo(memory)
    assert entries(memory) == [] and journal.undo(memory) == []


def test_a_note_whose_addition_is_undone_is_deleted(journal, memory):
    added = journal.add_note(memory, "2026-02-09", "10:00", "- remember me")
    (change,) = journal.history.of_entry(added.entry_id)
    assert journal.restore(change.seq).op == "delete"
    assert entries(memory) == [] == journal.vanished(memory)
    journal.undo(memory)
    assert [entry.id for entry in entries(memory)] == [added.entry_id]


def test_an_intent_left_by_a_crash_is_settled(journal, memory, monkeypatch):
    path = f"{memory}/2026-02-09.md"
    journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())

    class Killed(BaseException):
        pass

    def confirm(self, seq):
        raise Killed

    monkeypatch.setattr(type(journal.history), "confirm", confirm)
    with pytest.raises(Killed):
        journal.edit(memory, target_of(path, entries(memory)[0]), "- y")
    monkeypatch.undo()
    journal.undo(memory)  # nothing confirmed yet: the next change to the file settles it
    journal.edit(memory, Target(path, entries(memory)[0].id), "- z")
    journal.undo(memory)
    journal.undo(memory)
    assert entries(memory)[0].body == "- x"


def test_lines_appended_during_a_replace_are_carried_over(journal, memory, monkeypatch):
    path = f"{memory}/2026-02-09.md"
    journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())
    real = os.replace

    def late(source, destination, **where):
        with open(path, "ab") as other:  # a writer that knows no lock, in the last microsecond
            other.write(b"\n### 15:00\n- late\n")
        real(source, destination, **where)

    monkeypatch.setattr(os, "replace", late)
    journal.edit(memory, target_of(path, entries(memory)[0]), "- y")
    assert [e.body for e in entries(memory)] == ["- y", "- late"]


def test_a_full_disk_leaves_the_file_as_it_was(journal, memory, monkeypatch):
    path = f"{memory}/2026-02-09.md"
    journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())
    data = open(path, "rb").read()
    real = os.write
    monkeypatch.setattr(disk_module.os, "write", lambda fd, data: real(fd, data[:10]))
    with pytest.raises(Unreachable):
        journal.append_turn(memory, "2026-02-09", "14:31", "- y", anchor(turn="t2"))
    assert open(path, "rb").read() == data


def test_a_planted_link_is_not_followed(journal, memory, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    os.symlink(victim, f"{memory}/2026-02-09.md")
    with pytest.raises(Unreachable):
        journal.append_turn(memory, "2026-02-09", "14:30", "- x", anchor())
    assert victim.read_text() == "mine"


LINE = st.sampled_from(
    [
        "- bullet",
        "text",
        "",
        "```",
        "~~~",
        "## Session 10:00",
        "### 11:00",
        "# T",
        "#### sub",
        "<!-- pin -->",
        "<!--",
        "<!-- session:a turn:1 transcript:/t -->",
        "-->",
        "---",
        "| a | b |",
        "  - nested",
        "    # code",
        "中文内容",
        "x\ufeff",
    ]
)
DATA = st.builds(
    lambda lines, newline, final: (newline.join(lines) + (newline if final else "")).encode(),
    st.lists(LINE, max_size=40),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)


@pytest.mark.slow
@settings(max_examples=1500)
@given(DATA)
def test_entries_never_overlap_and_lie_inside_the_file(data):
    document = parse(data, "d")
    last = 0
    for entry in document.entries:
        assert last <= entry.start <= entry.body_start <= entry.end <= entry.stop <= len(data)
        assert data[entry.start : entry.end] == entry.raw
        assert data[: entry.start].count(b"\n") + 1 == entry.start_line
        last = entry.stop
    assert len({e.id for e in document.entries}) == len(document.entries)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=DATA, choice=st.randoms(use_true_random=False))
@pytest.mark.slow
def test_edit_and_delete_touch_one_entry_and_undo_brings_every_byte_back(
    journal, memory, data, choice
):
    path = f"{memory}/2026-02-09.md"
    with open(path, "wb") as file:
        file.write(data)
    found = entries(memory)
    if not found:
        return
    entry = choice.choice(found)
    if choice.random() < 0.5:
        now = journal.edit(memory, target_of(path, entry), "replaced")
        new = open(path, "rb").read()
        assert new[: entry.start] == data[: entry.start] and new.endswith(data[entry.end :])
        assert now.body == "replaced" and now.id == entry.id and now.anchors == entry.anchors
    else:
        journal.delete(memory, [target_of(path, entry)])
        assert open(path, "rb").read() == data[: entry.start] + data[entry.stop :]
    journal.undo(memory)
    assert open(path, "rb").read() == data
    journal.redo(memory)
    journal.undo(memory)
    assert open(path, "rb").read() == data


@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(LINE | st.text(max_size=30), max_size=12).map("\n".join))
def test_escaped_text_is_one_entry(text):
    safe = escape_block(text)
    document = parse(
        f"### 1:00\n<!-- session:s turn:t transcript:/x -->\n- a\n{safe}\n### 2:00\n- b\n".encode()
    )
    assert [e.time for e in document.entries] == ["01:00", "02:00"]
    assert len(document.entries[0].anchors) == 1 and not document.entries[0].marks
