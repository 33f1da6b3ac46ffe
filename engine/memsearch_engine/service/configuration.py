"""The verbs of setting up: settings, the resident service."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from memsearch_engine.core import safe_files
from memsearch_engine.core import settings as layers
from memsearch_engine.search.scope import Scope


class Configuration:
    """The settings as they hold for a project, and changing the owner's own.

    >>> with Memory() as memory:
    ...     memory.config.value("search.top_k")
    10
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home

    @property
    def file(self) -> Path:
        """The owner's own file, which may not be there yet."""
        return self._home.config

    @property
    def project_file(self) -> Path:
        """The project's, which may set only a few."""
        return self._scope.place.settings_file

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
