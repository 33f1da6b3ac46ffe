"""Encrypts the remote with age (https://age-encryption.org/v1).

The owner copies one key to each machine. age prevents reading by others, but not writing: anyone
with the public half can encrypt. So each text contains an HMAC-SHA-256 (RFC 2104) made with the
private half. File names (project identity, day) and the commit history stay readable.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path
from typing import Any

from memsearch_engine.core.errors import Unreachable, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.installation import install_command

_HEADER = b"age-encryption.org/v1\n"
_MAC = 32  # bytes


class NoKey(Unreachable):
    """The content is encrypted and this machine has no key, or its writer had none."""


def is_sealed(data: bytes) -> bool:
    """Whether a file's content is encrypted."""
    return data.startswith(_HEADER)


def key_file(home: Home) -> Path:
    """Return the path of the key."""
    return home.root / "sync.key"


def make_key(home: Home) -> Path:
    """Create the key if there is none. Raises UsageError if the library is missing."""
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
            text = path.read_text(encoding="ascii").strip()
            self._identity = x25519.Identity.from_str(text)
        except FileNotFoundError as error:
            hint = f"copy sync.key of another machine to {path}"
            raise NoKey(
                "what lies there is encrypted, and this machine has no key", hint
            ) from error
        except (OSError, ValueError, age.IdentityError) as error:
            raise NoKey(
                f"{path} is no key: {error}", "copy sync.key of another machine there"
            ) from error
        self._age = age
        self._secret = hashlib.sha256(b"memsearch sync\0" + text.encode()).digest()

    @property
    def name(self) -> str:
        """A name that identifies the key. The key cannot be computed from it."""
        return hashlib.sha256(b"memsearch key\0" + self._secret).hexdigest()[:32]

    def close(self, data: bytes) -> bytes:
        """Encrypt a file's content."""
        return bytes(self._age.encrypt(self._made(data) + data, [self._identity.to_public()]))

    def open(self, data: bytes) -> bytes:
        """Decrypt a file's content. Raises NoKey."""
        try:
            text = bytes(self._age.decrypt(data, [self._identity]))
        except self._age.DecryptError as error:
            raise NoKey(
                f"what lies there is encrypted for another key: {error}",
                "copy sync.key of another machine here",
            ) from error
        if not hmac.compare_digest(text[:_MAC], self._made(text[_MAC:])):
            raise NoKey(
                "somebody without the key has written there",
                "nothing of it was taken; look at the repository",
            )
        return text[_MAC:]

    def _made(self, data: bytes) -> bytes:
        return hmac.digest(self._secret, data, "sha256")


def _age() -> Any:
    try:
        import pyrage
    except ImportError as error:
        raise UsageError(
            "encryption needs the library pyrage", install_command("encryption")
        ) from error
    return pyrage
