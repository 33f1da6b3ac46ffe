"""What is scanned for secrets before a turn is stored."""

from __future__ import annotations

from memsearch_engine.agents.transcripts.model import ToolCall, Turn
from memsearch_engine.capture import clean
from memsearch_engine.core.home import Home

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
