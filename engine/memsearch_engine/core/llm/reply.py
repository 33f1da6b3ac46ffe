"""What a model answers, or why it did not."""

from __future__ import annotations

import msgspec

from memsearch_engine.core.errors import MemsearchError


class ModelError(MemsearchError):
    """No answer.

    Attributes:
        again: whether asking later may help (a limit, a time-out, a server's fault).
        too_long: the question is longer than the model takes.
        billed: it may have cost something all the same (it was at work when it was given up).
        refused: the field of the request that the service does not know; '' for none.
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
    """``counted``: whether the tokens are the service's own count, or our estimate."""

    text: str
    input_tokens: int
    output_tokens: int
    counted: bool = True
