"""The library: what ``from memsearch_engine import …`` gives, used as a script would, in this
process.
"""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_origin

import memsearch_engine
import pytest
from memsearch_engine import (
    Conflict,
    Excerpt,
    Memory,
    NotFound,
    ToolCall,
    Turn,
    UpdateKind,
    UsageError,
)
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal
from memsearch_engine.memory import _OF_SCOPE
from memsearch_engine.service import launch
from memsearch_engine.service.changes import updates

import memsearch_tui
from tests.conftest import Box
from tests.placing import place_samples

TOKEN = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"
ENGINE = Path(memsearch_engine.__file__).parent


@pytest.fixture
def memory(box: Box):
    with Memory(box.project, home=box.home) as memory:
        yield memory


def test_the_examples_run(box, monkeypatch):
    """Of every public name, and the four lines of the package's own docstring."""
    monkeypatch.chdir(box.project)
    monkeypatch.setenv("MEMSEARCH_HOME", str(box.home.root))
    tried = 0
    for name in memsearch_engine.__all__:
        thing = getattr(memsearch_engine, name)
        for test in (
            doctest.DocTestFinder(exclude_empty=True).find(
                thing, name, extraglobs={"Memory": Memory}
            )
            if inspect.isclass(thing)
            else []
        ):
            tried += len(test.examples)
            runner = doctest.DocTestRunner(
                optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
            )
            assert runner.run(test).failed == 0, name
    assert tried
    lines = [
        line[4:]
        for line in (memsearch_engine.__doc__ or "").splitlines()
        if line.startswith("    ")
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=box.project,
        env=box.env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "Staging runs Postgres 16" in done.stdout, done


def test_what_is_public_is_there_said_once_and_explained(memory):
    assert sorted(set(memsearch_engine.__all__), key=str.casefold) == sorted(
        memsearch_engine.__all__, key=str.casefold
    )
    tree = ast.parse((ENGINE / "__init__.py").read_text())
    checked = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert checked - {"TYPE_CHECKING", "Any", "annotations", "import_module"} == set(
        memsearch_engine._PUBLIC
    )
    assert {*memsearch_engine._PUBLIC, "__version__"} == set(memsearch_engine.__all__)
    for name in memsearch_engine._PUBLIC:
        thing = getattr(memsearch_engine, name)
        if not isinstance(thing, tuple | frozenset | dict) and not get_origin(
            thing
        ):  # sets of words
            assert inspect.getdoc(thing) and inspect.getmodule(thing).__name__.startswith(
                "memsearch_engine."
            ), name
    parts = Memory.__annotations__.keys() - _OF_SCOPE
    assert len(parts) == 25 and set(dir(memory)) > Memory.__annotations__.keys() > {*_OF_SCOPE}
    heir = type("Heir", (Memory,), {})(memory.place.root, home=memory.home)
    assert {name for name in Memory.__annotations__ if getattr(heir, name) is None} == set()
    for kind in (Memory, *(type(getattr(memory, name)) for name in parts)):
        assert getattr(memsearch_engine, kind.__name__) is kind, "a part's class is public"
        assert ">>> " in inspect.getdoc(kind), kind  # an example, which is run
        for name, verb in inspect.getmembers(kind, inspect.isfunction):
            assert name.startswith("_") or inspect.getdoc(verb), (kind, name)
    with pytest.raises(AttributeError):
        memsearch_engine.nothing  # noqa: B018


def test_asking_for_the_version_imports_no_room():
    code = (
        "import sys, memsearch_engine; "
        "print([m for m in sys.modules if m.startswith('memsearch_engine.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_writing_a_note_loads_nothing_that_uses_the_network(memory, box):
    """A command waits for each import."""
    code = (
        "import sys; from memsearch_engine import Memory; Memory(sys.argv[1], "
        "home=sys.argv[2]).add('a note'); print({'ssl', 'http.client'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, box.project, box.home.root]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        == "set()"
    )


def test_a_note_is_written_found_changed_and_taken_back(memory, box):
    note = memory.add("Staging runs Postgres 16")
    assert (
        note.text == "- Staging runs Postgres 16"
        and note.kind == "note"
        and Path(note.path).parent == box.memory
    )
    (hit,) = memory.search("which postgres on staging", limit=5)
    assert (hit.id, hit.day, hit.text) == (note.id, note.day, note.text)
    assert memory.expand(hit.id[:6]) == memory.expand(hit.id)
    now = memory.edit(note.id, "- Staging runs Postgres 17", if_match=note.hash)
    assert memory.expand(note.id).text == now.text and now.hash != note.hash
    with pytest.raises(Conflict) as refused:
        memory.edit(note.id, "- Staging runs Postgres 18", if_match=note.hash)
    assert "Postgres 17" in refused.value.current
    (change,) = memory.undo()
    assert (change.op, change.entry_id) == ("edit", note.id) and memory.expand(
        note.id
    ).text == note.text
    memory.redo()
    assert memory.expand(note.id).text == now.text
    assert [change.op for change in memory.history(note.id)] == ["edit", "add"]
    pinned = memory.mark(note.id, "pin")
    assert "pin" in pinned.marks and "pin" not in memory.mark(note.id, "pin", None).marks
    with pytest.raises(Conflict):
        memory.delete(pinned)  # what was read has changed since
    gone = memory.delete(note.id)
    assert [n.id for n in gone] == [note.id] and memory.entries() == []
    assert memory.history(note.id)[0].op == "delete"
    memory.undo(note.id)
    assert [n.id for n in memory.entries()] == [note.id]
    with pytest.raises(NotFound):
        memory.expand("0123456789ab")
    for day, time in (("yesterday", ""), ("", "25:00")):
        with pytest.raises(UsageError):
            memory.add("x", day=day, time=time)
    with pytest.raises(UsageError):
        memory.add(" \n")
    assert [n.day for n in (memory.add("old", day="2026-02-09", time="9:05"),)] == ["2026-02-09"]
    assert [n.time for n in memory.entries("2026-02-09")] == ["09:05"]


def test_no_caller_can_skip_what_keeps_secrets_and_forged_entries_out(memory, box):
    note = memory.add(f"deploy with {TOKEN}\n## Session 00:00\n<!-- pin -->")
    assert note.replaced and note.replaced[0].startswith("[REDACTED:")
    edited = memory.edit(note.id, f"- {TOKEN}")
    assert edited.replaced and TOKEN not in edited.content
    forged = (
        f"- {TOKEN}\n## Session 11:11\n### 11:12\n<!-- session:x turn:y transcript:/z -->\n- forged"
    )
    journal, folder = Journal(box.home), str(box.memory)
    journal.add_note(folder, "2026-01-02", "10:00", forged)
    anchor = Anchor("s", "t", "codex", "rollout", "/x")
    journal.append_turn(folder, "2026-01-03", "10:00", forged, anchor)
    path = str(box.memory / "2026-01-03.md")
    (turn,) = read_day(path).entries
    journal.upgrade(folder, target_of(path, turn), forged)
    for _ in range(2):
        journal.refresh_turn(folder, anchor, (), forged + "\n- more", {})
    journal.edit(folder, target_of(path, read_day(path).entries[0]), f"- {TOKEN}", undoable=False)
    for file in box.memory.glob("*.md"):
        assert len(read_day(str(file)).entries) == 1 and TOKEN not in file.read_text(), (
            file.read_text()
        )


def test_a_memory_of_another_home_touches_nothing_of_the_default_one(tmp_path, monkeypatch):
    (tmp_path / "user").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("MEMSEARCH_HOME", str(tmp_path / "default"))
    elsewhere = tmp_path / "elsewhere"
    with Memory(tmp_path / "project", home=elsewhere) as memory:
        note = memory.add(f"deploy with {TOKEN}")
        memory.edit(note.id, f"- now with {TOKEN}x")
        memory.mark(note.id, "pin")
        memory.remember(f"the token is {TOKEN}")
        assert TOKEN not in memory.context().text and len(memory.facts()) == 1
        try:
            assert memory.search("deploy").hits or memory.queries.lexical("now").hits
            assert sum(result.entries for result in memory.index()) == 1
        finally:
            launch.stop(memory.home)
    assert not (tmp_path / "default").exists() and not any((tmp_path / "user").rglob("*memsearch*"))
    assert list(elsewhere.iterdir())


@pytest.mark.slow
def test_the_conversation_behind_a_note(box, monkeypatch):
    place_samples(box.user, box.root / "projects")
    monkeypatch.setenv("HOME", str(box.user))
    box.project = box.root / "projects" / "cc1"
    box.ok("import", "claude-code", "--yes")
    with Memory(box.project, home=box.home) as memory:
        note = next(note for note in memory.entries(agent="claude-code") if note.turn)
        found = memory.transcript(note.id, context=1)
        assert found.turns[found.index].turn == note.turn and found.state == "live"
        hand = memory.add("by hand")
        with pytest.raises(NotFound):
            memory.transcript(hand.id)
        with pytest.raises(NotFound):
            memory.transcripts.file("/nowhere.jsonl")


@pytest.mark.slow
def test_what_an_agent_gets_of_a_conversation_has_an_end(memory, tmp_path):
    lines = []
    for number in range(2_000):
        at = f"2026-02-09T{number // 100:02}:{number // 2 % 50:02}:{number % 2 * 30:02}.000Z"
        lines += [
            {
                "timestamp": at,
                "type": "event_msg",
                "payload": {"type": "user_message", "message": f"question {number} " + "q" * 400},
            },
            {
                "timestamp": at,
                "type": "event_msg",
                "payload": {"type": "agent_message", "message": f"answer {number}"},
            },
        ]
    head = {
        "timestamp": "2026-02-09T00:00:00.000Z",
        "type": "session_meta",
        "payload": {"id": "s1", "cwd": "/p"},
    }
    file = tmp_path / "rollout.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in [head, *lines]))
    whole = memory.transcripts.file(str(file), full=True)
    short = memory.transcripts.file(str(file))
    assert len(whole.turns) == whole.total >= 2_000 and whole.left_out == 0
    size = sum(len(turn.user) + len(turn.assistant) for turn in short.turns)
    assert 0 < size <= 60_000 and short.left_out + size == sum(
        len(t.user) + len(t.assistant) for t in whole.turns
    )
    middle = memory.transcripts.file(str(file), turn=whole.turns[1_000].turn, context=900)
    assert middle.turns[middle.index].turn == whole.turns[1_000].turn
    assert middle.first + middle.index == 1_000 and len(middle.turns) <= 40
    assert [t.turn for t in middle.turns] == [
        t.turn for t in whole.turns[middle.first :][: len(middle.turns)]
    ]


def test_what_is_left_of_a_conversation_has_no_gaps_and_a_turn_of_many_tools_an_end():
    sizes = [
        10,
        22_000,
        11_000,
        11_000,
        11_000,
        11_000,
        11_000,
        22_000,
        10,
    ]  # the outermost would still fit
    turns = [
        Turn("codex", "s", str(n), user="u" * min(size, 11_000), assistant="a" * (size - 11_000))
        for n, size in enumerate(sizes)
    ]
    found = Excerpt("/x", turns, 4, first=0, total=9)
    found.shorten()
    places = [int(turn.turn) for turn in found.turns]
    assert (
        places == list(range(places[0], places[-1] + 1))
        and found.turns[found.index].turn == "4"
        and 0 not in places
    )
    tools = [ToolCall("sh", "i" * 2_000, output="o" * 2_000) for _ in range(60)]
    found = Excerpt("/x", [Turn("codex", "s", "t", user="u", tools=tools)], 0, total=1)
    found.shorten()
    assert (
        sum(len(tool.input) + len(tool.output) for tool in found.turns[0].tools) <= 30_000
        and found.left_out > 200_000
    )


def test_a_home_may_begin_with_a_tilde(tmp_path):
    assert Memory(tmp_path, home="~/mine").home.root == tmp_path / "mine"


@pytest.mark.slow
def test_threads_and_asyncio_share_one(memory, box):
    def work(number: int) -> str:
        note = memory.add(f"fact number {number} about topic{number}")
        assert memory.search(f"topic{number}", limit=3, mode="lexical").hits
        memory.mark(note.id, "pin")
        return memory.expand(note.id).id

    with ThreadPoolExecutor(6) as pool:
        names = list(pool.map(work, range(18)))

    async def later() -> int:
        found = await asyncio.gather(*(asyncio.to_thread(memory.expand, name) for name in names))
        return len({note.id for note in found})

    assert asyncio.run(later()) == len(memory.entries()) == 18


@pytest.mark.parametrize("service", [True, False])
@pytest.mark.slow
def test_changes_are_reported_as_they_happen(memory, box, service, monkeypatch):
    if not service:
        monkeypatch.setenv("MEMSEARCH_HOME", str(box.home.root))
        monkeypatch.setattr(
            sys.modules["memsearch_engine.memory"],
            "connect",
            lambda *_, **__: (_ for _ in ()).throw(memsearch_engine.Unreachable("none")),
        )
    memory.add("there before")
    seen: list[tuple[UpdateKind, str]] = []
    changes = memory.watch(timeout_s=40)  # from here on, also before anybody asks for the first

    def watch() -> None:
        for update in changes:
            seen.append((update.kind, update.note.text))
            if update.kind is UpdateKind.REMOVED:
                return

    thread = threading.Thread(target=watch)
    note = memory.add("new")
    thread.start()
    _until(lambda: len(seen) >= 1)
    memory.edit(note.id, "- changed")
    _until(lambda: len(seen) >= 2)
    memory.delete(note.id)
    thread.join(30)
    assert seen == [
        (UpdateKind.ADDED, "- new"),
        (UpdateKind.CHANGED, "- changed"),
        (UpdateKind.REMOVED, "- changed"),
    ]


def test_changes_are_asked_of_another_service_from_its_beginning(memory):
    """Its count begins anew: asked for what comes after the old one's, it would wait."""
    asked: list[int] = []

    class Stopping:
        def call(self, method: str, kind: type, *, version: int, **_: object) -> object:
            asked.append(version)
            if len(asked) == 2:
                raise memsearch_engine.Unreachable("it ended")
            memory.add(f"change {len(asked)}")
            return kind(version=7)

        def close(self) -> None:
            pass

    changes = updates(memory.files.all, lambda **_: Stopping(), 60)
    assert [next(changes).note.text for _ in range(2)] == ["- change 1", "- change 3"]
    assert asked == [0, 7, 0]


def _until(done) -> None:
    from tests.conftest import until

    until(done, 20)


def test_only_entry_points_ask_the_environment_which_home_is_meant():
    allowed = {
        "memory.py",
        "core/home.py",
        "core/projects.py",
        "core/network.py",
        "service/server.py",
    }
    found = {
        str(path.relative_to(ENGINE))
        for path in ENGINE.rglob("*.py")
        if "Home.from_env()" in path.read_text(encoding="utf-8")
    }
    assert found <= allowed


def test_the_example_of_the_python_page_runs(box):
    page = (
        (ENGINE.parents[1] / "docs" / "reference" / "python.md")
        .read_text()
        .split("```python\n", 1)[1]
    )
    done = subprocess.run(
        [sys.executable, "-c", page.split("```")[0]],
        cwd=box.project,
        env=box.env,
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 0
        and done.stdout.startswith("20")
        and "Staging runs Postgres 16" in done.stdout
    ), done


def test_a_home_that_knows_no_project_has_the_one_at_hand(box: Box):
    with Memory(box.project, home=box.home, everything=True) as memory:
        assert (
            [project.root for project in memory.projects]
            == [str(box.project)]
            == [memory.project.root]
        )
    assert box.run("stats", "--all", "--json").code == 3  # there is no index yet
    assert box.ok("index", "--all", "--json").json["projects"]


def test_what_a_project_is_called_is_asked_again_until_it_is_one(box: Box):
    def git(*args: str) -> None:
        identity = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "commit.gpgsign=false",
        ]
        subprocess.run(["git", *identity, *args], cwd=box.project, check=True, capture_output=True)

    git("init", "-q")
    with Memory(box.project, home=box.home) as early, Memory(box.project, home=box.home) as late:
        before = early.project.id
        git("commit", "-q", "--allow-empty", "-m", "first")
        late.add("Staging runs Postgres 16")
        assert early.project.id == late.project.id != before


def test_what_concerns_the_home_alone_works_where_the_folder_is_gone(box: Box):
    gone = box.root / "gone"
    gone.mkdir()
    script = f'cd {gone}; rmdir {gone}; exec "$@"'
    for argv in (
        ["config", "set", "search.top_k", "7"],
        ["spend"],
        ["plugins", "status"],
        ["service", "stop"],
        ["models", "list"],
    ):
        done = subprocess.run(
            ["sh", "-c", script, "sh", *box.argv(), *argv],
            env=box.env,
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, 5), (argv, done.stderr)
        gone.mkdir()


def test_a_broken_project_file_does_not_keep_the_owner_from_his_own_settings(box: Box):
    (box.project / ".memsearch.toml").write_text("[x\n")
    assert box.ok("config", "set", "search.top_k", "7", "--json").json["value"] == 7


def test_a_first_note_of_anybodys_is_noticed_where_somebody_looks(box: Box):
    with Memory(box.project, home=box.home) as memory:
        changes = memory.watch(timeout_s=60)
        memory.capture.standing()
        memory_folder = Path(memory.place.memory)
        timer = threading.Timer(
            0.5,
            lambda: (
                memory_folder.mkdir(parents=True),
                (memory_folder / "2026-05-01.md").write_text(
                    "# 2026-05-01\n\n### 10:00\n- Deploys go out on Tuesdays\n"
                ),
            ),
        )
        timer.start()
        assert "Tuesdays" in next(changes).note.text


def test_a_folder_is_watched_before_it_has_a_note_which_may_be_anybodys(box: Box):
    with Memory(box.project, home=box.home) as memory:
        service = memory.service
        assert service.status().projects == 0
        memory.capture.standing()  # what the app asks; nothing is written yet
        assert (
            service.status().projects == 1 and memory.known() == []
        )  # looked after, and yet no project


def test_only_a_files_own_place_makes_it_one_of_the_projects_notes(box: Box):
    with Memory(box.project, home=box.home) as memory:
        folder = memory.place.memory
        assert memory.files.owns(f"{folder}/2026-05-01.md")
        assert not memory.files.owns(f"{folder}/../../secret.md") and not memory.files.owns(
            f"{folder}-old/2026-05-01.md"
        )


#: What faces must not reach: the index's database, the journal, and methods of the service by name.
_PRIVATE = {"catalog", "journal", "connect", "call", "place_param", "_scope"}
_OTHERS = {"subprocess", "connecting"}  # modules with functions of the same names


def test_a_face_reaches_nothing_behind_the_public_surface():
    """Import contracts see modules, not attributes. The demo writes a past that no verb may."""
    faces = Path(memsearch_tui.__file__).parent
    found = [
        f"{path.relative_to(faces)}:{node.lineno} .{node.attr}"
        for path in faces.rglob("*.py")
        if path.parent.name != "demo"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in _PRIVATE
        and not (isinstance(node.value, ast.Name) and node.value.id in _OTHERS)
    ]
    assert found == []


@pytest.mark.slow
def test_the_python_examples_pass_a_strict_type_checker(tmp_path):
    """In a user's folder, where nothing of this repository's configuration holds."""
    text = (ENGINE.parent.parent / "docs/reference/python.md").read_text()
    examples = [part.partition("```")[0] for part in text.split("```python\n")[1:]]
    assert examples
    for number, example in enumerate(examples):
        file = tmp_path / f"example_{number}.py"
        file.write_text(example)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--cache-dir",
                str(tmp_path / "cache"),
                file,
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout
