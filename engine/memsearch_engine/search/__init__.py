"""Search: the query language, lexical search over files, and hybrid search over the index.

``request`` parses the query. ``lexical`` answers from the catalog or from the files alone.
``hybrid`` combines meaning and words. ``sections`` returns the whole note of a hit. This package
starts no process and imports no screen.
"""
