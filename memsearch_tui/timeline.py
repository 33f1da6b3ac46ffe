"""The rows of the home list: all notes, newest first, or the hits of a search. No widget here.

Both are sequences of keys; a list asks only for the rows that it draws. A thread reads days ahead;
a day that was not read ahead is read when its rows are first drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import overload

from memsearch_tui.library import Item, Library

_AHEAD = 120  # rows that are read on each side of the cursor
# distance in rows beyond which days are dropped from memory; a day of thirty notes takes 20 KB
_FAR, _DAYS = (
    1000,
    60,
)

#: (path, entry id) of a note, ("", name) of a heading, or ("", "") of a note that is gone.
Key = tuple[str, str]


def is_heading(key: Key) -> bool:
    """Return whether a key is that of a heading."""
    return not key[0]


class Hits(Sequence[Key]):
    """The hits of a search in their order.

    A heading begins each conversation, or the group of faintly similar hits. That group, or the
    conversations with no other hits, are folded into one row, ``FOLD``, if there are better hits.

    Args:
        by_session: the items are ordered by conversation, each under a heading.
        unfolded: show the faintly similar hits.
    """

    FAINT: Key = ("", "faint")
    #: Not a heading: the cursor stops on it, and enter unfolds the group.
    FOLD: Key = ("fold", "faint")

    def __init__(
        self, items: Sequence[Item], *, by_session: bool = False, unfolded: bool = True
    ) -> None:
        self._items = {item.key: item for item in items}
        self._by_session, self._unfolded = by_session, unfolded
        self._keys = list(self._items)
        self.folded = 0
        self.looks: tuple[object, ...] = ()  # all that decides how they are drawn, if known
        #: heading -> agent, day of the best note, number of notes
        self.conversations: dict[Key, tuple[str, str, int]] = {}
        if by_session:
            self._group(has_sure=any(not item.doubtful for item in items))
            return
        sure = [place for place, item in enumerate(items) if not item.doubtful]
        begin = sure[-1] + 1 if sure else 0
        if not 0 < begin < len(self._keys):
            return
        if unfolded:
            self._keys.insert(begin, self.FAINT)
        else:
            self.folded = len(self._keys) - begin
            self._keys[begin:] = [self.FOLD]

    def _group(self, *, has_sure: bool) -> None:
        self._keys = []
        groups = groupby(
            self._items.values(),
            key=lambda item: (item.project, item.agent, item.session or item.entry_id),
        )
        for number, ((_, agent, _), notes) in enumerate(groups):
            found = list(notes)
            if has_sure and not self._unfolded and all(item.doubtful for item in found):
                self.folded += len(found)
                continue
            self.conversations["", f"conversation {number}"] = agent, found[0].day, len(found)
            self._keys += [("", f"conversation {number}"), *(item.key for item in found)]
        if self.folded:
            self._keys.append(self.FOLD)

    def item(self, key: Key | None) -> Item | None:
        """Return the hit of a key; None for a heading."""
        return self._items.get(key) if key else None

    def without(self, keys: set[Key]) -> Hits:
        """Return the hits without those of *keys*."""
        return Hits(
            [item for key, item in self._items.items() if key not in keys],
            by_session=self._by_session,
            unfolded=self._unfolded,
        )

    @property
    def days(self) -> dict[str, int]:
        """Day -> number of listed hits, without the folded ones."""
        return Counter(item.day for item in filter(None, map(self.item, self._keys)))

    @overload
    def __getitem__(self, index: int) -> Key: ...
    @overload
    def __getitem__(self, index: slice) -> list[Key]: ...
    def __getitem__(self, index: int | slice) -> Key | list[Key]:
        return self._keys[index]

    def __len__(self) -> int:
        return len(self._keys)


class Timeline(Sequence[Key]):
    """All notes, newest first; or only those that match filters."""

    def __init__(
        self,
        library: Library,
        miscounted: Callable[[], None] = lambda: None,
        *,
        near: str | None = None,
        only: Mapping[str, set[str]] | None = None,
    ) -> None:
        """Args:
        miscounted: called when a day has another number of notes than expected, so that later
        rows move.
            near: a day; the notes around it are read at once.
            only: path -> ids of the notes to list; None: all notes.
        """
        self._library, self._miscounted, self._only = library, miscounted, only
        self.counts = dict(library.list_days())
        if only is not None:
            found: Counter[str] = Counter()
            for path, ids in only.items():
                found[library.days.day_of(path)] += len(ids)
            self.counts = {day: found[day] for day in self.counts if found[day]}
        self._days: dict[str, dict[Key, Item]] = {}
        self._keys: dict[str, list[Key]] = {}
        self._wrong: set[str] = set()
        self._lay_out()
        if near is not None:
            self._hold(self.read(self.unread(self.start(near))))
            self.settle()

    def _lay_out(self) -> None:
        self._names = [day for day, count in self.counts.items() if count]
        self._starts = [0, *accumulate(self.counts[day] for day in self._names)]
        self._place = {day: number for number, day in enumerate(self._names)}

    def settle(self) -> None:
        """Apply the numbers of notes that were found by reading."""
        for day in self._wrong:
            self.counts[day] = len(self._days[day])
        self._wrong.clear()
        self._lay_out()

    def _of(self, day: str) -> dict[Key, Item]:
        """Return the notes of a day, newest first."""
        if day not in self._days:
            self.take(self.read([day]))
        return self._days[day]

    def unread(self, index: int) -> list[str]:
        """Return the days near row *index* that are not read yet."""
        first, last = (
            self.day_at(max(0, min(row, len(self) - 1))) for row in (index - _AHEAD, index + _AHEAD)
        )
        return (
            [
                day
                for day in self._names[self._place[first] : self._place[last] + 1]
                if day not in self._days
            ]
            if first
            else []
        )

    def read(self, days: Sequence[str]) -> dict[str, list[Item]]:
        """Read the notes of these days; ``take`` stores the result. Thread-safe."""
        only = self._only
        return {
            day: [
                item
                for item in self._library.days.notes(day)
                if only is None or item.entry_id in only.get(item.path, ())
            ]
            for day in days
        }

    def forget_far(self, index: int) -> None:
        """Drop days far from row *index* from memory, if many were read: scrolling through years
        must not fill memory.
        """
        if len(self._days) <= _DAYS:
            return
        first, last = (
            self._place[self.day_at(max(0, min(row, len(self) - 1)))]
            for row in (index - _FAR, index + _FAR)
        )
        for day in [day for day in self._days if not first <= self._place.get(day, first) <= last]:
            if day not in self._wrong:
                del self._days[day], self._keys[day]

    def take(self, found: Mapping[str, list[Item]]) -> None:
        """Store the result of ``read``."""
        if self._hold(found):
            self._miscounted()

    def _hold(self, found: Mapping[str, list[Item]]) -> bool:
        """Store the result of ``read``.

        Returns whether a day has another number of notes than expected.
        """
        for day, items in found.items():
            if day not in self._days:
                self._days[day] = {item.key: item for item in reversed(items)}
                self._keys[day] = list(self._days[day])
                if len(items) != self.counts[day]:
                    self._wrong.add(day)
        return bool(self._wrong)

    def item(self, key: Key | None) -> Item | None:
        """Return the note of a key, or None."""
        day = self._library.days.day_of(key[0]) if key else ""
        return self._of(day).get(key) if key and day in self._place else None

    def day_at(self, index: int) -> str:
        """Return the day of row *index*."""
        return (
            self._names[min(bisect_right(self._starts, index) - 1, len(self._names) - 1)]
            if self._names
            else ""
        )

    def begins_day(self, key: Key) -> bool:
        """Return whether a key is that of the newest note of its day."""
        day = self._library.days.day_of(key[0])
        return day in self._place and next(iter(self._of(day)), None) == key

    def other_day(self, index: int, step: int) -> int:
        """Return the first row of the day that is *step* days with notes from that of row *index*;
        before the first day it is row 0, after the last one *index*.
        """
        place = self._place[self.day_at(index)] + step
        return self._starts[max(0, place)] if place < len(self._names) else index

    def start(self, day: str) -> int:
        """Return the row of the newest note of *day*, or of the next older day that has notes, or
        of the oldest day.
        """
        if day not in self._place:
            day = next(
                (name for name in self._names if name <= day),
                self._names[-1] if self._names else "",
            )
        return self._starts[self._place[day]] if day else 0

    @property
    def total(self) -> int:
        """The number of notes."""
        return sum(self.counts.values())

    @overload
    def __getitem__(self, index: int) -> Key: ...
    @overload
    def __getitem__(self, index: slice) -> list[Key]: ...
    def __getitem__(self, index: int | slice) -> Key | list[Key]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        day = self.day_at(index)
        place = index - self._starts[self._place[day]]
        self._of(day)
        return self._keys[day][place] if place < len(self._keys[day]) else ("", "")

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[Key]:
        return (self[place] for place in range(len(self)))

    def _find(self, key: object) -> int:
        if not isinstance(key, tuple) or len(key) != 2:
            return -1
        day = self._library.days.day_of(key[0])
        if day not in self._place:
            return -1
        return (
            self._starts[self._place[day]] + self._keys[day].index(key)
            if key in self._of(day)
            else -1
        )

    def __contains__(self, key: object) -> bool:
        return self._find(key) >= 0

    def index(self, key: object, start: int = 0, stop: int | None = None) -> int:
        """Return the row of a key."""
        place = self._find(key)
        if not start <= place < (len(self) if stop is None else stop):
            raise ValueError(key)
        return place
