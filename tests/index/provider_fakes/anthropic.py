"""A stand-in of Anthropic's messages."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from tests.index.provider_fakes.base import (
    JSON,
    Failure,
    Fake,
    Refused,
    Speaker,
    echo,
    is_int,
    is_number,
    tokens,
)
from tests.index.provider_fakes.openai import filled, plain_text


class AnthropicFake(Fake):
    """``POST /v1/messages`` of https://api.anthropic.com, as far as a summariser needs it.

    Source: github:anthropics/anthropic-sdk-python src/anthropic/types/message_create_params.py
    (fields, required ones, temperature from 0 to 1, 100,000 messages), types/message.py and
    types/usage.py (response), types/shared/* (errors);
    https://docs.anthropic.com/en/api/versioning and /en/api/errors (headers, statuses,
    ``request_id``):

    * the key goes into ``x-api-key``; ``anthropic-version`` is required;
    * ``model``, ``max_tokens`` and ``messages`` are required; an unknown field is 400 "Extra
      inputs are not permitted";
    * the system prompt is a field of its own; a first message with the role "system" is refused;
      no empty text;
    * errors: authentication_error 401, not_found_error 404, invalid_request_error 400,
      request_too_large 413 above
      32 MB, rate_limit_error 429 with ``retry-after``, overloaded_error 529 (through ``failures``);
    * a text that does not fit ``max_tokens`` ends with ``stop_reason`` "max_tokens";
    * ``tools`` of one's own need a name of letters, digits, - and _ (1 to 128) and an
      ``input_schema`` of type object
      (types/tool_param.py); with ``tool_choice`` {"type": "tool"} the answer is a ``tool_use``
      block, here with what ``say`` returns as JSON, or with a string for each property.

    ``url`` ends in ``/v1``; ``origin`` is without it, as the official clients want it.
    """

    endpoint = "/v1/messages"
    api_key = "sk-ant-test0123456789"
    default_model = "claude-haiku-4-5"
    largest_body = 32 * 1024 * 1024
    names: ClassVar[tuple[str, ...]] = (
        "claude-sonnet-",
        "claude-opus-",
        "claude-haiku-",
        "claude-fable-",
        "claude-mythos-",
    )
    fields: ClassVar[frozenset[str]] = frozenset(
        "max_tokens messages model cache_control container "
        "inference_geo metadata output_config service_tier "
        "stop_sequences stream system temperature thinking tool_choice tools top_k top_p".split()
    )
    overloaded: ClassVar[Failure] = Failure(
        529,
        {},
        {
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded"},
            "request_id": "req_test",
        },
    )

    def __init__(self, say: Speaker = echo) -> None:
        self.say = say
        super().__init__()

    def _bad(self, status: int, kind: str, message: str) -> Refused:
        body = {
            "type": "error",
            "error": {"type": kind, "message": message},
            "request_id": "req_test",
        }
        return Refused(status, body, message, {"request-id": "req_test"})

    def _invalid(self, message: str) -> Refused:
        return self._bad(400, "invalid_request_error", message)

    def authorize(self, headers: dict[str, str]) -> None:
        key = headers.get("x-api-key")
        if key is None:
            raise self._bad(401, "authentication_error", "x-api-key header is required")
        if key != self.api_key:
            raise self._bad(401, "authentication_error", "invalid x-api-key")
        version = headers.get("anthropic-version")
        if version is None:
            raise self._invalid("anthropic-version: header is required")
        if version not in ("2023-06-01", "2023-01-01"):
            raise self._invalid(f"anthropic-version: {version!r} is not a valid version")

    def wrong_place(self, method: str, path: str) -> Refused:
        if path.split("?")[0] == self.endpoint:
            return self._bad(405, "invalid_request_error", "Method Not Allowed")
        return self._bad(404, "not_found_error", f"Not found: {method} {path}")

    def wrong_type(self, content_type: str) -> Refused | None:
        return self._invalid(f"the content type is {content_type!r}")

    def wrong_json(self, why: str) -> Refused:
        return self._invalid(f"The request body is not valid JSON: {why}")

    def too_large(self, size: int) -> Refused:
        return self._bad(413, "request_too_large", f"a body of {size} bytes")

    def too_many(self, seconds: float) -> Any:
        error = {
            "type": "rate_limit_error",
            "message": "Number of requests has exceeded your rate limit.",
        }
        return {"type": "error", "error": error, "request_id": "req_test"}

    def answer(self, body: JSON) -> JSON:
        for field_name in ("max_tokens", "messages", "model"):
            if field_name not in body:
                raise self._invalid(f"{field_name}: Field required")
        for field_name in sorted(set(body) - self.fields):
            raise self._invalid(f"{field_name}: Extra inputs are not permitted")
        name = body["model"]
        if not isinstance(name, str):
            raise self._invalid("model: Input should be a valid string")
        if not name.startswith(self.names):
            raise self._bad(404, "not_found_error", f"model: {name}")
        most = body["max_tokens"]
        if not is_int(most) or most < 0:
            raise self._invalid("max_tokens: Input should be a valid integer of at least 0")
        if body.get("stream"):
            raise Refused(501, {"type": "error"}, "the fake does not stream")
        for field_name in ("temperature", "top_p"):
            value = body.get(field_name, 1)
            if not is_number(value) or not 0 <= value <= 1:
                raise self._invalid(f"{field_name}: Input should be a number from 0 to 1")
        system = ""
        if "system" in body:
            read = plain_text(body["system"])
            if read is None:
                raise self._invalid("system: Input should be a string or a list of text blocks")
            system = read
        user = self._messages(body["messages"])
        forced = self._tool(body.get("tools"), body.get("tool_choice"))
        text = self.say(system, user)
        reason = "end_turn"
        if tokens(text) > most:
            text, reason = text[: 4 * most], "max_tokens"
        content: list[JSON] = [{"type": "text", "text": text, "citations": None}] if text else []
        if forced is not None:
            content = [
                {
                    "type": "tool_use",
                    "id": "toolu_test",
                    "name": forced["name"],
                    "input": filled(forced, text),
                }
            ]
            reason = "tool_use"
        return {
            "id": "msg_test",
            "type": "message",
            "role": "assistant",
            "model": name,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {
                "input_tokens": tokens(system) + tokens(user),
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": tokens(text) if text else 0,
                "service_tier": "standard",
            },
        }

    def _tool(self, tools: object, choice: object) -> JSON | None:
        """The tool that the answer has to call."""
        known: dict[str, JSON] = {}
        for place, tool in enumerate(tools if isinstance(tools, list) else []):
            if not isinstance(tool, dict) or not re.fullmatch(
                r"[a-zA-Z0-9_-]{1,128}", str(tool.get("name", ""))
            ):
                raise self._invalid(
                    f"tools.{place}.custom.name: "
                    f"String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
                )
            schema = tool.get("input_schema")
            if not isinstance(schema, dict) or schema.get("type") != "object":
                raise self._invalid(
                    f"tools.{place}.custom.input_schema.type: Input should be 'object'"
                )
            known[tool["name"]] = tool
        if choice is None:
            return None
        if not isinstance(choice, dict) or choice.get("type") not in (
            "auto",
            "any",
            "tool",
            "none",
        ):
            raise self._invalid("tool_choice: Input should be a valid choice")
        if not known:
            raise self._invalid("tool_choice: may only be specified while providing tools")
        if choice["type"] == "tool":
            if choice.get("name") not in known:
                raise self._invalid(f"tool_choice: there is no tool {choice.get('name')!r}")
            return known[str(choice["name"])]
        return next(iter(known.values())) if choice["type"] == "any" else None

    def _messages(self, messages: object) -> str:
        if not isinstance(messages, list) or not messages:
            raise self._invalid("messages: at least one message is required")
        if len(messages) > 100_000:
            raise self._invalid("messages: at most 100000 messages")
        said: list[str] = []
        for place, message in enumerate(messages):
            if not isinstance(message, dict):
                raise self._invalid(f"messages.{place}: Input should be a valid dictionary")
            for field_name in sorted(set(message) - {"role", "content"}):
                raise self._invalid(
                    f"messages.{place}.{field_name}: Extra inputs are not permitted"
                )
            role = message.get("role")
            if role == "system" and place == 0:
                raise self._invalid(
                    'messages: Unexpected role "system". '
                    "The Messages API takes a top-level `system` parameter."
                )
            if role not in ("user", "assistant", "system"):
                raise self._invalid(f"messages.{place}.role: Input should be 'user' or 'assistant'")
            text = plain_text(message.get("content"))
            if text is None:
                raise self._invalid(f"messages.{place}.content: Field required")
            if not text.strip():
                raise self._invalid(f"messages.{place}: text content blocks must be non-empty")
            said.append(text)
        return "\n".join(said)
