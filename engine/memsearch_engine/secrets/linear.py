"""Patterns whose time is linear in the text: RE2 where it has a wheel, else Python's own ``re`` behind the same call.

Texts come from pastes and model output; a pattern that backtracks can be made to run for hours, with everybody waiting.
"""

from __future__ import annotations

import re
from typing import Any


def compile(pattern: str) -> Any:
    """A compiled pattern with ``finditer`` and ``search``. Raises an error for what RE2 can't do (look-around, references)."""
    try:
        import re2
    except ImportError:  # no wheel for this platform
        return re.compile(pattern)
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)
