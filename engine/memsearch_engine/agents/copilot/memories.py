"""Agent files of Copilot CLI (measured with 1.0.102).

They are the instructions of user and project, its own and other agents'.
What it remembers is stored by GitHub, not on this machine.
"""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind("instructions of the user", ("own/copilot-instructions.md",)),
    FileKind("rule of the user", ("own/instructions/**/*.instructions.md",)),
    FileKind(
        "instructions of the project",
        (
            "project/.github/copilot-instructions.md",
            "project/AGENTS.md",
            "project/CLAUDE.md",
            "project/GEMINI.md",
        ),
    ),
    FileKind(
        "rule of the project",
        (
            "project/.claude/rules/**/*.md",
            "project/.github/instructions/**/*.instructions.md",
        ),
    ),
)
