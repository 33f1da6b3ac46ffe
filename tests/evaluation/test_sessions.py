"""The scorer of other people's sets reads their formats and ranks whole chats."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.evaluation import sessions

LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which breed is my dog?",
        "answer": "a beagle",
        "haystack_session_ids": ["s1", "s2", "s3"],
        "answer_session_ids": ["s2"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "How do I bake sourdough bread?"},
                {
                    "role": "assistant",
                    "content": "Feed the starter twice a day, then fold the dough.",
                },
            ],
            [
                {"role": "user", "content": "My dog, a beagle called Pip, pulls on the leash."},
                {
                    "role": "assistant",
                    "content": "Beagles follow their nose: train Pip with short walks.",
                },
            ],
            [
                {"role": "user", "content": "What is a good hotel in Lisbon?"},
                {"role": "assistant", "content": "The one by the castle has a quiet garden."},
            ],
        ],
    },
]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "1 May",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": "I started pottery on Mondays."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Bring me a bowl!"},
            ],
            "session_2": [
                {
                    "speaker": "Ben",
                    "dia_id": "D2:1",
                    "text": "We moved to Oslo for my new job at the harbour.",
                },
                {"speaker": "Ana", "dia_id": "D2:2", "text": "Oslo in winter, brave."},
            ],
        },
        "qa": [
            {
                "question": "Where did Ben move?",
                "answer": "Oslo",
                "evidence": ["D2:1"],
                "category": 1,
            },
            {
                "question": "What does Ben's cat eat?",
                "answer": "not said",
                "evidence": [],
                "category": 5,
            },
        ],
    },
]


_CHAT = [
    [
        {"role": "user", "id": 1, "content": "I want to learn the cello."},
        {"role": "assistant", "id": 2, "content": "Rent one for a year first."},
    ],
    [
        {
            "role": "user",
            "id": 3,
            "content": "The recital is on the ninth of June in the old mill.",
        },
        {"role": "assistant", "id": 4, "content": "Three weeks to go, then."},
    ],
]
_PROBES = {
    "temporal_reasoning": [{"question": "When is my recital?", "source_chat_ids": {"first": [3]}}],
    "abstention": [{"question": "What is my teacher's name?"}],
}
BEAM = [{"conversation_id": "7", "chat": _CHAT, "probing_questions": str(_PROBES)}]


@pytest.mark.parametrize(
    "chat",
    [
        _CHAT,
        [{"batch_number": n, "turns": [messages]} for n, messages in enumerate(_CHAT)],
        [{"plan-1": [_CHAT[0]]}, {"plan-2": [_CHAT[1]]}],
    ],
    ids=["sessions", "batches", "plans"],
)
def test_beam_is_read_in_each_of_its_sizes(chat):
    (found,) = sessions.haystacks([BEAM[0] | {"chat": chat}])
    assert found.chats == {
        "session_1": [("I want to learn the cello.", "Rent one for a year first.")],
        "session_2": [
            ("The recital is on the ninth of June in the old mill.", "Three weeks to go, then.")
        ],
    }
    assert found.questions == [
        sessions.Question("temporal_reasoning", "When is my recital?", {"session_2"})
    ]


def test_both_formats_are_read():
    (long,) = sessions.haystacks(LONGMEMEVAL)
    assert list(long.chats) == ["s1", "s2", "s3"] and long.questions == [
        sessions.Question("single-session-user", "Which breed is my dog?", {"s2"})
    ]
    (conversation,) = sessions.haystacks(LOCOMO)
    assert conversation.chats["session_1"] == [
        ("Ana: I started pottery on Mondays.", "Ben: Bring me a bowl!")
    ]
    assert conversation.chats["session_2"][0] == (
        "",
        "Ben: We moved to Oslo for my new job at the harbour.",
    )
    assert conversation.questions == [
        sessions.Question(
            "category 1",
            "Where did Ben move?",
            {"session_2"},
            turns=frozenset({("session_2", 0)}),
        )
    ]
    with pytest.raises(ValueError, match="neither"):
        list(sessions.haystacks([{"question": "x"}]))


def chat(*texts: str) -> list[dict[str, str]]:
    return [
        {"role": ("user", "assistant")[number % 2], "text": text}
        for number, text in enumerate(texts)
    ]


def test_a_checkout_of_sde_bench_is_two_haystacks(tmp_path):
    first, last = (
        chat("How long do we wait?", "Ten seconds."),
        chat("Ten is too long.", "Four seconds now."),
    )
    tasks = [
        {
            "task_id": "wait",
            "source": "conversation",
            "module": "wait.py",
            "bug_report": "it hangs",
            "conversations": first,
        },
        {
            "task_id": "wait-amended",
            "source": "conversation-amended",
            "module": "wait.py",
            "bug_report": "it hangs",
            "conversations": [first, last],
        },
        {
            "task_id": "sort",
            "source": "conversation",
            "module": "sort.py",
            "bug_report": "mixed up",
            "conversations": chat("By name?", "By age."),
        },
        {
            "task_id": "old",
            "source": "history",
            "module": "old.py",
            "bug_report": "see the commits",
        },
    ]
    for task in tasks:
        folder = tmp_path / task["task_id"] / "tasks" / "main"
        folder.mkdir(parents=True)
        (folder / "task.json").write_text(json.dumps(task))
    (tmp_path / "gen").mkdir()
    (tmp_path / "gen" / "decoy_conversations.json").write_text(
        json.dumps([{"turns": chat("Lunch?", "Noon.")}])
    )
    plain, amended = sessions._sde_bench(tmp_path)
    assert list(plain.chats) == ["sort", "wait", "decoy 0"]
    # the report of the amended task is asked once, with the amended answer
    assert plain.questions == [sessions.Question("conversation", "mixed up", {"sort"})]
    assert list(amended.chats) == [
        "wait-amended first",
        "sort",
        "decoy 0",
        "wait-amended last",
    ]  # as time went
    assert amended.chats["wait-amended last"] == [("Ten is too long.", "Four seconds now.")]
    assert amended.questions == [
        sessions.Question(
            "conversation-amended", "it hangs", {"wait-amended last"}, "wait-amended first"
        )
    ]
    with pytest.raises(ValueError, match="no checkout of sde-bench"):
        list(sessions._sde_bench(tmp_path / "gen"))


@pytest.mark.slow
def test_the_right_chat_is_ranked_by_its_best_note(capsys):
    ranks = sessions.ask(sessions.haystacks([*LONGMEMEVAL, *LOCOMO, *BEAM]))
    assert [(one.kind, one.place) for one in ranks] == [
        ("single-session-user", 1),
        ("category 1", 1),
        ("temporal_reasoning", 1),
    ]
    assert [one.turn for one in ranks] == [None, 1, None]
    more = [
        sessions.Ranked("category 1", 0, True, True, True, 3.0),
        sessions.Ranked("category 1", 4, False, False, True, 3.0),
    ]
    sessions.table([*ranks[:2], *more])
    line = capsys.readouterr().out.splitlines()[1].split()
    assert line[:7] == ["category", "1", "3", "0.333", "0.667", "0.417", "1"] and line[8] == "2"


@pytest.mark.parametrize("name", ["fleet", "clinic"])
def test_our_own_conversations_are_what_the_table_says(name):
    """12 conversations amend, half of them one of two topics, and 6 do not. Each has two
    questions.
    """
    stack = sessions.read_conversations(sessions.CONVERSATIONS / f"{name}.jsonl")
    kinds = Counter(question.kind for question in stack.questions)
    assert kinds == {"amended": 24, "other matter": 12, "not amended": 12}
    days = list(stack.chats)
    for question in stack.questions:
        (right,) = question.right
        first, last = (
            (question.wrong, right) if question.kind == "amended" else (right, question.wrong)
        )
        assert days.index(first) < days.index(last), question
