"""Conversations that travel with the notes, where their owner wants that."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import SyncSettings
from memsearch_engine.sync.conversations import FOLDER, path_of
from memsearch_engine.sync.seal import make_key

from tests.sync.machines import Machine, bare, tree

_TOKEN = "ghp_" + "x8Kq2LmN4pRs6TvW9yZa1BcD3eFgH5jK7uQw"


def turn(name: str, said: str = "raise the ttl") -> Turn:
    return Turn(
        "codex",
        "5e55",
        name,
        "2026-02-09T14:30:00+00:00",
        user=said,
        assistant="done",
        tools=[ToolCall("shell", "ls", "a b")],
    )


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path / "remote.git")


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def two(request, tmp_path: Path, remote: Path) -> tuple[Machine, Machine]:
    found = Machine(tmp_path / "a", remote), Machine(tmp_path / "b", remote)
    for machine in found:
        machine.where = SyncSettings(remote=str(remote), evidence=True, encrypt=request.param)
    if request.param:
        make_key(found[0].home)
        (found[1].home.root / "sync.key").write_bytes(
            (found[0].home.root / "sync.key").read_bytes()
        )
    return found


def keep(machine: Machine, *turns: Turn) -> None:
    archive = Archive(machine.home)
    for one in turns:
        archive.put(one)
    archive.close()


def kept(machine: Machine, name: str) -> Turn | None:
    return Archive(machine.home).get("codex", "5e55", name)


def test_a_turn_comes_to_the_other_machine_grows_there_and_comes_back(two: tuple[Machine, Machine]):
    a, b = two
    keep(a, turn("t1"), turn("t2", "in the office"))
    a.note("A note")
    assert a.sync().turns == 2
    keep(b, turn("t3", "at home"))
    assert b.sync().turns == 3 and kept(b, "t1") == kept(a, "t1")
    assert a.sync().turns == 1 and kept(a, "t3").user == "at home"
    keep(b, turn("t1", "raise the ttl to 900"))
    b.sync()
    a.sync()
    assert kept(a, "t1").user == "raise the ttl to 900"
    assert a.sync().turns == b.sync().turns == 0


def test_what_one_machine_forgets_stays_on_the_others_and_away_from_it(
    two: tuple[Machine, Machine],
):
    a, b = two
    keep(a, turn("t1"))
    a.sync()
    b.sync()
    archive = Archive(a.home)
    archive.remove([("codex", "5e55", "t1")])
    archive.close()
    for machine in (a, b, a):
        machine.sync()
    assert kept(a, "t1") is None and kept(b, "t1") is not None


def test_what_is_scrubbed_on_one_is_so_there_and_on_the_others(
    two: tuple[Machine, Machine], remote: Path
):
    a, b = two
    keep(a, turn("t1", "our word is swordfish"))
    a.sync()
    b.sync()
    keep(a, turn("t1", "our word is [REDACTED:text:12345678]"))
    keep(
        b, turn("t1", "our word is swordfish, and more was said after it, at length")
    )  # it grew there meanwhile
    for machine in (a, b, a, b):
        machine.sync()
    assert "swordfish" not in kept(a, "t1").user + kept(b, "t1").user
    assert not any(b"swordfish" in data for data in tree(remote).values())


@pytest.mark.parametrize("grown", [" [REDACTED:x:1]", " [REDACTED:x:1] [REDACTED:x:2] and more"])
def test_where_each_took_something_out_nothing_comes_back(two: tuple[Machine, Machine], grown: str):
    a, b = two
    keep(a, turn("t1", "our word is swordfish"))
    a.sync()
    b.sync()
    keep(b, turn("t1", "our word is [REDACTED:text:12345678]"))
    keep(a, turn("t1", f"our word is swordfish, then{grown}"))
    said = [problem for machine in (a, b, a, b) for problem in machine.sync().problems]
    assert (
        "swordfish" not in kept(b, "t1").user
        and len([p for p in said if "scrubbed in two places" in p]) == 1
    )


def test_rewriting_the_remote_and_meeting_it_anew_bring_nothing_back_that_was_forgotten(
    tmp_path: Path, remote: Path
):
    from memsearch_engine.sync.meeting import rewrite

    a, b = Machine(tmp_path / "a", remote), Machine(tmp_path / "b", remote)
    for machine in (a, b):
        machine.where = SyncSettings(remote=str(remote), evidence=True)
    keep(a, turn("t1"), turn("t2"))
    a.sync()
    b.sync()
    for machine in (a, b):
        archive = Archive(machine.home)
        archive.remove([("codex", "5e55", "t1")])
        archive.close()
    a.sync()
    rewrite(a.home, a.where)
    a.sync()
    b.sync(rejoin=True)
    assert kept(a, "t1") is None and kept(b, "t1") is None and kept(b, "t2") is not None


def test_an_archive_that_can_not_be_written_keeps_no_note_at_home(tmp_path: Path, remote: Path):
    a, b = Machine(tmp_path / "a", remote), Machine(tmp_path / "b", remote)
    for machine in (a, b):
        machine.where = SyncSettings(remote=str(remote), evidence=True)
    keep(a, turn("t1"))
    a.sync()
    b.home.evidence.mkdir(parents=True, exist_ok=True)
    (b.home.evidence / "turns.db").write_bytes(b"no database" * 100)
    b.note("A note")
    assert "conversations stay" in b.sync().problems[0]
    a.sync()
    assert a.bodies() == ["A note"]


def test_much_goes_in_several_rounds_and_keeps_its_age(tmp_path: Path, remote: Path, monkeypatch):
    from memsearch_engine.sync import conversations as room

    monkeypatch.setattr(room, "_AT_ONCE", 2)
    a, b = Machine(tmp_path / "a", remote), Machine(tmp_path / "b", remote)
    for machine in (a, b):
        machine.where = SyncSettings(remote=str(remote), evidence=True)
    keep(a, *(turn(f"t{number}") for number in range(5)))
    assert [(done.turns, done.turns_left) for done in (a.sync(), a.sync(), a.sync())] == [
        (2, True),
        (2, True),
        (1, False),
    ]
    while b.sync().turns_left:
        pass
    assert len(Archive(b.home).names()) == 5
    assert Archive(b.home).status().newest < 1.8e9  # of 2026-02-09, not of today


def test_secrets_do_not_travel_and_nothing_does_unless_it_is_wanted(tmp_path: Path, remote: Path):
    a, b = Machine(tmp_path / "a", remote), Machine(tmp_path / "b", remote)
    keep(a, turn("t1", f"the token is {_TOKEN}"))
    a.note("A note")
    a.sync()
    assert not any(name.startswith(FOLDER) for name in tree(remote))
    a.where = SyncSettings(remote=str(remote), evidence=True)
    a.sync()
    (data,) = (data for name, data in tree(remote).items() if name.startswith(FOLDER))
    assert _TOKEN.encode() not in data and b"[REDACTED" in data
    b.sync()  # it does not want them, and leaves them there
    b.note("Another")
    b.sync()
    assert kept(b, "t1") is None and any(name.startswith(FOLDER) for name in tree(remote))


def test_what_is_no_turn_or_another_s_is_left_alone_and_named(tmp_path: Path, remote: Path):
    a, b = Machine(tmp_path / "a", remote), Machine(tmp_path / "b", remote)
    for machine in (a, b):
        machine.where = SyncSettings(remote=str(remote), evidence=True)
    keep(a, turn("t1"))
    a.sync()
    forged = msgspec.json.encode(turn("t9"))
    commit(
        remote,
        tmp_path / "work",
        {path_of(("codex", "5e55", "t2")): forged, f"{FOLDER}zz/x.json": b"[" * 100_000},
    )
    done = b.sync()
    assert kept(b, "t1") is not None and kept(b, "t9") is None and len(done.problems) == 1
    assert len([name for name in tree(remote) if name.startswith(FOLDER)]) == 3


def commit(remote: Path, work: Path, files: dict[str, bytes]) -> None:
    """Put files there as anybody with access would."""
    who = ["git", "-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
    subprocess.run([*who, "clone", "-q", str(remote), str(work)], check=True)
    for name, data in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(data)
    for command in (["add", "."], ["commit", "-qm", "x"], ["push", "-q"]):
        subprocess.run([*who, "-C", str(work), *command], check=True)


def test_a_remote_s_day_in_capitals_is_no_note():
    from memsearch_engine.sync.layout import is_note

    assert is_note("2026-11-20.md") and is_note("topics/a.markdown")
    assert not is_note("2026-11-20.MD") and not is_note("2026-11-20.Md") and is_note("NOTES.MD")


def test_a_stored_conversation_keeps_its_digest(tmp_path):
    """Another digest would send every conversation to all machines again."""
    turn = Turn("codex", "s", "t", "2026-01-01", "2026-01-02", "/x", "hi", "")
    turn.tools.append(ToolCall("bash", "ls", "out", True))
    turn.say("one é")
    turn.in_reply_to = "which?"
    archive = Archive(Home(tmp_path))
    archive.put(turn)
    assert archive.digests() == {("codex", "s", "t"): "647C467924DD90FDD7C896644803107F"}
    assert archive.get("codex", "s", "t") == turn
