"""Agent files of pi (1.5.2), in its own folder and in the project, with system prompts."""

from pathlib import Path

from memsearch_engine.agents.agent_files import FileKind, listed

_NAMES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")

sources = listed(
    FileKind("instructions of the user", tuple(f"own/{name}" for name in _NAMES), is_first=True),
    FileKind("instructions of the user", ("own/SYSTEM.md", "own/APPEND_SYSTEM.md")),
    FileKind(
        "instructions of the project", tuple(f"project/{name}" for name in _NAMES), is_first=True
    ),
    FileKind(
        "instructions of the project", ("project/.pi/SYSTEM.md", "project/.pi/APPEND_SYSTEM.md")
    ),
)


def own_folder(sessions: Path) -> Path:
    """Return pi's folder: its sessions lie in it directly."""
    return sessions
