"""A model server on loopback for tests: Anthropic messages, OpenAI responses and chat completions,
Gemini contents, streamed or whole.

What it answers stands in the prompt, between ``<<`` and ``>>``, as JSON: ``{"run": "echo hi",
"say": "it said hi"}`` asks the client to run a command (``"times": 2``: twice) and then says
something (``"call": ["Task", {…}]``: any tool); ``"status": 400`` fails, ``"sleep": 2`` waits.
Without a script it repeats the prompt. ``replies`` (a callable on the request) answers requests
that are no conversation of a client: a summariser's.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_SCRIPT = re.compile(r"<<(\{.*?\})>>", re.S)
_TOLD = re.compile(
    r"<memsearch-memory .*?</memsearch-memory>", re.S
)  # of other prompts; some clients put it behind this one
#: What it says, a status that it fails with, a tool's name and arguments, or None for the script in
#: the prompt.
Reply = str | int | tuple[str, dict[str, Any]] | None
_SHELLS = ("Bash", "exec_command", "shell", "bash", "exec", "run_shell_command")


class MockModel:
    """``requests`` holds every body that came, with its ``path`` and ``headers``."""

    def __init__(self, replies: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self.replies = replies or (lambda request: None)
        self.refusal = "the mock refuses"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def said(self) -> str:
        """Everything that was ever sent to the model."""
        return json.dumps(self.requests, ensure_ascii=False)


class _Plan:
    def __init__(
        self, text: str = "", call: tuple[str, dict[str, Any]] | None = None, status: int = 0
    ) -> None:
        self.text, self.call, self.status = text, call, status


def _texts(body: dict[str, Any]) -> list[tuple[str, str]]:
    """(role, text) of a request in order; ``result`` for what a tool gave."""
    found: list[tuple[str, str]] = []
    for message in body.get("contents") or []:
        for part in message.get("parts", []):
            found.append(
                ("result", "")
                if "functionResponse" in part
                else (message.get("role", ""), part.get("text") or "")
            )
    items = body.get("messages", body.get("input", []))
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        kind, role, content = item.get("type", ""), item.get("role", ""), item.get("content")
        if kind.endswith("_output") or role == "tool":
            found.append(("result", ""))
            continue
        blocks = [{"text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            if block.get("type") == "tool_result":
                found.append(("result", ""))
            elif isinstance(block.get("text"), str):
                found.append((role, block["text"]))
    return found


def _plan(body: dict[str, Any], reply: Reply) -> _Plan:
    if isinstance(reply, int):
        return _Plan(status=reply)
    if isinstance(reply, tuple):
        return _Plan(call=reply)
    if reply is not None:
        return _Plan(reply)
    results = 0
    for role, text in reversed(_texts(body)):
        if role == "result":
            results += 1
        elif role == "user" and (match := _SCRIPT.search(_TOLD.sub("", text))):
            try:
                script = json.loads(match[1])
            except ValueError:  # `opencode run` escapes quotes
                script = json.loads(match[1].replace('\\"', '"'))
            time.sleep(script.get("sleep", 0))
            if not results and script.get("call", [""])[0] in _tools(body):
                return _Plan(script.get("first", ""), tuple(script["call"]))
            if script.get("run") and results < script.get("times", 1) and _shell(body):
                return _Plan(script.get("first", ""), _arguments(body, script["run"]))
            return _Plan(script.get("say", "done"), status=script.get("status", 0))
    return _Plan("nothing was asked")


def _tools(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    named = {}
    for tool in body.get("tools") or []:
        tool = {**tool, **tool.get("function", {})}
        for declared in tool.get("functionDeclarations") or []:
            named[declared["name"]] = (
                declared.get("parametersJsonSchema") or declared.get("parameters") or {}
            )
        for inner in tool.get("tools") or []:  # a namespace: Codex puts a server's tools into one
            named[f"{tool.get('name')}__{inner.get('name')}"] = inner.get("parameters") or {}
        named[tool.get("name")] = tool.get("input_schema") or tool.get("parameters") or {}
    return named


def _shell(body: dict[str, Any]) -> str:
    return next((name for name in _SHELLS if name in _tools(body)), "")


def _arguments(body: dict[str, Any], command: str) -> tuple[str, dict[str, Any]]:
    name = _shell(body)
    schema = _tools(body)[name]
    given: dict[str, Any] = {
        ("cmd" if "cmd" in schema.get("properties", {}) else "command"): command
    }
    for key in schema.get("required", []):
        given.setdefault(
            key, False if schema["properties"][key].get("type") == "boolean" else "a command"
        )
    return name, given


def _handler(model: MockModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._json(200, {})

        def do_GET(self) -> None:
            models = [
                {
                    "id": "mock-model",
                    "object": "model",
                    "type": "model",
                    "display_name": "mock",
                    "created_at": "2026-01-01T00:00:00Z",
                }
            ]
            self._json(200, {"object": "list", "data": models, "has_more": False})

        def do_POST(self) -> None:
            body = json.loads(self._read() or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("count_tokens"):
                self._json(200, {"input_tokens": 10})
                return
            request = {
                **body,
                "path": path,
                "headers": {k.lower(): v for k, v in self.headers.items()},
            }
            model.requests.append(request)
            plan = _plan(body, model.replies(request))
            if plan.status and "enerateContent" in path:
                self._json(
                    plan.status,
                    {
                        "error": {
                            "code": plan.status,
                            "message": model.refusal,
                            "status": "INVALID_ARGUMENT",
                        }
                    },
                )
                return
            if plan.status:
                self._json(
                    plan.status,
                    {"type": "error", "error": {"type": "api_error", "message": model.refusal}},
                )
                return
            try:
                if path.endswith("/messages"):
                    self._anthropic(body, plan)
                elif path.endswith("/responses"):
                    self._responses(body, plan)
                elif "enerateContent" in path:
                    self._gemini(body, plan, is_streamed="stream" in path)
                else:
                    self._chat(body, plan)
            except (BrokenPipeError, ConnectionResetError):
                pass

        def _read(self) -> bytes:
            if "chunked" not in self.headers.get("transfer-encoding", ""):
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            data = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data

        def _json(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _stream(self, events: list[tuple[str, Any]]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.close_connection = True
            self.end_headers()
            for name, value in events:
                head = f"event: {name}\n" if name else ""
                self.wfile.write(
                    f"{head}data: {value if isinstance(value, str) else json.dumps(value)}\n"
                    "\n".encode()
                )
                self.wfile.flush()

        def _anthropic(self, body: dict[str, Any], plan: _Plan) -> None:
            blocks: list[dict[str, Any]] = (
                [{"type": "text", "text": plan.text}] if plan.text else []
            )
            if plan.call:
                name, given = plan.call
                blocks.append(
                    {"type": "tool_use", "id": _id("toolu_"), "name": name, "input": given}
                )
            stop = "tool_use" if plan.call else "end_turn"
            usage = {
                "input_tokens": 100,
                "output_tokens": 20,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            }
            message = {
                "id": _id("msg_"),
                "type": "message",
                "role": "assistant",
                "model": body.get("model", "mock"),
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage,
            }
            if not body.get("stream"):
                self._json(200, {**message, "content": blocks, "stop_reason": stop})
                return
            events: list[tuple[str, Any]] = [
                ("message_start", {"type": "message_start", "message": message})
            ]
            for index, block in enumerate(blocks):
                empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
                delta = (
                    {"type": "text_delta", "text": block["text"]}
                    if block["type"] == "text"
                    else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                )
                events.append(
                    (
                        "content_block_start",
                        {"type": "content_block_start", "index": index, "content_block": empty},
                    )
                )
                events.append(
                    (
                        "content_block_delta",
                        {"type": "content_block_delta", "index": index, "delta": delta},
                    )
                )
                events.append(
                    ("content_block_stop", {"type": "content_block_stop", "index": index})
                )
            events.append(
                (
                    "message_delta",
                    {
                        "type": "message_delta",
                        "delta": {"stop_reason": stop, "stop_sequence": None},
                        "usage": usage,
                    },
                )
            )
            self._stream([*events, ("message_stop", {"type": "message_stop"})])

        def _responses(self, body: dict[str, Any], plan: _Plan) -> None:
            items: list[dict[str, Any]] = []
            if plan.text:
                content = [{"type": "output_text", "text": plan.text, "annotations": []}]
                items.append(
                    {
                        "type": "message",
                        "id": _id("msg_"),
                        "role": "assistant",
                        "status": "completed",
                        "content": content,
                    }
                )
            if plan.call:
                name, given = plan.call
                spaces = {
                    tool["name"]: tool for tool in body.get("tools") or [] if tool.get("tools")
                }
                space = next((of for of in spaces if name.startswith(f"{of}__")), "")
                within = {"namespace": space} if space else {}
                items.append(
                    {
                        "type": "function_call",
                        "id": _id("fc_"),
                        "call_id": _id("call_"),
                        **within,
                        "name": name.removeprefix(f"{space}__") if space else name,
                        "arguments": json.dumps(given),
                        "status": "completed",
                    }
                )
            usage = {
                "input_tokens": 100,
                "output_tokens": 20,
                "total_tokens": 120,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            }
            whole = {
                "id": _id("resp_"),
                "object": "response",
                "created_at": 0,
                "status": "completed",
                "model": "mock",
                "output": items,
                "error": None,
                "usage": usage,
            }
            if not body.get("stream"):
                self._json(200, whole)
                return
            events: list[tuple[str, Any]] = [
                (
                    "response.created",
                    {
                        "type": "response.created",
                        "response": {**whole, "output": [], "status": "in_progress", "usage": None},
                    },
                )
            ]
            for index, item in enumerate(items):
                events.append(
                    (
                        "response.output_item.added",
                        {"type": "response.output_item.added", "output_index": index, "item": item},
                    )
                )
                events.append(
                    (
                        "response.output_item.done",
                        {"type": "response.output_item.done", "output_index": index, "item": item},
                    )
                )
            self._stream(
                [*events, ("response.completed", {"type": "response.completed", "response": whole})]
            )

        def _gemini(self, body: dict[str, Any], plan: _Plan, *, is_streamed: bool) -> None:
            config = body.get("generationConfig") or {}
            if (
                config.get("responseMimeType") == "application/json"
            ):  # which model is to answer, and other questions of the client's own
                plan = _Plan(
                    json.dumps(
                        {
                            "reasoning": "mock",
                            "model_choice": "flash",
                            "complexity_score": 10,
                            "complexity_reasoning": "mock",
                        }
                    )
                )
            parts: list[dict[str, Any]] = [{"text": plan.text}] if plan.text else []
            if plan.call:
                name, given = plan.call
                parts.append(
                    {"functionCall": {"name": name, "args": given}, "thoughtSignature": "bW9jaw=="}
                )
            usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
            answer = {
                "candidates": [
                    {
                        "index": 0,
                        "content": {"role": "model", "parts": parts or [{"text": ""}]},
                        "finishReason": "STOP",
                    }
                ],
                "usageMetadata": usage,
                "modelVersion": "mock",
                "responseId": _id("resp_"),
            }
            if is_streamed:
                self._stream([("", answer)])
            else:
                self._json(200, answer)

        def _chat(self, body: dict[str, Any], plan: _Plan) -> None:
            message: dict[str, Any] = {"role": "assistant", "content": plan.text or None}
            if plan.call:
                name, given = plan.call
                message["tool_calls"] = [
                    {
                        "id": _id("call_"),
                        "index": 0,
                        "type": "function",
                        "function": {"name": name, "arguments": json.dumps(given)},
                    }
                ]
            stop = "tool_calls" if plan.call else "stop"
            usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
            base = {"id": _id("chatcmpl-"), "created": 0, "model": body.get("model", "mock")}
            if not body.get("stream"):
                choice = {"index": 0, "message": message, "finish_reason": stop}
                self._json(
                    200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
                )
                return
            chunk = {**base, "object": "chat.completion.chunk"}
            self._stream(
                [
                    (
                        "",
                        {
                            **chunk,
                            "choices": [{"index": 0, "delta": message, "finish_reason": None}],
                        },
                    ),
                    (
                        "",
                        {
                            **chunk,
                            "choices": [{"index": 0, "delta": {}, "finish_reason": stop}],
                            "usage": usage,
                        },
                    ),
                    ("", "[DONE]"),
                ]
            )

    return Handler


def _id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:24]
