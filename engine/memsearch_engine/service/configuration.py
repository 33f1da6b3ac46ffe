"""Reading and changing settings, as a part of ``Memory``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from memsearch_engine.core import safe_files
from memsearch_engine.core import settings as layers
from memsearch_engine.search.scope import Scope


class Configuration:
    """The effective settings of a project, and methods to change them.

    >>> with Memory() as memory:
    ...     memory.config.value("search.top_k")
    10
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._home = scope, scope.home

    @property
    def file(self) -> Path:
        """The owner's settings file. It may not exist yet."""
        return self._home.config

    @property
    def project_file(self) -> Path:
        """The project's settings file, which may set only a few keys."""
        return self._scope.place.settings_file

    def load(self) -> layers.Settings:
        """Read and merge all layers of settings.

        Raises:
            SettingsError: a file can't be read.
        """
        return layers.load(self._home, self.project_file)

    def types(self) -> dict[str, str]:
        """Return every settable key with a description of its type."""
        return {key: layers.type_name(hint) for key, hint in layers.keys().items()}

    def value(self, key: str) -> Any:
        """Return the effective value of a key of ``types()``.

        Raises:
            SettingsError: a file can't be read.
        """
        return layers.value_of(self.load(), key)

    def raw(self, key: str, default: Any = None) -> Any:
        """Return the value of any key as written in a file, also of keys that only memsearch has.

        Args:
            default: returned if no file has the key and memsearch has no default for it.
        """
        return layers.raw_value(self._home, self.project_file, key, default)

    def raw_of_owner(self, key: str, default: Any = None) -> Any:
        """Return the same as ``raw``, but ignore the project's file."""
        return layers.raw_value(self._home, self._home.config, key, default)

    def written(self, *, in_project: bool = False) -> dict[str, Any]:
        """Return the content of a settings file as nested tables; {} if there is no file.

        Args:
            in_project: the project's file instead of the owner's.

        Raises:
            OSError, ValueError: the file can't be read or parsed.
        """
        file = self.project_file if in_project else self._home.config
        return (
            tomllib.loads(safe_files.read(file, safe_files.MAX_SETTINGS).decode("utf-8"))
            if file.exists()
            else {}
        )

    def set(self, key: str, text: str) -> Any:
        """Write a key into the owner's file. Comments in it are preserved.

        Returns:
            The typed value.

        Raises:
            SettingsError: the key or the value is not valid.
        """
        return layers.set_value(self._home, key, text)

    def set_all(self, texts: dict[str, str]) -> None:
        """Write several keys into the owner's file, all or none.

        Raises:
            SettingsError: a key or a value is not valid.
        """
        layers.set_values(self._home, texts)

    def set_in_project(self, key: str, text: str) -> Any:
        """Write a key into the project's file, which may set only a few keys.

        Returns:
            The typed value.

        Raises:
            SettingsError: the key is not allowed there, or the value is not valid.
        """
        return layers.set_in_project(self.project_file, key, text)

    def unset(self, key: str) -> None:
        """Remove a key from the owner's file, so that its default applies again.

        Raises:
            SettingsError: the key is not known, or the file can't be read.
        """
        layers.unset(self._home, key)
