"""Knows which notes this home wrote, and what its owner decided about notes.

Only notes that this home wrote or its owner released are injected. This is stored in ``state.db``
by content: a mark in a file, or a file in a folder, may come from anyone. What the owner types with
another program waits for one release, too.

Decisions (quarantine, supersede, edit, delete) are stored here as well: for each known text the day
it belongs to, and whether a later decision replaced it. A file that contradicts a decision (a
revert, a bad merge, an older branch) is shown, injected nowhere, and asked about once. Only this
program changes a decision.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import date
from enum import IntEnum
from pathlib import Path
from typing import Any

from memsearch_engine.core import freshness
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.migrations import rows_in, tables_of, transaction
from memsearch_engine.core.project_location import author_of
from memsearch_engine.core.state import StateTables
from memsearch_engine.journal import shared
from memsearch_engine.journal.files import DayFile, day_of, list_files, read_day_or_empty
from memsearch_engine.journal.history import History
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.model import CONFLICT_OF, RELEASED, UNTRUSTED, Entry, QuarantineReason
from memsearch_engine.journal.parse import parse

#: How a note came to be: what capture wrote may be brought up to date as its turn grows.
CAPTURED = "captured"
#: For more values than this, a whole table is read, if it has less than so many rows a value.
_MANY, _WHOLE = 5000, 4
#: How the text of a turn is known, which is no entry.
_BODY = "body"


class Verdict(IntEnum):
    """The owner's decision about a text on a day.

    ``MOVED`` is never stored: it means that the text is only known on other days.
    """

    ACCEPTED = 0
    REPLACED = 1
    REFUSED = 2
    MOVED = 3


def key_of(raw: bytes) -> str:
    """Key of an entry's bytes."""
    return digest(raw, size=16)


class Origin(StateTables):
    """The texts that one home wrote or released.

    Attributes:
        is_agents: an agent makes the changes, so they end no decision of the owner.
    """

    is_agents = False

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._adopted: set[str] = set()

    # -- writing

    def wrote(self, raws: Iterable[bytes], how: str = "written") -> None:
        """Record that this home writes these entries.

        It is called before the write. A failed write does no harm.

        Raises:
            Unreachable: it can't be recorded.
        """
        rows = [(key_of(raw), how, time.time()) for raw in raws]
        with self._using() as db:
            db.executemany(
                "INSERT OR REPLACE INTO origin_notes (key, how, at) VALUES (?,?,?)", rows
            )
        if how == "released":
            freshness.changed(self.home)

    def take_back(self, raws: Iterable[bytes]) -> None:
        """Forget these entries; released ones are quarantined again. Raises Unreachable."""
        rows = [(key_of(raw),) for raw in raws]
        with self._using() as db:
            db.executemany("DELETE FROM origin_notes WHERE key=?", rows)
        freshness.changed(self.home)

    def adopt(self, keys: Iterable[str]) -> None:
        """Accept notes by key: another machine of the owner wrote them."""
        rows = [(key, "written", time.time()) for key in keys if key]
        with self._using() as db:
            db.executemany("INSERT OR IGNORE INTO origin_notes (key, how, at) VALUES (?,?,?)", rows)
        freshness.changed(self.home)

    def trust(self, memory: str) -> int:
        """Release everything in a folder and in the shared folder beside it.

        Texts that read like instructions still wait.

        Returns:
            The number of released notes.
        """
        found = {
            file.path: read_day_or_empty(file.path).entries
            for file in shared.list_notes(memory).files
        }
        self.take_over(found)
        return sum(map(len, found.values()))

    def take_over(self, found: dict[str, list[Entry]]) -> None:
        """Release entries as they are. Earlier decisions stay. Raises Unreachable."""
        for path, entries in found.items():
            known = self._known(entries)
            self.record_day(
                day_of(path), [entry for entry in entries if key_of(entry.raw) not in known]
            )
        self.adopt(key_of(entry.raw) for entries in found.values() for entry in entries)

    # -- asking

    def arrived(self, memory: str, entries: list[Entry], path: str) -> set[str]:
        """Return the ids of entries that this home neither wrote nor released.

        For shared entries, these include the ones that are not committed.

        Raises:
            Unreachable: the records can't be read.
        """
        unknown = self.unknown(memory, [key_of(entry.raw) for entry in entries])
        found = [entry for entry in entries if key_of(entry.raw) in unknown]
        if found and author_of(path) and shared.is_in(path, memory):
            let_in = shared.committed(path, memory)
            decided = self._decided_ids(
                found
            )  # another text of a note that the owner decided about waits for him
            found = [
                entry
                for entry in found
                if shared.with_lf(entry.raw) not in let_in or entry.id in decided
            ]
        return {entry.id for entry in found} | self.contradicting(entries, day_of(path)).keys()

    def unknown(self, memory: str, keys: list[str]) -> set[str]:
        """Return the keys of entries that this home neither wrote nor released.

        Raises:
            Unreachable: the records can't be read.
        """
        self._adopt(memory)
        known = (
            self._joined("key", f"origin_notes WHERE how<>'{_BODY}'")
            if self._is_most("origin_notes", len(keys))
            else {key for key, how in self._how(keys).items() if how != _BODY}
        )
        return {key for key in keys if key not in known}

    def released(self, entries: list[Entry]) -> set[str]:
        """Ids of entries that the owner released as they are, whatever they say."""
        known = self._known(entries)
        return {entry.id for entry in entries if known.get(key_of(entry.raw)) == "released"}

    def saw(self, body: str) -> None:
        """Record what capture made of a turn; a later version is compared with it."""
        self.wrote([body.encode("utf-8", "replace")], _BODY)

    def has_seen(self, body: str) -> bool:
        """Whether ``saw`` or a write recorded this text."""
        return self.is_written_here(body.encode("utf-8", "replace"))

    def came_by(self, raw: bytes, *how: str) -> bool:
        """Whether these bytes came in one of these ways. ``CAPTURED``: unedited since capture."""
        return bool(self.those([raw], *how))

    def those(self, raws: Iterable[bytes], *how: str) -> set[bytes]:
        """The *raws* that came in one of these ways."""
        keys = {key_of(raw): raw for raw in raws}
        return {keys[key] for key, came in self._how(list(keys)).items() if came in how}

    def is_own(self, raw: bytes, memory: str) -> bool:
        """Whether a note of this memory folder was written here."""
        self._adopt(memory)
        return self.is_written_here(raw)

    def is_written_here(self, raw: bytes) -> bool:
        """Whether this home wrote or accepted these bytes, wherever they are."""
        return bool(self._how([key_of(raw)]))

    def known_keys(self, keys: Iterable[str]) -> set[str]:
        """The *keys* that this home wrote or released and that no decision replaced."""
        names = [key for key, how in self._how(list(keys)).items() if how != _BODY]
        blobs = [blob for key in names if (blob := _blob(key))]
        return set(names) - {
            found.hex() for (found,) in self._select("key", "origin_states", "key", blobs)
        }

    # -- decisions

    def decided(
        self,
        day: str,
        before: Sequence[Entry],
        after: Sequence[Entry],
        *,
        replaces: bool = True,
        clears: bool = True,
        strange: Collection[str] = (),
    ) -> None:
        """Record the effect of one of our changes on the entries of a file.

        Args:
            day: of the file, or ``""``.
            replaces: what is gone is gone by decision; if it comes back, the owner is asked.
            clears: the new text is a decision; otherwise it contradicts one if the text before
                it did.
            strange: keys of texts that another machine does not vouch for.

        Raises:
            Unreachable: it cannot be written.
        """
        old, new = {entry.hash for entry in before}, {entry.hash for entry in after}
        doubted = {entry.id for entry in after if strange and key_of(entry.raw) in strange}
        gone = [entry for entry in before if entry.hash not in new and entry.id not in doubted]
        added = [entry for entry in after if entry.hash not in old and entry.id not in doubted]
        wrong = set() if clears else self.contradicting(gone, day).keys()
        no = self.contradicting(
            added, day
        )  # what was refused and is back by an undo or by sync is asked about again
        wrong |= {
            name for name, verdict in no.items() if self.is_agents or verdict is Verdict.REFUSED
        }
        rows = (
            [(entry, Verdict.REPLACED) for entry in gone if entry.id not in wrong]
            if replaces
            else []
        )
        rows += [
            (entry, Verdict.REPLACED if entry.id in wrong else Verdict.ACCEPTED) for entry in added
        ]
        self._record(day, rows, anew=replaces or clears)

    def record_day(self, day: str, entries: Iterable[Entry]) -> None:
        """Record the day of texts of this home that have none yet. Raises Unreachable."""
        self._record(day, [(entry, Verdict.ACCEPTED) for entry in entries], anew=False)

    def answer(self, day: str, entry: Entry, accepted: bool) -> None:
        """Store whether the owner accepts the file as it is. Raises Unreachable."""
        self._record(day, [(entry, Verdict.ACCEPTED if accepted else Verdict.REFUSED)])
        freshness.changed(self.home)

    def prefer(self, day: str, entry: Entry) -> None:
        """Record that the owner accepted this text of a note. Its other texts contradict that.

        Raises:
            Unreachable: it can't be recorded.
        """
        self._change(
            "UPDATE origin_states SET verdict=1, key=coalesce(key, x'') "
            "WHERE id=? AND hash<>? AND verdict=0",
            (_id(entry.id), bytes.fromhex(entry.hash)),
        )
        self._record(day, [(entry, Verdict.ACCEPTED)])
        freshness.changed(self.home)

    def contradicting(self, entries: Sequence[Entry], day: str) -> dict[str, Verdict]:
        """Return entry id -> decision for entries in a file of *day* that contradict one.

        Raises:
            Unreachable: the records can't be read.
        """
        names = {entry.id: _hashes(entry.raw) for entry in entries}
        verdicts = self.verdicts((name, day) for hashes in names.values() for name in hashes)
        return {
            name: verdict
            for name, hashes in names.items()
            if (verdict := next((found for h in hashes if (found := verdicts.get((h, day)))), None))
        }

    def verdicts(self, texts: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Verdict]:
        """Decisions that these (entry hash, day) pairs contradict. Raises Unreachable."""
        wanted = list(texts)
        states: dict[bytes, dict[int, int]] = {}
        blobs = {hash_: _blob(hash_) for hash_, _ in wanted}
        for name, number, verdict in self._select(
            "hash, day, verdict", "origin_states", "hash", [*filter(None, blobs.values())]
        ):
            states.setdefault(name, {})[number] = verdict
        found: dict[tuple[str, str], Verdict] = {}
        for hash_, day in wanted if states else ():
            if of_text := states.get(blobs[hash_]):
                verdict = Verdict(of_text.get(_number(day), Verdict.MOVED))
                if verdict is not Verdict.ACCEPTED:
                    found[hash_, day] = verdict
        return found

    def doubtful(self, texts: Mapping[DayFile, Sequence[str]]) -> set[DayFile]:
        """Return the files with a text that contradicts a decision.

        Args:
            texts: the entry hashes of each file.

        Raises:
            Unreachable: the records can't be read.
        """
        accepted = (
            self._joined("hex(hash) || day", "origin_states WHERE verdict=0")
            if self._is_most("origin_states", sum(map(len, texts.values())))
            else set[str]()
        )
        rest = [
            (name, file.day)
            for file, names in texts.items()
            for day in [str(_number(file.day))]
            for name in names
            if name + day not in accepted
        ]
        if self._is_most("origin_states", len(rest)):
            known = self._joined("hex(hash)", "origin_states")
            rest = [text for text in rest if text[0] in known]
        wrong = self.verdicts(rest)
        return {f for f in (texts if wrong else ()) if any((n, f.day) in wrong for n in texts[f])}

    def _decided_ids(self, entries: Sequence[Entry]) -> set[str]:
        names = {_id(entry.id): entry.id for entry in entries}
        rows = self._select("id, verdict", "origin_states", "id", list(names))
        return {names[name] for name, verdict in rows if verdict != Verdict.ACCEPTED}

    def _record(
        self, day: str, rows: Sequence[tuple[Entry, Verdict]], *, anew: bool = True
    ) -> None:
        """Store a record. *anew*: replace one of the same text on the same day."""
        values = [
            (
                bytes.fromhex(name),
                _number(day),
                _id(entry.id),
                verdict,
                _blob(key_of(entry.raw)) if verdict else None,
            )
            for entry, verdict in rows
            for name in _hashes(entry.raw)
        ]
        if values:
            how = "REPLACE" if anew else "IGNORE"
            query = (
                f"INSERT OR {how} INTO origin_states (hash, day, id, verdict, key) "
                "VALUES (?,?,?,?,?)"
            )
            with self._using() as db, transaction(db):
                db.executemany(query, values)

    def _select(
        self, columns: str, table: str, key: str, values: Sequence[bytes | str]
    ) -> list[tuple[Any, ...]]:
        """The *columns* of the rows of which *key* is one of *values*."""
        with self._using() as db:
            sql = f"SELECT {columns} FROM {table} WHERE {key} IN ({{}})"
            return list(rows_in(db.execute, sql, values))

    def _is_most(self, table: str, values: int) -> bool:
        """Whether so many values are a large part of the rows of a table."""
        with self._using() as db:
            return values > _MANY and bool(
                db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] < _WHOLE * values
            )

    def _joined(self, column: str, rows: str) -> set[str]:
        """The values of one column, as one text from SQLite: so many rows take much longer."""
        with self._using() as db:
            ((text,),) = db.execute(f"SELECT group_concat({column}) FROM {rows}")
        return set((text or "").lower().split(","))

    def _read_once(self, memory: str) -> None:
        """Create the records of a folder that an earlier version used.

        They are replaced texts from the history, and the day of each current text, oldest first.
        """
        if not self._select("1", "origin_unread", "memory", [memory]):
            return
        with closing(History(self.home.history_db)) as history:
            changes = history.owners(memory)
        for change in changes:
            day, stem = day_of(change.path), Path(change.path).stem
            before, after = (parse(data, stem).entries for data in (change.before, change.after))
            known = self._known([*before, *after])
            before, after = (
                [e for e in some if key_of(e.raw) in known] for some in (before, after)
            )
            if change.state == "done":
                self.decided(
                    day, before, after, replaces=not self.those((e.raw for e in after), CAPTURED)
                )
            else:
                self.decided(day, after, before)
        for file in sorted(shared.list_notes(memory).files, key=lambda file: file.day):
            entries = read_day_or_empty(file.path).entries
            known = self._known(entries)
            self.record_day(file.day, [entry for entry in entries if key_of(entry.raw) in known])
        self._change("DELETE FROM origin_unread WHERE memory=?", (memory,))

    def _known(self, entries: Sequence[Entry]) -> dict[str, str]:
        found = self._how([key_of(entry.raw) for entry in entries])
        return {key: how for key, how in found.items() if how != _BODY}

    def _how(self, keys: list[str]) -> dict[str, str]:
        return dict(self._select("key, how", "origin_notes", "key", keys))

    def _adopt(self, memory: str) -> None:
        """Import once what an earlier version stored for a folder, with releases by id."""
        if memory in self._adopted:
            return
        rows = self._select("how", "origin_folders", "memory", [memory])
        if rows == [("adopt",)]:
            ids: set[str] = set()
            with self._using() as db:
                if "trust_released" in tables_of(db):
                    ids = {i for (i,) in db.execute("SELECT entry_id FROM trust_released")}
            for file in list_files(memory).files:
                entries = read_day_or_empty(file.path).entries
                self.wrote((entry.raw for entry in entries), "adopted")
                self.wrote(
                    (e.raw for e in entries if e.id in ids and e.marks.get("trust") == RELEASED),
                    "released",
                )
            self._change("UPDATE origin_folders SET how='adopted' WHERE memory=?", (memory,))
        self._read_once(memory)
        self._adopted.add(memory)


def _hashes(raw: bytes) -> list[str]:
    """``Entry.hash`` of a text with either line end."""
    names = [digest(raw, size=8)]
    return [*names, digest(shared.with_lf(raw), size=8)] if b"\r\n" in raw else names


def _blob(name: str) -> bytes:
    """A digest as it is recorded; b"" for what is none."""
    try:
        return bytes.fromhex(name)
    except ValueError:
        return b""


def _id(name: str) -> bytes:
    return bytes.fromhex(digest("id", name, size=8))


def _number(day: str) -> int:
    return date.fromisoformat(day).toordinal() if day else 0


#: Files of a folder with notes that arrived, up to which each file is a decision of its own. A
#: folder with more of them, as after a clone, is one decision.
FILES_ONE_BY_ONE = 5


def find_quarantined(
    origin: Origin, memory: str, entries: list[Entry], path: str
) -> list[tuple[Entry, QuarantineReason, list[str]]]:
    """Return the quarantined *entries* of a file, with the reason and the suspicious lines.

    Raises:
        Unreachable: the records of origin can't be read.
    """
    arrived, released = origin.arrived(memory, entries, path), origin.released(entries)
    wrong = origin.contradicting(entries, day_of(path))
    found = []
    for entry in entries:
        if entry.id in wrong:  # whatever its marks say; what was refused is not asked about again
            if wrong[entry.id] is not Verdict.REFUSED:
                found.append(
                    (entry, QuarantineReason.CONTRADICTS, orders(entry.body, his_words=False))
                )
            continue
        if CONFLICT_OF in entry.marks:
            continue  # another decision: which of two texts holds
        mark, lines = entry.marks.get("trust", ""), orders(entry.body, his_words=False)
        if entry.id not in released and (mark in UNTRUSTED or lines or entry.id in arrived):
            why = (
                QuarantineReason(mark)
                if mark in UNTRUSTED
                else QuarantineReason.SUSPECT
                if lines
                else QuarantineReason.ARRIVED
            )
            found.append((entry, why, lines))
    return found
