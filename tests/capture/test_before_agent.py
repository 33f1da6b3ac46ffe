"""An agent with one place for what is injected at a session's start and at a prompt (Gemini CLI's
``BeforeAgent``): injected once, again where it was lost, and nothing is left behind where there is
nothing to tell.
"""

from __future__ import annotations

import html
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from memsearch_engine.agents.copilot.reader import Reader as CopilotReader

from tests.conftest import Box, until
from tests.evaluation.recall import chats
from tests.injection.corpus import prepared, work_was_done

HEAD = {
    "sessionId": "5e551011-0000-4000-8000-000000000001",
    "projectHash": "0" * 64,
    "kind": "main",
}
START = {
    "$set": {
        "messages": [{"id": "c", "type": "user", "content": [{"text": "<session_context>\nhello"}]}]
    }
}


def user(number: int, words: str, injected: str = "") -> dict:
    """A prompt as the client keeps it, with what a hook said beside it."""
    hook = (
        [{"text": f"<hook_context>{html.escape(injected, quote=False)}</hook_context>"}]
        if injected
        else []
    )
    return {
        "id": f"u{number}",
        "type": "user",
        "content": [{"text": words}, *hook],
        "displayContent": [{"text": words}],
    }


@pytest.fixture
def injected(box: Box, tmp_path: Path):
    """Ask the hook at a prompt of the session whose lines are given: what it says."""
    file = tmp_path / "session-2026-11-25T03-00-5e551011.jsonl"

    def ask(*lines: dict, event: str = "BeforeAgent", agent: str = "gemini", **more: object) -> str:
        file.write_text(
            "".join(
                json.dumps(line, separators=(",", ":")) + "\n" for line in (HEAD, START, *lines)
            )
        )
        payload = {
            "session_id": HEAD["sessionId"],
            "transcript_path": str(file),
            "cwd": str(box.project),
            "prompt": "ok",
            "hook_event_name": event,
        }
        done = box.ok(
            "hook",
            agent,
            event,
            stdin=json.dumps({**payload, **more}),
            env={"MEMSEARCH_NO_SERVICE": "1"},
        )
        return done.json.get("hookSpecificOutput", {}).get("additionalContext", "")

    return ask


def test_context_comes_with_the_first_prompt_and_again_only_where_it_was_lost(box: Box, injected):
    box.ok("add", "The staging database moved to Postgres 16")
    text = injected()
    assert "Postgres 16" in text
    answered = {"id": "g", "type": "gemini", "content": "Fine."}
    assert injected(user(1, "first", text), answered) == ""
    assert (
        injected(user(1, "word " * 4000, text), answered) == ""
    )  # however long the prompt before it
    dropped = {"$set": {"messages": START["$set"]["messages"]}}
    assert "Postgres 16" in injected(
        user(1, "first", text), dropped
    )  # cancelled, refused or rewound: the model has it no more
    kept = {"$set": {"messages": [*START["$set"]["messages"], user(1, "first", text)]}}
    assert injected(user(1, "first", text), answered, kept) == ""  # resumed
    summed_up = {
        "$set": {
            "messages": [
                {
                    "id": "s",
                    "type": "user",
                    "content": [{"text": "<state_snapshot>We talked</state_snapshot>"}],
                }
            ]
        }
    }
    assert "Postgres 16" in injected(user(1, "first", text), answered, summed_up)
    mentioned = {
        "id": "t",
        "type": "user",
        "content": [
            {"functionResponse": {"response": {"output": "grep: <state_snapshot> in a file"}}}
        ],
    }
    assert injected(user(1, "first", text), mentioned) == ""


def test_a_project_without_notes_leaves_nothing_in_the_queue(box: Box, injected):
    for number in range(3):
        assert injected(user(number, "hello")) == ""
    assert not box.home.inbox.exists() or not list(box.home.inbox.iterdir())


def test_a_transcript_that_is_no_file_keeps_nobody_waiting(box: Box, injected, tmp_path):
    box.ok("add", "The staging database moved to Postgres 16")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "Postgres 16" in injected(transcript_path=str(pipe))
    for agent, event in (("qwen", "SessionStart"), ("gemini", "BeforeAgent")):
        assert "Postgres 16" in injected(
            event=event, agent=agent, source="resume", transcript_path=str(pipe)
        )
        assert "Postgres 16" in injected(
            event=event, agent=agent, source="resume", transcript_path=7
        )


@pytest.mark.slow
def test_an_answer_bears_the_name_that_the_agent_calls_the_event_by(box: Box):
    """Qwen Code and Gemini CLI get before an action what they can only get with its
    result.
    """
    box.home.ensure().config.write_text("[recall]\nwait_ms = 3000\n")
    work_was_done(box)
    prepared(box)
    payload = {
        "session_id": "s",
        "cwd": str(box.project),
        "tool_name": "run_shell_command",
        "tool_input": {"command": "alembic upgrade head"},
    }
    for agent, event in (("qwen", "PostToolUse"), ("gemini", "AfterTool")):
        done = box.ok(
            "hook",
            agent,
            "PreToolUse",
            stdin=json.dumps({**payload, "session_id": agent, "hook_event_name": event}),
        ).json
        assert (
            done["hookSpecificOutput"]["hookEventName"] == event
            and "tenant" in done["hookSpecificOutput"]["additionalContext"]
        )


def test_sessions_are_captured_where_a_variable_moves_nothing_but_them(box: Box):
    moved = box.root / "moved"
    when = datetime.now(UTC)
    said = [
        chats.Said(
            "qwen",
            "5e551011-0000-4000-8000-000000000001",
            "5e551011-0000-4000-8000-000000000011",
            when,
            "which isolation level?",
            "Payouts run in SERIALIZABLE.",
        )
    ]
    chats._WRITERS["qwen"](moved / "projects", box.project, said[0].session, said)
    payload = {"session_id": said[0].session, "cwd": str(box.project), "hook_event_name": "Stop"}
    box.ok(
        "hook",
        "qwen",
        "Stop",
        stdin=json.dumps(payload),
        env={"QWEN_RUNTIME_DIR": str(moved), "QWEN_HOME": str(box.root / "home-of-qwen")},
    )
    until(lambda: "SERIALIZABLE" in box.run("entries", "--json").out, 30, "the turn is noted")


def copilot(box: Box, session: str, *events: dict) -> dict:
    """What the hook answers at a prompt of a session with these events; Copilot CLI does not say
    where its file lies.
    """
    file = box.user / ".copilot" / "session-state" / session / "events.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    payload = {
        "session_id": session,
        "cwd": str(box.project),
        "prompt": "ok",
        "hook_event_name": "UserPromptSubmit",
    }
    return box.ok(
        "hook",
        "copilot",
        "BeforeAgent",
        stdin=json.dumps(payload),
        env={"MEMSEARCH_NO_SERVICE": "1"},
    ).json


def test_copilot_gets_context_in_its_own_shape_and_again_after_a_compaction(box: Box):
    box.ok("add", "The staging database moved to Postgres 16")
    answer = copilot(box, "one")
    assert list(answer) == ["additionalContext"] and "Postgres 16" in answer["additionalContext"]
    kept = f"first\n\n<system_reminder>\n{answer['additionalContext']}\n</system_reminder>"
    injected = {
        "type": "user.message",
        "data": {"content": "first", "transformedContent": kept, "messageId": "m"},
    }
    assert copilot(box, "one", injected) == {}
    by_another = {
        "type": "hook.end",
        "data": {"output": {"additionalContext": answer["additionalContext"]}},
    }
    assert (
        copilot(box, "one", by_another) != {}
    )  # what was said at a start is gone with its process
    compacted = {
        "type": "session.compaction_complete",
        "data": {"success": True, "summaryContent": "We talked."},
    }
    assert "Postgres 16" in copilot(box, "one", injected, compacted)["additionalContext"]
    failed = {
        "type": "session.compaction_complete",
        "data": {"success": False, "summaryContent": "We talked."},
    }
    assert copilot(box, "one", injected, failed) == {}  # it has all that it had
    summary = CopilotReader().compaction_summary
    assert summary(compacted) == "We talked." and summary(failed) is None
    for name in ("../one", "..", "a/b"):
        outside = {
            "session_id": name,
            "cwd": str(box.project),
            "prompt": "ok",
            "hook_event_name": "UserPromptSubmit",
        }
        done = box.ok(
            "hook",
            "copilot",
            "BeforeAgent",
            stdin=json.dumps(outside),
            env={"MEMSEARCH_NO_SERVICE": "1"},
        )
        assert "Postgres 16" in done.json["additionalContext"]  # no file is looked into


def test_a_plugin_that_knows_its_branch_is_believed(box: Box, injected):
    """pi's file holds what was said on branches that were left."""
    box.ok("add", "The staging database moved to Postgres 16")
    line = {
        "type": "custom_message",
        "customType": "memsearch",
        "content": injected(agent="pi", told=False),
    }
    assert "Postgres 16" in line["content"]
    assert injected(line, agent="pi") == "" and "Postgres 16" in injected(
        line, agent="pi", told=False
    )
    assert injected(agent="pi", told=True) == ""


@pytest.mark.slow
def test_a_session_in_any_folder_that_the_agent_was_given_is_captured(box: Box, tmp_path: Path):
    said = [
        chats.Said(
            "pi",
            "work",
            "5e551011-0000-4000-8000-000000000010",
            datetime.now(UTC),
            "which one?",
            "Postgres 16, as decided.",
        )
    ]
    chats._WRITERS["pi"](tmp_path / "elsewhere", box.project, "work", said)
    (file,) = (tmp_path / "elsewhere").rglob("*.jsonl")
    flat = tmp_path / "flat" / file.name
    flat.parent.mkdir()
    file.rename(flat)
    payload = {
        "session_id": "work",
        "transcript_path": str(flat),
        "cwd": str(box.project),
        "hook_event_name": "Stop",
    }
    box.ok("hook", "pi", "Stop", stdin=json.dumps(payload))
    (entry,) = until(lambda: box.run("entries", "--json").json["entries"], what="the turn is noted")
    assert "Postgres 16, as decided" in entry["content"]
    # two dashes in a row, as in every folder of pi's, are no comment's end; the anchor's path is
    # the file's all the same
    opened = box.ok("transcript", entry["entry_id"], "--json").json
    assert opened["path"] == str(flat) and opened["state"] == "live"


@pytest.mark.slow
def test_an_anchors_path_is_the_files_whatever_dashes_it_has(box: Box):
    said = [
        chats.Said(
            "pi",
            "work",
            "5e551011-0000-4000-8000-000000000010",
            datetime.now(UTC),
            "which one?",
            "Postgres 16, as decided.",
        )
    ]
    chats._WRITERS["pi"](box.user / ".pi" / "agent", box.project, "work", said)
    (file,) = (box.user / ".pi").rglob("*.jsonl")
    assert "--" in str(file)
    box.ok("import", "pi", "--yes")
    (entry,) = box.ok("entries", "--json").json["entries"]
    assert (
        entry["anchor"]["transcript"] == str(file)
        and "--" not in entry["content"].partition("<!--")[2].partition("-->")[0]
    )
