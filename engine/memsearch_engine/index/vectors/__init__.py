"""Parts of a ``VectorIndex``: vectors by text hash, the ledger of the store, cache and searches."""
