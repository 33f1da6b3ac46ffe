"""Old sessions of four agents into memory, and the conversations kept behind it. Real samples,
where the agents keep them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.evidence import MAX_OUTPUT, Archive, shortened
from memsearch_engine.agents.transcripts.locate import all_sessions, open_session
from memsearch_engine.agents.transcripts.model import Session, ToolCall, Turn
from memsearch_engine.capture import backfill, capture_pipeline, clean, coverage
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.ledger import CaptureLedger
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.journal import disk

from tests.conftest import Box
from tests.placing import place_samples

_TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
def old(box: Box) -> Box:
    """A machine with sessions of four agents and nothing imported."""
    projects = box.root / "projects"
    box.places = place_samples(box.user, projects)  # type: ignore[attr-defined]
    box.project = projects / "cc1"
    return box


def journals(box: Box) -> dict[str, bytes]:
    return {
        str(f.relative_to(box.root)): f.read_bytes()
        for f in sorted(box.root.glob("projects/*/.memsearch/memory/*.md"))
    }


@pytest.mark.slow
def test_import_writes_once_and_what_was_said_opens_also_when_the_agent_deleted_it(old):
    counts = old.ok("import", "--all", "--dry-run", "--json").json
    assert journals(old) == {}
    assert {agent: count["new"] for agent, count in counts["agents"].items()} == {
        "claude-code": 12,
        "codex": 10,
        "opencode": 12,
        "openclaw": 10,
    }
    assert counts["agents"]["opencode"]["subagents"] == 1
    assert list(counts["gone_folders"].values()) == [1]
    done = old.ok("import", "--all", "--yes", "--json").json
    assert (done["written"], done["failed"]) == (44, [])
    written = journals(old)
    names = ("cc1", "cx1", "oc1", "claw1")
    assert set(written) == {f"projects/{name}/.memsearch/memory/2026-11-21.md" for name in names}
    again = old.ok("import", "--all", "--yes", "--json").json
    assert again["new"] == 0 and journals(old) == written

    found = old.ok(
        "search", "what did the codex command print hello-codex", "--all", "--json"
    ).json["hits"]
    hit = next(h for h in found if h["agent"] == "codex")
    turn = old.ok("transcript", hit["entry_id"], "--json").json
    assert (
        turn["state"] == "live"
        and turn["turns"][0]["tools"][0]["output"] == "hello-codex\nREADME.md\n"
    )

    for folder in old.places.values():
        shutil.rmtree(folder)
    kept = old.ok("transcript", hit["entry_id"], "--json").json
    assert kept["state"] == "archived" and kept["turns"] == turn["turns"]
    status = old.ok("evidence", "status", "--json").json
    assert (status["live"], status["kept"], status["lost"]) == (0, 44, 0)


def test_an_ephemeral_session_is_neither_imported_nor_reconciled(box: Box):
    name = "66666666-6666-4666-8666-666666666666"
    folder = box.user / ".codex" / "sessions" / "2026" / "03" / "02"
    folder.mkdir(parents=True)
    file = folder / f"rollout-2026-03-02T09-00-00-{name}.jsonl"
    for is_ephemeral in (True, False):
        meta = {"id": name, "cwd": str(box.project), "ephemeral": is_ephemeral}
        rows = [
            ("session_meta", meta),
            ("event_msg", {"type": "user_message", "message": "write the parser"}),
            ("event_msg", {"type": "agent_message", "message": "it is in parse.py"}),
        ]
        stamp = "2026-03-02T09:00:00Z"
        lines = [{"timestamp": stamp, "type": kind, "payload": row} for kind, row in rows]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        found = box.ok("import", "codex", "--dry-run", "--json").json
        assert found["new"] == (not is_ephemeral)
        os.utime(file, (2e9, 2e9))  # else it is as the import has read it
        with contextlib.closing(CapturePipeline(box.home)) as pipeline:
            pipeline.ledger.capturing("codex", 1.0)
            folders = AgentFolders({"codex": [folder.parents[2]]})
            assert bool(coverage.reconcile(pipeline, folders)) == (not is_ephemeral)


def _sessions(box: Box) -> AgentFolders:
    """Two sessions with secrets in prompts, answers, and repeated commands and results."""
    folder = box.user / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    for number in range(2):
        rows = []
        for turn in range(6):
            time = f"2026-03-0{1 + turn // 3}T09:{turn:02d}:00Z"
            common = {"cwd": str(box.project), "timestamp": time, "sessionId": f"s{number}"}
            call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "env"}}
            result = {"type": "tool_result", "tool_use_id": "c", "content": f"KEY={_TOKEN}"}
            asked = f"Fix case {turn}. The password is Tr0ub4dor&{number}."
            texts = [{"type": "text", "text": f"Case {turn} is fixed, with {_TOKEN} in it."}]
            rows += [
                {"type": "user", "uuid": f"{number}{turn}" * 9, "message": {"content": asked}},
                {"type": "assistant", "message": {"content": [call]}},
                {"type": "user", "toolUseResult": {}, "message": {"content": [result]}},
                {"type": "assistant", "message": {"content": texts}},
            ]
            rows[-4:] = [row | common for row in rows[-4:]]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{number:08d}-1111-4111-8111-111111111111.jsonl").write_text(lines)
    return AgentFolders({"claude-code": [folder.parent]})


def _imported(box: Box, folders: AgentFolders) -> backfill.ImportReport:
    choice = backfill.ImportSelection(("claude-code",))
    with contextlib.closing(CapturePipeline(box.home)) as pipeline:
        return backfill.run(pipeline, backfill.plan(box.home, pipeline, folders, choice), choice)


def _days(box: Box) -> dict[str, bytes]:
    folder = box.project / ".memsearch" / "memory"
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*.md"))}


def test_an_import_writes_the_same_bytes_as_one_capture_after_the_other(box: Box, monkeypatch):
    folders = _sessions(box)
    assert _imported(box, folders).written == 12
    notes, archived = _days(box), Archive(box.home).digests()
    assert len(notes) == 2 and b"REDACTED" in notes["2026-03-01.md"]
    assert _TOKEN.encode() not in b"".join(notes.values())
    shutil.rmtree(box.project / ".memsearch" / "memory")
    shutil.rmtree(box.home.evidence)
    box.home.state_db.unlink()
    monkeypatch.setattr(clean, "_short", lambda text, home, _: clean.redact(text, home)[0])
    with contextlib.closing(CapturePipeline(box.home)) as pipeline:
        for where in all_sessions("claude-code", folders):
            conversation = open_session(where)
            for place in range(6):
                (turn,) = pipeline.turn_at(conversation, place)
                assert pipeline.capture(turn, where).written
    assert (_days(box), Archive(box.home).digests()) == (notes, archived)


def test_an_import_prepares_turns_in_a_second_process_if_another_pipeline_made_the_plan(
    box: Box, monkeypatch
):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(capture_pipeline, "prepare", None)  # this process prepares nothing
    folders, choice = _sessions(box), backfill.ImportSelection(("claude-code",))
    with contextlib.closing(CapturePipeline(box.home)) as pipeline:
        plan = backfill.plan(box.home, pipeline, folders, choice)
    with contextlib.closing(CapturePipeline(box.home)) as pipeline:
        assert backfill.run(pipeline, plan, choice).written == 12


def test_an_import_waits_for_the_disk_once_for_each_file_of_a_session(box: Box, monkeypatch):
    folders, steps = _sessions(box), []
    append, fsync = disk.append, os.fsync

    def appended(path: str, *args, **options) -> int:
        steps.append(os.path.basename(path))
        return append(path, *args, **options)

    def synced(fd: int) -> None:
        steps.append("synced")
        fsync(fd)

    monkeypatch.setattr(disk, "append", appended)
    monkeypatch.setattr(os, "fsync", synced)
    assert _imported(box, folders).written == 12
    session = ["2026-03-01.md"] * 3 + ["2026-03-02.md"] * 3 + ["synced"] * 2
    assert steps[steps.index(session[0]) :] == session * 2
    with contextlib.closing(CapturePipeline(box.home)) as pipeline:
        turn = Turn(
            "codex", "s", "t" * 36, "2026-03-01T10:00:00Z", "", str(box.project), "A", "B c"
        )
        steps.clear()
        assert pipeline.capture(turn, Session("codex", "s", "/x", "rollout")).written
        assert steps == ["2026-03-01.md", "synced"]  # of a hook


def test_an_import_reports_a_disk_that_does_not_take_the_notes(box: Box, monkeypatch):
    folders, synced, tried = _sessions(box), disk.synced, []

    def failing(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        patched.setattr(disk, "synced", lambda path: (tried.append(Path(path).stem), synced(path)))
        report = _imported(box, folders)
    assert sorted(tried) == ["2026-03-01"] * 2 + ["2026-03-02"] * 2
    with contextlib.closing(CaptureLedger(box.home)) as ledger:
        assert [turn.outcome for turn in ledger.missed(["failed"])] == ["failed"] * 12
    assert [reason.endswith("Input/output error") for _, reason in report.failed] == [True, True]
    again = _imported(box, folders)
    assert (again.written, again.failed) == (0, [])  # the kernel has them


@pytest.mark.slow
def test_secrets_of_old_sessions_reach_neither_notes_nor_evidence(old):
    old.ok("import", "--all", "--yes")
    archive = Archive(old.home)
    everything = b"".join(journals(old).values()) + b"".join(
        json.dumps([t.user, t.assistant, [(c.input, c.output) for c in t.tools]]).encode()
        for name in archive.names()
        if (t := archive.get(*name))
    )
    for secret in (b"wJalrXUtnFEMI", b"FAKEFAKEFAKEFAKE", b"hunter2-not-real"):
        assert secret not in everything
    assert b"[REDACTED:" in everything


@pytest.mark.slow
def test_import_takes_part_of_it_and_homeless_turns_on_request(old):
    one = old.ok(
        "import", "codex", "--project", str(old.root / "projects" / "cx1"), "--yes", "--json"
    ).json
    assert one["written"] == 10 and list(journals(old)) == [
        "projects/cx1/.memsearch/memory/2026-11-21.md"
    ]
    late = old.ok("import", "opencode", "--since", "2026-11-22", "--yes", "--json").json
    assert late["new"] == 0 and late["agents"]["opencode"]["left_out"] == 12
    lost = old.other_project("projects", "lost-and-found")
    claude = old.ok("import", "claude-code", "--orphans", str(lost), "--yes", "--json").json
    assert claude["written"] == 13
    assert (lost / ".memsearch" / "memory" / "2026-11-21.md").read_text().count("### ") == 1
    assert not (old.root / "projects" / "cc3").exists()


@pytest.mark.slow
def test_what_a_model_would_cost_is_shown_before_and_needs_a_choice(old):
    refused = old.run("import", "codex", "--summarize", "llm", "--dry-run")
    assert refused.code == 2 and "capture.summarize.provider" in refused.err
    for key, value in {
        "base_url": "http://127.0.0.1:9/v1",
        "model": "m",
        "price_in": "1000.0",
    }.items():
        old.ok("config", "set", f"llm.providers.mine.{key}", value)
    old.ok("config", "set", "capture.summarize.provider", "mine")
    shown = old.ok("import", "codex", "--summarize", "llm", "--dry-run").out
    assert "tokens by mine, $" in shown and "200,000 a day" in shown
    assert "none are spent" in old.ok("import", "codex", "--dry-run").out


@pytest.mark.slow
def test_an_import_that_was_interrupted_goes_on(old, monkeypatch):
    from memsearch_engine.capture import backfill
    from memsearch_engine.capture.capture_pipeline import CapturePipeline
    from memsearch_engine.core.home import AgentFolders

    monkeypatch.setenv("HOME", str(old.user))
    pipeline = CapturePipeline(old.home)
    choice = backfill.ImportSelection(("codex", "claude-code"))
    made = backfill.plan(old.home, pipeline, AgentFolders.from_env({}), choice)
    stops = iter([False] * 5 + [True] * 100)
    assert backfill.run(pipeline, made, choice, stop=lambda: next(stops)).written == 5
    pipeline.close()
    assert (
        old.ok("import", "codex", "claude-code", "--yes", "--json").json["written"] == made.new - 5
    )


@pytest.mark.slow
def test_a_deleted_memory_is_not_imported_again_and_a_fork_is_no_second_one(old):
    old.ok("import", "claude-code", "--yes")
    entries = old.ok("entries", "--json").json["entries"]
    gone = next(e for e in entries if "hello-from-tool" in e["content"])
    old.ok("delete", gone["entry_id"], "--yes")
    (file,) = [f for f in old.places["claude-code"].rglob("*.jsonl") if f.stem == gone["session"]]
    fork = file.with_name("ffffffff-0000-4000-8000-000000000000.jsonl")
    fork.write_text(file.read_text().replace(gone["session"], fork.stem))
    assert old.ok("import", "claude-code", "--yes", "--json").json.get("written", 0) == 0
    kept = next(e for e in entries if e["session"] == gone["session"] and e["turn"] != gone["turn"])
    assert sum(f"turn:{kept['turn']}".encode() in text for text in journals(old).values()) == 1
    assert not any(f"turn:{gone['turn']}".encode() in text for text in journals(old).values())


@pytest.mark.slow
def test_agents_are_found_with_what_is_captured(old):
    rows = {row["agent"]: row for row in old.ok("agents", "--no-versions", "--json").json["agents"]}
    assert {agent: (row["sessions"], row["turns"], row["new"]) for agent, row in rows.items()} == {
        "claude-code": (9, 13, 12),
        "codex": (9, 10, 10),
        "opencode": (9, 12, 12),
        "openclaw": (8, 10, 10),
        **dict.fromkeys(
            (
                name
                for name in agent_registry.names()
                if name not in ("claude-code", "codex", "opencode", "openclaw")
            ),
            (0, 0, 0),
        ),
    }
    old.ok("import", "codex", "--yes")
    rows = {row["agent"]: row for row in old.ok("agents", "--no-versions", "--json").json["agents"]}
    assert (rows["codex"]["captured"], rows["codex"]["new"]) == (10, 0)
    nobody = {"HOME": str(old.root / "nobody"), "MEMSEARCH_HOME": str(old.root / "nobody" / "home")}
    assert "no agent found on this machine" in old.run("agents", "--no-versions", env=nobody).err


@pytest.mark.slow
def test_transcripts_that_will_be_deleted_are_announced_and_archived_on_request(old):
    old.ok("config", "set", "evidence.enabled", "false")
    old.ok("import", "claude-code", "--yes")
    month_ago = time.time() - 28 * 86400
    for file in old.places["claude-code"].rglob("*.jsonl"):
        os.utime(file, (month_ago, month_ago))
    status = old.ok("evidence", "status", "--json").json
    assert status["archived_turns"] == 0 and sum(e["not_kept"] for e in status["expiring"]) == 12
    warned = next(
        c for c in old.run("doctor", "--json").json["checks"] if c["what"] == "conversations"
    )
    assert not warned["ok"] and "12 memories" in warned["detail"]
    assert old.ok("evidence", "archive", "--json").json == {
        "schema_version": 1,
        "kept": 12,
        "failed": [],
    }
    status = old.ok("evidence", "status", "--json").json
    assert status["archived_turns"] == 12 and sum(e["not_kept"] for e in status["expiring"]) == 0
    (old.user / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 365}')
    assert old.ok("evidence", "status", "--json").json["expiring"] == []


def test_the_archive_keeps_one_copy_and_prunes_the_oldest(tmp_path):
    archive = Archive(Home(tmp_path / "home"))
    turn = Turn("codex", "a", "t1", user="question", assistant="answer " * 100)
    assert archive.put(turn) and not archive.put(turn)
    assert archive.put(Turn("codex", "fork", "t1", user="question", assistant="answer " * 100))
    assert (archive.status().turns, archive.status().contents) == (2, 1)
    longer = Turn("codex", "a", "t1", user="question", assistant="a longer answer")
    assert archive.put(longer) and archive.get("codex", "a", "t1") == longer
    assert archive.status().contents == 2  # the fork's name still has the first words
    assert archive.put(Turn("codex", "fork", "t1", user="question", assistant="a longer answer"))
    assert archive.status().contents == 1
    archive.put(Turn("codex", "b", "t2", user="second"))
    gone = archive.prune(max_bytes=200, dry_run=True)
    assert ("codex", "b", "t2") not in gone and archive.status().turns == 3
    assert archive.prune(max_bytes=200) == gone
    assert {
        name for name in (("codex", "a", "t1"), ("codex", "fork", "t1")) if archive.has(*name)
    } == set()
    assert Archive(Home(tmp_path / "home")).get("codex", "b", "t2").user == "second"
    mode = (tmp_path / "home" / "evidence" / "turns.db").stat().st_mode & 0o777
    assert mode == 0o600


def test_a_long_output_keeps_its_ends():
    text = "\n".join(f"line {n}" for n in range(10_000))
    short = shortened(text)
    assert (
        len(short) < MAX_OUTPUT + 100
        and short.startswith("line 0\n")
        and short.endswith("line 9999")
    )
    assert "characters left out" in short and shortened("short") == "short"
    assert len(shortened("x" * 100_000)) < 200  # one word: nothing to cut at


def test_a_damaged_archive_reads_as_empty_and_says_so_when_written(tmp_path):
    home = Home(tmp_path / "home")
    archive = Archive(home)
    archive.put(Turn("codex", "a", "t", user="x"))
    archive.close()
    archive.path.write_bytes(b"no database" * 500)
    for suffix in ("-wal", "-shm"):
        Path(f"{archive.path}{suffix}").unlink(missing_ok=True)
    again = Archive(home)
    assert again.get("codex", "a", "t") is None and again.names() == set()
    with pytest.raises(Unreachable) as error:
        again.put(Turn("codex", "a", "t", user="x", tools=[ToolCall("a", "b")]))
    assert "move it aside" in error.value.hint


def test_one_odd_session_ends_nobodys_import(old, monkeypatch):
    """What a reader did not foresee is reported for that session alone."""
    real = backfill.open_session

    def opened(where, cache):
        if where.agent == "codex":
            raise ValueError("odd")
        return real(where, cache)

    monkeypatch.setattr(backfill, "open_session", opened)
    monkeypatch.setenv("HOME", str(old.user))
    pipeline = CapturePipeline(old.home)
    try:
        made = backfill.plan(
            old.home,
            pipeline,
            AgentFolders.from_env({}),
            backfill.ImportSelection(("claude-code", "codex")),
        )
    finally:
        pipeline.close()
    assert (
        made.counts["claude-code"].turns
        and made.failed
        and all("ValueError: odd" in why for _, why in made.failed)
    )
