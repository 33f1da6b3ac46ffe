"""The product on a Milvus server: a strict stand-in for one (``standin.py``) that does what Lite
does not.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from memsearch_engine.core.errors import Unreachable
from memsearch_engine.index.milvus import MilvusServerStore, StoreRow
from memsearch_engine.index.rows import Filter
from pymilvus import DataType, MilvusClient, MilvusException

from tests.conftest import Box, until
from tests.index.standin import StandIn

TOKEN = "root:Milvus"
DAYS, HOURS = range(1, 7), range(9, 14)
NOTES = len(DAYS) * len(HOURS)
QUERY = "note3x10"
pytestmark = pytest.mark.slow
_BACK_S = 90


class Meaning:
    """An embedding service: a vector of words, ``dimension`` long. ``texts`` counts embedded notes,
    not questions.
    """

    def __init__(self) -> None:
        self.dimension, self.texts = 8, 0
        meaning = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                meaning.texts += sum("- " in text for text in texts)
                data = [
                    {"index": n, "embedding": meaning.vector(text)} for n, text in enumerate(texts)
                ]
                answer = json.dumps({"data": data}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def vector(self, text: str) -> list[float]:
        vector = [0.01] * self.dimension
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % self.dimension] += 1
        return vector

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StandIn]:
    folder = tmp_path / "server"
    folder.mkdir()
    server = StandIn(folder, TOKEN)
    yield server
    server.close()


@pytest.fixture
def meaning() -> Iterator[Meaning]:
    meaning = Meaning()
    yield meaning
    meaning.close()


@pytest.fixture
def remote(box: Box, server: StandIn, meaning: Meaning) -> Iterator[Box]:
    """Thirty notes, not indexed yet; the settings name the server."""
    fill(box)
    box.own()
    use(box, server, meaning)
    yield box
    server.mend()
    server.resume()  # or the service waits for it when it is stopped
    box.clean()


def fill(box: Box) -> None:
    """Write thirty notes."""
    for day in DAYS:
        notes = "".join(
            f"### {h:02}:00\n- note{day}x{h} about topic{day * h % 7}\n\n" for h in HOURS
        )
        box.write(f"2026-02-{day:02}", f"# 2026-02-{day:02}\n\n{notes}")


def use(box: Box, server: Any, meaning: Meaning) -> None:
    """Have a home keep its index there."""
    for key, value in (
        ("milvus.uri", server.uri),
        ("milvus.token", TOKEN),
        ("embedding.provider", "openai"),
        ("embedding.base_url", meaning.url),
    ):
        box.ok("config", "set", key, value)


def note(box: Box, day: str, text: str) -> None:
    box.write(day, f"# {day}\n\n### 10:00\n- {text}\n\n")


def search(box: Box, query: str = QUERY, *args: str, timeout: float = 60) -> dict[str, Any]:
    result = box.run("search", query, "-k", "3", "--json", *args, timeout=timeout)
    assert result.code in (0, 1), result
    return result.json


def finds(box: Box, query: str = QUERY, *args: str) -> bool:
    """Whether the note with *query* is the first hit, by meaning, with nothing to excuse."""
    answer = search(box, query, *args)
    return (
        answer["mode"] != "lexical"
        and not answer["reason"]
        and bool(answer["hits"])
        and query in answer["hits"][0]["content"]
    )


def held(box: Box) -> int:
    """Rows in the ledgers of what Milvus holds."""
    total = 0
    for file in box.home.index.glob("*/vectors.db"):
        with contextlib.closing(sqlite3.connect(file)) as db:
            total += db.execute("SELECT count(*) FROM stored WHERE collection<>''").fetchone()[0]
    return total


def rows(server: StandIn) -> int:
    return sum(server.rows(name) for name in server.names())


def texts(server: StandIn) -> list[str]:
    """The ``terms`` of every row of every collection."""
    client = MilvusClient(uri=server.uri, token=server.token, dedicated=True)
    found: list[str] = []
    for name in server.names():
        client.load_collection(name)
        got = client.query(name, filter='chunk_id != ""', output_fields=["terms"], limit=1_000)
        found += [row["terms"] for row in got]
    client.close()
    return found


def health(box: Box) -> dict[str, Any]:
    return box.run("health", "--json").json


def index_check(box: Box) -> dict[str, Any]:
    """What `doctor` says of the index."""
    result = box.run("doctor", "--json")
    checks = result.json["checks"]
    return next(check for check in checks if check["what"] == "index")


# -- the stand-in itself


@pytest.fixture
def client(server: StandIn) -> Iterator[MilvusClient]:
    client = MilvusClient(uri=server.uri, token=TOKEN, dedicated=True)
    yield client
    client.close()


def make(client: MilvusClient, name: str = "things", consistency: str = "Strong") -> None:
    schema = MilvusClient.create_schema()
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=8)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=4)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_collection(
        name, schema=schema, index_params=indexes, consistency_level=consistency
    )


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "missing authorization in header"),
        ("root:wrong", "auth check failure, please check username and password are correct"),
        ("key-of-another", "auth check failure, please check api key is correct"),
    ],
)
def test_the_standin_wants_its_token(server, token, reason):
    with pytest.raises(MilvusException) as caught:
        MilvusClient(uri=server.uri, token=token, dedicated=True)
    cause = caught.value.__cause__
    assert isinstance(cause, grpc.RpcError) and cause.code() is grpc.StatusCode.UNAUTHENTICATED
    assert cause.details() == reason


def test_the_standin_has_a_servers_limits(server, client):
    make(client)
    client.upsert("things", [{"id": "a", "vector": [1, 0, 0, 0]}])
    with pytest.raises(MilvusException, match="length: 9, max length: 8"):
        client.upsert("things", [{"id": "日日日", "vector": [1, 0, 0, 0]}])
    with pytest.raises(MilvusException, match=r"\[1, 16384\]"):
        client.search("things", data=[[1, 0, 0, 0]], limit=16_385)
    with pytest.raises(MilvusException, match="max query result window"):
        client.query("things", filter='id != ""', limit=16_000, offset=1_000)
    with pytest.raises(MilvusException, match="first character"):
        make(client, "1st")
    with pytest.raises(MilvusException, match="numbers, letters and underscores"):
        make(client, "a-b")
    with pytest.raises(grpc.RpcError, match="larger than max"):
        client._get_connection()._stub.Upsert(_bytes_of(65 * 1024 * 1024), timeout=30)
    server.limits.collections = 1
    with pytest.raises(MilvusException, match="exceeded the limit number of collections"):
        make(client, "more")


def _bytes_of(size: int) -> Any:
    from pymilvus.grpc_gen import milvus_pb2

    return milvus_pb2.UpsertRequest(collection_name="x" * size)


def test_the_standin_flushes_once_in_ten_seconds(server, client):
    make(client)
    client.flush("things")
    with pytest.raises(
        MilvusException, match="rejected by grpc RateLimiter middleware, please retry later"
    ):
        client.flush("things", retry_on_rate_limit=False, timeout=1)
    assert server.refusals["Flush", 8] >= 1


def test_the_standin_shows_writes_late_to_those_who_did_not_ask_for_all(server, client):
    make(client)
    server.limits.seen_after_ms = 1_500
    client.upsert("things", [{"id": "a", "vector": [1, 0, 0, 0]}])
    late = {"output_fields": ["id"], "limit": 5}
    assert client.query("things", filter='id != ""', consistency_level="Bounded", **late) == []
    assert (
        len(client.query("things", filter='id != ""', **late)) == 1
    )  # the collection's own level is Strong
    client.upsert("things", [{"id": "b", "vector": [1, 0, 0, 0]}])
    own = client.query("things", filter='id != ""', consistency_level="Session", **late)
    assert len(own) == 2


def test_the_standin_keeps_its_rows_over_an_outage(server, client):
    make(client)
    client.upsert("things", [{"id": "a", "vector": [1, 0, 0, 0]}])
    server.stop()
    with pytest.raises(MilvusException):
        client.search("things", data=[[1, 0, 0, 0]], limit=1, timeout=2)
    server.limits.forgets_loads = True
    server.start()
    until(
        lambda: grpc.channel_ready_future(client._get_connection()._channel).result(10) is None, 10
    )  # gRPC pauses
    again = MilvusClient(uri=server.uri, token=TOKEN, dedicated=True)
    with pytest.raises(MilvusException, match="collection not loaded"):
        again.search("things", data=[[1, 0, 0, 0]], limit=1)
    again.load_collection("things")
    assert len(again.search("things", data=[[1, 0, 0, 0]], limit=1)[0]) == 1
    again.close()


def test_the_standin_fails_and_hangs_on_demand(server, client):
    make(client)
    with server.failing("Search", code=1, reason="unexpected", times=1):
        with pytest.raises(MilvusException, match="unexpected"):
            client.search("things", data=[[1, 0, 0, 0]], limit=1)
        client.search("things", data=[[1, 0, 0, 0]], limit=1)
    server.hang()
    with pytest.raises((MilvusException, grpc.RpcError)):
        client.search("things", data=[[1, 0, 0, 0]], limit=1, timeout=1)
    server.resume()
    client.search("things", data=[[1, 0, 0, 0]], limit=1)
    assert server.counts["Search"] >= 3 and server.refusals["Search", 1] == 1


# -- 1: every day


def test_index_search_edit_delete_reset_on_a_server(remote, server, meaning):
    assert remote.index()["embedded"] == NOTES
    assert rows(server) == NOTES and held(remote) == NOTES
    (made,) = server.collections.values()
    assert made.tokenizers == {"terms": "whitespace"} and made.dimensions == {"vector": 8}
    for mode in ("hybrid", "bm25"):
        assert finds(remote, QUERY, "--mode", mode)
    assert search(remote, QUERY, "--mode", "dense")["mode"] == "dense"
    made_before = meaning.texts
    note(remote, "2026-03-01", "kangaroo kept")
    (remote.memory / "2026-02-01.md").unlink()
    remote.index()
    assert finds(remote, "kangaroo") and not finds(remote, "note1x10")
    assert rows(server) == held(remote) == NOTES + 1 - len(HOURS)
    upserts = server.counts["Upsert"]
    remote.ok("reset", "--yes")
    until(
        lambda: server.counts["Upsert"] > upserts and held(remote) == NOTES + 1 - len(HOURS),
        20,
        "built again",
    )
    until(lambda: finds(remote, "kangaroo"), 10, "found again")
    assert rows(server) == NOTES + 1 - len(HOURS)
    assert meaning.texts - made_before == 1
    assert index_check(remote)["ok"] and remote.run("doctor", "--fix").code == 0
    assert health(remote)["index"] == "ready"
    assert not server.refusals and not server.counts["Flush"]


def test_what_was_just_written_is_found_where_a_server_is_slow_to_show_it(remote, server):
    server.limits.seen_after_ms = 5_000
    remote.index()
    assert finds(remote)
    note(remote, "2026-03-01", "kangaroo kept")
    remote.index()
    assert finds(remote, "kangaroo")


def test_a_collection_that_somebody_dropped_is_filled_again(remote, server, meaning):
    remote.index()
    assert finds(remote)
    before = meaning.texts
    server.drop(*server.names())
    assert search(remote)["hits"]  # words, if nothing else
    until(lambda: finds(remote), _BACK_S, "meaning is back")
    assert rows(server) == NOTES
    assert meaning.texts == before


def test_an_index_that_is_emptier_than_the_ledger_is_noticed_or_mended(remote, server):
    """`doctor --fix` and `index --force` are what a person would try."""
    remote.index()
    server.drop(*server.names())
    search(remote)
    remote.run("doctor", "--fix")
    remote.run("index", "--force")
    until(lambda: rows(server) == NOTES or not index_check(remote)["ok"], 10, "mended, or named")


def test_rows_that_no_ledger_knows_leave_the_server(remote, server):
    remote.index()
    remote.ok("service", "stop")
    shutil.rmtree(remote.home.index)
    (remote.memory / "2026-02-01.md").unlink()
    remote.index()
    until(lambda: rows(server) == NOTES - len(HOURS), 10, "the rows of deleted notes are gone")


def test_a_scrubbed_secret_is_on_no_server(remote, server):
    secret = "zebraplainsecret4711"
    note(remote, "2026-03-01", f"the password is {secret}")
    remote.index()
    assert any(secret in text for text in texts(server))
    done = remote.run("secrets", "scrub", "--text", secret, "--yes")
    assert secret not in (remote.memory / "2026-03-01.md").read_text()
    left = [text for text in texts(server) if secret in text]
    assert left == [] or done.code != 0, done
    remote.index()
    assert not [text for text in texts(server) if secret in text], done


def test_a_scrubbed_secret_is_not_in_an_older_models_collection(remote, server):
    secret = "zebraplainsecret4711"
    note(remote, "2026-03-01", f"the password is {secret}")
    remote.index()
    remote.ok("config", "set", "embedding.model", "another")
    remote.index()
    until(lambda: health(remote)["fingerprint"].startswith("another"), 30)
    done = remote.run("secrets", "scrub", "--text", secret, "--yes")
    remote.index()
    assert not [text for text in texts(server) if secret in text], done


@pytest.mark.parametrize(
    ("code", "reason"), [(9, "quota exceeded[reason=rate type: DDLCollection]"), (1, "unexpected")]
)
def test_a_create_that_was_refused_once_does_not_change_the_tokenizer(remote, server, code, reason):
    server.fail("CreateCollection", code, reason, times=1)
    remote.index()
    until(lambda: finds(remote), _BACK_S, "meaning")
    assert [made.tokenizers for made in server.collections.values()] == [{"terms": "whitespace"}]


def test_a_collection_that_was_left_half_made_is_mended(remote, server):
    """The connection is cut between `CreateCollection` and `CreateIndex`."""
    server.fail("CreateIndex", times=1)
    remote.index()
    until(lambda: finds(remote), _BACK_S, "meaning")
    assert rows(server) == NOTES


def test_an_edit_is_found_while_the_server_takes_no_writes(remote, server):
    """Deny-to-write is what a full cluster and a read-only key do; reading goes on."""
    remote.index()
    reason = "quota exceeded[reason=memory quota exhausted, please allocate more resources]"
    with server.failing("Upsert", "Delete", code=9, reason=reason):
        note(remote, "2026-02-01", "quokka instead of five notes")
        said = remote.index()
        assert "memory quota exhausted" in said["reason"]
        answer = search(remote, "quokka")
        assert answer["hits"] and "quokka" in answer["hits"][0]["content"], answer["reason"]
        assert answer["reason"], "that something is missing is said"
    until(lambda: finds(remote, "quokka"), _BACK_S, "meaning")
    until(lambda: rows(server) == NOTES - len(HOURS) + 1, _BACK_S, "all written")


# -- 2: outages


def test_a_search_in_an_outage_names_the_server(remote, server):
    remote.index()
    server.stop()
    for _ in range(2):
        answer = search(remote)
        assert answer["mode"] == "lexical" and QUERY in answer["hits"][0]["content"]
        assert server.uri.removeprefix("http://") in answer["reason"], answer["reason"]


def test_an_outage_is_over_when_it_is_over(remote, server, meaning):
    remote.index()
    assert finds(remote)
    before = meaning.texts
    server.stop()
    note(remote, "2026-03-01", "platypus of the outage")
    assert "127.0.0.1" in remote.index()["reason"]
    assert search(remote, "platypus")["hits"]
    assert held(remote) == NOTES
    server.start()
    until(lambda: finds(remote, "platypus"), _BACK_S, "meaning is back by itself")
    assert rows(server) == held(remote) == NOTES + 1
    assert meaning.texts - before == 1


def test_health_and_doctor_see_an_outage(remote, server):
    remote.index()
    server.stop()
    search(remote)
    search(remote)
    said = health(remote)
    assert said["index"] != "ready" or said["problems"], said
    check = index_check(remote)
    assert not check["ok"] and server.uri.removeprefix("http://") in check["detail"], check
    assert "reset" not in check["fix"], "a server that is away is no reason to throw anything away"


def test_searches_in_an_outage_fill_no_log(remote, server):
    remote.index()
    server.stop()
    search(remote)
    before = len(remote.log())
    for _ in range(4):
        search(remote)
    assert len(remote.log()) - before < 4_000


def test_an_outage_in_the_middle_of_indexing(remote, server, meaning):
    many = 400
    remote.index()
    before = server.counts["Upsert"]
    notes = "".join(f"### {n // 60:02}:{n % 60:02}\n- big{n} number {n}\n\n" for n in range(many))
    remote.write("2026-06-01", f"# 2026-06-01\n\n{notes}")
    run = remote.spawn("index", "--json")
    until(lambda: server.counts["Upsert"] > before, 30, "it writes")
    server.stop()
    out, _ = run.communicate(timeout=60)
    assert json.loads(out)["projects"][0]["chunks"] == NOTES + many
    assert search(remote, "big399")["hits"]
    server.start()
    until(lambda: rows(server) == NOTES + many, _BACK_S, "all is written")
    until(lambda: finds(remote, "big399"), 60, "and found")
    assert meaning.texts == NOTES + many  # nothing twice


def test_a_server_that_comes_up_after_the_service(remote, server):
    server.stop()
    said = remote.index()
    assert server.uri in said["reason"] and search(remote)["hits"]
    assert not index_check(remote)["ok"]
    server.start()
    until(lambda: finds(remote), _BACK_S, "meaning")


def test_a_server_that_forgot_what_was_loaded(remote, server):
    remote.index()
    server.limits.forgets_loads = True
    server.stop()
    server.start()
    assert search(remote)["hits"]
    until(lambda: finds(remote), 20, "loaded again")


@pytest.mark.parametrize("dead", [False, True], ids=["no answer", "no answer, not even to pings"])
def test_a_search_on_a_server_that_hangs(remote, server, dead):
    remote.index()
    server.hang(dead=dead)
    for _ in range(2):
        answer = search(remote)
        assert QUERY in answer["hits"][0]["content"]
        assert f"{server.uri} does not answer" in answer["reason"], "not the service's word"
    server.resume()
    until(lambda: finds(remote), _BACK_S, "meaning")


def test_a_search_on_a_server_that_hangs_names_it(remote, server):
    remote.index()
    server.hang()
    answer = search(remote)
    assert "Milvus" in answer["reason"] or server.uri in answer["reason"], answer["reason"]
    assert not index_check(remote)["ok"]


def test_indexing_on_a_server_that_hangs_comes_to_an_end(remote, server):
    """It says why within a minute and a half, and other projects are read meanwhile."""
    remote.index()
    server.hang()
    note(remote, "2026-03-01", "platypus one")
    assert remote.index(timeout=90)["reason"]
    note(remote, "2026-03-02", "axolotl two")
    until(
        lambda: health(remote)["projects"][0]["chunks"] == NOTES + 2,
        100,
        "words of the next note are taken in",
    )
    server.resume()
    until(lambda: finds(remote, "axolotl"), _BACK_S, "meaning")


# -- 3: tokens


def test_a_wrong_token_is_named(remote):
    remote.ok("config", "set", "milvus.token", "root:wrong")
    said = remote.index()["reason"]
    assert "auth check failure" in said, said
    assert "milvus.token" in said
    assert search(remote)["hits"]


def test_doctor_proposes_no_reset_for_a_wrong_token(remote):
    remote.ok("config", "set", "milvus.token", "root:wrong")
    remote.index()
    check = index_check(remote)
    assert not check["ok"] and "reset" not in check["fix"], check


def test_a_corrected_token_is_taken_by_the_running_service(remote):
    remote.ok("config", "set", "milvus.token", "root:wrong")
    remote.index()
    remote.ok("config", "set", "milvus.token", TOKEN)
    until(lambda: finds(remote), 30, "the running service takes it")


def test_a_token_that_stops_working_is_named(remote, server):
    remote.index()
    server.token = "root:rotated"
    answer = search(remote)
    assert answer["hits"] and "auth check failure" in answer["reason"], answer["reason"]
    note(remote, "2026-03-01", "emu")
    said = remote.index()["reason"]
    assert "milvus.token" in said, said
    assert "\n" not in said and "_InactiveRpcError" not in said, said
    assert not index_check(remote)["ok"]


def test_a_token_that_was_changed_costs_nothing(remote, server, meaning):
    remote.index()
    before = meaning.texts
    server.token = "root:rotated"
    search(remote)
    remote.index()
    assert held(remote) == NOTES
    remote.ok("config", "set", "milvus.token", "root:rotated")
    until(lambda: finds(remote), 30, "the running service takes it")
    assert meaning.texts == before and rows(server) == NOTES


def test_a_store_names_what_the_server_said_of_the_token(server):
    with pytest.raises(Unreachable, match="auth check failure"):
        MilvusServerStore(server.uri, "root:wrong", "memsearch_x")


# -- 4: errors of single calls


@pytest.mark.parametrize(
    "method", ["Search", "Upsert", "Delete", "DescribeCollection", "LoadCollection", "Connect"]
)
@pytest.mark.parametrize("code", [1, 65535])
def test_an_unknown_error_is_not_damage(remote, server, meaning, method, code):
    remote.index()
    before = meaning.texts
    remote.ok("service", "stop")
    with server.failing(method, code=code):
        note(remote, "2026-03-01", "emu of the error")
        (remote.memory / "2026-02-01.md").unlink()
        remote.index()
        assert search(remote)["hits"]
        assert search(remote, "emu")["hits"]
        assert held(remote) >= NOTES - len(HOURS), "the ledger is kept"
        assert server.counts["DropCollection"] == 0
    until(lambda: finds(remote, "emu"), _BACK_S, "meaning")
    until(lambda: rows(server) == NOTES - len(HOURS) + 1, _BACK_S, "what was written meanwhile")
    assert meaning.texts - before == 1


# -- several homes


@pytest.fixture
def other(remote: Box, server: StandIn, meaning: Meaning, tmp_path: Path) -> Iterator[Box]:
    """Another person's home, with a copy of the same project: the same notes, the same identity,
    the same server.
    """
    box = Box(tmp_path / "other")
    shutil.copytree(remote.project, box.project, dirs_exist_ok=True)
    box.own()
    use(box, server, meaning)
    yield box
    box.clean()


def test_several_homes_use_one_server_and_nothing_of_one_touches_another_s_rows(
    remote, other, server, tmp_path
):
    note(remote, "2026-03-01", "zebraplainsecret4711 of one")
    note(other, "2026-03-01", "wombat of the other, in no other note")
    for box in (remote, other):
        box.index()
    assert len(server.names()) == 2 and {server.rows(name) for name in server.names()} == {
        NOTES + 1
    }
    assert finds(remote, "zebraplainsecret4711") and finds(other, "wombat of the other")
    assert not any("wombat" in hit["content"] for hit in search(remote, "wombat")["hits"])
    (mine,) = [name for name in server.names() if name.endswith(key_of(remote))]
    (its,) = {*server.names()} - {mine}
    for harm in (
        ("reset", "--yes"),
        ("secrets", "scrub", "--text", "zebraplainsecret4711", "--yes"),
        ("project", "forget", remote.project.name, "--yes"),
    ):
        remote.run(*harm)
        assert server.rows(its) == NOTES + 1, harm
        assert finds(other, "wombat of the other"), harm
    remote.index()
    until(lambda: server.rows(mine) == NOTES + 1, 20, "and it has its own again")


def key_of(box: Box) -> str:
    from memsearch_engine.secrets.fingerprint import named

    return named(box.home, "milvus")[:12]


def test_many_projects_lie_in_one_collection_and_each_finds_its_own(remote, server, tmp_path):
    server.limits.collections = 2
    remote.index()
    for number in range(3):
        folder = tmp_path / f"project{number}"
        remote.write(
            "2026-03-01",
            f"# 2026-03-01\n\n### 10:00\n- topic{number} kangaroo{number}\n",
            folder / ".memsearch/memory",
        )
        remote.ok("index", cwd=folder)
        hits = remote.ok("search", f"kangaroo{number}", "--json", cwd=folder).json["hits"]
        assert [hit["source"] for hit in hits] == [str(folder / ".memsearch/memory/2026-03-01.md")]
    assert len(server.names()) == 1 and rows(server) == NOTES + 3
    remote.ok("reset", "--yes", cwd=tmp_path / "project1")
    assert rows(server) in (NOTES + 2, NOTES + 3)
    assert finds(remote)
    everywhere = remote.ok("search", "kangaroo2", "--all", "--json").json["hits"]
    assert "project2" in everywhere[0]["source"]


def test_collections_of_versions_that_had_one_for_each_project_are_taken_off_the_server(
    remote, server, client
):
    from memsearch_engine.secrets.fingerprint import named

    remote.ok("entries")
    key = named(remote.home, "milvus")[:6]
    for name in (
        f"ms_project_0123abcd_11112222_{key}",
        "ms_project_0123abcd_11112222_aaaaaa",
        "of_somebody_else",
    ):
        make(client, name)
    remote.index()
    until(
        lambda: not any(name.endswith(f"_{key}") for name in server.names()), 20, "its own are gone"
    )
    assert {"ms_project_0123abcd_11112222_aaaaaa", "of_somebody_else"} <= {*server.names()}
    assert finds(remote)


# -- 5: another model behind the same name


def test_another_dimension_under_the_same_name_heals_by_itself(remote, server, meaning):
    remote.index()
    meaning.dimension = 16
    assert search(remote)["hits"]
    remote.ok("service", "stop")
    note(remote, "2026-03-01", "numbat")
    remote.index()
    assert search(remote)["hits"], "old notes are found, if only by words"
    until(lambda: finds(remote), 40, "meaning for old notes, too")
    assert rows(server) == NOTES + 1


@pytest.mark.parametrize(
    "remedy", [("reset", "--yes"), ("doctor", "--fix")], ids=lambda remedy: remedy[0]
)
def test_another_dimension_under_the_same_name_is_mended(remote, server, meaning, remedy):
    remote.index()
    meaning.dimension = 16
    remote.ok("service", "stop")
    remote.index()
    remote.run(*remedy)
    until(lambda: finds(remote), 40, f"{remedy} mends it")
    assert rows(server) == NOTES


def test_a_running_service_names_another_dimension_and_makes_all_anew(remote, server, meaning):
    remote.index()
    meaning.dimension = 16
    assert "16 numbers, not 8" in search(remote)["reason"]
    until(lambda: finds(remote), _BACK_S, "meaning, in the new length")
    assert rows(server) == NOTES


# -- 6: models that were left


def test_older_models_leave_nothing_on_the_server(remote, server):
    remote.index()
    for model in ("two", "three"):
        remote.ok("config", "set", "embedding.model", model)
        until(
            lambda model=model: health(remote)["fingerprint"].startswith(model) and finds(remote),
            40,
            model,
        )
    until(
        lambda: len(server.names()) == 1,
        30,
        "the collections of models that are not used any more are dropped",
    )


def test_a_switch_of_models_on_a_full_server_is_explained(remote, server):
    server.limits.collections = 1
    remote.index()
    remote.ok("config", "set", "embedding.model", "two")
    until(
        lambda: "limit number of collections" in remote.index()["reason"],
        20,
        "the refusal is reported",
    )
    assert finds(remote), "the old model serves"
    said = health(remote)
    assert said["building"] and said["problems"], "it is said why the new model does not come"


def test_a_store_asks_for_an_exact_index_and_our_tokenizer(server):
    store = MilvusServerStore(server.uri, TOKEN, "memsearch_x")
    store.ensure("ms_x", 8)
    vector = np.ones(8, np.float32)
    store.upsert("ms_x", [StoreRow("a", vector, "redis", "2026-01-01", "", "", "note")])
    store.flush()
    assert store.bm25("ms_x", ["redis"], 5, Filter())[0][1] > 0
    made = server.collections["memsearch_x"]
    assert (
        made.indexes == {"vector": "FLAT", "sparse": "SPARSE_INVERTED_INDEX"}
        and made.tokenizers["terms"]
    )
    assert not server.counts["Flush"] and not server.refusals
    store.close()
