"""The parts of a ``VectorIndex``: vectors by text, the ledger of the store, the cache, searches."""
