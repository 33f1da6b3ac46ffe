"""Parse a query, as a person typed it, into a :class:`SearchRequest`.

Example: ``redis ttl agent:codex after:7d -draft "exact phrase"``. ``FILTERS`` lists the filters.
``-word`` leaves out notes that contain the word. A word that only looks like a filter (unknown key,
impossible value) or like an exclusion (``-s``, ``--flag``) is searched as text.

Whoever takes a query from a person parses it. Searching functions get the request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, NamedTuple

import msgspec

from memsearch_engine.core import agent_registry
from memsearch_engine.core.project_location import author_name
from memsearch_engine.index.rows import Filter, Row
from memsearch_engine.journal.model import CONFLICT, CONFLICT_OF, UNTRUSTED, safe_branch
from memsearch_engine.search.dates import date_in_words

AGENTS = agent_registry.names()
_AGENT_NAMES = {
    other: agent.name for agent in agent_registry.everyone() for other in agent.also_called
}
KINDS = ("turn", "note", "memory", "fact", "summary", "project", "user", "native")
#: Value of ``is:`` -> (row, ISO day of today) -> whether the note matches it.
_FLAGS: dict[str, Callable[[Row, str], bool]] = {
    "pinned": lambda row, _: "pin" in row.marks,
    "superseded": lambda row, _: "superseded-by" in row.marks,
    "expired": lambda row, today: is_expired(row.marks, today),
    "pending": lambda row, _: row.marks.get("summary") == "pending",
    "untrusted": lambda row, _: row.marks.get("trust") in UNTRUSTED,
    "stale": lambda row, _: bool(row.stale),
    "unmerged": lambda row, _: bool(row.unmerged),
    "conflict": lambda row, _: CONFLICT in row.marks or CONFLICT_OF in row.marks,
    "shared": lambda row, _: bool(row.author),
}
IS = tuple(_FLAGS)
_DATES = ("2026-02-09", "2026-02", "7d", "today", "yesterday")
_NAMED = 8  # values that a remark on a misread filter names


class QueryFilter(NamedTuple):
    """A filter of queries: what its values are, what matches it, and how help describes it.

    Attributes:
        example: the filter with a value.
        meaning: completes "notes …"; empty if another filter's row describes it, too.
        values: all values, or examples if ``is_date``; () if they cannot be listed.
        is_date: a value is a date or a range of days.
        matches: (row, value, request) -> whether the note matches a value. Without it, a minus
            cannot stand before the filter.
        field: the field of ``SearchRequest`` with the values, which ``matches`` checks; '' if
            ``SearchRequest.filter`` or the choice of projects checks them.
        several: ``all`` if a note must match all of several values, ``any`` if one is enough.
    """

    example: str
    meaning: str
    values: tuple[str, ...] = ()
    is_date: bool = False
    matches: Callable[[Row, str, SearchRequest], bool] | None = None
    field: str = ""
    several: Callable[[Iterable[bool]], bool] = all


#: The filters of queries, in the order of help.
FILTERS = {
    "agent": QueryFilter(
        "agent:codex",
        "of this agent; agent:me of yours; -agent:codex of any other",
        AGENTS,
        matches=lambda row, value, _: row.agent == value,
    ),
    "project": QueryFilter("project:website", "of this project; project:* of all (also --all)"),
    "session": QueryFilter(
        "session:abc123",
        "of this conversation",
        matches=lambda row, value, _: row.session.startswith(value),
    ),
    "day": QueryFilter(
        "day:2026-02-09",
        "of this day; after:7d since then; before:2026-03 before it\n"
        "days: 2026-02-09, 2026-02, 7d, yesterday, mon, 14-mar, 3-weeks-ago",
        _DATES,
        is_date=True,
        matches=lambda row, value, _: row.day == value,
    ),
    "after": QueryFilter("after:7d", "", _DATES, is_date=True),
    "before": QueryFilter("before:2026-03", "", _DATES, is_date=True),
    "as-of": QueryFilter(
        "as-of:2026-03-01",
        "notes as they were at the end of that day",
        _DATES,
        is_date=True,
    ),
    "kind": QueryFilter(
        "kind:note", ", ".join(KINDS), KINDS, matches=lambda row, value, _: row.kind == value
    ),
    "is": QueryFilter(
        "is:pinned",
        ", ".join(IS),
        IS,
        matches=lambda row, value, request: _FLAGS[value](row, request.day),
        field="flags",
    ),
    "has": QueryFilter(
        "has:evidence",
        "whose conversation can still be opened",
        ("evidence",),
        matches=lambda row, value, _: any(anchor.path for anchor in row.anchors),
        field="has",
    ),
    "path": QueryFilter(
        "path:docs/",
        "of files under this path",
        matches=lambda row, value, _: value.lower() in row.path.lower(),
        field="paths",
    ),
    "branch": QueryFilter(
        "branch:main",
        "whose turn ran on this branch",
        matches=lambda row, value, _: safe_branch(row.marks.get("branch", "")) == value,
        field="branches",
        several=any,
    ),
    "by": QueryFilter(
        "by:ana",
        "shared by this person",
        matches=lambda row, value, _: row.author == value,
        field="authors",
        several=any,
    ),
}
FILTER_KEYS = tuple(FILTERS)
#: (field, several, matches) of each filter that the vector index cannot check.
_CHECKED_HERE = tuple(
    (known.field, known.several, known.matches)
    for known in FILTERS.values()
    if known.field and known.matches
)

_TOKEN = re.compile(
    r'(?P<neg>-)?(?:(?P<key>[a-z]+(?:-[a-z]+)?):)?(?:"(?P<quoted>[^"]*)"|(?P<word>[^\s"]+))'
)
#: Words that ask for the present state. Newer notes then get a higher score.
_NOW = re.compile(
    r"\b(latest|newest|current|currently|now|today|recent|"
    r"recently|these days|at the moment|anymore|still"
    r"|aktuell|derzeit|jetzt|ahora|actual|actualmente|"
    r"actuellement|maintenant)\b|现在|目前|最新|当前|如今",
    re.I,
)
#: Words that ask for an earlier state. The newest version of a note is then not the answer.
#: ``_PERHAPS_THEN`` counts only beside a verb in the past tense: "what runs before the tests" and
#: "which of them comes first" ask for the present state.
_THEN = re.compile(
    r"\b(originally|initially|at first|previously|formerly|earliest|oldest|back then|used to"
    r"|ursprünglich|anfangs|früher|originalmente|antes|avant)\b|最初|原来|以前|之前|当初",
    re.I,
)
_PERHAPS_THEN = re.compile(r"\b(first|earlier|old|before)\b", re.I)
_PAST = re.compile(
    r"\b(was|were|did|had|been|ran|came|went|decided|chose|said)\b|\b\w{3,}ed\b", re.I
)
#: Text with one spelling only: an identifier, a path, a ticket, a number, an error name.
_IDENTIFIER = re.compile(r"\w[_./:@#-]\w|[a-z][A-Z]|\d{2}|[A-Z]{2}|`")
_IDENTIFIER_TERM = re.compile(r"[\d_./]")
#: A word that can be excluded. ``-s``, ``-rf`` and ``-s/--case-sensitive`` are flags of a command.
_EXCLUDABLE = re.compile(r"[^\W\d_]{3,}|(?!.*[\x00-\x7f])\w+")
#: Recognises a question. A word of ``_NOW`` asks for the present state only in a question or at the
#: beginning of the query ("latest redis ttl"). Elsewhere it describes a change: "The parser now
#: preserves comments".
_QUESTION = re.compile(
    r"^\W*(what|which|who|where|how|when|why|is|are|was|were|do|does|did|can|should|was|wie|wer|wo"
    r"|qué|cuál|cómo|quel|quelle|comment)\b|[?？]\s*$|吗|什么|哪|怎么|多少",
    re.I,
)
MAX_QUERY = 2_000


class SearchRequest(msgspec.Struct):
    """A parsed query: words, filters and options.

    Attributes:
        raw: the query as typed.
        text: the words to search for; empty for filters alone.
        phrases: texts that a note must contain.
        excluded: words and phrases that a note must not contain.
        projects: names of the projects to search; empty for the current one.
        filter: conditions that the vector index checks too.
        has, flags, paths, branches, authors: conditions that the vector index cannot check.
        excluded_filters: (key, value) that a note must not match.
        misread: words that look like a filter but are searched as text.
        as_of: ISO day; the notes are searched as they were at its end. Empty for now.
        last_is_partial: whether the last word may be unfinished.
        is_cut: whether the query was longer than ``MAX_QUERY`` characters.
        is_prompt: whether the text is a prompt to an agent. A prompt is not a question about notes,
            so a word such as "before" does not ask for the past.
        asks_for_present, asks_for_past: whether it asks for the current or an earlier state.
        has_identifier: whether the text contains an identifier, a path or a number.
        limit: number of hits.
        mode: ``hybrid``, ``dense``, ``bm25`` or ``lexical``.
        fusion: ``weighted`` or ``rrf``; empty for the configured one.
    """

    raw: str
    text: str = ""
    phrases: list[str] = []
    excluded: list[str] = []
    projects: list[str] = []
    filter: Filter = Filter()
    has: list[str] = []
    flags: list[str] = []
    paths: list[str] = []
    branches: list[str] = []
    authors: list[str] = []
    excluded_filters: list[tuple[str, str]] = []
    misread: list[str] = []
    as_of: str = ""
    last_is_partial: bool = False
    is_cut: bool = False
    is_prompt: bool = False
    asks_for_present: bool = False
    asks_for_past: bool = False
    has_identifier: bool = False
    limit: int = 10
    mode: str = "hybrid"
    fusion: str = ""

    @classmethod
    def of_words(cls, text: str, *, is_prompt: bool = False, limit: int = 10) -> SearchRequest:
        """A request for *text* without parsing: nothing in it is a filter."""
        request = cls(raw=text, text=text, is_prompt=is_prompt, limit=limit)
        request.classify()
        return request

    def classify(self) -> None:
        """Set ``has_identifier``, ``asks_for_present`` and ``asks_for_past`` from ``text``."""
        self.has_identifier = bool(_IDENTIFIER.search(self.text))
        if self.is_prompt:
            return
        self.asks_for_present = (now := _NOW.search(self.text)) is not None and (
            not self.text[: now.start()].strip() or bool(_QUESTION.search(self.text))
        )
        self.asks_for_past = bool(_THEN.search(self.text)) or bool(
            _PERHAPS_THEN.search(self.text) and _PAST.search(self.text)
        )

    def with_(self, **changes: Any) -> SearchRequest:
        """A copy with other values, such as another ``limit``."""
        return msgspec.structs.replace(self, **changes)

    @property
    def day(self) -> str:
        """The ISO day for which expiry is checked: ``as_of``, else today."""
        return self.as_of or date.today().isoformat()

    @property
    def remark(self) -> str:
        """A remark for the person about cut or misread parts of the query; empty if none."""
        parts = [f"the query was cut after {MAX_QUERY} characters"] if self.is_cut else []
        for word in self.misread:
            key = word.partition(":")[0]
            known = FILTERS.get(key.lstrip("-"))
            if known is None:
                why = f"did you mean {_nearest(key.lstrip('-'))}: ?"
            elif key.startswith("-") and not known.matches:
                why = f"{key[1:]}: has no exclusion"
            else:
                why = ", ".join([*known.values[:_NAMED], *["…"] * (len(known.values) > _NAMED)])
            parts.append(f"{word} is no filter ({why}): searched as text")
        return "; ".join(parts)

    @property
    def filters_after_fetch(self) -> bool:
        """Whether some filters are checked only after the index has returned rows.

        ``admits`` may then remove rows, so the index must return more than the limit.
        """
        return bool(
            self.filter.sessions
            or self.phrases
            or self.excluded
            or self.excluded_filters
            or any(getattr(self, field) for field, *_ in _CHECKED_HERE)
        )

    @property
    def checks_note_text(self) -> bool:
        """Whether a check needs the whole note and not one chunk (``Row.note_text``)."""
        return bool(self.phrases or self.excluded)

    @property
    def is_empty(self) -> bool:
        """Whether the query has no words: it has filters only, or nothing."""
        return not self.text.strip()

    def admits(self, row: Row) -> bool:
        """Whether the note of a row meets all conditions of the request."""
        return self.admits_but_for_words(row) and not self.excludes(row)

    def admits_but_for_words(self, row: Row) -> bool:
        """Whether the note of a row meets all conditions except the excluded words."""
        if not self.filter.admits(row.day, row.agent, row.session, row.kind):
            return False
        for field, several, matches in _CHECKED_HERE:
            values = getattr(self, field)
            if values and not several(matches(row, value, self) for value in values):
                return False
        if self.phrases:
            text = _spelled(row.note_text or row.embedded)
            if any(_spelled(phrase) not in text for phrase in self.phrases):
                return False
        return not any(
            (match := FILTERS[key].matches) and match(row, value, self)
            for key, value in self.excluded_filters
        )

    def excludes(self, row: Row) -> bool:
        """Whether the note of a row contains an excluded word or phrase."""
        if not self.excluded:
            return False
        text = _spelled(row.note_text or row.embedded)
        return any(
            re.search(rf"(?<!\w){re.escape(_spelled(word))}(?!\w)", text) for word in self.excluded
        )


def identifiers(terms: list[str]) -> set[str]:
    """The identifiers among the terms of a query: names, paths, numbers."""
    return {term for term in terms if _IDENTIFIER_TERM.search(term)}


class LeftOut:
    """Counts the notes that match a request except for an excluded word."""

    def __init__(self, request: SearchRequest) -> None:
        self._request = request
        self._notes: set[tuple[str, str]] = set()

    def admits(self, row: Row) -> bool:
        """Whether the request admits a row; a note with an excluded word is counted."""
        if not self._request.admits_but_for_words(row):
            return False
        if self._request.excludes(row):
            self._notes.add((row.project, row.entry_id))
            return False
        return True

    @property
    def remark(self) -> str:
        """A sentence for the person; empty if nothing was left out."""
        if not self._notes:
            return ""
        words = " or ".join(f"“{word}”" for word in self._request.excluded)
        return f"left out {len(self._notes)} note{'s' * (len(self._notes) > 1)} with {words}"


def _spelled(text: str) -> str:
    if text.isascii():
        return text.lower()
    from memsearch_engine.index.analyze import plain

    return plain(text).casefold()


def is_expired(marks: dict[str, str], today: str) -> bool:
    """Whether the expiry day of a note is before *today* (ISO day)."""
    return "" < marks.get("expires", "") < today


def parse(raw: str, today: date | None = None, **options: Any) -> SearchRequest:
    """Parse a query. It never fails: an invalid filter is searched as text.

    Args:
        raw: the query as typed.
        today: the day from which relative dates count; today by default.
        options: ``limit``, ``mode`` and ``fusion`` of the request.
    """
    today = today or date.today()
    request = SearchRequest(raw=raw, **options)
    request.is_cut = len(raw) > MAX_QUERY
    text = raw[:MAX_QUERY]
    words: list[str] = []
    lists: dict[str, list[str]] = {
        "agent": [],
        "session": [],
        "kind": [],
        "project": request.projects,
        **{key: getattr(request, known.field) for key, known in FILTERS.items() if known.field},
    }
    days = ["", ""]
    for match in _TOKEN.finditer(text):
        value = match["quoted"] if match["quoted"] is not None else match["word"]
        key, negative = match["key"] or "", bool(match["neg"])
        known = FILTERS.get(key)
        if known and value and (known.matches or not negative):
            if known.is_date and _apply_date(request, days, key, value, negative, today):
                continue
            if not known.is_date and _apply(request, lists, key, value, negative):
                continue
        if key:
            words.append(match[0])
            is_meant = known and (known.values or (negative and not known.matches))
            if value and (is_meant or (known is None and _nearest(key))):
                request.misread.append(f"{match['neg'] or ''}{key}:{value}"[:60])
        elif negative and value and (match["quoted"] is not None or _EXCLUDABLE.fullmatch(value)):
            request.excluded.append(value)
        elif match["quoted"] is not None:
            if value.strip():
                request.phrases.append(value.strip())
                words.append(value)
        else:
            words.append(match[0])
    request.text = " ".join(words)
    request.filter = Filter(
        tuple(lists["agent"]),
        tuple(lists["session"]),
        tuple(lists["kind"]),
        days[0],
        days[1],
        request.as_of,
    )
    request.last_is_partial = (
        bool(words) and text[-1:].isalnum() and bool(re.search(r"\w$", words[-1]))
    )
    request.classify()
    return request


def _apply(
    request: SearchRequest, lists: dict[str, list[str]], key: str, value: str, negative: bool
) -> bool:
    """Add a filter that is no date to the request; False if its value is not valid."""
    values = FILTERS[key].values
    if key == "agent":
        value = _AGENT_NAMES.get(value.lower(), value.lower())
    elif key == "by":
        value = author_name(value)
    elif values:
        value = value.lower()
    if values and value not in values:
        return False
    if negative:
        request.excluded_filters.append((key, value))
    else:
        lists[key].append(value)
    return True


def _apply_date(
    request: SearchRequest, days: list[str], key: str, value: str, negative: bool, today: date
) -> bool:
    """Add a filter that is a date to the request; False if its value is not valid.

    Args:
        days: the first and the last day, ``""`` for any; changed.
    """
    span = date_in_words(value.lower(), today)
    if span is None:
        return False
    if negative:
        request.excluded_filters.append((key, span[0]))
    elif key == "as-of":
        request.as_of = min(request.as_of or span[1], span[1])
    if negative or key == "as-of":
        return True
    if key != "before":
        days[0] = max(days[0], span[0])
    if key != "after":
        last = span[1] if key == "day" else span[0]
        days[1] = min(days[1] or last, last)
    return True


def _nearest(key: str) -> str:
    """The filter key most similar to an unknown one; '' if none is similar."""
    from difflib import get_close_matches  # 3 ms, and a mistyped filter is rare

    return next(iter(get_close_matches(key, FILTER_KEYS, 1, 0.75)), "")


def request_of(query: str | SearchRequest, **options: Any) -> SearchRequest:
    """Parse a query unless it is a request already.

    Args:
        query: text from a command line; bytes that are not UTF-8 are replaced.
        options: fields of the request, such as ``limit``; ignored if *query* is a request.
    """
    if isinstance(query, SearchRequest):
        return query
    return parse(query.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), **options)
