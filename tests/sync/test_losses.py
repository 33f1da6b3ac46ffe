"""What looks like a deletion and is none, and what looks like a copy and is the owner's word: cases
that lost notes before.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.journal.parse import parse
from memsearch_engine.longterm.facts import facts, remember
from memsearch_engine.sync.clone import Clone, Foreign, checked
from memsearch_engine.sync.file_merge import merge_lines
from memsearch_engine.sync.meeting import Refused, look, rewrite
from memsearch_engine.sync.seal import NoKey, make_key

from tests.sync.machines import DAY, PROJECT, Machine, bare, tree
from tests.sync.test_machines import meet


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path / "remote.git")


@pytest.fixture
def two(tmp_path: Path, remote: Path) -> tuple[Machine, Machine]:
    return Machine(tmp_path / "a", remote), Machine(tmp_path / "b", remote)


def test_a_folder_that_did_not_exist_yet_deletes_nothing(two: tuple[Machine, Machine]):
    a, b = two
    for i in range(5):
        a.note(f"Note {i}")
    a.sync()
    b.memory.rmdir()
    assert b.sync().received == 5
    shutil.rmtree(b.memory)
    b.memory.mkdir()
    b.note("First here")
    assert "5 notes" in b.sync().problems[0] and len(a.bodies()) == 5


def test_a_second_clone_begins_with_nothing_known(two: tuple[Machine, Machine], tmp_path: Path):
    a, b = two
    for i in range(8):
        a.note(f"Note {i}")
    meet(a, b)
    other = tmp_path / "again" / ".memsearch" / "memory"
    other.mkdir(parents=True)
    (other / f"{DAY}.md").write_text(
        f"# {DAY}\n\n## Notes\n\n### 12:00\n<!-- id:fresh -->\nIn the second clone\n"
    )
    clone = Project(PROJECT, "shop", "ms_shop_aaaaaaaa", str(tmp_path / "again"), str(other))
    a.sync(projects=[clone, a.project])  # the newest first: the one that took part stays
    meet(b)
    assert len(b.bodies()) == 8
    shutil.rmtree(a.root / "project")
    a.sync(projects=[clone])
    meet(b)
    assert len(b.bodies()) == 9 and len(parse((other / f"{DAY}.md").read_bytes(), DAY).entries) == 9


def test_folders_of_one_path_on_two_machines_are_two_projects_until_their_owner_says_otherwise(
    tmp_path: Path,
):
    from memsearch_engine.core.projects import identity_of
    from memsearch_engine.sync.meeting import chosen
    from memsearch_engine.sync.state import opened

    folder = str(tmp_path)
    scratch = Project(
        identity_of("", "", folder), "scratch", "ms_scratch", folder, f"{folder}/.memsearch/memory"
    )
    names = []
    for home in (Home(tmp_path / "one").ensure(), Home(tmp_path / "two").ensure()):
        with opened(home) as state:
            (name,) = chosen(state, [scratch])
            assert [name] == list(chosen(state, [scratch]))
            state.leave()
            assert [name] == list(chosen(state, [scratch]))  # for good
            names.append(name)
    assert len(set(names)) == 2
    with opened(Home(tmp_path / "two")) as state:
        state.place(folder, names[0])
        assert list(chosen(state, [scratch])) == [names[0]]


def test_files_without_entries_travel_and_stay(two: tuple[Machine, Machine]):
    a, b = two
    (a.memory / "todo.md").write_text("# Todo\n\n## call Bob about the invoice\n")
    (a.memory / "meta.md").write_text("---\nmood: fine\n---\n")
    (a.memory / "2026-02-10.md").write_text("# 2026-02-10\n")
    meet(a, b)
    assert len(a.files()) == 3 and a.files() == b.files()


def test_what_can_t_be_read_is_not_gone(two: tuple[Machine, Machine], tmp_path: Path):
    a, b = two
    for i in range(5):
        a.note(f"Note {i}")
    meet(a, b)
    (a.memory / f"{DAY}.md").rename(tmp_path / "elsewhere.md")
    (a.memory / f"{DAY}.md").symlink_to(tmp_path / "elsewhere.md")
    assert "leads out of its project" in a.sync().problems[0]
    b.sync()
    assert len(b.bodies()) == 5
    (tmp_path / "elsewhere.md").unlink()
    a.sync()
    b.sync()
    assert len(b.bodies()) == 5


def test_a_text_that_is_put_back_by_hand_lives(two: tuple[Machine, Machine]):
    a, b = two
    path = a.memory / f"{DAY}.md"
    for text in ("port is 1", "port is 2", "port is 1"):
        path.write_text(f"# {DAY}\n\n### 10:00\n\n{text}\n\n### 11:00\n\nother\n")
        meet(a, b)
        assert a.bodies() == b.bodies() == [text, "other"]


def test_a_note_that_is_cut_here_and_pasted_there_a_round_later_is_moved(
    two: tuple[Machine, Machine],
):
    a, b = two
    a.note("keep")
    name = a.note("move me")
    meet(a, b)
    raw = next(e.raw for e in a.entries() if e.id == name)
    path = a.memory / f"{DAY}.md"
    path.write_bytes(path.read_bytes().replace(raw, b""))
    meet(a, b)
    (a.memory / "2026-02-10.md").write_bytes(b"# 2026-02-10\n\n## Notes\n\n" + raw + b"\n")
    meet(a, b)
    assert b.bodies() == ["keep"] and b.bodies("2026-02-10") == a.bodies("2026-02-10") == [
        "move me"
    ]
    assert not b.journal.history.is_deleted(name)


def test_a_branch_that_lacks_notes_for_a_while_loses_none(two: tuple[Machine, Machine]):
    a, b = two
    for i in range(24):
        a.note(f"Note {i}")
    meet(a, b)
    path = a.memory / f"{DAY}.md"
    now = path.read_bytes()
    path.write_bytes(now[: a.entries()[20].start])
    a.sync()
    path.write_bytes(now)
    meet(a, b)
    assert len(a.bodies()) == len(b.bodies()) == 24


def test_the_long_term_memory_that_is_away_is_not_deleted(
    two: tuple[Machine, Machine], tmp_path: Path
):
    a, b = two
    for i in range(6):
        remember(a.home, f"Fact {i}")
    meet(a, b)
    a.home.longterm.rename(tmp_path / "away")
    assert "is not there" in a.sync().problems[0]
    b.sync()
    assert len(facts(b.home)) == 6
    (tmp_path / "away").rename(a.home.longterm)
    for note in list((b.home.longterm / "extensions/ad_hoc/notes").rglob("*.md")) or list(
        b.home.longterm.rglob("*.md")
    ):
        note.unlink()
    assert "are gone here" in b.sync().problems[0]
    a.sync()
    assert len(facts(a.home)) == 6
    b.sync(bring_back=True)
    meet(a, b)
    assert len(facts(a.home)) == len(facts(b.home)) == 6


def test_a_small_project_s_notes_that_all_vanish_are_asked_about(two: tuple[Machine, Machine]):
    a, b = two
    a.note("One")
    a.note("Two")
    meet(a, b)
    (a.memory / f"{DAY}.md").unlink()
    assert "2 notes" in a.sync().problems[0]
    b.sync()
    assert len(b.bodies()) == 2


def test_a_file_in_capitals_travels_and_is_looked_through(
    two: tuple[Machine, Machine], remote: Path
):
    a, b = two
    (a.memory / "NOTES.MD").write_text("# Notes\n\nText\n")
    meet(a, b)
    assert "NOTES.MD" in b.files()
    (a.memory / "NOTES.MD").write_text("# Notes\n\nghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n")
    with pytest.raises(Refused, match="secret"):
        a.sync()
    assert not any(b"ghp_" in data for data in tree(remote).values())


def test_leaving_and_coming_back_brings_nothing_deleted_back(two: tuple[Machine, Machine]):
    from memsearch_engine.sync.meeting import leave

    a, b = two
    a.note("Stays")
    a.note("Goes")
    a.note("Changes")
    meet(a, b)
    leave(a.home)
    a.delete("Goes")
    a.edit("Changes", "Changed")
    meet(a, b)
    assert a.bodies() == b.bodies() == ["Stays", "Changed"]


def test_what_is_restored_stands_between_notes_and_not_in_one(two: tuple[Machine, Machine]):
    a, b = two
    a.note("first")
    a.note("going")
    a.note("third\n\nwith a second paragraph")
    meet(a, b)
    a.delete("going")
    a.edit("first", "first, and much longer than it was before")
    meet(a, b)
    gone = next(change for change in b.journal.history.recent() if change.op == "delete")
    b.journal.restore(gone.seq)
    assert [body.replace("- ", "") for body in b.bodies()].count("going") == 1
    assert any("third" in body and "second paragraph" in body for body in b.bodies())


def test_a_question_that_is_open_is_not_answered_by_a_new_history(two: tuple[Machine, Machine]):
    a, b = two
    for i in range(15):
        a.note(f"Note {i}")
    meet(a, b)
    (a.memory / f"{DAY}.md").write_text(f"# {DAY}\n")
    a.sync(accept_deletions=True)
    b.sync()
    with pytest.raises(Refused, match="open"):
        rewrite(b.home, b.where)
    b.sync()
    assert len(b.bodies()) == 15


def test_what_can_t_be_written_stops_nothing_else(two: tuple[Machine, Machine]):
    a, b = two
    a.note("A day")
    (a.memory / "2026-02-11.md").write_text("# 2026-02-11\n\n### 10:00\n<!-- id:elev -->\nEleven\n")
    a.sync()
    (b.memory / "2026-02-11.md").mkdir()
    b.note("From b", at="12:00")
    done = b.sync()
    assert "2026-02-11.md" in done.problems[0] and len(b.bodies()) == 2
    meet(a)
    assert len(a.bodies()) == 2 and a.bodies("2026-02-11") == ["Eleven"]
    (b.memory / "2026-02-11.md").rmdir()
    meet(b, a)
    assert b.files() == a.files()


def test_a_clone_that_a_process_died_over_is_made_again(two: tuple[Machine, Machine]):
    a, _ = two
    half = a.home.root / "sync" / "clone.git" / "branches"
    half.mkdir(parents=True)
    a.note("A note")
    assert a.sync().sent == 1


def test_a_repository_of_code_is_no_empty_one(tmp_path: Path, two: tuple[Machine, Machine]):
    import subprocess

    code = tmp_path / "code.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "master", str(code)], check=True)
    work = tmp_path / "work"
    subprocess.run(["git", "clone", "-q", str(code), str(work)], check=True, capture_output=True)
    who = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(work)]
    subprocess.run([*who, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*who, "push", "-q", "origin", "HEAD:master"], check=True, capture_output=True)
    with pytest.raises(Foreign):
        look(two[0].home, str(code))


def test_a_password_in_an_address_is_refused_and_a_relative_folder_is_one(
    tmp_path: Path, monkeypatch
):
    from memsearch_engine.core.errors import UsageError

    with pytest.raises(UsageError, match="password") as refused:
        checked("https://me:hunter2@git.example.org/x.git")
    assert "hunter2" not in str(refused.value)
    monkeypatch.chdir(tmp_path)
    assert checked("mem.git") == str(tmp_path / "mem.git")
    assert checked("git@git.example.org:me/x.git") == "git@git.example.org:me/x.git"


def test_a_server_without_the_key_puts_nothing_in(tmp_path: Path, remote: Path):
    from memsearch_engine.sync.clone import Clone

    a = Machine(tmp_path / "a", remote, encrypt=True)
    make_key(a.home)
    a.note("Mine")
    a.sync()
    clone = Clone(a.home)
    head = clone.fetch(str(remote))
    files = dict(clone.tree(head))
    clone.put(
        files,
        f"projects/{PROJECT}/memory/2026-03-01.md",
        b"# 2026-03-01\n\n### 10:00\n<!-- id:evil -->\nDo this\n",
    )
    clone.push(str(remote), clone.commit(files, [head], "x"))
    clone.close()
    with pytest.raises(NoKey, match="without the key"):
        a.sync()
    assert a.bodies("2026-03-01") == []


def test_lines_stay_under_their_own_headings():
    base = "v1\n## Everywhere\n- a\n\n## Project x (11111111)\n- b\n  goes on\n- c\n"
    gone = "v1\n## Everywhere\n- a\n"
    more = base.replace("- c\n", "- c\n- new of x\n")
    for one, other in ((gone, more), (more, gone)):
        assert (
            merge_lines(base, one, other)
            == "v1\n## Everywhere\n- a\n\n## Project x (11111111)\n- new of x\n"
        )
    deleted = base.replace("- b\n  goes on\n", "")
    assert "goes on" not in merge_lines(base, deleted, more)
    assert merge_lines(base, deleted, more).startswith("v1\n## Everywhere\n- a\n")


def test_a_text_edited_beside_a_newer_one_does_not_come_back_from_a_machine_that_has_it(
    tmp_path: Path, remote: Path, monkeypatch
):
    """Found after 160 random histories of 200 steps: a round that was killed, and two machines that
    each put the same text beside theirs.
    """
    a, b, c = (Machine(tmp_path / name, remote) for name in "abc")
    a.note("The word of all")
    meet(a, b, c)
    a.edit("The word of all", "- What a says")
    a.sync()
    b.edit("The word of all", "- What b says")
    with monkeypatch.context() as patch:
        patch.setattr(Clone, "push", interrupted)
        with pytest.raises(KeyboardInterrupt):
            b.sync()
    b.restart()
    b.edit("What a says", "- What a says, as b has it")
    c.edit("The word of all", "- What c says")
    c.sync()
    meet(a, b, c)
    assert a.files() == b.files() == c.files()
    assert sorted(a.bodies()) == ["- What a says, as b has it", "- What b says", "- What c says"]


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("damage", ["objects", "gone", "config", "packed-refs", "a file"])
def test_a_damaged_clone_is_made_anew(two: tuple[Machine, Machine], damage: str):
    a, b = two
    a.note("Lanterns are lit at dusk")
    meet(a, b)
    clone = a.home.root / "sync" / "clone.git"
    files = [path for path in (clone / "objects").rglob("*") if path.is_file()]
    assert files
    a.restart()
    if damage == "packed-refs":
        (clone / damage).write_bytes(b"\xff" * 20)
    elif damage == "a file":
        shutil.rmtree(clone)
        clone.write_bytes(b"x")
    else:
        for path in files if damage != "config" else [clone / "config"]:
            path.chmod(0o600)
            path.unlink() if damage == "gone" else path.write_bytes(b"\0" * 20)
    a.note("Lanterns are dimmed at two", at="11:00")
    a.sync()
    assert b.sync().received == 1 and len(b.bodies()) == 2 == len(a.bodies())


def test_a_very_large_day_is_left_alone_on_both_sides(
    two: tuple[Machine, Machine], remote: Path, monkeypatch: pytest.MonkeyPatch
):
    from memsearch_engine.sync import snapshot

    a, b = two
    a.note("First")
    meet(a, b)
    a.note("Of a large day", day="2026-11-20")
    with (a.memory / "2026-11-20.md").open("a") as day:
        day.write("- words\n" * 2000)
    large = a.files()["2026-11-20.md"]
    monkeypatch.setattr(snapshot, "MAX_FILE", 1 << 13)  # bytes: the real limit takes too long here
    a.note("Second")
    done = a.sync()
    assert "2026-11-20.md" in done.problems[0] and "Split it" in done.problems[0]
    assert not any(name.endswith("2026-11-20.md") for name in tree(remote))
    monkeypatch.undo()
    a.sync()
    monkeypatch.setattr(snapshot, "MAX_FILE", 1 << 13)
    b.note("Mine of that day", day="2026-11-20")
    for _ in range(2):
        done = b.sync()
        assert any("in the remote" in problem for problem in done.problems)
    assert "Second" in str(b.bodies())
    assert [body.strip() for body in b.bodies("2026-11-20")] == ["Mine of that day"]
    assert tree(remote)[f"projects/{PROJECT}/memory/2026-11-20.md"] == large
    monkeypatch.undo()  # the file was split there, or the limit grew: now both are merged
    meet(a, b)
    assert len(b.bodies("2026-11-20")) == 2 == len(a.bodies("2026-11-20"))


def test_a_very_large_note_of_a_project_without_a_folder_here_is_no_problem(
    two: tuple[Machine, Machine], remote: Path
):
    from memsearch_engine.sync.clone import Clone

    a, b = two
    a.note("First")
    a.sync()
    clone = Clone(a.home)
    head = clone.fetch(str(remote))
    files = dict(clone.tree(head))
    clone.put(files, f"projects/{'f' * 32}/memory/2026-11-20.md", b" " * (17 << 20))
    clone.push(str(remote), clone.commit(files, [head], "x"))
    clone.close()
    assert b.sync().problems == [] and b.bodies() == ["First"]


def test_a_very_large_file_of_the_repository_itself_is_refused(
    two: tuple[Machine, Machine], remote: Path
):
    from memsearch_engine.sync.clone import Clone

    a, b = two
    a.note("First")
    a.sync()
    for name in ("memsearch.json", f"projects/{PROJECT}/tombstones"):
        clone = Clone(a.home)
        head = clone.fetch(str(remote))
        files = dict(clone.tree(head))
        clone.put(files, name, b" " * (17 << 20), plainly=True)
        clone.push(str(remote), clone.commit(files, [head], "x"))
        clone.close()
        with pytest.raises(Refused, match="17 MB"):
            b.sync()
    assert b.files() == {}
