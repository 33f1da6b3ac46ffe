"""The documentation works as printed: every `sh` and `python` block of README and ``docs/`` runs.

The blocks of a page run in order, in one fresh home with a small project. A block that cannot run
there has the line ``<!-- not run: REASON -->`` above it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import click
import pexpect
import pytest

from memsearch_tui.cli.group import cli
from tests.conftest import Box

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
] + sorted((ROOT / "docs").rglob("*.md"))
_BLOCK = re.compile(
    r"(?:^[ ]*<!-- not run: (?P<why>[^\n]+?) -->\n\n?)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
#: Languages of blocks that are no program.
_SHOWN = {"text", "markdown", "toml", "json"}
#: The notes that the pages name by id, and what a new user has to decide.
_NOTES = """# 2026-02-09

## Session 14:30

### 14:30
<!-- id:3fa9c1d2 -->
- Redis ttl: the cache of the catalog keeps entries for 900 seconds (CATALOG_CACHE_TTL)
- Staging runs Postgres 15

### 14:50
<!-- id:77aa01de -->
- Redis ttl: CATALOG_CACHE_TTL was lowered to 300 seconds because prices were old
- `memsearch_missing/module.py` sets it

### 15:10
- Pinned release notes: deploys go out on Tuesdays only

### 15:20
- API Error: 500 internal server error
"""
_RECENT = """### 10:00
<!-- pin -->
- Decided: the Postgres migration of staging is done
"""
_CAME_WITH_A_CLONE = "# 2026-02-08\n\n### 10:00\n- the search timeout is 20 seconds\n"


def blocks(page: Path) -> list[re.Match[str]]:
    return list(_BLOCK.finditer(page.read_text(encoding="utf-8")))


def runnable(page: Path) -> list[tuple[str, str]]:
    return [
        (block["language"], re.sub(rf"^{block['indent']}", "", block["text"], flags=re.M))
        for block in blocks(page)
        if block["language"] not in _SHOWN and not block["why"]
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_names_its_language(page):
    found = blocks(page)
    assert len(found) == len(re.findall(r"^[ ]*```\w*$", page.read_text(), re.M)) / 2
    for block in found:
        assert block["language"] in {"sh", "python", *_SHOWN}, block["text"]
        if block["language"] == "text" and page.name != "commands.md":
            assert not re.search(r"^memsearch (?!.*--http)", block["text"], re.M), block["text"]


_INLINE = re.compile(r"`memsearch ([^`\n]+(?:\n[^`\n]+)?)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_in_the_text_exist(page):
    for words in _INLINE.findall(page.read_text(encoding="utf-8")):
        command: click.Command = cli
        for word in words.split():
            if isinstance(command, click.Group) and re.fullmatch(r"[a-z][a-z-]+", word):
                context = click.Context(command)
                found = command.get_command(context, word)
                assert found is not None, f"memsearch {words}"
                command = found
            elif re.fullmatch(r"--[a-z-]+", word):
                given = command.get_params(click.Context(command))
                names = {name for one in given for name in (*one.opts, *one.secondary_opts)}
                assert word in names, f"memsearch {words}: {word}"


@pytest.fixture
def reader(box: Box) -> Iterator[Box]:
    """A new user's machine: a git project with notes, transcripts of two agents, an editor."""
    box.home = type(box.home)(box.user / ".memsearch")
    programs = box.root / "bin"
    programs.mkdir()
    _program(programs / "memsearch", f'exec {sys.executable} -m memsearch_tui.cli.main "$@"')
    _program(programs / "an-editor", 'echo "- changed in the editor" >> "$1"')
    box.env |= {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "MEMSEARCH_HOME": str(box.home.root),
        "EDITOR": "an-editor",
        "PAGER": "",
    }
    for words in (
        ("init", "-q"),
        ("config", "user.name", "Mara"),
        ("config", "user.email", "mara@example.org"),
        ("commit", "-q", "--allow-empty", "-m", "start"),
    ):
        subprocess.run(["git", *words], cwd=box.project, env=box.env, check=True)
    box.write("2026-02-09", _NOTES)
    for days in (0, 1):
        day = (date.today() - timedelta(days=days)).isoformat()
        box.write(day, f"# {day}\n\n{_RECENT}")
    box.own()
    box.write("2026-02-08", _CAME_WITH_A_CLONE)
    (box.project / "secret.txt").write_text("correct-horse-battery-staple-4711\n")
    _transcripts(box)
    box.run("add", "Another project of the same person", cwd=box.other_project("api"))
    box.index()
    yield box
    box.clean()


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _transcripts(box: Box) -> None:
    """A session of Claude Code and one of Codex in this project."""
    samples = Path(__file__).parent / "samples"
    folder = box.user / ".claude" / "projects" / re.sub(r"\W", "-", str(box.project))
    folder.mkdir(parents=True)
    source = samples / "claude-code" / "01-tool-then-resume.jsonl"
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    session = next(line["sessionId"] for line in lines if "sessionId" in line)
    for line in lines:
        if "cwd" in line:
            line["cwd"] = str(box.project)
    (folder / f"{session}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rollouts = box.user / ".codex" / "sessions" / "2026" / "02" / "10"
    rollouts.mkdir(parents=True)
    source = samples / "codex" / "01-tool-reasoning-then-resume.jsonl"
    name = "rollout-2026-02-10T09-00-00-019c1234-0000-7000-8000-000000000001.jsonl"
    shutil.copy(source, rollouts / name)


def on_a_terminal(command: str, box: Box) -> tuple[int, str]:
    """Run a line as a person does: on a terminal, with `y` or the default for each question and `q`
    for the app.

    Returns:
        The exit code and all that was printed.
    """
    shell = pexpect.spawn(
        "bash",
        ["-c", command],
        cwd=str(box.project),
        env={**box.env, "TERM": "xterm-256color"},
        encoding="utf-8",
        codec_errors="replace",
        dimensions=(40, 120),
        timeout=90,
    )
    printed = ""
    answers = ["y\r", "\r", "q"]
    while True:
        met = shell.expect([r"\[y/N\]: ", r"\([\w, ]+\) \[\w+\]: ", r"\x1b\[\?1049h", pexpect.EOF])
        printed += (shell.before or "") + (shell.after if isinstance(shell.after, str) else "")
        if met == len(answers):
            break
        shell.send(answers[met])
    shell.close()
    return (shell.signalstatus or 0) + (shell.exitstatus or 0), printed


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if runnable(page)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_blocks_of_a_page_run_as_printed(reader: Box, page: Path):
    for language, text in runnable(page):
        if language == "python":
            (reader.root / "block.py").write_text(text)
            text = f"{sys.executable} {reader.root / 'block.py'}"
        for command in text.splitlines():
            code, printed = on_a_terminal(command, reader)
            # 1: nothing found; the tutorial has something to show at each step
            fine = code == 0 or (
                code == 1 and "error:" not in printed and page.name != "tutorial.md"
            )
            assert fine and "Traceback" not in printed, f"{command}: {code}\n{printed}"


@pytest.mark.slow
def test_the_examples_of_settings_are_accepted(tmp_path, monkeypatch, capsys):
    from memsearch_tui.cli.group import run

    monkeypatch.setenv("MEMSEARCH_HOME", str(tmp_path))
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    rows = [
        [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in page.splitlines()
        if line.startswith("| `")
    ]
    refused = []
    for key, _, _, example, _ in rows:
        known = key.replace("plugins.NAME", "plugins.codex").replace("keys.NAME", "keys.delete")
        known = known.replace("NAME", "work")
        if example and run(["config", "set", known, example]) != 0:
            refused.append((known, example, capsys.readouterr().err))
    assert len(rows) > 100 and not refused
