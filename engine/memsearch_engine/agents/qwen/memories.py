"""Agent files of Qwen Code (0.24.4).

It reads QWEN.md and AGENTS.md of user and project, rules, and its memories of project, user and
team.
"""

import re
from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Cap, FileKind, Source, Where, listed, memory_folder

_CAP = Cap(lines=200, chars=25_000)
_USER = listed(
    FileKind("instructions of the user", ("own/QWEN.md", "own/AGENTS.md")),
    FileKind("rule of the user", ("own/rules/**/*.md",)),
)
_PROJECT = listed(
    FileKind(
        "instructions of the project",
        ("project/QWEN.md", "project/AGENTS.md", "project/.qwen/QWEN.local.md"),
    ),
    FileKind("rule of the project", ("project/.qwen/rules/**/*.md",)),
)


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in where.own:
        yield from _USER(where._replace(own=[home]))
        yield from memory_folder(home / "memories", "memory of the user", _CAP, everywhere=True)
    yield from _PROJECT(where)
    for root in where.project:
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
        for home in where.own:
            yield from memory_folder(home / "projects" / slug / "memory", "auto memory", _CAP)
        yield from memory_folder(root / ".qwen" / "team-memory", "memory of the team", _CAP)
