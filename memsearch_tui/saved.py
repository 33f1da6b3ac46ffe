"""The app's saved state: ``tui.json`` in the home folder."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from pathlib import Path
from typing import Any, Literal

from memsearch_engine import Home

from memsearch_tui.aside import OURS

_PAST_SEARCHES = 50

#: (path, entry id) of a note.
Key = tuple[str, str]
_Name = Literal["theme", "two_lines", "one_pane", "by_session", "at", "searches", "saved"]


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

    def save(self, name: _Name, value: str | bool | list[str]) -> None:
        """Save a value. The property that reads it describes it."""
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

    @property
    def two_lines(self) -> bool | None:
        """Whether each note has two lines in the list; None: the list decides by its height."""
        value = self._values.get("two_lines")
        return value if isinstance(value, bool) else None

    @property
    def one_pane(self) -> bool:
        """Whether one pane at a time is shown, also in a wide window."""
        return bool(self._values.get("one_pane"))

    @property
    def by_session(self) -> bool:
        """Whether hits are grouped by conversation."""
        return bool(self._values.get("by_session"))

    # -- cursor

    def position(self, today: str) -> Key | None:
        """Return the note that was under the cursor when the app was left, if that was *today* (ISO
        day).
        """
        found = self._texts("at")
        return (found[1], found[2]) if len(found) == 3 and found[0] == today else None

    def set_position(self, today: str, key: Key | None) -> None:
        """Save the note under the cursor, and the ISO day."""
        self.save("at", [today, *(key or ())])

    # -- searches

    @property
    def past_searches(self) -> list[str]:
        """Past searches, newest first."""
        return self._texts("searches")

    def add_past_search(self, text: str) -> None:
        """Add a search as the newest one."""
        past = [text, *(other for other in self.past_searches if other != text)]
        self.save("searches", past[:_PAST_SEARCHES])

    @property
    def saved_searches(self) -> list[str]:
        """The searches that the owner saved, in the order of saving."""
        return self._texts("saved")
