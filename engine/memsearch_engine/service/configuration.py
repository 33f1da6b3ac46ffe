"""Reading and changing settings, and the embedding models, as parts of ``Memory``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.core import settings as layers
from memsearch_engine.index import models
from memsearch_engine.search.scope import ScopePart
from memsearch_engine.service import launch


class Configuration(ScopePart):
    """The effective settings of a project, and methods to change them.

    >>> with Memory() as memory:
    ...     memory.config.value("search.top_k")
    10
    """

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


class ListedModel(msgspec.Struct, frozen=True):
    """A known model.

    Attributes:
        here: whether it is on this machine.
        in_use: whether notes are embedded with it.
        beside: whether it is the second model, which is used in addition.
    """

    name: str
    dimension: int
    languages: str
    size_mb: int
    here: bool
    in_use: bool
    beside: bool


class Models(ScopePart):
    """Embedding models.

    >>> with Memory() as memory:
    ...     [model.name for model in memory.models.known() if model.in_use]
    ['all-minilm-l6-v2']
    """

    DEFAULT = models.DEFAULT

    def known(self) -> list[ListedModel]:
        """Return the embedding models that are known by name."""
        settings = layers.load(self._home)
        current, beside = (
            settings.embedding.model or models.DEFAULT,
            models.second(self._home, settings),
        )
        return [
            ListedModel(
                model.name,
                model.dimension,
                model.languages,
                model.size_mb,
                models.is_present(self._home, model.name),
                model.name == current,
                beside is not None and model.name == beside.model,
            )
            for model in models.KNOWN.values()
        ]

    def is_present(self, name: str) -> bool:
        """Whether the model can be used at once, or converted from weights that are installed."""
        return models.is_present(self._home, name) or models.convertible(self._home, name)

    def can_be_made(self, name: str) -> bool:
        """Whether ``pull`` can convert the model from installed weights, without a network."""
        return models.convertible(self._home, name)

    def pull(self, name: str) -> Path:
        """Convert the model from installed weights, or download it.

        Returns:
            The model's folder.

        Raises:
            Unreachable: the download failed.
            UsageError: there is no such model.
        """
        return models.pull(self._home.ensure(), name)

    def find(self, name: str) -> models.ModelFiles:
        """Find the files of a model by its name or folder.

        Raises:
            UsageError: there is no such model.
            Unreachable: the model is not on this machine.
        """
        return models.find(self._home, name)

    def is_sound(self, files: models.ModelFiles) -> bool:
        """Whether the checksum of the model's files is the known one."""
        return models.verify(files)

    def use(self, name: str) -> None:
        """Use a model for embedding from now on, and start the service with it."""
        self.find(name)
        layers.set_value(self._home, "embedding.model", name)
        launch.stop(self._home)
        launch.connect(self._home).close()
