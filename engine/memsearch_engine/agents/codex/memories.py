"""Agent files of Codex (measured with 0.169.0).

It reads AGENTS.md of user and project, and the memories that it makes of sessions if they are
enabled. If the folder of an older layout exists, it is read instead of the newer one.
"""

from collections.abc import Iterator

from memsearch_engine.agents.agent_files import Cap, FileKind, Source, Where

_USER = FileKind(
    "instructions of the user", ("own/AGENTS.override.md", "own/AGENTS.md"), is_first=True
)
_PROJECT = FileKind(
    "instructions of the project",
    ("project/AGENTS.override.md", "project/AGENTS.md"),
    cap=Cap(max_bytes=32_768),
    is_first=True,
)
_CAP = Cap(max_bytes=10_000, tail=0.5)


def sources(where: Where) -> Iterator[Source]:
    """Yield the files that may exist, in reading order."""
    for home in where.own:
        yield from _USER.sources(where._replace(own=[home]))
        folder = home / "memories" if (home / "memories").is_dir() else home / "memories_v2"
        summary = folder / "memory_summary.md"
        index = folder / "MEMORY.md" if folder.name == "memories" else summary
        yield Source(summary, "memories", "agent", everywhere=True, cap=_CAP)
        if index != summary:
            yield Source(index, "memories", "agent", everywhere=True, named_in=summary)
        for recap in sorted(folder.glob("rollout_summaries/*.md")):
            yield Source(recap, "recap of a session", "agent", everywhere=True, named_in=index)
        for note in sorted(folder.glob("extensions/ad_hoc/notes/*.md")):
            yield Source(note, "note for the memories", "agent", everywhere=True)
    yield from _PROJECT.sources(where)
