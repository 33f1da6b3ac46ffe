"""Agent files of Cline (from its documentation): rules and AGENTS.md."""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind("rule of the user", ("home/Documents/Cline/Rules/*.md", "home/.cline/rules/*.md")),
    FileKind("instructions of the user", ("home/.agents/AGENTS.md",)),
    FileKind(
        "instructions of the project",
        (
            "project/AGENTS.md",
            "project/.clinerules",
            "project/.cursorrules",
            "project/.windsurfrules",
        ),
    ),
    FileKind("rule of the project", ("project/.cline/rules/*.md", "project/.clinerules/*.md")),
)
