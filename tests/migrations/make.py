"""Make a fixture of a home as this version leaves it: `python -m tests.migrations.make NAME`, once
for each landing.

A few notes, changes, a captured turn, evidence and a remembered fact, by the commands alone; the
databases are kept as SQL, with the folders of the machine replaced. What a version can't do yet is
left out.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "samples" / "claude-code" / "01-tool-then-resume.jsonl"
SESSION = "11111111-1111-4111-8111-111111111111"
DATABASES = ("state.db", "history.db", "evidence/turns.db")


def main(name: str) -> None:
    root = Path(os.path.realpath(tempfile.mkdtemp(prefix="home")))
    try:
        _fill(root)
        target = HERE / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for database in DATABASES:
            if (root / "home" / database).exists():
                (target / f"{Path(database).stem}.sql").write_text(
                    _dump(root / "home" / database).replace(str(root), "@ROOT@")
                )
        notes = {}
        for file in sorted((root / "project" / ".memsearch" / "memory").glob("*.md")):
            notes[file.name] = file.read_text().replace(str(root), "@ROOT@")
        (target / "notes.json").write_text(json.dumps(notes, indent=1, ensure_ascii=False) + "\n")
        folder = root / "project" / ".memsearch" / "shared"
        shared = {
            str(file.relative_to(folder)): file.read_text() for file in sorted(folder.rglob("*.md"))
        }
        (target / "shared.json").write_text(json.dumps(shared, indent=1, ensure_ascii=False) + "\n")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _fill(root: Path) -> None:
    project, claude = root / "project", root / "claude"
    transcript = claude / "projects" / "-project" / f"{SESSION}.jsonl"
    for folder in (project / ".memsearch", transcript.parent):
        folder.mkdir(parents=True)
    transcript.write_text(SAMPLE.read_text().replace("/home/dev/proj/cc1", str(project)))
    environment = {
        **os.environ,
        "HOME": str(root),
        "MEMSEARCH_HOME": str(root / "home"),
        "CLAUDE_CONFIG_DIR": str(claude),
        "TZ": "UTC",
    }

    def run(*arguments: str, stdin: bytes = b"") -> str:
        argv = [sys.executable, "-m", "memsearch_tui.cli.main", *arguments]
        return subprocess.run(
            argv, cwd=project, env=environment, input=stdin, capture_output=True
        ).stdout.decode()

    remote = root / "remote.git"
    subprocess.run(
        ["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True, env=environment
    )
    for text in (
        "The staging database is Postgres 16",
        "Deploys happen on Tuesdays",
        "A note that goes",
    ):
        run("add", text)
    ids = {
        entry["body"]: entry["entry_id"]
        for entry in json.loads(run("entries", "--json"))["entries"]
    }
    run("edit", ids["- Deploys happen on Tuesdays"], "--text", "- Deploys happen on Wednesdays")
    run("share", ids["- The staging database is Postgres 16"], "--as", "Ana", "--yes")
    run("delete", ids["- A note that goes"], "--yes")
    payload = {
        "session_id": SESSION,
        "transcript_path": str(transcript),
        "cwd": str(project),
        "hook_event_name": "Stop",
    }
    run("hook", "claude-code", "Stop", stdin=json.dumps(payload).encode())
    run("inbox")
    turns = [e["entry_id"] for e in json.loads(run("entries", "--json"))["entries"] if e["agent"]]
    if len(turns) > 1:
        run(
            "delete", turns[-1], "--yes"
        )  # a turn that its owner does not want: no version brings it back
    run("remember", "Always run the linter")
    (project / ".memsearch" / "PROJECT.md").write_text(
        "## Decisions\n\n- Deploys happen on Wednesdays\n"
    )
    run("project", "trust", "--yes")
    run(
        "skills",
        "add",
        "--name",
        "release",
        "--description",
        "Makes a release",
        "--body-file",
        "-",
        stdin=b"Tag it.",
    )
    run("skills", "remove", "release", "--yes")
    run("sync", "add", str(remote), "--yes")
    run("index")
    run("service", "stop")


def _dump(database: Path) -> str:
    with closing(sqlite3.connect(database)) as db:
        layout = db.execute("PRAGMA user_version").fetchone()[0]
        return "\n".join([f"PRAGMA user_version={layout};", *db.iterdump()]) + "\n"


if __name__ == "__main__":
    main(sys.argv[1])
