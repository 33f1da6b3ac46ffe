"""Measure what is injected at prompts, and whether it is right: ``python -m
tests.evaluation.recall``.

Each voice is a developer with chats. The chats are written as four agents write theirs, imported
without a model and indexed with the default model. Then the prompts are sent. Some need a decision
from the notes (the newest version of it, if it was changed), and no note is relevant to the others.
``--fit`` fits the weights of ``injection/judge.py`` on the voices that are not held out.
``--folder`` keeps the corpora and their index.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from memsearch_engine.core.settings import Settings
from memsearch_engine.injection import judge, prompt
from memsearch_engine.injection.action import ActionAdviser, select
from memsearch_engine.journal.origin import Origin
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.retrieve import Sources

from tests.evaluation.confidence import area, fit, held_out
from tests.evaluation.recall import chats, linked
from tests.evaluation.recall.imported import world
from tests.evaluation.recall.sent import Sent, send

_FOLDS = 10
#: Number of hits among which a note that is not rated is looked for.
_DEPTH = 100
_PLACES = ((1, "1"), (3, "2 to 3"), (5, "4 to 5"), (prompt.CONSIDERED, "6 to 10"))
_FILE = re.compile(
    r"(?<![\w/.-])[\w@-]+(?:/[\w@.-]+)*\.(?:py|tsx?|jsx?|go|rs|c|h|cpp|ya?ml|"
    r"toml|sql|tf|kts?|swift|gd|cs|sh|json|ini|conf|proto|dts|overlay)\b"
)


class Asked(NamedTuple):
    """A prompt and its injection.

    Attributes:
        right: id of the relevant note; empty if there is none.
        superseded: id of the first version of that note; empty if it was not changed.
        injected: ids of the injected notes.
        stage: where the right note was lost; ``injected`` if it was not, empty without one.
    """

    voice: str
    case: dict
    right: str
    superseded: str
    answer: Answer
    features: list[tuple[str, tuple[float, ...]]]
    injected: list[str]
    tokens: int
    ms: float
    stage: str

    @property
    def hits(self) -> list[str]:
        return [hit.id for hit in self.answer.hits]


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("--noise", type=int, default=440, help="ordinary turns of each voice")
    args.add_argument("--folder", type=Path, help="keep the corpora and their index here")
    args.add_argument("--fit", action="store_true")
    args.add_argument(
        "--native",
        action="store_true",
        help="measure how well contradictions of agents' own memories are found",
    )
    args.add_argument(
        "--chains", action="store_true", help="measure how well superseding notes are distinguished"
    )
    args.add_argument(
        "--misses", action="store_true", help="show what went wrong (voices that are not held out)"
    )
    args.add_argument(
        "--files", action="store_true", help="measure what is injected before an edit"
    )
    options = args.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if options.chains:
            linked.table(folder, options.noise)
            return
        if options.native:
            linked.against(folder, options.noise)
            return
        if options.files:
            for what, names in (
                ("voices that the rule was made on", ()),
                ("voices held out", chats.HELD_OUT),
            ):
                edits(what, folder, chats.voices(names), options.noise)
            return
        known = [asked for voice in chats.voices() for asked in ask(folder, voice, options.noise)]
        if options.fit:
            fitted(known)
            return
        table("voices that the judgement was fitted on", known)
        if options.misses:
            misses(known)
        held_out = [
            asked
            for voice in chats.voices(chats.HELD_OUT)
            for asked in ask(folder, voice, options.noise)
        ]
        table("voices held out", held_out)


def edits(what: str, folder: Path, voices: list[chats.Voice], noise: int) -> None:
    """Print what is injected before an edit of each file that a note names.

    This is a decision, an earlier version of it, or a routine note.
    """
    injected: Counter[str] = Counter()
    took: list[float] = []
    for voice in voices:
        turns, decided = chats.injected(voice, noise)
        newest = {said[-1].entry for said in decided.values()}
        older = {turn.entry for said in decided.values() for turn in said[:-1]}
        by_case = {
            match
            for said in decided.values()
            for turn in said
            for match in _FILE.findall(turn.answered)
        }
        by_chore = {match for turn in turns for match in _FILE.findall(turn.answered)} - by_case
        with world(folder, voice, turns) as (home, project, catalog, space):
            origin = Origin(home)
            for kind, names in (("named by a decision", by_case), ("named by chores", by_chore)):
                for name in sorted(names):
                    start = time.perf_counter()
                    found = ActionAdviser(
                        home, project, catalog, space, origin, "codex", name
                    ).before("Edit", json.dumps({"path": name}))
                    _, notes = select(home, Settings().recall, found, "codex", name)
                    took.append((time.perf_counter() - start) * 1000)
                    said = [note.entry for note in notes]
                    outcome = (
                        "nothing"
                        if not said
                        else "the decision"
                        if said[0] in newest
                        else "what it replaced"
                        if said[0] in older
                        else "a chore"
                    )
                    injected[f"{kind}: {outcome}"] += 1
    print(
        f"\n{what}: files, and what is injected before an edit of them "
        f"(median {statistics.median(took):.0f} ms)"
    )
    for line, count in sorted(injected.items()):
        print(f"  {line:45s} {count:4d}")


def ask(folder: Path, voice: chats.Voice, noise: int, model: str = "") -> list[Asked]:
    """Send every prompt of a voice, and return the injections."""
    turns, decided = chats.injected(voice, noise)
    found = []
    with (
        world(folder, voice, turns, model=model) as (home, project, catalog, space),
        contextlib.closing(Origin(home)) as origin,
    ):
        sources = Sources(catalog, space, [project])
        for case in [*voice.cases, *voice.none]:
            said = [turn.entry for turn in decided.get(case["id"], [])]
            start = time.perf_counter()
            sent = send(home, project, catalog, space, origin, case["prompt"], case["id"])
            took = (time.perf_counter() - start) * 1000
            assert sent, case
            right, superseded = (said[-1] if said else ""), (said[0] if len(said) > 1 else "")
            found.append(
                Asked(
                    voice.name,
                    case,
                    right,
                    superseded,
                    sent.answer,
                    sent.features,
                    [note.entry for note in sent.notes],
                    sent.injection.tokens,
                    took,
                    _stage(sources, sent, right) if right else "",
                )
            )
    return found


def _stage(sources: Sources, sent: Sent, right: str) -> str:
    """Where the right note of a prompt was lost: in retrieval, by its confidence or by a rule."""
    places = [hit.id for hit in sent.answer.hits]
    if right not in places:
        deep = [hit.id for hit in hybrid.search(sources, sent.query.with_(limit=_DEPTH)).hits]
        at = "11 to 20" if right in deep[: prompt.FETCHED] else f"21 to {_DEPTH}"
        return f"retrieved at {at}" if right in deep else f"not among {_DEPTH}"
    reason = next(one.held for one in sent.injection.considered if one.id == right)
    if not reason:
        return "injected"
    place = places.index(right) + 1
    within = next((text for most, text in _PLACES if place <= most), "after 10")  # a newer version
    return f"{reason}, hit {within}"


def table(what: str, asked: list[Asked]) -> None:
    cases = [a for a in asked if a.right]
    none = [a for a in asked if not a.right]
    amended = [a for a in cases if a.superseded]
    print(
        f"\n{what}: {len(cases)} prompts with a decision, "
        f"{len(amended)} of them amended, {len(none)} for which no note is relevant"
    )
    print(
        f"{'':12s} {'n':>4s} {'first':>6s} {'in 3':>6s} {'in 10':>6s} "
        f"{'superseded 1st':>14s} {'injected':>8s} {'right':>11s} {'superseded':>15s}"
    )
    rows = [
        (style, [a for a in cases if a.case["style"] == style])
        for style in ("direct", "symptom", "task")
    ]
    for name, chosen in [*rows, ("amended", amended), ("all", cases)]:
        first, three, ten = (sum(a.right in a.hits[:k] for a in chosen) for k in (1, 3, 10))
        old = sum(a.superseded == a.hits[0] for a in chosen if a.superseded and a.hits)
        injected, right = (
            sum(bool(a.injected) for a in chosen),
            sum(a.right in a.injected for a in chosen),
        )
        wrong = sum(a.superseded in a.injected for a in chosen if a.superseded)
        n = len(chosen) or 1
        print(
            f"{name:12s} {len(chosen):4d} {first / n:6.2f} {three / n:6.2f} "
            f"{ten / n:6.2f} {old:14d} {injected / n:8.2f} {right / n:11.2f} {wrong:15d}"
        )
    false = sum(bool(a.injected) for a in none)
    tokens = [a.tokens for a in asked if a.injected]
    notes = sum(len(a.injected) for a in asked)
    right = sum(a.right in a.injected for a in cases)
    print(
        f"false injections {false} of {len(none)} ({false / len(none):.1%}); "
        f"always the first three: {len(none)} of {len(none)}\n"
        f"of {notes} notes injected {right} are the decision ({right / max(1, notes):.0%}); "
        "always the first three: "
        f"{sum(a.right in a.hits[:3] for a in cases)} of {3 * len(asked)} "
        f"({sum(a.right in a.hits[:3] for a in cases) / 3 / len(asked):.0%})\n"
        "tokens per injection: "
        f"median {statistics.median(tokens or [0]):.0f}, most {max(tokens or [0])}; "
        f"milliseconds per prompt: median {statistics.median(a.ms for a in asked):.0f}"
    )
    for stage, count in sorted(Counter(a.stage for a in cases).items()):
        print(f"  the right note: {stage:40s} {count:4d}")


def fitted(asked: list[Asked]) -> None:
    """Print the fitted weights, and the injections with each topic held out in turn."""
    rows = [(number, a, name, row) for number, a in enumerate(asked) for name, row in a.features]
    values = np.array([row for *_, row in rows])
    right = np.array([bool(name) and name in (a.right, a.superseded) for _, a, name, _ in rows])
    rated = held_out(values, right, np.array([number % _FOLDS for number, *_ in rows]))
    bias, weights = fit(values, right)
    print(
        "BIAS =",
        round(bias, 2),
        " WEIGHTS =",
        tuple(weights.round(2).tolist()),
        judge.MODEL.features,
    )
    print(f"area under the curve {area(rated, right):.3f}, topics held out")
    best = np.zeros(len(asked))
    found = np.zeros(len(asked))
    for (number, a, name, _), sure in zip(rows, rated):
        best[number] = max(best[number], sure)
        if name in (a.right, a.superseded):
            found[number] = max(found[number], sure)
    cases = np.array([bool(a.right) for a in asked])
    print(
        f"{'enough':>7s} {'injected where relevant':>27s} "
        f"{'the right one':>14s} {'false':>6s} {'notes':>6s}"
    )
    for enough in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6):
        print(
            f"{enough:7.2f} {(best[cases] >= enough).mean():27.2f} "
            f"{(found[cases] >= enough).mean():14.2f} "
            f"{(best[~cases] >= enough).mean():6.2f} {(rated >= enough).sum():6d}"
        )


def misses(asked: list[Asked]) -> None:
    for a in asked:
        sure = {hit.id: f"{hit.confidence:.2f}" for hit in a.answer.hits}
        if (a.right and a.right not in a.injected) or (a.injected and not a.right):
            print(
                f"\n{a.case['id']} {a.case.get('style', '')}: {a.case['prompt'][:200]}\n"
                f"  right {a.right} {sure.get(a.right, 'not found')}"
            )
            for hit in a.answer.hits[:3]:
                print(f"  {sure[hit.id]} {hit.title[:110]}")


if __name__ == "__main__":
    main()
