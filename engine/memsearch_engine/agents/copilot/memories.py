"""Agent files of Copilot CLI (measured with 1.0.102).

They are the instructions of user and project, its own and other agents'.
What it remembers is stored by GitHub, not on this machine.
"""

from memsearch_engine.agents.agent_files import Files, listed

sources = listed(
    Files("instructions of the user", ("own/copilot-instructions.md",)),
    Files("rule of the user", ("own/instructions/**/*.instructions.md",)),
    Files(
        "instructions of the project",
        (
            "project/.github/copilot-instructions.md",
            "project/AGENTS.md",
            "project/CLAUDE.md",
            "project/GEMINI.md",
        ),
    ),
    Files(
        "rule of the project",
        (
            "project/.claude/rules/**/*.md",
            "project/.github/instructions/**/*.instructions.md",
        ),
    ),
)
