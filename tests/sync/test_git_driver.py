"""git merges notes entry by entry where the driver is installed; the real git, the real program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from memsearch_engine.journal.parse import parse

from tests.conftest import Box
from tests.journal.test_merge_histories import DAY, History

FIRST = (
    f"# {DAY}\n\n## Session 14:30\n\n### 14:30\n"
    "<!-- session:a turn:t1 transcript:/x/a.jsonl -->\n- one\n"
)


def turn(name: str, at: str, session: str) -> str:
    return (
        f"\n## Session {at}\n\n### {at}\n"
        f"<!-- session:{session} turn:{name} transcript:/x/{session}.jsonl -->\n- {name}\n"
    )


class Repo:
    def __init__(self, box: Box) -> None:
        self.box, self.day = box, box.memory / f"{DAY}.md"
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ana")
        self.git("config", "user.email", "ana@example.org")

    def git(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["git", *args], cwd=self.box.project, env=self.box.env, capture_output=True, text=True
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def commit(self, text: str | bytes, message: str = "notes") -> None:
        self.box.write(DAY, text)
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def bodies(self) -> list[str]:
        return [entry.body for entry in parse(self.day.read_bytes(), DAY).entries]


@pytest.fixture
def repo(box: Box) -> Repo:
    repo = Repo(box)
    box.home.ensure()
    repo.commit(FIRST)
    box.ok("sync", "git-driver", "install", "--yes")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "driver")
    return repo


@pytest.mark.slow
def test_installing_is_shown_first_and_undone_byte_for_byte(box: Box):
    repo = Repo(box)
    repo.commit(FIRST)
    config, attributes = box.project / ".git/config", box.project / ".memsearch/.gitattributes"
    for before in (None, b"*.png binary"):
        if before is not None:
            attributes.write_bytes(before)
        config.write_bytes(config.read_bytes() + b"[alias]\n\tst = status")
        old = config.read_bytes()
        shown = box.ok("sync", "git-driver", "install", "--dry-run").out
        assert 'merge "memsearch"' in shown and "memory/**/*.md merge=memsearch" in shown
        assert config.read_bytes() == old and attributes.exists() == (before is not None)
        box.ok("sync", "git-driver", "install", "--yes")
        assert (
            repo.git("config", "merge.memsearch.driver")
            .stdout.strip()
            .endswith("sync merge-files %O %A %B %P")
        )
        assert (
            repo.git("check-attr", "merge", ".memsearch/memory/2026-01-01.md")
            .stdout.strip()
            .endswith("memsearch")
        )
        assert "already" in box.ok("sync", "git-driver", "install", "--yes").err
        assert box.ok("sync", "git-driver", "status", "--json").json["runs"] is True
        box.ok("sync", "git-driver", "uninstall")
        assert config.read_bytes() == old
        assert (attributes.read_bytes() if attributes.exists() else None) == before


def test_what_others_wrote_into_those_files_since_stays(repo: Repo):
    config, attributes = (
        repo.box.project / ".git/config",
        repo.box.project / ".memsearch/.gitattributes",
    )
    repo.git("config", "alias.st", "status")
    attributes.write_bytes(attributes.read_bytes() + b"*.png binary\n")
    repo.box.ok("sync", "git-driver", "uninstall")
    assert repo.git("config", "alias.st").stdout.strip() == "status"
    assert b"memsearch" not in config.read_bytes() and attributes.read_bytes() == b"*.png binary\n"


def test_outside_a_repository_it_says_so(box: Box):
    assert "no git repository" in box.run("sync", "git-driver", "install", "--yes").err


@pytest.mark.parametrize("way", ["merge", "rebase", "cherry-pick", "stash"])
def test_every_way_of_git_keeps_both_notes_under_their_own_headings(repo: Repo, way: str):
    repo.git("checkout", "-qb", "side")
    mine, theirs = turn("mine", "15:00", "b"), turn("theirs", "15:00", "c")
    if way == "stash":
        repo.git("checkout", "-q", "main")
        repo.box.write(DAY, FIRST + mine)
        repo.git("stash")
        repo.commit(FIRST + theirs)
        repo.git("stash", "pop")
    else:
        repo.commit(FIRST + mine)
        repo.git("checkout", "-q", "main")
        repo.commit(FIRST + theirs)
        if way == "merge":
            repo.git("merge", "-q", "--no-edit", "side")
        elif way == "cherry-pick":
            repo.git("cherry-pick", "side")
        else:
            repo.git("checkout", "-q", "side")
            repo.git("rebase", "-q", "main")
    text = repo.day.read_text()
    assert (
        sorted(repo.bodies()) == ["- mine", "- one", "- theirs"]
        and text.count("## Session 15:00") == 2
    )
    assert {entry.session for entry in parse(text.encode(), DAY).entries} == {"a", "b", "c"}


@pytest.mark.slow
def test_a_note_that_was_changed_on_both_branches_is_decided_later(repo: Repo):
    box = repo.box
    repo.git("checkout", "-qb", "side")
    repo.commit(FIRST.replace("- one", "- one, and the side's"))
    repo.git("checkout", "-q", "main")
    repo.commit(FIRST.replace("- one", "- one, and main's"))
    done = repo.git("merge", "--no-edit", "side")
    assert "changed on both sides" in done.stderr
    (case,) = box.run("sync", "conflicts", "--json").json["conflicts"]
    assert {case["shown"]["text"], case["other"]["text"]} == {
        "- one, and main's",
        "- one, and the side's",
    }
    box.ok("trust", "release", "--here")
    assert "one, and" not in box.run("context", "claude-code").out  # neither is injected
    listed = box.run("sync", "conflicts").out
    assert "main's" in listed and "side's" in listed
    assert box.run("sync", "conflicts", "", "--keep", "other").code == 1  # no name names none
    box.ok("sync", "conflicts", f"[mem:{case['id'][:8]}]", "--keep", "other")
    assert repo.bodies() == [case["other"]["text"]] and "conflict" not in repo.day.read_text()
    assert case["other"]["text"].removeprefix("- ") in box.run("context", "claude-code").out
    box.ok("undo")
    assert len(box.run("sync", "conflicts", "--json").json["conflicts"]) == 1
    box.ok("sync", "conflicts", case["id"], "--text", "- one, as both say")
    assert repo.bodies() == ["- one, as both say"]
    box.ok("undo")
    box.ok("sync", "conflicts", case["id"], "--keep", "both")
    assert len(repo.bodies()) == 2 and "conflict" not in repo.day.read_text()


def test_what_this_home_wrote_stays_its_own_when_marks_of_another_branch_come_to_it(repo: Repo):
    box = repo.box
    box.ok("trust", "release", "--here")
    repo.git("checkout", "-qb", "side")
    repo.commit(FIRST.replace("- one", "<!-- expires:2027-01-01 -->\n- one"))
    repo.git("checkout", "-q", "main")
    box.ok("pin", box.ok("entries", "--json").json["entries"][0]["entry_id"])
    repo.git("commit", "-qam", "pinned")
    repo.git("merge", "-q", "--no-edit", "side")
    entry = parse(repo.day.read_bytes(), DAY).entries[0]
    assert set(entry.marks) == {"pin", "expires"}
    assert not box.run("trust", "review", "--json").json["held"]


def test_deleted_notes_stay_deleted_through_a_merge(repo: Repo):
    repo.commit(FIRST + turn("two", "15:00", "a"))
    repo.git("checkout", "-qb", "side")
    repo.commit(FIRST + turn("two", "15:00", "a") + turn("three", "16:00", "b"))
    repo.git("checkout", "-q", "main")
    repo.commit(FIRST)
    repo.git("merge", "-q", "--no-edit", "side")
    assert repo.bodies() == ["- one", "- three"]


def test_a_path_that_git_names_is_no_command(repo: Repo):
    folder = repo.box.memory / "$(touch owned); touch owned #"
    folder.mkdir()
    path = folder / "a note.md"
    path.write_text("# A\n\nText\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "odd")
    repo.git("checkout", "-qb", "side")
    path.write_text("# A\n\nText\n\n# B\n\nSide\n")
    repo.git("commit", "-qam", "side")
    repo.git("checkout", "-q", "main")
    path.write_text("# A\n\nText\n\n# C\n\nMain\n")
    repo.git("commit", "-qam", "main")
    repo.git("merge", "-q", "--no-edit", "side")
    assert path.read_text() == "# A\n\nText\n\n# B\n\nSide\n\n# C\n\nMain\n"
    assert not list(Path(repo.box.project).rglob("owned"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_branches_lose_nothing_by_merge_and_rebase(repo: Repo, seed: int):
    """Two branches and what is merged of them: the words of ``History``, with git in the place of
    its hub.
    """
    history = History(seed)
    base = FIRST.encode()
    history.local = [base, base, base]
    repo.git("branch", "side")
    for round_ in range(6):
        for machine, branch in ((0, "main"), (1, "side")):
            repo.git("checkout", "-q", branch)
            history.local[machine] = repo.day.read_bytes()
            for _ in range(4):
                history.random.choice(
                    (history.turn, history.note, history.edit, history.delete, history.mark)
                )(machine)
            if history.local[machine] != repo.day.read_bytes():
                repo.commit(history.local[machine])
        if round_ % 2:
            repo.git("rebase", "-q", "main")
            repo.git("checkout", "-q", "main")
            repo.git("merge", "-q", "--ff-only", "side")
        else:
            repo.git("checkout", "-q", "main")
            repo.git("merge", "-q", "--no-edit", "side")
            repo.git("checkout", "-q", "side")
            repo.git("merge", "-q", "--ff-only", "main")
        history.hub = repo.day.read_bytes()
        assert history.words() == history.written - history.dead
