"""`search`, `expand` and `transcript` print the same through the quick client as through click."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.locate import open_file

from memsearch_tui.cli import group, quick, terminal
from tests.conftest import Box

_TIMES = re.compile(r'(?<="took_ms": )[\d.e-]+|(?<=, )\d+(?= ms\))')
SEARCHES = [
    ["redis"],
    ["redis", "ttl", "--json"],
    ["redis ttl", "-j"],
    ["--explain", "--weak", "connection", "pool"],
    ["redis", "-k", "2", "--all"],
    ["redis", "--top-k=1", "--json", "--mode", "bm25"],
    ["selectinload", "--fusion=rrf", "--explain", "--json"],
    ["zzzqqq nothing at all", "--mode", "bm25"],
    ["agent:codex after:2020-01-01 timeout", "-a"],
    ["缓存", "--json"],
]
#: Command lines that the quick client leaves to click.
UNKNOWN = [
    ["search"],
    ["search", "--help"],
    ["search", "redis", "-p", "other"],
    ["search", "redis", "-k", "many"],
    ["search", "redis", "-k"],
    ["search", "redis", "-ja"],
    ["search", "redis", "--mode", "fast"],
    ["search", "redis", "-k", "0"],
    ["search", "redis", "--by", "session"],
    ["search", "redis", "--no-wait"],
    ["search", "redis", "--collection", "ms_x"],
    ["search", "redis as-of:2026-01-01"],
    ["search", "--", "-draft"],
    ["search", "redis", "\udcff"],
    ["search", "project:nobody redis"],
    ["expand", "one", "two"],
    ["expand", "00000000"],
    ["expand", "3fa9c1d2", "-n", "2000"],
    ["days"],
    [],
]


@pytest.fixture
def here(shared_box: Box, monkeypatch: pytest.MonkeyPatch) -> Box:
    shared_box.ready()
    enter(shared_box, monkeypatch)
    return shared_box


def enter(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process stand where the box's commands run."""
    for name, value in box.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(box.project)


def printed(code: int | None, capfd: pytest.CaptureFixture[str]) -> tuple[int | None, str, str]:
    out, err = capfd.readouterr()
    return code, _TIMES.sub("T", out), _TIMES.sub("T", err)


@pytest.fixture(params=["piped", "on a terminal"])
def seen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "piped":
        monkeypatch.setenv("PAGER", "")
        for name in ("colors", "is_read_by_a_person"):
            monkeypatch.setattr(terminal, name, lambda: True)


def assert_same(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    ours = printed(quick.run(arguments), capfd)
    assert ours[0] is not None
    assert ours == printed(group.run(arguments), capfd)
    return ours[1]


@pytest.mark.parametrize("arguments", SEARCHES, ids=" ".join)
def test_a_search_prints_the_same(
    here: Box, seen: None, arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert_same(["search", *arguments], capfd)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--json"],
        ["-j"],
        ["--raw"],
        ["-n", "2"],
        ["--no-section"],
        ["-a", "--lines=1", "--json"],
    ],
    ids=" ".join,
)
def test_a_section_prints_the_same(
    here: Box, seen: None, options: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    for name in here.ids().values():
        assert assert_same(["expand", name, *options], capfd)


@pytest.mark.parametrize("arguments", UNKNOWN, ids=repr)
def test_what_it_does_not_know_is_left_to_click(
    here: Box, arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert quick.run(arguments) is None
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A box with the notes of two turns whose transcript is there; one has a secret in it."""
    box = Box(tmp_path_factory.mktemp("talking"))
    blocks = []
    for name in ("01-tool-then-resume", "04-secret"):
        sample = Path(__file__).parents[1] / "samples" / "claude-code" / f"{name}.jsonl"
        turn = open_file(str(sample), "", "").turns[0]
        file = box.user / ".claude" / "projects" / "p" / f"{turn.session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sample, file)
        anchor = f"agent:claude-code session:{turn.session} turn:{turn.turn} transcript:{file}"
        blocks.append(f"### 10:0{len(blocks)}\n<!-- {anchor} -->\n- Note {name}\n")
    box.write("2026-03-01", "# 2026-03-01\n\n" + "\n".join(blocks))
    box.own()
    box.index()
    box.ready()
    yield box
    box.clean()


@pytest.mark.parametrize(
    "options",
    [[], ["--json"], ["-c", "1"], ["--full", "--context=3"], ["--raw", "--json"]],
    ids=" ".join,
)
def test_a_conversation_prints_the_same(
    talking: Box,
    seen: None,
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    enter(talking, monkeypatch)
    for name in talking.ids().values():
        assert assert_same(["transcript", name, *options], capfd)


def test_sessions_elsewhere_are_looked_for_by_click(
    talking: Box, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    enter(talking, monkeypatch)
    name = next(iter(talking.ids().values()))
    assert quick.run(["transcript", name, "--turn", "x"]) is None
    assert quick.run(["transcript", name, "-j"]) is None
    assert quick.run(["transcript", "/no/file.jsonl"]) is None
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/elsewhere")
    assert quick.run(["transcript", name]) is None
    assert capfd.readouterr() == ("", "")


def test_without_a_service_click_is_asked(
    box: Box, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    box.fill()
    monkeypatch.setenv("MEMSEARCH_HOME", str(box.home.root))
    monkeypatch.chdir(box.project)
    assert quick.run(["search", "redis"]) is None
    assert len(box.processes()) == 1  # it starts while click is imported
    assert capfd.readouterr() == ("", "")


def test_click_says_why_the_service_can_not_be_started(
    box: Box, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    box.fill()
    box.home.ensure()
    monkeypatch.setenv("MEMSEARCH_HOME", str(box.home.root))
    monkeypatch.chdir(box.project)
    monkeypatch.setattr(sys, "executable", str(box.project / "no-python"))
    assert quick.run(["search", "redis"]) is None
    assert capfd.readouterr() == ("", "")


def test_an_owner_s_number_of_hits_counts(
    box: Box, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    box.fill().index()
    box.ready()
    enter(box, monkeypatch)
    box.home.config.write_text("[search]\ntop_k = 1\n")
    assert_same(["search", "redis", "--json"], capfd)
    box.home.config.write_text("[search\n")
    assert quick.run(["search", "redis"]) is None  # click says what is wrong with the file
