"""Compares notes with their repository: files, symbols, settings, commands, commits, branches.

``references`` finds names in notes, ``past`` reads the history, and ``check`` compares. ``child``
is the process that does this, because a history takes minutes, and ``ask`` starts it. git is never
run. A wrong claim is worse than none, so only what the history shows is claimed. The package knows
the texts and times of notes, but no journal and no index.
"""
