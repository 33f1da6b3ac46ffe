"""Store the outlines of files (``journal.outline``), and read what Review lists of their notes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from memsearch_engine import __version__
from memsearch_engine.index.catalog.database import CatalogPart
from memsearch_engine.index.catalog.files import MAX_TITLE
from memsearch_engine.index.rows import CatalogBroken, decoder
from memsearch_engine.index.values import GivenValue
from memsearch_engine.journal.files import DayFile
from memsearch_engine.journal.model import Anchor

if TYPE_CHECKING:
    from memsearch_engine.journal.outline import FileOutline

_decode_anchors = decoder(list[list[Anchor]])
_decode_values = decoder(list[GivenValue])
_FILE = "f.path, f.day, f.mtime_ns, f.size, o.ctime_ns"


class ListedNote(msgspec.Struct, frozen=True, gc=False):
    """The values of a note that the review queue lists. ``path``: of the first anchor."""

    time: str
    agent: str
    title: str
    path: str


class FileOutlines(CatalogPart):
    """The outlines of the indexed versions of files.

    A later version of this program makes them again, because it may judge notes differently.
    """

    def of(self, project: str) -> dict[DayFile, FileOutline]:
        """Return the outlines of a project's files, by the version of the file."""
        # every reader of the catalog would compile its patterns: a tenth of the app's start
        from memsearch_engine.journal.outline import FileOutline

        decode = msgspec.msgpack.Decoder(FileOutline).decode
        rows = self._database.query(
            f"SELECT {_FILE}, o.data FROM files f JOIN outlines o ON o.file=f.id"
            " WHERE f.project=? AND f.state='fresh' AND o.version=?",
            (project, __version__),
        )
        try:
            return {DayFile(*file): decode(data) for *file, data in rows}
        except (msgspec.DecodeError, TypeError) as error:
            raise CatalogBroken(f"a value is damaged: {error}") from error

    def values(self, project: str) -> list[GivenValue]:
        """Return the values that the notes of a project's dated files give to names."""
        rows = self._database.column(
            "SELECT o.given FROM files f JOIN outlines o ON o.file=f.id"
            " WHERE f.project=? AND f.day<>'' AND o.version=? AND o.given<>'[]'",
            (project, __version__),
        )
        return list(chain(*map(_decode_values, rows)))

    def missing(self, project: str) -> list[tuple[str, str]]:
        """Return the chunks of dated files of which ``values`` has none: entry id and text."""
        return self._database.query(
            "SELECT e.entry_id, c.text FROM files f JOIN entries e ON e.file=f.id"
            " JOIN chunks c ON c.entry=e.id WHERE f.project=? AND f.day<>'' AND NOT EXISTS"
            " (SELECT 1 FROM outlines WHERE file=f.id AND version=? AND given IS NOT NULL)",
            (project, __version__),
        )

    def put(
        self, project: str, file: DayFile, outline: FileOutline, values: list[GivenValue]
    ) -> None:
        """Store the outline of the indexed version of a file, and the values in it."""
        data, given = msgspec.msgpack.encode(outline), msgspec.json.encode(values)
        self._database.execute(
            "INSERT OR REPLACE INTO outlines (file, version, ctime_ns, data, given)"
            " SELECT id, ?, ?, ?, ? FROM files WHERE project=? AND path=?",
            (__version__, file.ctime_ns, data, given.decode(), project, file.path),
        )

    def notes(self, file: DayFile) -> dict[str, ListedNote]:
        """Return entry id -> what is listed of it, without notes whose titles were cut.

        Nothing is returned if this version of the file is not indexed.
        """
        rows = self._database.query(
            "SELECT entry_id, time, agent, title,"
            " coalesce(json_extract(CAST(anchors AS TEXT), '$[0].path'), '')"
            " FROM entries WHERE length(title)<? AND file="
            "(SELECT id FROM files WHERE path=? AND mtime_ns=? AND size=? AND state='fresh')",
            (MAX_TITLE, file.path, file.mtime_ns, file.size),
        )
        return {name: ListedNote(*values) for name, *values in rows}

    def anchors(self, project: str) -> dict[DayFile, list[Anchor]]:
        """Return the anchors of all notes, by the version of their file."""
        rows = self._database.query(
            f"SELECT {_FILE}, '[' || coalesce((SELECT group_concat(CAST(anchors AS TEXT))"
            " FROM entries WHERE file=f.id), '') || ']'"
            " FROM files f JOIN outlines o ON o.file=f.id WHERE f.project=? AND f.state='fresh'",
            (project,),
        )
        return {DayFile(*file): list(chain(*_decode_anchors(anchors))) for *file, anchors in rows}
