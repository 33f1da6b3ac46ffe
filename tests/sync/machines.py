"""Machines of one owner in one process: a home and a folder each, and a bare repository where they
meet.
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings_schema import SyncSettings
from memsearch_engine.journal.files import list_files
from memsearch_engine.journal.model import Anchor, Entry
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal
from memsearch_engine.sync.run import SyncAnswer, sync
from memsearch_engine.sync.state import Round

DAY = "2026-02-09"
PROJECT = "a" * 32


def bare(path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    return path


class Machine:
    """One of them."""

    def __init__(self, root: Path, remote: Path | str, *, encrypt: bool = False) -> None:
        self.root, self.where = root, SyncSettings(remote=str(remote), encrypt=encrypt)
        self.memory = root / "project" / ".memsearch" / "memory"
        self.memory.mkdir(parents=True)
        self.home = Home(root / "home")
        self.home.ensure()
        self.project = Project(
            PROJECT, "shop", "ms_shop_aaaaaaaa", str(root / "project"), str(self.memory)
        )
        self.journal = Journal(self.home)

    def restart(self) -> None:
        """What a process had in mind is gone."""
        self.journal.history.close()
        self.journal.origin.close()
        self.journal = Journal(self.home)

    def sync(self, projects: list[Project] | None = None, **answer: bool) -> Round:
        there = [self.project] if projects is None else projects
        return sync(self.home, self.journal, self.where, there, SyncAnswer(**answer))

    def note(self, text: str, at: str = "10:00", day: str = DAY) -> str:
        return self.journal.add_note(str(self.memory), day, at, text).entry_id

    def turn(self, name: str, text: str, at: str = "10:00", session: str = "s") -> str:
        anchor = Anchor(session, name, "claude-code", "transcript", f"/x/{session}.jsonl")
        return self.journal.append_turn(str(self.memory), DAY, at, text, anchor).entry_id

    def entries(self, day: str = DAY) -> list[Entry]:
        path = self.memory / f"{day}.md"
        return parse(path.read_bytes(), day).entries if path.exists() else []

    def bodies(self, day: str = DAY) -> list[str]:
        return [entry.body for entry in self.entries(day)]

    def entry(self, text: str) -> Entry:
        return next(entry for entry in self.entries() if text in entry.body)

    def edit(self, text: str, new: str) -> None:
        self.journal.edit(
            str(self.memory), target_of(str(self.memory / f"{DAY}.md"), self.entry(text)), new
        )

    def delete(self, text: str) -> None:
        self.journal.delete(
            str(self.memory), [target_of(str(self.memory / f"{DAY}.md"), self.entry(text))]
        )

    def mark(self, text: str, name: str, value: str | None) -> None:
        self.journal.mark(
            str(self.memory),
            target_of(str(self.memory / f"{DAY}.md"), self.entry(text)),
            name,
            value,
        )

    def files(self) -> dict[str, bytes]:
        """All notes, by their path in the project."""
        paths = [file.path for file in list_files(self.memory).files]
        return {os.path.relpath(path, self.memory): Path(path).read_bytes() for path in paths}


def tree(remote: Path) -> dict[str, bytes]:
    """What the remote holds now."""
    listed = subprocess.run(
        ["git", "-C", str(remote), "ls-tree", "-rz", "--name-only", "main"],
        capture_output=True,
        check=True,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name]
    return {
        name: subprocess.run(
            ["git", "-C", str(remote), "show", f"main:{name}"], capture_output=True, check=True
        ).stdout
        for name in names
    }


class Words:
    """Texts with a word of their own each, to tell what was written, and what somebody who saw it
    took away.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.written: set[str] = set()
        self.dead: set[str] = set()

    def new(self) -> str:
        word = f"word-{len(self.written)}-"
        self.written.add(word)
        return word
