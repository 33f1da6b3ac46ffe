"""The stores that serve searches over a model's chunks: Milvus Lite, a server, or Zilliz Cloud."""

from __future__ import annotations

from pathlib import Path

from memsearch_engine.index.stores.base import Store


def open_store(folder: Path, socket: Path, uri: str = "", token: str = "", name: str = "") -> Store:
    """Open the store that the settings name.

    Args:
        folder: data folder of Milvus Lite, which is opened if *uri* is empty.
        socket: the Unix socket on which Milvus Lite listens.
        uri, token: address and token of a Milvus server or Zilliz Cloud.
        name: name of the collection there.

    Raises:
        StoreBusy: another process has it open.
        Unreachable: it can't be opened.
    """
    if uri:
        from memsearch_engine.index.stores.server import MilvusServerStore

        return MilvusServerStore(uri, token, name)
    from memsearch_engine.index.stores.lite import Lite

    return Lite(folder, socket)
