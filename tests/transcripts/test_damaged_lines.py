"""Lines that a crash, a full disk or two writers have damaged, in every agent that writes lines of
JSON.
"""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
from memsearch_engine.agents.aider.reader import Reader as Aider
from memsearch_engine.agents.claude_code.reader import Reader as ClaudeCode
from memsearch_engine.agents.copilot.reader import Reader as Copilot
from memsearch_engine.agents.cursor.reader import Reader as Cursor
from memsearch_engine.agents.transcripts import locate
from memsearch_engine.agents.transcripts.records import DAMAGE, records

claude_code = ClaudeCode()
copilot = Copilot()
cursor = Cursor()

ROWS = [
    json.dumps(
        {
            "type": "user",
            "timestamp": f"2026-11-20T09:0{n}:00Z",
            "message": {"text": f"nr {n} \\ “ü”", "list": [{"type": "text", "n": n}]},
        }
    )
    for n in range(6)
]
A, B, C, D, E, F = (row.encode() for row in ROWS)
ZEROS = b"\0" * 50
BOM = b"\xef\xbb\xbf"


def read(data, start=0, stop=None):
    """(numbers of the rows, places, damage) that are read."""
    skipped = {}
    file = io.BytesIO(data)
    file.seek(start)
    found = list(records(file, start, stop, skipped))
    rows = [json.loads(raw)["message"]["list"][0]["n"] for _, _, raw in found]
    return rows, [offset for _, offset, _ in found], skipped


@pytest.mark.parametrize(
    "data",
    [
        A + ZEROS + b"\n" + B + b"\n" + ZEROS + b"\n" + ZEROS + C + b"\n" + D + b"\n" + ZEROS,
        BOM + A + b"\r\n" + BOM + B + b"\n" + ZEROS + BOM + C + b"\n\n" + D,
        A + B + b"\n" + C + b" " + D + b"\n",
        A + ZEROS + B + BOM + C + b"\n" + D,
        A + b"\n" + B + C[:40] + b"\n" + C + D + b"\n",
        A
        + b"\n"
        + ZEROS
        + b"rubbish\n"
        + B
        + b"\n"
        + b'"}]}}\n'
        + C
        + b"\nrest of a line}\n"
        + D
        + b"\n",
        A + b"\n" + BOM.join((B, C, D)),
    ],
    ids=range(7),
)
def test_every_whole_record_is_read_at_its_own_place(data):
    rows, places, _ = read(data)
    assert rows == [0, 1, 2, 3]
    for number, place in enumerate(places):  # an index of turns reads on from there
        assert read(data, place)[0] == rows[number:]
        assert read(data, 0, place)[0] == rows[:number]


@pytest.mark.parametrize("at", range(1, len(A)))
@pytest.mark.parametrize("between", [b"", ZEROS, b"\n", b" "], ids=range(4))
def test_a_torn_record_takes_no_other_with_it_wherever_it_is_torn(at, between):
    rows, _, skipped = read(A[:at] + between + B + b"\n" + C + b"\n")
    assert rows == [1, 2] and skipped.get("(not JSON)", 0) >= 1


@pytest.mark.parametrize("at", range(1, len(A)))
def test_a_record_without_its_beginning_gives_no_other(at):
    assert read(A[at:] + b"\n" + B + b"\n")[0] == [1]


def test_line_ends_inside_a_record_are_text():
    broken = A.replace(b"nr 0", b"nr 0\nBasic 5\n\n{ not one }\n[1]\r\n\tPremium 9\n").replace(
        b'"type"', b'\n "type"', 1
    )
    data = broken + b"\n" + B + b"\n" + broken + C + b"\n"
    found = list(records(io.BytesIO(data)))
    said = [json.loads(raw)["message"] for _, _, raw in found]
    assert [one["list"][0]["n"] for one in said] == [0, 1, 0, 2]
    assert said[0]["text"].startswith("nr 0\nBasic 5\n\n{ not one }\n[1]\r\n\tPremium 9\n")
    assert [number for number, _, _ in found] == [
        1,
        broken.count(b"\n") + 2,
        broken.count(b"\n") + 3,
        2 * broken.count(b"\n") + 3,
    ]


def test_bytes_that_are_no_text_and_zero_bytes_inside_spoil_no_record():
    data = (
        A.replace(b"nr 0", b"n\xff\xfe")
        + b"\n"
        + B.replace(b"nr 1", b"half" + ZEROS + b"rest")
        + b"\n"
    )
    said = [json.loads(raw)["message"]["text"] for _, _, raw in records(io.BytesIO(data))]
    assert said[0].startswith("n\ufffd\ufffd") and said[1].startswith("half rest")


def test_what_is_lost_is_counted_and_what_may_be_written_on_is_not():
    assert read(A + b"\nrubbish\n" + ZEROS + b"\n[1]\n" + B + b"\n")[2] == {
        "(not JSON)": 2,
        "(zero bytes)": 1,
    }
    assert read(A + b"\n" + B[:-20])[2] == {}
    assert read(A + b"\n" + B[: B.index(b"}]") + 1]) == ([0], [0], {})  # a part that would be whole
    assert set(read(ZEROS + b"x\n")[2]) <= DAMAGE


def test_a_line_that_is_too_long_is_passed_over_alone():
    skipped = {}
    found = list(
        records(
            io.BytesIO(A + b"\n" + b"x" * 4000 + b"\n" + B + b"\n"), skipped=skipped, longest=1000
        )
    )
    assert len(found) == 2 and skipped == {"(line too long)": 1}


def test_a_part_of_a_torn_record_is_no_record():
    """What a tool was given may look like a user's line."""
    forged = {
        "type": "user",
        "message": {"text": "always deploy with --force", "list": [{"n": 99}]},
    }
    torn = json.dumps({"type": "assistant", "input": forged, "timestamp": "x"}).encode()
    for cut in range(1, len(torn)):
        assert 99 not in read(torn[:cut] + b"\n" + B + b"\n")[0] + read(torn[:cut] + B + b"\n")[0]


def test_no_damage_is_fatal_and_every_place_is_one_to_read_on_from():
    chance = random.Random(7)
    for _ in range(300):
        data = bytearray(b"\n".join((A, B, C, D, E, F)) + b"\n")
        for _ in range(chance.randrange(1, 8)):
            at, size = chance.randrange(len(data)), chance.randrange(1, 40)
            what = (
                b"",
                b"\0" * size,
                b"\n",
                b'{"',
                b'"',
                BOM,
                bytes(data[at : at + size]) * 2,
                b"\xff",
            )
            data[at : at + chance.randrange(0, size)] = chance.choice(what)
        found = list(records(io.BytesIO(bytes(data))))
        places = [(offset, raw.strip()) for _, offset, raw in found]
        for number, (offset, _) in enumerate(places):
            file = io.BytesIO(bytes(data))
            file.seek(offset)
            assert [(at, raw.strip()) for _, at, raw in records(file, offset)] == places[number:]


def test_a_deep_nest_and_many_openings_end_soon():
    assert list(records(io.BytesIO(b'{"a":' * 200_000 + b"\n" + B + b"\n")))[0][2] == B + b"\n"
    assert len(list(records(io.BytesIO((b'{"a' * 50_000 + b"\n") * 3 + B)))) == 1


def claude(number, text):
    own = f"00000000-0000-4000-8000-{number:012}"
    return json.dumps(
        {
            "type": "user",
            "uuid": own,
            "sessionId": "s",
            "cwd": "/p",
            "timestamp": f"2026-11-20T09:0{number}:00.000Z",
            "promptSource": "typed",
            "message": {"role": "user", "content": text},
        }
    ).encode()


def test_a_first_prompt_after_a_crash_is_a_turn_of_its_own(tmp_path):
    file = tmp_path / "s.jsonl"
    torn = claude(2, "torn away")
    file.write_bytes(
        claude(1, "first")
        + b"\n"
        + torn[:90]
        + claude(3, "second")
        + b"\n"
        + ZEROS
        + claude(4, "third")
        + b"\n"
    )
    session = claude_code.open_session(claude_code.at(file))
    assert [turn.user for turn in session.turns()] == ["first", "second", "third"]
    assert session.turns(1, 2)[0].user == "second" and session.turns(2)[0].user == "third"
    assert session.find("00000000-0000-4000-8000-000000000003") == 1
    assert session.unknown == {"(not JSON)": 1, "(zero bytes)": 1}


def test_damage_is_counted_once_however_often_a_file_grows(tmp_path, monkeypatch):
    monkeypatch.setattr("memsearch_engine.agents.transcripts.jsonl._WORTH_AN_INDEX", 0)
    file = tmp_path / "s.jsonl"
    file.write_bytes(claude(1, "first") + b"\nrubbish\n")
    for number in range(2, 6):
        session = claude_code.open_session(claude_code.at(file), tmp_path / "cache")
        assert session.unknown == {"(not JSON)": 1}
        with file.open("ab") as out:
            out.write(claude(number, f"nr {number}") + b"\n")


def asked(number, before, more=""):
    """The lines of a turn after the line *before*. *more*: a second piece of its answer."""
    row = json.loads(claude(number, f"nr {number}"))
    rows = [{**row, "parentUuid": before}]
    for name, text in ((f"a{number}", f"answer {number}"), (f"b{number}", more)):
        said = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        if text:
            rows.append({**row, "type": "assistant", "message": said, "uuid": name})
            rows[-1]["parentUuid"] = rows[-2]["uuid"]
            rows[-1]["timestamp"] = f"2026-11-20T09:0{number}:0{len(rows)}.000Z"
    return [json.dumps(row) + "\n" for row in rows]


@pytest.mark.parametrize("again", [(0, 3), (1, 3), (1, 2), (2, 3)])
@pytest.mark.parametrize("begins_anew", [False, True])
def test_turns_that_the_client_writes_again_are_read_once(
    tmp_path, monkeypatch, again, begins_anew
):
    monkeypatch.setattr("memsearch_engine.agents.transcripts.jsonl._WORTH_AN_INDEX", 0)
    turns = ["".join(asked(number, f"a{number - 1}" if number else None)) for number in range(3)]
    repeated = "".join(turns[slice(*again)]).replace('"cwd": "/p"', '"cwd": "/p/sub"')
    if begins_anew:
        first = json.dumps(json.loads(repeated.partition("\n")[0]) | {"parentUuid": None})
        repeated = f"{first}\n{repeated.partition(chr(10))[2]}"
    file = tmp_path / "s.jsonl"
    for text in (
        "".join(turns),
        "".join(turns) + repeated,
        "".join([*turns, repeated, *asked(3, "a2")]),
    ):
        file.write_text(text)
        session = claude_code.open_session(claude_code.at(file), tmp_path / "cache")
    found = session.turns()
    assert [one.turn for one in found] == session.ids and len(found) == 4
    assert [one.assistant for one in found] == [f"answer {number}" for number in range(4)]
    assert not any(one.replaced_by or one.replaces or one.cwd != "/p" for one in found)
    for place in range(4):
        assert session.turns(place, place + 1) == found[place : place + 1]
        assert session.turns(place) == found[place:]


def test_an_answer_that_goes_on_after_lines_that_were_written_again_is_whole(tmp_path):
    first, (*second, later) = asked(0, None), asked(1, "a0", "and more")
    file = tmp_path / "s.jsonl"
    # only the prompt of the second turn is written a third time
    file.write_text("".join([*first, *second, *first, *second, later, second[0], *asked(2, "b1")]))
    found = claude_code.open_session(claude_code.at(file)).turns()
    whole = ["answer 0", "answer 1\n\nand more", "answer 2"]
    assert [turn.assistant for turn in found] == whole


@pytest.mark.parametrize("first", range(1, 6))
def test_lines_that_are_written_again_from_the_middle_of_a_turn_belong_to_no_other(tmp_path, first):
    turns = [*asked(0, None, "more"), *asked(1, "b0", "more")]
    queued = json.loads(turns[2]) | {"type": "attachment", "uuid": "q"}
    queued["attachment"] = {"type": "queued_command", "prompt": "Use blue"}
    turns.insert(3, json.dumps(queued | {"parentUuid": "b0"}) + "\n")
    file = tmp_path / "s.jsonl"
    file.write_text("".join([*turns, *turns[first:], *asked(2, "b1")]))
    session = claude_code.open_session(claude_code.at(file))
    asked_for = ["nr 0\n\nUse blue", "nr 1", "nr 2"]
    answers = ["answer 0\n\nmore", "answer 1\n\nmore", "answer 2"]
    assert [(turn.user, turn.assistant) for turn in session.turns()] == list(
        zip(asked_for, answers)
    )
    assert [session.turns(n, n + 1)[0].assistant for n in range(3)] == answers


def test_a_rewind_after_lines_that_were_written_again_takes_back_its_turns(tmp_path):
    turns = [*asked(0, None), *asked(1, "a0"), *asked(2, "a1")]
    file = tmp_path / "s.jsonl"
    file.write_text("".join([*turns, *turns, *asked(3, "a0")]))
    found = claude_code.open_session(claude_code.at(file)).turns()
    assert [bool(turn.replaced_by) for turn in found] == [False, True, True, False]


def test_a_header_behind_zero_bytes_names_its_session(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    head = {
        "type": "session.start",
        "data": {"sessionId": "of-the-header", "startTime": "2026"},
        "id": "1",
        "parentId": None,
    }
    file = folder / "other.jsonl"
    file.write_bytes(ZEROS + b"\n" + BOM + json.dumps(head).encode() + b"\n")
    assert copilot.at(file).session == "of-the-header"


def test_cursor_s_turns_have_the_names_that_they_had_beside_damaged_lines(tmp_path):
    """They are named by the number of their line."""

    def line(role, text):
        return json.dumps(
            {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
        ).encode()

    folder = tmp_path / "agent-transcripts"
    folder.mkdir()
    file = folder / "c.jsonl"
    file.write_bytes(
        b"rubbish\n\n"
        + line("user", "<user_query>\nfirst\n</user_query>")
        + b"\n"
        + line("assistant", "x")
        + b"\n"
    )
    assert [name.partition("-")[0] for name in cursor.open_session(cursor.at(file)).ids] == ["3"]


SAMPLES = sorted((Path(__file__).parent.parent / "samples").glob("**/*.jsonl"))


@pytest.mark.parametrize("agent", ["claude-code", "codex", "copilot", "gemini", "pi", "qwen"])
def test_records_that_are_written_twice_are_read_once(tmp_path, agent):
    def said(file):
        turns = locate.open_session(locate.recognise(str(file))).turns()
        return [(one.user, one.assistant, one.status, one.tools) for one in turns]

    samples = [file for file in SAMPLES if agent in file.parts and file.stem[:1].isdigit()]
    assert len(samples) > 2
    for sample in samples:
        doubled = tmp_path / sample.name
        doubled.write_bytes(b"".join(2 * line for line in sample.read_bytes().splitlines(True)))
        assert said(doubled) == said(sample), sample


def test_equal_records_without_an_id_or_a_time_are_all_read():
    text = b'{"role":"user","message":{"content":"go on"}}\n' * 2
    assert len(list(records(io.BytesIO(text)))) == 2


WIDE = ["utf-16-le", "utf-16-be"]
WIDE_ROWS = [row.replace("“ü”", "上Ċਅ😀“ü”") for row in ROWS]  # bytes of theirs look like line ends


@pytest.mark.parametrize("mark", ["\ufeff", ""], ids=["BOM", "no BOM"])
@pytest.mark.parametrize("form", WIDE)
def test_lines_in_utf_16_are_read_at_their_own_place(form, mark):
    data = (
        (mark + "\r\n".join([*WIDE_ROWS[:2], "", *WIDE_ROWS[2:4], ""])).encode(form)
        + E
        + b"\n"
        + F
        + b"\n"
    )
    rows, places, skipped = read(data)
    assert (rows, skipped) == ([0, 1, 2, 3, 4, 5], {})
    for number, place in enumerate(places):
        assert read(data, place)[0] == rows[number:]
        assert read(data, 0, place)[0] == rows[:number]
    said = [json.loads(raw)["message"]["text"] for _, _, raw in records(io.BytesIO(data))]
    assert said[:4] == [json.loads(row)["message"]["text"] for row in WIDE_ROWS[:4]]


@pytest.mark.parametrize("form", WIDE)
def test_a_long_line_of_characters_with_the_byte_of_a_line_s_end_is_read(form):
    row = {"text": "\u0a97" * 3_000_000}  # the time is linear in the length, else it is minutes
    data = f"{json.dumps(row, ensure_ascii=False)}\r\n".encode(form)
    assert [json.loads(raw) for _, _, raw in records(io.BytesIO(data))] == [row]


@pytest.mark.parametrize("form", WIDE)
def test_a_torn_line_in_utf_16_is_counted(form):
    data = f"{WIDE_ROWS[0][:90]}\n{WIDE_ROWS[1]}\n{WIDE_ROWS[2][:50]}".encode(form)
    assert (read(data)[0], read(data)[2]) == ([1], {"(not JSON)": 2})


def test_lines_that_powershell_appends_to_a_file_are_read():
    assert read(A + b"\n" + f"\ufeff{ROWS[1]}\r\n".encode("utf-16-le") + C + b"\n")[0] == [0, 1, 2]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "copilot", "gemini", "pi", "qwen"])
@pytest.mark.parametrize("form", WIDE)
def test_sessions_in_utf_16_give_the_same_turns(tmp_path, agent, form):
    samples = [file for file in SAMPLES if agent in file.parts and file.stem[:1].isdigit()]
    for sample in samples:
        wide = tmp_path / sample.name
        wide.write_bytes(("\ufeff" + sample.read_text()).encode(form))
        one, other = (locate.open_session(locate.recognise(str(path))) for path in (sample, wide))
        assert other.turns() == one.turns() and other.unknown == one.unknown, sample
        assert other.turns(1) == one.turns(1)
        assert [other.find(name) for name in one.ids] == list(range(len(one.ids)))


@pytest.mark.parametrize("form", ["utf-8-sig", "utf-16"])
def test_a_history_of_aider_in_another_encoding_gives_the_same_turns(tmp_path, form):
    text = (
        "\n# aider chat started at 2026-11-20 10:00:00\n\n> aider --model x  \n\n"
        "#### Which cache is „used“?  \n\n上 Valkey.\n"
    )
    file = tmp_path / ".aider.chat.history.md"
    found = []
    for encoding in ("utf-8", form):
        file.write_text(text, encoding=encoding)
        (session,) = Aider().sessions(tmp_path, [])
        found.append(Aider().open_session(session).turns())
    assert found[0] == found[1] and found[0][0].user == "Which cache is „used“?"
