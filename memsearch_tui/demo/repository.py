"""The git repository of the demo's first project, with which its notes are compared.

Files appear when a story names them; later, some are moved or deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from pathlib import Path

from dulwich.repo import Repo
from memsearch_engine.staleness.references import find

from memsearch_tui.demo.history import Story

_WHO = b"Demo <demo@example.org>"
_LINES = 30
#: days before the end -> moved files (from, to) and deleted files (from, '')
_LATER = {
    70: [("scripts/switch_color.sh", "")],
    40: [
        ("app/catalog/cache.py", "app/core/cache.py"),
        ("docs/webhooks.md", "docs/guides/webhooks.md"),
    ],
    12: [("app/payments/fx.py", ""), ("load/sale.js", "")],
}
#: Notes that a colleague shared with the team: days before the end -> (time, id, text)
_COLLEAGUE = "mara"
_SHARED = {
    33: [
        (
            "10:20",
            "5a11e0c3b7d2",
            (
                "- Feature flags go within 90 days of their full rollout; whoever added one opens"
                " the ticket.\n- A flag that guards money stays for a release longer."
            ),
        )
    ],
    21: [
        (
            "16:05",
            "77c2d9f01e4a",
            (
                "- The payment sandbox resets every Sunday at 02:00 UTC: tests that need a saved"
                " card make one first."
            ),
        )
    ],
}


def make(project: Path, stories: Iterable[Story], end: date) -> None:
    """Write the repository.

    Args:
        project: its folder.
        stories: all stories; those of other projects are ignored.
        end: the last day of the year.
    """
    repo = Repo.init(str(project), default_branch=b"main")
    here = [story for story in stories if story.project == project.name]
    days: dict[int, list[tuple[str, str]]] = {}  # day -> (path, text)
    named: set[str] = set()
    for story in here:
        references = [reference for bullet in story.bullets for reference in find(bullet)]
        words = [
            reference.name for reference in references if reference.kind in ("symbol", "setting")
        ]
        for reference in references:
            path = reference.name
            if (
                reference.kind == "file"
                and "/" in path
                and path[0] != "/"
                and path[-1] != "/"
                and path not in named
            ):
                named.add(path)
                days.setdefault(story.day, []).append((path, _text(path, words)))
    for day, notes in _SHARED.items():
        when = end - timedelta(days=day)
        file = project / ".memsearch" / "shared" / _COLLEAGUE / f"{when}.md"
        days.setdefault(day, []).append(
            (os.fspath(file.relative_to(project)), _shared(when, notes))
        )
    for day in sorted({*days, *_LATER}, reverse=True):
        for path, text in days.get(day, []):
            _write(project / path, text)
        touched = [path for path, _ in days.get(day, [])]
        for old, new in _LATER.get(day, []):
            if old in named:
                touched += [old, new] if new else [old]
                _write(project / new, (project / old).read_text()) if new else None
                (project / old).unlink()
        _commit(repo, touched, datetime.combine(end - timedelta(days=day), time(8)))


def _shared(day: date, notes: list[tuple[str, str, str]]) -> str:
    marks = [("shared", day), ("review", day + timedelta(days=180))]
    lines = [f"# {day}", ""]
    for time_, name, text in notes:
        lines += [
            f"### {time_}",
            f"<!-- id:{name} -->",
            *(f"<!-- {mark}:{value} -->" for mark, value in marks),
            text,
            "",
        ]
    return "\n".join(lines)


def _text(path: str, words: list[str]) -> str:
    lines = [f"{word} = None" for word in words]
    return "\n".join([*lines, *(f"# {path}, line {number}" for number in range(_LINES)), ""])


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _commit(repo: Repo, paths: list[str], when: datetime) -> None:
    work = repo.get_worktree()
    work.stage([os.fspath(path) for path in paths])
    seconds = int(when.timestamp())
    work.commit(
        b"demo",
        committer=_WHO,
        author=_WHO,
        commit_timestamp=seconds,
        author_timestamp=seconds,
        commit_timezone=0,
        author_timezone=0,
        sign=False,
    )
