"""Estimates the number of tokens of a text, rather too high than too low.

Byte-pair vocabularies of current models need one token for 3.5 to 4.5 characters of English prose
or code, and about one per CJK character. The tokenizers of all models are too large to ship, so the
estimate takes the safe side of both ranges.
"""

from __future__ import annotations

_ASCII_PER_TOKEN = 3.3


def estimate(text: str) -> int:
    """Return the estimated tokens of *text*, at least as many as the models count."""
    ascii_characters = sum(1 for char in text if char < "\x80") if not text.isascii() else len(text)
    return int(ascii_characters / _ASCII_PER_TOKEN + 1.3 * (len(text) - ascii_characters)) + (
        1 if text else 0
    )
