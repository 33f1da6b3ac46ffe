"""What a hook imports; its lean parts give the same results as the libraries that they replace."""

from __future__ import annotations

import json
import math
import os
import pwd
import subprocess
from pathlib import Path

import pytest
from memsearch_engine.agents.installing import hook_argv
from memsearch_engine.core import agent_registry, paths, quick_json
from memsearch_engine.core.home import Home, user_home

from tests.conftest import Box

#: Each takes a fifth of Python's start or more.
DEAR = {
    "typing",
    "contextlib",
    "collections",
    "functools",
    "enum",
    "re",
    "json",
    "pathlib",
    "hashlib",
    "socket",
}


@pytest.mark.parametrize("agent", agent_registry.live())
@pytest.mark.parametrize("event", ["Stop", "SessionStart", "UserPromptSubmit", "PreToolUse"])
def test_a_hook_imports_no_dear_module(box: Box, tmp_path, agent, event):
    memory = str(box.project / ".memsearch" / "memory")
    ready = Path(paths.context(str(box.home.root), memory))
    ready.parent.mkdir(parents=True, exist_ok=True)
    # with this, prompts and actions ask the service; none runs
    ready.write_text(json.dumps({"wait_ms": 300, "act_ms": 300, "stamps": {}, "texts": {}}))
    payload = {
        "session_id": "s",
        "cwd": str(box.project),
        "prompt": "which database does staging use",
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
    }
    python, *rest = hook_argv()
    # The payload is there before the hook starts. On a busy machine, a writer beside it could come
    # too late for the hook, which waits 150 ms.
    given = tmp_path / "payload.json"
    given.write_text(json.dumps(payload))
    with given.open("rb") as stdin:
        done = subprocess.run(
            [python, "-X", "importtime", *rest, "hook", agent, event],
            stdin=stdin,
            env=box.env | {"MEMSEARCH_NO_SERVICE": "1"},
            capture_output=True,
            check=True,
        )
    assert json.loads(done.stdout) == {}
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "memsearch_engine.capture.hook" in imported
    assert not imported & DEAR
    assert ("_socket" in imported) == (event in ("UserPromptSubmit", "PreToolUse"))
    assert not (Path(paths.logs(str(box.home.root))) / "hook.log").exists()


TEXTS = [
    b"{}",
    b' {"a": [1, -2.5e3, true, false, null, "\\u00e9 \xc3\xa9 \\ud83d\\ude00 \\ud800"]}\r\n\t',
    b'{"a": 1, "a": 2}',
    b"[NaN, Infinity]",
    b'\xef\xbb\xbf{"a": 1}',
    '{"a": "é"}'.encode("utf-16"),
    '{"a": 1}'.encode("utf-16-le"),
    '["é"]'.encode("utf-32"),
    b'"\xed\xa0\x80"',
    b'"tab\there"',
    b"",
    b"  ",
    b"{",
    b"{} {}",
    b'{"a"',
    b"\xff",
    b"\x00",
    b"nul",
    b"\xc2\xa0{}",
    b"1",
    b'"a"',
    b"9" * 5000,
    b"[" * 200_000,
]


@pytest.mark.parametrize("data", TEXTS, ids=range(len(TEXTS)))
def test_quick_json_reads_as_json_does(data):
    def outcome(loads):
        try:
            return repr(loads(data))
        except (ValueError, RecursionError) as error:
            return type(error), str(error)

    assert outcome(quick_json.loads) == outcome(json.loads)


LOOP: list = []
LOOP.append(LOOP)
VALUES = [
    {},
    [],
    {"a": [1, 2.5, True, None, "é\ud800\n\x00</"], "b": {}, 1: (), None: [[]], False: 1.0},
    "text",
    7,
    1e300,
    math.inf,
    {"a": math.nan},
    {"a": b"bytes"},
    {(1,): 2},
    LOOP,
    object(),
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_quick_json_writes_as_json_does(value):
    def outcome(dumps):
        try:
            return dumps(value)
        except (ValueError, TypeError) as error:
            return type(error), str(error)

    assert outcome(quick_json.dumps) == outcome(json.dumps)


@pytest.mark.parametrize(
    "home", [None, "", "relative", "/", "//home//me/", "/home/./me", "/home/me/../you", "/home/me"]
)
@pytest.mark.parametrize(
    "root",
    [None, "", "/m", "/m//a/./b/../c/", "//m", "rel", "./~/x", "~/x", "~", "~nobody-is-so/x"],
)
def test_the_paths_of_hooks_are_those_of_pathlib(monkeypatch, home, root):
    for name, value in (("HOME", home), ("MEMSEARCH_HOME", root)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    user = (
        Path.home()
        if home is None or os.path.isabs(home)
        else Path(pwd.getpwuid(os.getuid()).pw_dir)
    )
    assert user_home() == user and paths.user_home() == str(user)
    try:
        found = Path(root).expanduser() if root else user / ".memsearch"
    except RuntimeError:
        with pytest.raises(RuntimeError):
            paths.home_root()
        return
    expected = os.path.normpath(user / found)
    assert paths.home_root() == expected
    place = Home.from_env()
    assert str(place.root) == expected
    assert (str(place.service_lock), str(place.log.parent)) == (
        paths.service_lock(expected),
        paths.logs(expected),
    )
    assert (str(place.socket), str(place.context("/p"))) == (
        paths.socket(expected),
        paths.context(expected, "/p"),
    )
