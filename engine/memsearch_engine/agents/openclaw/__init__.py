"""OpenClaw (tested with 2026.9)."""
