"""Notes for the project's team: copies of one's own (``copies``), and files of them for people
without a common repository (``packs``).
"""
