"""Nothing leaves this machine: a run in which leaving is an error, and a setting that refuses it by
name.
"""

from __future__ import annotations

import pytest
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.providers import complete
from memsearch_engine.core.network import Offline
from memsearch_engine.core.settings import Provider
from memsearch_engine.core.settings_schema import EmbeddingSettings, LlmSettings
from memsearch_engine.index import embed, models
from memsearch_engine.index.milvus import MilvusServerStore

#: Put on PYTHONPATH, it makes every process of ours fail at a connection or a look-up that leaves
#: the machine, and note it.
_DENIED = """
import os, sys
def deny(event, args):
    if event == "socket.connect":
        address = args[1]
        if isinstance(address, \
tuple) and not str(address[0]).startswith(("127.", "::1", "localhost")):
            leave(event, address)
    elif event == "socket.getaddrinfo" and args[0] not in (None, \
"", "localhost", "127.0.0.1", "::1"):
        leave(event, args[0])
def leave(event, what):
    with open(os.environ["LEFT"], "a") as file:
        file.write(f"{event} {what!r} by {sys.argv}\\n")
    raise PermissionError(f"the network is denied: {what}")
sys.addaudithook(deny)
"""


@pytest.mark.slow
def test_everything_that_needs_no_network_works_with_the_network_denied(box, tmp_path):
    (tmp_path / "deny").mkdir()
    (tmp_path / "deny" / "sitecustomize.py").write_text(_DENIED)
    box.env |= {
        "PYTHONPATH": f"{tmp_path / 'deny'}:{box.env.get('PYTHONPATH', '')}",
        "LEFT": str(tmp_path / "left"),
    }
    box.fill()
    box.index()
    assert box.ok("search", "how are the caches kept", "--json").json["mode"] == "hybrid"
    for argv in (
        ["add", "a note"],
        ["remember", "a fact"],
        ["context"],
        ["show", "2026-02-09"],
        ["health"],
        ["models"],
        ["agents"],
        ["coverage"],
        ["longterm", "status"],
        ["plugins", "install", "claude-code", "--dry-run"],
        ["import", "--all", "--dry-run"],
    ):
        box.ok(*argv)
    assert box.run("doctor").code in (0, 5)
    assert not (tmp_path / "left").exists(), (tmp_path / "left").read_text()


@pytest.fixture(params=["variable", "setting"])
def offline(request, tmp_path, monkeypatch):
    home = Home(tmp_path / "home").ensure()
    monkeypatch.setenv("MEMSEARCH_HOME", str(home.root))
    if request.param == "variable":
        monkeypatch.setenv("MEMSEARCH_OFFLINE", "1")
    else:
        home.config.write_text("[network]\noffline = true\n")
    return home


def test_every_way_out_is_refused_by_name(offline, monkeypatch, tmp_path):
    llm = LlmSettings(providers={"far": Provider(model="m", api_key="k")})
    with pytest.raises(Offline, match=r"api\.openai\.com"):
        complete(llm, "far", "s", "q")
    (tmp_path / "claude").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Offline, match="claude"):
        complete(llm, "claude-code", "s", "q")
    with pytest.raises(Offline, match="openai"):
        embed.load(
            offline, EmbeddingSettings(provider="openai", api_key="k", model="m", dimension=8)
        ).query("x")
    with pytest.raises(Offline, match="milvus"):
        MilvusServerStore("https://milvus.example.com:19530", "", "")
    with pytest.raises(Offline):
        models.pull(offline, "bge-m3")


def test_this_machine_itself_may_be_asked(offline):
    from tests.mock_model import MockModel

    model = MockModel(lambda request: "near")
    try:
        llm = LlmSettings(
            providers={"near": Provider(model="m", api_key="k", base_url=f"{model.url}/v1")}
        )
        assert complete(llm, "near", "s", "q").text == "near"
    finally:
        model.close()


def test_a_search_answers_from_words_where_meaning_would_leave(box):
    box.fill()
    box.home.ensure().config.write_text(
        '[embedding]\nprovider = "openai"\napi_key = "k"\nmodel = "m"\n'
    )
    answer = box.ok("--offline", "search", "redis", "--json").json
    assert answer["mode"] == "lexical" and "offline" in answer["reason"] and answer["hits"]
