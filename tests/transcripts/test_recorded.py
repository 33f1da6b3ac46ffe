"""What Claude Code 2.1.330 wrote of sessions in which words used to be lost: commands, skills,
typed ahead, forks, sub-agents that were sent off. Recorded from the real client; lines of other
kinds were left out. Expectations are the recorder's notes, not a reader's output; so of Qwen Code
and Gemini CLI.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts import locate
from memsearch_engine.agents.transcripts.model import Conversation, Turn
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.core.home import Home
from memsearch_engine.journal.files import read_day

HERE = Path(__file__).parent / "recorded"


def opened(name: str) -> Conversation:
    return locate.open_session(locate.recognise(str(HERE / f"{name}.jsonl")))


def said(name: str) -> list[tuple[str, str, str]]:
    """(what was asked, up to the mock's script; what was answered; status)"""
    return [
        (turn.user.partition(" <<")[0], turn.assistant, turn.status)
        for turn in opened(name).turns()
    ]


def test_commands_and_skills_that_the_user_calls_are_his_words():
    assert said("commands") == [
        ("Hello, ordinary turn", "hi there", "done"),
        ("/fixit the importer leaks", "fixed it", "done"),
        ("/polish", "polished", "done"),
        ("last ordinary", "bye", "done"),
    ]
    assert [(turn.user.partition(" <<")[0], turn.assistant) for turn in opened("skill").turns()][
        0
    ] == (
        "/tidy the parser",
        "tidied it",
    )


@pytest.mark.parametrize("agent", ["qwen", "gemini"])
def test_commands_and_skills_typed_into_other_agents_are_the_persons_words(agent):
    """Typed into the screens of Qwen Code 0.24.4 and Gemini CLI 0.61.0, one after the other."""
    typed = ["plain one", "/review the importer", "/tidy the parser", "plain two"]
    assert [(asked, status) for asked, _, status in said(f"{agent}-commands")] == [
        (words, "done") for words in typed
    ]


def test_what_is_typed_while_it_works_is_kept():
    (turn,) = opened("absorbed").turns()
    assert (
        "work on it" in turn.user
        and "second message, als" in turn.user
        and turn.assistant == "ALL DONE"
    )
    turns = opened("queued").turns()
    assert (
        "queued A" in turns[1].user and "queued B" in turns[1].user
    )  # they waited together and are answered together
    assert "queued C" in turns[2].user and len(turns) == 4
    assert turns[1].assistant == "answer B" and turns[3].user == "/fixit queued slash"


def test_a_fork_s_copies_are_the_same_turns_and_its_own_are_others():
    names = {name: opened(name).ids for name in ("original", "fork", "fork-of-fork")}
    assert names["fork"][:2] == names["original"][:2] == names["fork-of-fork"][:2]
    assert (
        names["fork-of-fork"][2] == names["fork"][2] and names["fork"][2] not in names["original"]
    )
    assert len({*names["original"], *names["fork"], *names["fork-of-fork"]}) == 6
    fork = opened("fork")
    shared = next(name for name, turn in fork.aliases.items() if turn == fork.ids[2])
    assert (
        fork.find(shared) == 2
    )  # the prompt id that the copies bear, too, is the Stop hook's for the fork's own turn
    assert [turn.aliases for turn in fork.turns()[:2]] == [[], []]


def test_a_sub_agent_that_was_sent_off_reports_into_its_turn():
    (turn,) = opened("async").turns()
    assert "final: the agent found x" in turn.assistant and "the subagent" in turn.tools[0].output
    assert "launched successfully" not in turn.tools[0].output


def keep(pipeline: CapturePipeline, turn: Turn, memory: str) -> str:
    return pipeline.capture(turn, opened("async").where, memory=memory).outcome


def test_forks_of_forks_are_one_entry_a_turn_whatever_comes_first(tmp_path):
    memory = str(tmp_path / "p" / ".memsearch" / "memory")
    for order in (("original", "fork", "fork-of-fork"), ("fork-of-fork", "fork", "original")):
        home = Home(tmp_path / order[0]).ensure()
        folder = f"{memory}-{order[0]}"
        pipeline = CapturePipeline(home)
        for name in order:
            for turn in opened(name).turns():
                keep(pipeline, turn, folder)
        pipeline.close()
        bodies = [e.body for path in Path(folder).glob("*.md") for e in read_day(path).entries]
        assert len(bodies) == 6 and len(set(bodies)) == 6, bodies


def test_a_turn_that_grows_updates_its_entry_while_nobody_has_edited_it(tmp_path):
    memory = str(tmp_path / "p" / ".memsearch" / "memory")
    home = Home(tmp_path / "home").ensure()
    pipeline = CapturePipeline(home)
    (turn,) = opened("async").turns()
    early = Turn(
        **{
            **{f: getattr(turn, f) for f in turn.__struct_fields__},
            "assistant": "launched, waiting",
        }
    )
    keep(pipeline, early, memory)
    (day,) = Path(memory).glob("*.md")
    assert "found x" not in day.read_text()
    keep(pipeline, turn, memory)
    assert "found x" in day.read_text() and len(read_day(day).entries) == 1
    pipeline.journal.undo(memory)
    assert "found x" not in day.read_text()
    entry = read_day(day).entries[0]
    from memsearch_engine.journal.targets import target_of

    pipeline.journal.edit(memory, target_of(str(day), entry), "- my own words")
    turn.assistant += "\n\nand more"
    keep(pipeline, turn, memory)
    assert read_day(day).entries[0].body == "- my own words"
    pipeline.close()


def test_a_deleted_turn_stays_deleted_under_its_older_name(tmp_path):
    """Version 0.1 named turns by their prompt id."""
    memory = str(tmp_path / "p" / ".memsearch" / "memory")
    home = Home(tmp_path / "home").ensure()
    pipeline = CapturePipeline(home)
    turn = opened("commands").turns()[0]
    old = Turn(
        **{
            **{f: getattr(turn, f) for f in turn.__struct_fields__},
            "turn": turn.aliases[0],
            "aliases": [],
        }
    )
    keep(pipeline, old, memory)
    assert keep(pipeline, turn, memory) == "captured"
    (day,) = Path(memory).glob("*.md")
    assert len(read_day(day).entries) == 1
    from memsearch_engine.journal.targets import target_of

    pipeline.journal.delete(memory, [target_of(str(day), read_day(day).entries[0])])
    assert keep(pipeline, turn, memory) == "deleted" and read_day(day).entries == []
    pipeline.close()


def test_opencode_s_forks_copy_turns_under_their_first_names():
    path = str(HERE / "opencode-fork.db")
    with sqlite3.connect(path) as db:
        names = [name for (name,) in db.execute("SELECT id FROM session ORDER BY time_created")]
    sessions = [locate.open_session(locate.recognise(path, name)) for name in names]
    every = [turn for session in sessions for turn in session.turns()]
    assert len(sessions) >= 3 and len(every) > len({turn.turn for turn in every})
    words: dict[str, set[str]] = {}
    for turn in every:
        words.setdefault(turn.turn, set()).add(turn.user)
    assert all(len(said) == 1 for said in words.values())  # one name, one request
    assert len(words) == len({turn.user for turn in every})
    copied = next(turn for turn in sessions[-1].turns() if turn.aliases)
    assert sessions[-1].find(copied.aliases[0]) == sessions[-1].find(copied.turn) >= 0
