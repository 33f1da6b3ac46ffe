"""Looking for secrets in what is already written: notes of any age and hand, what lies beside them,
and kept conversations.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from memsearch_engine.agents.transcripts.evidence import Archive
from memsearch_engine.core.home import Home
from memsearch_engine.core.projects import Project
from memsearch_engine.journal.files import read_day
from memsearch_engine.journal.shared import list_notes
from memsearch_engine.secrets.scan import find


class SecretPlace(msgspec.Struct, frozen=True):
    """Where a secret stands. ``line`` is 1-based, 0 in a kept conversation; the secret itself is
    not kept.
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
    """Every secret in the projects' notes, in *documents* that lie beside them, and in the evidence
    archive.
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
        try:
            document = read_day(file.path)
        except OSError:
            continue
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
