"""Claude Code (tested with 2.1)."""
