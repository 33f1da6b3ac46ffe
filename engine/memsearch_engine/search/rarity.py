"""How rare words are among all notes."""

from __future__ import annotations

import math

from memsearch_engine.index.catalog import Catalog


def weights(catalog: Catalog, terms: list[str]) -> dict[str, float]:
    """How rare each term is (Lucene's idf, as Milvus uses it); one that no note has counts like one
    that a single note has.
    """
    if not terms:
        return {}
    known = catalog.words.document_frequencies(terms)
    total = catalog.words.chunk_count()
    return {term: idf_of(known.get(term, 1), total) for term in terms}


def idf_of(notes: int, total: int) -> float:
    """The weight of a term that so many of *total* chunks have."""
    return math.log(1 + (total - notes + 0.5) / (notes + 0.5))
