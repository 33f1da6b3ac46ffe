"""The truth: day files of markdown, read, appended to, edited and undone without losing a byte.

``model`` names the things, ``parse`` finds them in a file's bytes, ``files`` lists days, ``write``
changes files under a lock, ``history`` keeps what stood before. This room knows nothing of the
index, of agents' transcripts or of screens.
"""
