"""Which requests go through a proxy, with a real one on loopback: never those to this machine, and
the rest as the environment says.
"""

from __future__ import annotations

import contextlib
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
import pytest
from memsearch_engine.core import network
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.providers import ModelError, complete
from memsearch_engine.core.settings import Provider
from memsearch_engine.core.settings_schema import EmbeddingSettings, LlmSettings
from memsearch_engine.index import embed
from memsearch_engine.index.milvus import MilvusServerStore
from memsearch_engine.sync.clone import Away, Clone

from tests.index.test_index_http import Service
from tests.index.test_index_hub import hub, no_weights  # noqa: F401
from tests.mock_model import MockModel
from tests.proxies import Proxy, without_proxies

LOOPBACK = [
    "127.0.0.1",
    "127.8.9.1",
    "localhost",
    "LOCALHOST.",
    "model.localhost",
    "[::1]",
    "127.1",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
]
FAR = "http://models.example/v1"


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path) -> None:
    without_proxies(monkeypatch)
    monkeypatch.setenv("MEMSEARCH_HOME", str(Home(tmp_path / "home").ensure().root))


@pytest.fixture
def model() -> Iterator[MockModel]:
    model = MockModel(lambda request: "an answer")
    yield model
    model.close()


@pytest.fixture
def proxy(model) -> Iterator[Proxy]:
    proxy = Proxy(int(model.url.rpartition(":")[2]))
    yield proxy
    proxy.close()


def ask(base_url: str) -> str:
    llm = LlmSettings(
        providers={"mine": Provider(model="m", api_key="k", base_url=base_url)}, timeout_s=20
    )
    return complete(llm, "mine", "system", "the question").text


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h", "socks", "quic"])
@pytest.mark.parametrize("offline", [False, True])
def test_a_model_on_this_machine_is_asked_without_a_proxy(
    monkeypatch, model, proxy, scheme, offline
):
    for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"{scheme}://{proxy.address}")
    if offline:
        monkeypatch.setenv("MEMSEARCH_OFFLINE", "1")
    assert (
        ask(f"{model.url}/v1")
        == ask(f"{model.url.replace('127.0.0.1', 'localhost')}/v1")
        == "an answer"
    )
    assert proxy.asked == []


def test_vectors_of_a_server_on_this_machine_are_asked_for_without_a_proxy(
    monkeypatch, proxy, tmp_path
):
    monkeypatch.setenv("http_proxy", f"http://{proxy.address}")
    service = Service()
    try:
        embedder = embed.load(
            Home(tmp_path / "home"),
            EmbeddingSettings(provider="openai", base_url=service.url, api_key="k"),
        )
        assert embedder.query("hello").shape == (3,) and proxy.asked == []
    finally:
        service.server.shutdown()
        service.server.server_close()


@pytest.mark.parametrize("host", LOOPBACK)
def test_every_name_of_this_machine_is_local(monkeypatch, host):
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert (
        network.is_local(f"http://{host}:11434/v1")
        and network.proxy_for(f"http://{host}:11434/v1") == ""
    )


def test_aliases_in_the_hosts_file_are_local_where_all_their_addresses_are(monkeypatch, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text(
        "127.0.1.1  box.lan Box # far\n::1 ip6-localhost\n"
        "10.0.0.7 far\n127.0.0.1 both\n10.0.0.8 both\n# 127.0.0.1 old\n"
    )
    monkeypatch.setattr(network, "_HOSTS", hosts)
    names = ("box.lan", "box", "ip6-localhost", "far", "both", "old", "lan")
    assert [name for name in names if network.is_local(f"http://{name}/v1")] == [
        "box.lan",
        "box",
        "ip6-localhost",
    ]


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1.example",
        "http://127.0.0.1@far.example",
        "http://localhost.example",
        "http://128.0.0.1",
        "http://[2001:db8::1]",
    ],
)
def test_what_looks_like_this_machine_is_not(address):
    assert not network.is_local(address)


@pytest.mark.parametrize(
    ("variable", "scheme", "wanted"),
    [
        ("http_proxy", "http", f"POST {FAR}/chat/completions"),
        ("HTTP_PROXY", "http", f"POST {FAR}/chat/completions"),
        ("http_proxy", "", f"POST {FAR}/chat/completions"),
        ("ALL_PROXY", "http", f"POST {FAR}/chat/completions"),
        ("all_proxy", "socks5h", "SOCKS models.example:80"),
        ("http_proxy", "socks", "SOCKS models.example:80"),
    ],
)
def test_a_model_elsewhere_is_asked_through_the_proxy(monkeypatch, proxy, variable, scheme, wanted):
    monkeypatch.setenv(variable, f"{scheme}://{proxy.address}" if scheme else proxy.address)
    assert ask(FAR) == "an answer" and proxy.asked == [wanted]


def test_a_socks_proxy_gets_an_address_where_names_are_looked_up_here(monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", f"socks5://{proxy.address}")
    assert ask("http://192.0.2.7:8080/v1") == "an answer" and proxy.asked == [
        "SOCKS 192.0.2.7:8080"
    ]


def test_the_name_and_the_password_of_a_proxy_are_sent_to_it_and_shown_nowhere(monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", f"http://ann:s%40cret@{proxy.address}")
    assert ask(FAR) == "an answer"
    assert (
        "proxy-authorization: basic yw5uonnay3jlda==" in proxy.headers[0]
    )  # ann:s@cret, in lower case
    proxy.close()
    with pytest.raises(ModelError) as caught:
        ask(FAR)
    assert (
        "127.0.0.1" in str(caught.value) and "cret" not in str(caught.value) and caught.value.again
    )


def test_https_is_tunnelled(monkeypatch, proxy):
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
    with pytest.raises(ModelError):
        ask("https://models.example/v1")  # the server behind the tunnel speaks no TLS
    assert proxy.asked == ["CONNECT models.example:443"]


def test_a_refusal_and_a_redirect_come_back_as_from_a_server(monkeypatch):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path == "/moved" else 429)
            self.send_header("Location", "http://other.example/")
            self.send_header("Retry-After", "7")
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"wait")

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    proxy = Proxy(server.server_port)
    monkeypatch.setenv("http_proxy", f"http://{proxy.address}")
    for path, code in (("limited", 429), ("moved", 302)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            network.open_url(urllib.request.Request(f"http://models.example/{path}"), 20)
        assert caught.value.code == code and caught.value.read(500) == b"wait"
        assert caught.value.headers.get("Retry-After", "") == "7"
    assert len(proxy.asked) == 2
    proxy.close()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("variable", ["no_proxy", "NO_PROXY"])
@pytest.mark.parametrize(
    ("names", "host", "exempt"),
    [
        ("*", "models.example", True),
        ("other, models.example", "models.example", True),
        (".example", "models.example", True),
        ("*.example", "models.example", True),
        ("MODELS.example:80", "models.example", True),
        ("models.example:8080", "models.example", False),
        ("dels.example", "models.example", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("2001:db8::/32", "[2001:db8::1]", True),
        ("", "models.example", False),
    ],
)
def test_no_proxy(monkeypatch, variable, names, host, exempt):
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv(variable, names)
    assert (network.proxy_for(f"http://{host}/v1") == "") == exempt


@pytest.mark.parametrize(
    "proxy_url", ["quic://u:s3cret@proxy.example:1", "http://", "file:///etc/passwd"]
)
def test_a_proxy_that_cannot_be_used_is_one_sentence_with_the_next_step(monkeypatch, proxy_url):
    monkeypatch.setenv("http_proxy", proxy_url)
    with pytest.raises(Unreachable, match=r"the proxy for models.example can't be used") as caught:
        ask(FAR)
    assert "no_proxy" in caught.value.hint and "s3cret" not in str(caught.value)


# -- gRPC, the hub, git: each would read the environment by itself


class _Echo(grpc.GenericRpcHandler):
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request)


@pytest.fixture
def echo() -> Iterator[int]:
    server = grpc.server(ThreadPoolExecutor(2), handlers=[_Echo()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(None)


def call(host: str, port: int) -> bytes:
    options = list(network.grpc_options(f"http://{host}:{port}").items())
    with grpc.insecure_channel(f"{host}:{port}", options=options) as channel:
        answer: bytes = channel.unary_unary("/a/b")(b"hello", timeout=20)
        return answer


@pytest.mark.parametrize("variable", ["grpc_proxy", "https_proxy", "http_proxy"])
def test_grpc_on_this_machine_and_elsewhere(monkeypatch, echo, variable):
    proxy = Proxy(echo)
    monkeypatch.setenv(variable, f"http://{proxy.address}")
    assert call("127.0.0.1", echo) == call("localhost", echo) == b"hello" and proxy.asked == []
    assert call("milvus.example", 19530) == b"hello" and proxy.asked == [
        "CONNECT milvus.example:19530"
    ]
    proxy.close()


def test_grpc_lists_and_kinds(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "milvus.example")
    far, near = "https://milvus.example:19530", {"grpc.enable_http_proxy": 0}
    assert network.grpc_options(far) == near
    monkeypatch.setenv("no_grpc_proxy", "other.example")
    assert network.grpc_options(far) == {"grpc.http_proxy": "http://proxy.example:3128"}
    assert (
        network.grpc_options("unix:/tmp/socket")
        == network.grpc_options("http://127.0.0.1:1")
        == near
    )
    monkeypatch.setenv("grpc_proxy", "socks5://proxy.example:1080")
    with pytest.raises(Unreachable) as caught:
        MilvusServerStore(far, "", "name")
    assert "no_grpc_proxy" in caught.value.hint


@pytest.mark.slow
def test_a_milvus_server_on_this_machine_is_asked_without_a_proxy(monkeypatch, tmp_path):
    from tests.index.standin import StandIn

    standin, proxy = StandIn(tmp_path / "milvus", "root:Milvus"), Proxy()
    monkeypatch.setenv("http_proxy", f"http://{proxy.address}")
    with contextlib.closing(standin), contextlib.closing(proxy):
        MilvusServerStore(standin.uri, "root:Milvus", "name").close()
        assert proxy.asked == []


@pytest.mark.slow
def test_a_hub_on_this_machine_is_asked_without_a_proxy(box, hub, no_weights, proxy):  # noqa: F811
    box.env |= {"http_proxy": f"http://{proxy.address}", "HTTPS_PROXY": f"http://{proxy.address}"}
    box.ok("models", "pull", "multilingual-e5-small")
    assert hub.asked and proxy.asked == []


def test_git_asks_a_server_on_this_machine_without_a_proxy_and_another_one_through_it(
    monkeypatch, tmp_path, proxy, model
):
    monkeypatch.setenv("http_proxy", f"http://{proxy.address}")
    clone = Clone(Home(tmp_path / "home"))
    for remote in (f"{model.url}/memory.git", "http://git.example/memory.git"):
        with contextlib.suppress(Away):  # no repository is served there
            clone._git("ls-remote", "--", remote)
    assert {line.split()[1].split("/")[2] for line in proxy.asked} == {"git.example"}


def test_what_is_exempt_already_stays_exempt():
    kept = network.exemption("http://127.0.0.1:80/x", {"NO_PROXY": "corp.example"})
    assert kept == {"no_proxy": "corp.example,127.0.0.1", "NO_PROXY": "corp.example,127.0.0.1"}
    assert network.exemption("http://127.0.0.1:80/x", kept) == kept
    assert (
        network.exemption("https://huggingface.co", {})
        == network.exemption("/srv/memory.git", {})
        == {}
    )
