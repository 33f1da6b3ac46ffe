"""A model's answer, or the reason why there is none, and an estimate of its tokens.

The estimate is rather too high than too low. Byte-pair vocabularies of current models need one
token for 3.5 to 4.5 characters of English prose or code, and about one per CJK character. The
tokenizers of all models are too large to ship, so the estimate takes the safe side of both ranges.
"""

from __future__ import annotations

import msgspec

from memsearch_engine.core.errors import MemsearchError


class ModelError(MemsearchError):
    """A model gave no answer.

    Attributes:
        again: asking later may help (a limit, a time-out, a fault of the server).
        too_long: the question is too long for the model.
        billed: the call may have cost something all the same, since it was given up while it ran.
        refused: the field of the request that the service does not know; ``""`` for none.
    """

    def __init__(
        self,
        message: str,
        *,
        again: bool,
        too_long: bool = False,
        billed: bool = False,
        refused: str = "",
    ) -> None:
        super().__init__(message)
        self.again, self.too_long, self.billed, self.refused = again, too_long, billed, refused


class Reply(msgspec.Struct, frozen=True):
    """A model's answer.

    Attributes:
        counted: the service counted the tokens; otherwise they are estimated.
    """

    text: str
    input_tokens: int
    output_tokens: int
    counted: bool = True


_ASCII_PER_TOKEN = 3.3


def estimate(text: str) -> int:
    """Return the estimated tokens of *text*, at least as many as the models count."""
    ascii_characters = sum(1 for char in text if char < "\x80") if not text.isascii() else len(text)
    return int(ascii_characters / _ASCII_PER_TOKEN + 1.3 * (len(text) - ascii_characters)) + (
        1 if text else 0
    )
