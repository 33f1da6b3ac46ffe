"""Changes values in JSON and leaves the rest of the text unchanged.

An agent's settings are its user's file: only what differs is written anew, so that the layout, the
order and the numbers of the user stay. json-five (``commented``) does so as well, but it takes
0.6 s for 58 kB, and Claude Code's ``~/.claude.json`` grows to megabytes. It also writes changed
lists anew.
"""

from __future__ import annotations

import json
import re
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def changed(text: str, wanted: dict[str, Any]) -> str:
    """Return *text*, changed so that its value is *wanted*.

    Raises:
        ValueError: *text* is no object, or has a name twice in one object.
        RecursionError: it is too deep.
    """
    start = _skip(text, 0)
    indented = re.search(r"\n([ \t]+)\S", text)
    made, end = _Editor(text, indented[1] if indented else "  ").value(start, wanted, "")
    made = text[:start] + made + text[end:]
    if not _same(json.loads(made), wanted):
        raise ValueError("it can't be changed without loss")
    return made


class _Editor:
    """Edits one text.

    Args:
        unit: the indentation of one level.
    """

    def __init__(self, text: str, unit: str) -> None:
        self._text = text
        self._unit = unit

    def value(self, start: int, wanted: Any, indent: str) -> tuple[str, int]:
        """Return (new text of the value at *start*, end of its old text).

        Args:
            indent: indentation of the line on which the value begins.
        """
        now, end = _DECODER.raw_decode(self._text, start)
        if _same(now, wanted):
            return self._text[start:end], end
        if isinstance(now, dict) and isinstance(wanted, dict):
            return self._object(start, end, wanted, indent), end
        if isinstance(now, list) and isinstance(wanted, list):
            return self._list(start, end, now, wanted, indent), end
        return self._fresh(wanted, indent, lines="\n" in self._text[start:end]), end

    def _object(self, start: int, end: int, wanted: dict[str, Any], indent: str) -> str:
        inner, lines = self._layout(start, end, indent)
        parts: list[str] = []
        seen: set[str] = set()
        for begin, at, stop in self._members(start, end):
            key_at = _skip(self._text, begin)
            name, _ = _DECODER.raw_decode(self._text, key_at)
            if name in seen:
                raise ValueError("one object has a name twice")
            seen.add(name)
            if name in wanted:
                made, old_end = self.value(at, wanted[name], inner)
                parts.append(self._text[begin:at] + made + self._text[old_end:stop])
        for name in [name for name in wanted if name not in seen]:
            made = f"{json.dumps(name, ensure_ascii=False)}: "
            parts.append(self._lead(inner, lines=lines, first=not parts) + made)
            parts[-1] += self._fresh(wanted[name], inner, lines=lines)
        return self._closed("{", parts, "}", end, indent, lines=lines)

    def _list(self, start: int, end: int, now: list[Any], wanted: list[Any], indent: str) -> str:
        inner, lines = self._layout(start, end, indent)
        members = self._members(start, end)
        same = 0
        while same < min(len(now), len(wanted)) and _same(now[same], wanted[same]):
            same += 1
        after = 0
        while after < min(len(now), len(wanted)) - same and _same(
            now[-1 - after], wanted[-1 - after]
        ):
            after += 1
        old, new = members[same : len(now) - after], wanted[same : len(wanted) - after]
        parts = [self._text[begin:stop] for begin, _, stop in members[:same]]
        if len(old) == len(new):
            for (begin, at, stop), value in zip(old, new, strict=True):
                made, old_end = self.value(at, value, inner)
                parts.append(self._text[begin:at] + made + self._text[old_end:stop])
        else:
            for value in new:
                lead = self._lead(inner, lines=lines, first=not parts)
                parts.append(lead + self._fresh(value, inner, lines=lines))
        parts += [self._text[begin:stop] for begin, _, stop in members[len(now) - after :]]
        return self._closed("[", parts, "]", end, indent, lines=lines)

    def _members(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Return the offsets of each member of the object or list at *start*.

        They are the begin of its text after the comma, the begin of its value, and the end of its
        text.
        """
        text, found, place = self._text, [], start + 1
        while _skip(text, place) < end - 1:
            at = _skip(text, place)
            if text[start] == "{":
                _, key_end = _DECODER.raw_decode(text, at)
                at = _skip(text, _skip(text, key_end) + 1)
            _, stop = _DECODER.raw_decode(text, at)
            comma = _skip(text, stop)
            if text[comma] == ",":
                stop = comma
            found.append((place, at, stop))
            place = comma + 1 if text[comma] == "," else comma
        return found

    def _layout(self, start: int, end: int, indent: str) -> tuple[str, bool]:
        """Return the indentation of the members, and whether each has a line of its own."""
        first = re.match(r"[ \t\r]*\n([ \t]*)\S", self._text[start + 1 : end])
        if first and self._text[end - 1] not in first[0]:
            return first[1], True
        empty = not self._text[start + 1 : end - 1].strip()
        return indent + self._unit, empty or bool(first)

    def _lead(self, inner: str, *, lines: bool, first: bool) -> str:
        return f"\n{inner}" if lines else "" if first else " "

    def _closed(
        self, opening: str, parts: list[str], closing: str, end: int, indent: str, *, lines: bool
    ) -> str:
        if not parts:
            return opening + closing
        before = re.search(r"[ \t\r\n]*$", self._text[: end - 1])
        tail = before[0] if before else ""
        if lines and "\n" not in tail:
            tail = f"\n{indent}"
        return opening + ",".join(parts) + tail + closing

    def _fresh(self, value: Any, indent: str, *, lines: bool) -> str:
        made = json.dumps(
            value, ensure_ascii=False, allow_nan=False, indent=self._unit if lines else None
        )
        return made.replace("\n", f"\n{indent}")


def _skip(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    return match.end() if match else place


def _same(one: Any, other: Any) -> bool:
    """Compare values as JSON has them: ``1`` is not ``true``, and order in an object is nothing."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
