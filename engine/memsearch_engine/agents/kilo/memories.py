"""Agent files of Kilo CLI (from its source): the user's and project's AGENTS.md, and rules."""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind(
        "instructions of the user",
        ("config/kilo/AGENTS.md", "home/.claude/CLAUDE.md"),
        is_first=True,
    ),
    FileKind("rule of the user", ("home/.kilo/rules/*.md", "home/.kilocode/rules/*.md")),
    FileKind("rule of the project", ("project/.kilo/rules/*.md", "project/.kilocode/rules/*.md")),
    FileKind(
        "instructions of the project",
        ("project/AGENTS.md", "project/CLAUDE.md", "project/CONTEXT.md"),
        is_first=True,
    ),
)
