"""A stand-in of an Ollama server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from tests.index.provider_fakes.base import (
    JSON,
    Fake,
    Model,
    Refused,
    embedding_list,
    is_int,
    tokens,
    vector,
)


class OllamaFake(Fake):
    """``POST /v1/embeddings`` of a local Ollama, http://localhost:11434/v1.

    Source: github:ollama/ollama at fb307609 (2026-08): openai/openai.go (EmbedRequest, Error,
    NewError, ToEmbeddingList), middleware/openai.go (EmbeddingsMiddleware), server/routes.go
    (EmbedHandler), docs/api/openai-compatibility.mdx:

    * no key is asked for; unknown fields are ignored (Go's decoder), here noted in ``ignored``;
      the Content-Type is not
      looked at;
    * ``encoding_format`` in any case of letters, float or base64, or empty; ``dimensions`` an
      integer that cuts and
      normalizes only where it is above 0 and below the model's own, so a larger one has **no
      effect**;
    * ``input`` "" is embedded; null or [] is 400 "invalid input", anything but strings 400
      "invalid input type";
    * a text beyond the context is cut silently, there is no limit of texts;
    * a model that was not pulled is 404 with type ``not_found_error``.

    ``pulled`` says which models are there.
    """

    api_key = ""
    default_model = "nomic-embed-text"
    models: ClassVar[dict[str, Model]] = {
        "nomic-embed-text": Model(768, range(1, 769), 2048),
        "mxbai-embed-large": Model(1024, range(1, 1025), 512),
        "all-minilm": Model(384, range(1, 385), 256),
        "bge-m3": Model(1024, range(1, 1025), 8192),
        "snowflake-arctic-embed": Model(1024, range(1, 1025), 512),
        "snowflake-arctic-embed2": Model(1024, range(1, 1025), 8192),
        "embeddinggemma": Model(768, range(1, 769), 2048),
        "qwen3-embedding": Model(4096, range(1, 4097), 32_768),
        "qwen3-embedding:0.6b": Model(1024, range(1, 1025), 32_768),
    }

    def __init__(self, pulled: Iterable[str] | None = None) -> None:
        self.pulled = set(self.models) if pulled is None else set(pulled)
        super().__init__()

    def _bad(self, status: int, message: str) -> Refused:
        kind = {400: "invalid_request_error", 404: "not_found_error"}.get(status, "api_error")
        return Refused(
            status,
            {"error": {"message": message, "type": kind, "param": None, "code": None}},
            message,
        )

    def authorize(self, headers: dict[str, str]) -> None:
        pass

    def wrong_place(self, method: str, path: str) -> Refused:
        if path.split("?")[0] == self.endpoint:
            return Refused(405, b"405 method not allowed", f"{method} {path}")
        return Refused(404, b"404 page not found", f"{method} {path}")

    def wrong_type(self, content_type: str) -> Refused | None:
        return None

    def wrong_json(self, why: str) -> Refused:
        return self._bad(400, why)

    def too_many(self, seconds: float) -> Any:
        """A local Ollama has no request limit; a proxy before it might (503 is its own "server
        busy").
        """
        return {
            "error": {
                "message": "too many requests",
                "type": "api_error",
                "param": None,
                "code": None,
            }
        }

    def answer(self, body: JSON) -> JSON:
        self.ignored.extend(sorted(set(body) - {"input", "model", "dimensions", "encoding_format"}))
        name = body.get("model")
        for field_name, value, right in (
            ("model", name, isinstance(name, (str, type(None)))),
            (
                "dimensions",
                body.get("dimensions"),
                body.get("dimensions") is None or is_int(body["dimensions"]),
            ),
            (
                "encoding_format",
                body.get("encoding_format"),
                isinstance(body.get("encoding_format", ""), (str, type(None))),
            ),
        ):
            if not right:
                raise self._bad(
                    400,
                    f"json: cannot unmarshal {type(value).__name__} "
                    f"into Go struct field EmbedRequest.{field_name}",
                )
        encoding = body.get("encoding_format") or ""
        if encoding.lower() not in ("", "float", "base64"):
            raise self._bad(
                400,
                f"Invalid value for 'encoding_format' = {encoding}. "
                "Supported values: ['float', 'base64'].",
            )
        given = body.get("input")
        if given is None or given == []:
            raise self._bad(400, "invalid input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self._bad(400, "invalid input type")
        short = (name or "").removesuffix(":latest")
        model = self.models.get(short) if short in self.pulled else None
        if model is None:
            raise self._bad(404, f"model '{name}' not found")
        assert model.text_tokens is not None
        asked = body.get("dimensions") or 0
        size = asked if 0 < asked < model.dimension else model.dimension
        cut = [text[: 4 * model.text_tokens] for text in texts]
        used = sum(map(tokens, cut))
        numbers = [vector(short, "", text, model.dimension, size) for text in cut]
        usage = {"prompt_tokens": used, "total_tokens": used}
        return embedding_list(str(name), numbers, encoding.lower() == "base64", usage)
