"""The verbs of setting up: settings, the resident service."""

from __future__ import annotations

import tomllib
from collections import deque
from pathlib import Path
from typing import Any

from memsearch_engine.core import safe_files
from memsearch_engine.core import settings as layers
from memsearch_engine.memory import Memory
from memsearch_engine.service import launch
from memsearch_engine.service.answers import Health, Status


class Configuration:
    """The settings as they hold for a project, and changing the owner's own.

    >>> with Memory() as memory:
    ...     Configuration(memory).value("search.top_k")
    10
    """

    def __init__(self, memory: Memory) -> None:
        self._memory, self._home = memory, memory.home

    @property
    def file(self) -> Path:
        """The owner's own file, which may not be there yet."""
        return self._home.config

    @property
    def project_file(self) -> Path:
        """The project's, which may set only a few."""
        return self._memory.place.settings_file

    def load(self) -> layers.Settings:
        """All layers, read now. Raises SettingsError."""
        return layers.load(self._home, self.project_file)

    def types(self) -> dict[str, str]:
        """Every settable key with its type in words."""
        return {key: layers.type_name(hint) for key, hint in layers.keys().items()}

    def value(self, key: str) -> Any:
        """What holds for a key of ``types()``. Raises SettingsError where a file can't be read."""
        return layers.value_of(self.load(), key)

    def raw(self, key: str, default: Any = None) -> Any:
        """What a file says for any key, memsearch's own among them; else memsearch's default, else
        *default*.
        """
        return layers.raw_value(self._home, self.project_file, key, default)

    def raw_of_owner(self, key: str, default: Any = None) -> Any:
        """The same, whatever the project's file says."""
        return layers.raw_value(self._home, self._home.config, key, default)

    def written(self, *, in_project: bool = False) -> dict[str, Any]:
        """What the owner's file, or the project's, says: tables inside tables; {} where there is
        none. Raises OSError, ValueError.
        """
        file = self.project_file if in_project else self._home.config
        return (
            tomllib.loads(safe_files.read(file, safe_files.MAX_SETTINGS).decode("utf-8"))
            if file.exists()
            else {}
        )

    def set(self, key: str, text: str) -> Any:
        """Write one key into the owner's file, whose comments stay; the typed value. Raises
        SettingsError.
        """
        return layers.set_value(self._home, key, text)

    def set_all(self, texts: dict[str, str]) -> None:
        """Write several, all or none. Raises SettingsError."""
        layers.set_values(self._home, texts)

    def set_in_project(self, key: str, text: str) -> Any:
        """Write one of the few keys that a project's file may set; the typed value. Raises
        SettingsError.
        """
        return layers.set_in_project(self.project_file, key, text)

    def unset(self, key: str) -> None:
        """Let a key's default hold again. Raises SettingsError."""
        layers.unset(self._home, key)


class Service:
    """The resident process.

    >>> with Memory() as memory:
    ...     Service(memory).status().running
    True
    """

    def __init__(self, memory: Memory) -> None:
        self._memory, self._home = memory, memory.home

    @property
    def log(self) -> Path:
        return self._home.log

    def status(self, *, start: bool = True) -> Status:
        """How it is; started where it does not run, unless *start* is off. Raises Unreachable."""
        return self._memory.call("status", Status, start=start)

    def health(self) -> Health:
        """State of files, index, models and watching, each problem with what mends it. Raises
        Unreachable.
        """
        memory = self._memory
        return memory.call(
            "health", Health, place=memory.place_param, timeout_s=60, all_projects=memory.everything
        )

    def stop(self) -> bool:
        """End it; nothing is lost. Whether it ran."""
        return launch.stop(self._home)

    def reset(self) -> list[str]:
        """Throw the index of these projects away and build it again in the background; the
        projects' names. Raises Unreachable.
        """
        memory = self._memory
        return memory.call(
            "reset",
            list[str],
            place=memory.place_param,
            all_projects=memory.everything,
            timeout_s=300,
        )

    def tail(self, lines: int) -> list[str]:
        """The last lines of its log, as they stand. Raises FileNotFoundError."""
        with self._home.log.open(encoding="utf-8", errors="replace") as file:
            return list(deque(file, lines))
