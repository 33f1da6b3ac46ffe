"""Notes of one or two sentences, as people write them by hand: pairs of which one amends the other,
or is about something else, among a voice's ordinary turns.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project, locate
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.embed import load as load_embedder
from memsearch_engine.index.scan import scan
from memsearch_engine.index.vector_index import VectorIndex

from tests.evaluation.recall import chats

_FIRST = date(2026, 1, 5)
#: Homes that have just begun, over which the pairs are dealt out.
BEGINNINGS = 24


class Written(NamedTuple):
    """A pair by the ids of its entries. ``amends``: the newer one holds now, the older one does
    not.
    """

    older: str
    newer: str
    amends: bool


def written() -> list[Written]:
    return [Written(_id(older), _id(newer), how == "amends") for older, newer, how in _lines()]


def _id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def turn_id(turn: chats.Said) -> str:
    """Of the note that is made of a voice's turn here."""
    return _id(_text(turn))


def _text(turn: chats.Said) -> str:
    return turn.answered.replace("\n", "\n  ")


@contextlib.contextmanager
def world(
    folder: Path, voice: chats.Voice, noise: int
) -> Iterator[tuple[Home, Project, Catalog, VectorIndex]]:
    """A home whose project has the pairs, the older ones in spring and the newer ones in autumn,
    and turns of *voice* between.
    """
    turns, _ = chats.injected(voice, noise)
    with _home(folder / "short", _days(_lines(), turns)) as made:
        yield made


@contextlib.contextmanager
def beginning(folder: Path, number: int) -> Iterator[tuple[Home, Project, Catalog, VectorIndex]]:
    """A home that has just begun: a few of the pairs and nothing else. Every ``BEGINNINGS``-th pair
    from *number* on.
    """
    with _home(folder / f"beginning-{number}", _days(_lines()[number::BEGINNINGS], [])) as made:
        yield made


@contextlib.contextmanager
def _home(
    root: Path, days: dict[date, list[str]]
) -> Iterator[tuple[Home, Project, Catalog, VectorIndex]]:
    settings, home = Settings(), Home(root / "home").ensure()
    place = locate(root / "project", home)
    memory = Path(place.memory)
    project = Project("id-short", "short", "ms_short_0", place.root, place.memory)
    if not memory.is_dir():
        memory.mkdir(parents=True)
        for day, texts in days.items():
            notes = [
                f"### {9 + n // 6:02d}:{n % 6}0\n<!-- id:{_id(text)} -->\n- {text}\n"
                for n, text in enumerate(texts)
            ]
            (memory / f"{day}.md").write_text(
                f"# {day}\n\n## Notes\n" + "\n".join(notes), encoding="utf-8"
            )
    catalog = Catalog(home.cache_db, writable=True)
    space = VectorIndex(home, settings.milvus, load_embedder(home, settings.embedding))
    scan(catalog, project.id, [project.memory], settings, memory=project.memory)
    space.embed(space.missing(catalog, project.id))
    space.reconcile(catalog, project.id, project.collection)
    try:
        yield home, project, catalog, space
    finally:
        space.close()
        catalog.close()


def _lines() -> list[list[str]]:
    return [
        line.split("\t")
        for line in (chats.HERE / "short.tsv").read_text(encoding="utf-8").splitlines()
    ]


def _days(lines: list[list[str]], turns: list[chats.Said]) -> dict[date, list[str]]:
    chance = random.Random(7)
    said = [(chance.randrange(0, 90), line[0]) for line in lines] + [
        (chance.randrange(180, 270), line[1]) for line in lines
    ]
    said += [((turn.at.date() - _FIRST).days, _text(turn)) for turn in turns]  # in their order
    days: dict[date, list[str]] = {}
    for after, text in sorted(said):
        days.setdefault(_FIRST + timedelta(days=after), []).append(text)
    return days
