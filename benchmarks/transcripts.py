"""Opening one turn of a large transcript, and importing a history.

    python benchmarks/transcripts.py                 # 50 MB, 2,000 turns: about 1 minute
    python benchmarks/transcripts.py --mb 50 500     # with the large one: about 3 minutes

Transcripts are like Claude Code 2.1.330's: a question, a tool call, an answer, and the whole model
request that it records beside them (most of the bytes). "decode every line" is what a reader
without an index does each time, `json` and msgspec; "read the bytes" is the limit.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from common import Report, arguments, workplace
from memsearch_engine.agents.transcripts.locate import open_anchor
from memsearch_engine.capture import backfill
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.core.home import AgentFolders, Home

WORDS = (
    "the pool timeout order cache index test build deploy "
    "retry branch schema migration token webhook price queue"
).split()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--mb", type=int, nargs="*", default=[50])
    parser.add_argument("--turns", type=int, default=2000)
    options = parser.parse_args()
    report = Report(options)
    with workplace() as (folder, product):
        for size in options.mb:
            opening(report, folder / f"claude-{size}", product.home, size)
        importing(report, folder, product.home, options.turns)
    report.save()


def opening(report: Report, base: Path, home: Home, size: int) -> None:
    project = base / "projects" / "-p"
    project.mkdir(parents=True)
    file = project / "11111111-1111-4111-8111-111111111111.jsonl"
    turns = write_session(file, size * 1_000_000, request=100_000)
    folders = AgentFolders({"claude-code": [base / "projects"]})
    chance = random.Random(3)

    def open_turn(cache: Path | None) -> Callable[[], object]:
        return lambda: open_anchor(
            "claude-code",
            file.stem,
            f"turn-{chance.randrange(turns):06d}-0000-4000",
            str(file),
            folders,
            context=1,
            cache=cache,
        )

    first = timed(open_turn(home.offsets), 1)
    rows = {
        "open a turn, the first time": first,
        "open a turn, later": timed(open_turn(home.offsets), 20),
        "open a turn, without an index (sandbox)": timed(open_turn(None), 3),
        "decode every line: msgspec": timed(lambda: decode(file, msgspec.json.decode), 3),
        "decode every line: json": timed(lambda: decode(file, json.loads), 3),
        "read the bytes": timed(lambda: file.read_bytes(), 3),
    }
    report.table(
        f"one turn of {turns}, {size} MB",
        ["what", "ms"],
        [[name, round(ms, 1)] for name, ms in rows.items()],
    )


def importing(report: Report, folder: Path, home: Home, turns: int) -> None:
    """A history of ordinary sessions (20 turns each) of one agent, into an empty journal."""
    project = folder / "repo"
    (project / ".memsearch").mkdir(parents=True)
    base = folder / "history" / "projects" / "-repo"
    base.mkdir(parents=True)
    for number in range(turns // 20):
        name = f"{number:08d}-1111-4111-8111-111111111111"
        write_session(
            base / f"{name}.jsonl", 0, request=2_000, least=20, cwd=str(project), first=number * 20
        )
    folders = AgentFolders({"claude-code": [base.parent]})
    pipeline = CapturePipeline(home)
    choice = backfill.ImportSelection(("claude-code",))
    start = time.perf_counter()
    made = backfill.plan(home, pipeline, folders, choice)
    planned = time.perf_counter()
    done = backfill.run(pipeline, made, choice)
    written = time.perf_counter()
    again = backfill.plan(home, pipeline, folders, choice)
    known = time.perf_counter()
    pipeline.close()
    assert (done.written, again.new) == (made.new, 0)
    report.table(
        f"import of {made.new} turns in {len(made.work)} sessions",
        ["what", "s", "turns/s"],
        [
            ["plan (dry run)", round(planned - start, 2), round(made.new / (planned - start))],
            [
                "write entries and evidence",
                round(written - planned, 2),
                round(made.new / (written - planned)),
            ],
            ["a second run", round(known - written, 2), round(made.new / (known - written))],
        ],
    )


def write_session(
    file: Path, size: int, *, request: int, least: int = 1, cwd: str = "/p", first: int = 0
) -> int:
    """A session of at least *size* bytes and *least* turns, each with a recorded request of
    *request* bytes.
    """
    chance = random.Random(first)
    written = number = 0
    with file.open("w") as out:
        while written < size or number < least:
            for line in lines(first + number, file.stem, cwd, request, chance):
                written += out.write(json.dumps(line) + "\n")
            number += 1
    return number


def lines(number: int, session: str, cwd: str, request: int, chance: random.Random) -> list[dict]:
    day, minute = 1 + number // 60 % 27, number % 60
    common = {
        "sessionId": session,
        "cwd": cwd,
        "timestamp": f"2026-{1 + number // 1700 % 10:02d}-{day:02d}T10:{minute:02d}:00Z",
    }
    said = " ".join(chance.choices(WORDS, k=40))
    call = {
        "type": "tool_use",
        "id": f"c{number}",
        "name": "Bash",
        "input": {"command": f"pytest -k {chance.choice(WORDS)}"},
    }
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "passed\n" * 40}
    return [
        {
            "type": "user",
            "promptId": f"turn-{number:06d}-0000-4000",
            "promptSource": "typed",
            "message": {"content": f"Fix {said}"},
            **common,
        },
        {"type": "api-request-blob", "blob": "x" * request, **common},
        {"type": "assistant", "message": {"content": [call]}, **common},
        {"type": "user", "toolUseResult": {}, "message": {"content": [result]}, **common},
        {
            "type": "assistant",
            "message": {"content": [{"type": "text", "text": f"Fixed it. I changed the {said}."}]},
            **common,
        },
    ]


def decode(file: Path, loads: Callable[[bytes], object]) -> None:
    with file.open("rb") as opened:
        for line in opened:
            loads(line)


def timed(call: Callable[[], object], times: int) -> float:
    """Median milliseconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
