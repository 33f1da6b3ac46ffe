"""Two people with a clone and a home each, and the repository that they share."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from memsearch_engine import Memory
from memsearch_engine.search import lexical
from memsearch_engine.search.request import parse as parse_query


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


class Person:
    """One person's clone and home."""

    def __init__(self, root: Path, name: str, source: Path) -> None:
        self.name, self.project = name, root / name / "shop"
        self.project.parent.mkdir(parents=True)
        git(root, "clone", "-q", str(source), str(self.project))
        self.memory = Memory(self.project, home=root / name / "home")
        self.sharing = self.memory.sharing

    def share(self, *names: str) -> list[str]:
        return self.sharing.share(self.sharing.plan(names, author=self.name))

    def push(self) -> None:
        git(self.project, "add", ".memsearch/shared")
        git(self.project, "commit", "-qm", "notes")
        git(self.project, "push", "-q")

    def pull(self) -> None:
        git(self.project, "pull", "-q", "--no-rebase")

    def injected(self) -> str:
        return self.memory.context().text

    def found(self, query: str) -> list:
        memory = Memory(self.project, home=self.memory.home)
        return lexical.search(None, memory.projects, parse_query(query)).hits


@pytest.fixture
def people(tmp_path: Path):
    source = tmp_path / "source.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(source))
    seed = tmp_path / "seed"
    git(tmp_path, "clone", "-q", str(source), str(seed))
    (seed / ".gitignore").write_text(".memsearch/*\n!.memsearch/shared/\n")
    git(seed, "add", ".gitignore")
    git(seed, "commit", "-qm", "first")
    git(seed, "push", "-q", "origin", "HEAD:main")
    found = Person(tmp_path, "ana", source), Person(tmp_path, "ben", source)
    yield found
    for person in found:
        person.memory.close()
