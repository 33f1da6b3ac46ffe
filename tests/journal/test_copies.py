"""Copies that sync programs and file managers put into a memory folder: searched, no days, no
second hits.
"""

from __future__ import annotations

import pytest
from memsearch_engine import Home, Memory
from memsearch_engine.journal.files import list_days, original_of
from memsearch_engine.search import sections

NAMES = [
    "2026-11-20.sync-conflict-20261121-101010-ABCDEFG.md",
    "2026-11-20 (Kari's conflicted copy 2026-11-21).md",
    "2026-11-20 (conflicted copy 2026-11-21 101010).md",
    "2026-11-20_conflict-20261121-101010.md",
    "2026-11-20_DESKTOP_Nov-20-101010-2026_Conflict.md",
    "2026-11-20.Conflict.md",
    "2026-11-20 (SFConflict me@example.org 2026-11-20-10-10-10).md",
    "2026-11-20 2.md",
    "2026-11-20 (1).md",
    "2026-11-20 copy.md",
    "2026-11-20 copy 2.md",
    "2026-11-20 - Copy (2).md",
    "2026-11-20 (3rd copy).md",
    "2026-11-20 - Kopie.md",
    "2026-11-20 – Kopie.md",
    "2026-11-20-DESKTOP-AB12CD3.md",
    "2026-11-20-DESKTOP-AB12.md",
    "2026-11-20-ANNA-PC-2.md",
    "2026-11-20.bak.md",
    "2026-11-20.mine.md",
    "2026-11-20.r17.md",
    "2026-11-20_conf(1).md",
    "2026-11-20-LAPTOP-7Q2KX9P-2.md",
    "2026-11-20_LOCAL_4711.md",
    "2026-11-20.orig.md",
    "2026-11-20~.md",
    "2026-11-20 - 副本.md",
    "Copy of 2026-11-20.md",
    "2026-11-20 copy.sync-conflict-20261121-101010-ABCDEFG.md",
]
OTHERS = [
    "2026-11-20-merge-conflict.md",
    "2026-11-20-2.md",
    "2026-11-20-desktop-redesign.md",
    "2026-11-20-DESKTOP-app.md",
    "2026-11-20 2 meetings.md",
    "2026-11-20 copyright.md",
]


def _day(*notes: str) -> str:
    return "# 2026-11-20\n\n## Session 09:00\n" + "".join(
        f"\n### 09:0{n}\n- {text}\n" for n, text in enumerate(notes)
    )


@pytest.fixture
def memory(tmp_path):
    folder = tmp_path / "project" / ".memsearch" / "memory"
    folder.mkdir(parents=True)
    (folder / "2026-11-20.md").write_text(_day("Lanterns are lit at dusk"))
    with Memory(folder.parent.parent, home=Home(tmp_path / "home")) as memory:
        yield memory


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_is_no_day_and_no_second_hit(memory, name):
    folder = memory.place.memory
    with open(f"{folder}/{name}", "w") as copy:
        copy.write(_day("Lanterns are lit at dusk", "Lanterns are dimmed at two"))
    assert original_of(copy.name) == f"{folder}/2026-11-20.md"
    assert [file.path for file in list_days(folder)] == [f"{folder}/2026-11-20.md"]
    assert memory.files.copies() == [(copy.name, f"{folder}/2026-11-20.md")]
    hits = memory.queries.lexical("lanterns").hits
    assert [(hit.row.path, hit.text[2:]) for hit in hits] == [
        (f"{folder}/2026-11-20.md", "Lanterns are lit at dusk"),
        (copy.name, "Lanterns are dimmed at two"),
    ]
    assert "in a copy of 2026-11-20.md" in hits[1].reasons


@pytest.mark.parametrize("name", OTHERS)
def test_a_title_is_no_copy_and_a_copy_without_its_original_is_a_day(memory, name):
    folder = memory.place.memory
    with open(f"{folder}/{name}", "w") as other:
        other.write(_day("Lanterns are lit at dusk"))
    assert not original_of(other.name) and len(list_days(folder)) == 2
    assert len(memory.queries.lexical("lanterns").hits) == 1, (
        "the same note at the same time of the same day"
    )
    assert not original_of(f"{folder}/2026-11-19 2.md") and not original_of(
        f"{folder}/chapter 2.md"
    )


def test_a_note_that_both_have_is_edited_in_the_original(memory):
    folder = memory.place.memory
    for name in ("2026-11-20.md", "2026-11-20 2.md"):
        with open(f"{folder}/{name}", "w") as file:
            file.write(
                "# 2026-11-20\n\n### 09:00\n<!-- id:0123456789ab -->\n- Lanterns are lit at dusk\n"
            )
    found = sections.find(memory._scope.catalog, memory.projects, "0123456789ab")
    assert found.path == f"{folder}/2026-11-20.md"
