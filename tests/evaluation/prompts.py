"""Prompts in the wording of issue trackers: ``python -m tests.evaluation.prompts CHECKOUT ...``.

Makes prompts from any git checkout that you bring. The notes are the bodies of commits, as in
``repositories``. The prompts are what the checkout quotes from its tracker: lines of changelogs,
titles after "Fixes #7:", and titles of pull requests. Prompts that a note repeats are left out. For
half of the prompts the relevant note is in the home. For the other half it is not, nor are notes of
the same issue and similar notes. The choice is the same at every run.

Each prompt gets the real injection. Prints how often the right note, another one or nothing is
injected, and how often a note is injected although none is relevant, with 95 % intervals.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memsearch_engine.index import analyze
from memsearch_engine.journal.origin import Origin

from tests.evaluation.intervals import wilson
from tests.evaluation.recall.sent import send
from tests.evaluation.repositories import (
    LEAST_WORDS,
    NUMBER,
    Commit,
    changes,
    git,
    jaccard,
    made,
    name_of,
    plain,
    world,
)

NOTES, PROMPTS = 800, 50
_SEED = 41
_MOST_RIGHT = 3  # notes of one issue: a line about more of them is a summary
_REPEATED = 0.6  # shared terms (Jaccard) from which a line of a note repeats a prompt
_SIMILAR = 0.25  # shared terms from which two notes are similar
_FIXES = re.compile(r"(?im)^\W*(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+#(\d+)[:,.]?\s+(.+)$")
_TAIL = re.compile(
    r"(?i)\s*\(?(?:(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|issue|see)\s+)?#\d+\)?\.?$"
)
_PULL = re.compile(r"Merge pull request #(\d+) ")


class Prompt(NamedTuple):
    """A prompt, and the ids of the commits whose notes are relevant to it."""

    text: str
    right: frozenset[str]


class PromptSet(NamedTuple):
    """The notes of a home, and prompts with and without a relevant note among them."""

    notes: list[Commit]
    answered: list[Prompt]
    unanswered: list[Prompt]


class _Logged(NamedTuple):
    """A commit as it was written."""

    id: str
    parents: list[str]
    subject: str
    body: str


class Outcome(NamedTuple):
    """How many prompts got the right note, how many another one, of how many."""

    right: int
    other: int
    asked: int


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("checkouts", nargs="+", type=Path, help="git checkouts, bare ones too")
    args.add_argument("--model", default="", help="embedding.model")
    args.add_argument("--notes", type=int, default=NOTES, help=f"notes of each ({NOTES})")
    args.add_argument("--prompts", type=int, default=PROMPTS, help=f"of each ({PROMPTS})")
    args.add_argument("--folder", type=Path, help="keep the notes and their index here")
    options = args.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        table(
            options.checkouts,
            options.folder or Path(temporary),
            options.notes,
            options.prompts,
            options.model,
        )


def table(checkouts: list[Path], folder: Path, notes: int, prompts: int, model: str = "") -> None:
    """Ask the prompts of each checkout and print the outcomes."""
    print(
        f"{'prompts of trackers':20s} {'right note':>22s} {'other':>6s} {'nothing':>8s}"
        f"   injected although none is relevant"
    )
    pooled: tuple[list[Outcome], list[Outcome]] = ([], [])
    for checkout in checkouts:
        name = name_of(checkout)
        found = ask(folder / f"{name}-prompts", prompts_of(checkout, notes, prompts), model)
        print(_line(name, *found), flush=True)
        for outcomes, outcome in zip(pooled, found):
            outcomes.append(outcome)
    if len(checkouts) > 1:
        print(_line("together", *(Outcome(*map(sum, zip(*one))) for one in pooled)))


def _line(name: str, answered: Outcome, unanswered: Outcome) -> str:
    cells = [
        f"{count} of {n} ({low:.2f} to {high:.2f})"
        for count, n in ((answered.right, answered.asked), (unanswered.other, unanswered.asked))
        for low, high in [wilson(count, max(1, n))]
    ]
    nothing = answered.asked - answered.right - answered.other
    return f"{name[:20]:20s} {cells[0]:>22s} {answered.other:6d} {nothing:8d}   {cells[1]}"


def prompts_of(checkout: Path, notes: int, prompts: int) -> PromptSet:
    """The prompts of a checkout.

    Args:
        notes: the newest eligible commits, at most so many.
        prompts: a random sample of at most so many, with a fixed seed.
    """
    commits = made(checkout, notes, 0)[0]
    log = _log(checkout)
    keys = _keys(log, commits)
    asked = list(_asked(_quoted(checkout, log), commits, keys))
    random.Random(_SEED).shuffle(asked)
    unanswered = asked[: min(prompts, len(asked)) // 2]
    gone = frozenset[str]().union(*(one.right for one in unanswered))
    gone |= _near(commits, keys, gone)
    answered = [one for one in asked[len(unanswered) :] if gone.isdisjoint(one.right)]
    kept = [commit for commit in commits if commit.id not in gone]
    return PromptSet(kept, answered[: prompts - len(unanswered)], unanswered)


def _log(checkout: Path) -> list[_Logged]:
    """All commits of a checkout, merges too, oldest first."""
    log = git(checkout, "log", "--reverse", "--topo-order", "--format=%H%x00%P%x00%s%x00%b%x01")
    records = [record.strip("\n").split("\0") for record in log.split("\x01")]
    return [_Logged(a, b.split(), c, d) for a, b, c, d in (r for r in records if len(r) == 4)]


def _pull_requests(log: list[_Logged]) -> Iterator[tuple[str, str, set[str]]]:
    """Number, title and commits of each pull request that a merge commit names."""
    parents = {one.id: one.parents for one in log}
    known: set[str] = set()
    for one in log:
        if len(one.parents) > 1:
            known |= _before(parents, known, one.parents[0])
            merged = _before(parents, known, one.parents[1])
            known |= merged
            if match := _PULL.match(one.subject):
                yield match[1], one.body.partition("\n")[0], merged


def _before(parents: dict[str, list[str]], known: set[str], commit: str) -> set[str]:
    """*commit* and the commits before it that are not known."""
    found: set[str] = set()
    stack = [commit]
    while stack:
        if (one := stack.pop()) not in known and one not in found:
            found.add(one)
            stack += parents.get(one, [])
    return found


def _keys(log: list[_Logged], commits: list[Commit]) -> dict[str, set[str]]:
    """Commit -> the numbers of its issues and pull requests, and its own id."""
    keys = {one.id: {one.id, *one.closes, *NUMBER.findall(one.subject)} for one in commits}
    for number, _, merged in _pull_requests(log):
        for commit in merged & keys.keys():
            keys[commit].add(number)
    return keys


def _asked(
    quoted: Iterator[tuple[str, list[str]]], commits: list[Commit], keys: dict[str, set[str]]
) -> Iterator[Prompt]:
    """The prompts, at most one for each commit."""
    by_key: dict[str, set[str]] = {}
    for name, own in keys.items():
        for key in own:
            by_key.setdefault(key, set()).add(name)
    bodies = {commit.id: commit.body for commit in commits}
    taken: set[str] = set()
    for text, named in quoted:
        right = frozenset[str]().union(*(by_key.get(key, ()) for key in named))
        if (
            0 < len(right) <= _MOST_RIGHT
            and taken.isdisjoint(right)
            and len(set(analyze.terms(text))) >= LEAST_WORDS
            and not any(_repeats(bodies[commit], text) for commit in right)
        ):
            taken |= right
            yield Prompt(text, right)


def _quoted(checkout: Path, log: list[_Logged]) -> Iterator[tuple[str, list[str]]]:
    """What the tracker says, and the issues that it is about. The wording of users comes first."""
    yield from changes(checkout)
    for one in log:
        yield from ((title, [number]) for number, title in _FIXES.findall(one.body))
    for number, title, _ in _pull_requests(log):
        yield _TAIL.sub("", title), [number]
    for one in log:
        if numbers := NUMBER.findall(one.subject):
            yield _TAIL.sub("", one.subject), numbers


def _repeats(body: str, text: str) -> bool:
    """Whether a note has the text of a prompt, or a line that is nearly the same."""
    terms = frozenset(analyze.terms(text))
    return plain(text) in plain(body) or any(
        jaccard(terms, frozenset(analyze.terms(line))) >= _REPEATED for line in body.splitlines()
    )


def _near(commits: list[Commit], keys: dict[str, set[str]], gone: frozenset[str]) -> set[str]:
    """The commits of the same issues as those of *gone*, and those with similar bodies."""
    issues = set[str]().union(*(keys[commit] for commit in gone))
    terms = {commit.id: frozenset(analyze.terms(commit.body)) for commit in commits}
    return {
        commit
        for commit, own in terms.items()
        if not issues.isdisjoint(keys[commit])
        or any(jaccard(own, terms[other]) >= _SIMILAR for other in gone)
    }


def ask(folder: Path, asked: PromptSet, model: str = "") -> tuple[Outcome, Outcome]:
    """The outcomes of the prompts with and of those without a relevant note."""
    with (
        world(folder, asked.notes, model) as (home, project, catalog, space, places),
        contextlib.closing(Origin(home)) as origin,
    ):
        origin.trust(project.memory)

        def outcome(prompts: list[Prompt]) -> Outcome:
            right = other = 0
            for one in prompts:
                sent = send(home, project, catalog, space, origin, one.text, one.text)
                injected = {note.entry for note in sent.notes} if sent else set()
                commits = {
                    places[hit.row.day, hit.row.time]
                    for hit in (sent.answer.hits if sent else ())
                    if hit.id in injected
                }
                right += not commits.isdisjoint(one.right)
                other += bool(commits) and commits.isdisjoint(one.right)
            return Outcome(right, other, len(prompts))

        return outcome(asked.answered), outcome(asked.unanswered)


if __name__ == "__main__":
    main()
