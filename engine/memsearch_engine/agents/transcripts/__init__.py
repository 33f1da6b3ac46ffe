"""Reads the transcripts of agents: one reader per agent, and all return the same ``Turn``.

Readers take an agent's files as they are, skip and count records that they do not know, and never
write to them. This package does not know the journal.
"""
