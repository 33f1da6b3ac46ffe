"""What one captured turn costs in a home that has many: `python -m benchmarks.growth`. It should
not depend on how many.

The home's tables are filled as so many turns leave them (kept conversations, the ledger of turns,
deletions in the history, notes by origin); then turns are captured as a hook's are, each into the
same day file.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from memsearch_engine.agents.transcripts.model import Session, ToolCall, Turn
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.ledger import SeenTurn
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import Settings
from memsearch_engine.journal.history import Change

_MEASURED = 60


def turn(number: int, cwd: str, day: str = "2026-01-05") -> Turn:
    call = ToolCall("Bash", f"pytest tests/test_{number}.py", "1 passed\n" * 20)
    return Turn(
        "claude-code",
        f"session-{number // 20}",
        f"{number:032x}",
        f"{day}T10:00:00Z",
        f"{day}T10:01:00Z",
        cwd,
        f"Fix the importer, case {number}",
        f"Case {number} failed on empty rows; the guard is in place now.",
        [call],
    )


def fill(pipeline: CapturePipeline, count: int, memory: str, cwd: str) -> None:
    """As *count* turns leave a home, every tenth of them deleted by its owner."""
    assert pipeline.archive is not None
    pipeline.archive.put(turn(0, cwd))
    pipeline.journal.history.recent(limit=1)
    db, history = pipeline.archive._db(), pipeline.journal.history.database._db()
    for table in (db, history):
        table.execute("BEGIN")
    for number in range(1, count):
        name = number.to_bytes(16, "big")
        db.execute(
            "INSERT INTO contents (digest, packed, bytes, at) VALUES (?,?,?,?)",
            (name, b"x" * 400, 2000, number),
        )
        key = ("claude-code", f"session-{number // 20}", f"{number:032x}")
        db.execute(
            "INSERT INTO turns (agent, session, turn, digest, at) VALUES (?,?,?,?,?)",
            (*key, name, number),
        )
        if number % 10 == 0:
            anchor = f"session:{key[1]} turn:{key[2]} transcript:/gone"
            before = f"### 10:00\n<!-- {anchor} -->\n- gone\n".encode()
            change = Change(
                "b",
                "delete",
                memory,
                f"{memory}/2025-01-01.md",
                f"{number:012x}",
                "gone",
                0,
                before,
                b"",
                "",
                "",
                state="done",
            )
            columns = [name for name in Change.__struct_fields__ if name != "seq"]
            marks = ",".join("?" * len(columns))
            values = tuple(getattr(change, name) for name in columns)
            seq = history.execute(
                f"INSERT INTO changes ({','.join(columns)}) VALUES ({marks})", values
            ).lastrowid
            history.execute("INSERT INTO deleted_turns (turn, seq) VALUES (?,?)", (key[2], seq))
    for table in (db, history):
        table.execute("COMMIT")
    seen = (
        SeenTurn(
            "claude-code", f"s{n // 20}", f"{n:032x}", "2025-01-01", cwd, "captured", "", float(n)
        )
        for n in range(count)
    )
    pipeline.ledger.note(seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    first = 0.0
    print(f"{'turns':>8} {'median':>9} {'p95':>9} {'x first':>8}")
    for size in parser.parse_args().sizes:
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder) / "project"
            memory = project / ".memsearch" / "memory"
            memory.mkdir(parents=True)
            pipeline = CapturePipeline(Home(Path(folder) / "home"), settings=Settings())
            fill(pipeline, size, str(memory), str(project))
            taken = []
            for number in range(_MEASURED):
                made = turn(size + number, str(project))
                start = time.perf_counter()
                kept = pipeline.capture(
                    made, Session("claude-code", made.session, "/gone.jsonl", "transcript")
                )
                taken.append((time.perf_counter() - start) * 1000)
                assert kept.written, kept
            pipeline.close()
        median, late = statistics.median(taken), sorted(taken)[int(len(taken) * 0.95)]
        first = first or median
        print(f"{size:8,} {median:6.1f} ms {late:6.1f} ms {median / first:7.2f}x", flush=True)


if __name__ == "__main__":
    main()
