"""Compares notes with their repository: files, symbols, settings, commands, commits, branches.

``past`` reads the history, ``check`` compares, ``branches`` knows what was merged. ``child`` is the
process that does this, since a history takes minutes, and ``ask`` starts it. git is never run. A
wrong claim is worse than none: what the history does not show is not claimed. Knows texts and times
of notes; no journal, no index.
"""
