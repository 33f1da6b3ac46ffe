"""Cursor.

Sessions of the editor and of its command line are read (from the documented format; not tested with
the program).
"""

from memsearch_engine.core.agent_registry import Agent

AGENT = Agent(
    name="cursor",
    title="Cursor",
    tag="cu",
    program="cursor-agent",
    resume=("cursor-agent", "--resume={session}"),
    home_variable="CURSOR_DATA_DIR",
    home=".cursor",
    sessions="projects",
    elsewhere=(
        ".config/Cursor/User/globalStorage",
        "Library/Application Support/Cursor/User/globalStorage",
    ),
    writes=".vscdb or .jsonl",
    context_lines=0,
    also_called=("cursor-agent", "cursor-cli"),
    tells=(),
    rewind_erases=True,
    shell_marks=("CURSOR_AGENT",),
)
