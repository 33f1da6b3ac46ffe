"""Sharing notes with the project's team: copies in the repository (``copies``), and files for
people without it (``packs``).
"""
