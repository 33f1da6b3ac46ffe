"""Qwen Code (tested with 0.15 and 0.24)."""
