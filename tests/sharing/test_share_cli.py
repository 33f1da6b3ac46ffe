"""`memsearch share` as people meet it: two clones, two homes, the real program, the real git."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from memsearch_engine.service import launch

from tests.conftest import Box


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[tuple[Box, Box]]:
    source = tmp_path / "shop.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(source))
    made = [Box(tmp_path / name) for name in ("ana", "ben")]
    for box in made:
        box.project.rmdir()
    git(tmp_path, "clone", "-q", str(source), str(made[0].project))
    git(made[0].project, "config", "user.name", "Ana Souza")
    git(made[0].project, "commit", "-q", "--allow-empty", "-m", "first")
    git(made[0].project, "push", "-q", "origin", "HEAD:main")
    git(tmp_path, "clone", "-q", str(source), str(made[1].project))
    yield made[0], made[1]
    for box in made:
        launch.stop(box.home)


@pytest.mark.slow
def test_a_note_goes_through_a_pull_request_to_the_other_s_search_and_sessions(
    boxes: tuple[Box, Box],
):
    ana, ben = boxes
    assert "nothing is shared" in ana.ok("share").out
    note = ana.ok("add", "Deploys are frozen on Fridays", "--json").json["entry_id"]
    shown = ana.ok("share", note, "--dry-run")
    assert (
        "Deploys are frozen on Fridays" in shown.out
        and not (ana.project / ".memsearch/shared").exists()
    )
    assert ana.run("share", note).code != 0  # nobody is there to ask
    done = ana.ok("share", note, "--yes")
    assert "commit .memsearch/shared" in done.err
    assert "not committed yet" in ana.ok("share").out
    git(ana.project, "add", ".memsearch/shared")
    git(ana.project, "commit", "-qm", "notes")
    git(ana.project, "push", "-q", "origin", "HEAD:main")
    git(ben.project, "pull", "-q")

    # a machine that has nothing but the clone: CI
    ben.ok("index")
    hook = ben.run(
        "hook",
        "claude-code",
        "SessionStart",
        stdin=json.dumps(
            {
                "session_id": "5e55104a-0000-4000-8000-000000000001",
                "cwd": str(ben.project),
                "source": "startup",
            }
        ),
    )
    assert (
        "[shared: ana-souza] Deploys are frozen"
        in hook.json["hookSpecificOutput"]["additionalContext"]
    )
    (hit,) = ben.ok("search", "frozen deploys by:ana-souza", "--json").json["hits"]
    assert hit["author"] == "ana-souza" and hit["mode"] == "hybrid"
    assert "shared by ana-souza" in ben.ok("search", "frozen deploys").out
    assert "shared by ana-souza" in ben.ok("expand", hit["entry_id"]).out
    assert "by ana-souza" in ben.ok("entries").out
    assert [one["author"] for one in ben.ok("share", "--json").json["notes"]] == ["ana-souza"]
    assert ben.run("trust", "review", "--json").json["held"] == []


@pytest.mark.slow
def test_what_git_would_pass_over_is_said(boxes: tuple[Box, Box]):
    ana, _ = boxes
    note = ana.ok("add", "Deploys are frozen on Fridays", "--json").json["entry_id"]
    (ana.project / ".gitignore").write_text(".memsearch/\n")
    assert "git ignores" in ana.ok("share", note, "-y").err
    ana.ok("undo")
    (ana.project / ".gitignore").write_text(".memsearch/*\n!.memsearch/shared/\n")
    assert "git ignores" not in ana.ok("share", note, "-y").err
    assert "Deploys are frozen" in ana.ok("share", "--withdraw", note[:8], "--dry-run").out
    assert "Deploys are frozen" in ana.ok("share").out
    assert ana.run("share", "--withdraw", note[:8], "--pack", "x", "-y").code == 2
    assert ana.ok("share", "--withdraw", note[:8], "-y", "--json").json["withdrawn"]
    assert "nothing is shared" in ana.ok("share").out


@pytest.mark.slow
def test_many_by_filter_under_a_name_and_with_a_day(boxes: tuple[Box, Box]):
    ana, _ = boxes
    for text in ("Staging runs Postgres 16", "The queue is Redis"):
        ana.ok("pin", ana.ok("add", text, "--json").json["entry_id"])
    ana.ok("add", "Unpinned")
    ana.ok("index")
    refused = ana.run("share", "--filter", "postgres", "-y")
    assert refused.code == 2 and "no filter alone" in refused.err
    done = ana.ok(
        "share",
        "--filter",
        "is:pinned",
        "--as",
        "A. Souza",
        "--review",
        "2099-01-31",
        "-y",
        "--json",
    ).json
    assert [note["change"] for note in done["notes"]] == ["new", "new"] and len(done["files"]) == 1
    text = Path(done["files"][0]).read_text()
    assert text.count("review:2099-01-31") == 2 and "/shared/a.-souza/" in done["files"][0]
    assert ana.run("share", "--filter", "is:pinned", "--review", "2020-01-01", "-y").code == 2
    assert ana.run("share", "nowhere1").code == 1


@pytest.mark.slow
def test_a_pack_by_hand(boxes: tuple[Box, Box], tmp_path: Path):
    ana, ben = boxes
    note = ana.ok("add", "Staging runs Postgres 16", "--json").json["entry_id"]
    path = str(tmp_path / "staging.pack")
    made = ana.ok("share", "--pack", path, note, "--json").json
    assert ana.run("share", "--pack", path, note).code == 2  # it exists
    assert ben.run("import", path, "--expect", "0000", "-y").code == 2
    shown = ben.ok("import", path, "--dry-run")
    assert made["hash"] in shown.out and not (ben.project / ".memsearch").exists()
    taken = ben.ok("import", path, "--expect", made["hash"], "-y", "--json").json
    assert [one["change"] for one in taken["notes"]] == ["new"] and taken["conflicts"] == []
    assert "[shared: ana-souza] Staging runs" in ben.ok("context").out
    assert "nothing new" in ben.ok("import", path, "-y").err
    ben.ok("undo")
    assert "nothing is shared" in ben.ok("share").out
    missing = ben.run("import", str(tmp_path / "nowhere.pack"), "-y")
    assert missing.code == 1 and "no file" in missing.err
    assert ben.run("import", path, "--expect", "", "-y").code == 2
