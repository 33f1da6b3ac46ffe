"""Correct mistyped words of a query, and list the words that no note contains."""

from __future__ import annotations

from memsearch_engine.index import analyze
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.index.rows import HIDDEN_KINDS
from memsearch_engine.search.request import SearchRequest

_MIN_LENGTH = 4  # shorter words are similar to too many others
_MAX_EDITS = {4: 1, 5: 1, 6: 1, 7: 2}  # by length of the word; 2 for longer words
_REPLACEMENTS = 3
#: Similar words that are checked if some of them may be hidden by default.
_NEAR = 12


class _Vocabulary:
    """The words in the notes that a request can find.

    Notes of kinds that are hidden by default count only if the request asks for such a kind.
    """

    def __init__(self, catalog: Catalog, request: SearchRequest) -> None:
        self._words = catalog.words
        asks_for_hidden = set(request.filter.kinds) & HIDDEN_KINDS
        self.visible_only = not asks_for_hidden and catalog.words.has_hidden()

    def has(self, word: str) -> bool:
        return self._words.has(word, hidden=not self.visible_only)

    def has_prefix(self, prefix: str) -> bool:
        return self._words.has_beginning(prefix, hidden=not self.visible_only)

    def written(self, stem: str) -> str:
        """A written word that has this stem; the stem itself if no note contains one."""
        first = stem[: max(3, len(stem) - 2)]
        words = self._words.written(first)
        return next((word for word in words if analyze.stem(word) == stem), stem)


def correct(
    catalog: Catalog, terms: list[str], request: SearchRequest
) -> tuple[list[str], dict[str, list[str]]]:
    """Replace terms that no note contains with similar terms that occur in notes.

    An unfinished last word and a word that looks like a filter are not replaced.

    Args:
        terms: terms of the query (``analyze.query_terms``).

    Returns:
        The terms to search for, and replaced word as typed -> its replacements (none for a prompt).
    """
    vocabulary = _Vocabulary(catalog, request)
    last = analyze.words(request.text).split()[-1:] if request.last_is_partial else []
    filters = set(analyze.query_terms(" ".join(request.misread)))
    unknown = [
        term
        for term in terms
        if len(term) >= _MIN_LENGTH
        and term.isascii()
        and term not in filters
        and not vocabulary.has(term)
        and not _is_unfinished(vocabulary, last, term)
    ]
    corrected = {
        term: near
        for term in unknown
        if (near := _near(catalog.words.by_length(), vocabulary, term))
    }
    if not corrected:
        return terms, {}
    fixed = list(dict.fromkeys(n for term in terms for n in corrected.get(term, [term])))
    if request.is_prompt:  # nobody reads the replaced words
        return fixed, {}
    shown = {
        _as_typed(request, term): [vocabulary.written(stem) for stem in stems]
        for term, stems in corrected.items()
    }
    shown = {word: near for word, near in shown.items() if near != [word]}
    return fixed, shown


def _near(words: dict[int, list[str]], vocabulary: _Vocabulary, term: str) -> list[str]:
    """The words most similar to a term by edit distance (optimal string alignment).

    Args:
        words: length -> all words of the catalog with that length.
    """
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    edits = _MAX_EDITS.get(len(term), 2)
    limit = _NEAR if vocabulary.visible_only else _REPLACEMENTS
    found = [
        near
        for size in range(len(term) - edits, len(term) + edits + 1)
        for near in extract(
            term, words.get(size, ()), scorer=OSA.distance, score_cutoff=edits, limit=limit
        )
    ]
    near = sorted(found, key=lambda one: one[1])[:limit]
    if vocabulary.visible_only:
        near = [found for found in near if found[0] != term and vocabulary.has(found[0])]
    near = near[:_REPLACEMENTS]
    return [word for word, distance, _ in near if distance == near[0][1]]


def absent(catalog: Catalog, request: SearchRequest, corrected: dict[str, list[str]]) -> list[str]:
    """The words of a request that no note contains and that were not corrected.

    An unfinished last word counts as present if some word begins with it.

    Args:
        corrected: the replaced words, as ``correct`` returns them.
    """
    vocabulary = _Vocabulary(catalog, request)
    words = [word for word in analyze.words(request.text).split() if word not in corrected]
    unknown = []
    for word in words:
        forms = analyze.terms(word)
        # the word as written counts, too: `maxRetries` differs from its terms
        if forms and not any(vocabulary.has(form) for form in (word, *forms)):
            unknown.append(word)
    is_last_unknown = bool(unknown) and unknown[-1] == words[-1]
    if request.last_is_partial and is_last_unknown and vocabulary.has_prefix(words[-1]):
        unknown.pop()
    return unknown


def _is_unfinished(vocabulary: _Vocabulary, last: list[str], term: str) -> bool:
    """Whether a term comes from the unfinished last word and some word begins with that word."""
    if not last or not (analyze.stem(last[0]) == term or term.endswith(f"_{last[0]}")):
        return False
    return vocabulary.has_prefix(last[0])


def _as_typed(request: SearchRequest, term: str) -> str:
    """The word of the query from which a term was made."""
    words = analyze.words(request.text).split()
    return next((word for word in words if analyze.stem(word) == term), term)
