"""The history of a repository: which file had which content when, along the first parents of HEAD.

Along first parents a history is a line, so "existed at that time" and "gone since that commit" have
one meaning. A branch counts from its merge on. The history is read once, then from the last HEAD
on, by dulwich from git's files, and stored in a database that may be deleted (SQLite). Renames are
git's: a file that vanished and a similar one that appeared in one commit.
"""

from __future__ import annotations

import bisect
import os
import re
import sqlite3
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from dulwich.diff_tree import CHANGE_COPY, CHANGE_RENAME, RenameDetector, TreeChange, tree_changes
from dulwich.objects import S_ISGITLINK, Blob, Commit, Tag

from memsearch_engine.core.migrations import Database

_LAYOUT = 2
_SCHEMA = f"""
PRAGMA user_version={_LAYOUT};
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE commits (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL);
CREATE TABLE paths (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE touches (path INTEGER NOT NULL, n INTEGER NOT NULL,\
 blob BLOB, moved INTEGER, PRIMARY KEY (path, n)) WITHOUT ROWID;
CREATE TABLE names (blob BLOB PRIMARY KEY, hashes BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE differs (old BLOB NOT NULL, new BLOB NOT NULL,\
 share REAL NOT NULL, PRIMARY KEY (old, new)) WITHOUT ROWID;
"""
_DAY_S = 86400.0
#: How much of the history before the oldest note is read, so that one that is a little older needs
#: no new reading.
_EARLIER_S = 30 * _DAY_S
#: As in git: a rename keeps 60 % of a file, and at most 200 files of a commit are compared.
_LIKE_ENOUGH, _MAX_PAIRED = 60, 200
_TELLING_SIZE = 64  # bytes: smaller files are alike by chance
_MAX_BLOB = 512 * 1024
_AT_ONCE = 500  # commits, or contents, between two writes
_EMPTY = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")  # git's name of no content
_IDENTIFIER = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$]{3,}")
_TELLING = re.compile(rb"[^_]_+[^_]|[a-z0-9][A-Z]|^[A-Z][A-Z0-9_]*$")


class Presence(NamedTuple):
    """A file with one content.

    Attributes:
        first: number of the first commit with it.
        end: number of the commit that ended it; None if it is still there.
        moved: the new path; its own path if that is not known.
    """

    path: str
    blob: bytes
    first: int
    end: int | None
    moved: str


class Past:
    """The history of one repository. Not shared between threads.

    Args:
        store: its objects (dulwich).
        file: the database; created if it is missing or unusable.
    """

    def __init__(self, store: Any, file: Path) -> None:
        self._store = store
        self._db = _opened(file)
        self.commits: list[str] = []  # by number; 0 is the state with which it begins
        self.times: list[int] = []
        self.files: dict[str, list[Presence]] = {}
        self.by_name: dict[str, list[str]] = {}
        self.present: dict[bytes, str] = {}  # content -> a path that has it now
        self._names: _Names | None = None

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    # -- reading

    def read(
        self,
        head: bytes,
        shallow: set[bytes],
        since: float,
        report: Callable[[str, int, int], None],
    ) -> None:
        """Read new commits up to *head*.

        Args:
            shallow: commits whose parents were not fetched.
            since: time of the oldest note.
            report: (step, done, total).
        """
        known = dict(self._db.execute("SELECT id, n FROM commits"))
        meta = dict(self._db.execute("SELECT key, value FROM meta"))
        if known and since < float(meta["since"]):
            known = {}
        begins = min(since, float(meta["since"])) if known else since - _EARLIER_S
        chain: list[tuple[bytes, Any]] = []  # newest first
        name: bytes | None = head
        while name is not None and name.decode() not in known:
            commit = self._store[name]
            if not isinstance(commit, Commit):
                raise KeyError(name)
            chain.append((name, commit))
            if commit.commit_time < begins:
                break
            parents = [] if name in shallow else commit.parents
            name = parents[0] if parents and parents[0] in self._store else None
        else:
            if name is not None:
                # forget commits after the last one that the new HEAD shares
                with self._db:
                    for table in ("touches", "commits"):
                        n = known[name.decode()]
                        self._db.execute(f"DELETE FROM {table} WHERE n>?", (n,))
        if chain and not (name is not None and name.decode() in known):
            self._begin(begins, *chain.pop(), is_root=name is None)
        before = self._db.execute("SELECT id FROM commits ORDER BY n DESC LIMIT 1").fetchone()
        tree = self._store[before[0].encode()].tree if before else None
        chain.reverse()
        for done in range(0, len(chain), _AT_ONCE):
            report("history", done, len(chain))
            with self._db:
                for name, commit in chain[done : done + _AT_ONCE]:
                    self._take(name, commit, tree)
                    tree = commit.tree
        self._load()

    def _begin(self, since: float, name: bytes, commit: Any, *, is_root: bool) -> None:
        """Start with the files of a commit."""
        with self._db:
            for table in ("commits", "touches", "paths", "meta"):
                self._db.execute(f"DELETE FROM {table}")
            self._db.execute(
                "INSERT INTO meta (key, value) VALUES ('since', ?)",
                (str(0.0 if is_root else since),),
            )
            self._db.execute(
                "INSERT INTO commits (n, id, at) VALUES (0, ?, ?)",
                (name.decode(), int(commit.commit_time)),
            )
            for entry in self._store.iter_tree_contents(commit.tree):
                if not S_ISGITLINK(entry.mode):
                    self._touch(entry.path, 0, entry.sha)

    def _take(self, name: bytes, commit: Any, tree: Any) -> None:
        """Store the changes of a commit."""
        n, at = self._db.execute("SELECT max(n) + 1, max(at) FROM commits").fetchone()
        # a clock that was set back puts no commit before its parent
        self._db.execute(
            "INSERT INTO commits (n, id, at) VALUES (?, ?, ?)",
            (n, name.decode(), max(at, commit.commit_time)),
        )
        changes = [c for c in tree_changes(self._store, tree, commit.tree) if not _is_module(c)]
        came = {
            c.new.path: c.new
            for c in changes
            if c.new and c.new.path and not (c.old and c.old.path)
        }
        went = {
            c.old.path: c.old
            for c in changes
            if c.old and c.old.path and not (c.new and c.new.path)
        }
        moved = self._moves(tree, commit.tree, went, came) if came and went else {}
        for change in changes:
            if change.new and change.new.path:
                self._touch(change.new.path, n, change.new.sha)
            elif change.old and change.old.path:
                self._touch(change.old.path, n, None, moved.get(change.old.path))

    def _moves(
        self, old: Any, new: Any, went: dict[bytes, Any], came: dict[bytes, Any]
    ) -> dict[bytes, bytes]:
        """Return the moves of one commit. Small files follow their folder.

        A file with several candidates maps to itself.
        """
        found: dict[bytes, bytes] = {}
        if len(went) * len(came) > _MAX_PAIRED**2:  # too many to compare: the moves are unknown
            found = {path: path for path in went}
        same_name = {os.path.basename(path) for path in came}
        detector = RenameDetector(self._store, rename_threshold=_LIKE_ENOUGH, max_files=_MAX_PAIRED)
        for change in detector.changes_with_renames(old, new):
            one, other = change.old, change.new
            # of a file that went and was found in two places, the second is a "copy"
            if not one or not other or change.type not in (CHANGE_RENAME, CHANGE_COPY):
                continue
            is_move = (
                one.path in went
                and other.path in came
                and found.get(one.path, one.path) == one.path
            )
            if is_move and self._store[one.sha].raw_length() >= _TELLING_SIZE:
                found[one.path] = other.path
        folders: dict[bytes, set[bytes]] = defaultdict(set)
        for path, to in found.items():
            if path != to and os.path.basename(path) == os.path.basename(to):
                folders[os.path.dirname(path)].add(os.path.dirname(to))
        for path in [path for path in went if found.get(path, path) == path]:
            targets = folders.get(os.path.dirname(path), set())
            if (
                len(targets) == 1
                and (target := os.path.join(*targets, os.path.basename(path))) in came
            ):
                found[path] = target
            elif os.path.basename(path) in same_name:
                found[path] = path
        return found

    def _touch(self, path: bytes, n: int, blob: bytes | None, moved: bytes | None = None) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO touches (path, n, blob, moved) VALUES (?,?,?,?)",
            (
                self._path(path),
                n,
                bytes.fromhex(blob.decode()) if blob else None,
                self._path(moved) if moved else None,
            ),
        )

    def _path(self, path: bytes) -> int:
        text = path.decode("utf-8", "replace")
        self._db.execute("INSERT OR IGNORE INTO paths (path) VALUES (?)", (text,))
        return int(self._db.execute("SELECT id FROM paths WHERE path=?", (text,)).fetchone()[0])

    def _load(self) -> None:
        self.commits, self.times = [], []
        for name, at in self._db.execute("SELECT id, at FROM commits ORDER BY n"):
            self.commits.append(name)
            self.times.append(at)
        paths = dict(self._db.execute("SELECT id, path FROM paths"))
        self.files, self.by_name, self.present = {}, {}, {}
        query = "SELECT path, n, blob, moved FROM touches ORDER BY path, n"
        last: tuple[str, bytes, int] | None = None
        for number, n, blob, moved in [*self._db.execute(query), (None, 0, None, None)]:
            path = paths.get(number, "")
            if last is not None:
                ended = n if path == last[0] else None
                self._note(
                    Presence(
                        *last,
                        ended,
                        paths.get(moved, "") if ended is not None and blob is None else "",
                    )
                )
            last = (path, blob, n) if blob is not None else None
        for path in self.files:
            self.by_name.setdefault(os.path.basename(path), []).append(path)

    def _note(self, presence: Presence) -> None:
        self.files.setdefault(presence.path, []).append(presence)
        if presence.end is None:
            self.present[presence.blob] = presence.path

    # -- asking

    def number_at(self, at: float) -> int:
        """Number of the newest commit at a time; -1 before the beginning."""
        return bisect.bisect_right(self.times, at) - 1

    def is_present(self, path: str) -> bool:
        """Whether a file exists at the newest commit."""
        versions = self.files.get(path)
        return versions is not None and versions[-1].end is None

    def day(self, n: int) -> str:
        """Return the day of the commit with number *n* (``YYYY-MM-DD``)."""
        return datetime.fromtimestamp(self.times[n]).date().isoformat()

    def content(self, blob: bytes) -> bytes:
        """The content of a blob; ``b""`` if it is too large or unreadable."""
        try:
            found = self._store[blob.hex().encode()]
            return (
                found.data if isinstance(found, Blob) and found.raw_length() <= _MAX_BLOB else b""
            )
        except Exception:  # damaged or too large: dulwich raises errors of many types
            return b""

    def is_opaque(self, blob: bytes) -> bool:
        """Whether a content cannot be examined: too large, no text, or a placeholder (Git LFS)."""
        text = self.content(blob)
        return (
            (not text and blob != _EMPTY)
            or b"\0" in text[:8000]
            or text.startswith(b"version https://git-lfs")
        )

    def share_gone(self, old: bytes, new: bytes) -> float:
        """Share of the lines of *old* that *new* lacks, 0 to 1."""
        row = self._db.execute(
            "SELECT share FROM differs WHERE old=? AND new=?", (old, new)
        ).fetchone()
        if row:
            return float(row[0])
        lines, left, gone = (
            self.content(old).splitlines(),
            Counter(self.content(new).splitlines()),
            0,
        )
        for line in lines:
            left[line] -= 1
            gone += left[line] < 0
        share = gone / len(lines) if lines else 0.0
        with self._db:
            self._db.execute(
                "INSERT INTO differs (old, new, share) VALUES (?,?,?)", (old, new, share)
            )
        return share

    def having(
        self,
        names: Iterable[str],
        counts: Callable[[str], bool],
        report: Callable[[str, int, int], None],
    ) -> dict[str, set[bytes]]:
        """Return name -> contents that probably have it. A hash collision is possible.

        Args:
            counts: returns whether a path counts.
        """
        if self._names is None:
            self._read_names(counts, report)
            self._names = _Names(self._db)
        return self._names.having(names)

    def _read_names(
        self, counts: Callable[[str], bool], report: Callable[[str, int, int], None]
    ) -> None:
        """Examine all contents that were not examined yet."""
        known = {blob for (blob,) in self._db.execute("SELECT blob FROM names")}
        wanted = {
            v.blob for path, versions in self.files.items() if counts(path) for v in versions
        } - known
        todo = sorted(wanted)  # each content is read once, so the order of packs does not matter
        for done in range(0, len(todo), _AT_ONCE):
            report("symbols", done, len(todo))
            with self._db:
                for blob in todo[done : done + _AT_ONCE]:
                    self._db.execute(
                        "INSERT INTO names (blob, hashes) VALUES (?,?)",
                        (blob, names_in(self.content(blob)).tobytes()),
                    )


class _Names:
    """Identifiers of contents, by hash."""

    def __init__(self, db: sqlite3.Connection) -> None:
        rows = db.execute("SELECT blob, hashes FROM names").fetchall()
        self._blobs = [blob for blob, _ in rows]
        parts = [np.frombuffer(hashes, dtype=np.uint32) for _, hashes in rows]
        self._hashes = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32)
        self._ends = (
            np.cumsum([len(part) for part in parts]) if parts else np.zeros(0, dtype=np.int64)
        )

    def having(self, names: Iterable[str]) -> dict[str, set[bytes]]:
        by_hash: dict[int, list[str]] = defaultdict(list)
        for name in names:
            by_hash[zlib.crc32(name.encode())].append(name)
        found: dict[str, set[bytes]] = {name: set() for same in by_hash.values() for name in same}
        places = np.nonzero(
            np.isin(self._hashes, np.fromiter(by_hash, dtype=np.uint32, count=len(by_hash)))
        )[0]
        for place, owner in zip(places, np.searchsorted(self._ends, places, side="right")):
            for name in by_hash[int(self._hashes[place])]:
                found[name].add(self._blobs[owner])
        return found


def names_in(text: bytes) -> np.ndarray:
    """Return hashes of a text's identifiers that are no plain words.

    Returns:
        uint32 of shape (n,), unique; empty if it is not a text.
    """
    if b"\0" in text[:8000]:
        return np.zeros(0, dtype=np.uint32)
    words = {word for word in words_in(text) if _TELLING.search(word)}
    return np.fromiter({zlib.crc32(word) for word in words}, dtype=np.uint32)


def words_in(text: bytes) -> set[bytes]:
    """Identifiers of a text. ``$`` may be part of one or a shell's sign: both forms count."""
    words = set(_IDENTIFIER.findall(text))
    return words.union(*(word.split(b"$") for word in words if b"$" in word)) - {b""}


def _is_module(change: TreeChange) -> bool:
    return any(
        side is not None and side.mode is not None and S_ISGITLINK(side.mode)
        for side in (change.old, change.new)
    )


def _opened(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for _ in range(2):
        db = sqlite3.connect(file, timeout=20, factory=Database)
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] == _LAYOUT:
                return db
            if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                db.executescript(_SCHEMA)
                return db
        except sqlite3.DatabaseError:
            pass
        db.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
    raise OSError(f"{file} can't be used")


def walk(store: Any, tip: bytes, cut: set[bytes], stop: set[bytes]) -> Iterator[bytes]:
    """All ancestors of a commit, with itself, except those behind *stop*."""
    seen, waiting = {tip}, [tip]
    while waiting:
        name = waiting.pop()
        if name in stop:
            continue
        try:
            commit = store[name]
        except KeyError:  # a part that was never fetched
            continue
        if isinstance(commit, Tag):
            waiting.append(commit.object[1])
        if not isinstance(commit, Commit):
            continue
        yield name
        for parent in () if name in cut else commit.parents:
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
