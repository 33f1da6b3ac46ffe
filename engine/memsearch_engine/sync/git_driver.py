"""The git merge driver: merge, rebase, cherry-pick and stash merge day files entry by entry.

It consists of a line in ``.memsearch/.gitattributes`` (committed) that names the files, and a
section in the repository's ``config`` (not committed) with the command. Both are planned as
patches, shown first, and removed byte for byte. The driver reads three files that git names and
writes one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from pathlib import Path

import msgspec

from memsearch_engine.agents import patches
from memsearch_engine.agents.installing import command
from memsearch_engine.agents.patches import Patch
from memsearch_engine.core.errors import MemsearchError, UsageError
from memsearch_engine.core.home import Home
from memsearch_engine.core.ids import digest
from memsearch_engine.core.project_location import SHARED_FOLDER
from memsearch_engine.core.projects import Place
from memsearch_engine.core.repository import is_ours
from memsearch_engine.core.safe_files import MARKER
from memsearch_engine.journal.files import day_of
from memsearch_engine.journal.merge import Merged, Unmergeable, merge, text_key
from memsearch_engine.journal.origin import Origin
from memsearch_engine.journal.parse import parse
from memsearch_engine.secrets.scan import redact

_COMMENT = (
    "# notes are merged entry by entry where `memsearch "
    "sync git-driver install` was run; by lines elsewhere"
)
_FILES = tuple(
    f"{folder}/**/*.{kind} merge=memsearch"
    for folder in ("memory", SHARED_FOLDER)
    for kind in ("md", "markdown")
)
_SECTION = '[merge "memsearch"]'
_OURS = re.compile(
    rb'(?m)^[ \t]*\[merge[ \t]+"memsearch"\][^\n]*\n?(?:[ \t]*[^\[\s][^\n]*\n?|[ \t]*\n)*'
)
_TAKEN, _CONFLICT = 0, 1


class DriverState(msgspec.Struct, frozen=True):
    """The state of the driver.

    Attributes:
        runs: whether the clone's configuration names it.
        says: whether the project names its files.
        command: the command that git runs.
        problem: why it would not work.
    """

    runs: bool
    says: bool
    command: str = ""
    problem: str = ""


def planned(place: Place) -> list[Patch]:
    """Return the patches of an installation.

    Raises:
        UsageError: the project is in no repository of this user.
    """
    config, attributes = _files(place)
    now, listed = patches.read(config), patches.read(attributes)
    quoted = _driver().replace("\\", "\\\\").replace('"', '\\"')
    section = (
        f'{_SECTION}\n\tname = memsearch: notes entry by entry\n\tdriver = "{quoted}"\n'.encode()
    )
    wanted = now if now and section in now else _on_a_line(_OURS.sub(b"", now or b"")) + section
    missing = [line for line in _FILES if line.encode() not in (listed or b"").splitlines()]
    lines = "".join(f"{line}\n" for line in (_COMMENT, *missing)).encode()
    return [
        Patch(config, now, wanted, "names the driver (this clone only)"),
        Patch(
            attributes,
            listed,
            _on_a_line(listed or b"") + lines if missing else listed,
            "says which files (commit it)",
        ),
    ]


def install(home: Home, place: Place) -> list[Patch]:
    """Install the driver. Returns what changed."""
    return patches.apply(home, _name(place), planned(place))


def uninstall(home: Home, place: Place, *, dry_run: bool = False) -> list[Patch]:
    """Remove the driver: byte for byte if those files are unchanged since, else only our lines."""
    _files(place)
    return patches.revert(home, _name(place), _stripped, dry_run=dry_run)


def state(place: Place) -> DriverState:
    """The state of the driver in this project."""
    config, attributes = _files(place)
    text = (patches.read(config) or b"").decode("utf-8", "replace")
    match = re.search(r'(?ms)^[ \t]*\[merge[ \t]+"memsearch"\].*?^\s*driver\s*=\s*(.*?)\s*$', text)
    named = match[1].strip('"').replace('\\"', '"').replace("\\\\", "\\") if match else ""
    listed = (patches.read(attributes) or b"").splitlines()
    problem = "" if not named or named == _driver() else f"it runs {named}, not this program"
    return DriverState(bool(named), all(line.encode() in listed for line in _FILES), named, problem)


def run(home: Home, base: str, ours: str, theirs: str, path: str) -> tuple[int, list[str]]:
    """Merge three files into *ours*, as git calls it.

    See gitattributes(5), "Defining a custom merge driver".

    Returns:
        git's exit code (0: merged; 1: the file has conflict markers), and the ids of notes that
        were changed on both sides; the file has both texts.
    """
    was, one, other = (Path(name).read_bytes() for name in (base, ours, theirs))
    name = os.path.splitext(os.path.basename(path))[0]
    try:
        merged = merge(was, one, other, name, clean=lambda text: redact(text, home)[0])
    except Unmergeable:
        both = (
            b"<<<<<<< ours\n"
            + _on_a_line(one)
            + b"=======\n"
            + _on_a_line(other)
            + b">>>>>>> theirs\n"
        )
        Path(ours).write_bytes(both)
        return _CONFLICT, []
    Path(ours).write_bytes(merged.data)
    _adopt(home, [one, other], merged, name)
    return _TAKEN, merged.conflicts


def _adopt(home: Home, sides: list[bytes], merged: Merged, name: str) -> None:
    """Keep this home's notes trusted after the merge has changed their marks.

    They are quarantined if one of our marks was lost, or without the home.
    """
    day = day_of(name)
    with (
        contextlib.suppress(MemsearchError, OSError),
        contextlib.closing(Origin(home)) as origin,
    ):
        read = [parse(data, name).entries for data in sides]
        raws = {entry.raw for entries in read for entry in entries}
        wrong = [origin.contradicting(entries, day) for entries in read]
        texts = {
            (entry.id, text_key(entry))
            for entries, not_decided in zip(read, wrong)
            for entry in entries
            if entry.id not in not_decided and origin.is_written_here(entry.raw)
        }
        marks = {entry.id: entry.marks.keys() for entry in read[0]}
        new = [entry for entry in parse(merged.data, name).entries if entry.raw not in raws]
        own = [
            e
            for e in new
            if (e.id, text_key(e)) in texts and e.marks.keys() >= marks.get(e.id, set())
        ]
        if own:
            origin.record_day(day, own)
            origin.wrote(entry.raw for entry in own)


def _driver() -> str:
    return f"{shlex.quote(command())} sync merge-files %O %A %B %P"


def _files(place: Place) -> tuple[str, str]:
    if not place.common_dir or not is_ours(place.common_dir):
        raise UsageError(
            f"{place.root} is in no git repository of yours",
            "notes that git doesn't keep are synced by `memsearch sync`",
        )
    if os.path.dirname(place.memory) != os.path.join(place.root, MARKER):
        raise UsageError(
            f"the notes lie in {place.memory}, outside the repository", "unset MEMSEARCH_DIR"
        )
    return os.path.join(place.common_dir, "config"), os.path.join(
        place.root, MARKER, ".gitattributes"
    )


def _name(place: Place) -> str:
    return f"git-{digest(place.common_dir)}"


def _on_a_line(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _stripped(path: str, now: bytes, before: bytes | None) -> bytes | None:
    if not path.endswith(".gitattributes"):
        return _OURS.sub(b"", now)
    ours = {line.encode() for line in (_COMMENT, *_FILES)}
    left = b"".join(line for line in now.splitlines(keepends=True) if line.strip() not in ours)
    return left or before
