"""The app ends when its terminal is closed: no process stays, and nothing typed is lost."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import psutil
import pytest

from tests.conftest import Box
from tests.tui.test_terminal import Terminal

_ENDS_S = 60  # limit for a machine under load; the app's own last resort comes after 15 s
#: 0: the app left as after `q`. 120: Python could not write its last output. 129: leaving took
#: longer than the app's limit, on a machine under load.
_LEFT = (0, 120, 129)


@pytest.fixture
def start(box: Box) -> Iterator[Callable[..., tuple[Terminal, psutil.Process]]]:
    """Starts the app in a terminal; ends what a failed test leaves."""
    started: list[psutil.Process] = []

    def begin(*, ignore_sighup: bool = False) -> tuple[Terminal, psutil.Process]:
        app = Terminal(box.fill(), ignore_sighup=ignore_sighup)
        started.append(psutil.Process(app.child.pid))
        app.see("Postgres 16")
        return app, started[-1]

    yield begin
    for process in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


@pytest.mark.parametrize("ignored", [False, True], ids=["SIGHUP arrives", "SIGHUP is ignored"])
def test_a_closed_terminal_ends_the_app(start, ignored: bool):
    app, process = start(ignore_sighup=ignored)
    os.close(app.child.fileno())
    assert process.wait(_ENDS_S) in _LEFT


def test_a_terminal_that_no_longer_reads_and_is_closed_ends_the_app(start):
    """The app then has more to write than its terminal takes."""
    app, process = start(ignore_sighup=True)
    app.press("jk" * 100)
    os.close(app.child.fileno())
    assert process.wait(_ENDS_S) in _LEFT


def test_text_in_the_editor_is_a_draft_after_the_terminal_was_closed(start, box: Box):
    app, process = start()
    app.press("e")
    app.see("ctrl+s")
    app.press("end", "\x1b[200~typed last\x1b[201~")  # pasted: keys may be drawn in several frames
    app.see("typed last")
    os.close(app.child.fileno())
    assert process.wait(_ENDS_S) in _LEFT
    (draft,) = (box.home.root / "drafts").glob("*.json")
    assert "typed last" in draft.read_text()


def test_sigterm_leaves_the_terminal_as_it_was(start):
    app, process = start()
    process.terminate()
    app.see("\x1b[?1049l")  # back from the alternate screen
    assert app.leave() == 0
