"""Find how a conversation ended on the topic of one of its notes.

The note that resembles a prompt often only states the problem. The decision is in a later turn,
which may hardly name the topic. This module follows the topic through the turns around the note,
and chooses the lines that settle it: changes that were made, answers after a question, summaries,
and the person's last words. Questions, proposals and courtesies are not chosen. The words and
weights were chosen on sde-bench and on tests/evaluation/conversations/fleet.jsonl
(``python -m tests.evaluation.sessions`` prints the share of a decision's words that is injected).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from memsearch_engine.core.llm.reply import estimate
from memsearch_engine.core.projects import Project
from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.hubness import Background
from memsearch_engine.index.rows import Row
from memsearch_engine.index.vector_index import VectorIndex
from memsearch_engine.injection import notes
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.origin import Origin

#: Number of turns before and after a note that are looked at.
_LOOKED_AT = 12
_ASKED = "User asked: "
_REPLIED = "In reply to: "
#: Words with which a person changes the topic: at the beginning of a prompt, or anywhere in it.
_NEW_TOPIC = re.compile(
    r"(?i)^(?:[^.!?]{0,40}[.!,:]\s+)?"
    r"(?:(?:ok(?:ay)?|and|so|then|but|great|good|thanks|also|now)[\s,.]+)*"
    r"(?:next|by the way|btw|unrelated|separately|while we(?:'re| are) at it|new (?:topic|thing)|"
    r"(?:the |an?)?\s*(?:other|another|different|separate)\s+"
    r"(?:topic|thing|matter|question|issue|annoyance|subject)|"
    r"something (?:else|different)|one more|(?:now )?the (?:actual|real|main) (?:topic|thing))\b"
    r"|\bsomething else[:,]|\b(?:different|other|next) (?:topic|matter)\b"
    r"|\b(?:different|other) thing\b"
)
#: Similarity in standard deviations above any two notes (``Background.z_score``): a turn below the
#: first value starts a new topic. A turn is on the other topic again if it is more similar to that
#: topic by the second value.
_NOT_SIMILAR, _MORE_SIMILAR = 0.5, 1.0
_BEGINNING = 160  # characters of a prompt in which a new topic is announced
_SHORT = 80  # characters of a turn; a shorter one does not change the topic ("thanks")
#: Words with which something is settled.
_SETTLES = re.compile(
    r"(?i)\b(?:done|changed|implemented|decided|agreed|confirmed|finali[sz]ed|finally|the rule|"
    r"policy|from now on|going forward|instead of|replaced?|removed|deleted|dropped|rewritten|"
    r"merged|deployed|shipped|fixed|added|set to|(?:is|are) now|"
    r"now (?:is|has|uses|takes|returns|splits|requires|filters)|no longer|never|always|only|"
    r"exactly|must|at most|at least|unchanged|stays?|remains?|understood|got it)\b|=|->|→"
)
#: Words with which a line sums up what was settled.
_SUMS_UP = re.compile(
    r"(?i)\b(?:recap|settled|final (?:policy|rule|version|answer)|summary|to sum up|in short|"
    r"so the (?:rule|policy)|amend(?:ed|ing)|supersed\w+)\b"
    r"|^(?:so|now|understood|got it)\b[^.]{0,40}:"
    r"|^(?:done|implemented|changed|deployed|built)\b[^.]{0,40}[:,]"
)
#: Words with which something is only proposed or described.
_PROPOSES = re.compile(
    r"(?i)\b(?:could|would|should (?:we|i|it|they)|shall|might|maybe|perhaps|alternatively|"
    r"options?|i'd|we'd|my instinct|suggest\w*|propos\w*|currently|at present|at the moment|"
    r"today it|want me to|let me know)\b"
)
_COURTESY = re.compile(
    r"(?i)^\W*(?:thanks?|thank you|great|good|perfect|nice|ok(?:ay)?|cool|bye|see you|"
    r"you're welcome|glad|have a)\b"
)
_DETAIL = re.compile(r"\d|`[^`]+`|[{}]|\b[A-Z][A-Z_]{2,}\b")
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+(?=\S)")
_MIN_WORDS = 2  # terms of a line; fewer carry no information
#: Points of a line: for summing up, for settling, for a detail (a number, a name), for the words of
#: a person's reply, against a proposal, and for each turn that follows.
_SUMMING_UP, _SETTLING, _DETAILED, _REPLYING = 0.8, 0.5, 0.35, 0.15
_PROPOSING, _LATER_TURN = -0.5, -0.3
#: A line with fewer points is left out if the outcome has another one. A line that is cut needs
#: more.
_ENOUGH, _ENOUGH_TO_CUT = -0.3, 0.3
#: Points for each word of the prompt that a line has, and the most of them.
_ASKED_FOR, _MOST_ASKED_FOR = 0.1, 0.4
_ENDING_TOKENS = 100  # of the lines with which a conversation ended


#: Entry id of a note -> the turns on its topic.
Topics = dict[str, list[Row]]


class OutcomeLine(NamedTuple):
    """A line of an outcome. ``place``: (turn, line) in the conversation's order."""

    text: str
    place: tuple[int, int]
    points: float


def topics(catalog: Catalog, index: VectorIndex, project: Project, rows: list[Row]) -> Topics:
    """The turns on the topic of each note, its own among them, in their order.

    Args:
        rows: one chunk of each note. Notes of other projects are skipped.

    Returns:
        Entry id of the note -> turns, for notes of conversations of several turns.
    """
    background = index.sample(project.collection).pair_background
    found: Topics = {}
    for row in rows:
        if not row.session or row.project != project.id:
            continue
        turns = catalog.around(row, _LOOKED_AT)
        place = next((n for n, turn in enumerate(turns) if turn.entry_id == row.entry_id), None)
        if place is not None and len(turns) > 1:
            vectors = index.vectors(project.collection, [turn.chunk_id for turn in turns])
            found[row.entry_id] = _on_topic(turns, place, vectors, background)
    return found


def _on_topic(
    turns: list[Row], place: int, vectors: Mapping[str, np.ndarray], background: Background
) -> list[Row]:
    """Those of *turns* that are on the topic of the one at *place*."""
    first = place
    while first > 0 and not _announces_topic(turns[first]):
        if (
            _similarity(turns[first - 1], turns[first : place + 1], vectors, background)
            < _NOT_SIMILAR
        ):
            break
        first -= 1
    on: list[Row] = turns[first : place + 1]
    off: list[Row] = []
    is_on = True
    for turn in turns[place + 1 :]:
        is_on = _is_on_topic(turn, on, off, is_on, vectors, background)
        (on if is_on else off).append(turn)
    return on


def _announces_topic(turn: Row) -> bool:
    return bool(_NEW_TOPIC.search(_prompt(turn)[:_BEGINNING]))


def _is_on_topic(
    turn: Row,
    on: list[Row],
    off: list[Row],
    was_on: bool,
    vectors: Mapping[str, np.ndarray],
    background: Background,
) -> bool:
    """Whether *turn* is on the topic of the turns *on*, and not on that of *off*."""
    if _announces_topic(turn):
        return False
    if len(turn.text) < _SHORT:
        return was_on
    to_on, to_off = (_similarity(turn, turns, vectors, background) for turns in (on, off))
    if was_on:
        return to_on >= _NOT_SIMILAR and not (off and to_off > to_on + _MORE_SIMILAR)
    return to_on > to_off + _MORE_SIMILAR


def _similarity(
    turn: Row, turns: list[Row], vectors: Mapping[str, np.ndarray], background: Background
) -> float:
    """The highest similarity of *turn* to one of *turns*, in standard deviations."""
    own = vectors.get(turn.chunk_id)
    cosines = [
        float(own @ vectors[other.chunk_id])
        for other in turns
        if own is not None and other.chunk_id in vectors
    ]
    return background.z_score(max(cosines)) if cosines else 0.0


def _prompt(row: Row) -> str:
    asked = (line for line in notes.note_lines(row.text) if line.startswith(_ASKED))
    return next((line.removeprefix(_ASKED) for line in asked), row.asked)


def endings(
    catalog: Catalog,
    index: VectorIndex,
    projects: list[Project],
    origin: Origin,
    names: list[str],
    query: str,
) -> dict[str, list[str]]:
    """How the conversation of each note ended on the topic of the note.

    Args:
        origin: knows which entries this home wrote or its owner released.
        names: entry ids, of any of the *projects*.
        query: its words are preferred.

    Returns:
        Entry id -> the lines that settle the topic, in their order. It lacks notes of
        conversations of one turn.
    """
    rows = [row for name in names for row in catalog.by_entry(name)[:1]]
    terms = set(analyze.query_terms(query))
    found: dict[str, list[str]] = {}
    for project in projects:
        files = notes.NoteFiles(project.memory, origin)
        for name, turns in topics(catalog, index, project, rows).items():
            found[name] = outcome(files.injectable(turns), terms, _ENDING_TOKENS)
    return found


def outcome(entries: list[Entry], terms: set[str], room: int) -> list[str]:
    """The lines of *entries* that settle their topic, in the conversation's order.

    Args:
        entries: the turns on the topic, in their order.
        terms: the words of the prompt.
        room: tokens. The last line may be cut.
    """
    chosen: list[OutcomeLine] = []
    for line in sorted(_lines(entries, terms), key=lambda line: (-line.points, line.place)):
        size = estimate(line.text) + 1
        if chosen and line.points < (_ENOUGH if size <= room else _ENOUGH_TO_CUT):
            continue
        if size <= room:
            chosen.append(line)
        elif text := notes.shortened_to(line.text, room):
            chosen.append(line._replace(text=text))
            size = room
        else:
            continue
        room -= size
        if room < notes.MIN_TOKENS:
            break
    return [line.text for line in sorted(chosen, key=lambda line: line.place)]


def _lines(entries: list[Entry], terms: set[str]) -> Iterator[OutcomeLine]:
    turns = [statements for entry in entries if (statements := list(_statements(entry.body)))]
    for number, statements in enumerate(turns):
        for place, (text, is_prompt) in enumerate(statements):
            asked_for = len(terms.intersection(analyze.terms(text))) * _ASKED_FOR
            points = (
                (len(turns) - 1 - number) * _LATER_TURN
                + min(asked_for, _MOST_ASKED_FOR)
                + _SUMMING_UP * bool(_SUMS_UP.search(text))
                + _SETTLING * bool(_SETTLES.search(text))
                + _DETAILED * bool(_DETAIL.search(text))
                + _PROPOSING * bool(_PROPOSES.search(text))
                + _REPLYING * (is_prompt and number > 0)
            )
            yield OutcomeLine(f"User: {text}" if is_prompt else text, (number, place), points)


def _statements(body: str) -> Iterator[tuple[str, bool]]:
    """(text, whether it is from the prompt) of each line that states something.

    Questions, courtesies and lines that are only about the turn do not.
    """
    about_outcome = notes.outcome_lines(body)
    for line in notes.note_lines(body):
        is_prompt, text = line.startswith(_ASKED), line
        if is_prompt:
            sentences = _SENTENCE.split(line.removeprefix(_ASKED))
            text = " ".join(one for one in sentences if not _is_question(one))
        elif line not in about_outcome or line.startswith(_REPLIED) or _is_question(line):
            continue
        words = len(set(analyze.terms(text)))
        if words >= _MIN_WORDS and not (words <= 2 * _MIN_WORDS and _COURTESY.match(text)):
            yield text, is_prompt


def _is_question(text: str) -> bool:
    return text.rstrip(" )\"'").endswith(("?", "？"))
