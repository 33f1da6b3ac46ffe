"""GitHub Copilot CLI (tested with 1.0.102)."""
