"""The app's saved state: ``tui.json`` in the home folder."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from pathlib import Path
from typing import Any

from memsearch_engine import Home

from memsearch_tui.aside import OURS

_PAST_SEARCHES = 50

#: (path, entry id) of a note.
Key = tuple[str, str]


class SavedState:
    """Typed access to the file; a value of a wrong type counts as missing.

    Writes go through the ``OURS`` lane, so they never wait for a lock that another program holds.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._values = self._read()

    @property
    def _file(self) -> Path:
        return self._home.root / "tui.json"

    def _read(self) -> dict[str, Any]:
        try:
            values = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return values if isinstance(values, dict) else {}

    def _set(self, name: str, value: object) -> None:
        self._values[name] = value
        OURS.run(partial(self._write, json.dumps(self._values)))

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._home.put(self._file, text.encode("utf-8"))

    def _texts(self, name: str) -> list[str]:
        values = self._values.get(name)
        return (
            [text for text in values if isinstance(text, str)] if isinstance(values, list) else []
        )

    # -- appearance

    @property
    def theme(self) -> str:
        """The name of the chosen theme; '' for the default."""
        name = self._values.get("theme")
        return name if isinstance(name, str) else ""

    def set_theme(self, name: str) -> None:
        """Save the name of the theme."""
        self._set("theme", name)

    @property
    def two_lines(self) -> bool | None:
        """Whether each note has two lines in the list; None: the list decides by its height."""
        value = self._values.get("two_lines")
        return value if isinstance(value, bool) else None

    def set_two_lines(self, value: bool) -> None:
        """Save whether each note has two lines."""
        self._set("two_lines", value)

    @property
    def by_session(self) -> bool:
        """Whether hits are grouped by conversation."""
        return bool(self._values.get("by_session"))

    def set_by_session(self, value: bool) -> None:
        """Save whether hits are grouped by conversation."""
        self._set("by_session", value)

    # -- cursor

    def position(self, today: str) -> Key | None:
        """Return the note that was under the cursor when the app was left, if that was *today* (ISO
        day).
        """
        found = self._texts("at")
        return (found[1], found[2]) if len(found) == 3 and found[0] == today else None

    def set_position(self, today: str, key: Key | None) -> None:
        """Save the note under the cursor, and the ISO day."""
        self._set("at", [today, *(key or ())])

    # -- searches

    @property
    def past_searches(self) -> list[str]:
        """Past searches, newest first."""
        return self._texts("searches")

    def add_past_search(self, text: str) -> None:
        """Add a search as the newest one."""
        past = [text, *(other for other in self.past_searches if other != text)]
        self._set("searches", past[:_PAST_SEARCHES])

    @property
    def saved_searches(self) -> list[str]:
        """The searches that the owner saved, in the order of saving."""
        return self._texts("saved")

    def set_saved_searches(self, texts: list[str]) -> None:
        """Replace the saved searches."""
        self._set("saved", texts)
