"""A secret that is everywhere, taken out; and a byte search that agrees."""

from __future__ import annotations

import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

import pytest
import zstandard
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.core.home import AgentFolders, Home
from memsearch_engine.core.projects import locate, offline_project
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.state import using
from memsearch_engine.longterm import facts, pipeline, review
from memsearch_engine.longterm.store import SCHEMA, SessionMemories, SessionMemory
from memsearch_engine.longterm.workspace import Baseline
from memsearch_engine.review import scrub
from memsearch_engine.secrets.scan import FoundSecret, allow, find, redact
from memsearch_engine.service import launch

from tests.conftest import Box

#: No rule knows it: it has to be scrubbed by its text. A quote and a letter beyond ASCII: JSON
#: writes it in other ways.
SECRET = 'ma"uve-ö-horse'
SHAPED = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"


def spread(box: Box, secret: str) -> None:
    """Put *secret* wherever the product keeps text."""
    home = box.home
    entry = box.ok("add", f"The staging door opens with {secret} today", "--json").json["entry_id"]
    box.ok("edit", entry, "--text", f"- The staging door opens with {secret} now, twice {secret}")
    other = box.ok("add", f"Another one with {secret} in it", "--json").json["entry_id"]
    box.ok("delete", other, "--yes")
    box.ok("index", "--json")
    box.ok("remember", f"The door wants {secret}") if secret == SECRET else None
    archive = Archive(home)
    archive.put(
        Turn(
            "codex",
            "s",
            "t",
            user="u",
            assistant=f"It is {secret}",
            tools=[ToolCall("Bash", secret, secret)],
        )
    )
    archive.close()
    memory = SessionMemory(
        id="aaaaaaaa",
        agent="codex",
        session="s",
        project="",
        project_name="",
        cwd="/",
        path="/x",
        watermark=1.0,
        raw_memory=f"- (everywhere) {secret}",
        summary=secret,
        slug="",
        made=1.0,
    )
    with using(home, SCHEMA) as db:
        SessionMemories.put(db, memory)
    review.propose(
        home,
        review.Proposal(
            1.0, [review.Hunk(1, "MEMORY.md", "## Everywhere", [], [], [f"- {secret}"], [])]
        ),
    )
    home.longterm.mkdir(exist_ok=True)
    (home.longterm / "MEMORY.md").write_text(f"## Everywhere\n- {secret}\n")
    Baseline(home).commit({"MEMORY.md": f"## Everywhere\n- {secret}\n"})
    (home.root / "drafts").mkdir(exist_ok=True)
    (home.root / "drafts" / "d.json").write_text(json.dumps({"text": secret}))
    home.log.write_text(f"WARNING {secret}\n")
    home.inbox.mkdir(exist_ok=True)
    home.backups.mkdir(exist_ok=True)
    with tarfile.open(home.backups / "longterm-1.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("longterm/MEMORY.md")
        data = f"- {secret}\n".encode()
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))


def everywhere(box: Box, secret: str) -> list[str]:
    """An independent search: bytes of every file of the home and the project, archives and
    databases opened.
    """
    forms = {
        f.encode()
        for f in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    }
    found = []
    for root in (box.home.root, box.project):
        for path in root.rglob("*"):
            if not path.is_file() or path.name == "config.toml":
                continue
            data = [path.read_bytes()]
            if path.suffix == ".gz":
                data.append(gzip.decompress(data[0]))
            if "objects" in path.parts:
                data.append(zlib.decompress(data[0]))
            if path.name == "turns.db":
                with sqlite3.connect(path) as db:
                    rows = db.execute("SELECT packed FROM contents").fetchall()
                data += [
                    zstandard.ZstdDecompressor().decompress(row[0], max_output_size=1 << 26)
                    for row in rows
                ]
            if any(form in piece for form in forms for piece in data):
                found.append(str(path.relative_to(root)))
    return sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("secret", "how"),
    [
        pytest.param(SECRET, ["--text", SECRET], id="text"),
        pytest.param(SHAPED, ["--text", SHAPED], id="shaped"),
    ],
)
def test_a_secret_that_is_everywhere_is_gone_and_it_is_proved(box, secret, how):
    spread(box, secret)
    box.index()
    box.ok("service", "stop")  # what it still had to write is written
    before = everywhere(box, secret)
    assert any(name.startswith("longterm.search/") for name in before)
    places = {
        "history.db",
        "state.db",
        "evidence/turns.db",
        "longterm/MEMORY.md",
        "drafts/d.json",
        "logs/service.log",
        "backups/longterm-1.tar.gz",
    }
    if secret == SHAPED:
        places -= {"history.db"}  # it was replaced before it was written
    assert places <= {name.removesuffix("-wal") for name in before}, before
    transcript = box.user / ".claude" / "projects" / "-p" / "s.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text(json.dumps({"text": secret}))
    shown = box.ok("secrets", "scrub", *how, "--dry-run", "--json").json
    assert everywhere(box, secret) == before and len(shown["left"]) >= 7
    done = box.ok("secrets", "scrub", *how, "--yes")
    assert "0 left in " in done.out and "memsearch does not own" in done.err
    assert everywhere(box, secret) == []
    assert (
        secret.encode() in transcript.read_bytes()
        or json.dumps(secret)[1:-1].encode() in transcript.read_bytes()
    )
    assert box.run("secrets", "scrub", *how, "--yes").code == 1  # nothing is left to do
    # and what was cleaned still works
    assert "REDACTED:" in box.ok("search", "staging door", "--json").json["hits"][0]["content"]
    assert Archive(box.home).get("codex", "s", "t").assistant.startswith("It is [REDACTED:")
    assert box.ok("history", "--json").json["changes"]
    assert not (box.home.root / "scrub.json").exists()


@pytest.mark.slow
def test_all_that_the_scanner_knows_by_rule_and_by_entry(box):
    day = box.write(
        "2026-02-09",
        f"# 2026-02-09\n\n### 10:00\n- token {SHAPED}\n\n### 11:00\n- token {SHAPED[:-1]}X\n",
    )
    first = box.ok("entries", "--day", "2026-02-09", "--json").json["entries"][0]
    box.ok("secrets", "scrub", "--entry", first["entry_id"], "--yes")
    assert SHAPED not in day.read_text() and f"{SHAPED[:-1]}X" in day.read_text()
    assert box.run("secrets", "scrub", "--rule", "no-such-rule", "--yes").code == 1
    box.ok("secrets", "scrub", "--rule", "github-token", "--yes")
    assert "ghp_" not in day.read_text() and day.read_text().count("[REDACTED:github-token:") == 2


def test_it_asks_and_refuses_what_would_hit_too_much(box):
    box.ok("add", f"x {SECRET}")
    assert box.run("secrets", "scrub", "--text", SECRET).code == 2
    assert "4 characters" in box.run("secrets", "scrub", "--text", "ab", "--yes").err
    assert everywhere(box, SECRET)


def test_the_owner_s_settings_and_uninstall_s_memory_are_listed_and_left(box):
    box.home.ensure().config.write_text(f'[llm.providers.x]\napi_key = "{SHAPED}"\n')
    box.write("2026-02-09", f"### 10:00\n- {SHAPED}\n")
    done = box.ok("secrets", "scrub", "--text", SHAPED, "--yes", "--json").json
    assert [(p["kind"], Path(p["path"]).name) for p in done["others"]] == [("yours", "config.toml")]
    assert SHAPED in box.home.config.read_text() and everywhere(box, SHAPED) == []


@pytest.mark.slow
def test_interrupted_it_says_so_and_goes_on(box):
    spread(box, SECRET)
    projects = [offline_project(locate(str(box.project), box.home))]
    code = (
        "import os, sys\n"
        "from memsearch_engine.review import scrub\n"
        "real, count = scrub._clean, 0\n"
        "def stop(*args):\n"
        "    global count\n"
        "    count += 1\n"
        "    if count == 4: os._exit(9)\n"
        "    real(*args)\n"
        "scrub._clean = stop\n"
        "from memsearch_tui.cli.main import main\n"
        f"sys.argv = ['memsearch', 'secrets', 'scrub', '--text', {SECRET!r}, '--yes']\n"
        "main()\n"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], env=box.env, cwd=box.project, capture_output=True
        ).returncode
        == 9
    )
    assert scrub.interrupted(box.home) == [FoundSecret.of(box.home, "text", SECRET).fingerprint]
    assert SECRET.encode() not in (box.home.root / "scrub.json").read_bytes()
    assert "interrupted" in box.run("doctor").out
    assert everywhere(box, SECRET)
    report = scrub.scrub(
        box.home, Settings(), projects, [FoundSecret.of(box.home, "text", SECRET)], AgentFolders({})
    )
    assert report.left == [] and everywhere(box, SECRET) == [] and scrub.interrupted(box.home) == []


@pytest.mark.slow
def test_what_the_owner_calls_no_secret_is_none(box, monkeypatch):
    box.write("2026-02-09", f"### 10:00\n- {SHAPED}\n")
    (finding,) = box.run("secrets", "scan", "--json").json["findings"]
    box.ok("secrets", "allow", finding["fingerprint"])
    assert box.ok("secrets", "scan", "--json").json["findings"] == []
    monkeypatch.setenv("MEMSEARCH_HOME", str(box.home.root))
    assert redact(f"x {SHAPED}", Home.from_env()) == (f"x {SHAPED}", [])
    box.ok("secrets", "allow", finding["fingerprint"], "--off")
    assert len(find(f"x {SHAPED}", Home.from_env())) == 1
    with pytest.raises(ValueError, match="fingerprint"):
        allow(box.home, "nothing")
    assert os.path.exists(box.home.root / "secrets-allowed")


@pytest.mark.slow
def test_the_long_term_memory_still_runs_after_it(box):
    spread(box, SECRET)
    box.ok("secrets", "scrub", "--text", SECRET, "--yes")
    assert "[REDACTED:text:" in facts.facts(box.home)[0].text
    assert pipeline.clear(box.home) is not None


# -- what a hostile tester found


def test_notes_behind_a_linked_folder_and_a_linked_file(box, tmp_path):
    elsewhere = tmp_path / "dropbox"
    elsewhere.mkdir()
    (elsewhere / "2026-02-09.md").write_text(f"### 10:00\n- {SECRET}\n")
    box.memory.parent.mkdir(parents=True)
    box.memory.symlink_to(elsewhere)
    assert "0 left" in box.ok("secrets", "scrub", "--text", SECRET, "--yes").out
    assert SECRET not in (elsewhere / "2026-02-09.md").read_text()


def test_json_inside_json(box):
    archive = Archive(box.home)
    archive.put(
        Turn(
            "codex",
            "s",
            "t",
            user="u",
            tools=[ToolCall("Bash", json.dumps({"command": f"echo {SECRET}"}), "")],
        )
    )
    archive.close()
    assert "0 left" in box.ok("secrets", "scrub", "--text", SECRET, "--yes").out
    assert "mauve" not in Archive(box.home).get("codex", "s", "t").tools[0].input.replace(
        'ma\\"uve', "mauve"
    )


def test_nothing_outside_the_memory_folder_is_touched(box, tmp_path):
    repo = tmp_path / "repo"
    (repo / "memory").mkdir(parents=True)
    (repo / "memory" / "2026-02-09.md").write_text(f"### 10:00\n- {SECRET}\n")
    (repo / "src.py").write_text(f"key = {SECRET!r}\n")
    box.env["MEMSEARCH_DIR"] = str(repo)
    box.run("secrets", "scrub", "--text", SECRET, "--yes")
    assert (
        SECRET in (repo / "src.py").read_text()
        and SECRET not in (repo / "memory" / "2026-02-09.md").read_text()
    )


def test_what_the_service_writes_until_its_end_is_cleaned_too(box, monkeypatch):
    box.home.ensure()
    copy = box.home.root / "longterm.search" / "0badcafe" / "memory.md"
    stop = launch.stop

    def stop_after_a_copy(home):
        copy.parent.mkdir(parents=True)
        copy.write_text(f"- {SECRET}\n")
        return stop(home)

    monkeypatch.setattr(launch, "stop", stop_after_a_copy)
    secret = FoundSecret.of(box.home, "text", SECRET)
    report = scrub.scrub(box.home, Settings(), [], [secret], AgentFolders({}))
    assert report.left == [] and SECRET not in copy.read_text()


@pytest.mark.slow
def test_a_text_that_anchors_hold_is_refused_and_a_column_s_name_is_no_secret(box):
    box.fill()
    box.index()
    before = box.memory.joinpath("2026-02-09.md").read_bytes()
    done = box.run("secrets", "scrub", "--text", "claude", "--yes")
    assert (
        done.code == 2
        and "anchors" in done.err
        and box.memory.joinpath("2026-02-09.md").read_bytes() == before
    )
    box.ok("add", "the vault word is entry_id")
    assert "0 left" in box.run("secrets", "scrub", "--text", "entry_id", "--yes").out


@pytest.mark.slow
def test_a_write_that_fails_tears_nothing(box, monkeypatch):
    spread(box, SECRET)
    text = "## Everywhere\n" + "".join(f"- line {n} {SECRET}\n" for n in range(2000))
    (box.home.longterm / "MEMORY.md").write_text(text)
    monkeypatch.setattr(
        os, "replace", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(Exception, match=r"can't be cleaned|No space"):
        scrub.scrub(
            box.home,
            Settings(),
            [offline_project(locate(str(box.project), box.home))],
            [FoundSecret.of(box.home, "text", SECRET)],
            AgentFolders({}),
        )
    assert (box.home.longterm / "MEMORY.md").read_text() == text


@pytest.mark.slow
def test_a_project_is_looked_at_for_aiders_file_alone(box: Box):
    """Aider writes into the project itself, which is no folder of its: the project's own files are
    not ours to list.
    """
    box.fill()
    secret = "Wq7-tulip!Zebra42"
    (box.project / "config.ini").write_text(f"password = {secret}\n")
    (box.user / "notes.txt").write_text(secret)
    (box.project / ".aider.chat.history.md").write_text(
        f"# aider chat started at 2026-01-01 10:00:00\n\n#### {secret}  \n"
    )
    box.ok("add", "one note")
    box.index()
    shown = box.run("secrets", "scrub", "--text", "-", "--dry-run", "--json", stdin=secret)
    assert (
        "config.ini" not in shown.out
        and "notes.txt" not in shown.out
        and ".aider.chat.history.md" in shown.out
    ), shown
