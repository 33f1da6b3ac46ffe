"""The server that all stand-ins share, and the numbers that they answer with."""

from __future__ import annotations

import base64
import hashlib
import json
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


Speaker = Callable[[str, str], str]


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


def echo(system: str, user: str) -> str:
    """The default answer of the chat fakes: short, and different for different requests."""
    digest = hashlib.sha256(f"{system}\0{user}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"summary {digest[:12]}"


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
