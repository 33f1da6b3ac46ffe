"""What the benchmarks share: an isolated home, a corpus of any size, whole-process timing, the
peer, a table.

Nothing here asserts a time. Commands are run in turn (a, b, c, a, b, c, …), so that other work on
the machine hits all alike; medians and ratios are what to read.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

ROOT = Path(__file__).absolute().parent.parent
sys.path.insert(0, str(ROOT))

from memsearch_engine.core.home import Home  # noqa: E402
from memsearch_engine.core.projects import Place, locate  # noqa: E402
from memsearch_engine.journal.model import Anchor  # noqa: E402
from memsearch_engine.journal.text import escape_line  # noqa: E402
from memsearch_engine.search.hits import Answer  # noqa: E402
from memsearch_engine.service import launch  # noqa: E402

from memsearch_tui.demo.history import Story, fillers, stories  # noqa: E402

MEMSEARCH = str(Path(sys.executable).parent / "memsearch")
PEER_MODEL = "local/minilm-int8"
END = date(2026, 11, 20)
BARE = [sys.executable, "-c", "pass"]


# -- corpus


@dataclass
class Corpus:
    """The journals of a project (*root*), and queries that are answered by some entry."""

    root: Path
    chunks: int
    files: int
    queries: list[str]

    @property
    def memory(self) -> Path:
        return self.root / ".memsearch" / "memory"


def make_corpus(root: Path, chunks: int, seed: int = 7, days: int = 0, sessions: int = 0) -> Corpus:
    """Journals of *chunks* entries in the product's own format; the same arguments give the same
    bytes.

    The demo's routine turns and stories, their words partly replaced from a vocabulary that grows
    with the corpus (Heaps) and is drawn by rank (Zipf), so that word lists are as long and as
    skewed as in real notes.

    Args:
        days: how many day files; by default a year, above 10,000 chunks 1,000 days.
        sessions: at most so many, but one a day for each agent; by default four a day for each.
    """
    days = days or (365 if chunks <= 10_000 else 1000)
    a_day = max(1, sessions // (4 * days)) if sessions else 4
    chance = random.Random(seed)
    words = _Vocabulary(chance, int(45 * (chunks * 50) ** 0.5))
    injected = [
        bullet for story in stories() if story.agent for bullet in story.bullets if bullet.isascii()
    ]
    by_day: list[list[Story]] = [[] for _ in range(days)]
    for number, story in enumerate(fillers(chunks, seed)):
        story.day = number % days  # every day has a file
        story.session = f"{story.agent}-{story.day}-{chance.randrange(a_day)}"
        story.bullets = [words.vary(bullet) for bullet in [*story.bullets, chance.choice(injected)]]
        by_day[story.day].append(story)
    corpus = Corpus(root, chunks, 0, [])
    corpus.memory.mkdir(parents=True)
    for number, turns in enumerate(by_day):
        if turns:
            day = (END - timedelta(days=number)).isoformat()
            (corpus.memory / f"{day}.md").write_text(_day(day, turns), encoding="utf-8")
            corpus.files += 1
    for _ in range(400):
        bullet = chance.choice(chance.choice(chance.choice([day for day in by_day if day])).bullets)
        plain = [word.strip(".,:;()`'\"") for word in bullet.split() if len(word) > 3]
        start = chance.randrange(max(1, len(plain) - 4))
        corpus.queries.append(
            " ".join(plain[start : start + chance.randrange(2, 6)]) or "redis timeout"
        )
    return corpus


class _Vocabulary:
    """Made-up words and identifiers with Zipf's frequencies."""

    _ONSETS = [
        *"bcdfghjklmnprstvwxyz",
        "br",
        "ch",
        "dr",
        "fl",
        "gr",
        "pl",
        "qu",
        "sh",
        "sk",
        "st",
        "th",
        "tr",
    ]
    _VOWELS = [*"aeiou", "ai", "ea"]
    _ENDS = ["", "", "", "", "n", "r", "s", "t", "l", "m"]

    def __init__(self, chance: random.Random, size: int) -> None:
        self.chance = chance
        plain: dict[str, None] = {}
        while len(plain) < size:
            plain[self._syllable() + self._syllable()] = None
        self.words = [self._spelled(word) for word in plain]
        self.weights = list(accumulate(1 / (rank + 20) for rank in range(size)))

    def _syllable(self) -> str:
        return (
            self.chance.choice(self._ONSETS)
            + self.chance.choice(self._VOWELS)
            + self.chance.choice(self._ENDS)
        )

    def _spelled(self, word: str) -> str:
        kind = self.chance.random()
        if kind < 0.06:
            return f"{word}_{self._syllable()}"
        if kind < 0.12:
            return f"{word.title()}{self._syllable().title()}"
        if kind < 0.16:
            return f"app/{word}/{self._syllable()}.py"
        if kind < 0.19:
            return f"{word[:4].upper()}-{self.chance.randrange(10_000)}"
        return word

    def vary(self, text: str) -> str:
        """*text* with about a quarter of its words replaced."""
        written = text.split()
        places = [i for i in range(len(written)) if self.chance.random() < 0.25]
        for place, word in zip(
            places, self.chance.choices(self.words, cum_weights=self.weights, k=len(places))
        ):
            written[place] = word
        return " ".join(written)


def _day(day: str, turns: list[Story]) -> str:
    lines, last = [f"# {day}", ""], ""
    for story in sorted(turns, key=lambda story: (story.time, story.id)):
        if story.session_id != last:
            lines += [f"## Session {story.time}", ""]
            last = story.session_id
        anchor = Anchor(
            last, story.turn, story.agent, "transcript", f"/home/u/.claude/projects/-p/{last}.jsonl"
        )
        lines += [
            f"### {story.time}",
            anchor.render(),
            *(f"- {escape_line(b)}" for b in story.bullets),
            "",
        ]
    return "\n".join(lines)


# -- the product


@dataclass
class Product:
    """The product in a home of its own, standing in one project."""

    home: Home
    root: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        return locate(self.root, self.home)

    @property
    def place_param(self) -> dict[str, str]:
        place = self.place
        return {"root": place.root, "memory": place.memory, "common_dir": place.common_dir}

    def command(self, *arguments: str) -> list[str]:
        return [MEMSEARCH, *arguments]

    def start(self) -> launch.Connection:
        """A connection to a service that has nothing left to do."""
        connection = launch.connect(self.home, wait_s=60)
        self.settle(connection)
        return connection

    def settle(self, connection: launch.Connection) -> None:
        """Wait until the service has opened its index and worked its queue off."""
        connection.call("index", list[dict], timeout_s=7200, place=self.place_param)

    def warm(self, queries: list[str]) -> None:
        """See to it that the service is up, settled and has answered before."""
        connection = self.start()
        for query in queries:
            connection.call("search", Answer, place=self.place_param, query=query)
        connection.close()

    def stop(self) -> None:
        launch.stop(self.home, wait_s=60)

    def fill(self) -> None:
        """Index with random vectors instead of the model's (see fill.py)."""
        script = Path(__file__).with_name("fill.py")
        subprocess.run(
            [sys.executable, str(script), str(self.home.root), str(self.root)],
            env=self.env,
            check=True,
        )


@contextmanager
def workplace(keep: Path | None = None):
    """A folder that is empty and private; the environment is turned to it. Yields the folder and
    the environment.
    """
    with tempfile.TemporaryDirectory(prefix="msb-") as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in list(os.environ):
            if name.startswith(
                ("MEMSEARCH_", "CLAUDE_", "CODEX_", "OPENCODE", "OPENCLAW", "XDG_", "OPENBLAS_")
            ):
                del os.environ[name]
        # an installed package has bytecode; the first round, which does not count, writes it
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        (folder / "user").mkdir(exist_ok=True)
        os.environ.update(
            HOME=str(folder / "user"), MEMSEARCH_HOME=str(folder / "home"), NO_COLOR="1"
        )
        product = Product(Home(folder / "home"), folder / "project", dict(os.environ))
        try:
            yield folder, product
        finally:
            product.stop()


# -- the peer


@dataclass
class Peer:
    """memsearch 0.4 in a venv made by peer.sh, with the product's own embedding model."""

    venv: Path
    user: Path

    def __post_init__(self) -> None:
        self.venv = self.venv.resolve()
        config = self.user / ".memsearch" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'[embedding]\nprovider = "onnx"\nmodel = "{PEER_MODEL}"\n')

    @property
    def env(self) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.user),
            "HF_HOME": str(self.venv / "hf"),
            "HF_HUB_OFFLINE": "1",
        }

    def command(self, *arguments: str) -> list[str]:
        return [str(self.venv / "bin" / "memsearch"), *arguments]

    def drive(self, **task: Any) -> dict[str, Any]:
        """Run a task of peer_driver.py inside the peer's own Python."""
        script = Path(__file__).with_name("peer_driver.py")
        done = subprocess.run(
            [str(self.venv / "bin" / "python"), str(script)],
            input=json.dumps(
                {"model": PEER_MODEL, "uri": str(self.user / ".memsearch" / "milvus.db"), **task}
            ),
            capture_output=True,
            text=True,
            env=self.env,
        )
        if done.returncode:
            raise SystemExit(f"the peer failed:\n{done.stderr[-3000:]}")
        return json.loads(done.stdout.splitlines()[-1])


# -- measuring


@dataclass
class Run:
    """One whole process: wall and CPU time in ms, peak memory in MB (None where this process's own
    hides it).
    """

    wall: float
    cpu: float
    peak: float | None
    code: int
    out: bytes

    @property
    def ok(self) -> bool:
        return self.code in (0, 1)


def run(
    argv: list[str], env: dict[str, str] | None = None, cwd: Path | None = None, stdin: bytes = b""
) -> Run:
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin)
        given.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(argv, stdin=given, stdout=out, stderr=err, env=env, cwd=cwd)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode not in (0, 1):
            said = err.read().decode(errors="replace").strip().splitlines()[-1:]
            print(
                f"FAILED with {process.returncode}: {' '.join(argv)}: {' '.join(said)[:300]}",
                flush=True,
            )
        cpu = (usage.ru_utime + usage.ru_stime) * 1000
        # a child starts with its parent's high-water mark; only what lies above it is its own
        peak = (
            usage.ru_maxrss
            if usage.ru_maxrss > 1.02 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            else None
        )
        return Run(wall * 1000, cpu, peak and peak / 1024, process.returncode, out.read())


def in_turn(ways: dict[str, Callable[[], Run]], times: int, warm: int = 1) -> dict[str, list[Run]]:
    """Every way once, then again, *times* times; the first *warm* rounds and failed runs don't
    count.
    """
    found: dict[str, list[Run]] = {name: [] for name in ways}
    for number in range(times + warm):
        for name, way in ways.items():
            done = way()
            if number >= warm:
                found[name].append(done)
    return {name: [done for done in runs if done.ok] or runs for name, runs in found.items()}


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def p95(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]


# -- showing


class Report:
    """Tables on stdout, and the same figures for ``--json``."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.path: Path | None = options.json
        self.figures: dict[str, Any] = {
            "script": Path(sys.argv[0]).name,
            "options": {name: str(value) for name, value in vars(options).items()},
            "python": sys.version.split()[0],
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "tables": [],
        }
        print(
            f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, "
            f"load {os.getloadavg()[0]:.1f} at the start"
        )

    def table(self, title: str, head: list[str], rows: list[list[Any]]) -> None:
        shown = [head, *([_cell(value) for value in row] for row in rows)]
        widths = [max(len(row[i]) for row in shown) for i in range(len(head))]
        print(f"\n{title}")
        for row in shown:
            cells = [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:])),
            ]
            print("  ".join(cells).rstrip(), flush=True)
        self.figures["tables"].append(
            {"title": title, "rows": [dict(zip(head, row)) for row in rows]}
        )

    def processes(self, title: str, found: dict[str, list[Run]], against: list[str]) -> None:
        """Wall, CPU and memory of whole processes, and each median as a multiple of those in
        *against*.
        """
        base = {name: median(run.wall for run in found[name]) for name in against if name in found}
        head = [
            "whole process",
            "n",
            "wall ms",
            "min",
            "cpu ms",
            "peak MB",
            *(f"x {name}" for name in base),
        ]
        rows = []
        for name, runs in found.items():
            wall = median(run.wall for run in runs)
            peaks = [run.peak for run in runs if run.peak]
            cells = [median(run.cpu for run in runs), median(peaks) if peaks else None]
            ratios = [_ratio(wall / value) for value in base.values()]
            rows.append([name, len(runs), wall, min(run.wall for run in runs), *cells, *ratios])
        self.table(title, head, rows)

    def save(self) -> None:
        if self.path:
            self.path.write_text(json.dumps(self.figures, indent=1))


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"1/{1 / value:.0f}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return (
            f"{value:.0f}"
            if abs(value) >= 100
            else f"{value:.1f}"
            if abs(value) >= 10
            else f"{value:.2f}"
        )
    return "-" if value is None else str(value)


def arguments(doc: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peer",
        type=Path,
        help="the venv that peer.sh made; without it the peer's rows are left out",
    )
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser
