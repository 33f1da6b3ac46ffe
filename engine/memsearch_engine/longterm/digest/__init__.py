"""Digests: summaries of many notes that a person asks for, stored as notes.

Each line cites the notes that support it. The package uses ``memory`` and models. It imports no
screen and no agent.
"""
