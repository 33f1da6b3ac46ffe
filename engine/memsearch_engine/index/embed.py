"""Make vectors of length 1 from texts.

A local ONNX model (``embed_onnx``) and an HTTP service (``embed_http``) implement the same
protocol. The ``fingerprint`` of an embedder identifies its vectors: vectors with different
fingerprints are never compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

import numpy as np

from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index import embed_http, embed_onnx, models

_ASCII_LETTER = re.compile(r"[a-zA-Z]")
#: Notes on unrelated everyday subjects, by script. The mean of their vectors is the part that all
#: vectors of texts in the script have in common.
_ORDINARY = {
    "": [
        "Fixed a small bug and added a test for it.",
        "Renamed a function and updated its callers.",
        "The build is green again.",
        "Decided to keep the old behaviour for now.",
        "User asked how this works; explained it.",
        "Read the log, found nothing new.",
        "Changed a default setting.",
        "Wrote the documentation for the new option.",
        "Das Datum im Bericht wurde berichtigt.",
        "Se actualizaron las dependencias del proyecto.",
        "La page d'accueil se charge plus vite.",
        "Removed code that nobody used.",
    ],
    "cjk": [
        "修复了一个小问题，并添加了测试。",
        "重命名了一个函数，更新了调用处。",
        "构建又通过了。",
        "决定暂时保留原来的行为。",
        "用户询问这是怎么工作的，已说明。",
        "查看了日志，没有新的发现。",
        "修改了一个默认设置。",
        "为新选项写了文档。",
        "小さな不具合を直し、テストを追加した。",
        "設定の既定値を変更した。",
        "사용하지 않는 코드를 삭제했다.",
        "删除了没有人使用的代码。",
    ],
}


class Embedder(Protocol):
    """An embedding model: makes vectors of length 1 from texts."""

    fingerprint: str
    dimension: int

    def query(self, text: str) -> np.ndarray:
        """Embed a query: float32 of shape (dimension,)."""

    def passages(self, texts: list[str], cancelled: Callable[[], bool] = ...) -> np.ndarray:
        """Embed notes.

        Args:
            texts: the texts of the notes.
            cancelled: checked between batches; no more texts are embedded once it returns true.

        Returns:
            float32 of shape (n, dimension), in the order of *texts*; n < len(texts) if cancelled.
        """


def load(home: Home, settings: EmbeddingSettings) -> Embedder:
    """Load the embedder that the settings name.

    Raises:
        Unreachable: its files or its service can't be reached.
        UsageError: the model's name is unknown.
        SettingsError: a key is missing, or a folder's ``embedding.json`` is invalid.
    """
    if settings.provider == "onnx":
        return embed_onnx.OnnxEmbedder(models.find(home, settings.model))
    return embed_http.HttpEmbedder(settings)


def fingerprint_of(home: Home, settings: EmbeddingSettings) -> str:
    """The fingerprint of the embedder that the settings name, without loading it."""
    if settings.provider == "onnx":
        return embed_onnx.fingerprint(models.find(home, settings.model))
    return embed_http.fingerprint(settings)


def speaks(embedder: Embedder, text: str) -> bool:
    """Whether the model was trained on the script of *text*."""
    if text.isascii() or getattr(getattr(embedder, "model", None), "languages", "") != "English":
        return True
    return len(_ASCII_LETTER.findall(text)) >= 0.7 * sum(map(str.isalpha, text))


def ordinary(embedder: Embedder) -> dict[str, np.ndarray] | None:
    """Script (``analyze.script``) -> mean vector of ordinary texts, for a model with centering.

    Returns:
        None for a model that compares vectors without centering them.
    """
    if not getattr(getattr(embedder, "model", None), "centered", False):
        return None
    return {script: embedder.passages(texts).mean(axis=0) for script, texts in _ORDINARY.items()}
