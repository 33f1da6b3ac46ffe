"""One process per home: started on demand, alone, private, and gone when it should be."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from memsearch_engine.core import local_socket, wire
from memsearch_engine.core.errors import MemsearchError, Unreachable
from memsearch_engine.core.home import MAX_SOCKET_PATH, Home, lock
from memsearch_engine.service import index_thread, launch, protocol
from memsearch_engine.service.commands import RequestContext
from memsearch_engine.service.engine import Engine

from tests.conftest import Box, until


def ended(process: psutil.Process, seconds: float = 15) -> None:
    _gone, alive = psutil.wait_procs([process], seconds)
    assert not alive, f"still running: {alive}"


def start(box: Box, *before: str) -> subprocess.Popen[bytes]:
    """A service as a child of this process; *before* runs in it first (another version, say)."""
    code = "; ".join(
        [*before, "from memsearch_engine.service import server", "os._exit(server.main())"]
    )
    box.home.ensure()
    argv = [sys.executable, "-c", f"import os; {code}", "memsearch_engine.service.server"]
    return subprocess.Popen(argv, env=box.env, cwd=box.root)


@pytest.mark.slow
def test_starts_on_demand_and_stop_leaves_nothing(box):
    box.fill()
    assert box.run("service", "status", "--json").json["running"] is False
    assert box.processes() == []
    assert box.ok("search", "redis", "--json").json["hits"]
    process = box.service()
    assert box.ok("service", "stop", "--json").json["stopped"] is True
    ended(process)
    assert box.ok("service", "stop", "--json").json["stopped"] is False
    assert not box.home.socket.exists() and not box.home.service_pid.exists()
    assert [p.name for p in box.home.run.iterdir() if p.is_socket()] == []


def test_stop_ends_nothing_that_only_names_a_service(box: Box):
    box.home.ensure()
    argv = [sys.executable, "-c", "import time; time.sleep(60)", "memsearch_engine.service.server"]
    other = subprocess.Popen(argv, env=box.env)
    try:
        assert box.ok("service", "stop", "--json").json["stopped"] is False and other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_service_that_is_only_starting_is_stopped_too(box: Box):
    box.home.ensure()
    process = launch.launch(box.home)
    assert box.ok("service", "stop", "--json").json["stopped"] is True
    os.waitpid(process, 0)
    assert box.processes() == []


def test_a_search_starts_the_service_before_its_full_client(box: Box):
    box.home.ensure()
    code = "from memsearch_engine.service import quick; print(quick.search('redis'))"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, env=box.env, cwd=box.root, capture_output=True, text=True)
    assert done.stdout == "None\n"
    until(lambda: len(box.processes()) == 1, 10, "a service")


def test_a_client_starts_no_second_service_while_one_starts(box: Box, monkeypatch):
    held = lock(box.home.ensure().service_lock)
    assert held is not None
    monkeypatch.setattr(launch, "launch", lambda home: pytest.fail("a second service"))
    with pytest.raises(Unreachable):
        launch.connect(box.home, wait_s=0.1)
    os.close(held)


@pytest.mark.slow
def test_a_service_that_is_killed_while_it_starts_is_started_again(box: Box, monkeypatch):
    spawn, started = wire.spawn_service, []

    def killed_once(home: str) -> int:
        started.append(spawn(home))
        if len(started) == 1:
            os.kill(started[0], signal.SIGKILL)
        return started[-1]

    monkeypatch.setattr(wire, "spawn_service", killed_once)
    assert launch.call(box.home, "status", dict)["pid"] == started[-1] != started[0]


@pytest.mark.slow
def test_a_service_that_is_killed_at_each_start_is_an_error(box: Box, monkeypatch):
    spawn, started = wire.spawn_service, []

    def killed(home: str) -> int:
        started.append(spawn(home))
        os.kill(started[-1], signal.SIGKILL)
        return started[-1]

    monkeypatch.setattr(wire, "spawn_service", killed)
    with pytest.raises(Unreachable, match="can't start: Killed"):
        launch.connect(box.home)
    assert len(started) == 2


def test_it_is_detached_from_who_started_it(box):
    box.ok("service", "start")
    process = box.service()
    assert os.getsid(process.pid) == process.pid
    for number in (0, 1, 2):
        assert os.readlink(f"/proc/{process.pid}/fd/{number}") == "/dev/null"


def test_it_knows_nothing_of_the_session_that_started_it(box):
    """It outlives the session, and serves other agents."""
    session = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": "/elsewhere", "AI_AGENT": "x"}
    done = box.run("service", "start", env=session)
    assert done.code == 0, done
    assert not session.keys() & box.service().environ().keys()


def test_its_numeric_threads_do_not_wait_actively_unless_the_user_wants_it(box):
    for given, expected in (({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")):
        box.run("service", "stop")
        assert box.run("service", "start", env=given).code == 0
        assert box.service().environ()["OPENBLAS_THREAD_TIMEOUT"] == expected


@pytest.mark.slow
def test_ten_launched_at_once_are_one(box):
    """Ten clients that find no service each launch one; one of them stays."""
    box.home.ensure()
    argv = [sys.executable, "-m", "memsearch_engine.service.server"]
    launched = [subprocess.Popen(argv, env=box.env, cwd=box.root) for _ in range(10)]
    try:
        running = until(
            lambda: sum(p.poll() is None for p in launched) == 1, 60, "one of ten is left"
        )
        assert running
        stayed = next(p for p in launched if p.poll() is None)
        assert {p.returncode for p in launched if p is not stayed} == {0}
        connection = box.connect()
        assert connection.call("status", dict)["pid"] == stayed.pid
        connection.close()
        box.clean()
        stayed.wait(15)
    finally:
        for process in launched:
            if process.poll() is None:
                process.kill()
            process.wait(10)


@pytest.mark.slow
def test_ten_commands_at_once_start_one_service(box):
    box.fill()
    running = [box.spawn("search", "redis", "--json") for _ in range(10)]
    outs = [process.communicate(timeout=120) for process in running]
    assert [p.returncode for p in running] == [0] * 10, outs
    assert all(json.loads(out)["hits"] for out, _ in outs)
    until(lambda: len(box.processes()) == 1, 15, "the losers end")


def test_socket_is_private(box):
    box.ready()
    assert stat.S_IMODE(box.home.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(box.home.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(box.home.run.stat().st_mode) == 0o700
    for path in box.home.run.iterdir():
        if path.is_socket():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.slow
def test_no_tcp_port_is_open(box):
    box.fill()
    box.index()
    assert box.ok("search", "redis", "--json").json["mode"] == "hybrid"
    process = box.service()
    found = [
        c for p in [process, *process.children(recursive=True)] for c in p.net_connections("inet")
    ]
    assert found == []


@pytest.mark.slow
def test_a_home_of_150_bytes(tmp_path):
    deep = tmp_path / ("d" * 60) / ("é" * 30) / "home"
    assert len(os.fsencode(deep)) > 120
    box = Box(tmp_path, deep).fill()
    try:
        assert box.index()["reason"] == ""
        assert box.ok("search", "redis", "--json").json["mode"] == "hybrid"
        folder = box.home.socket.parent
        assert (
            stat.S_IMODE(folder.stat().st_mode) == 0o700
            and len(os.fsencode(box.home.socket)) <= 100
        )
    finally:
        box.clean()
    assert not box.home.socket.exists()
    shutil.rmtree(box.home.socket.parent, ignore_errors=True)


@pytest.mark.slow
def test_a_long_home_and_another_tmpdir_find_the_same_service(tmp_path):
    """Agents run commands with a TMPDIR of their own; the one service must still be found."""
    box = Box(tmp_path, tmp_path / ("d" * 90) / "home").fill()
    other = tmp_path / "t"
    other.mkdir()
    try:
        box.index()
        found = box.run("search", "redis", "--json", env={"TMPDIR": str(other)})
        assert found.code == 0 and found.json["mode"] == "hybrid", found
        assert len(box.processes()) == 1
    finally:
        box.clean()
        shutil.rmtree(box.home.socket.parent, ignore_errors=True)


def test_the_socket_s_path_is_short_enough_whatever_the_length_of_the_home():
    for length in range(40, 110):
        assert len(str(Home(Path("/" + "h" * length)).socket)) <= MAX_SOCKET_PATH


def test_a_long_home_refuses_a_socket_folder_that_somebody_else_prepared(tmp_path):
    box = Box(tmp_path, tmp_path / ("d" * 90) / "home").fill()
    folder = box.home.socket.parent
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    try:
        found = box.run("search", "redis", "--json")
        assert found.code == 0 and found.json["mode"] == "lexical" and found.json["hits"]
        done = box.run("index")
        assert done.code == 3 and "private folder" in done.err + box.log(), done
    finally:
        box.clean()
        shutil.rmtree(folder)


@pytest.mark.slow
def test_sigterm_leaves_no_process_and_no_socket(box):
    box.fill()
    box.index()
    process = box.service()
    process.send_signal(signal.SIGTERM)
    ended(process)
    assert box.processes() == []
    assert [p for p in box.home.run.iterdir() if p.is_socket()] == []
    assert "service ends" in box.log()


@pytest.mark.parametrize("how", ["asked", "signal"])
def test_who_waits_when_it_stops_is_answered(box, how):
    box.ready()
    connection, process = box.connect(), box.service()
    version = connection.call("wait", dict, deadline_s=1, version=-1)["version"]
    answers = []
    waits = threading.Thread(
        target=lambda: answers.append(
            connection.call("wait", dict, timeout_s=30, deadline_s=30, version=version + 10)
        )
    )
    waits.start()
    if how == "asked":
        assert launch.stop(box.home)
    else:
        process.terminate()
    waits.join(20)
    assert answers and answers[0]["version"] > version


@pytest.mark.slow
def test_a_command_right_after_sigterm_works(box):
    """The old service holds the lock for a moment; a client of that moment must not get the answer
    that nothing starts.
    """
    box.fill()
    box.index()
    for _ in range(2):
        box.service().send_signal(signal.SIGTERM)
        done = box.run("index", "--json")
        assert done.code == 0 and done.json["files"] == 2, done
        # the old one may have answered in its last moment: then there is none until the next
        # command
        until(lambda: len(box.processes()) <= 1, 15, "one service at most")
        box.ready()


@pytest.mark.slow
def test_home_vanishes_and_the_service_ends_without_making_it_again(box):
    box.fill()
    box.index()
    process = box.service()

    def gone() -> bool:  # while it is taken away, the service may write into it
        shutil.rmtree(box.home.root, ignore_errors=True)
        return not box.home.root.exists()

    until(gone, 5, "the home to be gone")
    ended(process, 15)
    assert not box.home.root.exists(), list(box.home.root.rglob("*"))


@pytest.mark.slow
def test_idle_exit_and_not_while_a_client_is_attached(box):
    box.home.ensure()
    box.home.config.write_text("[service]\nidle_minutes = 0.03\n")
    connection = box.connect()
    process = box.service()
    first = connection.call("status", dict)
    # longer than the idle time, attached: the service's own clock says that it is alive still
    connection.call("wait", dict, deadline_s=4, version=1 << 40)
    assert process.is_running() and connection.call("status", dict)["pid"] == first["pid"]
    connection.close()
    ended(process, 20)
    assert box.ok("service", "start", "--json").json["pid"] != first["pid"]


@pytest.mark.slow
def test_an_older_service_makes_room_for_a_newer_client(box):
    box.fill()
    old = start(box, "import memsearch_engine; memsearch_engine.__version__ = '0.0.1'")
    try:
        until(box.home.socket.exists, 30, "the old one listens")
        done = box.run("index", "--json", timeout=40)
        assert done.code == 0 and done.json["files"] == 2, done
        old.wait(20)
        assert box.ok("health", "--json").json["service"]["version"] != "0.0.1"
    finally:
        if old.poll() is None:
            old.kill()
        old.wait(10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    ["{**wire.BUILD, 'installed': 1}", "{'version': wire.BUILD['version']}"],
    ids=["earlier", "without a time"],
)
def test_an_update_that_keeps_the_version_replaces_the_service(box, build):
    box.fill()
    old = start(box, "from memsearch_engine.core import wire", f"wire.BUILD = {build}")
    try:
        until(box.home.socket.exists, 30, "the old one listens")
        assert box.ok("search", "redis", "--json").json["hits"]
        old.wait(20)
        box.ready()
        (process,) = box.processes()
        box.ok("search", "redis")
        assert box.processes() == [process]
    finally:
        if old.poll() is None:
            old.kill()
        old.wait(10)


@pytest.mark.slow
def test_a_client_that_outlived_a_downgrade_does_not_end_the_service_at_each_call(box, monkeypatch):
    pid = launch.call(box.home, "status", dict)["pid"]
    for build in ({**wire.BUILD, "version": "99.0.0"}, wire.BUILD):
        monkeypatch.setattr(wire, "BUILD", {**build, "installed": wire.BUILD["installed"] + 1})
        assert launch.call(box.home, "status", dict)["pid"] == pid


@pytest.mark.slow
def test_a_newer_service_serves_an_older_client(box):
    box.fill()
    new = start(box, "import memsearch_engine; memsearch_engine.__version__ = '99.0.0'")
    try:
        until(box.home.socket.exists, 30, "it listens")
        assert box.ok("search", "redis", "--json").json["hits"]
        assert new.poll() is None
        box.clean()
        new.wait(15)
    finally:
        if new.poll() is None:
            new.kill()
        new.wait(10)


@pytest.mark.slow
def test_a_service_that_cannot_start_says_why(box):
    """Nothing is refused silently: the log or the command names the cause."""
    box.fill()
    box.home.ensure()
    box.home.run.chmod(0o755)  # as a restored backup may have it
    done = box.run("index", "--json")
    assert done.code == 0 or "private folder" in done.err + box.log(), (done, box.log())


def test_a_service_that_ends_at_its_start_is_named_with_its_last_words(box):
    box.home.socket.joinpath("a folder").mkdir(parents=True)
    done = box.run("service", "start")
    assert done.code == 3 and "can't start: IsADirectoryError" in done.err, done
    assert box.processes() == []


def test_a_log_that_breaks_off_in_a_traceback_points_to_a_full_disk(tmp_path):
    home = Home(tmp_path / "home").ensure()
    home.log.parent.mkdir(exist_ok=True)
    home.log.write_text('Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n')
    assert "full disk" in launch._last_words(home)


# -- the protocol


def raw(box: Box) -> socket.socket:
    box.ready()
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(10)
    peer.connect(str(box.home.socket))
    return peer


def ask(peer: socket.socket, line: bytes) -> dict:
    peer.sendall(line + b"\n")
    data = b""
    while not data.endswith(b"\n"):
        part = peer.recv(65536)
        assert part, "the service hung up"
        data += part
    return json.loads(data)


def request(method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()


def test_nonsense_is_answered_with_an_error_and_the_service_lives(box):
    peer = raw(box)
    with peer:
        for line in (
            b"",
            b"\x00\xff",
            b"[]",
            b"{}",
            b'{"method": 3}',
            b'{"method":"x","id":"seven"}',
            b"1" * 200_000,
        ):
            assert "error" in ask(peer, line), line[:40]
        assert "unknown method" in ask(peer, request("frobnicate"))["error"]["message"]
        assert ask(peer, request("close"))["error"]
        assert ask(peer, request("__init__", home="x"))["error"]
        assert ask(peer, request("search"))["error"]["code"] == protocol.INVALID
        assert ask(peer, request("search", place={"root": 1}, query="x"))["error"]
        assert ask(peer, request("search", place=box.place(), query="x", mode="sideways"))["error"]
        assert ask(peer, request("hello", protocol=1, version="0.0.0"))["result"]["version"]
    assert box.ok("service", "status", "--json").json["running"]


@pytest.mark.slow
def test_a_deadline_that_is_no_number_is_answered(box):
    with raw(box) as peer:
        assert ask(peer, request("status", deadline_s="soon"))["error"]


def test_a_hello_without_a_proper_version_is_answered(box):
    with raw(box) as peer:
        for version in (None, 3, "", "x.y", "0.1rc1"):  # a newer one would make it finish
            answer = ask(peer, request("hello", protocol=1, version=version))
            assert "result" in answer or "error" in answer
            assert box.processes(), version
    assert box.ok("service", "status", "--json").json["running"]


@pytest.mark.slow
def test_cancel_stops_a_long_call(box):
    with raw(box) as peer:
        peer.sendall(request("wait", version=1 << 40, deadline_s=60) + b"\n")
        peer.sendall(b'{"jsonrpc":"2.0","method":"cancel","params":{"id":7}}\n')
        assert "result" in ask(peer, b'{"jsonrpc":"2.0","method":"nothing"}')


@pytest.mark.slow
def test_many_waiting_screens_do_not_starve_a_command(box):
    box.ready()
    screens = [box.connect() for _ in range(24)]
    threads = []
    try:
        for screen in screens:
            thread = threading.Thread(
                target=lambda s=screen: s.call(
                    "wait", dict, deadline_s=30, timeout_s=40, version=1 << 40
                ),
                daemon=True,
            )
            thread.start()
            threads.append(thread)
        started = threading.Event()
        answer: dict = {}

        def ask_status() -> None:
            started.set()
            done = box.run("service", "status", "--json", timeout=60)
            answer.update(done.json)

        asking = threading.Thread(target=ask_status, daemon=True)
        asking.start()
        asking.join(8)
        assert answer.get("running"), "status waited behind the screens"
    finally:
        box.clean()
        for screen in screens:
            screen.close()


def test_new_projects_that_come_at_once_are_all_registered(box):
    """Sixteen agents in sixteen new folders ask the running service in the same moment."""
    box.ready()
    folders = [box.other_project(f"p{n}") for n in range(16)]
    connections = [box.connect() for _ in folders]
    gate = threading.Barrier(len(folders))
    failed: list[str] = []

    def search(connection: launch.Connection, folder) -> None:
        gate.wait(10)
        try:
            connection.call(
                "search", dict, place=box.place(folder), query="redis", mode="lexical", timeout_s=30
            )
        except MemsearchError as error:
            failed.append(str(error))

    threads = [threading.Thread(target=search, args=pair) for pair in zip(connections, folders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for connection in connections:
        connection.close()
    assert failed == []
    known = box.ok("project", "--all", "--json").json["projects"]
    assert {os.path.realpath(f) for f in folders} <= {p["root"] for p in known}


@pytest.mark.slow
def test_unix_users_other_than_the_owner_are_refused(box):
    """The peer's uid is checked, not only the mode of the socket."""
    box.ready()
    if os.getuid() != 0:
        pytest.skip("needs root to become somebody else")
    code = (
        "import os, socket, sys; os.chdir(sys.argv[1]); "
        "s = socket.socket(socket.AF_UNIX); s.settimeout(5);"
        's.connect("engine.sock"); os.write(1, b"connected ");'
        's.sendall(b\'{"id":1,"method":"status"}\\n\'); print(s.recv(100))'
    )
    # the folders are opened up, so that only the service's own check is left
    box.home.root.chmod(0o755)
    box.home.run.chmod(0o755)
    box.home.socket.chmod(0o666)
    parents = [p for p in box.home.root.parents if stat.S_IMODE(p.stat().st_mode) & 0o005 != 0o005]
    before = {p: stat.S_IMODE(p.stat().st_mode) for p in parents}
    try:
        for parent in parents:
            parent.chmod(0o755)
        done = subprocess.run(
            [
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                sys.executable,
                "-c",
                code,
                box.home.run,
            ],
            capture_output=True,
            text=True,
            cwd="/",
        )
    finally:
        for parent, mode in before.items():
            parent.chmod(mode)
    if "connected" not in done.stdout:
        pytest.skip(f"could not become another user here: {done.stderr[-200:]}")
    assert "running" not in done.stdout, done


@pytest.mark.slow
def test_nothing_is_written_outside_and_nothing_is_looked_up(box):
    """onnxruntime 1.31 keeps a device id in ~/.cache and asks for its maker's server, unless it is
    no longer do.
    """
    empty, temporary = box.root / "empty-home", box.root / "tmp"
    for folder in (empty, temporary):
        folder.mkdir()
    box.fill()
    environment = {
        "HOME": str(empty),
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(empty / ".cache"),
    }
    found = box.run("search", "redis", "--json", env=environment)
    assert found.code == 0 and found.json["hits"], found
    box.ready()
    process = box.service()
    assert process.environ().get("HOME") == str(empty)
    assert [c for c in process.net_connections("inet") if c.raddr] == []
    box.ok("service", "stop")
    assert list(empty.rglob("*")) == [] and list(temporary.rglob("*")) == []


@pytest.mark.parametrize(("whose", "welcome"), [(0, True), (1, False)])
def test_the_peer_s_user_is_asked_for_on_macos(monkeypatch, whose, welcome):
    """Without ``SO_PEERCRED`` the kernel's ``struct xucred`` says it: version, user, groups."""

    class Peer:
        def getsockopt(self, level, option, size):
            assert (level, option, size) == (0, 1, 76)
            return struct.pack("2Ih2x16I", 0, os.getuid() + whose, 1, *[0] * 16)

    monkeypatch.delattr(local_socket.socket, "SO_PEERCRED")
    assert local_socket.same_user(Peer()) is welcome


def test_a_reset_is_not_taken_for_a_look_that_waits_already(box, monkeypatch):
    gate = threading.Event()
    engine = Engine(box.fill().home.ensure())
    try:
        assert engine.indexer.ready.wait(60)
        done = []

        def read(job):
            gate.wait(30)
            done.append(job.anew)
            return index_thread.ProjectWork(job, index_thread.Scan(failed=[]), 0.0, [], [], "")

        monkeypatch.setattr(engine.indexer.thread, "read_files", read)
        project = engine.state.project_at(box.place())
        engine.indexer.refresh(project)  # one at the gate, or waiting
        engine.indexer.refresh(project)
        engine.handlers["reset"](RequestContext(lambda state: None, lambda: False), box.place())
        gate.set()
        until(lambda: True in done, what="the reset")
    finally:
        gate.set()
        engine.close()


@pytest.mark.slow
def test_a_forgotten_project_is_neither_watched_nor_searched_until_somebody_works_there(box):
    box.fill()
    old = box.other_project("old", "website")
    box.write(
        "2026-03-01",
        "# 2026-03-01\n\n## Session 10:00\n\n### 10:00\n- The kestrel cache moved\n",
        old / ".memsearch/memory",
    )
    for folder in (box.project, old):
        box.ok("index", cwd=folder)
    found = ["search", "kestrel", "--project", "*", "--mode", "lexical", "--json"]
    assert box.ok(*found).json["hits"]
    assert box.run("project", "forget", "nowhere-at-all", "--yes").code == 2
    gone = box.ok("project", "forget", str(old), "--yes", "--json").json["forgotten"]
    assert gone["root"] == str(old) and (old / ".memsearch/memory/2026-03-01.md").exists()
    assert not box.run(*found).json["hits"]
    roots = [row["root"] for row in box.ok("project", "--all", "--json").json["projects"]]
    assert str(old) not in roots and str(box.project) in roots
    health = box.ok("service", "status", "--json").json
    assert str(old) not in json.dumps(health)
    assert box.ok("search", "kestrel", "--mode", "lexical", "--json", cwd=old).json["hits"]
    assert box.ok(*found).json["hits"]


@pytest.mark.slow
def test_a_clone_that_is_forgotten_takes_nothing_from_the_other(box):
    repo = box.root / "one"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run(["git", "clone", "-q", str(repo), str(box.root / "two")], check=True)
    for name, word in (("one", "kestrel"), ("two", "heron")):
        memory = box.root / name / ".memsearch" / "memory"
        box.write(
            "2026-03-01",
            f"# 2026-03-01\n\n## Session 10:00\n\n### 10:00\n- The {word} cache moved\n",
            memory,
        )
        box.ok("index", cwd=box.root / name)
    box.ok("project", "forget", str(box.root / "two"), "--yes")
    find = ["search", "kestrel", "--mode", "lexical", "--json"]
    until(lambda: box.run(*find, cwd=repo).json["hits"], what="the other clone's notes are found")


def test_what_a_search_began_on_stays_open_until_it_has_ended(box):
    """However long that takes: a model that is swapped meanwhile closes and deletes nothing under
    it.
    """
    engine = Engine(box.fill().home.ensure())
    indexer, closed = engine.indexer, threading.Event()
    began, go_on = threading.Event(), threading.Event()

    def search() -> None:
        with indexer.spaces.searching():
            began.set()
            go_on.wait(30)

    searching = threading.Thread(target=search)
    try:
        searching.start()
        assert began.wait(10)
        indexer.spaces.after_searches(closed.set)
        with indexer.spaces.searching():  # one that begins later is no reason to wait
            assert not closed.wait(0.3)
            go_on.set()
            assert closed.wait(10)
    finally:
        go_on.set()
        searching.join(10)
        engine.close()
