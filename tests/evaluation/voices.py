"""328 questions on five other trades than the demo's: data science, firmware, infrastructure,
mobile and games.

Their notes are what `import` makes of the voices' chats (``recall/chats.py``: 60 sessions of four
agents each, ordinary turns among them). Each voice's questions were written by another hand than
its chats and than the code. ``held_out/`` is for the final table alone: nothing that chooses a
default, a weight or a rule may read it, and ``asked`` refuses to.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memsearch_engine.core.settings_schema import EmbeddingSettings, MilvusSettings
from memsearch_engine.index import models
from memsearch_engine.index.embed import load as load_embedder
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.request import parse
from memsearch_engine.search.retrieve import Sources

from tests.evaluation.recall import chats
from tests.evaluation.recall.imported import world

HERE = Path(__file__).parent / "questions"
KNOWN = ("data", "embedded")
HELD_OUT = ("games", "infra", "mobile")
NOISE = 440


class Asked(NamedTuple):
    """A question, the entries that answer it, and what was answered."""

    query: dict
    want: set[str]
    answer: Answer

    @property
    def rank(self) -> int:
        """The place of the first right answer, or 0."""
        return next((hit.rank for hit in self.answer.hits if hit.row.entry_id in self.want), 0)


def questions(voice: str, *, final: bool = False) -> list[dict]:
    """A voice's questions. Raises PermissionError for one that is held out, unless for the final
    table.
    """
    if voice in HELD_OUT and not final:
        raise PermissionError(f"{voice} is held out: nothing is chosen by it")
    path = HERE / ("held_out" if voice in HELD_OUT else "") / f"{voice}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def asked(
    folder: Path,
    *,
    final: bool = False,
    both: bool = False,
    noise: int = NOISE,
    limit: int = 50,
    mode: str = "hybrid",
    fusion: str = "weighted",
    model: str = "",
) -> Iterator[Asked]:
    """All questions of the voices that are known, or (*final*) of those held out. *both*: the
    second model is asked, too.
    """
    for name in HELD_OUT if final else KNOWN:
        (voice,) = chats.voices((name,))
        turns, decided = chats.injected(voice, noise)
        ids = {case: [said.entry for said in found] for case, found in decided.items()}
        with contextlib.ExitStack() as open_now:
            home, project, catalog, space = open_now.enter_context(
                world(folder, voice, turns, model=model)
            )
            second = None
            if both:
                models.pull(home, models.SECOND)
                second = VectorIndex(
                    home,
                    MilvusSettings(),
                    load_embedder(home, EmbeddingSettings(model=models.SECOND)),
                )
                open_now.callback(second.close)
                second.embed(second.missing(catalog, project.id))
                second.reconcile(catalog, project.id, project.collection)
            for query in questions(name, final=final):
                want = {
                    ids[case][case_is_amended]
                    for text in query["want"]
                    for case, case_is_amended in [_case(text)]
                }
                answer = hybrid.search(
                    Sources(catalog, space, [project], second),
                    parse(query["q"], limit=limit, mode=mode, fusion=fusion),
                )
                yield Asked(query, want, answer)


def _case(want: str) -> tuple[str, int]:
    """``data-03`` -> its decision; ``data-03/amended`` -> what amended it."""
    case, _, amended = want.partition("/")
    return case, int(bool(amended))
