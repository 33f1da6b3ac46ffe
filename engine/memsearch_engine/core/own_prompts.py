"""The mark in each of our prompts to a model, and how to recognise such a prompt in a transcript.

An agent that answers for us may store the session. Without the mark it would be captured as a note,
summarised, and captured again.
"""

from __future__ import annotations

MARK = "[memsearch asks a model]"
#: How our prompts began before they had one mark, and how memsearch's do.
_OLDER = (
    "[memsearch summariser]",
    "You read the record of one finished session of a coding agent and note what will still matter",
    "You are a third-person note-taker",
)


def marked(prompt: str) -> str:
    """*prompt* with the mark in front, once."""
    return prompt if prompt.startswith(MARK) else f"{MARK}\n{prompt}"


def is_ours(prompt: str) -> bool:
    """Whether a user message is one of our prompts. `opencode run` puts it in quotes."""
    return prompt.lstrip("\"' \n").startswith((MARK, *_OLDER))
