"""Repositories in a format that can't be read here: nothing is said of their notes, and no branch
is made up.
"""

from __future__ import annotations

import pytest
from memsearch_engine.core import repository
from memsearch_engine.staleness.ask import StalenessQuestion
from memsearch_engine.staleness.child import answer


def made(tmp_path, extension: str, head: str) -> str:
    """What git writes for such a repository, as far as it is read."""
    git = tmp_path / "shop" / ".git"
    for name in ("refs", "objects", "reftable"):
        (git / name).mkdir(parents=True)
    (git / "config").write_text(
        f"[core]\n\trepositoryformatversion = 1\n[extensions]\n\t{extension}\n"
    )
    (git / "HEAD").write_text(f"ref: {head}\n")
    (git / "refs" / "heads").write_text("this repository uses the reftable format\n")
    return str(git)


@pytest.mark.parametrize(
    ("extension", "head", "branch", "name"),
    [
        ("refStorage = reftable", "refs/heads/.invalid", "", "reftable"),
        ("objectformat = sha256", "refs/heads/main", "main", "sha256"),
        ("refstorage = files", "refs/heads/main", "main", ""),
        ("objectFormat = SHA1", "refs/heads/topic/.invalid-name", "topic/.invalid-name", ""),
    ],
)
def test_what_can_not_be_read_is_named(tmp_path, extension, head, branch, name):
    git = made(tmp_path, extension, head)
    assert repository.current_branch(str(tmp_path / "shop")) == branch
    assert repository.head_of(git) == "" and repository.foreign_format(git) == name
    assert repository.fingerprint(git) == ("", "")
    found = answer(
        StalenessQuestion(str(tmp_path / "shop"), git, str(tmp_path / "past.db"), []),
        lambda *args: None,
    )
    assert found.head == "" and (
        f"kept as {name}," in found.problem if name else "commit" in found.problem
    )
