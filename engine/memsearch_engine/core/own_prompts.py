"""The mark that every prompt of ours to a model carries, and how to tell such a prompt in a
transcript.

A client that answers for us may keep a session of it. Read as anybody's, that session would become
a note, which would be summarised and extracted again. The lowest room of all: it knows nothing of
the others.
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
    """*prompt* with the mark before it, once."""
    return prompt if prompt.startswith(MARK) else f"{MARK}\n{prompt}"


def is_ours(prompt: str) -> bool:
    """Whether a user's message was a prompt of ours. `opencode run` puts quotes around its
    argument.
    """
    return prompt.lstrip("\"' \n").startswith((MARK, *_OLDER))
