"""The home screen: controllers that share one state."""

from memsearch_tui.screens.browse.screen import DEMO, BrowseScreen

__all__ = ["DEMO", "BrowseScreen"]
