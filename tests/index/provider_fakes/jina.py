"""A stand-in of the Jina embeddings."""

from __future__ import annotations

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


class JinaFake(Fake):
    """``POST /v1/embeddings`` of https://api.jina.ai/v1.

    Source: https://api.jina.ai/openapi.json (read in the copy at github:tryAGI/Jina
    src/libs/Jina/openapi.json, 2026-06); the request is a union that ``model`` tells apart:

    * any field that is not the model's is 422 ``extra_forbidden``, among them OpenAI's
      ``encoding_format``
      (github.com/QuantumNous/new-api issue 1941) and ``task`` with v2
      (github.com/infiniflow/ragflow issue 11614, also for the body's shape); v5 has no
      ``late_chunking``, v4 and the code models have no ``normalized``;
    * ``embedding_type``: float, base64, binary, ubinary, a list of these, or null;
    * ``task`` by model, text-matching by default with v4 and v5, nl2code.query with the code
      models;
    * ``dimensions``: null or from 1 to the model's most;
    * texts in a list: 512 with v4 (github.com/langgenius/dify-official-plugins issue 1997), 2048
      before
      (github.com/refly-ai/refly issue 831); 512 also for v5 and code is *assumed*;
    * a text beyond the model's context is an error unless ``truncate`` is true; its status 400 is
      *assumed*;
    * 401 with ``code``: AUTH_MISSING_API_KEY, AUTH_INVALID_FORMAT (a key has 65 characters and
      begins with ``jina_``),
      AUTH_INVALID_API_KEY; 429 with RATE_REQUEST_LIMIT_EXCEEDED; 400 INPUT_MODEL_NOT_FOUND (a
      discriminator that fails might also be 422);
    * ``usage`` has total_tokens and prompt_tokens.

    An empty text is not mentioned anywhere; the fake takes it.
    """

    api_key = "jina_" + "0123456789abcdef" * 3 + "0123456789ab"
    default_model = "jina-embeddings-v3"
    _search: ClassVar[tuple[str, ...]] = ("retrieval.query", "retrieval.passage", "text-matching")
    _code: ClassVar[tuple[str, ...]] = tuple(
        f"{what}.{side}"
        for what in ("nl2code", "qa", "code2code", "code2nl", "code2completion")
        for side in ("query", "passage")
    )
    _always: ClassVar[frozenset[str]] = frozenset({"model", "input", "embedding_type", "truncate"})
    models: ClassVar[dict[str, Model]] = {
        **{
            f"jina-embeddings-v2-base-{kind}": Model(
                768, None, 8192, None, 2048, {"more": {"normalized"}}
            )
            for kind in ("en", "zh", "de", "es", "code")
        },
        "jina-embeddings-v3": Model(
            1024,
            range(1, 1025),
            8192,
            None,
            2048,
            {
                "more": {"normalized", "task", "dimensions", "late_chunking"},
                "tasks": (*_search, "classification", "separation"),
            },
        ),
        "jina-embeddings-v4": Model(
            2048,
            range(1, 2049),
            32_768,
            None,
            512,
            {
                "more": {
                    "task",
                    "dimensions",
                    "late_chunking",
                    "return_multivector",
                    "return_tokenized_input",
                },
                "tasks": (*_search, "code.query", "code.passage"),
                "task": "text-matching",
            },
        ),
        "jina-embeddings-v5-text-small": Model(
            1024,
            range(1, 1025),
            32_768,
            None,
            512,
            {
                "more": {"normalized", "task", "dimensions"},
                "tasks": (*_search, "clustering", "classification"),
                "task": "text-matching",
            },
        ),
        "jina-embeddings-v5-text-nano": Model(
            768,
            range(1, 769),
            8192,
            None,
            512,
            {
                "more": {"normalized", "task", "dimensions"},
                "tasks": (*_search, "clustering", "classification"),
                "task": "text-matching",
            },
        ),
        "jina-code-embeddings-0.5b": Model(
            896,
            range(1, 897),
            32_768,
            None,
            512,
            {"more": {"task", "dimensions"}, "tasks": _code, "task": "nl2code.query"},
        ),
        "jina-code-embeddings-1.5b": Model(
            1536,
            range(1, 1537),
            32_768,
            None,
            512,
            {"more": {"task", "dimensions"}, "tasks": _code, "task": "nl2code.query"},
        ),
    }
    _request: ClassVar[str] = "03f58cd9da22fabf"

    def _coded(self, status: int, code: str | None, detail: str, why: str | None = None) -> Refused:
        body = {"detail": detail, "request_id": self._request}
        if code is not None:
            body["code"] = code
        return Refused(status, body, why or detail)

    def _invalid(
        self, name: str, field_name: str, message: str, kind: str, value: object
    ) -> Refused:
        where = f"body -> {name} -> {field_name}"
        detail = (
            f"[RID: {self._request}] Validation error: "
            f"'{where}' {message}. Field errors: : Invalid value"
        )
        errors = [{"field": where, "message": message, "type": kind, "input": value}]
        return Refused(422, {"detail": detail, "errors": errors}, f"{field_name}: {message}")

    def authorize(self, headers: dict[str, str]) -> None:
        token = self.bearer(headers)
        if token is None:
            raise self._coded(
                401, "AUTH_MISSING_API_KEY", "Authentication required.", "no key was sent"
            )
        if not token.startswith("jina_") or len(token) != 65:
            raise self._coded(
                401,
                "AUTH_INVALID_FORMAT",
                "Invalid authorization format.",
                "what was sent is no key",
            )
        if token != self.api_key:
            raise self._coded(
                401, "AUTH_INVALID_API_KEY", "Invalid API key.", "a wrong key was sent"
            )

    def wrong_place(self, method: str, path: str) -> Refused:
        if path.split("?")[0] == self.endpoint:
            return Refused(405, {"detail": "Method Not Allowed"}, f"{method} {path}")
        return Refused(404, {"detail": "Not Found"}, f"{method} {path}")

    def wrong_type(self, content_type: str) -> Refused | None:
        return self._invalid(
            "?", "content-type", "Input should be a valid dictionary", "model_attributes_type", None
        )

    def wrong_json(self, why: str) -> Refused:
        return self._invalid("?", "json", f"JSON decode error: {why}", "json_invalid", None)

    def too_many(self, seconds: float) -> Any:
        return {
            "detail": "Request rate limit exceeded: 501/500 requests per minute.",
            "code": "RATE_REQUEST_LIMIT_EXCEEDED",
            "request_id": self._request,
        }

    def answer(self, body: JSON) -> JSON:
        name = body.get("model")
        if not isinstance(name, str):
            raise self._invalid("?", "model", "Field required", "missing", None)
        model = self.models.get(name)
        if model is None:
            raise self._coded(400, "INPUT_MODEL_NOT_FOUND", f"Model '{name}' not found.")
        for field_name in sorted(set(body) - self._always - model.extra["more"]):
            raise self._invalid(
                name,
                field_name,
                "Extra inputs are not permitted",
                "extra_forbidden",
                body[field_name],
            )
        for field_name in (
            "truncate",
            "normalized",
            "late_chunking",
            "return_multivector",
            "return_tokenized_input",
        ):
            if not isinstance(body.get(field_name), (bool, type(None))):
                raise self._invalid(
                    name,
                    field_name,
                    "Input should be a valid boolean",
                    "bool_type",
                    body[field_name],
                )
        if body.get("late_chunking") or body.get("return_multivector"):
            raise Refused(
                501,
                {"detail": "not modelled"},
                "the fake has no late chunking and no multi-vectors",
            )
        encoding = body.get("embedding_type") or "float"
        if encoding not in ("float", "base64", "binary", "ubinary"):
            raise self._invalid(
                name,
                "embedding_type",
                "Input should be 'float', 'base64', 'binary' or 'ubinary'",
                "literal_error",
                encoding,
            )
        if encoding not in ("float", "base64"):
            raise Refused(501, {"detail": "not modelled"}, "the fake has no binary vectors")
        task = body.get("task")
        if task is not None and task not in model.extra["tasks"]:
            raise self._invalid(
                name,
                "task",
                f"Input should be one of {model.extra['tasks']}",
                "literal_error",
                task,
            )
        task = task or model.extra.get("task", "")
        asked = body.get("dimensions")
        if asked is not None and not is_int(asked):
            raise self._invalid(
                name, "dimensions", "Input should be a valid integer", "int_type", asked
            )
        if asked is not None and not model.takes(asked):
            raise self._invalid(
                name,
                "dimensions",
                f"Input should be from 1 to {model.dimension}",
                "less_than_equal",
                asked,
            )
        texts = self._texts(body, name, model)
        used = sum(map(tokens, texts))
        size = self.size(model, asked)
        numbers = [vector(name, task, text, model.dimension, size) for text in texts]
        usage = {"total_tokens": used, "prompt_tokens": used}
        return embedding_list(name, numbers, encoding == "base64", usage)

    def _texts(self, body: JSON, name: str, model: Model) -> list[str]:
        given = body.get("input")
        items = given if isinstance(given, list) else [given]
        texts: list[str] = []
        for item in items:
            text = item.get("text") if isinstance(item, dict) and set(item) == {"text"} else item
            if not isinstance(text, str):
                raise self._invalid(
                    name, "input", "Input should be a valid string", "string_type", item
                )
            texts.append(text)
        if not texts:
            raise self._invalid(name, "input", "Input list cannot be empty", "value_error", given)
        assert model.texts is not None and model.text_tokens is not None
        if len(texts) > model.texts:
            raise self._invalid(
                name,
                "input",
                f"Each input list can contain at most {model.texts} items",
                "value_error",
                len(texts),
            )
        most = max(map(tokens, texts))
        if most > model.text_tokens:
            if not body.get("truncate"):
                raise self._coded(
                    400,
                    None,
                    f"Input text exceeds the maximum of {model.text_tokens} tokens: "
                    f"{most}; set truncate.",
                )
            texts = [text[: 4 * model.text_tokens] for text in texts]
        return texts
