"""Measure how rare words are in all notes (inverse document frequency)."""

from __future__ import annotations

import math

from memsearch_engine.index.catalog import Catalog


def weights(catalog: Catalog, terms: list[str]) -> dict[str, float]:
    """The inverse document frequency of each term, by the formula of Lucene and Milvus.

    A term that occurs in no note gets the value of a term that occurs in one.
    """
    if not terms:
        return {}
    known, total = catalog.words.document_frequencies(terms), catalog.words.chunk_count()
    return {term: idf_of(known.get(term, 1), total) for term in terms}


def idf_of(notes: int, total: int) -> float:
    """The inverse document frequency of a term that occurs in *notes* of *total* chunks."""
    return math.log(1 + (total - notes + 0.5) / (notes + 0.5))
