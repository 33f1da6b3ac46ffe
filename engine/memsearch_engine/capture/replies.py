"""Adds the question to short replies ("yes", "2", "好的"), since they mean nothing without it.

The question is in the answer of the turn before.
"""

from __future__ import annotations

import re

from memsearch_engine.agents.transcripts.model import Conversation, Turn
from memsearch_engine.core.safe_text import plain

_ASSENT = re.compile(
    r"\W*(?:(?:hi|hello|hey|thanks?|thank you|thx|please|ok(?:ay)?|"
    r"k|y|n|yes|yeah|yep|yup|no|nope|nah|sure|right|correct|exactly|"
    r"do it|do so|do that|go|go ahead|go on|go for it|continue|proceed|"
    r"carry on|lgtm|sounds good|(?:very )?good|great|perfect|fine|"
    r"cool|nice|agreed?|approved?|confirm(?:ed)?|deny|denied|"
    r"stop|don'?t|never ?mind|ja|nein|oui|non|si|sí|da|да|нет|"
    r"はい|いいえ|うん|네|예|아니요|"
    r"你好|谢谢|多谢|好|好的|好吧|好啊|行|可以|是|是的|对|对的|嗯|"
    r"没问题|同意|确认|继续|不|不行|不用|不要|不是|否|没有)(?:\W+|$))+|"
    r"\s*[👍👎👌🙏✅❌🆗]\W*",
    re.I,
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.S)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_ITEM = re.compile(r"\s*(?:[-*•]|\(?\w{1,2}[.):])\s")
_QUESTION = re.compile(r"[?？]")
_WORDS, _CHARS = 4, 40  # the longest reply that is not in a list
_LOOKED_AT = 2000  # characters at the end of an answer that are searched
# a shorter question (in characters), as "Shall I do that?", needs the sentence before it
_SHORT = 48
_MAX_ITEMS = 9
_MAX_UNANSWERED = 8  # turns without an answer between a question and a reply


def is_assent(text: str) -> bool:
    """Whether a prompt is only a greeting, a yes or a no."""
    return len(text) <= _CHARS and bool(_ASSENT.fullmatch(text.strip()))


def is_short(text: str) -> bool:
    """Whether a prompt may be a reply that means nothing alone."""
    text = text.strip()
    return is_assent(text) or (
        0 < len(text) <= _CHARS and len(text.split()) <= _WORDS and text[0] not in "/!"
    )


def question(answer: str, *, any_end: bool = False) -> str:
    """Return the question at the end of an agent's answer, with the choices that it offers.

    Args:
        any_end: without a question, return the last sentence: a yes may also follow "Ready to
            deploy.".

    Returns:
        The question; ``""`` if there is none.
    """
    text = _FENCED.sub(" ", plain(answer))[-_LOOKED_AT:]
    lines = [line for line in text.splitlines() if line.strip()]
    last = max((number for number, line in enumerate(lines) if _QUESTION.search(line)), default=-1)
    trailing = lines[last + 1 :]
    if (
        last < 0
        or len(trailing) > _MAX_ITEMS
        or len([line for line in trailing if not _ITEM.match(line)]) > 1
    ):
        return _end(lines) if any_end else ""
    first = last
    while first > 0 and last - first < _MAX_ITEMS and _ITEM.match(lines[first - 1]):
        first -= 1
    sentences = _SENTENCE.split(lines[last].strip())
    asked = max(number for number, sentence in enumerate(sentences) if _QUESTION.search(sentence))
    begin = asked
    while begin > 0 and sum(map(len, sentences[begin : asked + 1])) < _SHORT:
        begin -= 1
    parts = [
        *lines[first:last],
        *sentences[begin : asked + 1],
        *(line for line in trailing if _ITEM.match(line)),
    ]
    if first == last > 0 and begin == 0 and len(sentences[asked]) < _SHORT:
        parts.insert(0, _end(lines[:last]))
    return " ".join(" ".join(parts).split())


def _end(lines: list[str]) -> str:
    return _SENTENCE.split(lines[-1].strip())[-1] if lines else ""


def in_context(conversation: Conversation, place: int) -> list[Turn]:
    """Return the turn at *place* of a session, or nothing if there is none.

    A short reply gets its question.

    Raises:
        OSError: the session can't be read.
    """
    found = conversation.turns(place, place + 1)
    for turn in found:
        first = max(0, place - _MAX_UNANSWERED) if is_short(turn.user) else place
        # a command of the person, or an interrupted prompt, may stand between
        before = (conversation.turns(n, n + 1) for n in range(place - 1, first - 1, -1))
        earlier = next((one for some in before for one in some if one.assistant), None)
        if earlier and (asked := question(earlier.assistant, any_end=is_assent(turn.user))):
            turn.in_reply_to = asked
            # the quoted text may be outside content
            turn.outside = turn.outside or earlier.outside
    return found
