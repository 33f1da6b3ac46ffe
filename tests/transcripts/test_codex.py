"""Codex's sessions: turns, sub-agents, outside content, versions."""

from __future__ import annotations

import json
from pathlib import Path

import zstandard
from memsearch_engine.actions import work
from memsearch_engine.agents.codex.reader import Reader as Codex
from memsearch_engine.agents.transcripts import locate
from memsearch_engine.agents.transcripts.model import Conversation

codex = Codex()

SAMPLES = Path(__file__).parent.parent / "samples"


def test_a_compressed_rollout_reads_like_the_plain_one(tmp_path):
    plain = next((SAMPLES / "codex").glob("01*.jsonl"))
    packed = tmp_path / "rollout-2026-11-21T20-31-52-01a1ffce-e968-7731-882d-a909fd6e2d46.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    one, other = (locate.open_session(locate.recognise(str(path))) for path in (plain, packed))
    assert one.turns() == other.turns() and other.turns(1, 2) == one.turns()[1:2]
    assert other.where.session == "01a1ffce-e968-7731-882d-a909fd6e2d46"


def rollout(tmp_path, *lines: dict, meta: dict | None = None) -> Conversation:
    file = tmp_path / "rollout-x.jsonl"
    first = {
        "type": "session_meta",
        "payload": {"id": "t", "cwd": "/p", "source": "cli", **(meta or {})},
    }
    file.write_text("".join(json.dumps(line) + "\n" for line in (first, *lines)))
    return codex.open_session(codex.at(file))


def event(kind: str, **payload) -> dict:
    return {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "event_msg",
        "payload": {"type": kind, **payload},
    }


def test_a_command_that_the_person_refused_has_failed(tmp_path):
    refused = "exec command rejected by user"
    head = "Wall time: 1 seconds\nProcess exited with code"
    printed = f"{head} 0\nOutput:\n{refused}", f"{head} 1\nOutput:\n{refused}"
    outputs = refused, *printed, *printed
    calls: list[dict] = []
    for number, output in enumerate(outputs):
        call = {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "rm x"}'}
        result = {"type": "function_call_output", "output": output}
        for payload in (call, result):
            calls.append({"type": "response_item", "payload": {**payload, "call_id": str(number)}})
    shown = [
        event(
            "item_completed",
            item={
                "type": "CommandExecution",
                "id": name,
                "aggregated_output": refused,
                "exit_code": code,
            },
        )
        for name, code in (("0", -1), ("3", 0), ("4", 2))
    ]
    (turn,) = rollout(tmp_path, event("user_message", message="go"), *calls, *shown).turns()
    assert [call.failed for call in turn.tools] == [True, False, True, False, True]
    assert [work.refusal(call) for call in turn.tools] == ["", None, None, None, None]


def test_codex_an_aborted_turn_is_interrupted_and_a_compaction_is_none(tmp_path):
    said = rollout(
        tmp_path,
        event("task_started", turn_id="a"),
        event("user_message", message="go"),
        event("agent_message", message="so far"),
        event("turn_aborted", turn_id="a", reason="interrupted"),
        event("task_started", turn_id="compact"),
        {"type": "compacted", "payload": {}},
        event("task_complete", turn_id="compact"),
        event("task_started", turn_id="b"),
        event("user_message", message="again"),
        event("user_message", message="and this"),
        event("agent_message", message="done"),
        event("task_complete", turn_id="b"),
    )
    assert said.ids == ["a", "b"]
    first, second = said.turns()
    assert (first.status, first.assistant) == ("interrupted", "so far")
    assert (second.user, second.status) == ("again\n\nand this", "done")


def test_codex_a_sub_agents_rollout_names_its_parent(tmp_path):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "mother"}}}
    assert rollout(tmp_path, meta={"source": source}).parent == "mother"
    assert (
        rollout(tmp_path, meta={"thread_source": "subagent", "parent_thread_id": "m2"}).parent
        == "m2"
    )
    assert rollout(tmp_path).parent == ""


def test_codex_web_search_and_mcp_are_outside_content(tmp_path):
    call = {
        "type": "response_item",
        "payload": {"type": "web_search_call", "id": "w", "action": {"query": "q"}},
    }
    said = rollout(
        tmp_path, event("task_started", turn_id="a"), event("user_message", message="look"), call
    )
    assert said.turns()[0].outside and said.turns()[0].tools[0].name == "web_search"


def test_codex_versions_without_turn_ids_still_have_turns(tmp_path):
    said = rollout(
        tmp_path,
        event("user_message", message="one"),
        event("agent_message", message="1"),
        {**event("user_message", message="two"), "timestamp": "2026-01-01T00:00:05Z"},
        event("agent_message", message="2"),
    )
    assert said.ids == ["t:2026-01-01T00:00:00Z", "t:2026-01-01T00:00:05Z"] and [
        t.user for t in said.turns()
    ] == [
        "one",
        "two",
    ]
    assert said.turns(1, 2)[0].assistant == "2"


def for_model(text: str) -> dict:
    payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"timestamp": "2026-01-01T00:00:02Z", "type": "response_item", "payload": payload}


def ran(command: str, output: str, code: int = 0, warning: str = "") -> dict:
    """Return the line that Codex writes for ``!command``, in all versions."""
    return for_model(
        f"<user_shell_command>\n<command>\n{command}\n</command>\n<result>\nExit code: {code}\n"
        f"Duration: 0.0309 seconds\n{warning}Output:\n{output}\n</result>\n</user_shell_command>"
    )


def test_codex_a_command_that_the_person_ran_is_a_turn(tmp_path):
    item = {
        "type": "CommandExecution",
        "id": "4a7161c1-bd49-4d56-b22d-47d4d14752fb",
        "command": ["/bin/zsh", "-lc", "git status"],
        "source": "user_shell",
        "aggregated_output": "clean\n",
        "exit_code": 0,
    }
    said = rollout(
        tmp_path,
        event("task_started", turn_id="a"),
        event("item_completed", item=item),
        ran("git status", "clean\n"),
        event("task_complete", turn_id="a"),
        event("task_started", turn_id="b"),
        event("user_message", message="go"),
        ran("make\nmake test", "no rule\n", 2, "Warning: truncated output\n"),
        event("agent_message", message="done"),
        event("task_complete", turn_id="b"),
        event("task_started", turn_id="c"),
        ran("rm x", "command aborted by user", -1),
        event("turn_aborted", turn_id="c"),
    )
    assert said.ids == ["a", "b", "c"]
    turns = said.turns()
    assert [turn.user for turn in turns] == ["!git status", "go\n\n!make\nmake test", "!rm x"]
    assert [turn.status for turn in turns] == ["done", "done", "interrupted"]
    calls = [(call.input, call.output, call.failed) for turn in turns for call in turn.tools]
    assert calls == [
        ("git status", "clean\n", False),
        ("make\nmake test", "no rule\n", True),
        ("rm x", "command aborted by user", True),
    ]
    assert said.turns(1, 2) == turns[1:2]


def test_codex_a_command_is_a_turn_in_versions_without_tasks(tmp_path):
    said = rollout(
        tmp_path,
        event("user_message", message="one"),
        event("agent_message", message="1"),
        ran("ls", "a.py"),
        {**event("user_message", message="two"), "timestamp": "2026-01-01T00:00:05Z"},
    )
    turns = said.turns()
    assert [(turn.user, turn.status) for turn in turns] == [
        ("one", "done"),
        ("!ls", "done"),
        ("two", "interrupted"),
    ]
    assert [turn.turn for turn in turns] == said.ids


def test_codex_a_task_for_a_goal_is_a_turn(tmp_path):
    text = "Continue working toward the active thread goal.\n\n"
    early = (
        f"<goal_context>\n{text}<untrusted_objective>\nFix CI\n</untrusted_objective>\n"
        "</goal_context>"
    )
    now = (
        f'<codex_internal_context source="goal">\n{text}<objective>\nFix CI\nand release\n'
        "</objective>\n\nBudget:\n- Tokens used: 0\n</codex_internal_context>"
    )
    lines = []
    for name, context in ("a", early), ("b", now):
        lines += [
            event("task_started", turn_id=name),
            for_model(context),
            event("agent_message", message=f"Done {name}."),
            event("task_complete", turn_id=name),
        ]
    words = [
        event("task_started", turn_id="c"),
        for_model(now),
        event("user_message", message="and tag it"),
    ]
    said = rollout(tmp_path, *lines, *words)
    assert said.ids == ["a", "b", "c"]
    assert [(turn.user, turn.assistant) for turn in said.turns()] == [
        ("/goal Fix CI", "Done a."),
        ("/goal Fix CI\nand release", "Done b."),
        ("and tag it", ""),
    ]


def test_codex_the_person_s_words_about_an_order_are_no_order(tmp_path):
    said = rollout(
        tmp_path,
        event("task_started", turn_id="a"),
        for_model("What is <user_shell_command>\n<command>\nrm x\n</command>?"),
        {"type": "response_item", "payload": {"type": "message", "role": "assistant"}},
        event("task_complete", turn_id="a"),
    )
    assert said.ids == []


def test_codex_a_turn_that_only_an_error_answers_has_failed(tmp_path):
    error = event("error", message="Codex ran out of room in the model's context window.")
    lines = [event("task_started", turn_id="a"), event("user_message", message="go"), error]
    ended = event("task_complete", turn_id="a", last_agent_message=None)
    (turn,) = rollout(tmp_path, *lines, ended).turns()
    assert (turn.status, turn.assistant) == ("failed", error["payload"]["message"])
    tried_again = [event("agent_message", message="Done."), {**ended}]
    tried_again[1]["payload"] = {**ended["payload"], "last_agent_message": "Done."}
    assert rollout(tmp_path, *lines, *tried_again).turns()[0].status == "done"


def test_codex_s_words_for_a_review_are_not_the_person_s(tmp_path):
    sent = {
        "/review": "current code changes (staged, unstaged, and untracked files) and provide "
        "prioritized findings.",
        "/review main": "code changes against the base branch 'main'. Run `git diff 0a1` to "
        "inspect the changes relative to main. Provide prioritized, actionable findings.",
        "/review commit 0a1b2c3": 'code changes introduced by commit 0a1b2c3 ("Fix"). Provide '
        "prioritized, actionable findings.",
        "Review the current code changes and fix them": "current code changes and fix them",
    }
    lines = []
    for name, words in enumerate(sent.values()):
        asked = event("user_message", message=f"Review the {words}")
        answer = event("agent_message", message=f"Answer {name}.")
        lines += [event("task_started", turn_id=str(name)), asked, asked, answer]
    turns = rollout(tmp_path, *lines).turns()
    assert [(turn.user, turn.assistant) for turn in turns] == [
        (words, f"Answer {name}.") for name, words in enumerate(sent)
    ]
