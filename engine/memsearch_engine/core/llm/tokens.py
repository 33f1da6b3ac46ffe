"""How many tokens a text has, estimated so that it is rather too many than too few.

Byte-pair vocabularies of current models take 3.5 to 4.5 characters of English prose or code per
token, and about one token per CJK character; without the models' own tokenizers, which can't all be
carried, the safe side of both is taken.
"""

from __future__ import annotations

_ASCII_PER_TOKEN = 3.3


def estimate(text: str) -> int:
    """Tokens of *text*, at least as many as the models count."""
    ascii_characters = sum(1 for char in text if char < "\x80") if not text.isascii() else len(text)
    return int(ascii_characters / _ASCII_PER_TOKEN + 1.3 * (len(text) - ascii_characters)) + (
        1 if text else 0
    )
