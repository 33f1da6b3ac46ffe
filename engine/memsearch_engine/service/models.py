"""Embedding models: the known ones and the one in use, as a part of ``Memory``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from memsearch_engine.core import settings as layers
from memsearch_engine.index import models
from memsearch_engine.search.scope import Scope
from memsearch_engine.service import launch


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


class Models:
    """Embedding models.

    >>> with Memory() as memory:
    ...     [model.name for model in memory.models.known() if model.in_use]
    ['all-minilm-l6-v2']
    """

    DEFAULT = models.DEFAULT

    def __init__(self, scope: Scope) -> None:
        self._home = scope.home

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
