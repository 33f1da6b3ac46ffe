"""Faults, each as a function that injects it many times and counts what was lost. ``table.py`` runs
them all at full size, ``test_table.py`` in a useful one.

What must hold is said over bytes: every note that was acknowledged is there, whole and once;
nothing is there that nobody wrote; untouched text is as it was.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import re
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import Database
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.model import Anchor
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal

from tests.conftest import Box, until
from tests.faults.killing import child, steps_of

DAY = "2026-02-09"


class Tally(msgspec.Struct):
    """``injected``: how often the fault was made to happen; ``losses``: what went wrong, each in
    words; ``recovery_s``: the longest time until everything worked again.
    """

    injected: int = 0
    losses: list[str] = []
    recovery_s: float = 0.0

    def check(self, held: bool, what: str) -> None:
        if not held:
            self.losses.append(what)


class Desk:
    """A home and a memory folder of one's own."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root / "home").ensure()
        self.memory = root / "shop" / ".memsearch" / "memory"
        self.memory.mkdir(parents=True)
        self.day = self.memory / f"{DAY}.md"
        self.journal = Journal(self.home)

    def append(self, turn: str, body: str = "") -> None:
        self.journal.append_turn(
            str(self.memory),
            DAY,
            "10:00",
            body or f"- note {turn}",
            Anchor("s", turn, "codex", "rollout", "/x"),
        )

    def turns(self) -> Counter[str]:
        return Counter(entry.turn for entry in read_day(self.day).entries if entry.turn)


# -- killed

_CHANGE = """
from memsearch_engine.core.home import Home
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal
from memsearch_engine.journal.model import Anchor
from pathlib import Path
root = Path(_root)
journal, memory = Journal(Home(root / "home")), root / "shop" / ".memsearch" / "memory"
day = str(memory / "2026-02-09.md")
begin()
journal.append_turn(str(memory), "2026-02-09", "11:00", \
"- appended", Anchor("s", "new", "codex", "rollout", "/x"))
one = read_day(day).find(os.environ["ENTRY"])
journal.edit(str(memory), target_of(day, one), "- edited")
journal.delete(str(memory), [target_of(day, read_day(day).find(os.environ["OTHER"]))])
journal.undo(str(memory))
end()
"""


def killed_while_writing(root: Path, size: float) -> Tally:
    """kill -9 at each step of append, edit, delete and undo"""
    tally = Tally(losses=[])

    def prepared(folder: Path) -> tuple[Desk, dict[str, str]]:
        desk = Desk(folder)
        for n in range(3):
            desk.append(f"t{n}")
        entries = read_day(desk.day).entries
        return desk, {"ENTRY": entries[0].id, "OTHER": entries[1].id}

    desk, names = prepared(root / "counted")
    total = steps_of(child(_CHANGE, root / "counted", 0, **names))
    for last in range(1, total, max(1, round(1 / size))):
        desk, names = prepared(root / str(last))
        before = desk.day.read_text()
        assert child(_CHANGE, root / str(last), last, **names).returncode == -signal.SIGKILL
        tally.injected += 1
        begun = time.monotonic()
        desk.append("after")
        tally.recovery_s = max(tally.recovery_s, time.monotonic() - begun)
        text, entries = desk.day.read_text(), read_day(desk.day).entries
        bodies = {e.turn: e.body for e in entries}
        tally.check(
            desk.turns()["after"] == 1 and max(desk.turns().values()) == 1, f"step {last}: doubled"
        )
        tally.check(
            bodies.get("t0") in ("- note t0", "- edited"),
            f"step {last}: t0 is {bodies.get('t0')!r}",
        )
        tally.check(
            bodies.get("t1", "- note t1") == "- note t1" and bodies["t2"] == "- note t2",
            f"step {last}: torn",
        )
        tally.check(
            bodies.get("new", "- appended") == "- appended", f"step {last}: the append is torn"
        )
        for _ in range(3):  # whatever was done can be taken back, to the byte
            with contextlib.suppress(MemsearchError):
                desk.journal.undo(str(desk.memory))
        left = re.sub(
            r"(?s)### 1[01]:00\n<!-- session:s turn:(?:new|after) .*?\n- \w+\n?[^\n]*\n?",
            "",
            desk.day.read_text(),
        )
        tally.check(
            before.strip() in left or before.strip() in desk.day.read_text(),
            f"step {last}: not undone\n{text}",
        )
    return tally


def _each_step(
    root: Path, size: float, total: int, killed_at: Callable[[Path, int], None]
) -> Tally:
    tally = Tally(losses=[])
    for last in range(1, total, max(1, round(1 / size) * 4)):
        begun = time.monotonic()
        try:
            killed_at(root / str(last), last)
        except (AssertionError, MemsearchError) as error:
            tally.losses.append(f"step {last}: {error}")
        tally.injected += 1
        tally.recovery_s = max(tally.recovery_s, time.monotonic() - begun)
    return tally


def killed_while_capturing(root: Path, size: float) -> Tally:
    """kill -9 at the steps of capture (time: with the kill)"""
    from tests.faults import test_capture_killed as capture

    with pytest.MonkeyPatch.context() as patch:
        return _each_step(
            root,
            size,
            capture.steps(root),
            lambda folder, last: capture.killed_at(folder, last, patch),
        )


def killed_while_learning(root: Path, size: float) -> Tally:
    """kill -9 at the steps of extraction, consolidation, review (time: with the kill)"""
    from tests.faults import test_longterm_killed as longterm

    return _each_step(root, size, longterm.steps(root / "counted"), longterm.killed_at)


def killed_service(root: Path, size: float) -> Tally:
    """kill -9 of the service, again and again, while it indexes"""
    tally, box = Tally(losses=[]), Box(root)
    for n in range(40):
        box.write(
            f"2026-01-{n % 28 + 1:02d}" if n < 28 else f"2026-02-{n - 27:02d}",
            "".join(f"### 10:{m:02d}\n- note {n} {m} about redis\n\n" for m in range(20)),
        )
    before = {path: path.read_bytes() for path in box.memory.glob("*.md")}
    try:
        for n in range(round(20 * size) or 1):
            box.ok("service", "start")
            (process,) = until(box.processes, 10, "a service")
            time.sleep(random.Random(n).random() * 0.6)  # the moment is the fault
            process.send_signal(signal.SIGKILL)
            psutil.wait_procs([process], 10)
            tally.injected += 1
            begun = time.monotonic()
            done = box.run("search", "redis", "--json")
            tally.recovery_s = max(tally.recovery_s, time.monotonic() - begun)
            tally.check(done.code == 0 and bool(done.json["hits"]), f"kill {n}: {done}")
        tally.check(
            {path: path.read_bytes() for path in box.memory.glob("*.md")} == before,
            "a note changed",
        )
    finally:
        box.clean()
    return tally


# -- the disk

_FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from memsearch_engine.core.home import Home
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal
from memsearch_engine.journal.model import Anchor
from memsearch_engine.core.errors import MemsearchError
from pathlib import Path
root = Path(_root)
journal, memory = Journal(Home(root / "home")), root / "shop" / ".memsearch" / "memory"
day = str(memory / "2026-02-09.md")
begin()
end()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["MAX"]), resource.RLIM_INFINITY))
said = []
for n in range(30):
    try:
        journal.append_turn(str(memory), "2026-02-09", "11:00", \
f"- full {n} " + "x" * 200, Anchor("s", f"f{n}", "codex", "rollout", "/x"))
        said.append(f"f{n}")
        if n % 5 == 4:
            journal.edit(str(memory), target_of(day, read_day(day).entries[0]), f"- edited {n}")
    except (OSError, MemsearchError):
        pass
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(" ".join(said))
"""


def full_disk(root: Path, size: float) -> Tally:
    """no file may grow beyond a limit (the kernel's, so databases feel it too)"""
    tally = Tally(losses=[])
    for n, most in enumerate(range(700, 40_000, max(400, round(400 / size)))):
        desk = Desk(root / str(n))
        desk.append("t0")
        done = child(_FULL, root / str(n), 0, MAX=str(most))
        tally.injected += 1
        acknowledged = done.stdout.splitlines()[-1].split() if done.returncode == 0 else []
        tally.check(done.returncode == 0, f"{most} bytes: {done.stderr[-300:]}")
        begun = time.monotonic()
        desk.append("after")
        tally.recovery_s = max(tally.recovery_s, time.monotonic() - begun)
        turns = desk.turns()
        tally.check(
            all(turns[name] == 1 for name in [*acknowledged, "t0", "after"]),
            f"{most} bytes: {turns} of {acknowledged}",
        )
        whole = [e for e in read_day(desk.day).entries if e.turn.startswith("f")]
        tally.check(
            all(e.body.endswith("x" * 200) for e in whole if e.turn != "f0" or "full" in e.body),
            f"{most} bytes: torn",
        )
    return tally


_BROKEN = """
import errno
from memsearch_engine.core.home import Home
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.targets import target_of
from memsearch_engine.journal.write import Journal
from memsearch_engine.journal.model import Anchor
from memsearch_engine.core.errors import MemsearchError
from pathlib import Path
root = Path(_root)
at, count = int(os.environ["AT"]), 0
def failing(real):
    def call(*args, **where):
        global count
        count += 1
        if count == at:
            raise OSError(errno.EIO, "Input/output error")
        return real(*args, **where)
    return call
for name in ("write", "fsync", "replace", "rename", "ftruncate"):
    setattr(os, name, failing(getattr(os, name)))
journal, memory = Journal(Home(root / "home")), root / "shop" / ".memsearch" / "memory"
day = str(memory / "2026-02-09.md")
said = []
for what in ("append", "edit", "delete", "undo"):
    try:
        if what == "append":
            journal.append_turn(str(memory), "2026-02-09", \
"11:00", "- appended", Anchor("s", "new", "codex", "rollout", "/x"))
        elif what == "edit":
            journal.edit(str(memory), target_of(day, read_day(day).entries[0]), "- edited")
        elif what == "delete":
            journal.delete(str(memory), [target_of(day, read_day(day).entries[1])])
        else:
            journal.undo(str(memory))
        said.append(what)
    except (OSError, MemsearchError):
        pass
print(count, ",".join(said))
"""


def broken_disk(root: Path, size: float) -> Tally:
    """EIO from each write, sync, rename and truncate in turn"""
    tally, at = Tally(losses=[]), 0
    while True:
        at += 1
        desk = Desk(root / str(at))
        for n in range(3):
            desk.append(f"t{n}")
        done = child(_BROKEN, root / str(at), 0, AT=str(at))
        tally.check(done.returncode == 0, f"call {at}: {done.stderr[-300:]}")
        count, _, said = [*done.stdout.split(), ""][0], 0, done.stdout.split()[-1].split(",")
        if int(count) < at:
            return tally
        tally.injected += 1
        begun = time.monotonic()
        desk.append("after")
        tally.recovery_s = max(tally.recovery_s, time.monotonic() - begun)
        turns, bodies = desk.turns(), {e.turn: e.body for e in read_day(desk.day).entries}
        tally.check(turns["after"] == 1 and max(turns.values()) == 1, f"call {at}: {turns}")
        tally.check(
            turns["new"] == 1
            if "append" in said
            else bodies.get("new", "- appended") == "- appended",
            f"call {at}: append",
        )
        tally.check(
            bodies["t0"] in ("- note t0", "- edited") and bodies["t2"] == "- note t2",
            f"call {at}: {bodies}",
        )


# -- many at once


def _writer(root: str, who: int, writers: int, each: int, start, results) -> None:
    desk_home, memory = Home(Path(root) / "home"), Path(root) / "shop" / ".memsearch" / "memory"
    said: list[str] = []

    def write(number: int) -> None:
        journal = Journal(desk_home)
        for n in range(each):
            turn = f"w{who}-{number}-{n}"
            journal.append_turn(
                str(memory),
                DAY,
                "10:00",
                f"- by {turn} " + "y" * 80,
                Anchor(f"s{number}", turn, "codex", "rollout", "/x"),
            )
            said.append(turn)

    start.wait()
    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(said)


def _at_once(work: Callable[..., None], arguments: list[tuple[Any, ...]]) -> list[Any]:
    """Run *work* in a process for each set of arguments, all started together; what they were
    answered was done.
    """
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    racers = [context.Process(target=work, args=(*given, start, results)) for given in arguments]
    for racer in racers:
        racer.start()
    start.set()
    said = [item for _ in racers for item in results.get(timeout=300)]
    for racer in racers:
        racer.join()
    return said


def many_writers(root: Path, size: float) -> Tally:
    """two hundred writers at once, in eight processes"""
    desk, tally = Desk(root), Tally(losses=[])
    processes, threads, each = 8, max(2, round(25 * size)), 3
    said = _at_once(_writer, [(str(root), who, threads, each) for who in range(processes)])
    tally.injected = processes * threads
    turns = desk.turns()
    tally.check(len(said) == processes * threads * each, f"{len(said)} were acknowledged")
    tally.check(
        turns == Counter(said), f"lost or doubled: {Counter(said) - turns} {turns - Counter(said)}"
    )
    entries = read_day(desk.day).entries
    tally.check(all(e.body == f"- by {e.turn} " + "y" * 80 for e in entries), "torn")
    return tally


def _storm(root: str, kind: str, each: int, start, results) -> None:
    home, memory = Home(Path(root) / "home"), Path(root) / "shop" / ".memsearch" / "memory"
    journal, day, said = Journal(home), str(memory / f"{DAY}.md"), []
    chance = random.Random(kind)
    start.wait()
    for n in range(each):
        try:
            entries = read_day(day).entries
            if kind.startswith("append"):
                journal.append_turn(
                    str(memory),
                    DAY,
                    "10:00",
                    f"- {kind} {n}",
                    Anchor("s", f"{kind}-{n}", "codex", "rollout", "/x"),
                )
                said.append(("append", f"{kind}-{n}"))
            elif kind.startswith("edit"):
                entry = chance.choice([e for e in entries if e.turn.startswith("old")])
                journal.edit(str(memory), target_of(day, entry), f"- {kind} {n}")
                said.append(("edit", entry.turn))
            else:
                entry = chance.choice([e for e in entries if e.turn.startswith("append")])
                journal.delete(str(memory), [target_of(day, entry)])
                said.append(("delete", entry.turn))
        except (MemsearchError, IndexError):
            continue  # somebody was faster: a conflict, and nothing was changed
    results.put(said)


def edit_while_appending(root: Path, size: float) -> Tally:
    """edits and deletes of the file that others append to"""
    desk, tally = Desk(root), Tally(losses=[])
    for n in range(10):
        desk.append(f"old{n}")
    with desk.day.open("a") as file:
        file.write("\n## Mine\nHand-written, and nobody's to touch: ünï\r\n")
    kinds = ["append1", "append2", "append3", "edit1", "edit2", "delete1"]
    said = _at_once(_storm, [(str(root), kind, max(10, round(80 * size))) for kind in kinds])
    tally.injected = len(said)
    gone = {turn for what, turn in said if what == "delete"}
    appended = {turn for what, turn in said if what == "append"}
    turns = desk.turns()
    tally.check(turns == Counter([*(appended - gone), *(f"old{n}" for n in range(10))]), f"{turns}")
    bodies = [e.body for e in read_day(desk.day).entries if e.turn.startswith("old")]
    tally.check(
        all(re.match(r"- (note old\d|edit\d \d+)(\n|$)", body) for body in bodies),
        f"torn: {bodies}",
    )
    tally.check(
        b"Hand-written, and nobody's to touch: \xc3\xbcn\xc3\xaf\r\n" in desk.day.read_bytes(),
        "hand-written text changed",
    )
    return tally


# -- clocks, damage, attacks


def clock_jumps(root: Path, size: float) -> Tally:
    """the clock goes years forward and back between changes"""
    desk, tally = Desk(root), Tally(losses=[])
    real, shift, chance = time.time, [0.0], random.Random(5)
    time.time = lambda: real() + shift[0]  # type: ignore[assignment]
    try:
        desk.append("t0")
        states = [desk.day.read_bytes()]
        for n in range(max(5, round(40 * size))):
            shift[0] = chance.choice([-3e8, -86400.0, 0.0, 3600.0, 9e8])
            tally.injected += 1
            desk.journal.edit(
                str(desk.memory),
                target_of(str(desk.day), read_day(desk.day).entries[0]),
                f"- state {n}",
            )
            states.append(desk.day.read_bytes())
        for state in reversed(states[:-1]):
            shift[0] = chance.choice([-3e8, 9e8])
            desk.journal.undo(str(desk.memory))
            tally.check(desk.day.read_bytes() == state, "undo took back another change")
    finally:
        time.time = real  # type: ignore[assignment]
    return tally


def damaged_files(root: Path, size: float) -> Tally:
    """random bytes in caches, index, registry, history and evidence"""
    tally, box, chance = Tally(losses=[]), Box(root), random.Random(3)
    try:
        box.fill()
        box.index()
        box.ok(
            "edit",
            box.ok("entries", "--json").json["entries"][0]["entry_id"],
            "--text",
            "- changed",
        )
        before = {path: path.read_bytes() for path in box.memory.glob("*.md")}
        names = ["cache.db", "history.db", "state.db", "index"]
        for n in range(max(4, round(24 * size))):
            box.run("service", "stop")
            name = names[n % len(names)]
            files = [p for p in box.home.root.glob(f"{name}*") if p.is_file()] or [
                p for p in (box.home.root / name).rglob("*") if p.is_file() and p.stat().st_size
            ]
            for path in files:
                data = bytearray(path.read_bytes())
                if not data:
                    continue
                for _ in range(max(1, len(data) // 50)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
                path.write_bytes(data if n % 3 else data[: len(data) // 2])
            tally.injected += 1
            begun = time.monotonic()
            done = box.run("search", "redis", "--json")
            tally.recovery_s = max(tally.recovery_s, time.monotonic() - begun)
            tally.check(done.code == 0 and bool(done.json["hits"]), f"{name}: {done}")
            shown = box.run("show", "2026-02-09")
            tally.check(shown.code == 0 and "Redis" in shown.out, f"{name}: {shown}")
            for broken in (
                "history.db",
                "state.db",
            ):  # what is durable is moved aside by its owner, as the error says
                with contextlib.suppress(sqlite3.Error):
                    if (box.home.root / broken).exists() and _sound(box.home.root / broken):
                        continue
                for part in box.home.root.glob(f"{broken}*"):
                    part.unlink()
        tally.check(
            {path: path.read_bytes() for path in box.memory.glob("*.md")} == before,
            "a note changed",
        )
    finally:
        box.clean()
    return tally


def _sound(path: Path) -> bool:
    db = sqlite3.connect(path, factory=Database)
    try:
        return db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    finally:
        db.close()


_PLACES = [
    "cache.db",
    "state.db",
    "history.db",
    "evidence",
    "evidence/turns.db",
    "inbox",
    "drafts",
    "context",
    "offsets",
    "longterm",
    "longterm/MEMORY.md",
    "longterm.git",
    "longterm.next",
    "logs/service.log",
    "run/service.json",
    "tui.json",
    "secrets-allowed",
    "memory/2026-02-09.md",
    "memory",
]


def planted_links(root: Path, size: float) -> Tally:
    """a link in place of each file and folder that we open, leading to somebody's own"""
    tally = Tally(losses=[])
    for n, place in enumerate(_PLACES):
        box = Box(root / str(n))
        try:
            box.fill()
            victim = root / f"victim{n}"
            if "." in os.path.basename(place) and place not in ("longterm.git", "longterm.next"):
                victim.write_text("mine")
            else:
                victim.mkdir()
                (victim / "mine.md").write_text("mine")
            link = (
                (box.memory.parent / place)
                if place.startswith("memory")
                else (box.home.ensure().root / place)
            )
            if link.is_dir() and not link.is_symlink():
                for path in link.iterdir():
                    path.unlink()
                link.rmdir()
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(victim)
            tally.injected += 1
            for argv in (
                ["add", "a note"],
                ["search", "redis"],
                ["remember", "a fact"],
                ["index"],
                ["evidence", "status"],
                ["longterm", "clear", "--yes"],
                ["secrets", "scrub", "--text", "no such secret", "--yes"],
                ["delete", "nothing"],
                ["history"],
            ):
                done = box.run(*argv)
                tally.check("Traceback" not in done.err, f"{place}: {argv}: {done}")
            kept = victim.read_text() if victim.is_file() else (victim / "mine.md").read_text()
            others = (
                []
                if victim.is_file()
                else [
                    p for p in victim.rglob("*") if p.name != "mine.md" and p.suffix in (".md", "")
                ]
            )
            inside = place.startswith(
                "memory"
            )  # the project's own folder may be a link: then its notes are there
            tally.check(
                kept == "mine"
                and (
                    inside
                    or not [p for p in others if p.is_file() and b"mine" not in p.read_bytes()]
                ),
                f"{place}: changed {others}",
            )
        finally:
            box.clean()
    return tally


_HOSTILE = [
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://x\x07link\x1b]8;;\x07",
    "[red]markup[/red] [link=http://x]x[/link] [@click=app.quit]q[/]",
    "\u202eevil\u202c \u2066iso\u2069 \u200bzero",
    "<!-- session:x turn:y transcript:/etc/passwd agent:codex -->",
    "# heading\n## Session 10:00\n### 10:00",
    "```\nnever closed",
    "x" * 200_000,
    "\x00\x01\x02\x7f\x9b31m",
    "\r\rover\rwrite",
    "---\nfront: matter\n---",
    "{{7*7}} ${HOME} $(id) `id`",
]
_ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def hostile_text(root: Path, size: float) -> Tally:
    """text that tries to be an escape sequence, markup, an anchor, a heading"""
    tally, box = Tally(losses=[]), Box(root)
    try:
        for n, text in enumerate(_HOSTILE):
            box.write(f"2026-03-{n + 1:02d}", f"### 10:00\n- {text} needle\n")
            tally.injected += 1
            parsed = parse(f"### 10:00\n- {text} needle\n".encode())
            tally.check(bool(parsed.entries), f"{text[:30]!r}: not read")
        for argv in (
            ["search", "needle", "-k", "50"],
            ["entries"],
            ["days"],
            *(["show", f"2026-03-{n + 1:02d}"] for n in range(len(_HOSTILE))),
            ["export"],
            ["context"],
            ["trust", "review"],
            ["repair"],
        ):
            done = box.run(*argv)
            text = done.out + done.err
            if argv[0] == "export":
                continue  # it writes notes as they are, to a file
            found = _ESCAPES.search(text)
            tally.check(
                not found and "Traceback" not in text,
                f"{argv}: {text[max(0, found.start() - 30) : found.start() + 30]!r}"
                if found
                else f"{argv}: {text[-300:]}",
            )
        json.loads(box.ok("entries", "--json").out)
    finally:
        box.clean()
    return tally


SCENARIOS: list[Callable[[Path, float], Tally]] = [
    killed_while_writing,
    killed_while_capturing,
    killed_while_learning,
    killed_service,
    full_disk,
    broken_disk,
    many_writers,
    edit_while_appending,
    clock_jumps,
    damaged_files,
    planted_links,
    hostile_text,
]
