"""Stand-ins of OpenAI's embeddings and chat completions."""

from __future__ import annotations

import json
import re
import time
from typing import Any, ClassVar

from tests.index.provider_fakes.base import (
    JSON,
    Fake,
    Model,
    Refused,
    Speaker,
    echo,
    embedding_list,
    is_int,
    is_number,
    tokens,
    vector,
)


def openai_error(
    status: int,
    message: str,
    param: str | None = None,
    code: str | None = None,
    kind: str = "invalid_request_error",
    why: str | None = None,
    headers: dict[str, str] | None = None,
) -> Refused:
    """OpenAI's error body: github:openai/openai-openapi openapi.yaml, schema ErrorResponse."""
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Refused(status, body, why or message, headers)


class OpenAIBase(Fake):
    """What all of OpenAI's endpoints share.

    * 401 ``invalid_api_key`` for a wrong key, and without a code when there is none:
      https://platform.openai.com/docs/guides/error-codes, message shapes as reported in
      github.com/continuedev/continue issues 10088 and 11228.
    * 404 for an unknown path or method: "Invalid URL (POST /v1/x)", type
      ``invalid_request_error``; *assumed* for the
      method.
    """

    api_key = "sk-proj-test0123456789"

    def authorize(self, headers: dict[str, str]) -> None:
        token = self.bearer(headers)
        if not token:
            raise openai_error(
                401,
                "You didn't provide an API key in an Authorization header (Bearer).",
                why="no key was sent",
            )
        if token != self.api_key:
            raise openai_error(
                401,
                f"Incorrect API key provided: {token[:4]}***.",
                code="invalid_api_key",
                why="a wrong key was sent",
            )

    def wrong_place(self, method: str, path: str) -> Refused:
        return openai_error(404, f"Invalid URL ({method} {path})")

    def wrong_type(self, content_type: str) -> Refused | None:
        return openai_error(
            415, f"Unsupported content type: '{content_type}'.", code="unsupported_content_type"
        )

    def wrong_json(self, why: str) -> Refused:
        return openai_error(400, f"We could not parse the JSON body of your request: {why}")

    def too_many(self, seconds: float) -> Any:
        return {
            "error": {
                "message": f"Rate limit reached for requests. Please try again in {seconds:g}s.",
                "type": "requests",
                "param": None,
                "code": "rate_limit_exceeded",
            }
        }


class OpenAIFake(OpenAIBase):
    """``POST /v1/embeddings`` of https://api.openai.com/v1.

    Source: github:openai/openai-openapi openapi.yaml (CreateEmbeddingRequest, additionalProperties
    false) and https://platform.openai.com/docs/api-reference/embeddings/create:

    * fields: ``input``, ``model``, ``encoding_format`` (``float``, ``base64``), ``dimensions``
      (integer from 1, not
      with ada-002), ``user``; nothing is nullable;
    * ``input``: a string, or 1 to 2048 strings (arrays of tokens are taken too, not modelled here
      beyond refusing a
      mixture); no empty string; 8192 tokens each, 300,000 together;
    * models: text-embedding-3-small 1536, -3-large 3072, ada-002 1536
      (https://platform.openai.com/docs/guides/embeddings).

    Messages: too many tokens as in github.com/assafelovic/gpt-researcher issue 1500 and
    github.com/pingcap/autoflow issue 265; empty string as in github.com/openai/openai-python issue
    576; no ``dimensions`` with ada-002 as in github.com/sbintuitions/JMTEB pull 14; a wrong
    ``encoding_format`` as in github.com/lm-sys/FastChat pull 2281.
    """

    default_model = "text-embedding-3-small"
    models: ClassVar[dict[str, Model]] = {
        "text-embedding-3-small": Model(1536, range(1, 1537), 8192, 300_000, 2048),
        "text-embedding-3-large": Model(3072, range(1, 3073), 8192, 300_000, 2048),
        "text-embedding-ada-002": Model(1536, None, 8192, 300_000, 2048),
    }
    fields: ClassVar[frozenset[str]] = frozenset(
        {"input", "model", "encoding_format", "dimensions", "user"}
    )

    def answer(self, body: JSON) -> JSON:
        unknown = sorted(set(body) - self.fields)
        if unknown:
            raise openai_error(400, f"Unrecognized request argument supplied: {', '.join(unknown)}")
        name = body.get("model")
        if not isinstance(name, str) or not name:
            raise openai_error(400, "you must provide a model parameter", "model")
        model = self.models.get(name)
        if model is None:
            raise openai_error(
                404,
                f"The model `{name}` does not exist or you do not have access to it.",
                code="model_not_found",
            )
        encoding = body.get("encoding_format", "float")
        if encoding not in ("float", "base64"):
            raise openai_error(
                400,
                f"Invalid value for 'encoding_format' = {encoding}. "
                "Supported values: ['float', 'base64'].",
            )
        if not isinstance(body.get("user", ""), str):
            raise openai_error(
                400, "Invalid type for 'user': expected a string.", "user", "invalid_type"
            )
        dimension = model.dimension
        if "dimensions" in body:
            asked = body["dimensions"]
            if model.sizes is None:
                raise openai_error(400, "This model does not support specifying dimensions.")
            if not is_int(asked):
                raise openai_error(
                    400, "Invalid type for 'dimensions': expected an integer.", "dimensions"
                )
            if not model.takes(asked):
                raise openai_error(
                    400,
                    f"Invalid value for 'dimensions' = {asked}. "
                    f"Must be from 1 to {model.dimension}.",
                    "dimensions",
                )
            dimension = asked
        texts = self._texts(body, model)
        used = sum(map(tokens, texts))
        numbers = [vector(name, "", text, model.dimension, dimension) for text in texts]
        return embedding_list(
            name, numbers, encoding == "base64", {"prompt_tokens": used, "total_tokens": used}
        )

    def _texts(self, body: JSON, model: Model) -> list[str]:
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        invalid = "'$.input' is invalid. Please check the API reference."
        if not isinstance(texts, list) or not texts:
            raise openai_error(
                400, invalid, why="input is not a string or a list of strings with something in it"
            )
        if model.texts is not None and len(texts) > model.texts:
            raise openai_error(
                400,
                "Invalid 'input': array too long. "
                f"Expected an array with maximum length {model.texts}, "
                f"but got an array with length {len(texts)} instead.",
                "input",
                "array_above_max_length",
            )
        if not all(isinstance(text, str) for text in texts):
            raise openai_error(400, invalid, why="input has something other than strings")
        if any(not text for text in texts):
            raise openai_error(400, invalid, why="input has an empty string")
        most = max(map(tokens, texts))
        if model.text_tokens is not None and most > model.text_tokens:
            raise openai_error(
                400,
                f"This model's maximum context length is {model.text_tokens} tokens, "
                f"however you requested {most}.",
            )
        total = sum(map(tokens, texts))
        if model.request_tokens is not None and total > model.request_tokens:
            raise openai_error(
                400,
                f"Requested {total} tokens, max {model.request_tokens} tokens per request",
                code="max_tokens_per_request",
                kind="max_tokens_per_request",
            )
        return texts


class OpenAIChatFake(OpenAIBase):
    """``POST /v1/chat/completions`` of https://api.openai.com/v1, as far as a summariser needs it.

    Source: github:openai/openai-openapi openapi.yaml and github:openai/openai-python
    src/openai/types/chat/completion_create_params.py (fields, roles, ranges),
    types/chat/chat_completion.py (response):

    * an unknown field is 400 "Unrecognized request argument supplied";
    * ``messages``: at least one; roles developer, system, user, assistant, tool, function;
      content a string or a list
      of text parts;
    * reasoning models (o-series, gpt-5 family apart from ``*-chat-latest``) take
      ``max_completion_tokens`` and not
      ``max_tokens`` (same file), and no ``temperature`` or ``top_p`` but 1
      (https://platform.openai.com/docs/guides/reasoning; that every gpt-5.x refuses is *assumed*);
    * ``max_tokens`` together with ``max_completion_tokens`` is 400;
    * ``response_format``: text, json_object, or json_schema with a name; a strict schema's
      outermost object needs
      ``additionalProperties`` false and all properties required
      (https://platform.openai.com/docs/guides/structured-outputs, "supported schemas");
    * a ``max...tokens`` that is too small ends the text with ``finish_reason`` "length"; a
      reasoning model spends
      ``reasoning_tokens`` of it first, so the text can be empty.
    """

    endpoint = "/v1/chat/completions"
    default_model = "gpt-4o-mini"
    names: ClassVar[tuple[str, ...]] = (
        "gpt-3.5-turbo",
        "gpt-4",
        "gpt-4o",
        "gpt-4.1",
        "gpt-5",
        "o1",
        "o3",
        "o4-mini",
    )
    fields: ClassVar[frozenset[str]] = frozenset(
        "messages model audio frequency_penalty function_call "
        "functions logit_bias logprobs max_completion_tokens "
        "max_tokens metadata modalities moderation n parallel_tool_calls "
        "prediction presence_penalty prompt_cache_key "
        "prompt_cache_options prompt_cache_retention "
        "reasoning_effort response_format safety_identifier seed "
        "service_tier stop store stream stream_options temperature "
        "tool_choice tools top_logprobs top_p user verbosity "
        "web_search_options".split()
    )
    roles: ClassVar[frozenset[str]] = frozenset(
        {"developer", "system", "user", "assistant", "tool", "function"}
    )

    def __init__(self, say: Speaker = echo, reasoning_tokens: int = 64) -> None:
        self.say = say
        self.reasoning_tokens = reasoning_tokens
        super().__init__()

    def answer(self, body: JSON) -> JSON:
        unknown = sorted(set(body) - self.fields)
        if unknown:
            raise openai_error(400, f"Unrecognized request argument supplied: {', '.join(unknown)}")
        name = body.get("model")
        if not isinstance(name, str) or not name:
            raise openai_error(400, "you must provide a model parameter")
        if not name.startswith(self.names):
            raise openai_error(
                404,
                f"The model `{name}` does not exist or you do not have access to it.",
                code="model_not_found",
            )
        reasons = name.startswith(("o1", "o3", "o4", "gpt-5")) and "chat-latest" not in name
        if body.get("stream"):
            raise Refused(501, {"error": {"message": "not modelled"}}, "the fake does not stream")
        for field_name in ("temperature", "top_p"):
            value = body.get(field_name)
            if value is None:
                continue
            most = 2 if field_name == "temperature" else 1
            if not is_number(value) or not 0 <= value <= most:
                raise openai_error(
                    400, f"Invalid '{field_name}': {value!r}.", field_name, "invalid_value"
                )
            if reasons and value != 1:
                raise openai_error(
                    400,
                    f"Unsupported value: '{field_name}' does not support {value} with this model. "
                    "Only the default (1) value is supported.",
                    field_name,
                    "unsupported_value",
                )
        if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
            raise openai_error(
                400,
                "Setting 'max_tokens' and 'max_completion_tokens' "
                "at the same time is not supported.",
                "max_tokens",
                "invalid_parameter_combination",
            )
        if reasons and body.get("max_tokens") is not None:
            raise openai_error(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                "max_tokens",
                "unsupported_parameter",
            )
        most_tokens = body.get("max_completion_tokens", body.get("max_tokens"))
        if most_tokens is not None and (not is_int(most_tokens) or most_tokens < 1):
            raise openai_error(
                400, "Invalid number of tokens: expected an integer above 0.", "max_tokens"
            )
        self._format(body.get("response_format"))
        system, user = self._messages(body.get("messages"))
        text = self.say(system, user)
        spent = self.reasoning_tokens if reasons else 0
        finish = "stop"
        if most_tokens is not None and spent + tokens(text) > most_tokens:
            finish = "length"
            spent = min(spent, most_tokens)
            text = text[: 4 * (most_tokens - spent)]
        used = tokens(system) + tokens(user)
        said = spent + (tokens(text) if text else 0)
        message: JSON = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
        return {
            "id": "chatcmpl-test",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": name,
            "choices": [
                {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
            ],
            "usage": {
                "prompt_tokens": used,
                "completion_tokens": said,
                "total_tokens": used + said,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": spent, "audio_tokens": 0},
            },
            "service_tier": "default",
            "system_fingerprint": None,
        }

    def _format(self, wanted: object) -> None:
        if wanted is None:
            return
        if not isinstance(wanted, dict) or wanted.get("type") not in (
            "text",
            "json_object",
            "json_schema",
        ):
            raise openai_error(
                400, "Invalid value for 'response_format.type'.", "response_format", "invalid_value"
            )
        if wanted["type"] != "json_schema":
            return
        named = wanted.get("json_schema")
        if not isinstance(named, dict) or not re.fullmatch(
            r"[a-zA-Z0-9_-]{1,64}", str(named.get("name", ""))
        ):
            raise openai_error(
                400, "Invalid 'response_format.json_schema.name'.", "response_format"
            )
        schema = named.get("schema") or {}
        if named.get("strict") and (
            schema.get("additionalProperties") is not False
            or set(schema.get("required", ())) != set(schema.get("properties", ()))
        ):
            raise openai_error(
                400,
                f"Invalid schema for response_format '{named['name']}': "
                "'additionalProperties' has to be false and "
                "'required' has to name every property.",
                "response_format",
            )

    def _messages(self, messages: object) -> tuple[str, str]:
        if not isinstance(messages, list):
            raise openai_error(
                400,
                "Missing required parameter: 'messages'.",
                "messages",
                "missing_required_parameter",
            )
        if not messages:
            raise openai_error(400, "Invalid 'messages': empty array.", "messages", "empty_array")
        system: list[str] = []
        user: list[str] = []
        for place, message in enumerate(messages):
            where = f"messages[{place}]"
            if not isinstance(message, dict) or message.get("role") not in self.roles:
                raise openai_error(
                    400, f"Invalid value for '{where}.role'.", f"{where}.role", "invalid_value"
                )
            text = plain_text(message.get("content"))
            if text is None:
                raise openai_error(
                    400, f"Invalid type for '{where}.content'.", f"{where}.content", "invalid_type"
                )
            (system if message["role"] in ("system", "developer") else user).append(text)
        return "\n".join(system), "\n".join(user)


def plain_text(content: object) -> str | None:
    """A string, or the texts of a list of ``{"type": "text", "text": ...}``; ``None`` for anything
    else.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts: list[str] = []
    for part in content:
        if (
            not isinstance(part, dict)
            or part.get("type") != "text"
            or not isinstance(part.get("text"), str)
        ):
            return None
        texts.append(part["text"])
    return "\n".join(texts)


def filled(tool: JSON, text: str) -> JSON:
    """*text* as the input of a tool: as JSON if it is an object, else as the value of each required
    property.
    """
    try:
        read = json.loads(text)
    except ValueError:
        read = None
    if isinstance(read, dict):
        return read
    return dict.fromkeys(tool["input_schema"].get("required", []), text)
