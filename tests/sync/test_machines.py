"""Two and three machines of one owner: what they write meets, and nothing is lost whatever is
killed or cut.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from memsearch_engine.sync import clone as cloning
from memsearch_engine.sync.clone import Away
from memsearch_engine.sync.meeting import Refused
from memsearch_engine.sync.seal import NoKey, make_key

from tests.sync.machines import DAY, PROJECT, Machine, Words, bare, tree


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path / "remote.git")


@pytest.fixture
def machines(tmp_path: Path, remote: Path) -> tuple[Machine, Machine]:
    return Machine(tmp_path / "one", remote), Machine(tmp_path / "two", remote)


def meet(*machines: Machine) -> None:
    for machine in (*machines, *machines):
        machine.sync()


def test_notes_of_two_machines_meet(machines: tuple[Machine, Machine]):
    one, two = machines
    one.note("From the first")
    two.note("From the second", at="11:00")
    meet(one, two)
    assert one.bodies() == two.bodies() == ["From the first", "From the second"]
    assert one.files() == two.files()


def test_a_deletion_arrives_can_be_restored_and_stays_away(machines: tuple[Machine, Machine]):
    one, two = machines
    one.turn("t1", "- going")
    one.note("Staying", at="11:00")
    meet(one, two)
    one.delete("going")
    meet(one, two)
    assert two.bodies() == ["Staying"]
    assert two.journal.is_deleted(
        (two.journal.history.recent()[0] and one.entry("Staying").anchor) or _anchor("t1")
    )
    assert two.journal.history.last_done() == []  # it is no step of this machine's undo
    gone = next(change for change in two.journal.history.recent() if change.op == "delete")
    two.journal.restore(gone.seq)
    meet(one, two)
    assert sorted(one.bodies()) == sorted(two.bodies()) == ["- going", "Staying"]


def _anchor(turn: str):
    from memsearch_engine.journal.model import Anchor

    return Anchor("s", turn, "claude-code", "transcript", "/x/s.jsonl")


@pytest.mark.slow
def test_an_undone_deletion_comes_back_everywhere(machines: tuple[Machine, Machine]):
    one, two = machines
    one.note("Kept after all")
    meet(one, two)
    one.delete("Kept")
    meet(one, two)
    assert two.bodies() == []
    one.journal.undo()
    meet(one, two)
    assert two.bodies() == one.bodies() == ["Kept after all"]
    two.delete("Kept")
    meet(one, two)
    assert two.bodies() == one.bodies() == []


def test_an_old_copy_of_a_machine_brings_nothing_back(
    tmp_path: Path, machines: tuple[Machine, Machine], remote: Path
):
    one, two = machines
    one.note("Wanted")
    one.note("A slip, deleted since", at="11:00")
    meet(one, two)
    old = (one.memory / f"{DAY}.md").read_bytes()
    one.delete("slip")
    one.edit("Wanted", "Wanted, and better")
    meet(one, two)
    third = Machine(tmp_path / "three", remote)  # from a backup, with a home that knows nothing
    (third.memory / f"{DAY}.md").write_bytes(old)
    third.sync()
    assert third.bodies() == ["Wanted, and better"]
    (two.memory / f"{DAY}.md").write_bytes(
        old
    )  # somebody who has seen it go puts it back: that is his word
    meet(two, one)
    assert sorted(two.bodies()) == sorted(one.bodies()) == ["A slip, deleted since", "Wanted"]


def test_both_edit_one_note_and_the_newer_text_is_shown(machines: tuple[Machine, Machine]):
    one, two = machines
    one.note("The port is 1")
    meet(one, two)
    two.edit("port", "The port is 2")
    one.edit("port", "The port is 3")
    for change in one.journal.history.recent(limit=1):  # a clock's second is too coarse for a test
        one.journal.history.database.execute(
            "UPDATE changes SET at=at+60 WHERE seq=?", (change.seq,)
        )
    two.sync()
    assert one.sync().conflicts == 1
    meet(one, two)
    assert one.files() == two.files()
    assert [(e.body, sorted(e.marks)) for e in one.entries()] == [
        ("The port is 3", ["conflict", "id"]),
        ("The port is 2", ["conflict-of", "id"]),
    ]


def test_marks_and_edits_of_two_machines_go_together(machines: tuple[Machine, Machine]):
    one, two = machines
    one.note("A note")
    meet(one, two)
    one.mark("A note", "pin", "")
    two.edit("A note", "A note, said better")
    meet(one, two)
    assert one.entries()[0].marks.keys() >= {"pin"} and one.bodies() == two.bodies() == [
        "A note, said better"
    ]


def test_a_decision_arrives_through_sync_and_a_file_that_contradicts_one_decides_nothing(
    machines: tuple[Machine, Machine],
):
    one, two = machines
    one.note("The port is 1")
    meet(one, two)
    path = one.memory / f"{DAY}.md"
    before = path.read_bytes()
    one.edit("port", "The port is 2")
    meet(one, two)

    def wrong(machine: Machine) -> set[str]:
        origin = machine.journal.origin
        return origin.arrived(
            str(machine.memory), machine.entries(), str(machine.memory / f"{DAY}.md")
        )

    assert two.bodies() == ["The port is 2"] and not wrong(two)
    decided = (two.memory / f"{DAY}.md").read_bytes()
    (two.memory / f"{DAY}.md").write_bytes(before)
    assert wrong(two)
    (two.memory / f"{DAY}.md").write_bytes(decided)
    path.write_bytes(before)  # on one, by a revert: sync carries the text, and no decision
    meet(one, two)
    assert one.bodies() == two.bodies() == ["The port is 1"]
    assert wrong(one) and wrong(two)


def test_what_is_the_owner_s_there_is_so_here_and_what_arrived_waits_everywhere(
    machines: tuple[Machine, Machine],
):
    one, two = machines
    one.note("Mine")
    path = one.memory / "2026-02-10.md"
    path.write_text("# 2026-02-10\n\n### 10:00\n<!-- id:clone -->\nFrom a clone\n")
    meet(one, two)
    origin = two.journal.origin
    assert (
        origin.arrived(str(two.memory), two.entries(), str(two.memory / "2026-02-09.md")) == set()
    )
    assert origin.arrived(str(two.memory), two.entries("2026-02-10"), str(path)) == {"clone"}
    one.journal.origin.trust(str(one.memory))
    meet(one, two)
    assert origin.arrived(str(two.memory), two.entries("2026-02-10"), str(path)) == set()


def test_facts_and_the_long_term_memory_travel_and_nothing_else_of_the_home(
    machines: tuple[Machine, Machine], remote: Path
):
    from memsearch_engine.longterm.facts import facts, remember

    one, two = machines
    remember(one.home, "Staging listens on 6543")
    (one.home.longterm / "MEMORY.md").write_text("## Everywhere\n- a\n- b\n")
    one.note("A note")
    meet(one, two)
    assert [fact.text for fact in facts(two.home)] == ["Staging listens on 6543"]
    (one.home.longterm / "MEMORY.md").write_text("## Everywhere\n- a\n- c\n")
    (two.home.longterm / "MEMORY.md").write_text("## Everywhere\n- a\n- b\n- d\n")
    meet(one, two)
    assert (one.home.longterm / "MEMORY.md").read_text() == (
        two.home.longterm / "MEMORY.md"
    ).read_text()
    assert sorted((two.home.longterm / "MEMORY.md").read_text().splitlines()[1:]) == [
        "- a",
        "- c",
        "- d",
    ]
    names = {name.split("/")[0] for name in tree(remote)}
    assert names == {"memsearch.json", "projects", "longterm"}


def test_a_secret_blocks_the_push_and_nothing_else(machines: tuple[Machine, Machine], remote: Path):
    one, two = machines
    one.note("Before")
    meet(one, two)
    with (one.memory / f"{DAY}.md").open("a") as out:
        out.write("\n### 12:00\n\nghp_" + (rest := "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8") + "\n")
    two.note("From the second", at="13:00")
    two.sync()
    with pytest.raises(Refused, match="secret"):
        one.sync()
    assert "From the second" in one.bodies() and not any(
        b"ghp_" in data for data in tree(remote).values()
    )
    (one.memory / f"{DAY}.md").write_text(
        (one.memory / f"{DAY}.md").read_text().replace(f"ghp_{rest}", "REDACTED")
    )
    meet(one, two)
    assert one.files() == two.files()


@pytest.mark.slow
def test_a_folder_that_is_gone_deletes_nothing_elsewhere(machines: tuple[Machine, Machine]):
    one, two = machines
    for i in range(15):
        one.note(f"Note {i}")
    meet(one, two)
    (one.memory / f"{DAY}.md").rename(one.root / "away.md")
    done = one.sync()
    assert "15 notes" in done.problems[0] and "--bring-back" in done.problems[0]
    two.note("Goes on")
    two.sync()
    one.sync()
    assert len(two.bodies()) == 16 and not (one.memory / f"{DAY}.md").exists()
    one.sync(bring_back=True)
    assert len(one.bodies()) == 16 and one.files() == two.files()
    one.memory.rename(one.root / "memory-away")
    assert "is not there" in one.sync().problems[0]
    assert len(two.bodies()) == 16


def test_a_project_that_comes_to_a_machine_later_gets_its_notes(machines: tuple[Machine, Machine]):
    one, two = machines
    one.note("From the first")
    one.sync()
    two.sync(projects=[])  # not cloned yet
    one.note("One more", at="11:00")
    meet(one)
    two.sync(projects=[])
    two.note("Written before the first round", at="12:00")
    meet(two, one)
    assert (
        two.bodies()
        == one.bodies()
        == ["From the first", "One more", "Written before the first round"]
    )
    two.sync(projects=[])  # its folder was deleted, and is cloned again, without notes
    (two.memory / f"{DAY}.md").unlink()
    one.note("Meanwhile", at="13:00")
    one.sync()
    assert "3 notes" in two.sync().problems[0]
    two.sync(bring_back=True)
    meet(one, two)
    assert len(two.bodies()) == len(one.bodies()) == 4


@pytest.mark.slow
def test_deletions_on_a_large_scale_are_shown_before_they_are_taken_over(
    machines: tuple[Machine, Machine],
):
    one, two = machines
    for i in range(15):
        one.note(f"Note {i}")
    meet(one, two)
    (one.memory / f"{DAY}.md").write_text(f"# {DAY}\n")
    one.sync(accept_deletions=True)
    done = two.sync()
    assert "has deleted 15 notes" in done.problems[0] and len(two.bodies()) == 15
    two.note("Meanwhile")
    assert two.sync().problems and len(two.bodies()) == 16
    two.sync(accept_deletions=True)
    meet(one, two)
    assert one.bodies() == two.bodies() == ["Meanwhile"]


def test_a_remote_that_was_rewritten_emptied_or_is_somebody_else_s_is_refused(
    tmp_path: Path, machines, remote: Path
):
    import shutil
    import subprocess

    one, two = machines
    one.note("A note")
    meet(one, two)
    saved = tmp_path / "saved.git"
    shutil.copytree(remote, saved)
    shutil.rmtree(remote)
    bare(remote)
    with pytest.raises(Refused, match="empty"):
        one.sync()
    shutil.rmtree(remote)
    shutil.copytree(saved, remote)
    git = ["git", "-C", str(remote)]
    empty = (
        subprocess.run([*git, "mktree"], input=b"", capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    made = subprocess.run(
        ["git", *who, "-C", str(remote), "commit-tree", empty, "-m", "x"],
        capture_output=True,
        check=True,
    )
    subprocess.run(
        [*git, "update-ref", "refs/heads/main", made.stdout.decode().strip()], check=True
    )
    with pytest.raises(Refused, match="rewritten"):
        one.sync()
    assert one.bodies() == ["A note"]
    stranger = Machine(tmp_path / "three", remote)
    with pytest.raises(Refused, match="something else"):
        stranger.sync()
    shutil.rmtree(remote)
    bare(remote)
    one.sync(rejoin=True)
    two.note("Another", at="11:00")
    two.sync(rejoin=True)
    meet(one, two)
    assert one.bodies() == two.bodies() == ["A note", "Another"]


def test_a_newer_format_is_left_alone(machines: tuple[Machine, Machine], remote: Path, monkeypatch):
    from memsearch_engine.sync import run

    one, two = machines
    one.note("A note")
    monkeypatch.setattr(run, "FORMAT", 2)
    one.sync()
    monkeypatch.setattr(run, "FORMAT", 1)
    with pytest.raises(Refused, match="newer"):
        two.sync()


def test_names_from_the_remote_lead_nowhere_else(machines: tuple[Machine, Machine], tmp_path: Path):
    one, two = machines
    one.note("A note")
    one.sync()
    from memsearch_engine.sync.clone import Clone

    clone = Clone(one.home)
    head = clone.ref("refs/remotes/origin/main") or clone.fetch(one.where.remote)
    files = clone.tree(head)
    names = ["../../../owned.md", ".hidden.md", "a/../../owned.md", "owned.sh", "x\n.md"]
    for name in (
        *(f"projects/{PROJECT}/memory/{name}" for name in names),
        "longterm/../owned.md",
        "longterm/raw_memories.md",
    ):
        clone.put(files, name, b"# x\n\nowned\n")
    clone.push(one.where.remote, clone.commit(files, [head], "bad"))
    clone.close()
    two.sync()
    assert set(two.files()) == {f"{DAY}.md"} and not list(tmp_path.rglob("*owned*"))
    assert not (two.home.longterm / "raw_memories.md").exists()


def test_what_lies_on_an_encrypted_remote_can_be_read_with_the_key_alone(
    tmp_path: Path, remote: Path
):
    one, two, three = (
        Machine(tmp_path / name, remote, encrypt=True) for name in ("one", "two", "three")
    )
    key = make_key(one.home)
    assert key.stat().st_mode & 0o777 == 0o600
    one.note("The lighthouse keeper's word")
    one.sync()
    assert [e.body for e in one.entries()] == ["The lighthouse keeper's word"]
    lies = tree(remote)
    assert lies and not any(b"lighthouse" in data or b"shop" in data for data in lies.values())
    assert {
        name for name, data in lies.items() if not data.startswith(b"age-encryption.org/v1\n")
    } == {"memsearch.json"}
    assert key.read_bytes().strip() not in b"".join(lies.values())
    with pytest.raises(NoKey, match="no key"):
        two.sync()
    make_key(three.home)
    with pytest.raises(NoKey, match="another key"):
        three.sync()
    (two.home.root / "sync.key").write_bytes(key.read_bytes())
    two.note("From the second", at="11:00")
    meet(one, two)
    assert one.files() == two.files() and len(one.bodies()) == 2
    before = tree(remote)
    meet(one, two)
    assert (
        tree(remote) == before
    )  # nothing new is no new commit, though a sealed text never looks the same twice


def test_a_remote_that_can_be_read_is_not_encrypted_afterwards(
    tmp_path: Path, machines: tuple[Machine, Machine], remote: Path
):
    one, _ = machines
    one.note("Readable")
    one.sync()
    late = Machine(tmp_path / "late", remote, encrypt=True)
    make_key(late.home)
    with pytest.raises(Refused, match="not encrypted"):
        late.sync()


class _Killed(BaseException):
    pass


def random_rounds(
    tmp_path: Path, monkeypatch, seed: int, steps: int, *, encrypt: bool = False
) -> None:
    """Random notes, edits, deletions, marks and hand-made changes on three machines, with kills in
    every step of a round that changes something, and cuts of the network.
    """
    remote = bare(tmp_path / f"remote-{seed}.git")
    machines = [Machine(tmp_path / f"{seed}-{i}", remote, encrypt=encrypt) for i in range(3)]
    for machine in machines if encrypt else ():
        make_key(machines[0].home)
        (machine.home.root / "sync.key").write_bytes(
            (machines[0].home.root / "sync.key").read_bytes()
        )
    words = Words(seed)
    choose = words.random.choice
    minute = 9 * 60
    for _ in range(steps):
        machine = choose(machines)
        minute = min(minute + choose((0, 1, 3)), 23 * 60 + 59)
        at = f"{minute // 60:02d}:{minute % 60:02d}"
        seen = [entry for entry in machine.entries() if "word-" in entry.body]
        what = words.random.choices(
            ("note", "turn", "edit", "delete", "mark", "hand", "sync", "killed", "cut"),
            (3, 4, 4, 2, 2, 2, 6, 4, 2),
        )[0]
        if what == "note":
            machine.note(f"{words.new()} noted", at)
        elif what == "turn":
            name = words.new()
            machine.turn(name, f"- {name} said", at, f"s{machines.index(machine)}")
        elif what in ("edit", "delete", "hand") and seen:
            entry = choose(seen)
            words.dead |= set(re.findall(r"word-\d+-", entry.body))
            if what == "delete":
                machine.delete(entry.body)
            elif what == "edit":
                machine.edit(entry.body, f"- {words.new()} now")
            else:
                path = machine.memory / f"{DAY}.md"
                path.write_bytes(
                    path.read_bytes().replace(
                        entry.body.encode(), f"- {words.new()} by hand".encode(), 1
                    )
                )
        elif what == "mark" and seen:
            machine.mark(choose(seen).body, choose(("pin", "expires")), "2026-12-31")
        elif what in ("sync", "killed", "cut"):
            with monkeypatch.context() as patch:
                if what != "sync":
                    interrupt(patch, what, words)
                try:
                    machine.sync()
                except (_Killed, Away):
                    machine.restart()
    for machine in (*machines, *machines):
        assert not machine.sync().problems
    assert machines[0].files() == machines[1].files() == machines[2].files(), seed
    text = "\n".join(entry.body for entry in machines[0].entries())
    found = set(re.findall(r"word-\d+-", text))
    assert not (words.written - words.dead) - found, (
        f"{seed}: lost {(words.written - words.dead) - found}"
    )
    assert not found & words.dead, f"{seed}: {found & words.dead} came back"


def interrupt(patch, what: str, words: Words) -> None:
    """Have the next round end somewhere: before or after a write, a commit, a push, or a note of
    what was done.
    """
    from memsearch_engine.journal import whole_file
    from memsearch_engine.sync import state

    if what == "cut":

        def cut(self, *command):
            raise Away("no network")

        where = words.random.choice(("fetch", "push"))
        patch.setattr(cloning.Clone, where, cut)
        return
    owner, name = words.random.choice(
        [
            (whole_file, "write_file"),
            (cloning.Clone, "push"),
            (cloning.Clone, "commit"),
            (state.SyncDatabase, "settled"),
            (state.SyncDatabase, "take"),
            (cloning.Clone, "_git"),
        ]
    )
    real, before = getattr(owner, name), words.random.random() < 0.5

    def killed(*args, **how):
        if not before:
            real(*args, **how)
        raise _Killed

    patch.setattr(owner, name, killed)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_three_machines_converge_whatever_is_killed(tmp_path: Path, monkeypatch, seed: int):
    random_rounds(tmp_path, monkeypatch, seed, 60, encrypt=seed == 5)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_long_rounds(tmp_path: Path, monkeypatch, block: int):
    for seed in range(100 + block * 7, 107 + block * 7):
        random_rounds(tmp_path, monkeypatch, seed, 120)
