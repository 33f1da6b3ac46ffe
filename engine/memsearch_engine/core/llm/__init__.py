"""Talking to language models: what a text costs, and (with the user's consent) asking one."""
