"""What is scanned for secrets before a turn is stored."""

from __future__ import annotations

from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.capture import clean
from memsearch_engine.core.home import Home
from memsearch_engine.secrets import scan

_TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def test_the_name_of_a_tool_is_scanned_once(tmp_path, monkeypatch):
    home, redact, scanned = Home(tmp_path / "home").ensure(), clean.redact, []
    monkeypatch.setattr(
        clean, "redact", lambda text, home: (scanned.append(text), redact(text, home))[1]
    )
    calls = [ToolCall("Bash", f"pytest {n}", "passed") for n in range(9)]
    calls.append(ToolCall(_TOKEN, "", ""))
    turn = Turn("codex", "s", "t", "", "", "/p", "Test it", "It passes.", calls)
    cleaned = clean.redacted(turn, home)
    assert clean.redacted(turn, home) == cleaned == clean.without_secrets(turn, home)
    assert scanned.count("Bash") == scanned.count(_TOKEN) == 1
    assert [tool.name for tool in cleaned.tools] == ["Bash"] * 9 + [redact(_TOKEN, home)[0]]
    assert _TOKEN not in cleaned.tools[-1].name


def test_a_repeated_result_of_a_tool_is_scanned_once_until_its_owner_allows_it(
    tmp_path, monkeypatch
):
    home, redact, scanned = Home(tmp_path / "home").ensure(), clean.redact, []
    monkeypatch.setattr(
        clean, "redact", lambda text, home: (scanned.append(text), redact(text, home))[1]
    )
    result, long = f"token {_TOKEN}", "passed\n" * 200
    calls = [ToolCall("Bash", "make token", result), ToolCall("Bash", "make token", long)] * 3
    turn = Turn("codex", "s", "t", "", "", "/p", "Make a token", "Made.", calls)
    tools = clean.redacted(turn, home).tools
    assert [scanned.count(text) for text in ("make token", result, long)] == [1, 1, 3]
    (found,) = redact(result, home)[1]
    assert {tool.output for tool in tools} == {f"token {found.placeholder}", long}
    scan.allow(home, found.fingerprint)
    assert clean.redacted(turn, home).tools[0].output == result
