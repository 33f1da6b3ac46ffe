"""Codex CLI (reads 0.116 to 0.169, tested with 0.169)."""
