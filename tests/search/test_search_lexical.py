"""Search by words as the app asks at every key."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
from memsearch_engine import Memory
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog


def test_one_letter_gives_the_notes_indexed_last_that_begin_a_word_with_it(box):
    for day, words in (
        ("2026-01-01", "redis redis redis"),
        ("2026-01-02", "nothing of it"),
        ("2026-01-03", "a long note about rollouts"),
    ):
        box.write(day, f"### 10:00\n- {words}\n")
    box.index()
    memory = Memory(str(box.project), home=box.home)
    try:
        assert [hit.row.day for hit in memory.queries.lexical("r").hits] == [
            "2026-01-03",
            "2026-01-01",
        ]
        assert [hit.row.day for hit in memory.queries.lexical("redis r").hits] == [
            "2026-01-01"
        ]  # beside a word, a letter says nothing yet
    finally:
        memory.close()


def test_notes_in_a_script_without_blanks_are_found_by_a_part_of_their_words(box):
    notes = {
        "เราตัดสินใจให้เซิร์ฟเวอร์ทดสอบใช้พอร์ต 8443": "พอร์ตของเซิร์ฟเวอร์ทดสอบ",
        "ຖານຂໍ້ມູນໃຊ້ພອດໃໝ່": "ພອດຖານຂໍ້ມູນ",
        "ဒေတာဘေ့စ်ကိုအသစ်ပြောင်းသည်": "အသစ်ဒေတာဘေ့စ်",
        "ម៉ាស៊ីនមេប្រើច្រកថ្មី": "ច្រកម៉ាស៊ីនមេ",
    }
    for number, text in enumerate(notes, 1):
        box.write(f"2026-01-0{number}", f"### 10:00\n- {text}\n")
    box.index()
    memory = Memory(str(box.project), home=box.home)
    try:
        for number, query in enumerate(notes.values(), 1):
            assert memory.queries.lexical(query).hits[0].row.day == f"2026-01-0{number}"
    finally:
        memory.close()


def test_notes_in_such_a_script_that_an_earlier_version_indexed_are_read_again_once(box):
    thai = "เราตัดสินใจให้เซิร์ฟเวอร์ทดสอบใช้พอร์ต"
    box.write("2026-01-01", f"### 10:00\n- {thai}\n")
    box.write("2026-01-02", "### 10:00\n- The port is 8443\n")
    box.index()
    box.ok("service", "stop")
    with contextlib.closing(sqlite3.connect(box.home.cache_db)) as db, db:
        db.execute("DROP TABLE IF EXISTS pairs")
        # the terms of 0.5.0: one of the whole sentence
        found = db.execute("SELECT id FROM chunks WHERE text LIKE ?", (f"%{thai}%",)).fetchone()
        db.execute("UPDATE words SET terms=?, written=? WHERE rowid=?", (thai, thai, *found))

    def rows() -> dict[str, int]:
        with contextlib.closing(sqlite3.connect(box.home.cache_db)) as db:
            return dict(db.execute("SELECT day, id FROM files").fetchall())

    before = rows()
    box.index()
    with contextlib.closing(Catalog(box.home.cache_db)) as catalog:
        assert analyze.terms(thai) in catalog.terms(range(9)).values()
    after = rows()
    assert after["2026-01-02"] == before["2026-01-02"] and len(after) == 2
    box.ok("service", "stop")
    box.index()
    assert rows() == after


@pytest.mark.slow
def test_words_that_no_note_has_are_named(box):
    box.write(
        "2026-01-01",
        "### 10:00\n"
        "- The orders service keeps its sessions in Redis, maxRetries 5, by fetchUsers.\n",
    )
    box.index()
    for word in ("maxRetries", "maxretries", "fetchUsers", "users", "order"):
        assert box.ok("search", f"{word} sessions", "--json", "--no-wait").json["absent"] == [], (
            word
        )
    for flags in ([], ["--no-wait"]):
        found = box.ok("search", "mongodb sessions of the orderz", "--json", *flags).json
        assert found["absent"] == ["mongodb"] and found["corrected"] == {"orderz": ["orders"]}, (
            flags,
            found,
        )
    said = box.run("search", "mongodb", "--mode", "lexical")
    assert said.code == 1 and "no note has 'mongodb'" in said.err
    assert (
        box.ok("search", "redis sess", "--json").json["absent"] == []
    )  # the beginning of a word that is there
    assert box.ok("search", "的 redis", "--json").json["absent"] == []


@pytest.mark.slow
def test_an_excluded_word_anywhere_in_a_note_leaves_it_out_by_meaning_too(box):
    filler = "\n\n".join(f"Redis part {n}: " + "sessions expire late. " * 20 for n in range(9))
    box.write(
        "2026-01-01",
        f"### 10:00\n{filler}\n\nThe last line names the payroll server.\n\n"
        "### 11:00\n- Redis sessions on a small note\n",
    )
    box.index()
    for query, times in (("redis sessions -payroll", {"11:00"}), ('redis "payroll"', {"10:00"})):
        found = box.ok("search", query, "--json").json
        assert found["mode"] == "hybrid"
        assert {hit["time"] for hit in found["hits"]} == times
    entry = box.ok("entries", "--json").json["entries"]
    long = next(note["entry_id"] for note in entry if note["time"] == "10:00")
    why = box.run("search", "redis sessions -payroll", "--why-not", long)
    assert "leaves it out" in why.out + why.err
