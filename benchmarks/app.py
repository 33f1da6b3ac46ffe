"""What the terminal app costs at 1,000 days and 30,000 entries, beside an empty Textual app,
posting and harlequin.

    python benchmarks/app.py --apps /tmp/apps                        # about 7 minutes
    python benchmarks/app.py --days 100 --entries 3000 --times 3     # smaller, without the other
    apps

Each of the other apps needs a venv of its own (in one, pip resolves old versions of both; the
tree-sitter that posting asks for crashes from 0.26 on), in a folder named by --apps or
MEMSEARCH_BENCH_APPS:

    python3.11 -m venv /tmp/apps/posting && /tmp/apps/posting/bin/pip install posting
    'tree-sitter<0.26' python3.11 -m venv /tmp/apps/harlequin && /tmp/apps/harlequin/bin/pip install
    harlequin

Everything runs in a pseudo-terminal of 120x40 that takes whole frames (synchronized output), as
terminals do:

1. start: from the process's start until a known text of the first frame was written (for
  `memsearch tui`: the title of
   the newest entry); then until nothing was painted for 0.3 s. Run in turn. The empty app is one
   Static. The CPU time until the first frame is steadier while others use the machine.
2. typing: from a letter of a query to the end of the last frame before typing rests, which has the
  hits by words, and to the end of the last one after it, which has the hybrid hits. Hybrid hits
  that are the same draw nothing and are not counted; every letter rests until both are there.
   Beside it, the same letters in an app that has nothing but an Input.
3. moving: from the key to the last byte of the other entry's preview (over days: of the other
  day's entries).
   The conversations behind the entries are not there, so each is looked for.
Both are counted in bytes written, too: a terminal far away gets each of them.
4. at rest: resident memory after start and after 2 and 3, and CPU while nothing happens.

Above --real entries the index is filled with random vectors (fill.py): what the app costs does not
depend on them.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
from common import Corpus, Product, Report, arguments, make_corpus, median, p95, workplace
from memsearch_engine import Memory
from memsearch_engine.service import launch

from memsearch_tui.library import Library
from memsearch_tui.screens.browse.search import REST_S

ROWS, COLUMNS = 40, 120
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("Hello")
Empty().run()
"""
ECHO = EMPTY.replace("Static", "Input").replace('"Hello"', 'placeholder="Hello"')
OURS, FLOOR = "memsearch tui", "an empty Textual app"
#: app -> a text of its first frame
OTHERS = {"posting": "Collection", "harlequin": "Data Catalog"}
_QUIET_S = 0.3
_ESCAPE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])"
)
_ASKS_FOR_FRAMES, _GETS_FRAMES, _FRAME_END = b"\x1b[?2026$p", b"\x1b[?2026;2$y", b"\x1b[?2026l"
_END = "\0"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=30_000)
    parser.add_argument("--times", type=int, default=9, help="starts of each app")
    parser.add_argument(
        "--queries", type=int, default=8, help="queries to type, of up to 14 letters"
    )
    parser.add_argument("--idle", type=float, default=5, help="seconds to watch each app at rest")
    parser.add_argument(
        "--real", type=int, default=1000, help="embed really up to this many entries"
    )
    given = os.environ.get("MEMSEARCH_BENCH_APPS")
    parser.add_argument(
        "--apps",
        type=Path,
        default=given,
        help="the folder with the venvs of posting and harlequin",
    )
    options = parser.parse_args()
    report = Report(options)
    with workplace() as (_, product):
        corpus = make_corpus(product.root, options.entries, days=options.days)
        if options.entries > options.real:
            product.fill()
        product.warm(corpus.queries[:3])
        library = Library(Memory(str(product.root), home=product.home))
        desk = Desk(product, library, options.apps)
        print(f"{options.entries:,} entries in {corpus.files:,} days, terminal {COLUMNS}x{ROWS}")
        start(report, desk, options.times)
        used = use(report, desk, corpus, options.queries)
        rest(report, desk, used, options.idle)
        library.memory.close()
    report.save()


# -- a terminal


class Terminal:
    """A program in a pseudo-terminal. Times are ms since the last key, at first since the program's
    start.
    """

    def __init__(self, argv: list[str], env: dict[str, str], folder: Path) -> None:
        self._screen, there = os.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial = b""
        self._last = 0.0
        self.drawn = ""
        self.written = 0  # bytes since the last key
        self.frames: list[float] = []  # their ends since the last key
        self._since = time.perf_counter()
        self.process = psutil.Popen(
            argv,
            stdin=there,
            stdout=there,
            stderr=there,
            env=env,
            cwd=folder,
            start_new_session=True,
        )
        os.close(there)

    def press(self, key: str) -> None:
        self.drawn = ""
        self.written = 0
        self.frames = []
        self._since = time.perf_counter()
        os.write(self._screen, key.encode())

    def see(self, text: str, *, whole: bool = True, limit_s: float = 30) -> float:
        """When *text* was written, and with *whole* the frame that it is in."""
        end = time.perf_counter() + limit_s
        while True:
            place = self.drawn.find(text)
            if place >= 0 and (not whole or _END in self.drawn[place:]):
                return self._last
            if not self._read(end - time.perf_counter()):
                raise SystemExit(
                    f"{text!r} was not drawn by {self.process.args[0]}; "
                    f"the last was {self.drawn[-500:]!r}"
                )

    def settle(self, limit_s: float = 10) -> float:
        """Wait until nothing was written for a moment. When the last was written."""
        end = time.perf_counter() + limit_s
        while time.perf_counter() < end and self._read(_QUIET_S):
            pass
        return self._last

    def watch(self, seconds: float) -> None:
        """Keep reading, or the program waits for us."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._read(left)

    def _read(self, limit_s: float) -> bool:
        if not select.select([self._screen], [], [], max(0.0, limit_s))[0]:
            return False
        try:
            data = os.read(self._screen, 65536)
        except OSError:  # the program has ended
            return False
        self._last = (time.perf_counter() - self._since) * 1000
        self.written += len(data)
        if _ASKS_FOR_FRAMES in data:
            os.write(self._screen, _GETS_FRAMES)
        data = self._partial + data
        last = data.rfind(b"\x1b")
        cut = last if last >= 0 and not _ESCAPE.match(data, last) else len(data)
        data, self._partial = data[:cut], data[cut:]
        self.frames += [self._last] * (_FRAME_END in data)
        self.drawn += self._decoder.decode(
            _ESCAPE.sub(b"", data.replace(_FRAME_END, _END.encode()))
        )
        return True

    @property
    def memory(self) -> float:
        """Resident, in MB."""
        return self.process.memory_info().rss / 2**20

    @property
    def cpu(self) -> float:
        """Seconds so far."""
        return sum(self.process.cpu_times()[:2])

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._screen)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Start:
    """Times in ms: a known text was there; nothing more was painted; CPU until the first."""

    first: float
    painted: float
    cpu: float


class Desk:
    """The apps that are compared, and how to start them."""

    def __init__(self, product: Product, library: Library, apps: Path | None) -> None:
        self.product, self.library = product, library
        self.days = [day for day, _ in library.list_days()]
        self.env = {
            **product.env,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
        }
        for name in ("NO_COLOR", "COLUMNS", "LINES"):  # the terminal itself says how large it is
            self.env.pop(name, None)
        self.apps: dict[str, tuple[list[str], str]] = {
            OURS: (product.command("tui"), library.days.notes(self.days[0])[-1].title[:12]),
            FLOOR: ([sys.executable, "-c", EMPTY], "Hello"),
        }
        for name, text in OTHERS.items():
            found = (
                list(apps.glob(f"{name}/lib/*/site-packages/{name}-*.dist-info")) if apps else []
            )
            if apps and found:
                version = found[0].name.removesuffix(".dist-info").replace("-", " ")
                self.apps[version] = ([str(apps / name / "bin" / name)], text)

    def open(self, name: str) -> Terminal:
        return Terminal(self.apps[name][0], self.env, self.product.root)

    def wait(self, name: str, app: Terminal) -> Start:
        """Until the app has painted everything."""
        first, cpu = app.see(self.apps[name][1], whole=False), app.cpu * 1000
        return Start(first, app.settle(), cpu)


# -- 1. start


def start(report: Report, desk: Desk, times: int) -> None:
    down = f"{OURS}, starts the service"
    ways: dict[str, Callable[[], Start]] = {name: partial(_start, desk, name) for name in desk.apps}
    ways[down] = partial(_start_without_service, desk)
    found: dict[str, list[Start]] = {name: [] for name in ways}
    for number in range(times + 1):
        for name, way in ways.items():
            done = way()
            if number:
                found[name].append(done)
        desk.product.warm([])
    base = {
        name: median(run.first for run in runs)
        for name, runs in found.items()
        if name not in (OURS, down)
    }
    floor = median(run.cpu for run in found[FLOOR])
    rows = []
    for name, runs in found.items():
        first, cpu = median(run.first for run in runs), median(run.cpu for run in runs)
        cells = [
            p95(run.first for run in runs),
            min(run.first for run in runs),
            median(run.painted for run in runs),
            cpu,
            f"{cpu / floor:.2f}",
        ]
        rows.append(
            [name, len(runs), first, *cells, *(f"{first / value:.2f}" for value in base.values())]
        )
    report.table(
        f"start (budget: 1.40 x {FLOOR}, and ahead of posting and harlequin)",
        [
            "whole process",
            "n",
            "first frame ms",
            "p95",
            "min",
            "all painted ms",
            "CPU ms to the first",
            "CPU x empty",
            *(f"x {name}" for name in base),
        ],
        rows,
    )


def _start(desk: Desk, name: str) -> Start:
    with desk.open(name) as app:
        return desk.wait(name, app)


def _start_without_service(desk: Desk) -> Start:
    desk.product.stop()
    done = _start(desk, OURS)
    launch.connect(desk.product.home, wait_s=60).close()  # what is still starting can't be stopped
    return done


# -- 2. typing, 3. moving


def use(report: Report, desk: Desk, corpus: Corpus, queries: int) -> float:
    """Returns the app's memory afterwards, in MB."""
    typed = [query[:14] for query in corpus.queries if query.isascii()][: queries + 1]
    with desk.open(OURS) as app:
        desk.wait(OURS, app)
        app.watch(5)  # the service has reported what changed
        _type(app, typed[0])
        hits = [times for query in typed[1:] for times in _type(app, query)]
        by_words, hybrid, letters = ([n for part in parts for n in part] for parts in zip(*hits))
        previews, lists, moved = _move(app, desk)
        memory = app.memory
    rows = [
        ["hits by words (budget 80, p95 120)", *_spread(by_words)],
        ["hybrid hits (budget 450)", *_spread(hybrid)],
        ["limit: an app with one Input", *_spread(_echo(desk, typed[1:]))],
        ["next entry, its preview (budget p95 30)", *_spread(previews)],
        ["next day, its entries", *_spread(lists)],
    ]
    report.table("from the key to the end of the frame", ["", "n", "median ms", "p95", "max"], rows)
    sent = [
        ["a cursor move, its preview (budget 6)", *_spread(moved)],
        ["a letter of a search, until it rests (budget 20)", *_spread(letters)],
    ]
    report.table(
        f"written to the terminal at {COLUMNS}x{ROWS}", ["", "n", "median kB", "p95", "max"], sent
    )
    return memory


def _spread(times: list[float]) -> list[float]:
    return [len(times), median(times), p95(times), max(times)] if times else [0] * 4


def _type(app: Terminal, query: str) -> list[tuple[list[float], list[float], list[float]]]:
    """For every letter, ms to the hits by words and to the hybrid ones if they differ, and kB until
    it rests.
    """
    app.press("/")
    app.settle()
    times = []
    for letter in query:
        app.press(letter)
        app.watch(REST_S + _QUIET_S)
        app.settle()
        words, hybrid = ([n for n in app.frames if (n > REST_S * 1000) == late] for late in (0, 1))
        times.append((words[-1:], hybrid[-1:], [app.written / 1000]))
    app.press("\x1b")
    app.settle()
    return times


def _echo(desk: Desk, queries: list[str]) -> list[float]:
    """For every letter, ms to its frame in an app with nothing but an Input."""
    times = []
    for query in queries:
        with Terminal([sys.executable, "-c", ECHO], desk.env, desk.product.root) as app:
            app.see("Hello", whole=False)
            app.settle()
            for number, letter in enumerate(query, 1):
                app.press(letter)
                times.append(app.see(query[:number]))
                app.watch(0.1)
    return times


def _move(
    app: Terminal, desk: Desk, read: int = 3, passed: int = 40
) -> tuple[list[float], list[float], list[float]]:
    """Down the entries of *read* days, then over *passed* days: ms to each preview, ms to each
    day's list, kB of each move. A move ends with its last written byte, because only changed cells
    are written: no known text need be among them.
    """
    previews, lists, sent = [], [], []
    app.press("\x1b[H")
    app.settle()
    for _ in range(sum(len(desk.library.days.notes(day)) for day in desk.days[:read]) - 1):
        app.press("j")
        previews.append(app.settle())
        sent.append(app.written / 1000)
    for _ in desk.days[read : read + passed]:
        app.press("]")
        lists.append(app.settle())
    return previews, lists, sent


# -- 4. at rest


def rest(report: Report, desk: Desk, used: float, idle_s: float) -> None:
    rows: list[list] = []
    for name in desk.apps:
        with desk.open(name) as app:
            desk.wait(name, app)
            app.watch(5)
            before, since, memory = app.cpu, time.perf_counter(), app.memory
            app.watch(idle_s)
            percent = (app.cpu - before) / (time.perf_counter() - since) * 100
            rows.append([name, memory, used if name == OURS else None, percent])
    report.table(
        "at rest (budget: 70 MB, CPU 0 %)",
        ["", "RSS MB after start", "after 2 and 3", f"CPU % ({idle_s:.0f} s)"],
        rows,
    )


if __name__ == "__main__":
    main()
