"""What a remote may do to the clone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.sync import clone


@pytest.mark.parametrize("files", [1, 300], ids=["one large object", "a large pack"])
def test_a_fetch_stores_no_more_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    remote = tmp_path / "remote"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(remote)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(remote)], check=True)
    for number in range(files):
        (remote / f"{number}.md").write_bytes(os.urandom(3_000_000 // files))
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    ours = clone.Clone(Home(tmp_path / "home").ensure())
    monkeypatch.setattr(clone, "_MAX_PACK", 1_000_000)
    with pytest.raises(clone.Away, match="more than 0 MB at once"):
        ours.fetch(str(remote))
    stored = [file.stat().st_size for file in ours.path.rglob("*") if file.is_file()]
    assert sum(stored) < 1_000_000
    monkeypatch.setattr(clone, "_MAX_PACK", 10_000_000)
    assert ours.fetch(str(remote))
    ours.close()
