"""The engine: one memory for every coding agent, kept in markdown.

Rooms, from the ground up: ``home`` (paths), ``settings``, ``projects``, ``journal`` (the truth),
``transcripts`` (what was said), ``index`` (the cache), ``search``, ``capture``, ``service`` (the resident
process) and ``client`` (what a command or a screen may call). Nothing here knows a screen.
"""

__version__ = "0.3.0"
