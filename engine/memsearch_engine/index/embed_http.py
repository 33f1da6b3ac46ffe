"""Embed texts with an HTTP service that supports OpenAI's ``POST /embeddings``."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from memsearch_engine.core import network
from memsearch_engine.core.errors import SettingsError, Unreachable
from memsearch_engine.core.ids import digest
from memsearch_engine.core.settings import secret
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index.chunk import CHUNKER_VERSION
from memsearch_engine.index.hubness import unit
from memsearch_engine.index.models import slug

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
#: Differences of services from OpenAI by their API references: the field for the dimension, whether
#: ``encoding_format`` may be "float", and (field, value for queries, value for passages).
_DIMENSION = {"voyage": "output_dimension", "mistral": "output_dimension"}
_NO_FORMAT = ("voyage", "jina")
_ROLES: dict[str, tuple[str, str, str]] = {
    "voyage": ("input_type", "query", "document"),
    "jina": ("task", "retrieval.query", "retrieval.passage"),
}
#: The same for models of Jina with other values; the oldest models do not distinguish queries.
_JINA_ROLES: tuple[tuple[str, tuple[str, str, str] | None], ...] = (
    ("jina-embeddings-v2", None),
    ("jina-clip-v1", None),
    ("jina-code-", ("task", "nl2code.query", "nl2code.passage")),
)
#: Environment variables with the address of a service, which its own tools read, too.
_HOSTS = {"openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_HOST"}
#: Text of answers to a wrong or missing key with another status than 401 (Google's compatible
#: endpoint returns 400).
_BAD_KEY = re.compile(r"(?i)api[_ ]key|authorization header|unauthenticated")
_NO_CREDIT = re.compile(r"(?i)insufficient[ _](?:balance|quota|credit)|billing")
_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_MAX_REQUEST_CHARS = 400_000  # about 100k tokens, a third of the strictest limit
#: Most characters of a request to services that accept fewer tokens (Mistral: 16,384).
_REQUEST_CHARS = {"mistral": 40_000}
_MAX_TEXT_CHARS = 24_000  # more than the 8,192 tokens that models read, except for CJK texts
_MIN_CUT = 2_000  # characters; a single refused text is not shortened below this length
_TIMEOUT_S = 60
_RETRIES = 4
_MAX_WAIT_S = 60.0


class OtherLength(Unreachable):
    """A service sent vectors of another length than before, so it now uses another model."""


class HttpEmbedder:
    """An embedding service.

    Texts are sent in batches. A batch that is refused as too large is halved. A request to a busy
    service is repeated.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        """Read the settings of the provider.

        Raises:
            SettingsError: the key that the settings name is missing.
            Unreachable: the service did not answer.
        """
        _, model, batch = PRESETS[settings.provider]
        self.url = _base_of(settings).rstrip("/") + "/embeddings"
        self.name = settings.model or model
        self.batch = min(batch, settings.batch_size) if settings.batch_size else batch
        self.key = key_of(settings)
        self.requested_dimension = settings.dimension
        self.fingerprint = fingerprint(settings)
        self.provider = settings.provider
        self.dimension = 0  # not known until the first answer
        self.dimension = int(self._embed(["dimension"]).shape[1])

    def query(self, text: str) -> np.ndarray:
        """The vector of a query: float32 of shape (dimension,)."""
        vector: np.ndarray = self._embed([text], is_query=True)[0]
        return vector

    def passages(
        self, texts: list[str], cancelled: Callable[[], bool] = lambda: False
    ) -> np.ndarray:
        """Embed notes.

        Returns: float32 of shape (n, dimension), in the order of *texts*; n is smaller than
            len(texts) if *cancelled* became true.
        """
        done: list[np.ndarray] = []
        for group in self._groups(texts):
            if cancelled():
                break
            done.append(self._embed(group))
        return np.concatenate(done) if done else np.zeros((0, self.dimension), np.float32)

    def _groups(self, texts: list[str]) -> list[list[str]]:
        """Split *texts* into groups that fit into one request."""
        groups: list[list[str]] = []
        size, most = 0, _REQUEST_CHARS.get(self.provider, _MAX_REQUEST_CHARS)
        for text in texts:
            if not groups or len(groups[-1]) >= self.batch or size + len(text) > most:
                groups.append([])
                size = 0
            groups[-1].append(text)
            size += len(text)
        return groups

    def _embed(self, texts: list[str], *, is_query: bool = False) -> np.ndarray:
        """Embed *texts*: float32 of shape (len(texts), dimension).

        Raises:
            Unreachable: the service refused, or did not answer after all retries.
        """
        body = json.dumps(self._body(texts, is_query)).encode()
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        for attempt in range(_RETRIES):
            is_last, pause = attempt == _RETRIES - 1, 0.5 * 2**attempt
            request = urllib.request.Request(self.url, body, headers)
            try:
                with network.open_url(request, _TIMEOUT_S) as response:
                    return self._vectors(json.load(response), len(texts))
            except urllib.error.HTTPError as error:
                answer = error.read(2000).decode("utf-8", "replace")
                bad_key = error.code in (401, 403) or (
                    error.code == 400 and bool(_BAD_KEY.search(answer))
                )
                if error.code in (400, 413) and not bad_key and (parts := _smaller(texts)):
                    return np.concatenate([self._embed(part, is_query=is_query) for part in parts])
                if is_last or not _is_temporary(error, answer):
                    raise self._refusal(error, answer, bad_key) from error
                pause = _retry_after(error.headers.get("Retry-After", ""), answer, pause)
            except network.Offline:
                raise
            except (OSError, ValueError, http.client.HTTPException) as error:
                if is_last:
                    raise Unreachable(
                        f"{self.url} can't be reached: {error}", "check embedding.base_url"
                    ) from error
            time.sleep(pause)  # the wait that the service asked for
        raise AssertionError("unreachable")

    def _body(self, texts: list[str], is_query: bool) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            # empty texts are refused
            "input": [text[:_MAX_TEXT_CHARS] if text.strip() else "-" for text in texts],
        }
        if self.provider not in _NO_FORMAT:
            body["encoding_format"] = "float"
        if self.requested_dimension:
            body[_DIMENSION.get(self.provider, "dimensions")] = self.requested_dimension
        if roles := _roles(self.provider, self.name):
            field, query, passage = roles
            body[field] = query if is_query else passage
        return body

    def _refusal(self, error: urllib.error.HTTPError, answer: str, bad_key: bool) -> Unreachable:
        hint = f"set {self.provider.upper()}_API_KEY or embedding.api_key" if bad_key else ""
        if _is_out_of_credit(error, answer):
            hint = "the account with this service has nothing left"
        return Unreachable(f"{self.url} answered {error.code}: {answer[:300]}", hint)

    def _vectors(self, answer: dict[str, Any], count: int) -> np.ndarray:
        """The vectors in an answer. Raises Unreachable if the answer has another form."""
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
                f"the embedding service sent vectors of {vectors.shape[1]} numbers, "
                f"not {self.dimension}",
                "another model answers to this name: set embedding.model",
            )
        return unit(vectors)


def fingerprint(settings: EmbeddingSettings) -> str:
    """The fingerprint of a service's model."""
    model = settings.model or PRESETS[settings.provider][1]
    parts = [settings.provider, _base_of(settings), model, str(settings.dimension), CHUNKER_VERSION]
    return f"{slug(model)}-{digest(*parts)[:8]}"


def key_of(settings: EmbeddingSettings) -> str:
    """The API key of the service; empty if none is needed.

    Raises:
        SettingsError: the key that the settings name is missing. Nothing is sent without it.
    """
    named = settings.api_key
    key = secret(named or f"env:{settings.provider.upper()}_API_KEY")
    if not key and not named and settings.provider == "google":
        key = secret("env:GEMINI_API_KEY")  # the name in Google's own documentation
    if not key and (
        named.startswith("env:") or not (settings.base_url or settings.provider == "ollama")
    ):
        variable = named[4:] if named else f"{settings.provider.upper()}_API_KEY"
        raise SettingsError(
            f"`embedding.api_key`: {variable} is not set",
            f"export {variable}, or set embedding.api_key",
        )
    return key


def _base_of(settings: EmbeddingSettings) -> str:
    """The address of the service.

    It comes from the settings, else from the environment variable of the service's own tools, else
    it is the public address.
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


def _roles(provider: str, model: str) -> tuple[str, str, str] | None:
    """(field, value for queries, value for passages); None if the model does not use them."""
    jina = _JINA_ROLES if provider == "jina" else ()
    return next((roles for name, roles in jina if model.startswith(name)), _ROLES.get(provider))


def _smaller(texts: list[str]) -> list[list[str]]:
    """Split *texts* that were refused as too large.

    Returns:
        Two halves, or the beginning of a single text; [] if the text can't be shortened further.
    """
    if len(texts) > 1:
        half = len(texts) // 2
        return [texts[:half], texts[half:]]
    if len(texts[0]) <= _MIN_CUT:
        return []
    sent = texts[0][:_MAX_TEXT_CHARS]
    return [[sent[: max(_MIN_CUT, len(sent) // 2)]]]


def _is_out_of_credit(error: urllib.error.HTTPError, answer: str) -> bool:
    return (
        error.code in (402, 403, 429)
        and bool(_NO_CREDIT.search(answer))
        and "Retry-After" not in error.headers
    )


def _is_temporary(error: urllib.error.HTTPError, answer: str) -> bool:
    is_busy = error.code in (408, 429, 500, 502, 503, 504)
    return is_busy and not _is_out_of_credit(error, answer)


def _retry_after(header: str, body: str, otherwise: float) -> float:
    """The number of seconds to wait before the next try, at most 60.

    Args:
        header: the ``Retry-After`` header (RFC 9110, 10.2.3: seconds or a date).
        body: the answer, which may contain Google's ``RetryInfo``.
        otherwise: the result if neither has a value.
    """
    found = _RETRY_DELAY.search(body)
    asked = float(found[1]) if found else otherwise
    try:
        asked = float(header)
    except ValueError:
        with contextlib.suppress(ValueError, TypeError):
            asked = parsedate_to_datetime(header).timestamp() - time.time()
    return min(_MAX_WAIT_S, max(otherwise, asked))
