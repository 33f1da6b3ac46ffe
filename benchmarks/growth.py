"""How costs grow with the number of notes.

    python benchmarks/growth.py                            # 1,000 to 100,000 notes
    python benchmarks/growth.py --sizes 1000 10000 30000 --projects 20 --sessions 2000

Each size has a home of its own. Its tables are filled as that many captured turns leave them:
archived conversations, the ledger of turns, and deletions in the history. Notes and turns are
divided evenly among the projects and sessions. Searches, the app and Review are in the first
project.

Up to --real notes, `memsearch index` embeds the notes with the model. Larger homes get random unit
vectors (fill.py), so the cold index has no value there. Nothing else depends on what the vectors
mean.

Start, first search, changed note, import, app, Review and `doctor` are medians of --times
runs. The exponent is the slope of log value on log notes (least squares); of the cold index, that
of its duration. A row is marked if its exponent is over 1.1, or if its value at 100,000 notes is
over 1 s. If 100,000 was not measured, the value is extrapolated: the larger one of the power law
and of the straight line through the two largest sizes. The cold index and memory have no limit of
time.
"""

from __future__ import annotations

import json
import math
import time
from argparse import Namespace
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import linear_regression

import app
import psutil
from common import Corpus, Product, Report, Run, arguments, make_corpus, median, run, workplace
from index import until_searchable
from memsearch_engine import Memory
from memsearch_engine.agents.transcripts.model import Session, ToolCall, Turn
from memsearch_engine.capture.capture_pipeline import CapturePipeline
from memsearch_engine.capture.ledger import SeenTurn
from memsearch_engine.core.settings import Settings
from memsearch_engine.journal.history import Change
from search import ask
from transcripts import write_session

from memsearch_tui.library import Library
from memsearch_tui.review import cases, titled

COLD, MEMORY = "cold index, notes a second", "memory of the service, MB"
_AT, _LIMIT_MS, _LIMIT_EXPONENT = 100_000, 1000.0, 1.1
_TURNS, _IMPORTED, _SEARCHES = 60, 200, 20
_F5 = "\x1b[15~"
_REVIEW_S = 600  # at most, until the cases are there

Values = dict[str, float | None]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--projects", type=int, default=1)
    parser.add_argument("--sessions", type=int, help="by default one for 20 notes")
    parser.add_argument("--times", type=int, default=3, help="runs of each row")
    parser.add_argument(
        "--real", type=int, default=10_000, help="embed really up to this many notes"
    )
    options = parser.parse_args()
    report = Report(options)
    found: dict[int, Values] = {}
    for size in sorted(options.sizes):
        with workplace() as (folder, product):
            found[size] = one_size(folder, product, size, options)
    names = list(found[min(found)])
    head = ["ms, unless named", *(f"{size:,}" for size in found), "exponent", "over a limit"]
    rows = [[name, *(found[size][name] for size in found), *judged(name, found)] for name in names]
    report.table(f"growth with notes, {options.projects} project(s)", head, rows)
    report.save()


def judged(name: str, found: dict[int, Values]) -> list[str | None]:
    """The exponent of a row, and the limits that it exceeds."""
    points = [(size, value) for size, values in found.items() if (value := values[name])]
    if name == COLD:
        points = [(size, size / rate) for size, rate in points]
    exponent, problems = None, []
    if len(points) > 1:
        logs = [(math.log(size), math.log(value)) for size, value in points]
        exponent, start = linear_regression(*zip(*logs))
        if exponent > _LIMIT_EXPONENT:
            problems.append(f"exponent over {_LIMIT_EXPONENT}")
    if name not in (COLD, MEMORY):
        late, how = found.get(_AT, {}).get(name), "measured"
        if late is None and exponent is not None:
            (size, value), (larger, last) = points[-2:]
            line = last + (last - value) / (larger - size) * (_AT - larger)
            late, how = max(line, math.exp(start + exponent * math.log(_AT))), "extrapolated"
        if late and late > _LIMIT_MS:
            problems.append(f"{late / 1000:.1f} s at {_AT:,} ({how})")
    return [None if exponent is None else f"{exponent:.2f}", ", ".join(problems)]


def one_size(folder: Path, product: Product, size: int, options: Namespace) -> Values:
    sessions = options.sessions or max(1, size // 20)
    products = [product]
    products += [replace(product, root=folder / f"project-{n}") for n in range(1, options.projects)]
    each = max(1, size // options.projects)
    corpora = [
        make_corpus(one.root, each, seed=7 + n, sessions=max(1, sessions // options.projects))
        for n, one in enumerate(products)
    ]
    values: Values = {COLD: cold(products, size) if size <= options.real else None}
    product.stop()
    for one in products:
        one.fill()  # leaves the vectors of the model
    pipeline = CapturePipeline(product.home, settings=Settings())
    fill(pipeline, size, str(corpora[0].memory), str(product.root), -(-size // sessions))
    values |= service(product, corpora[0], options.times)
    values["one captured turn"] = captured(pipeline, size, str(product.root))
    pipeline.close()
    name = f"import of a session of {_IMPORTED} turns"
    values[name] = median(imported(folder, product, n) for n in range(options.times))
    values |= opened(product, options.times)
    doctor = product.command("doctor", "--json")
    values["doctor"] = median(
        checked(run(doctor, product.env, product.root)).wall for _ in range(options.times)
    )
    values[MEMORY] = values.pop(MEMORY)  # the last row
    return values


def checked(done: Run) -> Run:
    if done.code:
        raise SystemExit(f"FAILED with {done.code}: {done.out[-500:]!r}")
    return done


def cold(products: list[Product], size: int) -> float:
    """Notes a second; the start of the service is included."""
    start = time.perf_counter()
    for product in products:
        checked(run(product.command("index", "--json"), product.env, product.root))
    return size / (time.perf_counter() - start)


def service(product: Product, corpus: Corpus, times: int) -> Values:
    """Start, first and later searches, one changed note, and memory after these."""
    queries = iter(corpus.queries)

    def timed_search() -> float:
        start = time.perf_counter()
        ask(connection, product, next(queries), "hybrid")
        return (time.perf_counter() - start) * 1000

    started, first = [], []
    for number in range(times):
        product.stop()
        start = time.perf_counter()
        connection = product.start()
        started.append((time.perf_counter() - start) * 1000)
        first.append(timed_search())
        if number < times - 1:
            connection.close()
    later = [timed_search() for _ in range(_SEARCHES)]
    days = sorted(corpus.memory.glob("*.md"))[:times]
    found = [until_searchable(product, connection, day, n) for n, day in enumerate(days)]
    process = psutil.Process(connection.call("status", dict)["pid"])
    connection.close()
    return {
        "start of the service, until settled": median(started),
        "first search": median(first),
        "later searches, p50": median(later),
        "one changed note, until found by meaning": median(both[1] for both in found if both),
        MEMORY: process.memory_info().rss / 2**20,
    }


def captured(pipeline: CapturePipeline, size: int, cwd: str) -> float:
    """Median over turns that are captured as a hook's are, each into the same day file."""
    taken = []
    for number in range(size, size + _TURNS):
        made = turn(number, "session-new", cwd)
        session = Session("claude-code", made.session, "/gone.jsonl", "transcript")
        start = time.perf_counter()
        done = pipeline.capture(made, session)
        taken.append((time.perf_counter() - start) * 1000)
        assert done.written, done
    return median(taken)


def imported(folder: Path, product: Product, number: int) -> float:
    """`memsearch agents import` of one session of Claude Code that the home does not know."""
    name = f"{number:08d}-1111-4111-8111-111111111111"
    file = folder / "user" / ".claude" / "projects" / "-project" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    first, cwd = number * _IMPORTED, str(product.root)
    write_session(file, 0, request=2_000, least=_IMPORTED, cwd=cwd, first=first)
    product.warm([])  # nothing is left to index
    command = product.command("agents", "import", "claude-code", "--yes", "--json")
    done = checked(run(command, product.env, product.root))
    written = json.loads(done.out)["written"]
    assert written == _IMPORTED, done.out
    return done.wall


def opened(product: Product, times: int) -> Values:
    """The app's first frame, and from the key to the first and the last cases of Review."""
    product.warm([])
    library = Library(Memory(str(product.root), home=product.home))
    desk = app.Desk(product, library, None)
    waiting = cases(library.memory)
    counts = Counter(case.kind for case in waiting)
    texts = [titled(kind, count) for kind, count in counts.items()]
    texts = texts or ["Nothing waits for a decision"]
    frames, firsts, lasts = [], [], []
    for _ in range(times):
        with desk.open(app.OURS) as terminal:
            frames.append(desk.wait(app.OURS, terminal).first)
            terminal.press(_F5)
            firsts.append(terminal.see(texts[0], limit_s=_REVIEW_S))
            lasts.append(terminal.see(texts[-1], limit_s=_REVIEW_S))
    library.memory.close()
    return {
        "first frame of the app": median(frames),
        "opening Review, first cases": median(firsts),
        "opening Review, all cases": median(lasts),
    }


# -- a home in use


def turn(number: int, session: str, cwd: str) -> Turn:
    call = ToolCall("Bash", f"pytest tests/test_{number}.py", "1 passed\n" * 20)
    return Turn(
        "claude-code",
        session,
        f"{number:032x}",
        "2026-01-05T10:00:00Z",
        "2026-01-05T10:01:00Z",
        cwd,
        f"Fix the importer, case {number}",
        f"Case {number} failed on empty rows; the guard is in place now.",
        [call],
    )


def fill(pipeline: CapturePipeline, count: int, memory: str, cwd: str, each: int) -> None:
    """Fill the tables as *count* turns leave them; every tenth was deleted by its owner.

    Args:
        each: turns of a session.
    """
    assert pipeline.archive is not None
    pipeline.archive.put(turn(0, "session-0", cwd))
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
        key = ("claude-code", f"session-{number // each}", f"{number:032x}")
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
            "claude-code", f"s{n // each}", f"{n:032x}", "2025-01-01", cwd, "captured", "", float(n)
        )
        for n in range(count)
    )
    pipeline.ledger.note(seen)


if __name__ == "__main__":
    main()
