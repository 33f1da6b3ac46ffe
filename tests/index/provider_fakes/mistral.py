"""A stand-in of the Mistral embeddings."""

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


class MistralFake(Fake):
    """``POST /v1/embeddings`` of https://api.mistral.ai/v1.

    Sources: github:mistralai/platform-docs-public openapi.yaml (EmbeddingRequest,
    additionalProperties false), public/studio-api/knowledge-rag/embeddings/*.md,
    public/resources/error-glossary.md; github:mistralai/client-python
    src/mistralai/client/models/embeddingrequest.py:

    * fields: ``model``, ``input``, ``metadata`` (nullable object), ``output_dimension``
      (nullable, above 0),
      ``output_dtype``, ``encoding_format`` (float, base64; not nullable); another, among them
      OpenAI's ``dimensions``, is 422;
    * ``output_dimension`` with mistral-embed, even of its own 1024, is 400 code 3051
      (github.com/upsidelab/enthusiast pull 360); codestral-embed: default 1536, at most 3072;
    * 512 texts: 400 code 3210 (github.com/raphaelmansuy/edgequake-llm pull 74); 16,384 tokens in
      a request
      (github.com/aurelio-labs/semantic-router issue 297, github.com/dust-tt/dust pull 10654); 8192
      in a text, from 8192 on refused (github.com/langchain-ai/langchain issue 20523);
    * 401 ``{"detail": "Unauthorized"}`` (github.com/nextcloud/integration_openai issue 332),
      which is not the form
      that the error glossary shows;
    * 429 with ``Retry-After`` (error glossary);
    * the 422's body: ``message`` is an object with FastAPI's ``detail`` list; the OpenAPI shows
      ``detail`` alone
      (*assumed* wrapped, the stricter for a client that expects a string).

    Empty strings are not mentioned; the fake takes them. An empty list is refused (*assumed*).
    """

    api_key = "mistral-test-0123456789"
    default_model = "mistral-embed"
    models: ClassVar[dict[str, Model]] = {
        "mistral-embed": Model(1024, None, 8191, 16_384, 512),
        "mistral-embed-2312": Model(1024, None, 8191, 16_384, 512),
        "codestral-embed": Model(1536, range(1, 3073), 8191, 16_384, 512),
        "codestral-embed-2505": Model(1536, range(1, 3073), 8191, 16_384, 512),
    }
    fields: ClassVar[frozenset[str]] = frozenset(
        {"model", "input", "metadata", "output_dimension", "output_dtype", "encoding_format"}
    )

    def _bad(self, message: str, code: str, kind: str = "invalid_request_error") -> Refused:
        body = {"object": "error", "message": message, "type": kind, "param": None, "code": code}
        return Refused(400, body, message)

    def _invalid(self, field_name: str, message: str, kind: str, value: object) -> Refused:
        detail = [{"type": kind, "loc": ["body", field_name], "msg": message, "input": value}]
        body = {
            "object": "error",
            "message": {"detail": detail},
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
        return Refused(422, body, f"{field_name}: {message}")

    def authorize(self, headers: dict[str, str]) -> None:
        token = self.bearer(headers)
        if token != self.api_key:
            raise Refused(
                401,
                {"detail": "Unauthorized"},
                "a wrong key was sent" if token else "no key was sent",
            )

    def wrong_place(self, method: str, path: str) -> Refused:
        if path.split("?")[0] == self.endpoint:
            return Refused(405, {"detail": "Method Not Allowed"}, f"{method} {path}")
        return Refused(404, {"message": "no Route matched with those values"}, f"{method} {path}")

    def wrong_type(self, content_type: str) -> Refused | None:
        return self._invalid(
            "content-type", "Input should be a valid dictionary", "model_attributes_type", None
        )

    def wrong_json(self, why: str) -> Refused:
        return self._invalid("json", f"JSON decode error: {why}", "json_invalid", None)

    def too_many(self, seconds: float) -> Any:
        return {
            "object": "error",
            "message": "Requests rate limit exceeded",
            "type": "rate_limited",
            "param": None,
            "code": "1300",
        }

    def answer(self, body: JSON) -> JSON:
        for field_name in sorted(set(body) - self.fields):
            raise self._invalid(
                field_name, "Extra inputs are not permitted", "extra_forbidden", body[field_name]
            )
        for field_name in ("input", "model"):
            if field_name not in body:
                raise self._invalid(field_name, "Field required", "missing", None)
        name = body["model"]
        if not isinstance(name, str):
            raise self._invalid("model", "Input should be a valid string", "string_type", name)
        if "encoding_format" in body and body["encoding_format"] not in ("float", "base64"):
            raise self._invalid(
                "encoding_format",
                "Input should be 'float' or 'base64'",
                "enum",
                body["encoding_format"],
            )
        dtype = body.get("output_dtype", "float")
        if dtype not in ("float", "int8", "uint8", "binary", "ubinary"):
            raise self._invalid("output_dtype", "Input should be a known data type", "enum", dtype)
        if dtype != "float":
            raise Refused(501, {"detail": "not modelled"}, "the fake has no quantized vectors")
        if not isinstance(body.get("metadata"), (dict, type(None))):
            raise self._invalid(
                "metadata", "Input should be a valid dictionary", "dict_type", body["metadata"]
            )
        asked = body.get("output_dimension")
        if asked is not None and (not is_int(asked) or asked < 1):
            raise self._invalid(
                "output_dimension", "Input should be an integer above 0", "greater_than", asked
            )
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self._invalid(
                "input", "Input should be a string or a list of strings", "string_type", given
            )
        model = self.models.get(name)
        if model is None:
            raise self._bad(f"Invalid model: {name}", "1500", "invalid_model")
        if asked is not None and model.sizes is None:
            raise self._bad(
                "This model does not support output_dimension.",
                "3051",
                "invalid_request_invalid_args",
            )
        if asked is not None and not model.takes(asked):
            raise self._bad(
                f"output_dimension has to be at most 3072, got {asked}.",
                "3051",
                "invalid_request_invalid_args",
            )
        if not texts:
            raise self._bad(
                "Input cannot be an empty list.", "3051", "invalid_request_invalid_args"
            )
        assert (
            model.texts is not None
            and model.text_tokens is not None
            and model.request_tokens is not None
        )
        if len(texts) > model.texts:
            raise self._bad("Too many inputs in request, split into more batches.", "3210")
        most, total = max(map(tokens, texts)), sum(map(tokens, texts))
        if most > model.text_tokens:
            raise self._bad(
                f"An input has {most} tokens, exceeding max {model.text_tokens + 1} tokens.", "3210"
            )
        if total > model.request_tokens:
            raise self._bad(
                f"Too many tokens in batch. Max is {model.request_tokens} got {total}", "3210"
            )
        native = max(model.sizes) if model.sizes else model.dimension
        numbers = [vector(name, "", text, native, self.size(model, asked)) for text in texts]
        usage = {
            "prompt_tokens": total,
            "total_tokens": total,
            "completion_tokens": 0,
            "request_count": 1,
            "prompt_token_details": None,
        }
        answer = embedding_list(name, numbers, body.get("encoding_format") == "base64", usage)
        return {"id": "0123456789abcdef0123456789abcdef", **answer}
