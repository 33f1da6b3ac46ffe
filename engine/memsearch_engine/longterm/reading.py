"""Selects the notes of a project that a model may read, and provides tools to look up more.

The text is bounded and free of secrets. Notes that must not be injected into sessions are excluded.
"""

from __future__ import annotations

import contextlib
import os
import re
from datetime import date
from functools import partial
from typing import NamedTuple

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.capture.clean import without_secrets
from memsearch_engine.core.errors import MemsearchError, SettingsError
from memsearch_engine.core.home import Home
from memsearch_engine.core.llm.tokens import estimate
from memsearch_engine.core.llm.tools import ModelTool
from memsearch_engine.core.projects import Project
from memsearch_engine.core.safe_text import plain
from memsearch_engine.index.catalog import Catalog
from memsearch_engine.injection.session_start import is_injectable, unfenced
from memsearch_engine.journal.files import DayFile, list_days, list_files, read_day
from memsearch_engine.journal.instructions import orders
from memsearch_engine.journal.model import Entry
from memsearch_engine.journal.origin import Origin
from memsearch_engine.longterm import workspace
from memsearch_engine.search import lexical
from memsearch_engine.search.request import parse
from memsearch_engine.secrets.scan import redact

_TAG = re.compile(r"<(?=\s*/?\s*(?:page|notes|longterm|skill)\b)", re.IGNORECASE)
_ID = 12  # digits of an entry's id in a model's citation
_NOTE_TOKENS, _LONGTERM_TOKENS = 400, 2_500
_HITS, _MAX_SHOWN = 8, 6_000


class Source(NamedTuple):
    """A note that a model received.

    ``session``: agent and id of its session; '' for a hand-written note.
    """

    entry: Entry
    day: str
    session: str


class Material(msgspec.Struct):
    """The text for a model.

    ``notes``: citable id -> note. Notes that the model looks up are added.
    """

    home: Home
    project: Project
    text: str
    longterm: str
    notes: dict[str, Source]


def folder_of(project: Project, input_dir: str) -> str:
    """The folder with the notes to read. Raises SettingsError."""
    if not input_dir:
        return project.memory
    path = os.path.normpath(os.path.join(project.root, input_dir))
    if not path.startswith(project.root + os.sep):
        raise SettingsError(f"`input_dir` {input_dir!r} is no folder in the project")
    return path


def newest(folder: str) -> float:
    """Return the newest modification time of the folder's files (since 1970); 0 without files."""
    return max((file.mtime_ns / 1e9 for file in list_files(folder).files), default=0.0)


def collect(home: Home, project: Project, folder: str, max_tokens: int) -> Material:
    """Collect the newest injectable notes, and the project's part of the long-term memory.

    Args:
        max_tokens: the largest size of the result.
    """
    longterm = redact(
        workspace.part_for(workspace.read(home.longterm, workspace.SUMMARY), project.id[:8]), home
    )[0]
    while longterm and estimate(longterm) > _LONGTERM_TOKENS:
        longterm = longterm.rpartition("\n")[0]
    material = Material(home, project, "", longterm, {})
    days: list[str] = []
    left = max_tokens
    with contextlib.closing(Origin(home)) as origin:
        for file in sorted(list_days(folder), key=lambda file: file.day, reverse=True):
            lines = []
            for entry in reversed(_injectable(project, file, origin)):
                line = _shown(material, file.day, entry)
                if estimate(line) > left:
                    left = 0
                    break
                left -= estimate(line)
                lines.append(line)
            if lines:
                days.append("\n".join(lines))
            if left <= 0:
                break
    material.text = "\n\n".join(days)
    return material


def _injectable(project: Project, file: DayFile, origin: Origin) -> list[Entry]:
    try:
        entries = read_day(file.path).entries
    except OSError:
        return []
    arrived = origin.arrived(project.memory, entries, file.path)
    released = origin.released(entries)
    return [
        entry
        for entry in entries
        if entry.id not in arrived
        and is_injectable(entry, date.today())
        and not entry.is_digest
        and (entry.id in released or not orders(entry.body, his_words=False))
    ]


def _shown(material: Material, day: str, entry: Entry) -> str:
    """Format a note for a model and make it citable."""
    name = entry.id[:_ID]
    session = f"{entry.agent}/{entry.session}" if entry.session else ""
    material.notes[name] = Source(entry, day, session)
    text = unfenced(redact(plain(entry.body), material.home)[0])
    while estimate(text) > _NOTE_TOKENS:
        text = text[: len(text) * 4 // 5]
    who = entry.agent or "by hand"
    return (
        f"[mem:{name}] {day} {entry.time} "
        f"{who}{f' session {entry.session[:8]}' if entry.session else ''}\n{text}"
    )


def tools_for(material: Material) -> list[ModelTool]:
    """Return a model's read-only tools: search notes, read a note, read its conversation."""
    return [
        ModelTool(
            "search",
            "Notes of the project that have these words, best first.",
            {"words": "string"},
            partial(_search, material),
        ),
        ModelTool(
            "expand", "A whole note by its id.", {"id": "string"}, partial(_expand, material)
        ),
        ModelTool(
            "transcript",
            "The conversation that a note came from, by the note's id.",
            {"id": "string"},
            partial(_transcript, material),
        ),
    ]


def _search(material: Material, words: str) -> str:
    request = parse(words[:500], limit=_HITS * 3).with_(projects=[])
    catalog = Catalog.open_readonly(material.home.cache_db)
    found: list[str] = []
    try:
        with contextlib.closing(Origin(material.home)) as origin:
            for hit in lexical.search(catalog, [material.project], request).hits:
                if hit.day and len(found) < _HITS:
                    entries = _injectable(material.project, DayFile.at(hit.path), origin)
                    found += [_shown(material, hit.day, e) for e in entries if e.id == hit.id]
    except MemsearchError as error:
        raise ValueError(str(error)) from error
    finally:
        if catalog is not None:
            catalog.close()
    return "\n\n".join(found)[:_MAX_SHOWN] or "nothing found"


def _expand(material: Material, id: str) -> str:
    source = _known(material, id)
    return redact(plain(source.entry.body), material.home)[0][:_MAX_SHOWN]


def _transcript(material: Material, id: str) -> str:
    entry = _known(material, id).entry
    with contextlib.closing(Archive(material.home)) as archive:
        turn = archive.get(entry.agent, entry.session, entry.turn)
    if turn is None or turn.outside:
        raise ValueError("its conversation is not kept")
    clean = without_secrets(turn, material.home)
    return unfenced(plain(f"user: {clean.user}\n\nassistant: {clean.assistant}"))[:_MAX_SHOWN]


def quoted(text: str) -> str:
    """*text* with the tags escaped that mark where material begins and ends."""
    return _TAG.sub("\u2039", text)


def _known(material: Material, name: str) -> Source:
    source = material.notes.get(name.strip().removeprefix("mem:")[:_ID])
    if source is None:
        raise ValueError("no such note: use an id that you were given")
    return source
