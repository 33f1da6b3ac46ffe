"""An agent's read-only sandbox: no write, no socket; recall still answers, from the files."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.conftest import DAYS, Box

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root to take rights away"
)


def read_only_mount(box: Box) -> list[str]:
    """A command prefix: everything under the box on a read-only bind mount, in a mount namespace of
    its own.
    """
    script = (
        f'mount --bind "{box.root}" "{box.root}" && mount -o '
        f'remount,bind,ro "{box.root}" && cd "$PWD" && exec "$@"'
    )
    prefix = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sandbox"]
    probe = subprocess.run(
        [*prefix, "touch", str(box.root / "x")], capture_output=True, text=True, cwd=box.project
    )
    if "Read-only" not in probe.stderr:
        pytest.skip(f"no mount namespace here: {probe.stderr.strip()}")
    return prefix


def no_rights(box: Box) -> list[str]:
    """A command prefix: no folder may be written, and root's power to write anyway is gone."""
    for folder, _, files in os.walk(box.root):
        for name in files:
            if not os.path.islink(os.path.join(folder, name)):
                os.chmod(os.path.join(folder, name), 0o400)
        os.chmod(folder, 0o500)
    prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    probe = subprocess.run([*prefix, "touch", str(box.root / "x")], capture_output=True, text=True)
    if probe.returncode == 0:
        pytest.skip("rights can't be taken away here")
    return prefix


@pytest.fixture(scope="module", params=["mount", pytest.param("rights", marks=pytest.mark.slow)])
def sandbox(request, tmp_path_factory):
    box = Box(tmp_path_factory.mktemp("sandbox")).fill()
    box.index()
    entry = box.ok("search", "redis ttl", "-j").json[0]
    box.ok("service", "stop")
    prefix = read_only_mount(box) if request.param == "mount" else no_rights(box)
    yield box, prefix, entry
    for folder, _, files in os.walk(box.root):
        os.chmod(folder, 0o700)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o600)
    box.clean()


@pytest.mark.slow
def test_recall_in_a_read_only_sandbox(sandbox):
    box, prefix, entry = sandbox
    before = sorted(map(str, box.root.rglob("*")))
    for args in (
        ["search", "redis", "--json"],
        ["search", "redis", "--no-wait", "--json"],
        ["search", "redis agent:claude", "--json"],
    ):
        found = box.run(*args, prefix=prefix)
        assert found.code == 0 and found.json["mode"] == "lexical", found
        assert "Redis" in found.json["hits"][0]["content"] and found.json["reason"]
        assert found.err.startswith("note: words only"), found
    for name in (entry["chunk_hash"], entry["entry_id"]):
        assert (
            box.run("expand", name, "--json", prefix=prefix).json["entry_id"] == entry["entry_id"]
        )
    shown = box.run("show", "2026-02-09", prefix=prefix)
    assert shown.code == 0 and shown.out == DAYS["2026-02-09"]
    listed = box.run("entries", "--json", prefix=prefix)
    assert listed.code == 0 and len(listed.json["entries"]) == 5
    days = box.run("days", "--json", prefix=prefix)
    assert days.code == 0 and len(days.json["days"]) == 2
    for args in (
        ["status", "--json"],
        ["stats", "--json"],
        ["project", "--json"],
        ["export"],
        ["config", "list"],
    ):
        done = box.run(*args, prefix=prefix)
        assert done.code == 0 and "Traceback" not in done.err, (args, done)
    assert sorted(map(str, box.root.rglob("*"))) == before
    assert box.processes() == []


@pytest.mark.slow
def test_all_projects_are_known_in_a_sandbox(sandbox):
    """The registry is read where it can't be written, so `--all` means all."""
    box, prefix, _ = sandbox
    for args in (["entries", "--all"], ["days", "--all"], ["search", "redis", "--all"]):
        done = box.run(*args, prefix=prefix)
        assert done.code == 0 and done.out, (args, done)
        assert "Traceback" not in done.err


def test_a_named_project_in_a_sandbox(sandbox):
    """The registry can't be opened for writing, which is no reason not to read it."""
    box, prefix, _ = sandbox
    done = box.run("search", "redis", "--project", "project", "--json", prefix=prefix)
    assert done.code == 0 and done.json["hits"], done


@pytest.mark.slow
def test_writing_in_a_sandbox_is_refused_plainly(sandbox):
    box, prefix, entry = sandbox
    for args in (
        ["add", "x"],
        ["edit", entry["entry_id"], "--text", "- x"],
        ["delete", entry["entry_id"], "--yes"],
        ["pin", entry["entry_id"]],
        ["index"],
        ["config", "set", "search.top_k", "3"],
    ):
        done = box.run(*args, prefix=prefix)
        assert done.code == 3 and "Traceback" not in done.err and done.err.strip(), (args, done)
    undone = box.run("undo", prefix=prefix)  # nothing was ever changed there, which is no error
    assert undone.code == 1 and "nothing to be undone" in undone.err, undone
    assert (box.memory / "2026-02-09.md").read_text() == DAYS["2026-02-09"]


def test_a_sandbox_without_any_home(box):
    """HOME is there, ~/.memsearch is not and can't be made."""
    box.fill()
    shutil.rmtree(box.home.root, ignore_errors=True)
    prefix = read_only_mount(box)
    found = box.run("search", "redis", "--json", prefix=prefix)
    assert (
        found.code == 0
        and "Redis" in found.json["hits"][0]["content"]
        and found.err.startswith("note:")
    ), found
    for args in (
        ["show", "2026-02-09"],
        ["entries"],
        ["days"],
        ["expand", found.json["hits"][0]["chunk_hash"]],
    ):
        done = box.run(*args, prefix=prefix)
        assert done.code == 0 and "Traceback" not in done.err, (args, done)
    refused = box.run("index", prefix=prefix)
    assert refused.code == 3 and str(box.home.root) in refused.err, refused


def test_an_answer_in_a_sandbox_does_not_wait_for_a_service_that_cannot_start(sandbox):
    """It waits for a service that is starting, and then says that none has started in time."""
    box, prefix, _ = sandbox
    done = box.run("search", "redis", "--json", prefix=prefix)
    assert done.code == 0 and done.json["reason"] == f"{box.home.root} can't be written", done
