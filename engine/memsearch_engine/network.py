"""The one question before anything leaves this machine: may it?

``network.offline``, ``memsearch --offline`` or ``MEMSEARCH_OFFLINE=1`` refuse every connection but those to this machine itself.
"""

from __future__ import annotations

import ipaddress
import os
import urllib.request
from typing import Any
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
    if address.startswith(("/", ".")):
        return True
    try:
        host = urlsplit(address if "://" in address else f"//{address}").hostname
    except ValueError:
        return False
    if host in (None, "", "localhost"):
        return host == "localhost" or address.startswith(("unix:", "file:"))
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def check(address: str) -> None:
    """Raises Offline where *address* (a URL, a host, or a program that will connect somewhere) may not be asked."""
    if is_offline() and not is_local(address):
        raise Offline(
            f"offline: {address} is not asked",
            "`memsearch config set network.offline false`, or unset MEMSEARCH_OFFLINE",
        )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host, past the question whether anything may leave this machine."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def open_url(request: urllib.request.Request, timeout_s: float) -> Any:
    """Send a request, to where it says and nowhere else. Raises Offline, OSError, http.client.HTTPException."""
    check(request.full_url)
    return urllib.request.build_opener(_NoRedirects).open(request, timeout=timeout_s)
