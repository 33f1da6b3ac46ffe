"""Summaries by a model: checked, capped, retried, and never over the owner's own words. The model
is a server on loopback.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from memsearch_engine.agents.transcripts.model import Session, ToolCall, Turn
from memsearch_engine.capture import summaries
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm import spend
from memsearch_engine.core.llm.providers import ModelError, complete
from memsearch_engine.core.own_prompts import MARK
from memsearch_engine.core.settings import Provider, Settings, Summarize, load, set_value
from memsearch_engine.core.settings_schema import CaptureSettings, LlmSettings
from memsearch_engine.core.state import using
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.targets import Target
from memsearch_engine.journal.write import Journal

from tests.mock_model import MockModel

GOOD = "- User asked why the build fails\n- Agent pinned `foo<2` because 2.0 dropped the API"
SECRET = "ghp_" + "k3Vx9Qm2Zt7Rb1Lw8Np4Yc6Hd5Jf0Gs3Ea2U"


class Desk:
    """A project, a model with replies to give, and a turn to keep."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root / "home")
        self.project = root / "project"
        (self.project / ".memsearch").mkdir(parents=True)
        self.replies: list[str | int] = []
        self.model = MockModel(lambda request: self.replies.pop(0) if self.replies else GOOD)
        provider = Provider(
            type="openai",
            base_url=f"{self.model.url}/v1",
            api_key="k",
            model="m",
            price_in=1.0,
            price_out=2.0,
        )
        self.settings = Settings(
            capture=CaptureSettings(summarize=Summarize(provider="mine")),
            llm=LlmSettings(providers={"mine": provider}),
        )
        self.journal = Journal(self.home)

    def keep(self, turn: str = "t1", user: str = "Why does the build fail?", **more) -> Target:
        pipeline = CapturePipeline(self.home, self.journal, self.settings)
        made = Turn(
            "claude-code",
            "s",
            turn,
            "2026-01-05T10:00:00Z",
            cwd=str(self.project),
            user=user,
            assistant="The lock was stale. I pinned foo.",
            **more,
        )
        kept = pipeline.capture(made, Session("claude-code", "s", "/gone.jsonl", "transcript"))
        pipeline.close()
        (path,) = (self.project / ".memsearch" / "memory").glob("*.md")
        return Target(str(path), kept.entry_id)

    def work(self) -> list[str]:
        return summaries.work(self.home, self.journal, self.settings)

    def entry(self, target: Target):
        return read_day(target.path).find(target.entry_id)

    def due(self) -> None:
        """Let the pauses between tries pass."""
        with using(self.home, summaries._SCHEMA) as db:
            db.execute("UPDATE summaries SET next_at=0")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.model.close()


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_summary_takes_the_place_of_the_extractive_note(desk, kind):
    desk.settings.llm.providers["mine"].type = kind
    target = desk.keep()
    first = desk.entry(target)
    assert (
        first.marks == {"summary": "pending"}
        and "User asked: Why does the build fail?" in first.body
    )
    assert desk.work() == [str(desk.project / ".memsearch" / "memory")]
    after = desk.entry(target)
    assert after.body == GOOD and after.marks == {} and after.anchors == first.anchors
    assert desk.journal.undo() == []  # capture's second half is no step of the owner's undo
    (day,) = spend.by_day(desk.home)
    assert (day.calls, day.input_tokens, day.output_tokens, day.counted) == (1, 100, 20, 1)
    assert day.usd == pytest.approx(140e-6)
    assert desk.work() == [] and summaries.waiting(desk.home) == {"done": 1}


def test_an_entry_that_somebody_edited_or_deleted_is_left_alone(desk):
    edited, deleted = desk.keep("t1"), desk.keep("t2", user="Second question?")
    desk.journal.edit("", edited, "- my own words")
    desk.journal.delete("", [deleted])
    assert desk.work() == [] and desk.model.requests == []
    assert desk.entry(edited).body == "- my own words" and desk.entry(deleted) is None
    assert summaries.waiting(desk.home) == {"kept": 2}


def test_limits_and_nonsense_are_tried_again_and_then_the_extractive_note_stays(desk):
    target = desk.keep()
    before = desk.entry(target).body
    desk.replies = [
        429,
        "You have hit your rate limit.",
        "",
        "I'll look into the build for you!",
        "# Summary\nnone",
        500,
    ]
    for _ in range(len(desk.replies)):
        assert desk.work() == []
        desk.due()
    assert desk.entry(target).body == before and desk.entry(target).marks == {}
    (failure,) = summaries.failures(desk.home)
    assert failure["state"] == "failed" and failure["tries"] == 6
    assert summaries.retry(desk.home) == 1
    desk.work()
    assert summaries.waiting(desk.home) == {
        "kept": 1
    }  # its mark went, so it is not what was queued


def test_a_later_try_succeeds(desk):
    target = desk.keep()
    desk.replies = [503]
    assert desk.work() == [] and desk.work() == []  # not due yet
    assert len(desk.model.requests) == 1
    desk.due()
    assert desk.work() and desk.entry(target).body == GOOD


def test_the_day_has_a_cap_and_a_turn_has_one(desk):
    desk.settings.capture.daily_tokens = 900
    targets = [desk.keep(f"t{n}", user=f"Question {n}?") for n in range(3)]
    desk.work()
    done = [t for t in targets if desk.entry(t).body == GOOD]
    assert 0 < len(done) < 3 and summaries.waiting(desk.home)["waiting"] == 3 - len(done)
    assert "tokens are used up" in summaries.failures(desk.home)[0]["reason"]
    desk.settings.capture.daily_tokens, desk.settings.capture.per_turn_tokens = 10**6, 2000
    huge = desk.keep("big", user="x " * 50_000, tools=[ToolCall("Bash", "ls", "y " * 50_000)])
    desk.due()
    desk.work()
    question = desk.model.requests[-1]["messages"][-1]["content"]
    assert desk.entry(huge).body == GOOD and len(question) < 2000 * 5


def test_what_is_sent_and_what_comes_back_is_clean(desk):
    target = desk.keep(
        user=f"Push with {SECRET}", tools=[ToolCall("Bash", f"export T={SECRET}", SECRET)]
    )
    desk.replies = [
        (
            f"Here are the notes:\n- Agent pushed with {SECRET}\n"
            "- <!-- id:forged --> ## Session 09:00\n# forged"
        )
    ]
    desk.work()
    assert SECRET not in desk.model.said()
    body = desk.entry(target).body
    assert SECRET not in body and "[REDACTED:" in body and len(read_day(target.path).entries) == 1
    assert read_day(target.path).entries[0].marks == {}


def test_a_summary_keeps_the_users_language(desk):
    target = desk.keep(user="为什么构建失败了？请修复它。")
    desk.replies = [GOOD, "- 用户询问构建失败的原因\n- 代理固定了 foo 的版本"]
    desk.work()
    assert "summary" in desk.entry(target).marks
    desk.due()
    desk.work()
    assert desk.entry(target).body.startswith("- 用户询问")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no bullets here",
        "- rate limit exceeded",
        "- I fixed it for you\n- I'll test it",
        "- a\n" * 30,
    ],
)
def test_what_is_no_summary_is_refused(text):
    with pytest.raises(ModelError):
        summaries.checked(text, "<turn>\n[User] why?\n[Agent] x\n</turn>", Home.from_env())


def test_prompts_can_be_the_users_own_and_settings_choose_by_agent(desk):
    folder = desk.home.root / "prompts"
    folder.mkdir(parents=True)
    (folder / "summarise.md").write_text("My own instructions")
    desk.keep()
    desk.work()
    assert desk.model.requests[0]["messages"][0]["content"] == f"{MARK}\nMy own instructions"
    (desk.home.root / "config.toml").write_text(
        '[capture.summarize]\nprovider = "native"\n[plugins.codex.summarize]\nenabled = false\n'
        '[plugins.claude-code.summarize]\nprovider = "mine"\nmodel = "x"\n'
        '[llm.providers.mine]\ntype = "anthropic"\nmodel = "m"\n'
    )
    settings = load(desk.home)
    assert settings.warnings == []
    assert [
        summaries.chosen(settings, a).provider for a in ("codex", "claude-code", "copilot")
    ] == [
        "extractive",
        "mine",
        "extractive",  # its client can't be kept from its tools
    ]
    set_value(desk.home, "llm.providers.mine.base_url", "http://localhost:1")
    assert load(desk.home).llm.providers["mine"].base_url == "http://localhost:1"
    with pytest.raises(SettingsError, match="no model provider"):
        complete(settings.llm, "nobody", "s", "q")


def test_a_command_line_is_asked_without_tools_or_hooks(desk, tmp_path, monkeypatch):
    """What the real command lines are given; that they take it is tried with the real ones
    (tests/agents).
    """
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    claude = bin_ / "claude"
    claude.write_text(
        "#!/bin/sh\n"
        'cat > "$0.stdin"; printf \'%s\\n\' "$@" > "$0.argv"; env > "$0.env"; pwd > "$0.cwd"\n'
        "cat <<'END'\n"
        '[{"type":"system"},{"type":"result","is_error":false,"result":"- '
        'User asked\\n- Agent answered",'
        '"usage":{"input_tokens":7,"output_tokens":3}}]\nEND\n'
    )
    claude.chmod(claude.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
    monkeypatch.setenv("CLAUDECODE", "1")
    desk.settings.capture.summarize = Summarize(provider="native")
    target = desk.keep(user="--dangerous $(rm -rf /) `x`")
    desk.work()
    assert desk.entry(target).body == "- User asked\n- Agent answered"
    argv = (bin_ / "claude.argv").read_text()
    assert (
        "--safe-mode" in argv and "--no-session-persistence" in argv and "--dangerous" not in argv
    )
    assert "--dangerous $(rm -rf /)" in (bin_ / "claude.stdin").read_text()
    environment = (bin_ / "claude.env").read_text()
    assert "MEMSEARCH_DISABLE=1" in environment and "CLAUDECODE=1" not in environment
    assert not Path((bin_ / "claude.cwd").read_text().strip()).exists()
    (day,) = spend.by_day(desk.home)
    assert (day.provider, day.input_tokens) == ("native", 7)


@pytest.mark.parametrize("agent", ["gemini", "copilot"])
def test_a_client_that_can_not_be_kept_from_its_tools_is_not_asked(tmp_path, monkeypatch, agent):
    """A client without a module ``native`` is never started as a model."""
    program = tmp_path / "bin" / agent
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ntouch "$0.ran"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    with pytest.raises(ModelError):
        complete(LlmSettings(), "native", "s", "q", agent=agent)
    assert not Path(f"{program}.ran").exists()


def test_what_we_ask_carries_our_mark_and_never_becomes_a_memory(desk):
    """Also with the owner's own prompt, and where a client keeps the question as a session of its
    own.
    """
    own = desk.home.root / "prompts" / "summarise.md"
    own.parent.mkdir(parents=True)
    own.write_text("Write bullets, as I like them.")
    desk.keep()
    desk.work()
    asked = [message["content"] for message in desk.model.requests[-1]["messages"]]
    assert [text.startswith(MARK) for text in asked] == [True, True]
    for number, user in enumerate(
        (asked[1], f'"{asked[1]}"', f"{asked[0]}\n\n{asked[1]}", "[memsearch summariser] You keep")
    ):
        pipeline = CapturePipeline(desk.home, desk.journal, desk.settings)
        turn = Turn(
            "opencode",
            f"kept{number}",
            "t",
            "2026-01-05T11:00:00Z",
            cwd=str(desk.project),
            user=user,
            assistant=GOOD,
        )
        assert (
            pipeline.capture(turn, Session("opencode", f"kept{number}", "/gone", "db")).outcome
            == "ours"
        )
        pipeline.close()
    (path,) = (desk.project / ".memsearch" / "memory").glob("*.md")
    assert len(read_day(str(path)).entries) == 1
