"""Short, stable ids made from content. Imports nothing of ours."""

from __future__ import annotations


def digest(*parts: str | bytes, size: int = 6) -> str:
    """Return a hex id of ``2 * size`` digits for *parts*.

    A separator makes ("ab", "c") and ("a", "bc") different.
    """
    try:
        from _blake2 import blake2b  # the same function; hashlib itself costs a hook 3 ms
    except ImportError:
        from hashlib import blake2b

    h = blake2b(digest_size=size)
    for part in parts:
        h.update(part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part)
        h.update(b"\x1f")
    return h.hexdigest()


def cited_id(text: str) -> str:
    """Return the id in *text*, which may be a citation: ``[mem:3fa9c1d2]`` or ``mem:3fa9c1d2``."""
    return text.strip().removeprefix("[").removesuffix("]").removeprefix("mem:").strip()
