"""Agent files of Kimi Code (from its source): AGENTS.md of user and project."""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind("instructions of the user", ("own/AGENTS.md",)),
    FileKind("instructions of the user", ("home/.agents/AGENTS.md",)),
    FileKind("instructions of the project", ("project/.kimi-code/AGENTS.md", "project/AGENTS.md")),
)
