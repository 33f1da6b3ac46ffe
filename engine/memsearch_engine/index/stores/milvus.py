"""The client library of Milvus: its import without side effects, and its error messages."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)


@lru_cache(maxsize=1)
def pymilvus() -> Any:
    """Import pymilvus without loading a ``.env`` file.

    Its import loads the next ``.env`` file above its own folder into the environment. Such a file
    could set proxies, keys and paths of this process.
    """
    import dotenv

    loading = dotenv.load_dotenv
    dotenv.load_dotenv = lambda *args, **kwargs: False
    try:
        import pymilvus as found
    finally:
        dotenv.load_dotenv = loading
    return found


def reason_of(error: BaseException) -> str:
    """Return the server's message of an error, in one line.

    pymilvus wraps it in its own exception, and gRPC in five lines of text.
    """
    inner: BaseException | None = error
    found = ""
    for _ in range(10):  # the chain of causes can be circular
        details = getattr(inner, "details", None)
        if callable(details) and details():
            found = str(details())
        inner = inner and (inner.__cause__ or inner.__context__)
    found = found or str(getattr(error, "message", "") or error)
    return " ".join(found.split())[:300]
