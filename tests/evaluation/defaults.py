"""Why the defaults are as they are: ``python -m tests.evaluation.defaults [--final] [--folder
FOLDER]``.

Asks the demo's year (475 questions) and the known voices (70) once by the default and once with
each of its parts taken out or put in another's place, and prints what that costs: right in the
first five and mean reciprocal rank, of all questions together, with 95 % intervals of the
difference (paired bootstrap, 2,000 draws; Efron and Tibshirani 1993), and how many questions were
won and lost. ``--final`` prints, at the end, the default alone on the three voices that nothing was
chosen by, with Wilson's interval.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
from memsearch_engine.index import hubness
from memsearch_engine.search import hybrid
from memsearch_engine.search.supersession import reorder

from tests.evaluation import voices
from tests.evaluation.intervals import difference, in_five, reciprocal, wilson
from tests.evaluation.run import world


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("--folder", type=Path, help="keep the corpora and their index here")
    args.add_argument(
        "--routine", type=int, default=3400, help="distractor entries of the demo's year"
    )
    args.add_argument(
        "--both", action="store_true", help="with the second model (the multilingual extra)"
    )
    args.add_argument("--final", action="store_true", help="the voices that are held out, too")
    options = args.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        default = ranks(folder, options.routine, both=options.both)
        print(f"the default: {_share(default)}\n")
        print(f"{'without':44s} {'right in five':>22s} {'MRR':>24s}   won / lost by the default")
        for name, change in (CHANGES | (CHANGES_OF_TWO if options.both else {})).items():
            with change():
                other = ranks(folder, options.routine, both=options.both, **KEYWORDS.get(name, {}))
            print(f"{name:44s} {_difference(default, other)}")
        if options.final:
            final(folder, both=options.both)


def ranks(
    folder: Path,
    routine: int,
    *,
    both: bool,
    mode: str = "hybrid",
    fusion: str = "weighted",
    prompts: bool = True,
) -> np.ndarray:
    """The place of the right answer of every question, 0 for none in 50."""
    own = folder / ("year" if prompts else "year-without-prompts")
    with world(own, routine, prompts=prompts, both=both) as there:
        found = [there.rank(query, mode, fusion) for query in there.queries if query["want"]]
    found += [
        one.rank for one in voices.asked(folder / "voices", both=both, mode=mode, fusion=fusion)
    ]
    return np.array(found)


@contextlib.contextmanager
def _as_it_is() -> Iterator[None]:
    yield


def _set(
    module: object, name: str, value: object
) -> Callable[[], contextlib.AbstractContextManager[object]]:
    return lambda: mock.patch.object(module, name, value)


CHANGES: dict[str, Callable[[], contextlib.AbstractContextManager[object]]] = {
    "what a note is near to anyway taken off": _set(hubness, "_WEIGHT", 1e-9),
    "a bound to what being unlike others adds": _set(hubness, "_MOST", 9.0),
    "coverage beside BM25": _set(
        hybrid, "_coverage", lambda catalog, rows, idf: dict.fromkeys(rows, 0.0)
    ),
    "what was asked, before the note": _as_it_is,
    "more weight for words where a name is asked": _set(hybrid, "_IDENTIFIER_WEIGHT", 0.5),
    "the newest word first": _set(reorder, "_newest_first", lambda *_: None),
    "words (meaning alone)": _as_it_is,
    "meaning (BM25 alone)": _as_it_is,
    "scores (RRF by ranks)": _as_it_is,
}
#: Where both models are asked.
CHANGES_OF_TWO: dict[str, Callable[[], contextlib.AbstractContextManager[object]]] = {
    "less weight for words": _set(hybrid, "_WORDS_WEIGHT_BESIDE_TWO", 0.5),
    "notes in a foreign script by the second": _set(hybrid, "_FOREIGN_NOTE", hybrid.SHARES),
}
KEYWORDS: dict[str, dict] = {
    "what was asked, before the note": {"prompts": False},
    "words (meaning alone)": {"mode": "dense"},
    "meaning (BM25 alone)": {"mode": "bm25"},
    "scores (RRF by ranks)": {"fusion": "rrf"},
}


def _share(found: np.ndarray) -> str:
    return (
        f"{in_five(found).mean():.3f} right in five of {len(found)}, "
        f"MRR {reciprocal(found).mean():.3f}"
    )


def _difference(default: np.ndarray, other: np.ndarray) -> str:
    """The other's less the default's, with its interval."""
    cells = [difference(measure(other), measure(default)) for measure in (in_five, reciprocal)]
    right = in_five(default) - in_five(other)
    won, lost = int((right > 0).sum()), int((right < 0).sum())
    return "  ".join(f"{cell:>22s}" for cell in cells) + f"   {won} / {lost}"


def final(folder: Path, *, both: bool) -> None:
    """The default on what nothing was chosen by."""
    injected = list(voices.asked(folder / "voices", final=True, both=both))
    print(f"\n{'held out':16s} {'n':>4s}  first  in five  (95 %)")
    for kind in [*dict.fromkeys(one.query["kind"] for one in injected), "all"]:
        chosen = [one.rank for one in injected if kind in (one.query["kind"], "all")]
        n, right = len(chosen), sum(0 < rank <= 5 for rank in chosen)
        low, high = wilson(right, n)
        print(
            f"{kind:16s} {n:4d}  {sum(r == 1 for r in chosen) / n:5.2f}  "
            f"{right / n:7.2f}  ({low:.2f} to {high:.2f})"
        )


if __name__ == "__main__":
    main()
