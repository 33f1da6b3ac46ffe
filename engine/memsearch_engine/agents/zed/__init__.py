"""Zed's own agent. Its threads are read (from its source of 2026; not tested with the program)."""
