"""The cache: what makes notes findable fast. All of it can be deleted and built again from the day
files.

``analyze`` and ``chunk`` turn entries into what is indexed, ``catalog`` (SQLite with full text)
answers lists and words, ``store`` (Milvus) answers meaning and BM25, ``embed`` makes vectors,
``sync`` keeps all of them up with the files and ``watch`` says when. This room knows nothing of
agents or of screens.
"""
