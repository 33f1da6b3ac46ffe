"""Requests to a model over HTTP, against strict stand-ins for the OpenAI and Anthropic APIs."""

from __future__ import annotations

from typing import Any

import pytest
from memsearch_engine.core.llm import providers
from memsearch_engine.core.settings import Provider
from memsearch_engine.core.settings_schema import LlmSettings

from tests.index.provider_fakes import AnthropicFake, Fake, OpenAIChatFake, openai_error

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["summary", "slug"],
    "properties": {"summary": {"type": "string"}, "slug": {"type": ["string", "null"]}},
}
OPENAI = ["gpt-4o-mini", "gpt-4.1-nano", "gpt-5-mini", "gpt-5.4-nano", "o4-mini"]
ANTHROPIC = ["claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-5"]


@pytest.fixture(autouse=True)
def alone(monkeypatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "openai_api_key", "anthropic_api_key"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def ask(fake: Fake, model: str, key: str | None = None, **kwargs: Any) -> providers.Reply:
    kind = "anthropic" if isinstance(fake, AnthropicFake) else "openai"
    known = Provider(
        type=kind, model=model, base_url=fake.url, api_key=fake.api_key if key is None else key
    )
    return providers.complete(
        LlmSettings(providers={"mine": known}), "mine", "Be short.", "What happened?", **kwargs
    )


@pytest.mark.parametrize("model", OPENAI)
@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["text", "schema"])
def test_openai_answers(model, schema):
    with OpenAIChatFake() as fake:
        reply = ask(fake, model, schema=schema)
        assert reply.text.startswith("summary ")
        # a model that thinks refuses `max_tokens` once, and says what it wants
        assert len(fake.violations) <= 1 and all(
            "max_completion_tokens" in text for text in fake.violations
        )


@pytest.mark.parametrize("model", ANTHROPIC)
@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["text", "schema"])
def test_anthropic_answers(model, schema):
    with AnthropicFake() as fake:
        reply = ask(fake, model, schema=schema)
        assert "summary " in reply.text and fake.violations == []


@pytest.mark.parametrize("kind", [OpenAIChatFake, AnthropicFake])
def test_a_limit_may_be_tried_again_and_a_wrong_key_may_not(kind):
    with kind() as fake:
        fake.limit(times=1, seconds=3)
        with pytest.raises(providers.ModelError, match="429") as limited:
            ask(fake, fake.default_model)
        assert limited.value.again
        with pytest.raises(providers.ModelError, match="401") as refused:
            ask(fake, fake.default_model, key="wrong")
        assert not refused.value.again


def test_an_overloaded_anthropic_may_be_asked_again():
    with AnthropicFake() as fake:
        fake.failures.append(fake.overloaded)
        with pytest.raises(providers.ModelError, match="529") as caught:
            ask(fake, "claude-haiku-4-5")
        assert caught.value.again


def test_an_openai_answer_that_is_cut_is_not_a_whole_one():
    """Asked once more with four times the room, and then reported."""
    with (
        OpenAIChatFake(say=lambda *_: "a long answer " * 50) as fake,
        pytest.raises(providers.ModelError, match="was cut"),
    ):
        ask(fake, "gpt-4o-mini", max_tokens=5)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, openai_error(400, "Unsupported parameter.", "response_format").body),
        (422, "unknown field response_format\n"),  # what a small server says, in no format at all
        (500, 'response_format type must be one of "text" or "json_object"'),
    ],
    ids=["openai's", "words", "a fault"],
)
def test_a_server_without_schemas_is_asked_once_more_without_one(status, body):
    with OpenAIChatFake() as fake:
        fake.failures.append((status, {}, body))
        assert ask(fake, "gpt-4o-mini", schema=SCHEMA).text
        first, second = (request.body for request in fake.requests)
        assert "response_format" in first and first == second | {
            "response_format": first["response_format"]
        }


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large: 8192 > 4096, see response limits",
        (
            "'max_tokens' or 'max_completion_tokens' is too large: "
            "8192. This model's maximum context length is 4096 tokens"
        ),
    ],
)
def test_too_many_tokens_are_no_reason_to_ask_again(said):
    with OpenAIChatFake() as fake:
        fake.failures.append((400, {}, said))
        with pytest.raises(providers.ModelError, match="too large"):
            ask(fake, "gpt-4o-mini", schema=SCHEMA)
        assert len(fake.requests) == 1
