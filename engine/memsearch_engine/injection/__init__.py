"""Injects notes into agents' sessions: at the start, a prompt, an action, and after a compaction.

It uses search and the journal, and knows nothing of hooks, sockets or capture. By default it
injects nothing: a note that is not relevant costs the agent attention and the owner tokens.
"""
