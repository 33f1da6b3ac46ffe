"""The search index over notes.

It can be deleted at any time and is then built again from the day files. ``scan`` and ``watch``
follow changes of the files. ``chunk`` splits entries and ``analyze`` turns text into search terms.
``catalog`` (SQLite with full text) answers lists and word searches. ``vector_index`` answers
searches by meaning: ``embed`` makes vectors, ``vectors`` stores them, and ``stores`` (Milvus)
serves them. This package does not depend on agents' formats or on screens.
"""
