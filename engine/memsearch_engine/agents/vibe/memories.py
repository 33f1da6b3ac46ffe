"""Agent files of Mistral Vibe (from its source): AGENTS.md of user and project."""

from pathlib import Path

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind("instructions of the user", ("own/AGENTS.md",)),
    FileKind("instructions of the project", ("project/AGENTS.md",)),
)


def own_folder(sessions: Path) -> Path:
    """Return Vibe's folder, in which sessions lie below ``logs``."""
    return sessions.parent.parent
