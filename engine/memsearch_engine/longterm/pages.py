"""The two pages of a project: PROJECT.md (its state) and USER.md (how its developer likes to work).

They are files in the project's ``.memsearch``. A model proposes changes from the newest notes
(``page_drafts``) if the owner enabled that (the tasks ``project_review`` and ``user_profile``) or
asks for it. No change takes effect until the owner accepts it (``page_review``), and no proposal
changes a line that the owner wrote. Only lines that the owner accepted or released are injected and
found by searches, because the file may have come with a clone.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Literal, cast

import msgspec

from memsearch_engine.core import freshness, safe_files
from memsearch_engine.core.errors import SettingsError, Unreachable
from memsearch_engine.core.home import Home
from memsearch_engine.core.migrations import transaction
from memsearch_engine.core.projects import Project
from memsearch_engine.core.settings import Settings, Task
from memsearch_engine.core.state import using
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.text import FENCE, plain
from memsearch_engine.longterm.changes import Hunk
from memsearch_engine.longterm.drafting import enabled
from memsearch_engine.secrets.scan import redact

Page = Literal["project", "user"]
Spot = tuple[str, str]  #: the headings above a line (``##`` and deeper), and the line
PAGES: tuple[Page, ...] = ("project", "user")
FILES: dict[Page, str] = {"project": "PROJECT.md", "user": "USER.md"}
TASKS: dict[Page, Literal["project_review", "user_profile"]] = {
    "project": "project_review",
    "user": "user_profile",
}
_MAX_FILE = 256 * 1024
_UNDER = "\x1f"  # separates headings
SCHEMA = """
CREATE TABLE IF NOT EXISTS living_waiting (
  project TEXT NOT NULL, page TEXT NOT NULL,\
 body BLOB NOT NULL, PRIMARY KEY (project, page)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS living_lines (
  project TEXT NOT NULL, page TEXT NOT NULL,\
 trail TEXT NOT NULL, line TEXT NOT NULL, how TEXT NOT NULL,
  PRIMARY KEY (project, page, trail, line)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS living_versions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL,\
 page TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL, before BLOB,
  after BLOB NOT NULL);
"""


class PageState(msgspec.Struct):
    """A page and its pending changes.

    Attributes:
        told: the text that may be injected.
        strange: lines that nobody accepted or released.
        draft, reason: the id of the pending proposal, and the model's reason for it.
        enabled_by: the agent that enables proposals in its settings.
    """

    page: Page
    path: str
    text: str
    told: str
    strange: list[Spot]
    waiting: list[Hunk]
    draft: str = ""
    reason: str = ""
    enabled_by: str = ""


# -- location and owner


def path_of(settings: Settings, project: Project, page: Page) -> str:
    """Return the page's file, in ``.memsearch`` or at the owner's path below the project.

    Raises:
        SettingsError: the path is not valid.
    """
    enabled = chosen(settings, page)
    output_file = enabled[1].output_file if enabled else ""
    if not output_file:
        return os.path.join(os.path.dirname(project.memory), FILES[page])
    path = os.path.normpath(os.path.join(project.root, output_file))
    if not path.startswith(project.root + os.sep) or not path.endswith(".md"):
        raise SettingsError(
            f"`{TASKS[page]}.output_file` {output_file!r} is no markdown file in the project"
        )
    return path


def chosen(settings: Settings, page: Page) -> tuple[str, Task] | None:
    """The agent and its settings table that enable a page; None if no table does."""
    return cast("tuple[str, Task] | None", enabled(settings, TASKS[page]))


def read(settings: Settings, project: Project, page: Page) -> str:
    """The text of a page, with invalid UTF-8 replaced; '' without a file.

    Raises:
        Unreachable: the file is not readable.
    """
    return plain((bytes_of(path_of(settings, project, page)) or b"").decode("utf-8", "replace"))


def lines_of(home: Home, project: Project, page: Page) -> dict[Spot, str]:
    """Return the lines that may be injected, with their headings and origins.

    The origin is ``made`` (proposed by a model and accepted) or ``released`` (written by a person
    and released by the owner).
    """
    query = "SELECT trail, line, how FROM living_lines WHERE project=? AND page=?"
    with using(home, SCHEMA) as db:
        return {(trail, line): how for trail, line, how in db.execute(query, (project.id, page))}


def stamp(settings: Settings, project: Project) -> tuple[tuple[int, int], ...]:
    """A value that differs after the pages' files have changed."""
    found = []
    for page in PAGES:
        try:
            info = os.lstat(path_of(settings, project, page))
            found.append((info.st_mtime_ns, info.st_size))
        except (OSError, SettingsError):
            found.append((0, 0))
    return tuple(found)


def accepted_text(home: Home, settings: Settings, project: Project, page: Page) -> str:
    """The text of a page that may be injected.

    It consists of the lines that the owner accepted or released in their place, under their
    headings. Secrets, and lines that read like an order to an agent, are removed.
    """
    known = lines_of(home, project, page)
    permitted: list[str] = []
    above: tuple[str, ...] = ()
    for trail, line in spots_of(read(settings, project, page)):
        if (trail, line) not in known or orders(line, his_words=False) or "memsearch:" in line:
            continue
        headings = tuple(trail.split(_UNDER)) if trail else ()
        permitted += headings[len(os.path.commonprefix([above, headings])) :]
        permitted.append(line)
        above = headings
    text = redact("\n".join(permitted), home)[0]
    return "" if orders(" ".join(permitted), his_words=False) else text


def strange(home: Home, settings: Settings, project: Project, page: Page) -> list[Spot]:
    """The lines of a page that nobody accepted or released. They are not injected."""
    known = lines_of(home, project, page)
    return [spot for spot in spots_of(read(settings, project, page)) if spot not in known]


def release(
    home: Home, project: Project, page: Page, spots: Iterable[Spot], *, off: bool = False
) -> None:
    """Allow the injection of lines in their place.

    Args:
        off: withdraw the permission instead.
    """
    with using(home, SCHEMA) as db, transaction(db):
        if off:
            rows = [(project.id, page, *spot) for spot in spots]
            db.executemany(
                "DELETE FROM living_lines WHERE project=? AND page=? AND trail=? AND line=?", rows
            )
        else:
            note_lines(db, project, page, spots, "released")
    freshness.changed(home)


def spots_of(text: str) -> list[Spot]:
    """All lines that are neither empty nor headings, with the headings above each."""
    found: list[Spot] = []
    trail: list[str] = []
    for line, is_heading in lines_with_headings(text.splitlines()):
        if is_heading:
            level = len(line) - len(line.lstrip("#"))
            trail = [
                *(above for above in trail if len(above) - len(above.lstrip("#")) < level),
                line.strip(),
            ]
        elif line.strip():
            found.append(
                (_UNDER.join(above for above in trail if not above.startswith("# ")), line)
            )
    return found


def lines_with_headings(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is a heading.

    A code block has no headings. A fence is closed by another one of at least the same length
    (CommonMark).
    """
    fence = ""
    for line in lines:
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(mark[1][0]):
            fence = ""
        yield line, not fence and not mark and bool(re.match(r"#{1,6}\s", line))


def note_lines(
    db: sqlite3.Connection, project: Project, page: Page, spots: Iterable[Spot], how: str
) -> None:
    """Record how lines of a page were permitted (``made`` or ``released``)."""
    rows = [(project.id, page, trail, line, how) for trail, line in spots if line.strip()]
    db.executemany(
        "INSERT OR REPLACE INTO living_lines (project, page, trail, line, how) VALUES (?,?,?,?,?)",
        rows,
    )


def sections(text: str) -> dict[str, list[str]]:
    """The lines under each heading ``## …``; under '' those before the first.

    Equal headings are joined.
    """
    found: dict[str, list[str]] = {"": []}
    for heading, lines in section_spans(text.splitlines()):
        found.setdefault(heading, []).extend(lines)
    return found


def section_spans(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (heading, lines under it) in the order of the text."""
    heading, begin = "", 0
    for number, (line, is_heading) in enumerate(lines_with_headings(lines)):
        if is_heading and line.startswith("## "):
            yield heading, lines[begin:number]
            heading, begin = line.strip(), number + 1
    yield heading, lines[begin:]


def bytes_of(path: str) -> bytes | None:
    """The bytes of a file; None if there is no file. Raises Unreachable."""
    try:
        return safe_files.read(path, _MAX_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreachable(
            f"{path} can't be read: {error.strerror or error}", "nothing was changed"
        ) from error
