"""Embed texts with a local ONNX model on the CPU."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np

from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.ids import digest
from memsearch_engine.index import e5, models
from memsearch_engine.index.chunk import CHUNKER_VERSION
from memsearch_engine.index.hubness import unit


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
