"""The forms in which a file may contain a secret: plain, escaped, encoded, and in parts.

A search for the plain text alone would report "0 left" although readable copies exist. The forms
are JSON (also nested, for a tool's input inside a transcript), the output of ``capture.extract``
for code, other Unicode forms and whitespace, base64 at each of its three alignments, hex, percent
and HTML escapes. Of a long secret, any part that a title or a clipped line may contain is also
found.
"""

from __future__ import annotations

import base64
import html
import json
import unicodedata
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from memsearch_engine.core.safe_text import plain
from memsearch_engine.secrets.scan import FoundSecret

# a part of at least 24 characters of a long secret contains one of these seeds
_SEED, _STEP = 16, 8
_MIN_PACKED = 6  # bytes; a shorter secret is a few characters in base64, which occur everywhere
_MIN_LINE = 16  # of a secret over several lines, each of which may occur alone


class Forms:
    """The forms to search for, and their replacements."""

    def __init__(self, secrets: list[FoundSecret]) -> None:
        found: dict[bytes, bytes] = {}
        self._long: list[tuple[bytes, list[tuple[int, bytes]], bytes]] = []
        for secret in secrets:
            instead = secret.placeholder.encode()
            for form in _written(secret.secret):
                found.setdefault(form, instead)
            for text in {secret.secret, secret.secret.replace("`", "'")}:
                data = text.encode("utf-8", "surrogateescape")
                seeds = [(i, data[i : i + _SEED]) for i in range(0, len(data) - _SEED + 1, _STEP)]
                seeds = [
                    (i, seed)
                    for i, seed in seeds
                    if b"-----" not in seed and len(seed.split()) == 1 and len(set(seed)) > 6
                ]
                if len(data) >= _SEED + _STEP and seeds:
                    self._long.append((data, seeds, instead))
        self._whole = sorted(found.items(), key=lambda form: len(form[0]), reverse=True)

    @property
    def longest(self) -> int:
        """The length of the longest form in bytes."""
        return max((len(form) for form, _ in self._whole), default=1)

    def count(self, data: bytes) -> int:
        """Count the occurrences in *data*. Parts count only if no whole form occurs."""
        whole = sum(data.count(form) for form, _ in self._whole)
        return whole or sum(1 for _ in self._pieces(data))

    def replaced(self, data: bytes, instead: bytes = b"") -> bytes:
        """*data* with all occurrences replaced, by *instead* if it is given."""
        for form, placeholder in self._whole:
            data = data.replace(form, instead or placeholder)
        merged: list[tuple[int, int, bytes]] = []
        # two secrets may have a part in common
        for start, stop, placeholder in sorted(self._pieces(data)):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]), merged[-1][2])
            else:
                merged.append((start, stop, placeholder))
        for start, stop, placeholder in reversed(merged):
            data = data[:start] + (instead or placeholder) + data[stop:]
        return data

    def _pieces(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield (start, stop, replacement) of parts of long secrets, each once."""
        for secret, seeds, instead in self._long:
            taken: list[tuple[int, int]] = []
            for at, seed in seeds:
                place = data.find(seed)
                while place >= 0:
                    start, stop = _grown(data, place, secret, at)
                    if _alone(data, start, stop) and not any(
                        first <= start < last for first, last in taken
                    ):
                        taken.append((start, stop))
                        yield start, stop, instead
                    place = data.find(seed, stop)


def _grown(data: bytes, place: int, secret: bytes, at: int) -> tuple[int, int]:
    """The whole part of *secret* around one of its seeds."""
    start, first = place, at
    while start and first and data[start - 1] == secret[first - 1]:
        start, first = start - 1, first - 1
    stop, last = place, at
    while stop < len(data) and last < len(secret) and data[stop] == secret[last]:
        stop, last = stop + 1, last + 1
    return start, stop


_TOKEN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=-")


def _alone(data: bytes, start: int, stop: int) -> bool:
    """Whether a part ends at the end of a word. Otherwise it is the beginning of another secret."""
    before, after = data[start - 1 : start], data[stop : stop + 1]
    return not (before and before[0] in _TOKEN and data[start] in _TOKEN) and not (
        after and after[0] in _TOKEN and data[stop - 1] in _TOKEN
    )


def _written(secret: str) -> set[bytes]:
    """Every whole form of *secret*."""
    texts = {secret, plain(secret), unicodedata.normalize("NFC", secret), " ".join(secret.split())}
    texts |= {text.replace("`", "'") for text in texts} | {
        text.replace("-->", "--\u200b>") for text in texts
    }
    texts |= {
        line.strip()
        for line in secret.splitlines()
        if len(line.strip()) >= _MIN_LINE and "-----" not in line
    }
    for _ in range(2):
        texts |= {
            json.dumps(text, ensure_ascii=ascii)[1:-1] for text in texts for ascii in (True, False)
        }
    texts |= {html.escape(secret), html.escape(secret, quote=False)}
    for escaped in (
        quote(secret, safe="", errors="replace"),
        quote_plus(secret, errors="replace"),
        quote(secret, errors="replace"),
    ):
        texts |= {escaped, escaped.replace("%", "%25")}
    forms = {text.encode("utf-8", "surrogateescape") for text in texts if text}
    data = secret.encode("utf-8", "surrogateescape")
    if len(data) >= _MIN_PACKED:
        forms |= {data.hex().encode(), data.hex().upper().encode()}
        for shift in range(3):
            packed = base64.b64encode(b"\0" * shift + data)
            core = packed[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]
            forms |= {core, core.replace(b"+", b"-").replace(b"/", b"_")}
    return forms
