"""Texts -> vectors of length one.

Two kinds: a local ONNX model on the CPU, and any HTTP service that speaks OpenAI's ``/embeddings``.
Both have a ``fingerprint`` that names the space their vectors live in: vectors of two fingerprints
are never compared.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
import numpy as np

from memsearch_engine.core import network
from memsearch_engine.core.errors import SettingsError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.settings import Embedding, secret
from memsearch_engine.index import e5, models
from memsearch_engine.index.chunk import CHUNKER_VERSION

#: provider -> (base URL, default model, texts per request)
PRESETS = {
    "openai": ("https://api.openai.com/v1", "text-embedding-3-small", 512),
    "google": (
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-embedding-001",
        100,
    ),
    "voyage": ("https://api.voyageai.com/v1", "voyage-3.5-lite", 128),
    "jina": ("https://api.jina.ai/v1", "jina-embeddings-v3", 128),
    "mistral": ("https://api.mistral.ai/v1", "mistral-embed", 64),
    "ollama": ("http://127.0.0.1:11434/v1", "nomic-embed-text", 32),
}
_ASCII_LETTER = re.compile(r"[a-zA-Z]")
#: Where the services' contracts differ from OpenAI's, as their API references have it: the word for
#: a wished dimension, whether ``encoding_format`` may say "float", and what tells a question from a
#: passage.
_DIMENSION = {"voyage": "output_dimension", "mistral": "output_dimension"}
_NO_FORMAT = ("voyage", "jina")
_ROLES: dict[str, tuple[str, str, str]] = {
    "voyage": ("input_type", "query", "document"),
    "jina": ("task", "retrieval.query", "retrieval.passage"),
}
#: What tells roles in models of Jina's that don't take its usual words: none in the oldest, others
#: in those for code.
_JINA_ROLES: tuple[tuple[str, tuple[str, str, str] | None], ...] = (
    ("jina-embeddings-v2", None),
    ("jina-clip-v1", None),
    ("jina-code-", ("task", "nl2code.query", "nl2code.passage")),
)
#: Characters of a request, where a service takes fewer tokens than the others (Mistral: 16,384).
_REQUEST_CHARS = {"mistral": 40_000}
#: Answers to a key that is wrong or missing, where the status does not say so (Google's compatible
#: endpoint: 400).
_BAD_KEY = re.compile(r"(?i)api[_ ]key|authorization header|unauthenticated")
_NO_CREDIT = re.compile(r"(?i)insufficient[ _](?:balance|quota|credit)|billing")
_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_MIN_CUT = 2_000  # characters; a text that is refused alone is not cut below it
_HOSTS = {"openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_HOST"}
_MAX_WAIT_S = 60.0
#: Notes on nothing in particular, to see what a model's vectors of a script have in common.
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
_MAX_REQUEST_CHARS = 400_000  # about 100k tokens, a third of the strictest limit
_MAX_TEXT_CHARS = (
    24_000  # beyond what the models read (8,192 tokens), but where each character is one
)
_TIMEOUT_S = 60
_RETRIES = 4


class OtherLength(Unreachable):
    """A model makes vectors of another length than it did: another one answers to its name."""


class Embedder(Protocol):
    fingerprint: str
    dimension: int

    def query(self, text: str) -> np.ndarray:
        """One vector, float32 [dimension]."""

    def passages(self, texts: list[str], cancelled: Callable[[], bool] = ...) -> np.ndarray:
        """float32 [n, dimension], in the order of *texts*; fewer rows where it was cancelled."""


def load(home: Home, settings: Embedding) -> Embedder:
    """The embedder that the settings name. Raises Unreachable or UsageError with the next step."""
    if settings.provider == "onnx":
        return OnnxEmbedder(models.find(home, settings.model))
    return HttpEmbedder(settings)


def speaks(embedder: Embedder, text: str) -> bool:
    """Whether the model can be expected to understand the script of *text*."""
    if text.isascii() or getattr(getattr(embedder, "model", None), "languages", "") != "English":
        return True
    return len(_ASCII_LETTER.findall(text)) >= 0.7 * sum(map(str.isalpha, text))


def ordinary(embedder: Embedder) -> dict[str, np.ndarray] | None:
    """By script (``analyze.script``) the mean vector of ordinary texts, of a model whose vectors
    all point one way; None for others.
    """
    if not getattr(getattr(embedder, "model", None), "centered", False):
        return None
    return {script: embedder.passages(texts).mean(axis=0) for script, texts in _ORDINARY.items()}


def fingerprint_of(home: Home, settings: Embedding) -> str:
    """The fingerprint without loading a model."""
    if settings.provider == "onnx":
        return _onnx_fingerprint(models.find(home, settings.model))
    return _http_fingerprint(settings)


def _onnx_fingerprint(files: models.ModelFiles) -> str:
    info = files.onnx.stat()
    identity = files.model.sha256 or f"{info.st_size}:{info.st_mtime_ns}"
    name = files.model.name
    parts = ["onnx", name, identity, str(files.tokenizer.stat().st_size), CHUNKER_VERSION]
    if files.model.source == "folder":
        name = files.onnx.parent.name
        # folders without embedding.json keep the fingerprint of versions that did not know it
        if (settings := models.folder_settings(files.onnx.parent)) != models.FolderSettings():
            parts.append(msgspec.json.encode(settings).decode())
    return f"{models.slug(name)}-{digest(*parts)[:8]}"


def _http_fingerprint(settings: Embedding) -> str:
    model = settings.model or PRESETS[settings.provider][1]
    parts = [settings.provider, _base_of(settings), model, str(settings.dimension), CHUNKER_VERSION]
    return f"{models.slug(model)}-{digest(*parts)[:8]}"


def _unit(vectors: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: np.ndarray = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return unit


def _step_back() -> None:
    """Let a person's query go before the indexing of notes, where the system has priorities per
    thread (Linux).
    """
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


class OnnxEmbedder:
    """A sentence-transformers style model on onnxruntime.

    One text a run, without padding, each on one thread, as many at once as there are cores: on two
    cores 88 notes a second, against 73 for runs of two threads. Inputs are fed by what the graph
    declares.
    """

    def __init__(self, files: models.ModelFiles) -> None:
        # onnxruntime looks up its maker's server and writes a device id into the home folder unless
        # told not to, and it reads this when it is imported
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime

        onnxruntime.disable_telemetry_events()

        self.model = files.model
        self.fingerprint = _onnx_fingerprint(files)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # long texts would leave hundreds of MB in it
        try:
            self._session = onnxruntime.InferenceSession(
                str(files.onnx), options, providers=["CPUExecutionProvider"]
            )
            self._ids = self._tokenizer(files)
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
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1, "embed", initializer=_step_back)
        self.dimension = int(self._run("dimension").shape[-1])

    @staticmethod
    def _tokenizer(files: models.ModelFiles) -> Callable[[str], list[int]]:
        """Text -> token ids, by the library that the model's tokenizer was made for."""
        if (files.tokenizer.parent / "tokenizer.model").is_file():
            return e5.Tokenizer(files.tokenizer.parent).ids
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(files.tokenizer))
        tokenizer.no_padding()
        tokenizer.enable_truncation(files.model.max_tokens)
        return lambda text: tokenizer.encode(text).ids

    def query(self, text: str) -> np.ndarray:
        return self._run(self.model.query_prefix + text)

    def passages(
        self, texts: list[str], cancelled: Callable[[], bool] = lambda: False
    ) -> np.ndarray:
        if cancelled() or not texts:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack(
            list(self._pool.map(self._run, (self.model.passage_prefix + text for text in texts)))
        )

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
        return _unit(output[0])


def _base_of(settings: Embedding) -> str:
    """The service's address: the settings', the one that its own tools read from the environment,
    else the public one.
    """
    if settings.base_url:
        return settings.base_url
    named = os.environ.get(_HOSTS.get(settings.provider, ""), "")
    if not named:
        return PRESETS[settings.provider][0]
    if settings.provider == "ollama":  # host, host:port or a URL, without the path
        named = named if "://" in named else f"http://{named}"
        return f"{named.rstrip('/')}{'' if urlsplit(named).port else ':11434'}/v1"
    return named


def key_of(settings: Embedding) -> str:
    """Raises SettingsError where the key that the owner named is not there: nothing is asked
    without it.
    """
    named = settings.api_key
    key = secret(named or f"env:{settings.provider.upper()}_API_KEY")
    if not key and not named and settings.provider == "google":
        key = secret("env:GEMINI_API_KEY")  # as Google's own pages have it
    if not key and (
        named.startswith("env:") or not (settings.base_url or settings.provider == "ollama")
    ):
        variable = named[4:] if named else f"{settings.provider.upper()}_API_KEY"
        raise SettingsError(
            f"`embedding.api_key`: {variable} is not set",
            f"export {variable}, or set embedding.api_key",
        )
    return key


def _retry_after(header: str, body: str, otherwise: float) -> float:
    """Seconds to wait as the service asks, within reason: in the header (RFC 9110, 10.2.3: seconds
    or a date), or in Google's ``RetryInfo``.
    """
    asked = otherwise
    if found := _RETRY_DELAY.search(body):
        asked = float(found[1])
    try:
        asked = float(header)
    except ValueError:
        with contextlib.suppress(ValueError, TypeError):
            asked = parsedate_to_datetime(header).timestamp() - time.time()
    return min(_MAX_WAIT_S, max(otherwise, asked))


def _roles(provider: str, model: str) -> tuple[str, str, str] | None:
    """(field, word for a question, word for a passage), where the service tells them apart."""
    for name, roles in _JINA_ROLES if provider == "jina" else ():
        if model.startswith(name):
            return roles
    return _ROLES.get(provider)


class HttpEmbedder:
    """Any service with OpenAI's ``POST /embeddings``: batches by count and size, halves a refused
    one, retries.
    """

    def __init__(self, settings: Embedding) -> None:
        _, model, batch = PRESETS[settings.provider]
        self.url = _base_of(settings).rstrip("/") + "/embeddings"
        self.name = settings.model or model
        self.batch = min(batch, settings.batch_size) if settings.batch_size else batch
        self.key = key_of(settings)
        self.requested_dimension = settings.dimension
        self.fingerprint = _http_fingerprint(settings)
        self.provider = settings.provider
        self.dimension = 0  # not known until the first answer
        self.dimension = int(self._request(["dimension"]).shape[1])

    def query(self, text: str) -> np.ndarray:
        vector: np.ndarray = self._request([text], asks=True)[0]
        return vector

    def passages(
        self, texts: list[str], cancelled: Callable[[], bool] = lambda: False
    ) -> np.ndarray:
        done: list[np.ndarray] = []
        for group in self._groups(texts):
            if cancelled():
                break
            done.append(self._request(group))
        return np.concatenate(done) if done else np.zeros((0, self.dimension), np.float32)

    def _groups(self, texts: list[str]) -> list[list[str]]:
        groups: list[list[str]] = []
        size, most = 0, _REQUEST_CHARS.get(self.provider, _MAX_REQUEST_CHARS)
        for text in texts:
            if not groups or len(groups[-1]) >= self.batch or size + len(text) > most:
                groups.append([])
                size = 0
            groups[-1].append(text)
            size += len(text)
        return groups

    def _request(self, texts: list[str], *, asks: bool = False) -> np.ndarray:
        """Vectors of *texts*, (n, dimension). *asks*: they are questions, not passages."""
        body: dict[str, Any] = {
            "model": self.name,
            "input": [text[:_MAX_TEXT_CHARS] if text.strip() else "-" for text in texts],
        }  # empty ones are refused
        if self.provider not in _NO_FORMAT:
            body["encoding_format"] = "float"
        if self.requested_dimension:
            body[_DIMENSION.get(self.provider, "dimensions")] = self.requested_dimension
        if roles := _roles(self.provider, self.name):
            name, question, passage = roles
            body[name] = question if asks else passage
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        for attempt in range(_RETRIES):
            pause = 0.5 * 2**attempt
            request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
            try:
                with network.open_url(request, _TIMEOUT_S) as response:
                    return self._vectors(json.load(response), len(texts))
            except urllib.error.HTTPError as error:
                text = error.read(2000).decode("utf-8", "replace")
                bad_key = error.code in (401, 403) or (
                    error.code == 400 and bool(_BAD_KEY.search(text))
                )
                if (
                    error.code in (400, 413)
                    and len(texts) == 1
                    and len(texts[0]) > _MIN_CUT
                    and not bad_key
                ):
                    # over the model's limit: its beginning says what it is about
                    sent = texts[0][:_MAX_TEXT_CHARS]
                    return self._request([sent[: max(_MIN_CUT, len(sent) // 2)]], asks=asks)
                if error.code in (400, 413) and len(texts) > 1 and not bad_key:
                    half = len(texts) // 2
                    parts = texts[:half], texts[half:]
                    return np.concatenate([self._request(part, asks=asks) for part in parts])
                paid_out = (
                    error.code in (402, 403, 429)
                    and bool(_NO_CREDIT.search(text))
                    and "Retry-After" not in error.headers
                )
                if (
                    paid_out
                    or error.code not in (408, 429, 500, 502, 503, 504)
                    or attempt == _RETRIES - 1
                ):
                    hint = (
                        f"set {self.provider.upper()}_API_KEY or embedding.api_key"
                        if bad_key
                        else ""
                    )
                    hint = "the account with this service has nothing left" if paid_out else hint
                    raise Unreachable(
                        f"{self.url} answered {error.code}: {text[:300]}", hint
                    ) from error
                pause = _retry_after(error.headers.get("Retry-After", ""), text, pause)
            except network.Offline:
                raise
            except (OSError, ValueError, http.client.HTTPException) as error:
                if attempt == _RETRIES - 1:
                    raise Unreachable(
                        f"{self.url} can't be reached: {error}", "check embedding.base_url"
                    ) from error
            time.sleep(pause)  # the service asked for patience; nothing could be awaited instead
        raise AssertionError("unreachable")

    def _vectors(self, answer: dict[str, Any], count: int) -> np.ndarray:
        try:
            data = sorted(answer["data"], key=lambda item: item.get("index", 0))
            vectors = np.array([item["embedding"] for item in data], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise Unreachable(
                f"the embedding service sent an answer of an unknown shape: {error}"
            ) from error
        if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
            raise Unreachable(
                f"the embedding service sent {vectors.shape} numbers for {count} texts"
            )
        if self.dimension not in (0, vectors.shape[1]):
            raise OtherLength(
                f"the embedding service sent vectors of {vectors.shape[1]} numbers, not {self.dimension}",
                "another model answers to this name: set embedding.model",
            )
        return _unit(vectors)
