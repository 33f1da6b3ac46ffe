"""Agent files of Zed (from its documentation): the first of these names at a project's top."""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind(
        "instructions of the project",
        (
            "project/.rules",
            "project/.cursorrules",
            "project/.windsurfrules",
            "project/.clinerules",
            "project/.github/copilot-instructions.md",
            "project/AGENT.md",
            "project/AGENTS.md",
            "project/CLAUDE.md",
            "project/GEMINI.md",
        ),
        is_first=True,
    )
)
