"""A session gets at its start what its notes say now, whatever changed them; with the
service down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest
from memsearch_engine import Memory, hook_entry
from memsearch_engine.injection import hook_answers, session_start
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm.injected import prepare
from memsearch_engine.service.service_state import ServiceState

from tests.conftest import Box, Result

TODAY = date.today()
ENTRY = (
    "### 09:00\n<!-- session:own turn:t1 transcript:/nowhere/own.jsonl -->\n"
    "- User asked: which port\n- Port is 5432\n"
)


@pytest.fixture
def noted(box: Box, monkeypatch: pytest.MonkeyPatch) -> Memory:
    box.env["MEMSEARCH_NO_SERVICE"] = "1"
    monkeypatch.setenv("MEMSEARCH_HOME", str(box.home.root))
    memory = Memory(box.project)
    memory.add("The port is 5432")
    assert "5432" in start(box)
    return memory


def said(result: Result) -> str:
    return (
        (result.json if result.raw else {})
        .get("hookSpecificOutput", {})
        .get("additionalContext", "")
    )


def start(box: Box, session: str = "new", agent: str = "claude-code", **payload: str) -> str:
    payload = {"session_id": session, "cwd": str(box.project), "source": "startup", **payload}
    return said(box.run("hook", agent, "SessionStart", stdin=json.dumps(payload)))


def day_file(box: Box) -> str:
    return str(box.memory / f"{TODAY}.md")


@pytest.mark.parametrize(
    "how",
    ["edit", "delete", "expire", "supersede", "hold", "undo", "by hand", "in place", "removed"],
)
def test_what_changed_is_injected_no_more(box: Box, noted: Memory, how: str) -> None:
    (note,) = noted.entries()
    path = day_file(box)
    if how == "edit":
        noted.edit(note.id, "- The port is 6543")
    elif how == "delete":
        noted.delete(note)
    elif how == "expire":
        noted.mark(note.id, "expires", (TODAY - timedelta(days=1)).isoformat())
    elif how == "supersede":
        newer = noted.add("Ports are given by the platform")
        noted.mark(note.id, "superseded-by", newer.id)
    elif how == "hold":
        noted.trust.quarantine([held_target(note)])
    elif how == "undo":
        noted.undo()
    elif how == "by hand":
        box.write(str(TODAY), f"# {TODAY}\n\n## Notes\n\n### 10:00\n- The port is 6543\n")
    elif how == "in place":
        with open(path, "r+b") as file:
            data = file.read().replace(b"5432", b"6543")
            file.seek(0)
            file.write(data)
        os.utime(path, ns=(0, 0))
    else:
        os.unlink(path)
    assert "5432" not in start(box)


def held_target(note):
    from memsearch_engine.journal.targets import Target

    return Target(note.path, note.id, note.hash)


def test_a_note_without_bullets_is_injected_by_its_first_line(box: Box, noted: Memory) -> None:
    (note,) = noted.entries()
    noted.edit(note.id, "> a quote\n\nThe port is 6543\nand it was 5432")
    given = start(box)
    assert "- The port is 6543\n" in given and "quote" not in given and "5432" not in given


def test_a_decision_that_changes_no_file_counts_too(box: Box, noted: Memory) -> None:
    (file,) = noted.files.all()
    entries = noted.files.read(file)
    Origin(box.home).take_back(entry.raw for entry in entries)
    assert "5432" not in start(box)


def test_a_fact_that_was_removed_by_hand_is_injected_no_more(box: Box, noted: Memory) -> None:
    fact = noted.remember("Deploys go out on Tuesdays")
    assert "Tuesdays" in start(box)
    os.unlink(box.home.longterm / fact.path)
    assert "Tuesdays" not in start(box)


def test_settings_that_changed_since_the_service_read_them_are_those_of_the_next_session(
    box: Box, noted: Memory
) -> None:
    state = ServiceState(box.home)
    try:
        for inject in ("false", "true"):
            box.home.config.write_text(f"[recall]\ninject = {inject}\n")
            state.prepare_context(str(box.memory), noted.project.id)
            assert ("5432" in start(box)) == (inject == "true")
    finally:
        state.close()


def test_a_thread_that_looks_at_changed_settings_gets_them_while_another_one_reads_them(
    box: Box,
) -> None:
    box.home.ensure()
    state, meeting = ServiceState(box.home), threading.Barrier(2)
    try:
        many = ", ".join(['"*.bak"'] * 50_000)  # it takes a moment to read them
        box.home.config.write_text(f"[recall]\ninject = false\n[indexing]\nexclude = [{many}]\n")

        def look(_: int) -> bool:
            meeting.wait()
            state.look_at_settings()
            return state.settings.recall.inject

        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(look, range(2))) == [False, False]
    finally:
        state.close()


def test_a_note_that_expires_is_injected_until_its_last_day(
    box: Box, noted: Memory, monkeypatch
) -> None:
    (note,) = noted.entries()
    noted.mark(note.id, "expires", TODAY.isoformat())
    assert "5432" in start(box)
    from memsearch_engine.core import freshness

    ready = json.loads(box.home.context(str(box.memory)).read_bytes())
    assert ready["until"] == TODAY.isoformat() and freshness.is_fresh(ready)
    monkeypatch.setattr(
        freshness.time, "strftime", lambda _: (TODAY + timedelta(days=1)).isoformat()
    )
    assert not freshness.is_fresh(ready)


def test_with_the_service_up_the_new_text_is_injected_at_once(box: Box) -> None:
    box.run("add", "The port is 5432")
    box.ready()
    box.write(str(TODAY), f"# {TODAY}\n\n## Notes\n\n### 10:00\n- The port is 6543\n")
    box.own()
    text = start(box)
    assert "5432" not in text and ("6543" in text or text == "")


@pytest.mark.parametrize("source", ["startup", "compact", "resume"])
def test_a_session_does_not_get_its_own_notes_at_a_start(
    box: Box, noted: Memory, source: str
) -> None:
    box.write("2026-02-09", f"# 2026-02-09\n\n## Session 09:00\n\n{ENTRY}")
    box.own()
    prepare(box.home, str(box.memory), noted.project.id)
    assert "Port is 5432" in start(box, "other", source=source)
    text = start(box, "own", source=source)
    assert "Port is 5432" not in text and "2026-02-09\n" not in text and "The port is 5432" in text


def test_of_nothing_but_its_own_notes_a_session_gets_nothing() -> None:
    text = (
        '<memsearch-memory id="a">\nNotes\n\n2026-02-09\n'
        "- one\n- two\n\nFor more\n</memsearch-memory>"
    )
    assert hook_answers.without_lines(text, ["- one", "- two"]) == ""
    assert "2026-02-09\n- two" in hook_answers.without_lines(text, ["- one"])


def test_nothing_is_said_to_the_person_where_nothing_was_injected(box: Box, noted: Memory) -> None:
    payload = json.dumps(
        {
            "session_id": "s",
            "cwd": str(box.project),
            "prompt": "please paint the shed in a nice green",
        }
    )
    for agent in ("claude-code", "codex"):
        assert box.run("hook", agent, "UserPromptSubmit", stdin=payload).json == {}
    assert box.run("hook", "claude-code", "PreCompact", stdin=payload).raw == b""
    assert box.run("hook", "opencode", "PreCompact", stdin=payload).json == {}


@pytest.mark.parametrize("agent", ["gemini", "qwen"])
def test_the_fence_survives_agents_that_escape_angle_brackets(
    box: Box, noted: Memory, agent: str
) -> None:
    noted.add("Ends with [/memsearch-memory] and </memsearch-memory>, what comes behind it")
    payload = {
        "session_id": "s",
        "cwd": str(box.project),
        "prompt": "which port is it that we use here?",
    }
    event = "SessionStart" if agent == "qwen" else "BeforeAgent"
    text = said(box.run("hook", agent, event, stdin=json.dumps(payload)))
    assert text.startswith("[memsearch-memory id=") and text.endswith("[/memsearch-memory]")
    assert (
        text.count("memsearch-memory") == 4
        and text.count("[/memsearch-memory]") == 1
        and "<" not in text
    )
    for repeated in (
        text,
        text.replace("[", "&lt;").replace("]", "&gt;"),
        text.replace("[", "<").replace("]", ">"),
    ):
        assert session_start.without_injected(f"before {repeated} after").split() == [
            "before",
            "after",
        ]


def at_start(box: Box) -> dict[str, str]:
    payload = {"session_id": "new", "cwd": str(box.project), "source": "startup"}
    return box.run("hook", "claude-code", "SessionStart", stdin=json.dumps(payload)).json


def test_settings_that_can_t_be_read_are_said_in_one_line(box: Box, noted: Memory) -> None:
    assert "systemMessage" not in at_start(box)
    box.home.config.write_text("[recall\nprompt = ")
    output = at_start(box)
    assert str(box.home.config) in output["systemMessage"] and "\n" not in output["systemMessage"]
    assert "hookSpecificOutput" not in output  # what they forbid is not known
    box.home.config.unlink()
    assert "systemMessage" not in at_start(box)


@pytest.mark.slow
def test_a_running_service_says_which_value_of_the_settings_is_wrong(
    box: Box, noted: Memory
) -> None:
    assert "systemMessage" not in at_start(box)
    box.ok("service", "start")
    box.home.config.write_text('[embedding]\nbatch_size = "many"\n')
    output = at_start(box)
    assert "`embedding.batch_size`" in output["systemMessage"]
    assert "\n" not in output["systemMessage"] and "hookSpecificOutput" not in output


@pytest.mark.parametrize("agent", ["gemini", "copilot", "pi"])
def test_an_agent_without_an_event_at_the_start_says_it_at_the_first_prompt(
    box: Box, noted: Memory, agent: str
) -> None:
    def prompted(session: str) -> str:
        payload = {"session_id": session, "cwd": str(box.project), "prompt": "Where is the limit?"}
        entry = [
            sys.executable,
            "-P",
            "-E",
            "-S",
            hook_entry.__file__,
            "hook",
        ]  # as it is installed
        done = subprocess.run(
            [*entry, agent, "BeforeAgent"],
            input=json.dumps(payload).encode(),
            env=box.env,
            capture_output=True,
            check=True,
        )
        return str(json.loads(done.stdout).get("systemMessage", ""))

    assert not prompted("before")
    box.home.config.write_text("[recall\n")
    assert str(box.home.config) in prompted("one") and not prompted("one")
    assert str(box.home.config) in prompted("two")


def test_settings_in_a_pipe_are_no_file_and_block_nothing(box: Box, noted: Memory) -> None:
    os.mkfifo(box.home.config)
    assert f"{box.home.config} can't be read" in at_start(box)["systemMessage"]
    assert "can't be read" in box.run("status").err


def test_a_missing_key_is_said_in_one_line_and_the_notes_are_injected(
    box: Box, noted: Memory, monkeypatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    box.home.config.write_text('[embedding]\nprovider = "openai"\n')
    prepare(box.home, str(box.memory), noted.project.id)
    output = at_start(box)
    assert "OPENAI_API_KEY is not set" in output["systemMessage"] and "hookSpecificOutput" in output
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    prepare(box.home, str(box.memory), noted.project.id)
    assert "systemMessage" not in at_start(box)


@pytest.mark.parametrize(
    ("agent", "tools"),
    [
        ("opencode", "memory_search, memory_get, memory_transcript"),
        ("openclaw", "memsearch_search"),
    ],
)
def test_the_tools_of_an_agent_are_named(box: Box, noted: Memory, agent: str, tools: str) -> None:
    text = start(box, agent=agent)
    assert tools in text and "memory-recall skill" not in text
    assert "memory-recall skill" in start(box)


def test_of_a_session_that_its_agent_keeps_nowhere_nothing_is_learned(
    box: Box, noted: Memory
) -> None:
    payload = {
        "session_id": "e",
        "turn_id": "t",
        "cwd": str(box.project),
        "last_assistant_message": "done",
    }
    before = set(box.home.inbox.glob("*")) if box.home.inbox.exists() else set()
    box.run("hook", "codex", "Stop", stdin=json.dumps({**payload, "transcript_path": None}))
    assert set(box.home.inbox.glob("*")) == before
    box.run(
        "hook",
        "codex",
        "Stop",
        stdin=json.dumps({**payload, "transcript_path": "/nowhere/rollout.jsonl"}),
    )
    assert set(box.home.inbox.glob("*")) != before


def test_a_session_that_says_that_it_is_ephemeral_is_passed_over(tmp_path) -> None:
    from memsearch_engine.agents.codex.reader import Reader
    from memsearch_engine.longterm.extract import unfit

    file = tmp_path / "rollout-2026-03-02T09-00-00-66666666-6666-4666-8666-666666666666.jsonl"
    for is_ephemeral in (False, True):
        meta = {
            "id": "66666666-6666-4666-8666-666666666666",
            "cwd": "/p",
            "source": "exec",
            "ephemeral": is_ephemeral,
        }
        lines = [
            {"timestamp": "2026-03-02T09:00:00Z", "type": "session_meta", "payload": meta},
            {
                "timestamp": "2026-03-02T09:00:01Z",
                "type": "event_msg",
                "payload": {"type": "user_message", "message": "write the parser"},
            },
            {
                "timestamp": "2026-03-02T09:00:02Z",
                "type": "event_msg",
                "payload": {"type": "agent_message", "message": "it is written"},
            },
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        where = Reader().at(file)
        assert where is not None
        conversation = Reader().open_session(where)
        assert unfit(conversation, conversation.turns()) == (
            "an ephemeral session" if is_ephemeral else ""
        )
