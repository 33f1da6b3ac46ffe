"""Who owns the files of a project, and who may write them: several users, and root."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from memsearch_engine.core import safe_files
from memsearch_engine.core.home import Home
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal

from tests.faults.killing import child

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as other users")
ANN, BOB, TEAM = 64001, 64002, 64003
_AS = """
from memsearch_engine.core.home import Home
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal
os.setgroups([64003])
user = int(os.environ["USER_ID"])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
journal, memory = Journal(Home(__import__("pathlib").Path(os.environ["OWN"]))), os.environ["MEMORY"]
def edit(old, new):
    day = f"{memory}/2026-02-09.md"
    entry = next(e for e in read_day(day).entries if old in e.body)
    journal.edit(memory, target_of(day, entry), new)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that all users can enter, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="owners"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def notes(memory: Path) -> list[str]:
    return [entry.body for entry in read_day(memory / "2026-02-09.md").entries]


@root_only
def test_what_root_writes_in_a_user_s_project_is_the_user_s(place):
    project, journal = place / "project", Journal(Home(place / "home"))
    project.mkdir()
    os.chown(project, ANN, TEAM)
    memory = project / ".memsearch" / "memory"
    for text in ("one", "two", "three"):
        journal.add_note(str(memory), "2026-02-09", "10:00", text)
    day = str(memory / "2026-02-09.md")
    first, second, _ = read_day(day).entries
    journal.edit(str(memory), target_of(day, first), "- changed")
    journal.delete(str(memory), [target_of(day, second)])
    safe_files.put(str(project / ".memsearch" / "state.json"), b"{}")
    safe_files.put(str(project / ".memsearch" / "state.json"), b"[]")
    assert notes(memory) == ["- changed", "three"]
    made = list(project.rglob("*"))
    assert len(made) >= 5
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(ANN, TEAM)}


def test_a_folder_that_its_owner_shares_with_a_group_makes_files_for_the_group(tmp_path):
    journal, modes = Journal(Home(tmp_path / "home")), {}
    for name, mode in (("private", 0o2755), ("open", 0o775), ("shared", 0o2775)):
        memory = tmp_path / name / ".memsearch" / "memory"
        memory.mkdir(parents=True)
        for folder in (memory.parent, memory):
            folder.chmod(mode)
        journal.add_note(str(memory), "2026-02-09", "10:00", "one")
        (entry,) = read_day(memory / "2026-02-09.md").entries
        journal.edit(str(memory), target_of(str(memory / "2026-02-09.md"), entry), "- two")
        made = (memory / "2026-02-09.md", memory.parent / ".tmp")
        modes[name] = [oct(stat.S_IMODE(path.stat().st_mode) & 0o777) for path in made]
    assert modes == {
        "private": ["0o600", "0o755"],
        "open": ["0o600", "0o755"],
        "shared": ["0o660", "0o775"],
    }


def test_the_group_can_enter_what_is_made_for_it_whatever_the_umask(tmp_path):
    memory = tmp_path / "project" / ".memsearch" / "memory"
    memory.parent.mkdir(parents=True)
    memory.parent.chmod(0o2775)
    umask = os.umask(0o077)
    try:
        Journal(Home(tmp_path / "home")).add_note(str(memory), "2026-02-09", "10:00", "one")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(memory.stat().st_mode) & 0o777 == 0o770


def test_a_changed_file_does_not_keep_the_set_user_id_bit(tmp_path):
    memory = tmp_path / "project" / ".memsearch" / "memory"
    journal = Journal(Home(tmp_path / "own"))
    journal.add_note(str(memory), "2026-02-09", "10:00", "one")
    day, state = memory / "2026-02-09.md", memory.parent / "state.json"
    state.touch()
    for file in (day, state):
        file.chmod(0o6755)
    (entry,) = read_day(day).entries
    journal.edit(str(memory), target_of(str(day), entry), "- two")
    safe_files.put(str(state), b"{}")
    assert [oct(stat.S_IMODE(file.stat().st_mode)) for file in (day, state)] == ["0o755"] * 2


@root_only
def test_an_owner_that_a_container_does_not_know_is_no_error(place, monkeypatch):
    def refused(*values: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    memory, journal = place / "project" / ".memsearch" / "memory", Journal(Home(place / "home"))
    journal.add_note(str(memory), "2026-02-09", "10:00", "one")
    day = memory / "2026-02-09.md"
    day.chmod(0o664)
    for path in (memory, day):
        os.chown(path, ANN, TEAM)
    monkeypatch.setattr(os, "fchown", refused)
    (entry,) = read_day(day).entries
    journal.edit(str(memory), target_of(str(day), entry), "- two")
    journal.add_note(str(memory), "2026-02-10", "10:00", "three")
    assert notes(memory) == ["- two"]
    assert oct(stat.S_IMODE(day.stat().st_mode)) == "0o644"  # another group gets no more


@root_only
def test_a_folder_that_is_put_in_the_place_of_a_new_one_keeps_its_owner(place, monkeypatch):
    project, secret, make = place / "project", place / "project" / "secret", os.mkdir
    secret.mkdir(parents=True, mode=0o700)
    (secret / "key").touch()
    os.chown(project, ANN, TEAM)

    def swapped(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        make(name, mode, dir_fd=dir_fd)
        if name == ".memsearch":
            (project / name).rmdir()
            secret.rename(project / name)

    monkeypatch.setattr(os, "mkdir", swapped)
    os.close(safe_files.open_folder(str(project / ".memsearch"), create=True))
    assert (project / ".memsearch" / "key").exists()
    assert (project / ".memsearch").stat().st_uid == 0


@root_only
@pytest.mark.parametrize("scratch", ["", "another user's"])
def test_two_users_change_notes_of_one_folder(place, scratch):
    memory = place / "project" / ".memsearch" / "memory"
    memory.mkdir(parents=True)
    for folder in (memory.parent.parent, memory.parent, memory):
        os.chown(folder, ANN, TEAM)
        folder.chmod(0o2775)
    if scratch:  # as the versions before made it
        (memory.parent / ".tmp").mkdir(mode=0o755)
        os.chown(memory.parent / ".tmp", BOB, TEAM)
    for user in (ANN, BOB):
        (place / str(user)).mkdir(mode=0o700)
        os.chown(place / str(user), user, user)

    def run(user: int, work: str) -> None:
        names = {"USER_ID": str(user), "OWN": str(place / str(user)), "MEMORY": str(memory)}
        done = child(_AS + work, place / "run", 0, MEMSEARCH_HOME=str(place / "run"), **names)
        assert done.returncode == 0, done.stderr

    for text in ("one", "two"):
        run(ANN, f"journal.add_note(memory, '2026-02-09', '10:00', '{text}')")
    run(
        BOB, "journal.add_note(memory, '2026-02-09', '10:00', 'three')\nedit('one', '- one of bob')"
    )
    run(ANN, "edit('three', '- three of ann')\nedit('one', '- one of ann')")
    run(BOB, "edit('two', '- two of bob')")
    run(ANN, "journal.undo(memory)")
    assert notes(memory) == ["- one of bob", "- two of bob", "- three of ann"]
    info = (memory / "2026-02-09.md").stat()
    assert info.st_gid == TEAM and stat.S_IMODE(info.st_mode) == 0o660


@root_only
@pytest.mark.parametrize("folder", ["", ".memsearch"])
def test_sudo_makes_no_files_in_the_home_of_a_user(box, folder):
    home = box.user / ".memsearch"
    home.mkdir()
    os.chown(box.user / folder, ANN, ANN)
    if not folder:
        home.rmdir()
    box.env.pop("MEMSEARCH_HOME")
    box.env["SUDO_UID"] = str(ANN)
    payload = f'{{"session_id": "s", "transcript_path": "/x", "cwd": "{box.project}"}}'
    assert box.ok("hook", "claude-code", "Stop", stdin=payload).out == "{}\n"
    for command in (["add", "a note"], ["search", "note"], ["doctor"], ["status"]):
        done = box.run(*command)
        assert done.code == 3 and "belongs to another user" in done.err, done
    assert [path for path in box.user.rglob("*") if path != home] == []
    assert not (box.project / ".memsearch").exists()


_COMMANDS = """
import contextlib, io, json
from memsearch_tui.cli import main as cli
def run(*arguments):
    sys.argv, out, err = ["memsearch", *arguments], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main()
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()
os.chdir(os.environ["PROJECT"])
commands = [line.split() for line in os.environ["COMMANDS"].splitlines()]
for command in [*commands, ["service", "stop"]]:  # as root, for the imports
    run(*command)
user = int(os.environ["USER_ID"])
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
os.environ["MEMSEARCH_HOME"] = os.environ["OWN"]
print(json.dumps([run(*command) for command in [["add", "Redis runs"], *commands]]))
"""


@root_only
@pytest.mark.slow
def test_a_day_that_can_t_be_read_is_named_and_stops_no_list(place):
    memory = place / "project" / ".memsearch" / "memory"
    memory.mkdir(parents=True)
    (memory / "2026-01-02.md").write_text("### 10:00\n- Postgres runs\n")
    closed = memory / "2026-01-01.md"
    closed.write_text("### 10:00\n- hidden\n")
    (place / "own").mkdir(mode=0o700)
    for path in (place / "own", *(place / "project").rglob("*"), place / "project"):
        os.chown(path, ANN, ANN)
    os.chown(closed, 0, 0)
    closed.chmod(0o600)
    commands = ("days", "entries", "show 2026-01-01", "secrets scan", "review", "repair", "doctor")
    done = child(
        _COMMANDS,
        place / "run",
        0,
        MEMSEARCH_HOME=str(place / "run"),
        OWN=str(place / "own"),
        PROJECT=str(place / "project"),
        USER_ID=str(ANN),
        COMMANDS="\n".join(commands),
    )
    assert done.returncode == 0, done.stderr
    results = dict(zip(("add", *commands), json.loads(done.stdout.splitlines()[-1])))
    named = f"{closed} can't be read: Permission denied"
    assert "2026-01-02     1" in results["days"][1] and results["days"][0] == 0, results
    assert "Postgres" in results["entries"][1]
    for command in ("days", "entries", "show 2026-01-01", "secrets scan"):
        assert named in results[command][2], results[command]
    assert "1 case waiting" in results["review"][2], results["review"]
    assert results["repair"][0] in (0, 1), results["repair"]
    assert f"FAIL notes: {closed}: Permission denied" in results["doctor"][1], results["doctor"]
