"""Milvus Lite: a folder, served to ourselves.

Two facts of Lite 3.2 shape it: its own ``.db`` URI opens an unauthenticated TCP port on loopback,
so the engine is served on a private Unix socket instead, by what the package has for its own tests
(``start_server_in_thread``; ``tests/index/test_index_store.py`` says so loudly where a new version
has it no more); and rows that were not flushed are up to 39 times slower to search, so writers
flush. It
searches in Python: vectors are compared in the service's memory, and words of larger projects by
the catalog (docs/guide.md, How fast).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.index.milvus import Milvus, said_by
from memsearch_engine.index.store import StoreBusy

#: The most chunks of a project whose words it compares.
WORDS_MOST = 5_000


class Lite(Milvus):
    """Only the process that holds the service lock opens one."""

    is_shared = False
    compares_vectors = False
    indexes_at_once = True
    search_s = 60.0  # its first search of a project builds tables

    def __init__(self, folder: Path, socket: Path) -> None:
        """
        Args:
            folder: its data; socket: where its gRPC server listens.
        """
        self._server: Any = None
        self._db: Any = None
        self._socket = socket
        what, hint = f"the index in {folder}", "`memsearch reset` builds a new one"
        try:
            uri = self._serve(folder, socket)
        except Exception as error:
            from milvus_lite.exceptions import DataDirLockedError

            self._stop()
            kind = StoreBusy if isinstance(error, DataDirLockedError) else Unreachable
            raise kind(f"{what} can't be opened: {said_by(error)}", hint) from error
        super().__init__(uri, "", what, hint)

    def _serve(self, folder: Path, socket: Path) -> str:
        """Open the engine and serve it on a private Unix socket; no TCP port."""
        from milvus_lite.adapter.grpc.server import start_server_in_thread

        for part in (
            folder.parent.parent,
            folder.parent,
            folder,
        ):  # up to index/, and never a home that was removed
            part.mkdir(exist_ok=True)
        for stale in (socket, Path(f"{socket}:0")):
            stale.unlink(missing_ok=True)
        self._server, self._db, _ = start_server_in_thread(
            str(folder), host=f"unix:{socket}", port=0
        )
        name = Path(f"{socket}:0") if Path(f"{socket}:0").exists() else socket
        os.chmod(name, 0o600)
        return f"unix:{name}"

    def close(self) -> None:
        super().close()
        self._stop()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.stop(grace=1).wait(5)
        if self._db is not None:
            self._db.close()
        self._server = self._db = None
        Path(f"{self._socket}:0").unlink(missing_ok=True)

    def compares_words(self, rows: int) -> bool:
        """At 10,000 chunks 20 ms after 0.6 s, at 100,000 220 ms after 5 s and 1 GB; FTS5 takes 3
        and 20 ms, from its file. In small projects nobody feels it.
        """
        return rows <= WORDS_MOST

    def flush(self, collection: str) -> None:
        self._client.flush(collection)
