"""The one question before anything leaves this machine: may it?

``network.offline``, ``memsearch --offline`` or ``MEMSEARCH_OFFLINE=1`` refuse every connection but those to this machine itself.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from memsearch_engine.errors import Unreachable
from memsearch_engine.home import Home
from memsearch_engine.settings import load

VARIABLE = "MEMSEARCH_OFFLINE"


class Offline(Unreachable):
    """The owner wants nothing to leave this machine."""


def is_offline() -> bool:
    return os.environ.get(VARIABLE, "") not in ("", "0") or load(Home.from_env()).network.offline


def is_local(address: str) -> bool:
    """Whether a URL, a path or a host leads to this machine itself."""
    host = urlsplit(address).hostname if "://" in address else address
    return not host or host == "localhost" or host == "::1" or host.startswith(("127.", "/", "."))


def check(address: str) -> None:
    """Raises Offline where *address* (a URL, a host, or a program that will connect somewhere) may not be asked."""
    if is_offline() and not is_local(address):
        raise Offline(
            f"offline: {address} is not asked",
            "`memsearch config set network.offline false`, or unset MEMSEARCH_OFFLINE",
        )
