"""Scenarios x real clients, as a table: `python -m tests.agents.matrix [--agents claude …] [--only
plain …]`.

Each cell drives the installed client headless against the model on loopback and looks for what was
said in the notes: once, whole, opened at its turn. `ok`: driven now. A sentence: why that client
can't be driven into it here, and what holds it instead. Exit 1 with a red cell.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.agents.conftest import Lab, program
from tests.conftest import until
from tests.mock_model import MockModel

AGENTS = {
    "claude": "claude-code",
    "codex": "codex",
    "opencode": "opencode",
    "openclaw": "openclaw",
    "qwen": "qwen",
    "gemini": "gemini",
    "pi": "pi",
    "copilot": "copilot",
}
SECRET = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"
RECORDED = "interactive only: recorded from the real client, tests/transcripts/test_recorded.py"
NO_TERMINAL = "interactive only: read by tests/transcripts (shapes), not driven"


class Left(Exception):
    """A cell that is not driven, and why."""


class Desk:
    """One client in one lab, and the notes that it makes."""

    def __init__(self, root: Path, client: str) -> None:
        self.client, self.agent = client, AGENTS[client]
        self.lab = Lab(root, MockModel())
        self.lab.have(client)
        self.lab.ok("plugins", "install", self.agent)

    def say(self, words: str, answer: str, session: str = "", **more: Any) -> str:
        prompt = f"{words} <<{json.dumps({'say': answer, **more})}>>"
        if self.client != "openclaw":
            return self.lab.turn(self.client, prompt, session)
        key = (
            session or f"agent:main:{uuid.uuid4().hex[:8]}"
        )  # its gateway is there for all of them
        self.lab.openclaw(prompt, key)
        return key

    def notes(self) -> list[dict[str, Any]]:
        self.lab.run("inbox", "--json")
        found = self.lab.run("entries", "-n", "500", "--all", "--json").json
        return [entry for entry in (found or {}).get("entries", []) if entry["agent"] == self.agent]

    def one(self, *words: str, seconds: float = 40) -> dict[str, Any]:
        """The one note that has all of *words*, whose turn can be opened."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [
                entry for entry in self.notes() if all(word in entry["content"] for word in words)
            ]
            return bool(found)

        until(there, seconds, f"a note with {words}")
        assert len(found) == 1, [entry["content"] for entry in found]
        (turn,) = self.lab.ok("transcript", found[0]["entry_id"], "--json").json["turns"]
        assert turn["turn"] == found[0]["turn"], "the note does not open at its turn"
        return {**found[0], "opened": turn}

    def none(self, word: str) -> None:
        assert not [entry["content"] for entry in self.notes() if word in entry["content"]], (
            f"a note with {word}"
        )


def plain(desk: Desk) -> None:
    desk.say("Plain question", "A plain answer came.")
    desk.one("Plain question", "A plain answer came")


def tool(desk: Desk) -> None:
    desk.say("Tool question", "All 41 pass.", run="echo forty-one passed")
    note = desk.one("Tool question", "All 41 pass", "echo forty-one passed")
    assert [call["output"].strip() for call in note["opened"]["tools"]] == ["forty-one passed"]


def unicode_(desk: Desk) -> None:
    desk.say("次の課題は？🎉", "次は検索の課題です。")
    desk.one("次の課題は？🎉", "次は検索の課題です")


def secret(desk: Desk) -> None:
    desk.say(f"Secret question with {SECRET}", f"Pushed with {SECRET}, done.")
    desk.one("Secret question", "Pushed with")
    for file in [*desk.lab.home.root.rglob("*"), *desk.lab.memory.rglob("*")]:
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


def resumed(desk: Desk) -> None:
    session = desk.say("Resumed first", "The first of two.")
    desk.say("Resumed second", "The second of two.", session)
    sessions = {desk.one("Resumed first")["session"], desk.one("Resumed second")["session"]}
    assert len(sessions) == 1 and (desk.client == "openclaw" or sessions == {session})


def _fork(desk: Desk, session: str, words: str, answer: str) -> str:
    prompt = f"{words} <<{json.dumps({'say': answer})}>>"
    if desk.client == "claude":
        done = desk.lab.claude(
            prompt, "--resume", session, "--fork-session", "--output-format", "json"
        )
        assert done.code == 0, done
        value = json.loads(done.out)
        return str((value[-1] if isinstance(value, list) else value)["session_id"])
    if desk.client == "pi":
        name = str(uuid.uuid4())
        done = desk.lab.client(
            str(desk.lab.bin / "pi"), "--fork", session, "--session-id", name, "-p", prompt
        )
        assert done.code == 0, done
        return name
    if desk.client == "qwen":
        before = set(desk.lab.user.glob(".qwen/projects/*/chats/*.jsonl"))
        desk.lab.turn("qwen", prompt, session, more=("--fork-session",))
        (made,) = set(desk.lab.user.glob(".qwen/projects/*/chats/*.jsonl")) - before
        return made.stem
    done = desk.lab.opencode(prompt, "--format", "json", "-s", session, "--fork", timeout=300)
    lines = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    return next(line["sessionID"] for line in lines if line.get("sessionID"))


def _drives_forks(desk: Desk) -> None:
    if desk.client not in ("claude", "opencode", "qwen", "pi"):
        raise Left(
            "forked in its own screens only: copies of a turn are one note, "
            "tests/transcripts and tests/capture/test_import.py"
        )


def forked(desk: Desk) -> None:
    _drives_forks(desk)
    session = desk.say("Fork origin", "The origin's answer.")
    _fork(desk, session, "Fork branch", "The branch's answer.")
    desk.one("Fork branch", "branch's answer")
    desk.one("Fork origin", "origin's answer")


def forked_twice(desk: Desk) -> None:
    _drives_forks(desk)
    session = desk.say("Twice origin", "The root's answer.")
    second = _fork(desk, session, "Twice branch", "The limb's answer.")
    _fork(desk, second, "Twice twig", "The leaf's answer.")
    for words in ("Twice origin", "Twice branch", "Twice twig"):
        desk.one(words)


def interrupted(desk: Desk) -> None:
    lab = desk.lab
    sleep = ["sleep", f"50.{uuid.uuid4().int % 10**9:09}"]
    script = {"first": "Half an answer came.", "run": f"true; {' '.join(sleep)}", "say": "never"}
    words = f"Interrupted question <<{json.dumps(script)}>>"
    argv = {
        "claude": ["-p", "--allowedTools", "Bash", "--", words],
        "codex": ["exec", "--skip-git-repo-check", words],
        "qwen": ["-y", "-p", words],
        "gemini": ["-y", "-p", words],
        "pi": ["-p", words],
        "copilot": ["--allow-all-tools", "-p", words],
    }.get(desk.client)
    if desk.client == "opencode":
        raise Left(
            "not driven: no hook tells of it; "
            "it is taken when its session was quiet for two minutes, too long for a table"
        )
    if argv is None:
        raise Left("not driven: its gateway has no key for it headless")
    process = subprocess.Popen(
        [str(lab.bin / desk.client), *argv],
        cwd=lab.project,
        env=lab.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(
        lambda: any(p.info["cmdline"] == sleep for p in psutil.process_iter(["cmdline"])),
        60,
        "the shell's command",
    )
    process.send_signal(signal.SIGINT)
    process.wait(80)  # some let a command run to its end
    with sqlite3.connect(lab.home.state_db) as db:  # as if it had been installed an hour ago
        db.execute("UPDATE capturing SET since = since - 3600")
    quiet = time.time() - 300  # once a session is quiet, reconciling takes what no hook reported
    kept = (
        ".claude/projects/*/*.jsonl",
        ".codex/sessions/*/*/*/*.jsonl",
        ".qwen/projects/*/chats/*.jsonl",
        ".pi/agent/sessions/*/*.jsonl",
        ".copilot/session-state/*/events.jsonl",
    )
    for file in [file for pattern in kept for file in lab.user.glob(pattern)]:
        os.utime(file, (quiet, quiet))
    lab.run("coverage", "--json")
    desk.one("Interrupted question")


def failed(desk: Desk) -> None:
    if desk.client == "gemini":
        raise Left("its sessions keep nothing of a refusal: such a turn is counted as trivial")
    desk.say("Failed question", "", status=400)
    if desk.client == "qwen":  # it tells of no turn that failed
        desk.lab.run("coverage", "--json")
    note = desk.one("Failed question", "The turn failed")
    assert note["opened"]["status"] == "failed"


_DELEGATES = {
    "claude": ("Agent", "general-purpose"),
    "opencode": ("task", "general"),
    "qwen": ("agent", "general-purpose"),
    "gemini": ("invoke_agent", "generalist"),
    "copilot": ("task", "general-purpose"),
}


def sub_agent(desk: Desk) -> None:
    if desk.client not in _DELEGATES:
        if desk.client == "pi":
            raise Left("it has none")
        raise Left(
            "not driven: the model on loopback can't start its agents; "
            "children are known by their parent, tests/transcripts"
        )
    name, kind = _DELEGATES[desk.client]
    task = {"description": "look", "prompt": "Look around quietly", "subagent_type": kind}
    if desk.client == "gemini":
        task = {"agent_name": kind, "prompt": "Look around quietly"}
    elif desk.client == "copilot":
        task = {
            "name": "helper",
            "agent_type": kind,
            "description": "look",
            "prompt": "Look around quietly",
            "mode": "sync",
        }
    desk.say("Delegated question", "The parent is done.", call=[name, task])
    desk.one("Delegated question", "The parent is done")
    desk.none("User asked: Look around quietly")


def sub_agent_sent_off(desk: Desk) -> None:
    if desk.client == "qwen":
        task = {
            "description": "look",
            "prompt": "Look around alone",
            "subagent_type": "general-purpose",
            "run_in_background": True,
        }
        desk.say("Sent off question", "The parent went on.", call=["agent", task])
        desk.one("Sent off question", "The parent went on")
        desk.none("User asked: Look around alone")
        return
    if desk.client != "claude":
        raise Left("it has none" if desk.client == "pi" else "it has none that is not awaited")
    raise Left(
        "its result comes in a session that stays open: "
        "recorded from the real client, tests/transcripts/test_recorded.py"
    )


def two_at_once(desk: Desk) -> None:
    with ThreadPoolExecutor(2) as pool:
        if desk.client == "openclaw":
            words = [
                (
                    f"At once {n} <<{json.dumps({'say': f'Number {n} of two.'})}>>",
                    f"agent:main:at-once-{n}",
                )
                for n in range(2)
            ]
            assert list(pool.map(lambda pair: desk.lab.openclaw(*pair), words)) == [200, 200]
        else:
            list(
                pool.map(
                    lambda n: desk.say(f"At once {n}", f"Number {n} of two.", sleep=1), range(2)
                )
            )
    for n in range(2):
        desk.one(f"At once {n}", f"Number {n} of two")


def service_down(desk: Desk) -> None:
    desk.lab.run("service", "stop")
    desk.say("Service down", "Nobody was there.")
    until(
        lambda: desk.lab.run("service", "status", "--json").json.get("running"),
        30,
        "the hook starts it",
    )
    desk.one("Service down", "Nobody was there")


def two_megabytes(desk: Desk) -> None:
    desk.say(
        "Large output",
        "It printed a lot.",
        run="head -c 2000000 /dev/zero | tr '\\0' 'x'; echo; echo the-end",
    )
    desk.one("Large output", "It printed a lot", seconds=60)


def worktree(desk: Desk) -> None:
    lab = desk.lab
    if desk.client == "openclaw":
        raise Left("its workspace is one folder, set in its configuration")
    tree = lab.root / "tree"
    if not tree.exists():
        git = ["git", "-C", str(lab.project), "-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
        subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    project, lab.project = lab.project, tree
    try:
        desk.say("Worktree question", "From the second tree.")
    finally:
        lab.project = project
    note = desk.one("Worktree question", "second tree")
    assert note["source"].startswith(str(project)), "a worktree's notes belong to its repository"


def deleted_folder(desk: Desk) -> None:
    lab = desk.lab
    if desk.client == "openclaw":
        raise Left("its workspace is one folder, set in its configuration")
    gone = lab.root / "gone"
    gone.mkdir()
    subprocess.run(["git", "init", "-q", str(gone)], check=True)
    project, lab.project = lab.project, gone
    disabled = lab.env.get("MEMSEARCH_DISABLE")
    lab.env["MEMSEARCH_DISABLE"] = "1"
    try:
        desk.say("Deleted folder", "It will be gone.")
    finally:
        lab.project = project
        lab.env.pop("MEMSEARCH_DISABLE") if disabled is None else None
    shutil.rmtree(gone)
    state = until(
        lambda: (s := lab.ok("coverage", "--json").json)["orphaned"] and s,
        60,
        "an orphan is counted",
    )
    assert state["orphaned"] == 1, state
    listed = lab.ok("coverage", "--list", "orphaned", "--json").json["turns"]
    assert len(listed) == 1 and listed[0]["reason"]


def slash_command(desk: Desk) -> None:
    lab = desk.lab
    if desk.client == "claude":
        folder = lab.project / ".claude" / "commands"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "fixit.md").write_text(
            'Fix this: $ARGUMENTS <<{"say": "It is fixed, by command."}>>\n'
        )
        assert lab.claude("/fixit the importer leaks").code == 0
    elif desk.client == "opencode":
        folder = lab.project / ".opencode" / "command"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "fixit.md").write_text(
            "---\ndescription: fix\n---\n"
            'Fix this: $ARGUMENTS <<{"say": "It is fixed, by command."}>>\n'
        )
        done = lab.client(
            str(lab.bin / "opencode"),
            "run",
            "--command",
            "fixit",
            "the importer leaks",
            timeout=300,
        )
        assert done.code == 0, done
    elif desk.client == "qwen":
        folder = lab.project / ".qwen" / "commands"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "fixit.md").write_text(
            'Fix this: {{args}} <<{"say": "It is fixed, by command."}>>\n'
        )
        lab.turn("qwen", "/fixit the importer leaks")
    elif desk.client == "gemini":
        folder = lab.project / ".gemini" / "commands"
        folder.mkdir(parents=True, exist_ok=True)
        said = 'Fix this: {{args}} <<{"say": "It is fixed, by command."}>>'
        (folder / "fixit.toml").write_text(f"description = 'fix'\nprompt = '{said}'\n")
        lab.turn("gemini", "/fixit the importer leaks")
    elif desk.client == "pi":
        folder = lab.user / ".pi" / "agent" / "prompts"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "fixit.md").write_text(
            'Fix this: $ARGUMENTS <<{"say": "It is fixed, by command."}>>\n'
        )
        lab.turn("pi", "/fixit the importer leaks")
    else:
        raise Left(NO_TERMINAL)
    desk.one("the importer leaks", "fixed, by command")


def skill(desk: Desk) -> None:
    lab = desk.lab
    if desk.client not in ("claude", "qwen", "pi"):
        raise Left(NO_TERMINAL)
    base = lab.user / ".pi" / "agent" if desk.client == "pi" else lab.project / f".{desk.client}"
    folder = base / "skills" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(
        "---\nname: tidy\ndescription: Tidies.\n---\n"
        'Tidy up. <<{"say": "It is tidy, by skill."}>>\n'
    )
    if desk.client == "pi":
        lab.turn("pi", "/skill:tidy the parser")
        desk.one("/skill:tidy the parser", "tidy, by skill")
        return
    if desk.client == "qwen":
        lab.turn("qwen", "/tidy the parser")
    else:
        assert lab.claude("/tidy the parser").code == 0
    desk.one("/tidy the parser", "tidy, by skill")


def typed_ahead(desk: Desk) -> None:
    raise Left(RECORDED if desk.client == "claude" else NO_TERMINAL)


def edited_and_sent_again(desk: Desk) -> None:
    raise Left(NO_TERMINAL)


def compaction(desk: Desk) -> None:
    if desk.client not in ("claude", "qwen", "gemini", "pi"):
        raise Left(
            "compacts by itself when its context is full: shapes are read by tests/transcripts"
        )
    session = desk.say(
        "Before compaction",
        "The long conversation went from the importer to the payouts and back again.",
    )
    desk.lab.compact(desk.client, session)
    desk.say("After compaction", "The conversation went on.", session)
    desk.one("Before compaction", "The long conversation")
    desk.one("After compaction", "The conversation went on")


SCENARIOS: dict[str, Callable[[Desk], None]] = {
    "plain": plain,
    "tool": tool,
    "unicode": unicode_,
    "secret": secret,
    "resumed": resumed,
    "forked": forked,
    "forked twice": forked_twice,
    "interrupted": interrupted,
    "failed": failed,
    "sub-agent awaited": sub_agent,
    "sub-agent sent off": sub_agent_sent_off,
    "two at once": two_at_once,
    "service down": service_down,
    "2 MB output": two_megabytes,
    "worktree": worktree,
    "deleted folder": deleted_folder,
    "slash command": slash_command,
    "user's skill": skill,
    "typed ahead": typed_ahead,
    "edited, sent again": edited_and_sent_again,
    "compaction": compaction,
}


def column(client: str, names: list[str]) -> dict[str, str]:
    """One client's cells, each scenario in the same home: as a day is."""
    try:
        program(client)
    except pytest.skip.Exception as reason:
        return dict.fromkeys(names, f"not installed: {reason}"[:120])
    root = Path(tempfile.mkdtemp(prefix=f"matrix-{client}-{uuid.uuid4().hex[:4]}-"))
    desk = Desk(root, client)
    cells: dict[str, str] = {}
    try:
        for name in names:
            began = time.monotonic()
            try:
                SCENARIOS[name](desk)
                cells[name] = "ok"
            except Left as reason:
                cells[name] = str(reason)
            except BaseException as error:
                traceback.print_exc()
                cells[name] = f"RED {type(error).__name__}: {str(error)[:300]}"
            print(
                f"{client:9s} {name:20s} {time.monotonic() - began:5.1f} s  {cells[name]}",
                file=sys.stderr,
                flush=True,
            )
    finally:
        desk.lab.clean()
        desk.lab.model.close()
        shutil.rmtree(root, ignore_errors=True)
    return cells


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(AGENTS))
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--at-once", type=int, default=2, help="clients that run at the same time")
    given = parser.parse_args()
    os.environ.setdefault("TZ", "UTC")
    for client in given.agents:
        with contextlib.suppress(pytest.skip.Exception):
            program(client)
    with ThreadPoolExecutor(given.at_once) as pool:  # each has a lab, a model and a home of its own
        table = dict(
            zip(given.agents, pool.map(lambda client: column(client, given.only), given.agents))
        )
    for (
        client,
        cells,
    ) in (
        table.items()
    ):  # programs that are not ours, on a machine that others use: a second try decides
        if red := [name for name, cell in cells.items() if cell.startswith("RED")]:
            cells |= column(client, red)
    reasons: dict[str, int] = {}
    print("| scenario | " + " | ".join(given.agents) + " |\n|---|" + "---|" * len(given.agents))
    for name in given.only:
        cells = []
        for client in given.agents:
            cell = table[client][name]
            cells.append(
                cell
                if cell == "ok" or cell.startswith("RED")
                else f"({reasons.setdefault(cell, len(reasons) + 1)})"
            )
        print(f"| {name} | " + " | ".join(cells) + " |")
    for reason, number in reasons.items():
        print(f"({number}) {reason}")
    return int(any(cell.startswith("RED") for cells in table.values() for cell in cells.values()))


if __name__ == "__main__":
    sys.exit(main())
