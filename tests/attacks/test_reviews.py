"""What a hostile tester and a cold reader of the code found, each as a test that failed before."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.model import Session, ToolCall, Turn
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.clean import redacted
from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import set_in_project
from memsearch_engine.injection.session_start import build
from memsearch_engine.journal.files import list_files, read_day
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal
from memsearch_engine.review.secret_forms import Forms
from memsearch_engine.secrets.fingerprint import fingerprint
from memsearch_engine.secrets.scan import FoundSecret, redact
from memsearch_engine.service.commands import IndexJob
from memsearch_engine.service.engine import Engine

from tests.conftest import until

DAY = "2026-02-09"


@pytest.fixture
def memory(tmp_path) -> str:
    return str(tmp_path / "p" / ".memsearch" / "memory")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "DB_PASSWORD=hG7kq2ZpQw91xLaa\nREGION_NAME=eu-central-1\nPORT=1",
            "\nREGION_NAME=eu-central-1\nPORT=1",
        ),
        ("API_TOKEN=hG7kq2ZpQw91xLaahG7\nsrc/engine/main.py", "\nsrc/engine/main.py"),
        (
            "GITHUB_TOKEN=ghp_k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U\ndeployment-notes-for-friday",
            "\ndeployment-notes-for-friday",
        ),
    ],
)
def test_the_line_after_a_secret_stays(text, kept):
    assert redact(text, Home.from_env())[0].endswith(kept) and redact(text, Home.from_env())[1]


@pytest.mark.parametrize("before", ["[REDACTED:x:00000000]", "[REDACTED]", "<redacted>"])
def test_a_forged_placeholder_shields_nothing(before):
    assert "hunter2" not in redact(f"password={before}hunter2-Gr4nite!", Home.from_env())[0]


def test_half_a_surrogate_pair_is_no_reason_to_fail():
    assert redact("caf\udce9 password=hG7kq2ZpQw91xL", Home.from_env())[0].startswith(
        "caf\ufffd password=[REDACTED"
    )


def test_a_secret_in_a_tool_s_name_is_replaced():
    token = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"
    turn = Turn("codex", "s", "t", user="x", tools=[ToolCall(f"mcp__{token}", "{}")])
    assert token not in redacted(turn, Home.from_env()).tools[0].name


def test_two_secrets_that_share_a_stretch_cut_nothing_between():
    head = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIi"
    secrets = [
        FoundSecret.of(Home.from_env(), "jwt", f"{head}OiAiNDcxMSJ9.{tail}")
        for tail in ("NHcgfq8JHr5M3Qgn4zEmbDdQ", "Zq7cgfq8JHr5M3Qgn4zEmbDd")
    ]
    text = f"- token began {head} and the rest was cut. Deploy"
    assert Forms(secrets).replaced(text.encode()).decode().endswith(" and the rest was cut. Deploy")


def test_a_link_beside_a_project_s_settings_is_not_written_through(tmp_path):
    target = tmp_path / "bashrc"
    target.write_text("mine")
    project = tmp_path / "clone"
    project.mkdir()
    (project / ".memsearch.tmp").symlink_to(target)
    set_in_project(project / ".memsearch.toml", "chunking.max_chars", "900")
    assert target.read_text() == "mine" and not (project / ".memsearch.toml").is_symlink()
    (project / ".memsearch.toml").unlink()
    (project / ".memsearch.toml").symlink_to(target)
    with pytest.raises(SettingsError):
        set_in_project(project / ".memsearch.toml", "chunking.max_chars", "900")
    assert target.read_text() == "mine"


def test_names_of_secrets_are_the_same_from_the_first_on_and_where_files_can_not_be_linked(
    tmp_path, monkeypatch
):
    def refuse(*args):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    home = Home(tmp_path / "not-there-yet")
    first = fingerprint(home, "one")
    code = (
        "import sys\nfrom pathlib import Path\nfrom memsearch_engine.core.home import Home\n"
        "from memsearch_engine.secrets.fingerprint import fingerprint\n"
        "print(fingerprint(Home(Path(sys.argv[1])), 'one'))"
    )
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code, str(home.root)], capture_output=True, text=True
    )
    assert done.stdout.strip() == first


def test_undoing_a_delete_doubles_nothing_for_who_looked_before(tmp_path, memory):
    home = Home(tmp_path / "home").ensure()
    service, command = Journal(home), Journal(home)
    anchors = [Anchor("s", f"turn-{n:026d}", "codex", "rollout", "/x") for n in (1, 2)]
    for anchor in anchors:
        service.append_turn(memory, DAY, "10:00", f"- {anchor.turn}", anchor)
    path = f"{memory}/{DAY}.md"
    command.delete(memory, [target_of(path, read_day(path).entries[0])])
    assert not service.turns(memory).has(anchors[0])
    command.undo(memory)
    assert not service.append_turn(memory, DAY, "10:00", "- again", anchors[0]).written
    assert len(read_day(path).entries) == 2


def test_what_a_turn_takes_in_late_from_outside_is_not_injected(tmp_path, memory):
    pipeline = CapturePipeline(Home(tmp_path / "home").ensure())
    where = Session("codex", "s", "/x", "rollout")
    turn = Turn(
        "codex",
        "s",
        "t1",
        "2026-02-09T10:00:00Z",
        user="Look it up",
        assistant="Sent somebody off.",
    )
    pipeline.capture(turn, where, memory=memory)
    turn.assistant, turn.outside = "The page says 42.", True
    pipeline.capture(turn, where, memory=memory)
    (path,) = Path(memory).glob("*.md")
    (entry,) = read_day(path).entries
    assert "42" in entry.body and entry.marks == {"trust": "outside"}
    assert "42" not in build(Home.from_env(), memory, 30, 2000).text
    pipeline.close()


def test_a_turn_that_grew_is_taken_over_after_a_failure_and_without_evidence(
    tmp_path, memory, monkeypatch
):
    from memsearch_engine.core.settings import Settings
    from memsearch_engine.core.settings_schema import EvidenceSettings
    from memsearch_engine.journal import disk

    pipeline = CapturePipeline(
        Home(tmp_path / "home").ensure(),
        settings=Settings(evidence=EvidenceSettings(enabled=False)),
    )
    where = Session("codex", "s", "/x", "rollout")
    turn = Turn(
        "codex", "s", "t1", "2026-02-09T10:00:00Z", user="Do it", assistant="Half of it is done."
    )
    pipeline.capture(turn, where, memory=memory)
    turn.assistant = "All of it is done."
    real = disk.replace

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "replace", full)
    with contextlib.suppress(OSError):
        pipeline.capture(turn, where, memory=memory)
    monkeypatch.setattr(disk, "replace", real)
    pipeline.capture(turn, where, memory=memory)
    (path,) = Path(memory).glob("*.md")
    assert "All of it" in path.read_text()
    pipeline.close()


def test_the_index_thread_survives_a_run_whose_result_can_not_be_sent(box, monkeypatch):
    import sqlite3

    engine = Engine(box.fill().home.ensure())
    try:
        assert engine.indexer.ready.wait(60)
        project = engine.state.project_at(box.place())
        until(lambda: not engine.indexer.busy, 60, "the first run")

        def broken(work):
            raise sqlite3.DatabaseError("malformed")

        monkeypatch.setattr(engine.indexer.thread, "result_of", broken)
        job = IndexJob(project, [])
        engine.indexer.enqueue(job)
        assert job.done.wait(20) and isinstance(job.error, sqlite3.DatabaseError)
        monkeypatch.undo()
        again = IndexJob(project, [], force=True)
        engine.indexer.enqueue(again)
        assert again.done.wait(20) and again.result is not None
    finally:
        engine.close()


def test_a_late_event_is_kept_where_nobody_reads_the_hook_s_words(box):
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        box.argv("hook", "claude-code", "Stop"),
        cwd=box.project,
        env={**box.env, "MEMSEARCH_NO_SERVICE": "1"},
        stdin=subprocess.PIPE,
        stdout=writer,
    )
    os.close(writer)
    process.wait(30)
    process.stdin.write(b'{"session_id": "late", "cwd": "/p"}')
    process.stdin.close()
    until(lambda: box.home.inbox.exists() and list(box.home.inbox.glob("*.json")), 20, "the event")


def test_a_name_that_is_not_utf_8_is_listed_beside_any_other(tmp_path):
    folder = tmp_path / "\U0001f4dd"
    folder.mkdir()
    with open(os.path.join(os.fsencode(folder), b"\xff.md"), "wb") as file:
        file.write(b"- x\n")
    assert [reason for _, reason in list_files(folder).problems] == ["its name is not UTF-8"]


def test_usage_errors_and_odd_bytes_reach_no_terminal_raw(box):
    done = box.run("repair", "A\x1b]0;PWN\x07")
    assert done.code == 2 and "\x1b" not in done.err and "\x07" not in done.err
    done = box.run("expand", b"caf\xe9")
    assert done.code in (1, 2) and "Traceback" not in done.err


def test_no_free_descriptor_does_not_end_the_service(box, monkeypatch):
    import errno
    import threading

    from memsearch_engine.service import launch
    from memsearch_engine.service.server import ServiceServer

    box.home.ensure().ensure_socket_folder()
    engine = Engine(box.home)
    server = ServiceServer(box.home, engine, 600)
    real, refused = server.socket.accept, []

    class Full:
        def __getattr__(self, name):
            return getattr(server_socket, name)

        def accept(self):
            if len(refused) < 2:
                refused.append(1)
                raise OSError(errno.EMFILE, "Too many open files")
            return real()

    server_socket, server.socket = server.socket, Full()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        connection = launch.Connection(box.home, timeout_s=10)
        assert len(refused) == 2 and connection.server["protocol"]
        connection.close()
    finally:
        engine.state.stopping.set()
        thread.join(10)
        engine.close()


def test_a_job_whose_process_is_gone_is_taken_up_at_once(tmp_path):
    from memsearch_engine.core.state import using
    from memsearch_engine.longterm.jobs import Claim, Jobs, Refusal

    home = Home(tmp_path / "home").ensure()
    jobs = Jobs(home)
    assert isinstance(jobs.claim("extract", "k", 1.0), Claim)
    assert jobs.claim("extract", "k", 1.0) is Refusal.RUNNING  # we are alive
    gone = subprocess.Popen(["true"])
    gone.wait()
    with using(home, "") as db:
        (owner,) = db.execute("SELECT owner FROM longterm_jobs").fetchone()
        db.execute(
            "UPDATE longterm_jobs SET owner=?", (owner.replace(str(os.getpid()), str(gone.pid)),)
        )
    assert isinstance(jobs.claim("extract", "k", 1.0), Claim)


def test_vectors_that_no_note_uses_go_but_for_the_newest(tmp_path):
    import sqlite3

    import numpy as np
    from memsearch_engine.index.vector_index import VectorIndex
    from memsearch_engine.index.vectors import difference

    class Embedder:
        fingerprint, dimension, batch = "test-0", 4, 512

        def passages(self, texts, cancelled=lambda: False):
            return np.ones((len(texts), 4), np.float32)

    home = Home(tmp_path / "home").ensure()
    from memsearch_engine.core.settings_schema import MilvusSettings

    space = VectorIndex(home, MilvusSettings(), Embedder())
    try:
        count = difference._SPARE + difference._WORTH_PRUNING + 5
        space.embed({"used": "u", **{f"h{n:05d}": f"text {n}" for n in range(count)}})
        assert not space.embeddings.is_pruning_due()  # from the first look on a day passes
        assert space.embeddings.prune({"used"}) == count - difference._SPARE
        assert (
            space.embeddings.known(["used"]) == {"used"} and space.embeddings.prune({"used"}) == 0
        )
        left = (
            sqlite3.connect(space.folder / "vectors.db")
            .execute("SELECT count(*) FROM vectors")
            .fetchone()[0]
        )
        assert left == difference._SPARE + 1
    finally:
        space.close()


def test_a_planted_scratch_folder_costs_no_edit_and_gets_no_file(tmp_path, memory):
    journal = Journal(Home(tmp_path / "home").ensure())
    journal.add_note(memory, DAY, "10:00", "- one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (Path(memory).parent / ".tmp").symlink_to(elsewhere)
    path = f"{memory}/{DAY}.md"
    journal.edit(memory, target_of(path, read_day(path).entries[0]), "- two")
    assert read_day(path).entries[0].body == "- two" and list(elsewhere.iterdir()) == []
    assert [file.name for file in Path(memory).iterdir()] == [f"{DAY}.md"]


def test_an_event_that_can_not_be_taken_for_a_day_is_set_aside_with_its_reason(tmp_path, memory):
    import json
    import time

    from memsearch_engine.capture.event_queue import bad, work

    home = Home(tmp_path / "home").ensure()
    home.inbox.mkdir()
    project = tmp_path / "p"
    (project / ".memsearch").mkdir(parents=True)
    (project / ".memsearch" / "memory").symlink_to(tmp_path)  # nothing may be written there
    session = "33333333-3333-4333-8333-333333333333"
    transcript = tmp_path / "claude" / "projects" / "-p" / f"{session}.jsonl"
    transcript.parent.mkdir(parents=True)
    base = f'"sessionId":"{session}","timestamp":"2026-02-09T10:00:00Z","cwd":"{project}"'
    transcript.write_text(
        f'{{"type":"user","uuid":"u","promptSource":"typed",{base},"message":{{"content":"fix '
        f'the parser"}}}}\n'
        f'{{"type":"assistant","uuid":"a",{base},'
        f'"message":{{"content":[{{"type":"text","text":"Fixed it."}}]}}}}\n'
    )
    event = {
        "agent": "claude-code",
        "event": "Stop",
        "session_id": session,
        "transcript_path": str(transcript),
        "cwd": str(project),
    }
    event |= {"at": time.time() - 60, "agent_home": str(tmp_path / "claude")}
    (home.inbox / "1.json").write_text(json.dumps(event))
    assert len(work(home).waiting) == 1 and bad(home) == []
    (home.inbox / "1.json").write_text(json.dumps({**event, "at": time.time() - 2 * 86_400}))
    work(home)
    ((_, reason),) = bad(home)
    assert "link" in reason and not list(tmp_path.glob("*.md"))


@pytest.mark.slow
def test_an_event_that_was_set_aside_is_shown_with_its_reason(box):
    box.home.ensure().inbox.mkdir()
    (box.home.inbox / "1.json").write_text(
        '{"agent": "codex", "event": "Stop", "at": 1, "cwd": "/p/\\ud800"}'
    )
    done = box.run("inbox")
    assert done.code == 5 and "set aside  1.bad: it is no event" in done.out and "retry" in done.err
    (aside,) = box.run("inbox", "--json").json["set_aside"]
    assert aside["event"] == "1.bad" and aside["reason"]
    box.ok("inbox", "drop", "1.bad", "--yes")
    assert box.run("inbox").code == 0 and list(box.home.inbox.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make another user's folder")
def test_another_user_s_memory_folder_in_a_place_for_everybody_is_refused(tmp_path, memory):
    from memsearch_engine.core.errors import Unreachable

    os.makedirs(memory)
    journal = Journal(Home(tmp_path / "home").ensure())
    os.chown(Path(memory).parent, 65534, -1)
    with pytest.raises(Unreachable, match="another user"):
        journal.add_note(memory, DAY, "10:00", "- mine")
    assert list_files(memory).problems and not os.listdir(memory)


def test_what_is_appended_to_a_file_that_is_replaced_in_that_moment_is_in_the_new_one(
    tmp_path, memory, monkeypatch
):
    from memsearch_engine.journal import disk

    journal = Journal(Home(tmp_path / "home").ensure())
    journal.add_note(memory, DAY, "10:00", "- one")
    path, real, saved = f"{memory}/{DAY}.md", os.write, []

    def write(fd, data):
        if (
            not saved
        ):  # an editor saves what it read a moment before, between our opening and our writing
            saved.append(1)
            Path(f"{path}.swp").write_bytes(Path(path).read_bytes())
            os.replace(f"{path}.swp", path)
        return real(fd, data)

    monkeypatch.setattr(disk.os, "write", write)
    journal.add_note(memory, DAY, "10:01", "- two")
    assert saved and [entry.body for entry in read_day(path).entries] == ["- one", "- two"]
