"""Changes files of the user's agents: planned, shown, backed up, atomic and exactly reversible.

An installation is a set of patches, each a file with its bytes before and after. They are stored in
``MEMSEARCH_HOME/plugins/<agent>.json``, so that removal restores the same bytes. If somebody has
changed a file meanwhile, only our part is removed from it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from memsearch_engine import __version__
from memsearch_engine.agents.transcripts.records import regular
from memsearch_engine.core import safe_files
from memsearch_engine.core.errors import Conflict, Unreachable, UsageError
from memsearch_engine.core.home import Home

_MAX_FILE = 16 * 1024 * 1024


class Link(msgspec.Struct, frozen=True):
    """A symbolic link.

    Attributes:
        to: its target as written.
    """

    to: str


class Patch(msgspec.Struct, frozen=True):
    """The change of one file.

    Attributes:
        before: its bytes, or the link that is replaced (not its target); None if it does not exist.
        after: its new bytes; None deletes it.
        why: the purpose, for people.
        own: the whole file is ours.
        by_agent: the agent writes it; the new bytes are not known before.
    """

    path: str
    before: bytes | Link | None
    after: bytes | None
    why: str = ""
    own: bool = False
    by_agent: bool = False

    @property
    def changes(self) -> bool:
        """Whether the patch changes anything."""
        return self.before != self.after


class WrittenFile(msgspec.Struct):
    """A file as we wrote it, and its earlier content (base64)."""

    path: str
    before: str | None
    after: str | None
    link: str = ""  # target of a link that was at this path before
    # Somebody changed the file between two of our writes, so ``before`` lacks that change.
    edited: bool = False


class Record(msgspec.Struct):
    """What an installation did.

    Attributes:
        version: our version.
        at: seconds since 1970.
        files: every file that it wrote, with the content before the first installation.
    """

    agent: str
    version: str
    at: float
    files: list[WrittenFile]


def read(path: str | os.PathLike[str]) -> bytes | None:
    """Return the bytes of a file, None if it does not exist.

    Raises:
        Unreachable: it cannot be read, is not a regular file, or is too large.
    """
    try:
        with regular(os.fspath(path)) as file:
            data = file.read(_MAX_FILE + 1)
        if len(data) > _MAX_FILE:
            raise Unreachable(f"{path} is larger than {_MAX_FILE >> 20} MB", "nothing was changed")
        return data
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreachable(
            f"{path} can't be read: {error.strerror}", "nothing was changed"
        ) from error


def apply(home: Home, agent: str, patches: list[Patch]) -> list[Patch]:
    """Write the patches that change something, after all of them are checked.

    Args:
        agent: the name of the record.

    Returns:
        The written patches.

    Raises:
        Unreachable: a file changed meanwhile or cannot be written. All files are restored.
        Conflict: a file is read-only.
    """
    wanted = [patch for patch in patches if patch.changes]
    removed = tuple(
        patch.path + os.sep
        for patch in wanted
        if isinstance(patch.before, Link) and patch.after is None
    )
    for patch in wanted:
        if not patch.path.startswith(removed) and _standing(patch) != patch.before:
            raise Unreachable(
                f"{patch.path} changed while it was looked at", "run the command again"
            )
        if not isinstance(patch.before, Link):
            _check_writable(patch.path)
    old = record(home, agent)
    first = {item.path: item for item in old.files} if old else {}
    files = first | {patch.path: _as_written(patch, first.get(patch.path)) for patch in wanted}
    if wanted:
        _save(home, Record(agent, __version__, time.time(), list(files.values())))
    done: list[Patch] = []
    try:
        for patch in wanted:
            done.append(patch)
            if isinstance(patch.before, Link):
                os.unlink(patch.path)
            if not (isinstance(patch.before, Link) and patch.after is None):
                _write(patch.path, patch.after)
    except OSError as error:
        _put_back(done)
        if old:
            _save(home, old)
        else:
            _path(home, agent).unlink(missing_ok=True)  # nothing of it is installed
        raise Unreachable(
            f"{error.filename or 'a file'} can't be written: {error.strerror}",
            "everything was put back",
        ) from error
    return wanted


def _as_written(patch: Patch, old: WrittenFile | None) -> WrittenFile:
    """Return the record of a file. The *old* one has what it was before our first patch."""
    item = WrittenFile(patch.path, None, _encode(patch.after))
    if old is not None:
        item.before, item.link = old.before, old.link
        item.edited = old.edited or (not patch.own and _standing(patch) != _decode(old.after))
    elif isinstance(patch.before, Link):
        item.link = patch.before.to
    else:
        item.before = _encode(patch.before)
    return item


def _put_back(patches: list[Patch]) -> None:
    for patch in reversed(patches):
        with contextlib.suppress(OSError):
            if isinstance(patch.before, Link):
                _link_again(patch.path, patch.before.to)
            else:
                _write(patch.path, patch.before)


def _link_again(path: str, target: str) -> bool:
    """Restore a link in place of our file, an empty folder or nothing.

    Return whether that worked.
    """
    if os.path.isdir(path) and not os.path.islink(path):
        try:
            os.rmdir(path)
        except OSError:
            return False
    Path(path).unlink(missing_ok=True)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    os.symlink(target, path)
    return True


def _standing(patch: Patch) -> bytes | Link | None:
    return link(patch.path) if isinstance(patch.before, Link) else read(patch.path)


def link(path: str | os.PathLike[str]) -> Link | None:
    """Return the link at *path* itself, or None."""
    try:
        return Link(os.readlink(path))
    except OSError:
        return None


def _check_writable(path: str) -> None:
    """Check that the owner has not made a file read-only, as replacing it would ignore that.

    Raises:
        Conflict: the file is read-only.
    """
    with contextlib.suppress(OSError):
        if not os.stat(path).st_mode & 0o200:
            raise Conflict(
                f"{path} is read-only", f"`chmod u+w {path}`, then try again; nothing was changed"
            )


def revert(
    home: Home,
    agent: str,
    strip: Callable[[str, bytes, bytes | None], bytes | None],
    *,
    dry_run: bool = False,
) -> list[Patch]:
    """Undo an installation.

    Files that nobody changed get their old bytes back. All changes are planned before the first
    write.

    Args:
        strip: removes our part from a changed file. Its arguments are the path, the current bytes
            and the bytes before the installation.
        dry_run: change nothing.

    Returns:
        The patches that changed (or would change) something.
    """
    installed = record(home, agent)
    if installed is None:
        return []
    planned: list[tuple[WrittenFile, Patch]] = []
    for file in reversed(installed.files):
        before, after = _decode(file.before), _decode(file.after)
        if file.link:
            if after is not None and read(file.path) not in (None, after):
                continue  # the link is back, or the file at its path was edited
            planned.append((file, Patch(file.path, None, b"", f"link to {file.link}")))
            continue
        now = read(file.path)
        if now is None or now == before:  # deleted, or restored by an interrupted run
            continue
        untouched = now == after and not file.edited
        then = before if untouched else strip(file.path, now, before)
        patch = Patch(
            file.path,
            now,
            then,
            "ours" if then is None else "restored" if untouched else "ours removed",
        )
        if patch.changes:
            planned.append((file, patch))
    if dry_run:
        return [patch for _, patch in planned]
    for file, patch in planned:
        if not file.link:
            _check_writable(patch.path)
    done = []
    for file, patch in planned:
        if not file.link:
            _write(patch.path, patch.after)
        elif not _link_again(file.path, file.link):
            continue  # the folder contains files of somebody else
        done.append(patch)
    _path(home, agent).unlink(missing_ok=True)
    return done


def record(home: Home, agent: str) -> Record | None:
    """Return the record of an agent's installation, or None.

    Raises Unreachable if it cannot be read.
    """
    try:
        return msgspec.json.decode(_path(home, agent).read_bytes(), type=Record)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise Unreachable(
            f"{_path(home, agent)} can't be read: {error}", "move it aside"
        ) from error


def was_edited(written: WrittenFile) -> bool:
    """Return whether a file was changed or deleted after we wrote it."""
    try:
        return safe_files.read(written.path, _MAX_FILE) != _decode(written.after)
    except OSError:
        return True


def forget(home: Home, agent: str) -> None:
    """Delete the record of an installation."""
    _path(home, agent).unlink(missing_ok=True)


def _path(home: Home, agent: str) -> Path:
    return home.root / "plugins" / f"{agent}.json"


def _save(home: Home, value: Record) -> None:
    home.ensure()
    path = _path(home, value.agent)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    _write(str(path), msgspec.json.format(msgspec.json.encode(value), indent=1), mode=0o600)


def _write(path: str, data: bytes | None, mode: int | None = None) -> None:
    """Replace a file in one step, through links, with the mode that it had.

    Args:
        data: None deletes the file and the folders that become empty.
        mode: instead of the old mode.
    """
    target = Path(os.path.realpath(path))
    if data is None:
        target.unlink(missing_ok=True)
        for folder in list(target.parents)[:2] if not os.path.islink(path) else []:
            try:
                folder.rmdir()
            except OSError:
                break
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        mode = target.stat().st_mode & 0o777 if mode is None else mode
    Home.put(target, data, durable=True, mode=0o644 if mode is None else mode)


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def json_text(value: object, like: bytes | None) -> bytes:
    """Return *value* as JSON with the indentation of the file *like*.

    Raises:
        UsageError: it contains a number that JSON does not allow.
    """
    indent: int | str = 2
    for line in (like or b"").decode("utf-8", "replace").splitlines():
        space = line[: len(line) - len(line.lstrip())]
        if space:
            indent = space
            break
    end = "\n" if like is None or like.endswith(b"\n") else ""
    try:
        return (
            json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + end
        ).encode()
    except ValueError as error:
        if isinstance(error, UnicodeEncodeError):
            return (json.dumps(value, indent=indent) + end).encode()
        raise UsageError(
            "a number in it is larger than JSON's own programs read", "correct it, then try again"
        ) from error
