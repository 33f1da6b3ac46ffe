"""Agent files of OpenCode (1.18.33): the user's AGENTS.md, and one file of the project."""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind(
        "instructions of the user",
        ("config/opencode/AGENTS.md", "home/.claude/CLAUDE.md"),
        is_first=True,
    ),
    FileKind(
        "instructions of the project",
        ("project/AGENTS.md", "project/CLAUDE.md", "project/CONTEXT.md"),
        is_first=True,
    ),
)
