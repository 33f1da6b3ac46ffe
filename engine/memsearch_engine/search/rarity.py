"""How rare words are among all notes (inverse document frequency)."""

from __future__ import annotations

import math

from memsearch_engine.index.catalog import Catalog


def weights(catalog: Catalog, terms: list[str]) -> dict[str, float]:
    """The inverse document frequency of each term, as Lucene and Milvus compute it. A term that no
    note has counts like one that a single note has.
    """
    if not terms:
        return {}
    known, total = catalog.words.document_frequencies(terms), catalog.words.chunk_count()
    return {term: idf_of(known.get(term, 1), total) for term in terms}


def idf_of(notes: int, total: int) -> float:
    """The inverse document frequency of a term that *notes* of *total* chunks have."""
    return math.log(1 + (total - notes + 0.5) / (notes + 0.5))
