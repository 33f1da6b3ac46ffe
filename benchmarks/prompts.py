"""The note that bears on a prompt: the product and memsearch 0.4 (peer) on the same notes, prompts
and embedding model.

    python benchmarks/prompts.py --peer /tmp/peer            # five voices, 2,400 turns, about 8
    minutes

The evaluation of tests/evaluation/recall, and its code for the product's side: chats that are
imported as four agents wrote them, prompts in other words than the decision's, of which some were
amended later. The peer indexes the very notes that the import wrote, with its defaults, and
searches with the prompt as it was typed. It has no word on whether to tell anything at all, so it
is asked for its best hits, as the product is; what the product tells is in ``python -m
tests.evaluation.recall``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from common import Peer, Report, arguments, workplace
from memsearch_engine.journal.files import read_day
from quality import place

from tests.evaluation.recall import chats
from tests.evaluation.recall.__main__ import Asked, ask


class Ranks(NamedTuple):
    """The place of the right note among the first ten, 0 for none, and of the one that it amends;
    None where it amends none.
    """

    right: int
    superseded: int | None


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--noise", type=int, default=440, help="ordinary turns of each voice")
    parser.add_argument("--voices", nargs="+", help="some of them only")
    parser.add_argument(
        "--folder", type=Path, help="work here and keep it: the next run need not index"
    )
    options = parser.parse_args()
    report = Report(options)
    with workplace(options.folder) as (folder, _):
        for what, voices in (("known", chats.voices()), ("held out", chats.voices(chats.HELD_OUT))):
            found: dict[str, list[Ranks]] = {"product": [], "peer": []}
            for voice in voices:
                if voice.name in (options.voices or [voice.name]):
                    asked = [one for one in ask(folder, voice, options.noise) if one.right]
                    found["product"] += [product(one) for one in asked]
                    if options.peer:
                        found["peer"] += peer(
                            folder,
                            Peer(options.peer, folder / f"user-{voice.name}"),
                            voice.name,
                            asked,
                        )
            if found["product"]:
                show(report, what, {name: ranks for name, ranks in found.items() if ranks})
    report.save()


def product(asked: Asked) -> Ranks:
    places = {entry: number for number, entry in enumerate(asked.hits, 1)}
    return Ranks(
        places.get(asked.right, 0), places.get(asked.superseded, 0) if asked.superseded else None
    )


def peer(folder: Path, other: Peer, voice: str, asked: list[Asked]) -> list[Ranks]:
    memory = folder / voice / "project" / ".memsearch" / "memory"
    if not (other.user / ".memsearch" / "milvus.db").exists():
        other.drive(do="index", paths=[str(memory)])
    hits = other.drive(do="ask", queries=[{"q": one.case["prompt"]} for one in asked], limit=10)[
        "hits"
    ]
    entries = {
        str(path.resolve()): [
            (entry.start_line, entry.end_line, entry.id) for entry in read_day(str(path)).entries
        ]
        for path in memory.glob("*.md")
    }
    return [
        Ranks(
            place(lines, entries, {one.right}),
            place(lines, entries, {one.superseded}) if one.superseded else None,
        )
        for one, lines in zip(asked, hits)
    ]


def show(report: Report, what: str, found: dict[str, list[Ranks]]) -> None:
    rows = []
    for name, ranks in found.items():
        amended = [one for one in ranks if one.superseded is not None]
        newer = sum(one.right == 1 for one in amended)
        older = sum(one.superseded == 1 for one in amended)
        shares = [sum(0 < one.right <= k for one in ranks) / len(ranks) for k in (1, 3, 10)]
        rows.append(
            [name, len(ranks), *(f"{share:.2f}" for share in shares), len(amended), newer, older]
        )
    report.table(
        what, ["", "n", "first", "in 3", "in 10", "amended", "newer first", "older first"], rows
    )


if __name__ == "__main__":
    main()
