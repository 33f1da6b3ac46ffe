"""The installed command in a real pseudo-terminal: keys in, files out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pexpect
import pytest

from tests.conftest import Box
from tests.placing import place_samples

_ESCAPES = re.compile(r"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07|\x1b[=>]")


class Terminal:
    """A person at a terminal: waits for what is drawn, types, and can look at everything that was
    ever drawn.
    """

    def __init__(
        self,
        box: Box,
        *args: str,
        size: tuple[int, int] = (40, 120),
        ignore_sighup: bool = False,
    ) -> None:
        env = {**box.env, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        env.pop("NO_COLOR", None)
        argv = [str(part) for part in box.argv(*args)]
        self.child = pexpect.spawn(
            argv[0],
            argv[1:],
            cwd=str(box.project),
            env=env,
            dimensions=size,
            ignore_sighup=ignore_sighup,
            encoding="utf-8",
            codec_errors="replace",
            timeout=30,
        )
        self.drawn = ""

    def see(self, words: str) -> None:
        """Wait until *words* were drawn after the last thing that was waited for."""
        pattern = re.compile(r"(?:\x1b\[[0-9;?]*[A-Za-z])*".join(re.escape(sign) for sign in words))
        self.child.expect(pattern)
        self.drawn += str(self.child.before) + str(self.child.after)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.child.send(
                {
                    "enter": "\r",
                    "escape": "\x1b",
                    "down": "\x1b[B",
                    "ctrl+s": "\x13",
                    "end": "\x1b[F",
                }.get(key, key)
            )

    def leave(self) -> int:
        self.child.expect(pexpect.EOF)
        self.child.wait()  # the terminal is let go of a moment before the process ends
        self.child.close()
        return self.child.exitstatus


@pytest.fixture
def desk(box: Box) -> Box:
    """Imported sessions of four agents in one project, indexed."""
    projects = box.root / "projects"
    place_samples(box.user, projects)
    for name in ("cx1", "oc1", "claw1"):  # one project with everything in it
        shutil.rmtree(projects / name)
    box.project = projects / "cc1"
    box.memory = box.project / ".memsearch" / "memory"
    done = box.ok("import", "--all", "--orphans", str(box.project), "--yes", "--json").json
    assert done["written"] == done["new"] == 45, done
    box.index()
    return box


def day(desk: Box) -> Path:
    return desk.memory / "2026-11-21.md"


@pytest.mark.slow
def test_found_by_meaning_opened_at_its_turn_edited_deleted_undone(desk):
    desk.ready()
    before = day(desk).read_bytes()
    app = Terminal(desk)
    app.see("2026-11-21")
    app.press("/")
    app.see("after:7d")  # the box is drawn anew: it has the focus
    app.press(
        "second turn of the resumed codex session"
    )  # at once: no rest in which a part of it is answered
    app.see(" hit")
    app.press("enter", "enter", "enter")
    app.see("turn 2 of 2")
    app.press("h", "e")
    app.see("ctrl+s saves")
    app.press("end", " (edited here)", "ctrl+s")
    app.see("saved")
    edited = day(desk).read_bytes()
    assert edited != before and edited.count(b"(edited here)") == 1
    assert edited.replace(b" (edited here)", b"") == before
    app.press(
        "h", "d"
    )  # back to the hits; an escape and a letter at once would be alt and that letter
    app.see("deleted")
    assert len(day(desk).read_bytes()) < len(edited)
    app.press("u")
    app.see("undo")
    assert day(desk).read_bytes() == edited
    app.press("q")
    assert app.leave() == 0
    assert day(desk).read_bytes() == edited
    desk.ok("undo")
    assert day(desk).read_bytes() == before


def test_enter_that_was_typed_before_the_app_reads_keys_is_enter(box: Box):
    app = Terminal(box.fill())
    app.press("/postgres\rq")  # the terminal makes a line feed of enter until the app reads keys
    assert app.leave() == 0


@pytest.mark.slow
def test_a_terminal_that_can_do_nothing_gets_the_commands(desk):
    app = Terminal(desk)
    app.see("2026-11-21")
    app.press("q")
    assert app.leave() == 0
    dumb = desk.run("tui", env={"TERM": "dumb"})
    assert dumb.code == 3 and "memsearch tui --plain" in dumb.err
    assert "project" in desk.run(env={"TERM": "dumb"}).out


@pytest.mark.parametrize("size", [(24, 80), (60, 200)])
@pytest.mark.slow
def test_it_opens_in_every_size(desk, size):
    app = Terminal(desk, size=size)
    app.see("21 Nov")
    app.press("?")
    app.see("Search")
    app.press("q")
    app.see("21 Nov")
    app.press("q")
    assert app.leave() == 0


def test_the_size_of_the_terminal_counts_not_an_exported_one(box):
    box.fill()
    box.env |= {"COLUMNS": "80", "LINES": "20"}
    app = Terminal(box, size=(34, 130))
    app.see("Postgres 16")
    app.child.expect(r"\x1b\[\d+;1[0-2]\dH")  # it writes to the right of column 100
    app.press("q")
    assert app.leave() == 0


def test_keys_after_the_one_that_quits_do_nothing(box: Box):
    terminal = Terminal(box.fill())
    terminal.see("notes")
    terminal.child.send("qe")  # at once, as a person types
    terminal.child.expect(pexpect.EOF)
    assert "Traceback" not in str(terminal.child.before)
