"""Who owns the files of a project, and who may write them: several users, and root."""

from __future__ import annotations

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
