"""The later of two conversations on one topic comes first where it has changed what is asked, and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest
from memsearch_engine import Memory
from memsearch_engine.core.settings import Settings
from memsearch_engine.index.catalog import Link
from memsearch_engine.injection import injection_log, judge, prompt
from memsearch_engine.journal.origin import Origin
from memsearch_engine.search import hybrid
from memsearch_engine.search.hits import Answer, Hit
from memsearch_engine.search.request import SearchRequest
from memsearch_engine.search.retrieve import Sources
from memsearch_engine.search.supersession import conversations
from memsearch_engine.search.supersession.listing import NONE, Overrides

from memsearch_tui.mcp_server import answers
from tests.conftest import Box
from tests.evaluation import sessions
from tests.evaluation.recall import chats
from tests.evaluation.recall.imported import world

pytestmark = pytest.mark.slow  # its conversations take half a minute to index

CHARGE = (
    "At what state of charge should a robot with a tired battery "
    "pack head for the dock, compared with one whose pack is fine?"
)
LOGS = (
    "For how many days do the dispatcher's debug logs "
    "stay on the box, and from when on are they zipped?"
)
STOCK = (
    "Who does the recount after a stock difference, "
    "and how are differences on Brixley goods treated?"
)
CROSSING = (
    "Two robots without load meet at a crossing: "
    "who goes first, and what happens if neither of them moves?"
)
SHIFT = "To which calendar day do the picks of a night shift belong in the report?"


class Fleet(msgspec.Struct):
    """The indexed conversations of fleet.jsonl. ``names``: of a conversation by its session."""

    world: tuple
    names: dict[str, str]

    def search(self, text: str, said: Overrides = NONE, limit: int = 10) -> Answer:
        _, project, catalog, space = self.world
        return hybrid.search(
            Sources(catalog, space, [project], overrides=said),
            SearchRequest.of_words(text, limit=limit),
        )

    def read_conversations(self, answer: Answer) -> list[str]:
        """Of each hit, in order."""
        return [self.names[hit.row.session] for hit in answer]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory) -> Iterator[Fleet]:
    stack = sessions.read_conversations(sessions.CONVERSATIONS / "fleet.jsonl")
    names, turns = sessions.written(stack)
    with world(
        tmp_path_factory.mktemp("fleet"), chats.Voice("f", [], [], []), turns, whole=False
    ) as there:
        yield Fleet(there, names)


def test_the_conversation_that_changed_it_comes_first_and_says_why(fleet):
    answer = fleet.search(CHARGE)
    newer, older = answer.hits[:2]
    assert fleet.read_conversations(answer)[:2] == ["charge-2", "charge-1"] and [
        newer.rank,
        older.rank,
    ] == [
        1,
        2,
    ]
    assert (
        older.id in newer.possibly_supersedes and not newer.supersedes
    )  # it is not said to be an amendment
    assert any(
        f"of a later conversation on the topic of {older.day}" in reason for reason in newer.reasons
    )
    assert newer.score >= older.score and fleet.names[answer.by_session()[0].session] == "charge-2"
    assert fleet.read_conversations(fleet.search(CHARGE, limit=1)) == ["charge-2"]


@pytest.mark.parametrize(("asked", "stays"), [(LOGS, "charge-1"), (STOCK, "slot-1")])
def test_another_topic_of_that_conversation_and_one_that_only_confirms_change_nothing(
    fleet, asked, stays
):
    assert fleet.read_conversations(fleet.search(asked))[0] == stays


def test_who_asks_for_what_was_gets_what_was(fleet):
    assert fleet.read_conversations(fleet.search(f"originally: {CHARGE}"))[0] == "charge-1"
    assert not any(hit.possibly_supersedes for hit in fleet.search(f"What was it before? {CHARGE}"))


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("how long does a wave soak before the next wave starts", False),
        ("which of them comes first", False),
        ("where do old nodes go", False),
        ("what was the limit before", True),
        ("what did we use first", True),
        ("the limit that we had decided on earlier", True),
        ("originally", True),
    ],
)
def test_words_that_may_ask_for_the_past_do_so_where_it_is_spoken_of(text, then):
    assert SearchRequest.of_words(text).asks_for_past == then


def test_the_owners_no_is_heeded(fleet):
    newer, older = fleet.search(CHARGE).hits[:2]
    said = {(name, newer.id): False for name in newer.possibly_supersedes}
    assert (
        older.id in newer.possibly_supersedes
        and fleet.read_conversations(fleet.search(CHARGE, said))[0] == "charge-1"
    )


def test_what_its_owner_has_marked_as_superseded_comes_before_nothing(fleet):
    _, project, catalog, space = fleet.world
    hits = fleet.search(CHARGE).hits
    hits[0].row.marks["superseded-by"] = "0123456789ab"
    later_hit = hits[0].id
    assert all(
        pair.later.id != later_hit for pair in conversations.pairs(catalog, space, project, hits)
    )


def test_of_several_later_conversations_the_newest_is_first(fleet, monkeypatch):
    """Whatever puts them there: here each is."""
    _, _project, _catalog, _space = fleet.world
    monkeypatch.setattr(conversations, "ENOUGH", 0.0)
    hits = fleet.search(CHARGE).hits
    moved = [hit for hit in hits if hit.possibly_supersedes]
    ahead = hits[: max(hits.index(hit) for hit in moved) + 1]
    of_first = [hit for hit in ahead if hit.possibly_supersedes]
    assert len(of_first) > 2
    assert [hit.day for hit in of_first] == sorted((hit.day for hit in of_first), reverse=True)


def prompted(fleet: Fleet, text: str) -> tuple[Answer, str]:
    home, project, catalog, space = fleet.world
    query = prompt.prompt_query(text, home, leaves=False)
    assert query
    answer = hybrid.search(Sources(catalog, space, [project]), query.with_(limit=prompt.CONSIDERED))
    topics = prompt.rate(catalog, space, project, answer)
    origin = Origin(home)
    injection, _ = prompt.select(
        home, Settings().recall, origin, project.memory, answer, query.text, "codex", "s", topics
    )
    origin.close()
    return answer, injection.text


def test_at_a_prompt_both_are_injected_and_the_older_one_names_the_newer(fleet):
    answer, text = prompted(fleet, SHIFT)
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    newer, older = (
        answer.hits[0],
        next(hit for hit in answer.hits if hit.id in answer.hits[0].possibly_supersedes),
    )
    assert fleet.read_conversations(answer)[0] == "shift-2"
    assert f"[mem:{newer.id}]" in lines[0] and "where it differs" not in lines[0]
    (second,) = (line for line in lines if f"[mem:{older.id}]" in line)
    assert f"(where it differs, that of {newer.day} holds)" in second


def test_more_notes_of_one_conversation_and_topic_make_each_likelier_to_be_relevant(fleet):
    """None of them is sure enough alone."""
    answer, text = prompted(fleet, CROSSING)
    sure = [hit for hit in answer if (hit.confidence or 0) >= judge.ENOUGH]
    assert sure and {fleet.names[hit.row.session] for hit in sure} == {"yield-1"}
    assert all(
        hit.confidence >= 0.7 and "more notes of that conversation are relevant" in hit.reasons
        for hit in sure
    )
    assert f"[mem:{sure[0].id}]" in text and "(where it differs" not in text
    judge.rate(answer.hits, [0.0] * len(answer.hits))
    assert all(hit.confidence < judge.ENOUGH for hit in answer)


def test_what_chance_puts_beside_a_note_tells_nothing(fleet, tmp_path):
    """Where a project has one conversation, whatever is asked finds it."""
    stack = sessions.read_conversations(sessions.CONVERSATIONS / "fleet.jsonl")
    _, turns = sessions.written(stack._replace(chats={"pick-1": stack.chats["pick-1"]}))
    with world(tmp_path, chats.Voice("one", [], [], []), turns, whole=False) as (
        _,
        project,
        catalog,
        space,
    ):
        hits = hybrid.search(
            Sources(catalog, space, [project]), SearchRequest.of_words(CROSSING, is_prompt=True)
        ).hits
        assert len(hits) > 4 and judge.companions(catalog, space, project, hits) == [0.0] * len(
            hits
        )
    _, project, catalog, space = fleet.world
    hits = fleet.search(CROSSING).hits
    assert any(judge.companions(catalog, space, project, hits))
    for hit in hits:  # written by hand: of no conversation
        hit.row.session = ""
    assert judge.companions(catalog, space, project, hits) == [0.0] * len(hits)


def test_beside_a_note_of_a_later_conversation_no_earlier_one_is_injected_as_current(
    fleet,
):
    _, text = prompted(
        fleet, "By how much may a tote's measured weight deviate from the expected one?"
    )
    # each conversation once, however many of its turns are among the hits
    newer, older = [line for line in text.splitlines() if line.startswith("- ")]
    assert newer.startswith("- 2024-03-06") and "where it differs" not in newer
    assert older.startswith("- 2024-02-10")
    assert "(where it differs, that of 2024-03-06 holds)" in older


def test_what_was_injected_before_in_the_session_counts_for_what_is_injected_now(
    fleet, monkeypatch
):
    answer, before = prompted(fleet, SHIFT)
    newer = [hit for hit in answer if fleet.names[hit.row.session] == "shift-2"]
    known = injection_log.SessionInjections({hit.id for hit in newer}, 0, [])
    monkeypatch.setattr(prompt.injection_log, "session_injections", lambda *_: known)
    _, now = prompted(fleet, SHIFT)
    assert newer[0].id in before and not any(hit.id in now for hit in newer)
    lines = [line for line in now.splitlines() if line.startswith("- 2024-01-24")]
    assert lines and all("(where it differs, that of 2024-03-03 holds)" in line for line in lines)


def test_what_has_no_day_is_neither_earlier_nor_later(fleet):
    """Recaps of sessions, say."""
    _, project, catalog, space = fleet.world
    hits = fleet.search(CHARGE).hits
    older = next(hit for hit in hits if hit.id in hits[0].possibly_supersedes)
    assert any(pair.earlier is older for pair in conversations.pairs(catalog, space, project, hits))
    older.row.day = hits[0].row.day = ""
    assert not any(
        {pair.earlier.id, pair.later.id} & {older.id, hits[0].id}
        for pair in conversations.pairs(catalog, space, project, hits)
    )


@pytest.fixture
def linked(fleet) -> Iterator[Callable[..., None]]:
    """Mark a note as amended by a note of another conversation; undone at the end."""
    _, project, catalog, _ = fleet.world
    before = catalog.links.of(project.id)

    def say(older: str, newer: str, sure: float) -> None:
        with catalog.database.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO links (project, older, newer, sure, shared) "
                "VALUES (?,?,?,?,?)",
                (project.id, older, newer, sure, b"[]"),
            )

    yield say
    with catalog.database.transaction() as db:
        db.execute("DELETE FROM links")
        db.executemany(
            "INSERT INTO links (project, older, newer, sure, shared) VALUES (?,?,?,?,?)",
            [(k.project, k.older, k.newer, k.sure, msgspec.json.encode(k.shared)) for k in before],
        )
    assert [Link(*msgspec.structs.astuple(link)) for link in catalog.links.of(project.id)] == before


def test_a_known_supersession_on_the_same_topic_counts_for_its_neighbours(fleet, linked):
    """And for no other topic of that conversation."""
    _, project, catalog, space = fleet.world
    of = {name: session for session, name in fleet.names.items()}

    def hit(asked: str, conversation: str) -> Hit:
        return next(hit for hit in fleet.search(asked).hits if hit.row.session == of[conversation])

    def amended(*hits: Hit) -> dict[str, float]:
        return {
            pair.earlier.id: pair.linked
            for pair in conversations.pairs(catalog, space, project, list(hits))
            if pair.linked
        }

    stopped = hit(
        "Below which battery level does a loaded robot stop "
        "and call a human, and when does it accept no job?",
        "charge-1",
    )
    logs, newer = hit(LOGS, "charge-1"), hit(STOCK, "slot-2")
    conversation = catalog.of_session(project.id, "claude-code", of["charge-1"], 50)
    beside = [
        row.entry_id for row in conversation[-4:] if row.entry_id != stopped.id
    ]  # its first matter took four turns
    assert beside and not amended(stopped, newer)
    for name in beside:
        linked(name, newer.id, 0.95)
    assert amended(stopped, newer) == {stopped.id: 0.95}
    assert not amended(logs, newer)
    for name in beside:
        linked(name, newer.id, 0.5)  # not likely enough to be acted on
    linked(
        stopped.id, newer.id, 0.95
    )  # and that one hit amends another itself is decided elsewhere
    assert not amended(stopped, newer)


@pytest.mark.slow
def test_a_person_and_an_agent_see_which_of_two_conversations_holds(box: Box):
    """On the command line, for scripts, and for an agent over MCP."""
    for day, (name, turns) in enumerate(
        sessions.read_conversations(sessions.CONVERSATIONS / "fleet.jsonl").chats.items(), 1
    ):
        date = f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}"
        box.write(
            date,
            f"# {date}\n\n"
            + "\n".join(noted(name, place, *turn) for place, turn in enumerate(turns)),
        )
    box.own()
    box.index()
    first, *others = box.ok("search", CHARGE, "--json").json["hits"]
    older = next(hit for hit in others if hit["later"])
    assert (first["session"], older["session"], older["later"]) == (
        "charge-2",
        "charge-1",
        first["entry_id"],
    )
    assert first["later"] == "" == older["overtaken_by"]
    shown = box.ok("search", CHARGE, "--weak").out
    assert f"of {first['day']} is later" in shown
    with Memory(str(box.project), home=box.home) as memory:
        injected = answers.recall(memory, CHARGE, 5, 2000)
    (note,) = (note for note in injected.notes if note.id == older["entry_id"])
    assert (
        note.later == first["entry_id"]
        and f"where it differs, [mem:{note.later[:12]}] holds" in injected.memory
    )


def noted(session: str, place: int, asked: str, answered: str) -> str:
    anchor = (
        f"<!-- agent:claude-code session:{session} "
        f"turn:t{place} transcript:/nowhere/{session}.jsonl -->"
    )
    return f"### 10:{place:02d}\n{anchor}\n- User asked: {asked}\n- {answered}\n"
