"""Wrong uses: each ends with a line that says what to do, never with a traceback."""

from __future__ import annotations

import io
import json
import sys

import pytest
from memsearch_engine import Memory

from memsearch_tui.cli import terminal
from memsearch_tui.cli.group import run


@pytest.fixture
def memory(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    with Memory() as memory:
        yield memory
    run(["service", "stop"])  # some commands start it all the same


def config(memory, text: str) -> None:
    memory.home.ensure()
    memory.home.config.write_text(text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "set", "search.top_k", "20"],
        ["config", "unset", "search.top_k"],
        ["config", "list"],
    ],
    ids=" ".join,
)
def test_a_broken_settings_file_is_named(memory, arguments, capsys):
    config(memory, "[search\ntop_k = 3\n")
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert "config.toml" in said and "not valid TOML" in said


def test_status_and_search_say_that_the_settings_cannot_be_read(memory, capsys):
    memory.add("Redis it is")
    config(memory, "[search\ntop_k = 3\n")
    assert run(["status"]) == 0
    assert "not valid TOML" in capsys.readouterr().err
    assert run(["search", "redis", "--no-wait"]) == 0
    assert "not valid TOML" in capsys.readouterr().err


@pytest.mark.parametrize("query", ["agnet:codex redis", "after:lastweek redis"])
def test_a_misspelled_filter_is_an_error_where_that_is_wanted(memory, query, capsys):
    memory.add("Redis it is")
    assert run(["search", query, "--strict", "--no-wait"]) == 2
    assert query.split()[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("plugins.bad.summarize.provider", "extractive"),
        ("llm.providers.mine.type", "telepathy"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(memory, key, value):
    assert run(["config", "set", key, value]) == 2


@pytest.mark.parametrize("kind", ["openai-compatible", "gemini", "openai", "anthropic"])
def test_the_types_of_providers_that_memsearch_knows_are_taken(memory, kind, capsys):
    assert run(["config", "set", "llm.providers.mine.type", kind]) == 0
    wanted = kind if kind == "anthropic" else "openai"
    assert memory.settings.llm.providers["mine"].type == wanted


def test_a_list_may_be_given_with_commas(memory):
    assert run(["config", "set", "indexing.exclude", "drafts/*, *.tmp"]) == 0
    assert memory.settings.indexing.exclude == ["drafts/*", "*.tmp"]
    assert run(["config", "set", "indexing.ignore_files", ".gitignore,.memsearchignore"]) == 0
    assert memory.settings.indexing.ignore_files == [".gitignore", ".memsearchignore"]


def test_an_edit_without_text_changes_nothing(memory, monkeypatch, capsys):
    note = memory.add("Redis it is")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run(["edit", note.id]) == 2
    assert memory.note(note.id).hash == note.hash


def test_zero_hits_are_no_number_of_hits(memory, capsys):
    assert run(["search", "redis", "-k", "0", "--no-wait"]) == 2


def test_a_key_that_is_not_set_sends_nothing(memory, monkeypatch):
    from memsearch_engine.core.llm import providers
    from memsearch_engine.core.llm.reply import ModelError
    from memsearch_engine.core.settings import Provider

    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    provider = Provider(model="m", base_url="http://127.0.0.1:9", api_key="env:NO_SUCH_KEY")
    with pytest.raises(ModelError, match="NO_SUCH_KEY, which is not set"):
        providers.post(provider, {}, 1.0)


def test_an_error_is_json_for_who_asked_for_json(memory, capsys):
    assert run(["mark", "feedfacefeed", "--pin", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)
    assert error["exit_code"] == 1 and "feedfacefeed" in error["error"] and error["hint"]


@pytest.mark.parametrize(("where", "code"), [("/dev/null/shop", 3), ("\udcff", 2)])
def test_a_failure_of_the_system_is_json_for_who_asked_for_json(where, code, capsys):
    failed = (
        NotADirectoryError(20, "Not a directory", where)
        if code == 3
        else UnicodeEncodeError("utf-8", where, 0, 1, "surrogates not allowed")
    )
    assert terminal.report(failed, ["status", "--json"]) == code
    said = capsys.readouterr()
    assert json.loads(said.out)["exit_code"] == code
    assert json.loads(said.out)["error"] in said.err


@pytest.mark.parametrize("cited", ["[mem:{}]", "mem:{}", " {} "])
def test_a_note_is_named_as_agents_cite_it(memory, cited, capsys):
    note = memory.add("Redis it is")
    name = cited.format(note.id)
    for arguments in (
        ["expand", name],
        ["mark", name, "--pin"],
        ["edit", name, "--text", "Valkey it is"],
        ["history", name],
        ["delete", name, "--yes"],
        ["undo", name],
    ):
        assert run(arguments) == 0, arguments
    assert memory.note(note.id).text.strip().endswith("Valkey it is")


def test_a_word_to_leave_out_that_is_taken_for_an_option_names_the_way(memory, capsys):
    assert run(["search", "redis", "-draft", "--json"]) == 2
    said = capsys.readouterr()
    assert "search 'redis -draft'" in said.err and "-draft" in json.loads(said.out)["hint"]


def test_undo_of_a_note_without_changes_names_it(memory, capsys):
    assert run(["undo", "feedfacefeed"]) == 1
    assert "no change of feedfacefeed to be undone" in capsys.readouterr().err


@pytest.mark.parametrize("settings", ['{"hooks": null}', '{"hooks": {"Stop": "x"}}', "[]", '{"a":'])
def test_settings_of_an_agent_that_cannot_be_changed_are_named(
    memory, settings, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    file = tmp_path / "settings.json"
    file.write_text(settings)
    assert run(["agents", "install", "claude-code", "--yes"]) == 2
    assert str(file) in capsys.readouterr().err
    assert file.read_text() == settings


@pytest.mark.parametrize(
    "arguments",
    [
        "transcript NOTE",
        "transcript /nowhere/session.jsonl",
        "compact --prompt-file nowhere.md",
        "compact --prompt-file nowhere.md --output-dir /dev/null/notes",
        "compact --day 2026-01-01 --week",
        "history feedfacefeed",
        "blame nowhere.py",
        "verify",
        "verify NOTE",
        "forget feedface",
        "mark NOTE --superseded-by NOTE",
        "mark NOTE --expires 7d --no-expires",
        "supersede NOTE",
        "confidence NOTE",
        "supersession NOTE NOTE",
        "config set search.top_k many",
        "secrets allow nonsense",
        "agents import --all --orphans nowhere",
    ],
)
def test_a_wrong_use_names_the_next_step(memory, arguments, capsys):
    note = memory.add("Redis it is")
    assert run([note.id if word == "NOTE" else word for word in arguments.split()])
    said = capsys.readouterr().err
    assert "  -> " in said or " - " in said, said


@pytest.mark.parametrize("arguments", [["remember", ""], ["forget", ""], ["index", "nowhere"]])
def test_a_wrong_use_that_the_service_sees_names_the_next_step(
    memory, arguments, monkeypatch, capsys
):
    monkeypatch.delenv("MEMSEARCH_NO_SERVICE")
    assert run(arguments) == 2
    assert "  -> " in capsys.readouterr().err


def test_the_release_of_an_author_without_files_says_so(memory, capsys):
    assert run(["trust", "release", "--author", "nobody@example.org"]) == 0
    assert "committed by nobody@example.org alone" in capsys.readouterr().err


def test_text_goes_with_one_proposal_of_one_line(memory, capsys):
    old = memory.add("Redis it is", day="2026-01-01")
    memory.trust.quarantine([memory.files.section(old.id).target])
    assert run(["review", "accept", old.id, "--text", "Valkey it is"]) == 2
    assert "  -> `memsearch review open" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x" * 10_000, "word " * 2_000], ids=["a word", "words"])
@pytest.mark.parametrize("command", ["expand", "undo", "show", "help", "service", "restore"])
def test_an_overlong_argument_is_not_repeated_whole(memory, command, text, capsys):
    assert run([command, text]) in (1, 2)
    said = capsys.readouterr().err
    assert text[:100] in said and len(said) < 2_000


def test_a_list_of_missed_turns_says_how_many_it_leaves_out(memory, monkeypatch, capsys):
    from memsearch_engine.capture.ledger import CaptureLedger, SeenTurn

    memory.home.ensure()
    ledger = CaptureLedger(memory.home)
    ledger.note(
        SeenTurn("codex", "s", f"t{number}", "2026-02-09", "/p", "failed", "too long", 1.0)
        for number in range(3)
    )
    ledger.close()
    monkeypatch.delenv("MEMSEARCH_NO_SERVICE")
    listing = ["agents", "coverage", "--list", "failed"]
    assert run([*listing, "-k", "2"]) == 0
    said = capsys.readouterr()
    assert said.out.count("too long") == 2 and "1 older turn left out: `-k 3`" in said.err
    assert run([*listing, "-k", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["turns"]), found["left_out"]) == (2, 1)
    assert run(listing) == 0
    said = capsys.readouterr()
    assert said.out.count("too long") == 3 and not said.err
    assert run([*listing[:-1], "orphaned"]) == 1
    assert "no turn is orphaned" in capsys.readouterr().err
