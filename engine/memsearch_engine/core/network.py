"""Decides whether something may be sent, and through which proxy.

``network.offline``, ``memsearch --offline`` and ``MEMSEARCH_OFFLINE=1`` refuse every connection
except those to this machine. Connections to this machine never use a proxy. For others the
environment names the proxy (``https_proxy``, ``http_proxy``, ``all_proxy``, ``no_proxy``), as for
curl.
"""

from __future__ import annotations

import io
import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings import load

if TYPE_CHECKING:  # 15 ms, which only a request needs
    import urllib.request

VARIABLE = "MEMSEARCH_OFFLINE"
_HOSTS = Path("/etc/hosts")
_PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
_PORTS = {"http": 80, "https": 443}
_MAX_ANSWER = 64 * 1024 * 1024


class Offline(Unreachable):
    """The user allows nothing to leave this machine."""


def is_offline() -> bool:
    """Whether the environment or the settings forbid requests to other machines."""
    return os.environ.get(VARIABLE, "") not in ("", "0") or load(Home.from_env()).network.offline


def is_local(address: str) -> bool:
    """Whether a URL, path or host means this machine."""
    if address.startswith(("/", ".")):
        return True
    try:
        host = urlsplit(address if "://" in address else f"//{address}").hostname
    except ValueError:
        return False
    if not host:
        return address.startswith(("unix:", "file:"))
    host = host.rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    return _is_loopback(host) if _address(host) else _is_alias(host)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address written as *host*, also in short forms such as ``127.1``; None for a name."""
    try:
        if re.fullmatch(r"[0-9a-fx.]*[0-9][0-9a-fx.]*", host):
            return ipaddress.ip_address(socket.inet_aton(host))
        found = ipaddress.ip_address(host)
    except (ValueError, OSError):
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _is_loopback(host: str) -> bool:
    found = _address(host)
    # 0.0.0.0 and :: lead to this machine, too: servers print them as their address
    return found is not None and (found.is_loopback or found.is_unspecified)


def _is_alias(name: str) -> bool:
    """Whether the hosts file gives *name* only loopback addresses.

    DNS is not used, because its request would leave the machine.
    """
    try:
        lines = _HOSTS.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    words = (line.partition("#")[0].lower().split() for line in lines if name in line.lower())
    addresses = [found[0] for found in words if name in found[1:]]
    return bool(addresses) and all(_is_loopback(address) for address in addresses)


def check(address: str) -> None:
    """Check that *address* (a URL, a host, or a program that connects) may be contacted.

    Raises:
        Offline: it must not be.
    """
    if is_offline() and not is_local(address):
        raise Offline(
            f"offline: {address} is not asked",
            "`memsearch config set network.offline false`, or unset MEMSEARCH_OFFLINE",
        )


def proxy_for(address: str, *, grpc: bool = False) -> str:
    """The proxy for *address*; ``""`` for none.

    Args:
        grpc: a gRPC server; ``grpc_proxy`` and ``no_grpc_proxy`` come first, and only http proxies
            work.

    Raises:
        Unreachable: the proxy's kind is not supported.
    """
    if is_local(address):
        return ""
    from urllib.request import getproxies, proxy_bypass

    target = urlsplit(address if "://" in address else f"//{address}")
    host, known = target.hostname or "", getproxies()
    names = known.get("no_grpc", known.get("no", "")) if grpc else known.get("no", "")
    if _is_exempt(host, target.port or _PORTS.get(target.scheme, 0), names):
        return ""
    if not grpc and proxy_bypass(host):
        return ""  # by the settings of macOS, where the environment names no proxy
    variables = ("grpc", "https", "http") if grpc else (target.scheme, "all")
    found = next((known[name] for name in variables if known.get(name)), "")
    if not found:
        return ""
    proxy = found if "://" in found else f"http://{found}"
    proxy = re.sub(r"^socks://", "socks5h://", proxy, flags=re.I)  # what desktops write
    parts = urlsplit(proxy)
    schemes = ("http",) if grpc else _PROXY_SCHEMES
    if parts.scheme not in schemes or not parts.hostname:
        raise Unreachable(
            (
                f"the proxy for {host} can't be used: "
                f"`{parts.scheme}://{parts.hostname or ''}` is none of "
            )
            + ", ".join(f"{scheme}://HOST" for scheme in schemes),
            f"set {'grpc_proxy' if grpc else f'{target.scheme}_proxy'} "
            f"to such an address, or add {host} to "
            f"{'no_grpc_proxy' if grpc else 'no_proxy'}",
        )
    return proxy


def _is_exempt(host: str, port: int, names: str) -> bool:
    """Whether a ``no_proxy`` list names *host*.

    Its items are domains with or without ``*.``, ports, addresses, networks, and ``*``.
    """
    address = _address(host)
    for entry in re.split(r"[,\s]+", names.lower()):
        name, _, wanted = entry.removeprefix("*.").lstrip(".").partition(":")
        if entry == "*" or (name and f".{host}".endswith(f".{name}") and wanted in ("", str(port))):
            return True
        try:
            if address and address in ipaddress.ip_network(entry.strip("[]"), strict=False):
                return True
        except ValueError:
            continue
    return False


def exemption(address: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return environment variables that make another program contact a local *address* directly."""
    host = (urlsplit(address).hostname or "") if "://" in address and is_local(address) else ""
    if not host:
        return {}
    names = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    names = names if host in names.split(",") else ",".join(filter(None, (names, host)))
    return {"no_proxy": names, "NO_PROXY": names}


def grpc_options(address: str) -> dict[str, Any]:
    """Return the options of a gRPC channel to *address*. Otherwise gRPC reads the environment.

    Raises:
        Unreachable: see ``proxy_for``.
    """
    proxy = "" if address.startswith("unix:") else proxy_for(address, grpc=True)
    return {"grpc.http_proxy": proxy} if proxy else {"grpc.enable_http_proxy": 0}


def open_url(request: urllib.request.Request, timeout_s: float) -> Any:
    """Send a request, without redirects.

    Raises:
        Offline: it must not leave this machine.
        Unreachable: the proxy cannot be used.
        OSError, http.client.HTTPException: it failed.
    """
    check(request.full_url)
    proxy = proxy_for(request.full_url)
    if proxy:
        return _open_through(proxy, request, timeout_s)
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class NoRedirects(HTTPRedirectHandler):
        """Refuses redirects: they would carry the key to another host without a check."""

        def redirect_request(self, *args: Any, **kwargs: Any) -> None:
            return None

    opener = build_opener(ProxyHandler({}), NoRedirects)
    return opener.open(request, timeout=timeout_s)


def _open_through(proxy: str, request: urllib.request.Request, timeout_s: float) -> io.BytesIO:
    """``open_url`` through a proxy. urllib speaks neither socks nor TLS to a proxy."""
    import urllib.error

    import urllib3  # here: a tenth of a second that only those behind a proxy have to wait

    parts = urlsplit(proxy)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    manager: urllib3.PoolManager
    if parts.scheme.startswith("socks"):
        from urllib3.contrib.socks import SOCKSProxyManager

        manager = SOCKSProxyManager(bare, username=user or None, password=password or None)
    else:
        headers = urllib3.make_headers(proxy_basic_auth=f"{user}:{password}") if user else None
        manager = urllib3.ProxyManager(bare, proxy_headers=headers)
    url, data = request.full_url, request.data
    assert data is None or isinstance(data, bytes)
    try:
        with manager:
            response = manager.request(
                request.get_method(),
                url,
                body=data,
                headers=dict(request.header_items()),
                redirect=False,
                retries=False,
                timeout=timeout_s,
                preload_content=False,
            )
            body = io.BytesIO(response.read(_MAX_ANSWER))
    except urllib3.exceptions.TimeoutError as error:
        raise TimeoutError(
            f"no answer within {timeout_s:.0f} s, asked through {parts.hostname}"
        ) from error
    except urllib3.exceptions.HTTPError as error:
        raise urllib.error.URLError(f"{error}, asked through the proxy {parts.hostname}") from error
    if not 200 <= response.status < 300:
        headers_of: Any = response.headers
        raise urllib.error.HTTPError(url, response.status, response.reason or "", headers_of, body)
    return body
