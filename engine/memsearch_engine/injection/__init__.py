"""What a session is told unasked while it works: the notes that bear on what it is about to do, or
nothing.

Knows search, the journal and trust; knows no agent's hooks and no sockets. Silence is the default:
a note that is beside the point costs the agent's attention and the owner's tokens.
"""
