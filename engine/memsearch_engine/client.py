"""What a command or a screen may call. It talks to the service, starts it when needed, and does without it.

Reading never fails for want of a service: with none reachable (a sandbox without sockets, a broken index, a home that
can't be written) the same calls answer from the catalog or from the files alone and say so.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from memsearch_engine.errors import MemsearchError, NotFound, Unreachable, UsageError
from memsearch_engine.home import Home
from memsearch_engine.projects import Place, Project, locate, offline_project
from memsearch_engine.search.hits import Answer
from memsearch_engine.service import protocol

if TYPE_CHECKING:  # a search through the service needs none of these
    from memsearch_engine.home import AgentFolders
    from memsearch_engine.index.catalog import Catalog
    from memsearch_engine.journal.files import DayFile
    from memsearch_engine.journal.model import Entry
    from memsearch_engine.journal.write import Journal
    from memsearch_engine.search.sections import Section
    from memsearch_engine.transcripts.locate import Found

T = TypeVar("T")
HYBRID_WAIT_S = 4.0
_CONNECT_S = 1.0
_CALLS = 3
_ANSWER_S = 0.5  # what a service may take longer than the deadline that it was given


class ServiceGone(Unreachable):
    """The service ended in the middle of a call. Its methods can be called again: all of them are idempotent."""


class ServiceHung(Unreachable):
    """A service holds the socket and says nothing: a stopped process, or a machine out of memory."""


class RemoteError(MemsearchError):
    """An error that the service reported, with its own exit code."""

    def __init__(self, message: str, hint: str, exit_code: int) -> None:
        super().__init__(message, hint)
        self.exit_code = exit_code


class Connection:
    """One open connection to the service. Not shared between threads."""

    def __init__(self, home: Home, timeout_s: float = _CONNECT_S) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            home.check_socket_folder()
            self._socket.connect(str(home.socket))
            if not protocol.same_user(self._socket):
                raise PermissionError(1, "another user's process listens there")
        except OSError as error:
            self._socket.close()
            raise Unreachable(f"no service is listening on {home.socket}: {error.strerror or error}") from error
        self._lines = self._socket.makefile("rb")
        self._ids = itertools.count(1)
        try:
            self.server = self.call("hello", dict, timeout_s=timeout_s, **protocol.hello())
        except ServiceGone:
            raise
        except Unreachable as error:
            self.close()
            raise ServiceHung(
                f"the service does not answer within {timeout_s:.0f} s",
                "`memsearch service stop` ends it; the next command starts another",
            ) from error

    def call(
        self,
        method: str,
        kind: type[T],
        *,
        timeout_s: float = 30.0,
        progress: Callable[[dict[str, Any]], None] | None = None,
        **params: Any,
    ) -> T:
        """Call *method* and read its answer as *kind*. Raises RemoteError, or Unreachable when the service dies."""
        number = next(self._ids)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.sendall(protocol.encode(protocol.Request(method, params, number)))
            while True:
                line = self._lines.readline(protocol.MAX_LINE)
                if not line:
                    raise ServiceGone("the service went away while it was asked")
                answer = msgspec.json.decode(line, type=protocol.Response)
                if answer.method == "progress":
                    if progress:
                        progress(answer.params)
                    continue
                if answer.id == number or answer.error:
                    break
        except ConnectionError as error:
            raise ServiceGone(f"the service went away while it was asked: {error}") from error
        except (OSError, msgspec.DecodeError) as error:
            raise Unreachable(f"the service did not answer: {error}") from error
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                self._socket.sendall(protocol.encode(protocol.Request("cancel", {"id": number})))
            raise
        if answer.error:
            data = answer.error.data
            raise RemoteError(answer.error.message, data.get("hint", ""), int(data.get("exit_code", 3)))
        return msgspec.json.decode(answer.result, type=kind)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._lines.close()
            self._socket.close()


def connect(home: Home, *, start: bool = True, wait_s: float = 10.0) -> Connection:
    """A connection; starts the service where none runs. Raises Unreachable."""
    try:
        connection = Connection(home)
        if not protocol.newer(protocol.hello()["version"], connection.server["version"]):
            return connection
        connection.close()  # an older service is finishing; wait for its place
    except ServiceHung:
        raise
    except Unreachable:
        if not start:
            raise
    process = launch(home)
    end = time.monotonic() + wait_s
    pause = 0.02
    while True:
        try:
            return Connection(home)
        except ServiceHung:
            raise
        except Unreachable as error:
            code = process.poll()
            if code:
                raise Unreachable(
                    f"the service can't start: {_last_words(home)}", f"see {home.log}, or `memsearch service logs`"
                ) from error
            if code == 0:  # another one held the lock, and may just have ended
                process = launch(home)
            if time.monotonic() > end:
                raise Unreachable(
                    f"the service did not start within {wait_s:.0f} s ({error})",
                    f"see {home.log}, or `memsearch service logs`",
                ) from error
        time.sleep(pause)  # the socket file appears when the service listens; there is nothing to wait on before
        pause = min(pause * 1.5, 0.2)


def _last_words(home: Home) -> str:
    """The end of the service's log: why it ended."""
    try:
        lines = home.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return f"{home.root} can't be used ({error.strerror})"
    return lines[-1] if lines else "it left no word in its log"


def launch(home: Home) -> subprocess.Popen:
    """Start the service detached, stdio on /dev/null. A second one exits by itself."""
    try:
        home.ensure()
    except OSError as error:
        raise Unreachable(
            f"{home.root} can't be written: {error.strerror}", "set MEMSEARCH_HOME to a writable folder"
        ) from error
    if not os.access(home.run, os.W_OK):
        raise Unreachable(f"{home.root} can't be written", "set MEMSEARCH_HOME to a writable folder")
    environment = {**os.environ, "MEMSEARCH_HOME": str(home.root)}
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "memsearch_engine.service.server"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            close_fds=True,
            env=environment,
        )
    except OSError as error:
        raise Unreachable(f"the service can't be started: {error}") from error


class Memory:
    """One project's memory (or all of them), as commands and screens use it.

    Args:
        cwd: where the user stands; decides the project.
        everything: all registered projects instead of one.
        project: a registered project by name instead of the one of *cwd* (``*``: all). Raises UsageError.
    """

    def __init__(
        self, home: Home | None = None, cwd: str | None = None, *, everything: bool = False, project: str | None = None
    ) -> None:
        self.home = home or Home.from_env()
        self.place: Place = locate(cwd, self.home)
        self.everything = everything or project == "*"
        self._catalog: Catalog | None = None
        self._projects: list[Project] | None = None
        self._journal: Any = None
        self._folders: AgentFolders | None = None
        self.note = ""  # why an answer was less than it could be
        if project and not self.everything:
            chosen = self._named([project])[0]
            self.place = Place(chosen.root, chosen.memory, locate(chosen.root, self.home).common_dir)

    # -- where ----------------------------------------------------------------------------------------------

    @property
    def projects(self) -> list[Project]:
        if self._projects is None:
            self._projects = self._find_projects()
        return self._projects

    def _find_projects(self) -> list[Project]:
        from memsearch_engine.registry import Registry

        registry = Registry(self.home)
        try:
            here = registry.at(self.place)
            return registry.all() if self.everything else [here]
        except MemsearchError as error:
            self.note = str(error)
            return [offline_project(self.place)]
        finally:
            registry.close()

    @property
    def project(self) -> Project:
        return next((p for p in self.projects if p.root == self.place.root), self.projects[0])

    @property
    def catalog(self) -> Catalog | None:
        if self._catalog is None:
            from memsearch_engine.index.catalog import Catalog

            self._catalog = Catalog.open_readonly(self.home.cache_db)
        return self._catalog

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            from memsearch_engine.journal.write import Journal

            self._journal = Journal(self.home)
        return self._journal

    @property
    def place_param(self) -> dict[str, str]:
        return {"root": self.place.root, "memory": self.place.memory, "common_dir": self.place.common_dir}

    def connect(self, *, start: bool = True) -> Connection:
        return connect(self.home, start=start)

    def call(
        self,
        method: str,
        kind: type[T],
        *,
        start: bool = True,
        timeout_s: float = 30.0,
        progress: Callable[[dict[str, Any]], None] | None = None,
        **params: Any,
    ) -> T:
        """One call to the service; once more where it ended meanwhile (a restart, an update, a kill)."""
        for attempt in range(_CALLS):
            connection = connect(self.home, start=start)
            try:
                return connection.call(method, kind, timeout_s=timeout_s, progress=progress, **params)
            except ServiceGone:
                if attempt == _CALLS - 1:
                    raise
            finally:
                connection.close()
        raise AssertionError("unreachable")

    # -- L1 -------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        limit: int = 10,
        mode: str = "hybrid",
        fusion: str = "",
        *,
        wait: bool = True,
    ) -> Answer:
        """Search by meaning and words; by words alone where the index can't answer in time.

        Args:
            wait: start the service if needed and give it ``HYBRID_WAIT_S``; else answer from what is here now.
        """
        if mode == "lexical" and not wait:
            return self.lexical(query, limit)
        if os.environ.get("MEMSEARCH_OFFLINE", "") not in ("", "0") and (reason := self._would_leave()):
            return self._fallback(query, limit, reason)
        start = time.monotonic()
        query = query.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # argv may hold any bytes
        try:
            connection = connect(self.home, start=wait, wait_s=HYBRID_WAIT_S)
        except Unreachable as error:
            reason = str(error) if wait else "the service is not running"
            return self._fallback(query, limit, "" if mode == "lexical" else reason)
        try:
            left = max(0.2, HYBRID_WAIT_S - (time.monotonic() - start)) if wait else 0.15
            return connection.call(
                "search",
                Answer,
                timeout_s=left + _ANSWER_S,
                deadline_s=left,
                place=self.place_param,
                query=query,
                limit=limit,
                mode=mode,
                fusion=fusion,
                projects=["*"] if self.everything else [],
            )
        except MemsearchError as error:
            if error.exit_code != Unreachable.exit_code:
                raise
            return self._fallback(query, limit, str(error))
        finally:
            connection.close()

    def _would_leave(self) -> str:
        """Why the service, which may have been started without ``--offline``, is not asked; '' where it stays on this machine."""
        from memsearch_engine.network import is_local
        from memsearch_engine.settings import load

        settings = load(self.home)
        embedding, uri = settings.embedding, settings.milvus.uri
        if embedding.provider != "onnx" and not is_local(embedding.base_url or "elsewhere"):
            return f"offline: {embedding.provider} is not asked"
        return f"offline: {uri} is not asked" if uri and not is_local(uri) else ""

    def lexical(self, query: str, limit: int = 10) -> Answer:
        """The lexical answer, made in this process from the catalog and the files."""
        from memsearch_engine.search import lexical
        from memsearch_engine.search.query import parse

        query = query.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        parsed = parse(query)
        return lexical.search(self.catalog, self._scope(parsed.projects), parsed, limit)

    def _fallback(self, query: str, limit: int, reason: str) -> Answer:
        answer = self.lexical(query, limit)
        answer.reason = "; ".join(dict.fromkeys(part for part in (reason, answer.reason, self.note) if part))
        return answer

    def _scope(self, names: list[str]) -> list[Project]:
        return self._named(names) if names else self.projects

    def _named(self, names: list[str]) -> list[Project]:
        from memsearch_engine.registry import Registry

        registry = Registry(self.home)
        try:
            known = registry.all()
        finally:
            registry.close()
        chosen = known if "*" in names else [p for p in known if {p.slug, p.name, p.id, p.collection} & set(names)]
        if not chosen:
            raise UsageError(
                f"no project named {', '.join(names)}",
                f"known: {', '.join(sorted({p.name for p in known})) or 'none'}",
            )
        return chosen

    # -- L3 -------------------------------------------------------------------------------------------------

    @property
    def folders(self) -> AgentFolders:
        """Where the agents keep their sessions, as far as this machine has shown."""
        if self._folders is None:
            from memsearch_engine.capture.ledger import known_folders
            from memsearch_engine.home import AgentFolders

            self._folders = AgentFolders.from_env(seen=known_folders(self.home))
        return self._folders

    def conversation(self, entry: Entry, *, turn: str = "", context: int | None = None) -> Found:
        """The conversation behind an entry, from its agent, else from the archive. Raises NotFound where it is lost.

        Args:
            turn: another turn of the same session.
            context: turns on both sides; None for the whole session.
        """
        from memsearch_engine.transcripts.evidence import Archive
        from memsearch_engine.transcripts.locate import Found, open_anchor

        anchor = entry.anchor
        if anchor is None:
            raise NotFound(f"entry {entry.id} was written by hand: no conversation stands behind it")
        turn = turn or anchor.turn
        try:
            return open_anchor(
                anchor.agent, anchor.session, turn, anchor.path, self.folders, context=context, cache=self.home.offsets
            )
        except NotFound:
            kept = Archive(self.home).get(anchor.agent, anchor.session, turn)
            if kept is None:
                raise
            return Found(str(self.home.evidence), [kept], 0, 0, 1, "archived")

    def evidence(self, entry: Entry) -> str:
        """``live`` where the agent still has the conversation, ``archived`` where we keep it, else ``lost``; '' for notes
        that a person wrote."""
        from memsearch_engine.transcripts.evidence import Archive
        from memsearch_engine.transcripts.locate import find_session

        anchor = entry.anchor
        if anchor is None or not anchor.agent:
            return ""
        if find_session(anchor.agent, anchor.session, anchor.path, self.folders):
            return "live"
        return "archived" if Archive(self.home).has(anchor.agent, anchor.session, anchor.turn) else "lost"

    # -- L2 and lists ---------------------------------------------------------------------------------------

    def section(self, name: str) -> Section:
        """The entry behind an entry or chunk id. Looks in this project, then in all."""
        from memsearch_engine.search import sections

        try:
            return sections.find(self.catalog, self.projects, name)
        except NotFound:
            if self.everything:
                raise
            others = Memory(self.home, self.place.root, everything=True)
            return sections.find(self.catalog, others.projects, name)

    def days(self) -> list[DayFile]:
        """Dated files, newest first."""
        from memsearch_engine.journal.files import list_days

        found = [day for project in self.projects for day in list_days(project.memory)]
        return sorted(found, key=lambda file: (file.day, file.path), reverse=True)

    def files(self) -> list[DayFile]:
        """All markdown files of the memory folders, also undated ones, newest day first."""
        from memsearch_engine.journal.files import list_files

        found = [file for project in self.projects for file in list_files(project.memory).files]
        return sorted(found, key=lambda file: (file.day, file.path), reverse=True)

    def read(self, file: DayFile) -> list[Entry]:
        """The entries of a day, read from its file."""
        from memsearch_engine.journal.files import read_day

        return read_day(file.path).entries

    def every_entry(self) -> Iterator[tuple[DayFile, Entry]]:
        """All entries, newest day first. Files that can't be read are left out (`doctor` names them)."""
        for file in self.days():
            with contextlib.suppress(OSError):
                for entry in self.read(file):
                    yield file, entry

    def memory_of(self, path: str) -> str:
        """The memory folder that a file lies in (for the undo history)."""
        return next((p.memory for p in self.projects if path.startswith(p.memory + os.sep)), os.path.dirname(path))

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()
        if self._journal is not None:
            self._journal.history.close()
            self._journal.origin.close()


def stop(home: Home, wait_s: float = 15.0) -> bool:
    """Ask the service to finish and wait until it has; one that does not answer is ended. Returns whether one was running."""
    try:
        connection = Connection(home)
        with contextlib.suppress(Unreachable):
            connection.call("shutdown", dict, timeout_s=_CONNECT_S)
        connection.close()
    except ServiceHung:
        _end(home, signal.SIGKILL)
    except Unreachable:
        return False
    if _ended(home, wait_s):
        return True
    _end(home, signal.SIGKILL)
    if _ended(home, _CONNECT_S * 2):
        return True
    raise Unreachable(f"the service did not stop within {wait_s:.0f} s", f"see {home.log}")


def _ended(home: Home, wait_s: float) -> bool:
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        if _lock_is_free(home):
            return True
        time.sleep(0.05)  # a file lock can be tried, not awaited with a limit
    return False


def _end(home: Home, number: int) -> None:
    """Send a signal to the process that says it is this home's service, if it is one."""
    import psutil

    try:
        pid = int(msgspec.json.decode(home.service_pid.read_bytes())["pid"])
        process = psutil.Process(pid)
        if "memsearch_engine.service.server" in process.cmdline() and process.uids().real == os.getuid():
            process.send_signal(number)
    except (OSError, ValueError, KeyError, TypeError, msgspec.DecodeError, psutil.Error):
        return


def _lock_is_free(home: Home) -> bool:
    import fcntl

    try:
        fd = os.open(home.service_lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True
