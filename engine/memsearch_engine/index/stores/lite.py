"""The store on Milvus Lite, in a folder of this home.

Two properties of Lite 3.2 determine this module. A ``.db`` URI opens an unauthenticated TCP port on
loopback. The engine is therefore served on a private Unix socket, with a function that the package
has for its own tests (``start_server_in_thread``). ``tests/index/test_index_store.py`` fails if a
new version lacks it. Rows that were not flushed are up to 39 times slower to search, so writers
flush.

Lite searches in Python. Vectors are therefore compared in the service's memory, and words of larger
projects are ranked by the catalog (docs/performance.md).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.index.stores.base import StoreBusy
from memsearch_engine.index.stores.milvus import MilvusStore, reason_of

#: Lite ranks words in projects of up to this many chunks. At 10,000 chunks, a search takes 20 ms
#: and the first one 0.6 s. At 100,000 chunks, it takes 220 ms, the first one 5 s, and 1 GB of
#: memory. FTS5 takes 3 ms and 20 ms.
WORDS_MOST = 5_000


class Lite(MilvusStore):
    """An open Milvus Lite. Only the process that holds the service lock opens one."""

    is_shared = False
    compares_vectors = False
    indexes_at_once = True
    search_s = 60.0  # its first search of a project builds tables

    def __init__(self, folder: Path, socket: Path) -> None:
        """Open and serve it.

        Args:
            folder: its data.
            socket: where its gRPC server listens.

        Raises:
            StoreBusy: another process has the folder open.
            Unreachable: it can't be opened.
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
            raise kind(f"{what} can't be opened: {reason_of(error)}", hint) from error
        super().__init__(uri, "", what, hint)

    def _serve(self, folder: Path, socket: Path) -> str:
        """Open the engine and serve it on a private Unix socket, without a TCP port."""
        from milvus_lite.adapter.grpc.server import start_server_in_thread

        # create folders up to index/, but never a home that was removed
        for part in (folder.parent.parent, folder.parent, folder):
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
        """Close the connection and the engine."""
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
        """Return whether the project is small enough for Lite."""
        return rows <= WORDS_MOST

    def flush(self, collection: str) -> None:
        """See ``Store``."""
        self._client.flush(collection)
