"""Compares notes with a repository: ``python -m memsearch_engine.staleness.child``.

It reads a request (a line of JSON) from stdin, answers on stdout, and reports progress on stderr.
It ends with the process that asked, and runs at low priority.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
from dulwich.index import read_index
from dulwich.object_store import DiskObjectStore
from dulwich.objects import S_ISGITLINK

from memsearch_engine.core import repository, safe_files
from memsearch_engine.staleness.ask import StalenessAnswer, StalenessQuestion
from memsearch_engine.staleness.branches import Branches
from memsearch_engine.staleness.check import Checker, DatedReferences
from memsearch_engine.staleness.finding import CheckedNote, NoteStaleness, Reference
from memsearch_engine.staleness.past import Past
from memsearch_engine.staleness.references import find

_MAX_INDEX = 256 * 1024 * 1024
#: Seconds of work, and bytes of its own: a repository may be made to want more.
_LIMITS = ((resource.RLIMIT_CPU, 1800), (resource.RLIMIT_DATA, 3 << 30))


def main() -> None:
    """Answer one request from stdin, with little priority and limited resources."""
    with contextlib.suppress(OSError):
        os.nice(19)
    for kind, most in _LIMITS:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
    asked = msgspec.json.decode(sys.stdin.buffer.readline(), type=StalenessQuestion)
    threading.Thread(target=_end_with_asker, daemon=True).start()
    sys.stdout.buffer.write(msgspec.json.encode(answer(asked, _report)))


def _end_with_asker() -> None:
    os.read(0, 1)  # it keeps its end open as long as it waits
    os._exit(1)


def _report(what: str, done: int, total: int) -> None:
    sys.stderr.write(msgspec.json.encode([what, done, total]).decode() + "\n")
    sys.stderr.flush()


def answer(asked: StalenessQuestion, report: Any) -> StalenessAnswer:
    """Compare the notes of a question. ``problem`` says why nothing can be said."""
    found: list[list[Reference]] = [
        find(note.text) if note.references is None else note.references for note in asked.notes
    ]
    if not repository.is_ours(asked.common_dir):
        return _nothing(asked, found, "the repository is another user's, or holds more than files")
    if other := repository.foreign_format(asked.common_dir):
        return _nothing(
            asked, found, f"its references or objects are kept as {other}, which can't be read here"
        )
    store: Any = DiskObjectStore(os.path.join(asked.common_dir, "objects"))
    past = Past(store, Path(asked.database))
    try:
        shallow = repository.shallow(asked.common_dir)
        branches = Branches(store, asked.common_dir, past, shallow)
        if not branches.head:
            return _nothing(asked, found, "it has no commit yet")
        past.read(
            branches.head,
            shallow,
            min((note.at for note in asked.notes), default=time.time()),
            report,
        )
        tracked, modules = _tracked(asked.common_dir)
        checker = Checker(
            past, asked.root, tracked, modules, report, branches.has_commit, branches.state
        )
        notes = [
            DatedReferences(note.at, references, note.confirmed)
            for note, references in zip(asked.notes, found)
        ]
        return StalenessAnswer(
            branches.head.decode(),
            [
                CheckedNote(
                    note.entry_id,
                    note.hash,
                    references,
                    NoteStaleness(findings, _unmerged(branches, note.branch)),
                )
                for note, references, findings in zip(asked.notes, found, checker.check(notes))
            ],
        )
    except Exception as error:  # a damaged or a made-up repository: dulwich has many words for it
        return _nothing(
            asked, found, f"its repository can't be read ({type(error).__name__}: {error})"
        )
    finally:
        past.close()
        store.close()


def _nothing(asked: StalenessQuestion, found: list[list[Reference]], why: str) -> StalenessAnswer:
    notes = [
        CheckedNote(n.entry_id, n.hash, references, NoteStaleness())
        for n, references in zip(asked.notes, found)
    ]
    return StalenessAnswer("", notes, why)


def _unmerged(branches: Branches, name: str) -> str:
    """The unmerged branch of a note, or ``""``; a session on that branch is not warned."""
    return name if name != branches.current and branches.merged(name) == "unmerged" else ""


def _tracked(common_dir: str) -> tuple[dict[str, tuple[float, int]], set[str]]:
    """(path -> (mtime, size) from git's index, paths of submodules)."""
    try:
        entries = list(
            read_index(io.BytesIO(safe_files.read(os.path.join(common_dir, "index"), _MAX_INDEX)))
        )
    except Exception:  # a made-up index may break its reader in any way
        return {}, set()
    files = {
        entry.name.decode("utf-8", "replace"): (_seconds(entry.mtime), entry.size)
        for entry in entries
    }
    return files, {
        entry.name.decode("utf-8", "replace") for entry in entries if S_ISGITLINK(entry.mode)
    }


def _seconds(stamp: Any) -> float:
    return float(stamp[0] + stamp[1] / 1e9) if isinstance(stamp, tuple) else float(stamp)


if __name__ == "__main__":
    main()
