"""Turns that a second process prepares: the same as in one process, whatever becomes of it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.capture.preparing import TurnPreparer, prepare
from memsearch_engine.core.home import Home
from memsearch_engine.journal.write import Journal

_TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").ensure()


@pytest.fixture
def preparer(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[TurnPreparer]:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with contextlib.closing(TurnPreparer(home)) as made:
        made.start()
        yield made


def _turns(count: int) -> list[list[Turn]]:
    calls = [ToolCall("Bash", "env", f"KEY={_TOKEN}\n\u2028"), ToolCall("Edit", "a.py", "x", True)]
    return [
        [Turn("codex", "s", f"t{n}", user=f"Fix\ncase {n} with {_TOKEN}", assistant=f"Done: é{n}.")]
        for n in range(count - 1)
    ] + [[Turn("codex", "s", "last", user="Env?", assistant="<!-- x", tools=calls, outside=True)]]


def test_a_second_process_makes_the_same_of_a_turn(home: Home, preparer: TurnPreparer):
    groups = [*_turns(20), []]
    made = list(preparer.ahead(groups))
    assert [[turn for turn, _ in group] for group in made] == groups
    prepared = [(turn, one) for group in made for turn, one in group]
    assert prepared == [(turn, prepare(turn, Journal(home))) for (turn,) in groups[:-1]]
    assert all(one and _TOKEN not in repr(one) for _, one in prepared)


def test_half_a_surrogate_pair_stays_in_this_process(preparer: TurnPreparer):
    groups = _turns(3)
    groups[1][0].user = "half \ud83d"
    found = [bool(made) for ((_, made),) in preparer.ahead(groups)]
    assert found == [True, False, True]


def test_turns_are_yielded_unprepared_once_the_process_is_dead(preparer: TurnPreparer):
    found = []
    for number, ((turn, made),) in enumerate(preparer.ahead(_turns(40))):
        found.append((turn.turn, bool(made)))
        if number == 2:
            os.kill(preparer._child._process.pid, signal.SIGKILL)
    assert [name for name, _ in found] == [turn.turn for (turn,) in _turns(40)]
    assert [made for _, made in found[:3]] == [True] * 3 and not found[-1][1]
    preparer.start()  # it stays away
    assert list(preparer.ahead(_turns(1)))[0][0][1] is None


def test_the_process_ends_with_the_one_that_started_it(preparer: TurnPreparer):
    process = preparer._child._process
    process.stdin.close()  # as the kernel does it
    assert process.wait(60) == 0


def test_a_caller_that_stops_halfway_ends_the_process(preparer: TurnPreparer):
    process, made = preparer._child._process, preparer.ahead(_turns(20))
    next(made)
    made.close()
    assert process.returncode is not None
    assert list(preparer.ahead(_turns(1)))[0][0][1] is None


def test_one_core_is_not_shared(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with contextlib.closing(TurnPreparer(home)) as preparer:
        preparer.start()
        assert [made for ((_, made),) in preparer.ahead(_turns(2))] == [None, None]
