"""Measures how well superseding notes are distinguished from others.

It covers every pair of notes that the service would compare, in both directions.
Four sets: each voice's chats, where the second word on a decision amends the first and no other
pair does; the demo's year, where nearly everything is a decision, so that those pairs alone are
judged that amendments.tsv names; and short notes as people write them (short.tsv).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from memsearch_engine.core.projects import Project
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search.supersession import notes, revisions
from memsearch_engine.search.supersession.listing import ENOUGH

from tests.evaluation.compared import compare_all
from tests.evaluation.confidence import fit, held_out
from tests.evaluation.recall import chats, short
from tests.evaluation.recall.imported import world
from tests.evaluation.run import world as demo_world

_FOLDS, _AT_ONCE = 10, 32
_FEW = 48  # ordinary turns of a project that has just begun
_AMONG = "mobile"  # the voice between whose turns the short notes stand


class Judged(NamedTuple):
    """A pair as the service meets it.

    Attributes:
        names: ids of the older and the newer entry.
        amends: whether the newer one supersedes the older one.
        fold: of its topic.
        is_stated: whether the newer one says which value it replaces.
    """

    names: tuple[str, str]
    features: tuple[float, ...]
    amends: bool
    fold: int
    is_stated: bool = False

    @property
    def probability(self) -> float:
        """How probably the newer note supersedes the older one, by the weights that are shipped."""
        return notes.probability(self.features, self.is_stated)


def table(folder: Path, noise: int) -> None:
    """Fit ``search/supersession/notes.py`` and print its precision.

    It is measured with topics held out, and with the shipped weights on the held-out voices.
    """
    sets = {
        "voices": [pair for voice in chats.voices() for pair in of_voice(folder, voice, noise)],
        "voices, few turns": [
            pair for voice in chats.voices() for pair in of_voice(folder / "few", voice, _FEW)
        ],
        "the demo's year": _of_year(folder),
        "short notes": _of_short(folder, noise),
        "a handful of notes": _of_beginnings(folder),
    }
    known = [pair for pairs in sets.values() for pair in pairs]
    values, right = (
        np.array([pair.features for pair in known]),
        np.array([pair.amends for pair in known]),
    )
    bias, weights = fit(values, right)
    print(
        "BIAS =",
        round(bias, 2),
        " WEIGHTS =",
        tuple(weights.round(2).tolist()),
        notes.MODEL.features,
    )
    rated = iter(held_out(values, right, np.array([pair.fold for pair in known])))
    levels = (0.4, 0.5, 0.6, 0.7, 0.8)
    print(
        f"{'right of said at':18s} {'pairs':>6s} {'amend':>6s}  "
        + "  ".join(f"{level:>10}" for level in levels)
    )
    everything: list[tuple[Judged, float]] = []
    for what, pairs in sets.items():
        everything += _line(what, [(pair, float(next(rated))) for pair in pairs], levels)
    for what, where, turns in (
        ("held out", folder, noise),
        ("held out, few", folder / "few", _FEW),
    ):
        others = [
            pair for voice in chats.voices(chats.HELD_OUT) for pair in of_voice(where, voice, turns)
        ]
        everything += _line(what, [(pair, pair.probability) for pair in others], levels)
    _line("all", everything, levels)


def against(folder: Path, noise: int) -> None:
    """Print how well what agents keep themselves is recognised as contradicted: each of the short
    notes as if it were such a memory.
    """
    (voice,) = chats.voices((_AMONG,))
    _, decided = chats.injected(voice, noise)
    written = short.written()
    right = {(pair.older, pair.newer) for pair in written if pair.amends}
    right |= {
        (short.turn_id(said[0]), short.turn_id(said[-1]))
        for said in decided.values()
        if len(said) > 1
    }
    with short.world(folder, voice, noise) as (_, project, catalog, space):
        rows = catalog.links.not_compared(project.id, "none", 0, 1_000_000)
        compare_all(catalog, space, project)
        found = [
            (row.entry_id, pair.newer.entry_id)
            for row in rows
            for pair in revisions.contradicting(catalog, space, project, [row])
            if (pair.newer.day, pair.newer.time) > (row.day, row.time)
        ]
    print(
        f"{len(rows)} notes, {len(right)} overtaken: "
        f"{len(found)} said to be contradicted, {len(right & {*found})} of them rightly"
    )


def _line(
    what: str, rated: list[tuple[Judged, float]], levels: tuple[float, ...]
) -> list[tuple[Judged, float]]:
    """Print a set's line, each pair counted once."""
    pairs = _once(rated)
    said = [[pair for pair, sure in pairs if sure >= level] for level in levels]
    cells = [f"{sum(pair.amends for pair in found)} of {len(found)}" for found in said]
    print(
        f"{what:18s} {len(pairs):6d} {sum(pair.amends for pair, _ in pairs):6d}  "
        + "  ".join(f"{cell:>10s}" for cell in cells)
    )
    return pairs


def _once(rated: Iterable[tuple[Judged, float]]) -> list[tuple[Judged, float]]:
    """Each pair as the side sees it that is less sure, which is what ``chains.compare`` does."""
    best: dict[tuple[str, str], tuple[Judged, float]] = {}
    for pair, sure in rated:
        if pair.names not in best or best[pair.names][1] > sure:
            best[pair.names] = pair, sure
    return list(best.values())


def said(pairs: Iterable[Judged]) -> list[Judged]:
    """Those that are said to amend with the weights that are shipped."""
    return [
        pair for pair, sure in _once((pair, pair.probability) for pair in pairs) if sure >= ENOUGH
    ]


def of_voice(folder: Path, voice: chats.Voice, noise: int) -> list[Judged]:
    turns, decided = chats.injected(voice, noise)
    right = {(said[0].entry, said[-1].entry) for said in decided.values() if len(said) > 1}
    topics = {turn.entry: number for number, said in enumerate(decided.values()) for turn in said}
    with world(folder, voice, turns) as (_, project, catalog, space):
        return list(_every(catalog, space, project, right, topics))


def _of_short(folder: Path, noise: int) -> list[Judged]:
    (voice,) = chats.voices((_AMONG,))
    _, decided = chats.injected(voice, noise)
    with short.world(folder, voice, noise) as (_, project, catalog, space):
        written = short.written()
        right = {(pair.older, pair.newer) for pair in written if pair.amends}
        right |= {
            (short.turn_id(said[0]), short.turn_id(said[-1]))
            for said in decided.values()
            if len(said) > 1
        }
        topics = {
            name: number for number, pair in enumerate(written) for name in (pair.older, pair.newer)
        }
        topics |= {
            short.turn_id(turn): number
            for number, said in enumerate(decided.values())
            for turn in said
        }
        return list(_every(catalog, space, project, right, topics))


def _of_beginnings(folder: Path) -> list[Judged]:
    written = short.written()
    right = {(pair.older, pair.newer) for pair in written if pair.amends}
    topics = {
        name: number for number, pair in enumerate(written) for name in (pair.older, pair.newer)
    }
    found: list[Judged] = []
    for number in range(short.BEGINNINGS):
        with short.beginning(folder, number) as (_, project, catalog, space):
            found += _every(catalog, space, project, right, topics)
    return found


def _every(
    catalog: Catalog,
    space: VectorIndex,
    project: Project,
    right: set[tuple[str, str]],
    topics: dict[str, int],
) -> Iterator[Judged]:
    rows = catalog.links.not_compared(project.id, "none", 0, 1_000_000)
    for start in range(0, len(rows), _AT_ONCE):
        for pair in notes.pairs(catalog, space, project, rows[start : start + _AT_ONCE]):
            names = pair.older.entry_id, pair.newer.entry_id
            fold = topics.get(names[0], int(names[0][:6], 36)) % _FOLDS
            yield Judged(names, pair.features, names in right, fold, pair.is_stated)


def _of_year(folder: Path) -> list[Judged]:
    found = []
    lines = (chats.HERE / "amendments.tsv").read_text(encoding="utf-8").splitlines()
    with demo_world(folder / "year", 1000) as there:
        for number, line in enumerate(lines):
            older, newer, how = line.split("\t")
            names = there.ids[older], there.ids[newer]
            for row in (next(iter(there.catalog.by_entry(name))) for name in names):
                project = next(
                    project for project in there.projects.values() if project.id == row.project
                )
                for pair in notes.pairs(there.catalog, there.space, project, [row]):
                    if (pair.older.entry_id, pair.newer.entry_id) == names:
                        amends, fold = how == "amends", number % _FOLDS
                        found.append(Judged(names, pair.features, amends, fold, pair.is_stated))
    return found
