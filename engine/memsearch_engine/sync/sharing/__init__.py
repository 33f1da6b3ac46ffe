"""Shares notes with the project's team, as copies in the repository or as files (``packs``)."""
