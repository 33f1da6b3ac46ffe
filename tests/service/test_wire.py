"""Requests with the standard library alone, against a test listener; and the table of methods."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from memsearch_engine.core import paths, wire
from memsearch_engine.core.home import Home
from memsearch_engine.service.capture_handlers import CaptureHandlers
from memsearch_engine.service.engine import METHODS, Engine
from memsearch_engine.service.index_handlers import IndexHandlers
from memsearch_engine.service.injection_handlers import InjectionHandlers
from memsearch_engine.service.search_handlers import SearchHandlers

from tests.conftest import Box, until

HELLO = {"id": 0, "result": wire.BUILD}
ANSWER = {"id": 1, "result": {"text": "é" * 100_000}}


@contextmanager
def listening(home: Home, *answers: object) -> Iterator[list[dict]]:
    """A service that answers its first two requests with these lines. Yields what it was asked."""
    home.ensure()
    home.ensure_socket_folder()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(home.socket))
    listener.listen(1)
    asked: list[dict] = []

    def serve() -> None:
        peer, _ = listener.accept()
        with peer, peer.makefile("rb") as lines:
            asked.extend(json.loads(lines.readline()) for _ in range(2))
            text = "".join(json.dumps(answer) + "\n" for answer in answers)
            with contextlib.suppress(OSError):  # the client may have gone
                peer.sendall(text.encode())
            if not answers:
                peer.recv(1)  # says nothing until the client goes away

    thread = threading.Thread(target=serve)
    thread.start()
    yield asked
    thread.join(10)
    listener.close()


def call(home: Home, seconds: float = 10.0, **options: object) -> object:
    return wire.call(
        str(home.root), "search_view", {"query": "q"}, time.monotonic() + seconds, **options
    )


@pytest.mark.parametrize("answers", [(HELLO, ANSWER), (ANSWER, HELLO), ({"id": 7}, ANSWER, HELLO)])
def test_answers_come_in_any_order(box: Box, answers: tuple[object, ...]):
    with listening(box.home, *answers) as asked:
        assert call(box.home, same_build=True) == ANSWER["result"]
    assert [request["method"] for request in asked] == ["hello", "search_view"]
    assert 9 < asked[1]["params"]["deadline_s"] <= 10


def test_a_client_can_work_while_the_service_answers(box: Box):
    worked: list[str] = []
    with listening(box.home, HELLO, ANSWER) as asked:

        def work() -> None:
            until(lambda: len(asked) == 2)
            worked.append(asked[1]["method"])

        assert call(box.home, meanwhile=work) == ANSWER["result"]
    assert worked == ["search_view"]


@pytest.mark.parametrize(
    ("answers", "options"),
    [
        (({"id": 1, "error": {"code": 1, "message": "no"}},), {}),
        (({"id": 0, "result": {**wire.BUILD, "version": "0.0.1"}}, ANSWER), {"same_build": True}),
        (({"id": 0, "result": {**wire.BUILD, "installed": 1}}, ANSWER), {"same_build": True}),
        ((HELLO,), {}),
        ((HELLO, ANSWER), {"limit": 1000}),
        (("no object", [1]), {}),
    ],
    ids=[
        "an error",
        "another version",
        "another installation",
        "no answer",
        "too long",
        "something else",
    ],
)
def test_what_is_no_answer_is_refused(box: Box, answers: tuple[object, ...], options: dict):
    reasons = r"no whole answer|'no'|another version"
    with listening(box.home, *answers), pytest.raises(ValueError, match=reasons):
        call(box.home, **options)


def test_an_answer_that_comes_too_late_is_not_waited_for(box: Box):
    with listening(box.home), pytest.raises(TimeoutError):
        call(box.home, 0.05)


def test_no_service_listens(box: Box):
    with pytest.raises(wire.NotRunning):
        call(box.home)
    box.home.ensure()
    box.home.ensure_socket_folder()
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).bind(paths.socket(str(box.home.root)))
    with pytest.raises(wire.NotRunning):
        call(box.home)


@pytest.mark.parametrize("name", METHODS)
def test_each_method_has_one_handler(name: str):
    parts = (Engine, SearchHandlers, IndexHandlers, InjectionHandlers, CaptureHandlers)
    (handler,) = [found for part in parts if (found := getattr(part, name, None))]
    assert isinstance(handler, Callable)
