"""Repositories with a history of our own making: written by dulwich, so that no git has to be
there.
"""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path

from dulwich.repo import Repo


def at(stamp: str) -> float:
    """Seconds since 1970 of a local ``2026-01-05 10:00``."""
    return datetime.fromisoformat(stamp).timestamp()


class Project:
    """A work tree with its repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.repo = Repo.init(str(root), default_branch=b"main")

    @property
    def git(self) -> str:
        return str(self.root / ".git")

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert old in text, (path, old)
        self.write(path, text.replace(old, new, 1))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()
        self._prune(self.root / path)

    def move(self, old: str, new: str) -> None:
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.root / old, self.root / new)
        self._prune(self.root / old)

    def _prune(self, path: Path) -> None:
        """git keeps no empty folders."""
        for folder in path.parents:
            if folder == self.root or any(folder.iterdir()):
                break
            folder.rmdir()

    def commit(
        self, stamp: str, message: str = "change", *, parents: list[bytes] | None = None
    ) -> bytes:
        """Commit the work tree as it is. *parents*: more of them beside HEAD."""
        work = self.repo.get_worktree()
        known = set(self.repo.open_index())
        here = {
            str(file.relative_to(self.root)).encode()
            for file in self.root.rglob("*")
            if file.is_file() and ".git" not in file.parts and ".memsearch" not in file.parts
        }
        work.stage(sorted(name.decode() for name in known | here))
        seconds = int(at(stamp))
        zone = -time.timezone
        return work.commit(
            message.encode(),
            committer=b"Ana <ana@example.org>",
            author=b"Ana <ana@example.org>",
            commit_timestamp=seconds,
            author_timestamp=seconds,
            commit_timezone=zone,
            author_timezone=zone,
            sign=False,
            merge_heads=parents,
        )

    def branch(self, name: str) -> None:
        """Make a branch at HEAD and go to it, as ``git checkout -b`` does, with its line in the
        reflog.
        """
        self.repo.refs[f"refs/heads/{name}".encode()] = self.repo.head()
        self._go(name)

    def checkout(self, name: str) -> None:
        """Go to a branch: its files take the place of those that are there."""
        for path in list(self.repo.open_index()):
            (self.root / path.decode()).unlink(missing_ok=True)
        self._go(name)
        self.repo.get_worktree().reset_index()

    def _go(self, name: str) -> None:
        before, old = (
            self.repo.refs.follow(b"HEAD")[0][-1].decode().removeprefix("refs/heads/"),
            self.repo.head(),
        )
        self.repo.refs.set_symbolic_ref(b"HEAD", f"refs/heads/{name}".encode())
        log = Path(self.git, "logs", "HEAD")
        log.parent.mkdir(exist_ok=True)
        with open(log, "a") as file:
            line = (
                f"{old.decode()} {self.repo.head().decode()} Ana <ana@example.org> "
                f"1767600000 +0000\tcheckout: moving from {before} to {name}\n"
            )
            file.write(line)

    def delete_branch(self, name: str) -> None:
        del self.repo.refs[f"refs/heads/{name}".encode()]
