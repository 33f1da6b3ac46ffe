"""Agent files of Cursor (from its documentation): rules and AGENTS.md of the project."""

from memsearch_engine.agents.agent_files import Files, listed

sources = listed(
    Files("instructions of the project", ("project/AGENTS.md", "project/.cursorrules")),
    Files("rule of the project", ("project/.cursor/rules/**/*.mdc",)),
)
