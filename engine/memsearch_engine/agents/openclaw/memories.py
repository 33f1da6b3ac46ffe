"""Agent files of OpenClaw (2026.9.6): the files of its workspaces, which belong to no project.

Copies of other agents' memories among them are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Cap, Source, Where

_CAP = Cap(chars=20_000, tail=0.25)


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in where.own:
        for workspace in sorted(home.glob("workspace*/")):
            for name in ("AGENTS.md", "SOUL.md", "IDENTITY.md"):
                yield Source(workspace / name, "instructions of its workspace", everywhere=True)
            yield Source(
                workspace / "USER.md", "what it knows of its user", "agent", everywhere=True
            )
            yield Source(
                workspace / "MEMORY.md",
                "memory of its workspace",
                "agent",
                everywhere=True,
                cap=_CAP,
            )
            for note in sorted((workspace / "memory").glob("**/*.md")):
                if "imports" not in note.relative_to(workspace / "memory").parts:
                    yield Source(note, "notes of its workspace", "agent", everywhere=True)
    for root in where.project:
        yield Source(root / "AGENTS.md", "instructions of the project")
