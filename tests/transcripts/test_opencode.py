"""OpenCode's turns without words of the person, and its commands that fail."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from memsearch_engine.agents.opencode.reader import Reader as Opencode

opencode = Opencode()

SAMPLES = Path(__file__).parent.parent / "samples"


def test_opencode_s_command_that_ended_badly_has_failed_although_it_is_completed(tmp_path):
    path = tmp_path / "opencode.db"
    shutil.copy(SAMPLES / "opencode" / "opencode.db", path)
    query = (
        "SELECT id, session_id, data FROM part WHERE json_extract(data, "
        "'$.tool')='bash' AND json_extract(data, '$.state.status')='completed'"
    )
    with contextlib.closing(sqlite3.connect(path)) as db:
        name, session, data = db.execute(query).fetchone()

        def failed(exit_code: int) -> bool:
            part = json.loads(data)
            part["state"]["metadata"]["exit"] = exit_code
            db.execute("UPDATE part SET data=? WHERE id=?", (json.dumps(part), name))
            db.commit()
            turns = opencode.open_session(opencode.at(path, session)).turns()
            command = part["state"]["input"]["command"]
            return next(
                tool.failed for turn in turns for tool in turn.tools if tool.input == command
            )

        assert (failed(0), failed(2)) == (False, True)


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def turns_of(folder: Path, *messages: tuple[str, str, list[dict[str, Any]]]) -> list[Any]:
    """The turns of a session with *messages*: (id, the message that it answers, parts)."""
    path = folder / "opencode.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE session(id, parent_id, directory, version, time_created, time_updated);"
            "CREATE TABLE message(id, session_id, time_created, data);"
            "CREATE TABLE part(id, message_id, data);"
            "INSERT INTO session VALUES ('s', NULL, '/p', '1.18.33', 1, 1);"
        )
        for number, (name, parent, parts) in enumerate(messages):
            answers = {"role": "assistant", "parentID": parent, "finish": "stop"}
            data = json.dumps(answers if parent else {"role": "user"})
            db.execute("INSERT INTO message VALUES (?,'s',?,?)", (name, number + 2, data))
            for place, part in enumerate(parts):
                row = (f"{number}.{place}", name, json.dumps(part))
                db.execute("INSERT INTO part VALUES (?,?,?)", row)
        db.commit()
    session = opencode.open_session(opencode.at(path, "s"))
    compactions = {name for name, _, parts in messages if parts[0]["type"] == "compaction"}
    for name, parent, _ in messages:
        assert parent or name in compactions or session.find(name) >= 0, name
    return session.turns()


PICTURE = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;x"}
PAPER = {"type": "file", "mime": "application/pdf", "filename": "a.pdf", "url": "data:x"}
ASKED = [("q", "", [text("Which port?")]), ("a", "q", [text("7443.")])]


@pytest.mark.parametrize(
    ("parts", "words"),
    [([PICTURE], "[image]"), ([PICTURE, PAPER], "[image] [document]"), ([text("x"), PAPER], "x")],
)
def test_a_prompt_without_words_begins_a_turn(tmp_path, parts, words):
    turns = turns_of(tmp_path, *ASKED, ("p", "", parts), ("b", "p", [text("Seen.")]))
    assert [(turn.user, turn.assistant) for turn in turns][1:] == [(words, "Seen.")]


def test_a_command_of_the_person_is_a_turn(tmp_path):
    ran = {"status": "completed", "input": {"command": "make"}, "output": "built"}
    shell = text("The following tool was executed by the user", synthetic=True)
    tool = {"type": "tool", "tool": "bash", "callID": "c", "state": ran}
    turns = turns_of(tmp_path, *ASKED, ("p", "", [shell]), ("b", "p", [tool]))
    assert [(turn.user, turn.status) for turn in turns] == [
        ("Which port?", "done"),
        ("!make", "done"),
    ]
    assert [call.output for call in turns[1].tools] == ["built"]


def test_an_exclamation_mark_that_the_person_typed_is_no_command(tmp_path):
    ran = {"status": "completed", "input": {"command": "make"}, "output": "built"}
    tool = {"type": "tool", "tool": "bash", "callID": "c", "state": ran}
    turns = turns_of(tmp_path, *ASKED, ("p", "", [text("!")]), ("b", "p", [tool]))
    assert turns[1].user == "!"


def test_a_plugin_s_notice_is_not_the_person_s(tmp_path):
    notice = text("3 outputs were pruned", ignored=True)
    turns = turns_of(tmp_path, *ASKED, ("n", "", [notice]), ("p", "", [notice, text("Why?")]))
    assert [turn.user for turn in turns] == ["Which port?", "Why?"]


def test_what_the_client_writes_goes_on_with_the_turn(tmp_path):
    subtask = {"type": "subtask", "prompt": "Review it", "command": "review", "agent": "general"}
    turns = turns_of(
        tmp_path,
        *ASKED,
        ("c", "", [{"type": "compaction", "auto": True}]),
        ("d", "c", [text("a summary")]),
        ("e", "", [text("Continue if you have next steps, or stop", synthetic=True)]),
        ("f", "e", [text("It is in gateway.toml.")]),
        ("g", "", [subtask]),
        ("h", "", [text("Summarize the task tool output above", synthetic=True)]),
        ("i", "h", [text("Two bugs.")]),
    )
    assert [(turn.user, turn.assistant) for turn in turns] == [
        ("Which port?", "7443.\n\nIt is in gateway.toml."),
        ("Review it", "Two bugs."),
    ]
