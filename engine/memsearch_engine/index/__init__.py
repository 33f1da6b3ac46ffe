"""The index: what makes notes findable fast.

All of it can be deleted at any moment, and is built again from the day files. ``scan`` and ``watch``
follow the files, ``analyze`` and ``chunk`` make of an entry what is searched. ``catalog`` (SQLite
with full text) answers lists and words. ``vector_index`` answers meaning: ``embed`` makes vectors,
``vectors`` holds them, ``stores`` (Milvus) serves them. This room knows nothing of agents' formats
or of screens.
"""
