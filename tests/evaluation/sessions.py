"""Which of many old conversations answers a question: ``python -m tests.evaluation.sessions
FILE|FOLDER ...``.

You bring the files, since their licences keep them out of this repository: the JSON of LongMemEval
(each question has its own haystack of sessions), of LoCoMo (conversations with questions about
them), of BEAM (long conversations in sessions; one file with a list of its rows), or a checkout of
sde-bench (bug reports that a decision in a conversation answers; a later conversation may have
amended it). Our own are in ``tests/evaluation/conversations``: conversations of several turns, some
of which amend earlier ones. Nothing was chosen on ``clinic.jsonl``.

The conversations are written as Claude Code writes its transcripts, imported without a model,
indexed and searched. The rank of a session is that of its best note. Prints by kind of question:

- how often a right session is first and among the first five, and the mean reciprocal rank;
- how often a wrong one is first: one that was amended, or that did not amend the right one;
- how often a note of the right one would be injected at that prompt, and of the wrong one without
  a word on what holds now;
- where the set names the turns that answer: how often one of them is among the first five notes;
- where the set says what was decided: the share of the decision's own words, those that the
  question lacks, in what is injected (0 where nothing is), and the tokens of an injection; the same
  share in the lines of ``search --by session`` about the right conversation, in the title of its
  best note, and in what ``trace`` prints.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import re
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.injection import outcome, prompt
from memsearch_engine.journal.origin import Origin
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.supersession import revisions

from tests.evaluation import intervals
from tests.evaluation.recall import chats, sent
from tests.evaluation.recall.imported import world

CONVERSATIONS = Path(__file__).parent / "conversations"
_NONE = "none"
_NOTES = 60  # hits whose sessions are ranked
_TRACED = 10  # hits that `trace` follows
_FIRST = datetime(2024, 1, 1, 9, tzinfo=UTC)
_NAMESPACE = uuid.UUID("7be3fb7e-3b6a-4a5e-9a0d-8a1f6b1f1b0c")


class Question(NamedTuple):
    """A question.

    Attributes:
        right: conversations that answer it.
        wrong: one that must not come before them: it was amended on the topic of the question, or
            amends another topic.
        decision: what was decided, in short; empty if the set does not say it.
        turns: the turns that answer it, as (conversation, number from 0); empty if the set does not
            name them.
    """

    kind: str
    text: str
    right: set[str]
    wrong: str = ""
    decision: str = ""
    turns: frozenset[tuple[str, int]] = frozenset()


class Haystack(NamedTuple):
    """Conversations and the questions about them.

    Attributes:
        chats: name -> turns as pairs (prompt, answer), in their order.
        none: prompts for which no conversation is relevant.
    """

    name: str
    chats: dict[str, list[tuple[str, str]]]
    questions: list[Question]
    none: list[str] = []


class Ranked(NamedTuple):
    """The outcome of a question.

    Attributes:
        place: of the first right conversation, from 1; 0 where it was not found.
        is_wrong_first: the wrong conversation came first.
        is_injected, is_wrong_injected: a note of the right or the wrong one would be injected.
        took: milliseconds of the search.
        decided: share of the decision's own words that would be injected; None without a decision.
        tokens: of the injected text.
        turn: place of the first note of a right turn, from 1; 0 where it was not found, None where
            the set names no turns.
        shown: shares of the decision's own words in (title, lines by session, trace); None without
            a decision.
    """

    kind: str
    place: int
    is_wrong_first: bool
    is_injected: bool
    is_wrong_injected: bool
    took: float
    decided: float | None = None
    tokens: int = 0
    turn: int | None = None
    shown: tuple[float, float, float] | None = None


class _Injected(NamedTuple):
    """What would be injected at a prompt.

    Attributes:
        sessions: session -> whether a note of it is injected as valid, without a word on a later
            conversation that amends it.
    """

    sessions: dict[str, bool] = {}
    text: str = ""
    tokens: int = 0


def main() -> None:
    args = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args.add_argument("files", nargs="+", type=Path)
    args.add_argument("--limit", type=int, help="only so many haystacks of each file")
    args.add_argument("--model", default="", help="embedding.model")
    options = args.parse_args()
    for file in options.files:
        print(f"\n{file.name}")
        table(ask(islice(read(file), options.limit), options.model))


def read(file: Path) -> Iterator[Haystack]:
    """The haystacks of a file, or of a checkout of sde-bench. Raises ValueError for others."""
    if file.is_dir():
        return _sde_bench(file)
    if file.suffix == ".jsonl":
        return iter([read_conversations(file)])
    return haystacks(json.loads(file.read_text(encoding="utf-8")))


def haystacks(data: list[dict[str, Any]]) -> Iterator[Haystack]:
    """Raises ValueError for what is none of the three formats."""
    for number, item in enumerate(data):
        if "haystack_sessions" in item:
            yield _longmemeval(item)
        elif "conversation" in item and "qa" in item:
            yield _locomo(item, str(item.get("sample_id", number)))
        elif "chat" in item and "probing_questions" in item:
            yield _beam(item, str(item.get("conversation_id", number)))
        else:
            raise ValueError(
                f"item {number} is neither LongMemEval's nor LoCoMo's nor BEAM's: "
                f"it has {', '.join(item)}"
            )


def _longmemeval(item: dict[str, Any]) -> Haystack:
    said = {
        name: list(_pairs([(turn["role"] == "user", turn["content"]) for turn in turns]))
        for name, turns in zip(item["haystack_session_ids"], item["haystack_sessions"])
    }
    right = set(item["answer_session_ids"])
    return Haystack(
        item["question_id"],
        said,
        [Question(item.get("question_type", ""), item["question"], right)] if right else [],
    )


def _locomo(item: dict[str, Any], name: str) -> Haystack:
    conversation = item["conversation"]
    said: dict[str, list[tuple[str, str]]] = {}
    turn_of: dict[str, tuple[str, int]] = {}  # id of a line -> the turn with it
    for key, lines in conversation.items():
        if key.startswith("session_") and isinstance(lines, list):
            is_first = [line["speaker"] == conversation["speaker_a"] for line in lines]
            texts = [f"{line['speaker']}: {line['text']}" for line in lines]
            said[key] = list(_pairs(list(zip(is_first, texts))))
            names = _pairs(list(zip(is_first, [line["dia_id"] for line in lines])))
            for number, pair in enumerate(names):
                turn_of.update((name, (key, number)) for name in "\n".join(pair).split("\n"))
    questions = []
    for asked in item["qa"]:
        places = [
            name for text in asked.get("evidence") or [] for name in re.findall(r"D\d+:\d+", text)
        ]
        right = {f"session_{place.split(':')[0].removeprefix('D')}" for place in places}
        if right & said.keys():  # questions without an answer have none
            turns = frozenset(turn_of[place] for place in places if place in turn_of)
            kind = f"category {asked.get('category', '')}"
            questions.append(Question(kind, asked["question"], right, turns=turns))
    return Haystack(name, said, questions)


def _sde_bench(folder: Path) -> Iterator[Haystack]:
    """Two haystacks of a checkout of sde-bench: tasks with a decision, and tasks whose decision a
    later chat amended.

    Six bug reports occur twice, word for word: as a plain task and as an amended one, with
    different answers. They are asked once, in the amended haystack. A task's ``conversations`` are
    one chat or a list of chats; tasks without any are about the repository's history.

    Raises:
        ValueError: *folder* is no checkout of sde-bench.
    """
    tasks = [
        json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.glob("*/tasks/main/task.json"))
    ]
    tasks = [task for task in tasks if task.get("conversations")]
    if not tasks:
        raise ValueError(
            f"{folder} is no checkout of sde-bench: no */tasks/main/task.json with conversations"
        )
    decoys = json.loads((folder / "gen" / "decoy_conversations.json").read_text(encoding="utf-8"))
    noise = {f"decoy {number}": _sde_chat(decoy["turns"]) for number, decoy in enumerate(decoys)}
    amended = [task for task in tasks if isinstance(task["conversations"][0], list)]
    plain = {task["task_id"]: task for task in tasks if task not in amended}
    asked_again = {task["bug_report"] for task in amended}
    said = {name: _sde_chat(task["conversations"]) for name, task in plain.items()}
    yield Haystack(
        "plain",
        said | noise,
        [
            Question(task["source"], task["bug_report"], {name}, decision=task.get("policy", ""))
            for name, task in plain.items()
            if task["bug_report"] not in asked_again
        ],
    )
    modules = {task["module"] for task in amended}
    apart = {name: said[name] for name, task in plain.items() if task["module"] not in modules}
    first = {f"{task['task_id']} first": _sde_chat(task["conversations"][0]) for task in amended}
    last = {f"{task['task_id']} last": _sde_chat(task["conversations"][-1]) for task in amended}
    yield Haystack(
        "amended",
        first | apart | noise | last,
        [
            Question(
                task["source"],
                task["bug_report"],
                {f"{task['task_id']} last"},
                f"{task['task_id']} first",
                task.get("policy", ""),
            )
            for task in amended
        ],
    )


def read_conversations(file: Path) -> Haystack:
    """Read our own lines: ``talk``, a conversation (its ``id``, ``day`` and ``turns``), ``ask``
    (``prompt``, its ``style``, the ``right`` conversation, and the ``overtaken`` one or the
    ``later`` one that did not amend it, and the ``decision`` in short), and ``none`` (``prompt``).
    """
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    said = sorted((line for line in lines if line["kind"] == "talk"), key=lambda line: line["day"])
    asks = [line for line in lines if line["kind"] == "ask"]
    return Haystack(
        file.stem,
        {line["id"]: [(asked, answered) for asked, answered in line["turns"]] for line in said},
        [
            Question(
                line["style"],
                line["prompt"],
                {line["right"]},
                line.get("overtaken") or line.get("later") or "",
                line.get("decision", ""),
            )
            for line in asks
        ],
        [line["prompt"] for line in lines if line["kind"] == "none"],
    )


def _sde_chat(turns: list[dict[str, str]]) -> list[tuple[str, str]]:
    return list(_pairs([(turn["role"] == "user", turn["text"]) for turn in turns]))


def _beam(item: dict[str, Any], name: str) -> Haystack:
    """Messages are known by a number; what a question rests on names some, in lists or by kind, and
    nothing where there is no answer.
    """
    said, holds = {}, {}
    for number, messages in enumerate(_beam_sessions(item["chat"]), 1):
        said[f"session_{number}"] = list(
            _pairs([(turn["role"] == "user", turn["content"]) for turn in messages])
        )
        holds[f"session_{number}"] = {turn.get("id") for turn in messages}
    by_ability = item["probing_questions"]
    if isinstance(by_ability, str):  # its publisher wrote Python's own notation
        by_ability = ast.literal_eval(by_ability)
    questions = []
    for ability, asked in by_ability.items():
        for one in asked:
            wanted = set(_numbers(one.get("source_chat_ids")))
            if right := {session for session, ids in holds.items() if wanted & ids}:
                questions.append(Question(ability, one["question"], right))
    return Haystack(name, said, questions)


def _beam_sessions(value: Any) -> Iterator[list[dict[str, Any]]]:
    """Each session's messages: a list of them, or the ``turns`` of a batch; the longest
    conversations have them by plan.
    """
    if (
        isinstance(value, list)
        and value
        and all(isinstance(one, dict) and "role" in one for one in value)
    ):
        yield value
    elif isinstance(value, dict) and "turns" in value:
        yield [message for messages in _beam_sessions(value["turns"]) for message in messages]
    else:
        for below in (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        ):
            yield from _beam_sessions(below)


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    for below in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _numbers(below)


def _pairs(lines: list[tuple[bool, str]]) -> Iterator[tuple[str, str]]:
    """Turns as pairs (first speaker, answer); successive lines of one speaker are joined."""
    asked: list[str] = []
    answered: list[str] = []
    for is_first, text in lines:
        if is_first and answered:
            yield "\n".join(asked), "\n".join(answered)
            asked, answered = [], []
        (asked if is_first else answered).append(text)
    if asked or answered:
        yield "\n".join(asked), "\n".join(answered)


def ask(found: Iterator[Haystack], model: str = "") -> list[Ranked]:
    """The outcome of every question. *model*: ``embedding.model``."""
    ranks = []
    for stack in found:
        names, turns = written(stack)
        with (
            tempfile.TemporaryDirectory() as folder,
            world(
                Path(folder), chats.Voice("stack", [], [], []), turns, whole=False, model=model
            ) as (
                home,
                project,
                catalog,
                space,
            ),
        ):
            entries: dict[str, list[str]] = {}
            for turn in turns:
                entries.setdefault(names[turn.session], []).append(turn.entry)
            for number, question in enumerate(stack.questions):
                wanted = {entries[name][place] for name, place in question.turns}
                start = time.perf_counter()
                answer = hybrid.search(
                    Sources(catalog, space, [project]),
                    SearchRequest.of_words(question.text, limit=_NOTES),
                )
                took = (time.perf_counter() - start) * 1000
                order = [names[conversation.session] for conversation in answer.by_session()]
                injected = _injected(home, project, catalog, space, question.text, str(number))
                injected_text = {
                    names[session]: is_said for session, is_said in injected.sessions.items()
                }
                ranks.append(
                    Ranked(
                        question.kind,
                        next((n for n, name in enumerate(order, 1) if name in question.right), 0),
                        order[:1] == [question.wrong],
                        any(name in question.right for name in injected_text),
                        injected_text.get(question.wrong, False),
                        took,
                        decided(question.decision, question.text, injected.text),
                        injected.tokens,
                        next((hit.rank for hit in answer.hits if hit.id in wanted), 0)
                        if wanted
                        else None,
                        _shown(home, project, catalog, space, question, answer, names),
                    )
                )
            for number, text in enumerate(stack.none):
                injected = _injected(home, project, catalog, space, text, f"none {number}")
                ranks.append(Ranked(_NONE, 0, False, False, bool(injected.sessions), 0.0))
    return ranks


def written(stack: Haystack) -> tuple[dict[str, str], list[chats.Said]]:
    """The name of each chat by its session, and all their turns."""
    names: dict[str, str] = {}
    turns: list[chats.Said] = []
    for number, (name, pairs) in enumerate(stack.chats.items()):
        session = str(uuid.uuid5(_NAMESPACE, f"{stack.name}/{name}"))
        names[session] = name
        for place, (asked, answered) in enumerate(pairs):
            turn = str(uuid.uuid5(_NAMESPACE, f"{session}/{place}"))
            at = _FIRST + timedelta(days=number, minutes=place)
            turns.append(
                chats.Said(
                    "claude-code", session, turn, at, asked or "(nothing)", answered or "(nothing)"
                )
            )
    return names, turns


def decided(decision: str, question: str, injected: str) -> float | None:
    """The share of the words of *decision* that *question* lacks and *injected* has.

    Returns:
        None if the decision has no words of its own.
    """
    own = set(analyze.terms(decision)) - set(analyze.terms(question))
    return len(own & set(analyze.terms(injected))) / len(own) if own else None


def _shown(
    home: Home,
    project: Project,
    catalog: Catalog,
    space: VectorIndex,
    question: Question,
    answer: Answer,
    names: dict[str, str],
) -> tuple[float, float, float] | None:
    """``Ranked.shown``. *names*: session -> conversation."""
    if decided(question.decision, question.text, "") is None:
        return None
    best = next(
        (one.hits[0] for one in answer.by_session() if names[one.session] in question.right), None
    )
    chain = [step.row for step in revisions.chain(catalog, space, project, answer.hits[:_TRACED])]
    ids = [row.entry_id for row in chain]
    with contextlib.closing(Origin(home)) as origin:
        ends = outcome.endings(
            catalog, space, [project], origin, [*ids, *([best.id] if best else [])], question.text
        )
    traced = [row.text for row in chain] + [" ".join(ends.get(name, ())) for name in ids]
    title, ending = (best.title, " ".join(ends.get(best.id, ()))) if best else ("", "")
    shares = [
        decided(question.decision, question.text, text) or 0.0
        for text in (title, ending, "\n".join(traced))
    ]
    return shares[0], shares[1], shares[2]


def _injected(
    home: Home, project: Project, catalog: Catalog, space: VectorIndex, question: str, session: str
) -> _Injected:
    query = prompt.prompt_query(question, home, leaves=False)
    if query is None:
        return _Injected()
    sources = Sources(catalog, space, [project])
    answer = hybrid.search(sources, query.with_(limit=prompt.CONSIDERED))
    with contextlib.closing(Origin(home)) as origin:
        injection, notes = sent.inject(home, sources, origin, query, answer, session)
    of = {hit.id: hit.row.session for hit in answer.hits}
    sessions: dict[str, bool] = {}
    for note in notes:
        line = next(line for line in injection.text.splitlines() if f"[mem:{note.entry}]" in line)
        is_valid = sessions.get(of[note.entry], False) or "(where it differs" not in line
        sessions[of[note.entry]] = is_valid
    return _Injected(sessions, injection.text, injection.tokens)


def table(ranks: list[Ranked]) -> None:
    print(
        f"{'':28s} {'asked':>6s} {'first':>6s} {'in 5':>6s} {'MRR':>6s} "
        f"{'wrong first':>12s} {'injected':>9s} {'wrong injected':>15s}"
    )
    nothing = [one for one in ranks if one.kind == _NONE]
    ranks = [one for one in ranks if one.kind != _NONE]
    for kind in [*sorted({one.kind for one in ranks}), ""]:
        of_kind = [one for one in ranks if kind in ("", one.kind)]
        places = [one.place for one in of_kind]
        first, five = (
            sum(0 < place <= most for place in places) / max(1, len(places)) for most in (1, 5)
        )
        rank = sum(1 / place for place in places if place) / max(1, len(places))
        wrong, injected, wrongly = (
            sum(values)
            for values in zip(
                *((o.is_wrong_first, o.is_injected, o.is_wrong_injected) for o in of_kind)
            )
        )
        print(
            f"{kind or 'all':28s} {len(places):6d} {first:6.3f} "
            f"{five:6.3f} {rank:6.3f} {wrong:12d} {injected:9d} {wrongly:15d}"
        )
    places = [one.place for one in ranks]
    turns = [one.turn for one in ranks if one.turn is not None]
    for what, found, measure in (
        ("first", places, intervals.first),
        ("in five", places, intervals.in_five),
        ("right turn first", turns, intervals.first),
        ("right turn in five", turns, intervals.in_five),
    ):
        if found:
            right = int(measure(np.array(found)).sum())
            low, high = intervals.wilson(right, len(found))
            share = f"{right / len(found):.3f} ({low:.3f} to {high:.3f})"
            print(f"{what}: {right} of {len(found)}, {share}")
    shares = [one.decided for one in ranks if one.decided is not None]
    if shares:
        injected = [one.decided for one in ranks if one.decided is not None and one.is_injected]
        tokens = [one.tokens for one in ranks if one.tokens]
        print(
            f"of the decision's own words {statistics.mean(shares):.2f} are injected, at least half"
            f" for {sum(share >= 0.5 for share in shares)} of {len(shares)}; where the right"
            f" conversation is injected {statistics.mean(injected or [0]):.2f} and"
            f" {sum(share >= 0.5 for share in injected)} of {len(injected)}; tokens of an"
            f" injection: median {statistics.median(tokens or [0]):.0f}, most {max(tokens or [0])}"
        )
    if shown := [one.shown for one in ranks if one.shown]:
        title, ending, traced = (statistics.mean(values) for values in zip(*shown))
        print(
            f"of the decision's own words {ending:.2f} are in the lines of `search --by session`"
            f" ({title:.2f} in the title of the best note), {traced:.2f} in those of `trace`"
        )
    if nothing:
        print(
            "injected where nothing is relevant: "
            f"{sum(one.is_wrong_injected for one in nothing)} of {len(nothing)}"
        )
    print(
        "a search takes "
        f"{statistics.median(one.took for one in ranks) if ranks else 0:.0f} ms (median)"
    )


if __name__ == "__main__":
    main()
