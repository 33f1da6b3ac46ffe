"""Finding notes: a query language, lexical search that needs nothing but files, and hybrid search
over the index.

``query`` reads what was typed, ``lexical`` answers from the catalog or from the files alone,
``hybrid`` fuses meaning and words, ``sections`` expands a hit. This room starts no process and
knows no screen.
"""
