"""Encryption of what lies on the remote: age (https://age-encryption.org/v1) with one key that the owner carries to each machine.

File names (a project's identity, the days) stay readable, and so does how much there is. The key is never in the repository.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memsearch_engine.errors import Unreachable, UsageError
from memsearch_engine.home import Home

_HEADER = b"age-encryption.org/v1\n"


class NoKey(Unreachable):
    """What lies there is encrypted, and this machine has no key for it."""


def is_sealed(data: bytes) -> bool:
    return data.startswith(_HEADER)


def key_file(home: Home) -> Path:
    return home.root / "sync.key"


def make_key(home: Home) -> Path:
    """A new key where there is none. Raises UsageError where the library is missing."""
    path = key_file(home)
    if not path.exists():
        _age()
        from pyrage import x25519

        home.ensure()
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="ascii") as out:
            out.write(f"{x25519.Identity.generate()}\n")
    return path


class Seal:
    """The owner's key, read when it is needed first. Raises NoKey, UsageError."""

    def __init__(self, home: Home) -> None:
        age = _age()
        from pyrage import x25519

        path = key_file(home)
        try:
            self._identity = x25519.Identity.from_str(path.read_text(encoding="ascii").strip())
        except FileNotFoundError as error:
            raise NoKey(
                "what lies there is encrypted, and this machine has no key",
                f"copy sync.key of another machine to {path}",
            ) from error
        except (OSError, ValueError, age.IdentityError) as error:
            raise NoKey(f"{path} is no key: {error}", "copy sync.key of another machine there") from error
        self._age = age

    @property
    def recipient(self) -> str:
        """The public half."""
        return str(self._identity.to_public())

    def close(self, data: bytes) -> bytes:
        return bytes(self._age.encrypt(data, [self._identity.to_public()]))

    def open(self, data: bytes) -> bytes:
        """Raises NoKey."""
        try:
            return bytes(self._age.decrypt(data, [self._identity]))
        except self._age.DecryptError as error:
            raise NoKey(
                f"what lies there is encrypted for another key: {error}", "copy sync.key of another machine here"
            ) from error


def _age() -> Any:
    try:
        import pyrage
    except ImportError as error:
        raise UsageError("encryption needs the library pyrage", "pip install 'memsearch-tui[encryption]'") from error
    return pyrage
