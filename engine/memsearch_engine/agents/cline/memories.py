"""Agent files of Cline (from its documentation): rules and AGENTS.md."""

from memsearch_engine.agents.agent_files import Files, listed

sources = listed(
    Files("rule of the user", ("home/Documents/Cline/Rules/*.md", "home/.cline/rules/*.md")),
    Files("instructions of the user", ("home/.agents/AGENTS.md",)),
    Files(
        "instructions of the project",
        (
            "project/AGENTS.md",
            "project/.clinerules",
            "project/.cursorrules",
            "project/.windsurfrules",
        ),
    ),
    Files("rule of the project", ("project/.cline/rules/*.md", "project/.clinerules/*.md")),
)
