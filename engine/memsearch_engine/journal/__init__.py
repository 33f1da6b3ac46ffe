"""Day files, the truth: read, append, edit, undo, without losing a byte.

``model`` defines entries, ``parse`` finds them in a file's bytes, ``files`` lists days, ``write``
changes files under a lock, ``history`` stores previous versions. Knows nothing of the index, of
transcripts or of screens.
"""
