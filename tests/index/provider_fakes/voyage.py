"""A stand-in of the Voyage embeddings."""

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


class VoyageFake(Fake):
    """``POST /v1/embeddings`` of https://api.voyageai.com/v1.

    Sources: https://docs.voyageai.com/reference/embeddings-api (limits, models), /docs/embeddings
    (dimensions, context lengths), /docs/error-codes (statuses), github:voyage-ai/openapi
    voyage-openapi.yml (fields, response, ``detail``), github:voyage-ai/voyageai-python
    voyageai/api_resources/api_requestor.py (``detail`` is what its client reads):

    * fields: ``input``, ``model``, ``input_type`` (null, query, document), ``truncation``
      (boolean, true),
      ``encoding_format`` (null, base64), ``output_dimension``, ``output_dtype``; everything else is
      400, among it OpenAI's ``dimensions`` (github.com/fredrikburmester/streamystats issue 420);
    * ``encoding_format`` "float" is 400 with a message that says which values are taken
      (github.com/vectorize-io/hindsight issue 925);
    * 1 to 1000 texts, none of them empty
      (https://www.mongodb.com/docs/api/doc/atlas-embedding-and-reranking-api;
      github.com/blinkospace/blinko pull 884);
    * tokens of a request, counted after truncation: 1M, 320K or 120K by model, wording as in
      github.com/VeraTools/vera pull 18; with ``truncation`` false a text beyond the context is 400;
    * usage has ``total_tokens`` only.

    Client errors are 400 throughout, never 422 (/docs/error-codes). Whether the request limit comes
    with a ``Retry-After`` header is not documented.
    """

    api_key = "pa-test0123456789"
    default_model = "voyage-3.5"
    _flexible: ClassVar[frozenset[int]] = frozenset({256, 512, 1024, 2048})
    models: ClassVar[dict[str, Model]] = {
        "voyage-4-large": Model(1024, _flexible, 32_000, 120_000, 1000),
        "voyage-4": Model(1024, _flexible, 32_000, 320_000, 1000),
        "voyage-4-lite": Model(1024, _flexible, 32_000, 1_000_000, 1000),
        "voyage-3-large": Model(1024, _flexible, 32_000, 120_000, 1000),
        "voyage-3.5": Model(1024, _flexible, 32_000, 320_000, 1000),
        "voyage-3.5-lite": Model(1024, _flexible, 32_000, 1_000_000, 1000),
        "voyage-code-3": Model(1024, _flexible, 32_000, 120_000, 1000),
        "voyage-finance-2": Model(1024, frozenset({1024}), 32_000, 120_000, 1000),
        "voyage-law-2": Model(1024, frozenset({1024}), 16_000, 120_000, 1000),
        "voyage-code-2": Model(1536, frozenset({1536}), 16_000, 120_000, 1000),
        "voyage-3": Model(1024, frozenset({1024}), 32_000, 320_000, 1000),
        "voyage-3-lite": Model(512, frozenset({512}), 32_000, 1_000_000, 1000),
        "voyage-2": Model(1024, frozenset({1024}), 4_000, 320_000, 1000),
    }
    fields: ClassVar[frozenset[str]] = frozenset(
        {
            "input",
            "model",
            "input_type",
            "truncation",
            "encoding_format",
            "output_dimension",
            "output_dtype",
        }
    )

    def _bad(self, why: str) -> Refused:
        lead = (
            "The request body is not valid JSON, "
            "or some arguments were not specified properly. In particular, "
        )
        return Refused(400, {"detail": lead + why}, why)

    def authorize(self, headers: dict[str, str]) -> None:
        token = self.bearer(headers)
        if not token:
            raise Refused(401, {"detail": "API key was not provided."}, "no key was sent")
        if token != self.api_key:
            raise Refused(401, {"detail": "Provided API key is invalid."}, "a wrong key was sent")

    def wrong_place(self, method: str, path: str) -> Refused:
        if path.split("?")[0] == self.endpoint:
            return Refused(405, {"detail": "Method Not Allowed"}, f"{method} {path}")
        return Refused(404, {"detail": "Not Found"}, f"{method} {path}")

    def wrong_type(self, content_type: str) -> Refused | None:
        return self._bad(f"the content type is {content_type!r}")

    def wrong_json(self, why: str) -> Refused:
        return self._bad(why)

    def too_many(self, seconds: float) -> Any:
        return {"detail": "You have exceeded your rate limit. Please pace your requests."}

    def answer(self, body: JSON) -> JSON:
        unknown = sorted(set(body) - self.fields)
        if unknown:
            raise self._bad(f"Argument {unknown[0]!r} is not supported by our API")
        name = body.get("model")
        if not isinstance(name, str):
            raise self._bad("Argument 'model' is missing or not a string")
        model = self.models.get(name)
        if model is None:
            raise Refused(
                400,
                {
                    "detail": (
                        f"Model {name} is not supported. "
                        f"Supported models are {sorted(self.models)}."
                    )
                },
                f"there is no model {name!r}",
            )
        self._one_of(body, "input_type", (None, "query", "document"))
        self._one_of(body, "encoding_format", (None, "base64"))
        self._one_of(body, "output_dtype", (None, "float", "int8", "uint8", "binary", "ubinary"))
        if body.get("output_dtype") not in (None, "float"):
            raise Refused(501, {"detail": "not modelled"}, "the fake has no quantized vectors")
        truncation = body.get("truncation", True)
        if not isinstance(truncation, bool):
            raise self._bad("Argument 'truncation' is not a boolean")
        asked = body.get("output_dimension")
        if asked is not None and not is_int(asked):
            raise self._bad("Argument 'output_dimension' is not an integer")
        if asked is not None and not model.takes(asked):
            sizes = sorted(model.sizes or ())
            raise self._bad(
                f"Value '{asked}' for argument 'output_dimension' "
                f"is not valid -- {name} takes {sizes}"
            )
        texts = self._texts(body, name, model, truncation)
        used = sum(min(tokens(text), model.text_tokens or tokens(text)) for text in texts)
        kind = body.get("input_type") or ""
        size = self.size(model, asked)
        # the numbers of a shortened text are those of what is left of it
        cut = [text[: 4 * (model.text_tokens or len(text))] for text in texts]
        native = max(model.sizes or {model.dimension})
        numbers = [vector(name, kind, text, native, size) for text in cut]
        return embedding_list(
            name, numbers, body.get("encoding_format") == "base64", {"total_tokens": used}
        )

    def _one_of(self, body: JSON, field_name: str, values: tuple[str | None, ...]) -> None:
        value = body.get(field_name)
        if value not in values:
            named = ", ".join(repr(each) for each in values if each is not None)
            raise self._bad(
                f"Value {value!r} supplied for argument {field_name!r} "
                f"is not valid -- accepted values are {named}"
            )

    def _texts(self, body: JSON, name: str, model: Model, truncation: bool) -> list[str]:
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self._bad("Argument 'input' is not a string or a list of strings")
        if not texts or any(not text for text in texts):
            raise Refused(
                400,
                {"detail": "Input cannot contain empty strings or empty lists"},
                "an empty text or an empty list",
            )
        assert (
            model.texts is not None
            and model.text_tokens is not None
            and model.request_tokens is not None
        )
        if len(texts) > model.texts:
            raise Refused(
                400,
                {
                    "detail": (
                        f"The batch size limit is {model.texts}. Your batch size is {len(texts)}."
                    )
                },
                f"{len(texts)} texts in a request",
            )
        counts = [tokens(text) for text in texts]
        if not truncation and max(counts) > model.text_tokens:
            raise Refused(
                400,
                {
                    "detail": (
                        f"Request to model '{name}' failed. "
                        f"The max tokens of a text is {model.text_tokens}."
                    )
                },
                f"a text of {max(counts)} tokens without truncation",
            )
        total = sum(min(count, model.text_tokens) for count in counts)
        if total > model.request_tokens:
            raise Refused(
                400,
                {
                    "detail": f"Request to model '{name}' failed. "
                    "The max allowed tokens per submitted batch is "
                    f"{model.request_tokens}. Your batch has {total} tokens after truncation. "
                    "Please lower the number of tokens in the batch."
                },
                f"{total} tokens in a request",
            )
        return texts
