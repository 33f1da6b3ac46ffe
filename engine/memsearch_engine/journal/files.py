"""Lists and reads day files.

Links to folders are not followed, links to files only inside the project. ``YYYY-MM-DD.md`` is a
day; other markdown files are notes without a date. A copy that a sync program or file manager made
is not a day, but entries that only it has are searched. An unreadable file is reported with its
reason and never taken for deleted.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from pathlib import Path

import msgspec

from memsearch_engine.core import safe_files
from memsearch_engine.journal.model import Document
from memsearch_engine.journal.parse import parse, parse_end

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\D.*)?$")
MARKDOWN = (".md", ".markdown")
_CONFLICT = "confli|konflik|çakış|конфл|競合|冲突|衝突|충돌"
_COPIED = "copy|copie|copia|cópia|kopi[ae]?|копия|副本|複本|コピー|사본"
#: How Syncthing, Dropbox, Nextcloud, Obsidian, Seafile, Resilio, Synology and pCloud name what they
#: could not merge.
_CONFLICTING = re.compile(
    rf"(?i)(?P<of>.+?)(?:[._](?:\S*[._-])?conflict.*|\s*[(\[][^)\]]*(?:{_CONFLICT})[^)\]]*[)\]])"
)
#: How iCloud, file managers, browsers, editors, OneDrive (by the computer), Subversion and git's
#: mergetool name a second file.
_COPY = re.compile(
    rf"(?i)(?:(?:{_COPIED}) (?:of|von|van|de|di|av|af) )?(?P<of>.+?)"
    rf"(?:\s+\d{{1,3}}|\s*\((?:\d{{1,3}}|[^)]*(?:{_COPIED})[^)]*)\)|"
    rf"[\s的の]+(?:[-–] )?(?:{_COPIED})(?:\s*\(?\d{{1,3}}\)?)?|"
    r"(?-i:-[A-Z]+-[A-Z0-9]{2,}(?:-\d+)?|_(?:BACKUP|BASE|LOCAL|REMOTE)_\d+)|"
    r"_conf(?:\(\d+\))?|~|\.(?:orig|bak|backup|old|mine|theirs|r\d+))?"
)


class DayFile(msgspec.Struct, frozen=True):
    """A markdown file.

    Attributes:
        day: ``YYYY-MM-DD`` or ``""``.
        mtime_ns, size: show whether it changed.
        ctime_ns: also shows it if a program has set the time stamp back.
    """

    path: str
    day: str
    mtime_ns: int
    size: int
    ctime_ns: int = 0

    @classmethod
    def at(cls, path: str) -> DayFile:
        """Raises OSError."""
        return cls.of(path, os.stat(path))

    @classmethod
    def of(cls, path: str, info: os.stat_result) -> DayFile:
        """The file at *path* with its status."""
        return cls(path, day_of(path), info.st_mtime_ns, info.st_size, info.st_ctime_ns)


class FolderListing(msgspec.Struct):
    """The files of a folder.

    Attributes:
        complete: False if a folder could not be read. A missing file then proves nothing.
    """

    files: list[DayFile]
    problems: list[tuple[str, str]]
    complete: bool = True


def day_of(path: str | os.PathLike[str]) -> str:
    """The ISO date in a file name, or ``""``."""
    return _day_in(os.path.splitext(os.path.basename(path))[0])


@lru_cache(maxsize=4096)  # projects have files of the same names
def _day_in(stem: str) -> str:
    match = _DAY.match(stem)
    if not match:
        return ""
    try:
        return date.fromisoformat(match[1]).isoformat()
    except ValueError:
        return ""


def original_of(path: str | os.PathLike[str]) -> str:
    """The file that *path* is a copy of, judged by its name; ``""`` if there is none.

    A number or the word "copy" counts for day files only: elsewhere it may belong to a title.
    """
    folder, name = os.path.split(path)
    return next(
        (found for of in _copied(name) if os.path.lexists(found := os.path.join(folder, of))), ""
    )


@lru_cache(maxsize=4096)
def _copied(name: str) -> tuple[str, ...]:
    """Possible names of the original, also for copies of copies."""
    stem, ending = os.path.splitext(unicodedata.normalize("NFC", name))
    if stem.replace("-", "").isdecimal():  # a plain day, as nearly all are: no pattern fits
        return ()
    found: list[str] = []
    while match := _CONFLICTING.fullmatch(stem) or _COPY.fullmatch(stem):
        if match["of"] == stem:
            break
        stem = match["of"]
        if match.re is _CONFLICTING or _day_in(stem):
            found.append(stem + ending)
    return tuple(found)


def list_files(root: str | os.PathLike[str]) -> FolderListing:
    """All markdown files under *root* (or *root* itself, if it is a file), sorted by path."""
    listing = FolderListing([], [])
    root = os.path.abspath(root)
    try:
        safe_files.real(root)
        if os.path.isdir(root):
            os.close(safe_files.open_folder(root))
    except OSError as error:
        return FolderListing([], [(root, error.strerror or str(error))], complete=False)
    if os.path.isfile(root):
        _add(listing, root)
        return listing
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as found:
                items = sorted(found, key=lambda item: item.name)
        except OSError as error:
            listing.problems.append((folder, error.strerror or str(error)))
            listing.complete = False
            continue
        for item in items:
            if item.name.startswith("."):
                continue
            if not item.path.isprintable() and any(
                "\ud800" <= char <= "\udfff" for char in item.path
            ):
                listing.problems.append(
                    (item.path.encode("utf-8", "replace").decode(), "its name is not UTF-8")
                )
                continue
            try:
                if item.is_dir(follow_symlinks=False):
                    folders.append(item.path)
                elif item.name.lower().endswith(MARKDOWN):
                    if item.is_symlink():
                        safe_files.real(item.path)
                    _add(listing, item.path)
            except OSError as error:
                listing.problems.append((item.path, error.strerror or str(error)))
    listing.files.sort(key=lambda file: file.path)
    return listing


def _add(listing: FolderListing, path: str) -> None:
    try:
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode):
            problem = "not a regular file"
        elif info.st_size > safe_files.MAX_NOTES:
            problem = f"larger than {safe_files.MAX_NOTES >> 20} MB"
        else:
            listing.files.append(DayFile.of(path, info))
            return
    except FileNotFoundError:
        problem = "broken link" if os.path.islink(path) else "vanished"
    except OSError as error:
        problem = error.strerror or str(error)
    listing.problems.append((path, problem))


def list_days(memory: str | os.PathLike[str]) -> list[DayFile]:
    """The dated files under *memory*, newest first, without copies."""
    return sorted(dated(list_files(memory)), key=lambda f: (f.day, f.path), reverse=True)


def dated(listing: FolderListing) -> Iterator[DayFile]:
    """The day files of a listing, without copies."""
    return (file for file in listing.files if file.day and not original_of(file.path))


def read_day(path: str | os.PathLike[str]) -> Document:
    """Read and parse one file. Raises OSError."""
    return parse(safe_files.read(path), Path(path).stem)


def read_day_or_empty(path: str | os.PathLike[str]) -> Document:
    """Read and parse one file; one that can't be read has no entries."""
    return parse(safe_files.read_or_empty(path), Path(path).stem)


def read_end(path: str | os.PathLike[str]) -> Document:
    """Read and parse a file; of a very long day only the newest part. Raises OSError."""
    return parse_end(safe_files.read(path), Path(path).stem)


def count_entries(files: Iterable[DayFile]) -> int:
    """Return the number of entries in files. It counts headings, as parsing takes seconds."""
    total = 0
    for file in files:
        with contextlib.suppress(OSError):
            data = safe_files.read(file.path)
            total += data.count(b"\n### ") + data.startswith(b"### ")
    return total
