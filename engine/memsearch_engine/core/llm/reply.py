"""A model's answer, or the reason why there is none."""

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
