"""Random histories of three machines that meet at one place: nothing acknowledged is lost, nothing
deleted returns, all end the same.
"""

from __future__ import annotations

import random
import re

import pytest
from memsearch_engine.journal import render
from memsearch_engine.journal.merge import merge
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.parse import parse

DAY = "2026-02-09"
_WORD = re.compile(r"word-\d+-")


class History:
    """Machines with a copy of one day each. Every text has a word of its own; *dead* are those that
    somebody who saw them replaced or deleted.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.hub = b""
        self.local = [b"", b"", b""]
        self.base = [b"", b"", b""]
        self.taking: list[tuple[bytes, bytes, bytes] | None] = [None, None, None]
        self.commit: list[tuple[int, bytes] | None] = [
            None,
            None,
            None,
        ]  # numbered: two may say the same
        self.commits = 0
        self.pushed: set[int] = set()
        self.written: set[str] = set()
        self.dead: set[str] = set()
        self.minute = 9 * 60

    def run(self, steps: int = 30) -> None:
        for _ in range(steps):
            machine = self.random.randrange(3)
            self.random.choices(
                (self.turn, self.note, self.edit, self.delete, self.mark, self.sync),
                (5, 2, 4, 3, 2, 5),
            )[0](machine)
        for machine in (0, 1, 2, 0, 1, 2):
            self.sync(machine, may_die=False)

    def word(self) -> str:
        word = f"word-{len(self.written)}-"
        self.written.add(word)
        return word

    def clock(self) -> str:
        self.minute = min(self.minute + self.random.choice((0, 0, 1, 7)), 23 * 60 + 59)
        return f"{self.minute // 60:02d}:{self.minute % 60:02d}"

    def turn(self, machine: int) -> None:
        session, at = f"s{machine}{self.random.randrange(2)}", self.clock()
        document = parse(self.local[machine], DAY)
        lines = [] if render.last_session(document) == session else [f"## Session {at}", ""]
        word = self.word()
        lines += [
            f"### {at}",
            f"<!-- session:{session} turn:{word} transcript:/x/{session}.jsonl -->",
            f"- {word} said",
            "",
        ]
        self.append(machine, lines)

    def note(self, machine: int) -> None:
        at, word = self.clock(), self.word()
        document = parse(self.local[machine], DAY)
        lines = [] if render.in_notes(document) else ["## Notes", ""]
        name = [f"<!-- id:n{word.strip('-')} -->"] if self.random.random() < 0.7 else []
        opens = self.random.choice(("", "", "", "\n```sh\nmake", "\n<!-- aside"))
        self.append(machine, [*lines, f"### {at}", *name, f"{word} noted{opens}", ""])

    def append(self, machine: int, lines: list[str]) -> None:
        self.recover(machine)
        data = self.local[machine] or f"# {DAY}\n\n".encode()
        self.local[machine] = data + render.joined(parse(data, DAY), lines)

    def pick(self, machine: int) -> Entry | None:
        found = [
            entry for entry in parse(self.local[machine], DAY).entries if _WORD.search(entry.body)
        ]
        return self.random.choice(found) if found else None

    def put(self, machine: int, entry: Entry, stop: int, new: bytes) -> None:
        self.recover(machine)
        data = self.local[machine]
        self.local[machine] = data[: entry.start] + new + data[stop:]

    def kill(self, entry: Entry) -> None:
        self.dead.update(_WORD.findall(entry.body))

    def edit(self, machine: int) -> None:
        if (entry := self.pick(machine)) is not None:
            self.kill(entry)
            head = render.head_with_id(parse(self.local[machine], DAY), entry)
            self.put(machine, entry, entry.end, head + f"- {self.word()} now".encode())

    def delete(self, machine: int) -> None:
        if (entry := self.pick(machine)) is not None:
            self.kill(entry)
            self.put(machine, entry, entry.stop, b"")

    def mark(self, machine: int) -> None:
        if (entry := self.pick(machine)) is not None:
            marks = dict(entry.marks)
            name, value = self.random.choice(
                (
                    ("pin", ""),
                    ("expires", "2026-12-31"),
                    ("expires", "2027-01-01"),
                    ("trust", "outside"),
                )
            )
            if marks.pop(name, None) is None:
                marks[name] = value
            self.put(
                machine,
                entry,
                entry.end,
                render.with_marks(parse(self.local[machine], DAY), entry, marks),
            )

    def sync(self, machine: int, *, may_die: bool = True) -> None:
        """As ``sync`` does it: what a commit was made of is known before the files are, and the
        commit is made before it is pushed.
        """
        self.recover(machine)
        dies = self.random.randrange(8) if may_die else 8
        theirs, local = self.hub, self.local[machine]
        merged = merge(self.base[machine], local, theirs, DAY).data
        assert merged == merge(self.base[machine], theirs, local, DAY).data
        assert (
            merged
            == merge(merged, merged, merged, DAY).data
            == merge(theirs, merged, theirs, DAY).data
        )
        self.taking[machine] = local, merged, theirs
        if dies == 0:
            return
        self.local[machine] = merged
        if dies == 1:
            return
        self.taking[machine] = None
        self.base[machine] = theirs
        self.commits += 1
        self.commit[machine] = self.commits, merged
        if dies == 2:
            return  # the network is away
        self.hub = merged
        self.pushed.add(self.commits)
        if dies != 3:
            self.base[machine] = merged

    def recover(self, machine: int) -> None:
        if (taking := self.taking[machine]) is not None:
            _, after, theirs = (
                taking  # the journal settles what a crash left before anything else is changed
            )
            if self.local[machine] == after:
                self.base[machine], self.commit[machine] = theirs, None
            self.taking[machine] = None
        elif (commit := self.commit[machine]) is not None and commit[0] in self.pushed:
            self.base[machine], self.commit[machine] = commit[1], None

    def words(self) -> set[str]:
        return set(_WORD.findall("\n".join(entry.body for entry in parse(self.hub, DAY).entries)))


def check(seed: int) -> None:
    history = History(seed)
    history.run()
    assert len(set(history.local)) == 1, f"history {seed} does not converge"
    living = history.written - history.dead
    assert not living - history.words(), f"history {seed} lost {living - history.words()}"
    assert not history.words() - living, f"in history {seed} {history.words() - living} came back"


def alternatives(seed: int, *, deleting: bool) -> tuple[bytes, list[bytes]]:
    """A day, and what three machines made of it."""
    history = History(seed)
    for _ in range(8):
        history.random.choice((history.turn, history.note, history.edit))(0)
    day = history.local[0]
    history.local = [day, day, day]
    for _ in range(12):
        machine = history.random.randrange(3)
        ways = [
            history.turn,
            history.note,
            history.edit,
            history.mark,
            *([history.delete] if deleting else []),
        ]
        history.random.choice(ways)(machine)
    return day, history.local


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_merging_is_associative(block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        for deleting in (False, True):
            base, (one, two, three) = alternatives(seed, deleting=deleting)
            left = merge(base, merge(base, one, two, DAY).data, three, DAY).data
            right = merge(base, one, merge(base, two, three, DAY).data, DAY).data
            texts = [
                sorted((entry.id, entry.body) for entry in parse(data, DAY).entries)
                for data in (left, right)
            ]
            assert texts[0] == texts[1], seed
            assert deleting or left.decode() == right.decode(), (
                seed
            )  # a heading whose notes are all deleted has no name


@pytest.mark.parametrize("block", range(10))
def test_three_machines_converge_and_lose_nothing(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_ten_thousand_histories(block: int) -> None:
    for seed in range(1_000 + block * 970, 1_000 + block * 970 + 970):
        check(seed)
