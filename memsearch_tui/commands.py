"""A command of the palette that has no key, and who offers such commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import msgspec
from textual.screen import Screen


class Command(msgspec.Struct, frozen=True):
    """One row of the palette.

    Attributes:
        title: what the row says.
        note: shown beside the title.
        run: what the command does.
        words: other words by which it is found, separated by blanks.
    """

    title: str
    note: str
    run: Callable[[], Any]
    words: str = ""


@runtime_checkable
class OffersCommands(Protocol):
    """An app or a screen with commands that have no key."""

    def commands(self, screen: Screen[Any]) -> list[Command]:
        """The commands that work on *screen* now."""
        ...
