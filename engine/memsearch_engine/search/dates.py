"""Dates as people type them: ``2026-02-09``, ``7d``, ``mon``, ``3 weeks ago``, ``14 mar``."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

Span = tuple[str, str]

_RELATIVE = re.compile(r"(\d{1,4})(d|w|m|y)$")
_AGO = re.compile(r"(\d{1,4}|an?) (day|week|month|year)s?(?: ago)?$")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
_NAMES = frozenset(
    "monday tuesday tues wednesday thursday thur thurs friday saturday sunday january february "
    "march april june july august september sept october november december".split()
).union(_WEEKDAYS, _MONTHS)
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?$")


def parse_date(text: str, today: date) -> Span | None:
    """Parse a date or period such as ``2026-02-09``, ``2026-02``, ``7d`` or ``yesterday``.

    Returns:
        The first and the last ISO day, both inclusive; None if *text* is not a date.
    """
    if text in ("today", "yesterday"):
        return _before(today, text == "yesterday")
    if match := _RELATIVE.match(text):
        return _before(today, int(match[1]) * _DAYS[match[2]])
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            day = date.fromisoformat(text).isoformat()
            return day, day
        if match := re.fullmatch(r"(\d{4})-(\d{2})", text):
            return _month(int(match[1]), int(match[2]))
        if re.fullmatch(r"\d{4}", text):
            return date(int(text), 1, 1).isoformat(), date(int(text), 12, 31).isoformat()
    except ValueError:
        return None
    return None


def date_in_words(text: str, today: date) -> Span | None:
    """Parse a date as ``parse_date`` does, or one in English words.

    Weekdays, months and days of a month are the latest that are not after *today*; ``last``
    excludes the one that *today* is in. Hyphens and underscores count as blanks, because the value
    of a filter has none.

    Returns:
        The first and the last ISO day, both inclusive; None if *text* is not a date.

    >>> date_in_words("last march", date(2026, 3, 14))
    ('2025-03-01', '2025-03-31')
    >>> date_in_words("3 weeks ago", date(2026, 3, 14))
    ('2026-02-21', '2026-02-21')
    """
    text = text.strip().casefold()
    if span := parse_date(text, today):
        return span
    text = re.sub(r"[\s_,-]+", " ", text)
    if match := _AGO.match(text):
        number = 1 if match[1] in ("a", "an") else int(match[1])
        return _before(today, number * _DAYS[match[2][0]])
    words = [word for word in text.split() if word not in ("of", "on", "in", "the")]
    is_last = words[:1] == ["last"]
    if is_last or words[:1] == ["this"]:
        words = words[1:]
    try:
        if len(words) == 1:
            return _period(words[0], today, is_last) or _named(words[0], today, is_last)
        return _day_and_month(words, today) if words and not is_last else None
    except (ValueError, OverflowError):  # for example 31 February
        return None


def _before(today: date, days: int) -> Span | None:
    try:
        day = (today - timedelta(days=days)).isoformat()
    except OverflowError:
        return None
    return day, day


def _month(year: int, month: int) -> Span:
    last = calendar.monthrange(year, month)[1]
    return date(year, month, 1).isoformat(), date(year, month, last).isoformat()


def _period(word: str, today: date, is_last: bool) -> Span | None:
    """``week``, ``month``, ``year``: this one or the last one."""
    if word == "week":
        monday = today - timedelta(days=today.weekday() + 7 * is_last)
        return monday.isoformat(), (monday + timedelta(days=6)).isoformat()
    if word == "month":
        month = today.replace(day=1) - timedelta(days=is_last)
        return _month(month.year, month.month)
    if word == "year":
        return parse_date(f"{today.year - is_last:04d}", today)
    return None


def _named(word: str, today: date, is_last: bool) -> Span | None:
    """A weekday or a month."""
    short = _short(word)
    if short in _WEEKDAYS:
        days = (today.weekday() - _WEEKDAYS.index(short)) % 7
        return _before(today, days or 7 * is_last)
    if short in _MONTHS:
        month = _MONTHS.index(short) + 1
        return _month(
            today.year - (month > today.month or (is_last and month == today.month)), month
        )
    return None


def _day_and_month(words: list[str], today: date) -> Span | None:
    """``14 mar``, ``march 14th``, ``14 mar 2025``, ``mar 2025``."""
    year = int(words.pop()) if re.fullmatch(r"\d{4}", words[-1]) else None
    days = [int(match[1]) for word in words if (match := _DAY.match(word))]
    months = [_MONTHS.index(name) + 1 for word in words if (name := _short(word)) in _MONTHS]
    if len(months) != 1 or len(days) + 1 != len(words):
        return None
    if not days:
        return None if year is None else _month(year, months[0])
    if year is None:
        year = today.year - ((months[0], days[0]) > (today.month, today.day))
    day = date(year, months[0], days[0]).isoformat()
    return day, day


def _short(word: str) -> str:
    """Return the three letters of a weekday or month; '' for other words."""
    word = word.rstrip(".")
    return word[:3] if word in _NAMES else ""
