"""What was said: one reader per agent, all giving the same ``Turn``. Knows nothing of the journal.

Readers take an agent's files as they are, skip what they don't know and count it, and never write
to them.
"""
