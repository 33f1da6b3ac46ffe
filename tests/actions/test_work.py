"""What a tool call did, read out of its input and output."""

from __future__ import annotations

import contextlib
import json

import pytest
from memsearch_engine.actions import work
from memsearch_engine.actions.index import ActionIndex
from memsearch_engine.agents.transcripts.model import SHELLS, ToolCall, Turn
from memsearch_engine.core.home import Home


@pytest.mark.parametrize(
    ("line", "text", "head"),
    [
        ("cd /p && uv run pytest -q 2>&1 | tail -20", "uv run pytest -q", "pytest"),
        ("cd app && npm test", "cd app && npm test", "npm test"),
        ("# all of them\nnpm test", "npm test", "npm test"),
        (
            "FOO=1 sudo timeout 5 alembic upgrade head",
            "FOO=1 sudo timeout 5 alembic upgrade head",
            "alembic upgrade",
        ),
        ("git add -A && git commit -m 'x; y'", "git add -A && git commit -m 'x; y'", "git commit"),
        ("python3 -m pytest tests", "python3 -m pytest tests", "pytest"),
        ("python manage.py migrate --plan", "python manage.py migrate --plan", "manage.py migrate"),
        ("python tools/seed.py --all", "python tools/seed.py --all", "python tools/seed.py"),
        ("bash -lc 'make test'", "bash -lc 'make test'", "make test"),
        ("npm run build", "npm run build", "npm run build"),
        ("pytest -q; git status", "pytest -q; git status", "pytest"),
        ('echo "open', 'echo "open', "echo"),
    ],
)
def test_a_command_is_known_without_what_only_moves_or_quietens_it(
    line: str, text: str, head: str
) -> None:
    found = work.of_line(line, "/p/")
    assert found is not None and (found.text, found.head) == (text, head)


def test_a_command_that_printed_a_refusal_ran_and_is_in_the_index(tmp_path) -> None:
    printed = "exec command rejected by user"
    calls = ToolCall("Bash", "make build", printed), ToolCall("Bash", "make clean", printed, True)
    with contextlib.closing(ActionIndex(Home(tmp_path))) as actions:
        actions.put(Turn("codex", "s", "t", tools=list(calls)), "m", "e", 1.0)
        found = [len(actions.of_command([], f"make {what}")) for what in ("build", "clean")]
    assert found == [1, 0]


@pytest.mark.parametrize("blanks", [" ", "\n"])
def test_the_reason_of_a_refusal_may_have_many_blanks(blanks: str) -> None:
    head = "The user doesn't want to proceed with this tool use."
    said = f"no{500_000 * blanks}x"  # quadratic work does not end
    output = f"\n{head} To tell you how to proceed, the user said:\n{said}\n"
    assert work.refusal(ToolCall("Bash", "make", output, True)) == said


def test_a_script_and_nothing_are_no_commands() -> None:
    for script in (
        "cat <<'EOF' > x\na\nb\nc\nEOF",
        "cd app\nnpm ci",
        "docker run " + "-e A=1 " * 100,
    ):
        assert work.of_line(script) is None and work.runs("Bash", script)
    assert work.of_line("  ") is None
    assert work.command("Edit", '{"file_path": "x"}') is None


@pytest.mark.parametrize(
    ("line", "masked", "looking"),
    [
        ("pytest -q", False, False),
        ("pytest -q 2>&1", False, False),
        ("cd a && pytest -q", False, False),
        ("pytest -q | tail -5", True, False),
        ("make || true", True, False),
        ("make; echo done", True, False),
        ("make &", True, False),
        ("make;", False, False),
        ("cat x.log", False, True),
        ("grep -rn x . 2>/dev/null", False, True),
        ("ls -la && git status", False, True),
        ("cat a > b", False, False),
        ("sed -i s/a/b/ x.ts", False, False),
        ("echo x | tee y", True, False),
        ("sed -n 1,5p x", False, True),
    ],
)
def test_whose_status_it_is_and_whether_anything_was_changed(
    line: str, masked: bool, looking: bool
) -> None:
    found = work.of_line(line)
    assert found is not None and (found.is_masked, found.is_looking) == (masked, looking)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_runs_commands(shell: str) -> None:
    assert work.command(shell, "cargo test") == work.ComparedCommand("cargo test", "cargo test")


@pytest.mark.parametrize(
    ("tool", "given", "files"),
    [
        (
            "Edit",
            json.dumps({"file_path": "/p/app/x.py", "new_string": "*** Update File: other.py"}),
            ["/p/app/x.py"],
        ),
        ("write", json.dumps({"filePath": "a.ts", "content": ""}), ["a.ts"]),
        (
            "apply_patch",
            "*** Begin Patch\n*** Update File: a/b.py\n@@\n*** Add File: c.txt\n+x\n*** End Patch",
            ["a/b.py", "c.txt"],
        ),
        (
            "apply_patch",
            json.dumps({"input": "*** Begin Patch\n*** Delete File: old.py\n*** End Patch"}),
            ["old.py"],
        ),
        (
            "exec_command",
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: n.txt\n*** Move to: m.txt\nEOF",
            ["n.txt", "m.txt"],
        ),
        ("Read", json.dumps({"file_path": "/p/app/x.py"}), []),
        ("Edit", "[1]", []),
        ("Edit", "\ud800", []),
    ],
)
def test_files_are_found_in_every_agent_s_way_to_edit(
    tool: str, given: str, files: list[str]
) -> None:
    assert work.files(tool, given) == files


def test_two_errors_of_one_kind_have_one_signature() -> None:
    here = "src/main.rs:12:5: error[E0382]: borrow of moved value: `order` after 0.31s"
    there = (
        "/home/a/work/shop/src/main.rs:204:17: error[E0382]: "
        "borrow of moved value: `order` after 12.9s"
    )
    assert work.signature(here) == work.signature(there)
    assert work.signature(here) != work.signature(here.replace("order", "basket"))
    port = "Error: listen EADDRINUSE: address already in use :::3000"
    assert work.signature(port) != work.signature(port.replace("3000", "8080"))


def test_the_most_telling_line_comes_first_and_what_every_failure_says_not_at_all() -> None:
    output = (
        "Collecting tests, none missing\nTraceback (most recent call last):\n"
        "  File 'a.py', line 3, in <module>\n"
        "ModuleNotFoundError: No module named 'psycopg2'\n"
        "make: *** [Makefile:3: test] Error 2\n=== 1 failed, 3 passed in 0.12s ===\n"
    )
    assert work.complaints(output) == ["ModuleNotFoundError: No module named 'psycopg2'"]
    assert (
        work.complaints(
            "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\n"
            "AssertionError: assert 3 == 4\nexit code: 1"
        )
        == []
    )
    assert work.complaints("") == []
    # a pattern that looks ahead at each sign would still be at it tomorrow
    assert work.complaints("-" * 300 + " error in some widget") == []
