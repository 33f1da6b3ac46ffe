"""`config init`, answered at a terminal."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pexpect
import pytest


def asked(box, *answers: str, interrupt: bool = False) -> tuple[int, str]:
    """Give *answers* one after another, each once a question stands. Returns the exit code and all
    that was said.
    """
    child = pexpect.spawn(
        sys.executable,
        ["-m", "memsearch_tui.cli.main", "config", "init"],
        cwd=str(box.project),
        env=box.env,
        encoding="utf-8",
        timeout=30,
        dimensions=(40, 200),
    )
    said = ""
    for answer in answers:
        child.expect(r"(\]|(?:enter|-): [^)]*\))[^\n]{0,20}: ")
        said += child.before + child.after
        child.sendline(answer)
    if interrupt:
        child.expect(r"\]: ")
        # CPython's `input` can miss a signal that comes between its prompt and its read: a user
        # would press again
        for _ in range(30):
            child.sendintr()
            if child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=2) == 0:
                break
    else:
        child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, said + child.before


def settings(box) -> dict:
    return tomllib.loads(box.home.config.read_text()) if box.home.config.exists() else {}


def agent_on_path(box, tmp_path: Path, name: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).write_text("#!/bin/sh\necho 2.1.0\n")
    (tmp_path / "bin" / name).chmod(0o755)
    box.env["PATH"] = f"{tmp_path / 'bin'}:/usr/bin:/bin"


def test_enter_all_the_way_changes_nothing_and_names_the_next_step(box, tmp_path):
    agent_on_path(box, tmp_path, "claude")
    code, said = asked(box, "", "", "", "")
    assert code == 0 and "claude-code" in said and settings(box) == {} and "nothing changed" in said
    assert "memsearch agents install claude-code" in said


def test_answers_are_written_and_what_was_there_stays(box):
    box.home.ensure().config.write_text(
        '# mine\n[longterm]\nenabled = false\n[llm.providers.local]\nmodel = "qwen3:4b"\n'
    )
    code, said = asked(box, "y", "local", "", "http://127.0.0.1:19530", "s3cret")
    assert code == 0 and "s3cret" not in said and "capture.summarize.provider, milvus.uri" in said
    assert (
        box.home.config.read_text().startswith("# mine\n")
        and box.home.config.stat().st_mode & 0o777 == 0o600
    )
    assert settings(box) == {
        "longterm": {"enabled": False},
        "llm": {"providers": {"local": {"model": "qwen3:4b"}}},
        "capture": {"summarize": {"provider": "local"}},
        "milvus": {"uri": "http://127.0.0.1:19530", "token": "s3cret"},
    }


def test_a_server_is_left_by_a_dash_and_kept_by_enter(box):
    for key, value in (("uri", "http://127.0.0.1:19530"), ("token", "t")):
        box.ok("config", "set", f"milvus.{key}", value)
    before = settings(box)
    assert asked(box, "n", "", "")[0] == 0 and settings(box)["milvus"] == before["milvus"]
    assert asked(box, "n", "", "-")[0] == 0 and settings(box)["milvus"] == {"uri": "", "token": ""}


def test_without_capture_nobody_asks_who_writes_and_a_model_that_is_not_here_is_not_set(box):
    code, said = asked(box, "n", "bge-m3", "")
    assert code == 0 and "Who writes" not in said and "memsearch models pull bge-m3" in said
    assert settings(box) == {"capture": {"enabled": False}} and "agents install" not in said


def test_ctrl_c_changes_nothing(box):
    code, said = asked(box, "n", interrupt=True)
    assert code == 130 and settings(box) == {} and "Traceback" not in said


def test_without_a_terminal_the_other_way_is_named(box):
    done = box.run("config", "init")
    assert done.code == 2 and "config set KEY VALUE" in done.err


@pytest.mark.slow
def test_a_model_that_nothing_describes_is_said_at_once(box):
    done = box.ok("config", "set", "longterm.extract.provider", "lokal", "--json")
    assert done.json["warnings"] == [
        "`longterm.extract.provider` is 'lokal', and there is no `llm.providers.lokal`"
    ]
    assert "llm.providers.lokal" in done.err
    assert "llm.providers.lokal" in box.run("doctor").out
    box.ok("config", "set", "llm.providers.lokal.model", "m")
    assert box.ok("config", "list", "--json").json["warnings"] == []
    for name in ("native", "claude-code", "extractive"):
        assert (
            box.ok("config", "set", "capture.summarize.provider", name, "--json").json["warnings"]
            == []
        )
    assert box.ok("config", "set", "longterm.extract.provider", "extractive", "--json").json[
        "warnings"
    ]  # takes notes, learns nothing


def test_on_a_terminal_install_lists_the_files_and_asks(box):
    """Off a terminal it asks nothing: scripts install with it."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "memsearch_tui.cli.main", "agents", "install", "claude-code", "--no-allow"],
        cwd=str(box.project),
        env=box.env,
        encoding="utf-8",
        timeout=30,
    )
    child.expect(r"settings\.json.*Write 5 files\? \[y/N\]: ")
    child.sendline("n")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130 and not (box.user / ".claude").exists()
