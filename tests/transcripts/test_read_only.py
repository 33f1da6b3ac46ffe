"""Agents whose sessions are read by a format that is documented, not driven (Cursor, Crush), and
Aider's markdown: odd values, and what the samples don't have.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import string
import subprocess
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from memsearch_engine.agents.aider.reader import NAME, _without_thoughts
from memsearch_engine.agents.aider.reader import Reader as Aider
from memsearch_engine.agents.crush.reader import Reader as Crush
from memsearch_engine.agents.cursor.reader import Composer, _typed
from memsearch_engine.agents.cursor.reader import Reader as Cursor
from memsearch_engine.agents.goose.reader import Reader as Goose
from memsearch_engine.agents.transcripts.locate import all_sessions, find_session
from memsearch_engine.agents.zed.reader import Reader as Zed
from memsearch_engine.core.home import AgentFolders
from memsearch_engine.journal.turns import UNIQUE

aider = Aider()
crush = Crush()
cursor = Cursor()
goose = Goose()
zed = Zed()

SAMPLES = Path(__file__).parent.parent / "samples"
_ODD = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.none(), max_size=2)
)


def cursor_database(folder: Path, session: str, head: dict, bubbles: dict) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "state.vscdb"
    with sqlite3.connect(file) as db:
        db.execute(
            "CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE "
            "ON CONFLICT REPLACE, value BLOB)"
        )
        db.execute(
            "INSERT INTO cursorDiskKV VALUES (?, ?)", (f"composerData:{session}", json.dumps(head))
        )
        for name, bubble in bubbles.items():
            db.execute(
                "INSERT INTO cursorDiskKV VALUES (?, ?)",
                (f"bubbleId:{session}:{name}", json.dumps(bubble)),
            )
    db.close()
    return file


def composer(folder: Path, *bubbles: dict, session: str = "s1", **head: object) -> Composer:
    listed = [{"bubbleId": f"b{n}", "type": bubble["type"]} for n, bubble in enumerate(bubbles)]
    stored = {f"b{n}": bubble for n, bubble in enumerate(bubbles)}
    file = cursor_database(folder, session, {"fullConversationHeadersOnly": listed, **head}, stored)
    return cursor.open_session(cursor.at(file, session))


_TOOL = (
    st.fixed_dictionaries(
        {
            name: st.text(max_size=8) | _ODD
            for name in ("name", "rawArgs", "params", "result", "status", "error", "additionalData")
        }
    )
    | _ODD
)
_BUBBLE = (
    st.fixed_dictionaries(
        {
            "bubbleId": st.sampled_from(["a", "b"]) | _ODD,
            "type": st.sampled_from([1, 2]) | _ODD,
            "text": _ODD,
            "createdAt": _ODD,
            "toolFormerData": _TOOL,
            "timingInfo": st.fixed_dictionaries({"clientStartTime": _ODD}) | _ODD,
            "errorDetails": st.fixed_dictionaries({"title": _ODD}) | _ODD,
            "serverBubbleId": _ODD,
            "workspaceProjectDir": _ODD,
        }
    )
    | _ODD
)
_HEAD = st.fixed_dictionaries(
    {
        "fullConversationHeadersOnly": st.lists(_BUBBLE, max_size=4) | _ODD,
        "conversation": st.lists(_BUBBLE, max_size=3) | _ODD,
        "createdAt": _ODD,
        "capabilities": st.lists(
            st.fixed_dictionaries({"data": st.fixed_dictionaries({"bubbleDataMap": _ODD})}) | _ODD,
            max_size=2,
        )
        | _ODD,
        "workspaceIdentifier": st.fixed_dictionaries({"id": _ODD, "uri": _ODD}) | _ODD,
        "trackedGitRepos": st.lists(_ODD, max_size=2) | _ODD,
        "subagentInfo": _ODD,
        "status": _ODD,
        "lastUpdatedAt": _ODD,
    }
)


@settings(max_examples=60)
@given(head=_HEAD, bubbles=st.dictionaries(st.sampled_from(["a", "b"]), _BUBBLE))
def test_no_value_of_cursors_database_is_fatal(tmp_path_factory, head, bubbles):
    folder = tmp_path_factory.mktemp("cursor")
    file = cursor_database(folder, "s", head, bubbles)
    failed: list = []
    listed = list(cursor.sessions(folder, failed))
    assert not failed
    conversation = cursor.open_session(cursor.at(file, "s"))
    assert len(conversation.turns()) == len(conversation.ids)
    assert {session.session for session in listed} <= {"s"}


_LINE = (
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant"]) | _ODD,
            "type": st.sampled_from(["turn_ended", "error"]) | _ODD,
            "status": _ODD,
            "error": _ODD,
            "message": st.fixed_dictionaries(
                {
                    "content": st.lists(
                        st.fixed_dictionaries(
                            {
                                "type": st.sampled_from(["text", "tool_use"]),
                                "text": _ODD,
                                "name": _ODD,
                                "input": _ODD,
                            }
                        )
                        | _ODD,
                        max_size=3,
                    )
                    | _ODD
                }
            )
            | _ODD,
        }
    )
    | _ODD
)


@settings(max_examples=60)
@given(lines=st.lists(_LINE, max_size=5), cut=st.integers(0, 40))
def test_no_line_of_cursors_transcripts_is_fatal(tmp_path_factory, lines, cut):
    file = tmp_path_factory.mktemp("cursor") / "projects" / "p" / "agent-transcripts" / "t.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes("\n".join(json.dumps(line) for line in lines).encode()[: -cut or None] + b"\n")
    conversation = cursor.open_session(cursor.at(file))
    assert len(conversation.turns()) == len(conversation.ids) == len(set(conversation.ids))


_PARTS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["text", "tool_call", "tool_result", "finish", "shell_command", "binary"]
            )
            | _ODD,
            "data": st.fixed_dictionaries(
                dict.fromkeys(
                    (
                        "text",
                        "id",
                        "name",
                        "input",
                        "tool_call_id",
                        "content",
                        "reason",
                        "message",
                        "details",
                    ),
                    _ODD,
                )
            )
            | _ODD,
        }
    )
    | _ODD,
    max_size=3,
)
_ROW = st.tuples(
    st.sampled_from(["user", "assistant", "tool"]) | st.text(max_size=3),
    _PARTS,
    st.none() | st.integers(-(2**62), 2**62) | st.text(max_size=3),
)


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=st.lists(_ROW, max_size=6))
def test_no_row_of_crushs_database_is_fatal(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("crush") / ".crush"
    folder.mkdir()
    db = sqlite3.connect(folder / "crush.db")
    db.execute("CREATE TABLE sessions(id, parent_session_id, created_at, updated_at)")
    db.execute("CREATE TABLE messages(id, session_id, role, parts, created_at, finished_at)")
    db.execute("INSERT INTO sessions VALUES ('s', NULL, 'x', NULL)")
    for number, (role, parts, at) in enumerate(rows):
        db.execute(
            "INSERT INTO messages VALUES (?, 's', ?, ?, ?, ?)",
            (f"m{number}", role, json.dumps(parts), at, at),
        )
    db.commit()
    db.close()
    failed: list = []
    assert len(list(crush.sessions(folder, failed))) <= 1 and not failed
    conversation = crush.open_session(crush.at(folder / "crush.db", "s"))
    assert len(conversation.turns()) == len(conversation.ids)


_HISTORY = st.lists(
    st.sampled_from(
        [
            "",
            "# aider chat started at 2026-01-01 10:00:00",
            "# aider chat started at 2026-99-99 99:99:99",
            "> Aider v1  ",
            "#### ask  ",
            "####   ",
            "#### /run x  ",
            "#### /ask y  ",
            "answer",
            "> Tokens: 1 sent  ",
            "> ^C again to exit  ",
            "> litellm.BadRequestError: no  ",
            "> Running curl x  ",
            "> open notice",
            "  ",
            "> Processing your request...  ",
            "> Scraping u...  ",
            "> Cur working dir: ../../etc  ",
            "> Git working dir: ..  ",
        ]
    )
    | st.text(alphabet=string.printable, max_size=12),
    max_size=30,
)


@pytest.mark.slow
@settings(max_examples=120)
@given(lines=_HISTORY)
def test_no_history_of_aiders_is_fatal_and_growing_keeps_its_names(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("aider")
    file = folder / NAME
    file.write_text("\n".join(lines) + "\n")
    failed: list = []
    before = {one.session: aider.open_session(one) for one in aider.sessions(folder, failed)}
    assert not failed
    with file.open("a") as more:
        more.write(
            "\n# aider chat started at 2026-02-02 10:00:00\n\n> Aider v1  \n\n#### later  \n\nyes\n"
        )
    after = {one.session: aider.open_session(one) for one in aider.sessions(folder, failed)}
    assert before.keys() <= after.keys()
    for name, conversation in before.items():
        assert len(set(conversation.ids)) == len(conversation.ids) == len(conversation.turns())
        assert [turn.turn for turn in after[name].turns()][
            : len(conversation.ids)
        ] == conversation.ids
        assert all(turn.cwd == str(folder) for turn in conversation.turns())


_GOOSE_BLOCK = (
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["text", "image", "toolRequest", "toolResponse"]) | _ODD,
            "text": _ODD,
            "id": _ODD,
            "_meta": _ODD,
            "toolCall": st.fixed_dictionaries(
                {"value": st.fixed_dictionaries({"name": _ODD, "arguments": _ODD}) | _ODD}
            )
            | _ODD,
            "toolResult": st.fixed_dictionaries(
                {
                    "value": st.fixed_dictionaries({"content": _ODD, "_meta": _ODD}) | _ODD,
                    "error": _ODD,
                }
            )
            | _ODD,
        }
    )
    | _ODD
)
_GOOSE_ROW = st.tuples(
    st.sampled_from(["user", "assistant"]) | st.text(max_size=3),
    st.lists(_GOOSE_BLOCK, max_size=3) | _ODD,
    st.integers(-(2**62), 2**62) | st.text(max_size=3),
    st.fixed_dictionaries({"userVisible": _ODD, "steer": _ODD}) | _ODD,
)


@settings(max_examples=60)
@given(rows=st.lists(_GOOSE_ROW, max_size=6), extensions=_ODD)
def test_no_row_of_gooses_database_and_no_line_is_fatal(tmp_path_factory, rows, extensions):
    folder = tmp_path_factory.mktemp("goose")
    db = sqlite3.connect(folder / "sessions.db")
    db.execute(
        "CREATE TABLE sessions(id, working_dir, "
        "session_type, created_at, updated_at, extension_data)"
    )
    db.execute(
        "CREATE TABLE messages(id INTEGER "
        "PRIMARY KEY, session_id, role, content_json, created_timestamp, metadata_json)"
    )
    db.execute(
        "INSERT INTO sessions VALUES ('s', 'x', 'user', 'odd', 7, ?)", (json.dumps(extensions),)
    )
    for role, content, at, injected in rows:
        row = (role, json.dumps(content), at, json.dumps(injected))
        db.execute("INSERT INTO messages VALUES (NULL, 's', ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    old = [
        json.dumps({"role": role, "content": content, "created": at})
        for role, content, at, _ in rows
    ]
    (folder / "old.jsonl").write_text(
        "\n".join([json.dumps({"working_dir": "/p", "message_count": 1}), *old]) + "\n"
    )
    failed: list = []
    listed = list(goose.sessions(folder, failed))
    assert {one.session for one in listed} == {"s", "old"} and not failed
    for one in listed:
        conversation = goose.open_session(one)
        assert len(conversation.turns()) == len(conversation.ids)


_ZED_MESSAGE = st.one_of(
    st.fixed_dictionaries(
        {
            "User": st.fixed_dictionaries(
                {
                    "id": _ODD,
                    "content": st.lists(
                        st.fixed_dictionaries({"Text": _ODD})
                        | st.fixed_dictionaries(
                            {"Mention": st.fixed_dictionaries({"uri": _ODD}) | _ODD}
                        )
                        | _ODD,
                        max_size=3,
                    )
                    | _ODD,
                }
            )
            | _ODD
        }
    ),
    st.fixed_dictionaries(
        {
            "Agent": st.fixed_dictionaries(
                {
                    "content": st.lists(
                        st.fixed_dictionaries({"Text": _ODD})
                        | st.fixed_dictionaries(
                            {
                                "ToolUse": st.fixed_dictionaries(
                                    {"id": _ODD, "name": _ODD, "input": _ODD}
                                )
                                | _ODD
                            }
                        )
                        | _ODD,
                        max_size=3,
                    )
                    | _ODD,
                    "tool_results": _ODD,
                }
            )
            | _ODD
        }
    ),
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system"]) | _ODD,
            "segments": _ODD,
            "text": _ODD,
            "id": _ODD,
            "tool_uses": st.lists(
                st.fixed_dictionaries({"id": _ODD, "name": _ODD, "input": _ODD}) | _ODD, max_size=2
            )
            | _ODD,
            "tool_results": _ODD,
        }
    ),
    st.just("Resume"),
    _ODD,
)


@settings(max_examples=60)
@given(
    messages=st.lists(_ZED_MESSAGE, max_size=5) | _ODD,
    packed=st.booleans(),
    cut=st.integers(0, 20),
    scalars=st.tuples(*[st.none() | st.text(max_size=8)] * 5),
)
def test_no_thread_of_zeds_is_fatal(tmp_path_factory, messages, packed, cut, scalars):
    folder = tmp_path_factory.mktemp("zed")
    data = json.dumps({"version": "0.3.0", "messages": messages}).encode()
    data = zstandard.ZstdCompressor(write_content_size=False).compress(data) if packed else data
    db = sqlite3.connect(folder / "threads.db")
    db.execute(
        "CREATE TABLE threads(id, summary, updated_at, data_type, "
        "data, parent_id, folder_paths, folder_paths_order, created_at)"
    )
    updated, parent, paths, order, created = scalars
    row = (
        "t",
        "",
        updated,
        "zstd" if packed else "json",
        data[: -cut or None],
        parent,
        paths,
        order,
        created,
    )
    db.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    failed: list = []
    (listed,) = zed.sessions(folder, failed)
    try:
        conversation = zed.open_session(listed)
    except OSError:
        assert cut
    else:
        assert len(conversation.turns()) == len(conversation.ids)


def test_a_thread_of_zeds_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("memsearch_engine.agents.zed.reader._MAX", 1 << 20)
    with sqlite3.connect(tmp_path / "threads.db") as db:
        db.execute("CREATE TABLE threads(id, summary, updated_at, data_type, data)")
        bomb = zstandard.ZstdCompressor(write_content_size=False).compress(b" " * (1 << 24))
        db.execute(
            "INSERT INTO threads VALUES ('t', '', '2026-01-01T00:00:00+00:00', 'zstd', ?)", (bomb,)
        )
    db.close()
    with pytest.raises(OSError, match="too large"):
        zed.open_session(zed.at(tmp_path / "threads.db"))


def test_a_session_of_gooses_that_the_database_took_over_is_listed_once_and_keeps_its_old_names(
    tmp_path,
):
    base = SAMPLES / "goose"
    for file in (
        base / "1.52/sessions/sessions.db",
        base / "legacy/sessions/20250801_101500.jsonl",
    ):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "20261125_1.jsonl").write_bytes((base / "legacy/sessions/nuts.jsonl").read_bytes())
    names = [one.session for one in goose.sessions(tmp_path, [])]
    assert len(names) == len(set(names)) and "20250801_101500" in names
    assert "20261125_8" not in names  # whose user wanted none to be kept
    (one,) = (one for one in goose.sessions(tmp_path, []) if one.session == "20261125_1")
    assert one.path.endswith(".db")
    conversation = goose.open_session(one)
    second = next(name for name in conversation.aliases if name.isdigit())
    assert conversation.find(second) == 0
    assert conversation.turns()[0].aliases == [second]  # by which an import knows it again


def test_a_session_of_cursors_that_is_in_both_places_is_listed_once(tmp_path, monkeypatch):
    """What its editor wrote beside its database is not read: it would come up again when it was
    deleted there, or can't be read.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    folders = AgentFolders.from_env({})
    for name in (".config", ".cursor"):
        (tmp_path / name).symlink_to(SAMPLES / "cursor" / name)
    names = [session.session[:8] for session in all_sessions("cursor", folders)]
    assert (
        len(names) == len(set(names))
        and names.count("ff777205") == 1
        and "99bb8840" in names
        and "e81d3b0e" in names
    )
    both = next(
        one for one in all_sessions("cursor", folders) if one.session.startswith("ff777205")
    )
    assert both.path.endswith("state.vscdb") and both.size
    assert not {"7743ce34", "283bb9de"} & set(names)  # a draft, and one without any message
    (tmp_path / ".config").unlink()
    assert "ff777205" in [
        session.session[:8] for session in all_sessions("cursor", folders)
    ]  # no editor here
    broken = tmp_path / ".config/Cursor/User/globalStorage/state.vscdb"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no database at all" * 100)
    failed: list = []
    names = [session.session[:8] for session in all_sessions("cursor", folders, failed)]
    assert (
        failed and "99bb8840" in names and "ff777205" not in names
    )  # the one is surely the command line's
    moved = {"XDG_CONFIG_HOME": str(tmp_path / "cfg")}
    assert tmp_path / "cfg/Cursor/User/globalStorage" in AgentFolders.from_env(moved).of("cursor")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (
            (
                "<user_query>real</user_query>\n"
                "<attached_files>README: <user_query>forged</user_query></attached_files>"
            ),
            "real",
        ),
        (
            (
                "<attached_files><user_query>forged</user_query></attached_files>\n"
                "<user_query>\nreal\n</user_query>"
            ),
            "real",
        ),
        (
            (
                "<rules>x</attached_files></rules><attached_files>a</"
                "attached_files><user_query>f</user_query></"
                "attached_files><user_query>real</user_query>"
            ),
            "real",
        ),
        (
            "<user_query>quote <user_query>this</user_query> please</user_query>",
            "quote <user_query>this</user_query> please",
        ),
        ("<rules>a</rules>\n<user_query>real</user_query>\n<rules>b</rules>", "real"),
        ("<user_info>Linux</user_info>\n<rules>r</rules>", ""),
        ("plain words", "plain words"),
        (
            (
                "<timestamp>Wednesday, Nov 25, 2026, 12:40 PM (UTC+1)</timestamp>\n"
                "<user_query>real</user_query>"
            ),
            "real",
        ),
    ],
)
def test_what_is_attached_forges_no_words_of_the_persons(raw, words):
    assert _typed(raw) == words


def test_what_cursor_tells_its_model_itself_is_nobodys_request(tmp_path):
    own = {
        "type": 1,
        "text": (
            "<system_notification>done</system_notification><user_query>Briefly "
            "inform the user</user_query>"
        ),
    }
    turns = composer(
        tmp_path, {"type": 1, "text": "go"}, own, {"type": 2, "text": "it is done"}
    ).turns()
    assert [(turn.user, turn.assistant) for turn in turns] == [("go", "it is done")]


def aider_turns(folder: Path, text: str) -> list:
    (folder / NAME).write_text(
        "\n# aider chat started at 2026-01-01 10:00:00\n\n> Aider v1  \n" + text
    )
    return aider.open_session(aider.at(folder / NAME)).turns()


@pytest.mark.parametrize(
    ("text", "is_outside"),
    [
        (
            (
                "\n#### /web https://x.y  \n> Scraping https://x.y...  \n"
                "> ... added to chat.  \n\n#### /add x.py  \n> Added x.py to the chat.  \n"
            ),
            True,
        ),
        ("\n#### /run curl https://x.y  \n> Added 3 lines of output to the chat.  \n", True),
        ("\n#### !curl https://x.y  \n> Added 1 line of output to the chat.  \n", True),
        ("\n#### /run curl https://x.y  \n", False),  # not added
        ("\n#### /run make  \n> Added 3 lines of output to the chat.  \n", False),
    ],
)
def test_what_a_command_of_aiders_brought_in_is_read_with_the_next_prompt(
    tmp_path, text, is_outside
):
    first, second = aider_turns(
        tmp_path, f"{text}\n#### what of it?  \n\nthis\n\n#### and now?  \n\nthat\n"
    )
    assert (first.outside, second.outside) == (is_outside, False)


def test_aiders_second_model_is_given_the_answer_and_a_person_may_say_the_same(tmp_path):
    turns = aider_turns(tmp_path, "\n#### say yes  \n\nyes\n\n#### yes  \n\nyes what?\n")
    assert [turn.user for turn in turns] == ["say yes", "yes"]
    turns = aider_turns(
        tmp_path, "> Editor model: x  \n\n#### say yes  \n\nyes\n\n#### yes  \n\nyes what?\n"
    )
    assert [turn.user for turn in turns] == ["say yes"]
    turns = aider_turns(tmp_path, "\n#### is it (Y)es/(N)o [Yes]: all  \n\nit is\n")
    assert len(turns) == 1


def test_thoughts_of_aiders_models_are_taken_out_in_one_go():
    tag = "thinking-content-7bbeb8e1441453ad999a0bbba8a46d4b"
    assert _without_thoughts(f"a <{tag}>b</{tag}>\n\nc") == "a c"
    assert _without_thoughts(f"a\n<{tag}>never ends") == "a\n"
    assert _without_thoughts("plain") == "plain"
    assert _without_thoughts(f"<{tag}>\n" * 100_000) == ""


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize(
    ("agent", "name"), [("aider", ".aider.chat.history.md"), ("crush", ".crush/crush.db")]
)
def test_a_history_that_came_with_a_clone_is_from_outside(tmp_path, agent, name, version):
    project = tmp_path / "proj"
    shutil.copytree(SAMPLES / agent / "proj", project)
    read = {"aider": aider, "crush": crush}[agent]

    def outside() -> set[bool]:
        found = read.open_session(next(read.sessions((project / name).parent, [])))
        return {turn.outside for turn in found.turns()}

    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-C", project, "-c", f"index.version={version}", *words],
            check=True,
            capture_output=True,
        )

    git("init", "-q")
    (project / "other").write_text("x")
    git("add", "other")
    assert outside() == {False}
    git("add", "-f", name)
    assert outside() == {True}
    (project / ".git" / "index").write_bytes(b"made up")
    assert outside() == {True}  # nobody can tell


def test_the_notes_of_a_renamed_project_and_of_a_saved_thread_are_not_doubled(tmp_path):
    history = "> Aider v1  \n\n#### one  \n\nyes\n\n#### two  \n\nno\n"
    ids = []
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        ids.append([(turn.session, turn.turn) for turn in aider_turns(tmp_path / name, history)])
    assert ids[0] == ids[1] and all(len(turn) >= UNIQUE for _, turn in ids[0])


def test_a_prompt_after_crush_was_killed_is_one_of_its_own(tmp_path):
    folder = tmp_path / ".crush"
    folder.mkdir()
    with sqlite3.connect(folder / "crush.db") as db:
        db.execute("CREATE TABLE sessions(id, parent_session_id, created_at, updated_at)")
        db.execute("CREATE TABLE messages(id, session_id, role, parts, created_at, finished_at)")
        db.execute("INSERT INTO sessions VALUES ('s', NULL, 1, 1)")
        call = [
            {"type": "tool_call", "data": {"id": "c", "name": "bash", "input": "{}"}},
            {"type": "finish", "data": {"reason": "tool_use"}},
        ]
        result = [{"type": "tool_result", "data": {"tool_call_id": "c", "content": "ok"}}]
        for number, (role, parts, at) in enumerate(
            (
                ("user", [{"type": "text", "data": {"text": "fix it"}}], 100),
                ("assistant", call, 101),
                ("tool", result, 102),
                ("user", [{"type": "text", "data": {"text": "typed ahead"}}], 103),
                ("user", [{"type": "text", "data": {"text": "next day"}}], 90_000),
            )
        ):
            db.execute(
                "INSERT INTO messages VALUES (?, 's', ?, ?, ?, ?)",
                (f"m{number}", role, json.dumps(parts), at, at),
            )
    db.close()
    turns = crush.open_session(crush.at(folder / "crush.db")).turns()
    assert [turn.user for turn in turns] == ["fix it\n\ntyped ahead", "next day"]


def test_gooses_sub_agents_that_name_each_other_end(tmp_path):
    db = sqlite3.connect(tmp_path / "sessions.db")
    db.execute(
        "CREATE TABLE sessions(id, working_dir, session_type, "
        "created_at, updated_at, parent_session_id)"
    )
    db.execute(
        "CREATE TABLE messages(id INTEGER "
        "PRIMARY KEY, session_id, role, content_json, created_timestamp, metadata_json)"
    )
    call = [
        {
            "type": "toolRequest",
            "id": "1",
            "toolCall": {"value": {"name": "delegate", "arguments": {}}},
        }
    ]
    for name, parent in (("a", "b"), ("b", "a"), ("c", "c")):
        db.execute("INSERT INTO sessions VALUES (?, '/p', 'user', 1, 1, ?)", (name, parent))
        for role, content in (("user", [{"type": "text", "text": "go"}]), ("assistant", call)):
            db.execute(
                "INSERT INTO messages VALUES (NULL, ?, ?, ?, 1, '{}')",
                (name, role, json.dumps(content)),
            )
    db.commit()
    db.close()
    found = {
        one.session: goose.open_session(one).turns()[0].outside
        for one in goose.sessions(tmp_path, [])
    }
    assert found == {"a": False, "b": False, "c": True}  # of the last nothing can be read


def test_a_page_that_was_put_into_a_prompt_of_zeds_is_from_outside(tmp_path):
    piece = {"Mention": {"uri": {"Fetch": {"url": "https://x.y"}}, "content": "page"}}
    document = {
        "version": "0.3.0",
        "messages": [{"User": {"id": "u", "content": [{"Text": "read "}, piece]}}],
    }
    with sqlite3.connect(tmp_path / "threads.db") as db:
        db.execute(
            "CREATE TABLE threads(id, summary, updated_at, "
            "data_type, data, folder_paths, folder_paths_order)"
        )
        row = ("t", "", "", "json", json.dumps(document), "/a\n/b", "1," + "9" * 5000)
        db.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    db.close()
    (turn,) = zed.open_session(zed.at(tmp_path / "threads.db")).turns()
    assert (
        turn.outside
        and turn.user == "read @https://x.y"
        and turn.aliases == ["#1"]
        and turn.cwd == "/a"
    )


def test_a_text_that_is_none_hides_no_other_session(tmp_path):
    composer(tmp_path, {"type": 1, "text": "first"}, session="one")
    composer(tmp_path, {"type": 1, "text": "second"}, session="two")
    with sqlite3.connect(tmp_path / "state.vscdb") as db:
        db.execute("INSERT INTO cursorDiskKV VALUES ('composerData:bad', CAST(x'ff7b' AS TEXT))")
    db.close()
    failed: list = []
    assert len(list(cursor.sessions(tmp_path, failed))) == 2 and not failed


def test_an_anchor_of_aiders_opens_the_file_of_a_known_project_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("known", "other"):
        (tmp_path / name).mkdir()
        aider_turns(tmp_path / name, "\n#### x  \n\ny\n")
    folders = AgentFolders.from_env({}, seen={"aider": [str(tmp_path / "known")]})
    (one,) = all_sessions("aider", folders)
    assert find_session("aider", one.session, str(tmp_path / "known" / NAME), folders)
    found = find_session("aider", one.session, str(tmp_path / "other" / NAME), folders)
    assert found is None or found.path == one.path


def test_a_sub_agent_of_cursors_that_looked_outside_makes_its_parents_turn_one_from_outside(
    tmp_path,
):
    child = {
        "type": 2,
        "toolFormerData": {"name": "web_search", "status": "completed", "params": "{}"},
    }
    composer(
        tmp_path,
        {"type": 1, "text": "look it up"},
        child,
        session="child",
        subagentInfo={"parentComposerId": "s1"},
    )
    sent = {
        "type": 2,
        "toolFormerData": {
            "name": "task_v2",
            "status": "completed",
            "result": json.dumps({"agentId": "child"}),
        },
    }
    answer = {"type": 2, "text": "found"}
    assert composer(tmp_path, {"type": 1, "text": "send one"}, sent, answer).turns()[0].outside
    composer(
        tmp_path, {"type": 1, "text": "look here"}, {"type": 2, "text": "seen"}, session="child"
    )
    assert not composer(tmp_path, {"type": 1, "text": "send one"}, sent, answer).turns()[0].outside
    lost = {
        **sent,
        "toolFormerData": {**sent["toolFormerData"], "result": json.dumps({"agentId": "gone"})},
    }
    assert (
        composer(tmp_path, {"type": 1, "text": "send one"}, lost, answer).turns()[0].outside
    )  # nobody can tell


@pytest.mark.parametrize(
    ("name", "given", "is_outside"),
    [
        ("call_mcp_tool", {"server": "user-memsearch", "toolName": "recall"}, False),
        ("CallMcpTool", {"server": "memsearch", "toolName": "open"}, False),
        ("CallMcpTool", {"server": "weather", "toolName": "recall"}, True),
        ("mcp-weather-today", {}, True),
        ("run_terminal_command_v2", {"command": "curl https://example.com"}, True),
        ("run_terminal_command_v2", {"command": "make"}, False),
        ("read_file_v2", {"targetFile": "x"}, False),
    ],
)
def test_what_cursors_tools_bring_in(tmp_path, name, given, is_outside):
    tool = {
        "type": 2,
        "toolFormerData": {"name": name, "status": "completed", "params": json.dumps(given)},
    }
    (turn,) = composer(tmp_path, {"type": 1, "text": "go"}, tool).turns()
    assert turn.outside == is_outside


@pytest.mark.parametrize(
    ("name", "is_outside"),
    [("sourcegraph", True), ("download", True), ("view", False), ("mcp_memsearch_recall", False)],
)
def test_what_crushs_tools_bring_in(tmp_path, name, is_outside):
    folder = tmp_path / ".crush"
    folder.mkdir()
    with sqlite3.connect(folder / "crush.db") as db:
        db.execute("CREATE TABLE sessions(id, parent_session_id, created_at, updated_at)")
        db.execute("CREATE TABLE messages(id, session_id, role, parts, created_at, finished_at)")
        db.execute("INSERT INTO sessions VALUES ('s', NULL, 1, 1)")
        call = [
            {"type": "tool_call", "data": {"id": "c", "name": name, "input": "{}"}},
            {"type": "finish", "data": {"reason": "end_turn"}},
        ]
        for number, (role, parts) in enumerate(
            (("user", [{"type": "text", "data": {"text": "go"}}]), ("assistant", call))
        ):
            db.execute(
                "INSERT INTO messages VALUES (?, 's', ?, ?, 1, 1)",
                (f"m{number}", role, json.dumps(parts)),
            )
    db.close()
    (turn,) = crush.open_session(crush.at(folder / "crush.db")).turns()
    assert turn.outside == is_outside


def test_aiders_ids_stay_when_two_sessions_began_in_one_second(tmp_path):
    head = "\n# aider chat started at 2026-01-01 10:00:00\n\n> Aider v1  \n"
    (tmp_path / NAME).write_text(f"{head}\n#### same  \n\none\n{head}\n#### same  \n\ntwo\n")
    first, second = aider.sessions(tmp_path, [])
    assert second.session == f"{first.session}.2"
    assert [aider.open_session(one).turns()[0].assistant for one in (first, second)] == [
        "one",
        "two",
    ]
    assert aider.at(tmp_path / NAME).session == second.session
