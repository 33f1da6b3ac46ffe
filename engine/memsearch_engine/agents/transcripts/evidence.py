"""The archive: copies of the turns behind notes, because agents delete their transcripts.

The archive is one SQLite file, ``evidence/turns.db``. A turn is stored as JSON, compressed with
zstd, once per content: the copied turn of a fork shares it. Turns are found by the names that
anchors use. The caller removes secrets before it stores a turn.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.model import Turn, TurnName
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home, private
from memsearch_engine.core.migrations import (
    OpenedOnce,
    batches,
    bring_up,
    open_shared,
    read_rows,
    transaction,
    write_ahead,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS contents (
  digest BLOB PRIMARY KEY, packed BLOB NOT NULL, bytes INTEGER NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS turns (
  agent TEXT NOT NULL, session TEXT NOT NULL, turn TEXT NOT NULL,\
 digest BLOB NOT NULL REFERENCES contents(digest),
  at REAL NOT NULL, PRIMARY KEY (agent, session, turn)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS turns_digest ON turns(digest);
"""
_LEVEL = 9
_AT_ONCE = 200
_MAX_BYTES = 256 * 1024 * 1024
#: A tool's output beyond this many characters is cut in its middle. The end of a build log is
#: evidence, its middle is not.
MAX_OUTPUT = 16_000


#: The fields of a stored turn. Their order is fixed, so that equal turns have equal digests in all
#: versions. ``spoken`` and ``in_reply_to`` follow where the turn has them.
_STORED = tuple("agent session turn started ended cwd user assistant tools status outside".split())


class _Asked(msgspec.Struct):
    user: str = ""


class ArchiveStatus(msgspec.Struct):
    """Size of the archive.

    Attributes:
        turns: number of turn names.
        contents: number of stored contents.
        bytes: size of the file on disk.
        raw: size of the contents before compression, in bytes.
        oldest, newest: seconds since 1970, 0 if the archive is empty.
    """

    turns: int = 0
    contents: int = 0
    bytes: int = 0
    raw: int = 0
    oldest: float = 0.0
    newest: float = 0.0


class Archive(OpenedOnce):
    """The evidence archive of one home folder.

    Reading works without write access. A damaged file reads as empty.
    """

    def __init__(self, home: Home) -> None:
        super().__init__()
        self.home = home
        self.path = home.evidence / "turns.db"

    def put(self, turn: Turn, *, at: float = 0.0) -> bool:
        """Store *turn*. A newer version of a turn replaces the stored one.

        Args:
            at: time of archiving in seconds since 1970, for limits of age and size. Default: now.

        Returns:
            Whether anything was written.

        Raises:
            Unreachable: the archive cannot be written.
        """
        import zstandard

        has_order = bool(turn.in_reply_to) or turn.is_interleaved
        names = [*_STORED, *["spoken"] * has_order, *["in_reply_to"] * bool(turn.in_reply_to)]
        fields = {name: getattr(turn, name) for name in names}
        raw = msgspec.json.encode(fields | {"session": ""})
        name = hashlib.blake2b(raw, digest_size=16).digest()
        key = (turn.agent, turn.session, turn.turn)
        db = self._db()
        try:
            row = db.execute(
                "SELECT digest FROM turns WHERE agent=? AND session=? AND turn=?", key
            ).fetchone()
            if row and row[0] == name:
                return False
            now = at or time.time()
            with transaction(db):
                if not db.execute("SELECT 1 FROM contents WHERE digest=?", (name,)).fetchone():
                    packed = zstandard.ZstdCompressor(level=_LEVEL).compress(raw)
                    db.execute(
                        "INSERT INTO contents (digest, packed, bytes, at) VALUES (?,?,?,?)",
                        (name, packed, len(raw), now),
                    )
                db.execute(
                    "INSERT OR REPLACE INTO turns (agent, session, turn, digest, at) VALUES "
                    "(?,?,?,?,?)",
                    (*key, name, now),
                )
                if row:
                    self._drop_unnamed(db, row[0])
        except sqlite3.Error as error:
            raise Unreachable(
                f"the evidence archive {self.path} can't be written: {error}"
            ) from error
        return True

    def remove(self, keys: Iterable[tuple[str, str, str]]) -> int:
        """Delete turns by (agent, session, turn). Return how many were in the archive."""
        db = self._db()
        gone = 0
        for key in keys:
            row = db.execute(
                "SELECT digest FROM turns WHERE agent=? AND session=? AND turn=?", key
            ).fetchone()
            if row:
                gone += db.execute(
                    "DELETE FROM turns WHERE agent=? AND session=? AND turn=?", key
                ).rowcount
                self._drop_unnamed(db, row[0])
        return gone

    def prune(
        self, *, max_bytes: int = 0, max_days: float = 0, dry_run: bool = False
    ) -> list[tuple[str, str, str]]:
        """Delete the oldest turns beyond a size or an age.

        Args:
            max_bytes: limit of the compressed size, in bytes. 0: no limit.
            max_days: limit of the age, in days. 0: no limit.
            dry_run: delete nothing.

        Returns:
            Names of the deleted turns.
        """
        if not self.path.exists():
            return []
        db = self._db()
        oldest = time.time() - max_days * 86400 if max_days else 0.0
        # one row for all: reading each takes 0.3 s at 100,000 turns
        ((first, size),) = db.execute(
            "SELECT min(t.at), total(length(c.packed)) FROM turns t JOIN contents c USING (digest)"
        )
        if (first or oldest) >= oldest and (not max_bytes or size <= max_bytes):
            return []
        rows = db.execute(
            "SELECT t.agent, t.session, t.turn, t.at, length(c.packed) FROM turns t JOIN contents "
            "c USING (digest) ORDER BY t.at DESC, t.agent, t.session, t.turn"
        ).fetchall()
        total, gone = 0, []
        for agent, session, turn, at, size in rows:
            if at < oldest or (max_bytes and total + size > max_bytes):
                gone.append((agent, session, turn))
            else:
                total += size
        if not dry_run and gone:
            self.remove(gone)
            db.execute("VACUUM")
        return gone

    @staticmethod
    def _drop_unnamed(db: sqlite3.Connection, digest: bytes) -> None:
        """Delete a content that has no name any more."""
        db.execute(
            "DELETE FROM contents WHERE digest=? AND NOT EXISTS (SELECT 1 FROM turns WHERE "
            "digest=?)",
            (digest, digest),
        )

    def _open(self) -> sqlite3.Connection:
        try:
            self.home.ensure()
            self.home.evidence.mkdir(mode=0o700, exist_ok=True)
            private(self.path)
            db = open_shared(self.path)
            try:
                bring_up(db, self.path, (), self.home.backups)
            except Unreachable:
                db.close()
                raise
            write_ahead(db)
            # a power cut may undo the last turns; their agent still has them
            db.execute("PRAGMA synchronous=NORMAL")
            # so that scrubbed text leaves no trace in free pages
            db.execute("PRAGMA secure_delete=ON")
            db.executescript(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise Unreachable(
                f"the evidence archive {self.path} can't be opened: {error}",
                "move it aside: it is made again",
            ) from error
        return db

    def get(self, agent: str, session: str, turn: str) -> Turn | None:
        """Return an archived turn, or None."""
        import zstandard

        query = (
            "SELECT c.packed FROM turns t JOIN contents c USING (digest) WHERE t.agent=? AND "
            "t.session=? AND t.turn=?"
        )
        for (packed,) in self._read(query, (agent, session, turn)):
            try:
                raw = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_MAX_BYTES)
                return msgspec.structs.replace(msgspec.json.decode(raw, type=Turn), session=session)
            except (zstandard.ZstdError, msgspec.DecodeError):
                return None
        return None

    def prompts(self, names: Iterable[TurnName]) -> dict[TurnName, str]:
        """Return the prompts of those turns that are archived, by turn name."""
        import zstandard

        unpack, decode = (
            zstandard.ZstdDecompressor().decompress,
            msgspec.json.Decoder(_Asked).decode,
        )
        found: dict[TurnName, str] = {}
        for batch in batches(names, _AT_ONCE):
            # a cross join begins with the names; otherwise all turns are read
            query = (
                "WITH wanted(agent, session, turn) AS"
                f" (VALUES {','.join(['(?,?,?)'] * len(batch))})"
                " SELECT t.agent, t.session, t.turn, c.packed FROM wanted"
                " CROSS JOIN turns t USING (agent, session, turn)"
                " CROSS JOIN contents c USING (digest)"
            )
            for agent, session, turn, packed in self._read(
                query, tuple(part for key in batch for part in key)
            ):
                try:
                    found[agent, session, turn] = decode(
                        unpack(packed, max_output_size=_MAX_BYTES)
                    ).user
                except (zstandard.ZstdError, msgspec.DecodeError):
                    continue
        return found

    def has(self, agent: str, session: str, turn: str) -> bool:
        """Return whether a turn is archived."""
        return any(
            self._read(
                "SELECT 1 FROM turns WHERE agent=? AND session=? AND turn=?", (agent, session, turn)
            )
        )

    def names(self) -> set[tuple[str, str, str]]:
        """Return the names (agent, session, turn) of all archived turns."""
        return set(self._read("SELECT agent, session, turn FROM turns"))

    def turns(self) -> dict[tuple[str, str], set[str]]:
        """Return the archived turns of each session, by (agent, session)."""
        rows = self._read(
            "SELECT agent, session, json_group_array(turn) FROM turns GROUP BY agent, session"
        )
        decode = msgspec.json.Decoder(set[str]).decode
        return {(agent, session): decode(turns) for agent, session, turns in rows}

    def names_after(self, name: TurnName, limit: int) -> list[TurnName]:
        """Return the next names of archived turns, in order."""
        query = (
            "SELECT agent, session, turn FROM turns WHERE (agent, session, turn) > (?,?,?)"
            " ORDER BY agent, session, turn LIMIT ?"
        )
        return [(row[0], row[1], row[2]) for row in self._read(query, (*name, limit))]

    def digests(self, names: Iterable[TurnName] | None = None) -> dict[TurnName, str]:
        """Return a digest of the content of each archived turn, or of the named ones."""
        query = "SELECT agent, session, turn, hex(digest) FROM turns"
        if names is None:
            return {(row[0], row[1], row[2]): row[3] for row in self._read(query)}
        where = " WHERE agent=? AND session=? AND turn=?"
        return {
            (row[0], row[1], row[2]): row[3]
            for name in names
            for row in self._read(query + where, name)
        }

    def status(self) -> ArchiveStatus:
        """Return the size of the archive."""
        status = ArchiveStatus()
        for row in self._read(
            "SELECT count(*), coalesce(min(at), 0), coalesce(max(at), 0) FROM turns"
        ):
            status.turns, status.oldest, status.newest = row
        for row in self._read("SELECT count(*), coalesce(sum(bytes), 0) FROM contents"):
            status.contents, status.raw = row
        status.bytes = self.path.stat().st_size if self.path.exists() else 0
        return status

    def _read(self, query: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        return read_rows(self.path, query, values)


def shortened(text: str) -> str:
    """Return a tool's output without its middle.

    Cuts are at line ends or blanks, so that no secret is halved.
    """
    if len(text) <= MAX_OUTPUT:
        return text
    head, tail = text[: MAX_OUTPUT // 2], text[-MAX_OUTPUT // 2 :]
    for cut in "\n ":
        if cut in head and cut in tail:
            head, tail = head[: head.rindex(cut) + 1], tail[tail.index(cut) + 1 :]
            break
    else:
        head = tail = ""
    return f"{head}[… {len(text) - len(head) - len(tail)} characters left out …]\n{tail}"
