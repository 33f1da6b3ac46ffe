"""Counts, shortened texts and errors for people."""

from __future__ import annotations

import os
from datetime import datetime

_TITLE = 40  # characters of a title in a message


def many(count: int, one: str) -> str:
    """Return a count with its noun: ``1 hit``, ``2 hits``, ``3 entries``, ``4 days``."""
    if count == 1:
        return f"1 {one}"
    return (
        f"{count:,} {one[:-1]}ies"
        if one.endswith("y") and one[-2] not in "aeiou"
        else f"{count:,} {one}s"
    )


def cut_middle(text: str, room: int) -> str:
    """Return *text* in at most *room* characters: its beginning and its end, where the most useful
    parts are.
    """
    if len(text) <= room:
        return text
    end = room * 2 // 3
    return f"{text[: room - end - 1]}…{text[-end:]}"


def reason(error: BaseException) -> str:
    """Return what an error says in one line: a file by its name, and no number of the error."""
    if isinstance(error, OSError) and error.strerror:
        name = os.path.basename(str(error.filename or ""))
        return f"{name}: {error.strerror}" if name else error.strerror
    return str(error)


def quoted(title: str) -> str:
    """Return a title in quotation marks for a message: at most 40 characters of it."""
    return f"“{title if len(title) <= _TITLE else f'{title[: _TITLE - 1].rstrip()}…'}”"


def when(moment: str, today: str) -> str:
    """Return a short form of a time: ``14:31`` today, ``Sat 14:31`` in the last week, else
    ``2026-02-09``.

    Args:
        moment: an ISO day, a blank, and a time.
        today: an ISO day.
    """
    day, _, time = moment.partition(" ")
    try:
        age = (datetime.fromisoformat(today) - datetime.fromisoformat(day)).days
    except ValueError:
        return day
    return (
        time or "today"
        if age <= 0
        else f"{datetime.fromisoformat(day):%a} {time}".strip()
        if age < 7
        else day
    )
