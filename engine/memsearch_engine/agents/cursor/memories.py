"""Agent files of Cursor (from its documentation): rules and AGENTS.md of the project."""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind("instructions of the project", ("project/AGENTS.md", "project/.cursorrules")),
    FileKind("rule of the project", ("project/.cursor/rules/**/*.mdc",)),
)
