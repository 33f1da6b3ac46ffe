"""Text is UTF-8 whatever the locale says; what is no UTF-8 is refused, never written with signs
replaced.
"""

from __future__ import annotations

import pytest

from tests.conftest import Box

_PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "MEMSEARCH_NO_SERVICE": "1"}


def notes(box: Box) -> str:
    return (
        "".join(path.read_text() for path in box.memory.glob("*.md")) if box.memory.exists() else ""
    )


@pytest.mark.slow
def test_arguments_and_names_of_files_are_utf_8_in_a_locale_of_ascii(box):
    text = "Die Tür öffnet bei 21 °C — 鍵は二本 🔑"
    other = box.other_project("Käsezettel")
    box.ok("add", text, env=_PLAIN)
    box.ok("remember", "Der Schlüssel heißt 鍵", env=_PLAIN)
    box.ok("add", "In a folder with an odd name", env=_PLAIN, cwd=other)
    assert text in notes(box) and "\ufffd" not in notes(box)
    assert "鍵は二本" in box.ok("search", "öffnet", "--no-wait", env=_PLAIN).out
    assert "heißt 鍵" in box.ok("context", "claude-code", env=_PLAIN).out


@pytest.mark.parametrize("command", ["add", "remember"])
def test_bytes_that_are_no_utf_8_are_refused(box, command):
    refused = box.run(command, b"Das Ventil \xf6ffnet", env={"MEMSEARCH_NO_SERVICE": "1"})
    assert refused.code == 2 and "not UTF-8" in refused.err and "Traceback" not in refused.err
    assert notes(box) == ""


def test_a_pipe_that_is_no_utf_8_is_refused(box):
    env = {"MEMSEARCH_NO_SERVICE": "1"}
    refused = box.run("add", stdin=b"Das Ventil \xf6ffnet", env=env)
    assert refused.code == 2 and "byte 12" in refused.err and notes(box) == ""
    box.ok("add", stdin="Zwei\r\nZeilen für alle", env={**env, **_PLAIN})
    assert "Zeilen für alle" in notes(box) and "\r" not in notes(box)
