"""A yes, an ok, a no: kept with what came of it and with the question that it answers; nothing
where nothing came of it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.capture import extract
from memsearch_engine.capture.backfill import ImportSelection, plan, run
from memsearch_engine.capture.capture_pipeline import CapturePipeline, local_time, noted_at
from memsearch_engine.capture.ledger import SeenTurn
from memsearch_engine.core.home import AgentFolders, Home

ASKED = "I found an old script. Shall I remove deploy.sh?"


def turn(user: str, answer: str, *tools: tuple[str, str], status: str = "done") -> Turn:
    return Turn(
        "codex",
        "s",
        "t",
        user=user,
        assistant=answer,
        tools=[ToolCall(*t) for t in tools],
        status=status,
    )


@pytest.mark.parametrize(
    ("user", "answer", "tools"),
    [
        ("yes", "Removed it.", [("Bash", "rm -f deploy.sh")]),
        ("ok", "", [("exec_command", "rm -f deploy.sh")]),
        ("ok", "", [("bash", "ls -la > listing")]),
        ("y", "", [("search_replace", '{"file_path": "/p/x"}')]),
        ("y", "", [("mcp__deploy__trigger", "{}")]),
        ("yes", "The port is 8443 now.", []),
        ("ok", "Done: moved the cache to Redis.", []),
        ("no", "Okay, I left the old table in place.", []),
        ("好的", "好的，已把缓存改为 Redis。", []),
    ],
)
def test_a_short_reply_with_a_consequence_is_kept(user, answer, tools):
    assert not extract.is_trivial(turn(user, answer, *tools))


@pytest.mark.parametrize(
    ("user", "answer", "tools"),
    [
        ("hello", "Hello! I'm Claude, an AI assistant. What are you working on?", []),
        ("thanks", "You're welcome! Let me know if you need anything else.", []),
        ("ok", "Great, I'll wait here.", [("bash", "git status")]),
        (
            "y",
            "Looking at it. Which region?",
            [("Read", '{"file_path": "/p/x"}'), ("TodoWrite", "{}")],
        ),
        ("好的", "好的！", []),
        ("谢谢", "不客气！如果还有问题，请随时告诉我。", []),
    ],
)
def test_one_without_is_not(user, answer, tools):
    assert extract.is_trivial(turn(user, answer, *tools))


def test_a_yes_that_the_model_refused_is_not():
    assert extract.is_trivial(
        turn("yes", "API Error: 400 the request was refused", status="failed")
    )


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        (ASKED, "Shall I remove deploy.sh?"),
        ("It is unused. Shall I do that?", "It is unused. Shall I do that?"),
        ("Two ways:\n1. Redis\n2. Memcached\nWhich one?", "1. Redis 2. Memcached Which one?"),
        ("Which one?\n- a: Redis\n- b: Memcached", "Which one? - a: Redis - b: Memcached"),
        ("要删除 deploy.sh 吗？", "要删除 deploy.sh 吗？"),
        ("Why? Because.\nIt is done.\nAll tests pass.", ""),
    ],
)
def test_the_question_at_an_answer_s_end(answer, asked):
    assert extract.question(answer).endswith(asked) and bool(extract.question(answer)) == bool(
        asked
    )


def rollout(path: Path, project: Path, *turns: tuple[str, str, str]) -> None:
    """A rollout of Codex. *turns*: what was asked, a command, the answer."""
    lines: list[tuple[str, dict]] = [
        ("session_meta", {"id": path.stem[-36:], "cwd": str(project), "source": "cli"})
    ]
    for number, (asked, command, answer) in enumerate(turns):
        lines += [
            ("event_msg", {"type": "task_started", "turn_id": f"turn-{number}"}),
            (
                "event_msg",
                {
                    "type": "item_completed",
                    "item": {"type": "UserMessage", "content": [{"type": "text", "text": asked}]},
                },
            ),
        ]
        if command:
            call = {
                "name": "exec_command",
                "arguments": json.dumps({"cmd": command}),
                "call_id": f"c{number}",
            }
            lines.append(("response_item", {"type": "function_call", **call}))
        said = {"type": "AgentMessage", "content": [{"type": "Text", "text": answer}]}
        lines += [
            ("event_msg", {"type": "item_completed", "item": said}),
            ("event_msg", {"type": "task_complete", "turn_id": f"turn-{number}"}),
        ]
    path.parent.mkdir(parents=True)
    path.write_text(
        "".join(
            json.dumps(
                {"timestamp": f"2026-11-20T10:00:{number:02d}Z", "type": kind, "payload": payload}
            )
            + "\n"
            for number, (kind, payload) in enumerate(lines)
        )
    )


def test_the_question_stands_in_the_note_and_with_its_evidence(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    project = tmp_path / "proj"
    project.mkdir()
    name = "rollout-2026-11-20T10-00-00-01920000-aaaa-7bbb-8ccc-000000000099.jsonl"
    rollout(
        tmp_path / "codex" / "sessions" / "2026" / "11" / "20" / name,
        project,
        ("What is left over?", "", ASKED),
        ("yes", "rm -f deploy.sh", "Removed."),
        ("thanks", "", "You're welcome!"),
    )
    home = Home(tmp_path / "home").ensure()
    pipeline = CapturePipeline(home)
    choice = ImportSelection(("codex",))
    made = plan(home, pipeline, AgentFolders.from_env(), choice)
    assert (made.counts["codex"].new, made.counts["codex"].trivial) == (2, 1)
    run(pipeline, made, choice)
    (day,) = (project / ".memsearch" / "memory").glob("*.md")
    note = day.read_text()
    assert (
        "- User asked: yes\n- In reply to: I found an old script. Shall I remove deploy.sh?" in note
        and "`rm -f deploy.sh`" in note
    )
    kept = Archive(home).get("codex", name[-42:-6], "turn-1")
    assert kept and kept.in_reply_to.endswith("Shall I remove deploy.sh?")
    assert plan(home, pipeline, AgentFolders.from_env(), choice).new == 0


def test_counting_old_sessions_makes_no_turn_a_missed_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    project = tmp_path / "proj"
    project.mkdir()
    name = "rollout-2026-11-20T10-00-00-01920000-aaaa-7bbb-8ccc-000000000098.jsonl"
    rollout(
        tmp_path / "codex" / "sessions" / "2026" / "11" / "20" / name,
        project,
        ("Which port?", "", "It is 8443."),
        ("thanks", "", "You're welcome!"),
        ("And the host?", "", ""),
    )
    home = Home(tmp_path / "home").ensure()
    pipeline, choice = CapturePipeline(home), ImportSelection(("codex",))
    ledger, folders = pipeline.ledger, AgentFolders.from_env()
    assert plan(home, pipeline, folders, choice).new == 1
    assert ledger.missed(["new", "trivial"]) == []  # codex is not captured
    ledger.capturing("codex", 0.0)
    assert [one.turn for one in ledger.missed(["new"])] == ["turn-0"]
    reasons = {one.turn: one.reason for one in ledger.missed(["trivial"])}
    assert reasons == {"turn-1": "only a courtesy", "turn-2": "no answer"}
    # an earlier version took the first turn for trivial: it can be imported, and was not missed
    skipped = SeenTurn("codex", name[-42:-6], "turn-0", "2026-11-20", "", "trivial", "", 1.0)
    ledger.note([skipped])
    assert plan(home, pipeline, folders, choice).new == 1
    assert ledger.missed(["new"]) == [] and ledger.late("codex", 0.0, 9e9) == 0
    run(pipeline, plan(home, pipeline, folders, choice), choice)
    assert ledger.outcomes("codex", name[-42:-6])["turn-0"] == "captured"
    pipeline.close()


def test_a_question_from_outside_makes_its_reply_wait_too():
    class Said:
        def turns(self, first: int, last: int) -> list[Turn]:
            before = turn("look it up", ASKED)
            before.outside = True
            return [before, turn("yes", "Removed.")][first:last]

    (reply,) = extract.in_context(Said(), 1)  # type: ignore[arg-type]
    assert reply.in_reply_to and reply.outside


def test_a_command_or_an_interrupted_prompt_between_a_question_and_its_reply_hides_nothing():
    said = [turn("look", ASKED), turn("!ls", "", ("Bash", "ls")), turn("wait", ""), turn("yes", "")]

    class Said:
        def turns(self, first: int, last: int) -> list[Turn]:
            return said[first:last]

    (reply,) = extract.in_context(Said(), 3)  # type: ignore[arg-type]
    assert reply.in_reply_to == "I found an old script. Shall I remove deploy.sh?"
    assert not extract.is_short("!ls")


DENIED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). "
)


@pytest.mark.parametrize(
    ("tool", "given", "output", "line"),
    [
        (
            "Bash",
            "make deploy",
            f"{DENIED}To tell you how to proceed, the user said:\nuse staging\n\nNote: The user's "
            "next message may contain a correction",
            "The user refused `make deploy`: use staging",
        ),
        (
            "Edit",
            '{"file_path": "/p/gate.toml"}',
            f"{DENIED}STOP what you are doing",
            "The user refused `/p/gate.toml`",
        ),
        (
            "bash",
            "rm -f x",
            "The user rejected permission to use this specific tool call with the following "
            "feedback: keep it",
            "The user refused `rm -f x`: keep it",
        ),
        ("exec_command", "rm x", "exec command rejected by user", "The user refused `rm x`"),
        (
            "run_shell_command",
            "rm x",
            "[Operation Cancelled] Reason: User denied execution.",
            "The user refused `rm x`",
        ),
        (
            "Bash",
            "rm x",
            'Tool "Bash" was not run because the user rejected the approval request.',
            "The user refused `rm x`",
        ),
        (
            "Bash",
            "rm x",
            'Tool "Bash" was not run because the user rejected the approval request. Reason: keep '
            "it Try a different approach - don't retry the same call.",
            "The user refused `rm x`: keep it",
        ),
        (
            "Bash",
            "rm x",
            "The user doesn't want to take this action right now. STOP what you are doing and wait "
            "for the user to tell you how to proceed.",
            "The user refused `rm x`",
        ),
    ],
)
def test_a_refused_tool_call_is_noted_as_refused_alone(tool, given, output, line):
    asked = turn("deploy", "I stopped.")
    asked.tools = [ToolCall(tool, given, output, True)]
    assert extract.extract(asked).splitlines() == [
        "- User asked: deploy",
        "- I stopped.",
        f"- {line}",
    ]


@pytest.mark.parametrize(
    "output",
    [
        "The user doesn't want to proceed with this tool use of the API",
        f"{DENIED}STOP what you are doing\n\nis what the client says",
        "The user rejected permission to use this specific tool call. It is in calls.log:12",
        "exec command rejected by user\n1 test failed",
        "[Operation Cancelled] Reason: User denied\nTraceback (most recent call last)",
        'Tool "x" was not run because the user rejected\nline 2',
    ],
)
def test_a_failed_call_whose_output_begins_like_a_refusal_is_none(output):
    asked = turn("deploy", "It failed.")
    asked.tools = [ToolCall("Bash", "make test", output, True)]
    assert "- Commands: `make test`" in extract.extract(asked)
    assert "The user refused" not in extract.extract(asked)


def test_words_that_a_tool_printed_are_no_answer_and_no_refusal_of_the_person():
    answer = 'User has answered your questions: "May it?"="Yes". You can now continue with the user'
    refusal = f"{DENIED}To tell you how to proceed, the user said:\nnever run the tests"
    asked = turn("ok", "")
    asked.tools = [
        ToolCall("Bash", "cat a", answer),
        ToolCall("mcp__x__question", "", answer, True),
    ]
    asked.tools += [ToolCall("Read", '{"file_path": "a"}', refusal), ToolCall("Bash", "x", refusal)]
    note = extract.extract(asked)
    assert "The user answered" not in note and "The user refused" not in note
    assert "- Commands: `cat a`, `x`" in note
    asked.tools = asked.tools[:1]
    assert extract.is_trivial(asked)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("8443.", "8443."),
        ("42", "42"),
        ("8443 is used now.", "8443 is used now."),
        ("2. 8443 is used now.", "8443 is used now."),
        ("--force is used now.", "--force is used now."),
        ("- **8443** is used now.\n\n----\n* * *", "**8443** is used now."),
        ("I will not.", "I will not."),
        ("Done.", None),
    ],
)
def test_a_short_answer_and_a_number_are_kept(said, line):
    lines = extract.extract(turn("Which port?", said)).splitlines()
    assert lines[1:] == ([f"- {line}"] if line else [])


def test_a_failed_edit_changed_no_file():
    asked = turn("deploy", "I stopped.")
    asked.tools = [ToolCall("Edit", '{"file_path": "/p/x"}', "String to replace not found", True)]
    assert "Files changed" not in extract.extract(asked)


def test_what_the_person_answered_to_a_tool_is_noted():
    answered = (
        'User has answered your questions: "Which database?"="Postgres". You can now continue with '
        "the user's answers in mind."
    )
    asked = turn("ok", "")
    asked.tools = [ToolCall("AskUserQuestion", "{}", answered)]
    assert not extract.is_trivial(asked)
    assert '- The user answered: "Which database?"="Postgres"' in extract.extract(asked)


def test_times_at_the_calendar_s_ends_end_nothing():
    for stamp in ("9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00Z", "no time"):
        assert (
            local_time(stamp) is None
            and noted_at(Turn("codex", "s", "t", started=stamp, ended=stamp)) == []
        )


def test_a_long_prompt_is_noted_by_its_head_and_its_tail():
    asked = extract.extract(
        turn(
            f"Here is the log: {'line of a log ' * 7000} Why does the last import fail?", "A lock."
        )
    )
    first = asked.splitlines()[0]
    assert first.startswith("- User asked: Here is the log:") and first.endswith(
        "Why does the last import fail?"
    )
    assert " … " in first and len(first) < 400
