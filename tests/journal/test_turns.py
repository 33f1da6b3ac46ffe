"""Which turns a memory folder has: notes of memsearch that name a session and no turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.model import Turn
from memsearch_engine.capture.capture_pipeline import noted_at
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.turns import KnownTurns

_NOTE = """# {day}

## Session {time}

### {time}
<!-- session:s1 rollout:/home/u/.codex/sessions/rollout-s1.jsonl -->
- User asked why the importer loses rows of customers.csv
- Codex changed read_rows() in importer.py so that a row with a quote is read
"""
ASKED = "Why does the importer lose rows of customers.csv?"
ANSWERED = "read_rows() in importer.py split at quotes. A row with a quote is read now."


def known(folder: Path, turn: Turn) -> bool:
    anchor = Anchor(turn.session, turn.turn, turn.agent)
    text = f"{turn.user}\n{turn.assistant}"
    return KnownTurns(str(folder)).has(anchor, (), noted_at(turn), text=text)


def turn(
    user: str = ASKED, answer: str = ANSWERED, session: str = "s1", ended: str = "10:00"
) -> Turn:
    stamp = f"2026-11-20T{ended}:30Z"
    return Turn("codex", session, "t" * 36, stamp, stamp, user=user, assistant=answer)


@pytest.mark.parametrize(
    ("day", "time"),
    [
        ("2026-11-20", "10:00"),
        ("2026-11-20", "10:01"),  # its script ended in the next minute
        ("2026-11-20", "20:00"),
        ("2026-11-20", "15:31"),
        ("2026-11-19", "23:00"),
        ("2026-11-21", "00:01"),
    ],
)
def test_a_note_of_memsearch_is_its_turn_s_in_any_time_zone(tmp_path, day, time):
    (tmp_path / f"{day}.md").write_text(_NOTE.format(day=day, time=time))
    assert known(tmp_path, turn())
    assert not known(tmp_path, turn(session="s2"))
    other = turn("Which port does the proxy use?", "8443, set in proxy.toml.", ended="11:00")
    assert known(tmp_path, other) == (f"{day} {time}" in noted_at(other))


def test_a_later_turn_on_the_same_subject_is_not_the_one_that_was_noted(tmp_path):
    (tmp_path / "2026-11-20.md").write_text(_NOTE.format(day="2026-11-20", time="20:00"))
    assert not known(tmp_path, turn(ended="10:12"))


def test_a_note_that_is_appended_later_is_compared_too(tmp_path):
    file = tmp_path / "2026-11-20.md"
    file.write_text("# 2026-11-20\n")
    turns = KnownTurns(str(tmp_path))
    asked = turn()
    anchor, text = Anchor(asked.session, asked.turn, asked.agent), f"{ASKED}\n{ANSWERED}"
    assert not turns.has(anchor, (), noted_at(asked), text=text)
    with open(file, "a") as out:
        out.write(_NOTE.format(day="2026-11-20", time="20:00"))
    assert turns.has(anchor, (), noted_at(asked), text=text)
