"""Embedding over HTTP, against a local server that speaks OpenAI's `/embeddings`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.settings_schema import EmbeddingSettings
from memsearch_engine.index import embed, embed_http


class Service:
    """Answers with vectors that tell which text they are of; ``answer`` may take over."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answer: Any = lambda service, body: None
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append(body)
                service.headers.append(dict(self.headers))
                service.paths.append(self.path)
                status, answer = service.answer(service, body) or (200, service.vectors(body))
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @staticmethod
    def vectors(body: dict[str, Any]) -> dict[str, Any]:
        return {
            "data": [
                {"index": i, "embedding": [float(len(t)), 1.0, 0.0]}
                for i, t in enumerate(body["input"])
            ]
        }

    def sizes(self) -> list[int]:
        return [
            len(body["input"]) for body in self.requests[1:]
        ]  # the first asks for the dimension


@pytest.fixture
def service(monkeypatch) -> Iterator[Service]:
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    service = Service()
    yield service
    service.server.shutdown()
    service.server.server_close()


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """The waits between tries, not waited."""
    found: list[float] = []
    monkeypatch.setattr(embed_http.time, "sleep", found.append)
    return found


def load(service: Service, tmp_path, **kwargs: Any) -> embed.Embedder:
    options = {"provider": "openai", "base_url": service.url, **kwargs}
    return embed.load(Home(tmp_path / "h"), EmbeddingSettings(**options))


def test_shape_of_a_request(service, tmp_path):
    embedder = load(service, tmp_path, api_key="k-1", dimension=3, model="m")
    assert embedder.dimension == 3
    vector = embedder.query("hello")
    assert (
        vector.shape == (3,)
        and vector.dtype == np.float32
        and abs(np.linalg.norm(vector) - 1) < 1e-6
    )
    body, headers = service.requests[-1], service.headers[-1]
    assert body == {"model": "m", "input": ["hello"], "encoding_format": "float", "dimensions": 3}
    assert headers["Authorization"] == "Bearer k-1" and service.paths[-1] == "/v1/embeddings"


def test_no_key_no_header_and_a_key_from_the_environment(service, tmp_path, monkeypatch):
    load(service, tmp_path)
    assert "Authorization" not in service.headers[-1]
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    load(service, tmp_path)
    assert service.headers[-1]["Authorization"] == "Bearer from-env"
    monkeypatch.setenv("MINE", "mine")
    load(service, tmp_path, api_key="env:MINE")
    assert service.headers[-1]["Authorization"] == "Bearer mine"


def test_batches_by_count(service, tmp_path):
    embedder = load(service, tmp_path, provider="mistral")
    texts = ["x" * (n + 1) for n in range(150)]
    found = embedder.passages(texts)
    assert service.sizes() == [64, 64, 22]
    ratio = found[:, 0] / found[:, 1]
    assert np.allclose(ratio, np.arange(1, 151), rtol=1e-3)


def test_the_setting_batch_size_is_used(service, tmp_path):
    embedder = load(service, tmp_path, batch_size=10)
    embedder.passages(["x"] * 25)
    assert service.sizes() == [10, 10, 5]


def test_batches_by_size(service, tmp_path):
    embedder = load(service, tmp_path)
    embedder.passages(["x" * 150_000] * 5)
    assert service.sizes() == [2, 2, 1]


def test_a_refused_batch_is_halved(service, tmp_path, pauses):
    embedder = load(service, tmp_path)
    service.answer = lambda _, body: (
        (400, {"error": "too many tokens"}) if len(body["input"]) > 3 else None
    )
    found = embedder.passages([f"{'x' * (n + 1)}" for n in range(10)])
    assert np.allclose(found[:, 0] / found[:, 1], np.arange(1, 11), rtol=1e-3)
    assert sum(size for size in service.sizes() if size <= 3) == 10 and pauses == []


def test_a_text_that_is_refused_alone_says_why(service, tmp_path, pauses):
    embedder = load(service, tmp_path)
    service.answer = lambda *_: (400, {"error": "too long"})
    with pytest.raises(Unreachable, match=r"400.*too long"):
        embedder.passages(["a", "b"])
    assert pauses == []


def test_a_text_over_the_request_limit_goes_alone(service, tmp_path):
    embedder = load(service, tmp_path)
    embedder.passages(["a", "x" * 500_000, "b"])
    assert service.sizes() == [1, 1, 1]


@pytest.mark.parametrize("code", [401, 403])
def test_a_wrong_key_is_named_and_not_retried(service, tmp_path, pauses, code):
    service.answer = lambda *_: (code, {"error": {"message": "bad key"}})
    with pytest.raises(Unreachable) as caught:
        load(service, tmp_path, api_key="sk-secret-value")
    text = f"{caught.value} {caught.value.hint}"
    assert "OPENAI_API_KEY" in text and "bad key" in text and "sk-secret-value" not in text
    assert len(service.requests) == 1 and pauses == []


@pytest.mark.parametrize("code", [429, 500, 503])
def test_patience_is_asked_for_and_given(service, tmp_path, pauses, code):
    embedder = load(service, tmp_path)
    left = [code, code]
    service.answer = lambda *_: (left.pop(), {"error": "later"}) if left else None
    assert embedder.query("hello").shape == (3,)
    assert len(pauses) == 2 and pauses[0] < pauses[1]


def test_patience_ends(service, tmp_path, pauses):
    embedder = load(service, tmp_path)
    service.answer = lambda *_: (429, {"error": "never"})
    with pytest.raises(Unreachable, match="429"):
        embedder.query("hello")
    assert len(service.requests) == 1 + 4


def test_answers_out_of_order_are_put_in_order(service, tmp_path):
    embedder = load(service, tmp_path)

    def mixed(_, body):
        answer = Service.vectors(body)
        answer["data"].reverse()
        return 200, answer

    service.answer = mixed
    found = embedder.passages(["x", "xx", "xxx"])
    assert np.allclose(found[:, 0] / found[:, 1], [1, 2, 3], rtol=1e-3)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"data": []},
        {"data": [{"embedding": "AAAA"}]},
        {"data": None},
        b"<html>",
        {"data": [{"embedding": []}]},
        [],
    ],
    ids=str,
)
def test_answers_of_another_shape_are_refused(service, tmp_path, pauses, answer):
    embedder = load(service, tmp_path)
    service.answer = lambda *_: (200, answer)
    with pytest.raises(Unreachable):
        embedder.query("hello")


def test_an_answer_of_another_dimension_is_refused(service, tmp_path):
    """A model that was changed behind the same name must not fill one space with two."""
    embedder = load(service, tmp_path)
    service.answer = lambda _, body: (200, {"data": [{"index": 0, "embedding": [1.0] * 5}]})
    with pytest.raises(Unreachable):
        embedder.query("hello")


def test_nobody_listens(tmp_path, pauses, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(Unreachable, match="can't be reached"):
        embed.load(
            Home(tmp_path), EmbeddingSettings(provider="ollama", base_url="http://127.0.0.1:9/v1")
        )


def test_fingerprints_distinguish_indexes(service, tmp_path):
    home = Home(tmp_path)
    options = [
        EmbeddingSettings(provider="openai"),
        EmbeddingSettings(provider="openai", model="other"),
        EmbeddingSettings(provider="openai", dimension=256),
        EmbeddingSettings(provider="voyage"),
        EmbeddingSettings(provider="openai", base_url="http://x"),
        EmbeddingSettings(),
    ]
    names = [embed.fingerprint_of(home, option) for option in options]
    assert len(set(names)) == len(names)
    assert load(service, tmp_path).fingerprint == embed.fingerprint_of(
        home, EmbeddingSettings(provider="openai", base_url=service.url)
    )


def test_the_whole_service_with_a_provider(service, box):
    box.fill()
    box.home.ensure()
    box.home.config.write_text(
        f'[embedding]\nprovider = "openai"\nbase_url = "{service.url}"\napi_key = "k"\n'
    )
    assert box.index()["reason"] == ""
    found = box.ok("search", "redis", "--json").json
    assert found["mode"] == "hybrid" and "Redis" in found["hits"][0]["content"]
    assert all("<!--" not in text for body in service.requests for text in body["input"])


def test_a_provider_that_fails_later_leaves_words(service, box):
    """The service started well; then the network goes. Search answers from words and says so."""
    box.fill()
    box.home.ensure()
    box.home.config.write_text(
        f'[embedding]\nprovider = "openai"\nbase_url = "{service.url}"\napi_key = "k"\n'
    )
    box.index()
    service.answer = lambda *_: (401, {"error": "key revoked"})
    found = box.run("search", "redis", "--json")
    assert found.code == 0 and found.json["mode"] == "lexical" and found.json["hits"], found
    assert "401" in found.json["reason"]
    box.write("2026-02-13", "### 10:00\n- zanzibar\n")
    done = box.run("index", "--json")
    assert done.code == 5 and "401" in done.json["reason"] and done.json["entries"] == 6, done
