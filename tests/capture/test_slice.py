"""One real turn, all the way: hook -> inbox -> entry -> found -> opened at its turn -> edited ->
undone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.capture import event_queue, extract
from memsearch_engine.capture.event_queue import events
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import CaptureSettings, RecallSettings
from memsearch_engine.journal.write import Journal
from memsearch_engine.secrets.scan import redact

from tests.conftest import end_services, until

SAMPLES = Path(__file__).parent.parent / "samples" / "claude-code"
SESSION = "11111111-1111-4111-8111-111111111111"
#: Of two turns: their prompt ids, as hooks name them, and the uuids of their user lines, which are
#: their names.
TURNS = ["373eb335-80c9-41b2-b9b4-a0fca5e44ea6", "66e44fe8-becd-431c-94cf-ecb13d4593b2"]
NAMES = ["7f19de89-aefe-4137-b07f-2663318860d5", "2e749fd1-88da-4573-9684-ae3b73ea31f5"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A home, a project and Claude Code's folder with the recorded session, its cwd moved to the
    project.
    """
    project = tmp_path / "proj"
    project.mkdir()
    transcript = tmp_path / "claude" / "projects" / "-proj" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True)
    recorded = (
        next(SAMPLES.glob("01*.jsonl")).read_text().replace("/home/dev/proj/cc1", str(project))
    )
    transcript.write_text(recorded)
    for name, value in {
        "MEMSEARCH_HOME": tmp_path / "home",
        "CLAUDE_CONFIG_DIR": tmp_path / "claude",
        "HOME": tmp_path,
        "TZ": "UTC",
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("MEMSEARCH_DIR", raising=False)
    monkeypatch.chdir(project)
    yield Place(project, transcript, Home(tmp_path / "home"))
    end_services(Home(tmp_path / "home"))


class Place:
    def __init__(self, project: Path, transcript: Path, home: Home) -> None:
        self.project, self.transcript, self.home = project, transcript, home

    def payload(self, turn: str, event: str = "Stop") -> bytes:
        return json.dumps(
            {
                "session_id": SESSION,
                "transcript_path": str(self.transcript),
                "cwd": str(self.project),
                "prompt_id": turn,
                "hook_event_name": event,
                "last_assistant_message": "SECRET-TEXT",
            }
        ).encode()

    def run(
        self, *args: str, stdin: bytes = b"", check: int | None = 0, service: bool = False
    ) -> subprocess.CompletedProcess:
        """*service*: a hook starts one, as hooks do; it would take in what the hook wrote at a
        moment of its own.
        """
        env = os.environ if service else {**os.environ, "MEMSEARCH_NO_SERVICE": "1"}
        argv = [sys.executable, "-m", "memsearch_tui.cli.main", *args]
        done = subprocess.run(argv, input=stdin, capture_output=True, env=env)
        assert check is None or done.returncode == check, done.stderr.decode()
        return done

    def day(self) -> Path:
        return next((self.project / ".memsearch" / "memory").glob("*.md"))


@pytest.mark.slow
def test_one_turn_from_the_hook_to_undo(place):
    done = place.run("hook", "claude-code", "Stop", stdin=place.payload(TURNS[1]))
    assert json.loads(done.stdout) == {}
    (record,) = [json.loads(file.read_text()) for file in place.home.inbox.glob("*.json")]
    assert record["prompt_id"] == TURNS[1] and "SECRET-TEXT" not in json.dumps(record)
    state = json.loads(place.run("inbox", "--json").stdout)
    assert (
        state["captured"] == 2
        and state["waiting"] == []
        and not list(place.home.inbox.glob("*.json"))
    )
    text = place.day().read_text()
    assert text.count("## Session") == 1 and text.count("### ") == 2 and f"turn:{NAMES[0]}" in text
    place.run("hook", "claude-code", "Stop", stdin=place.payload(TURNS[1]))
    assert json.loads(place.run("inbox", "--json").stdout)["captured"] == 0
    assert place.day().read_text() == text

    found = json.loads(place.run("search", "hello from tool", "--json").stdout)
    assert found["hits"][0]["turn"] == NAMES[0]
    entry = found["hits"][0]["entry_id"]
    opened = json.loads(place.run("transcript", entry, "--json").stdout)
    assert [turn["turn"] for turn in opened["turns"]] == [NAMES[0]]
    assert opened["turns"][0]["tools"][0]["output"].startswith("hello-from-tool")
    both = json.loads(place.run("transcript", entry, "--context", "1", "--json").stdout)
    assert [turn["turn"] for turn in both["turns"]] == NAMES

    place.run("edit", entry, "--text", "- It said hello")
    assert "- It said hello" in place.day().read_text()
    place.run("undo")
    assert place.day().read_text() == text


def test_the_hook_never_fails_and_never_waits(place):
    for stdin in (b"", b"not json", b"[]", b'{"session_id": 3}', b"{" * 100_000):
        assert place.run("hook", "claude-code", "Stop", stdin=stdin).stdout == b"{}\n"
    assert place.run("hook", "nobody", "Stop", stdin=place.payload(TURNS[0])).stdout == b"{}\n"
    environment = {**os.environ, "MEMSEARCH_HOME": "/proc/nowhere"}
    done = subprocess.run(
        [sys.executable, "-m", "memsearch_tui.cli.main", "hook", "claude-code", "Stop"],
        input=place.payload(TURNS[0]),
        capture_output=True,
        env=environment,
    )
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    reading, writing = os.pipe()  # a stdin that is never closed
    try:
        done = subprocess.run(
            [sys.executable, "-m", "memsearch_tui.cli.main", "hook", "claude-code", "Stop"],
            stdin=reading,
            capture_output=True,
            timeout=20,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stdout) == (0, b"{}\n")


def test_a_sub_agents_stop_and_a_disabled_hook_leave_nothing(place, monkeypatch):
    payload = json.dumps({**json.loads(place.payload(TURNS[0])), "agent_id": "sub"}).encode()
    place.run("hook", "claude-code", "Stop", stdin=payload)
    monkeypatch.setenv("MEMSEARCH_DISABLE", "1")
    place.run("hook", "claude-code", "Stop", stdin=place.payload(TURNS[0]))
    assert list(events(place.home)) == []


def test_capture_that_is_switched_off_reads_and_writes_nothing(place):
    place.run("hook", "claude-code", "Stop", stdin=place.payload(TURNS[0]))
    off = Settings(capture=CaptureSettings(enabled=False))
    outcome = event_queue.work(place.home, Journal(place.home), off)
    assert (outcome.captured, outcome.skipped) == (0, 1) and list(events(place.home)) == []
    assert not (place.project / ".memsearch").exists()


def test_a_transcript_that_lags_its_hook_is_waited_for(place):
    lines = place.transcript.read_text().splitlines(keepends=True)
    answer = next(
        i for i, line in enumerate(lines) if '"MOCK-ANSWER' in line and '"assistant"' in line
    )
    place.transcript.write_text("".join(lines[:answer]))
    place.run("hook", "claude-code", "Stop", stdin=place.payload(TURNS[1]))
    outcome = event_queue.work(place.home, Journal(place.home))
    assert "not in the transcript yet" in outcome.waiting[0][1]
    place.transcript.write_text("".join(lines))
    assert outcome.captured == 1  # the turn before it is whole
    outcome = event_queue.work(place.home, Journal(place.home))
    assert (
        outcome.captured == 1 and not outcome.waiting and place.day().read_text().count("### ") == 2
    )


def test_a_service_that_was_started_elsewhere_finds_the_agents_own_folder(place, monkeypatch):
    payload = json.loads(place.payload(TURNS[1]))
    del payload["transcript_path"]
    place.run("hook", "claude-code", "Stop", stdin=json.dumps(payload).encode())
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")  # the worker has another environment than the agent had
    assert event_queue.work(place.home, Journal(place.home)).captured == 2
    entry = json.loads(place.run("entries", "--json").stdout)["entries"][0]
    assert (
        json.loads(place.run("transcript", entry["entry_id"], "--json").stdout)["state"] == "live"
    )


def test_secrets_never_reach_the_disk(place):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    place.transcript.write_text(
        place.transcript.read_text().replace("second question", f"use {secret} to push")
    )
    place.run("hook", "claude-code", "Stop", stdin=place.payload(TURNS[1]))
    event_queue.work(place.home, Journal(place.home))
    assert "[REDACTED:" in place.day().read_text()
    shutil.rmtree(place.transcript.parent)
    for file in [*place.home.root.rglob("*"), *place.project.rglob("*")]:
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcDEF1234567890abcDEF",
        "AKIAIOSFODNN7QWERTYU",
        "password = 'hunter2hunter2x9'",
        "postgres://app:s3cretPass@db/x",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_secrets_are_found(text):
    clean, found = redact(text, Home.from_env())
    assert found and found[0].secret not in clean and redact(clean, Home.from_env())[1] == []


@pytest.mark.parametrize(
    "text",
    [
        "commit 9f1c2b3a4d5e6f708192a3b4c5d6e7f8091a2b3c",
        "session 11111111-1111-4111-8111-111111111111",
        "the password must have twelve signs",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "token budget: 2500",
    ],
)
def test_what_only_looks_like_a_secret_stays(text):
    assert redact(text, Home.from_env())[0] == text


def test_extraction_reads_like_notes():
    turn = Turn(
        "claude-code",
        "s",
        "t",
        user="Why does the build fail?\nIt worked yesterday.",
        cwd="/p",
        assistant="Let me look. The lock file was stale, so pip took 2.0. "
        "I pinned `foo<2` in pyproject.toml.\n```\ncode\n```\nAll 41 tests pass now.",
        tools=[
            ToolCall(
                "Bash", "pip check", "ERROR: ModuleNotFoundError: No module named 'bar'", True
            ),
            ToolCall("Edit", json.dumps({"file_path": "/p/pyproject.toml"})),
        ],
    )
    lines = extract.extract(turn).split("\n")
    assert lines[0] == "- User asked: Why does the build fail? It worked yesterday."
    assert "- I pinned `foo<2` in pyproject.toml." in lines and "- All 41 tests pass now." in lines
    assert "- Files changed: `pyproject.toml`" in lines and "- Commands: `pip check`" in lines
    assert any("ModuleNotFoundError" in line for line in lines) and "code" not in lines


@pytest.mark.parametrize(
    ("user", "assistant", "trivial"),
    [
        ("hi", "Hello!", True),
        ("thanks", "", True),
        ("fix it", "", True),
        ("", "x", True),
        ("fix it", "Done.", False),
    ],
)
def test_trivial_turns(user, assistant, trivial):
    assert (
        extract.is_trivial(Turn("claude-code", "s", "t", user=user, assistant=assistant)) == trivial
    )


_FENCE = r"<memsearch-memory id=\"abc\">notes</memsearch-memory>"
_CLAUDE = (
    '{"type":"attachment","attachment":{"type":"hook_additional_context","content":["'
    + _FENCE
    + '"]}}'
)
_CODEX = (
    '{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"text":"'
    + _FENCE
    + '"}]}}'
)
_SAID = '{"type":"user","message":{"content":"what does ' + _FENCE + ' mean?"}}'


@pytest.mark.parametrize(
    ("source", "lines", "injected"),
    [
        ("startup", [_CLAUDE], True),
        ("clear", [_CLAUDE], True),
        ("compact", [_CLAUDE], True),
        ("fork", [], False),
        ("resume", [], True),
        ("resume", [_CLAUDE, _SAID], False),
        ("resume", [_CODEX], False),
        ("resume", [_SAID], True),  # somebody spoke of it
        ("resume", [_CLAUDE, '{"type":"system","subtype":"compact_boundary"}'], True),
        ("resume", [_CODEX, '{"type":"compacted","payload":{}}', _CODEX], False),
        ("resume", None, True),
    ],
)
def test_a_session_that_goes_on_gets_no_second_context(place, source, lines, injected):
    place.run("add", "The staging database moved to Postgres 16")
    place.run("context", "claude-code")
    agent = "codex" if lines and _CODEX in lines else "claude-code"
    payload = json.loads(place.payload(TURNS[0], "SessionStart")) | {"source": source}
    if lines is None:
        payload["transcript_path"] = str(place.project / "gone.jsonl")
    else:
        place.transcript.write_text("".join(line + "\n" for line in ['{"type":"mode"}', *lines]))

    def answer() -> dict:
        return json.loads(
            place.run(
                "hook", agent, "SessionStart", stdin=json.dumps(payload).encode(), service=True
            ).stdout
        )

    fresh = json.dumps(payload | {"source": "startup"}).encode()
    until(
        lambda: json.loads(
            place.run("hook", "claude-code", "SessionStart", stdin=fresh, service=True).stdout
        ),
        30,
        "a prebuilt context",
    )
    assert bool(answer()) is injected


def test_a_transcript_that_would_keep_the_hook_does_not(place, tmp_path):
    """A result that repeats our fence, which an agent may have read anywhere; and a pipe."""
    payload = json.loads(place.payload(TURNS[0], "SessionStart")) | {"source": "resume"}
    place.transcript.write_text(
        '{"type":"user","message":{"content":"' + "<memsearch-memory id=x>" * 200_000 + '"}}\n'
    )
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for path in (place.transcript, pipe):
        done = subprocess.run(
            [sys.executable, "-m", "memsearch_tui.cli.main", "hook", "claude-code", "SessionStart"],
            input=json.dumps(payload | {"transcript_path": str(path)}).encode(),
            capture_output=True,
            timeout=20,
        )
        assert done.returncode == 0


@pytest.mark.slow
def test_one_question_that_begins_like_ours_costs_no_other_turn(place):
    lines = []
    for number, words in enumerate(
        ("Pin foo below 2.0", "[memsearch asks a model] why do I see this?", "Rename the loader")
    ):
        common = {
            "sessionId": SESSION,
            "uuid": f"{number}0000000-0000-4000-8000-000000000000",
            "cwd": str(place.project),
            "timestamp": f"2026-01-01T00:00:{number:02d}Z",
        }
        lines.append(
            {**common, "type": "user", "promptSource": "typed", "message": {"content": words}}
        )
        said = [{"type": "text", "text": f"It is done, number {number}."}]
        lines.append(
            {**common, "uuid": f"{number}1", "type": "assistant", "message": {"content": said}}
        )
    place.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    place.run("import", "claude-code", "--yes")
    bodies = [
        entry["body"] for entry in json.loads(place.run("entries", "--json").stdout)["entries"]
    ]
    assert (
        len(bodies) == 2
        and any("Pin foo" in body for body in bodies)
        and any("Rename" in body for body in bodies)
    )


def test_the_hook_s_log_has_an_end(place):
    log = place.home.log.parent / "hook.log"
    log.parent.mkdir(parents=True)
    log.write_text("old\n" * 300_000)
    place.run("hook", "claude-code", "Stop", stdin=b"not json")
    assert log.stat().st_mode & 0o077 == 0
    assert 0 < log.stat().st_size < 1000 and (log.parent / "hook.log.1").stat().st_size == 1_200_000


def test_only_what_a_session_was_given_is_logged(place, monkeypatch):
    from memsearch_engine.core.state import using
    from memsearch_engine.injection import injection_log, session_start

    memory = place.project / ".memsearch" / "memory"
    names = []
    for number in range(4):
        place.run("add", f"Fact number {number}")
        assert (
            session_start.prebuild(
                place.home,
                str(memory),
                RecallSettings(hint=False, prompt=False, action=False, compaction=False),
                longterm="",
            )
            or number == 0
        )
        names.append(json.loads(place.home.context(str(memory)).read_bytes())["id"])
        if number == 1:
            injection_log.record_start(
                place.home, 1e10, "claude-code", "s", "SessionStart", "/p", names[1]
            )
        with using(place.home, injection_log._SCHEMA) as db:
            db.execute("UPDATE injected_texts SET at = at - 7200")  # two hours later
    with using(place.home, injection_log._SCHEMA) as db:
        kept = {name for (name,) in db.execute("SELECT id FROM injected_texts")}
    assert kept == {names[1], names[3]}  # what was injected, and what may be in a moment
