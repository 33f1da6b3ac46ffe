"""Agent files of Goose (from its source): hints, AGENTS.md, and its memory extension."""

from memsearch_engine.agents.agent_files import FileKind, listed

sources = listed(
    FileKind("instructions of the user", ("config/goose/.goosehints",)),
    FileKind("memory of the user", ("config/goose/memory/*.txt",), "agent"),
    FileKind("instructions of the project", ("project/.goosehints", "project/AGENTS.md")),
    FileKind("memory of the project", ("project/.goose/memory/*.txt",), "agent"),
)
