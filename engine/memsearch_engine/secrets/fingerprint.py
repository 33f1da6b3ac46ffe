"""Keyed fingerprints, by which equal secrets are recognizable on this machine but not guessable.

Fingerprints appear in notes, and notes are committed to repositories. A plain digest of a password
could be compared with a list of passwords. Fingerprints are therefore keyed (HMAC, RFC 2104) by a
random secret of the home that never leaves it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets

from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest

_KEY_BYTES = 32


def fingerprint(home: Home, secret: str) -> str:
    """Return the fingerprint of *secret*: eight hex digits, equal only within this home."""
    data = secret.encode("utf-8", "surrogatepass")
    return hmac.new(_key(str(home.root)), data, hashlib.sha256).hexdigest()[:8]


def named(home: Home, purpose: str) -> str:
    """A stable name of this home for one purpose, to be shown to other programs.

    It is a keyed hash in hex digits and reveals nothing about the home.
    """
    return hmac.new(_key(str(home.root)), f"name of {purpose}".encode(), hashlib.sha256).hexdigest()


def unkeyed(secret: str) -> str:
    """The fingerprint that versions before 0.2 used. What the owner allowed by it stays allowed."""
    return digest("secret", secret, size=4)


_keys: dict[str, bytes] = {}


def _key(root: str) -> bytes:
    """The home's key, created at its first use.

    If the home is not writable, the key exists only in this process.
    """
    path = os.path.join(root, "secret.key")
    known = _keys.get(path)
    if known is None:
        known = _read(path)
        if known is None:
            with contextlib.suppress(OSError):
                os.makedirs(root, mode=0o700, exist_ok=True)
                _make(path)
            known = _read(path)
        if known is None:
            return _LAST_RESORT
        _keys[path] = known
    return known


_LAST_RESORT = secrets.token_bytes(_KEY_BYTES)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            key = file.read(_KEY_BYTES)
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None


def _make(path: str) -> None:
    """Write the file atomically. If two processes do so at once, one wins."""
    temporary = f"{path}.{secrets.token_hex(6)}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as out:
            out.write(secrets.token_bytes(_KEY_BYTES))
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not os.path.exists(path):
                os.rename(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
