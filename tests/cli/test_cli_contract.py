"""What every command promises to programs: fields, schema_version, exit codes, pure stdout."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from memsearch_tui.cli import terminal
from memsearch_tui.cli.group import cli

MEMSEARCH_FIELDS = {
    "content",
    "source",
    "heading",
    "chunk_hash",
    "heading_level",
    "start_line",
    "end_line",
    "score",
    "entry_id",
    "agent",
    "session",
    "turn",
    "day",
    "rank",
    "mode",
}
ENTRY_FIELDS = {
    "entry_id",
    "hash",
    "day",
    "time",
    "agent",
    "session",
    "turn",
    "source",
    "start_line",
    "end_line",
    "content",
}


def leaves(at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    command = command_at(at)
    if not isinstance(command, click.Group):
        return [] if command.hidden else [at]
    return [
        leaf
        for name in command.list_commands(click.Context(command))
        for leaf in leaves((*at, name))
    ]


def command_at(path: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group), path
        found = command.get_command(click.Context(command), name)
        assert found is not None, path
        command = found
    return command


LEAVES = leaves()
GROUPS = sorted({path[:-1] for path in LEAVES if len(path) > 1})


def params_of(path: tuple[str, ...]) -> set[str]:
    command: click.Command | None = cli
    for name in path:
        command = command.get_command(click.Context(command), name)  # type: ignore[union-attr]
    assert command is not None
    return {option for param in command.params for option in param.opts}


# -- help


@pytest.mark.parametrize("path", [(), *GROUPS, *LEAVES], ids=" ".join)
def test_help_exits_0_and_explains(path, capsys):
    from memsearch_tui.cli.group import run

    code = run([*path, "--help"])
    out, err = capsys.readouterr()
    assert code == 0 and err == ""
    assert "Usage: memsearch" in out and len(out.strip().splitlines()) > 4, out


def parse(line: str) -> None:
    """Read a command line as the shell and click would, without running it. Fails where click
    refuses it.
    """
    words = shlex.split(
        re.split(r"\s[<>|]+\s|\s{2,}|\s#\s", line)[0]
    )  # a remark stands behind two spaces
    assert words[0] == "memsearch", line
    args = [word for word in words[1:] if word != "--offline"]
    path: tuple[str, ...] = ()
    while args and isinstance(command_at(path), click.Group) and not args[0].startswith("-"):
        path, args = (*path, args[0]), args[1:]
    with command_at(path).make_context(" ".join(path) or "memsearch", args):
        pass


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_has_examples_that_are_accepted(path):
    shown = [line.strip() for line in (command_at(path).epilog or "").splitlines()]
    examples = [line for line in shown if line.startswith("memsearch ")]
    assert any(line.startswith(f"memsearch {' '.join(path)}") for line in examples), examples
    for line in examples:
        parse(line)


def test_commands_in_the_docs_are_accepted():
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    blocks = re.findall(r"^```sh$(.*?)^```$", text, re.M | re.S)
    lines = [
        line for block in blocks for line in block.splitlines() if line.startswith("memsearch ")
    ]
    assert len(lines) > 30
    for line in lines:
        for part in line.split(" && "):
            parse(part.strip())


def test_help_of_a_real_process_imports_nothing_heavy(box):
    done = box.run("--help")
    assert done.code == 0 and done.err == "" and "Examples" in done.out
    probe = subprocess.run(
        [box.argv()[0], "-X", "importtime", "-m", "memsearch_tui.cli.main", "--help"],
        env=box.env,
        cwd=box.project,
        capture_output=True,
        text=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in probe.stderr.splitlines()}
    assert not loaded & {
        "pymilvus",
        "onnxruntime",
        "textual",
        "numpy",
        "sqlite3",
        "tomlkit",
    }


# `completion` prints a script, `hook` and `mcp` speak with agents, `tui` is a screen, `config init`
# and `export` have their own forms
WITHOUT_JSON = {("completion",), ("hook",), ("mcp",), ("tui",), ("config", "init"), ("help",)}


@pytest.mark.parametrize("path", [p for p in LEAVES if p not in WITHOUT_JSON], ids=" ".join)
def test_every_command_has_json(path):
    """DESIGN 8: every command has `--json`."""
    assert "--json" in params_of(path)


DESIGNED = [
    *(
        "search",
        "expand",
        "transcript",
        "show",
        "days",
        "entries",
        "why-not",
        "add",
        "edit",
        "delete",
        "undo",
    ),
    *(
        "redo",
        "history",
        "restore",
        "pin",
        "expire",
        "export",
        "index",
        "watch",
        "stats",
        "health",
        "doctor",
    ),
    *(
        "reset",
        "models",
        "hook",
        "inbox",
        "status",
        "tui",
        "config",
        "service",
        "project",
        "demo",
        "completion",
    ),
    "version",
]


@pytest.mark.parametrize("name", DESIGNED)
def test_the_command_of_the_design_exists(name):
    assert cli.get_command(click.Context(cli), name) is not None


@pytest.mark.parametrize("path", ["search", "expand", "stats", "index"])
def test_memsearchs_own_flags_are_accepted(path):
    assert {
        "--json-output",
        "-j",
        "--collection",
        "-c",
        "--milvus-uri",
        "--provider",
        "--model",
    } <= params_of((path,))


# -- reading


@pytest.mark.slow
def test_search_json(shared_box):
    done = shared_box.ok("search", "redis ttl", "--json")
    answer = done.json
    assert answer["schema_version"] == 1
    assert {"schema_version", "mode", "reason", "hits"} <= answer.keys()
    assert answer["mode"] == "hybrid" and answer["reason"] == ""
    first = answer["hits"][0]
    assert first.keys() >= MEMSEARCH_FIELDS
    assert (
        "Redis cache TTL" in first["content"]
        and first["rank"] == 1
        and first["day"] == "2026-02-09"
    )
    assert (
        first["agent"] == "claude-code" and first["session"] == "abc123" and first["turn"] == "t2"
    )
    lines = open(first["source"]).read().splitlines()
    assert "Redis" in "\n".join(lines[first["start_line"] - 1 : first["end_line"]])
    assert [hit["rank"] for hit in answer["hits"]] == list(range(1, len(answer["hits"]) + 1))


def test_search_json_output_is_memsearchs_bare_list(shared_box):
    for flag in ("--json-output", "-j"):
        hits = shared_box.ok("search", "redis ttl", flag, "-k", "2").json
        assert isinstance(hits, list) and len(hits) == 2
        assert all(hit.keys() >= MEMSEARCH_FIELDS for hit in hits)
        assert isinstance(hits[0]["score"], float) and isinstance(hits[0]["heading_level"], int)


def test_search_tolerates_memsearchs_flags(shared_box):
    done = shared_box.ok(
        *(
            "search",
            "redis",
            "-j",
            "--top-k",
            "3",
            "--collection",
            "x",
            "--milvus-uri",
            "~/nowhere.db",
        ),
        *(
            "--provider",
            "openai",
            "--model",
            "m",
            "--base-url",
            "http://127.0.0.1:1",
            "--api-key",
            "k",
        ),
    )
    assert "Redis" in done.json[0]["content"]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "bm25", "lexical"])
def test_search_modes(shared_box, mode):
    answer = shared_box.ok("search", "selectinload", "--mode", mode, "--json").json
    assert answer["mode"] == mode and "selectinload" in answer["hits"][0]["content"]


def test_search_rrf_and_explain(shared_box):
    done = shared_box.ok("search", "selectinload", "--fusion", "rrf", "--explain")
    assert "why:" in done.out and "#1" in done.out


def test_search_in_chinese(shared_box):
    answer = shared_box.ok("search", "蓝绿", "--json").json
    assert "蓝绿发布" in answer["hits"][0]["content"]


def test_search_nothing_found_is_1(shared_box):
    done = shared_box.run("search", "redis", "agent:openclaw", "--json")
    assert done.code == 1 and done.json["hits"] == []
    done = shared_box.run("search", "redis", "agent:openclaw", "-j")
    assert (
        done.code == 0 and done.json == []
    )  # as memsearch's own list: its plugins take anything else for a failure
    done = shared_box.run("search", "redis", "agent:openclaw")
    assert done.code == 1 and done.out == "" and "nothing found" in done.err


@pytest.mark.parametrize(
    "args",
    [
        ["search"],
        ["search", "x", "--mode", "sideways"],
        ["search", "x", "-k", "many"],
        ["search", "x", "project:no-such-project"],
        ["search", "x", "project:no-such-project", "--no-wait"],
        ["search", "x", "--project", "no-such-project"],
        ["expand"],
        ["expand", "ab"],
        ["show", "someday"],
        ["entries", "--day", "someday"],
        ["days", "--limit", "0"],
        ["frobnicate"],
        ["edit", "--no-such-option"],
        ["expire", "abcdef", "someday"],
        ["config", "get", "no.such"],
        ["config", "set", "search.top_k", "many"],
        ["config", "set", "no.such", "1"],
        ["models", "use", "no-such-model", "--yes"],
        ["completion", "tcsh"],
        ["index", "/no/such/folder"],
        ["restore", "first"],
    ],
    ids=" ".join,
)
def test_usage_errors_are_2_on_stderr(shared_box, args):
    done = shared_box.run(*args)
    assert done.code == 2, done
    assert done.out == "" and done.err.strip() and "Traceback" not in done.err


def test_a_usage_error_in_json_names_the_help_that_explains(shared_box):
    done = shared_box.run("search", "--json", "--limit", "1", "redis")
    assert (
        done.code == 2
        and "--limit" in done.json["error"]
        and done.json["hint"] == "memsearch search --help"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [["expand", "feedfacefeed"], ["why-not", "redis", "feedfacefeed"]], ids=" ".join
)
def test_unknown_names_are_1(shared_box, args):
    done = shared_box.run(*args, "--json")
    assert done.code == 1 and "feedfacefeed" in done.err
    # who asked for JSON gets the error in JSON, not in prose
    assert (
        done.json["schema_version"] == 1
        and done.json["exit_code"] == 1
        and "feedfacefeed" in done.json["error"]
    )
    assert shared_box.run(*args).out == ""


@pytest.mark.parametrize(
    "args",
    [["show", "1999-01-01"], ["entries", "--day", "1999-01-01"], ["entries", "--agent", "x"]],
    ids=" ".join,
)
def test_an_empty_list_is_1_and_still_json(shared_box, args):
    done = shared_box.run(*args, "--json")
    assert done.code == 1 and done.json["schema_version"] == 1 and done.json["entries"] == []


def test_expand_json_by_chunk_and_by_entry(shared_box):
    hit = shared_box.ok("search", "redis ttl", "-j").json[0]
    for name in (hit["chunk_hash"], hit["entry_id"], hit["entry_id"][:8], hit["chunk_hash"][:8]):
        section = shared_box.ok("expand", name, "--json").json
        assert section["schema_version"] == 1 and section.keys() >= ENTRY_FIELDS
        assert section["entry_id"] == hit["entry_id"] and section["hash"] == hit["hash"]
        assert (
            section["anchor"]["session"] == "abc123"
            and section["anchor"]["transcript"] == "/nowhere/abc123.jsonl"
        )
        assert section["content"].startswith("### 14:45")
    assert shared_box.ok("expand", hit["chunk_hash"], "-j").json["entry_id"] == hit["entry_id"]


@pytest.mark.slow
def test_entries_json(shared_box):
    answer = shared_box.ok("entries", "--json").json
    assert answer["schema_version"] == 1 and len(answer["entries"]) == 5
    for entry in answer["entries"]:
        assert entry.keys() >= ENTRY_FIELDS
        lines = open(entry["source"]).read().splitlines()
        assert "\n".join(lines[entry["start_line"] - 1 : entry["end_line"]]) == entry["content"]
    assert answer["entries"][0]["day"] == "2026-02-10"
    assert len(shared_box.ok("entries", "--day", "2026-02-09", "--json").json["entries"]) == 3
    assert [
        e["turn"] for e in shared_box.ok("entries", "--agent", "codex", "--json").json["entries"]
    ] == ["u1"]


@pytest.mark.slow
def test_days_show_stats_status_project_version_json(shared_box):
    days = shared_box.ok("days", "--json").json
    assert days["schema_version"] == 1
    assert [(d["day"], d["entries"]) for d in days["days"]] == [
        ("2026-02-10", 2),
        ("2026-02-09", 3),
    ]
    shown = shared_box.ok("show", "2026-02-09", "--json").json
    assert (
        shown["schema_version"] == 1 and shown["day"] == "2026-02-09" and len(shown["entries"]) == 3
    )
    assert (
        shared_box.ok("show", "2026-02-09").out == (shared_box.memory / "2026-02-09.md").read_text()
    )
    stats = shared_box.ok("stats", "--json").json
    assert (
        stats["schema_version"] == 1
        and stats["total_chunks"] == 5
        and stats["projects"][0]["entries"] == 5
    )
    assert shared_box.ok("stats", "-j").json["total_chunks"] == 5
    status = shared_box.ok("status", "--json").json
    assert status["schema_version"] == 1 and status["days"] == 2 and status["service"]["running"]
    project = shared_box.ok("project", "--json").json
    assert project["schema_version"] == 1 and project["memory"] == str(shared_box.memory)
    assert (
        project["collection"].startswith("ms_project_")
        and len(project["collection"]) == len("ms_project_") + 8
    )
    version = shared_box.ok("version", "--json").json
    assert version["schema_version"] == 1 and version["version"] in shared_box.ok("--version").out


@pytest.mark.slow
def test_service_status_health_index_doctor_models_config_json(shared_box):
    state = shared_box.ok("service", "status", "--json").json
    assert (
        state["schema_version"] == 1
        and {"running", "pid", "uptime_s", "rss_mb", "index"} <= state.keys()
    )
    assert (
        state["running"] is True
        and state["pid"] == shared_box.service().pid
        and state["index"] == "ready"
    )
    health = shared_box.ok("health", "--json").json
    assert health["schema_version"] == 1 and health["fingerprint"] and health["problems"] == []
    assert health["projects"][0]["vectors"] == 5
    again = shared_box.ok("index", "--json").json
    assert again["schema_version"] == 1
    assert (again["files"], again["changed"], again["entries"], again["chunks"]) == (2, 0, 5, 5)
    assert again["embedded"] == again["deleted"] == 0 and again["failed"] == []
    assert shared_box.ok("index", "-j").json["chunks"] == 5
    assert shared_box.ok("doctor", "--json").json["ok"] is True
    models = shared_box.ok("models", "list", "--json").json
    assert models["schema_version"] == 1 and [
        m["name"] for m in models["models"] if m["in_use"]
    ] == ["all-minilm-l6-v2"]
    settings = shared_box.ok("config", "list", "--json").json
    assert settings["schema_version"] == 1 and settings["settings"]["search.top_k"] == 10
    got = shared_box.ok("config", "get", "search.top_k", "--json").json
    assert got == {"schema_version": 1, "key": "search.top_k", "value": 10}


def test_why_not_json(shared_box):
    ids = shared_box.ids()
    wanted = next(id_ for body, id_ in ids.items() if "Postgres" in body)
    answer = shared_box.ok("why-not", "selectinload agent:codex", wanted, "--json").json
    assert answer["schema_version"] == 1 and answer["entry_id"] == wanted and answer["rank"] == 0
    assert any("filter" in reason for reason in answer["reasons"])
    there = shared_box.ok("why-not", "postgres staging", wanted, "--json").json
    assert there["rank"] == 1 and "hit 1" in there["reasons"][0]


def test_export(shared_box):
    answer = shared_box.ok("export", "--format", "json").json
    assert answer["schema_version"] == 1 and len(answer["entries"]) == 5
    text = shared_box.ok("export", "--day", "2026-02-09").out
    assert "selectinload" in text and "websocket" not in text
    assert "Redis" in shared_box.ok("export", "--query", "redis ttl").out
    assert shared_box.run("export", "--day", "1999-01-01").code == 1


def test_export_knows_the_same_words_for_days_as_show(box):
    box.ok("add", "written today")
    assert "written today" in box.ok("show", "today").out
    assert "written today" in box.ok("export", "--day", "today").out


def test_completion(shared_box):
    for shell in ("bash", "zsh", "fish"):
        assert "_MEMSEARCH_COMPLETE" in shared_box.ok("completion", shell).out
    script = shared_box.ok("completion", "bash").out
    assert subprocess.run(["bash", "-n"], input=script.encode()).returncode == 0
    env = {"_MEMSEARCH_COMPLETE": "bash_complete", "COMP_WORDS": "memsearch sea", "COMP_CWORD": "1"}
    assert "search" in shared_box.run(env=env).out


def test_no_command_without_a_terminal_prints_status(shared_box):
    done = shared_box.ok()
    assert "project" in done.out and "Traceback" not in done.err
    assert shared_box.run("tui").code == 3


def test_remarks_go_to_stderr(shared_box):
    done = shared_box.ok("search", "redis")
    assert "hits (hybrid" in done.err and "hits (hybrid" not in done.out
    closed = subprocess.run(
        ["bash", "-c", '"$@" | head -c 1', "x", *map(str, shared_box.argv("entries"))],
        env=shared_box.env,
        cwd=shared_box.project,
        capture_output=True,
    )
    assert b"Traceback" not in closed.stderr and b"BrokenPipe" not in closed.stderr


def test_terminal_escapes_in_notes_do_not_reach_the_terminal(box):
    box.write("2026-02-09", "### 10:00\n- evil \x1b]0;title\x07 \x1b[31mred\u202e text\n")
    for args in (["search", "evil", "--no-wait"], ["show", "2026-02-09"], ["entries"], ["export"]):
        out = box.ok(*args).raw.decode()
        assert "\x1b" not in out and "\u202e" not in out and "\x07" not in out, args
    json.loads(box.ok("entries", "--json").raw)


def test_a_query_of_invalid_utf8_is_answered(shared_box):
    for args in (
        [b"redis \xff\xfe"],
        [b"redis \xff\xfe", "--no-wait"],
        [b"redis \xff\xfe", "--json"],
    ):
        done = shared_box.run("search", *args)
        assert done.code in (0, 1) and "Traceback" not in done.err, done


@pytest.mark.parametrize(
    "args",
    [
        ("history", "--prune", "9"),
        ("tui", "--theme", "x"),
        ("demo", "--fresh"),
        ("export", "--output", "x"),
        ("evidence", "prune", "--max-mb", "9"),
    ],
)
def test_what_was_removed_is_refused(shared_box, args):
    refused = shared_box.run(*args)
    assert refused.code == 2 and "No such option" in refused.err


@pytest.mark.parametrize(
    "args",
    [["days"], ["entries"], ["stats"], ["show", "2026-03-01"], ["health"]],
    ids=lambda args: args[0],
)
def test_the_project_option_is_not_ignored(shared_box, args):
    """`--project` is offered by these commands, so it must choose the project (or refuse an unknown
    one).
    """
    other = shared_box.root / "elsewhere"
    if not other.exists():
        shared_box.other_project("elsewhere")
        shared_box.write(
            "2026-03-01", "### 10:00\n- only elsewhere\n", other / ".memsearch" / "memory"
        )
        shared_box.index(cwd=other)
    done = shared_box.run(*args, "--project", "elsewhere", "--json")
    assert done.code == 0, done
    assert str(other) in done.out and str(shared_box.memory) not in done.out, done
    refused = shared_box.run(*args, "--project", "no-such-project", "--json")
    assert refused.code == 2, refused


# -- writing


@pytest.mark.slow
def test_add_json_stdin_and_day(box):
    first = box.ok("add", "Staging runs Postgres 16", "--json").json
    assert (
        first["schema_version"] == 1
        and first["entry_id"]
        and first["source"].startswith(str(box.memory))
    )
    piped = box.ok("add", stdin="from a pipe\nsecond line\n")
    assert piped.out.strip() in box.ids().values() and "memsearch undo" in piped.err
    box.ok("add", "old", "--day", "2026-01-02")
    assert (box.memory / "2026-01-02.md").exists()
    box.ok("add", "- a list item is no option", "--day", "2026-01-02")
    box.ok("add", "--day", "2026-01-02", "--", "--nor this")
    assert {"- a list item is no option", "--nor this"} <= set(
        (box.memory / "2026-01-02.md").read_text().splitlines()
    )
    assert box.run("add", "").code == 2 and box.run("add", stdin="").code == 2
    assert box.run("add", "x", "--day", "someday").code == 2
    assert box.processes() == []  # writing needs no service


@pytest.mark.slow
def test_edit_text_stdin_if_match_undo_redo_history_restore(box):
    box.fill()
    entry = next(e for e in box.ok("entries", "--json").json["entries"] if e["turn"] == "t2")
    name, old_file = entry["entry_id"], (box.memory / "2026-02-09.md").read_bytes()
    edited = box.ok(
        "edit", name, "--text", "- TTL is 60 s", "--if-match", entry["hash"], "--json"
    ).json
    assert edited["schema_version"] == 1 and edited.keys() >= ENTRY_FIELDS
    assert (
        edited["entry_id"] == name
        and edited["body"] == "- TTL is 60 s"
        and edited["hash"] != entry["hash"]
    )
    assert edited["turn"] == "t2"

    stale = box.run("edit", name, "--text", "- lost", "--if-match", entry["hash"])
    assert stale.code == 4 and stale.out == "" and "changed" in stale.err
    assert box.run("delete", name, "--if-match", entry["hash"], "--yes").code == 4

    from_stdin = box.ok("edit", name, "--json", stdin="- TTL is 30 s\n").json
    assert from_stdin["body"] == "- TTL is 30 s"
    assert box.run("edit", name, stdin="").code == 2
    assert box.run("edit", name, "--text", "### forged\n- x").code == 2

    history = box.ok("history", name, "--json").json
    assert history["schema_version"] == 1 and [c["op"] for c in history["changes"]] == [
        "edit",
        "edit",
    ]
    assert "900 seconds" in history["changes"][1]["before"]

    undone = box.ok("undo", "--json").json
    assert undone["schema_version"] == 1 and undone["undone"][0]["entry_id"] == name
    assert box.ok("undo").out == ""
    assert (box.memory / "2026-02-09.md").read_bytes() == old_file
    assert box.run("undo").code == 1
    redone = box.ok("redo", "--json").json
    assert redone["schema_version"] == 1 and len(redone["redone"]) == 1
    box.ok("redo", name)
    restored = box.ok("restore", str(history["changes"][1]["change"]), "--json").json
    assert restored["schema_version"] == 1
    assert (box.memory / "2026-02-09.md").read_bytes() == old_file
    assert box.run("restore", "99999").code == 1


@pytest.mark.slow
def test_delete_shows_first_asks_and_comes_back(box):
    box.fill()
    name = next(id_ for body, id_ in box.ids().items() if "Postgres" in body)
    before = (box.memory / "2026-02-09.md").read_bytes()
    dry = box.ok("delete", name, "--dry-run", "--json").json
    assert (
        dry["schema_version"] == 1
        and dry["deleted"] == []
        and dry["would_delete"][0]["entry_id"] == name
    )
    assert (box.memory / "2026-02-09.md").read_bytes() == before
    refused = box.run("delete", name)
    assert refused.code == 2 and "--yes" in refused.err
    assert (box.memory / "2026-02-09.md").read_bytes() == before
    gone = box.ok("delete", name, "--yes", "--json").json
    assert [e["entry_id"] for e in gone["deleted"]] == [name] and gone["deleted"][
        0
    ].keys() >= ENTRY_FIELDS
    assert b"Postgres" not in (box.memory / "2026-02-09.md").read_bytes()
    box.ok("undo")
    assert (box.memory / "2026-02-09.md").read_bytes() == before
    assert box.run("delete", "feedfacefeed", "--yes").code == 1
    assert box.run("delete", name, "feedfacefeed", "--yes").code == 1
    assert (box.memory / "2026-02-09.md").read_bytes() == before  # all or nothing


def test_an_ambiguous_name_is_refused_not_guessed(box):
    """A beginning that names entries of two days must not pick one of them (delete and edit use it
    too).
    """
    box.write("2026-02-01", "### 10:00\n<!-- id:abcd1111 -->\n- first\n")
    box.write("2026-02-02", "### 10:00\n<!-- id:abcd2222 -->\n- second\n")
    for command in (
        ["expand", "abcd"],
        ["delete", "abcd", "--yes"],
        ["edit", "abcd", "--text", "- x"],
    ):
        done = box.run(*command)
        assert done.code == 2, done
    assert "first" in box.ok("expand", "abcd1").out


@pytest.mark.slow
def test_pin_and_expire(box):
    box.fill()
    name = next(id_ for body, id_ in box.ids().items() if "Postgres" in body)
    assert box.ok("pin", name, "--json").json["marks"] == {"id": name, "pin": ""}
    assert [h["entry_id"] for h in box.ok("search", "is:pinned", "-j", "--no-wait").json] == [name]
    assert "pin" not in box.ok("pin", name, "--off", "--json").json["marks"]
    assert box.ok("expire", name, "2020-01-01", "--json").json["marks"]["expires"] == "2020-01-01"
    assert [h["entry_id"] for h in box.ok("search", "is:expired", "-j", "--no-wait").json] == [name]
    assert "expires" not in box.ok("expire", name, "--off", "--json").json["marks"]
    assert box.run("expire", name).code == 2


def test_config_set_and_get(box):
    done = box.ok("config", "set", "search.top_k", "7")
    assert done.out == ""
    assert box.ok("config", "get", "search.top_k").out.strip() == "7"
    box.home.config.write_text("# mine\n" + box.home.config.read_text())
    box.ok("config", "set", "search.fusion", "rrf")
    assert box.home.config.read_text().startswith("# mine\n")
    assert oct(box.home.config.stat().st_mode & 0o777) == "0o600"
    box.ok("config", "set", "embedding.api_key", "sk-secret")
    assert (
        "sk-secret"
        not in box.ok("config", "list").out + box.ok("config", "get", "embedding.api_key").out
    )


@pytest.mark.slow
def test_the_setting_top_k_is_used(box):
    """`search.top_k` is a setting, so `search` without -k obeys it."""
    for n in range(6):
        box.ok("add", f"needle number {n}")
    box.ok("config", "set", "search.top_k", "3")
    assert len(box.ok("search", "needle", "--no-wait", "-j").json) == 3


@pytest.mark.slow
def test_an_empty_project_answers_everything(box):
    for args, code in (
        (["search", "x", "--no-wait"], 1),
        (["entries"], 1),
        (["days"], 1),
        (["show"], 1),
        (["history"], 1),
        (["undo"], 1),
        (["export", "--format", "json"], 1),
        (["status"], 0),
        (["project"], 0),
        (["config", "list"], 0),
        (["service", "logs"], 1),
        (["stats"], 3),
    ):
        done = box.run(*args)
        assert done.code == code and "Traceback" not in done.err, (args, done)
    assert box.processes() == []
    assert not (box.project / ".memsearch").exists()  # looking writes nothing into a repository


def test_a_broken_settings_file_is_named(box):
    box.fill()
    box.home.ensure()
    box.home.config.write_text("[search\ntop_k = 1\n")
    for args in (["config", "list"], ["index"]):
        done = box.run(*args)
        assert done.code in (2, 3) and "config.toml" in done.err and "Traceback" not in done.err, (
            done
        )
    found = box.run("search", "redis", "--json")
    assert found.code == 0 and found.json["mode"] == "lexical" and found.json["hits"], found
    assert "config.toml" in found.json["reason"], found


@pytest.mark.parametrize(
    ("key", "value"), [("search.top_k", '"ten"'), ("embedding.model", '"no-such-model"')]
)
def test_a_setting_that_cannot_work_leaves_words(box, key, value):
    box.fill()
    box.home.ensure()
    section, name = key.split(".")
    box.home.config.write_text(f"[{section}]\n{name} = {value}\n")
    found = box.run("search", "redis", "--json")
    assert found.code == 0 and found.json["mode"] == "lexical" and found.json["hits"], found
    assert name in found.json["reason"] or "no-such-model" in found.json["reason"], found


def test_a_projects_file_may_not_set_what_could_harm(box):
    box.fill()
    (box.project / ".memsearch.toml").write_text(
        '[milvus]\nuri = "http://evil"\n[chunking]\nmax_chars = 900\n'
    )
    listed = box.ok("config", "list", "--json").json
    assert (
        listed["settings"]["milvus.uri"] == "" and listed["settings"]["chunking.max_chars"] == 900
    )
    assert any("milvus.uri" in warning for warning in listed["warnings"])


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        (
            '[llm.providers.a]\nmodel = "m"\n[llm.providers.b]\ntype = "nope"\n',
            "config.toml:4",
            "llm.providers.b.type",
        ),
        (
            '[plugins.codex.summarize]\nenabled = "yes"\n',
            "config.toml:2",
            "plugins.codex.summarize.enabled",
        ),
        ("[tui.keys]\ndelete = 3\n", "config.toml:2", "tui.keys.delete"),
    ],
)
def test_settings_in_tables_of_the_user_s_names_are_named_with_their_line(box, text, place, says):
    box.home.ensure().config.write_text(text)
    done = box.run("config", "list")
    assert done.code == 2 and place in done.err and says in done.err


def test_a_mistyped_setting_of_a_provider_is_named(box):
    box.home.ensure().config.write_text('[llm.providers.b]\nmodle = "x"\n')
    assert any(
        "config.toml:2" in w and "modle" in w
        for w in box.ok("config", "list", "--json").json["warnings"]
    )


@pytest.mark.parametrize("room", [-3, 0, 1, 2, 5])
@pytest.mark.parametrize("text", ["plain words", "温室の弁は三十度で開く"])
def test_a_title_is_cut_to_any_room(text, room):
    short = terminal.clip(text, room)
    assert short.endswith("…") and terminal.cells(short) <= max(1, room)


def test_entries_in_a_terminal_of_twenty_columns(box):
    box.ok("add", "温室の弁は三十度で開く", env={"MEMSEARCH_NO_SERVICE": "1"})
    assert "温室の弁" in box.ok("entries", env={"COLUMNS": "20"}).out
