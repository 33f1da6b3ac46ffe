"""Removes a secret from every file that contains it, and verifies the removal.

The text is replaced in every form in which our own files may store it. The index and the catalog
are caches and are deleted as a whole, because a full-text table contains deleted text. Files of
agents and the owner's own settings are not changed, only listed.

An interrupted scrub leaves a record of fingerprints, never of the secret. Running it again
completes it. A scrub cannot be undone, because an undo record would contain the secret.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import sqlite3
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.core import agent_registry
from memsearch_engine.core.errors import Unreachable, UsageError
from memsearch_engine.core.home import AgentFolders, Home, lock
from memsearch_engine.core.migrations import Database, read_rows, transaction, write_ahead
from memsearch_engine.core.project_location import shared_beside
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings
from memsearch_engine.core.settings_schema import MilvusSettings
from memsearch_engine.journal.disk import locked, replace
from memsearch_engine.journal.files import day_of, read_day
from memsearch_engine.journal.origin import Origin, key_of
from memsearch_engine.journal.parse import parse
from memsearch_engine.journal.shared import list_notes
from memsearch_engine.longterm import pages, skills, workspace
from memsearch_engine.longterm.jobs import learning
from memsearch_engine.longterm.workspace import Baseline
from memsearch_engine.review.secret_forms import Forms
from memsearch_engine.secrets.scan import FoundSecret, find
from memsearch_engine.service import launch

_CHUNK = 1 << 20
#: The owner's own files: reported, never changed.
_OWNERS = ("config.toml", "plugins", "models")
#: Prefixes of file names, because a catalog that was set aside counts, too.
_CACHES = ("cache.db", "index", "offsets")
_LOCK_S = 20.0

Progress = Callable[[str, int, int], None]


class SecretHolder(msgspec.Struct, frozen=True):
    """A file that contains a secret, and how many times.

    ``kind``: notes, index, history, evidence, longterm, home, or its owner (yours, claude-code, …).
    """

    kind: str
    path: str
    count: int


class ScrubReport(msgspec.Struct):
    """The result of a scrub or a survey.

    Attributes:
        changed: the files in which the secret was replaced.
        left: our files that still contain it.
        others: files of others that contain it.
        looked_at: the number of files that were read for verification.
    """

    changed: list[SecretHolder]
    left: list[SecretHolder]
    others: list[SecretHolder]
    looked_at: int


def survey(
    home: Home,
    projects: list[Project],
    secrets: list[FoundSecret],
    folders: AgentFolders,
    progress: Progress | None = None,
) -> ScrubReport:
    """Find the files that contain the secrets. Changes nothing."""
    forms = Forms(secrets)
    found, looked = _scan(home, projects, forms, progress)
    return ScrubReport([], found, _others(home, forms, folders, progress), looked)


def scrub(
    home: Home,
    settings: Settings,
    projects: list[Project],
    secrets: list[FoundSecret],
    folders: AgentFolders,
    progress: Progress | None = None,
) -> ScrubReport:
    """Replace the secrets in all files, then verify.

    The service is stopped and cannot start meanwhile.

    Raises:
        Unreachable: a file cannot be changed, or the service cannot be stopped. Finished
            replacements stay.
    """
    forms = Forms(secrets)
    home.ensure()
    note = home.scrub_note
    note.write_text(
        json.dumps({"at": time.time(), "fingerprints": sorted({s.fingerprint for s in secrets})})
    )
    launch.stop(home)
    with _without_service(home), learning(home, alone=True):
        # not earlier: until its end, the service may write copies of what is read here
        changed, _ = _scan(home, projects, forms, progress)
        for number, place in enumerate(changed):
            if progress:
                progress("scrubbing", number, len(changed))
            _clean(home, place, forms)
        if any(place.kind in ("notes", "index") for place in changed):
            _drop_caches(home)
        if settings.milvus.uri:  # with a server, the index is not one of our folders
            _drop_on_server(home, settings.milvus)
        if any(place.kind == "longterm" for place in changed):
            _clean_baseline(home, forms)
    left, looked = _scan(home, projects, forms, progress)
    if not left:
        note.unlink(missing_ok=True)
    return ScrubReport(changed, left, _others(home, forms, folders, progress), looked)


def interrupted(home: Home) -> list[str]:
    """Fingerprints of a scrub that was interrupted; [] if there is none."""
    try:
        return list(json.loads(home.scrub_note.read_text())["fingerprints"])
    except (OSError, ValueError, KeyError):
        return []


def known(
    home: Home, projects: list[Project], *, rule: str = "", entry: str = ""
) -> list[FoundSecret]:
    """Return the secrets that the scanner finds in notes, archived turns and long-term files.

    Each is listed once.

    Args:
        rule: only secrets of this rule.
        entry: only secrets in the entry with this id.
    """
    found: dict[str, FoundSecret] = {}
    for text in _texts(home, projects, entry):
        for finding in find(text, home):
            if not rule or finding.rule == rule:
                found.setdefault(finding.secret, finding)
    return list(found.values())


def _texts(home: Home, projects: list[Project], entry: str) -> Iterator[str]:
    for memory in dict.fromkeys(project.memory for project in projects):
        for file in list_notes(memory).files:
            with contextlib.suppress(OSError):
                document = read_day(file.path)
                if entry:
                    yield from (e.content for e in document.entries if e.id == entry)
                else:
                    yield document.data.decode("utf-8", "replace")
    if entry:
        return
    archive = Archive(home)
    for name in archive.names():
        if turn := archive.get(*name):
            yield "\n".join(
                [
                    turn.user,
                    turn.assistant,
                    *(f"{tool.input}\n{tool.output}" for tool in turn.tools),
                ]
            )
    for path in [*workspace.files(home.longterm).values(), *documents(projects)]:
        yield path.read_text(encoding="utf-8", errors="replace")


def check_text(projects: list[Project], text: str) -> None:
    """Check that a text does not occur in anchors, whose conversations would be lost otherwise.

    Raises:
        UsageError: it does.
    """
    anchors = 0
    for memory in dict.fromkeys(project.memory for project in projects):
        for file in list_notes(memory).files:
            with contextlib.suppress(OSError):
                entries = [entry for entry in read_day(file.path).entries if entry.anchors]
                heads = [
                    entry.raw[: entry.body_start - entry.start].decode("utf-8", "replace")
                    for entry in entries
                ]
                anchors += sum(text in head for head in heads)
    if anchors:
        raise UsageError(
            f"the text stands in {anchors} anchors: without it, the conversations behind those "
            "notes could not be found",
            "name more of the secret, or `memsearch edit` the notes that hold it",
        )


# -- searching


def _scan(
    home: Home, projects: list[Project], forms: Forms, progress: Progress | None
) -> tuple[list[SecretHolder], int]:
    """Find our files that contain a secret, also inside archives and databases.

    Returns:
        The files, and the number of files that were read.
    """
    found: list[SecretHolder] = []
    looked = 0
    ours = list(_ours(home, projects))
    for number, (kind, path) in enumerate(ours):
        if progress and number % 50 == 0:
            progress("looking", number, len(ours))
        looked += 1
        if count := _count_in(kind, path, home, forms):
            found.append(SecretHolder(kind, str(path), count))
    return found, looked


def _ours(home: Home, projects: list[Project]) -> Iterator[tuple[str, Path]]:
    seen: set[str] = set()
    for memory in dict.fromkeys(p.memory for p in projects):
        # a linked folder or file is read as notes, so its target is scanned
        linked = [Path(os.path.realpath(file.path)) for file in list_notes(memory).files]
        for path in [
            *(
                path
                for folder in filter(None, (memory, shared_beside(memory)))
                for path in _regular(Path(os.path.realpath(folder)))
            ),
            *linked,
        ]:
            if str(path) not in seen:
                seen.add(str(path))
                yield "notes", path
    for path in documents(projects):
        yield "notes", path
    for path in _regular(home.root):
        top = path.relative_to(home.root).parts[0]
        if top in _OWNERS:
            continue
        kind = {
            "history.db": "history",
            "evidence": "evidence",
            "longterm": "longterm",
            "longterm.git": "longterm",
        }.get(top, "home")
        yield (
            (
                "index"
                if top.startswith(_CACHES)
                else "history"
                if top.startswith("history.db")
                else kind
            ),
            path,
        )


def documents(projects: list[Project]) -> list[Path]:
    """The other files of projects: PROJECT.md, USER.md, and drafted skills."""
    found: list[Path] = []
    for project in projects:
        beside = Path(os.path.dirname(project.memory))
        found += _files([beside / name for name in pages.FILES.values()])
        found += _regular(Path(skills.store(project)))
    return list(dict.fromkeys(found))


def _regular(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders.sort()
        yield from _files(Path(base, name) for name in sorted(names))


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    return (path for path in paths if path.is_file() and not path.is_symlink())


def _count_in(kind: str, path: Path, home: Home, forms: Forms) -> int:
    count = _count_raw(path, forms) + (
        forms.count(os.fsencode(path.name)) if kind != "notes" else 0
    )
    if count and _is_database(path):
        count -= _count_in_schema(path, forms)
    if kind == "evidence" and path.name == "turns.db":
        archive = Archive(home)
        for name in archive.names():
            if turn := archive.get(*name):
                count += forms.count(msgspec.json.encode(turn))
    elif "longterm.git" in path.parts and "objects" in path.parts:
        count += forms.count(_inflated(path))
    elif path.name.endswith(".tar.gz"):
        with contextlib.suppress(OSError, EOFError):
            count += forms.count(gzip.decompress(path.read_bytes()))
    return count


def _count_in_schema(path: Path, forms: Forms) -> int:
    """Count matches in the names of our own tables and columns, which are no secrets."""
    query = "SELECT type || name || tbl_name || coalesce(sql, '') FROM sqlite_master"
    rows = read_rows(path, query)
    return sum(forms.count(text.encode()) for (text,) in rows)


def _count_raw(path: Path, forms: Forms) -> int:
    """Count matches in the bytes of a file, block by block, including matches across two blocks."""
    overlap = forms.longest - 1
    count, tail = 0, b""
    try:
        with path.open("rb") as file:
            while piece := file.read(_CHUNK):
                count += forms.count(tail + piece) - forms.count(tail)
                tail = (tail + piece)[-overlap:] if overlap else b""
    except OSError:
        return count  # the file was deleted meanwhile
    return count


def _inflated(path: Path) -> bytes:
    import zlib

    try:
        return zlib.decompress(path.read_bytes())
    except (OSError, zlib.error):
        return b""


def _others(
    home: Home, forms: Forms, folders: AgentFolders, progress: Progress | None
) -> list[SecretHolder]:
    """Files with a secret that are not ours: the owner's settings, the agents' conversations."""
    found: list[SecretHolder] = []
    for name in _OWNERS[:2]:
        top = home.root / name
        for path in [top] if top.is_file() else _regular(top):
            if count := _count_raw(path, forms):
                found.append(SecretHolder("yours", str(path), count))
    for agent, places in folders.places.items():
        known = agent_registry.agent(agent)
        for place in places:
            # a project folder into which an agent writes a file is not one of the agent's folders
            is_project = known.in_projects and not known.sessions
            own = _files(place.glob(f".{agent}.*")) if is_project else _regular(place)
            for number, path in enumerate(own):
                if progress and number % 50 == 0:
                    progress(f"looking at {agent}'s own", number, 0)
                if count := _count_raw(path, forms):
                    found.append(SecretHolder(agent, str(path), count))
    return found


# -- replacing


@contextlib.contextmanager
def _without_service(home: Home) -> Iterator[None]:
    """Hold the lock that a service needs, so that none starts while files are rewritten."""
    end = time.monotonic() + _LOCK_S
    while (fd := lock(home.service_lock)) is None:
        if time.monotonic() > end:
            raise Unreachable(
                "the service was started again",
                "close the app and other commands, then run it again",
            )
        launch.stop(home)
    try:
        yield
    finally:
        os.close(fd)


def _clean_baseline(home: Home, forms: Forms) -> None:
    def clean(text: str) -> str:
        return forms.replaced(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    baseline = Baseline(home)
    baseline.commit({clean(name): clean(text) for name, text in baseline.files().items()})


def _clean(home: Home, place: SecretHolder, forms: Forms) -> None:
    path = Path(place.path)
    if place.kind == "index" or "longterm.git" in path.parts:
        return  # deleted or rebuilt as a whole
    try:
        # a log belongs to its database
        path = path.with_name(path.name.removesuffix("-wal").removesuffix("-shm"))
        if place.kind == "evidence" and path.name == "turns.db":
            _clean_evidence(home, forms)
        elif path.name.endswith(".tar.gz"):
            _clean_backup(path, forms)
        elif _is_database(path):
            _clean_database(path, forms)
        else:
            lock = home.longterm if place.kind == "longterm" else path
            with locked(home, str(lock)):
                data = path.read_bytes()
                if (clean := forms.replaced(data)) != data:
                    replace(str(path), data, clean)
                    if place.kind == "notes":
                        _decide(home, path, data, clean)
                name = os.fsencode(path.name)
                # the owner chooses the names of note files
                if place.kind != "notes" and forms.count(name):
                    path.rename(path.with_name(os.fsdecode(forms.replaced(name, b"redacted"))))
    except (OSError, sqlite3.Error) as error:
        raise Unreachable(
            f"{path} can't be cleaned: {error}", "mend that and run the same command again"
        ) from error


def _decide(home: Home, path: Path, data: bytes, clean: bytes) -> None:
    """Record the text without the secret as the owner's decision.

    If the old file comes back, it contradicts the decision.
    """
    before, after = (parse(each, path.stem).entries for each in (data, clean))
    with contextlib.closing(Origin(home)) as origin:
        if len(before) == len(after):
            known = origin.known_keys(key_of(entry.raw) for entry in before)
            origin.wrote(new.raw for old, new in zip(before, after) if key_of(old.raw) in known)
        origin.decided(day_of(path), before, after, clears=False)


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _clean_database(path: Path, forms: Forms) -> None:
    """Replace the secrets in every text and blob of every table, and rewrite the file.

    Then no free or logged page contains them.
    """
    with contextlib.closing(
        sqlite3.connect(path, timeout=_LOCK_S, isolation_level=None, factory=Database)
    ) as db:
        db.execute("PRAGMA secure_delete=ON")
        write_ahead(db)
        db.create_function(
            "scrubbed", 1, lambda value: _scrubbed_value(value, forms), deterministic=True
        )
        with transaction(db):
            tables = [
                name
                for (name,) in db.execute(
                    "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'"
                )
            ]
            for table in tables:
                quoted = table.replace('"', '""')
                for _, column, *_ in db.execute(f'PRAGMA table_info("{quoted}")').fetchall():
                    name = column.replace('"', '""')
                    db.execute(
                        f'UPDATE OR REPLACE "{quoted}" SET "{name}"=scrubbed("{name}") '
                        f"WHERE typeof(\"{name}\") IN ('text','blob') AND scrubbed(\"{name}\") IS "
                        f'NOT "{name}"'
                    )
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _scrubbed_value(value: str | bytes | None, forms: Forms) -> str | bytes | None:
    if isinstance(value, bytes):
        return forms.replaced(value)
    if isinstance(value, str):
        return forms.replaced(value.encode("utf-8", "surrogatepass")).decode(
            "utf-8", "surrogatepass"
        )
    return value


def _clean_evidence(home: Home, forms: Forms) -> None:
    from memsearch_engine.agents.transcripts.model import Turn

    with contextlib.closing(Archive(home)) as archive:
        for name in sorted(archive.names()):
            turn = archive.get(*name)
            if turn is None:
                continue
            clean = msgspec.convert(_cleaned(msgspec.to_builtins(turn), forms), Turn)
            if clean != turn:
                archive.put(clean)
    _clean_database(archive.path, forms)


def _cleaned(value: Any, forms: Forms) -> Any:
    """A value with the secrets replaced in each of its texts.

    The packed format around them stays valid.
    """
    if isinstance(value, str):
        return _scrubbed_value(value, forms)
    if isinstance(value, list):
        return [_cleaned(item, forms) for item in value]
    return (
        {key: _cleaned(item, forms) for key, item in value.items()}
        if isinstance(value, dict)
        else value
    )


def _clean_backup(path: Path, forms: Forms) -> None:
    made = path.with_name(f".{path.name}.new")
    with tarfile.open(path) as old, tarfile.open(made, "w:gz") as new:
        for member in old.getmembers():
            file = old.extractfile(member)
            data = forms.replaced(file.read()) if file else b""
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    made.chmod(0o600)
    os.replace(made, path)


def _drop_on_server(home: Home, milvus: MilvusSettings) -> None:
    """Drop this home's collections, of all models, on a Milvus server.

    They are rebuilt from notes. Collections of other homes stay. Raises Unreachable.
    """
    from memsearch_engine.index.milvus import MilvusServerStore, reason_of

    store = MilvusServerStore(milvus.uri, milvus.token, "")
    try:
        store.drop_others(home, keep=())
    except Exception as error:
        raise Unreachable(
            f"the index on {milvus.uri} can't be taken away: {reason_of(error)}",
            "mend that and run the same command again",
        ) from error
    finally:
        store.close()


def _drop_caches(home: Home) -> None:
    import shutil

    for path in home.root.iterdir():
        if path.name.startswith(_CACHES):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
