"""The C parts of ``json`` without the package, for hooks.

The package imports ``re``, ``enum`` and ``functools``, which takes as long as Python's start.
Whatever the C parts do not handle, and every error, goes to ``json``, so both give the same
results. Standard library only.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs a hook 2 ms
if TYPE_CHECKING:
    from typing import Any


class _Decoder:
    """The attributes of a ``json.JSONDecoder`` without options that ``make_scanner`` reads."""

    strict, object_hook, object_pairs_hook, parse_float, parse_int = True, None, None, float, int
    parse_constant = {
        "-Infinity": -float("inf"),
        "Infinity": float("inf"),
        "NaN": float("nan"),
    }.__getitem__


_DECODER: Any = _Decoder()


def loads(data: bytes) -> Any:
    """``json.loads``. Raises ValueError, RecursionError."""
    try:
        from _json import make_scanner

        text = data.decode().strip(" \t\n\r")
        value, end = make_scanner(_DECODER)(text, 0)
        if end == len(text):
            return value
    except (ImportError, TypeError, AttributeError, ValueError, StopIteration):
        pass  # the C parts are CPython's own affair
    import json

    return json.loads(data)


def dumps(value: object) -> str:
    """``json.dumps``. Raises TypeError, ValueError, RecursionError."""
    try:
        from _json import encode_basestring_ascii, make_encoder

        unknown: Any = None  # a value that it can't write raises TypeError, and `json` says which
        options = (": ", ", ", False, False, True)
        return "".join(make_encoder({}, unknown, encode_basestring_ascii, None, *options)(value, 0))
    except (ImportError, TypeError, ValueError):
        pass
    import json

    return json.dumps(value)
