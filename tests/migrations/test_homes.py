"""A home that any landed version made opens in this one: nothing is lost, doubled or brought back,
and a copy is kept first.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from memsearch_engine.core.migrations import (
    bring_up,
    layout_of,
    tables_of,
    transaction,
    write_ahead,
)
from memsearch_engine.core.state import _STEPS
from memsearch_engine.journal import history, history_database

from tests.conftest import Box
from tests.migrations.make import SAMPLE, SESSION

HOMES = sorted(
    path.name for path in Path(__file__).parent.iterdir() if (path / "notes.json").exists()
)
_ALWAYS = ("first", "release")  # the oldest and the newest; those between are slow tests


@pytest.fixture(
    params=[pytest.param(name, marks=() if name in _ALWAYS else pytest.mark.slow) for name in HOMES]
)
def moved_in(request: pytest.FixtureRequest, box: Box) -> Box:
    folder = Path(__file__).parent / request.param
    places = {
        "@ROOT@/project": box.project,
        "@ROOT@/home": box.home.root,
        "@ROOT@/claude": box.user / ".claude",
    }

    def here(text: str) -> str:
        for name, place in places.items():
            text = text.replace(name, str(place))
        return text

    for database, name in (
        ("state.db", "state"),
        ("history.db", "history"),
        ("evidence/turns.db", "turns"),
    ):
        if (folder / f"{name}.sql").exists():
            path = box.home.root / database
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path)) as db:
                db.executescript(here((folder / f"{name}.sql").read_text()))
    box.memory.mkdir(parents=True)
    for name, text in json.loads((folder / "notes.json").read_text()).items():
        box.write(name, here(text))
    if (folder / "shared.json").exists():
        for name, text in json.loads((folder / "shared.json").read_text()).items():
            path = box.project / ".memsearch" / "shared" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(here(text))
    box.name = request.param  # type: ignore[attr-defined]
    return box


def entries(box: Box) -> list[dict]:
    return box.run("entries", "-n", "50", "--json").json["entries"]


@pytest.mark.slow
def test_it_opens_and_goes_on(moved_in):
    box = moved_in
    before = {path: path.read_bytes() for path in box.memory.glob("*.md")}
    there = entries(box)
    assert {"- The staging database is Postgres 16", "- Deploys happen on Wednesdays"} <= {
        e["body"] for e in there
    }
    assert box.index()["entries"] == len(there)
    assert "Postgres" in box.ok("search", "staging database", "-j", "-k", "1").json[0]["content"]
    assert {path: path.read_bytes() for path in box.memory.glob("*.md")} == before
    # what was there is the owner's: sessions get it, nothing waits
    assert "Postgres 16" in box.ok("context", "claude-code").out
    # the last change can still be taken back
    box.ok("undo")
    assert len(entries(box)) == len(there) + 1
    box.ok("redo")
    assert len(entries(box)) == len(there)
    with closing(sqlite3.connect(box.home.state_db)) as db:
        assert layout_of(db) == len(_STEPS) and "origin_folders" in tables_of(db)
    with closing(sqlite3.connect(box.home.history_db)) as db:
        assert layout_of(db) == len(history_database._STEPS)
    for database, steps in (("state", _STEPS), ("history", history_database._STEPS)):
        first = (Path(__file__).parent / box.name / f"{database}.sql").read_text().partition(";")[0]
        was = int(first.removeprefix("PRAGMA user_version="))
        kept = box.home.backups / f"{database}.db.layout{was}"
        assert kept.exists() is (was < len(steps))
        if was < len(steps):
            with closing(sqlite3.connect(kept)) as db:
                assert layout_of(db) == was and tables_of(db)
            assert kept.stat().st_mode & 0o077 == 0


def test_what_was_shared_is_still_its_owner_s(moved_in):
    if not (shared := moved_in.ok("share", "--json").json["notes"]):
        pytest.skip("sharing came later")
    assert [(note["author"], note["is_mine"], note["since"]) for note in shared] == [
        ("ana", True, "")
    ]
    assert moved_in.ok("context", "claude-code").out.count("Postgres 16") == 1


def test_what_was_captured_is_not_captured_again_and_what_was_deleted_stays_so(moved_in):
    box = moved_in
    if box.name == "first":
        pytest.skip("its capture came later")
    there = entries(box)
    transcript = box.user / ".claude" / "projects" / "-project" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text(SAMPLE.read_text().replace("/home/dev/proj/cc1", str(box.project)))
    payload = {
        "session_id": SESSION,
        "transcript_path": str(transcript),
        "cwd": str(box.project),
        "hook_event_name": "Stop",
    }
    box.ok("hook", "claude-code", "Stop", stdin=json.dumps(payload))
    box.run("inbox")
    assert [e["entry_id"] for e in entries(box)] == [e["entry_id"] for e in there]
    (captured,) = [e for e in there if e["agent"]]
    assert box.ok("transcript", captured["entry_id"], "--json").json["state"] == "live"
    transcript.unlink()
    assert box.ok("transcript", captured["entry_id"], "--json").json["state"] == "archived"


def test_ten_processes_that_open_it_at_once_bring_it_up_once(tmp_path):
    """And the copy is of what was there before all of them."""
    (tmp_path / "home").mkdir()
    with closing(sqlite3.connect(tmp_path / "home" / "state.db")) as db:
        text = (Path(__file__).parent / "longterm" / "state.sql").read_text()
        db.executescript(
            text
            + (
                "CREATE TABLE longterm_proposals (id INTEGER); "
                "INSERT INTO longterm_proposals VALUES (1);"
            )
        )
    code = (
        "import sys; from pathlib import Path; from memsearch_engine.core.home import Home; "
        "from memsearch_engine.core.state import connect; "
    )
    code += "connect(Home(Path(sys.argv[1])), '').close()"
    argv = [sys.executable, "-c", code, str(tmp_path / "home")]
    started = [subprocess.Popen(argv, stderr=subprocess.PIPE) for _ in range(10)]
    for process in started:
        assert process.wait(60) == 0, process.stderr and process.stderr.read()
    with closing(sqlite3.connect(tmp_path / "home" / "state.db")) as db:
        assert layout_of(db) == len(_STEPS) and "longterm_proposals" not in tables_of(db)
    (kept,) = (tmp_path / "home" / "backups").iterdir()
    with closing(sqlite3.connect(kept)) as db:
        assert (
            kept.name == "state.db.layout0"
            and layout_of(db) == 0
            and "longterm_proposals" in tables_of(db)
        )


@pytest.mark.slow
@pytest.mark.parametrize("database", ["state.db", "history.db"])
def test_a_newer_home_is_left_alone(box, database):
    box.fill()
    box.ok("add", "A note")
    box.ok("service", "stop")
    path = box.home.root / database
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version=99")
    with closing(sqlite3.connect(path)) as db:
        before = list(db.iterdump())
    refused = box.run("add", "Another note")
    assert refused.code == 3 and "newer memsearch" in refused.err and "update" in refused.err, (
        refused
    )
    shown = box.run(
        "doctor", "--fix", "--json"
    ).json  # it can't be mended here, and nothing is set aside
    assert any(
        "newer memsearch" in check["detail"] for check in shown.get("checks", [])
    ) or "newer memsearch" in json.dumps(shown)
    assert not list(box.home.root.glob("history.db.damaged*"))
    with closing(sqlite3.connect(path)) as db:
        assert list(db.iterdump()) == before and layout_of(db) == 99


def test_a_step_that_fails_leaves_the_layout_before(tmp_path):
    def first(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE kept (a)")

    def broken(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE half (a)")
        raise sqlite3.OperationalError("the disk is full")

    path, backups = tmp_path / "x.db", tmp_path / "backups"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        bring_up(db, path, (first,), backups)
        with pytest.raises(sqlite3.OperationalError):
            bring_up(
                db, path, (first, lambda db: db.execute("CREATE TABLE second (a)"), broken), backups
            )
        assert layout_of(db) == 1 and tables_of(db) == {"kept"}
        bring_up(
            db, path, (first, lambda db: db.execute("INSERT INTO kept (a) VALUES (1)")), backups
        )
        assert layout_of(db) == 2
    with closing(sqlite3.connect(backups / "x.db.layout1")) as db:
        assert (
            layout_of(db) == 1
            and tables_of(db) == {"kept"}
            and db.execute("SELECT a FROM kept").fetchall() == []
        )


def test_the_first_to_open_a_new_database_makes_nobody_fail(tmp_path):
    """SQLite answers "locked" at once, whatever its timeout, to who asks for write-ahead logging
    while another writes without it.
    """
    path, tried = tmp_path / "x.db", threading.Event()
    first = sqlite3.connect(path, isolation_level=None)
    second = sqlite3.connect(path, timeout=20, isolation_level=None, check_same_thread=False)
    with closing(first), closing(second):
        first.execute("CREATE TABLE kept (a)")
        first.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            second.execute("PRAGMA journal_mode=WAL")
        second.set_trace_callback(lambda _: tried.set())
        waiting = threading.Thread(target=write_ahead, args=(second,))
        waiting.start()
        assert tried.wait(20)
        first.execute("COMMIT")
        waiting.join(20)
        assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_every_insert_names_its_columns():
    """The first new column would break each that does not, in every older home."""
    import re

    engine = Path(history.__file__).parents[1]
    bare = re.compile(r"INSERT (?:OR \w+ )?INTO \"?[\w.]+\"? (?:VALUES|SELECT)")
    found = [
        f"{path.name}: {match[0]}"
        for path in engine.rglob("*.py")
        for match in bare.finditer(path.read_text())
    ]
    assert found == []


def test_a_turn_that_an_older_program_deleted_since_stays_deleted(tmp_path):
    """It stores no turn names: its deletions are added when the database is opened."""
    path = tmp_path / "history.db"
    opened = history.History(path)
    gone = b"### 10:00\n<!-- session:s turn:0123456789abcdef0123 transcript:/x -->\n- gone\n"
    change = history.Change("b", "delete", "m", "p", "e", "t", 0, gone, b"", "", "")
    seq = opened.record(change)
    opened.confirm(seq)
    opened.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM deleted_turns")
    again = history.History(path)
    assert again.deleted_turn("0123456789abcdef0123") and not again.deleted_turn(
        "0123456789abcdef0124"
    )
    again.close()


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("INSERT OR ROLLBACK INTO notes VALUES (1)", "UNIQUE constraint failed"),
        ("NO SUCH WORD", "syntax error"),
    ],
)
def test_what_ends_a_transaction_is_said_also_where_sqlite_has_ended_it_by_itself(
    tmp_path, ending, said
):
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as db:
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)")
        db.execute("INSERT INTO notes VALUES (1)")

        def write():
            with transaction(db):
                db.execute("INSERT INTO notes VALUES (2)")
                db.execute(ending)

        with pytest.raises(sqlite3.Error, match=said):
            write()
        with transaction(db):
            db.execute("INSERT INTO notes VALUES (3)")
        assert [name for (name,) in db.execute("SELECT id FROM notes ORDER BY id")] == [1, 3]


def test_a_commit_that_fails_leaves_no_transaction_open(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys=ON")
        db.execute(
            "CREATE TABLE notes (id INTEGER "
            "PRIMARY KEY, of REFERENCES notes DEFERRABLE INITIALLY DEFERRED)"
        )
        with pytest.raises(sqlite3.IntegrityError), transaction(db):
            db.execute("INSERT INTO notes VALUES (1, 7)")
        with transaction(db):
            db.execute("INSERT INTO notes VALUES (1, NULL)")
        assert db.execute("SELECT count(*) FROM notes").fetchone() == (1,)
