"""Agent files of Goose (from its source): hints, AGENTS.md, and its memory extension."""

from memsearch_engine.agents.agent_files import Files, listed

sources = listed(
    Files("instructions of the user", ("config/goose/.goosehints",)),
    Files("memory of the user", ("config/goose/memory/*.txt",), "agent"),
    Files("instructions of the project", ("project/.goosehints", "project/AGENTS.md")),
    Files("memory of the project", ("project/.goose/memory/*.txt",), "agent"),
)
