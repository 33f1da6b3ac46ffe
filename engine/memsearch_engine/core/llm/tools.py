"""Lets a model work with tools, step by step, over the protocol of OpenAI or Anthropic.

The tools are functions of the caller.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from memsearch_engine.core.llm.providers import configured, post, tokens_of
from memsearch_engine.core.llm.reply import ModelError, Reply
from memsearch_engine.core.own_prompts import marked
from memsearch_engine.core.settings_schema import LlmSettings

_ANSWER_TOKENS = 8_000


class ModelTool(msgspec.Struct, frozen=True):
    """A function that a model can call.

    Attributes:
        parameters: name -> JSON type. All are required.
        run: is called with the parameters by name. The model gets the message of a ValueError or
            OSError.
    """

    name: str
    description: str
    parameters: dict[str, str]
    run: Callable[..., str]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the parameters."""
        properties = {name: {"type": kind} for name, kind in self.parameters.items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.parameters),
            "additionalProperties": False,
        }


def work(
    llm: LlmSettings,
    provider: str,
    model: str,
    system: str,
    task: str,
    tools: list[ModelTool],
    *,
    max_turns: int,
    before_turn: Callable[[], None],
    after_turn: Callable[[Reply], None],
    answer_tokens: int = _ANSWER_TOKENS,
) -> str:
    """Let a model use *tools* until it calls no more. Return its last text.

    Args:
        max_turns: limit of requests.
        answer_tokens: limit of each answer, in tokens.
        before_turn: called before each request; raises to end the work (a cap, a lost claim).
        after_turn: called with the answer and cost of each request.

    Raises:
        ModelError: there was no answer, or *max_turns* was reached.
    """
    known, model = configured(llm, provider, model)
    system, task = marked(system), marked(task)
    by_name = {tool.name: tool for tool in tools}
    anthropic = known.type == "anthropic"
    body, messages = _opening(anthropic, system, task, tools)
    body |= {"model": model, "max_tokens": answer_tokens}
    for _ in range(max_turns):
        before_turn()
        answer = post(known, {**body, "messages": messages}, llm.timeout_s)
        try:
            text, calls, message = (_anthropic if anthropic else _openai)(answer)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ModelError(
                f"{provider} sent an answer of an unknown shape", again=False
            ) from error
        given, made, counted = tokens_of(
            answer, system + json.dumps(messages, ensure_ascii=False), text
        )
        after_turn(Reply(text, given, made, counted))
        if not calls:
            return text
        messages.append(message)
        results = [(name, _run(by_name.get(tool), arguments)) for name, tool, arguments in calls]
        messages += _results(anthropic, results)
    raise ModelError(f"the model was not done after {max_turns} turns", again=True)


def _opening(
    anthropic: bool, system: str, task: str, tools: list[ModelTool]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the fields of every request that name the tools, and the first messages."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    if anthropic:
        listed = [
            {"name": t.name, "description": t.description, "input_schema": t.schema} for t in tools
        ]
        return {"system": system, "tools": listed}, messages
    functions = [
        {"name": t.name, "description": t.description, "parameters": t.schema} for t in tools
    ]
    listed = [{"type": "function", "function": function} for function in functions]
    return {"tools": listed}, [{"role": "system", "content": system}, *messages]


def _results(anthropic: bool, results: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the messages with the results of tools.

    Args:
        results: pairs (id of the call, result).
    """
    if anthropic:
        blocks = [
            {"type": "tool_result", "tool_use_id": name, "content": result}
            for name, result in results
        ]
        return [{"role": "user", "content": blocks}]
    return [{"role": "tool", "tool_call_id": name, "content": result} for name, result in results]


Call = tuple[str, str, dict[str, Any]]  # (id, tool, arguments)


def _anthropic(answer: dict[str, Any]) -> tuple[str, list[Call], dict[str, Any]]:
    blocks = answer["content"]
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [
        (str(block["id"]), str(block["name"]), block["input"])
        for block in blocks
        if block["type"] == "tool_use"
    ]
    return text, calls, {"role": "assistant", "content": blocks}


def _openai(answer: dict[str, Any]) -> tuple[str, list[Call], dict[str, Any]]:
    message = answer["choices"][0]["message"]
    calls: list[Call] = []
    for call in message.get("tool_calls") or []:
        try:
            arguments = json.loads(call["function"].get("arguments") or "{}")
        except (ValueError, TypeError):
            arguments = {}
        calls.append((str(call["id"]), str(call["function"]["name"]), arguments))
    reply = {
        "role": "assistant",
        "content": message.get("content"),
        "tool_calls": message.get("tool_calls"),
    }
    content = message.get("content")
    return content if isinstance(content, str) else "", calls, reply


def _run(tool: ModelTool | None, arguments: Any) -> str:
    if tool is None:
        return "error: there is no such tool"
    if not isinstance(arguments, dict) or set(arguments) != set(tool.parameters):
        return f"error: {tool.name} takes {', '.join(tool.parameters) or 'nothing'}"
    kinds = {"string": str, "integer": int}
    if any(not isinstance(arguments[name], kinds[kind]) for name, kind in tool.parameters.items()):
        return f"error: {tool.name} takes " + ", ".join(
            f"{name}: {kind}" for name, kind in tool.parameters.items()
        )
    try:
        return tool.run(**arguments)
    except (ValueError, OSError) as error:
        return f"error: {error}"
