"""Agent files of Kimi Code (from its source): AGENTS.md of user and project."""

from memsearch_engine.agents.agent_files import Files, listed

sources = listed(
    Files("instructions of the user", ("own/AGENTS.md",)),
    Files("instructions of the user", ("home/.agents/AGENTS.md",)),
    Files("instructions of the project", ("project/.kimi-code/AGENTS.md", "project/AGENTS.md")),
)
