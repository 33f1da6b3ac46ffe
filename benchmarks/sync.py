"""What a round of sync takes: the first one, with nothing new, with one new note here, with one
from elsewhere; readable and encrypted.

python benchmarks/sync.py [--chunks 30000] [--days 1000] [--times 5]
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from common import arguments, make_corpus, median
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings_schema import SyncSettings
from memsearch_engine.journal.write import Journal
from memsearch_engine.secrets.scan import redact
from memsearch_engine.sync.run import sync
from memsearch_engine.sync.seal import make_key


def machine(root: Path) -> tuple[Home, Journal, Project]:
    home = Home(root / "home").ensure()
    memory = root / "project" / ".memsearch" / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    return (
        home,
        Journal(home),
        Project("a" * 32, "shop", "ms_shop_aaaaaaaa", str(root / "project"), str(memory)),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--chunks", type=int, default=30_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--days", type=int, default=1000)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="sync"))
    try:
        corpus = make_corpus(root / "corpus", options.chunks, days=options.days)
        print(f"{options.chunks} notes in {corpus.files} days, medians of {options.times}")
        for encrypt in (False, True):
            measure(
                root / ("sealed" if encrypt else "plain"),
                corpus.memory,
                options.times,
                encrypt=encrypt,
            )
    finally:
        shutil.rmtree(root)


def measure(root: Path, notes: Path, times: int, *, encrypt: bool) -> None:
    root.mkdir()
    subprocess.run(
        ["git", "init", "-q", "--bare", "-b", "main", str(root / "remote.git")], check=True
    )
    where = SyncSettings(remote=str(root / "remote.git"), encrypt=encrypt)
    one, two = machine(root / "one"), machine(root / "two")
    if encrypt:
        for home, *_ in (one, two):
            shutil.copy(make_key(one[0]), home.root / "sync.key") if home is not one[
                0
            ] else make_key(home)
    for day in notes.glob(
        "*.md"
    ):  # clean, as capture leaves them: the corpus has words that look like passwords
        Path(one[2].memory, day.name).write_text(redact(day.read_text(), one[0])[0])

    def round_of(which: tuple[Home, Journal, Project]) -> float:
        began = time.perf_counter()
        sync(which[0], which[1], where, [which[2]])
        return time.perf_counter() - began

    def note(which: tuple[Home, Journal, Project]) -> None:
        which[1].add_note(which[2].memory, "2026-11-20", "23:00", "A note more")

    rows = {"first, all sent": [round_of(one)], "first, all received": [round_of(two)]}
    for _ in range(times):
        rows.setdefault("nothing new", []).append(round_of(one))
        note(one)
        rows.setdefault("a note sent", []).append(round_of(one))
        rows.setdefault("a note received", []).append(round_of(two))
    for what, taken in rows.items():
        print(f"{'encrypted' if encrypt else 'readable ':9s}  {what:20s} {median(taken):8.2f} s")


if __name__ == "__main__":
    main()
