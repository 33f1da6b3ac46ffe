"""The product on a real Milvus server: 2.3.5, which searches by meaning alone.

What 2.5 and later do (BM25, partition keys) is held by a stand-in (``test_index_server.py``).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from memsearch_engine.index.milvus import ServerAbilities
from pymilvus import DataType, MilvusClient

from tests.conftest import Box, until
from tests.index.milvus_server import MilvusServer, free_ports, running
from tests.index.test_index_server import (
    NOTES,
    QUERY,
    TOKEN,
    Meaning,
    fill,
    finds,
    health,
    held,
    index_check,
    key_of,
    note,
    search,
    use,
)

_BACK_S = 90


@pytest.mark.parametrize(
    ("version", "full_text", "is_lite"),
    [
        ("v2.3.5-lite", False, False),
        ("2.4.9", False, False),
        ("2.5.0", True, False),
        ("v2.6.4", True, False),
        ("milvus_lite-3.2.2", True, True),
        ("", True, False),
        ("zilliz", True, False),
    ],
)
def test_a_version_says_what_a_server_can_do(version, full_text, is_lite):
    abilities = ServerAbilities.of(version)
    assert (abilities.full_text, abilities.is_lite) == (full_text, is_lite)
    assert abilities.partition_keys == full_text
    assert ("no BM25 function" in abilities.words()) != full_text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """A server that wants a token; tests share it, as homes do."""
    yield from running(tmp_path_factory.mktemp("milvus"), token=TOKEN)


@pytest.fixture
def meaning() -> Iterator[Meaning]:
    """An embedding service."""
    service = Meaning()
    yield service
    service.close()


@pytest.fixture
def remote(box: Box, server: MilvusServer, meaning: Meaning) -> Iterator[Box]:
    """Thirty notes, not indexed yet; the settings name the server."""
    fill(box)
    box.own()
    use(box, server, meaning)
    yield box
    server.start()
    box.clean()


def rows(server: MilvusServer, box: Box) -> list[dict[str, object]]:
    """All rows of a home, without their vectors."""
    client = MilvusClient(uri=server.uri, token=server.token, dedicated=True)
    found: list[dict[str, object]] = []
    for name in client.list_collections():
        if name.endswith(key_of(box)):
            client.load_collection(name)
            fields = [
                field["name"]
                for field in client.describe_collection(name)["fields"]
                if field["name"] != "vector"
            ]
            found += client.query(name, filter='chunk_id != ""', output_fields=fields, limit=1_000)
    client.close()
    return found


@pytest.mark.slow
def test_index_search_edit_delete_and_reset(remote, server, meaning):
    assert remote.index()["embedded"] == NOTES
    assert len(rows(server, remote)) == held(remote) == NOTES
    for mode in ("hybrid", "bm25", "dense"):
        assert search(remote, QUERY, "--mode", mode)["mode"] == mode
    assert finds(remote) and finds(remote, QUERY, "--mode", "bm25")
    said = health(remote)
    assert said["index"] == "ready" and "Milvus 2.3.5" in said["store"]
    check = index_check(remote)
    assert check["ok"] and "the catalog searches by words" in check["detail"]

    embedded = meaning.texts
    note(remote, "2026-03-01", "kangaroo kept")
    (remote.memory / "2026-02-01.md").unlink()
    remote.index()
    assert finds(remote, "kangaroo") and not finds(remote, "note1x10")
    there = NOTES + 1 - 5
    assert len(rows(server, remote)) == held(remote) == there
    remote.ok("reset", "--yes")
    until(lambda: held(remote) == there, 20, "built again")
    until(lambda: finds(remote, "kangaroo"), 20, "found again")
    assert len(rows(server, remote)) == there and meaning.texts - embedded == 1


@pytest.mark.slow
def test_filters_reach_the_server(remote, server):
    remote.index()
    hits = search(remote, "note day:2026-02-03", "--mode", "dense")["hits"]
    assert hits and {hit["day"] for hit in hits} == {"2026-02-03"}


@pytest.mark.slow
def test_a_scrubbed_secret_is_not_on_the_server(remote, server):
    note(remote, "2026-03-01", "zebraplainsecret4711 of one")
    remote.index()
    before = {row["chunk_id"] for row in rows(server, remote)}
    assert not any("zebra" in str(row) for row in rows(server, remote)), "it has no text at all"
    remote.ok("secrets", "scrub", "--text", "zebraplainsecret4711", "--yes")
    assert rows(server, remote) == [] or len(rows(server, remote)) == NOTES + 1
    remote.index()
    after = {row["chunk_id"] for row in rows(server, remote)}
    assert len(after) == NOTES + 1 and len(after - before) == 1 and len(before - after) == 1


@pytest.mark.slow
def test_two_homes_share_a_server_and_touch_only_their_own_rows(
    remote,
    server,
    meaning,
    tmp_path,
):
    other = Box(tmp_path / "other")
    fill(other)
    use(other, server, meaning)
    try:
        note(other, "2026-03-01", "wombat of the other")
        remote.index()
        other.index()
        assert len(rows(server, remote)) == NOTES and len(rows(server, other)) == NOTES + 1
        assert not any("wombat" in hit["content"] for hit in search(remote, "wombat")["hits"])
        remote.run("project", "forget", remote.project.name, "--yes")
        remote.run("reset", "--yes")
        assert len(rows(server, other)) == NOTES + 1 and finds(other, "wombat")
    finally:
        other.clean()


@pytest.mark.slow
def test_a_killed_server_is_named_and_its_rows_are_there_when_it_is_back(
    remote,
    server,
    meaning,
):
    remote.index()
    embedded = meaning.texts
    server.kill()
    answer = search(remote)
    assert answer["mode"] == "lexical" and QUERY in answer["hits"][0]["content"]
    assert server.uri.removeprefix("http://") in answer["reason"]
    note(remote, "2026-03-01", "platypus of the outage")
    assert "127.0.0.1" in remote.index()["reason"]
    check = index_check(remote)
    assert not check["ok"] and "reset" not in check["fix"]
    server.start()
    until(lambda: finds(remote, "platypus"), _BACK_S, "meaning is back by itself")
    assert len(rows(server, remote)) == held(remote) == NOTES + 1
    assert meaning.texts - embedded == 1


@pytest.mark.slow
def test_a_dropped_collection_is_filled_again_and_embeds_nothing(
    remote,
    server,
    meaning,
):
    remote.index()
    embedded = meaning.texts
    remote.ok("service", "stop")
    client = MilvusClient(uri=server.uri, token=server.token, dedicated=True)
    for name in client.list_collections():
        if name.endswith(key_of(remote)):
            client.drop_collection(name)
    client.close()
    remote.index()
    assert len(rows(server, remote)) == NOTES and finds(remote) and meaning.texts == embedded


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["a field is missing", "another dimension", "no index"])
def test_a_collection_of_another_version_is_replaced_and_embeds_nothing(
    remote, server, meaning, changed
):
    remote.index()
    embedded = meaning.texts
    remote.ok("service", "stop")
    client = MilvusClient(uri=server.uri, token=server.token, dedicated=True)
    (name,) = (name for name in client.list_collections() if name.endswith(key_of(remote)))
    client.drop_collection(name)
    schema = MilvusClient.create_schema()
    schema.add_field("chunk_id", DataType.VARCHAR, is_primary=True, max_length=64)
    dimension = 16 if changed == "another dimension" else meaning.dimension
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
    for field in ("day", "agent", "session", "kind", "project"):
        if field != "kind" or changed != "a field is missing":
            schema.add_field(field, DataType.VARCHAR, max_length=512)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_collection(
        name, schema=schema, index_params=None if changed == "no index" else indexes
    )
    client.close()
    remote.index()
    assert len(rows(server, remote)) == NOTES and finds(remote) and meaning.texts == embedded


@pytest.fixture
def own_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 GB in memory, for one server: its logs alone reserve 260 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system can't be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resize(disk: Path, size: int) -> None:
    """Give a mounted tmpfs another size, in bytes."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def fill_up(disk: Path, server: MilvusServer) -> None:
    """Leave no byte free, nor what the server reserved for its log of inserted rows."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        for log in disk.glob("rocksmq*/*.log"):
            os.truncate(log, log.stat().st_size)
        resize(disk, shutil.disk_usage(disk).used + (1 << 20))
        ballast = (disk / "ballast").open("ab", buffering=0)
        with ballast, contextlib.suppress(OSError):
            while ballast.write(bytes(4096)):
                pass
    finally:
        os.kill(server.pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_server_whose_disk_is_full_loses_nothing(box, meaning, server, own_disk):
    server.kill()  # one at a time on a machine
    full = None
    try:
        full = MilvusServer(own_disk, token=TOKEN)
        fill(box)
        box.own()
        use(box, full, meaning)
        box.index()
        assert len(rows(full, box)) == NOTES, full.log()
        fill_up(own_disk, full)
        note(box, "2026-03-01", "platypus of the outage")
        assert box.index()["reason"]
        assert search(box, "platypus")["hits"]
        full.kill()
        resize(own_disk, 1 << 30)
        full.start()
        until(lambda: finds(box, "platypus"), _BACK_S, "meaning is back by itself")
        assert len(rows(full, box)) == held(box) == NOTES + 1
    finally:
        box.clean()
        if full is not None:
            full.kill()
        server.start()


@pytest.mark.slow
def test_a_wrong_token_is_named_and_words_answer(remote):
    remote.ok("config", "set", "milvus.token", "root:wrong")
    said = remote.index()["reason"]
    assert "milvus.token" in said and "\n" not in said, said
    assert search(remote)["hits"]
    check = index_check(remote)
    assert not check["ok"] and "reset" not in check["fix"], check
    remote.ok("config", "set", "milvus.token", TOKEN)
    until(lambda: finds(remote), 30, "the running service takes the right one")


@pytest.mark.slow
def test_a_server_without_tls_is_named_where_tls_is_asked_for(remote, server):
    remote.ok("config", "set", "milvus.uri", server.uri.replace("http:", "https:"))
    said = remote.index()["reason"]
    assert f"127.0.0.1:{server.port}" in said and "milvus.uri" in said, said
    assert search(remote)["hits"]


@pytest.mark.slow
def test_another_program_on_the_port_is_named(remote):
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)) as listener:
        stopping = threading.Event()

        def answer() -> None:
            listener.settimeout(0.2)
            while not stopping.is_set():
                try:
                    client, _ = listener.accept()
                except TimeoutError:
                    continue
                with client:
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            remote.ok("config", "set", "milvus.uri", f"http://127.0.0.1:{port}")
            said = remote.index()["reason"]
            assert f"127.0.0.1:{port}" in said and "milvus.uri" in said, said
            assert search(remote)["hits"]
        finally:
            stopping.set()
            thread.join()
