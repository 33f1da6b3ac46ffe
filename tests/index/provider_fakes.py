"""Strict local stand-ins for the hosted embedding and chat APIs, written from the providers' public
contracts.

Every fake refuses what its service refuses, with the service's own status and error body, so that a
client that passes here has sent only requests the service is documented (or, where the
documentation is silent, reported) to take. Rules name their source in the docstring of the class or
in a comment next to the rule; those marked *assumed* have none. Tokens are counted as characters /
4: real services refuse sooner where text is code, numbers or CJK.

Interface shared by all fakes:

* ``url``: the base URL in the form a preset holds it, e.g. ``http://127.0.0.1:1234/v1``.
* ``api_key``: the one key the fake takes.
* ``requests``: what arrived, as ``Request(path, headers, body)``; header names in lower case.
* ``arrivals``: ``time.monotonic()`` of each request.
* ``violations``: one line for each request that broke the contract, with the status it got.
* ``ignored``: fields that the service takes without a word and without effect.
* ``failures``: a queue of ``Failure(status, headers, body)`` answered first, before any check.
* ``limit(times, seconds, form)``: the next requests meet the provider's own 429.
* ``early``: how many seconds before the end of a ``Retry-After`` a request came back; empty is
  good.
* ``close()``.

Tokens are approximated as a quarter of the characters, rounded up. Real tokenizers count more for
code, for numbers and for other scripts than English, so a client that only just fits here may be
refused by the service.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Literal, NamedTuple

JSON = dict[str, Any]
RetryForm = Literal["seconds", "date", "body", "none"]


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any


class Failure(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Any


class Refused(Exception):
    """A request the service would not take: its status, its body, and a line for ``violations``."""

    def __init__(
        self, status: int, body: Any, why: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(why)
        self.status = status
        self.body = body
        self.why = why
        self.headers = headers or {}


@dataclass(frozen=True)
class Model:
    """What is known of a model.

    ``dimension`` is the default one; ``sizes`` says which others can be asked for: none (``None``),
    the listed ones, or any from ``sizes.start`` up to and including ``sizes.stop - 1``.
    """

    dimension: int
    sizes: range | frozenset[int] | None = None
    text_tokens: int | None = None
    request_tokens: int | None = None
    texts: int | None = None
    extra: JSON = field(default_factory=dict)

    def takes(self, dimension: int) -> bool:
        return self.sizes is not None and dimension in self.sizes


def tokens(text: str) -> int:
    """An approximation: four characters to a token, at least one."""
    return max(1, -(-len(text) // 4))


def _raw(seed: str, dimension: int) -> list[float]:
    data = hashlib.shake_256(seed.encode("utf-8", "surrogatepass")).digest(4 * dimension)
    return [n / 2**31 - 1.0 for n in struct.unpack(f"<{dimension}I", data)]


def vector(
    model: str, kind: str, text: str, native: int, dimension: int, unit: bool = True
) -> list[float]:
    """A vector that depends on nothing but its arguments.

    ``kind`` (query, document, a task) shifts it without hiding the text, and a smaller
    ``dimension`` is the beginning of the native vector, as with Matryoshka models. Without ``unit``
    a shortened vector keeps its length below one.
    """
    whole = [
        a + 0.5 * b
        for a, b in zip(_raw(f"{model}\0{text}", native), _raw(f"{model}\0{kind}\0{text}", native))
    ]
    norm = sum(x * x for x in whole) ** 0.5
    cut = [x / norm for x in whole[:dimension]]
    if unit and dimension < native:
        norm = sum(x * x for x in cut) ** 0.5
        cut = [x / norm for x in cut]
    return list(struct.unpack(f"<{len(cut)}f", struct.pack(f"<{len(cut)}f", *cut)))


def as_base64(numbers: Iterable[float]) -> str:
    """Little-endian 32-bit floats, as all providers that offer base64 send them."""
    listed = list(numbers)
    return base64.b64encode(struct.pack(f"<{len(listed)}f", *listed)).decode("ascii")


def is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Fake:
    """The server and the bookkeeping; a provider's class says what is right and how wrong is
    answered.
    """

    base: ClassVar[str] = "/v1"
    endpoint: ClassVar[str] = "/v1/embeddings"
    api_key: str = "test-key-0123456789"
    models: ClassVar[dict[str, Model]] = {}
    default_model: ClassVar[str] = ""
    largest_body: ClassVar[int | None] = None

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.arrivals: list[float] = []
        self.violations: list[str] = []
        self.ignored: list[str] = []
        self.failures: deque[Failure] = deque()
        self.early: list[float] = []
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._limits: deque[tuple[float, RetryForm]] = deque()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = self.origin + self.base
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def limit(self, times: int = 1, seconds: float = 1, form: RetryForm = "seconds") -> None:
        """Answer the next ``times`` requests with the provider's 429.

        ``form``: ``Retry-After`` as ``seconds`` or as an HTTP ``date`` (RFC 9110, section 10.2.3),
        the delay in the ``body`` only (Google), or ``none`` at all.
        """
        self._limits.extend((seconds, form) for _ in range(times))

    # what a provider defines

    def authorize(self, headers: dict[str, str]) -> None:
        raise NotImplementedError

    def answer(self, body: JSON) -> JSON:
        raise NotImplementedError

    def wrong_place(self, method: str, path: str) -> Refused:
        raise NotImplementedError

    def wrong_type(self, content_type: str) -> Refused | None:
        raise NotImplementedError

    def wrong_json(self, why: str) -> Refused:
        raise NotImplementedError

    def too_many(self, seconds: float) -> Any:
        """The body of a 429."""
        raise NotImplementedError

    def with_delay(self, body: Any, seconds: float) -> Any:
        """The body of a 429 that also says how long to wait; as it is where the provider has no
        such form.
        """
        return body

    # the server

    def _limited(self) -> Failure | None:
        if not self._limits:
            return None
        seconds, form = self._limits.popleft()
        headers: dict[str, str] = {}
        body = self.too_many(seconds)
        if form == "seconds":
            headers["Retry-After"] = f"{seconds:g}"
        elif form == "date":
            headers["Retry-After"] = formatdate(time.time() + seconds, usegmt=True)
        elif form == "body":
            body = self.with_delay(body, seconds)
        if (
            form != "none"
        ):  # a date has whole seconds only: up to one second of what was meant is lost
            self._not_before = time.monotonic() + seconds - (1.0 if form == "date" else 0.05)
        return Failure(429, headers, body)

    def _reply(self, method: str, path: str, headers: dict[str, str], data: bytes) -> Failure:
        now = time.monotonic()
        try:
            parsed: Any = json.loads(data) if data else None
            broken = "" if data else "the body is empty"
        except ValueError as error:
            parsed, broken = data, str(error)
        with self._lock:
            self.requests.append(Request(path, headers, parsed))
            self.arrivals.append(now)
            if now < self._not_before:
                self.early.append(self._not_before - now)
            if self.failures:
                return Failure(*self.failures.popleft())
            limited = self._limited()
            if limited is not None:
                return limited
        try:
            if method != "POST" or path.split("?")[0] != self.endpoint:
                raise self.wrong_place(method, path)
            self.authorize(headers)
            content_type = headers.get("content-type", "")
            if content_type.split(";")[0].strip().lower() != "application/json":
                wrong = self.wrong_type(content_type)
                if wrong is not None:
                    raise wrong
            if broken:
                raise self.wrong_json(broken)
            if not isinstance(parsed, dict):
                raise self.wrong_json("the body is not an object")
            if self.largest_body is not None and len(data) > self.largest_body:
                raise self.too_large(len(data))
            return Failure(200, {}, self.answer(parsed))
        except Refused as refused:
            with self._lock:
                self.violations.append(f"{refused.status}: {refused.why}")
            return Failure(refused.status, refused.headers, refused.body)

    def too_large(self, size: int) -> Refused:
        return Refused(413, {"detail": "Request entity too large"}, f"a body of {size} bytes")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = fake._reply(self.command, self.path, headers, data)
                if isinstance(reply.body, bytes):
                    out, kind = reply.body, "text/plain; charset=utf-8"
                elif isinstance(reply.body, str):
                    out, kind = reply.body.encode(), "text/plain; charset=utf-8"
                else:
                    out, kind = json.dumps(reply.body).encode(), "application/json"
                self.send_response(reply.status)
                sent = {name.lower() for name in reply.headers}
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if "content-type" not in sent:
                    self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(out)))
                self.end_headers()
                try:
                    self.wfile.write(out)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _serve

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    # for the providers

    def bearer(self, headers: dict[str, str]) -> str | None:
        """The bearer token, ``""`` if the header is there without one, ``None`` if there is no
        header.
        """
        if "authorization" not in headers:
            return None
        scheme, _, token = headers["authorization"].partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def size(self, model: Model, asked: int | None) -> int:
        return model.dimension if asked is None else asked


def embedding_list(
    name: str, numbers: list[list[float]], encoded: bool, usage: JSON | None
) -> JSON:
    """OpenAI's response shape: github:openai/openai-openapi openapi.yaml, CreateEmbeddingResponse
    and Embedding.
    """
    data = [
        {"object": "embedding", "index": place, "embedding": as_base64(each) if encoded else each}
        for place, each in enumerate(numbers)
    ]
    answer: JSON = {"object": "list", "data": data, "model": name}
    if usage is not None:
        answer["usage"] = usage
    return answer


# --- OpenAI
# ---------------------------------------------------------------------------------------------------------


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
                f"Invalid value for 'encoding_format' = {encoding}. Supported values: ['float', 'base64'].",
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
                    f"Invalid value for 'dimensions' = {asked}. Must be from 1 to {model.dimension}.",
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
                f"Invalid 'input': array too long. Expected an array with maximum length {model.texts}, "
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
                f"This model's maximum context length is {model.text_tokens} tokens, however you requested {most}.",
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


# --- Google Gemini
# --------------------------------------------------------------------------------------------------


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
                f"models/{short} is not found for API version v1main, or is not supported for embedContent.",
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
                f"* EmbedContentRequest.output_dimensionality: {asked} is out of the range 1 to {model.dimension}\n",
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
                f"* BatchEmbedContentsRequest.requests: at most {model.texts} requests can be in one batch\n",
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


# --- Voyage AI
# ------------------------------------------------------------------------------------------------------


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
        lead = "The request body is not valid JSON, or some arguments were not specified properly. In particular, "
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
                    "detail": f"Model {name} is not supported. Supported models are {sorted(self.models)}."
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
                f"Value '{asked}' for argument 'output_dimension' is not valid -- {name} takes {sizes}"
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
                f"Value {value!r} supplied for argument {field_name!r} is not valid -- accepted values are {named}"
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
                    "detail": f"The batch size limit is {model.texts}. Your batch size is {len(texts)}."
                },
                f"{len(texts)} texts in a request",
            )
        counts = [tokens(text) for text in texts]
        if not truncation and max(counts) > model.text_tokens:
            raise Refused(
                400,
                {
                    "detail": f"Request to model '{name}' failed. The max tokens of a text is {model.text_tokens}."
                },
                f"a text of {max(counts)} tokens without truncation",
            )
        total = sum(min(count, model.text_tokens) for count in counts)
        if total > model.request_tokens:
            raise Refused(
                400,
                {
                    "detail": f"Request to model '{name}' failed. The max allowed tokens per submitted batch is "
                    f"{model.request_tokens}. Your batch has {total} tokens after truncation. "
                    "Please lower the number of tokens in the batch."
                },
                f"{total} tokens in a request",
            )
        return texts


# --- Jina AI
# --------------------------------------------------------------------------------------------------------


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
        detail = f"[RID: {self._request}] Validation error: '{where}' {message}. Field errors: : Invalid value"
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
                    f"Input text exceeds the maximum of {model.text_tokens} tokens: {most}; set truncate.",
                )
            texts = [text[: 4 * model.text_tokens] for text in texts]
        return texts


# --- Mistral
# --------------------------------------------------------------------------------------------------------


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


# --- Ollama
# ---------------------------------------------------------------------------------------------------------


class OllamaFake(Fake):
    """``POST /v1/embeddings`` of a local Ollama, http://localhost:11434/v1.

    Source: github:ollama/ollama at fb307609 (2026-08): openai/openai.go (EmbedRequest, Error,
    NewError, ToEmbeddingList), middleware/openai.go (EmbeddingsMiddleware), server/routes.go
    (EmbedHandler), docs/api/openai-compatibility.mdx:

    * no key is asked for; unknown fields are ignored (Go's decoder), here noted in ``ignored``;
      the Content-Type is not
      looked at;
    * ``encoding_format`` in any case of letters, float or base64, or empty; ``dimensions`` an
      integer that cuts and
      normalizes only where it is above 0 and below the model's own, so a larger one has **no
      effect**;
    * ``input`` "" is embedded; null or [] is 400 "invalid input", anything but strings 400
      "invalid input type";
    * a text beyond the context is cut silently, there is no limit of texts;
    * a model that was not pulled is 404 with type ``not_found_error``.

    ``pulled`` says which models are there.
    """

    api_key = ""
    default_model = "nomic-embed-text"
    models: ClassVar[dict[str, Model]] = {
        "nomic-embed-text": Model(768, range(1, 769), 2048),
        "mxbai-embed-large": Model(1024, range(1, 1025), 512),
        "all-minilm": Model(384, range(1, 385), 256),
        "bge-m3": Model(1024, range(1, 1025), 8192),
        "snowflake-arctic-embed": Model(1024, range(1, 1025), 512),
        "snowflake-arctic-embed2": Model(1024, range(1, 1025), 8192),
        "embeddinggemma": Model(768, range(1, 769), 2048),
        "qwen3-embedding": Model(4096, range(1, 4097), 32_768),
        "qwen3-embedding:0.6b": Model(1024, range(1, 1025), 32_768),
    }

    def __init__(self, pulled: Iterable[str] | None = None) -> None:
        self.pulled = set(self.models) if pulled is None else set(pulled)
        super().__init__()

    def _bad(self, status: int, message: str) -> Refused:
        kind = {400: "invalid_request_error", 404: "not_found_error"}.get(status, "api_error")
        return Refused(
            status,
            {"error": {"message": message, "type": kind, "param": None, "code": None}},
            message,
        )

    def authorize(self, headers: dict[str, str]) -> None:
        pass

    def wrong_place(self, method: str, path: str) -> Refused:
        if path.split("?")[0] == self.endpoint:
            return Refused(405, b"405 method not allowed", f"{method} {path}")
        return Refused(404, b"404 page not found", f"{method} {path}")

    def wrong_type(self, content_type: str) -> Refused | None:
        return None

    def wrong_json(self, why: str) -> Refused:
        return self._bad(400, why)

    def too_many(self, seconds: float) -> Any:
        """A local Ollama has no request limit; a proxy before it might (503 is its own "server
        busy").
        """
        return {
            "error": {
                "message": "too many requests",
                "type": "api_error",
                "param": None,
                "code": None,
            }
        }

    def answer(self, body: JSON) -> JSON:
        self.ignored.extend(sorted(set(body) - {"input", "model", "dimensions", "encoding_format"}))
        name = body.get("model")
        for field_name, value, right in (
            ("model", name, isinstance(name, (str, type(None)))),
            (
                "dimensions",
                body.get("dimensions"),
                body.get("dimensions") is None or is_int(body["dimensions"]),
            ),
            (
                "encoding_format",
                body.get("encoding_format"),
                isinstance(body.get("encoding_format", ""), (str, type(None))),
            ),
        ):
            if not right:
                raise self._bad(
                    400,
                    f"json: cannot unmarshal {type(value).__name__} into Go struct field EmbedRequest.{field_name}",
                )
        encoding = body.get("encoding_format") or ""
        if encoding.lower() not in ("", "float", "base64"):
            raise self._bad(
                400,
                f"Invalid value for 'encoding_format' = {encoding}. Supported values: ['float', 'base64'].",
            )
        given = body.get("input")
        if given is None or given == []:
            raise self._bad(400, "invalid input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self._bad(400, "invalid input type")
        short = (name or "").removesuffix(":latest")
        model = self.models.get(short) if short in self.pulled else None
        if model is None:
            raise self._bad(404, f"model '{name}' not found")
        assert model.text_tokens is not None
        asked = body.get("dimensions") or 0
        size = asked if 0 < asked < model.dimension else model.dimension
        cut = [text[: 4 * model.text_tokens] for text in texts]
        used = sum(map(tokens, cut))
        numbers = [vector(short, "", text, model.dimension, size) for text in cut]
        usage = {"prompt_tokens": used, "total_tokens": used}
        return embedding_list(str(name), numbers, encoding.lower() == "base64", usage)


# --- chat: OpenAI
# ---------------------------------------------------------------------------------------------------

Speaker = Callable[[str, str], str]


def echo(system: str, user: str) -> str:
    """The default answer of the chat fakes: short, and different for different requests."""
    digest = hashlib.sha256(f"{system}\0{user}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"summary {digest[:12]}"


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
        "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
        "max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "
        "prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed "
        "service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
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
                "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
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
                f"Invalid schema for response_format '{named['name']}': 'additionalProperties' has to be false and "
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


# --- chat: Anthropic
# ------------------------------------------------------------------------------------------------


class AnthropicFake(Fake):
    """``POST /v1/messages`` of https://api.anthropic.com, as far as a summariser needs it.

    Source: github:anthropics/anthropic-sdk-python src/anthropic/types/message_create_params.py
    (fields, required ones, temperature from 0 to 1, 100,000 messages), types/message.py and
    injection/usage.py (response), types/shared/* (errors);
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
        "max_tokens messages model cache_control container inference_geo metadata output_config service_tier "
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
                    f"tools.{place}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
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
                    'messages: Unexpected role "system". The Messages API takes a top-level `system` parameter.'
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


EMBEDDINGS: dict[str, type[Fake]] = {
    "openai": OpenAIFake,
    "google": GeminiFake,
    "voyage": VoyageFake,
    "jina": JinaFake,
    "mistral": MistralFake,
    "ollama": OllamaFake,
}
