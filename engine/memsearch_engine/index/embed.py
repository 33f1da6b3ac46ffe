"""Make vectors of length 1 from texts.

A local ONNX model (on the CPU) and an HTTP service (``embed_http``) implement the same protocol.
The ``fingerprint`` of an embedder identifies its vectors: vectors with different fingerprints are
never compared.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import msgspec
import numpy as np

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.settings import load as read_settings
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index import e5, embed_http, models
from memsearch_engine.index.chunk import CHUNKER_VERSION
from memsearch_engine.index.hubness import unit

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
    while _early:
        loading = _early.pop()
        if loading.exception() is None and loading.result()[0] == settings:
            return loading.result()[1]
    if settings.provider == "onnx":
        return OnnxEmbedder(models.find(home, settings.model))
    return embed_http.HttpEmbedder(settings)


#: What ``load_early`` has begun: the settings and their embedder.
_early: list[Future[tuple[EmbeddingSettings, Embedder]]] = []


def load_early(home: Home) -> None:
    """Begin to load the local model of the settings in another thread, for the next ``load``.

    Most of it runs without the interpreter lock, so that other modules can be imported meanwhile.
    """

    def work() -> tuple[EmbeddingSettings, Embedder]:
        settings = read_settings(home).embedding
        if settings.provider != "onnx":
            raise Unreachable("there is no local model")
        return settings, OnnxEmbedder(models.find(home, settings.model))

    with_one_thread = ThreadPoolExecutor(1, "model")
    _early.append(with_one_thread.submit(work))
    with_one_thread.shutdown(wait=False)


def fingerprint_of(home: Home, settings: EmbeddingSettings) -> str:
    """The fingerprint of the embedder that the settings name, without loading it."""
    if settings.provider == "onnx":
        return fingerprint(models.find(home, settings.model))
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


class OnnxEmbedder:
    """A sentence-transformers model on onnxruntime.

    Each text is one run without padding on one thread, with one run per core at the same time. On
    two cores this embeds 88 notes per second; one run on two threads embeds 73.
    """

    def __init__(self, files: models.ModelFiles) -> None:
        """Load the model.

        Raises:
            Unreachable: onnxruntime can't load the model.
        """
        # read at import. Without it, onnxruntime contacts a server of its maker and writes a device
        # id to the user's home folder
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime

        onnxruntime.disable_telemetry_events()

        self.model = files.model
        self.fingerprint = fingerprint(files)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # it would not free hundreds of MB after long texts
        try:
            self._session = onnxruntime.InferenceSession(
                str(files.onnx), options, providers=["CPUExecutionProvider"]
            )
            self._ids = _tokenizer(files)
        except Unreachable:
            raise
        except Exception as error:
            raise Unreachable(
                f"the embedding model in {files.onnx.parent} can't be loaded: {str(error)[:200]}",
                "`memsearch models list` shows the ones that are known to work",
            ) from error
        self._inputs = {item.name for item in self._session.get_inputs()}
        outputs = [item.name for item in self._session.get_outputs()]
        self._output = self.model.output if self.model.output in outputs else outputs[0]
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1, "embed", initializer=_lower_priority)
        self.dimension = int(self._run("dimension").shape[-1])

    def query(self, text: str) -> np.ndarray:
        """The vector of a query: float32 of shape (dimension,)."""
        return self._run(self.model.query_prefix + text)

    def passages(
        self, texts: list[str], cancelled: Callable[[], bool] = lambda: False
    ) -> np.ndarray:
        """Embed notes.

        Returns:
            float32 of shape (len(texts), dimension); (0, dimension) if *cancelled* returns true at
            the start.
        """
        if cancelled() or not texts:
            return np.zeros((0, self.dimension), np.float32)
        prefixed = (self.model.passage_prefix + text for text in texts)
        return np.stack(list(self._pool.map(self._run, prefixed)))

    def _run(self, text: str) -> np.ndarray:
        ids = np.array([self._ids(text) or [0]], np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        feed = {name: value for name, value in feed.items() if name in self._inputs}
        output = self._session.run([self._output], feed)[0]
        if output.ndim == 3:
            output = output[:, 0] if self.model.pooling == "cls" else output.mean(axis=1)
        vector: np.ndarray = unit(output)[0]
        return vector


def fingerprint(files: models.ModelFiles) -> str:
    """The fingerprint of a model.

    It depends on the weights, the tokenizer, the chunker and, for a folder, on the settings in
    ``embedding.json``. A conversion that leaves the vectors equal does not change it.
    """
    info = files.onnx.stat()
    model, name = files.model, files.model.name
    identity = model.converted_from or model.sha256 or f"{info.st_size}:{info.st_mtime_ns}"
    parts = ["onnx", name, identity, str(files.tokenizer.stat().st_size), CHUNKER_VERSION]
    if files.model.source == "folder":
        name = files.onnx.parent.name
        # without embedding.json, the fingerprint equals that of versions without this setting
        if (settings := models.folder_settings(files.onnx.parent)) != models.FolderSettings():
            parts.append(msgspec.json.encode(settings).decode())
    return f"{models.slug(name)}-{digest(*parts)[:8]}"


def _tokenizer(files: models.ModelFiles) -> Callable[[str], list[int]]:
    """A function that returns the token ids of a text, with the library of the tokenizer's file."""
    if (files.tokenizer.parent / "tokenizer.model").is_file():
        return e5.Tokenizer(files.tokenizer.parent).ids
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(files.tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(files.model.max_tokens)
    return lambda text: tokenizer.encode(text).ids


def _lower_priority() -> None:
    """Lower the priority of this thread so that queries run first (Linux only)."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
