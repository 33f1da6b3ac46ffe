"""Gemini CLI (tested with 0.61)."""
