"""``SessionFinder`` finds what ``find_session`` finds, and lists the files of an agent once."""

from __future__ import annotations

import json

import pytest
from memsearch_engine.agents.transcripts import locate
from memsearch_engine.agents.transcripts.locate import SessionFinder, find_session
from memsearch_engine.agents.transcripts.readers import FileReader, reader
from memsearch_engine.core import agent_registry
from memsearch_engine.core.home import AgentFolders

IDS = ("389a01f3-dd0a-5386-a625-f0b2b2c0be50", "Short-1", "x", "_under", "20260301_ab.c:d")
#: Agent -> where it writes a session, from the folder of its sessions.
FILES = {
    "claude-code": ["-p/{0}.jsonl"],
    "codex": [
        "2026/03/01/rollout-2026-03-01T10-00-00-{0}.jsonl",
        "../archived_sessions/rollout-2026-03-01T10-00-00-{0}.jsonl.zst",
    ],
    "qwen": ["-p/chats/{0}.jsonl", "-p/chats/archive/{0}.jsonl"],
    "gemini": ["hash/chats/session-2026-03-01T10-00-{0:.8}.json"],
    "pi": ["sessions/-p/2026-03-01T10-00-00-000Z_{0}.jsonl"],
    "copilot": ["{0}/events.jsonl", "{0}.jsonl"],
    "cline": ["{0}/{0}.messages.json"],
    "kimi": ["-p/{0}/agents/main/wire.jsonl"],
    "vibe": ["session_20260301_{0:.8}/messages.jsonl", "unified/{0}/CURRENT"],
}


def test_the_names_of_all_agents_with_files_are_checked():
    named = agent_registry.names()
    assert set(FILES) == {name for name in named if isinstance(reader(name), FileReader)}


@pytest.mark.parametrize("agent", FILES)
@pytest.mark.parametrize("session", IDS)
def test_a_session_with_a_file_is_looked_for(tmp_path, monkeypatch, agent, session):
    asked = []
    monkeypatch.setattr(locate, "find_session", lambda *of: asked.append(of[:3]))
    for number, name in enumerate(FILES[agent]):
        place = tmp_path / str(number) / "sessions"
        file = place / name.format(session)
        place.mkdir(parents=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
        assert list(reader(agent).files(place, session)), name
        SessionFinder(AgentFolders({agent: [place]})).find(agent, session, "/gone")
        assert asked.pop() == (agent, session, "/gone")


def test_many_lost_sessions_are_found_missing_by_one_list(tmp_path, monkeypatch):
    place, other = tmp_path / "projects", tmp_path / "else.jsonl"
    (place / "-p").mkdir(parents=True)
    row = json.dumps({"type": "user", "uuid": "t", "message": {"content": "asked"}})
    for file in (place / "-p" / "one.jsonl", place / "-p" / "renamed.jsonl", other):
        file.write_text(row)
    folders = AgentFolders({"claude-code": [place], "codex": [tmp_path / "none"]})
    asked = [("claude-code", f"{n:08x}-a", f"/gone/{n:08x}-a.jsonl") for n in range(20)]
    asked += [("codex", "lost", ""), ("nobody", "lost", ""), ("opencode", "lost", "~x\0y")]
    asked += [("claude-code", "one", "/gone/one.jsonl"), ("claude-code", "two", str(other))]
    asked += [("claude-code", "s", str(place / "-p" / "renamed.jsonl"))]
    expected = [find_session(*one, folders) for one in asked]
    assert [found.session for found in expected if found] == ["one", "s"]
    listed, files = [], type(reader("claude-code")).files
    monkeypatch.setattr(
        type(reader("claude-code")),
        "files",
        lambda self, *of: (listed.append(of), files(self, *of))[1],
    )
    finder = SessionFinder(folders)
    assert [finder.find(*one) for one in asked] == expected
    assert listed == [(place,), (place, "one"), (place, "two")]
