"""The home screen, composed of controllers over one state."""

from memsearch_tui.screens.browse.screen import DEMO, BrowseScreen

__all__ = ["DEMO", "BrowseScreen"]
