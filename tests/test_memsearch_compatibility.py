"""A user of memsearch moves in with his settings, his scripts and his notes."""

from __future__ import annotations

import hashlib
import json
import tomllib

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import load
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.write import Journal

from tests.mock_model import MockModel

#: As its own wizard writes it.
THEIRS = """
[milvus]
uri = "~/.memsearch/milvus.db"
token = ""
collection = "memsearch_chunks"
[embedding]
provider = "local"
model = "gpahal/bge-m3-onnx-int8"
batch_size = 0
[chunking]
max_chunk_size = 1200
overlap_lines = 2
[indexing]
ignore_files = [".gitignore"]
exclude = []
[watch]
debounce_ms = 1500
[llm.providers.gem]
type = "gemini"
model = "gemini-2.5-flash"
[llm.providers.own]
type = "openai-compatible"
base_url = "http://127.0.0.1:1/v1"
[llm.providers.anthropic]
type = ""
[plugins.codex.summarize]
enabled = false
provider = ""
[plugins.claude_code.project_review]
enabled = true
[prompts]
summarize = ""
"""


@pytest.fixture
def home(tmp_path) -> Home:
    made = Home(tmp_path / "home").ensure()
    made.config.write_text(THEIRS)
    return made


def test_its_settings_stop_nothing_and_what_differs_is_said(home):
    settings = load(home)
    assert (
        settings.milvus.uri == ""
        and settings.embedding.provider == "onnx"
        and settings.embedding.model == ""
    )
    assert settings.chunking.max_chars == 1200 and settings.indexing.ignore_files == [".gitignore"]
    types = {name: provider.type for name, provider in settings.llm.providers.items()}
    assert types == {"gem": "openai", "own": "openai", "anthropic": "anthropic"}
    assert "generativelanguage" in settings.llm.providers["gem"].base_url
    said = "\n".join(settings.warnings)
    assert (
        "`embedding.provider`" in said
        and "`embedding.model`" in said
        and len(settings.warnings) == 2
    ), said


def test_a_setting_without_effect_is_accepted_with_a_warning(tmp_path):
    home = Home(tmp_path / "home").ensure()
    home.config.write_text('[search]\nrerank = "ms-marco-minilm-l6"\n')
    (warning,) = load(home).warnings
    assert "`search.rerank` has no effect" in warning


def test_a_bad_project_file_fails_its_own_keys_alone(home, tmp_path):
    file = tmp_path / ".memsearch.toml"
    file.write_text('[chunking]\nmax_chars = "many"\n[embedding]\nprovider = "openai"\n')
    settings = load(home, file)
    assert (
        settings.chunking.max_chars == 1200
        and len([w for w in settings.warnings if ".memsearch.toml" in w]) == 2
    )


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["get", "milvus.collection", "--default-collection", "ms_x"], "ms_x"),
        (["get", "plugins.codex.summarize.enabled"], "false"),
        (["get", "llm.providers.gem.model"], "gemini-2.5-flash"),
        (["get", "prompts.summarize"], ""),
        (["get", "plugins.claude-code.project_review.enabled"], "true"),
        (["get", "plugins.codex.memory_to_skill.min_occurrences"], "3"),
    ],
)
def test_its_scripts_are_answered(box, arguments, answer):
    box.home.ensure().config.write_text(THEIRS.replace('collection = "memsearch_chunks"\n', ""))
    assert box.ok("config", *arguments).out.strip() == answer


def test_its_object_of_settings_and_a_key_in_the_project(box):
    box.home.ensure().config.write_text(THEIRS)
    table = json.loads(box.ok("config", "list", "--resolved", "--json-output").out)
    assert (
        table["embedding"]["provider"] == "onnx"
        and "collection" in table["milvus"]
        and "schema_version" not in table
    )
    box.ok("config", "set", "chunking.max_chunk_size", "900", "--project")
    assert tomllib.loads((box.project / ".memsearch.toml").read_text()) == {
        "chunking": {"max_chunk_size": 900}
    }
    assert box.run("config", "set", "milvus.uri", "http://x", "--project").code == 2


@pytest.mark.slow
def test_its_flags_are_accepted_and_say_when_they_have_no_effect(box):
    box.fill()
    box.index()
    done = box.ok(
        "search",
        "redis",
        "-k",
        "500",
        "-j",
        "-p",
        "onnx",
        "--collection",
        "c",
        "--default-collection",
        "d",
        "--model",
        "m",
    )
    assert done.json and "--model has no effect" in done.err and "-p onnx" in done.err
    hit = done.json[0]["chunk_hash"]
    shown = box.ok("expand", hit, "--no-section", "-n", "1", "--milvus-uri", "x")
    assert (
        "Session: abc123  Turn: t2" in shown.out
        and "<!-- agent:claude-code session:abc123" in shown.out
    )
    assert box.ok("expand", hit, "-j").json["chunk_hash"] == hit
    assert box.ok("index", str(box.memory), "--exclude", "x", "--max-chunk-size", "9").code == 0


def test_our_anchors_end_where_its_readers_want_it():
    path = "/home/u/.claude/projects/-p/s.jsonl"
    assert (
        Anchor("s", "t", "claude-code", "transcript", path).render()
        == f"<!-- session:s turn:t transcript:{path} -->"
    )
    assert "agent:codex" in Anchor("s", "t", "codex", "transcript", path).render()


def test_what_it_captured_is_known_by_any_line_of_the_turn_and_by_its_minute(tmp_path):
    memory = str(tmp_path / "p" / ".memsearch" / "memory")
    journal = Journal(Home(tmp_path / "home").ensure())
    uuid = "7b14fd28-a015-40f3-a91c-ed1f01f726c0"
    journal.append_turn(
        memory, "2026-02-09", "10:00", "- x", Anchor("s", uuid, "claude-code", "transcript", "/x")
    )
    journal.append_turn(
        memory, "2026-02-09", "10:01", "- y", Anchor("c", "", "codex", "rollout", "/r")
    )
    ours = Anchor("s", "prompt-id", "claude-code", "transcript", "/x")
    assert not journal.append_turn(
        memory, "2026-02-09", "10:00", "- x", ours, aliases=[uuid]
    ).written
    turn = Anchor("c", "turn-of-codex", "codex", "rollout", "/r")
    assert not journal.append_turn(
        memory, "2026-02-09", "10:00", "- y", turn, times=["2026-02-09 10:01"]
    ).written
    assert journal.append_turn(
        memory, "2026-02-09", "10:30", "- z", turn, times=["2026-02-09 10:30"]
    ).written


def test_a_hook_waits_for_what_comes_late_without_keeping_the_agent(box):
    import subprocess

    from tests.conftest import until

    process = subprocess.Popen(
        box.argv("hook", "claude-code", "Stop"),
        cwd=box.project,
        env={**box.env, "MEMSEARCH_NO_SERVICE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert (
        process.stdout.read() == b"{}\n" and process.wait(30) == 0
    )  # it has ended, and nothing was said to it yet
    assert not box.home.inbox.exists() or not list(box.home.inbox.iterdir())
    process.stdin.write(b'{"session_id": "late", "cwd": "/p"}')
    process.stdin.close()
    until(
        lambda: (
            box.home.inbox.exists()
            and [f for f in box.home.inbox.glob("*.json") if "late" in f.read_text()]
        ),
        20,
        "the event",
    )


def test_a_hook_whose_stdout_is_closed_says_nothing_and_does_not_fail(box):
    done = box.run(
        "hook",
        "claude-code",
        "Stop",
        stdin="{}",
        env={"MEMSEARCH_NO_SERVICE": "1"},
        prefix=["sh", "-c", 'exec "$@" >&-', "sh"],
    )
    assert done.code == 0 and done.err == ""


# -- its hooks run our command


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", ["plugins.codex.summarize.provider", "plugins.claude_code.summarize.provider"]
)
def test_its_hooks_write_the_notes_themselves_until_a_model_is_named(box, key):
    """An answer that is neither empty nor `native` makes them call `summarize`, at each turn."""
    assert box.ok("config", "get", key).out.strip() == ""
    box.ok("config", "set", "capture.summarize.provider", "native")
    assert box.ok("config", "get", key).out.strip() == ""
    box.ok("config", "set", "plugins.codex.summarize.provider", "native")
    assert box.ok("config", "get", "plugins.codex.summarize.provider").out.strip() == "native"
    nested = box.ok("config", "list", "--resolved", "--json-output").json
    assert nested["plugins"]["codex"]["summarize"]["provider"] == "native"


@pytest.mark.slow
def test_summarize_asks_the_model_that_is_named_and_prints_bullets(box):
    model = MockModel(lambda request: "- User asked for a fix\n- Agent fixed it")
    secret = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"
    try:
        refused = box.run(
            "summarize",
            "--plugin",
            "claude-code",
            "--agent-name",
            "Claude Code",
            stdin=b"[User] fix it",
        )
        assert refused.code == 2 and refused.out == ""
        box.ok("config", "set", "llm.providers.mine.base_url", f"{model.url}/v1")
        box.ok("config", "set", "llm.providers.mine.model", "m")
        box.ok("config", "set", "llm.providers.mine.api_key", "k")
        box.ok("config", "set", "plugins.claude-code.summarize.provider", "mine")
        injected = box.ok(
            "summarize", "--plugin", "claude-code", stdin=f"[User] fix it with {secret}".encode()
        )
        assert injected.out == "- User asked for a fix\n- Agent fixed it\n"
        assert secret not in model.said() and "fix it with" in model.said()
        assert box.ok("spend", "--json").json["today_tokens"] > 0
        assert box.ok("summarize", "--plugin", "claude-code", stdin=b" \n").out == ""
        box.ok("config", "set", "capture.daily_tokens", "10")
        assert box.run("summarize", "--plugin", "claude-code", stdin=b"[User] more").code != 0
    finally:
        model.close()


def collection(folder) -> str:
    return f"ms_{folder.name}_{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"


@pytest.mark.slow
def test_its_collections_and_paths_name_a_project_from_wherever_it_calls(box):
    """OpenClaw's gateway runs in the user's home; each workspace's notes are its own."""
    works = []
    for name in ("a", "b"):
        work = box.root / f"work-{name}"
        (work / ".memsearch" / "memory").mkdir(parents=True)
        (work / ".memsearch" / "memory" / "2026-02-09.md").write_text(
            f"### 10:00\n- giraffes of {name} eat leaves\n"
        )
        works.append(work)
    for work in works:
        indexed = box.ok(
            "index",
            str(work / ".memsearch" / "memory"),
            "--collection",
            collection(work),
            cwd=box.user,
        )
        assert "1 file" in indexed.out
    for work, other in (works, works[::-1]):
        found = box.ok(
            "search",
            "giraffes",
            "--top-k",
            "5",
            "--json-output",
            "--collection",
            collection(work),
            cwd=box.user,
        ).json
        assert [hit["source"] for hit in found] == [
            str(work / ".memsearch" / "memory" / "2026-02-09.md")
        ]
        shown = box.ok(
            "expand", found[0]["chunk_hash"], "--collection", collection(work), cwd=other
        )
        assert f"giraffes of {work.name[-1]}" in shown.out
    assert (
        box.ok("project", "--all", "--json").json["projects"]
        and not (box.user / ".memsearch" / "memory").exists()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "rm -rf giraffes",
        "path:src/db.ts giraffes",
        "project:acme giraffes",
        'agent:codex "giraffes',
    ],
)
def test_its_queries_are_words_not_filters(box, query):
    box.write("2026-02-09", "### 10:00\n- giraffes eat leaves\n")
    box.index()
    found = box.ok(
        "search", query, "--top-k", "5", "--json-output", "--collection", "ms_project_00000000"
    ).json
    assert [hit["day"] for hit in found] == ["2026-02-09"]


@pytest.mark.slow
def test_its_note_on_a_stale_index_is_brought_up_to_date_and_none_is_made(box):
    box.write("2026-02-09", "### 10:00\n- giraffes eat leaves\n")
    state = box.project / ".memsearch" / ".index-state.json"
    box.index()
    assert not state.exists()
    state.write_text(
        '{"schema_version": 1, "status": "error", "last_error": "x", "operation": "index"}'
    )
    box.index()
    now = json.loads(state.read_text())
    assert (
        now["status"] == "ok"
        and now["operation"] == "index"
        and now["last_error"] is None
        and now["last_success_at"]
    )


@pytest.mark.slow
def test_its_upgrade_hint_is_warned_of(box):
    assert (
        "none that would"
        in next(c for c in box.run("doctor", "--json").json["checks"] if "plugins" in c["what"])[
            "detail"
        ]
    )
    (box.home.root / ".pypi-latest").write_text("0.4.23")
    injected = box.run("doctor")
    assert injected.code == 5 and "pip install --upgrade memsearch" in injected.out


@pytest.mark.slow
def test_its_drafts_of_skills_are_injected_at_a_session_s_start(box):
    """The one call of its plugins at each start; drafting and installing are not done here."""
    assert box.ok("skills", "status", "--hint").out == ""
    assert (
        "No candidate skill" in box.ok("skills", "status").out
        and "No skills" in box.ok("skills", "list").out
    )
    store = box.project / ".memsearch" / "skill-candidates"
    text = b"---\nname: x\n---\nDo it.\n"
    now = "gitblob:" + hashlib.sha1(b"blob %d\0" % len(text) + text).hexdigest()
    for name, installed in {"made": "", "changed": "gitblob:0", "done": now}.items():
        (store / name).mkdir(parents=True)
        (store / name / "SKILL.md").write_bytes(text)
        meta = {"description": f"{name}\x1b[2J it", "occurrences": 3, "installed_hash": installed}
        (store / name / "meta.json").write_text(json.dumps(meta))
    (store / "broken").mkdir()
    (store / "broken" / "meta.json").write_text("[")
    hint = box.ok("skills", "status", "--hint").out
    assert hint == (
        "SKILLS: 2 candidate skill versions pending install - "
        "run the memory-to-skill skill to review and install.\n"
    )
    assert "New: made; updated: changed." in box.ok("skills", "status").out
    state = box.ok("skills", "status", "-j").json
    assert (state["candidate_count"], state["pending_count"], state["pending_names"]) == (
        3,
        2,
        ["changed", "made"],
    )
    listed = box.ok("skills", "list").out
    assert "- done [candidate, seen 3x, installed]" in listed and "\x1b" not in listed
