"""Every evaluation in one run: ``python -m tests.evaluation [SET ...]``.

Prints, each with 95 % intervals: the templated year and the two known voices, our own
conversations, prompts (what is injected where a note is relevant, and where none is), and every
*SET* that you bring: git checkouts (``repositories``, ``prompts``), and files or checkouts of
LoCoMo, LongMemEval, BEAM or sde-bench (``sessions``). Sets that are held out are not asked.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from itertools import islice
from pathlib import Path

from tests.evaluation import intervals, prompts, repositories, run, sessions, voices
from tests.evaluation.recall import __main__ as recall
from tests.evaluation.recall import chats

_WAYS = (("hybrid", "weighted"), ("bm25", "weighted"), ("dense", "weighted"))


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("sets", nargs="*", type=Path, help="git checkouts, files, sde-bench")
    args.add_argument("--model", default="", help="embedding.model")
    args.add_argument("--routine", type=int, default=3400, help="distractors of the year (3,400)")
    args.add_argument("--noise", type=int, default=440, help="distractors of each voice (440)")
    args.add_argument("--notes", type=int, default=800, help="notes of each repository (800)")
    args.add_argument("--queries", type=int, default=150, help="queries of each repository (150)")
    args.add_argument("--prompts", type=int, default=50, help="prompts of each repository (50)")
    args.add_argument("--limit", type=int, help="only so many conversations of each file")
    args.add_argument("--only-sets", action="store_true", help="ask nothing but the sets given")
    args.add_argument("--folder", type=Path, help="keep the notes and their index here")
    args.add_argument("--json", type=Path, help="write every rank here")
    options = args.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        ranks = {} if options.only_sets else own_notes(folder, options)
        ranks |= own_sets(folder, options)
        conversations([path for path in options.sets if not is_repository(path)], options)
        if not options.only_sets:
            injected(folder, options)
    if options.json:
        options.json.write_text(json.dumps(ranks))


def is_repository(path: Path) -> bool:
    """Whether *path* is a git checkout (a bare one too) that is not sde-bench's."""
    is_git = (path / ".git").exists() or (path / "objects").is_dir()
    return is_git and not any(path.glob("*/tasks/main/task.json"))


def own_notes(folder: Path, options: argparse.Namespace) -> dict[str, dict[str, list[int]]]:
    """The templated year and the known voices: set -> way -> ranks."""
    queries, ranks = run.ask(folder / "year", options.routine, options.model, _WAYS)
    year: dict[str, dict[str, list[int]]] = {}
    for kind in dict.fromkeys(query["kind"] for query in queries if query["want"]):
        year[kind] = _of_kind(queries, ranks, kind)
    year["year"] = _of_kind(queries, ranks, "")
    voiced = {
        mode: [
            one.rank
            for one in voices.asked(
                folder / "voices", noise=options.noise, mode=mode, model=options.model
            )
        ]
        for mode, _ in _WAYS
    }
    print("Our own notes\n" + intervals.report(year | {"voices": voiced}), flush=True)
    return {"year": year["year"], "voices": voiced}


def _of_kind(queries: list[dict], ranks: dict[str, list[int]], kind: str) -> dict[str, list[int]]:
    chosen = [n for n, query in enumerate(queries) if query["want"] and kind in ("", query["kind"])]
    return {way.partition("/")[0]: [found[n] for n in chosen] for way, found in ranks.items()}


def own_sets(folder: Path, options: argparse.Namespace) -> dict[str, dict[str, list[int]]]:
    """The git checkouts among the sets: name -> way -> ranks."""
    ranks = {}
    for checkout in filter(is_repository, options.sets):
        name = repositories.name_of(checkout)
        notes, queries = repositories.made(checkout, options.notes, options.queries)
        ranks[name] = repositories.ask(folder / name, notes, queries, options.model)
    if ranks:
        together = repositories.pooled(ranks)
        print("\nRepositories\n" + intervals.report(ranks | {"together": together}), flush=True)
        checkouts = list(filter(is_repository, options.sets))
        print()
        prompts.table(checkouts, folder, options.notes, options.prompts, options.model)
    return ranks


def conversations(files: list[Path], options: argparse.Namespace) -> None:
    """Our own conversations and those of the files: which session comes first."""
    own = [] if options.only_sets else [sessions.CONVERSATIONS / "fleet.jsonl"]
    for file in [*own, *files]:
        print(f"\nConversations of {file.name}")
        found = islice(sessions.read(file), options.limit)
        sessions.table(sessions.ask(found, options.model))


def injected(folder: Path, options: argparse.Namespace) -> None:
    """Prompts of the known voices: what is injected, and where nothing is relevant."""
    asked = [
        one
        for voice in chats.voices()
        for one in recall.ask(folder / "prompts", voice, options.noise, options.model)
    ]
    recall.table("Prompts, known voices", asked)
    cases = [one for one in asked if one.right]
    none = [one for one in asked if not one.right]
    for what, right, n in (
        (
            "the right note injected",
            sum(one.right in one.injected_text for one in cases),
            len(cases),
        ),
        (
            "injected where nothing is relevant",
            sum(bool(one.injected_text) for one in none),
            len(none),
        ),
    ):
        low, high = intervals.wilson(right, n)
        print(f"{what}: {right} of {n} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
