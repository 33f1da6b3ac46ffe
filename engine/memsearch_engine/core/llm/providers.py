"""Asks a model one question, over the protocol of OpenAI or Anthropic or through an agent's CLI.

Question and answer are texts, without a session and hooks. The question goes through standard input
or the body of a request, never through an argument. The answer is untrusted; the caller checks it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from memsearch_engine.core.errors import SettingsError
from memsearch_engine.core.llm import cli
from memsearch_engine.core.llm.reply import ModelError, Reply, estimate
from memsearch_engine.core.own_prompts import marked
from memsearch_engine.core.settings import Provider, secret
from memsearch_engine.core.settings_schema import LlmSettings

__all__ = ["ModelError", "Reply", "complete", "configured", "post", "tokens_of"]

_BASES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1"}
_RETRIABLE = (408, 409, 425, 429, 500, 502, 503, 504, 529)
#: Status codes that refuse no field, whatever the message names. Some servers answer an unknown
#: field with 500.
_OTHER_REASONS = (401, 403, 408, 429)
_MAX_ANSWER = 4 * 1024 * 1024
_MORE_ROOM = 4  # factor of the token limit for the second try after an answer was cut
#: Words in an error -> the field of the request that is refused. For ``max_tokens`` a server names
#: the replacement; otherwise only the number may be too large.
_DISPENSABLE = {"response_format": "response_format", "max_completion_tokens": "max_tokens"}
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window)|maximum context|too (?:long|many tokens)|prompt is too long",
    re.I,
)


def complete(
    llm: LlmSettings,
    provider: str,
    system: str,
    question: str,
    *,
    agent: str = "",
    model: str = "",
    max_tokens: int = 600,
    schema: dict[str, Any] | None = None,
    once: bool = False,
) -> Reply:
    """Ask a model.

    Args:
        provider: ``native`` (*agent* names the command line), an agent's name, or a name under
            ``llm.providers``.
        model: used instead of the provider's own model.
        max_tokens: limit of the answer, if the protocol has one.
        schema: JSON schema of the answer, if the protocol can enforce it. The caller checks the
            answer anyway.
        once: accept an answer that was cut. Otherwise the question is asked again with more room.

    Raises:
        SettingsError: the provider is not configured.
        ModelError: the provider gave no answer.
    """
    if provider == cli.PROVIDER or (cli.can_ask(provider) and provider not in llm.providers):
        return cli.ask(agent or provider, model, system, question, llm.timeout_s)
    known, model = configured(llm, provider, model)
    system, question = marked(system), marked(question)
    body = _body(known.type, model, system, question, schema)
    spent: list[tuple[int, int, bool]] = []
    for limit in (max_tokens, max_tokens * _MORE_ROOM):
        body["max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"] = limit
        answer = _post_as_known(known, body, llm.timeout_s)
        try:
            text, whole = _text(known.type, answer), not _was_cut(known.type, answer)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ModelError(
                f"{provider} sent an answer of an unknown shape", again=False
            ) from error
        spent.append(tokens_of(answer, system + question, text))
        if whole or once:
            given, made, counted = zip(*spent)
            return Reply(text, sum(given), sum(made), all(counted))
    raise ModelError(
        f"the answer of {provider} was cut after {limit} tokens", again=False, billed=True
    )


def _body(
    kind: str, model: str, system: str, question: str, schema: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the body of a request, without the limit of the answer.

    Args:
        kind: the type of the provider.
        schema: JSON schema of the answer.
    """
    conversation = [{"role": "user", "content": question}]
    if kind == "anthropic":
        body: dict[str, Any] = {"model": model, "system": system, "messages": conversation}
        if schema:
            body["tools"] = [
                {"name": "answer", "description": "Give the answer.", "input_schema": schema}
            ]
            body["tool_choice"] = {"type": "tool", "name": "answer"}
        return body
    body = {"model": model, "messages": [{"role": "system", "content": system}, *conversation]}
    if schema:
        wanted = {"name": "answer", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return body


def _post_as_known(provider: Provider, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """Like ``post``, but repeat the request once without a field that the service does not know.

    Args:
        body: is changed to what the service accepted.
    """
    for _ in range(2):
        try:
            return post(provider, body, timeout_s)
        except ModelError as error:
            if error.refused == "response_format":
                # many compatible servers do not know it; the prompt asks for JSON as well
                del body["response_format"]
            elif error.refused == "max_tokens":
                # the name for models that think before they answer
                body["max_completion_tokens"] = body.pop("max_tokens")
            else:
                raise
    return post(provider, body, timeout_s)


def _was_cut(kind: str, answer: Any) -> bool:
    """Whether the answer ended at its token limit. Thinking counts too, and may leave no text."""
    if kind == "anthropic":
        return bool(answer.get("stop_reason") == "max_tokens")
    return bool(answer["choices"][0].get("finish_reason") == "length")


def configured(llm: LlmSettings, provider: str, model: str = "") -> tuple[Provider, str]:
    """Return a provider of the settings and the model to ask. Raises SettingsError."""
    known = llm.providers.get(provider)
    if known is None:
        raise SettingsError(
            f"no model provider `{provider}`",
            f"memsearch config set llm.providers.{provider}.model NAME, and .base_url",
        )
    if not (model or known.model):
        raise SettingsError(f"`llm.providers.{provider}.model` is not set")
    return known, model or known.model


def post(provider: Provider, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """Send one request in the provider's protocol and return the answer. Raises ModelError."""
    # imported here, as in ``cli``: otherwise every command that writes a note would pay for TLS
    import http.client
    import urllib.error
    import urllib.request

    from memsearch_engine.core import network

    base = (provider.base_url or _BASES[provider.type]).rstrip("/")
    key = secret(provider.api_key or f"env:{provider.type.upper()}_API_KEY")
    if not key and provider.api_key.startswith("env:"):
        name = provider.api_key.removeprefix("env:")
        raise ModelError(f"`api_key` names {name}, which is not set: nothing was sent", again=False)
    headers = {"Content-Type": "application/json"}
    if provider.type == "anthropic":
        url = f"{base}/messages"
        headers |= {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
    else:
        url = f"{base}/chat/completions"
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
    try:
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with network.open_url(request, timeout_s) as response:
            answer = json.loads(response.read(_MAX_ANSWER))
    except urllib.error.HTTPError as error:
        text = error.read(500).decode("utf-8", "replace")
        too_long = error.code in (400, 413) and bool(_TOO_LONG.search(text))
        message = f"{url} answered {error.code}: {text[:200]}"
        refused = "" if too_long or error.code in _OTHER_REASONS else _refused(text, body)
        raise ModelError(
            message, again=error.code in _RETRIABLE, too_long=too_long, refused=refused
        ) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        again, late = not isinstance(error, http.client.InvalidURL), isinstance(error, TimeoutError)
        raise ModelError(f"{url}: {error}", again=again, billed=late) from error
    if not isinstance(answer, dict):
        raise ModelError(f"{url} sent an answer of an unknown shape", again=False)
    return answer


def _refused(text: str, body: dict[str, Any]) -> str:
    """Return the field of *body* that an error names and that we can leave out; ``""`` for none.

    Compatible servers word such errors in different ways.
    """
    return next(
        (part for words, part in _DISPENSABLE.items() if words in text and part in body), ""
    )


def tokens_of(answer: dict[str, Any], asked: str, said: str) -> tuple[int, int, bool]:
    """Return (input tokens, output tokens, whether the service counted them).

    Tokens are estimated if the service gives no count.
    """
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    counts = [
        usage.get(name)
        for name in ("input_tokens", "prompt_tokens", "output_tokens", "completion_tokens")
    ]
    given, made = counts[0] or counts[1], counts[2] or counts[3]
    counted = isinstance(given, int)
    return (
        (given if isinstance(given, int) else estimate(asked)),
        (made if isinstance(made, int) else estimate(said)),
        counted,
    )


def _text(kind: str, answer: Any) -> str:
    """Return the text of an answer. Thinking blocks are skipped."""
    if kind == "anthropic":
        for block in answer["content"]:
            if block.get("type") == "tool_use":
                return json.dumps(block["input"])
        return "\n".join(
            block["text"] for block in answer["content"] if block.get("type") == "text"
        )
    content = answer["choices"][0]["message"].get("content") or ""
    return (
        content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    )
