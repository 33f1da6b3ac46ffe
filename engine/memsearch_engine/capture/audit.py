"""Finds secrets in existing notes, in the documents beside them, and in the archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.journal.files import read_day_or_empty
from memsearch_engine.journal.shared import list_notes
from memsearch_engine.secrets.scan import find


class SecretPlace(msgspec.Struct, frozen=True):
    """The location of a secret, without the secret itself.

    Attributes:
        line: counted from 1; 0 in an archived turn.
    """

    where: str
    line: int
    entry_id: str
    rule: str
    fingerprint: str


def audit(
    home: Home,
    projects: list[Project],
    documents: list[Path],
    progress: Callable[[str, int, int], None] | None = None,
) -> list[SecretPlace]:
    """Find every secret in the projects' notes, in *documents*, and in the archive.

    Args:
        documents: files to search in addition to the notes.
        progress: called with phase, done and total.
    """
    found: list[SecretPlace] = []
    files = [
        path
        for memory in dict.fromkeys(p.memory for p in projects)
        for path in list_notes(memory).files
    ]
    for number, file in enumerate(files):
        if progress:
            progress("notes", number, len(files))
        document = read_day_or_empty(file.path)
        text = document.data.decode("utf-8", "replace")
        for finding in find(text, home):
            line = text.count("\n", 0, finding.start) + 1
            entry = next((e for e in document.entries if e.start_line <= line <= e.end_line), None)
            found.append(
                SecretPlace(
                    file.path, line, entry.id if entry else "", finding.rule, finding.fingerprint
                )
            )
    for path in documents:
        try:
            text = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        for finding in find(text, home):
            line = text.count("\n", 0, finding.start) + 1
            found.append(SecretPlace(str(path), line, "", finding.rule, finding.fingerprint))
    archive = Archive(home)
    names = sorted(archive.names())
    for number, name in enumerate(names):
        if progress:
            progress("kept conversations", number, len(names))
        turn = archive.get(*name)
        if turn is None:
            continue
        text = "\n".join(
            [turn.user, turn.assistant, *(f"{tool.input}\n{tool.output}" for tool in turn.tools)]
        )
        found += [
            SecretPlace(f"evidence {'/'.join(name)}", 0, "", f.rule, f.fingerprint)
            for f in find(text, home)
        ]
    return found
