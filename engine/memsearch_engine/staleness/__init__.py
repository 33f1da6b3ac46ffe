"""Whether what notes name is still there: files, symbols, settings, commands, commits and branches
against the project's repository.

``past`` keeps what a repository's history says, ``check`` compares, ``branches`` tells what was
merged, ``child`` is the process in which that is done (a history is minutes of work, and a service
answers meanwhile), ``ask`` starts it. git is never run (``repository``). Wrong is
worse than missing: what the history does not show is not claimed. This room knows texts and times
of notes, no journal and no index.
"""
