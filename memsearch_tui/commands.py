"""Palette commands that have no key, and the protocol of apps and screens that offer them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import msgspec
from textual.screen import Screen


class PaletteCommand(msgspec.Struct, frozen=True):
    """One row of the palette.

    Attributes:
        title: the text of the row.
        note: shown beside the title.
        run: carries out the command.
        words: other search words for it, separated by blanks.
    """

    title: str
    note: str
    run: Callable[[], Any]
    words: str = ""


@runtime_checkable
class OffersCommands(Protocol):
    """An app or a screen with commands that have no key."""

    def commands(self, screen: Screen[Any]) -> list[PaletteCommand]:
        """Return the commands that work on *screen* now."""
        ...
