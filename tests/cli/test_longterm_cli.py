"""The long-term commands as a person and a program use them, with the service."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.conftest import Box, until
from tests.mock_model import MockModel


@pytest.fixture
def model():
    made = MockModel(_answers())
    yield made
    made.close()


def _answers():
    lesson = {
        "raw_memory": "- (everywhere) Answer in British English",
        "rollout_summary": "About spelling.",
        "rollout_slug": None,
    }
    steps: list = []

    def reply(request):
        text = json.dumps(request)
        if "finished session of a coding agent" in text:
            return json.dumps(lesson)
        if not steps:
            name = text.split("## [mem:")[1][:8]
            body = f"## Everywhere\n- Answer in British English [mem:{name}]\n"
            steps.extend(
                [
                    ("write_file", {"path": "MEMORY.md", "content": body}),
                    ("write_file", {"path": "memory_summary.md", "content": f"v1\n\n{body}"}),
                    "done",
                ]
            )
        return steps.pop(0)

    return reply


def session(box: Box, name: str = "11111111-2222-4333-8444-555555555555") -> str:
    folder = box.user / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True, exist_ok=True)
    common = {
        "sessionId": name,
        "cwd": str(box.project),
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 90000)),
    }
    lines = [
        {
            "type": "user",
            "promptId": "p1",
            "promptSource": "typed",
            "message": {"content": "Please write colour, not color"},
        },
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "I will."}]}},
    ]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({**line, **common}) + "\n" for line in lines))
    os.utime(path, (time.time() - 90000,) * 2)
    return name


def configured(box: Box, model: MockModel) -> Box:
    for key, value in {
        "llm.providers.mine.base_url": f"{model.url}/v1",
        "llm.providers.mine.model": "m",
        "llm.providers.mine.api_key": "k",
        "longterm.extract.provider": "mine",
        "longterm.consolidate.provider": "mine",
    }.items():
        box.ok("config", "set", key, value)
    return box


@pytest.mark.slow
def test_a_fact_is_injected_and_taken_out_and_brought_back(box):
    note = box.ok("remember", "Deploys go out on Tuesdays", "--json").json
    assert (
        note["id"] in box.ok("context", "codex").out
        and "Tuesdays" in box.ok("longterm", "show").out
    )
    shown = box.ok("forget", "--dry-run", "deploys", "--json").json["would_forget"]
    assert [row["line"] for row in shown] == ["Deploys go out on Tuesdays"]
    assert box.run("forget", "deploys").code == 2  # asks, and there is nobody to answer
    number = box.ok("forget", "deploys", "--yes", "--json").json["number"]
    assert "Tuesdays" not in box.ok("context", "codex").out
    assert box.run("forget", "deploys", "--yes").code == 1
    assert "Tuesdays" in box.ok("longterm", "show", "--forgotten").out
    box.ok("longterm", "restore", str(number))
    assert "Tuesdays" in box.ok("context", "codex").out


@pytest.mark.slow
def test_nothing_runs_without_a_model_of_the_owner_s_choice(box):
    session(box)
    done = box.run("longterm", "run", "--wait")
    assert done.code == 2 and "longterm.extract.provider" in done.err
    assert box.run("longterm", "run").code == 2
    state = box.ok("longterm", "status", "--json").json
    assert state["sessions"][0]["reason"] == "due" and any(
        "off:" in text for text in state["problems"]
    )


@pytest.mark.slow
def test_run_review_inject_and_run_again(box, model):
    name = session(configured(box, model))
    done = box.ok("longterm", "run", "--wait", "--json").json
    assert done["extracted"]["succeeded"] == 1 and done["consolidated"]["state"] == "review"
    proposal = box.ok("longterm", "review", "--json").json["proposal"]
    first, second = (f"{proposal['id']}.{hunk['number']}" for hunk in proposal["hunks"])
    assert box.run("longterm", "review", "accept").code == 2
    box.ok("longterm", "review", "accept", second)
    box.ok("longterm", "review", "reject", first)
    injected = box.ok("context", "claude-code", "--json").json
    assert "British English" in injected["text"] and injected["tokens"] > 0
    assert "nothing new" in box.ok("longterm", "run", "--wait").out
    assert box.run("longterm", "review").code == 1
    (row,) = box.ok("longterm", "show", "--json").json["memories"]
    assert (row["session"], row["cited"]) == (name, 0) and row["forget_on"]
    assert "Answer in British English" in box.ok("longterm", "show", row["id"]).out
    assert box.ok("longterm", "show", "--json").json["memories"][0]["read"] == 1
    assert "longterm" in box.ok("spend").out
    backup = box.ok("longterm", "clear", "--yes", "--json").json["backup"]
    assert os.path.getsize(backup) > 0 and box.run("longterm", "show").code == 1


@pytest.mark.slow
def test_the_service_does_it_in_the_background_and_injects_it(box, model):
    session(configured(box, model))
    box.ok("config", "set", "longterm.auto_accept", "true")
    assert box.ok("longterm", "run", "--json").json["state"] == "started"
    until(
        lambda: (
            "British" in box.ok("longterm", "show", "--text", "--all").out
            if box.run("longterm", "show", "--text", "--all").code == 0
            else ""
        ),
        30,
        "consolidated",
    )
    box.ok("add", "a note, so that there is a folder to tell about")
    context = box.home.context(str(box.memory))
    until(lambda: context.exists() and "British" in context.read_text(), 15, "injected")


@pytest.mark.slow
def test_a_session_is_disabled_by_a_word(box, model):
    name = session(configured(box, model))
    box.ok("longterm", "mode", "claude-code", name, "disabled")
    assert box.ok("longterm", "run", "--wait", "--json").json["extracted"]["succeeded"] == 0
    assert "disabled by you" in box.ok("longterm", "status", "--all").out


@pytest.mark.slow
def test_opening_a_note_or_its_conversation_counts_as_reading_its_session(box, model):
    session(configured(box, model))
    box.ok("longterm", "run", "--wait", "--phase", "1")
    box.ok("import", "--all", "--yes")
    (entry,) = box.ok("entries", "--json").json["entries"]

    def read() -> int:
        return box.ok("longterm", "show", "--json").json["memories"][0]["read"]

    box.ok("edit", entry["entry_id"], "--text", "- other words")
    box.index()  # a service that runs has it a moment later
    box.ok("export", "--query", "words")
    box.ok("delete", entry["entry_id"], "--yes")
    box.ok("undo")
    assert read() == 0  # what is thrown away has not been of use
    box.ok("expand", entry["entry_id"])
    assert read() == 1
    box.ok("transcript", entry["entry_id"])
    assert read() == 1  # once a day
