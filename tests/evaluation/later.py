"""Fits ``search/supersession/conversations.py`` and prints how often it is right.

``python -m tests.evaluation.later`` pairs each of the first hits with the best hit of a later
conversation. It does so for every question of ``conversations/fleet.jsonl``, for every prompt of
the voices of ``tests/evaluation/recall``, searched and at a prompt, and for every query of
``queries.jsonl`` in the demo's year, whose conversations are on many topics. What counts is what
the order does to the answer: a pair is right where the later conversation amended the earlier one
on what is asked, and wrong where the earlier one answers. ``conversations/clinic.jsonl`` is held
out: it is asked with the weights that are shipped. At the end the weight of
``injection/judge.py:beside`` is fitted, on the prompts of both known sets and on those for which no
note is relevant.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.injection import judge, prompt
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Hit
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.supersession import conversations

from tests.evaluation import sessions
from tests.evaluation.confidence import fit, held_out
from tests.evaluation.recall import chats
from tests.evaluation.recall.imported import world
from tests.evaluation.run import world as demo_world

_FOLDS = 10
_NOISE, _STEPS = 440, 30
_LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7)


class Judged(NamedTuple):
    """A pair. ``amends``: whether the later one must come first; ``fold``: of its matter."""

    features: tuple[float, ...]
    amends: bool
    fold: int


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("--folder", type=Path, help="keep the corpora and their index here")
    options = args.parse_args()
    enough, conversations.ENOUGH = conversations.ENOUGH, 2.0  # type: ignore[misc]  # the lists as they are without it
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        known = {
            "fleet": list(of_talks(folder, "fleet")),
            "voices": list(of_voices(folder)),
            "year": list(of_year(folder)),
        }
        others = {"clinic, held out": list(of_talks(folder, "clinic"))}
        injected = [*prompts_of_conversations(folder), *prompts_of_voices(folder)]
    pairs = [pair for found in known.values() for pair in found]
    values, right = (
        np.array([pair.features for pair in pairs]),
        np.array([pair.amends for pair in pairs]),
    )
    bias, weights = fit(values, right)
    print(
        "BIAS =",
        round(bias, 2),
        " WEIGHTS =",
        tuple(weights.round(2).tolist()),
        conversations.MODEL.features,
    )
    rated = held_out(values, right, np.array([pair.fold for pair in pairs]))
    print(
        f"{'right of put first at':18s} {'pairs':>6s} {'amend':>6s}  "
        + "  ".join(f"{level:>10}" for level in _LEVELS)
        + f"   (shipped: {enough})"
    )
    start = 0
    for what, found in known.items():
        _line(what, found, rated[start : start + len(found)])
        start += len(found)
    for what, found in others.items():
        _line(
            what,
            found,
            np.array([conversations.MODEL.probability(pair.features) for pair in found]),
        )

    alone, more, relevant = (np.array(values) for values in zip(*injected))
    print("_BESIDE_WEIGHT =", round(beside_weight(alone, more, relevant), 2))


def beside_weight(alone: np.ndarray, more: np.ndarray, relevant: np.ndarray) -> float:
    """Fit the weight of a companion (``judge.companions``) in the log odds that a hit is relevant.

    Newton's method with ridge 1.

    Args:
        alone: the log odds without companions.
        more: the number of companions.
        relevant: whether each hit is relevant.
    """
    weight = 0.0
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-(alone + weight * more)))
        slope = float(more @ (relevant - chance)) - weight
        weight += slope / (float((more * more) @ (chance * (1 - chance))) + 1)
    return weight


def _line(what: str, pairs: list[Judged], rated: np.ndarray) -> None:
    amends = np.array([pair.amends for pair in pairs])
    cells = [
        f"{(amends & (rated >= level)).sum()} of {(rated >= level).sum()}" for level in _LEVELS
    ]
    print(
        f"{what:21s} {len(pairs):6d} {amends.sum():6d}  "
        + "  ".join(f"{cell:>10s}" for cell in cells)
    )


def of_talks(folder: Path, name: str) -> Iterator[Judged]:
    """The pairs of our own conversations."""
    stack = sessions.read_conversations(sessions.CONVERSATIONS / f"{name}.jsonl")
    names, turns = sessions.written(stack)
    with world(folder, chats.Voice(name, [], [], []), turns, whole=False) as (
        home,
        project,
        catalog,
        space,
    ):
        for number, question in enumerate(stack.questions):
            right = next(iter(question.right))
            for query in (
                SearchRequest.of_words(question.text),
                prompt.prompt_query(question.text, home, leaves=False),
            ):
                if query is None:
                    continue
                for pair in _pairs(catalog, space, project, query):
                    earlier, newer = names[pair.earlier.row.session], names[pair.later.row.session]
                    amends = question.kind == "amended" and (earlier, newer) == (
                        question.wrong,
                        right,
                    )
                    if amends or earlier == right:
                        yield Judged(pair.features, amends, number // 2 % _FOLDS)


def of_voices(folder: Path) -> Iterator[Judged]:
    """Those of the voices, whose chats are of many matters: a turn is seldom about what was said
    before it.
    """
    for voice in chats.voices():
        turns, decided = chats.injected(voice, _NOISE)
        with world(folder, voice, turns) as (home, project, catalog, space):
            for number, case in enumerate([*voice.cases, *voice.none]):
                said = [turn.entry for turn in decided.get(case["id"], [])]
                for query in (
                    SearchRequest.of_words(case["prompt"]),
                    prompt.prompt_query(case["prompt"], home, leaves=False),
                ):
                    assert query, case
                    for pair in _pairs(catalog, space, project, query):
                        amends = len(said) > 1 and (pair.earlier.id, pair.later.id) == (
                            said[0],
                            said[-1],
                        )
                        if amends or pair.earlier.id in said[-1:]:
                            yield Judged(pair.features, amends, number % _FOLDS)


def of_year(folder: Path) -> Iterator[Judged]:
    """Those of the demo's year, in which no conversation amends another."""
    with demo_world(folder / "year", 1000) as there:
        for number, query in enumerate(there.queries):
            want = there.wanted(query)
            hits = there.answer(query, limit=conversations.CONSIDERED).hits
            for project in there.projects.values():
                own = [
                    hit for hit in hits[: conversations.CONSIDERED] if hit.row.project == project.id
                ]
                for pair in conversations.pairs(there.catalog, there.space, project, own):
                    if (
                        pair.later.rank > pair.earlier.rank
                        and pair.earlier.id in want
                        and pair.later.id not in want
                    ):
                        yield Judged(pair.features, False, number % _FOLDS)


def prompts_of_conversations(folder: Path) -> Iterator[tuple[float, float, bool]]:
    """Of each hit at a prompt of the conversations that are not held out: the log odds of it alone,
    ``judge.companions``, and whether it is relevant to it.
    """
    stack = sessions.read_conversations(sessions.CONVERSATIONS / "fleet.jsonl")
    names, turns = sessions.written(stack)
    with world(folder, chats.Voice("fleet", [], [], []), turns, whole=False) as (
        home,
        project,
        catalog,
        space,
    ):
        asked = [
            (one.text, one.right | ({one.wrong} if one.kind == "amended" else set()))
            for one in stack.questions
        ]
        for text, right in [*asked, *((text, set()) for text in stack.none)]:
            query = prompt.prompt_query(text, home, leaves=False)
            assert query, text
            hits = hybrid.search(
                Sources(catalog, space, [project]), query.with_(limit=prompt.CONSIDERED)
            ).hits
            for hit, alone, more in _judged(catalog, space, project, hits):
                yield alone, more, names[hit.row.session] in right


def prompts_of_voices(folder: Path) -> Iterator[tuple[float, float, bool]]:
    """The same of the voices that are not held out."""
    for voice in chats.voices():
        turns, decided = chats.injected(voice, _NOISE)
        with world(folder, voice, turns) as (home, project, catalog, space):
            for case in [*voice.cases, *voice.none]:
                right = {turn.entry for turn in decided.get(case["id"], [])}
                query = prompt.prompt_query(case["prompt"], home, leaves=False)
                assert query, case
                hits = hybrid.search(
                    Sources(catalog, space, [project]), query.with_(limit=prompt.CONSIDERED)
                ).hits
                for hit, alone, more in _judged(catalog, space, project, hits):
                    yield alone, more, hit.id in right


def _judged(
    catalog: Catalog, space: VectorIndex, project: Project, hits: list[Hit]
) -> Iterator[tuple[Hit, float, float]]:
    for hit, row, more in zip(
        hits, judge.features(hits), judge.companions(catalog, space, project, hits)
    ):
        yield (
            hit,
            judge.MODEL.log_odds(row),
            more,
        )


def _pairs(
    catalog: Catalog, space: VectorIndex, project: Project, query: SearchRequest
) -> Iterator[conversations.ConversationPair]:
    answer = hybrid.search(
        Sources(catalog, space, [project]), query.with_(limit=conversations.CONSIDERED)
    )
    if query.is_prompt:
        prompt.rate(catalog, space, project, answer)
    for pair in conversations.pairs(catalog, space, project, answer.hits):
        if pair.later.rank > pair.earlier.rank:  # else it comes first anyway
            yield pair


if __name__ == "__main__":
    main()
