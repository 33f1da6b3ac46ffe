"""A strict stand-in for a Milvus 2.6 server or a Zilliz Cloud cluster, for tests.

Milvus Lite has the rows. In front of it a gRPC proxy passes bytes through and behaves like a real
server where Lite does not: it wants a token, limits rates, sizes and numbers, knows collections
that are not loaded, and shows a write late to a reader that asks for neither ``Strong`` nor, with
``Session``, for its own writes. It also breaks on demand: ``stop``, ``start``, ``hang``, ``fail``,
``drop``. The wording and the codes of its refusals are those of milvus 2.6 (pkg/util/merr,
internal/proxy).

What it can't show: the server's own tokenizers (``whitespace`` is taken and handed to Lite as
``standard``), its BM25 statistics, its approximate indexes.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import grpc
from google.protobuf import message_factory
from google.protobuf.message import Message
from milvus_lite.adapter.grpc.server import start_server_in_thread
from pymilvus.grpc_gen import common_pb2, milvus_pb2, schema_pb2

STRONG, _SESSION = 0, 1  # common.proto, ConsistencyLevel
_SERVICE = "/milvus.proto.milvus.MilvusService/"
_METHODS = milvus_pb2.DESCRIPTOR.services_by_name["MilvusService"].methods_by_name
_MAX_MESSAGE = 64 * 1024 * 1024
_MAX_VARCHAR = 65_535
_MAX_WINDOW = 16_384
_TOKENIZERS = {"standard", "whitespace", "jieba", "lindera", "icu", "language_identifier"}
_WRITES = ("Insert", "Upsert", "Delete")
_DEFINES = (
    "CreateCollection",
    "DropCollection",
    "CreateIndex",
    "DropIndex",
    "LoadCollection",
    "ReleaseCollection",
)
_READS = ("Search", "HybridSearch", "Query")
#: code of pkg/util/merr -> the old enumeration's (``merr.oldCode``); every other one is
#: UnexpectedError there
_OLD_CODES = {8: 49, 100: 4, 1100: 5}


@dataclass
class Limits:
    """What the server allows. The defaults are those of milvus.yaml 2.6; ``serverless`` is Zilliz'
    free plan.

    Attributes:
        flush_every_s: quotaAndLimits.flushRate.collection, 0.1 a second.
        seen_after_ms: how late a write is seen by a reader that does not ask for it.
        forgets_loads: collections are not loaded after ``start`` (as after a restore, or an
            idle cluster's suspension).
    """

    collections: int = 65_536
    partitions: int = 1_024
    flush_every_s: float = 10.0
    seen_after_ms: int = 0
    forgets_loads: bool = False

    @classmethod
    def serverless(cls) -> Limits:
        return cls(collections=5, partitions=64)


@dataclass
class _Fault:
    """An answer that replaces a method's own, for ``times`` more calls; None for all calls."""

    code: int
    reason: str
    status: grpc.StatusCode | None
    times: int | None


@dataclass
class Collection:
    """What was asked for when a collection was created."""

    dimensions: dict[str, int] = field(default_factory=dict)
    tokenizers: dict[str, str] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    scored: set[str] = field(default_factory=set)
    key: str = ""
    schema: bytes = b""
    consistency: int = STRONG
    partitions: int = 1
    loaded: bool = False
    flushed_at: float | None = None


class Refused(Exception):
    """The server says no, in the response's ``status``."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class StandIn:
    """A server on a port of 127.0.0.1; the same port and the same data after each ``start``.

    Attributes:
        token, limits: may be changed at any time.
        counts: how often each RPC was called.
        refusals: how often each RPC was refused, by (method, code); gRPC's own codes by name.
        collections: name -> what it was created with, of those that are there.
    """

    def __init__(self, folder: Path, token: str = "", limits: Limits | None = None) -> None:
        """
        Args:
            folder: where Lite keeps the rows; it must exist.
            token: ``user:password`` or an API key; empty where the server wants none.
        """
        self.token, self.limits = token, limits or Limits()
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[tuple[str, int | str]] = Counter()
        self.collections: dict[str, Collection] = {}
        self._faults: dict[str, _Fault] = {}
        self._pending: list[tuple[int, str, bytes]] = []
        self._lock = threading.RLock()
        self._defining = (
            threading.RLock()
        )  # a server does these one after the other; Lite would trip over itself
        self._answers = threading.Event()
        self._answers.set()
        self._server: grpc.Server | None = None
        self._hole: _Hole | None = None
        self._lite, self._db, port = start_server_in_thread(
            str(folder / "rows.db"), host="127.0.0.1", port=0
        )
        self._channel = grpc.insecure_channel(
            f"127.0.0.1:{port}",
            options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
        )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # -- life

    def start(self) -> None:
        """Listen (again), with the rows that were there."""
        assert self._server is None
        self._close_hole()
        self._answers.set()
        if self.limits.forgets_loads:
            for collection in self.collections.values():
                collection.loaded = False
        end = time.monotonic() + 10
        while True:
            pool = ThreadPoolExecutor(64, "standin")
            server = grpc.server(
                pool,
                handlers=[_Handler(self)],
                options=[
                    ("grpc.max_receive_message_length", _MAX_MESSAGE),
                    ("grpc.so_reuseport", 0),
                ],
            )
            try:
                server.add_insecure_port(f"127.0.0.1:{self.port}")
            except RuntimeError:  # connections of before are still going
                pool.shutdown()
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
                continue
            server.start()
            self._server = server
            return

    def stop(self) -> None:
        """Cut all connections and close the port."""
        self._close_hole()
        server, self._server = self._server, None
        self._answers.set()
        if server is not None:
            server.stop(grace=None).wait(10)

    def hang(self, *, dead: bool = False) -> None:
        """Accept every call and answer none, until ``resume`` or ``stop``.

        Args:
            dead: nor answer HTTP/2's own pings: a machine that stands still, or a firewall that
                swallows. What was
                connected is cut first; new connections are accepted and never read.
        """
        if not dead:
            self._answers.clear()
            return
        self.stop()
        self._hole = _Hole(self.port)

    def resume(self) -> None:
        """Answer again."""
        self._answers.set()
        if self._server is None:
            self.start()

    def close(self) -> None:
        self.stop()
        self._channel.close()
        self._lite.stop(grace=0).wait(10)
        self._db.close()

    def _close_hole(self) -> None:
        if self._hole is not None:
            self._hole.close()
            self._hole = None

    # -- what a test does to it

    def fail(
        self,
        method: str,
        code: int = 1,
        reason: str = "unexpected",
        *,
        status: grpc.StatusCode | None = None,
        times: int | None = None,
    ) -> None:
        """Let *method* answer with a merr code, or with a gRPC status, until ``mend`` or so many
        *times*.
        """
        assert method in _METHODS, method
        with self._lock:
            self._faults[method] = _Fault(code, reason, status, times)

    def mend(self, *methods: str) -> None:
        """Take faults back; all without names."""
        with self._lock:
            for method in methods or tuple(self._faults):
                self._faults.pop(method, None)

    @contextmanager
    def failing(self, *methods: str, **how: Any) -> Iterator[None]:
        for method in methods:
            self.fail(method, **how)
        try:
            yield
        finally:
            self.mend(*methods)

    def drop(self, name: str) -> None:
        """Drop a collection as somebody else would."""
        self._apply()
        with self._defining:
            self._ask("DropCollection", milvus_pb2.DropCollectionRequest(collection_name=name))
            self.collections.pop(name, None)

    def names(self) -> list[str]:
        """The collections that there are."""
        answer = self._ask("ShowCollections", milvus_pb2.ShowCollectionsRequest())
        return sorted(answer.collection_names)

    def rows(self, name: str) -> int:
        """How many rows a collection has, of those that were written."""
        self._apply()
        request = milvus_pb2.QueryRequest(collection_name=name, output_fields=["count(*)"])
        answer = self._ask("Query", request)
        return int(answer.fields_data[0].scalars.long_data.data[0])

    def _ask(self, method: str, request: Message) -> Any:
        answer = _response(method)
        answer.ParseFromString(self._forward(method, request.SerializeToString()))
        status = getattr(answer, "status", answer)
        if status.code or status.error_code:
            raise Refused(status.code, status.reason)
        return answer

    def _forward(self, method: str, request: bytes, timeout: float | None = None) -> bytes:
        return self._channel.unary_unary(_SERVICE + method)(request, timeout=timeout)

    # -- a call

    def answer(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        """One RPC, bytes in and out."""
        self.counts[method] += 1
        while not self._answers.wait(0.2):
            if not context.is_active():
                return b""
        if self._server is None:
            return b""  # it stopped while the call hung
        self._check_token(method, context)
        self._fault(method, context)
        if method not in _METHODS:
            self._abort(context, method, grpc.StatusCode.UNIMPLEMENTED, f"unknown method {method}")
        message = _request(method)
        message.ParseFromString(request)
        try:
            with self._defining if method in _DEFINES else nullcontext():
                early = self._before(method, message)
                if early is not None:
                    return early
                answer = self._forward(method, message.SerializeToString(), _left(context))
                return self._after(method, message, answer)
        except Refused as refused:
            return self._refusal(method, refused.code, refused.reason)
        except grpc.RpcError as error:
            self._abort(context, method, error.code(), error.details() or "")

    def _check_token(self, method: str, context: grpc.ServicerContext) -> None:
        if not self.token:
            return
        given = dict(context.invocation_metadata()).get("authorization")
        if given is None:
            self._abort(
                context, method, grpc.StatusCode.UNAUTHENTICATED, "missing authorization in header"
            )
        try:
            raw = base64.b64decode(given, validate=True).decode()
        except ValueError:
            self._abort(context, method, grpc.StatusCode.UNAUTHENTICATED, "invalid token format")
        if raw != self.token:
            what = "username and password are" if ":" in raw else "api key is"
            reason = f"auth check failure, please check {what} correct"
            self._abort(context, method, grpc.StatusCode.UNAUTHENTICATED, reason)

    def _fault(self, method: str, context: grpc.ServicerContext) -> None:
        with self._lock:
            fault = self._faults.get(method)
            if fault is None:
                return
            if fault.times is not None:
                fault.times -= 1
                if fault.times <= 0:
                    del self._faults[method]
        if fault.status is not None:
            self._abort(context, method, fault.status, fault.reason)
        raise _Answer(self._refusal(method, fault.code, fault.reason))

    def _abort(
        self, context: grpc.ServicerContext, method: str, code: grpc.StatusCode, reason: str
    ) -> NoReturn:
        self.refusals[method, code.name] += 1
        context.abort(code, reason)
        raise AssertionError("abort returns never")

    def _refusal(self, method: str, code: int, reason: str) -> bytes:
        """A response that has nothing but its status."""
        self.refusals[method, code] += 1
        answer = _response(method)
        status = (
            answer if isinstance(answer, common_pb2.Status) else getattr(answer, "status", None)
        )
        assert status is not None, f"{method} has no status to refuse with"
        status.code, status.reason, status.detail = code, reason, reason
        status.error_code = _OLD_CODES.get(code, 1)
        status.retriable = code == 8
        return answer.SerializeToString()

    # -- what a real server checks

    def _before(self, method: str, request: Any) -> bytes | None:
        """Refuse what a real server refuses; bytes where nothing is to be passed on."""
        name = getattr(request, "collection_name", "")
        if method == "CreateCollection":
            return self._check_create(name, request)
        elif method == "LoadCollection":
            self._check_load(name)
        elif method == "CreatePartition":
            self._check_partition(name)
        elif method == "CreateIndex" and name in self.collections:
            self.collections[name].indexes[request.field_name] = _pairs(request.extra_params).get(
                "index_type", ""
            )
        elif method == "Flush":
            for each in request.collection_names:
                self._check_flush(each)
            self._apply()
        elif method in _WRITES:
            return self._write(method, name, request)
        elif method in _READS:
            self._check_read(method, name, request)
        elif method == "AllocTimestamp":  # Lite has none
            return milvus_pb2.AllocTimestampResponse(
                timestamp=int(time.time() * 1000) << 18
            ).SerializeToString()
        elif method == "GetVersion":
            return milvus_pb2.GetVersionResponse(version="2.6.4").SerializeToString()
        else:
            self._apply()  # statistics, drops, releases
        return None

    def _check_create(self, name: str, request: Any) -> bytes | None:
        """Take note of what is asked for. The same collection once more is no error, another one of
        its name is.
        """
        _check_name(name)
        if name in self.collections:
            if self.collections[name].schema == request.schema:
                return common_pb2.Status().SerializeToString()
            raise Refused(
                1100, f"create duplicate collection with different parameters, collection: {name}"
            )
        if len(self.names()) >= self.limits.collections:
            most = self.limits.collections
            raise Refused(
                102, f"exceeded the limit number of collections[database=default][limit={most}]"
            )
        schema = schema_pb2.CollectionSchema()
        schema.ParseFromString(request.schema)
        made = Collection(schema=request.schema, consistency=request.consistency_level)
        for each in schema.fields:
            pairs = _pairs(each.type_params)
            if each.is_primary_key:
                made.key = each.name
            if "dim" in pairs:
                made.dimensions[each.name] = int(pairs["dim"])
            if each.data_type == schema_pb2.VarChar:
                made.lengths[each.name] = size = int(pairs.get("max_length", 0))
                if not 0 < size <= _MAX_VARCHAR:
                    reason = (
                        "the maximum length specified for the "
                        f"field({each.name}) should be in (0, 65535]"
                    )
                    raise Refused(1100, f"{reason}, but got {size}: invalid parameter")
            if pairs.get("enable_analyzer", "").lower() == "true":
                made.tokenizers[each.name] = self._tokenizer(each, pairs)
        made.scored = {out for each in schema.functions for out in each.output_field_names}
        request.schema = schema.SerializeToString()
        self.collections[name] = made
        return None

    @staticmethod
    def _tokenizer(spec: Any, pairs: dict[str, str]) -> str:
        """The tokenizer that is asked for; Lite gets one that it knows."""
        wanted = json.loads(pairs.get("analyzer_params") or "{}")
        tokenizer = wanted.get("tokenizer", "standard")
        name = tokenizer if isinstance(tokenizer, str) else tokenizer.get("type", "")
        if name not in _TOKENIZERS:
            raise Refused(1100, f"unsupported tokenizer: {name}: invalid parameter")
        if name == "whitespace":
            for pair in spec.type_params:
                if pair.key == "analyzer_params":
                    pair.value = json.dumps({**wanted, "tokenizer": "standard"})
        return name

    def _check_load(self, name: str) -> None:
        collection = self._named(name)
        bare = [
            each
            for each in (*collection.dimensions, *collection.scored)
            if each not in collection.indexes
        ]
        if bare:
            what = f"there is no vector index on field: [{' '.join(bare)}]"
            raise Refused(65535, f"{what}, please create index firstly")

    def _check_partition(self, name: str) -> None:
        collection = self._named(name)
        if collection.partitions >= self.limits.partitions:
            most = self.limits.partitions
            raise Refused(
                65535, f"partition number ({most + 1}) exceeds max configuration ({most})"
            )
        collection.partitions += 1

    def _check_flush(self, name: str) -> None:
        collection = self._named(name)
        now = time.monotonic()
        if (
            collection.flushed_at is not None
            and now - collection.flushed_at < self.limits.flush_every_s
        ):
            rate = f"rate limit exceeded[rate={1 / self.limits.flush_every_s:g}]"
            raise Refused(
                8, f"request is rejected by grpc RateLimiter middleware, please retry later: {rate}"
            )
        collection.flushed_at = now

    def _check_read(self, method: str, name: str, request: Any) -> None:
        collection = self._named(name)
        if not collection.loaded:
            raise Refused(101, f"collection not loaded[collection={name}]")
        pairs = _pairs(request.query_params if method == "Query" else _search_params(request))
        limit, offset = (
            int(pairs.get("limit", pairs.get("topk", 0)) or 0),
            int(pairs.get("offset", 0) or 0),
        )
        if method != "Query" and not 0 < limit <= _MAX_WINDOW:
            raise Refused(
                65535,
                f"topk [{limit}] is invalid, it should be in range [1, 16384], but got {limit}",
            )
        if limit + offset > _MAX_WINDOW:
            what = f"(offset+limit) should be in range [1, 16384], but got {limit + offset}"
            raise Refused(65535, f"invalid max query result window, {what}")
        if (
            method == "Query"
            and not limit
            and not request.expr
            and "count(*)" not in request.output_fields
        ):
            raise Refused(1100, "empty expression should be used with limit: invalid parameter")
        level = (
            collection.consistency if request.use_default_consistency else request.consistency_level
        )
        self._apply(everything=level == STRONG)
        if level == _SESSION:
            self._apply(everything=False, until_ns=request.guarantee_timestamp)

    def _named(self, name: str) -> Collection:
        if name not in self.collections:
            raise Refused(100, f"can't find collection[database=default][collection={name}]")
        return self.collections[name]

    # -- writes

    def _write(self, method: str, name: str, request: Any) -> bytes | None:
        """Check a write. Where writes are seen late it is kept for a while, and answered as a
        server would.
        """
        collection = self._named(name)
        if method != "Delete":
            self._check_rows(collection, request)
        if not self.limits.seen_after_ms:
            return None
        with self._lock:
            written_ns = time.monotonic_ns()
            self._pending.append((written_ns, method, request.SerializeToString()))
        answer = milvus_pb2.MutationResult(acknowledged=True, timestamp=written_ns)
        if method != "Delete":
            keys = next(
                each for each in request.fields_data if each.field_name == collection.key
            ).scalars
            answer.IDs.str_id.data.extend(keys.string_data.data)
            answer.succ_index.extend(range(request.num_rows))
            answer.insert_cnt = request.num_rows
            answer.upsert_cnt = request.num_rows if method == "Upsert" else 0
        return answer.SerializeToString()

    @staticmethod
    def _check_rows(collection: Collection, request: Any) -> None:
        for each in request.fields_data:
            most = collection.lengths.get(each.field_name)
            for row, text in enumerate(each.scalars.string_data.data if most else ()):
                size = len(text.encode())
                if most and size > most:
                    what = f"row number: {row}, length: {size}, max length: {most}"
                    reason = f"length of varchar field {each.field_name} exceeds max length, {what}"
                    raise Refused(1100, f"{reason}: invalid parameter")
            wanted = collection.dimensions.get(each.field_name)
            if not wanted:
                continue
            numbers = len(each.vectors.float_vector.data)
            if each.vectors.dim != wanted or numbers % wanted:
                what = f"the length({numbers}) of float data should divide the dim({wanted})"
                raise Refused(1100, f"{what}: invalid parameter")
            if numbers // wanted != request.num_rows:
                what = f"the num_rows ({numbers // wanted}) of field ({each.field_name})"
                raise Refused(
                    1100,
                    f"{what} is not equal to passed num_rows ({request.num_rows}): "
                    "invalid parameter",
                )

    def _apply(self, *, everything: bool = True, until_ns: int = 0) -> None:
        """Give Lite the writes that are due, or were written until *until_ns*, in their order."""
        with self._lock:
            due = max(time.monotonic_ns() - self.limits.seen_after_ms * 1_000_000, until_ns)
            while self._pending and (everything or self._pending[0][0] <= due):
                _, method, request = self._pending.pop(0)
                self._forward(method, request)

    # -- after Lite answered

    def _after(self, method: str, request: Any, answer: bytes) -> bytes:
        name = getattr(request, "collection_name", "")
        if method == "LoadCollection" and name in self.collections:
            self.collections[name].loaded = True
        elif method == "ReleaseCollection" and name in self.collections:
            self.collections[name].loaded = False
        elif method == "DropCollection":
            self.collections.pop(name, None)
        elif method == "Search" and name in self.collections:
            if _pairs(request.search_params).get("anns_field") in self.collections[name].scored:
                return _turned(answer)
        elif method in ("GetLoadState", "GetLoadingProgress") and name in self.collections:
            return self._load_state(method, name, answer)
        return answer

    def _load_state(self, method: str, name: str, answer: bytes) -> bytes:
        if self.collections[name].loaded:
            return answer
        if method == "GetLoadState":
            return milvus_pb2.GetLoadStateResponse(
                state=common_pb2.LoadStateNotLoad
            ).SerializeToString()
        return self._refusal(method, 101, f"collection not loaded[collection={name}]")


class _Answer(Exception):
    """Bytes that are the answer."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


class _Handler(grpc.GenericRpcHandler):
    """Every method of every service, in bytes."""

    def __init__(self, standin: StandIn) -> None:
        self._standin = standin

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        method = handler_call_details.method.rpartition("/")[2]

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            try:
                return self._standin.answer(method, request, context)
            except _Answer as ready:
                return ready.answer

        return grpc.unary_unary_rpc_method_handler(answer)


class _Hole:
    """A port that accepts and never reads."""

    def __init__(self, port: int) -> None:
        self._held: list[socket.socket] = []
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self._socket.listen(64)
        self._socket.settimeout(0.2)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._accept, name="hole", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                self._held.append(self._socket.accept()[0])
            except TimeoutError:
                continue

    def close(self) -> None:
        self._closing.set()
        self._thread.join(5)
        for each in (self._socket, *self._held):
            each.close()


def _left(context: grpc.ServicerContext) -> float | None:
    """Seconds until the caller's deadline; None without one (gRPC then reports centuries)."""
    left = context.time_remaining()
    return left if left is not None and left < 86_400 else None


def _request(method: str) -> Any:
    return message_factory.GetMessageClass(_METHODS[method].input_type)()


def _response(method: str) -> Any:
    return message_factory.GetMessageClass(_METHODS[method].output_type)()


def _pairs(pairs: Any) -> dict[str, str]:
    return {pair.key: pair.value for pair in pairs}


def _search_params(request: Any) -> Any:
    """A search's own parameters; of a hybrid one those that rank."""
    return getattr(request, "search_params", None) or request.rank_params


def _check_name(name: str) -> None:
    reason = f"Invalid collection name: {name}. "
    if not name:
        raise Refused(1100, "collection name should not be empty: invalid parameter")
    if len(name) > 255:
        raise Refused(
            1100, f"{reason}the length of a collection name must be less than 255 characters"
        )
    if not re.match(r"[A-Za-z_]", name):
        raise Refused(
            1100,
            f"{reason}the first character of a collection name must be an underscore or letter",
        )
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise Refused(
            1100, f"{reason}collection name can only contain numbers, letters and underscores"
        )


def _turned(answer: bytes) -> bytes:
    """BM25 scores as a server has them: positive (Lite returns them with their sign turned)."""
    results = milvus_pb2.SearchResults()
    results.ParseFromString(answer)
    results.results.scores[:] = [abs(score) for score in results.results.scores]
    return results.SerializeToString()
