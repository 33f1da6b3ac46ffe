"""Selects the notes for a digest: of a day, a range of days, a file, or a query.

It also decides which of them a model may read, because its digest will be trusted.

``outline`` creates a digest without a model, from lines of the notes in their own words. Lines are
grouped into decisions, changes, errors with their outcome, and open points. Nothing is inferred. A
line that fits no group is left out, and so is a statement that a newer note supersedes.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, timedelta

import msgspec

from memsearch_engine.core.errors import NotFound, Unreachable, UsageError
from memsearch_engine.core.llm.reply import estimate
from memsearch_engine.index.rows import Row
from memsearch_engine.injection.notes import NoteFiles, clipped, newer_versions, outcome_lines
from memsearch_engine.journal.files import day_of
from memsearch_engine.journal.model import Entry
from memsearch_engine.search.dates import parse_date
from memsearch_engine.search.hits import Answer
from memsearch_engine.search.scope import Scope
from memsearch_engine.search.supersession.listing import read_overrides

_FOUND = 200  # maximum notes of a query
_IS_DATES = re.compile(r"[\d\s./:-]+")
_RANGE = re.compile(r"(.+?)\.\.(.+)")

Search = Callable[[str, int], Answer]


class DigestNote(msgspec.Struct, frozen=True):
    """A note that a digest is made from.

    ``superseded``: the day of a newer note that supersedes it; '' if none does.
    """

    day: str
    path: str
    entry: Entry
    superseded: str = ""

    @property
    def id(self) -> str:
        """The id of the entry."""
        return self.entry.id


class Picking(msgspec.Struct):
    """The selected notes.

    ``title``: a description for people. ``left_out``: reason -> number of notes.
    """

    title: str
    notes: list[DigestNote]
    left_out: dict[str, int]


def pick(scope: Scope, search: Search, source: str = "") -> Picking:
    """Select the notes that *source* names, oldest first.

    Args:
        search: runs a query, like ``Memory.search``.
        source: a file, a day (``2026-11-24``, ``yesterday``), days (``2026-11-01..2026-11-07``), or
            a query; '' for the whole project.

    Raises:
        UsageError: the days are in the wrong order.
        NotFound: there are no notes.
    """
    if source and not source.strip():
        raise UsageError(
            "a source is a file, a day, days or a query", "leave it out for the whole project"
        )
    title, found = _named(scope, search, " ".join(source.split()))
    files: dict[str, NoteFiles] = {}
    notes: list[DigestNote] = []
    left: Counter[str] = Counter()
    for path, entry in found:
        folder = scope.memory_of(path)
        note_files = files.setdefault(folder, NoteFiles(folder, scope.journal.origin))
        if not entry.body.strip():
            continue
        if entry.is_digest:
            left["digests of earlier days"] += 1
        elif why := note_files.withheld_reason(entry, path):
            left[why] += 1
        else:
            notes.append(DigestNote(day_of(path), path, entry))
    if not notes:
        why = (
            f" ({', '.join(f'{count} left out: {reason}' for reason, count in left.items())})"
            if left
            else ""
        )
        raise NotFound(
            f"no note of {title} to work with{why}", "`memsearch days` lists what there is"
        )
    superseded = _overtaken(scope, notes)
    notes = [
        msgspec.structs.replace(note, superseded=superseded.get(note.id, "")) for note in notes
    ]
    notes.sort(
        key=lambda note: (note.day or "9999", note.entry.time, note.path, note.entry.start_line)
    )
    return Picking(title, notes, dict(left))


def _overtaken(scope: Scope, notes: list[DigestNote]) -> dict[str, str]:
    """The id of a superseded entry -> the day of the newer note, as far as it is known."""
    found: dict[str, str] = {}
    try:
        overrides, catalog = read_overrides(scope.home), scope.catalog
        if catalog is None:
            return {}
        projects = {project.memory: project.id for project in reversed(scope.projects)}
        for note in notes:
            folder = scope.memory_of(note.path)
            project, origin = projects.get(folder, ""), scope.journal.origin
            pairs = newer_versions(catalog, overrides, project, note.id, folder, origin)
            if pairs:
                found[note.id] = max(pair.newer.day for pair in pairs)
    except Unreachable:  # without an index, supersession is unknown
        return {}
    return found


def _named(scope: Scope, search: Search, source: str) -> tuple[str, Iterator[tuple[str, Entry]]]:
    if not source:
        return "this project", _of_days(scope, "", "")
    if os.path.isfile(source) and source.lower().endswith((".md", ".markdown")):
        return os.path.basename(source), _of_file(scope, os.path.abspath(source))
    if match := _RANGE.fullmatch(source):
        begin, end = (parse_date(text.strip(), date.today()) for text in match.groups())
        if begin and end:
            if begin[0] > end[1]:
                raise UsageError(
                    f"{begin[0]} is after {end[1]}",
                    f"memsearch compact --source {match[2]}..{match[1]}",
                )
            return f"{begin[0]} to {end[1]}", _of_days(scope, begin[0], end[1])
    if days := parse_date(source, date.today()):
        return days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}", _of_days(scope, *days)
    if (
        _IS_DATES.fullmatch(source)
        or ".." in source
        or (os.sep in source and " " not in source)
        or source.endswith(".md")
    ):
        raise UsageError(
            f"{source!r} is no day, no days and no file of this memory",
            "such as 2026-11-24, 2026-11-01..2026-11-07, yesterday",
        )
    return f"“{source}”", _of_query(scope, search, source)


def week(today: date) -> str:
    """The seven days before *today*, as a source."""
    return f"{today - timedelta(days=7)}..{today - timedelta(days=1)}"


def _of_days(scope: Scope, first: str, last: str) -> Iterator[tuple[str, Entry]]:
    for file in scope.days() if first else scope.files():
        if not first or first <= file.day <= last:
            for entry in scope.read(file):
                yield file.path, entry


def _of_file(scope: Scope, path: str) -> Iterator[tuple[str, Entry]]:
    for file in scope.files():
        if os.path.realpath(file.path) == os.path.realpath(path):
            for entry in scope.read(file):
                yield file.path, entry
            return
    raise NotFound(
        f"{path} is no file of this memory",
        "`memsearch days` lists them; `memsearch index FILE` takes others in",
    )


def _of_query(scope: Scope, search: Search, query: str) -> Iterator[tuple[str, Entry]]:
    rows: list[Row] = [hit.row for hit in search(query, _FOUND) if not hit.is_doubtful]
    for row in rows:
        try:
            section = scope.section(row.entry_id)
        except NotFound:
            continue  # deleted since it was indexed
        yield section.path, section.entry


#: The kind of a line: the first pattern that matches. An open point may mention errors and changes,
#: and an error may mention changes.
_KINDS = {
    "Open": re.compile(
        r"\b(?:to ?do|fixme|not yet|still (?:open|missing|to|fails?)|left (?:open|"
        r"for|to)|remains?(?: to)?|next steps?|unfinished|pending|follow[- ]up"
        r"|waits? for|waiting for|open question|unclear|undecided|later:)\b|待办|未完成|下一步",
        re.I,
    ),
    "Decisions": re.compile(
        r"\b(?:decid\w+|decision|agreed|we (?:use|go with|stay with|keep|chose)|"
        r"chose|instead of|rather than|from now on|no longer|any ?more|never|always"
        r"|must(?: not)?|only (?:on|by|in|with|after)|policy|"
        r"rule|convention|superseding|reverted)\b|决定|改为|不再",
        re.I,
    ),
    "Errors": re.compile(
        r"\b(?:errors?|fail(?:s|ed|ure|ing)?|crash\w*|exceptions?|traceback|broke\w*|"
        r"bugs?|deadlock\w*|time[sd]? ?out|leak\w*|race|wrong|flaky|regression"
        r"|caused|because of|was due to)\b|错误|失败|崩溃|修复",
        re.I,
    ),
    "Changes": re.compile(
        r"\b(?:add(?:ed|s)?|chang(?:ed|es)|fix(?:ed|es)|mov(?:ed|es)|rais(?:ed|es)|"
        r"lower(?:ed|s)|remov(?:ed|es)|renam(?:ed|es)|upgrad\w+|updat\w+|replac\w+"
        r"|introduc\w+|split|merged|migrated|refactored|wrote|built|"
        r"enabled|disabled|set \S+ to|now)\b|新增|添加|更新|升级|替换",
        re.I,
    ),
}
ORDER = ("Decisions", "Changes", "Errors", "Open")
_HEAD_TOKENS = 4
_LONGEST = 240  # characters of a line
#: Files, commands and names: `app/core/errors.py` reports no error.
_NAMES = re.compile(r"`[^`]*`|(?<![^\s`])[^\s`]*[\w-]/\S+|\b\w+\.\w{1,5}\b")
#: Lists in an extractive note that describe no outcome.
_META = re.compile(r"(?:User asked|Files changed|Commands|Errors met): ")


def outline(
    notes: list[DigestNote], tokens: int, rareness: Callable[[str], float] = lambda line: 0.0
) -> str:
    """Return a digest of *notes* (oldest first) as markdown; ``""`` if no line has a kind.

    Lines over the budget are removed from the largest kind: a few lines of each kind are more
    useful than all of one.

    Args:
        rareness: rates how rare the words of a line are among all notes. Lines that recur with
            other names and numbers are removed first, then those with the lowest rating, then the
            oldest.
    """
    found: dict[str, list[str]] = {kind: [] for kind in ORDER}
    seen: set[str] = set()
    for note in notes:
        for line in _lines(note):
            words = _NAMES.sub(" ", line)
            kind = next((name for name, pattern in _KINDS.items() if pattern.search(words)), "")
            if kind and line.casefold() not in seen:
                seen.add(line.casefold())
                found[kind].append(
                    f"- {f'{note.day}: ' if note.day else ''}{clipped(line, _LONGEST)} "
                    f"[mem:{note.id[:12]}]"
                )
    plain = {line: _plain(line) for lines in found.values() for line in lines}
    alike = Counter(plain.values())
    worth = {line: (-alike[words], rareness(words)) for line, words in plain.items()}
    # a stable sort: of lines with equal worth, the oldest comes first
    worst = {kind: iter(sorted(lines, key=worth.__getitem__)) for kind, lines in found.items()}
    gone: set[str] = set()
    left = {kind: len(lines) for kind, lines in found.items()}
    size = {line: estimate(line) + 1 for line in plain}
    taken = sum(size.values()) + len(ORDER) * _HEAD_TOKENS
    while taken > tokens and any(left.values()):
        kind = max(left, key=left.__getitem__)
        line = next(worst[kind])
        gone.add(line)
        left[kind] -= 1
        taken -= size[line]
    return _drawn(
        {kind: [line for line in lines if line not in gone] for kind, lines in found.items()}
    )


def _plain(line: str) -> str:
    """A line without names and numbers, so that recurring chores become equal."""
    return " ".join(
        re.sub(r"(?<!\S)\S*\d\S*|\b[A-Z]\w*[A-Z]\w*\b", " ", _NAMES.sub(" ", line)).split()
    )


def _drawn(found: dict[str, list[str]]) -> str:
    return "\n\n".join("\n".join([f"**{kind}**", *lines]) for kind, lines in found.items() if lines)


def _lines(note: DigestNote) -> Iterator[str]:
    """Yield the lines of a note that describe an outcome.

    A line about an error includes the next line, which often says how the error ended.
    """
    if note.superseded:
        return
    lines = [line for line in outcome_lines(note.entry.body) if not _META.match(line)]
    taken = -1
    for place, line in enumerate(lines):
        if place == taken:
            continue
        words = _NAMES.sub(" ", line)
        if (
            _KINDS["Errors"].search(words)
            and place + 1 < len(lines)
            and not _KINDS["Open"].search(words)
        ):
            taken = place + 1
            yield f"{line} {lines[taken]}"
        else:
            yield line
