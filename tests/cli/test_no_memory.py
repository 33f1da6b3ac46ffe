"""A command that gets no more memory says so in a sentence."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from memsearch_engine import Memory, Unreachable
from memsearch_engine.core.project_registry import Registry
from memsearch_engine.journal import disk
from memsearch_engine.search.scope import Scope

from memsearch_tui.cli import group

_RUN = "import sys; from memsearch_tui.cli import group; sys.exit(group.run(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("verb", "words"), [("add", ["add", "A note"]), ("search", ["search", "note", "--no-wait"])]
)
def test_it_is_one_sentence_and_exit_3(box, monkeypatch, capsys, verb, words):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.chdir(box.project)
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    monkeypatch.setattr(Memory, verb, full)
    assert group.run([*words, "--json"]) == 3
    said = capsys.readouterr()
    assert said.err == "error: there is not enough memory for this\n"
    assert "not enough memory" in json.dumps(json.loads(said.out))


@pytest.mark.parametrize(
    "error",
    [MemoryError(), Unreachable("the registry is locked"), OSError(5, "Input/output error")],
)
def test_a_note_that_was_written_is_never_reported_as_not_written(box, monkeypatch, capsys, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.chdir(box.project)
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    monkeypatch.setattr(Scope, "register", fail)
    assert group.run(["add", "Lanterns are lit at dusk", "--json"]) == 0
    said = capsys.readouterr()
    made = json.loads(said.out)
    assert made["unconfirmed"] and "written, not confirmed" in said.err
    with open(made["source"]) as day:
        assert day.read().count("Lanterns are lit at dusk") == 1


@pytest.mark.parametrize("how", ["moved away", "replaced"])
def test_a_note_whose_file_another_program_takes_at_once_is_written_and_not_confirmed(
    box, monkeypatch, capsys, how
):
    monkeypatch.chdir(box.project)
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    append, taken = disk.append, []

    def taken_at_once(path, block, **more):
        append(path, block, **more)
        taken.append(Path(path).read_text())
        Path(path).rename(f"{path}.orig") if how == "moved away" else Path(path).write_text("# x\n")

    monkeypatch.setattr(disk, "append", taken_at_once)
    assert group.run(["add", "Lanterns are lit at dusk", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["unconfirmed"] and "written, not confirmed" in said.err
    assert "don't add it again" in said.err and taken[0].count("Lanterns are lit at dusk") == 1


@pytest.mark.parametrize(
    "error",
    [MemoryError(), Unreachable("the registry is locked"), OSError(5, "Input/output error")],
)
def test_a_change_that_was_written_is_never_reported_as_not_done(box, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.chdir(box.project)
    monkeypatch.setenv("MEMSEARCH_NO_SERVICE", "1")
    memory = Memory()
    note = memory.add("Lanterns are lit at dusk")
    memory.remember("Deploys go out on Tuesdays")
    monkeypatch.setattr(Scope, "register", fail)
    monkeypatch.setattr(Registry, "all", fail)
    assert memory.edit(note.id, "- Lanterns are lit at dawn").text == "- Lanterns are lit at dawn"
    assert "pin" in memory.mark(note.id, "pin").marks
    memory.delete(note.id)
    assert [change.op for change in memory.undo()] == ["delete"]
    assert [change.op for change in memory.redo()] == ["delete"]
    memory.restore(memory.history()[0].seq)
    assert [one.id for one in memory.entries()] == [note.id]
    memory.remember("Freezes begin on Fridays", everywhere=True)
    assert memory.forget("Tuesdays", memory.forgettable("Tuesdays")) == 1
    assert memory.forgettable("Tuesdays") == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit")
def test_under_a_limit_of_address_space_nothing_is_written_and_one_sentence_is_printed(box):
    limit = 1 << 30
    done = subprocess.run(
        [sys.executable, "-c", _RUN, "add", "A note"],
        cwd=box.project,
        env={**os.environ, "MEMSEARCH_NO_SERVICE": "1"},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert (
        done.stderr.startswith("error: there is not enough memory for this")
        and done.stderr.count("\n") == 1
    )
    assert not list(box.project.glob(".memsearch/memory/*.md"))


def test_doctor_imports_no_numpy_whose_library_ends_the_process_without_memory(box):
    command = "import sys; from memsearch_tui.cli import group; group.run(['doctor'])"
    done = subprocess.run(
        [sys.executable, "-c", f"{command}; print('numpy' in sys.modules)"],
        cwd=box.project,
        env={**os.environ, **box.env, "MEMSEARCH_NO_SERVICE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("False\n"), done.stdout
