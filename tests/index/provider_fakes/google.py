"""A stand-in of the Gemini embeddings."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.index.provider_fakes.base import (
    JSON,
    Fake,
    Model,
    Refused,
    is_int,
    vector,
)


def gemini_error(
    status: int, message: str, name: str, why: str | None = None, details: Any = None
) -> Refused:
    """Google's error body, in a list as the OpenAI-compatible paths wrap it.

    github.com/ychoi-kr/llm-api-prog issue 1, github.com/Alishahryar1/free-claude-code issue 542.
    """
    error: JSON = {"code": status, "message": message, "status": name}
    if details is not None:
        error["details"] = details
    return Refused(status, [{"error": error}], why or message)


class GeminiFake(Fake):
    """``POST /v1beta/openai/embeddings`` of https://generativelanguage.googleapis.com.

    Sources: https://ai.google.dev/gemini-api/docs/openai and /docs/embeddings, and reports of the
    live service:

    * fields of OpenAI's request only; any other is 400 "Unknown name ... Cannot find field"
      (github.com/MinLL/SkyrimNet-GamePlugin issue 77: same gateway, chat path). There is no field
      for a task: with gemini-embedding-2 the task belongs into the text (/docs/embeddings), 001 has
      none on this path;
    * ``encoding_format``: ``base64`` is 400 (github.com/RooCodeInc/Roo-Code issue 7761); that
      ``float`` is taken is
      *assumed*;
    * at most 100 texts (github.com/geldata/gel issue 9032, with this body) and 4,194,304 bytes
      (github.com/quarkiverse/quarkus-langchain4j issue 1705);
    * an empty text is 400 (github.com/lingfengQAQ/webnovel-writer pull 51);
    * text beyond the model's limit (2048 tokens for 001, 8192 for 2) is cut silently (*assumed*,
      as autoTruncate);
    * a wrong key is **400** INVALID_ARGUMENT, not 401 (github.com/google/timesketch pull 3703), a
      header without a
      key 400 (github.com/ychoi-kr/llm-api-prog issue 1); that no header is the same is *assumed*;
    * the response leaves out ``index`` where it is 0, as protobuf's JSON does
      (github.com/samfoy/pi-session-search issue 13, github.com/spring-projects/spring-ai issue
      7019), and has no ``usage`` (github.com/TuGraph-family/chat2graph issue 203);
    * dimensions 1 (documented: 128) to 3072, default 3072; only the full vector of 001 has unit
      length, shortened ones
      have to be normalized by the client (/docs/embeddings, "quality for smaller dimensions"); 2
      normalizes itself;
    * 429 RESOURCE_EXHAUSTED with google.rpc.RetryInfo in the body
      (https://ai.google.dev/gemini-api/docs/rate-limits);
      text-embedding-004 is gone since 2026-01-14
      (https://ai.google.dev/gemini-api/docs/deprecations).
    """

    base = "/v1beta/openai"
    endpoint = "/v1beta/openai/embeddings"
    api_key = "AIzaTest0123456789"
    default_model = "gemini-embedding-001"
    largest_body = 4_194_304
    models: ClassVar[dict[str, Model]] = {
        "gemini-embedding-001": Model(3072, range(1, 3073), 2048, None, 100, {"unit": False}),
        "gemini-embedding-2": Model(3072, range(1, 3073), 8192, None, 100, {"unit": True}),
        "gemini-embedding-2-preview": Model(3072, range(1, 3073), 8192, None, 100, {"unit": True}),
    }
    fields: ClassVar[frozenset[str]] = frozenset(
        {"input", "model", "encoding_format", "dimensions", "user"}
    )

    def authorize(self, headers: dict[str, str]) -> None:
        token = self.bearer(headers)
        if not token:
            raise gemini_error(
                400,
                "Missing or invalid Authorization header.",
                "INVALID_ARGUMENT",
                "no key was sent",
            )
        if token != self.api_key:
            raise gemini_error(
                400,
                "API key not valid. Please pass a valid API key.",
                "INVALID_ARGUMENT",
                "a wrong key was sent",
                [
                    {
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "API_KEY_INVALID",
                        "domain": "googleapis.com",
                        "metadata": {"service": "generativelanguage.googleapis.com"},
                    }
                ],
            )

    def wrong_place(self, method: str, path: str) -> Refused:
        return Refused(404, b"", f"{method} {path} is no endpoint")

    def wrong_type(self, content_type: str) -> Refused | None:
        return gemini_error(400, f"Unsupported content type {content_type!r}.", "INVALID_ARGUMENT")

    def wrong_json(self, why: str) -> Refused:
        return gemini_error(400, f"Invalid JSON payload received. {why}", "INVALID_ARGUMENT")

    def too_large(self, size: int) -> Refused:
        return gemini_error(
            400,
            f"Request payload size exceeds the limit: {self.largest_body} bytes.",
            "INVALID_ARGUMENT",
            f"a body of {size} bytes",
        )

    def too_many(self, seconds: float) -> Any:
        return [
            {
                "error": {
                    "code": 429,
                    "message": "Resource has been exhausted (e.g. check quota).",
                    "status": "RESOURCE_EXHAUSTED",
                }
            }
        ]

    def with_delay(self, body: Any, seconds: float) -> Any:
        error = dict(body[0]["error"])
        error["details"] = [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds:g}s"}
        ]
        return [{"error": error}]

    def answer(self, body: JSON) -> JSON:
        unknown = sorted(set(body) - self.fields)
        if unknown:
            said = [
                f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
                for name in unknown
            ]
            details = [
                {
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [{"description": each} for each in said],
                }
            ]
            raise gemini_error(400, "\n".join(said), "INVALID_ARGUMENT", details=details)
        name = body.get("model")
        if not isinstance(name, str) or not name:
            raise gemini_error(400, "model is not specified", "INVALID_ARGUMENT")
        short = name.removeprefix("models/")
        model = self.models.get(short)
        if model is None:
            raise gemini_error(
                404,
                f"models/{short} is not found for API version v1main, "
                "or is not supported for embedContent.",
                "NOT_FOUND",
            )
        encoding = body.get("encoding_format")
        if encoding not in (None, "float"):
            raise gemini_error(
                400, f"Invalid value for encoding_format: {encoding!r}.", "INVALID_ARGUMENT"
            )
        asked = body.get("dimensions")
        if asked is not None and not is_int(asked):
            raise gemini_error(
                400, f"Invalid value at 'dimensions' (TYPE_INT32), {asked!r}", "INVALID_ARGUMENT"
            )
        if asked is not None and not model.takes(asked):
            raise gemini_error(
                400,
                "* EmbedContentRequest.output_dimensionality: "
                f"{asked} is out of the range 1 to {model.dimension}\n",
                "INVALID_ARGUMENT",
            )
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if (
            not isinstance(texts, list)
            or not texts
            or not all(isinstance(text, str) for text in texts)
        ):
            raise gemini_error(400, "Invalid value at 'input'", "INVALID_ARGUMENT")
        if model.texts is not None and len(texts) > model.texts:
            raise gemini_error(
                400,
                "* BatchEmbedContentsRequest.requests: "
                f"at most {model.texts} requests can be in one batch\n",
                "INVALID_ARGUMENT",
                f"{len(texts)} texts in a request",
            )
        if any(not text for text in texts):
            raise gemini_error(
                400,
                "* EmbedContentRequest.content contains an empty Part.\n",
                "INVALID_ARGUMENT",
                "an empty text",
            )
        assert model.text_tokens is not None
        dimension = model.dimension if asked is None else asked
        unit = bool(model.extra["unit"])
        data: list[JSON] = []
        for place, text in enumerate(texts):
            cut = text[: 4 * model.text_tokens]
            item: JSON = {
                "object": "embedding",
                "embedding": vector(short, "", cut, model.dimension, dimension, unit),
            }
            if place:
                item["index"] = place
            data.append(item)
        return {"object": "list", "data": data, "model": name}
