"""Parts of a ``VectorIndex``: vectors by text hash, the ledger, the matrix, searches."""
