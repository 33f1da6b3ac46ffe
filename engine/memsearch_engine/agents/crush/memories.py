"""Agent files of Crush (from its source): all of these that a project has."""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind("instructions of the user", ("config/crush/CRUSH.md",)),
    FileKind(
        "instructions of the project",
        (
            "project/.github/copilot-instructions.md",
            "project/.cursorrules",
            "project/CLAUDE.md",
            "project/CLAUDE.local.md",
            "project/GEMINI.md",
            "project/CRUSH.md",
            "project/CRUSH.local.md",
            "project/AGENTS.md",
            "project/.cursor/rules/*.mdc",
        ),
    ),
)
