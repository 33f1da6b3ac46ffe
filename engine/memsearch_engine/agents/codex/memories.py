"""Agent files of Codex (measured with 0.169.0).

It reads AGENTS.md of user and project, and the memories that it makes of sessions if they are
enabled. If the folder of an older layout exists, it is read instead of the newer one.
"""

from __future__ import annotations

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Cap, Source, Where, first

_NAMES = ("AGENTS.override.md", "AGENTS.md")
_SUMMARY = "memory_summary.md"


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in dict.fromkeys(folder.parent for folder in where.sessions):
        for path in first(home, _NAMES):
            yield Source(path, "instructions of the user", everywhere=True)
        folder = home / "memories" if (home / "memories").is_dir() else home / "memories_v2"
        index = folder / ("MEMORY.md" if folder.name == "memories" else _SUMMARY)
        yield Source(
            folder / _SUMMARY,
            "memories",
            "agent",
            everywhere=True,
            cap=Cap(max_bytes=10_000, tail=0.5),
        )
        if index.name != _SUMMARY:
            yield Source(index, "memories", "agent", everywhere=True, named_in=folder / _SUMMARY)
        for recap in sorted(folder.glob("rollout_summaries/*.md")):
            yield Source(recap, "recap of a session", "agent", everywhere=True, named_in=index)
        for note in sorted(folder.glob("extensions/ad_hoc/notes/*.md")):
            yield Source(note, "note for the memories", "agent", everywhere=True)
    for root in where.project:
        for path in first(root, _NAMES):
            yield Source(path, "instructions of the project", cap=Cap(max_bytes=32_768))
