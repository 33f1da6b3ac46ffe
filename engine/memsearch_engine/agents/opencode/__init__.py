"""OpenCode (tested with 1.18)."""
