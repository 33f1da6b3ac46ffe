"""What memsearch puts into an agent's session: at its start, at a prompt, around an action, and
after a context compaction.

Uses search and the journal. Knows nothing of hooks, sockets or how notes are captured. The default
is silence: a note that is not relevant costs the agent attention and the owner tokens.
"""
