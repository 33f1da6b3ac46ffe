"""Measures the comparison of notes with their repository.

Usage: `python benchmarks/staleness.py --files 50000 --commits 20000 --notes 10000`.

A repository of generated sources (each with a function and a constant of its own) whose commits
change, add, remove and rename files; notes spread over all its years, each naming files and symbols
of its time. The same process that the service starts is run on it: with nothing known (cold), with
nothing new (warm), after one commit, and with ten more notes. Its memory is the highest that the
system saw.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import common  # noqa: F401 - the path
import msgspec
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo
from memsearch_engine.staleness import ask

_BEGAN = 1_577_836_800  # 2020-01-01
_AT_ONCE = 20_000
_LINES = 40


class History:
    """A repository that is written in packs, commit by commit."""

    def __init__(self, root: Path, files: int, seed: int = 7) -> None:
        self.random = random.Random(seed)
        self.repo = Repo.init(str(root), mkdir=True, default_branch=b"main")
        self.objects: list[Any] = []
        self.trees: dict[str, dict[str, bytes]] = {}  # folder -> name -> blob
        self.folders: dict[str, bytes] = {}  # "a" and "a/b" -> tree
        self.commits = 0
        self.head: bytes | None = None
        self.number = 0
        for _ in range(files):
            self.add()
        self.touched = set(self.trees)

    def add(self) -> str:
        self.number += 1
        folder = f"area{self.number % 97:02d}/part{self.number // 97 % 53:02d}"
        name = f"unit_{self.number}.py"
        self.write(folder, name, self.number)
        return f"{folder}/{name}"

    def write(self, folder: str, name: str, number: int) -> None:
        lines = [
            f"LIMIT_OF_{number} = {self.random.randrange(1000)}",
            f"def handle_{number}(value):",
        ]
        lines += [
            f"    value = value + {self.random.randrange(10_000)}  # step {line}"
            for line in range(_LINES)
        ]
        blob = Blob.from_string("\n".join(lines).encode())
        self.objects.append(blob)
        self.trees.setdefault(folder, {})[name] = blob.id

    def change(self) -> None:
        """One commit's worth."""
        self.touched = set()
        for _ in range(3):
            folder = self.random.choice(self.names)
            if not self.trees[folder]:
                continue
            name = self.random.choice(list(self.trees[folder]))
            dice = self.random.random()
            if dice < 0.06:
                del self.trees[folder][name]
            elif dice < 0.12:
                other = self.random.choice(self.names)
                self.trees[other][f"moved_{self.commits}_{name}"] = self.trees[folder].pop(name)
                self.touched.add(other)
            elif dice < 0.2:
                self.touched.add(self.add().rpartition("/")[0])
            else:
                self.write(
                    folder, name, int("".join(c for c in name.split("_")[-1] if c.isdigit()))
                )
            self.touched.add(folder)

    def commit(self, at: int) -> None:
        self.names = list(self.trees)
        for folder in self.touched:
            tree = Tree()
            for name, blob in self.trees[folder].items():
                tree.add(name.encode(), 0o100644, blob)
            self.objects.append(tree)
            self.folders[folder] = tree.id
        for area in {folder.partition("/")[0] for folder in self.touched}:
            tree = Tree()
            for folder in self.folders:
                if folder.startswith(area + "/") and self.trees[folder]:
                    tree.add(folder.rpartition("/")[2].encode(), 0o040000, self.folders[folder])
            self.objects.append(tree)
            self.folders[area] = tree.id
        root = Tree()
        for area in self.folders:
            if "/" not in area:
                root.add(area.encode(), 0o040000, self.folders[area])
        commit = Commit()
        commit.tree, commit.parents = root.id, [self.head] if self.head else []
        commit.author = commit.committer = b"Ana <ana@example.org>"
        commit.author_time = commit.commit_time = at
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = b"change"
        self.objects += [root, commit]
        self.head = commit.id
        self.commits += 1
        if len(self.objects) > _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        self.repo.object_store.add_objects(
            [(one, None) for one in {one.id: one for one in self.objects}.values()]
        )
        self.objects.clear()
        assert self.head is not None
        self.repo.refs[b"refs/heads/main"] = self.head


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--commits", type=int, default=20_000)
    parser.add_argument("--notes", type=int, default=10_000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        start = time.perf_counter()
        history = History(root, wanted.files)
        history.commit(_BEGAN)
        step = 6 * 365 * 86_400 // wanted.commits
        notes: list[ask.NoteToCheck] = []
        for number in range(1, wanted.commits):
            history.change()
            at = _BEGAN + number * step
            history.commit(at)
            while len(notes) < wanted.notes * number // wanted.commits:
                notes.append(_note(history, len(notes), at + 60))
        history.flush()
        print(
            f"made {wanted.files} files and {wanted.commits} commits "
            f"in {time.perf_counter() - start:.0f} s; {len(notes)} notes"
        )
        database = Path(folder, "ground.db")

        def compare(name: str) -> None:
            start = time.perf_counter()
            phases: dict[str, float] = {}
            answer = ask.check(
                str(root),
                str(root / ".git"),
                database,
                notes,
                progress=lambda what, done, total: phases.setdefault(what, time.perf_counter()),
            )
            took = time.perf_counter() - start
            assert answer is not None and not answer.problem, answer.problem
            for note, checked in zip(notes, answer.notes):
                note.references, note.text = checked.references, ""
            states = Counter(
                found.state for checked in answer.notes for found in checked.standing.findings
            )
            began = ", ".join(f"{what} from {at - start:.1f} s" for what, at in phases.items())
            print(f"{name:28} {took:7.1f} s   {dict(states)}   ({began})")

        compare("cold")
        for _ in range(3):
            compare("warm, nothing new")
        history.change()
        history.commit(_BEGAN + wanted.commits * step)
        history.flush()
        compare("one more commit")
        notes += [
            _note(history, len(notes), _BEGAN + wanted.commits * step + 60) for _ in range(10)
        ]
        compare("ten more notes")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"database {database.stat().st_size / 1e6:.0f} MB, highest memory of a run "
            f"{peak:.0f} MB, asked with {len(msgspec.json.encode(notes)) / 1e6:.1f} MB"
        )


def _note(history: History, number: int, at: int) -> ask.NoteToCheck:
    lines = []
    for _ in range(2):
        folder = history.random.choice(history.names)
        if history.trees[folder]:
            name = history.random.choice(list(history.trees[folder]))
            unit = "".join(c for c in name.split("_")[-1] if c.isdigit())
            lines.append(f"- `handle_{unit}()` in `{folder}/{name}` keeps LIMIT_OF_{unit} low")
    return ask.NoteToCheck(f"note{number}", "h", float(at), text="\n".join(lines))


if __name__ == "__main__":
    main()
